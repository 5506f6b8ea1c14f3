"""Shell completion, built by Typer from the table of commands.

Command lines are parsed, and help is formatted, without Typer: importing it takes three times as long as printing a
help. Only names that are public in Click, and in all versions of Typer since 0.27.2, are overridden.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException

from shapecalc.cli.options import COMMAND_MODULES, Argument, Command, load_command
from shapecalc.cli.output import ExitCode, discard_stdout, print_stderr
from shapecalc.core.ops import OPS
from shapecalc.reading.options import ALL_SUFFIX, Option, OptionKind

TYPER_TYPES: dict[OptionKind, tuple[Any, Any]] = {
    OptionKind.FLAG: (bool, False),
    OptionKind.FLAG_OR_ALL: (int, 0),
    OptionKind.SWITCH: (bool | None, None),
    OptionKind.TEXT: (str | None, None),
    OptionKind.TEXTS: (list[str] | None, None),
    OptionKind.NUMBER: (str | None, None),
}
"""Typer's type annotation and default for an option, by the kind of its value."""


def run_completion(words: Sequence[str]) -> int:
    """Print completions or a completion script, and return the exit code."""
    # bash sets the first variable, other shells set the second
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    try:
        return int(
            build_app(line.split()[1:] or words or [""])(words, prog_name="shapecalc", standalone_mode=False) or 0
        )
    except TyperException as error:
        print_stderr(f"shapecalc: usage: {error.format_message()}")
        return ExitCode.USAGE
    except SystemExit as ended:
        if not isinstance(ended.__context__, OSError):
            return int(ended.code or 0)
        discard_stdout()  # an `OSError` means that the reader has closed stdout
        return ExitCode.OK


def build_app(words: Sequence[str] = ()) -> typer.Typer:
    """Return a Typer app with the commands that a command line needs.

    If the first word is a command, the app has only this command, since building all commands is slow. Otherwise the
    app has all commands, but without parameters. Without words, it has all commands and parameters.
    """
    program = typer.Typer(
        name="shapecalc",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_global_options_callback)
    names = [*OPS, *COMMAND_MODULES]
    for name in [*words[:1]] if words and words[0] in names else names:
        command = load_command(name)
        program.command(
            name,
            cls=CompletingCommand,
            context_settings={"ignore_unknown_options": True},
            short_help=command.summary,
        )(_signature_stub(command) if not words or name in words else lambda: None)
    return program


def _global_options_callback(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Declare the global options; Typer reads this signature."""


def _signature_stub(command: Command) -> Callable[..., None]:
    """Return a function whose signature has the parameters of a command.

    Typer reads the signature, and never calls the function.
    """

    def stub(**values: Any) -> None:
        pass

    parameters: list[inspect.Parameter] = []
    for parameter in command.parameters:
        kind, default = _typer_argument(parameter) if isinstance(parameter, Argument) else _typer_option(parameter)
        is_taken = any(parameter.name == other.name for other in parameters)
        name = f"{parameter.name}_by_name" if is_taken else parameter.name
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    stub.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return stub


def _typer_argument(argument: Argument) -> tuple[Any, Any]:
    """Return the Typer annotation and the default of an argument."""
    kind: Any = list[str] if argument.repeated else str
    info = typer.Argument(help=argument.help, autocompletion=_completion_callback(argument))
    if argument.required:
        return Annotated[kind, info], inspect.Parameter.empty
    return Annotated[kind | None, info], None


def _typer_option(option: Option) -> tuple[Any, Any]:
    """Return the Typer annotation and the default of an option."""
    kind, default = TYPER_TYPES[option.kind]
    spellings = [option.spelling, option.short] if option.short else [option.spelling]
    if option.kind is OptionKind.SWITCH:
        spellings = [f"{option.spelling}/--no-{option.spelling.removeprefix('--')}"]
    names = option.completions() if option.lists_completions and option.completions else ()
    info = typer.Option(
        *spellings,
        help=f"{option.help}: {', '.join(names)}" if names else option.help,
        count=option.kind is OptionKind.FLAG_OR_ALL,
        autocompletion=_completion_callback(option),
    )
    return Annotated[kind, info], default if option.default is None else option.default


def _completion_callback(parameter: Argument | Option) -> Callable[..., list[str]] | None:
    """Return the completion callback of a parameter, if it has completions."""
    if (names := parameter.completions) is None:
        return None
    first = isinstance(parameter, Argument) and parameter.completes_first
    return lambda ctx, incomplete: (  # Typer requires these parameter names
        [] if first and ctx.params.get(parameter.name) else names_with_prefix(names(), incomplete)
    )


def names_with_prefix(names: Iterable[str], prefix: str) -> list[str]:
    """Return the names that start with `prefix`.

    >>> names_with_prefix(["onnx", "onednn", "numpy"], "on")
    ['onnx', 'onednn']
    """
    return [name for name in names if name.startswith(prefix)]


class CompletingCommand(TyperCommand):
    """A Typer command that also completes `--explain=all`."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the completions of a word, including `--explain=all` where it is valid."""
        counted = [name for param in self.params if getattr(param, "count", False) for name in param.opts]
        items = super().shell_complete(ctx, incomplete)
        with_all = [type(item)(f"{item.value}{ALL_SUFFIX}", help=item.help) for item in items if item.value in counted]
        return [*items, *(item for item in with_all if item.value[:2] == "--")]
