"""Rewriting: a case's line with another expectation, and nothing else of it changed."""

from __future__ import annotations

import json

from shapecalc.core.answers.stage import plain
from shapecalc.core.cases.case import ARROW, COMMENT, is_object
from shapecalc.core.cases.expectations import REFUSED, Expectation, answer_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.trace import Chain, Trace

_DECODER = json.JSONDecoder()
BLANKS = " \t\n\r\v\f"


def rewritten(line: str, expected: Expectation, answer: Trace | Chain, *, strict: bool = False) -> str:
    """Return the line of a case with what was got in place of what was expected.

    Conditions are written where the expectation named them, or where `strict` asks for them.

    >>> import shapecalc as sc
    >>> from shapecalc.core.cases.expectations import read_expectation
    >>> rewritten("reshape 6 2,-1  => 2,4  # why", read_expectation("2,4"), sc.reshape((6,), (2, -1)))
    'reshape 6 2,-1  => 2,3  # why'
    """
    named = strict or expected.conditions is not None
    if not is_object(line.lstrip("\ufeff" + BLANKS)):
        start = line.index(ARROW) + len(ARROW)
        end = line.index(COMMENT, start) if COMMENT in line[start:] else len(line)
        text = answer_text(answer, conditions=named)
        return line[:start] + _in_place_of(line[start:end], text) + line[end:]
    start, end = _expect_span(line)
    return line[:start] + _value_text(line[start:end], answer, named=named) + line[end:]


def _in_place_of(old: str, new: str) -> str:
    """Return `new` with the blanks around `old`."""
    stripped = old.strip()
    if not stripped:
        return f" {new}{old}"
    start = old.index(stripped)
    return old[:start] + new + old[start + len(stripped) :]


def _expect_span(line: str) -> tuple[int, int]:
    """Return where the value of a JSON object's key `expect` starts and ends."""
    place = line.index("{") + 1
    while True:
        name, place = _DECODER.raw_decode(line, _past(line, place, BLANKS + ","))
        start = _past(line, place, BLANKS + ":")
        _, place = _DECODER.raw_decode(line, start)
        if name == "expect":
            return start, place


def _past(line: str, place: int, chars: str) -> int:
    while line[place] in chars:
        place += 1
    return place


def _value_text(old: str, answer: Trace | Chain, *, named: bool) -> str:
    """Return what was got as JSON, in the form and with the blanks of the old value."""
    separators = (", ", ": ") if ", " in old or ": " in old or "," not in old else (",", ":")
    value: object = plain(answer.output)
    if old.startswith('"') and not (old.startswith(f'"{REFUSED}') and not answer.problem):
        value = answer_text(answer, conditions=named)
    elif answer.problem:
        value = {REFUSED: answer.problem.rule}
    elif named and answer.conditions:
        value = {"output": value, "conditions": [str(condition) for condition in answer.conditions]}
    return json.dumps(value, separators=separators)
