"""`shapecalc dialects`: the table of what frameworks answer."""

from __future__ import annotations

import typer

from shapecalc.cli.options import JsonOption
from shapecalc.cli.output import Exit, put, show_table
from shapecalc.core.rules import DIALECTS

SUMMARY = "Print the dialects: what each says of 0 and -1, its limits, its source."
HELP = f"""\b
  shapecalc dialects
  shapecalc dialects --json

{SUMMARY}"""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("dialects", cls=cls, short_help=SUMMARY, help=HELP)(dialects)


def dialects(json: JsonOption = False) -> int:
    """Print the table of dialects and the table of operators."""
    if json:
        import json as writer

        put(writer.dumps([row.as_json() for row in DIALECTS.values()]))
        return Exit.YES
    from shapecalc.view.tables import dialects_table, operators_table

    show_table(dialects_table())
    put("")
    show_table(operators_table())
    put("")
    for row in DIALECTS.values():
        if row.note:
            put(f"{row.name}: {row.note}")
    return Exit.YES
