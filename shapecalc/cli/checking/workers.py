"""Workers: blocks judged on several cores, the results in the order of the blocks.

Each worker has a block and the next one; results are taken in turn, so memory is bounded and the order is that of
the lines. If a worker dies, its blocks are judged here.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread

from shapecalc.cli.checking.judge import BlockResult, defaults_after, judge_block
from shapecalc.engine.processes import child_starting, leave_to_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from typing import Any

    from shapecalc.cli.checking.lines import Block
    from shapecalc.cli.checking.reports import Style

WORTH_IT = 4 << 20
"""The size of a file, in bytes, from which on more than one core is used."""
AHEAD = 2
"""How many blocks a worker has, so that it need not wait for the next one."""


def judge_in_turn(blocks: Iterable[Block], file: str, style: Style) -> Generator[tuple[Block, BlockResult]]:
    """Yield what each block comes to, judged one after the other."""
    defaults: Mapping[str, object] = {}
    for block in blocks:
        yield block, judge_block(block, file, style, defaults)
        defaults = defaults_after(block, defaults)


def judge_in_parallel(
    blocks: Iterable[Block], file: str, style: Style, jobs: int
) -> Generator[tuple[Block, BlockResult]]:
    """Yield the same as `judge_in_turn`, judged by `jobs` processes."""
    defaults: Mapping[str, object] = {}
    with _start_workers(jobs, file, style) as idle:
        busy: deque[tuple[Connection, Block, Mapping[str, object]]] = deque()
        for block in blocks:
            asked = None if idle else busy.popleft()
            worker = asked[0] if asked else idle.pop()
            result = _take_result(*asked, file, style) if asked else None
            _send(worker, block, defaults)
            busy.append((worker, block, defaults))
            if asked and result:
                yield asked[1], result
            defaults = defaults_after(block, defaults)
        for each in busy:
            yield each[1], _take_result(*each, file, style)


def _send(worker: Connection, block: Block, defaults: Mapping[str, object]) -> None:
    """Give a block to a worker."""
    try:
        worker.send((block, dict(defaults)))
    except OSError:  # the worker has died; its result will be missing, too
        worker.close()


def _take_result(
    worker: Connection, block: Block, defaults: Mapping[str, object], file: str, style: Style
) -> BlockResult:
    """Return what a worker made of its block; judge the block here if the worker has died."""
    try:
        result: BlockResult = worker.recv()
    except (EOFError, OSError):
        result = judge_block(block, file, style, defaults)
    return result


@contextmanager
def _start_workers(jobs: int, file: str, style: Style) -> Iterator[list[Connection]]:
    """Yield the connections to `jobs` new processes, each as often as it has blocks; none lives longer than this."""
    import multiprocessing

    forks = hasattr(os, "fork") and sys.platform != "darwin"  # there, libraries do not survive it
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    processes: list[BaseProcess] = []
    ends: list[Connection] = []
    try:
        for _ in range(jobs):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(there, [*ends, here] if forks else [], file, style), daemon=True
            )
            with child_starting():
                process.start()
            there.close()
            processes.append(process)
            ends.append(here)
        yield ends * AHEAD
    finally:
        for process in processes:
            process.kill()
            process.join()


def _work(connection: Connection, others: list[Connection], file: str, style: Style) -> None:
    """Judge blocks until there are no more; the parent's ends are closed, so that its death is an end, too."""
    leave_to_parent()
    for other in others:
        other.close()
    blocks: SimpleQueue[tuple[Block, Mapping[str, object]] | None] = SimpleQueue()
    Thread(target=_receive, args=(connection, blocks), daemon=True).start()
    with suppress(OSError):
        while asked := blocks.get():
            connection.send(judge_block(asked[0], file, style, asked[1]))


def _receive(connection: Connection, blocks: SimpleQueue[tuple[Block, Mapping[str, object]] | None]) -> None:
    """Take the blocks that a worker is given, while it judges another one; None when there are no more."""
    with suppress(EOFError, OSError):
        while True:
            blocks.put(connection.recv())
    blocks.put(None)
