"""The heights of panels: steps of a question seldom change the layout, and no step loses lines for it."""

from __future__ import annotations

import shlex

import pytest
from textual.screen import Screen

from shapecalc.tui.explore import COMPARE_SECONDS, ExploreScreen
from shapecalc.tui.picture_heights import SharedHeights, measure_pictures
from shapecalc.tui.question import question_from_words
from shapecalc.tui.state import ExploreState
from tests.tui.driven import driven
from tests.tui.test_screens import RANK_8

TURNED = f"{RANK_8} --second 7,6,5,4,3,2,1,0"
HEADS = "chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3'"
QUESTIONS = [TURNED, HEADS, "reshape 2,3,4 0,-1", "reshape 4,6 3,8", "conv 1,3,32,32 8,3,3,3", "matmul 2,3,4 4,5"]


@pytest.fixture
def layouts(monkeypatch):
    """The layouts of the main screen."""
    result, refresh = [], Screen._refresh_layout

    def record(self, *args, **options):
        if isinstance(self, ExploreScreen):
            result.append(self)
        return refresh(self, *args, **options)

    monkeypatch.setattr(Screen, "_refresh_layout", record)
    return result


@pytest.mark.parametrize(("size", "most"), [((80, 24), 10), ((200, 60), 0)])
@driven(step=0)
async def test_steps_seldom_change_the_layout(user, layouts, size, most):
    await user.resize(*size)
    for line in (TURNED, "reshape 2,3,4 0,-1"):
        await user.ask(line)
        await user.press("home")
        await user.pilot.pause(COMPARE_SECONDS)  # until the panels that wait for a pause are drawn
        await user.settle()
        layouts.clear()
        await user.press(*["pagedown"] * len(user.state.answer.steps))
        assert len(layouts) <= most, line


@driven(step=0)
async def test_digits_and_the_last_steps_do_not_change_the_layout(user, layouts):
    await user.resize(80, 24)
    await user.ask(TURNED)
    await user.press("end", "pageup", "pagedown")
    layouts.clear()
    await user.press("pageup", "pagedown", "e")
    assert layouts == []
    await user.press("0", "backspace")
    assert layouts == []


@pytest.mark.parametrize(("width", "height"), [(78, 18), (118, 34), (58, 12)])
@pytest.mark.parametrize("line", QUESTIONS)
def test_settled_heights_are_those_of_the_largest_step(line, width, height):
    state, store = ExploreState(question_from_words(shlex.split(line))), SharedHeights()
    own_heights = []
    for step in range(state.end_step + 1):
        state.go_to_step(step)
        settled, own = store.find(state, width, height)
        lines = max(5, height - own.answer)
        measured = measure_pictures(state, width, lines)
        assert (own.map, own.step, own.is_beside) == (measured.map, measured.step, measured.is_beside)
        own_heights.append(own)
    if settled.is_beside:
        assert settled.map == max(own.map for own in own_heights)
        assert settled.step == max(own.step for own in own_heights)
    assert settled.is_beside == all(own.is_beside for own in own_heights)


def test_heights_of_a_typed_size_are_kept_until_the_next_step():
    store = SharedHeights()
    short, long = (ExploreState(question_from_words(["reshape", f"2,{size},4", "0,-1"]), 0) for size in (3, 30000))
    kept = store.find(short, 78, 18)
    assert store.find(long, 78, 18) == kept
    assert store.find(long, 78, 18) == SharedHeights().find(long, 78, 18)
    state = ExploreState(question_from_words(["reshape", "2,3,4", "5,-1"]))
    assert store.find(state, 78, 18) is None, "a refusal has one picture"
