"""A teacher's own lessons, read from files."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import replace
from shapecalc.teaching.lesson_faults import faults_in
from shapecalc.teaching.lessons import Lesson, lessons_of

LARGEST = 1 << 16
"""Bytes of the largest file that is read."""


def read_lesson_file(name: str) -> str:
    """Return the text of a file of lessons; raise `ShapeError` (file) if it cannot be read."""
    try:
        with open(name, "rb", opener=_opened_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no regular file")
            read = file.read(LARGEST + 1)
        if len(read) > LARGEST:
            raise ValueError(f"it holds more than {LARGEST} bytes, too many for lessons")
        return read.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeError:
        said = "it is not UTF-8"
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or str(error)
    raise ShapeError(Problem(FILE, f"{name}: {said}"))


def _opened_at_once(name: str, flags: int) -> int:
    """Open a file without waiting for the writer of a pipe."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def own_lessons(name: str, text: str) -> tuple[Lesson, ...]:
    """Return the lessons of a teacher's file, their ids led by the file's name.

    Raises `ShapeError` (usage) with the first thing that is wrong in it.
    """
    _, faults = faults_in(text)
    if faults:
        more = f"{len(faults)} in all; " if len(faults) > 1 else ""
        raise misuse(f"{name}:{faults[0].line}: {faults[0].said}", f"{more}see shapecalc drill --check-lessons")
    return tuple(replace(lesson, id=f"{Path(name).stem}/{lesson.id}") for lesson in lessons_of(text))
