"""Render the title, status, problem and drawings of the main screen.

A hole is a dim that the user must predict. An entry is the text that the user has typed into a hole. The flow diagram
has one column of dims per stage of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dims import dim_names, product
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, error_reason
from shapecalc.core.text import element_count_text, escape_unprintable, shape_text
from shapecalc.reasoning.mistakes import Mistake
from shapecalc.render.big import draw_large_stage
from shapecalc.render.canvas import UNICODE, clip, stack_texts
from shapecalc.render.flow import draw_flow, draw_rail, draw_strip
from shapecalc.render.grid import draw_grid, draw_mistake_grids
from shapecalc.render.hints import display_name
from shapecalc.render.pictures import draw_picture
from shapecalc.render.stage_layout import unresolved_dims
from shapecalc.render.story import operator_text
from shapecalc.tui.question import Question, QuestionResult
from shapecalc.tui.state import ExploreState, Hole

WORKS_QUESTION = "Does this work?"
VALIDITY_HELP = "y for yes, n for no; PgDn shows it. ^G asks nothing and shows everything."
HOLE_HELP = "Type the size for the lit hole; enter gives a hint, PgDn shows it."
NEXT_HINT = "PgDn goes on."
CHOOSE_HINT = f"{NEXT_HINT} The arrow keys choose a hole to type into."
CORRECT_FEEDBACK = "That is right."
WRONG_REFUSAL_FEEDBACK, WRONG_VALIDITY_FEEDBACK = "no: it works", "no: it is refused"
MAX_ENTRY_LENGTH = 12
"""The maximum number of characters of an entry that the flow diagram displays."""
WRONG_SYMBOL = UNICODE.fail
HIDDEN_ANSWER = "answer hidden"
HIDDEN_ANSWER_WARNING = "this would show the answer, which is hidden: ^G reveals it"
MAX_LINES = 2
"""The maximum height, in lines, of the status and of a problem's message."""
MIN_NAME_WIDTH = 8
"""The minimum width of the operator name in the title, in cells."""
LINES_ABOVE_HOLE = 3
"""The number of lines above a hole, for heading, first axis and count of omitted axes."""
TABLE_HINT_NUMBER = 2
"""The number of the hint that is a table, among the hints on a hole, counted from 1."""
MIN_FLOW_LINES = 4
"""The minimum height of the flow diagram, in lines."""
CARET = "▲"
FOLLOW_HELP = "The arrow keys follow another element; it is marked at every stage."
TRANSPOSE_SENTENCE, RESHAPE_SENTENCE = "Transpose moves axes.", "Reshape only moves the cuts."
STAGE_SENTENCES = {
    StageKind.PERMUTE: (TRANSPOSE_SENTENCE, RESHAPE_SENTENCE),
    StageKind.RESHAPE: (TRANSPOSE_SENTENCE, RESHAPE_SENTENCE),
    StageKind.MERGE: (RESHAPE_SENTENCE,),
}
"""The sentences on the difference between transposes and reshapes, keyed by stage kind."""


def title_text(question: Question, result: QuestionResult, width: int, placeholder: str = "", score: str = "") -> Text:
    """Format the title: the operator, the element count, the score and the answer.

    In a narrow terminal, the title is only the answer. A non-empty `placeholder` replaces the answer.
    """
    answer = result.answer
    if answer is None:
        left, texts = question.op, ["..." if result.is_incomplete else "cannot be read"]
    else:
        left = answer.op if isinstance(answer, Chain) else operator_text(answer)
        count = element_count_text((), product(answer.input))
        texts = [
            *filter(None, (count, score)),
            clip(escape_unprintable(placeholder or _answer_text(answer)), width, UNICODE),
        ]
    left = clip(left, max(0, width - len(texts[-1]) - 2), UNICODE) if width - len(texts[-1]) > MIN_NAME_WIDTH else ""
    while len(texts) > 1 and len(left) + 2 + len("   ".join(texts)) > width:
        del texts[0]
    right = "   ".join(texts)
    line = Text(no_wrap=True, end="").append(left.ljust(width - len(right)), "bold")
    refused = answer is None or (answer.output is None and not placeholder)
    return line.append(right, "bold" if not refused else "bold red" if not result.is_incomplete else "bold dim")


def _answer_text(answer: Trace | Chain) -> str:
    if answer.output is None:
        return f"refused: {answer.problem.rule}" if answer.problem else "refused"
    return f"answer {shape_text(answer.output)}"


def problem_line_text(problem: Problem, left: int, length: int, width: int) -> Text:
    """Draw `length` carets at column `left`, with the message beside or below."""
    words = escape_unprintable(problem.message)
    left = max(0, min(left, width - 1))
    carets = CARET * min(max(1, length), width - left) if length else ""
    if left + len(carets) + 1 + len(words) <= width:
        return Text(" " * left).append(carets, "bold red").append(f" {words}", "red")
    text = Text(" " * left).append(carets, "bold red") if carets else Text()
    for line in wrap(words, width)[:MAX_LINES]:
        text.append(f"\n{line}" if text else line, "red")
    return text


def problem_text(problem: Problem) -> Text:
    """Format a problem: its message, and its hint on the next line."""
    text = Text(escape_unprintable(problem.message), "red")
    return text.append(f"\n{escape_unprintable(problem.hint)}" if problem.hint else "", "default")


def status_text(state: ExploreState, width: int) -> Text:
    """Format the status: help with a problem, a prompt, a step, or the conditions."""
    answer, problem = state.answer, state.result.problem
    if (
        problem is not None
        and not state.result.is_incomplete
        and not (state.asks_validity and state.result.answer is not None)
    ):
        return _help_text(state, problem, width)
    if answer is None:
        return Text()
    if state.shows_grid:
        return _wrap_text(
            mistake_sentence(state.same_shape_mistake)
            if state.shows_mistake and state.same_shape_mistake
            else FOLLOW_HELP,
            width,
        )
    if state.asks_validity or state.is_awaiting_input:
        question, how = (WORKS_QUESTION, VALIDITY_HELP) if state.asks_validity else (_hole_question(state), HOLE_HELP)
        return stack_texts([Text(clip(question, width, UNICODE), "bold"), Text(clip(how, width, UNICODE))])
    if state.is_complete:
        provisos = _condition_sentences(answer) + (
            [f"F6: {state.fix.description}."] if state.fix and problem is None else []
        )
        return Text("\n".join([*wrap(" ".join(provisos), width), _stage_summary(answer, width)][:MAX_LINES]))
    if state.current_step >= state.end_step:
        return Text()
    step = answer.steps[state.current_step]
    out_of_turn = _step_to_draw(state) != state.current_step
    text = _wrap_text(CORRECT_FEEDBACK if out_of_turn else f"{escape_unprintable(step.why)}  [{step.rule}]", width)
    onward = CHOOSE_HINT if state.open_holes else NEXT_HINT if state.is_learning else ""
    return text.append(f"\n{clip(onward, width, UNICODE)}") if onward and "\n" not in text else text


def _stage_summary(answer: Trace | Chain, width: int) -> str:
    """Summarize the effect of each stage of an answer in one line.

    >>> import shapecalc as sc
    >>> _stage_summary(sc.chain("2,1,3", "squeeze", "expand 4,2,3"), 78)
    'Squeeze drops dims of 1. Expand repeats dims of 1.'
    """
    sentences = (
        STAGE_SENTENCES.get(stage.kind, (f"{stage.label.capitalize()} {stage.kind.value}.",)) for stage in answer.stages
    )
    return clip(" ".join(dict.fromkeys(chain.from_iterable(sentences))), width, UNICODE)


def _help_text(state: ExploreState, problem: Problem, width: int) -> Text:
    """Format the fix of a problem, its hint, or the command that explains its rule."""
    help_ = f"F6: {state.fix.description}" if state.fix else escape_unprintable(problem.hint)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    if not state.shows_big_step:
        return _wrap_text(help_ or why, width)
    return Text(clip(escape_unprintable(problem.message), width, UNICODE), "red").append(
        f"\n{clip(help_ or why, width, UNICODE)}"
    )


def _condition_sentences(answer: Trace | Chain) -> list[str]:
    """Return sentences on caveats, conditions, assumptions and new names."""
    sentences = [f"{escape_unprintable(note)}." for note in answer.notes]
    sentences += [f"{limit}." for limit in answer.caveats[: len({*answer.omitted_switches})]]
    if answer.conditions:
        sentences.append(f"Holds when {' and '.join(condition.phrase for condition in answer.conditions)}.")
    if answer.assumes:
        sentences.append(f"Assumes that {' and '.join(map(display_name, answer.assumes))} is not 0.")
    new_names = {*dim_names(answer.output or ())} - {*dim_names(answer.input)}
    steps = (step for step in answer.steps if str(step.value) in new_names and f"= {step.value}" in step.why)
    return [*sentences, *(f"{escape_unprintable(step.why.partition(':')[0])}." for step in steps)]


def _wrap_text(text: str, width: int) -> Text:
    return Text("\n".join(wrap_lines(text, width, MAX_LINES)))


def wrap_lines(text: str, width: int, max_lines: int) -> list[str]:
    """Wrap a string to at most `max_lines` lines; an ellipsis marks truncation."""
    lines = wrap(text, width)
    return (
        lines
        if len(lines) <= max_lines
        else [*lines[: max_lines - 1], clip(" ".join(lines[max_lines - 1 :]), width, UNICODE)]
    )


def flow_height(state: ExploreState, height: int) -> int:
    """Return the height of the flow diagram, in lines.

    The height is half of the available `height`, or more if that is necessary to display the current hole.
    """
    return max(MIN_FLOW_LINES, height // 2, state.current_hole[1] + LINES_ABOVE_HOLE if state.current_hole else 0)


def flow_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw the flow diagram at the current step, in at most `height` lines."""
    if state.visible_answer is None:
        return Text()
    step = None if state.is_complete or state.asks_validity else state.current_step
    return draw_flow(
        state.visible_answer,
        step,
        width=width,
        height=height,
        selected_dim=state.highlighted or state.current_hole,
        holes=hole_texts(state),
    )


def step_line_text(state: ExploreState, width: int) -> Text:
    """Draw a line of stages and steps, and below it a line of shapes.

    The current step is marked. While the user predicts whether the request is valid, draw only the names of the ops and
    the input shape.
    """
    answer, step = state.visible_answer, None if state.is_complete else state.current_step
    if answer is None:
        return Text()
    if not state.asks_validity:
        return stack_texts([draw_rail(answer, step, width=width), draw_strip(answer, step, width=width)])
    question = state.question
    ops = question.texts.get("stages", "").split("|") if question.is_chain else [question.op]
    names = ["input", *(words[0] for op in ops if (words := escape_unprintable(op).split())), "output"]
    lines = f" {UNICODE.pointer} ".join(names), f"{shape_text(answer.input)} {UNICODE.maps_to} {UNICODE.unknown}"
    return stack_texts([Text(clip(line, width, UNICODE)) for line in lines])


def _step_to_draw(state: ExploreState) -> int:
    """Return the step that determines the current hole, or the current step."""
    if state.current_hole is not None:
        return state.predictions.cells[state.current_hole].step_index
    if state.asks_validity and state.visible_answer is not None:
        return len(state.visible_answer.steps)
    return max(0, state.end_step - 1) if state.is_complete else state.current_step


def picture_text(
    state: ExploreState, read_element: Callable[[tuple[int, ...]], object] | None, width: int, height: int
) -> Text:
    """Draw the current step with feedback on the prediction, or the elements.

    `read_element` returns the value of the input element at an index; without it, elements are drawn as numbers.
    """
    if state.answer is None or state.visible_answer is None:
        return Text()
    if not state.shows_grid:
        feedback = feedback_text(state, width, height - _draw_step(state, width, height).plain.count("\n") - 1)
        remaining = height - feedback.plain.count("\n") - 1
        return (
            stack_texts([_draw_step(state, width, remaining), feedback])
            if feedback
            else _draw_step(state, width, height)
        )
    try:
        if state.shows_mistake and state.same_shape_mistake:
            return draw_mistake_grids(state.answer, state.same_shape_mistake.answer, width=width, height=height)
        return draw_grid(state.answer, state.cursor, width=width, height=height, value=read_element)
    except ShapeError as error:
        text = error.problem.message
    except (OSError, IndexError) as error:
        text = f"the file cannot be read any more: {error_reason(error)}"
    return Text(escape_unprintable(text), "dim")


def _draw_step(state: ExploreState, width: int, height: int) -> Text:
    """Draw a step, or the answer beside the result of the user's mistake.

    If the enlarged drawing of a step does not fit, the flow diagram is drawn instead.
    """
    if (comparison := comparison_text(state, width, height)) or state.visible_answer is None:
        return comparison
    step, holes = _step_to_draw(state), hole_texts(state)
    if not state.shows_big_step:
        return draw_picture(state.visible_answer, step, width=width, height=height, holes=holes)
    large = draw_large_stage(
        state.visible_answer,
        step,
        width=width,
        height=height,
        holes=holes,
        selected_dim=state.highlighted or state.current_hole,
    )
    return large or flow_text(state, width, height)


def hole_texts(state: ExploreState) -> dict[Hole, str]:
    """Format each hole: its entry, with a cross if the entry is wrong.

    A hole into which the user cannot type yet is an underscore.

    >>> from shapecalc.tui.question import question_from_words
    >>> question = question_from_words(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"])
    >>> state = ExploreState(question, 0, is_learning=True)
    >>> state.type_char("y")
    >>> state.type_char("2")
    >>> hole_texts(state)
    {(1, 0): '[✗2  ]', (1, 1): '[    ]', (2, 0): '_', (2, 1): '_'}
    """
    if state.asks_validity and state.visible_answer is not None:
        return dict.fromkeys(unresolved_dims(state.visible_answer, len(state.visible_answer.steps)), UNICODE.hole)
    predictions, askable, texts = state.predictions, {*state.open_holes, state.current_hole}, {}
    for hole in state.holes:
        typed = escape_unprintable(predictions.texts.get(hole, ""))[-MAX_ENTRY_LENGTH:]
        mark = WRONG_SYMBOL if predictions.is_wrong(hole) else " "
        texts[hole] = f"[{mark}{typed.ljust(3)}]" if hole in askable or typed else UNICODE.hole
    return texts


def mistake_sentence(mistake: Mistake) -> str:
    """Format the description of a mistake as a sentence."""
    return f"{mistake.sentence[0].upper()}{escape_unprintable(mistake.sentence[1:])}."


def hidden_answer_text(state: ExploreState) -> str:
    """Return the placeholder for a hidden answer; empty if the answer is visible."""
    return HIDDEN_ANSWER if state.hides_answer else ""


def feedback_text(state: ExploreState, width: int, height: int) -> Text:
    """Format the feedback on the last prediction: the error, the mistake, and a hint.

    If a hint that is a table exceeds `height`, only its first line is included.
    """
    predictions, hole, lines = state.predictions, state.current_hole, list[Text]()
    if state.asks_validity or not state.is_learning:
        return Text()
    works = not (state.answer and state.answer.problem)
    first = min((cell.step_index for cell in predictions.holes_to_predict.values()), default=state.end_step)
    if predictions.is_valid is (not works) and not predictions.texts and (state.shown_step_count <= first or not works):
        lines.append(Text(f"{WRONG_SYMBOL} {WRONG_REFUSAL_FEEDBACK if works else WRONG_VALIDITY_FEEDBACK}", "red"))
    if hole is not None and predictions.is_wrong(hole):
        lines.append(Text(f"{WRONG_SYMBOL} {_entry_error(state, hole)}", "red"))
    if state.mistake is not None:
        lines += [Text(line, "red") for line in wrap(mistake_sentence(state.mistake), width)]
    hint_count = predictions.hint_count(hole) if hole is not None and state.is_awaiting_input else 0
    if hole is not None and hint_count and (state.mistake is None or predictions.requested_hints.get(hole)):
        helps = _wrap_hint(predictions.hint(hole).levels[hint_count - 1], width)
        lines += map(
            Text,
            helps if hint_count != TABLE_HINT_NUMBER or len(helps) + len(lines) <= height else [helps[0].rstrip(":")],
        )
    return stack_texts(lines) if lines else Text()


def comparison_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw the right answer beside the answer that results from the user's mistake.

    The text is empty if the right answer is hidden, or if the prediction matches no common mistake.
    """
    mistake = None if state.hides_answer or None in state.predictions.predicted_output else state.mistake
    if mistake is None or state.answer is None:
        return Text()
    try:
        return draw_mistake_grids(state.answer, mistake.answer, width=width, height=height)
    except ShapeError:
        return Text()


def _hole_question(state: ExploreState) -> str:
    """Format the question about the current hole, with the number of the question."""
    assert state.current_hole is not None
    steps = sorted({cell.step_index for cell in state.predictions.holes_to_predict.values()})
    number = steps.index(state.predictions.cells[state.current_hole].step_index) + 1
    return f"{number} of {len(steps)}: {escape_unprintable(state.predictions.hint(state.current_hole).question)}"


def _entry_error(state: ExploreState, hole: Hole) -> str:
    """Format the error message for the entry in a hole.

    If exactly one input axis has the size in the entry, the message names this axis.
    """
    predictions, entry = state.predictions, escape_unprintable(state.predictions.texts[hole])
    axis = predictions.confused_axis(hole)
    if predictions.typed_dim(hole) is None:
        return f"'{entry}' is not a size"
    return f"{entry} is not it" if axis is None else f"{entry} is dim {axis}"


def _wrap_hint(text: str, width: int) -> list[str]:
    """Wrap a hint to lines; a table has several lines already and is not wrapped."""
    lines = [escape_unprintable(line) for line in text.split("\n")]
    return lines if len(lines) > 1 else wrap(lines[0], width)
