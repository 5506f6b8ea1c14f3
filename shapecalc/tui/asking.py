"""What the main screen says while it asks for a dim: the holes, the question, what was typed, the helps."""

from __future__ import annotations

from textwrap import wrap

from rich.text import Text

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.state import State
from shapecalc.view.canvas import stack
from shapecalc.view.layout import unsettled
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.mistakes import Mistake

    Hole = tuple[int, int]

OPENING = "Type the size for the lit hole. Enter gives a hint, PgDn shows it and goes on, ^G shows all."
ONWARD = "PgDn goes on."
GOING_ON = f"{ONWARD} The arrow keys choose a hole to type into."
WIDEST_TEXT = 12
"""The most characters of what was typed that a hole shows."""
LEAST_TEXT = 3
WRONG = UNICODE.fail
HIDDEN = "answer hidden"


def hole_texts(state: State) -> dict[Hole, str]:
    """Return what stands in each hole: what was typed, a cross before what is wrong, a line where nothing is asked yet.

    >>> from shapecalc.tui.question import question_of
    >>> state = State(question_of(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"]), 0)
    >>> state.type("2")
    >>> hole_texts(state)
    {(1, 0): '[✗2  ]', (1, 1): '_', (1, 2): '_', (2, 0): '[    ]', (2, 1): '[    ]'}
    """
    mine, asked = state.predictions, {*state.predictions.output, state.hole}
    texts = {}
    for hole in state.holes:
        typed = visible(mine.texts.get(hole, ""))[-WIDEST_TEXT:]
        mark = WRONG if mine.is_wrong(hole) else " "
        texts[hole] = f"[{mark}{typed.ljust(LEAST_TEXT)}]" if hole in asked or typed else UNICODE.hole
    if state.hides_refusal and state.good is not None:
        texts |= {hole: UNICODE.hole for hole in unsettled(state.good, state.passed) if hole not in mine.cells}
    return texts


def sentence_of(mistake: Mistake) -> str:
    """Return the sentence that names a mistake, with the question that it is the right answer to."""
    return f"{mistake.said[0].upper()}{visible(mistake.said[1:])}."


def hidden_text(state: State) -> str:
    """Return what stands in place of a hidden answer, with how many of the holes tried were right at once."""
    score = state.score
    tried = f"   {score.right}/{score.tried}" if score.tried else ""
    return f"{HIDDEN}{tried}" if state.hides else ""


def question_text(state: State, width: int, height: int) -> Text:
    """Return the question of the hole at hand, what is wrong with what was typed, and the helps that were given.

    Where there is little room, the last help is whole.
    """
    hole = state.hole
    if hole is None:
        return Text()
    mine = state.predictions
    hint, given = mine.hint(hole), mine.given_rungs(hole)
    lines = [Text(_question(state, hint.asks), "bold")]
    if mine.is_wrong(hole):
        lines.append(Text(f"{WRONG} {_wrong(state, hole)}", "red"))
    helps = [_wrapped(rung, width) for rung in hint.rungs[:given]]
    while len(helps) > 1 and sum(map(len, helps)) + len(lines) > height:
        del helps[0]
    lines += [Text(line) for help_ in helps for line in help_]
    return stack(lines if len(lines) <= height else [lines[0], *lines[1 - height :]])


def beside_text(state: State, width: int, height: int) -> Text:
    """Return the answer that a whole wrong prediction is right of, beside the asked one; nothing if there is none."""
    mistake = state.mistake
    if mistake is None or state.good is None or not state.is_answered:
        return Text()
    from shapecalc.view.beside import beside  # only who errs needs it

    try:
        return beside(state.good, mistake.answer, width=width, height=height)
    except ShapeError:
        return Text()


def _question(state: State, asks: str) -> str:
    steps = sorted({cell.step for cell in state.predictions.cells.values()})
    assert state.hole is not None
    number = steps.index(state.predictions.cells[state.hole].step) + 1
    return f"{number} of {len(steps)}: {visible(asks)}"


def _wrong(state: State, hole: Hole) -> str:
    """Return what is wrong with what was typed: the axis that it is the size of, if it is of one alone."""
    mine, typed = state.predictions, visible(state.predictions.texts[hole])
    axis = mine.taken_for(hole)
    if mine.dim(hole) is None:
        return f"'{typed}' is not a size"
    return f"{typed} is not it" if axis is None else f"{typed} is dim {axis}"


def _wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a help; the lines of a table stay as they are."""
    lines = visible_lines(text)
    return lines if len(lines) > 1 else wrap(lines[0], width)


def visible_lines(text: str) -> list[str]:
    """Return the lines of a text, each without invisible characters."""
    return [visible(line) for line in text.split("\n")]
