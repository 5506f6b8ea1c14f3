"""What the main screen says, as texts of a given width: its title, its sentence, what is wrong."""

from __future__ import annotations

from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.dims import product
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError
from shapecalc.core.text import count_text, shape_text, visible
from shapecalc.tui.asking import GOING_ON, ONWARD, OPENING, beside_text, hole_texts, question_text, sentence_of
from shapecalc.tui.outcome import Outcome
from shapecalc.tui.question import Question
from shapecalc.tui.state import State
from shapecalc.view.flow import flow
from shapecalc.view.grid import grid
from shapecalc.view.pictures import picture
from shapecalc.view.steps import operator, shown_name
from shapecalc.view.strokes import UNICODE, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_LINES = 2
"""Lines of the sentence, and of what is wrong."""
LEAST_NAME = 8
"""The cells below which the operator is not named."""
HEAD_AND_NOTE = 3
"""Lines of the flow that are no axes before a hole: its head, its first axis, and how many axes are left out."""
LEAST_SHARE = 4
"""Lines that the flow may have in the least terminal."""
CARET = "▲"
FOLLOWING = "The arrow keys follow another element; it is marked at every stage."
MOVING, CUTTING = "Transpose moves axes.", "Reshape only moves the cuts."
MESSAGES = {Kind.PERMUTE: (MOVING, CUTTING), Kind.RESHAPE: (MOVING, CUTTING), Kind.MERGE: (MOVING, CUTTING)}
"""What is to be remembered of stages whose kinds are easily taken for each other."""


def title(question: Question, outcome: Outcome, width: int, hidden: str = "") -> Text:
    """Return the operator, the element count and the answer in one line; if there is little room, the answer alone.

    `hidden` is what stands in place of an answer that is not to be seen.
    """
    answer = outcome.answer
    if answer is None:
        left, right, count = question.op, "..." if outcome.typing else "cannot be read", ""
    else:
        left = answer.op if isinstance(answer, Chain) else operator(answer)
        right, count = hidden or _answer_text(answer), f"{count_text((), product(answer.input))}   "
    right = clip(visible(right), width, UNICODE)
    left = clip(left, max(0, width - len(right) - 2), UNICODE) if width - len(right) > LEAST_NAME else ""
    right = count + right if len(left) + len(count) + len(right) + 2 <= width else right
    line = Text(no_wrap=True, end="").append(left.ljust(width - len(right)), "bold")
    refused = answer is None or (answer.output is None and not hidden)
    return line.append(right, "bold" if not refused else "bold red" if not outcome.typing else "bold dim")


def _answer_text(answer: Trace | Chain) -> str:
    if answer.output is None:
        return f"refused: {answer.problem.rule}" if answer.problem else "refused"
    return f"answer {shape_text(answer.output)}"


def reason_text(problem: Problem, left: int, length: int, width: int) -> Text:
    """Return what is wrong, with carets at `left` and the words beside or below them."""
    words = visible(problem.message)
    left = max(0, min(left, width - 1))
    carets = CARET * min(max(1, length), width - left) if length else ""
    if left + len(carets) + 1 + len(words) <= width:
        return Text(" " * left).append(carets, "bold red").append(f" {words}", "red")
    text = Text(" " * left).append(carets, "bold red") if carets else Text()
    for line in wrap(words, width)[:MOST_LINES]:
        text.append(f"\n{line}" if text else line, "red")
    return text


def problem_text(problem: Problem, width: int) -> Text:
    """Return what is wrong, and under it what would help."""
    text = Text("\n".join(wrap(visible(problem.message), width)), "red")
    return text.append("".join(f"\n{line}" for line in wrap(visible(problem.hint), width)), "default")


def sentence(state: State, width: int) -> Text:
    """Return what would help with a problem, the sentence of the step at hand, or when a whole answer holds."""
    answer, problem = state.good, state.outcome.problem
    if problem is not None and not state.outcome.typing and not state.hides_refusal:
        return _help_text(state, problem, width)
    if answer is None:
        return Text()
    if state.gridded:
        return _lines(sentence_of(state.twin) if state.beside and state.twin else FOLLOWING, width)
    if state.asking:
        said = question_text(state, width, MOST_LINES) if state.big else OPENING
        return _lines(sentence_of(state.mistake) if state.mistake else str(said), width)
    if state.settled:
        provisos = _provisos(answer) + ([f"F6: {state.fix.said}."] if state.fix and problem is None else [])
        return Text("\n".join([*wrap(" ".join(provisos), width), _message(answer, width)][:MOST_LINES]))
    if state.at >= state.last:
        return Text(ONWARD if state.hides_refusal else "")
    step = answer.steps[state.at]
    said = _lines(f"{visible(step.why)}  [{step.rule}]", width)
    onward = GOING_ON if state.holes else ONWARD if state.hides_refusal else ""
    return said.append(f"\n{clip(onward, width, UNICODE)}") if onward and "\n" not in said else said


def _message(answer: Trace | Chain, width: int) -> str:
    """Return what is to be remembered of a whole answer: what its stages do, as many sentences as a line has room for.

    >>> import shapecalc as sc
    >>> _message(sc.chain("2,1,3", "squeeze", "expand 4,2,3"), 78)
    'Squeeze drops dims of 1. Expand repeats dims of 1.'
    """
    said = [
        sentence
        for stage in answer.stages
        for sentence in MESSAGES.get(stage.kind, (f"{stage.label.capitalize()} {stage.kind.value}.",))
    ]
    message = ""
    for sentence in dict.fromkeys(said):
        if len(message) + 1 + len(sentence) > width:
            break
        message = f"{message} {sentence}".lstrip()
    return message


def _help_text(state: State, problem: Problem, width: int) -> Text:
    """Return what would help with a problem: the fix, the hint, or the command that explains its rule."""
    said = f"F6: {state.fix.said}" if state.fix else visible(problem.hint)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    if state.big:
        return Text(clip(visible(problem.message), width, UNICODE), "red").append(
            f"\n{clip(said or why, width, UNICODE)}"
        )
    return _lines(said or why, width)


def _provisos(answer: Trace | Chain) -> list[str]:
    """Return what an answer with names depends on, a sentence each."""
    found = []
    if answer.conditions:
        found.append(f"Holds when {' and '.join(condition.words for condition in answer.conditions)}.")
    if answer.assumes:
        found.append(f"Assumes that {' and '.join(map(shown_name, answer.assumes))} is not 0.")
    return found


def _lines(words: str, width: int) -> Text:
    lines = wrap(words, width) or [""]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], clip(" ".join(lines[MOST_LINES - 1 :]), width, UNICODE)]
    return Text("\n".join(lines))


def flow_height(state: State, width: int, room: int) -> int:
    """Return how many of the lines for flow and picture the flow may have: half, or what no question takes.

    The hole at hand is in view.
    """
    if state.hole is None:
        return max(LEAST_SHARE, room // 2)
    asked = question_text(state, width, room // 2).plain.count("\n") + 1
    return max(LEAST_SHARE, state.hole[1] + HEAD_AND_NOTE, room - asked)


def flow_text(state: State, width: int, height: int) -> Text:
    """Return the flow at the step at hand, in `height` lines at most."""
    if state.good is None:
        return Text()
    at, holes = None if state.settled else state.at, hole_texts(state)
    chosen, hides = state.chosen or state.hole, state.hides_refusal
    return flow(state.good, at, width=width, height=height, chosen=chosen, holes=holes, hides_refusal=hides)


def big_text(state: State, width: int, height: int) -> Text:
    """Return the step at hand in large figures; if there is no room for any, the flow."""
    from shapecalc.view.big import big  # few ask for it

    if state.good is None:
        return Text()
    holes, at = hole_texts(state), max(0, state.last - 1) if state.settled else state.at
    found = big(state.good, at, width=width, height=height, holes=holes, chosen=state.chosen or state.hole)
    return found or flow_text(state, width, height)


def picture_text(state: State, value: Callable[[tuple[int, ...]], object] | None, width: int, height: int) -> Text:
    """Return the picture under the rail: the grid if it was asked for, and that of the step at hand if not."""
    if state.good is None:
        return Text()
    if state.big and not state.gridded:
        return beside_text(state, width, height) or big_text(state, width, height)
    if state.asking and not state.gridded:
        return beside_text(state, width, height) or question_text(state, width, height)
    at = max(0, state.last - 1) if state.settled else state.at
    if state.gives_away or (state.hides_refusal and state.at >= state.last):
        return Text()
    if not state.gridded:
        return picture(state.good, at, width=width, height=height, hides_late=bool(state.holes) or state.hides_refusal)
    from shapecalc.engine.arrays import FileError

    try:
        if state.beside and state.twin:
            from shapecalc.view.beside import beside

            return beside(state.good, state.twin.answer, width=width, height=height)
        return grid(state.good, state.cursor, width=width, height=height, value=value)
    except ShapeError as error:
        said = error.problem.message
    except (FileError, OSError, IndexError) as error:
        said = f"the file cannot be read any more: {error}"
    return Text(visible(said), "dim")
