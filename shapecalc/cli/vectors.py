"""`shapecalc vectors`: golden cases for every dialect, for others to test against."""

from __future__ import annotations

import json

import typer

from shapecalc.cli.answer import refused
from shapecalc.cli.options import DialectsOption, Output
from shapecalc.cli.output import Exit, put
from shapecalc.core.problem import ShapeError
from shapecalc.core.request import found
from shapecalc.core.rules import DIALECTS
from shapecalc.core.vectors import vectors as golden

SUMMARY = "Write golden cases for every dialect, as JSON Lines that check reads."
HELP = f"""\b
  shapecalc vectors > vectors.jsonl
  shapecalc vectors --dialect tensorrt --dialect onednn
  shapecalc vectors | shapecalc check -

{SUMMARY} Each has an id, the source of its rules, and what it must come to."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("vectors", cls=cls, short_help=SUMMARY, help=HELP)(vectors)


def vectors(dialect: DialectsOption = None) -> int:
    """Write the cases, the same every time."""
    try:
        chosen = [found(name.lower(), DIALECTS, "dialect").name for name in dict.fromkeys(dialect or [])]
    except ShapeError as error:
        return refused(error, "vectors", {}, Output())
    for case in golden(chosen):
        put(json.dumps(case))
    return Exit.YES
