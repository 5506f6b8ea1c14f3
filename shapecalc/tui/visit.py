"""The app for a visitor: in a process of its own, which opens no files, writes none, and has a limit of memory.

Textual is imported in that process alone, not by the server that starts it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.record import fields
from shapecalc.core.text import visible
from shapecalc.teaching.lessons import Course
from shapecalc.tui.files import close_files
from shapecalc.tui.outcome import without_file
from shapecalc.tui.question import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 1 << 29
"""The most bytes of memory that an app may ask the system for."""


def command_of(question: Question, course: Course | None = None) -> list[str]:
    """Return the command that opens an app at a question, with what the question's file says in place of its name.

    With a course, the app opens with its lessons, without the speaker's notes.

    Raises `ShapeError` (file) if that file cannot be used, or if the course is too long to be handed over.
    """
    asked = json.dumps([*fields(without_file(question)).values()])
    lessons = "" if course is None else json.dumps(course.without_notes().as_json(), ensure_ascii=False)
    if len(lessons.encode()) > LONGEST_COURSE:
        raise ShapeError(Problem(FILE, f"the lessons are too long to be served: {LONGEST_COURSE} bytes are the most"))
    return [sys.executable, "-P", "-m", __name__, asked, lessons]


LONGEST_COURSE = 100_000
"""The most bytes of a course: systems hand over no longer text to a process."""


def limit_process() -> None:
    """Let the system hold this process to its memory and keep it from writing to files, where the system can.

    Libraries of numbers set memory aside for every core that they may use, so they use one.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import resource
    except ImportError:
        return
    for name, most in (("RLIMIT_AS", LARGEST), ("RLIMIT_FSIZE", 0)):
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (most, most))


def main() -> None:
    """Run the app for one visitor until it is left, or until the server is gone."""
    limit_process()
    close_files()
    from shapecalc.tui.web import ServedApp

    fields, course, *link = sys.argv[1:]
    lessons = Course.of_json(json.loads(course)) if course else None
    ServedApp(*opening(json.loads(fields), *map(json.loads, link)), course=lessons).run()


def opening(fields: list[Any], link: list[str] | None = None) -> tuple[Question, int | None, str]:
    """Return the question and the step to open with, and what is wrong with the link that was followed.

    >>> question, step, complaint = opening(["reshape", {"input": "2,3"}], ["x.npy -1", "1"])
    >>> question.texts["input"], step, complaint
    ('2,3', 0, 'a link may not name a file')
    """
    from shapecalc.tui.links import linked_question

    try:
        return (*linked_question(*link), "") if link else (Question(*fields), 0, "")
    except ShapeError as error:
        return Question(*fields), 0, visible(error.problem.message)


if __name__ == "__main__":
    main()
