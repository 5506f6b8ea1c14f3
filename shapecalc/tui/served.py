"""The sandboxed process that runs the app for one visitor of the web server.

The process cannot open or write files, and its memory and CPU time are limited. The server process never imports
Textual. A course is a sequence of lessons.
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
from shapecalc.tui.question import Question, disable_file_access, replace_file_with_shape
from shapecalc.tui.served_app import ServedApp, parse_opening_question

MAX_MEMORY_BYTES = 1 << 29
"""The memory limit of a visitor's process, in bytes."""
CPU_SECONDS, CPU_PERIOD_SECONDS = 30, 60
"""The CPU time that a process may use in a period, and the length of a period, in seconds."""
MAX_COURSE_BYTES = 100_000
"""The maximum size of a course as JSON, in bytes, because systems limit command-line arguments."""


def app_command(question: Question, course: Course | None = None, site: str = "") -> list[str]:
    """Return the command line of a process that opens the app with `question`.

    A file name in the question is replaced with the shape of the array in the file. If `course` is not None, the app
    opens its lessons, without speaker notes. `site` is the address of the static page for small screens.

    Raises `ShapeError` (file) if the file cannot be used, or if the course is too long for a command-line argument.
    """
    question_json = json.dumps([*fields(replace_file_with_shape(question)).values()])
    lessons = "" if course is None else json.dumps(course.without_notes().as_json(), ensure_ascii=False)
    if len(lessons.encode()) > MAX_COURSE_BYTES:
        raise ShapeError(Problem(FILE, f"the lessons are too long to be served: {MAX_COURSE_BYTES} bytes are the most"))
    return [sys.executable, "-P", "-m", __name__, question_json, lessons, site]


def limit_process_resources() -> None:
    """Limit the memory and CPU time of this process, and forbid writing files.

    Numeric libraries may use only one thread, because each thread reserves memory. On systems without the module
    `resource`, only the number of threads is limited.
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
    """Extend the CPU time limit of this process periodically.

    The system kills a process that uses more than `CPU_SECONDS` of CPU time within a period.
    """
    from resource import RLIMIT_CPU, getrlimit, setrlimit

    while True:
        with suppress(OSError, ValueError):
            setrlimit(RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS, getrlimit(RLIMIT_CPU)[1]))
        time.sleep(CPU_PERIOD_SECONDS)


def main() -> None:
    """Run the app for a visitor.

    The command-line arguments contain the question, the course and the address of the static page.
    """
    limit_process_resources()
    disable_file_access()
    question, course, site = sys.argv[1:]
    link = json.loads(os.environ["SHAPECALC_LINK"])
    lessons = Course.from_json(json.loads(course)) if course else None
    ServedApp(*parse_opening_question(json.loads(question), link), course=lessons, site=site).run()


if __name__ == "__main__":
    main()
