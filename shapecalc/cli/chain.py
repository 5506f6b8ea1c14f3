"""`shapecalc chain`: several ops in a row."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from shapecalc.cli.answer import finished, input_text, refused
from shapecalc.cli.data import read_input
from shapecalc.cli.options import (
    AllowzeroOption,
    BackendOption,
    CodeOption,
    DialectOption,
    DtypeOption,
    ExpectOption,
    ExplainOption,
    FollowOption,
    FollowOutOption,
    ForceOption,
    JsonOption,
    OpsetOption,
    OutOption,
    Output,
    PlaceholderOption,
    QuietOption,
    SpecialZeroOption,
    StrictOption,
    ValuesOption,
    WhereOption,
)
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.request import default_dialect
from shapecalc.core.resolve import chain as resolve_chain
from shapecalc.core.rules import DIALECTS, SWITCHES
from shapecalc.core.setting import SWITCHED
from shapecalc.core.values import read_sizes
from shapecalc.core.words import read_chain, read_stage, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    dtype: DtypeOption = None,
    allowzero: AllowzeroOption = None,
    special_zero: SpecialZeroOption = None,
    zero_is_placeholder: PlaceholderOption = None,
    where: WhereOption = None,
    explain: ExplainOption = False,
    json: JsonOption = False,
    expect: ExpectOption = None,
    quiet: QuietOption = False,
    strict: StrictOption = False,
    values: ValuesOption = False,
    follow: FollowOption = None,
    follow_out: FollowOutOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    backend: BackendOption = "auto",
    code: CodeOption = None,
) -> int:
    """Answer the stages in turn; the options apply to every stage that does not say otherwise."""
    asking = Output(explain, json, quiet, strict, expect, values, follow, follow_out, out, force, backend, code)
    try:
        shape, asked = read_chain(stages)
        switches = {"allowzero": allowzero, "special_zero": special_zero, "zero_is_placeholder": zero_is_placeholder}
        defaults = {"dialect": dialect, "opset": opset, "dtype": dtype, **switches}
        filled = [(op, {**_taken(op, defaults), **options}) for op, options in asked]
        first, options = filled[0] if filled else ("reshape", {})
        given = read_input(input_text(shape), options, first)
        answer = resolve_chain(
            given.shape,
            [(first, given.options), *filled[1:]] if filled else [],
            read_sizes(where) if where is not None else {},
        )
        return finished(answer, asking, given.source)
    except ShapeError as error:
        return refused(ShapeError(_placed(error.problem, stages)), "chain", {"stages": stages}, asking)


def _taken(op: str, defaults: Mapping[str, object]) -> dict[str, object]:
    """Return the options of the whole chain that an op takes: a switch and an opset are not for all."""
    row = DIALECTS.get(str(defaults["dialect"] or default_dialect(op)).lower())
    skipped = {*SWITCHES, "opset"} - ({*SWITCHES} if op in SWITCHED else set())
    if row is None or row.newest_opset:
        skipped.discard("opset")
    return {name: value for name, value in defaults.items() if name not in skipped}


def _placed(problem: Problem, stages: str) -> Problem:
    """Return a problem with its token's place in the whole chain, where the token's argument stands there once."""
    texts = [stages.partition("|")[0].strip()] if problem.argument == "input" else []
    for stage in stages.split("|")[1:]:
        with suppress(ShapeError):
            options = read_stage(split(stage), with_input=False).options
            texts += [str(options[name]) for name in options if name == problem.argument]
    if problem.span is None or len(texts) != 1 or stages.count(texts[0]) != 1:
        return problem._replace(argument="stages", span=None) if problem.span else problem
    start = stages.index(texts[0])
    return problem._replace(argument="stages", span=(start + problem.span[0], start + problem.span[1]))
