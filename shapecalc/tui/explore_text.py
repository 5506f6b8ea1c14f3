"""The texts of the main screen: title, status, problem, flow and picture."""

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
"""The most characters of an entered size that a hole shows."""
WRONG = UNICODE.fail
HIDDEN = "answer hidden"
WOULD_SHOW = "this would show the answer, which is hidden: ^G reveals it"
MOST_LINES = 2
"""The most lines of the status and of a problem."""
LEAST_NAME = 8
"""The least width, in cells, at which the title names the operator."""
HEAD_AND_NOTE = 3
"""The lines of the flow above a hole: head, first axis, number of omitted axes."""
WHERE = 2
"""The number of the hint that is a table."""
LEAST_SHARE = 4
"""The least number of lines of the flow."""
CARET = "▲"
FOLLOWING = "The arrow keys follow another element; it is marked at every stage."
MOVING, CUTTING = "Transpose moves axes.", "Reshape only moves the cuts."
MESSAGES = {Kind.PERMUTE: (MOVING, CUTTING), Kind.RESHAPE: (MOVING, CUTTING), Kind.MERGE: (CUTTING,)}
"""The lessons of stages that are easily confused."""


def title(question: Question, result: Result, width: int, hidden: str = "", score: str = "") -> Text:
    """Return the operator, the element count, the score and the answer.

    If the width is small, only the answer remains. `hidden` replaces an answer that is hidden.
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
    """Return a problem with carets at `left`, and its message next to or below them."""
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
    """Return the message of a problem, and its hint below."""
    text = Text(visible(problem.message), "red")
    return text.append(f"\n{visible(problem.hint)}" if problem.hint else "", "default")


def sentence(state: State, width: int) -> Text:
    """Return the status line: a question, a fix, a step, or the conditions."""
    answer, problem = state.answer, state.result.problem
    if problem is not None and not state.result.typing and not (state.opening and state.result.answer is not None):
        return _help_text(state, problem, width)
    if answer is None:
        return Text()
    if state.gridded:
        return _lines(sentence_of(state.twin) if state.beside and state.twin else FOLLOWING, width)
    if state.opening or state.asking:
        question, how = (WHETHER, YES_OR_NO) if state.opening else (_question(state), OPENING)
        return stack([Text(clip(question, width, UNICODE), "bold"), Text(clip(how, width, UNICODE))])
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
    """Return one line about the effect of the stages of an answer.

    >>> import shapecalc as sc
    >>> _message(sc.chain("2,1,3", "squeeze", "expand 4,2,3"), 78)
    'Squeeze drops dims of 1. Expand repeats dims of 1.'
    """
    sentences = (
        MESSAGES.get(stage.kind, (f"{stage.label.capitalize()} {stage.kind.value}.",)) for stage in answer.stages
    )
    return clip(" ".join(dict.fromkeys(chain.from_iterable(sentences))), width, UNICODE)


def _help_text(state: State, problem: Problem, width: int) -> Text:
    """Return the fix of a problem, its hint, or the command that explains its rule."""
    help_ = f"F6: {state.fix.said}" if state.fix else visible(problem.hint)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    if not state.big:
        return _lines(help_ or why, width)
    return Text(clip(visible(problem.message), width, UNICODE), "red").append(f"\n{clip(help_ or why, width, UNICODE)}")


def _provisos(answer: Trace | Chain) -> list[str]:
    """Return the limits, conditions and assumptions of an answer, and its new names."""
    sentences = [f"{limit}." for limit in answer.limits[: len({*answer.left_out})]]
    if answer.conditions:
        sentences.append(f"Holds when {' and '.join(condition.words for condition in answer.conditions)}.")
    if answer.assumes:
        sentences.append(f"Assumes that {' and '.join(map(shown_name, answer.assumes))} is not 0.")
    new_names = {*names(answer.output or ())} - {*names(answer.input)}
    steps = (step for step in answer.steps if str(step.value) in new_names and f"= {step.value}" in step.why)
    return [*sentences, *(f"{visible(step.why.partition(':')[0])}." for step in steps)]


def _lines(words: str, width: int) -> Text:
    return Text("\n".join(few_lines(words, width, MOST_LINES)))


def few_lines(words: str, width: int, most: int) -> list[str]:
    """Wrap words to at most `max_lines` lines; the last ends with dots if more remain."""
    lines = wrap(words, width)
    return lines if len(lines) <= most else [*lines[: most - 1], clip(" ".join(lines[most - 1 :]), width, UNICODE)]


def flow_height(state: State, room: int) -> int:
    """Return the lines of the flow: half of them, or more if the hole needs it."""
    return max(LEAST_SHARE, room // 2, state.hole[1] + HEAD_AND_NOTE if state.hole else 0)


def flow_text(state: State, width: int, height: int) -> Text:
    """Return the flow at the current step, in at most `height` lines."""
    if state.drawn is None:
        return Text()
    step = None if state.settled or state.opening else state.at
    return flow(
        state.drawn, step, width=width, height=height, chosen=state.chosen or state.hole, holes=hole_texts(state)
    )


def rail_text(state: State, width: int) -> Text:
    """Return the stages with the current step, over the shapes.

    While the request itself is the question, there are no steps and no shapes to show.
    """
    answer, step = state.drawn, None if state.settled else state.at
    if answer is None:
        return Text()
    if not state.opening:
        return stack([rail(answer, step, width=width), strip(answer, step, width=width)])
    question = state.question
    ops = question.texts.get("stages", "").split("|") if question.is_chain else [question.op]
    names = ["input", *(words[0] for op in ops if (words := visible(op).split())), "output"]
    lines = f" {UNICODE.arrow} ".join(names), f"{shape_text(answer.input)} {UNICODE.to} {UNICODE.unknown}"
    return stack([Text(clip(line, width, UNICODE)) for line in lines])


def _pictured(state: State) -> int:
    """Return the step whose picture is drawn: the one of the current hole, if any."""
    if state.hole is not None:
        return state.predictions.cells[state.hole].step
    if state.opening and state.drawn is not None:
        return len(state.drawn.steps)
    return max(0, state.last - 1) if state.settled else state.at


def picture_text(state: State, value: Callable[[tuple[int, ...]], object] | None, width: int, height: int) -> Text:
    """Return the picture of the current step, or the grid of elements.

    In learning mode, the picture has a hole, and the feedback is below it.
    """
    if state.answer is None or state.drawn is None:
        return Text()
    if not state.gridded:
        feedback = told_text(state, width, height - _drawing(state, width, height).plain.count("\n") - 1)
        remaining = height - feedback.plain.count("\n") - 1
        return stack([_drawing(state, width, remaining), feedback]) if feedback else _drawing(state, width, height)
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
    """Return the picture of a step, or of a mistake next to the right answer.

    Large figures that do not fit are replaced by the flow.
    """
    if (comparison := beside_text(state, width, height)) or state.drawn is None:
        return comparison
    step, holes = _pictured(state), hole_texts(state)
    if not state.big:
        return picture(state.drawn, step, width=width, height=height, holes=holes)
    large = big(state.drawn, step, width=width, height=height, holes=holes, chosen=state.chosen or state.hole)
    return large or flow_text(state, width, height)


def hole_texts(state: State) -> dict[Hole, str]:
    """Return the text of each hole: the entry, with a cross if it is wrong.

    A hole that cannot be filled yet is a line.

    >>> from shapecalc.tui.question import question_of
    >>> state = State(question_of(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"]), 0, learns=True)
    >>> state.type("y")
    >>> state.type("2")
    >>> hole_texts(state)
    {(1, 0): '[✗2  ]', (1, 1): '[    ]', (2, 0): '_', (2, 1): '_'}
    """
    if state.opening and state.drawn is not None:
        return dict.fromkeys(unsettled(state.drawn, len(state.drawn.steps)), UNICODE.hole)
    predictions, askable, texts = state.predictions, {*state.askable, state.hole}, {}
    for hole in state.holes:
        typed = visible(predictions.texts.get(hole, ""))[-WIDEST_TEXT:]
        mark = WRONG if predictions.is_wrong(hole) else " "
        texts[hole] = f"[{mark}{typed.ljust(3)}]" if hole in askable or typed else UNICODE.hole
    return texts


def sentence_of(mistake: Mistake) -> str:
    """Return the sentence that names a mistake, and the request it would be right for."""
    return f"{mistake.said[0].upper()}{visible(mistake.said[1:])}."


def hidden_text(state: State) -> str:
    """Return the text that replaces a hidden answer; empty if the answer is shown."""
    return HIDDEN if state.hides else ""


def told_text(state: State, width: int, height: int) -> Text:
    """Return the feedback to the last entry: its error, the mistake, the last hint.

    If `height` is small, only the first line of a table is returned.
    """
    predictions, hole, lines = state.predictions, state.hole, list[Text]()
    if state.opening or not state.learns:
        return Text()
    works = not (state.answer and state.answer.problem)
    first = min((cell.step for cell in predictions.asked.values()), default=state.last)
    if predictions.said is (not works) and not predictions.texts and (state.passed <= first or not works):
        lines.append(Text(f"{WRONG} {IT_WORKS if works else IT_FAILS}", "red"))
    if hole is not None and predictions.is_wrong(hole):
        lines.append(Text(f"{WRONG} {_wrong(state, hole)}", "red"))
    if state.mistake is not None:
        lines += [Text(line, "red") for line in wrap(sentence_of(state.mistake), width)]
    hint_count = predictions.given_rungs(hole) if hole is not None and state.asking else 0
    if hole is not None and hint_count and (state.mistake is None or predictions.rungs.get(hole)):
        helps = _wrapped(predictions.hint(hole).rungs[hint_count - 1], width)
        lines += map(
            Text, helps if hint_count != WHERE or len(helps) + len(lines) <= height else [helps[0].rstrip(":")]
        )
    return stack(lines) if lines else Text()


def beside_text(state: State, width: int, height: int) -> Text:
    """Return the answer that a wrong prediction belongs to, next to the right answer.

    It is empty while the right answer is hidden.
    """
    mistake = None if state.hides or None in state.predictions.predicted else state.mistake
    if mistake is None or state.answer is None:
        return Text()
    try:
        return beside(state.answer, mistake.answer, width=width, height=height)
    except ShapeError:
        return Text()


def _question(state: State) -> str:
    """Return the question of the current hole, numbered among the steps that have one."""
    assert state.hole is not None
    steps = sorted({cell.step for cell in state.predictions.asked.values()})
    number = steps.index(state.predictions.cells[state.hole].step) + 1
    return f"{number} of {len(steps)}: {visible(state.predictions.hint(state.hole).asks)}"


def _wrong(state: State, hole: Hole) -> str:
    """Return why an entry is wrong: the axis that has this size, if there is only one."""
    predictions, entry = state.predictions, visible(state.predictions.texts[hole])
    axis = predictions.taken_for(hole)
    if predictions.dim(hole) is None:
        return f"'{entry}' is not a size"
    return f"{entry} is not it" if axis is None else f"{entry} is dim {axis}"


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a hint; the lines of a table stay."""
    lines = [visible(line) for line in text.split("\n")]
    return lines if len(lines) > 1 else wrap(lines[0], width)
