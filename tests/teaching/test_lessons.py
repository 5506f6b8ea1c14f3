"""Check the lessons: their data is correct, and feedback names the mistake."""

from __future__ import annotations

import re
import string
from importlib.resources import files
from shlex import split

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.text import shape_text
from shapecalc.reasoning.mistakes import find_mistakes
from shapecalc.teaching.exercises import KINDS, generate_exercise
from shapecalc.teaching.judging import (
    Task,
    correct_prediction,
    draw_task,
    graded_hints,
    parse_prediction,
    prediction_text,
    resolve_command_line,
)
from shapecalc.teaching.lessons import (
    Lesson,
    find_lesson_errors,
    judge_lesson_answer,
    load_lessons,
    load_path_lessons,
    reveals_answer,
)
from tests.core.test_imports import loaded
from tests.sampling import each_row
from tests.tui.tables import table

ALL = load_lessons()
WRONG = [(lesson, wrong) for lesson in ALL for wrong in lesson.wrong]
MAX_WIDTH = 74
MAX_TITLE_WIDTH = 30
"""The width of a title in the list of lessons, without its tick."""
each_lesson = each_row("lesson", ALL)
each_wrong = each_row(("lesson", "wrong"), WRONG)


ORDER = """
plain-zero hole indivisible zero-from-the-left transpose perm-direction transpose-elements
reshape-is-not-transpose shuffle-stages
allowzero expand names-and-conditions batch-swallowed
"""


def test_lessons_build_on_earlier_lessons():
    ids = [lesson.id for lesson in ALL]
    assert [name for name in ids if name in ORDER.split()] == ORDER.split()
    assert len({*ids}) == len(ids)


def test_lessons_pass_the_check_of_lesson_files():
    text = files("shapecalc.teaching").joinpath("lessons.toml").read_text("utf-8")
    assert find_lesson_errors(text) == (len(ALL), [])


@each_lesson
def test_lesson_fits_its_length_limits(lesson):
    lines = lesson.text.splitlines()
    assert 2 <= len(lines) <= 4
    assert max(map(len, lines)) <= MAX_WIDTH
    assert len(lesson.title) <= MAX_TITLE_WIDTH
    assert set(lesson.id) <= {*string.ascii_lowercase, "-"}
    assert lesson.point.endswith(".")
    assert len(lesson.task.prompt) <= MAX_WIDTH
    assert lesson.wrong or [*find_mistakes(resolve_command_line(lesson.question))]


@each_lesson
def test_lesson_right_prediction_shows_the_point(lesson):
    right = prediction_text(correct_prediction(lesson.task))
    judgement = judge_lesson_answer(lesson, right)
    assert (judgement.right, judgement.feedback) == (True, lesson.point)
    assert lesson.follow or right not in lesson.text
    assert judge_lesson_answer(lesson, " Refused ") == judge_lesson_answer(lesson, "error")
    assert len(graded_hints(lesson.task, resolve_command_line(lesson.question))) == (1 if lesson.follow else 3), (
        "wrong number of hints"
    )
    assert len({wrong.typed for wrong in lesson.wrong}) == len(lesson.wrong)


@each_wrong
def test_lesson_foreseen_mistakes_are_explained(lesson, wrong):
    assert parse_prediction(wrong.typed) != correct_prediction(lesson.task)
    judgement = judge_lesson_answer(lesson, wrong.typed)
    assert (judgement.right, judgement.feedback) == (False, wrong.said)
    assert wrong.said != lesson.point
    if wrong.same_as:
        stage = lesson.stage if wrong.same_as.startswith("shuffle") else ""
        assert correct_prediction(Task(wrong.same_as, stage, lesson.follow)) == parse_prediction(wrong.typed)


def test_lesson_mistakes_mostly_name_another_rule():
    assert len({lesson.id for lesson, wrong in WRONG if wrong.same_as}) >= 7


def near_predictions(right):
    """Yield predictions near the right one: a dim changed, moved, added or removed."""
    shape = right or (2, 3)
    yield from ([*shape[:i], dim, *shape[i + 1 :]] for i in range(len(shape)) for dim in (1, 5, "K"))
    yield from ([*shape[i:], *shape[:i]] for i in range(1, len(shape)))
    yield from (list(reversed(shape)), [*shape, 1], [7, *shape], shape[1:], shape[:-1])


@each_lesson
def test_lesson_hints_do_not_reveal_the_answer(lesson):
    right = correct_prediction(lesson.task)
    typed = [shape_text(shape) for shape in near_predictions(right)] + [
        "error",
        *(wrong.typed for wrong in lesson.wrong),
    ]
    hints = [
        judgement.feedback for judgement in (judge_lesson_answer(lesson, text) for text in typed) if not judgement.right
    ]
    answer = resolve_command_line(lesson.question)
    hints += [
        hint
        for shape in (None, *near_predictions(right))
        for hint in graded_hints(lesson.task, answer, shape and tuple(shape))
    ]
    assert len(hints) > 8
    if right is None:
        assert [hint for hint in hints if "is refused" in hint] == []
    else:
        assert [hint for hint in hints if reveals_answer(hint, shape_text(right))] == []


def test_answer_leak_detector_finds_leaks():
    assert reveals_answer("-1 is 12 / 2 = 6", "6")
    assert reveals_answer("you took 2,6,2, of course", "2,6,2")
    assert not reveals_answer("the input has 24 elements, the answer 2,6,2,1 has 24", "2,6,2")


def lesson_by_id(name):
    return next(lesson for lesson in ALL if lesson.id == name)


@each_row(("name", "typed", "feedback"), table("said", "teaching"))
def test_lesson_other_answers_get_feedback(name, typed, feedback):
    judgement = judge_lesson_answer(lesson_by_id(name), typed)
    assert not judgement.right
    assert feedback in judgement.feedback


@pytest.mark.parametrize(
    ("name", "typed"),
    [("hole", "[2, 6, 2]"), ("hole", "2x6x2"), ("names", "(N, 12)"), ("allowzero", "error")],
)
def test_lesson_accepts_every_shape_spelling(name, typed):
    assert judge_lesson_answer(lesson_by_id(name), typed).right


@given(st.sampled_from(ALL), st.one_of(st.text(max_size=30), st.text("0123456789,-xN*/?[]()", max_size=12)))
@example(lesson_by_id("hole"), "9" * 5000)
@example(lesson_by_id("hole"), "2,6," + "2," * 70_000)
@example(lesson_by_id("reshape-is-not-transpose"), "9" * 900 + ",0")
def test_lesson_answers_any_text_with_one_line(lesson, typed):
    judgement = judge_lesson_answer(lesson, typed)
    assert judgement.feedback.isprintable()
    assert judgement.right is (judgement.feedback == lesson.point)


def test_lesson_expand_and_shape_are_not_judged_by_count():
    lesson = Lesson("x", "x", "x", "expand 3,1 3,4", "x")
    assert judge_lesson_answer(lesson, "3,5").feedback == "dim 1 is not 5: input dim 1 has size 1, repeated to ?"
    lesson = Lesson("x", "x", "x", "chain '3,1 | transpose | expand 4,3'", "x")
    assert judge_lesson_answer(lesson, "5,3").feedback.startswith("dim 0 is not 5: ")


@each_lesson
def test_lesson_questions_are_command_lines(lesson, shapecalc):
    run = shapecalc(*split(lesson.question))
    answer = resolve_command_line(lesson.question)
    assert run.out == ("" if answer.output is None else f"{shape_text(answer.output)}\n")


def test_teaching_modules_do_not_import_textual():
    assert loaded("import shapecalc.teaching.lessons, shapecalc.teaching.progress", ("textual", "rich", "typer")) == []


PATH_TOPICS = ("zero", "infer", "perm", "shuffle")
"""The topics of which the path shows every op and word before an exercise asks for it."""


def shown_words(lessons):
    """Return the ops of the questions of lessons, and `error` if one of them is refused."""
    ops = {lesson.question.split()[0] for lesson in lessons}
    refused = any(resolve_command_line(lesson.question).problem for lesson in lessons)
    return ops | ({"error"} if refused else set())


def prompt_words(kind):
    """Return the ops of exercises of a kind, and `error` if its prompt offers this answer."""
    tasks = [generate_exercise(kind, level, "monday").task for level in (1, 2, 3)]
    return {task.question.split()[0] for task in tasks} | {"error" for task in tasks if "error" in task.prompt}


@each_row("name", KINDS)
def test_exercises_ask_only_what_a_station_or_lesson_has_shown(name):
    kind = KINDS[name]
    lessons = load_path_lessons() if kind.topic in PATH_TOPICS else load_lessons()
    assert prompt_words(kind) <= shown_words(lessons)


def test_stations_show_a_refusal_and_the_elements_of_a_transpose_beside_a_reshape():
    ids = [lesson.id for lesson in load_path_lessons()]
    followed = [lesson.question.split()[0] for lesson in load_path_lessons() if lesson.follow]
    assert ids.index("hole") < ids.index("indivisible")
    assert {"transpose", "reshape"} <= {*followed}
    assert shown_words(load_path_lessons()[: ids.index("indivisible")]) & {"error"} == set()


@pytest.mark.parametrize("question", ["transpose 2,3,4 1,2,0", "transpose 2,3,4 1,2,1", "transpose 2,3,4 1,2"])
def test_task_draws_a_permutation_as_places_that_fetch_dims(question):
    drawing = draw_task(Task(question), resolve_command_line(question), 60, 12).plain
    perm = question.split()[-1].split(",")
    assert re.findall(r"^place (\d) fetches dim (\d) +_$", drawing, re.M) == [
        (str(place), dim) for place, dim in enumerate(perm)
    ]


def test_task_draws_the_stages_after_a_permutation():
    question = "shuffle 2,3,4 --first 1,0,2 --to 0,-1"
    drawing = draw_task(Task(question), resolve_command_line(question), 60, 12).plain
    assert drawing.endswith("place 2 fetches dim 2   _\nthen reshape 0,-1")
