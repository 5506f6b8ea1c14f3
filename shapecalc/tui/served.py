"""Run the app for one visitor of `serve`, in a sandboxed process of its own.

The process opens and writes no files, and its memory and CPU are limited. Textual is imported only there, not in the
server.
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
from shapecalc.tui.question import Question, disable_files, replace_file
from shapecalc.tui.served_app import ServedApp, opening_question

MAX_MEMORY_BYTES = 1 << 29
"""The memory limit of an app in bytes."""
CPU_SECONDS, CPU_PERIOD_SECONDS = 30, 60
"""The CPU seconds that an app may use per period, and the period in seconds."""
MAX_COURSE_BYTES = 100_000
"""The largest course in bytes; systems limit the size of a process argument."""


def app_command(question: Question, course: Course | None = None) -> list[str]:
    """Return the command that opens an app at a question.

    The question has the shape in its file instead of the file name. With a course, the app opens with its lessons,
    without the speaker's notes.

    Raises `ShapeError` (file) if the file cannot be used, or if the course is too long for an argument.
    """
    question_json = json.dumps([*fields(replace_file(question)).values()])
    lessons = "" if course is None else json.dumps(course.without_notes().as_json(), ensure_ascii=False)
    if len(lessons.encode()) > MAX_COURSE_BYTES:
        raise ShapeError(Problem(FILE, f"the lessons are too long to be served: {MAX_COURSE_BYTES} bytes are the most"))
    return [sys.executable, "-P", "-m", __name__, question_json, lessons]


def limit_process() -> None:
    """Limit the memory and CPU of this process, and forbid writing files.

    Systems without `resource` have no limits.

    Numeric libraries reserve memory for every core that they may use, so they are limited to one thread.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import resource
    except ImportError:
        return
    for name, most in (("RLIMIT_AS", MAX_MEMORY_BYTES), ("RLIMIT_FSIZE", 0), ("RLIMIT_CORE", 0)):
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (most, most))
    Thread(target=_renew_cpu_limit, daemon=True).start()


def _renew_cpu_limit() -> None:
    """Renew the CPU limit of this process every minute.

    The system kills the process at the limit.
    """
    from resource import RLIMIT_CPU, getrlimit, setrlimit

    while True:
        with suppress(OSError, ValueError):
            setrlimit(RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS, getrlimit(RLIMIT_CPU)[1]))
        time.sleep(CPU_PERIOD_SECONDS)


def main() -> None:
    """Run the app for one visitor until it exits or the server dies."""
    limit_process()
    disable_files()
    question, course = sys.argv[1:]
    link = json.loads(os.environ["SHAPECALC_LINK"])
    lessons = Course.from_json(json.loads(course)) if course else None
    ServedApp(*opening_question(json.loads(question), link), course=lessons).run()


if __name__ == "__main__":
    main()
