"""`shapecalc vectors`: golden cases for every dialect, for others to test against."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import DIALECTS_ONLY, Command
from shapecalc.cli.output import Exit, Output, put_json
from shapecalc.core.ask import dialect_called
from shapecalc.core.cases import vectors
from shapecalc.core.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def run_vectors(dialect: list[str] | None, out: Output) -> int:
    """Write the cases, the same every time."""
    try:
        names = [dialect_called(name).name for name in dict.fromkeys(dialect or [])]
    except ShapeError as error:
        return print_error(error, "vectors", {}, out)
    for case in vectors(names):
        put_json(case)
    return Exit.YES


VECTORS_COMMAND = Command(
    name="vectors",
    run=run_vectors,
    parameters=[DIALECTS_ONLY],
    summary="Write cases with their right answers for every dialect, as JSON Lines that check reads.",
    examples="""\
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -""",
    more=""" Each has an id, the source of its rules, and the right answer.""",
)
