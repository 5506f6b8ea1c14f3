"""What the main screen shows, as texts of a given width: its title, its sentence, its question, what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.dims import product
from shapecalc.core.mistakes import Mistake
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError
from shapecalc.core.text import count_text, shape_text, visible
from shapecalc.tui.question import Question, Result
from shapecalc.tui.state import Hole, State
from shapecalc.view.big import big
from shapecalc.view.canvas import UNICODE, clip, stack
from shapecalc.view.flow import flow
from shapecalc.view.grid import beside, grid
from shapecalc.view.hints import shown_name
from shapecalc.view.layout import unsettled
from shapecalc.view.pictures import picture
from shapecalc.view.story import operator

OPENING = "Type the size for the lit hole. Enter gives a hint, PgDn shows it and goes on, ^G shows all."
ONWARD = "PgDn goes on."
GOING_ON = f"{ONWARD} The arrow keys choose a hole to type into."
WIDEST_TEXT = 12
"""The most characters of what was typed that a hole shows."""
WRONG = UNICODE.fail
HIDDEN = "answer hidden"
WOULD_SHOW = "this would show the answer, which is hidden: ^G reveals it"
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


def title(question: Question, result: Result, width: int, hidden: str = "") -> Text:
    """Return the operator, the element count and the answer in one line; if there is little room, the answer alone.

    `hidden` is what stands in place of an answer that is not to be seen.
    """
    answer = result.answer
    if answer is None:
        left, right, count = question.op, "..." if result.typing else "cannot be read", ""
    else:
        left = answer.op if isinstance(answer, Chain) else operator(answer)
        right, count = hidden or _answer_text(answer), f"{count_text((), product(answer.input))}   "
    right = clip(visible(right), width, UNICODE)
    left = clip(left, max(0, width - len(right) - 2), UNICODE) if width - len(right) > LEAST_NAME else ""
    right = count + right if len(left) + len(count) + len(right) + 2 <= width else right
    line = Text(no_wrap=True, end="").append(left.ljust(width - len(right)), "bold")
    refused = answer is None or (answer.output is None and not hidden)
    return line.append(right, "bold" if not refused else "bold red" if not result.typing else "bold dim")


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
    answer, problem = state.answer, state.result.problem
    if problem is not None and not state.result.typing and not state.hides_refusal:
        return _help_text(state, problem, width)
    if answer is None:
        return Text()
    if state.gridded:
        return _lines(sentence_of(state.twin) if state.beside and state.twin else FOLLOWING, width)
    if state.asking:
        asked = str(question_text(state, width, MOST_LINES)) if state.big else OPENING
        return _lines(sentence_of(state.mistake) if state.mistake else asked, width)
    if state.settled:
        provisos = _provisos(answer) + ([f"F6: {state.fix.said}."] if state.fix and problem is None else [])
        return Text("\n".join([*wrap(" ".join(provisos), width), _message(answer, width)][:MOST_LINES]))
    if state.at >= state.last:
        return Text(ONWARD if state.hides_refusal else "")
    step = answer.steps[state.at]
    text = _lines(f"{visible(step.why)}  [{step.rule}]", width)
    onward = GOING_ON if state.holes else ONWARD if state.hides_refusal else ""
    return text.append(f"\n{clip(onward, width, UNICODE)}") if onward and "\n" not in text else text


def _message(answer: Trace | Chain, width: int) -> str:
    """Return what is to be remembered of a whole answer: what its stages do, as many sentences as a line has room for.

    >>> import shapecalc as sc
    >>> _message(sc.chain("2,1,3", "squeeze", "expand 4,2,3"), 78)
    'Squeeze drops dims of 1. Expand repeats dims of 1.'
    """
    sentences = [
        sentence
        for stage in answer.stages
        for sentence in MESSAGES.get(stage.kind, (f"{stage.label.capitalize()} {stage.kind.value}.",))
    ]
    message = ""
    for sentence in dict.fromkeys(sentences):
        if len(message) + 1 + len(sentence) > width:
            break
        message = f"{message} {sentence}".lstrip()
    return message


def _help_text(state: State, problem: Problem, width: int) -> Text:
    """Return what would help with a problem: the fix, the hint, or the command that explains its rule."""
    help_ = f"F6: {state.fix.said}" if state.fix else visible(problem.hint)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    if not state.big:
        return _lines(help_ or why, width)
    return Text(clip(visible(problem.message), width, UNICODE), "red").append(f"\n{clip(help_ or why, width, UNICODE)}")


def _provisos(answer: Trace | Chain) -> list[str]:
    """Return what an answer with names depends on, a sentence each."""
    found = []
    if answer.conditions:
        found.append(f"Holds when {' and '.join(condition.words for condition in answer.conditions)}.")
    if answer.assumes:
        found.append(f"Assumes that {' and '.join(map(shown_name, answer.assumes))} is not 0.")
    return found


def _lines(words: str, width: int) -> Text:
    return Text("\n".join(few_lines(words, width, MOST_LINES)))


def few_lines(words: str, width: int, most: int) -> list[str]:
    """Return the lines of some words, of which the last ends with dots if there are more than that many."""
    lines = wrap(words, width)
    return lines if len(lines) <= most else [*lines[: most - 1], clip(" ".join(lines[most - 1 :]), width, UNICODE)]


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
    if state.answer is None:
        return Text()
    at, holes = None if state.settled else state.at, hole_texts(state)
    chosen, hides = state.chosen or state.hole, state.hides_refusal
    return flow(state.answer, at, width=width, height=height, chosen=chosen, holes=holes, hides_refusal=hides)


def big_text(state: State, width: int, height: int) -> Text:
    """Return the step at hand in large figures; if there is no room for any, the flow."""
    if state.answer is None:
        return Text()
    holes, at = hole_texts(state), max(0, state.last - 1) if state.settled else state.at
    found = big(state.answer, at, width=width, height=height, holes=holes, chosen=state.chosen or state.hole)
    return found or flow_text(state, width, height)


def picture_text(state: State, value: Callable[[tuple[int, ...]], object] | None, width: int, height: int) -> Text:
    """Return the picture under the rail: the grid if it was asked for, and that of the step at hand if not."""
    if state.answer is None:
        return Text()
    if state.big and not state.gridded:
        return beside_text(state, width, height) or big_text(state, width, height)
    if state.asking and not state.gridded:
        return beside_text(state, width, height) or question_text(state, width, height)
    at = max(0, state.last - 1) if state.settled else state.at
    if state.gives_away or (state.hides_refusal and state.at >= state.last):
        return Text()
    if not state.gridded:
        hides = bool(state.holes) or state.hides_refusal
        return picture(state.answer, at, width=width, height=height, hides_late=hides)
    try:
        if state.beside and state.twin:
            return beside(state.answer, state.twin.answer, width=width, height=height)
        return grid(state.answer, state.cursor, width=width, height=height, value=value)
    except ShapeError as error:
        text = error.problem.message
    except (OSError, IndexError) as error:
        text = f"the file cannot be read any more: {error}"
    return Text(visible(text), "dim")


# What is asked


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
        texts[hole] = f"[{mark}{typed.ljust(3)}]" if hole in asked or typed else UNICODE.hole
    if state.hides_refusal and state.answer is not None:
        texts |= {hole: UNICODE.hole for hole in unsettled(state.answer, state.passed) if hole not in mine.cells}
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
    if mistake is None or state.answer is None or not state.is_answered:
        return Text()
    try:
        return beside(state.answer, mistake.answer, width=width, height=height)
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
    lines = [visible(line) for line in text.split("\n")]
    return lines if len(lines) > 1 else wrap(lines[0], width)
