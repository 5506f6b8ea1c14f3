"""`shapecalc vectors`: golden cases for every dialect, for others to test against."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import DIALECTS_ONLY
from shapecalc.cli.output import Exit, Output, put_json
from shapecalc.cli.signature import make_command
from shapecalc.core.ask import dialect_called
from shapecalc.core.cases import vectors
from shapecalc.core.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

SUMMARY = "Write cases with their right answers for every dialect, as JSON Lines that check reads."
HELP = f"""\b
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -

{SUMMARY} Each has an id, the source of its rules, and the right answer."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("vectors", cls=cls, short_help=SUMMARY, help=HELP)(make_command(run_vectors, [DIALECTS_ONLY]))


def run_vectors(dialect: list[str] | None, out: Output) -> int:
    """Write the cases, the same every time."""
    try:
        names = [dialect_called(name).name for name in dict.fromkeys(dialect or [])]
    except ShapeError as error:
        return print_error(error, "vectors", {}, out)
    for case in vectors(names):
        put_json(case)
    return Exit.YES
