"""Work done in a child process. What reads a mapped file is killed if the file is cut short; here that is the child."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from shapecalc.engine.endings import child_starting, leave_to_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    Tick = Callable[[int], object]

FORKS = hasattr(os, "fork")
"""Whether the system can split a process in two that share their files and mappings."""


class KilledError(Exception):
    """Work that a signal has ended. The message names the signal."""


def done_apart(work: Callable[[Tick], object], tick: Tick) -> None:
    """Do work in a child process, with a `tick` that is called here.

    Raises what the work raises, `KilledError` if a signal ends the child. The child ends with this process.
    """
    from multiprocessing import get_context

    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(work, here, there), daemon=True)
    with here:
        with there, child_starting():
            child.start()
        try:
            _take_ticks(here, tick)
        except EOFError:
            child.join()
            code = child.exitcode or 0
            raise KilledError(signal.Signals(-code).name if code < 0 else f"exit code {code}") from None
        except BaseException:
            child.kill()
            raise
        finally:
            child.join()


def _take_ticks(here: Connection, tick: Tick) -> None:
    """Call `tick` as the child does, until it is done; raise what it raised, `EOFError` if it has died."""
    while (told := here.recv()) is not None:
        if isinstance(told, BaseException):
            raise told
        tick(told)


def _work(work: Callable[[Tick], object], here: Connection, there: Connection) -> None:
    """Do the work and tell of it, from several threads: a pipe does not mix short messages. A gone parent ends it."""
    here.close()
    leave_to_parent()
    _leave_no_core()
    with suppress(BrokenPipeError):
        try:
            work(there.send)
            there.send(None)
        except Exception as error:  # whatever it is, it is raised in the parent
            there.send(error)


def _leave_no_core() -> None:
    """Let the death that is expected leave no image of the memory in the folder, and no trace on standard error."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    signal.signal(signal.SIGBUS, signal.SIG_DFL)
