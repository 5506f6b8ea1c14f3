"""Answer cases, and compare the answers with the expectations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import sub

from shapecalc.core.answers import EMPTY_DICT, Chain, Request, Trace
from shapecalc.core.dims import to_json
from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.core.requests import apply_defaults, make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.results import format_results
from shapecalc.core.text import MAX_QUOTED_SHAPE_LENGTH, shape_text, truncate
from shapecalc.reading.cases import ERROR_KEYWORD, Case, Expectation, format_expectation, request_from_json
from shapecalc.reading.commands import parse_chain_request
from shapecalc.reading.pattern import pattern_mismatch
from shapecalc.reasoning.answers import answer_chain, answer_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAME_VERDICT = "same"
"""The first word of the verdict for two equivalent chains."""
INTEGERS_ONLY = {int}
"""The type of JSON numbers that are dims. `14.0` and `true` equal integers in Python, but are not dims."""


def _normalize_conditions(conditions: Iterable[str]) -> frozenset[str]:
    """Return a set of condition strings in which the sides of each equality are sorted."""
    return frozenset(
        [condition if "%" in condition else " == ".join(sorted(condition.split(" == "))) for condition in conditions]
    )


def answer_case(case: Case, *, with_fixes: bool = True) -> Trace | Chain:
    """Resolve the request of a case.

    If `with_fixes` is True, a refusal contains a hint. Raises `ShapeError` (usage) if the request is invalid.

    >>> from shapecalc.reading.cases import parse_case
    >>> print(answer_case(parse_case("reshape N,4 2,6 => 2,6 when N == 3", {})))
    2,6 when N == 3
    """
    if case.is_chain:
        return answer_chain(case.input, case.stages, {})  # type: ignore[arg-type]
    op, options = case.stages[0]
    try:
        request = make_request(op, case.input, options)  # type: ignore[arg-type]
    except ShapeError as error:
        if error.problem.rule == USAGE:
            raise
        # an out-of-range size leads to a refusal, not to a usage error
        return Trace(Request(op, ()), problem=error.problem)
    return answer_request(request) if with_fixes else resolve(request)


def answer_json_case(fields: Mapping[str, Any], defaults: Mapping[str, object]) -> Trace | None:
    """Resolve the request of a JSON case, without hints.

    Returns None if the request is invalid. In this case, `case_from_json` and `answer_case` raise an error.

    >>> print(answer_json_case({"op": "reshape", "input": ["N", 4], "target": [2, 6]}, {}))
    2,6 when N == 3
    """
    try:
        return resolve(request_from_json(fields, defaults))
    except (ShapeError, RecursionError):
        return None


def equals_expectation(expect: object, answer: Trace, *, strict: bool = False) -> bool:
    """Return whether the output of an answer equals an expected JSON value.

    If this function returns False, `meets_expectation` may still accept the value as an expectation of another form.

    >>> import shapecalc as sc
    >>> [equals_expectation(value, sc.reshape("2,3", "3,2")) for value in ([3, 2], [3.0, 2], "3,2")]
    [True, False, False]
    """
    if answer.problem is not None:
        return expect == {ERROR_KEYWORD: answer.problem.rule}
    is_equal = type(expect) is list and tuple(expect) == answer.output and {*map(type, expect)} <= INTEGERS_ONLY
    return is_equal and not (strict and answer.conditions)


def meets_expectation(expected: Expectation, answer: Trace | Chain, *, strict: bool = False) -> bool:
    """Return whether an answer meets an expectation.

    If `strict` is True, the expectation must contain all conditions of the answer.
    """
    if answer.problem:
        any_refusal = expected.output is None and expected.same_as is None
        return any_refusal and expected.rule in (None, answer.problem.rule)
    if expected.same_as is not None:
        verdict = describe_equivalence(expected.same_as, expected.options, answer)
        return verdict == SAME_VERDICT or (not strict and verdict.startswith(f"{SAME_VERDICT} when"))
    if expected.output is None:
        return False
    expected_conditions = frozenset() if strict and expected.conditions is None else expected.conditions
    if expected_conditions is not None and _normalize_conditions(expected_conditions) != _normalize_conditions(
        map(str, answer.conditions)
    ):
        return False
    return describe_output_mismatch(expected, answer) is None and _has_expected_results(answer, expected)


def _has_expected_results(answer: Trace | Chain, expected: Expectation) -> bool:
    """Return whether the named results have the expected definitions.

    The names may differ from the expected names.
    """
    if not expected.results:
        return True
    matching = dict(zip(expected.results, format_results(answer.results).items(), strict=False))
    names = {name: expression for name, (expression, _) in matching.items()}
    return len(matching) == len(expected.results) and all(
        sub(r"[^\W\d]\w*|\s+", lambda word: names.get(word[0], word[0].strip()), expected.results[name])
        == "".join(text.split())
        for name, (_, text) in matching.items()
    )


def describe_output_mismatch(expected: Expectation, answer: Trace | Chain) -> str | None:
    """Describe the difference between an output and the expected output.

    Returns None if there is no difference, or if the expectation contains no output.
    """
    return None if expected.output is None else pattern_mismatch(expected.output, answer, expected.fixed_names)


def describe_equivalence(chain: str, options: Mapping[str, object], answer: Trace | Chain) -> str:
    """Return the verdict on the equivalence of an answer and a chain.

    `options` are the default options of the stages in the chain. A chain that starts with `|` has the input of the
    answer.

    >>> import shapecalc as sc
    >>> describe_equivalence("| transpose 1,0 | transpose", {}, sc.reshape("2,3", "3,2"))
    'different (the outputs are 3,2 and 2,3)'
    """
    from shapecalc.reasoning.equiv import check_equivalence  # imported here because it costs 5 ms

    request = parse_chain_request(chain, answer.input)
    stages = tuple([(op, apply_defaults(op, options, stage_options)) for op, stage_options in request.stages])
    try:
        verdict = check_equivalence(answer, answer_chain(request.input, stages, {}))
    except ShapeError as error:
        return str(error.problem)
    return str(verdict) if verdict.counterexample is None else f"{verdict} ({verdict.counterexample})"


def answer_as_expectation(answer: Trace | Chain, *, conditions: bool = True) -> str:
    """Format an answer as the text of an expectation.

    >>> import shapecalc as sc
    >>> answer_as_expectation(sc.reshape("N,4", "2,6"))
    '2,6 when N == 3'
    """
    if answer.output is None:
        return f"{ERROR_KEYWORD} {answer.problem.rule}" if answer.problem else ERROR_KEYWORD
    listed = map(str, answer.conditions) if conditions else ()
    return format_expectation(
        shape_text(answer.output), listed, format_results(answer.results) if conditions else EMPTY_DICT
    )


def describe_mismatch(expected: Expectation, answer: Trace | Chain) -> str:
    """Describe an expectation and an answer that does not meet it.

    >>> import shapecalc as sc
    >>> from shapecalc.reading.cases import parse_expectation
    >>> describe_mismatch(parse_expectation("error"), sc.reshape("2,3", "6"))
    'expected error, got 6'
    """
    if expected.same_as is not None and answer.problem is None:
        verdict = describe_equivalence(expected.same_as, expected.options, answer)
        return f"expected {truncate(str(expected), MAX_QUOTED_SHAPE_LENGTH)}, got {verdict}"
    mismatch = describe_output_mismatch(expected, answer) if answer.output is not None else None
    if mismatch:
        return mismatch
    with_conditions = answer.conditions and (
        expected.conditions is not None or str(expected.output) == shape_text(answer.output or ())
    )
    actual = truncate(answer_as_expectation(answer, conditions=bool(with_conditions)), MAX_QUOTED_SHAPE_LENGTH)
    return (
        f"expected {truncate(str(expected), MAX_QUOTED_SHAPE_LENGTH)}, got {actual}{_mismatch_reason(expected, answer)}"
    )


def _mismatch_reason(expected: Expectation, answer: Trace | Chain) -> str:
    """Return the reason for a refusal, or the first mismatched dim.

    Returns an empty string if there is neither.
    """
    if answer.problem:
        return f" ({answer.problem.message}" + (f"; {answer.problem.hint})" if answer.problem.hint else ")")
    if expected.output is None or answer.output is None:
        return ""
    expected_dims = str(expected.output).split(",")
    differing = [axis for axis, dim in enumerate(answer.output) if expected_dims[axis : axis + 1] != [str(dim)]]
    steps = [step for trace in answer.traces[-1:] for step in trace.steps]
    why = [step.why for step in steps if step.out is not None and step.out in differing[:1]]
    return f" ({why[-1]})" if why else ""


def answer_as_expected_json(answer: Trace | Chain, *, conditions: bool = True) -> object:
    """Convert an answer to an `expect` value of a JSON case."""
    if answer.problem:
        return {ERROR_KEYWORD: str(answer.problem.rule)}
    if conditions and (answer.conditions or answer.results):
        value = {"output": to_json(answer.output), "conditions": [str(condition) for condition in answer.conditions]}
        return value | ({"results": format_results(answer.results)} if answer.results else {})
    return to_json(answer.output)
