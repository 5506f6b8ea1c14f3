"""The user's file of the app: the theme, and the questions that were asked last.

It is kept beside the progress in the lessons. Losing that file loses nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from shapecalc.engine.whole_files import write_whole

LARGEST = 1 << 20
"""Bytes of the largest file that is read."""
MOST_QUESTIONS, LONGEST_QUESTION = 20, 1000
"""How many questions are kept, and the characters of the longest of them."""


def app_file() -> Path:
    """Return where it is: `shapecalc/app.json` under XDG_DATA_HOME, or what the platform has for it."""
    return user_data_path("shapecalc", appauthor=False) / "app.json"


class UserFile:
    """The theme and the questions, the last one first. If the file cannot be used, they last as long as the app.

    >>> from os import devnull
    >>> kept = UserFile(Path(devnull, "app.json"))
    >>> for line in ("shapecalc reshape 6 2,3", "shapecalc flatten 2,3", "shapecalc reshape 6 2,3"):
    ...     kept.add_question(line)
    >>> kept.questions
    ('shapecalc reshape 6 2,3', 'shapecalc flatten 2,3')
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read what is kept: nothing if there is no file, or if it cannot be read."""
        self.file = app_file() if file is None else file
        kept = self._read()
        self.theme = str(kept.get("theme", ""))
        self.questions = _questions(kept)

    def keep_theme(self, name: str) -> None:
        """Remember a theme."""
        if name != self.theme:
            self.theme = name
            self._write()

    def add_question(self, line: str) -> None:
        """Remember a question by its command line; what another app has asked in the meantime is kept."""
        if self.questions[:1] != (line,):
            self.questions = _kept((line, *_questions(self._read()), *self.questions))
            self._write()

    def _read(self) -> dict[str, Any]:
        """Return what the file holds; nothing if that is no object."""
        with suppress(OSError, ValueError, RecursionError):
            if self.file.is_file() and self.file.stat().st_size <= LARGEST:
                kept = json.loads(self.file.read_text("utf-8"))
                return kept if isinstance(kept, dict) else {}
        return {}

    def _write(self) -> None:
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.file, json.dumps({"theme": self.theme, "questions": self.questions}).encode(), force=True)


def _questions(kept: dict[str, Any]) -> tuple[str, ...]:
    """Return the questions that a file holds; none if they are no list of texts."""
    lines = kept.get("questions")
    return _kept([line for line in lines if isinstance(line, str)]) if isinstance(lines, list) else ()


def _kept(lines: Iterable[str]) -> tuple[str, ...]:
    """Return those of some lines that are kept, each once."""
    return tuple(dict.fromkeys(line for line in lines if len(line) <= LONGEST_QUESTION))[:MOST_QUESTIONS]


class VisitorFile(UserFile):
    """What is remembered of a visitor of a served app: nothing longer than the app runs."""

    def _read(self) -> dict[str, Any]:
        return {}

    def _write(self) -> None:
        """Write nothing."""
