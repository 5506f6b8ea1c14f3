"""Which lessons are done, and the score of exercises, in a file of the user's. Losing it loses nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from shapecalc.core.text import visible
from shapecalc.engine.whole_files import whole_file

LARGEST = 1 << 20
"""Bytes of the largest file that is read."""


def progress_file() -> Path:
    """Return where progress is kept: `shapecalc/lessons.json` under XDG_DATA_HOME, or what the platform has for it."""
    return user_data_path("shapecalc", appauthor=False) / "lessons.json"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many exercises were answered, how well, and how well each kind is known."""

    asked: int = 0
    right: int = 0
    streak: int = 0
    """How many of the last were right, one after the other."""
    best: int = 0
    """The longest streak."""
    boxes: Mapping[str, int] = field(default_factory=dict)
    """The box of each kind; see `drill.GAPS`."""

    def after(self, kind: str, box: int, *, right: bool) -> Tally:
        """Return the tally with one more answer.

        >>> Tally(3, 2, 1, 2).after("copied", 1, right=True)
        Tally(asked=4, right=3, streak=2, best=2, boxes={'copied': 1})
        """
        streak = self.streak + 1 if right else 0
        boxes = {**self.boxes, kind: box}
        return Tally(self.asked + 1, self.right + right, streak, max(self.best, streak), boxes)

    def __str__(self) -> str:
        return f"{self.right} of {self.asked} right, streak {self.streak}, best {self.best}"


@dataclass(slots=True)
class Score:
    """What was asked since the program was opened, and how much of it was right as first answered. A hint is no answer.

    >>> score = Score()
    >>> score.mark(right=True), score.mark(right=False), str(score)
    (None, None, '1 of 2 right')
    """

    right: int = 0
    asked: int = 0

    def mark(self, *, right: bool) -> None:
        """Note one more answer; one that was shown is not right."""
        self.right, self.asked = self.right + right, self.asked + 1

    def __str__(self) -> str:
        return f"{self.right} of {self.asked} right" if self.asked else ""


class Progress:
    """The lessons that are done, and the score. If the file cannot be used, they are kept until the program ends.

    >>> from os import devnull
    >>> progress = Progress(Path(devnull, "lessons.json"))
    >>> progress.mark("hole")
    >>> sorted(progress.done), progress.complaint() != "", progress.complaint()
    (['hole'], True, '')
    """

    done: frozenset[str] = frozenset()
    """The ids of the lessons that are done."""
    tally = Tally()
    """The score of all exercises so far."""

    def __init__(self, file: Path | None = None) -> None:
        """Read what is done: nothing if there is no file, or if it cannot be read."""
        self.file = progress_file() if file is None else file
        self.today = Score()
        """The score since the program was opened."""
        self._complaint = ""
        self._told = False
        self.done, self.tally = self._read()

    def mark(self, lesson: str) -> None:
        """Note that a lesson is done."""
        self._catch_up()
        self.done |= {lesson}
        self._keep()

    def score(self, kind: str, box: int, *, right: bool) -> None:
        """Note an answer to an exercise, and the box that its kind is in now."""
        self._catch_up()
        self.tally = self.tally.after(kind, box, right=right)
        self._keep()

    def _catch_up(self) -> None:
        """Take over what another program has noted in the meantime."""
        done, tally = self._read()
        self.done |= done
        self.tally = max(self.tally, tally, key=lambda tally: tally.asked)

    def _keep(self) -> None:
        try:
            self._write()
        except OSError as error:
            self._complain(f"cannot be written: {error.strerror}")

    def complaint(self) -> str:
        """Return why progress is not kept, if it is asked for the first time; nothing otherwise."""
        if self._told or not self._complaint:
            return ""
        self._told = True
        return self._complaint

    def _complain(self, reason: str) -> None:
        self._complaint = self._complaint or visible(f"progress is not kept: {self.file} {reason}")

    def _read(self) -> tuple[frozenset[str], Tally]:
        """Return what the file holds; nothing, with a complaint, if that is not what is written there."""
        try:
            if not self.file.exists():
                return frozenset(), Tally()
            if not self.file.is_file() or self.file.stat().st_size > LARGEST:
                raise ValueError
            return _done_and_tally(json.loads(self.file.read_text("utf-8")))
        except OSError as error:
            self._complain(f"cannot be read: {error.strerror}")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self._complain("does not hold a list of lessons")
        return frozenset(), Tally()

    def _write(self) -> None:
        content = {"done": sorted(self.done)} | ({"drill": asdict(self.tally)} if self.tally.asked else {})
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.file, force=True) as file:
            file.write(json.dumps(content).encode())


def _done_and_tally(read: Any) -> tuple[frozenset[str], Tally]:
    """Return what was kept, from its JSON; raise the error that Python raises of anything else."""
    done, drill = read["done"], dict(read.get("drill", {}))
    boxes = drill.pop("boxes", {})
    if not isinstance(done, list) or not all(isinstance(lesson, str) for lesson in done):
        raise ValueError
    if not all(type(number) is int and number >= 0 for number in [*drill.values(), *boxes.values()]):
        raise ValueError
    return frozenset(done), Tally(**drill, boxes=boxes)


class VisitorProgress(Progress):
    """What a visitor of a served app has done: known while the app runs, and kept nowhere."""

    def __init__(self) -> None:
        """Begin with nothing done."""
        super().__init__(Path())

    def _read(self) -> tuple[frozenset[str], Tally]:
        return self.done, self.tally

    def _write(self) -> None:
        """Write nothing."""
