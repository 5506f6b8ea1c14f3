"""Text for the panels of the main screen.

The panels show the answer or the problem, the map, the step and the elements. The map is a flow diagram with a column
of dims for each stage of the answer. A blank is a dim to predict, and an entry is the text that the user has typed into
a blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any, Literal

from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dims import dim_names, product
from shapecalc.core.ops import OPS
from shapecalc.core.problem import FILE, USAGE, Problem, ShapeError, error_reason
from shapecalc.core.rules import INDIVISIBLE
from shapecalc.core.text import element_count_text, escape_unprintable, format_count, shape_text
from shapecalc.reasoning.mistakes import Mistake
from shapecalc.render.canvas import DOTTED, UNICODE, clip_text, stack_texts, wrap_line
from shapecalc.render.flow import draw_flow
from shapecalc.render.grid import build_tensor_path, draw_grid, draw_mistake_grids, first_table_index
from shapecalc.render.hints import display_name, sizes_text
from shapecalc.render.pictures import has_own_picture, make_element_budget, most_informative_step
from shapecalc.render.report import operator_text
from shapecalc.render.stage_layout import StageLayout, is_window_step, layout_index, stage_layouts, unresolved_dims
from shapecalc.render.step import (
    ARROW,
    dim_reason_lines,
    draw_inverse_reading,
    draw_permutation,
    draw_step,
    format_spaced_shape,
    reason_title,
    step_title,
)
from shapecalc.render.styles import BOLD_ERROR, ERROR_COLOUR
from shapecalc.render.tape import (
    draw_join_tapes,
    draw_tapes,
    draw_uneven_rows,
    element_equation,
    tape_path,
    tensor_index_before,
)
from shapecalc.tui.question import DialectRow, Question, QuestionResult, question_command
from shapecalc.tui.side import steps_text
from shapecalc.tui.state import Blank, ExploreState

WORKS_QUESTION = "Will it run?"
VALIDITY_HELP = "y / n   (PgDn shows it, ^G stops asking)"
BLANK_HELP = "Type the size; enter gives a hint, PgDn shows it."
REFUSED = "refused: "
NEXT_HINT = "PgDn goes on."
CHOOSE_HINT = f"{NEXT_HINT} The arrow keys choose a blank to type into."
CORRECT_FEEDBACK = "That is right."
WRONG_REFUSAL_FEEDBACK, WRONG_VALIDITY_FEEDBACK = "no: it works", "no: it is refused"
INPUT_HELP = "the sizes of the tensor, such as 2,3,4"
STAGES_HELP = "operations with a | between them, such as transpose 1,0,2 | reshape 0,-1"
CHAIN_EXAMPLES = ("2,3,4 | transpose 1,0,2 | reshape 0,-1", "B,T,768 | reshape 0,0,12,64 | transpose 0,2,1,3")
"""The examples of chains beside an empty chain."""
MIN_HELP_WIDTH = 20
"""The minimum width of the description of a field, in cells."""
MAX_ENTRY_LENGTH = 12
"""The maximum number of characters of an entry in the flow diagram."""
WRONG_SYMBOL = UNICODE.fail
COMPARISON_TITLE, READING_TITLE = "The answer beside yours", "Your reading beside the request"
HIDDEN_ANSWER = "answer hidden"
HIDDEN_ANSWER_WARNING = "this would show the answer, which is hidden: ^G reveals it"
MIN_NAME_WIDTH = 8
"""The minimum width of the operator's name in the title, in cells."""
TABLE_HINT_NUMBER = 2
"""The number of the hint that is a table; the hints on a blank are counted from 1."""
SENTENCE_GAP = 5
"""The number of spaces between the answer and a sentence on the same line."""
CARET = "▲"
PICTURE_WIDTH = 78
"""The width, in cells, for which the most informative step is determined."""
MIN_LISTED_STEPS = 3
"""The minimum number of steps in the list below the drawing of a step."""
MIN_GRID_LINES = 6
"""The minimum height of the tables of elements below the tapes, in lines."""
MAX_DIVISIBLE_COUNT = 100_000
"""The maximum element count whose divisors are listed."""
MAX_DIVISORS = 16
"""The maximum number of divisors that are listed below a refusal."""


def title_text(question: Question, result: QuestionResult, width: int, placeholder: str = "", score: str = "") -> Text:
    """Format the title of the screen.

    The title contains the operator, the element count, the score and the answer; in a narrow terminal, it contains only
    the answer. A non-empty `placeholder` is shown instead of the answer.
    """
    answer = result.answer
    if answer is None:
        left, texts = question.op, ["..." if result.is_incomplete else "cannot be read"]
    else:
        left = answer.op if isinstance(answer, Chain) else operator_text(answer)
        count = element_count_text((), product(answer.input))
        texts = [
            *filter(None, (count, score)),
            clip_text(escape_unprintable(placeholder or _answer_text(answer)), width, UNICODE),
        ]
    left = (
        clip_text(left, max(0, width - len(texts[-1]) - 2), UNICODE) if width - len(texts[-1]) > MIN_NAME_WIDTH else ""
    )
    while len(texts) > 1 and len(left) + 2 + len("   ".join(texts)) > width:
        del texts[0]
    right = "   ".join(texts)
    line = Text(no_wrap=True, end="").append(left.ljust(width - len(right)), "bold")
    refused = answer is None or (answer.output is None and not placeholder)
    return line.append(right, "bold" if not refused else BOLD_ERROR if not result.is_incomplete else "bold dim")


def _answer_text(answer: Trace | Chain) -> str:
    if answer.output is None:
        return f"refused: {answer.problem.rule}" if answer.problem else "refused"
    return f"answer {shape_text(answer.output)}"


def question_title(question: Question, result: QuestionResult, *, is_learning: bool) -> str:
    """Format the title of the question panel.

    The title contains the operator with its version and settings, and the mode.

    >>> from shapecalc.tui.question import question_from_words, resolve_question
    >>> question = question_from_words(["reshape", "2,3,4", "0,-1"])
    >>> question_title(question, resolve_question(question), is_learning=True)
    'Question · onnx Reshape 25 · allowzero off · learn'
    """
    answer = result.answer
    name = question.op if answer is None or isinstance(answer, Chain) else operator_text(answer).replace(", ", " · ")
    if isinstance(answer, Chain):
        dialects = dict.fromkeys(trace.dialect for trace in answer.traces)
        name = f"{', '.join(dialects)} chain".lstrip()
    return " · ".join(["Question", name, *(["learn"] if is_learning else [])])


def problem_and_fix_text(state: ExploreState, width: int, fix_key: str = "f", accent: str = "bold") -> Text:
    """Format the problem of the question with its fix or hint.

    The fix has the style `accent`, and `fix_key` is the key that applies it.
    """
    problem = state.result.problem
    hides = state.must_predict_validity and state.result.answer is not None
    if problem is None or state.result.is_incomplete or hides:
        return Text(end="")
    lines = wrap_line(Text(f"{UNICODE.fail} {escape_unprintable(problem.message)}", ERROR_COLOUR), width)
    fix, divisors = f"{fix_key}  {state.fix.description}" if state.fix else "", divisors_text(state)
    why = "" if problem.rule in (USAGE, FILE) else f"shapecalc why {problem.rule}"
    help_ = fix or escape_unprintable(problem.hint) or why
    if divisors and len(help_) + len(divisors) + 6 <= width:
        help_, divisors = f"{help_}    {divisors}", ""
    for line in filter(None, (help_, divisors)):
        shown = Text(f"  {line}")
        if fix:
            shown.highlight_regex(f"^  {re.escape(fix)}", accent)
        lines += wrap_line(shown, width)
    return stack_texts(lines)


def divisors_text(state: ExploreState) -> str:
    """List the divisors of the element count.

    If the element count is not the reason for a refusal, the text is empty.

    >>> from shapecalc.tui.question import question_from_words
    >>> divisors_text(ExploreState(question_from_words(["reshape", "2,3,4", "5,-1"])))
    'divisors of 24: 1 2 3 4 6 8 12 24'
    """
    problem, answer = state.result.problem, state.result.answer
    if problem is None or answer is None or problem.rule != INDIVISIBLE:
        return ""
    count = product(stage_layouts(answer)[-1].stage.before)
    if not isinstance(count, int) or not 0 < count <= MAX_DIVISIBLE_COUNT:
        return ""
    divisors = [number for number in range(1, count + 1) if count % number == 0]
    return f"divisors of {count}: {' '.join(map(str, divisors))}" if len(divisors) <= MAX_DIVISORS else ""


def problem_text(problem: Problem) -> Text:
    """Format the message of a problem, with its hint on the next line."""
    text = Text(escape_unprintable(problem.message), ERROR_COLOUR)
    return text.append(f"\n{escape_unprintable(problem.hint)}" if problem.hint else "", "default")


def answer_lines(
    state: ExploreState,
    width: int,
    accent: str = "bold",
    card: Sequence[Text] = (),
    *,
    omits_repetition: bool = False,
) -> list[Text]:
    """Return the lines of the answer panel.

    The first line contains the shapes, with the output in the style `accent`. It is followed by the lines of `card`,
    and then by the current question, sentence or conditions. If `omits_repetition` is True, a sentence with which the
    step panel ends is omitted if it does not fit the first line; for a chain, it is always omitted.
    """
    answer, problem = state.answer, state.result.problem
    if state.result.answer is None or answer is None:
        typed = escape_unprintable(state.question.texts.get("input", ""))
        verdict = ("...", "dim") if state.result.is_incomplete else ("cannot be read", BOLD_ERROR)
        return [Text.assemble(f"{clip_text(typed, max(8, width - 20), UNICODE)} {ARROW} ", verdict)]
    # for a single stage, the card contains the sentence
    if card and (state.is_complete or len(stage_layouts(answer)) == 1):
        sentences = _answer_sentences(state) if state.is_complete else []
        return [_format_spaced_answer(answer, accent), *card, *_wrap_sentences(sentences, width)]
    shape = clip_text(escape_unprintable(shape_text(answer.input)), max(8, width // 2 - 4), UNICODE)
    line = Text.assemble(f"{shape} {ARROW} ", _output_text(state, max(8, width - len(shape) - 4), accent))
    if problem is not None and not state.must_predict_validity:
        return [line]
    if state.must_predict_validity or state.is_awaiting_input:
        question, how = (
            (WORKS_QUESTION, VALIDITY_HELP) if state.must_predict_validity else (_blank_question(state), BLANK_HELP)
        )
        return [line, *wrap_line(Text(question, "bold"), width), *wrap_line(Text(how), width)]
    line, sentences = _format_spaced_answer(answer, accent) if card else line, _answer_sentences(state, width)
    repeats = not (state.is_learning or state.is_complete or has_own_picture(answer, state.current_step))
    # the sentence is about the stage, not about the whole answer
    if omits_repetition and repeats and len(stage_layouts(answer)) > 1:
        return [line, *card]
    if len(sentences) == 1 and len(line) + len(sentences[0]) + SENTENCE_GAP <= width:
        return [line.append(" " * SENTENCE_GAP + sentences[0], "default"), *card]
    if omits_repetition and repeats:
        return [line, *card]
    return [line, *card, *_wrap_sentences(sentences, width)]


def _wrap_sentences(sentences: Sequence[str], width: int) -> list[Text]:
    return [part for sentence in sentences for part in wrap_line(Text(sentence), width)]


def _output_text(state: ExploreState, width: int, accent: str) -> tuple[str, str]:
    """Format the output, and return it with its style.

    A hidden dim is an underscore. For a refused request, the text is the name of the violated rule.
    """
    answer = state.answer
    if state.must_predict_validity or answer is None:
        return UNICODE.unknown, accent
    if answer.output is None:
        return f"refused: {answer.problem.rule if answer.problem else ''}", BOLD_ERROR
    hidden = {row for column, row in state.blanks if state.predictions.is_in_output((column, row))}
    if not hidden:
        return clip_text(shape_text(answer.output), width, UNICODE), accent
    dims = (UNICODE.placeholder if row in hidden else str(dim) for row, dim in enumerate(answer.output))
    return clip_text(",".join(dims), width, UNICODE), accent


def _answer_sentences(state: ExploreState, width: int = PICTURE_WIDTH) -> list[str]:
    """Return the sentence of the current step.

    For a chain, it begins with the number of the stage. The key for the next step is added to the sentence or, if it
    does not fit `width`, is a sentence of its own. After the last step, the sentences are the conditions of the answer.
    """
    answer = state.answer
    if answer is None:
        return []
    if state.is_complete:
        fixes = [f"f  {state.fix.description}."] if state.fix and state.result.problem is None else []
        return condition_sentences(answer) + fixes
    if state.current_step >= state.end_step:
        return []
    if _step_of_blank(state) != state.current_step:
        sentence = CORRECT_FEEDBACK
    else:
        all_layouts = stage_layouts(answer)
        stage = f"stage {layout_index(all_layouts, state.current_step) + 1}: " if len(all_layouts) > 1 else ""
        sentence = stage + escape_unprintable(answer.steps[state.current_step].why)
    onward = CHOOSE_HINT if state.open_blanks else NEXT_HINT if state.is_learning else ""
    joined = f"{sentence}  {onward}".rstrip()
    return [joined] if len(joined) <= width else [*filter(None, (sentence, onward))]


def reason_lines(state: ExploreState, width: int) -> list[Text]:
    """Return a line with the reason for each output dim, or [] if some dim is hidden."""
    answer = state.result.answer
    if answer is None or answer.output is None or (state.is_learning and state.blanks) or state.must_predict_validity:
        return []
    indent = len(escape_unprintable(shape_text(answer.input))) + len(ARROW) + 2
    return dim_reason_lines(answer, indent, width, None if state.is_complete else state.current_step)


def _format_spaced_answer(answer: Trace | Chain, accent: str) -> Text:
    """Format an answer, with spaces around the commas of the output."""
    return Text.assemble(
        f"{escape_unprintable(shape_text(answer.input))} {ARROW} ", (format_spaced_shape(answer), accent)
    )


def condition_sentences(answer: Trace | Chain) -> list[str]:
    """Return the caveats, conditions, assumptions and new names as sentences."""
    sentences = [f"{escape_unprintable(note)}." for note in answer.notes]
    sentences += [f"{limit}." for limit in answer.caveats[: len({*answer.omitted_switches})]]
    if answer.conditions:
        sentences.append(f"Holds when {' and '.join(condition.phrase for condition in answer.conditions)}.")
    if answer.assumes:
        verb = "is" if len(answer.assumes) == 1 else "are"
        sentences.append(f"Assumes that {' and '.join(map(display_name, answer.assumes))} {verb} not 0.")
    new_names = {*dim_names(answer.output or ())} - {*dim_names(answer.input)}
    steps = (step for step in answer.steps if str(step.value) in new_names and f"= {step.value}" in step.why)
    return [*sentences, *(f"{escape_unprintable(step.why.partition(':')[0])}." for step in steps)]


def wrap_lines(text: str, width: int, max_lines: int) -> list[str]:
    """Wrap a string to at most `max_lines` lines.

    Text that does not fit is replaced with an ellipsis.
    """
    lines = wrap(text, width)
    return (
        lines
        if len(lines) <= max_lines
        else [*lines[: max_lines - 1], clip_text(" ".join(lines[max_lines - 1 :]), width, UNICODE)]
    )


def permutation_to_fill(state: ExploreState) -> StageLayout | None:
    """Return the stage of an answer that is a permutation with hidden dims, or None.

    The output dims of such an answer are drawn as a list. In a column beside the input dims, each of them would suggest
    that the input dim in its row moves there.
    """
    answer = state.visible_answer
    all_layouts = stage_layouts(answer) if answer is not None and state.is_learning else ()
    if len(all_layouts) != 1 or all_layouts[0].stage.kind is not StageKind.PERMUTE:
        return None
    return all_layouts[0] if all_layouts[0].stage.requested and format_blanks(state) else None


def map_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw the map, with the wires of all steps up to the current one.

    The map has at most `height` lines. Examples replace it if there is no answer yet.
    """
    if state.answer is None:
        return examples_text(state.question, width, height)
    if state.visible_answer is None:
        return Text(end="")
    if (permutation := permutation_to_fill(state)) is not None:
        selected = state.highlighted or state.current_blank
        places = {row: text for (_, row), text in format_blanks(state).items()}
        row = selected[1] if selected and selected[0] == 1 else None
        return draw_permutation(permutation, places, width=width, height=height, column=1, selected=row)
    step = None if state.is_complete or state.must_predict_validity else state.current_step
    return draw_flow(
        state.visible_answer,
        step,
        width=width,
        height=height,
        glyphs=DOTTED,
        selected_dim=state.highlighted or state.current_blank,
        placeholders=format_blanks(state),
        is_map=True,
    )


def map_title(state: ExploreState) -> str:
    """Return the title of the map, which contains the current stage of a chain."""
    if permutation_to_fill(state) is not None:
        return "Fill the places"
    if state.must_predict_validity or state.answer is None or len(all_layouts := stage_layouts(state.answer)) < 2:
        return "Map"
    if state.is_complete:
        return f"Map · {len(all_layouts)} stages"
    number = layout_index(all_layouts, state.current_step) + 1
    return f"Map · stage {number} of {len(all_layouts)} · {all_layouts[number - 1].name}"


def elements_title(state: ExploreState, *, has_tapes: bool = True) -> str:
    """Return the title of the elements panel."""
    if state.shows_grid:
        return "Elements"
    if state.answer is not None and state.answer.problem is not None:
        return "Elements · in rows of the known size"
    if not has_tapes:
        return "Elements · at every stage"
    is_past_end = state.answer is not None and state.current_step >= len(state.answer.steps)
    return f"Elements · before and after {'the last stage' if is_past_end else 'this stage'}"


def step_panel_title(state: ExploreState) -> str:
    """Return the title of the step panel."""
    if state.must_predict_validity or state.answer is None:
        return "Request"
    if title := _comparison_title(state):
        return title
    if not state.is_complete:
        return step_title(state.answer, _step_of_blank(state))
    return reason_title(state.answer, most_informative_step(state.answer, PICTURE_WIDTH))


def _step_of_blank(state: ExploreState) -> int:
    """Return the step that determines the current blank, or else the current step.

    If the user must predict the validity first, this is the position after the last step.
    """
    if state.current_blank is not None:
        return state.predictions.cells[state.current_blank].step_index
    if state.must_predict_validity and state.visible_answer is not None:
        return len(state.visible_answer.steps)
    return state.current_step


def fields_text(question: Question, width: int, height: int) -> Text:
    """Describe the fields of a question that has no answer yet.

    >>> print(fields_text(Question("transpose", {}), 70, 4).plain)
    input  the sizes of the tensor, such as 2,3,4
    perm   entry i is the input axis of output dim i; by default the dims
           are reversed
    """
    if question.is_chain:
        helps = {"input": INPUT_HELP, "stages": STAGES_HELP}
    else:
        params = {param.name: param.help for param in OPS[question.op].params}
        helps = {name: params.get(name, INPUT_HELP) for name in question.fields}
    name_width, lines = max(map(len, helps)) + 2, list[Text]()
    for name, words in helps.items():
        first, *others = wrap(words, max(MIN_HELP_WIDTH, width - name_width))
        lines.append(Text.assemble((name.ljust(name_width), "bold"), first))
        lines += [Text(" " * name_width + line) for line in others]
    return stack_texts(lines[:height])


def examples_text(question: Question, width: int, height: int) -> Text:
    """List examples of requests for a question that has no answer yet.

    >>> print(examples_text(Question("flatten", {}), 40, 2).plain)
    for example
      flatten 2,3,4
    """
    examples = CHAIN_EXAMPLES if question.is_chain else OPS[question.op].examples
    lines = [Text("for example", "dim")]
    lines += [
        Text(line) for text in examples for line in wrap(text, width - 2, initial_indent="  ", subsequent_indent="    ")
    ]
    return stack_texts(lines[:height])


def step_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw the current step, with feedback on the last prediction."""
    if state.answer is None:
        return fields_text(state.question, width, height)
    if state.visible_answer is None:
        return Text(end="")
    drawing = _draw_step(state, width, height)
    feedback = feedback_text(state, width, height - drawing.plain.count("\n") - 1)
    if not feedback:
        return drawing
    return stack_texts([_draw_step(state, width, height - feedback.plain.count("\n") - 1), feedback])


def add_step_list(state: ExploreState, drawing: Text, width: int, height: int) -> Text:
    """Add a list of all steps below the drawing of a step.

    At least `MIN_LISTED_STEPS` of them must fit. If the drawing contains only reasons of steps, the list replaces it.
    """
    answer, free = state.visible_answer, height - drawing.plain.count("\n") - 2
    if state.is_learning:  # the list then contains only the names of later steps, not their reasons
        step = _step_of_blank(state)
        asks = answer is not None and not drawing.plain.strip() and not state.must_predict_validity
        return steps_text(answer, step, width, height, hides_current=True) if asks else drawing
    if answer is None or state.is_complete or free < MIN_LISTED_STEPS or state.result.problem is not None:
        return drawing
    if not has_own_picture(answer, state.current_step):
        return steps_text(answer, state.current_step, width, height)
    return stack_texts([drawing, Text(end=""), steps_text(answer, state.current_step, width, free)])


def elements_text(
    state: ExploreState, read_element: Callable[[tuple[int, ...]], object] | None, width: int, height: int
) -> Text:
    """Draw the elements at every stage, with the selected element marked.

    If a mistake is displayed, its elements are drawn beside those of the answer. `read_element` returns the value of
    the input element at an index; if it is None, the elements are numbered from 0.
    """
    if state.answer is None:
        return Text(end="")
    try:
        if state.shows_mistake and state.same_shape_mistake:
            sentence = wrap_line(Text(mistake_sentence(state.same_shape_mistake)), width)
            mistaken = state.same_shape_mistake.answer
            grids = draw_mistake_grids(state.answer, mistaken, width=width, height=height - len(sentence) - 1)
            return stack_texts([grids, Text(end=""), *sentence])
        notes = element_notes(state, width)
        grid = draw_grid(
            state.answer,
            state.cursor,
            width=width,
            height=height - len(notes),
            value=read_element,
            tinted_axis=state.tinted_axis if state.answer.input else None,
            first=first_visible_tensor(state, width),
            more_keys=("Home earlier", "End later"),
        )
        return stack_texts([grid, *notes])
    except ShapeError as error:
        text = error.problem.message
    except (OSError, IndexError) as error:
        text = f"the file cannot be read any more: {error_reason(error)}"
    return Text(escape_unprintable(text), "dim")


def first_visible_tensor(state: ExploreState, width: int) -> int:
    """Return the index of the first tensor that a drawing of all stages shows.

    In a narrow drawing, the first tensors are omitted.
    """
    if state.answer is None:
        return 0
    first = tensor_index_before(state.answer, None if state.is_complete else state.current_step)
    return first_table_index(len(build_tensor_path(state.answer).tensors), width, first)


def element_notes(state: ExploreState, width: int) -> list[Text]:
    """Return the notes on the selected element, below a blank line.

    The notes are the NumPy equation of the element, and the command line that selects it.
    """
    assert state.answer is not None
    path = build_tensor_path(state.answer)
    cursor = state.cursor or (0,) * len(path.tensors[0].shape)
    command = Text(f"$ {reopening_command(state)}", "dim")
    return [Text(end=""), *wrap_line(Text(element_equation(path, cursor), "bold"), width), *wrap_line(command, width)]


def reopening_command(state: ExploreState) -> str:
    """Return the command line that opens the app in the current state.

    The state consists of the question, the step and the selected element.

    >>> from shapecalc.tui.question import question_from_words
    >>> state = ExploreState(question_from_words(["reshape", "2,3,4", "6,4"]))
    >>> state.cursor = (0, 1, 1)
    >>> reopening_command(state)
    'shapecalc tui --step last --at 0,1,1 reshape 2,3,4 6,4'
    """
    line = question_command(state.question, state.result.answer).removeprefix("shapecalc ")
    step = f"--step {state.current_step + 1}" if state.current_step < state.end_step else "--step last"
    at = f" --at {shape_text(state.cursor)}" if state.cursor else ""
    return escape_unprintable(f"shapecalc tui {step}{at} {line}")


def step_to_draw(state: ExploreState) -> int:
    """Return the index of the step to draw.

    After the last step, this is the most informative step.
    """
    if state.is_complete and state.visible_answer is not None:
        return most_informative_step(state.visible_answer, PICTURE_WIDTH)
    return _step_of_blank(state)


def is_window_picture(state: ExploreState) -> bool:
    """Return whether the step is drawn as windows that move along an axis."""
    answer, step = state.visible_answer, step_to_draw(state)
    if answer is None or step >= len(answer.steps):
        return False
    all_layouts = stage_layouts(answer)
    return is_window_step(all_layouts[layout_index(all_layouts, step)], answer.steps[step])


def _draw_step(state: ExploreState, width: int, height: int) -> Text:
    """Draw a step, or the answer beside the result of the user's mistake."""
    if (comparison := comparison_text(state, width, height)) or state.visible_answer is None:
        return comparison
    if (permutation := permutation_to_fill(state)) is not None:
        return _permutation_hint(state, permutation, width)
    step = step_to_draw(state)
    return draw_step(
        state.visible_answer,
        step,
        width=width,
        height=height,
        placeholders=format_blanks(state),
        is_complete=state.is_complete,
    )


def _permutation_hint(state: ExploreState, layout: StageLayout, width: int) -> Text:
    """Explain how to read a permutation, or draw it beside its inverse.

    The inverse is drawn if the user predicted the output of the inverse permutation.
    """
    if state.mistake is not None and _reads_inverse(state, layout):
        return draw_inverse_reading(layout, width)
    request = shape_text(layout.stage.requested)
    sentence = f"The first number of {request} is the dim that comes to place 0, the second that of place 1."
    return stack_texts(wrap_line(Text(sentence, "dim"), width))


def _reads_inverse(state: ExploreState, layout: StageLayout) -> bool:
    """Return whether the predicted output is that of the inverse permutation."""
    dims = [cell.dim for cell in layout.cells_before]
    inverse = [dims[layout.wires.index((axis,))] for axis in range(len(dims))]
    return [*map(str, state.predictions.predicted_output)] == [*map(str, inverse)]


def format_blanks(state: ExploreState) -> dict[Blank, str]:
    """Format the entry of each blank.

    A wrong entry has a cross. The text of a blank that does not accept input yet is an underscore.

    >>> from shapecalc.tui.question import question_from_words
    >>> question = question_from_words(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"])
    >>> state = ExploreState(question, 0, is_learning=True)
    >>> state.type_char("y")
    >>> state.type_char("2")
    >>> format_blanks(state)
    {(1, 0): '[✗2  ]', (1, 1): '[    ]', (2, 0): '_', (2, 1): '_'}
    """
    if state.must_predict_validity and state.visible_answer is not None:
        return dict.fromkeys(
            unresolved_dims(state.visible_answer, len(state.visible_answer.steps)), UNICODE.placeholder
        )
    predictions, askable, texts = state.predictions, {*state.open_blanks, state.current_blank}, {}
    for blank in state.blanks:
        typed = escape_unprintable(predictions.texts.get(blank, ""))[-MAX_ENTRY_LENGTH:]
        mark = WRONG_SYMBOL if predictions.is_wrong(blank) else " "
        texts[blank] = f"[{mark}{typed.ljust(3)}]" if blank in askable or typed else UNICODE.placeholder
    return texts


def mistake_sentence(mistake: Mistake) -> str:
    """Format the description of a mistake as a sentence."""
    return f"{mistake.sentence[0].upper()}{escape_unprintable(mistake.sentence[1:])}."


def hidden_answer_text(state: ExploreState) -> str:
    """Return the placeholder for a hidden answer, or "" if the answer is visible."""
    return HIDDEN_ANSWER if state.is_answer_hidden else ""


def feedback_text(state: ExploreState, width: int, height: int) -> Text:
    """Format feedback on the last prediction.

    The feedback consists of the error, the common mistake and a hint. Of a hint that is a table, only the first line is
    included if the table does not fit `height`.
    """
    predictions, blank, lines = state.predictions, state.current_blank, list[Text]()
    if state.must_predict_validity or not state.is_learning:
        return Text()
    works = not (state.answer and state.answer.problem)
    first = min((cell.step_index for cell in predictions.blanks_to_predict.values()), default=state.end_step)
    if predictions.is_valid is (not works) and not predictions.texts and (state.shown_step_count <= first or not works):
        lines.append(
            Text(f"{WRONG_SYMBOL} {WRONG_REFUSAL_FEEDBACK if works else WRONG_VALIDITY_FEEDBACK}", ERROR_COLOUR)
        )
    if blank is not None and predictions.is_wrong(blank):
        lines.append(Text(f"{WRONG_SYMBOL} {_entry_error(state, blank)}", ERROR_COLOUR))
    if state.mistake is not None:
        lines += [Text(line, ERROR_COLOUR) for line in wrap(mistake_sentence(state.mistake), width)]
    hint_count = predictions.hint_count(blank) if blank is not None and state.is_awaiting_input else 0
    if blank is not None and hint_count and (state.mistake is None or predictions.requested_hints.get(blank)):
        helps = _wrap_hint(predictions.dim_question(blank).levels[hint_count - 1], width)
        lines += map(
            Text,
            helps if hint_count != TABLE_HINT_NUMBER or len(helps) + len(lines) <= height else [helps[0].rstrip(":")],
        )
    return stack_texts(lines) if lines else Text()


def _comparison_title(state: ExploreState) -> str:
    """Return the title of the step panel while it shows a mistake beside the answer.

    If it does not show a mistake, the title is empty.
    """
    if not state.is_learning or state.mistake is None or state.answer is None:
        return ""
    if not state.is_answer_hidden and None not in state.predictions.predicted_output:
        return COMPARISON_TITLE
    layout = permutation_to_fill(state)
    return READING_TITLE if layout is not None and _reads_inverse(state, layout) else ""


def comparison_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw the correct answer and the result of the user's mistake side by side.

    The text is empty if the correct answer is hidden, or if the prediction is not the result of a common mistake.
    """
    if not state.is_learning or state.answer is None or state.is_answer_hidden:
        return Text()
    mistake = None if None in state.predictions.predicted_output else state.mistake
    if mistake is None:
        return Text()
    try:
        return draw_mistake_grids(state.answer, mistake.answer, width=width, height=height)
    except ShapeError:
        return Text()


def _blank_question(state: ExploreState) -> str:
    """Format the question about the current blank, with its number."""
    assert state.current_blank is not None
    steps = sorted({cell.step_index for cell in state.predictions.blanks_to_predict.values()})
    number = steps.index(state.predictions.cells[state.current_blank].step_index) + 1
    return (
        f"{number} of {len(steps)}: {escape_unprintable(state.predictions.dim_question(state.current_blank).question)}"
    )


def _entry_error(state: ExploreState, blank: Blank) -> str:
    """Format the error message for the entry of a blank.

    If exactly one input axis has the size in the entry, the message names this axis.
    """
    predictions, entry = state.predictions, escape_unprintable(state.predictions.texts[blank])
    axis = predictions.find_confused_axis(blank)
    if predictions.typed_dim(blank) is None:
        return f"'{entry}' is not a size"
    return f"{entry} is not it" if axis is None else f"{entry} is dim {axis}"


def _wrap_hint(text: str, width: int) -> list[str]:
    """Wrap a hint to lines; the lines of a table are not wrapped."""
    lines = [escape_unprintable(line) for line in text.split("\n")]
    return [*wrap(lines[0], width), *lines[1:]]


def is_last_stage_shown(state: ExploreState) -> bool:
    """Return whether the current stage is the last stage of the answer."""
    answer = state.answer
    return state.is_complete or (answer is not None and len(stage_layouts(answer)) == 1)


def tapes_text(state: ExploreState, width: int, height: int = 0, *, is_whole: bool = False) -> Text:
    """Draw the elements before and after the current stage as tapes.

    The text is empty if there are too many elements. If `height` suffices, tables of the elements follow the tapes, for
    the stages up to the current one or, if `is_whole` is True, for all stages.
    """
    answer = state.answer
    path = None if answer is None else tape_path(answer)
    if answer is None or path is None:
        return (draw_join_tapes(answer, width) if answer else None) or Text(end="")
    cursor = state.cursor or (0,) * len(path.tensors[0].shape)
    number = tensor_index_before(answer, None if state.is_complete else state.current_step)
    options: dict[str, Any] = {"tinted_axis": state.tinted_axis, "width": width}
    tapes = draw_tapes(path, number, cursor, **options)
    if height > tapes.plain.count("\n") + 3:
        tapes = draw_tapes(path, number, cursor, is_spaced=True, **options)
    sizes = f"   with {sizes_text(path.sizes)}" if path.sizes else ""
    equation = element_equation(path, cursor, None if state.is_complete else number + 1)
    lines = [tapes, *wrap_line(Text(f"{equation}{sizes}", "dim"), width)]
    free = height - sum(line.plain.count("\n") + 1 for line in lines) - 1
    if free >= MIN_GRID_LINES:
        last = None if state.is_complete or is_whole else number + 1
        grid = draw_grid(answer, cursor, height=free, last=last, with_divisions=False, **options)
        if UNICODE.ellipsis not in grid.plain:
            lines += [Text(end=""), grid]
    return stack_texts(lines)


def uneven_rows_text(state: ExploreState, width: int) -> Text:
    """Draw the elements of a refused reshape in rows of the known size.

    The last row is incomplete, because the known size does not divide the element count.
    """
    problem, answer = state.result.problem, state.result.answer
    if problem is None or answer is None or problem.rule != INDIVISIBLE:
        return Text(end="")
    budget = make_element_budget(stage_layouts(answer)[-1])
    have, known = budget.element_counts if budget else (0, 0)
    if not (isinstance(have, int) and isinstance(known, int) and known > 1):
        return Text(end="")
    return draw_uneven_rows(have, known, width) or Text(end="")


def grid_text(state: ExploreState, width: int, height: int) -> Text:
    """Draw tables of a part of the elements at every stage.

    The NumPy equation of the selected element follows the tables.
    """
    answer = state.answer
    assert answer is not None
    path = build_tensor_path(answer)
    cursor = state.cursor or (0,) * len(path.tensors[0].shape)
    equation = wrap_line(Text(element_equation(path, cursor), "dim"), width)
    first = first_visible_tensor(state, width)
    size: dict[str, Any] = {"width": width, "height": height - len(equation)}
    axis = state.tinted_axis if answer.input else None
    return stack_texts([draw_grid(answer, cursor, tinted_axis=axis, first=first, **size), *equation])


ComparisonForm = Literal["short", "wrapped", "listed"]
"""The form of a comparison: one line per answer, or all dialects of each answer, wrapped or in columns."""


def comparison_lines(rows: Sequence[DialectRow], width: int, form: ComparisonForm = "short") -> list[Text]:
    """Return the lines of each distinct answer.

    The most common answer is first, and refusals are last.
    """
    by_dialect: dict[str, set[str]] = {}
    for row in rows:
        by_dialect.setdefault(row.question.dialect, set()).add(row.answer_text)
    groups: dict[str, list[str]] = {}
    for row in rows:
        setting = row.setting if len(by_dialect[row.question.dialect]) > 1 else ""
        groups.setdefault(row.answer_text, []).append(" ".join(filter(None, (row.question.dialect, setting))))
    lines, cell = list[Text](), max((len(name) for names in groups.values() for name in names), default=0) + 2
    for answer, names in sorted(groups.items(), key=lambda item: (item[0].startswith(REFUSED), -len(item[1]))):
        distinct = [*dict.fromkeys(names)]
        lines += _answer_group(_group_heading(answer, len(distinct), len(names)), distinct, (width, cell), form)
    return lines


def limit_comparison(lines: Sequence[Text], height: int) -> list[Text]:
    """Return the first lines of a comparison with one line per answer.

    If lines are omitted, the last line states their number and the key that shows the whole comparison.
    """
    if len(lines) <= height or height < 2:
        return [*lines[:height]]
    count = len(lines) - height + 1
    return [*lines[: height - 1], Text(f"and {format_count(count, 'more answer', 'more answers')}: c")]


def _group_heading(answer: str, names: int, settings: int) -> str:
    """Return the heading of an answer with the number of its dialects.

    If there are more settings than dialects, their number is included, too.

    >>> _group_heading("refused: indivisible", 14, 19), _group_heading("2,12", 1, 1)
    ('14 refuse (19 settings), indivisible', '1 answers 2,12')
    """
    is_refused = answer.startswith(REFUSED)
    verb = ("refuse" if is_refused else "answer") + "s" * (names == 1)
    counted = f" ({settings} settings)" if settings > names else ""
    return f"{names} {verb}{counted}{',' if is_refused else ''} {escape_unprintable(answer.removeprefix(REFUSED))}"


def _answer_group(head: str, names: Sequence[str], widths: tuple[int, int], form: ComparisonForm) -> list[Text]:
    """Return the lines of an answer with the names of its dialects.

    `widths` are the width of the panel and the width of a column of names.
    """
    width, cell = widths
    if form == "listed":
        per_line = max(1, (width - 2) // cell)
        rows = (names[start : start + per_line] for start in range(0, len(names), per_line))
        return [Text(head, "bold"), *(Text("  " + "".join(name.ljust(cell) for name in row).rstrip()) for row in rows)]
    if form == "wrapped":
        first, *others = wrap_line(Text.assemble((f"{head}: ", "bold"), ", ".join(names)), width - 2)
        return [first, *(Text("  ").append_text(line) for line in others)]
    listed = _list_names(names, width - len(head) - 2)
    return [Text.assemble((clip_text(f"{head}: ", width, UNICODE), "bold"), listed)]


def _list_names(names: Sequence[str], width: int) -> str:
    """Format as many names as fit a width, and the number of other names.

    >>> _list_names(["onnx", "torch", "numpy"], 16)
    'onnx and 2 more'
    """
    for count in range(len(names), 0, -1):
        more = f" and {len(names) - count} more" if count < len(names) else ""
        if len(text := ", ".join(names[:count]) + more) <= width:
            return text
    return ""
