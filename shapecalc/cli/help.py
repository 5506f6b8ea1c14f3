"""`shapecalc help`: the help of a command."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.app import COMMANDS, app
from shapecalc.cli.options import Argument
from shapecalc.cli.signature import make_command
from shapecalc.core.asking.spellings import SPELLINGS, respelled
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.lookup import lookup
from shapecalc.core.sizes.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

    from shapecalc.cli.output import Output

SUMMARY = "Print a command's help, as -h after it does."
HELP = f"""\b
  shapecalc help reshape
  shapecalc help

{SUMMARY}"""
COMMAND = Argument(
    "command", "the command", "[COMMAND]", required=False, completions=lambda: [*OPS, *SPELLINGS, *COMMANDS]
)


def add(to: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    to.command("help", cls=cls, short_help=SUMMARY, help=HELP)(make_command(run_help, [COMMAND]))


def run_help(command: str | None, out: Output) -> int:
    """Print the help of a command, or the list of commands."""
    words = respelled([] if command is None else [command])[:1]
    try:
        for word in words:
            lookup(word, dict.fromkeys([*OPS, *COMMANDS]), "command")
    except ShapeError as error:
        return print_error(error, "help", {"command": command}, out)
    return int(app(words)([*words, "--help"], prog_name="shapecalc", standalone_mode=False) or 0)
