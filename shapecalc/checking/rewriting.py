"""Replace the expectation in a case line with the answer."""

from __future__ import annotations

import json
from json import JSONDecoder

from shapecalc.checking.answering import answer_as_expectation, answer_as_expected_json
from shapecalc.core.answers import Chain, Trace
from shapecalc.reading.cases import ARROW, COMMENT_MARK, ERROR_KEYWORD, Expectation, is_json_object

_DECODER = JSONDecoder()
BLANKS = " \t\n\r\v\f"


def rewrite_expectation(line: str, expected: Expectation, answer: Trace | Chain, *, strict: bool = False) -> str:
    """Replace the expectation in a case line with the answer.

    Conditions are included if the expectation contains conditions, or if `strict` is True.

    >>> import shapecalc as sc
    >>> from shapecalc.reading.cases import parse_expectation
    >>> rewrite_expectation("reshape 6 2,-1  => 2,4  # why", parse_expectation("2,4"), sc.reshape((6,), (2, -1)))
    'reshape 6 2,-1  => 2,3  # why'
    """
    with_conditions = strict or expected.conditions is not None
    if not is_json_object(line.lstrip("\ufeff" + BLANKS)):
        start = line.index(ARROW) + len(ARROW)
        end = line.index(COMMENT_MARK, start) if COMMENT_MARK in line[start:] else len(line)
        text = answer_as_expectation(answer, conditions=with_conditions)
        return line[:start] + _copy_outer_whitespace(line[start:end], text) + line[end:]
    start, end = _find_expect_span(line)
    return line[:start] + _format_json_value(line[start:end], answer, with_conditions=with_conditions) + line[end:]


def _copy_outer_whitespace(old: str, new: str) -> str:
    """Return `new` with the leading and trailing whitespace of `old`."""
    return old.replace(old.strip(), new, 1) if old.strip() else f" {new}{old}"


def _find_expect_span(line: str) -> tuple[int, int]:
    """Return the start and end offsets of the `expect` value in a JSON object."""
    position = line.index("{") + 1
    while True:
        name, position = _DECODER.raw_decode(line, len(line) - len(line[position:].lstrip(BLANKS + ",")))
        start = len(line) - len(line[position:].lstrip(BLANKS + ":"))
        _, position = _DECODER.raw_decode(line, start)
        if name == "expect":
            return start, position


def _format_json_value(old: str, answer: Trace | Chain, *, with_conditions: bool) -> str:
    """Format an answer as JSON.

    The type and the separators are those of the old value.
    """
    separators = (", ", ": ") if ", " in old or ": " in old or "," not in old else (",", ":")
    as_text = old.startswith('"') and not (old.startswith(f'"{ERROR_KEYWORD}') and not answer.problem)
    value = (
        answer_as_expectation(answer, conditions=with_conditions)
        if as_text
        else answer_as_expected_json(answer, conditions=with_conditions)
    )
    return json.dumps(value, separators=separators)
