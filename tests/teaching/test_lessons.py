"""The lessons: data that must be true, and judgements that say precisely what went wrong."""

from __future__ import annotations

import string
from importlib.resources import files
from shlex import split

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.core.mistakes import mistakes
from shapecalc.core.text import shape_text
from shapecalc.teaching.judging import (
    Task,
    answer_line,
    prediction_text,
    read_prediction,
    right_prediction,
    rungs,
)
from shapecalc.teaching.lessons import Lesson, faults_in, gives_away, judge, lessons
from tests.core.test_imports import loaded

ALL = lessons()
WRONG = [(lesson, wrong) for lesson in ALL for wrong in lesson.wrong]
WIDEST = 74
WIDEST_TITLE = 30
"""The cells that a title has in the list beside a lesson, without its tick."""
each_lesson = pytest.mark.parametrize("lesson", ALL, ids=[lesson.id for lesson in ALL])
each_wrong = pytest.mark.parametrize(("lesson", "wrong"), WRONG, ids=[f"{one.id} {bad.typed}" for one, bad in WRONG])


def asked_of(lesson, question):
    """Return the right prediction for another question, asked as the lesson asks."""
    stage = lesson.stage if question.startswith("shuffle") else ""
    return right_prediction(Task(question, stage, lesson.follow))


ORDER = [
    "plain-zero",
    "hole",
    "indivisible",
    "zero-from-the-left",
    "transpose",
    "perm-direction",
    "reshape-is-not-transpose",
    "shuffle-stages",
    "allowzero",
    "expand",
    "names-and-conditions",
    "batch-swallowed",
]


def test_each_lesson_builds_on_those_before():
    ids = [lesson.id for lesson in ALL]
    assert [name for name in ids if name in ORDER] == ORDER
    assert len({*ids}) == len(ids)


def test_the_lessons_are_such_as_a_teacher_may_write():
    text = files("shapecalc.teaching").joinpath("lessons.toml").read_text("utf-8")
    assert faults_in(text) == (len(ALL), [])


@each_lesson
def test_a_lesson_is_short_and_fits(lesson):
    lines = lesson.text.splitlines()
    assert 2 <= len(lines) <= 4
    assert max(map(len, lines)) <= WIDEST
    assert len(lesson.title) <= WIDEST_TITLE
    assert set(lesson.id) <= {*string.ascii_lowercase, "-"}
    assert lesson.point.endswith(".")
    assert len(lesson.task.asks) <= WIDEST
    assert lesson.wrong or [*mistakes(answer_line(lesson.question))]


@each_lesson
def test_the_right_prediction_is_right_and_closes_with_the_point(lesson):
    found = judge(lesson, prediction_text(right_prediction(lesson.task)))
    assert (found.right, found.said) == (True, lesson.point)


@each_wrong
def test_a_foreseen_answer_is_wrong_and_explained(lesson, wrong):
    assert read_prediction(wrong.typed) != right_prediction(lesson.task)
    found = judge(lesson, wrong.typed)
    assert (found.right, found.said) == (False, wrong.said)
    assert wrong.said != lesson.point


@each_wrong
def test_a_mistaken_rule_gives_exactly_that_answer(lesson, wrong):
    if wrong.same_as:
        assert asked_of(lesson, wrong.same_as) == read_prediction(wrong.typed)


def test_most_mistakes_are_another_rule():
    assert len({lesson.id for lesson, wrong in WRONG if wrong.same_as}) >= 7


@each_lesson
def test_no_answer_is_foreseen_twice(lesson):
    assert len({wrong.typed for wrong in lesson.wrong}) == len(lesson.wrong)


@each_lesson
def test_the_answer_is_not_given_away(lesson):
    if not lesson.follow:
        assert prediction_text(right_prediction(lesson.task)) not in lesson.text


def near(right):
    """Return predictions that come close to the right one: one dim is another, moved, added or left out."""
    shape = right or (2, 3)
    yield from ([*shape[:at], dim, *shape[at + 1 :]] for at in range(len(shape)) for dim in (1, 5, "K"))
    yield from ([*shape[at:], *shape[:at]] for at in range(1, len(shape)))
    yield from (list(reversed(shape)), [*shape, 1], [7, *shape], shape[1:], shape[:-1])


@each_lesson
def test_no_hint_gives_the_answer_away(lesson):
    right = right_prediction(lesson.task)
    typed = [shape_text(shape) for shape in near(right)] + ["error", *(wrong.typed for wrong in lesson.wrong)]
    hints = [found.said for found in (judge(lesson, text) for text in typed) if not found.right]
    answer = answer_line(lesson.question)
    hints += [said for shape in (None, *near(right)) for said in rungs(lesson.task, answer, shape and tuple(shape))]
    assert len(hints) > 8
    if right is None:
        assert [said for said in hints if "is refused" in said] == []
    else:
        assert [said for said in hints if gives_away(said, shape_text(right))] == []


def test_what_gives_an_answer_away_is_found():
    assert gives_away("-1 is 12 / 2 = 6", "6")
    assert gives_away("you took 2,6,2, of course", "2,6,2")
    assert not gives_away("the input has 24 elements, the answer 2,6,2,1 has 24", "2,6,2")


@each_lesson
def test_the_helps_do_not_say_by_their_number_that_a_request_is_refused(lesson):
    helps = rungs(lesson.task, answer_line(lesson.question))
    assert len(helps) == (1 if lesson.follow else 3)


@each_lesson
def test_refused_and_error_are_one_prediction(lesson):
    assert judge(lesson, " Refused ") == judge(lesson, "error")


def of(name):
    return next(lesson for lesson in ALL if lesson.id == name)


SAID = [
    (
        "hole",
        "2,4,2",
        "the input has 24 elements, the answer 2,4,2 has 16; dim 1 is not 4: -1 is 24 elements (2*3*4) / 4",
    ),
    ("hole", "24", "3 dims come out, not 1; dim 0 is not 24: the request gives a number there"),
    ("hole", "2,2,6", "the sizes are right, and their order is not; dim 1 is not 2: -1 is 24 elements"),
    ("hole", "24,1,1", "dim 0 is not 24: the request gives a number there"),
    ("hole", "error", "it is not refused: no rule forbids it"),
    ("hole", "2,-1,2", "no size in an answer is negative: -1 asks for a size"),
    ("hole", "2,,2", "that is not an answer yet: a dim is missing"),
    ("hole", "", "that is not an answer yet: the shape is empty; type the sizes with commas between them, or error"),
    ("hole", "2,\x1b[31m", r"that is not an answer yet: '\x1b' is not allowed in '\x1b[31m'"),
    (
        "zero-from-the-left",
        "4,2,2",
        "the input has 24 elements, the answer 4,2,2 has 16; dim 2 is not 2: 0 copies dim 2, c",
    ),
    ("allowzero", "3,4", "the input has 0 elements, the answer 3,4 has 12; compare each number"),
    (
        "perm-direction",
        "2,3,4",
        "the sizes are right, and their order is not; dim 0 is not 2: output dim 0 is input dim 1",
    ),
    ("reshape-is-not-transpose", "1,1", "the element at [1,1] of the output is the one at [1,0] of the input"),
    ("reshape-is-not-transpose", "1", "the output has 2 axes, so a place in it has 2 numbers, not 1"),
    ("reshape-is-not-transpose", "3,0", "index 3 is outside of dim 0, which is 3"),
    ("reshape-is-not-transpose", "N,0", "that is not an answer yet: N is not a number; type a number for each axis"),
    ("hard-coded-batch", "2,N", "dim 1 is not N: the request gives a number there"),
]


@pytest.mark.parametrize(("name", "typed", "said"), SAID)
def test_any_other_answer_is_told_what_is_wrong_with_it(name, typed, said):
    found = judge(of(name), typed)
    assert not found.right
    assert said in found.said


@pytest.mark.parametrize(
    ("name", "typed"),
    [("hole", "[2, 6, 2]"), ("hole", "2x6x2"), ("names", "(N, 12)"), ("allowzero", "error")],
)
def test_a_shape_is_right_however_it_is_written(name, typed):
    assert judge(of(name), typed).right


@given(st.sampled_from(ALL), st.one_of(st.text(max_size=30), st.text("0123456789,-xN*/?[]()", max_size=12)))
@example(of("hole"), "9" * 5000)
@example(of("hole"), "2,6," + "2," * 70_000)
@example(of("reshape-is-not-transpose"), "9" * 900 + ",0")
def test_whatever_is_typed_gets_a_line(lesson, typed):
    found = judge(lesson, typed)
    assert found.said.isprintable()
    assert found.right is (found.said == lesson.point)


def test_a_prediction_of_an_expand_or_shape_is_not_measured_by_its_count():
    lesson = Lesson("x", "x", "x", "expand 3,1 3,4", "x")
    assert judge(lesson, "3,5").said == "dim 1 is not 5: input dim 1 has size 1, repeated to ?"
    lesson = Lesson("x", "x", "x", "chain '3,1 | transpose | expand 4,3'", "x")
    assert judge(lesson, "5,3").said.startswith("dim 0 is not 5: ")


@each_lesson
def test_a_question_is_what_the_command_line_takes(lesson, shapecalc):
    found = shapecalc(*split(lesson.question))
    answer = answer_line(lesson.question)
    assert found.out == ("" if answer.output is None else f"{shape_text(answer.output)}\n")


def test_neither_module_imports_textual():
    assert loaded("import shapecalc.teaching.lessons, shapecalc.teaching.progress", ("textual", "rich", "typer")) == []
