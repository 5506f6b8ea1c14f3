"""`shapecalc compare`: the same reshape under every dialect and switch setting."""

from __future__ import annotations

from typing import Annotated

import typer

from shapecalc.cli.answer import input_text, put_json, refused, unpadded
from shapecalc.cli.options import INPUT_HELP, DtypeOption, JsonOption, OpsetOption, Output, QuietOption, WhereOption
from shapecalc.cli.output import Exit, show_table, tell
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import compare as resolve_comparison

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
    dialect: Annotated[
        list[str] | None, typer.Option("--dialect", "-d", help="Only this one; may be repeated.", metavar="NAME")
    ] = None,
    opset: OpsetOption = None,
    dtype: DtypeOption = None,
    where: WhereOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Print the table, or its JSON; say whether the dialects agree."""
    texts: dict[str, object] = {"input": input, "target": unpadded(target)}
    try:
        texts["input"] = input_text(input)
        comparison = resolve_comparison(
            str(texts["input"]),
            texts["target"],
            list(dict.fromkeys(dialect or [])),
            {"opset": opset, "dtype": dtype, "where": where},
        )
    except ShapeError as error:
        return refused(error, "compare", texts, Output(json=json, quiet=quiet))
    if quiet:
        return Exit.YES if comparison.agree else Exit.NO
    if json:
        put_json(comparison.as_json())
    else:
        from shapecalc.view.tables import comparison_table

        show_table(comparison_table(comparison))
        differ = "differ at their default settings (* is a minority)"
        tell(f"shapecalc: the dialects {'agree' if comparison.agree else differ}")
    return Exit.YES if comparison.agree else Exit.NO
