"""The Typer app: all commands together, and the one place where the end of Typer becomes an exit code."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.exceptions import Abort, TyperException

from shapecalc import __version__
from shapecalc.cli.answer import unread_json
from shapecalc.cli.ops import EPILOG, op_command
from shapecalc.cli.output import Exit, abandon_stdout, problem_line, put, put_json, tell
from shapecalc.cli.signature import add_command
from shapecalc.cli.split_shapes import split_shape_error
from shapecalc.cli.typer_classes import InOrder
from shapecalc.core.commands import elsewhere_error
from shapecalc.core.ops import OPS
from shapecalc.core.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.cli.opening import TerminalApp
    from shapecalc.cli.options import Command

HELP = """\
What a tensor's shape becomes, and why, under the rules of a framework.

  shapecalc reshape 2,3,4 0,-1                       0 copies, -1 is inferred
  shapecalc reshape N,C,H,W 0,-1,64 --explain        names, and every step
  shapecalc shuffle 2,3,4 --first 1,0,2 --to 2,-1,3  TensorRT's Shuffle
  shapecalc compare 2,3,4 0,-1                       in every framework
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'

shapecalc -h lists the commands, shapecalc reshape -h explains one,
shapecalc why explains the rules, shapecalc help tutorial begins at the
beginning. On Windows, shapes need double quotes:
shapecalc reshape "2,3,4" "0,-1"."""


def _print_version(wanted: bool) -> None:
    if wanted:
        put(f"shapecalc {__version__}")
        raise typer.Exit()


def print_short_help(
    ctx: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", "-V", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Print the short help if no command is given."""
    if ctx.invoked_subcommand is None:
        put(HELP)


COMMANDS = {
    "chain": "chain",
    "code": "code",
    "equiv": "equiv",
    "simplify": "simplify",
    "compare": "compare",
    "find": "find",
    "match": "match",
    "check": "check",
    "vectors": "vectors",
    "doctor": "doctor",
    "model": "model",
    "drill": "drill",
    "film": "film",
    "dialects": "dialects",
    "why": "why",
    "help": "help",
    "repl": "repl",
    "tui": "tui",
    "serve": "serve",
    "mcp": "mcp",
    "backends": "backends",
}
"""The commands that are not ops, in the order of the help, each with its module."""


def command_named(name: str) -> Command:
    """Return a command that is not an op. Its module is imported when it is asked for."""
    found: Command = getattr(import_module(f"shapecalc.cli.{COMMANDS[name]}"), f"{name.upper()}_COMMAND")
    return found


def app(words: Sequence[str] = ()) -> typer.Typer:
    """Return the Typer app: with the one command that `words` ask for, since all take a while, or with all."""
    made = typer.Typer(
        name="shapecalc",
        cls=InOrder,
        help="What a tensor's shape becomes, and why, under the rules of a framework.",
        epilog=EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(print_short_help)
    asked = words[0] if words else ""
    every = asked not in OPS and asked not in COMMANDS
    for op in OPS.values():
        if every or op.name == asked:
            add_command(made, op_command(op), epilog=EPILOG)
    for name in COMMANDS:
        if every or name == asked:
            add_command(made, command_named(name))
    return made


def run_typer(words: list[str], terminal_app: TerminalApp[Any]) -> int:
    """Run one command line and return its exit code; `terminal_app` is what `tui` and `serve` open."""
    try:
        return int(app(words)(words, prog_name="shapecalc", standalone_mode=False, obj=terminal_app) or 0)
    except TyperException as error:
        return _tell_misuse(error, words)
    except Abort:
        return Exit.INTERRUPTED
    except SystemExit as ended:
        if not isinstance(ended.__context__, OSError):
            return int(ended.code or 0)  # a shell that asks for completions, or for their script
        abandon_stdout()  # Typer's own answer to a help text that nobody reads any more
        return Exit.YES


def _tell_misuse(error: TyperException, words: list[str]) -> int:
    """Tell what Typer could not read, as JSON if the words ask for it."""
    command = getattr(getattr(error, "ctx", None), "command_path", "shapecalc")
    message = " ".join(error.format_message().split()).rstrip(".")
    known = split_shape_error(words) or elsewhere_error(words[0] if words else "")
    hint = ""
    if message.startswith("No such command"):
        from shapecalc.cli.topics import topic_hint  # only who mistakes a command needs all rules

        hint = topic_hint(words[0])
        message = message.partition(". Did you mean")[0] if hint else message
    elif message.startswith("Got unexpected extra"):
        from shapecalc.cli.extra_words import extra_words_error

        known = known or extra_words_error(words)
    elif message.startswith("Missing argument") and words[0] in OPS:
        hint = f"as in shapecalc {OPS[words[0]].examples[0]}; see {command} -h"
    problem = (known or misuse(message[:1].lower() + message[1:], hint or f"see {command} -h")).problem
    if "--json" in words:
        put_json(unread_json(problem, words[0], {}))
    else:
        tell(problem_line(problem))
    return Exit.USAGE
