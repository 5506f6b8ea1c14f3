"""`shapecalc chain`: apply several ops in sequence."""

from __future__ import annotations

from shapecalc.cli import output
from shapecalc.cli.answer import (
    add_as_option_hint,
    pop_code_opset,
    print_answer,
    print_error,
    report_interpretations,
    report_other_answers,
    run_for_each_line,
)
from shapecalc.cli.options import OUTPUT_OPTIONS, Argument, Command
from shapecalc.cli.output import OutputOptions
from shapecalc.core.answers import Chain
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import replace
from shapecalc.core.requests import Options, StageRequest, apply_chain_options
from shapecalc.core.text import split_outside_brackets
from shapecalc.core.values import parse_sizes
from shapecalc.reading import commands
from shapecalc.reading.options import rule_options, strip_leading_space
from shapecalc.reasoning.answers import IDENTITY_STAGES, answer_chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.engine.arrays import Source


CHAIN_ARGUMENT = Argument("stages", "the input shape and the stages", "'INPUT | OP ... | OP ...'")


def run_chain(stages: str, output_options: OutputOptions, **options: object) -> int:
    """Apply the stages of a chain to its input shape, and print the answer.

    `stages` is the text of the chain, including its input. If the input is `-`, each line of standard input is an input
    shape. `options` apply to every stage that accepts them and does not set them itself. Return the largest exit code.
    """

    def print_chain_error(error: ShapeError, line_options: OutputOptions) -> int:
        """Print an error, with its position in the chain, and return the exit code."""
        problem = locate_in_chain(add_as_option_hint(error).problem, stages)
        return print_error(ShapeError(problem), "chain", {"stages": stages}, line_options)

    def run_with_input(shape: str, line_options: OutputOptions) -> int:
        """Apply the stages to one input shape, print the answer and return the exit code."""
        stage_options = {**options}
        try:
            opset = pop_code_opset(stage_options, parsed_stages, line_options)
            answer, source = resolve_stages(strip_leading_space(shape), parsed_stages, stage_options, defaults)
            own_options = [options, *(own for _, own in parsed_stages)]
            code = print_answer(answer, line_options, source, opset, own_options)
            report_interpretations(answer, line_options)
            report_other_answers(answer, line_options, [defaults, *own_options])
            return code
        except ShapeError as error:
            return print_chain_error(error, line_options)

    try:
        input_shape, parsed_stages = commands.parse_chain(stages, options.get("dialect"))
        defaults = output.load_and_report_defaults(parsed_stages, options, output_options)
    except ShapeError as error:
        return print_chain_error(error, output_options)
    if input_shape.strip() == "-":
        return run_for_each_line(run_with_input, "chain", {"stages": stages}, output_options)
    return run_with_input(input_shape, output_options)


def resolve_stages(
    shape: str, stages: Sequence[StageRequest], options: dict[str, object], defaults: Options
) -> tuple[Chain, Source | None]:
    """Apply the stages of a chain to an input shape or file.

    `options` apply to all stages; `defaults` apply to stages that do not set the option. Return the answer, and the
    input file or None. Raises `ShapeError` (usage) if an argument cannot be parsed, and (file) if the input file cannot
    be used.
    """
    where = options.pop("where", None)
    (op, first), *others = apply_chain_options(stages, options, defaults) or IDENTITY_STAGES
    parsed = output.read_input(shape, first, op)
    all_stages = [(op, parsed.options), *others] if stages else []
    return answer_chain(parsed.shape, all_stages, {} if where is None else parse_sizes(where)), parsed.source


def locate_in_chain(problem: Problem, chain_text: str) -> Problem:
    """Convert the span of a problem to offsets in the text of a chain.

    The span of `problem` is relative to the text of one argument. It becomes None if that text occurs more than once in
    the chain.
    """
    if problem.span is None:
        return problem
    texts = [chain_text.partition("|")[0].strip()] if problem.argument == "input" else []
    for stage in chain_text.split("|")[1:]:
        try:
            options = commands.parse_stage(split_outside_brackets(stage), with_input=False).options
        except ShapeError:
            continue
        texts += [str(options[name]) for name in options if name == problem.argument]
    if len(texts) != 1 or chain_text.count(texts[0]) != 1:
        return replace(problem, argument="stages", span=None)
    start = chain_text.index(texts[0])
    return replace(problem, argument="stages", span=(start + problem.span[0], start + problem.span[1]))


CHAIN_COMMAND = Command(
    run=run_chain,
    parameters=[CHAIN_ARGUMENT, *rule_options(), *OUTPUT_OPTIONS.values()],
    summary="Apply several ops to a shape, one after another.",
    examples="""\
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'
  shapecalc chain 'N,C,H,W | reshape 0,0,-1 | transpose 0,2,1' --explain
  shapecalc chain '- | flatten --axis 1' --dialect onnx < shape.txt""",
    details=""" Each stage takes the options of its op.""",
)
