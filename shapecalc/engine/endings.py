"""The signals that ask a program to end: they stop the work, and what was begun is undone. A child ignores them."""

from __future__ import annotations

import signal
import threading
import warnings
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Endings:
    """While it is entered, a signal that asks for the end raises `KeyboardInterrupt`, and whatever was begun is undone.

    Only the first does: those that come while things are undone change nothing. A signal that the program was
    started to ignore, as under `nohup`, is still ignored, and one that other code waits for is left to it.
    """

    def __enter__(self) -> Self:
        self.asked = False
        ours = ENDING if threading.current_thread() is threading.main_thread() else ()
        usual = (signal.SIG_DFL, signal.default_int_handler)
        self._before = {number: before for number in ours if (before := signal.getsignal(number)) in usual}
        for number in self._before:
            signal.signal(number, self.end)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def end(self, number: int, frame: object) -> None:
        """Take a signal."""
        if not self.asked:
            self.asked = True
            raise KeyboardInterrupt


@contextmanager
def child_starting() -> Iterator[None]:
    """Let these signals wait while a child starts: it must not take one before it has called `leave_to_parent`.

    Python warns of the threads that are not in a forked child; none of those here does its work.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING) if hasattr(signal, "pthread_sigmask") else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_parent() -> None:
    """Ignore these signals in a child, since they go to both: the parent says when the child ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
