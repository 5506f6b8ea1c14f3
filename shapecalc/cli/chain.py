"""`shapecalc chain`: several ops in a row."""

from __future__ import annotations

from shapecalc.cli.answer import advised, answer_lines, print_answer, print_error, take_model_opset
from shapecalc.cli.config import told_defaults
from shapecalc.cli.inputs import read_input, without_padding
from shapecalc.cli.options import ASKING, PRINTING, SWITCHING, Argument, Command
from shapecalc.core.ask import chain_with_options
from shapecalc.core.commands import read_chain, read_stage, split
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import replace
from shapecalc.core.values import read_sizes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.cli.output import Output
    from shapecalc.core.answers import Chain
    from shapecalc.core.ask import Options, Stage
    from shapecalc.engine.arrays import Source

STAGES = Argument("stages", "the input shape and the stages", "'INPUT | OP ... | OP ...'")


def run_chain(stages: str, out: Output, **options: object) -> int:
    """Answer the stages in turn; the options apply to every stage that takes them and does not say otherwise.

    If the input is `-`, every line of standard input is answered.
    """

    def refuse(error: ShapeError, placed: Output) -> int:
        problem = place_in_chain(advised(error).problem, stages)
        return print_error(ShapeError(problem), "chain", {"stages": stages}, placed)

    def answer(shape: str, placed: Output) -> int:
        own = {**options}
        try:
            opset = take_model_opset(own, asked, placed)
            found, source = answer_stages(without_padding(shape), asked, own, defaults)
            return print_answer(found, placed, source, opset, [options, *(each for _, each in asked)])
        except ShapeError as error:
            return refuse(error, placed)

    try:
        written, asked = read_chain(stages)
        defaults = told_defaults(asked, options, out)
    except ShapeError as error:
        return refuse(error, out)
    if written.strip() == "-":
        return answer_lines(answer, "chain", {"stages": stages}, out)
    return answer(written, out)


def answer_stages(
    shape: str, asked: Sequence[Stage], options: dict[str, object], defaults: Options
) -> tuple[Chain, Source | None]:
    """Return the answer to a chain as it was typed, and the data of its input if that is a file.

    Raises `ShapeError`: usage if it cannot be read, file if its input cannot be used.
    """
    where = options.pop("where", None)
    stages, source = chain_with_options(asked, options, defaults), None
    if stages:
        (op, first), *others = stages
        given = read_input(shape, first, op)
        shape, source, stages = given.shape, given.source, [(op, given.options), *others]
    return answer_chain(shape, stages, {} if where is None else read_sizes(where)), source


def place_in_chain(problem: Problem, stages: str) -> Problem:
    """Return a problem with its token's place in the whole chain, if the token's argument stands there once."""
    if problem.span is None:
        return problem
    texts = [stages.partition("|")[0].strip()] if problem.argument == "input" else []
    for stage in stages.split("|")[1:]:
        try:
            options = read_stage(split(stage), with_input=False).options
        except ShapeError:
            continue
        texts += [str(options[name]) for name in options if name == problem.argument]
    if len(texts) != 1 or stages.count(texts[0]) != 1:
        return replace(problem, argument="stages", span=None)
    start = stages.index(texts[0])
    return replace(problem, argument="stages", span=(start + problem.span[0], start + problem.span[1]))


CHAIN_COMMAND = Command(
    name="chain",
    run=run_chain,
    parameters=[STAGES, *ASKING.values(), *SWITCHING.values(), *PRINTING.values()],
    summary="Carry a shape through several ops, each on the output of the one before.",
    examples="""\
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'
  shapecalc chain 'N,C,H,W | reshape 0,0,-1 | transpose 0,2,1' --explain
  shapecalc chain '- | flatten --axis 1' --dialect onnx < shape.txt""",
    more=""" A stage takes the options of its own command.""",
)
