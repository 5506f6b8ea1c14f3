"""Help and completion, which Typer makes of the table of commands. Typer reads no line, and nobody imports it for one.

Only names that are public in Click and in all versions of Typer since 0.27.2 are overridden.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.exceptions import TyperException
from typer.main import get_command

from shapecalc.cli.options import COMMANDS, EPILOG, PRINTING, Argument, Command, command_named
from shapecalc.cli.output import Exit, abandon_stdout, tell
from shapecalc.core.ask import switch_name
from shapecalc.core.commands import ALL, ASKING, VALUED, Option, Takes
from shapecalc.core.dialects.base import Dialect, Param
from shapecalc.core.ops import OPS, dialects_with, params_of
from shapecalc.core.ops.op import Op, operator_of

KINDS: dict[Takes, tuple[Any, Any]] = {
    Takes.NOTHING: (bool, False),
    Takes.MORE: (int, 0),
    Takes.SWITCH: (bool | None, None),
    Takes.TEXT: (str | None, None),
    Takes.TEXTS: (list[str] | None, None),
    Takes.NUMBER: (str | None, None),
}
"""The type of an option as Typer is told it, and its default, by what the option takes."""


def run_typer(words: Sequence[str]) -> int:
    """Answer a shell that asks for completions or for their script, and return the exit code."""
    typed = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # in bash, in other shells
    try:
        return int(app(typed.split()[1:] or words or [""])(words, prog_name="shapecalc", standalone_mode=False) or 0)
    except TyperException as error:
        tell(f"shapecalc: usage: {error.format_message()}")
        return Exit.USAGE
    except SystemExit as ended:
        if not isinstance(ended.__context__, OSError):
            return int(ended.code or 0)
        abandon_stdout()  # Typer's own answer to a text that nobody reads any more
        return Exit.YES


def help_text(name: str) -> str:
    """Return the help of a command."""
    program: Any = get_command(app([name]))
    context = program.context_class(program, info_name="shapecalc", **program.context_settings)
    command = program.commands[name]
    return str(command.get_help(command.context_class(command, info_name=name, parent=context)))


def app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the Typer app: with the one command that `words` ask for, since all take a while, or with all.

    If they ask for none, or for half of one, the commands have no parameters. Without words, all have theirs.
    """
    made = typer.Typer(
        name="shapecalc",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_take_own_options)
    names = [*OPS, *COMMANDS]
    for name in [*words[:1]] if words and words[0] in names else names:
        command = command_named(name)
        made.command(
            name,
            cls=ShapeCommand,
            context_settings={"ignore_unknown_options": True},
            short_help=command.summary,
            help=command.help,
            epilog=EPILOG if name in OPS else None,
        )(_function_of(command) if not words or name in words else lambda: None)
    return made


def _take_own_options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False,
) -> None:
    """Stand for the options before any command."""


def _function_of(command: Command) -> Callable[..., None]:
    """Return a function whose signature is made of the parameters of a command, for Typer to look at."""

    def told(**given: Any) -> None:
        """Do nothing: the line was read before."""

    made: list[inspect.Parameter] = []
    for parameter in command.parameters:
        kind, default = _typer_argument(parameter) if isinstance(parameter, Argument) else _typer_option(parameter)
        name = f"{parameter.name}_by_name" if any(parameter.name == other.name for other in made) else parameter.name
        made.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    told.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    told.__annotations__ = {each.name: each.annotation for each in made}
    return told


def _typer_argument(argument: Argument) -> tuple[Any, Any]:
    """Return the type of an argument as Typer is told it, and its default."""
    kind: Any = list[str] if argument.repeated else str
    info = typer.Argument(
        metavar=argument.metavar, help=argument.help, autocompletion=_completion(argument), show_default=False
    )
    if argument.required:
        return Annotated[kind, info], inspect.Parameter.empty
    return Annotated[kind | None, info], None


def _typer_option(option: Option) -> tuple[Any, Any]:
    """Return the type of an option as Typer is told it, and its default."""
    kind, default = KINDS[option.takes]
    spellings = [option.spelling, option.short] if option.short else [option.spelling]
    if option.takes is Takes.SWITCH:
        spellings = [f"{option.spelling}/--no-{option.spelling.removeprefix('--')}"]
    names = option.completions() if option.lists_completions and option.completions else ()
    info = typer.Option(
        *spellings,
        help=f"{option.help}: {', '.join(names)}" if names else option.help,
        metavar=option.metavar if option.takes in VALUED else None,
        count=option.takes is Takes.MORE,
        autocompletion=_completion(option),
        show_default=option.shows_default,
    )
    return Annotated[kind, info], default if option.default is None else option.default


def _completion(parameter: Argument | Option) -> Callable[..., list[str]] | None:
    """Return what completes a word; None if nothing does."""
    if (names := parameter.completions) is None:
        return None
    first = isinstance(parameter, Argument) and parameter.completes_first
    return lambda ctx, incomplete: (  # Typer looks at these names
        [] if first and ctx.params.get(parameter.name) else names_starting(names(), incomplete)
    )


def names_starting(names: Iterable[str], text: str) -> list[str]:
    """Return the names that go on from what is typed.

    >>> names_starting(["onnx", "onednn", "numpy"], "on")
    ['onnx', 'onednn']
    """
    return [name for name in names if name.startswith(text)]


class ShapeCommand(TyperCommand):
    """A command whose help is the same in every version of Typer."""

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return what a shell offers for a word: of an option that can ask for everything, both ways to write it."""
        counted = [name for param in self.params if getattr(param, "count", False) for name in param.opts]
        offered = super().shell_complete(ctx, incomplete)
        more = [type(each)(f"{each.value}{ALL}", help=each.help) for each in offered if each.value in counted]
        return [*offered, *(each for each in more if each.value[:2] == "--")]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in its usage. From 0.29 on Typer puts more brackets there."""
        metavars = [str(param.metavar) for param in self.params if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(text if text[:1] == "[" else f"{{{text}}}" for text in metavars)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options. From 0.29 on Typer puts a type after an argument's name.

        An op's options of another framework stand under its name, and those that all ops have are not repeated.
        """
        op = OPS.get(str(ctx.info_name))
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if param.param_type_name == "argument" and row is not None:
                rows["Arguments"].append((str(param.metavar), row[1]))
            elif row is not None and not (op and (param.name in PRINTING or param.name in ASKING)):
                owners = "" if op is None else owners_of(op, str(param.name))
                rows.setdefault(f"Options of {owners}" if owners else "Options", []).append(row)
        for title, listed in rows.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)
        if op is not None:
            formatter.write("\nAll ops have --dialect, --expect, --explain, --json and more: shapecalc help options\n")


def owners_of(op: Op, name: str) -> str:
    """Return the dialects that alone have an option of an op; nothing if the op's own dialect has it, or all.

    >>> owners_of(OPS["reshape"], "reverse"), owners_of(OPS["reshape"], "allowzero")
    ('mxnet', '')
    """
    param = next((each for each in params_of(op) if each.name == name), None)
    having = [row.name for row in dialects_with(op) if _has(op, row, param, name)]
    return "" if op.default_dialect in having else ", ".join(having)


def _has(op: Op, row: Dialect, param: Param | None, name: str) -> bool:
    """Say whether a dialect has an option of an op: a parameter, or the switch of that name."""
    if param is None:
        return switch_name(op, row) == name
    operator = operator_of(op, row)
    return param.is_taken_by(row) and (param in op.params or (operator is not None and param in operator.params))
