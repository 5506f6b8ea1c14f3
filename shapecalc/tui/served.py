"""The app for a visitor: in a process of its own, which opens no files, writes none, and has a limit of memory.

Textual is imported in that process alone, not by the server that starts it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from threading import Thread

from shapecalc.core.problem import FILE, Problem, ShapeError
from shapecalc.core.record import fields
from shapecalc.teaching.lessons import Course
from shapecalc.tui.question import Question, close_files, without_file

LARGEST = 1 << 29
"""The most bytes of memory that an app may ask the system for."""
CPU, MINUTE = 30, 60
"""The most seconds of CPU that an app may take, and in how many seconds."""
LONGEST_COURSE = 100_000
"""The most bytes of a course: systems hand over no longer text to a process."""


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


def limit_process() -> None:
    """Let the system hold this process to its memory and CPU and keep it from writing to files, where the system can.

    Libraries of numbers set memory aside for every core that they may use, so they use one.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import resource
    except ImportError:
        return
    for name, most in (("RLIMIT_AS", LARGEST), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (most, most))
    Thread(target=_allow_cpu, daemon=True).start()


def _allow_cpu() -> None:
    """Allow this process more CPU every minute; the system ends it if that is used up before."""
    from resource import RLIMIT_CPU, getrlimit, setrlimit

    while True:
        with suppress(OSError, ValueError):
            setrlimit(RLIMIT_CPU, (int(time.process_time()) + CPU, getrlimit(RLIMIT_CPU)[1]))
        time.sleep(MINUTE)


def main() -> None:
    """Run the app for one visitor until it is left, or until the server is gone."""
    limit_process()
    close_files()
    from shapecalc.tui.served_app import ServedApp, opening

    question, course = sys.argv[1:]
    link = json.loads(os.environ["SHAPECALC_LINK"])
    lessons = Course.of_json(json.loads(course)) if course else None
    ServedApp(*opening(json.loads(question), link), course=lessons).run()


if __name__ == "__main__":
    main()
