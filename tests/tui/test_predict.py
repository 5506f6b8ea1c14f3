"""Predictions without an app: the screen does not reveal hidden dims, and typed dims are judged."""

from __future__ import annotations

import re
from functools import partial

import pytest
from rich.text import Text

from shapecalc.core.answers import Chain, StageKind
from shapecalc.core.ops import OPS
from shapecalc.core.record import replace
from shapecalc.core.rules import REFUSALS
from shapecalc.core.text import split_outside_brackets
from shapecalc.render.stage_layout import stage_layouts
from shapecalc.teaching.exercises import DIFFICULTIES, KINDS, generate_exercise
from shapecalc.tui import explore_text
from shapecalc.tui.app import ShapecalcApp, UserFile
from shapecalc.tui.question import Question, question_from_words
from shapecalc.tui.state import ExploreState
from shapecalc.tui.widgets import HINT_KEYS, LEARNING_KEYS
from tests.tui.driven import driven
from tests.tui.tables import table

COPIES = ("reshape", "2,2,3,2", "-1,0,0")
SHORT = ("reshape", "2,3,4", "0,-1")
learning = partial(driven, step=0, learns=True)


def make_state(line, is_valid=True):
    state = ExploreState(question_from_words(split_outside_brackets(line)), 0, is_learning=True)
    if is_valid is not None:
        state.predict_validity(is_valid)
    return state


def type_text(state, text):
    for char in text:
        state.type_char(char)


def screen(state, width=78):
    """Return the texts of the main screen."""
    texts = (
        Text(explore_text.question_title(state.question, state.result, is_learning=True)),
        explore_text.problem_and_fix_text(state, width),
        Text(explore_text.map_title(state)),
        explore_text.map_text(state, width, 7),
        Text(explore_text.step_panel_title(state)),
        explore_text.step_text(state, width, 12),
        *explore_text.answer_lines(state, width),
        *explore_text.reason_lines(state, width),
    )
    return "\n".join(text.plain for text in texts)


MODES = [
    ((), "", False),
    ((), "learn", True),
    (("reshape", "2,3", "-1"), "", False),
    (("reshape", "2,3", "-1"), "learn", True),
]


@pytest.mark.parametrize(("words", "stored_mode", "is_learning"), MODES)
def test_predict_mode_default_is_the_stored_mode(words, stored_mode, is_learning):
    assert len((*HINT_KEYS, *LEARNING_KEYS)) <= 10
    if stored_mode:
        UserFile().store_mode(stored_mode)
    for _ in range(2):
        assert ShapecalcApp(question_from_words(words), 0).explore.state.is_learning == is_learning
    assert not ShapecalcApp(question_from_words(words), None).explore.state.is_learning, (
        "nothing is hidden past the last step"
    )


@pytest.mark.parametrize(("works", "refused"), table("alike"))
@pytest.mark.parametrize("width", [58, 78, 118])
def test_predict_hides_whether_a_request_is_refused(works, refused, width):
    screens = []
    for line in (works, refused):
        state, words = make_state(line, None), {*re.findall(r"[\w,-]+", works + " " + refused)}
        assert state.must_predict_validity
        numbers = {*re.findall(r"\d+", " ".join(words))}
        screens.append(re.sub(r"-?\b(" + "|".join(numbers) + r")\b| +|─+|█+", " ", screen(state, width)).split())
        assert not {"refused", "stopped", "✗", "F6"} & {*re.findall(r"\w+|✗", screen(state, width))}
    assert screens[0] == screens[1]


@pytest.mark.parametrize(("line", "drawn"), table("opening"))
def test_predict_shows_all_stages_over_the_first_picture(line, drawn):
    assert drawn in screen(make_state(line, None))


@pytest.mark.parametrize(("line", "keys", "wrong", "counted"), table("judged"))
def test_predict_prefix_of_a_right_answer_is_not_wrong(line, keys, wrong, counted):
    state, (text, *enter) = make_state(line), keys.split()
    type_text(state, str(state.predictions.cells[state.current_blank].dim))
    state.submit_prediction()
    type_text(state, text)
    if enter:
        state.submit_prediction()
    assert state.predictions.is_wrong((1, 1)) == (wrong == "yes")
    assert state.score.answered == 2 + (counted == "yes")


@learning(*COPIES)
async def test_predict_leaves_few_blank_lines(user):
    for line in ("reshape 2,3,4 0,-1", "reshape 2,2,3,2 -1,0,0", "transpose 2,3,4 1,2,0", "flatten 2,3,4"):
        await user.ask(line)
        for keys in ((), "y"):
            await user.press(*keys)
            assert sum(not text.strip() for text in user.lines) <= 8, user.text


@learning(*COPIES)
async def test_predict_escapes_what_is_typed_into_a_blank(user):
    await user.press("y")
    for text in ("x!", "\x1b", "[bold]", "漢", "9" * 100, "N*", "-1", "1,2"):
        await user.hurry(*text)
        assert not {*"\x1b\x00\x07"} & {*user.text}
        assert all(len(line) <= 80 for line in user.lines)
        assert user.title.count("answer hidden")


@pytest.mark.parametrize(("line", "size"), table("primes"))
def test_predict_screen_hides_the_requested_size(line, size):
    state, steps = make_state(line, None), 0
    while state.is_answer_hidden:
        assert size not in re.findall(r"\d+", screen(state)), screen(state)
        state.advance(1)
        steps += 1
    assert steps > 1
    assert size in screen(state)


def different_size(dim):
    """Return a size that differs from a dim."""
    return 10_007 if dim is None else dim + 10_007


def alter_hidden_dims(answer, hidden):
    """Return an answer with different sizes of its hidden dims, which are pairs of column and index."""
    column, traces = 0, []
    for trace in answer.traces:
        stages = []
        for stage in trace.stages:
            column += 1
            outs = {index for hidden_column, index in hidden if hidden_column == column}
            steps = tuple(
                replace(step, value=different_size(step.value))
                if step.out in outs and isinstance(step.value, int)
                else step
                for step in stage.steps
            )
            after = tuple(different_size(dim) if index in outs else dim for index, dim in enumerate(stage.after))
            stages.append(replace(stage, steps=steps, after=after))
        traces.append(replace(trace, stages=tuple(stages), output=stages[-1].after, conditions=()))
    return Chain(tuple(traces)) if isinstance(answer, Chain) else traces[0]


def words_of(text):
    """Return the words of a text, without lines."""
    return re.sub(r"[\s─┄]+", " ", text).split()


SKIPPED_KINDS = (
    "literal stretched new-dims both-ways kept-by-minus-one transposed-weight differing too-large-windows with-names"
)
"""The kinds of exercises whose sizes are in the request, or are names."""
CHECKED_KINDS = [
    kind for kind in KINDS.values() if kind.rule not in REFUSALS and kind.name not in SKIPPED_KINDS.split()
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", CHECKED_KINDS, ids=[kind.name for kind in CHECKED_KINDS])
def test_predict_screen_hides_the_requested_number(kind):
    """Different sizes of hidden dims do not change the screen, and the requested size is not in it."""
    checked = 0
    for level in range(1, len(DIFFICULTIES) + 1):
        exercise = generate_exercise(kind, level, f"asks/{level}")
        state = make_state(exercise.task.question)
        while state.is_answer_hidden:
            blank, before = state.current_blank, screen(state)
            if blank is not None and state.is_awaiting_input:
                checked += 1
                stage = stage_layouts(state.answer)[blank[0] - 1].stage
                dim = state.predictions.cells[blank].dim
                assert (
                    stage.kind is StageKind.PERMUTE
                    or blank[1] >= len(stage.requested)
                    or stage.requested[blank[1]] != dim
                )
                original, state.answer = state.answer, alter_hidden_dims(state.answer, state.blanks)
                state.predictions._layouts, layouts = stage_layouts(state.answer), state.predictions._layouts
                assert words_of(screen(state)) == words_of(before), (exercise.task.question, blank)
                state.answer, state.predictions._layouts = original, layouts
            state.advance(1)
    assert checked


def test_predict_unknown_wrong_size_is_only_wrong():
    state = make_state("transpose 2,3,4 1,2,0")
    type_text(state, "9")
    assert state.mistake is None
    assert state.predictions.is_wrong((1, 0))


def test_predict_names_the_mistake_for_empty_tensors():
    state = make_state("reshape 3,0 0,0")
    type_text(state, "0")
    state.toggle_highlight((1, 1))
    type_text(state, "7")
    assert state.mistake is None or state.mistake.kind


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", OPS)
def test_predict_works_for_every_example(op):
    for shape, arguments in OPS[op].vectors:
        question = Question(op, {"input": shape} | {name: str(value) for name, value in arguments.items()})
        state = ExploreState(question, 0, is_learning=True)
        for _ in range(100):
            assert all(len(line) <= 78 for line in screen(state).split("\n"))
            if state.must_predict_validity:
                state.type_char("n" if state.result.problem else "y")
            if state.is_awaiting_input:
                type_text(state, str(state.predictions.cells[state.current_blank].dim))
                assert state.predictions.is_right(state.current_blank)
            if state.current_step >= state.end_step:
                break
            state.submit_prediction()
        assert state.blanks == ()
        assert 0 < state.score.right == state.score.answered


def test_predict_works_for_many_dims():
    ones = ",".join(["1"] * 2000)
    state = make_state(f"squeeze {ones},7")
    assert state.is_answer_hidden
    type_text(state, "6")
    assert (state.is_awaiting_input, state.mistake) == (True, None)
