"""`shapecalc chain`: several ops in a row."""

from __future__ import annotations

from typing import Annotated

import typer

from shapecalc.cli.answer import finished, input_text, refused
from shapecalc.cli.options import (
    AllowzeroOption,
    DialectOption,
    ExpectOption,
    ExplainOption,
    JsonOption,
    OpsetOption,
    Output,
    PlaceholderOption,
    QuietOption,
    SpecialZeroOption,
    StrictOption,
    WhereOption,
)
from shapecalc.core.problem import ShapeError
from shapecalc.core.request import read_sizes
from shapecalc.core.resolve import chain as resolve_chain
from shapecalc.core.setting import SWITCHED
from shapecalc.core.words import read_chain

SUMMARY = "Carry a shape through several ops, each on the output of the one before."
HELP = f"""\b
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'
  shapecalc chain 'N,C,H,W | reshape 0,0,-1 | transpose 0,2,1' --explain
  shapecalc chain '- | flatten --axis 1' --dialect onnx < shape.txt

{SUMMARY} A stage takes the options of its own command."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("chain", cls=cls, short_help=SUMMARY, help=HELP)(chain)


def chain(
    stages: Annotated[
        str,
        typer.Argument(metavar="'INPUT | OP ... | OP ...'", help="the input shape and the stages", show_default=False),
    ],
    dialect: DialectOption = None,
    opset: OpsetOption = None,
    allowzero: AllowzeroOption = None,
    special_zero: SpecialZeroOption = None,
    zero_is_placeholder: PlaceholderOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    json: JsonOption = False,
    expect: ExpectOption = None,
    quiet: QuietOption = False,
    strict: StrictOption = False,
) -> int:
    """Answer the stages in turn; the options apply to every stage that does not say otherwise."""
    out = Output(explain, json, quiet, strict, expect)
    try:
        shape, asked = read_chain(stages)
        defaults = {"dialect": dialect, "opset": opset}
        switches = {"allowzero": allowzero, "special_zero": special_zero, "zero_is_placeholder": zero_is_placeholder}
        filled = [(op, {**defaults, **(switches if op in SWITCHED else {}), **options}) for op, options in asked]
        return finished(resolve_chain(input_text(shape), filled, read_sizes(where) if where is not None else {}), out)
    except ShapeError as error:
        return refused(error, "chain", {"stages": stages}, out)
