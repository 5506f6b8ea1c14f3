"""Tasks on a cluster of Dask's: each worker reads, moves and writes by itself, and sends a checksum.

Dask trusts its network: whoever reaches a scheduler can run what they like on its workers.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path

import shapecalc
from shapecalc.engine.endings import leave_to_parent
from shapecalc.engine.files import FileError
from shapecalc.engine.stores.tasks import do_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from shapecalc.engine.stores.running import Runner
    from shapecalc.engine.stores.tasks import Done, Work

RETRIES = 3
"""How often a task is begun again if its worker dies."""
WAITING = 10
"""Seconds after which a scheduler that does not answer is given up."""
MOST_WORKERS = 256


class Cluster:
    """A cluster that answers: what does tasks on it, and how many run at once in a worker."""

    def __init__(self, client: Any) -> None:
        """Ask how many threads the workers have; raise `FileError` if there is none."""
        self.client = client
        self.threads = [int(count) for count in client.nthreads().values()]
        if not self.threads:
            raise FileError("the cluster has no workers")

    @property
    def run(self) -> Runner:
        """What does the tasks of a pass."""
        return self._run

    def check(self, source: Path, target: Path) -> None:
        """Raise `FileError` if a worker has another shapecalc, or cannot see the source or the output's folder."""
        here = greeting(str(source), str(target.parent))
        for worker, found in self.client.run(greeting, str(source), str(target.parent)).items():
            for name, own in here.items():
                if found.get(name) != own:
                    raise FileError(f"worker {worker}: its {name} is {found.get(name)}, and here {own}")

    def _run(self, work: Work, numbers: Iterable[int]) -> Iterator[tuple[int, Done]]:
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
        "view of the source": _seen(source),
        "view of the output's folder": _seen(folder),
    }


def _seen(path: str) -> object:
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
