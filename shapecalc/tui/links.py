"""The links of a served app: each holds a question and a step of its answer. They are read as text, by the core."""

from __future__ import annotations

from shapecalc.core.commands import split
from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.text import is_file
from shapecalc.tui.outcome import answer_question
from shapecalc.tui.question import Question, question_of

PROGRAM = "shapecalc"
LONGEST = 2000
"""The characters of the longest question that is put into a link; servers take addresses of about 8000 bytes."""


def linked_question(ask: str, step: str) -> tuple[Question, int | None]:
    """Return the question that a link holds, and its step from 0, or None.

    Raises `ShapeError`: usage if it cannot be read, file if a file is named.

    >>> question, step = linked_question("shapecalc reshape 2,3,4 0,-1", "2")
    >>> question.texts["target"], step
    ('0,-1', 1)
    """
    words = split(ask)
    question = question_of(words[1:] if words[:1] == [PROGRAM] else words)
    shapes = (*question.texts.values(), question.against.partition("|")[0])
    if any(is_file(text.strip()) for text in shapes):
        raise ShapeError(Problem(FILE, "a link may not name a file", "write the shape itself, such as 2,3,4"))
    outcome = answer_question(question)
    if outcome.answer is None and outcome.problem is not None:
        raise ShapeError(outcome.problem)
    number = step.strip()
    return question, int(number) - 1 if number.isascii() and number.isdigit() and len(number) <= 5 else None


def link_of(line: str, at: int) -> dict[str, str]:
    """Return what the link to a question holds, for its command line and the place in its answer; nothing if too long.

    >>> link_of("shapecalc reshape 2,3,4 0,-1", 1)
    {'ask': 'reshape 2,3,4 0,-1', 'step': '2'}
    """
    return {} if len(line) > LONGEST else {"ask": line.removeprefix(f"{PROGRAM} "), "step": str(at + 1)}
