"""`shapecalc dialects`: the table of what frameworks answer."""

from __future__ import annotations

import typer

from shapecalc.cli.answer import put_json
from shapecalc.cli.options import JsonOption
from shapecalc.cli.output import Exit, put, show_table
from shapecalc.core.rules import DIALECTS

SUMMARY = "Print the dialects: what each says of 0 and -1, its limits, its source."
HELP = f"""\b
  shapecalc dialects
  shapecalc dialects --json

{SUMMARY}"""

LEGEND = """\

  *           the default; a switch without one must be given
  0           copies the dim at the same index, or is a dim of size zero
  infers      the negative values that stand for a dim to infer
  0 and -1    whether a 0 of size zero may stand beside -1
  -1 of none  what -1 is where the known dims hold no elements: refused, or the
              quotient of the products without the zeros, or without the copied
              dims, where 0/0 is 1
"""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("dialects", cls=cls, short_help=SUMMARY, help=HELP)(dialects)


def dialects(json: JsonOption = False) -> int:
    """Print the table of dialects and the table of operators."""
    if json:
        put_json([row.as_json() for row in DIALECTS.values()])
        return Exit.YES
    from shapecalc.view.tables import dialects_table, operators_table, versions_table

    show_table(dialects_table())
    put(LEGEND)
    show_table(operators_table())
    put("")
    show_table(versions_table())
    return Exit.YES
