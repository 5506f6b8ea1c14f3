"""`shapecalc dialects`: the table of what frameworks answer."""

from __future__ import annotations

from shapecalc.cli.options import Command, printing_options
from shapecalc.cli.output import Exit, put, put_json, show_table
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import operators_of
from shapecalc.core.record import Choice, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.dialects.base import Dialect


LEGEND = """\

  *           the default; a switch without one must be given
  0           copies the dim at the same index, or is a dim of size zero
  infers      the negative values that stand for a dim to infer
  0 and -1    whether a 0 of size zero and -1 may be used together
  -1 of none  what -1 is if a known dim is 0: refused; or both products are taken
              without the zeros (no zeros) or without the copied dims (no
              copies), and then divided; 0/0 is 1
"""


def run_dialects(out: Output) -> int:
    """Print the tables of dialects, of operators and of their versions."""
    if out.json:
        put_json([dialect_as_json(row) for row in DIALECTS.values()])
        return Exit.YES
    from shapecalc.view.story import dialects_table, operators_table, versions_table

    show_table(dialects_table())
    put(LEGEND)
    show_table(operators_table())
    put("")
    show_table(versions_table())
    return Exit.YES


def dialect_as_json(row: Dialect) -> dict[str, object]:
    """Return a dialect as the JSON object that `shapecalc dialects --json` prints.

    >>> dialect_as_json(DIALECTS["tensorrt"])["operators"]
    {'reshape': 'Shuffle', 'transpose': 'Shuffle', 'shuffle': 'Shuffle', 'rearrange': 'rearrange', 'slice': 'Slice'}
    """
    answers = {name: value.value if isinstance(value, Choice) else value for name, value in fields(row).items()}
    shown: dict[str, object] = {
        "name": row.name,
        "source": row.source,
        "operators": {op: operator.name for op, operator in operators_of(row).items()},
        "rules": [row.reading_as_json(on) for on in row.settings()],
        "switch": None if row.switch is None else fields(row.switch),
    }
    return shown | {
        name: value
        for name, value in answers.items()
        if name not in (*shown, "prefix") and (value is None or isinstance(value, (str, int)))
    }


DIALECTS_COMMAND = Command(
    name="dialects",
    run=run_dialects,
    parameters=printing_options("json"),
    summary="Print the dialects: how each reads 0 and -1, its limits, its source.",
    examples="""\
  shapecalc dialects
  shapecalc dialects --json""",
)
