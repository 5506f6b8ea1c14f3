"""Run the tasks of a pass on threads of this process, or on a Dask cluster.

A task reads source chunks, rearranges them, writes whole output chunks, and returns a checksum. It may be repeated at
any time. The number of pending tasks is limited, which bounds the memory. Dask trusts its network: anyone who reaches a
scheduler can run any code on its workers.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import islice
from math import prod
from pathlib import Path
from socket import gethostname
from typing import Any

import shapecalc
from shapecalc.core.packages import missing
from shapecalc.core.record import Record
from shapecalc.engine.arrays import FileError
from shapecalc.engine.headers import reason_of
from shapecalc.engine.processes import bound_memory, leave_to_parent
from shapecalc.engine.stores.axis_map import Sizes
from shapecalc.engine.stores.plan import Pass
from shapecalc.engine.stores.regions import Region, filled, grid
from shapecalc.engine.stores.stores import Written, open_store, open_to_write, running_codecs, state_of

NO_CERTIFICATES = "Dask's configuration names no certificates; set distributed.comm.tls"
ALONE = 1 << 20
"""The smallest chunk, in bytes, that is filled on its own.

Smaller ones are cut out of the filled region of their task, and so are those of a mixed map.
"""
RETRIES = 3
"""The number of times a task is restarted if its worker dies."""
WAITING = 10
"""Seconds to wait for a scheduler."""
LOST = 30
"""Seconds that a cluster may be without workers."""
MOST_WORKERS = 256


class Work(Record):
    """A pass to run, with its source and its target."""

    plan: Pass
    source: str
    target: str
    state: str
    """The digest of the source, which must be the same on every worker."""


Runner = Callable[[Work, Iterable[int]], Iterator[tuple[int, Written]]]
"""A function that runs tasks of a pass, and yields the number and summary of each."""


class Cluster:
    """A connected Dask cluster."""

    def __init__(self, client: Any) -> None:
        """Read the threads of each worker; raise `FileError` if there are no workers."""
        self.client = client
        self.address = client.scheduler.address
        self.threads = [int(count) for count in client.nthreads().values()]
        if not self.threads:
            raise FileError("the cluster has no workers")

    def check(self, source: str, target: Path) -> None:
        """Raise `FileError` if a worker is not consistent with this process.

        Each must have the same version of shapecalc, and the same source and output folder.
        """
        expected = greeting(source, str(target.parent))
        for worker, actual in self.client.run(greeting, source, str(target.parent), on_error="return").items():
            if isinstance(actual, Exception):
                raise FileError(f"worker {worker}: {reason_of(actual)}")
            for name, value in expected.items():
                if actual.get(name) != value:
                    raise FileError(f"worker {worker}: its {name} is {actual.get(name)}, and here {value}")

    def run(self, work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Written]]:
        """Run tasks, with twice as many submitted as there are threads.

        Raises `FileError` if the scheduler is gone, or if there were no workers for `WORKERLESS_SECONDS`.
        """
        last_seen = time.monotonic()

        def check(done: int) -> None:
            nonlocal last_seen
            with suppress(OSError):  # no answer counts as no workers
                last_seen = time.monotonic() if done or self.client.nthreads() else last_seen
            if time.monotonic() - last_seen >= LOST:
                raise FileError(f"{self.address}: it has had no workers for {LOST} s; go on with --resume")

        executor, most = self.client.get_executor(pure=False, retries=RETRIES), 2 * sum(self.threads)
        try:
            yield from _in_turn(lambda number: executor.submit(do_as_seen, work, number), most, numbers, check)
        except CancelledError:
            raise FileError(f"{self.address}: the scheduler is gone; go on with --resume") from None
        finally:
            if self.client.status == "running":
                executor.shutdown(wait=False)


def do_task(work: Work, number: int) -> Written:
    """Run a task of a pass by its number; its output is on the disk when it returns.

    Raises `FileError` if the source cannot be opened or decoded, `OSError` if it cannot be read or the output cannot be
    written.
    """
    store, plan = open_store(work.source), work.plan
    region, chunk_by_chunk = plan.region(number), prod(plan.chunks) * plan.itemsize >= ALONE
    regions = [*_grid_from(region, plan.chunks)] if chunk_by_chunk and not plan.axis_map.mixes else [region]

    def parts() -> Iterator[tuple[tuple[int, ...], Any]]:
        for chunk_region, filled_region in zip(regions, outputs, strict=True):
            for chunk in _grid_from(chunk_region, plan.chunks):
                index = tuple([start // step for (start, _), step in zip(chunk, plan.chunks, strict=True)])
                pairs = zip(chunk, chunk_region, strict=True)
                inside = [slice(start - first, stop - first) for (start, stop), (first, _) in pairs]
                yield index, filled_region[(*inside, ...)]

    with running_codecs():
        try:
            outputs = filled(plan.axis_map, regions, store.source, store.block)
        except Exception as error:  # codecs raise any error for damaged chunks
            if isinstance(error, OSError) and error.errno:
                raise
            damage = reason_of(error)
        else:
            return open_to_write(work.target).write(parts())
    raise FileError(f"{work.source}: {damage}; begin anew when it is mended: rm -r {Path(work.target).parent}")


def do_as_seen(work: Work, number: int) -> Written:
    """Run a task on a worker; raise `FileError` if the worker sees another source."""
    _check_view(work.source, work.state, work.target)
    return do_task(work, number)


@lru_cache(maxsize=8)
def _check_view(source: str, state: str, _: str) -> None:
    if state_of(source) != state:
        raise FileError(f"{source}: {gethostname()} sees another source there, or it was changed")


def _grid_from(region: Region, steps: Sizes) -> Iterator[Region]:
    """Yield the regions of a grid that starts at the corner of a region."""
    for part in grid([stop - start for start, stop in region], steps):
        yield tuple([(first + start, first + stop) for (first, _), (start, stop) in zip(region, part, strict=True)])


def _in_turn(
    submit: Callable[[int], Future[Written]], most: int, numbers: Iterable[int], check: Callable[[int], object] = int
) -> Iterator[tuple[int, Written]]:
    """Run tasks with at most `max_pending` submitted; yield their summaries.

    `check` is called about once a second with the number of tasks finished since.
    """
    remaining, pending = iter(numbers), dict[Future[Written], int]()
    while True:
        pending |= {submit(number): number for number in islice(remaining, most - len(pending))}
        if not pending:
            return
        done = wait(pending, 1, FIRST_COMPLETED).done
        for future in done:
            yield pending.pop(future), future.result()
        check(len(done))


def on_threads(count: int) -> Runner:
    """Return a runner on `count` threads; closing it waits for the running tasks."""

    def run(work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Written]]:
        with ThreadPoolExecutor(count, thread_name_prefix="shapecalc-task") as threads:
            try:
                yield from _in_turn(lambda number: threads.submit(do_task, work, number), count, numbers)
            finally:
                threads.shutdown(cancel_futures=True)

    return run


def greeting(source: str, folder: str) -> dict[str, object]:
    """Return the version of this process, and identifiers of its source and folder.

    The source is identified by its files, the folder by its inode.
    """
    return {
        "shapecalc": shapecalc.__version__,
        "view of the source": _view(lambda: f"state {state_of(source)}"),
        "view of the output's folder": _view(lambda: f"inode {Path(folder).stat().st_ino}"),
    }


def _view(look: Callable[[], str]) -> str:
    try:
        return look()
    except (OSError, FileError) as error:
        return reason_of(error)


@contextmanager
def cluster_at(where: str, memory: int) -> Iterator[Cluster]:
    """Connect to a cluster: `tcp://HOST:PORT`, or `local:N`, which is started.

    Only workers of a local cluster are limited to `memory` bytes. Raises `FileError` if Dask is not installed or the
    scheduler does not answer; `ValueError` for any other text.
    """
    kind, _, rest = where.partition(":")
    if kind == "local" and not (rest.isdigit() and 0 < int(rest) <= MOST_WORKERS):
        raise ValueError(f"local:N has from 1 to {MOST_WORKERS} workers")
    if kind not in ("local", "tcp", "tls"):
        raise ValueError("a cluster is local:N or tcp://HOST:PORT")
    try:
        from distributed import Client, LocalCluster
        from distributed.utils import silence_logging_cmgr
    except ImportError:
        raise FileError(missing("distributed", "cluster")) from None
    if kind == "local":
        with (
            tempfile.TemporaryDirectory() as scratch,
            LocalCluster(
                n_workers=int(rest),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # the default port 8787 may be in use
                local_directory=scratch,
                silence_logs=50,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(leave_to_parent)
            client.run(bound_memory, memory)
            yield Cluster(client)
        return
    try:
        client = Client(where, timeout=WAITING)
    except Exception as error:  # Dask also raises TypeError for missing certificates
        unsafe = kind == "tls" and isinstance(error, TypeError)
        raise FileError(f"{where}: {NO_CERTIFICATES if unsafe else reason_of(error)}") from None
    with silence_logging_cmgr(50, "distributed.client"), client:
        yield Cluster(client)
