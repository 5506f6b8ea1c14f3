"""`shapecalc chain`, `compare`, `equiv`, `simplify` and `find`: the commands about several ops or frameworks."""

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


# `shapecalc chain`: several ops in a row.


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
            found, source = answer_stages(commands.without_padding(shape), asked, own, defaults)
            return print_answer(found, placed, source, opset, [options, *(each for _, each in asked)])
        except ShapeError as error:
            return refuse(error, placed)

    try:
        written, asked = commands.read_chain(stages)
        defaults = output.told_defaults(asked, options, out)
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
    (op, first), *others = chain_with_options(asked, options, defaults) or STILL
    given = output.read_input(shape, first, op)
    stages = [(op, given.options), *others] if asked else []
    return answer_chain(given.shape, stages, {} if where is None else read_sizes(where)), given.source


def place_in_chain(problem: Problem, stages: str) -> Problem:
    """Return a problem with its token's place in the whole chain, if the token's argument stands there once."""
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


# `shapecalc compare`: the same request under every dialect and switch setting.


WORDS = command_words("the command line of an op or of chain; without an op, of reshape", "[OP] INPUT ...")

STEPS = Option("explain", "Print every step, on standard error.", Takes.MORE, short="-e")
OPTIONS: tuple[Option, ...] = (
    DIALECTS_ONLY,
    *(option for option in commands.ASKING.values() if option.name != DIALECTS_ONLY.name),
    *(STEPS, *printing_options("json", "expect", "quiet", "strict", "no_config")),
)
"""What compare takes; the options of an op are among the words."""


def run_compare(words: list[str], dialect: list[str] | None, out: Output, **options: object) -> int:
    """Print the table, or its JSON; return whether the dialects agree as an exit code."""
    texts: dict[str, object] = {"words": " ".join(words)}
    try:
        _check_printing(words)
        dialects = list(dict.fromkeys(dialect or []))
        asked = [("reshape", {"dialect": name}) for name in dialects or DIALECTS]
        options |= output.told_defaults(asked, {**options, "dialect": "every"}, out)  # none but the opset
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
    counted = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(met(expected, trace) for trace in counted)
    agreed = comparison.agree and as_expected and not (out.strict and any(trace.conditions for trace in counted))
    if output.asks_text(out, comparison.as_json):
        _print_comparison(comparison, explain=out.explain > 0)
        if not as_expected:
            output.tell(f"shapecalc: not every dialect answers {expected}")
    return Exit.YES if agreed else Exit.NO


def _asked(words: list[str]) -> tuple[str, str, Mapping[str, object]]:
    """Return the op, the input and the arguments that the words ask for; without an op they ask for a reshape.

    Raises `ShapeError`: usage if they cannot be read, file if the input cannot be used.
    """
    op = commands.respelled(words)[0]
    named = op in OPS or op.isidentifier()
    typed = commands.read_stage([op, *words[1:]] if named else ["reshape", *words], with_input=True)
    check_settings(typed.options)
    if typed.input is None:
        raise misuse(f"{typed.op} needs an input", f"write compare {typed.op} INPUT ...", argument="input")
    return typed.op, output.read_input(output.input_text(typed.input), {}, typed.op).shape, typed.options


def _asked_chain(words: list[str]) -> tuple[str, list[Stage]]:
    """Return the input and the stages of a chain, with or without the word `chain` before it.

    Raises `ShapeError`: usage if it cannot be read, file if the input cannot be used.
    """
    *before, text = words
    if before not in ([], ["chain"]) or "|" not in text:
        said = f"a chain is one word in quotes, with |, and here are {len(words)} words"
        raise misuse(said, "write compare chain 'INPUT | OP ...'")
    shape, stages = commands.read_chain(text)
    for _, given in stages:
        check_settings(given)
    return output.read_input(output.input_text(shape), {}, stages[0][0] if stages else RESHAPE.name).shape, stages


def check_settings(options: Mapping[str, object]) -> None:
    """Raise `ShapeError` (usage) for an option that a request or a stage has no say in here."""
    for name in options:
        if name in common_options():
            raise misuse(f"compare asks under every {name}, so leave it out", argument=name)


def _check_printing(words: Sequence[str]) -> None:
    """Raise `ShapeError` (usage) for an option that prints or writes one answer, which a table has no place for."""
    other = {spelling for option in PRINTING.values() for spelling in (option.spelling, option.short)}
    for word in words:
        spelling = word.partition("=")[0]
        if spelling in other and not commands.is_value(word):
            raise misuse(f"compare takes no {spelling}", f"it takes {', '.join(each.spelling for each in OPTIONS)}")


def _print_comparison(comparison: Comparison, *, explain: bool) -> None:
    """Print the table; tell whether the dialects agree, and with `explain` the steps of every row."""
    from shapecalc.view.story import comparison_table, steps_text

    for row in comparison.rows if explain else ():
        output.show(steps_text(row.trace))
    output.show_table(comparison_table(comparison))
    reasons = {name: why.removeprefix(f"{name} ") for name, why in comparison.unasked.items()}
    for why in dict.fromkeys(reasons.values()):
        output.tell(f"shapecalc: left out ({why}): {', '.join([name for name in reasons if reasons[name] == why])}")
    output.tell(f"shapecalc: {_told(comparison)}")


def _told(comparison: Comparison) -> str:
    """Return in words whether the dialects agree, and what the stars of the table mean."""
    if not comparison.agree:
        return "the dialects differ (* marks the less common answers)"
    asked = list(dict.fromkeys(row.dialect for row in comparison.rows))
    told = f"{', '.join(asked)} agree" if comparison.unasked else "the dialects agree"
    told = told if len(asked) > 1 else f"only {asked[0]} is asked{_as_chain(comparison.rows[0].trace)}"
    if len({row.verdict for row in comparison.rows}) == 1:
        return told
    return f"{told} (* marks the answers at other settings than the default)"


def _as_chain(answer: Trace | Chain) -> str:
    """Return how the other dialects are asked about a Shuffle, which they do not have; nothing for other ops."""
    if isinstance(answer, Chain) or answer.request.op != SHUFFLE.name:
        return ""
    ops = zip(("transpose", "reshape", "transpose"), SHUFFLE.params, strict=True)
    given = [(op, answer.request.arguments.get(param.name)) for op, param in ops]
    stages = [shape_text(answer.input), *(f"{op} {shape_text(dims)}" for op, dims in given if dims is not None)]
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


# `shapecalc equiv`: whether two chains are the same function of their input.


FIRST = Argument("first", "a chain", "'INPUT | OP ...'")
SECOND = Argument("second", "the chain to compare it with", "'| OP ...'")
SHOWN = ("json", "quiet", "strict", "no_config")
CODES = {Verdict.SAME: Exit.YES, Verdict.DIFFERENT: Exit.NO, Verdict.UNDECIDED: Exit.UNRESOLVED}


def run_equiv(first: str, second: str, out: Output, **options: object) -> int:
    """Print the verdict on two chains; the options apply to every stage that takes them and does not say otherwise."""
    where = options.pop("where")
    try:
        sizes = {} if where is None else read_sizes(where)
        answers = answer_pair(*_asked_pair(first, second, options, out), sizes)
        found = equivalence(*answers)
    except ShapeError as error:
        if isinstance(error, LackingError):
            hint = f"{error.problem.hint}; write --dialect NAME in its own stage"
            error = ShapeError(replace(error.problem, hint=hint))
        return print_error(error, "equiv", {"first": first, "second": second}, out)
    if output.asks_text(out, found.as_json):
        for answer in answers if out.explain else ():
            from shapecalc.view.story import steps_text

            output.show(steps_text(answer))
        output.put(str(found))
        for reason in found.reasons:
            output.tell(f"shapecalc: {reason}")
        _show_grids(None if found.by_shape else found.counterexample, answers)
    return CODES.get(found.verdict, Exit.NO if out.strict else Exit.YES)


def _asked_pair(first: str, second: str, options: dict[str, object], out: Output) -> tuple[Asked, Asked]:
    """Return two chains as they were typed, with the options that their stages take.

    Raises `ShapeError`: usage if one cannot be read, file if an input cannot be used.
    """
    one = _with_input(asked_chain(first))
    other = asked_chain(second, one.input)
    other = other if other.input is one.input else _with_input(other)
    asked = [*one.stages, *other.stages]
    stages = tuple(chain_with_options(asked, options, output.told_defaults(asked, options, out)))
    count = len(one.stages)
    return Asked(one.input, stages[:count]), Asked(other.input, stages[count:])


def _with_input(asked: Asked) -> Asked:
    """Return a chain with its input read from standard input or from a file, if it names one of them."""
    (op, options), *others = asked.stages or STILL
    given = output.read_input(output.input_text(str(asked.input)), options, op)
    return Asked(given.shape, ((op, given.options), *others) if asked.stages else ())


def _show_grids(found: Counterexample | None, answers: tuple[Chain, Chain]) -> None:
    """Show the outputs of both chains where they differ, with the first element that does marked in each."""
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


# `shapecalc simplify`: an equal chain with the fewest transposes, Shuffles or bytes moved.


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
    """Print the short chain, or code of it; the options apply to every stage that takes them."""
    try:
        wanted = goal_called(goal)
        shape, asked = commands.read_chain(stages)
        defaults = output.told_defaults(asked, options, out)
        opset = take_model_opset(options, asked, out)
        found = simplify(answer_stages(output.input_text(shape), asked, options, defaults)[0], wanted)
        coded = code_of(found.chain, out, opset)
    except ShapeError as error:
        return print_error(ShapeError(place_in_chain(error.problem, stages)), "simplify", {"stages": stages}, out)
    if output.asks_text(out, lambda: found.as_json() | ({"code": fields(coded)} if coded else {})):
        output.put(coded.text if coded else found.text)
        for limit in coded.warnings if coded else found.chain.limits:
            output.tell(f"shapecalc: {limit}")
        fewer = "the same in fewer stages" if found.after == found.before else f"now {found.after}"
        output.tell(f"shapecalc: {found.before}{f'; {fewer}' if found.shorter else ', and none is shorter'}")
    return Exit.NO if check and found.shorter else Exit.YES


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


# `shapecalc find`: the chains that lead from one shape to another.


SHAPES = (
    Argument("input", "the shape to start from", "[INPUT]", required=False),
    Argument("output", "the shape to arrive at", "[OUTPUT]", required=False),
)
PAIRS = (
    Option("before", "An array of INPUT's shape; may be repeated.", Takes.TEXTS, metavar="FILE"),
    Option("after", "The array that it must become; may be repeated.", Takes.TEXTS, metavar="FILE"),
)


def run_find(before: list[str] | None, after: list[str] | None, out: Output, **texts: str | None) -> int:
    """Print the chains, or their JSON; return whether there are any as an exit code."""
    from shapecalc.engine.finding import answer_of, chains_between, chains_for

    try:
        shapes = _shapes(texts["input"], texts["output"], needed=not before)
        arrays = _arrays(before or [], after or [])
        found = chains_between(*shapes) if shapes and not arrays else chains_for(arrays, shapes)
    except ShapeError as error:
        return print_error(error, "find", {name: text for name, text in texts.items() if text is not None}, out)
    if output.asks_text(out, found.as_json):
        for number, way in enumerate(found.ways, 1):
            output.put(way.chain)
            if way.layout:
                output.tell(f"shapecalc: chain {number}: {way.layout}")
        for way in found.ways[:1]:  # all have the same shapes, so they hold under the same conditions
            for condition in answer_of(way, {}).conditions:
                output.tell(f"shapecalc: holds when {condition.words}")
        output.tell(f"shapecalc: {_counts(found) if found.ways or arrays else _volumes(shapes or ())}")
    return Exit.YES if found.ways else Exit.NO


def _shapes(before: str | None, after: str | None, *, needed: bool) -> tuple[Shape, Shape] | None:
    """Return the two shapes; None if arrays stand in their place. Raises `ShapeError`: usage, file."""
    if before is None and not needed:
        return None
    if before is None or after is None:
        raise misuse("find needs two shapes, or arrays with --before and --after", "write find INPUT OUTPUT")
    given = output.read_input(output.input_text(before), {}, RESHAPE.name).shape
    return named_shape(given, "input"), named_shape(after, "output")


def _arrays(before: list[str], after: list[str]) -> list[tuple[Any, Any]]:
    """Return the arrays in pairs; raise `ShapeError`: usage if they are not pairs, file if one cannot be read."""
    if len(before) != len(after):
        given, wanted = (number_text(len(each), "time", "times") for each in (before, after))
        raise misuse(f"--before was given {given}, and --after {wanted}")
    if not before:
        return []
    from shapecalc.engine.arrays import FileError, copy_of, open_array

    try:
        read = {text: copy_of(open_array(text), 1 << 28) for text in (*before, *after)}
    except FileError as error:
        raise output.file_error(error) from None
    return [(read[first], read[second]) for first, second in zip(before, after, strict=True)]


def _counts(found: Found) -> str:
    """Say how many functions fit, how many of them are listed, and how far the search looked."""
    fits = f"{'' if found.complete else 'at least '}{found.fits or 'no'} function{'' if found.fits == 1 else 's'}"
    listed = f", of which {len(found.ways)} are listed" if len(found.ways) < found.fits else ""
    other = f"; left out: others, as {found.other.chain}" if found.other else ""
    return f"{fits} fit{'s' * (found.fits == 1)}{listed}; looked at {found.bounds}{other}"


def _volumes(shapes: Sequence[Shape]) -> str:
    """Say why no chain leads from one shape to the other."""
    have, want = map(product, shapes)
    try:
        words = " and ".join(condition.words for condition in equal(have, want))
    except Never:
        words = ""
    return f"no chain leads there: {have} elements in, {want} out" + (f" (as many when {words})" if words else "")


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
