"""Tasks and who does them: the threads of this process, or a cluster of Dask's.

A task reads what it takes, moves it, writes whole chunks, and returns a checksum. It may be done again at any time. Few
are done at a time, so that the memory stays bounded. Dask trusts its network: whoever reaches a scheduler can run what
they like on its workers.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import shapecalc
from shapecalc.engine.arrays import FileError
from shapecalc.engine.processes import leave_to_parent
from shapecalc.engine.stores.axis_map import Sizes
from shapecalc.engine.stores.plan import Pass
from shapecalc.engine.stores.regions import Region, filled, grid
from shapecalc.engine.stores.stores import open_store, open_to_write, running_codecs

ALONE = 1 << 20
"""Chunks of at least so many bytes are filled one by one, unless runs mix; smaller ones are cut out of their task."""
RETRIES = 3
"""How often a task is begun again if its worker dies."""
WAITING = 10
"""Seconds after which a scheduler that does not answer is given up."""
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Work:
    """What a pass is carried out on: where it reads and writes."""

    plan: Pass
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Done:
    """What is noted of a task: the checksum of what it has written, CRC-32, and how many files hold that."""

    checksum: int
    files: int


Runner = Callable[[Work, Iterable[int]], Iterator[tuple[int, Done]]]
"""What does the tasks of a pass: it yields the number of each that is done, and what is noted of it."""


def do_task(work: Work, number: int) -> Done:
    """Do a task of a pass by its number; what it wrote is on the disk when it returns.

    Raises `FileError` if the source cannot be opened, `OSError` if the output cannot be written; else what the codecs
    of the source raise.
    """
    store, plan = open_store(work.source), work.plan
    region, alone = plan.region(number), prod(plan.chunks) * plan.itemsize >= ALONE
    regions = [*_grid_from(region, plan.chunks)] if alone and not plan.axis_map.mixes else [region]

    def parts() -> Iterator[tuple[tuple[int, ...], Any]]:
        for own, filled_region in zip(regions, outs, strict=True):
            for part in _grid_from(own, plan.chunks):
                place = tuple([start // step for (start, _), step in zip(part, plan.chunks, strict=True)])
                inside = [
                    slice(start - first, stop - first) for (start, stop), (first, _) in zip(part, own, strict=True)
                ]
                yield place, filled_region[(*inside, ...)]

    with running_codecs():
        outs = filled(plan.axis_map, regions, store.source, store.block)
        return Done(*open_to_write(work.target).write(parts()))


def _grid_from(region: Region, steps: Sizes) -> Iterator[Region]:
    """Yield the regions of a grid of `steps` from the corner of a region on."""
    for part in grid([stop - start for start, stop in region], steps):
        yield tuple([(first + start, first + stop) for (first, _), (start, stop) in zip(region, part, strict=True)])


def on_threads(count: int) -> Runner:
    """Return what does tasks on so many threads. When it is closed, those that have begun are finished first."""

    def run(work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Done]]:
        with ThreadPoolExecutor(count, thread_name_prefix="shapecalc-task") as threads:
            waiting = iter(numbers)
            begun: dict[Future[Done], int] = {}
            try:
                while True:
                    while len(begun) < count and (number := next(waiting, None)) is not None:
                        begun[threads.submit(do_task, work, number)] = number
                    if not begun:
                        return
                    for done in wait(begun, return_when=FIRST_COMPLETED).done:
                        yield begun.pop(done), done.result()
            finally:
                threads.shutdown(cancel_futures=True)

    return run


class Cluster:
    """A cluster that answers: what does tasks on it, and how many run at once in a worker."""

    def __init__(self, client: Any) -> None:
        """Ask how many threads the workers have; raise `FileError` if there is none."""
        self.client = client
        self.threads = [int(count) for count in client.nthreads().values()]
        if not self.threads:
            raise FileError("the cluster has no workers")

    def check(self, source: Path, target: Path) -> None:
        """Raise `FileError` if a worker has another shapecalc, or cannot see the source or the output's folder."""
        here = greeting(str(source), str(target.parent))
        for worker, found in self.client.run(greeting, str(source), str(target.parent)).items():
            for name, own in here.items():
                if found.get(name) != own:
                    raise FileError(f"worker {worker}: its {name} is {found.get(name)}, and here {own}")

    def run(self, work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Done]]:
        """Do tasks, twice as many waiting as there are threads."""
        from distributed import as_completed

        waiting, names = iter(numbers), dict[str, int]()

        def begun() -> Iterator[Any]:
            number = next(waiting, None)
            if number is not None:
                future = self.client.submit(do_task, work, number, pure=False, retries=RETRIES)
                names[future.key] = number
                yield future

        first = [future for _ in range(2 * sum(self.threads)) for future in begun()]
        doing = as_completed(first)
        try:
            for future in doing:
                yield names.pop(future.key), future.result()
                doing.update(begun())
        finally:
            if names:
                self.client.cancel([*doing.futures])


def greeting(source: str, folder: str) -> dict[str, object]:
    """Return what a worker is, and what it sees: a path by its device's number and its own."""
    return {
        "shapecalc": shapecalc.__version__,
        "view of the source": _identity(source),
        "view of the output's folder": _identity(folder),
    }


def _identity(path: str) -> object:
    try:
        found = Path(path).stat()
    except OSError as error:
        return error.strerror
    return f"inode {found.st_ino}"


@contextmanager
def cluster_at(where: str) -> Iterator[Cluster]:
    """Yield the cluster that a text names: `local:N`, which is made for this run, or `tcp://HOST:PORT`.

    Raises `FileError` if Dask is not installed or the scheduler does not answer; `ValueError` for another text.
    """
    kind, _, rest = where.partition(":")
    if kind == "local" and not (rest.isdigit() and 0 < int(rest) <= MOST_WORKERS):
        raise ValueError(f"local:N has from 1 to {MOST_WORKERS} workers")
    if kind not in ("local", "tcp", "tls"):
        raise ValueError("a cluster is local:N or tcp://HOST:PORT")
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise FileError("distributed is not installed; pip install 'shapecalc[cluster]'") from None
    if kind == "local":
        with (
            tempfile.TemporaryDirectory() as scratch,
            LocalCluster(
                n_workers=int(rest),
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address=None,
                local_directory=scratch,
                silence_logs=50,
            ) as made,
            Client(made) as client,
        ):
            client.run(leave_to_parent)
            yield Cluster(client)
        return
    try:
        client = Client(where, timeout=WAITING)
    except (OSError, ValueError) as error:
        raise FileError(f"{where}: {' '.join(str(error).split()) or 'it does not answer'}") from None
    with client:
        yield Cluster(client)
