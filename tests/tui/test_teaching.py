"""Lessons in the app: the question is visible at all sizes, and keys keep their meaning."""

from __future__ import annotations

import pytest

from shapecalc.teaching.lessons import load_lessons
from shapecalc.tui.lessons import DrillScreen, LessonsScreen
from shapecalc.tui.widgets import GLOBAL_KEYS, KEYS
from tests.tui.driven import driven

LONGEST_FIRST = sorted(
    range(len(load_lessons())), key=lambda index: -len(load_lessons()[index].text + load_lessons()[index].question)
)
SIZES = [(200, 60), (80, 24), (60, 18), (40, 12)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "indices",
    [
        pytest.param(LONGEST_FIRST[:2], id="longest"),
        pytest.param(LONGEST_FIRST[2:6], id="more", marks=pytest.mark.slow),
    ],
)
@driven(lesson=True)
async def test_lesson_screen_shows_question_and_field(user, indices):
    await user.press("enter")
    for size in SIZES:
        await user.resize(*size)
        for index in indices:
            user.app.screen.action_go(index - user.app.screen.index)
            await user.settle()
            lesson, field = load_lessons()[index], user.app.screen.pane.field
            text = " ".join(user.text.replace("│", " ").split())
            assert f"$ shapecalc {lesson.question} {lesson.task.prompt}" in text
            assert field.region.bottom < size[1]
            assert field.has_focus
            await user.hurry("7", "enter", "ctrl+g")
            assert f"$ shapecalc {lesson.question[:12]}" in user.text
            assert field.region.bottom < size[1]


def test_lesson_screen_keys_do_not_reuse_main_keys():
    actions = {key.name: key.action for key in (*KEYS, *GLOBAL_KEYS)}
    shared = {"f1", "ctrl+g", "pagedown", "pageup", "up", "down"}
    own = {key.name for screen in (LessonsScreen, DrillScreen) for key in screen.KEYS}
    assert all(len({key.display for key in screen.KEYS}) <= 10 for screen in (LessonsScreen, DrillScreen))
    assert own & actions.keys() <= shared
    assert not own & {"f2", "f3", "f4", "f6", "f7", "f8", "f9", "f10"}
