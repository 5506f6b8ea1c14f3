"""Which lessons are done, kept in the user's data folder. Losing that file loses nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from platformdirs import user_data_path

from shapecalc.core.sizes.quoting import visible
from shapecalc.engine.whole_files import whole_file

LARGEST = 1 << 20
"""Bytes of the largest file that is read."""


def progress_file() -> Path:
    """Return where progress is kept: `shapecalc/lessons.json` under XDG_DATA_HOME, or what the platform has for it."""
    return user_data_path("shapecalc", appauthor=False) / "lessons.json"


class Progress:
    """The lessons that are done. If the file cannot be used, they are kept until the program ends.

    >>> from os import devnull
    >>> progress = Progress(Path(devnull, "lessons.json"))
    >>> progress.mark("hole")
    >>> sorted(progress.done), progress.complaint() != "", progress.complaint()
    (['hole'], True, '')
    """

    def __init__(self, file: Path | None = None) -> None:
        """Read what is done: nothing if there is no file, or if it cannot be read."""
        self.file = progress_file() if file is None else file
        self._complaint = ""
        self._told = False
        self.done = self._read()

    def mark(self, lesson: str) -> None:
        """Note that a lesson is done; what another program has noted in the meantime is kept."""
        self.done |= self._read() | {lesson}
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

    def _read(self) -> frozenset[str]:
        """Return what the file holds; nothing, with a complaint, if that is not a list of lessons."""
        try:
            if not self.file.exists():
                return frozenset()
            if not self.file.is_file() or self.file.stat().st_size > LARGEST:
                raise ValueError
            done = json.loads(self.file.read_text("utf-8"))["done"]
            if not isinstance(done, list) or not all(isinstance(lesson, str) for lesson in done):
                raise ValueError
        except OSError as error:
            self._complain(f"cannot be read: {error.strerror}")
        except (ValueError, KeyError, TypeError, RecursionError):
            self._complain("does not hold a list of lessons")
        else:
            return frozenset(done)
        return frozenset()

    def _write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.file, force=True) as file:
            file.write(json.dumps({"done": sorted(self.done)}).encode())


class VisitorProgress(Progress):
    """The lessons that a visitor of a served app has done: known while the app runs, and kept nowhere."""

    def __init__(self) -> None:
        """Begin with nothing done."""
        self.done: frozenset[str] = frozenset()
        super().__init__(Path())

    def _read(self) -> frozenset[str]:
        return self.done

    def _write(self) -> None:
        """Write nothing."""
