"""The app for a visitor: in a process of its own, which opens no files, writes none, and has a limit of memory.

Textual is imported in that process alone, not by the server that starts it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from shapecalc.core.sizes.problem import FILE, Problem, ShapeError
from shapecalc.core.sizes.record import fields
from shapecalc.teaching.lessons import Course
from shapecalc.tui.files import close_files
from shapecalc.tui.question import Question, without_file

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
    from shapecalc.teaching.progress import VisitorProgress
    from shapecalc.tui.app import ShapecalcApp
    from shapecalc.tui.web import PipeDriver

    course = Course.of_json(json.loads(sys.argv[2])) if sys.argv[2] else None
    app = ShapecalcApp(Question(*json.loads(sys.argv[1])), lesson=course is not None, progress=VisitorProgress())
    app.explore.course = course
    app.driver_class = PipeDriver
    app.run()


if __name__ == "__main__":
    main()
