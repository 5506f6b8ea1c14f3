"""Run the tasks of a pass on threads of this process, or on a Dask cluster.

A task reads source chunks, rearranges them, writes whole output chunks, and returns a checksum. A task can be repeated
at any time. The number of pending tasks is limited, which limits the memory. Dask trusts its network: anyone who can
connect to a scheduler can run any code on its workers.
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

from shapecalc.core import __version__
from shapecalc.core.dims import IntTuple
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import error_reason
from shapecalc.core.record import Record
from shapecalc.engine.arrays import FileError
from shapecalc.engine.processes import ignore_termination, limit_memory
from shapecalc.engine.stores.plan import Pass
from shapecalc.engine.stores.regions import Region, fill_regions, iter_grid_cells
from shapecalc.engine.stores.store_io import (
    WriteSummary,
    compute_source_digest,
    open_chunks,
    open_store,
    run_codec_loop,
)

NO_CERTIFICATES = "Dask's configuration names no certificates; set distributed.comm.tls"
MIN_SINGLE_CHUNK_BYTES = 1 << 20
"""The minimum size, in bytes, of an output chunk that is computed separately.

For smaller chunks, and for mixed axis maps, the whole region of a task is computed and then split into chunks.
"""
MAX_TASK_RETRIES = 3
"""The number of times that a task is restarted if its worker dies."""
CONNECT_TIMEOUT_SECONDS = 10
"""The timeout, in seconds, for the connection to a scheduler."""
MAX_WORKERLESS_SECONDS = 30
"""The maximum time without workers, in seconds."""
STALLED_SECONDS = 30
"""The time without a finished task after which the delay is reported, in seconds."""
MAX_WORKERS = 256


class PassJob(Record):
    """A pass to run, with the locations of its source and its output."""

    store_pass: Pass
    source: str
    target: str
    source_digest: str
    """The digest of the source, which must be the same on every worker."""


TaskRunner = Callable[[PassJob, Iterable[int]], Iterator[tuple[int, WriteSummary]]]
"""A function that runs numbered tasks of a pass, and yields the number and summary of each finished task."""


class Cluster:
    """A connection to a Dask cluster."""

    def __init__(self, client: Any, report: Callable[[str], object]) -> None:
        """Connect to the workers of a Dask client, and count their threads.

        `report` is called with a line of text if the cluster makes no progress. Raises `FileError` if the cluster has
        no workers.
        """
        self.client, self.report = client, report
        self.address = client.scheduler.address
        self.threads = [int(count) for count in client.nthreads().values()]
        if not self.threads:
            raise FileError("the cluster has no workers")

    def check_workers(self, source: str, target: Path) -> None:
        """Raise `FileError` if a worker differs from this process.

        Each worker must have the same version of shapecalc, the same source and the same output folder as this process.
        """
        expected = worker_fingerprint(source, str(target.parent))
        for worker, actual in self.client.run(
            worker_fingerprint, source, str(target.parent), on_error="return"
        ).items():
            if isinstance(actual, Exception):
                raise FileError(f"worker {worker}: {error_reason(actual)}")
            for name, value in expected.items():
                if actual.get(name) != value:
                    raise FileError(f"worker {worker}: its {name} is {actual.get(name)}, and here {value}")

    def run_tasks(self, pass_job: PassJob, numbers: Iterable[int]) -> Iterator[tuple[int, WriteSummary]]:
        """Run tasks on the workers, and yield their results.

        At most two tasks per thread are pending at a time. If no task finishes for `STALLED_SECONDS`, this is reported.
        Raises `FileError` if the connection to the scheduler is lost, or if there were no workers for
        `MAX_WORKERLESS_SECONDS`.
        """
        last_seen = last_finished = time.monotonic()
        is_reported = False

        def check_progress(finished_count: int) -> None:
            nonlocal last_seen, last_finished, is_reported
            if finished_count:
                last_finished, is_reported = time.monotonic(), False
            elif time.monotonic() - last_finished >= STALLED_SECONDS and not is_reported:
                is_reported = True
                self.report(
                    f"{self.address}: no task has finished for {STALLED_SECONDS} s{self._busy_workers_clause()}"
                )
            with suppress(OSError):  # a scheduler that cannot be reached counts as one without workers
                last_seen = time.monotonic() if finished_count or self.client.nthreads() else last_seen
            if time.monotonic() - last_seen >= MAX_WORKERLESS_SECONDS:
                raise FileError(
                    f"{self.address}: it has had no workers for {MAX_WORKERLESS_SECONDS} s; go on with --resume"
                )

        executor, most = self.client.get_executor(pure=False, retries=MAX_TASK_RETRIES), 2 * sum(self.threads)
        try:
            yield from _iter_finished_tasks(
                lambda number: executor.submit(run_task_on_worker, pass_job, number), most, numbers, check_progress
            )
        except CancelledError:
            raise FileError(f"{self.address}: the scheduler is gone; go on with --resume") from None
        finally:
            if self.client.status == "running":
                executor.shutdown(wait=False)

    def _busy_workers_clause(self) -> str:
        """Return the addresses of the busy workers, as a clause of a message.

        Returns an empty string if no worker is busy, or if the scheduler does not respond.
        """
        with suppress(OSError):
            busy = [worker for worker, tasks in self.client.processing().items() if tasks]
            return f"; waiting for {', '.join(busy)}" if busy else ""
        return ""


def run_task(pass_job: PassJob, number: int) -> WriteSummary:
    """Run the task `number` of a pass, and flush its output to the disk.

    Raises `FileError` if the source cannot be opened or decoded, `OSError` if the source cannot be read or the output
    cannot be written.
    """
    store, plan = open_store(pass_job.source), pass_job.store_pass
    region, chunk_by_chunk = plan.task_region(number), prod(plan.chunks) * plan.itemsize >= MIN_SINGLE_CHUNK_BYTES
    regions = (
        [*_iter_grid_cells_in_region(region, plan.chunks)]
        if chunk_by_chunk and not plan.axis_map.is_mixed
        else [region]
    )

    def iter_chunks() -> Iterator[tuple[tuple[int, ...], Any]]:
        for chunk_region, filled_region in zip(regions, outputs, strict=True):
            for chunk in _iter_grid_cells_in_region(chunk_region, plan.chunks):
                index = tuple([start // step for (start, _), step in zip(chunk, plan.chunks, strict=True)])
                pairs = zip(chunk, chunk_region, strict=True)
                inside = [slice(start - first, stop - first) for (start, stop), (first, _) in pairs]
                yield index, filled_region[(*inside, ...)]

    with run_codec_loop():
        try:
            outputs = fill_regions(plan.axis_map, regions, store.reader, store.block)
        except Exception as error:  # for a damaged chunk, a codec can raise any error
            if isinstance(error, OSError) and error.errno:
                raise
            damage = error_reason(error)
        else:
            return open_chunks(pass_job.target).write(iter_chunks())
    raise FileError(f"{pass_job.source}: {damage}; repair it and start again: rm -r {Path(pass_job.target).parent}")


def run_task_on_worker(pass_job: PassJob, number: int) -> WriteSummary:
    """Check the source on this worker, and run a task.

    Raises `FileError` if the source is not the one for which the job was planned.
    """
    _check_source(pass_job.source, pass_job.source_digest, pass_job.target)
    return run_task(pass_job, number)


@lru_cache(maxsize=8)
def _check_source(source: str, expected_digest: str, _target: str) -> None:
    if compute_source_digest(source) != expected_digest:
        raise FileError(f"{source}: {gethostname()} sees another source there, or it was changed")


def _iter_grid_cells_in_region(region: Region, steps: IntTuple) -> Iterator[Region]:
    """Yield the cells of a grid over a region.

    `steps` is the shape of a cell.
    """
    for part in iter_grid_cells([stop - start for start, stop in region], steps):
        yield tuple([(first + start, first + stop) for (first, _), (start, stop) in zip(region, part, strict=True)])


def _iter_finished_tasks(
    submit: Callable[[int], Future[WriteSummary]],
    max_pending: int,
    numbers: Iterable[int],
    on_finished: Callable[[int], object] = int,
) -> Iterator[tuple[int, WriteSummary]]:
    """Run tasks, and yield their numbers and summaries.

    At most `max_pending` tasks are pending at a time. `on_finished` is called at least once a second, with the number
    of tasks that have finished since the previous call.
    """
    remaining, pending = iter(numbers), dict[Future[WriteSummary], int]()
    while True:
        pending |= {submit(number): number for number in islice(remaining, max_pending - len(pending))}
        if not pending:
            return
        done = wait(pending, 1, FIRST_COMPLETED).done
        for future in done:
            yield pending.pop(future), future.result()
        on_finished(len(done))


def make_thread_runner(count: int) -> TaskRunner:
    """Return a function that runs tasks on `count` threads.

    When the iterator that the function returns is closed, it waits for the running tasks.
    """

    def run_tasks(pass_job: PassJob, numbers: Iterable[int]) -> Iterator[tuple[int, WriteSummary]]:
        with ThreadPoolExecutor(count, thread_name_prefix="shapecalc-task") as threads:
            try:
                yield from _iter_finished_tasks(
                    lambda number: threads.submit(run_task, pass_job, number), count, numbers
                )
            finally:
                threads.shutdown(cancel_futures=True)

    return run_tasks


def worker_fingerprint(source: str, folder: str) -> dict[str, object]:
    """Return the values that must be equal on all workers of a job.

    They are the version of shapecalc, the digest of the source, and the inode of the output folder.
    """
    return {
        "shapecalc": __version__,
        "view of the source": _try_read(lambda: f"state {compute_source_digest(source)}"),
        "view of the output's folder": _try_read(lambda: f"inode {Path(folder).stat().st_ino}"),
    }


def _try_read(read: Callable[[], str]) -> str:
    """Return the result of `read`, or the error message if `read` fails."""
    try:
        return read()
    except (OSError, FileError) as error:
        return error_reason(error)


@contextmanager
def open_cluster(address: str, memory: int, report: Callable[[str], object]) -> Iterator[Cluster]:
    """Connect to a Dask scheduler, or start a local cluster.

    `address` is `tcp://HOST:PORT`, `tls://HOST:PORT`, or `local:N` for N local workers. `report` is called with a line
    of text if the cluster makes no progress. Only local workers are limited to `memory` bytes. Raises `FileError` if
    Dask is not installed or the scheduler does not respond, and `ValueError` for any other address.
    """
    kind, _, rest = address.partition(":")
    if kind == "local" and not (rest.isdigit() and 0 < int(rest) <= MAX_WORKERS):
        raise ValueError(f"local:N has from 1 to {MAX_WORKERS} workers")
    if kind not in ("local", "tcp", "tls"):
        raise ValueError("a cluster is local:N or tcp://HOST:PORT")
    try:
        from distributed import Client, LocalCluster
        from distributed.utils import silence_logging_cmgr
    except ImportError:
        raise FileError(missing_package_message("distributed", "cluster")) from None
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
            client.run(ignore_termination)
            client.run(limit_memory, memory)
            yield Cluster(client, report)
        return
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT_SECONDS)
    except Exception as error:  # for example, Dask raises `TypeError` for missing certificates
        unsafe = kind == "tls" and isinstance(error, TypeError)
        raise FileError(f"{address}: {NO_CERTIFICATES if unsafe else error_reason(error)}") from None
    with silence_logging_cmgr(50, "distributed.client"), client:
        yield Cluster(client, report)
