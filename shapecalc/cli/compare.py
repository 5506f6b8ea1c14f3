"""`shapecalc compare`: the same request under every dialect and switch setting."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.config import told_defaults
from shapecalc.cli.inputs import input_text, read_input
from shapecalc.cli.options import ASKING, DIALECTS_ONLY, PRINTING, Argument, Command, Option, printing_options
from shapecalc.cli.output import Exit, put_json, show, show_table, tell
from shapecalc.cli.split_shapes import split_shape_error
from shapecalc.core.ask import common_options
from shapecalc.core.commands import is_option, read_chain, read_stage, respelled
from shapecalc.core.compare import compare_chain
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.fixing import answer_chain
from shapecalc.core.fixing import compare as compare_dialects
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.pattern import read_pattern, sized_names, unexpected
from shapecalc.core.problem import ShapeError, misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.cli.output import Output
    from shapecalc.core.answers import Chain, Trace
    from shapecalc.core.ask import Stage
    from shapecalc.core.compare import Comparison
    from shapecalc.core.pattern import ShapePattern

WORDS = Argument(
    "words",
    "the command line of an op or of chain; without an op, of reshape",
    "[OP] INPUT ...",
    repeated=True,
    completions=lambda: OPS,
    completes_first=True,
)

OPTIONS: tuple[Option, ...] = (
    DIALECTS_ONLY,
    *(option for option in ASKING.values() if option.name != DIALECTS_ONLY.name),
    *printing_options("explain", "json", "expect", "quiet", "strict", "no_config"),
)
"""What compare takes; the options of an op are among the words."""


def run_compare(words: list[str], dialect: list[str] | None, out: Output, **options: object) -> int:
    """Print the table, or its JSON; return whether the dialects agree as an exit code."""
    texts: dict[str, object] = {"words": " ".join(words)}
    try:
        _check_printing(words)
        dialects = list(dict.fromkeys(dialect or []))
        options |= _default_opset(dialects, options, out)
        if "|" in words[-1]:
            shape, stages = _asked_chain(words)
            comparison = compare_chain(shape, stages, dialects, options, answer_chain)
        else:
            op, shape, arguments = _asked(words)
            texts = {"input": shape, **arguments}
            comparison = compare_dialects(op, shape, arguments, dialects, options)
        expected = None if out.expect is None else read_pattern(out.expect, "expect")
    except ShapeError as error:
        return print_error(split_shape_error(["compare", *words]) or error, "compare", texts, out)
    counted = [row.trace for row in comparison.rows if row.default]
    as_expected = expected is None or all(_is_expected(expected, trace, options) for trace in counted)
    agreed = comparison.agree and as_expected and not (out.strict and any(trace.conditions for trace in counted))
    if out.json and not out.quiet:
        put_json(comparison.as_json())
    elif not out.quiet:
        _print_comparison(comparison, explain=out.explain > 0)
        if not as_expected:
            tell(f"shapecalc: not every dialect answers {expected}")
    return Exit.YES if agreed else Exit.NO


def _default_opset(dialects: Sequence[str], options: Mapping[str, object], out: Output) -> dict[str, object]:
    """Return the default of the opset, if it was not given; raise `ShapeError` (usage, file) if it cannot be read."""
    asked = [("reshape", {"dialect": name}) for name in dialects or DIALECTS]
    return told_defaults(asked, {**options, "dialect": "every"}, out)


def _asked(words: list[str]) -> tuple[str, str, Mapping[str, object]]:
    """Return the op, the input and the arguments that the words ask for; without an op they ask for a reshape.

    Raises `ShapeError`: usage if they cannot be read, file if the input cannot be used.
    """
    op = respelled(words)[0]
    named = op in OPS or op.isidentifier()
    typed = read_stage([op, *words[1:]] if named else ["reshape", *words], with_input=True)
    check_settings(typed.options)
    if typed.input is None:
        raise misuse(f"{typed.op} needs an input", f"write compare {typed.op} INPUT ...", argument="input")
    return typed.op, read_input(input_text(typed.input), {}, typed.op).shape, typed.options


def _asked_chain(words: list[str]) -> tuple[str, list[Stage]]:
    """Return the input and the stages of a chain, with or without the word `chain` before it.

    Raises `ShapeError`: usage if it cannot be read, file if the input cannot be used.
    """
    *before, text = words
    if before not in ([], ["chain"]):
        raise misuse(
            f"a chain is one word in quotes, and here are {len(words)} words", "write compare chain 'INPUT | OP ...'"
        )
    shape, stages = read_chain(text)
    for _, given in stages:
        check_settings(given)
    return read_input(input_text(shape), {}, stages[0][0]).shape, stages


def check_settings(options: Mapping[str, object]) -> None:
    """Raise `ShapeError` (usage) for an option that a request or a stage has no say in here."""
    for name in options:
        if name in common_options():
            raise misuse(f"compare asks under every {name}, so leave it out", argument=name)


def _check_printing(words: Sequence[str]) -> None:
    """Raise `ShapeError` (usage) for an option that prints or writes one answer, which a table has no place for."""
    other = {spelling for option in PRINTING.values() for spelling in (option.spelling, option.short)}
    for word in filter(is_option, words):
        spelling = word.partition("=")[0]
        if spelling in other:
            raise misuse(f"compare takes no {spelling}", f"it takes {', '.join(each.spelling for each in OPTIONS)}")


def _is_expected(expected: ShapePattern, trace: Trace | Chain, options: Mapping[str, object]) -> bool:
    return trace.output is not None and unexpected(expected, trace, sized_names([options])) is None


def _print_comparison(comparison: Comparison, *, explain: bool) -> None:
    """Print the table; tell whether the dialects agree, and with `explain` the steps of every row."""
    from shapecalc.view.story import comparison_table, steps_text

    for row in comparison.rows if explain else ():
        show(steps_text(row.trace))
    show_table(comparison_table(comparison))
    if comparison.unasked:
        tell(f"shapecalc: left out, because they do not have these arguments: {', '.join(comparison.unasked)}")
    tell(f"shapecalc: {_told(comparison)}")


def _told(comparison: Comparison) -> str:
    """Return in words whether the dialects agree, and what the stars of the table mean."""
    having = dialects_with(OPS[comparison.op]) if comparison.op in OPS else []
    if not comparison.agree:
        return "the dialects differ (* marks the less common answers)"
    told = f"only {having[0].name} has {comparison.op}" if len(having) == 1 else "the dialects agree"
    if len({row.verdict for row in comparison.rows}) == 1:
        return told
    return f"{told} (* marks the answers at other settings than the default)"


COMPARE_COMMAND = Command(
    name="compare",
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
