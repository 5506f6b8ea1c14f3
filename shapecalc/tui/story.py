"""What the main screen says, as texts of a given width: its title, its sentence, what is wrong."""

from __future__ import annotations

from textwrap import wrap

from rich.text import Text

from shapecalc.core.dims import product
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Chain, Trace
from shapecalc.core.wording import visible
from shapecalc.tui.question import Question, Reply
from shapecalc.tui.state import State
from shapecalc.view.flow import flow
from shapecalc.view.grid import grid
from shapecalc.view.pictures import picture
from shapecalc.view.steps import operator, shown_name
from shapecalc.view.strokes import UNICODE, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LINES = 2
"""Lines of the sentence, and of what is wrong."""
LEAST_NAME = 8
"""Cells below which who answers is not said."""
LEAST_FLOW = 2
"""Lines of a flow with one axis."""
FOLLOWING = "The arrow keys follow another element; it is marked at every stage."
MESSAGE = "Transpose moves axes. Reshape only moves the cuts."
"""What is to be remembered, said with every whole answer."""


def title(question: Question, reply: Reply, width: int) -> Text:
    """Return who answers, how many elements there are, and the answer; for want of room, the answer first."""
    answer = reply.answer
    if answer is None:
        left, right, count = question.op, "..." if reply.typing else "cannot be read", ""
    else:
        left = "chain" if answer.op == "chain" else operator(answer.stages[0])
        right, count = _answer(answer), f"{product(answer.input)} elements   "
    right = clipped(visible(right), width, UNICODE)
    left = clipped(left, max(0, width - len(right) - 2), UNICODE) if width - len(right) > LEAST_NAME else ""
    right = count + right if len(left) + len(count) + len(right) + 2 <= width else right
    line = Text(left, "bold", no_wrap=True, end="").append(" " * (width - len(left) - len(right)))
    refused = answer is None or answer.output is None
    return line.append(right, "bold" if not refused else "bold red" if not reply.typing else "dim")


def _answer(answer: Trace | Chain) -> str:
    if answer.output is None:
        return f"refused: {answer.problem.rule}" if answer.problem else "refused"
    return f"answer {shape_text(answer.output)}"


def reason(problem: Problem, left: int, length: int, width: int) -> Text:
    """Return what is wrong, with carets at `left` and the words beside or below them."""
    words = visible(problem.message)
    left = max(0, min(left, width - 1))
    carets = UNICODE_CARET * min(max(1, length), width - left) if length else ""
    if left + len(carets) + 1 + len(words) <= width:
        return Text(" " * left).append(carets, "bold red").append(f" {words}", "red")
    text = Text(" " * left).append(carets, "bold red") if carets else Text()
    for line in wrap(words, width)[:MOST_LINES]:
        text.append(f"\n{line}" if text else line, "red")
    return text


UNICODE_CARET = "▲"


def sentence(state: State, width: int) -> Text:
    """Return the sentence of the step at hand; of a problem what would help; of a whole answer when it holds."""
    answer, problem = state.good, state.reply.problem
    if (
        problem is not None
        and not state.reply.typing
        and (answer is None or answer.problem or state.reply.answer is None)
    ):
        fix = state.fix
        said = f"F6: {fix.said}" if fix else visible(problem.hint)
        why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
        return _lines(said or why, width, "")
    if answer is None:
        return Text()
    if state.gridded:
        return _lines(FOLLOWING, width, "")
    if state.settled:
        return Text("\n".join([*wrap(" ".join(_provisos(answer)), width), MESSAGE][:MOST_LINES]))
    if state.at >= state.last:
        return Text()
    step = answer.steps[state.at]
    return _lines(f"{visible(step.why)}  [{step.rule}]", width, "")


def _provisos(answer: Trace | Chain) -> list[str]:
    """Return what an answer with names rests on, a sentence each."""
    found = []
    if answer.conditions:
        found.append(f"Holds when {' and '.join(condition.words for condition in answer.conditions)}.")
    if answer.assumes:
        found.append(f"Assumes that {' and '.join(map(shown_name, answer.assumes))} is not 0.")
    return found


def _lines(words: str, width: int, style: str) -> Text:
    lines = wrap(words, width) or [""]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], clipped(" ".join(lines[MOST_LINES - 1 :]), width, UNICODE)]
    return Text("\n".join(lines), style)


def flowing(state: State, width: int, height: int) -> Text:
    """Return the flow at the step at hand, in so many lines with what is noted under it."""
    if state.good is None:
        return Text()
    axes = max([len(state.good.input), *(len(step.value) for step in state.good.steps if step.move)])
    at, rows = None if state.settled else state.at, height - (axes >= height)
    while True:
        text = flow(state.good, at, width=width, height=rows, chosen=state.chosen)
        over = text.plain.count("\n") + 1 - height
        if over <= 0 or rows <= LEAST_FLOW:
            return text
        rows = max(LEAST_FLOW, rows - over)


def drawn(state: State, value: Callable[[tuple[int, ...]], object] | None, width: int, height: int) -> Text:
    """Return the picture under the rail: the grid where it was asked for, else that of the step at hand."""
    if state.good is None:
        return Text()
    if not state.gridded:
        at = max(0, state.last - 1) if state.settled else state.at
        return picture(state.good, at, width=width, height=height)
    from shapecalc.engine.files import FileError

    try:
        return grid(state.good, state.cursor, width=width, height=height, value=value)
    except ShapeError as error:
        said = error.problem.message
    except (FileError, OSError, IndexError) as error:
        said = f"the file cannot be read any more: {error}"
    return Text(visible(said), "dim")
