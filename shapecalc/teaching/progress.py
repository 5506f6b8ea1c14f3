"""The progress of the user: completed lessons and scores of exercises.

The progress is stored in the user's data folder. Each kind of exercise is in one of several Leitner boxes, which
determines when the kind is repeated.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from shapecalc.core.problem import error_reason
from shapecalc.core.text import escape_unprintable
from shapecalc.engine.atomic_files import atomic_file, lock_folder, rename_and_sync

MAX_PROGRESS_FILE_BYTES = 1 << 20
"""The maximum size of a progress file, in bytes."""


def progress_path() -> Path:
    """Return the path of the progress file in the user's data folder."""
    return user_data_path("shapecalc", appauthor=False) / "lessons.json"


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of answered exercises, and the Leitner box of each kind."""

    asked: int = 0
    right: int = 0
    streak: int = 0
    """The number of right answers since the last wrong answer."""
    best: int = 0
    """The longest streak."""
    boxes: Mapping[str, int] = field(default_factory=dict)
    """The Leitner box of each kind of exercise; see `exercises.REVIEW_INTERVALS`."""

    def with_answer(self, kind_name: str, box: int, *, right: bool) -> Tally:
        """Return a copy of the tally that includes another answer.

        `box` is the new box of the kind.

        >>> Tally(3, 2, 1, 2).with_answer("copied", 1, right=True)
        Tally(asked=4, right=3, streak=2, best=2, boxes={'copied': 1})
        """
        streak = self.streak + 1 if right else 0
        boxes = {**self.boxes, kind_name: box}
        return Tally(self.asked + 1, self.right + right, streak, max(self.best, streak), boxes)

    def __str__(self) -> str:
        return f"{self.right} of {self.asked} right, streak {self.streak}, best {self.best}"


COUNTS = ("asked", "right", "streak", "best")
"""The fields of a tally that are counts."""


@dataclass(slots=True)
class Score:
    """The counts of right answers and of all answers in a session.

    Callers record only the first answer to each task.

    >>> score = Score()
    >>> score.record_answer(right=True), score.record_answer(right=False), str(score)
    (None, None, '1 of 2 at first try')
    """

    right: int = 0
    answered: int = 0

    def record_answer(self, *, right: bool) -> None:
        """Count an answer.

        An answer that the user reveals counts as wrong.
        """
        self.right, self.answered = self.right + right, self.answered + 1

    def __str__(self) -> str:
        return f"{self.right} of {self.answered} at first try" if self.answered else ""


class Progress:
    """The completed lessons and the scores of exercises, stored in a JSON file.

    If the file cannot be used, the progress is kept in memory.

    >>> from os import devnull
    >>> progress = Progress(Path(devnull, "lessons.json"))
    >>> progress.mark_done("hole")
    >>> sorted(progress.done), progress.pop_error_message() != "", progress.pop_error_message()
    (['hole'], True, '')
    """

    done: frozenset[str] = frozenset()
    """The ids of the completed lessons."""
    tally = Tally()
    """The tally of all exercises so far."""

    def __init__(self, file: Path | None = None) -> None:
        """Load the progress from a file, by default the user's.

        A missing or unusable file means no progress.
        """
        self.file = progress_path() if file is None else file
        self.session_score = Score()
        """The score since the start of the program."""
        self._save_errors: dict[str, bool] = {}
        """The reasons why progress is not saved, and whether each was reported."""
        self._content: dict[str, Any] = {}
        """The content of the file, including unknown fields, which are preserved."""
        self._is_unreadable = False
        self._merge_file()

    def mark_done(self, lesson: str) -> None:
        """Record that a lesson is completed."""
        self._save(lambda: setattr(self, "done", self.done | {lesson}))

    def record_answer(self, kind: str, box: int, *, right: bool) -> None:
        """Record an answer to a kind of exercise, and the kind's new Leitner box."""
        self._save(lambda: setattr(self, "tally", self.tally.with_answer(kind, box, right=right)))

    def _save(self, change: Callable[[], None]) -> None:
        """Apply a change to the current progress, and save it.

        A lock prevents other processes from writing the file between reading and writing it here.
        """
        is_changed = False
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with lock_folder(self.file.parent):
                self._merge_file()
                change()
                is_changed = True
                self._write()
        except OSError as error:
            self._set_error_message(f"progress is not kept: {self.file} cannot be written: {error_reason(error)}")
        if not is_changed:
            change()

    def _merge_file(self) -> None:
        """Merge the progress in the file into this object.

        The progress in the file may be newer, because other processes write it.
        """
        self._content, self._is_unreadable = {}, False
        try:
            if self.file.exists():
                self._content = self._read()
                done, tally = _parse_progress(self._content)
                self.done |= done
                self.tally = max(self.tally, tally, key=lambda tally: tally.asked)
        except OSError as error:
            self._set_unreadable(f"cannot be read: {error_reason(error)}")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._set_unreadable("does not hold a list of lessons")

    def _read(self) -> Any:
        """Read the file, and return the parsed JSON.

        Raises `OSError` or `ValueError` if the file cannot be read.
        """
        if not self.file.is_file() or self.file.stat().st_size > MAX_PROGRESS_FILE_BYTES:
            raise ValueError
        return json.loads(self.file.read_text("utf-8"))

    def _write(self) -> None:
        if self._is_unreadable and self.file.is_file():
            rename_and_sync(self.file, self._backup_path())
        drill = {**self._content.get("drill", {}), **asdict(self.tally)} if self.tally.asked else None
        content = {**self._content, "done": sorted(self.done)} | ({"drill": drill} if drill else {})
        with atomic_file(self.file, force=True) as file:
            file.write(json.dumps(content).encode())

    def _backup_path(self) -> Path:
        """Return an unused path for a backup of an unreadable file."""
        names = (self.file.with_name(f"{self.file.name}.unreadable-{number}") for number in count(1))
        return next(path for path in names if not os.path.lexists(path))

    def _set_unreadable(self, reason: str) -> None:
        self._content, self._is_unreadable = {}, True
        if self.file.is_file():
            name = self._backup_path().name
            self._set_error_message(
                f"progress starts anew: {self.file} {reason}; it is renamed to {name} before the next save"
            )
        else:
            self._set_error_message(f"progress is not kept: {self.file} {reason}")

    def pop_error_message(self) -> str:
        """Return the reason why progress is not saved, and mark it as reported.

        Returns an empty string if there is none, or if it was reported already.
        """
        message = next((text for text, is_reported in self._save_errors.items() if not is_reported), "")
        if message:
            self._save_errors[message] = True
        return message

    def _set_error_message(self, message: str) -> None:
        self._save_errors.setdefault(escape_unprintable(message), False)


def _parse_progress(content: Any) -> tuple[frozenset[str], Tally]:
    """Parse the contents of a progress file.

    Unknown fields are ignored. Malformed contents raise `ValueError`, `KeyError`, `TypeError` or `AttributeError`.
    """
    done, drill = content["done"], dict(content.get("drill", {}))
    boxes, numbers = drill.get("boxes", {}), {name: drill[name] for name in COUNTS if name in drill}
    if not isinstance(done, list) or not all(isinstance(lesson, str) for lesson in done):
        raise ValueError
    if not all(type(number) is int and number >= 0 for number in [*numbers.values(), *boxes.values()]):
        raise ValueError
    return frozenset(done), Tally(**numbers, boxes=boxes)


class VisitorProgress(Progress):
    """The progress of a visitor of the web server, kept in memory."""

    def __init__(self) -> None:
        """Start with empty progress."""
        super().__init__(Path())

    def _merge_file(self) -> None:
        """Do nothing, because the progress is not in a file."""

    def _save(self, change: Callable[[], None]) -> None:
        change()
