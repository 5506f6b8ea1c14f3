"""`shapecalc compare`: the same reshape under every dialect and switch setting."""

from __future__ import annotations

from typing import Annotated

import typer

from shapecalc.cli.answer import input_text, put_json, refused, unpadded
from shapecalc.cli.data import read_input
from shapecalc.cli.options import (
    INPUT_HELP,
    DialectsOption,
    DtypeOption,
    ExpectOption,
    ExplainOption,
    JsonOption,
    OpsetOption,
    Output,
    QuietOption,
    StrictOption,
    WhereOption,
)
from shapecalc.cli.output import Exit, show, show_table, tell
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import Comparison
from shapecalc.core.resolve import compare as resolve_comparison
from shapecalc.core.text import read_dims, shape_text
from shapecalc.core.trace import Trace

SUMMARY = "Ask every dialect for the same reshape, side by side."
HELP = f"""\b
  shapecalc compare 0,3,4 0,-1
  shapecalc compare 2,3,4 0,-1 --dialect onnx --dialect numpy
  shapecalc compare N,C,H,W 0,-1 --json

{SUMMARY} Exit 1 where the answers differ at the dialects' default settings; refusals agree with each
other. Rows that differ from what most answer are marked with *."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("compare", cls=cls, short_help=SUMMARY, help=HELP)(compare)


def compare(
    input: Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP, show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="the shape asked for", show_default=False)],
    dialect: DialectsOption = None,
    opset: OpsetOption = None,
    dtype: DtypeOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    json: JsonOption = False,
    expect: ExpectOption = None,
    quiet: QuietOption = False,
    strict: StrictOption = False,
) -> int:
    """Print the table, or its JSON; say whether the dialects agree."""
    texts: dict[str, object] = {"input": input, "target": unpadded(target)}
    try:
        texts["input"] = input_text(input)
        comparison = resolve_comparison(
            read_input(str(texts["input"]), {}, "reshape").shape,
            texts["target"],
            list(dict.fromkeys(dialect or [])),
            {"opset": opset, "dtype": dtype, "where": where},
        )
        expected = None if expect is None else shape_text(read_dims(expect, "expect"))
    except ShapeError as error:
        return refused(error, "compare", texts, Output(json=json, quiet=quiet, expect=expect))
    counted = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(_output(trace) == expected for trace in counted)
    agreed = comparison.agree and as_expected and not (strict and any(trace.conditions for trace in counted))
    if json and not quiet:
        put_json(comparison.as_json())
    elif not quiet:
        _print(comparison, explain=explain)
        if not as_expected:
            tell(f"shapecalc: not every dialect answers {expected}")
    return Exit.YES if agreed else Exit.NO


def _output(trace: Trace) -> str | None:
    return None if trace.output is None else shape_text(trace.output)


def _print(comparison: Comparison, *, explain: bool) -> None:
    """Print the table; tell whether the dialects agree, and where asked every row's steps."""
    from shapecalc.view.steps import steps_text
    from shapecalc.view.tables import comparison_table

    for row in comparison.rows if explain else ():
        show(steps_text(row.trace))
    show_table(comparison_table(comparison))
    differ = "differ (* is a minority)"
    tell(f"shapecalc: the dialects {'agree' if comparison.agree else differ}")
