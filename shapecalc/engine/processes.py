"""Processes: the cores that this one may use, the signals that ask it to end, and a child that does its work."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from typing import Self

    Tick = Callable[[int], object]

GROUPS = Path("/sys/fs/cgroup")
"""Where Linux shows its control groups."""
MANY = 1 << 16
"""So many cores no process has."""
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a program to end."""
HEADROOM = 192 << 20
"""The bytes that libraries may take beside what a run is given: with what Python has at first, they are 256 MiB."""
STACK = 1 << 20
"""The bytes of a thread's stack where memory is bounded: all of it counts, used or not."""
FORKS = hasattr(os, "fork")
"""Whether the system can split a process in two that share their files and mappings."""


def count_cores() -> int:
    """Return how many cores this process may use, at least one: those it is bound to, if its control group pays.

    Sources: sched_getaffinity(2); the kernel's document of control groups, version 2, `cpu.max`.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, _paid()))


@cache
def _paid() -> int:
    """Return how many cores' time the process and the groups around it are given, rounded up."""
    try:
        return paid_cores(Path("/proc/self/cgroup").read_text(), GROUPS)
    except OSError:
        return MANY  # a system without control groups


def paid_cores(text: str, groups: Path) -> int:
    """Return how many cores' time the group that `/proc/self/cgroup` names is given; many if there is no limit.

    Of nested groups the tightest limit holds.
    """
    names = [line.removeprefix("0::/") for line in text.splitlines() if line.startswith("0::/")]
    files = [groups / folder / "cpu.max" for name in names for folder in Path(name, "_").parents]
    limits = [file.read_text().split() for file in files if file.is_file()]
    return min([max(1, -(-int(quota) // int(period))) for quota, period in limits if quota != "max"], default=MANY)


def bound_memory(most: int) -> tuple[int, int] | None:
    """Let this process take so many bytes, and what libraries need, from now on: more raises `MemoryError`.

    Mapped files do not count. Returns the limits before; None where the system has none. Source: setrlimit(2).
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        held = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    except (OSError, StopIteration):
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    soft = min([limit for limit in (*before, held + most + HEADROOM) if limit != resource.RLIM_INFINITY])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    threading.stack_size(STACK)
    return before


@contextmanager
def memory_bounded(most: int) -> Iterator[None]:
    """Bound the memory of this process meanwhile."""
    before = bound_memory(most)
    try:
        yield
    finally:
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, before)
            threading.stack_size(0)


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
def endings_waiting() -> Iterator[None]:
    """Let these signals wait meanwhile, where the system can."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def child_starting() -> Iterator[None]:
    """Let these signals wait while a child starts: it must not take one before it has called `leave_to_parent`.

    Python warns of the threads that are not in a forked child; none of those here does its work.
    """
    with endings_waiting(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def leave_to_parent() -> None:
    """Ignore these signals in a child, since they go to both: the parent says when the child ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


class KilledError(Exception):
    """Work that a signal has ended. The message names the signal."""


def do_in_child(work: Callable[[Tick], object], tick: Tick) -> None:
    """Do work in a child process, with a `tick` that is called here.

    What reads a mapped file is killed if the file is cut short; so only the child is. Raises what the work raises,
    `KilledError` if a signal ends the child. The child ends with this process.
    """
    from multiprocessing import get_context

    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(work, here, there), daemon=True)
    with here:
        with there, child_starting():
            child.start()
        try:
            while (sent := here.recv()) is not None:
                if isinstance(sent, BaseException):
                    raise sent
                tick(sent)
        except EOFError:
            child.join()
            code = child.exitcode or 0
            raise KilledError(signal.Signals(-code).name if code < 0 else f"exit code {code}") from None
        except BaseException:
            child.kill()
            raise
        finally:
            child.join()


def _work(work: Callable[[Tick], object], here: Connection, there: Connection) -> None:
    """Do the work and tell of it, from several threads: a pipe does not mix short messages. A gone parent ends it."""
    import resource

    here.close()
    leave_to_parent()
    # the death that is expected leaves no image of the memory in the folder, and no trace on standard error
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
    with suppress(BrokenPipeError):
        try:
            work(there.send)
            there.send(None)
        except Exception as error:  # whatever it is, it is raised in the parent
            there.send(error)
