"""What a run of checks writes besides its lines: the summary, progress, JUnit's file, files anew."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

from shapecalc.cli.checking.reports import Verdict
from shapecalc.cli.output import Exit, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import IO

CODES = {Verdict.FAILED: Exit.NO, Verdict.UNREAD: Exit.USAGE, Verdict.UNRESOLVED: Exit.UNRESOLVED}
ENDING = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
"""The signals that end a run: whatever was begun is taken back, and no temporary file stays."""
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


class WholeLines:
    """Writing that an interrupt does not cut: it waits for the lines at hand, a second one does not."""

    def __enter__(self) -> WholeLines:
        """Take over what an interrupt does."""
        self._writing = self._waiting = False
        ours = threading.current_thread() is threading.main_thread()
        self._before = {number: signal.signal(number, self._interrupt) for number in ENDING} if ours else {}
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Give it back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

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
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: object) -> None:
        if self._writing and not self._waiting:
            self._waiting = True
            return
        raise KeyboardInterrupt


@contextmanager
def junit_file(path: str | None, counts: Mapping[Verdict, int]) -> Iterator[IO[str] | None]:
    """Yield what takes the test cases as XML; at the end the file holds all of them, or is not there.

    Raises `OSError` if it cannot be written.
    """
    if path is None:
        yield None
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as cases, replace_file(Path(path)) as file:
        yield cases
        errors = counts[Verdict.UNREAD] + counts[Verdict.UNRESOLVED]
        totals = f'tests="{sum(counts.values())}" failures="{counts[Verdict.FAILED]}" errors="{errors}"'
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="shapecalc check" {totals}>\n'.encode())
        cases.seek(0)
        while piece := cases.read(1 << 20):
            file.write(piece.encode())
        file.write(b"</testsuite>\n")


@contextmanager
def replace_file(path: Path, wanted: Callable[[], bool] = lambda: True) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path`, whole, once it is written and `wanted`; else `path` stays as it is.

    Raises `OSError` if it cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():  # a device is written to, not replaced
        with target.open("wb") as file:
            yield file
        return
    seen = _state(target)
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not wanted():
            os.unlink(beside)  # noqa: PTH108 - a name that is a text
            return
        if _state(target) != seen:
            raise OSError(0, "it was changed by somebody else meanwhile")
        if target.exists():
            shutil.copymode(target, beside)
        else:
            Path(beside).chmod(0o666 & ~_umask())
        os.replace(beside, target)  # noqa: PTH105 - the same
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)  # noqa: PTH108 - the same
        raise


def _state(path: Path) -> tuple[int, ...] | None:
    """Return what tells a file from what it was before; None if there is no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
