"""What the main screen shows, as texts of a given width: its title, its sentence, its question, what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.dims import names, product
from shapecalc.core.mistakes import Mistake
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError
from shapecalc.core.text import count_text, shape_text, visible
from shapecalc.tui.question import Question, Result
from shapecalc.tui.state import Hole, State
from shapecalc.view.big import big
from shapecalc.view.canvas import UNICODE, clip, stack
from shapecalc.view.flow import flow, rail, strip
from shapecalc.view.grid import beside, grid
from shapecalc.view.hints import shown_name
from shapecalc.view.layout import unsettled
from shapecalc.view.pictures import picture
from shapecalc.view.story import operator

WHETHER = "Does this work?"
YES_OR_NO = "y for yes, n for no; PgDn shows it. ^G asks nothing and shows everything."
OPENING = "Type the size for the lit hole; enter gives a hint, PgDn shows it."
ONWARD = "PgDn goes on."
GOING_ON = f"{ONWARD} The arrow keys choose a hole to type into."
RIGHT = "That is right."
IT_WORKS, IT_FAILS = "no: it works", "no: it is refused"
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
WHERE = 2
"""The number of the help that is a table."""
LEAST_SHARE = 4
"""Lines that the flow may have in the least terminal."""
CARET = "▲"
FOLLOWING = "The arrow keys follow another element; it is marked at every stage."
MOVING, CUTTING = "Transpose moves axes.", "Reshape only moves the cuts."
MESSAGES = {Kind.PERMUTE: (MOVING, CUTTING), Kind.RESHAPE: (MOVING, CUTTING), Kind.MERGE: (CUTTING,)}
"""What is to be remembered of stages whose kinds are easily taken for each other."""


def title(question: Question, result: Result, width: int, hidden: str = "", score: str = "") -> Text:
    """Return the operator, the element count, the score and the answer; if there is little room, the answer alone.

    `hidden` is what stands in place of an answer that is not to be seen.
    """
    answer = result.answer
    if answer is None:
        left, texts = question.op, ["..." if result.typing else "cannot be read"]
    else:
        left = answer.op if isinstance(answer, Chain) else operator(answer)
        count = count_text((), product(answer.input))
        texts = [*filter(None, (count, score)), clip(visible(hidden or _answer_text(answer)), width, UNICODE)]
    left = clip(left, max(0, width - len(texts[-1]) - 2), UNICODE) if width - len(texts[-1]) > LEAST_NAME else ""
    while len(texts) > 1 and len(left) + 2 + len("   ".join(texts)) > width:
        del texts[0]
    right = "   ".join(texts)
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


def problem_text(problem: Problem) -> Text:
    """Return what is wrong, and under it what would help."""
    text = Text(visible(problem.message), "red")
    return text.append(f"\n{visible(problem.hint)}" if problem.hint else "", "default")


def sentence(state: State, width: int) -> Text:
    """Return what is asked, what would help with a problem, the sentence of the step, or when a whole answer holds."""
    answer, problem = state.answer, state.result.problem
    if problem is not None and not state.result.typing and not (state.opening and state.result.answer is not None):
        return _help_text(state, problem, width)
    if answer is None:
        return Text()
    if state.gridded:
        return _lines(sentence_of(state.twin) if state.beside and state.twin else FOLLOWING, width)
    if state.opening or state.asking:
        asked, how = (WHETHER, YES_OR_NO) if state.opening else (_question(state), OPENING)
        return stack([Text(clip(asked, width, UNICODE), "bold"), Text(clip(how, width, UNICODE))])
    if state.settled:
        provisos = _provisos(answer) + ([f"F6: {state.fix.said}."] if state.fix and problem is None else [])
        return Text("\n".join([*wrap(" ".join(provisos), width), _message(answer, width)][:MOST_LINES]))
    if state.at >= state.last:
        return Text()
    step = answer.steps[state.at]
    out_of_turn = _pictured(state) != state.at
    text = _lines(RIGHT if out_of_turn else f"{visible(step.why)}  [{step.rule}]", width)
    onward = GOING_ON if state.askable else ONWARD if state.learns else ""
    return text.append(f"\n{clip(onward, width, UNICODE)}") if onward and "\n" not in text else text


def _message(answer: Trace | Chain, width: int) -> str:
    """Return what is to be remembered of a whole answer: what its stages do, in one line.

    >>> import shapecalc as sc
    >>> _message(sc.chain("2,1,3", "squeeze", "expand 4,2,3"), 78)
    'Squeeze drops dims of 1. Expand repeats dims of 1.'
    """
    said = (MESSAGES.get(stage.kind, (f"{stage.label.capitalize()} {stage.kind.value}.",)) for stage in answer.stages)
    return clip(" ".join(dict.fromkeys(chain.from_iterable(said))), width, UNICODE)


def _help_text(state: State, problem: Problem, width: int) -> Text:
    """Return what would help with a problem: the fix, the hint, or the command that explains its rule."""
    help_ = f"F6: {state.fix.said}" if state.fix else visible(problem.hint)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    if not state.big:
        return _lines(help_ or why, width)
    return Text(clip(visible(problem.message), width, UNICODE), "red").append(f"\n{clip(help_ or why, width, UNICODE)}")


def _provisos(answer: Trace | Chain) -> list[str]:
    """Return what an answer with names depends on, and what its new names stand for, a sentence each."""
    found = [f"{limit}." for limit in answer.limits[: len({*answer.left_out})]]
    if answer.conditions:
        found.append(f"Holds when {' and '.join(condition.words for condition in answer.conditions)}.")
    if answer.assumes:
        found.append(f"Assumes that {' and '.join(map(shown_name, answer.assumes))} is not 0.")
    new = {*names(answer.output or ())} - {*names(answer.input)}
    made = (step for step in answer.steps if str(step.value) in new and f"= {step.value}" in step.why)
    return [*found, *(f"{visible(step.why.partition(':')[0])}." for step in made)]


def _lines(words: str, width: int) -> Text:
    return Text("\n".join(few_lines(words, width, MOST_LINES)))


def few_lines(words: str, width: int, most: int) -> list[str]:
    """Return the lines of some words, of which the last ends with dots if there are more than that many."""
    lines = wrap(words, width)
    return lines if len(lines) <= most else [*lines[: most - 1], clip(" ".join(lines[most - 1 :]), width, UNICODE)]


def flow_height(state: State, room: int) -> int:
    """Return how many of the lines for flow and picture the flow may have: half, and more if the hole needs it."""
    return max(LEAST_SHARE, room // 2, state.hole[1] + HEAD_AND_NOTE if state.hole else 0)


def flow_text(state: State, width: int, height: int) -> Text:
    """Return the flow at the step at hand, in `height` lines at most."""
    if state.drawn is None:
        return Text()
    at = None if state.settled or state.opening else state.at
    return flow(state.drawn, at, width=width, height=height, chosen=state.chosen or state.hole, holes=hole_texts(state))


def rail_text(state: State, width: int) -> Text:
    """Return the stages with the step at hand, over the shapes; what is only asked for has neither steps nor shapes."""
    answer, at = state.drawn, None if state.settled else state.at
    if answer is None:
        return Text()
    if not state.opening:
        return stack([rail(answer, at, width=width), strip(answer, at, width=width)])
    question = state.question
    ops = question.texts.get("stages", "").split("|") if question.is_chain else [question.op]
    names = ["input", *(words[0] for op in ops if (words := visible(op).split())), "output"]
    lines = f" {UNICODE.arrow} ".join(names), f"{shape_text(answer.input)} {UNICODE.to} {UNICODE.unknown}"
    return stack([Text(clip(line, width, UNICODE)) for line in lines])


def _pictured(state: State) -> int:
    """Return the step whose picture is drawn: that of the hole at hand, if there is one."""
    if state.hole is not None:
        return state.predictions.cells[state.hole].step
    if state.opening and state.drawn is not None:
        return len(state.drawn.steps)
    return max(0, state.last - 1) if state.settled else state.at


def picture_text(state: State, value: Callable[[tuple[int, ...]], object] | None, width: int, height: int) -> Text:
    """Return the picture under the rail: the grid if it was asked for, and that of the step at hand if not.

    While something is asked, the picture has a hole, and the helps stand under it.
    """
    if state.answer is None or state.drawn is None:
        return Text()
    if not state.gridded:
        told = told_text(state, width, height - _drawing(state, width, height).plain.count("\n") - 1)
        left = height - told.plain.count("\n") - 1
        return stack([_drawing(state, width, left), told]) if told else _drawing(state, width, height)
    try:
        if state.beside and state.twin:
            return beside(state.answer, state.twin.answer, width=width, height=height)
        return grid(state.answer, state.cursor, width=width, height=height, value=value)
    except ShapeError as error:
        text = error.problem.message
    except (OSError, IndexError) as error:
        text = f"the file cannot be read any more: {error}"
    return Text(visible(text), "dim")


def _drawing(state: State, width: int, height: int) -> Text:
    """Return the picture of the step, or of a mistake beside the truth.

    If it is to be in large figures and there is no room for any, it is the flow.
    """
    if (drawn := beside_text(state, width, height)) or state.drawn is None:
        return drawn
    at, holes = _pictured(state), hole_texts(state)
    if not state.big:
        return picture(state.drawn, at, width=width, height=height, holes=holes)
    found = big(state.drawn, at, width=width, height=height, holes=holes, chosen=state.chosen or state.hole)
    return found or flow_text(state, width, height)


# What is asked


def hole_texts(state: State) -> dict[Hole, str]:
    """Return what stands in each hole: what was typed, a cross before what is wrong, a line where nothing is asked yet.

    >>> from shapecalc.tui.question import question_of
    >>> state = State(question_of(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"]), 0, learns=True)
    >>> state.type("y")
    >>> state.type("2")
    >>> hole_texts(state)
    {(1, 0): '[✗2  ]', (1, 1): '[    ]', (2, 0): '_', (2, 1): '_'}
    """
    if state.opening and state.drawn is not None:
        return dict.fromkeys(unsettled(state.drawn, len(state.drawn.steps)), UNICODE.hole)
    mine, askable, texts = state.predictions, {*state.askable, state.hole}, {}
    for hole in state.holes:
        typed = visible(mine.texts.get(hole, ""))[-WIDEST_TEXT:]
        mark = WRONG if mine.is_wrong(hole) else " "
        texts[hole] = f"[{mark}{typed.ljust(3)}]" if hole in askable or typed else UNICODE.hole
    return texts


def sentence_of(mistake: Mistake) -> str:
    """Return the sentence that names a mistake, with the question that it is the right answer to."""
    return f"{mistake.said[0].upper()}{visible(mistake.said[1:])}."


def hidden_text(state: State) -> str:
    """Return what stands in place of a hidden answer."""
    return HIDDEN if state.hides else ""


def told_text(state: State, width: int, height: int) -> Text:
    """Return what is said to the last answer: what is wrong with it, and the last help that was given.

    Where there is little room, a help of several lines is its first one: the picture has the others.
    """
    mine, hole, lines = state.predictions, state.hole, list[Text]()
    if state.opening or not state.learns:
        return Text()
    works = not (state.answer and state.answer.problem)
    first = min((cell.step for cell in mine.asked.values()), default=state.last)
    if mine.said is (not works) and not mine.texts and (state.passed <= first or not works):
        lines.append(Text(f"{WRONG} {IT_WORKS if works else IT_FAILS}", "red"))
    if hole is not None and mine.is_wrong(hole):
        lines.append(Text(f"{WRONG} {_wrong(state, hole)}", "red"))
    if state.mistake is not None:
        lines += [Text(line, "red") for line in wrap(sentence_of(state.mistake), width)]
    given = mine.given_rungs(hole) if hole is not None and state.asking else 0
    if hole is not None and given and (state.mistake is None or mine.rungs.get(hole)):
        helps = _wrapped(mine.hint(hole).rungs[given - 1], width)
        lines += map(Text, helps if given != WHERE or len(helps) + len(lines) <= height else [helps[0].rstrip(":")])
    return stack(lines) if lines else Text()


def beside_text(state: State, width: int, height: int) -> Text:
    """Return the answer that a whole wrong prediction is right of, beside the asked one, once that is not hidden."""
    mistake = None if state.hides or None in state.predictions.predicted else state.mistake
    if mistake is None or state.answer is None:
        return Text()
    try:
        return beside(state.answer, mistake.answer, width=width, height=height)
    except ShapeError:
        return Text()


def _question(state: State) -> str:
    """Return what is asked of the hole at hand, with its number among the steps that ask."""
    assert state.hole is not None
    steps = sorted({cell.step for cell in state.predictions.asked.values()})
    number = steps.index(state.predictions.cells[state.hole].step) + 1
    return f"{number} of {len(steps)}: {visible(state.predictions.hint(state.hole).asks)}"


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
