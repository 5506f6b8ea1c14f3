"""`shapecalc backends`: what can carry an answer out here."""

from __future__ import annotations

import typer

from shapecalc.cli.answer import put_json
from shapecalc.cli.options import JsonOption
from shapecalc.cli.output import Exit, put

SUMMARY = "List the backends with their versions, devices and memory."
HELP = f"""\b
  shapecalc backends
  shapecalc backends --json

{SUMMARY}"""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("backends", cls=cls, short_help=SUMMARY, help=HELP)(backends)


def backends(json: JsonOption = False) -> int:
    """Print a line for every backend and device."""
    from shapecalc.engine.backends import listed

    rows = listed()
    if json:
        put_json(rows)
        return Exit.YES
    for row in rows:
        said = row["problem"] or f"{row['version']} on {row['device']}, {int(str(row['memory'])) / 2**30:.1f} GiB"
        put(f"{row['name']}: {said}")
    return Exit.YES
