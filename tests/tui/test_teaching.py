"""Lessons in the app: the question is visible at all sizes, and keys keep their meaning."""

from __future__ import annotations

import re

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
            columns = (line.split("││")[-1] for line in user.lines)  # the list of lessons is on the left
            text = " ".join(" ".join(columns).replace("│", " ").split())
            prompt = lesson.task.prompt.replace(
                ", or error:", f"{lesson.task.dialect_phrase * (size[0] >= 60)}, or error:"
            )
            assert f"$ shapecalc {lesson.question} {prompt}" in text
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


@driven(lesson=True)
async def test_list_of_lessons_passes_over_an_untouched_cut_lesson(user):
    index = next(index for index, lesson in enumerate(load_lessons()) if lesson.task.kind == "cut")
    await user.press(*["down"] * index)
    assert user.app.screen.index == index
    assert "enter open" in user.keys
    await user.press("right")
    assert "enter open" not in user.keys


@driven(lesson=True)
async def test_cut_lesson_is_answered_by_cutting(user):
    index = next(index for index, lesson in enumerate(load_lessons()) if lesson.id == "cut-pieces")
    user.app.screen.action_go(index)
    await user.press("enter")
    assert "24 elements of 2,3,4, cut every 4 ▸ 6,4" in user.text
    assert "←→ cut  0 keep" in user.text
    await user.press("right", "7", "enter")
    assert user.value == ""
    assert "✗ 5 does not divide 24: 4 left over" in user.text
    await user.press(*["left"] * 2, "enter")
    assert "✗ the rows are right; keep the cuts of the 2 tables first, with 0" in user.text
    await user.press(*["right"] * 9, "0", *["left"] * 8, "0", "backspace", "left", "enter")
    assert user.value == "2,4,3"
    assert "✓ Right. Rows of 12 first" in user.text
    assert "←→ cut" not in user.text
    await user.press("left")
    assert "cut every 3 ▸ 2,4,3" in user.text


@driven(lesson=True, size=(60, 18))
async def test_cut_lesson_fits_the_smallest_terminal_and_can_be_revealed(user):
    index = next(index for index, lesson in enumerate(load_lessons()) if lesson.id == "cut-rows")
    user.app.screen.action_go(index)
    await user.press("enter")
    assert "cut every 4 ▸ 6,4" in user.text
    await user.press("ctrl+g")
    assert "It is 4,6." in user.text
    await user.press("enter")
    assert user.app.screen.lesson.id == "cut-pieces"


@driven(lesson=True, size=(120, 40))
async def test_lesson_clears_the_feedback_on_a_wrong_answer_while_another_is_typed(user):
    await user.press("enter", *"77", "enter")
    assert "✗" in user.text
    await user.press("2")
    assert "✗" not in user.text
    await user.press("backspace", *"77", "enter")
    assert "✗" not in user.text  # the same answer again requests a hint


@driven(lesson=True, size=(120, 40))
async def test_reshape_lesson_shows_the_transpose_beside_it(user):
    index = next(index for index, lesson in enumerate(load_lessons()) if lesson.id == "reshape-is-not-transpose")
    user.app.screen.action_go(index)
    await user.press("enter", "ctrl+g")
    assert "It is 1,0." in user.text
    assert re.search(r"asked 3,2 +mistaken 3,2", user.text)


@driven(home=True)
async def test_start_screen_opens_exercises_on_typed_topics(user):
    await user.type("drill perm")
    assert "exercises on perm: enter begins" in user.text
    await user.press("enter")
    assert (user.screen, user.app.screen.exercise.kind.topic) == ("DrillScreen", "perm")
    await user.press("ctrl+t")
    assert (user.app.screen.topic, user.app.screen.exercise.kind.topic) == ("shuffle", "shuffle")


@pytest.mark.parametrize(("text", "screen"), [("lessons", "LessonsScreen"), ("course", "LessonsScreen")])
@driven(home=True)
async def test_start_screen_opens_typed_command(user, text, screen):
    await user.type(text)
    await user.press("enter")
    assert user.screen == screen


@driven(home=True)
async def test_start_screen_lists_topics_for_an_unknown_topic(user):
    await user.type("drill foo")
    assert "there is no topic 'foo'" in user.text
    assert "zero, infer, perm" in user.text
