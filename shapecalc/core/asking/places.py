"""Where in the stages of a chain, as they were typed, a token stands."""

from __future__ import annotations

import re

from shapecalc.core.asking.command_line import read_stage, split
from shapecalc.core.asking.resolve import ask_chain
from shapecalc.core.sizes.problem import ShapeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.sizes.problem import Problem


def unreadable_stage(stages: str) -> int | None:
    """Return the index of the first stage that cannot be read by itself; None if each can.

    >>> unreadable_stage("transpose 1,0 | reshap -1 | flatten")
    1
    """
    for number, stage in enumerate(split(stages, "|")):
        try:
            read = read_stage(split(stage), with_input=False)
            ask_chain((), [(read.op, read.options)], {})
        except ShapeError:
            return number
    return None


def token_span(stages: str, number: int, problem: Problem) -> tuple[int, int]:
    """Return the characters of the token that a problem of one stage is about; of the stage if that is not known.

    >>> from shapecalc.core.rules.refusals import INDIVISIBLE
    >>> from shapecalc.core.sizes.problem import Problem
    >>> token_span("transpose | reshape 5,-1", 1, Problem(INDIVISIBLE, "", argument="target", span=(2, 4)))
    (22, 24)
    """
    pieces = split(stages, "|")
    start = sum(len(piece) + 1 for piece in pieces[:number])
    piece = pieces[number]
    try:
        value = read_stage(split(piece), with_input=False).options.get(problem.argument or "")
    except ShapeError:
        value = None
    found = [*re.finditer(rf"(?<![^\s'\"=]){re.escape(str(value))}(?![^\s'\"])", piece)]
    if problem.span is None or len(found) != 1:
        return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    begin = start + found[0].start()
    return begin + problem.span[0], begin + problem.span[1]
