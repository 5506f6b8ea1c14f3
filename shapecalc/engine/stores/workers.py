"""Tasks and who does them: the threads of this process, or a cluster of Dask's.

A task reads what it takes, moves it, writes whole chunks, and returns a checksum. It may be done again at any time. Few
are done at a time, so that the memory stays bounded. Dask trusts its network: whoever reaches a scheduler can run what
they like on its workers.
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
"""Chunks of at least so many bytes are filled one by one, unless runs mix; smaller ones are cut out of their task."""
RETRIES = 3
"""How often a task is begun again if its worker dies."""
WAITING = 10
"""Seconds after which a scheduler that does not answer is given up."""
LOST = 30
"""Seconds for which a cluster may have no workers."""
MOST_WORKERS = 256


class Work(Record):
    """What a pass is carried out on: where it reads and writes."""

    plan: Pass
    source: str
    target: str
    state: str
    """What tells the source from any other, of every worker's view."""


Runner = Callable[[Work, Iterable[int]], Iterator[tuple[int, Written]]]
"""What does the tasks of a pass: it yields the number of each that is done, and what it has written."""


def do_task(work: Work, number: int) -> Written:
    """Do a task of a pass by its number; what it wrote is on the disk when it returns.

    Raises `FileError` if the source cannot be opened or decoded, `OSError` if it cannot be read, or the output not be
    written.
    """
    store, plan = open_store(work.source), work.plan
    region, alone = plan.region(number), prod(plan.chunks) * plan.itemsize >= ALONE
    regions = [*_grid_from(region, plan.chunks)] if alone and not plan.axis_map.mixes else [region]

    def parts() -> Iterator[tuple[tuple[int, ...], Any]]:
        for own, filled_region in zip(regions, outs, strict=True):
            for part in _grid_from(own, plan.chunks):
                place = tuple([start // step for (start, _), step in zip(part, plan.chunks, strict=True)])
                pairs = zip(part, own, strict=True)
                inside = [slice(start - first, stop - first) for (start, stop), (first, _) in pairs]
                yield place, filled_region[(*inside, ...)]

    with running_codecs():
        try:
            outs = filled(plan.axis_map, regions, store.source, store.block)
        except Exception as error:  # a damaged chunk raises what its codec or library raises
            if isinstance(error, OSError) and error.errno:
                raise
            damage = reason_of(error)
        else:
            return open_to_write(work.target).write(parts())
    raise FileError(f"{work.source}: {damage}; begin anew when it is mended: rm -r {Path(work.target).parent}")


def do_as_seen(work: Work, number: int) -> Written:
    """Do a task on a worker; raise `FileError` if it sees another source than the client."""
    _check_view(work.source, work.state, work.target)
    return do_task(work, number)


@lru_cache(maxsize=8)
def _check_view(source: str, state: str, _: str) -> None:
    if state_of(source) != state:
        raise FileError(f"{source}: {gethostname()} sees another source there, or it was changed")


def _grid_from(region: Region, steps: Sizes) -> Iterator[Region]:
    """Yield the regions of a grid of `steps` from the corner of a region on."""
    for part in grid([stop - start for start, stop in region], steps):
        yield tuple([(first + start, first + stop) for (first, _), (start, stop) in zip(region, part, strict=True)])


def _in_turn(
    submit: Callable[[int], Future[Written]], most: int, numbers: Iterable[int], check: Callable[[int], object] = int
) -> Iterator[tuple[int, Written]]:
    """Do tasks, so many begun at once; `check` is called about once a second with how many have been done since."""
    waiting, begun = iter(numbers), dict[Future[Written], int]()
    while True:
        begun |= {submit(number): number for number in islice(waiting, most - len(begun))}
        if not begun:
            return
        done = wait(begun, 1, FIRST_COMPLETED).done
        for each in done:
            yield begun.pop(each), each.result()
        check(len(done))


def on_threads(count: int) -> Runner:
    """Return what does tasks on so many threads. When it is closed, those that have begun are finished first."""

    def run(work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Written]]:
        with ThreadPoolExecutor(count, thread_name_prefix="shapecalc-task") as threads:
            try:
                yield from _in_turn(lambda number: threads.submit(do_task, work, number), count, numbers)
            finally:
                threads.shutdown(cancel_futures=True)

    return run


class Cluster:
    """A cluster that answers: what does tasks on it, and how many run at once in a worker."""

    def __init__(self, client: Any) -> None:
        """Ask how many threads the workers have; raise `FileError` if there is none."""
        self.client = client
        self.address = client.scheduler.address
        self.threads = [int(count) for count in client.nthreads().values()]
        if not self.threads:
            raise FileError("the cluster has no workers")

    def check(self, source: str, target: Path) -> None:
        """Raise `FileError` if a worker has another shapecalc, or sees another source or folder of the output."""
        here = greeting(source, str(target.parent))
        for worker, found in self.client.run(greeting, source, str(target.parent), on_error="return").items():
            if isinstance(found, Exception):
                raise FileError(f"worker {worker}: {reason_of(found)}")
            for name, own in here.items():
                if found.get(name) != own:
                    raise FileError(f"worker {worker}: its {name} is {found.get(name)}, and here {own}")

    def run(self, work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Written]]:
        """Do tasks, twice as many waiting as there are threads.

        Raises `FileError` if the scheduler is gone, or nobody has been there to do them for a while.
        """
        seen = time.monotonic()

        def check(done: int) -> None:
            nonlocal seen
            with suppress(OSError):  # while the scheduler does not answer, nobody is there
                seen = time.monotonic() if done or self.client.nthreads() else seen
            if time.monotonic() - seen >= LOST:
                raise FileError(f"{self.address}: it has had no workers for {LOST} s; go on with --resume")

        executor, most = self.client.get_executor(pure=False, retries=RETRIES), 2 * sum(self.threads)
        try:
            yield from _in_turn(lambda number: executor.submit(do_as_seen, work, number), most, numbers, check)
        except CancelledError:
            raise FileError(f"{self.address}: the scheduler is gone; go on with --resume") from None
        finally:
            if self.client.status == "running":
                executor.shutdown(wait=False)


def greeting(source: str, folder: str) -> dict[str, object]:
    """Return what a worker is, and what it sees: the source by its files, and a folder by its number."""
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
    """Yield the cluster that a text names: `local:N`, which is made for this run, or `tcp://HOST:PORT`.

    Only workers that are made here are bound to so many bytes of memory.

    Raises `FileError` if Dask is not installed or the scheduler does not answer; `ValueError` for another text.
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
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # or Dask asks for 8787, which others may have
                local_directory=scratch,
                silence_logs=50,
            ) as made,
            Client(made) as client,
        ):
            client.run(leave_to_parent)
            client.run(bound_memory, memory)
            yield Cluster(client)
        return
    try:
        client = Client(where, timeout=WAITING)
    except Exception as error:  # Dask raises more than OSError, such as for certificates that are not configured
        unsafe = kind == "tls" and isinstance(error, TypeError)
        raise FileError(f"{where}: {NO_CERTIFICATES if unsafe else reason_of(error)}") from None
    with silence_logging_cmgr(50, "distributed.client"), client:
        yield Cluster(client)
