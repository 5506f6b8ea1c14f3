"""Lessons and exercises in the app: what is asked stays in view, its keys are its own, and what was done is kept."""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from itertools import product

import pytest

from shapecalc.core.commands import split
from shapecalc.core.text import shape_text
from shapecalc.teaching.judging import prediction_text, right_prediction
from shapecalc.teaching.lessons import Course, first_course, lessons, own_lessons
from shapecalc.tui.lessons import Drilling, Lessons
from shapecalc.tui.question import question_of
from shapecalc.tui.widgets import KEYS
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(5)

PLACES = sorted(range(len(lessons())), key=lambda place: len(lessons()[place].text + lessons()[place].question))
"""The lessons by their numbers, those that take most room last."""
SIZES = [(40, 12), (60, 18), (80, 24), (200, 60)]


@driven(lesson=True)
async def test_a_lesson_is_predicted_wrong_then_right_then_played_with(user, data_folder):
    await user.press("enter")
    assert "$ shapecalc flatten 2,3,4 --dialect numpy" in user.text
    await user.type("9")
    await user.press("enter")
    assert "✗ you added 2, 3 and 4" in user.text
    assert not data_folder.exists()
    await user.wipe()
    await user.type("24")
    await user.press("enter")
    assert "abc 24" in user.text
    assert json.loads((data_folder / "shapecalc" / "lessons.json").read_text()) == {"done": ["dim"]}
    await user.press("f5")
    assert user.command == "$ shapecalc flatten 2,3,4 --dialect numpy"
    await user.press("f5")
    assert "✓ What a dim is" in user.text
    assert "In which order elements lie" in user.text


@driven(lesson=True)
async def test_a_lesson_that_is_played_with_is_gone_back_to(user):
    lessons = user.app.screen
    await user.press(*["pagedown"] * 5, "f5")
    assert user.app.screen is user.app.explore
    await user.press("f5")
    assert user.app.screen.lesson == lessons.lesson == lessons.course.lessons[5]
    assert user.app.screen.query_one("#list").highlighted == 5
    await user.press("escape", "f5")
    assert user.app.screen.at == 0


@driven(lesson=True)
async def test_the_answer_of_a_lesson_can_be_shown_without_predicting(user, data_folder):
    await user.press("enter", "ctrl+g")
    assert "abc 24" in user.text
    assert not data_folder.exists()
    await user.press("escape")
    assert "  What a dim is" in user.text
    await user.press("escape")
    assert user.app.screen is user.app.explore


@driven(lesson=True)
async def test_what_is_no_prediction_is_told(user):
    await user.press("enter")
    await user.type("2,,x[")
    await user.press("enter")
    assert "✗ that is not an answer yet" in user.text


@driven(lesson=True)
async def test_a_data_folder_that_cannot_be_written_is_told_and_loses_nothing_else(user, data_folder):
    data_folder.write_text("in the way")
    await user.press("enter")
    await user.type("24")
    await user.press("enter")
    ((_, message),) = user.notes
    assert message.startswith("progress is not kept: ")
    await user.press("escape")
    assert "✓ What a dim is" in user.text


@driven("reshape", "2,3,4", "0,-1")
async def test_a_prediction_can_be_typed_while_the_list_has_the_focus(user):
    await user.press("f5")
    await user.type("24")
    await user.press("enter")
    assert "✓ Right. A dim is the size" in user.text


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
def test_keys_that_come_all_at_once_while_the_list_is_shown_are_all_typed(size):
    async def answer(user, opening, turns):
        await user.press(*["escape"] * (size[0] < 76), "home")
        await user.burst(*opening, *"23", "backspace", "4", "enter", turns=turns)
        assert user.app.screen.pane.field.value == "24"
        assert "✓ Right. A dim is the size" in user.text

    for opening, turns in product([[], ["enter"]], [1, 2, 3]):
        asyncio.run(using(partial(answer, opening=opening, turns=turns), lesson=True, size=size))


@driven(lesson=True)
async def test_the_list_is_gone_through_by_the_arrow_keys_and_its_ends_and_clicked(user):
    await user.press("down", "down", "up")
    assert the_lesson(user) == lessons()[1]
    await user.press("end")
    assert "Exercises: all" in user.text
    await user.press("home", "up")
    assert the_lesson(user) == lessons()[0]
    await user.click(lessons()[3].title)
    assert the_lesson(user) == lessons()[3]
    assert not user.app.screen.has_class("-listing")
    await user.type("24")
    await user.press("home")
    await user.type("1")
    assert user.app.screen.pane.field.value == "124"
    assert the_lesson(user) == lessons()[3]


@driven(lesson=True)
async def test_enter_in_the_list_opens_the_lesson_and_judges_nothing(user):
    await user.type("7")
    await user.press("escape", "enter")
    assert not user.app.screen.has_class("-listing")
    assert "✗" not in user.text
    await user.press("enter")
    assert "✗" in user.text


def the_lesson(user):
    return user.app.screen.lesson


@driven(lesson=True)
async def test_next_and_previous_do_not_leave_the_lessons(user):
    await user.press("enter")
    for number in (1, 2, 3):
        await user.press("pagedown")
        assert the_lesson(user) == lessons()[number]
        assert f"$ shapecalc {the_lesson(user).question}" in user.text
    await user.press("pageup")
    assert the_lesson(user) == lessons()[2]
    await user.press(*["pageup"] * 5)
    assert the_lesson(user) == lessons()[0]
    await user.press("escape", "pagedown")
    assert the_lesson(user) == lessons()[1]


@driven(lesson=True)
async def test_enter_goes_on_once_a_lesson_is_right(user):
    await user.press("enter")
    for lesson in lessons()[:3]:
        await user.type(prediction_text(right_prediction(lesson.task)))
        await user.press("enter")
        assert f"✓ Right. {lesson.point[:30]}" in user.text
        await user.press("enter")
    assert the_lesson(user) == lessons()[3]
    assert user.app.screen.pane.field.value == ""


@driven(lesson=True)
async def test_hints_go_a_rung_further_each_time_and_give_nothing_away(user):
    await user.press("pagedown", "pagedown", "enter", "enter")
    assert "[copy-zero]" in user.text
    await user.press("enter")
    assert "^ count from the left" in user.text
    await user.press("enter", "enter")
    assert "0 copies dim 0, which is ?" in user.text
    assert "2,12" not in user.text


@driven(lesson=True)
async def test_the_score_is_one_and_a_hint_does_not_count(user):
    await user.press("enter", "enter")
    await user.type("9")
    await user.press("enter", "enter")
    assert "─ 0 of 1 right ─" in user.lines[0]
    await user.type("24")
    await user.press("enter", "enter", "ctrl+g", "escape", "escape")
    assert "0 of 2 right   answer" in user.title
    await user.press("ctrl+g", "y", "f5")
    assert "─ 1 of 3 right ─" in user.lines[0]


@driven(lesson=True)
async def test_where_an_element_goes_is_shown_in_the_grid(user):
    place = [lesson.id for lesson in lessons()].index("reshape-is-not-transpose")
    await user.press("enter", *["pagedown"] * place, "ctrl+g")
    assert "2 is at [0,2]     2 is at [1,0]" in user.text
    assert "0 │   0  1 [2]     0 │    0  1" in user.text


@driven(lesson=True)
async def test_a_mistake_is_drawn_beside_the_truth_once_the_answer_is_shown(user):
    place = [lesson.id for lesson in lessons()].index("zero-from-the-left")
    await user.press("enter", *["pagedown"] * place)
    await user.type("4,3,2")
    await user.press("enter")
    assert "mistaken" not in user.text, "the picture would give the answer away"
    await user.press("ctrl+g")
    assert "asked 4,2,3" in user.text
    assert "mistaken 4,3,2" in user.text


def test_elements_left_in_their_order_are_drawn_beside_those_that_move():
    async def follow(user):
        await user.type("1,0")
        await user.press("enter")
        assert "as a reshape does" in user.text
        await user.press("ctrl+g")
        assert "mistaken 3,2" in user.text

    with_course(follow, text=OWN.replace("point =", 'follow = "0,2"\npoint ='))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "places", [pytest.param(PLACES[-4:], id="longest"), pytest.param(PLACES, id="all", marks=pytest.mark.slow)]
)
def test_what_is_asked_and_the_field_are_in_view(places, size):
    async def look(user):
        if size[0] >= 76:
            await user.press("enter")
        for place in places:
            user.app.screen.action_go(place - user.app.screen.at)
            await user.settle()
            lesson, field = lessons()[place], user.app.screen.pane.field
            text = " ".join(user.text.replace("│", " ").split())
            assert f"$ shapecalc {lesson.question} {lesson.task.asks}" in text
            assert field.region.bottom < size[1]
            assert field.has_focus
            await user.type("7")
            await user.press("enter", "ctrl+g")
            assert f"$ shapecalc {lesson.question[:12]}" in user.text
            assert field.region.bottom < size[1]

    asyncio.run(using(look, size=size, lesson=True))


@driven(lesson=True, size=(80, 24))
async def test_a_lesson_survives_a_smaller_terminal(user):
    await user.press("enter")
    await user.type("2,")
    await user.resize(40, 12)
    assert "$ shapecalc flatten 2,3,4" in user.text
    await user.press("backspace")
    await user.type("4")
    await user.press("enter")
    await user.resize(80, 24)
    assert "✓ Right. A dim is" in user.text
    assert "every old block is cut alike" in user.text


def test_no_key_of_the_main_screen_means_something_else_here():
    actions = {key.key: key.action for key in KEYS}
    kept = {"f1", "f5", "ctrl+g", "ctrl+s", "pagedown", "pageup"}
    own = {key.key for screen in (Lessons, Drilling) for key in screen.KEYS}
    assert all(len({key.shown for key in screen.KEYS}) <= 10 for screen in (Lessons, Drilling))
    assert own & actions.keys() <= kept
    assert not own & {"f2", "f3", "f4", "f6", "f7", "f8", "f9", "f10"}


@driven(lesson=True)
async def test_the_keys_of_the_main_screen_neither_show_nor_act(user):
    await user.press("enter")
    before = user.text
    assert "F2 op" not in before
    for key in ("f2", "f3", "f4", "f6", "f8", "ctrl+l"):
        await user.press(key)
        assert user.text == before


@driven(lesson=True)
async def test_keys_are_clicked(user):
    await user.press("enter")
    await user.click("PgDn next")
    assert the_lesson(user) == lessons()[1]
    await user.click("^G answer")
    assert "4 is at [1,1]" in user.text


OWN = """
[[lesson]]
id = "one"
title = "My own"
text = "Look."
question = "transpose 2,3 1,0"
point = "It turned."
notes = "Whisper this."
"""


def with_course(test, text=OWN, **opening):
    """Run a test at an app whose lessons are a teacher's own."""

    async def run(user):
        user.app.explore.course = Course(own_lessons("week3.toml", text), **opening)
        await user.press("f5")
        await test(user)

    asyncio.run(using(run))


MARKUP = "[red]r [/] [@click=app.quit]q[/]"


def test_markup_in_a_teachers_texts_is_shown_as_it_is_written():
    async def look(user):
        assert user.text.count(MARKUP) == 3
        await user.press("enter")
        assert user.text.count(MARKUP) == 3
        await user.type("3,2")
        await user.press("enter")
        assert f"✓ Right. {MARKUP}" in user.text

    with_course(look, text=re.sub('"(My own|Look.|It turned.|Whisper this.)"', f'"{MARKUP}"', OWN), notes=True)


def test_a_teachers_lessons_take_the_place_of_the_others_and_are_marked_as_theirs(data_folder):
    async def take(user):
        assert "My own" in user.text
        assert "What a dim is" not in user.text
        await user.type("3,2")
        await user.press("enter")
        assert "✓ Right. It turned." in user.text
        assert json.loads((data_folder / "shapecalc" / "lessons.json").read_text()) == {"done": ["week3/one"]}

    with_course(take)


def test_notes_are_shown_by_a_key_and_from_the_start_if_they_are_asked_for():
    async def by_key(user):
        await user.press("enter")
        assert "Whisper" not in user.text
        assert "^N notes" in user.text
        await user.press("ctrl+n")
        assert "Notes: Whisper this." in user.text
        await user.press("ctrl+n")
        assert "Whisper" not in user.text

    async def at_once(user):
        assert "Notes: Whisper this." in user.text

    with_course(by_key)
    with_course(at_once, notes=True)


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    monkeypatch.setattr("shapecalc.tui.lessons.new_seed", lambda: "1")


@driven(lesson=True)
async def test_exercises_are_begun_from_the_list_of_lessons(user, data_folder):
    await user.press("end", "up", "up", "up", "pageup", "pageup")
    assert "Exercises: perm" in user.text
    await user.press("enter")
    screen = user.app.screen
    assert "Exercise 1, perm, level 1" in user.text
    assert f"$ shapecalc {screen.exercise.task.question}" in user.text
    await user.type(prediction_text(right_prediction(screen.exercise.task)))
    await user.press("enter")
    assert "✓ right" in user.text
    kept = json.loads((data_folder / "shapecalc" / "lessons.json").read_text())
    assert kept["drill"]["right"] == 1
    await user.press("enter")
    assert "─ 1 of 1 right ─" in user.lines[0]
    await user.press("escape", "escape")
    assert user.app.screen is user.app.explore


@driven(lesson=True)
async def test_exercises_of_several_topics_are_begun_from_the_list(user):
    await user.press("end")
    assert "topics such as zero perm" in user.text
    await user.burst(*"zero,prem", "enter", turns=1)
    assert "✗ there is no topic 'prem' (did you" in user.text
    await user.burst(*"zero perm", "enter", turns=1)
    assert "Exercise 1, zero perm, level 1" in user.text
    assert {kind.split("-")[0] for kind in user.app.screen.drill._kinds} >= {"copied", "swapped"}
    assert not {"inferred", "shuffled", "stretched"} & user.app.screen.drill._kinds.keys()


@driven()
async def test_a_miss_is_explained_and_its_question_can_be_played_with(user):
    user.app.explore.action_drill()
    await user.settle()
    screen = user.app.screen
    question = screen.exercise.task.question
    await user.press("enter", "pagedown")
    assert user.text.count("Exercise 1, all") == 1
    await user.type("2,,")
    await user.press("enter")
    assert "✗ that is not an answer yet: a dim is missing" in user.text
    await user.wipe()
    await user.press("enter")
    assert screen.drill.answered == 0
    await user.press("ctrl+g")
    right = right_prediction(screen.exercise.task)
    assert f"it is {shape_text(right)}: " in user.text
    assert "✗" not in user.text
    assert screen.drill.answered == 1
    await user.press("f5")
    assert user.app.screen is user.app.explore
    assert user.state.question == question_of(split(question))


async def on_the_path(user):
    """Open what a first start opens."""
    user.app.explore.course = first_course()
    user.app.explore.action_lessons()
    await user.settle()


@driven()
async def test_the_path_draws_while_it_asks_says_the_point_to_who_gives_up_and_ends_with_what_was_missed(user):
    await on_the_path(user)
    assert "1 of 9: What a dim is" in user.text
    assert "1 0 │   12  13  14  15" in user.text, "the elements stand while it is asked"
    await user.press("ctrl+g")
    assert "It is 24. A dim is the size of one axis" in user.text
    assert "enter go on" in user.text
    await user.press("enter")
    assert "0 │  _  _  _" in user.text, "where it goes is a hole"
    for lesson in user.app.screen.course.lessons[1:]:
        assert lesson.title in user.text
        await user.type(prediction_text(right_prediction(lesson.task)))
        await user.press("enter", "enter")
    assert "Missed at first: What a dim is." in user.text
    assert "Next: exercises about build." in user.text
    await user.press("enter")
    assert "Exercise 1, build, level 1" in user.text
    assert first_course() is None


@driven()
async def test_the_path_is_gone_on_with_where_one_stopped_until_it_is_left(user):
    await on_the_path(user)
    await user.type("24")
    await user.press("enter", "enter", "f5")
    assert user.command == "$ shapecalc reshape 6 2,3"
    await user.press("f5")
    assert "2 of 9: In which order elements lie" in user.text
    user.app.screen.dismiss(None)
    await on_the_path(user)
    assert "2 of 9: In which order elements lie" in user.text
    await user.press("escape", "f5")
    assert first_course() is None
    assert "✓ What a dim is" in user.text


@driven()
async def test_a_chain_is_built_and_a_wrong_one_is_drawn_beside_the_truth(user):
    user.app.push_screen(Drilling("build"))
    await user.settle()
    assert "which op gives 0 3 1 4 2 5, read row by row" in user.text
    assert "output 3,2" in user.text
    await user.press("enter", "enter")
    assert "transpose ?" in user.text
    await user.type("reshape 5")
    await user.press("enter")
    assert "✗ that is not an answer yet" in user.text
    await user.type("reshape 3,2")
    await user.press("enter")
    assert "3 is at [0,1]    1 is at [0,1]" in user.text
    await user.press("enter")
    await user.type("reshape 3,2")
    await user.press("enter")
    assert "✓ right" in user.text


@driven(size=(80, 50))
async def test_the_palette_offers_exercises(user):
    await user.press("ctrl+p")
    await user.type("exercises")
    await user.pilot.pause(0.3)
    await user.press("down", "enter")
    await user.pilot.pause(0.3)
    assert "Exercise 1, all, level 1" in user.text


@driven(lesson=True)
async def test_what_is_typed_after_a_wrong_answer_takes_its_place(user):
    await user.press("enter")
    for typed in ("2,3,?", "4,6"):
        await user.type(typed)
        await user.press("enter")
        assert "✗" in user.text
    await user.type("24")
    assert user.app.screen.pane.field.value == "24"
    await user.press("enter")
    assert "✓" in user.text
