"""The commands on chains of ops, such as `equiv`, `simplify` and `find`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from shapecalc.cli import output
from shapecalc.cli.answer import (
    generate_requested_code,
    pop_code_opset,
    print_error,
    print_notes,
    write_file,
)
from shapecalc.cli.chain import CHAIN_ARGUMENT, locate_in_chain, resolve_stages
from shapecalc.cli.options import (
    DIALECT_FILTER,
    OUTPUT_OPTIONS,
    Argument,
    Command,
    command_line_argument,
    select_output_options,
)
from shapecalc.cli.output import ExitCode, OutputOptions
from shapecalc.cli.usage_hints import split_shape_error
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.conditions import Unsatisfiable, require_equal
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Shape, product
from shapecalc.core.ops import OPS
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import fields, replace
from shapecalc.core.requests import MissingOpError, StageRequest, apply_chain_options, common_option_names
from shapecalc.core.text import escape_unprintable, format_count, shape_text
from shapecalc.core.values import parse_sizes
from shapecalc.reading import commands
from shapecalc.reading.commands import ChainRequest
from shapecalc.reading.options import RULE_OPTIONS, Option, OptionKind, is_value, rule_options
from shapecalc.reasoning.answers import IDENTITY_STAGES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.reasoning.compare import Comparison
    from shapecalc.reasoning.equiv import Counterexample, Equivalence
    from shapecalc.reasoning.find import ChainSearchResult, ShapePair


COMPARE_ARGUMENT = command_line_argument(
    "the command line of an op or of chain; the default op is reshape", "[OP] INPUT ..."
)

EXPLAIN_OPTION = Option("explain", "Print every step on standard error.", OptionKind.FLAG_OR_ALL, short="-e")
COMPARE_OPTIONS: tuple[Option, ...] = (
    DIALECT_FILTER,
    *(option for option in RULE_OPTIONS.values() if option.name != DIALECT_FILTER.name),
    *(EXPLAIN_OPTION, *select_output_options("json", "expect", "quiet", "strict", "no_config")),
)
"""Options of `compare`, without the options of the compared op, which are parsed separately."""


def run_compare(words: list[str], dialect: list[str] | None, output_options: OutputOptions, **options: object) -> int:
    """Print the answers to a request or chain under several dialects.

    `words` are the command line of the request; `dialect` lists the selected dialects, None for all. The exit code is 1
    if the answers differ or do not match `--expect`. With `--strict`, it is also 1 if an answer has conditions.
    """
    from shapecalc.checking.answering import meets_expectation
    from shapecalc.reading.cases import parse_expectation_for_stages
    from shapecalc.reasoning.compare import compare, compare_chain

    texts: dict[str, object] = {"words": " ".join(words)}
    try:
        _check_output_options(words)
        dialects = list(dict.fromkeys(dialect or []))
        stage_per_dialect = [(RESHAPE.name, {"dialect": name}) for name in dialects or DIALECTS]
        # `compare` sets the dialect, so no default applies except the opset
        options |= output.load_and_report_defaults(stage_per_dialect, {**options, "dialect": "every"}, output_options)
        if "|" in words[-1] or words[0] == "chain":
            shape, stages = _parse_compared_chain(words)
            comparison = compare_chain(shape, stages, dialects, options)
        else:
            op, shape, arguments = _parse_compared_op(words)
            texts = {"input": shape, **arguments}
            comparison = compare(op, shape, arguments, dialects, options)
        expected = (
            None if output_options.expect is None else parse_expectation_for_stages(output_options.expect, [options])
        )
    except ShapeError as error:
        return print_error(split_shape_error(["compare", *words]) or error, "compare", texts, output_options)
    traces = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(meets_expectation(expected, trace) for trace in traces)
    agree = (
        comparison.agree and as_expected and not (output_options.strict and any(trace.conditions for trace in traces))
    )
    if output.print_json_if_requested(output_options, comparison.as_json):
        print_notes(comparison.rows[0].trace.notes if comparison.rows else (), output_options)
        _print_comparison(comparison, explain=output_options.explain > 0)
        if not as_expected:
            output.print_stderr(f"shapecalc: not every dialect answers {expected}")
    return ExitCode.OK if agree else ExitCode.FAILED


def _parse_compared_op(words: list[str]) -> tuple[str, str, Mapping[str, object]]:
    """Parse a request into the name of its op, its input shape and its arguments.

    The default op is reshape. Raises `ShapeError` (usage) if the words cannot be parsed, and (file) if the input cannot
    be read.
    """
    op = commands.resolve_aliases(words)[0]
    has_op = op in OPS or op.isidentifier()
    stage = commands.parse_stage([op, *words[1:]] if has_op else [RESHAPE.name, *words], with_input=True)
    reject_shared_options(stage.options)
    if stage.input is None:
        raise usage_error(f"{stage.op} needs an input", f"write compare {stage.op} INPUT ...", argument="input")
    return stage.op, output.read_input(output.read_input_text(stage.input), {}, stage.op).shape, stage.options


def _parse_compared_chain(words: list[str]) -> tuple[str, list[StageRequest]]:
    """Parse the input shape and the stages of a chain.

    The word `chain` may precede the chain. Raises `ShapeError` (usage) if the words cannot be parsed, and (file) if the
    input cannot be read.
    """
    *before, text = words
    if before not in ([], ["chain"]) or "|" not in text:
        message = f"a chain is one word in quotes, with |, and here are {len(words)} words"
        raise usage_error(message, "write compare chain 'INPUT | OP ...'")
    shape, stages = commands.parse_chain(text)
    for _, options in stages:
        reject_shared_options(options)
    return output.read_input(output.read_input_text(shape), {}, stages[0][0] if stages else RESHAPE.name).shape, stages


def reject_shared_options(options: Mapping[str, object]) -> None:
    """Raise `ShapeError` (usage) for an option that `compare` itself sets.

    These are the options that all ops have, such as `dialect`.
    """
    for name in options:
        if name in common_option_names():
            raise usage_error(f"compare asks under every {name}, so leave it out", argument=name)


def _check_output_options(words: Sequence[str]) -> None:
    """Raise `ShapeError` (usage) for an output option that requires a single answer."""
    spellings = {spelling for option in OUTPUT_OPTIONS.values() for spelling in (option.spelling, option.short)}
    for word in words:
        spelling = word.partition("=")[0]
        if spelling in spellings and not is_value(word):
            raise usage_error(
                f"compare takes no {spelling}", f"it takes {', '.join(option.spelling for option in COMPARE_OPTIONS)}"
            )


def _print_comparison(comparison: Comparison, *, explain: bool) -> None:
    """Print a table with the answer of each dialect, and a summary.

    With `explain`, also print the steps of each answer.
    """
    from shapecalc.render.report import comparison_table, steps_text

    for row in comparison.rows if explain else ():
        output.print_renderable(steps_text(row.trace, output.terminal_width()))
    output.print_table(comparison_table(comparison))
    reasons = {name: why.removeprefix(f"{name} ") for name, why in comparison.errors.items()}
    for why in dict.fromkeys(reasons.values()):
        output.print_stderr(
            f"shapecalc: left out ({why}): {', '.join([name for name in reasons if reasons[name] == why])}"
        )
    output.print_stderr(f"shapecalc: {_agreement_text(comparison)}")


def _agreement_text(comparison: Comparison) -> str:
    """Summarize whether the dialects agree, and explain the stars in the table.

    A star marks the less common answers or, if the dialects agree, the answers at settings other than the default.
    """
    if not comparison.agree:
        return "the dialects differ (* marks the less common answers)"
    dialects = list(dict.fromkeys(row.dialect for row in comparison.rows))
    text = f"{', '.join(dialects)} agree" if comparison.errors else "the dialects agree"
    text = text if len(dialects) > 1 else f"only {dialects[0]} is asked{_shuffle_hint(comparison.rows[0].trace)}"
    if len({row.verdict for row in comparison.rows}) == 1:
        return text
    return f"{text} (* marks the answers at other settings than the default)"


def _shuffle_hint(answer: Trace | Chain) -> str:
    """Return the hint to compare a Shuffle as a chain, or "" for other ops.

    Only TensorRT has the Shuffle layer; it is equivalent to the chain of transpose, reshape and transpose.
    """
    if isinstance(answer, Chain) or answer.request.op != SHUFFLE.name:
        return ""
    ops = zip((TRANSPOSE.name, RESHAPE.name, TRANSPOSE.name), SHUFFLE.params, strict=True)
    parts = [(op, answer.request.arguments.get(param.name)) for op, param in ops]
    stages = [shape_text(answer.input), *(f"{op} {shape_text(dims)}" for op, dims in parts if dims is not None)]
    return f"; for the others write compare '{' | '.join(stages)}'"


COMPARE_COMMAND = Command(
    run=run_compare,
    parameters=[COMPARE_ARGUMENT, *COMPARE_OPTIONS],
    summary="Resolve a request under every dialect, and show the answers side by side.",
    examples="""\
  shapecalc compare 0,3,4 0,-1
  shapecalc compare 2,3,4 0,-1 --dialect onnx --dialect numpy
  shapecalc compare squeeze 1,3,1 --axes 1 --json
  shapecalc compare chain '2,3 | transpose | reshape 0,-1'""",
    details=""" Exit 1 if the answers differ at the dialects' default settings; all refusals count as equal. *
marks the rows that differ from the most common answer.""",
    accepts_unknown_options=True,
)


FIRST_CHAIN_ARGUMENT = Argument("first", "a chain, an op with its input, or code", "'INPUT | OP ...'")
INPUT_OPTION = Option("input", "The input shape of both chains.", metavar="SHAPE")
SECOND_CHAIN_ARGUMENT = Argument("second", "the chain to compare the first chain with", "'| OP ...'")
EQUIV_OUTPUT_NAMES = ("json", "quiet", "strict", "no_config")


def run_equiv(first: str, second: str, output_options: OutputOptions, **options: object) -> int:
    """Print whether two chains compute the same function.

    `options` apply to every stage that accepts them and does not set them itself. Return 0 if the chains are
    equivalent, 1 if they differ, and 3 if this is undecided. If they are equivalent only under conditions, return 1
    with `--strict` and 0 without it.
    """
    from shapecalc.reasoning.equiv import EquivalenceVerdict, check_equivalence, resolve_parsed_chains

    where, shape = options.pop("where"), options.pop("input")
    try:
        sizes = {} if where is None else parse_sizes(where)
        answers = resolve_parsed_chains(*_parse_chain_pair(first, second, shape, options, output_options), sizes)
        result = check_equivalence(*answers)
    except ShapeError as error:
        if isinstance(error, MissingOpError):
            hint = f"{error.problem.hint}; write --dialect NAME in its own stage"
            error = ShapeError(replace(error.problem, hint=hint))
        return print_error(error, "equiv", {"first": first, "second": second}, output_options)
    if output.print_json_if_requested(output_options, result.as_json):
        for answer in answers if output_options.explain else ():
            from shapecalc.render.report import steps_text

            output.print_renderable(steps_text(answer, output.terminal_width()))
        print_notes(dict.fromkeys([note for answer in answers for note in answer.notes]), output_options)
        output.print_stdout(str(result))
        for reason in result.reasons:
            output.print_stderr(f"shapecalc: {reason}")
        _print_counterexample(None if result.by_shape else result.counterexample, answers)
    return {
        EquivalenceVerdict.SAME: ExitCode.OK,
        EquivalenceVerdict.DIFFERENT: ExitCode.FAILED,
        EquivalenceVerdict.UNDECIDED: ExitCode.UNRESOLVED,
    }.get(result.verdict, ExitCode.FAILED if output_options.strict else ExitCode.OK)


def _parse_chain_pair(
    first: str, second: str, shape: object, options: dict[str, object], output_options: OutputOptions
) -> tuple[ChainRequest, ChainRequest]:
    """Parse two chains, and add the options and the defaults to their stages.

    A chain without an input gets the input of the other chain, or `shape`.
    Raises `ShapeError` (usage) if a chain cannot be parsed, and (file) if an input cannot be read.
    """
    from shapecalc.reasoning.equiv import parse_chain_pair

    left, right = parse_chain_pair(first, second, shape)
    has_one_input = right.input is left.input
    left = _resolve_chain_input(left)
    right = replace(right, input=left.input) if has_one_input else _resolve_chain_input(right)
    parsed_stages = [*left.stages, *right.stages]
    defaults = output.load_and_report_defaults(parsed_stages, options, output_options)
    stages = tuple(apply_chain_options(parsed_stages, options, defaults))
    count = len(left.stages)
    return ChainRequest(left.input, stages[:count]), ChainRequest(right.input, stages[count:])


def _resolve_chain_input(chain: ChainRequest) -> ChainRequest:
    """Replace the input of a chain by a shape if it is `-` or a file name.

    The shape is read from standard input or from the file.
    """
    (op, options), *others = chain.stages or IDENTITY_STAGES
    parsed = output.read_input(output.read_input_text(str(chain.input)), options, op)
    return ChainRequest(parsed.shape, ((op, parsed.options), *others) if chain.stages else ())


def _print_counterexample(
    counterexample: Counterexample | None, answers: tuple[Chain, Chain], *, on_stdout: bool = False
) -> None:
    """Print the outputs of two chains as grids, and mark the first difference.

    The counterexample contains the sizes at which the outputs differ.
    """
    if counterexample is None or any(0 in shape for shape in counterexample.outputs):
        return
    from shapecalc.render.canvas import glyphs_for_encoding
    from shapecalc.render.grid import draw_output_grids

    stream = sys.stdout if on_stdout else sys.stderr
    strokes = glyphs_for_encoding(getattr(stream, "encoding", None))
    grids = draw_output_grids(answers, counterexample, width=output.stderr_width(), glyphs=strokes)
    if on_stdout:
        output.print_stdout(grids.plain)
    else:
        output.print_renderable(grids)


EQUIV_COMMAND = Command(
    run=run_equiv,
    parameters=[
        FIRST_CHAIN_ARGUMENT,
        SECOND_CHAIN_ARGUMENT,
        INPUT_OPTION,
        *rule_options(),
        EXPLAIN_OPTION,
        *select_output_options(*EQUIV_OUTPUT_NAMES),
    ],
    summary="Check whether two chains are the same function of their input.",
    examples="""\
  shapecalc equiv 'N,C | transpose 1,0 | reshape -1' '| transpose 1,0 | flatten --axis 0 | reshape -1'
  shapecalc equiv '2,3,4 | transpose 1,0,2' '2,3,4 | reshape 3,2,4' --json
  shapecalc equiv 'N,C,H | reshape N,C*H' '| flatten' --where N=8
  shapecalc equiv 'x.permute(1, 0).view(-1)' 'shuffle --first 1,0 --to -1' --input 2,3""",
    details=""" A chain without an input uses the input of the other chain, or --input; an input without ops is the
identity. Code is read as PyTorch or NumPy code. The answer is 'same', 'same when' with conditions, 'different' with
the first differing element at the smallest sizes, or 'undecided'. Exit 0: same; 1: different, or same under conditions
with --strict; 3: undecided, or a chain is refused.""",
)


def run_against(first: str, second: str, film: str | None, output_options: OutputOptions, **options: object) -> int:
    """Print the outputs of two chains side by side, and count the differences.

    `film` is the file for an animation, or None. `options` apply to every stage that accepts them and does not set them
    itself. Return 0 if the outputs are equal, 1 if they differ, and 3 if a chain is refused or the comparison is
    undecided.
    """
    from shapecalc.reasoning.equiv import (
        EquivalenceVerdict,
        check_equivalence,
        count_differences,
        resolve_parsed_chains,
    )

    shape = options.pop("input")
    try:
        if shape is None:
            raise usage_error("an input shape is missing", "write --input 2,3", argument="input")
        if film is None and (output_options.theme or output_options.force):
            raise usage_error("--theme and --force need a film", "add --film FILE.svg")
        answers = resolve_parsed_chains(*_parse_chain_pair(first, second, shape, options, output_options), {})
        result = check_equivalence(*answers)
        counterexample = result.counterexample
        is_same = result.verdict is EquivalenceVerdict.SAME
        difference_count = 0 if is_same else None
        if counterexample is not None and not is_same:
            difference_count = count_differences(*answers, counterexample)
        if film is not None:
            _write_comparison_film(
                answers, None if result.by_shape else counterexample, difference_count, film, output_options
            )
    except ShapeError as error:
        return print_error(error, "against", {"first": first, "second": second}, output_options)
    if output.print_json_if_requested(output_options, lambda: result.as_json() | {"elsewhere": difference_count}):
        _print_counterexample(None if result.by_shape else counterexample, answers, on_stdout=True)
        output.print_stdout(_conclusion_text(result, difference_count))
    if result.verdict is EquivalenceVerdict.UNDECIDED:
        return ExitCode.UNRESOLVED
    return ExitCode.OK if is_same else ExitCode.FAILED


def _write_comparison_film(
    answers: tuple[Chain, Chain],
    counterexample: Counterexample | None,
    difference_count: int | None,
    name: str,
    output_options: OutputOptions,
) -> None:
    """Write an animation of two outputs to a file, and print its duration to stderr.

    Raises `ShapeError` (usage) unless the outputs have the same shape and differ in at least one element.
    """
    if counterexample is None or not difference_count:
        raise usage_error("a film shows two outputs of one shape with elements elsewhere", argument="film")
    from shapecalc.render.output_comparison import render_output_comparison

    seconds, data = render_output_comparison(answers, counterexample, difference_count, name, output_options.theme)
    write_file(name, data, force=output_options.force)
    if not (output_options.quiet or output_options.json):
        output.print_stderr(escape_unprintable(f"shapecalc: {name}: {seconds:.0f} seconds"))


def _conclusion_text(result: Equivalence, difference_count: int | None) -> str:
    """Return the conclusion of a comparison of two outputs.

    `difference_count` is the number of elements that differ.
    """
    from shapecalc.reasoning.equiv import differences_text

    counterexample = result.counterexample
    if counterexample is None or difference_count is None:
        return "; ".join([str(result), *result.reasons])
    return f"{counterexample}\n{differences_text(difference_count, counterexample)}"


AGAINST_COMMAND = Command(
    run=run_against,
    parameters=[
        Argument("first", "the stages of a chain", "'OP ...'"),
        Argument("second", "the stages of the chain to compare it with", "'OTHER OP ...'"),
        INPUT_OPTION,
        Option("film", "Write an animation of both outputs to this .svg file.", metavar="FILE"),
        *rule_options(),
        *select_output_options("force", "json", "quiet", "no_config", "theme"),
    ],
    summary="Show the outputs of two chains side by side, and count the elements that differ.",
    examples="""\
  shapecalc against 'reshape 3,2' 'transpose 1,0' --input 2,3
  shapecalc against 'view B,S,H,D' 'permute 0,2,1,3 | view B,S,H,D' --input B,H,S,D
  shapecalc against 'reshape 3,2' 'transpose 1,0' --input 2,3 --film race.svg
  shapecalc against 'reshape 3,2' 'transpose 1,0' --input 2,3 --json""",
    details=""" Named sizes get the smallest values at which the outputs differ. Exit 0: equal; 1: not equal; 3:
undecided, or a chain is refused.""",
)


SIMPLIFY_GOALS = ("transposes", "shuffles", "bytes")
SIMPLIFY_OPTIONS = (
    Option(
        "goal",
        "The cost to minimize",
        long="--for",
        default=SIMPLIFY_GOALS[0],
        completions=lambda: SIMPLIFY_GOALS,
        lists_completions=True,
    ),
    Option("check", "Exit 1 if the chain could be shorter.", OptionKind.FLAG),
)


def run_simplify(stages: str, goal: str, check: bool, output_options: OutputOptions, **options: object) -> int:
    """Print the equivalent chain with the lowest cost, or code for that chain.

    `goal` is the cost to minimize. `options` apply to every stage that accepts them. With `check`, return 1 if a chain
    with a lower cost exists.
    """
    from shapecalc.reasoning.costs import parse_goal
    from shapecalc.reasoning.simplify import simplify

    try:
        cost = parse_goal(goal)
        shape, parsed_stages = commands.parse_chain(stages, options.get("dialect"))
        defaults = output.load_and_report_defaults(parsed_stages, options, output_options)
        opset = pop_code_opset(options, parsed_stages, output_options)
        result = simplify(resolve_stages(output.read_input_text(shape), parsed_stages, options, defaults)[0], cost)
        code = generate_requested_code(result.chain, output_options, opset)
    except ShapeError as error:
        return print_error(
            ShapeError(locate_in_chain(error.problem, stages)), "simplify", {"stages": stages}, output_options
        )
    if output.print_json_if_requested(
        output_options, lambda: result.as_json() | ({"code": fields(code)} if code else {})
    ):
        output.print_stdout(code.text if code else result.text)
        for limit in code.warnings if code else result.chain.caveats:
            output.print_stderr(f"shapecalc: {limit}")
        gain = "the same in fewer stages" if result.after == result.before else f"now {result.after}"
        output.print_stderr(
            f"shapecalc: {result.before}{f'; {gain}' if result.is_improved else ', and none is shorter'}"
        )
    return ExitCode.FAILED if check and result.is_improved else ExitCode.OK


SIMPLIFY_COMMAND = Command(
    run=run_simplify,
    parameters=[
        CHAIN_ARGUMENT,
        *SIMPLIFY_OPTIONS,
        *rule_options(),
        *select_output_options("json", "quiet", "code", "no_config"),
    ],
    summary="Print the shortest chain that is proved to be equivalent.",
    examples="""\
  shapecalc simplify 'N,C,H | transpose 2,0,1 | transpose 0,2,1'
  shapecalc simplify 'B*8,S,D | reshape B,8,S,D | transpose 0,2,1,3 | reshape B,S,8*D' --for shuffles
  shapecalc simplify 'N,C,H | transpose 0,2,1 | reshape N,C*H | reshape N,H,C' --check --quiet""",
    details=""" The shortest chain has the fewest transposes, TensorRT Shuffles or moved bytes, and among
these the fewest stages. It accepts every input of the given chain, and uses the same dialect. A chain that cannot be
shortened is printed unchanged. The costs of both chains are printed on standard error. The bytes are those
read and written by copying stages; --dtype is the element type, float32 by default.""",
)


def run_invert(stages: str, output_options: OutputOptions, **options: object) -> int:
    """Print the chain that inverts another chain, or code for it.

    `options` apply to every stage that accepts them. Return 1 if there is no such chain.
    """
    from shapecalc.reasoning.invert import invert

    try:
        shape, parsed_stages = commands.parse_chain(stages, options.get("dialect"))
        defaults = output.load_and_report_defaults(parsed_stages, options, output_options)
        opset = pop_code_opset(options, parsed_stages, output_options)
        result = invert(resolve_stages(output.read_input_text(shape), parsed_stages, options, defaults)[0])
        code = None if result.chain is None else generate_requested_code(result.chain, output_options, opset)
    except ShapeError as error:
        return print_error(
            ShapeError(locate_in_chain(error.problem, stages)), "invert", {"stages": stages}, output_options
        )
    if output.print_json_if_requested(
        output_options, lambda: result.as_json() | ({"code": fields(code)} if code else {})
    ):
        if result.chain is None:
            output.print_stderr(f"shapecalc: {result.reason}")
        else:
            output.print_stdout(code.text if code else result.text)
            for limit in code.warnings if code else result.chain.caveats:
                output.print_stderr(f"shapecalc: {limit}")
        if result.drops_elements:
            output.print_stderr("shapecalc: it drops the elements that the chain adds")
    return ExitCode.OK if result else ExitCode.FAILED


INVERT_COMMAND = Command(
    run=run_invert,
    parameters=[CHAIN_ARGUMENT, *rule_options(), *select_output_options("json", "quiet", "code", "no_config")],
    summary="Print the chain that leads from the output of a chain back to its input.",
    examples="""\
  shapecalc invert '2,3,4 | transpose 1,0,2 | reshape 6,4'
  shapecalc invert 'B,H*16,W*16,C | rearrange "b (h p) (w q) c -> b (h w) (p q c)" p=16,q=16'
  shapecalc invert '1,3,1 | expand 4,3,2' --json""",
    details=""" It reverts the stages from the last to the first, in as few stages as simplify finds. Elements that the
chain added, as expand and pad do, are dropped. If a stage drops elements or computes new ones, the stage and the reason
are printed, and the exit code is 1.""",
)


SHAPE_ARGUMENTS = (
    Argument("input", "the input shape", "[INPUT]", required=False),
    Argument("output", "the output shape", "[OUTPUT]", required=False),
)
ARRAY_OPTIONS = (
    Option("before", "An input array; may be repeated.", OptionKind.TEXTS, metavar="FILE"),
    Option("after", "The expected output array; may be repeated.", OptionKind.TEXTS, metavar="FILE"),
)


def run_find(
    before: list[str] | None, after: list[str] | None, output_options: OutputOptions, **texts: str | None
) -> int:
    """Print the chains from one shape to another, or from arrays to expected arrays.

    `before` and `after` are the files of the input arrays and of the expected output arrays. `texts` are the unparsed
    input shape and output shape. Return 1 if there is no such chain.
    """
    from shapecalc.engine.chain_search import find_chains, find_chains_for_arrays, resolve_rearrangement

    try:
        pair = _parse_shape_pair(texts["input"], texts["output"], required=not before)
        shapes = None if pair is None else (pair.before, pair.after)
        print_notes(() if pair is None else pair.notes, output_options)
        arrays = _load_array_pairs(before or [], after or [])
        result = find_chains(*shapes) if shapes and not arrays else find_chains_for_arrays(arrays, shapes)
    except ShapeError as error:
        return print_error(
            error, "find", {name: text for name, text in texts.items() if text is not None}, output_options
        )
    if output.print_json_if_requested(output_options, result.as_json):
        for number, way in enumerate(result.ways, 1):
            output.print_stdout(way.chain)
            if way.layout:
                output.print_stderr(f"shapecalc: chain {number}: {way.layout}")
        for way in result.ways[:1]:  # all chains have the same shapes, so they hold under the same conditions
            for condition in resolve_rearrangement(way, {}).conditions:
                output.print_stderr(f"shapecalc: holds when {condition.phrase}")
        output.print_stderr(
            f"shapecalc: {_search_summary(result) if result.ways or arrays else _no_chain_text(shapes or ())}"
        )
    return ExitCode.OK if result.ways else ExitCode.FAILED


def _parse_shape_pair(input_text: str | None, output_text: str | None, *, required: bool) -> ShapePair | None:
    """Parse the input shape and the output shape.

    Return None if both are missing and not required. Raises `ShapeError` (usage) if a shape is missing or cannot be
    parsed, and (file) if the input file cannot be read.
    """
    from shapecalc.reasoning.find import parse_shape_pair

    if input_text is None and not required:
        return None
    if input_text is None or output_text is None:
        raise usage_error("find needs two shapes, or arrays with --before and --after", "write find INPUT OUTPUT")
    shape = output.read_input(output.read_input_text(input_text), {}, RESHAPE.name).shape
    return parse_shape_pair(shape, output_text)


def _load_array_pairs(before: list[str], after: list[str]) -> list[tuple[Any, Any]]:
    """Load pairs of an input array and its expected output array.

    Raises `ShapeError` (usage) if the two lists differ in length, and (file) if an array cannot be read.
    """
    if len(before) != len(after):
        counts = [format_count(len(files), "time", "times") for files in (before, after)]
        raise usage_error(f"--before was given {counts[0]}, and --after {counts[1]}")
    if not before:
        return []
    from shapecalc.engine.arrays import FileError, load_copy, open_array

    try:
        arrays = {path: load_copy(open_array(path), 1 << 28) for path in (*before, *after)}
    except FileError as error:
        raise output.file_error(error) from None
    return [(arrays[first], arrays[second]) for first, second in zip(before, after, strict=True)]


def _search_summary(result: ChainSearchResult) -> str:
    """Summarize a search: the number of chains found, and the limits of the search."""
    fits = f"{'' if result.complete else 'at least '}{result.fits or 'no'} function{'' if result.fits == 1 else 's'}"
    listed = f", of which {len(result.ways)} are listed" if len(result.ways) < result.fits else ""
    other = f"; left out: others, as {result.other.chain}" if result.other else ""
    return f"{fits} fit{'s' * (result.fits == 1)}{listed}; looked at {result.bounds}{other}"


def _no_chain_text(shapes: Sequence[Shape]) -> str:
    """Return the message that no chain leads from the first shape to the second."""
    before, after = map(product, shapes)
    try:
        conditions = " and ".join(condition.phrase for condition in require_equal(before, after))
    except Unsatisfiable:
        conditions = ""
    suffix = f" (as many when {conditions})" if conditions else ""
    return f"no chain leads there: {before} elements in, {after} out{suffix}"


FIND_COMMAND = Command(
    run=run_find,
    parameters=[*SHAPE_ARGUMENTS, *ARRAY_OPTIONS, *select_output_options("json", "quiet")],
    summary="Find chains from one shape to another.",
    examples="""\
  shapecalc find B,H*W,C B,C,H,W
  shapecalc find --before x.npy --after y.npy
  shapecalc find B,H*W,C B,C,H,W --before x.npy --after y.npy""",
    details=""" Named layouts (patches, windows, heads, pixel shuffle, NCHW to NHWC) come first, then the chain that
moves no element, then the chains with one transpose. The number of matching functions and the bounds of the search
are also printed. Dims are split into as few parts as possible: for 6,10 to 4,15, find misses chains that reshape to
2,3,2,5, transpose, and reshape to 4,15. With arrays, only the chains that map --before to --after are listed. The
elements of --before must be distinct, such as 0, 1, 2 ... A size that differs between pairs of arrays gets a name. Exit
1 if no chain is found.""",
)
