"""A second chain held against the answer on the screen: what it is, the verdict, and what is said of it."""

from __future__ import annotations

from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import chain_text
from shapecalc.core.equiv import Equivalence, Verdict, equivalence
from shapecalc.core.ops import OPS
from shapecalc.core.problem import Problem, ShapeError
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text, visible
from shapecalc.tui.outcome import answer_question
from shapecalc.tui.question import CHAIN, question_of
from shapecalc.tui.story import problem_text

MOST_COMPARED = 1 << 18
"""The most elements that are compared one by one at a key stroke."""
MARKS = {
    Verdict.SAME: ("✓", "green"),
    Verdict.SAME_WHEN: ("✓", "yellow"),
    Verdict.DIFFERENT: ("≠", "red"),
    Verdict.UNDECIDED: ("?", "yellow"),
}
"""What stands before a verdict, and in which colour."""
MORE = "the command below compares more elements"


class Held(Record):
    """A second chain beside the first, and the verdict on the two; or why there is none."""

    first: Trace | Chain
    second: Trace | Chain | None
    text: str
    """The second as the command line takes it."""
    found: Equivalence | None = None
    problem: Problem | None = None
    typing: bool = False
    """Whether the second can still become right by typing on."""


def held_against(first: Trace | Chain, text: str) -> Held:
    """Return the verdict on an answer and the chain that is typed, which may be stages alone.

    >>> import shapecalc as sc
    >>> print(held_against(sc.chain("N,C", "transpose", "reshape -1"), "reshape -1").found)
    same when N is 1, or when C is 1
    """
    words = text.split()
    if words and words[0] in OPS:
        text = f"| {text}"
    question = question_of([CHAIN, text])
    if not question.texts["input"]:
        question = question.with_text("input", shape_text(first.input))
    outcome = answer_question(question, "stages" if "|" in text else "input")
    if outcome.answer is None:
        return Held(first, None, text, None, outcome.problem, outcome.typing or not words)
    try:
        return Held(first, outcome.answer, text, equivalence(first, outcome.answer, MOST_COMPARED))
    except ShapeError as error:
        return Held(first, outcome.answer, text, None, error.problem)


def verdict_text(held: Held, width: int) -> Text:
    """Return the verdict in words, with its reasons; or what is wrong with a chain and what would help."""
    if held.typing:
        return Text("...", "dim")
    if held.problem is not None:
        return problem_text(held.problem, width)
    if held.found is None:
        return Text()
    mark, style = MARKS[held.found.verdict]
    text = Text("\n".join(wrap(f"{mark} {held.found}", width)), "bold")
    text.stylize(style, 0, len(mark))
    more = (MORE,) if held.found.verdict is Verdict.UNDECIDED else ()
    reasons = [line for reason in (*held.found.reasons, *more) for line in wrap(visible(reason), width)]
    return Text("\n").join([text, *map(Text, reasons)])


def equiv_line(held: Held) -> str:
    """Return the command line that asks for the same verdict.

    >>> import shapecalc as sc
    >>> equiv_line(held_against(sc.transpose("2,3", "1,0"), "reshape 3,2"))
    "shapecalc equiv '2,3 | transpose 1,0' '| reshape 3,2'"
    """
    from shlex import join

    return join(["shapecalc", "equiv", chain_text(held.first), held.text.strip()])
