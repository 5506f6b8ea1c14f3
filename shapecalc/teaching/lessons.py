"""The lessons: questions to predict, with what they teach. Nothing here draws."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from shapecalc.core.record import Record, fields, replace
from shapecalc.teaching.judging import Judgement, hint, unread
from shapecalc.teaching.tasks import Task, answer_line, prediction_of, read_prediction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Wrong(Record):
    """A wrong answer that people give, and what went wrong."""

    typed: str
    said: str
    same_as: str = ""
    """A question whose right answer this is; empty if there is none."""


class Lesson(Record):
    """One question to predict; the right answer is the resolver's."""

    id: str
    title: str
    text: str
    question: str
    point: str
    wrong: tuple[Wrong, ...] = ()
    stage: str = ""
    """The stage after which the shape is asked for; empty for the output."""
    follow: str = ""
    """The index of the input element whose place in the output is asked for; empty for a shape."""
    notes: str = ""
    """What the speaker wants to say, or to be reminded of; not for the class."""

    @property
    def task(self) -> Task:
        """What is to be predicted."""
        return Task(self.question, self.stage, self.follow)


class Course(Record):
    """Lessons in their order, and whether the speaker's notes are shown from the start."""

    lessons: tuple[Lesson, ...]
    notes: bool = False

    def without_notes(self) -> Course:
        """Return the course as the class gets it."""
        return Course(tuple(replace(lesson, notes="") for lesson in self.lessons))

    def as_json(self) -> list[dict[str, Any]]:
        """Return the lessons as JSON has them."""
        return [fields(lesson) | {"wrong": [*map(fields, lesson.wrong)]} for lesson in self.lessons]

    @classmethod
    def of_json(cls, lessons: list[dict[str, Any]]) -> Course:
        """Return the course that `as_json` was made of.

        >>> Course.of_json(Course(lessons()).as_json()) == Course(lessons())
        True
        """
        return cls(tuple(_lesson(**lesson) for lesson in lessons))


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in the order in which they are best taken."""
    return lessons_of(files("shapecalc.teaching").joinpath("lessons.toml").read_text("utf-8"))


def lessons_of(text: str) -> tuple[Lesson, ...]:
    """Return the lessons of a text in TOML that has nothing wrong with it."""
    return tuple(_lesson(**entry) for entry in tomllib.loads(text)["lesson"])


def _lesson(text: str, wrong: list[dict[str, str]] | None = None, **fields: str) -> Lesson:
    return Lesson(text=text.strip(), wrong=tuple(Wrong(**entry) for entry in wrong or ()), **fields)


def judge(lesson: Lesson, typed: str) -> Judgement:
    """Say whether a prediction is right; if it is not, what went wrong and where to look, without the answer.

    >>> lesson = next(lesson for lesson in lessons() if lesson.id == "hole")
    >>> judge(lesson, "2,6,2").right, judge(lesson, "2,4,2").said.partition(": ")[2]
    (True, '-1 is 24 elements (2*3*4) / 4 known = ?')
    """
    if problem := unread(lesson.task, typed):
        return Judgement(False, problem)
    prediction, answer = read_prediction(typed), answer_line(lesson.question)
    if prediction == prediction_of(lesson.task, answer):
        return Judgement(True, lesson.point)
    foreseen = next((wrong.said for wrong in lesson.wrong if read_prediction(wrong.typed) == prediction), "")
    return Judgement(False, foreseen or hint(lesson.task, answer, prediction))
