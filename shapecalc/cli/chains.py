"""`shapecalc chain`, `compare`, `equiv`, `simplify` and `find`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shapecalc.cli import output
from shapecalc.cli.answer import advised, answer_lines, code_of, print_answer, print_error, take_model_opset
from shapecalc.cli.misread import split_shape_error
from shapecalc.cli.options import DIALECTS_ONLY, PRINTING, Argument, Command, command_words, printing_options
from shapecalc.cli.output import Exit, Output
from shapecalc.core import commands
from shapecalc.core.answers import Chain, Trace
from shapecalc.core.ask import LackingError, Options, Stage, chain_with_options, common_options
from shapecalc.core.cases import expectation, met
from shapecalc.core.commands import Option, Takes
from shapecalc.core.compare import Comparison, compare, compare_chain
from shapecalc.core.conditions import Never, equal
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Shape, product
from shapecalc.core.equiv import Asked, Counterexample, Verdict, answer_pair, asked_chain, equivalence
from shapecalc.core.find import Found, named_shape
from shapecalc.core.fixing import STILL, answer_chain
from shapecalc.core.ops import OPS
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.shuffle import SHUFFLE
from shapecalc.core.problem import Problem, ShapeError, misuse
from shapecalc.core.record import fields, replace
from shapecalc.core.simplify import goal_called, simplify
from shapecalc.core.text import number_text, shape_text, split
from shapecalc.core.values import read_sizes

if TYPE_CHECKING:
    from shapecalc.engine.arrays import Source


STAGES = Argument("stages", "the input shape and the stages", "'INPUT | OP ... | OP ...'")


def run_chain(stages: str, out: Output, **options: object) -> int:
    """Answer a chain, or one per line of standard input if its input is `-`.

    The options apply to every stage that accepts them and does not set them itself.
    """

    def print_chain_error(error: ShapeError, line_options: Output) -> int:
        problem = place_in_chain(advised(error).problem, stages)
        return print_error(ShapeError(problem), "chain", {"stages": stages}, line_options)

    def answer_shape(shape: str, line_options: Output) -> int:
        stage_options = {**options}
        try:
            opset = take_model_opset(stage_options, parsed_stages, line_options)
            answer, source = answer_stages(commands.without_padding(shape), parsed_stages, stage_options, defaults)
            return print_answer(answer, line_options, source, opset, [options, *(own for _, own in parsed_stages)])
        except ShapeError as error:
            return print_chain_error(error, line_options)

    try:
        input_shape, parsed_stages = commands.read_chain(stages)
        defaults = output.told_defaults(parsed_stages, options, out)
    except ShapeError as error:
        return print_chain_error(error, out)
    if input_shape.strip() == "-":
        return answer_lines(answer_shape, "chain", {"stages": stages}, out)
    return answer_shape(input_shape, out)


def answer_stages(
    shape: str, asked: Sequence[Stage], options: dict[str, object], defaults: Options
) -> tuple[Chain, Source | None]:
    """Return the answer to a parsed chain, and the data of its input if any.

    Raises `ShapeError`: usage if an argument cannot be parsed, file if the input cannot be used.
    """
    where = options.pop("where", None)
    (op, first), *others = chain_with_options(asked, options, defaults) or STILL
    parsed = output.read_input(shape, first, op)
    all_stages = [(op, parsed.options), *others] if asked else []
    return answer_chain(parsed.shape, all_stages, {} if where is None else read_sizes(where)), parsed.source


def place_in_chain(problem: Problem, stages: str) -> Problem:
    """Return the problem with its span relative to the text of the whole chain.

    The span is None if the text of the failing argument occurs more than once in the chain.
    """
    if problem.span is None:
        return problem
    texts = [stages.partition("|")[0].strip()] if problem.argument == "input" else []
    for stage in stages.split("|")[1:]:
        try:
            options = commands.read_stage(split(stage), with_input=False).options
        except ShapeError:
            continue
        texts += [str(options[name]) for name in options if name == problem.argument]
    if len(texts) != 1 or stages.count(texts[0]) != 1:
        return replace(problem, argument="stages", span=None)
    start = stages.index(texts[0])
    return replace(problem, argument="stages", span=(start + problem.span[0], start + problem.span[1]))


CHAIN_COMMAND = Command(
    run=run_chain,
    parameters=[STAGES, *commands.asking_options(), *PRINTING.values()],
    summary="Carry a shape through several ops, each on the output of the one before.",
    examples="""\
  shapecalc chain '2,3,4 | transpose 1,0,2 | reshape 2,-1,3'
  shapecalc chain 'N,C,H,W | reshape 0,0,-1 | transpose 0,2,1' --explain
  shapecalc chain '- | flatten --axis 1' --dialect onnx < shape.txt""",
    more=""" A stage takes the options of its own command.""",
)


WORDS = command_words("the command line of an op or of chain; without an op, of reshape", "[OP] INPUT ...")

STEPS = Option("explain", "Print every step, on standard error.", Takes.MORE, short="-e")
OPTIONS: tuple[Option, ...] = (
    DIALECTS_ONLY,
    *(option for option in commands.ASKING.values() if option.name != DIALECTS_ONLY.name),
    *(STEPS, *printing_options("json", "expect", "quiet", "strict", "no_config")),
)
"""Options of `compare` itself; those of the op are among the words."""


def run_compare(words: list[str], dialect: list[str] | None, out: Output, **options: object) -> int:
    """Print the answers of every dialect; exit 1 if they differ."""
    texts: dict[str, object] = {"words": " ".join(words)}
    try:
        _check_printing(words)
        dialects = list(dict.fromkeys(dialect or []))
        stage_per_dialect = [("reshape", {"dialect": name}) for name in dialects or DIALECTS]
        # with the dialect set, the opset is the only default
        options |= output.told_defaults(stage_per_dialect, {**options, "dialect": "every"}, out)
        if "|" in words[-1] or words[0] == "chain":
            shape, stages = _asked_chain(words)
            comparison = compare_chain(shape, stages, dialects, options)
        else:
            op, shape, arguments = _asked(words)
            texts = {"input": shape, **arguments}
            comparison = compare(op, shape, arguments, dialects, options)
        expected = None if out.expect is None else expectation(out.expect, [options])
    except ShapeError as error:
        return print_error(split_shape_error(["compare", *words]) or error, "compare", texts, out)
    traces = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(met(expected, trace) for trace in traces)
    agree = comparison.agree and as_expected and not (out.strict and any(trace.conditions for trace in traces))
    if output.asks_text(out, comparison.as_json):
        _print_comparison(comparison, explain=out.explain > 0)
        if not as_expected:
            output.tell(f"shapecalc: not every dialect answers {expected}")
    return Exit.YES if agree else Exit.NO


def _asked(words: list[str]) -> tuple[str, str, Mapping[str, object]]:
    """Parse the op to compare (reshape by default), its input and its arguments.

    Raises `ShapeError`: usage if they cannot be parsed, file if the input cannot be used.
    """
    op = commands.respelled(words)[0]
    has_op = op in OPS or op.isidentifier()
    stage = commands.read_stage([op, *words[1:]] if has_op else ["reshape", *words], with_input=True)
    check_settings(stage.options)
    if stage.input is None:
        raise misuse(f"{stage.op} needs an input", f"write compare {stage.op} INPUT ...", argument="input")
    return stage.op, output.read_input(output.input_text(stage.input), {}, stage.op).shape, stage.options


def _asked_chain(words: list[str]) -> tuple[str, list[Stage]]:
    """Parse the input and the stages of a chain, with or without `chain` before it.

    Raises `ShapeError`: usage if it cannot be parsed, file if the input cannot be used.
    """
    *before, text = words
    if before not in ([], ["chain"]) or "|" not in text:
        message = f"a chain is one word in quotes, with |, and here are {len(words)} words"
        raise misuse(message, "write compare chain 'INPUT | OP ...'")
    shape, stages = commands.read_chain(text)
    for _, options in stages:
        check_settings(options)
    return output.read_input(output.input_text(shape), {}, stages[0][0] if stages else RESHAPE.name).shape, stages


def check_settings(options: Mapping[str, object]) -> None:
    """Raise `ShapeError` (usage) for an option that `compare` sets itself."""
    for name in options:
        if name in common_options():
            raise misuse(f"compare asks under every {name}, so leave it out", argument=name)


def _check_printing(words: Sequence[str]) -> None:
    """Raise `ShapeError` (usage) for an output option that applies to one answer."""
    spellings = {spelling for option in PRINTING.values() for spelling in (option.spelling, option.short)}
    for word in words:
        spelling = word.partition("=")[0]
        if spelling in spellings and not commands.is_value(word):
            raise misuse(f"compare takes no {spelling}", f"it takes {', '.join(option.spelling for option in OPTIONS)}")


def _print_comparison(comparison: Comparison, *, explain: bool) -> None:
    """Print the table and whether the dialects agree, with `explain` also the steps."""
    from shapecalc.view.story import comparison_table, steps_text

    for row in comparison.rows if explain else ():
        output.show(steps_text(row.trace))
    output.show_table(comparison_table(comparison))
    reasons = {name: why.removeprefix(f"{name} ") for name, why in comparison.unasked.items()}
    for why in dict.fromkeys(reasons.values()):
        output.tell(f"shapecalc: left out ({why}): {', '.join([name for name in reasons if reasons[name] == why])}")
    output.tell(f"shapecalc: {_told(comparison)}")


def _told(comparison: Comparison) -> str:
    """Return a sentence on whether the dialects agree, and on the stars in the table."""
    if not comparison.agree:
        return "the dialects differ (* marks the less common answers)"
    dialects = list(dict.fromkeys(row.dialect for row in comparison.rows))
    text = f"{', '.join(dialects)} agree" if comparison.unasked else "the dialects agree"
    text = text if len(dialects) > 1 else f"only {dialects[0]} is asked{_as_chain(comparison.rows[0].trace)}"
    if len({row.verdict for row in comparison.rows}) == 1:
        return text
    return f"{text} (* marks the answers at other settings than the default)"


def _as_chain(answer: Trace | Chain) -> str:
    """Return a hint to compare a Shuffle as a chain, empty for other ops.

    Only TensorRT has the Shuffle layer; a chain of transpose, reshape and transpose is the same function.
    """
    if isinstance(answer, Chain) or answer.request.op != SHUFFLE.name:
        return ""
    ops = zip(("transpose", "reshape", "transpose"), SHUFFLE.params, strict=True)
    parts = [(op, answer.request.arguments.get(param.name)) for op, param in ops]
    stages = [shape_text(answer.input), *(f"{op} {shape_text(dims)}" for op, dims in parts if dims is not None)]
    return f"; for the others write compare '{' | '.join(stages)}'"


COMPARE_COMMAND = Command(
    run=run_compare,
    parameters=[WORDS, *OPTIONS],
    summary="Ask every dialect the same question, and show the answers side by side.",
    examples="""\
  shapecalc compare 0,3,4 0,-1
  shapecalc compare 2,3,4 0,-1 --dialect onnx --dialect numpy
  shapecalc compare squeeze 1,3,1 --axes 1 --json
  shapecalc compare chain '2,3 | transpose | reshape 0,-1'""",
    more=""" Exit 1 if the answers differ at the dialects' default settings; refusals count as the
same answer. * marks rows that differ from the most common answer.""",
    takes_unknown=True,
)


FIRST = Argument("first", "a chain", "'INPUT | OP ...'")
SECOND = Argument("second", "the chain to compare it with", "'| OP ...'")
SHOWN = ("json", "quiet", "strict", "no_config")
CODES = {Verdict.SAME: Exit.YES, Verdict.DIFFERENT: Exit.NO, Verdict.UNDECIDED: Exit.UNRESOLVED}


def run_equiv(first: str, second: str, out: Output, **options: object) -> int:
    """Print whether two chains are the same function.

    The options apply to every stage that accepts them and does not set them itself.
    """
    where = options.pop("where")
    try:
        sizes = {} if where is None else read_sizes(where)
        answers = answer_pair(*_asked_pair(first, second, options, out), sizes)
        result = equivalence(*answers)
    except ShapeError as error:
        if isinstance(error, LackingError):
            hint = f"{error.problem.hint}; write --dialect NAME in its own stage"
            error = ShapeError(replace(error.problem, hint=hint))
        return print_error(error, "equiv", {"first": first, "second": second}, out)
    if output.asks_text(out, result.as_json):
        for answer in answers if out.explain else ():
            from shapecalc.view.story import steps_text

            output.show(steps_text(answer))
        output.put(str(result))
        for reason in result.reasons:
            output.tell(f"shapecalc: {reason}")
        _show_grids(None if result.by_shape else result.counterexample, answers)
    return CODES.get(result.verdict, Exit.NO if out.strict else Exit.YES)


def _asked_pair(first: str, second: str, options: dict[str, object], out: Output) -> tuple[Asked, Asked]:
    """Parse two chains and apply the options to their stages.

    A second chain without an input has that of the first.
    Raises `ShapeError`: usage if a chain cannot be parsed, file if an input cannot be used.
    """
    left = _with_input(asked_chain(first))
    right = asked_chain(second, left.input)
    right = right if right.input is left.input else _with_input(right)
    parsed_stages = [*left.stages, *right.stages]
    defaults = output.told_defaults(parsed_stages, options, out)
    stages = tuple(chain_with_options(parsed_stages, options, defaults))
    count = len(left.stages)
    return Asked(left.input, stages[:count]), Asked(right.input, stages[count:])


def _with_input(asked: Asked) -> Asked:
    """Return the chain, with its input read if that is `-` or a file."""
    (op, options), *others = asked.stages or STILL
    parsed = output.read_input(output.input_text(str(asked.input)), options, op)
    return Asked(parsed.shape, ((op, parsed.options), *others) if asked.stages else ())


def _show_grids(found: Counterexample | None, answers: tuple[Chain, Chain]) -> None:
    """Print the outputs of both chains with their first difference marked."""
    if found is None or any(0 in shape for shape in found.outputs):
        return
    from shapecalc.view.canvas import strokes_for
    from shapecalc.view.grid import output_grids

    strokes = strokes_for(getattr(sys.stderr, "encoding", None))
    output.show(output_grids(answers, found, width=output.story_width(), strokes=strokes))


EQUIV_COMMAND = Command(
    run=run_equiv,
    parameters=[FIRST, SECOND, *commands.asking_options(), STEPS, *printing_options(*SHOWN)],
    summary="Say whether two chains are the same function of their input.",
    examples="""\
  shapecalc equiv 'N,C | transpose 1,0 | reshape -1' '| transpose 1,0 | flatten --axis 0 | reshape -1'
  shapecalc equiv '2,3,4 | transpose 1,0,2' '2,3,4 | reshape 3,2,4' --json
  shapecalc equiv 'N,C,H | reshape N,C*H' '| flatten' --where N=8""",
    more=""" A second chain that begins with | uses the input of the first; an input alone does nothing. If you have
code, code LINE --input x=SHAPE --as command writes it as a chain. The answer is same, same when a condition holds,
different (with the first element that differs, at the smallest sizes), or undecided. Exit 0: same; 1: different, or
same under conditions with --strict; 3: undecided, or a chain is refused.""",
)


GOALS = ("transposes", "shuffles", "bytes")
OWN = (
    Option(
        "goal",
        "What to have the fewest of",
        long="--for",
        default=GOALS[0],
        completions=lambda: GOALS,
        lists_completions=True,
    ),
    Option("check", "Exit 1 if the chain could be shorter.", Takes.NOTHING),
)


def run_simplify(stages: str, goal: str, check: bool, out: Output, **options: object) -> int:
    """Print the shortest equal chain or its code.

    The options apply to every stage that accepts them. With `check`, exit 1 if the chain could be shorter.
    """
    try:
        cost = goal_called(goal)
        shape, parsed_stages = commands.read_chain(stages)
        defaults = output.told_defaults(parsed_stages, options, out)
        opset = take_model_opset(options, parsed_stages, out)
        result = simplify(answer_stages(output.input_text(shape), parsed_stages, options, defaults)[0], cost)
        code = code_of(result.chain, out, opset)
    except ShapeError as error:
        return print_error(ShapeError(place_in_chain(error.problem, stages)), "simplify", {"stages": stages}, out)
    if output.asks_text(out, lambda: result.as_json() | ({"code": fields(code)} if code else {})):
        output.put(code.text if code else result.text)
        for limit in code.warnings if code else result.chain.limits:
            output.tell(f"shapecalc: {limit}")
        gain = "the same in fewer stages" if result.after == result.before else f"now {result.after}"
        output.tell(f"shapecalc: {result.before}{f'; {gain}' if result.shorter else ', and none is shorter'}")
    return Exit.NO if check and result.shorter else Exit.YES


SIMPLIFY_COMMAND = Command(
    run=run_simplify,
    parameters=[STAGES, *OWN, *commands.asking_options(), *printing_options("json", "quiet", "code", "no_config")],
    summary="Print the shortest chain that is proved to do the same.",
    examples="""\
  shapecalc simplify 'N,C,H | transpose 2,0,1 | transpose 0,2,1'
  shapecalc simplify 'B*8,S,D | reshape B,8,S,D | transpose 0,2,1,3 | reshape B,S,8*D' --for shuffles
  shapecalc simplify 'N,C,H | transpose 0,2,1 | reshape N,C*H | reshape N,H,C' --check --quiet""",
    more=""" It has the fewest transposes, TensorRT Shuffles or bytes moved, and then the fewest
stages. It works wherever the chain works, and uses the dialect of the chain. A chain that cannot
be shorter is printed as it is. The costs of both are printed on standard error. Bytes are those
that copying stages read and write; --dtype is the type of the elements, float32 by default.""",
)


SHAPES = (
    Argument("input", "the shape to start from", "[INPUT]", required=False),
    Argument("output", "the shape to arrive at", "[OUTPUT]", required=False),
)
PAIRS = (
    Option("before", "An array of INPUT's shape; may be repeated.", Takes.TEXTS, metavar="FILE"),
    Option("after", "The array that it must become; may be repeated.", Takes.TEXTS, metavar="FILE"),
)


def run_find(before: list[str] | None, after: list[str] | None, out: Output, **texts: str | None) -> int:
    """Print the chains from one shape to another; exit 1 if there are none."""
    from shapecalc.engine.finding import answer_of, chains_between, chains_for

    try:
        shapes = _shapes(texts["input"], texts["output"], needed=not before)
        arrays = _arrays(before or [], after or [])
        result = chains_between(*shapes) if shapes and not arrays else chains_for(arrays, shapes)
    except ShapeError as error:
        return print_error(error, "find", {name: text for name, text in texts.items() if text is not None}, out)
    if output.asks_text(out, result.as_json):
        for number, way in enumerate(result.ways, 1):
            output.put(way.chain)
            if way.layout:
                output.tell(f"shapecalc: chain {number}: {way.layout}")
        for way in result.ways[:1]:  # all have the same shapes, so they hold under the same conditions
            for condition in answer_of(way, {}).conditions:
                output.tell(f"shapecalc: holds when {condition.words}")
        output.tell(f"shapecalc: {_counts(result) if result.ways or arrays else _volumes(shapes or ())}")
    return Exit.YES if result.ways else Exit.NO


def _shapes(before: str | None, after: str | None, *, needed: bool) -> tuple[Shape, Shape] | None:
    """Parse the two shapes; return None if arrays are given instead.

    Raises `ShapeError`: usage if a shape is missing or cannot be parsed, file if a file cannot be used.
    """
    if before is None and not needed:
        return None
    if before is None or after is None:
        raise misuse("find needs two shapes, or arrays with --before and --after", "write find INPUT OUTPUT")
    shape = output.read_input(output.input_text(before), {}, RESHAPE.name).shape
    return named_shape(shape, "input"), named_shape(after, "output")


def _arrays(before: list[str], after: list[str]) -> list[tuple[Any, Any]]:
    """Read the pairs of arrays before and after.

    Raises `ShapeError`: usage if the two lists differ in length, file if an array cannot be read.
    """
    if len(before) != len(after):
        counts = [number_text(len(files), "time", "times") for files in (before, after)]
        raise misuse(f"--before was given {counts[0]}, and --after {counts[1]}")
    if not before:
        return []
    from shapecalc.engine.arrays import FileError, copy_of, open_array

    try:
        arrays = {path: copy_of(open_array(path), 1 << 28) for path in (*before, *after)}
    except FileError as error:
        raise output.file_error(error) from None
    return [(arrays[first], arrays[second]) for first, second in zip(before, after, strict=True)]


def _counts(found: Found) -> str:
    """Return the counts of fitting and listed functions, and the search bounds."""
    fits = f"{'' if found.complete else 'at least '}{found.fits or 'no'} function{'' if found.fits == 1 else 's'}"
    listed = f", of which {len(found.ways)} are listed" if len(found.ways) < found.fits else ""
    other = f"; left out: others, as {found.other.chain}" if found.other else ""
    return f"{fits} fit{'s' * (found.fits == 1)}{listed}; looked at {found.bounds}{other}"


def _volumes(shapes: Sequence[Shape]) -> str:
    """Return why no chain leads from one shape to the other: the element counts."""
    before, after = map(product, shapes)
    try:
        conditions = " and ".join(condition.words for condition in equal(before, after))
    except Never:
        conditions = ""
    suffix = f" (as many when {conditions})" if conditions else ""
    return f"no chain leads there: {before} elements in, {after} out{suffix}"


FIND_COMMAND = Command(
    run=run_find,
    parameters=[*SHAPES, *PAIRS, *printing_options("json", "quiet")],
    summary="Find the chains that lead from one shape to another.",
    examples="""\
  shapecalc find B,H*W,C B,C,H,W
  shapecalc find --before x.npy --after y.npy
  shapecalc find B,H*W,C B,C,H,W --before x.npy --after y.npy""",
    more=""" Layouts with a name (patches, windows, heads, pixel shuffle, NCHW to NHWC) come first, then the
chain that moves no element, then those with one transpose. It also says how many functions fit, and how far it
looked. It splits into as few parts as possible, and not further: of 6,10 to 4,15 it misses chains that reshape to
2,3,2,5, transpose, and reshape to 4,15. With arrays, it lists only the chains that turn --before into --after. The
elements of --before must all differ, as 0, 1, 2 do. A size that differs between pairs gets a name. Exit 1 if there is
no such chain.""",
)
