"""Process control: CPU cores, memory limits, termination signals and child processes."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache

TYPE_CHECKING = False  # importing `multiprocessing` takes 8 ms, `pathlib` 4 ms, of the 64 ms of a check
if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path
    from typing import Self

ProgressCallback = Callable[[int], object]

CGROUP_ROOT = "/sys/fs/cgroup"
"""The mount point of Linux control groups."""
UNLIMITED_CORES = 1 << 16
"""The core count that represents an unlimited quota; it exceeds the core count of any machine."""
TERMINATION_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that by default end a program."""
HEADROOM_BYTES = 192 << 20
"""The number of bytes that libraries may allocate beyond the memory limit.

Together with the memory of a Python process after its start, this is 256 MiB.
"""
STACK_BYTES = 1 << 20
"""The stack size of a thread under a memory limit, which counts the whole stack."""
CAN_FORK = hasattr(os, "fork")
"""Whether the system supports `fork`."""


class SignalGuard:
    """A context in which the first termination signal raises `KeyboardInterrupt`.

    Later signals are ignored, so that they do not interrupt the cleanup. A signal that was ignored when the program
    started, as under `nohup`, remains ignored, and a handler that other code has installed is kept.
    """

    def __enter__(self) -> Self:
        self.is_interrupted = False
        ours = TERMINATION_SIGNALS if threading.current_thread() is threading.main_thread() else ()
        usual = (signal.SIG_DFL, signal.default_int_handler)
        self._before = {number: before for number in ours if (before := signal.getsignal(number)) in usual}
        for number in self._before:
            signal.signal(number, self.handle_signal)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def handle_signal(self, number: int, frame: object) -> None:
        """Raise `KeyboardInterrupt` for the first signal, and ignore later ones."""
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt


class KilledError(Exception):
    """Raised if a child process is killed.

    The message contains the name of the signal, or the exit code.
    """


def count_cores() -> int:
    """Return the number of cores that this process may use, at least one.

    The number is limited by the CPU affinity and by the quota of the control group. Sources: sched_getaffinity(2); the
    kernel's documentation of control groups, version 2, `cpu.max`.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(bound, _read_own_core_quota()))


@cache
def _read_own_core_quota() -> int:
    """Return the CPU quota of this process in cores, rounded up to an integer."""
    from pathlib import Path

    try:
        return read_core_quota(Path("/proc/self/cgroup").read_text(), Path(CGROUP_ROOT))
    except OSError:
        return UNLIMITED_CORES  # the system has no control groups


def read_core_quota(cgroup_text: str, root: Path) -> int:
    """Return the smallest CPU quota among nested control groups, in cores.

    The quota is rounded up to an integer. `cgroup_text` is the content of `/proc/self/cgroup`.
    """
    from pathlib import Path

    names = [line.removeprefix("0::/") for line in cgroup_text.splitlines() if line.startswith("0::/")]
    files = [root / folder / "cpu.max" for name in names for folder in Path(name, "_").parents]
    limits = [file.read_text().split() for file in files if file.is_file()]
    return min(
        [max(1, -(-int(quota) // int(period))) for quota, period in limits if quota != "max"], default=UNLIMITED_CORES
    )


def limit_memory(max_bytes: int) -> tuple[int, int] | None:
    """Limit the memory of this process to `max_bytes`, plus `HEADROOM_BYTES` for libraries.

    An allocation beyond the limit raises `MemoryError`. Mapped files are not counted. Returns the previous soft and
    hard limits, or None if the system does not support limits. Source: setrlimit(2).
    """
    from pathlib import Path

    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        used = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData"))
    except (OSError, StopIteration):
        return None
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    soft = min([limit for limit in (*before, used + max_bytes + HEADROOM_BYTES) if limit != resource.RLIM_INFINITY])
    resource.setrlimit(resource.RLIMIT_DATA, (soft, before[1]))
    threading.stack_size(STACK_BYTES)
    return before


@contextmanager
def memory_limit(max_bytes: int) -> Iterator[None]:
    """Limit the memory of this process in a `with` block, as `limit_memory` does."""
    before = limit_memory(max_bytes)
    try:
        yield
    finally:
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, before)
            threading.stack_size(0)


@contextmanager
def block_signals() -> Iterator[None]:
    """Block the termination signals in a `with` block, if the system supports it."""
    before = (
        signal.pthread_sigmask(signal.SIG_BLOCK, TERMINATION_SIGNALS) if hasattr(signal, "pthread_sigmask") else None
    )
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def block_signals_at_fork() -> Iterator[None]:
    """Block the termination signals in a `with` block that starts a child process.

    The child must not receive a signal before it has called `ignore_termination`. Python's warning that a forked child
    lacks the threads of its parent is suppressed, because the child does not use these threads.
    """
    with block_signals(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def ignore_termination() -> None:
    """Ignore the termination signals in a child process.

    They are sent to the whole process group, but only the parent may end the child.
    """
    for number in TERMINATION_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TERMINATION_SIGNALS)


def run_in_child(work: Callable[[ProgressCallback], object], tick: ProgressCallback) -> None:
    """Run `work` in a child process, and forward its progress to `tick`.

    `work` may read a memory-mapped file: if the file is truncated, only the child is killed. Errors of `work` are
    re-raised in this process; `KilledError` is raised if a signal kills the child. If this process ends, the child ends
    as well.
    """
    from multiprocessing import get_context

    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_run_child, args=(work, here, there), daemon=True)
    with here:
        with there, block_signals_at_fork():
            child.start()
        try:
            while (message := here.recv()) is not None:
                if isinstance(message, BaseException):
                    raise message
                tick(message)
        except EOFError:
            child.join()
            code = child.exitcode or 0
            raise KilledError(signal.Signals(-code).name if code < 0 else f"exit code {code}") from None
        except BaseException:
            child.kill()
            raise
        finally:
            child.join()


def _run_child(work: Callable[[ProgressCallback], object], receiver: Connection, sender: Connection) -> None:
    """Run `work` in the child, and send its progress to the parent.

    At the end, the error of `work` or None is sent. Several threads may send, because a pipe does not interleave short
    messages. The child ends if the parent has ended.
    """
    import resource

    receiver.close()
    ignore_termination()
    # SIGBUS is expected: it must not write a core file or a traceback
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
    with suppress(BrokenPipeError):
        try:
            work(sender.send)
            sender.send(None)
        except Exception as error:  # the parent raises the error again
            sender.send(error)
