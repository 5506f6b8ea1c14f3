"""The progress of the user: the completed lessons and the exercise score.

The progress is stored in the user's data folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from shapecalc.core.text import escape_unprintable
from shapecalc.engine.atomic_files import atomic_file

MAX_PROGRESS_FILE_BYTES = 1 << 20
"""The maximum size of a progress file, in bytes."""


def progress_path() -> Path:
    """Return the path of the progress file in the user's data folder."""
    return user_data_path("shapecalc", appauthor=False) / "lessons.json"


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of answered exercises, and the Leitner box of each kind of exercise."""

    asked: int = 0
    right: int = 0
    streak: int = 0
    """The number of right answers since the last wrong answer."""
    best: int = 0
    """The longest streak."""
    boxes: Mapping[str, int] = field(default_factory=dict)
    """The Leitner box of each kind of exercise; see `exercises.REVIEW_INTERVALS`."""

    def with_answer(self, kind_name: str, box: int, *, right: bool) -> Tally:
        """Return the tally after one more answer.

        >>> Tally(3, 2, 1, 2).with_answer("copied", 1, right=True)
        Tally(asked=4, right=3, streak=2, best=2, boxes={'copied': 1})
        """
        streak = self.streak + 1 if right else 0
        boxes = {**self.boxes, kind_name: box}
        return Tally(self.asked + 1, self.right + right, streak, max(self.best, streak), boxes)

    def __str__(self) -> str:
        return f"{self.right} of {self.asked} right, streak {self.streak}, best {self.best}"


@dataclass(slots=True)
class Score:
    """The score since the start of the program.

    Only the first answer to a task counts; a request for a hint is not an answer.

    >>> score = Score()
    >>> score.record_answer(right=True), score.record_answer(right=False), str(score)
    (None, None, '1 of 2 right')
    """

    right: int = 0
    asked: int = 0

    def record_answer(self, *, right: bool) -> None:
        """Record an answer; a revealed answer counts as wrong."""
        self.right, self.asked = self.right + right, self.asked + 1

    def __str__(self) -> str:
        return f"{self.right} of {self.asked} right" if self.asked else ""


class Progress:
    """The completed lessons and the score.

    If the progress file is unusable, the progress is kept only until the program ends.

    >>> from os import devnull
    >>> progress = Progress(Path(devnull, "lessons.json"))
    >>> progress.mark_done("hole")
    >>> sorted(progress.done), progress.pop_complaint() != "", progress.pop_complaint()
    (['hole'], True, '')
    """

    done: frozenset[str] = frozenset()
    """The ids of the completed lessons."""
    tally = Tally()
    """The tally of all exercises so far."""

    def __init__(self, file: Path | None = None) -> None:
        """Load the file; if it does not exist or is unusable, the progress is empty."""
        self.file = progress_path() if file is None else file
        self.session_score = Score()
        """The score since the start of the program."""
        self._complaint = ""
        self._is_reported = False
        self.done, self.tally = self._read()

    def mark_done(self, lesson: str) -> None:
        """Record that a lesson is completed."""
        self._merge_file()
        self.done |= {lesson}
        self._save()

    def record_answer(self, kind: str, box: int, *, right: bool) -> None:
        """Record an answer to an exercise, with the new box of its kind."""
        self._merge_file()
        self.tally = self.tally.with_answer(kind, box, right=right)
        self._save()

    def _merge_file(self) -> None:
        """Merge the progress that other processes have saved since the last read."""
        done, tally = self._read()
        self.done |= done
        self.tally = max(self.tally, tally, key=lambda tally: tally.asked)

    def _save(self) -> None:
        try:
            self._write()
        except OSError as error:
            self._complain(f"cannot be written: {error.strerror}")

    def pop_complaint(self) -> str:
        """Return, only once, the reason why progress is not saved, or an empty string."""
        if self._is_reported or not self._complaint:
            return ""
        self._is_reported = True
        return self._complaint

    def _complain(self, reason: str) -> None:
        self._complaint = self._complaint or escape_unprintable(f"progress is not kept: {self.file} {reason}")

    def _read(self) -> tuple[frozenset[str], Tally]:
        """Load the file; if it is unusable, set the complaint and return empty progress."""
        try:
            if not self.file.exists():
                return frozenset(), Tally()
            if not self.file.is_file() or self.file.stat().st_size > MAX_PROGRESS_FILE_BYTES:
                raise ValueError
            return _parse_progress(json.loads(self.file.read_text("utf-8")))
        except OSError as error:
            self._complain(f"cannot be read: {error.strerror}")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._complain("does not hold a list of lessons")
        return frozenset(), Tally()

    def _write(self) -> None:
        content = {"done": sorted(self.done)} | ({"drill": asdict(self.tally)} if self.tally.asked else {})
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(self.file, force=True) as file:
            file.write(json.dumps(content).encode())


def _parse_progress(content: Any) -> tuple[frozenset[str], Tally]:
    """Parse the JSON content of a progress file.

    Raises `ValueError`, `KeyError`, `TypeError` or `AttributeError` if the content is malformed.
    """
    done, drill = content["done"], dict(content.get("drill", {}))
    boxes = drill.pop("boxes", {})
    if not isinstance(done, list) or not all(isinstance(lesson, str) for lesson in done):
        raise ValueError
    if not all(type(number) is int and number >= 0 for number in [*drill.values(), *boxes.values()]):
        raise ValueError
    return frozenset(done), Tally(**drill, boxes=boxes)


class VisitorProgress(Progress):
    """The progress of one visitor to a served app; it is never stored."""

    def __init__(self) -> None:
        """Start with empty progress."""
        super().__init__(Path())

    def _read(self) -> tuple[frozenset[str], Tally]:
        return self.done, self.tally

    def _write(self) -> None:
        """Do nothing, because the progress of a visitor is not stored."""
