"""What a run of checks writes besides its lines: the summary, progress, JUnit's file, files anew."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from shapecalc.cli.checking.reports import Verdict
from shapecalc.cli.output import Exit, put
from shapecalc.engine.processes import Endings
from shapecalc.engine.whole_files import report_file, whole_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO

CODES = {Verdict.FAILED: Exit.NO, Verdict.UNREAD: Exit.USAGE, Verdict.UNRESOLVED: Exit.UNRESOLVED}
FIRST_PROGRESS, NEXT_PROGRESS = 1.0, 0.2
"""Seconds before progress is told, and from one telling to the next."""


def worst_code(counts: Mapping[Verdict, int]) -> int:
    """Return the exit code of all lines together: the largest of theirs."""
    return max((CODES[verdict] for verdict, count in counts.items() if count and verdict in CODES), default=Exit.YES)


def summary(counts: Mapping[Verdict, int]) -> str:
    """Return what all lines came to, in one line.

    >>> summary({Verdict.PASSED: 1200, Verdict.FAILED: 1})
    '1,200 passed, 1 failed'
    """
    said = [f"{count:,} {verdict.value}" for verdict, count in counts.items() if count]
    return ", ".join(said) or "no cases"


class Progress:
    """How far a long run is, told on a terminal on which nothing else is written."""

    def __init__(self, *, wanted: bool) -> None:
        """Begin to count; the first second says nothing."""
        self._shows = wanted and sys.stderr is not None and sys.stderr.isatty() and not _is_terminal(sys.stdout)
        self._next, self._shown = monotonic() + FIRST_PROGRESS, False

    def tell(self, counts: Mapping[Verdict, int]) -> None:
        """Write the counts over those written before, if it is time to."""
        if self._shows and monotonic() >= self._next:
            self._next, self._shown = monotonic() + NEXT_PROGRESS, True
            self._write(f"\r\x1b[K{f'shapecalc: {summary(counts)} ...'[: shutil.get_terminal_size().columns - 1]}")

    def clear(self) -> None:
        """Take the counts away again."""
        if self._shown:
            self._write("\r\x1b[K")
            self._shown = False

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _is_terminal(stream: IO[str] | None) -> bool:
    return stream is not None and stream.isatty()


class WholeLines(Endings):
    """Writing that an interrupt does not cut: it waits for the lines at hand, a second one does not."""

    _writing = _waiting = False

    def put(self, lines: str) -> None:
        """Write lines to stdout; raise `RunEnded` if that fails."""
        if not lines:
            return
        self._writing = True
        try:
            put(lines.removesuffix("\n"))
        finally:
            self._writing = False
        if self._waiting:
            self.asked = True
            raise KeyboardInterrupt

    def end(self, number: int, frame: object) -> None:
        """Take a signal."""
        if self._writing and not self._waiting:
            self._waiting = True
        else:
            super().end(number, frame)


@contextmanager
def junit_file(path: str | None, counts: Mapping[Verdict, int], command: str = "check") -> Iterator[IO[str] | None]:
    """Yield what takes the test cases as XML; at the end the file holds all of them, or is not there.

    Raises `OSError` if it cannot be written.
    """
    if path is None:
        yield None
        return
    import tempfile

    with tempfile.TemporaryFile("w+", encoding="utf-8") as cases, report_file(Path(path)) as file:
        yield cases
        errors = counts[Verdict.UNREAD] + counts[Verdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[Verdict.FAILED]}" errors="{errors}"'
        title = f'name="shapecalc {command}" {totals}'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite {title}>\n'.encode())
        cases.seek(0)
        while piece := cases.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def updated_file(path: Path, changed: Callable[[], bool]) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` if something has `changed`.

    Raises `OSError` if it cannot be written, or if `path` is not what it was at first.
    """
    before = _state(path)

    def wanted() -> bool:
        if changed() and _state(path) != before:
            raise OSError(0, "another program has changed it in the meantime")
        return changed()

    with whole_file(path, force=True, wanted=wanted) as file:
        yield file


def _state(path: Path) -> tuple[int, ...]:
    """Return what tells a file from what it was before."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
