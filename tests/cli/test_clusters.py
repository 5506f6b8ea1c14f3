"""Stores on a cluster of real worker processes: equal to NumPy, in bounded memory, through deaths."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from shapecalc import __version__
from shapecalc.engine.arrays import FileError
from shapecalc.engine.stores import workers
from shapecalc.engine.stores.jobs import plan_job, run_job
from shapecalc.engine.stores.store_io import source_state
from shapecalc.reading.commands import read_chain
from shapecalc.reasoning.fixing import answer_chain
from tests.cli.conftest import command, environment

zarr = pytest.importorskip("zarr", reason="zarr is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

DATA = 192 << 20
MEMORY = 44 << 20
"""Less than a quarter of the large array."""
LITTLE = 34 << 20
"""In which the small array is moved by many tasks."""


def written(folder, side):
    """Return a store whose chunks are cubes with this side."""
    shape = (12 * side, 4 * side, 4 * side)
    made = zarr.create_array(str(folder / "x.zarr"), shape=shape, chunks=(side,) * 3, dtype="f4", compressors=None)
    for start in range(0, shape[0], side):
        made[start : start + side] = np.arange(16 * side**3, dtype="f4").reshape(side, *shape[1:]) + start
    return folder / "x.zarr"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return written(tmp_path_factory.mktemp("stores"), 64)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return written(tmp_path_factory.mktemp("stores"), 32)


@pytest.fixture(scope="module")
def cluster():
    with workers.open_cluster("local:2", MEMORY) as made:
        yield made


def private(process):
    with open(f"/proc/{process}/status") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


class Watch:
    """The most private memory that processes hold beyond what they held at first."""

    def __init__(self, processes):
        self.first = {each: private(each) for each in processes}
        self.peaks, self.ended = dict(self.first), threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.ended.wait(0.01):
            for each in self.first:
                self.peaks[each] = max(self.peaks[each], private(each))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()

    @property
    def most(self):
        return max(peak - self.first[each] for each, peak in self.peaks.items())


def chain_of(a, b, c):
    return f"{a},{b},{c} | shuffle --first 2,0,1 --to {2 * c},{a // 2},{b} --second 1,0,2"


def planned(source, memory=LITTLE, chain=chain_of):
    text = chain(*zarr.open_array(str(source)).shape)
    return plan_job(answer_chain(*read_chain(text), {}), str(source), memory, 1)


def carry(job, target, run, tick=int, *, resume=False):
    run_job(job, target, run, tick, force=False, resume=resume)


def check_equal(source, target):
    """Compare an output with NumPy's, slab by slab."""
    array, found = zarr.open_array(str(source), mode="r")[...], zarr.open_array(str(target), mode="r")
    a, b, c = array.shape
    want = array.transpose(2, 0, 1).reshape(2 * c, a // 2, b).transpose(1, 0, 2)
    for start in range(0, want.shape[0], 32):
        np.testing.assert_array_equal(found[start : start + 32], want[start : start + 32])


def test_cluster_reads_each_byte_once_in_bounded_memory(large, small, cluster, tmp_path):
    job = planned(large, MEMORY)
    assert (job.plan.bytes_read, job.plan.bytes_written) == (DATA, DATA)
    processes = [*cluster.client.run(os.getpid).values()]
    carry(planned(small), tmp_path / "warm.zarr", cluster.run)
    before, done = bytes_read(processes), []
    with Watch(processes) as watch:
        carry(job, tmp_path / "y.zarr", cluster.run, done.append)
    check_equal(large, tmp_path / "y.zarr")
    assert watch.most <= job.worker_memory <= MEMORY < DATA / 4
    assert DATA <= bytes_read(processes) - before < 1.02 * DATA
    assert len([count for count in done if count]) == job.plan.task_count < 100


def bytes_read(processes):
    """Return the bytes that processes have read of files; those of this array are as many as are decoded."""
    told = [Path(f"/proc/{each}/io").read_text() for each in processes]
    return sum(int(text.partition("rchar: ")[2].split()[0]) for text in told)


def test_cluster_damaged_chunk_is_named_and_repaired(cluster, tmp_path):
    codec = [zarr.codecs.Crc32cCodec()]
    made = zarr.create_array(str(tmp_path / "x.zarr"), shape=(64, 64), chunks=(16, 16), dtype="f4", compressors=codec)
    made[...] = np.arange(4096, dtype="f4").reshape(64, 64)
    chunk = tmp_path / "x.zarr" / "c" / "3" / "3"
    whole = chunk.read_bytes()
    chunk.write_bytes(b"\xff" + whole[1:])
    turned = "{},{} | transpose 1,0".format
    with pytest.raises(FileError, match=r"x\.zarr: .*checksum.*begin anew"):
        carry(planned(tmp_path / "x.zarr", chain=turned), tmp_path / "y.zarr", cluster.run)
    chunk.write_bytes(whole)
    shutil.rmtree(tmp_path / "y.zarr.part")
    carry(planned(tmp_path / "x.zarr", chain=turned), tmp_path / "y.zarr", cluster.run)
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"))[...], made[...].T)


def test_cluster_survives_a_killed_worker(small, cluster, tmp_path):
    job, done, victims = planned(small), [], [*cluster.client.run(os.getpid).values()]

    def tick(count):
        done.append(count)
        if victims and len(done) > job.plan.task_count / 2:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()

    carry(job, tmp_path / "y.zarr", cluster.run, tick)
    assert not victims
    check_equal(small, tmp_path / "y.zarr")
    cluster.client.wait_for_workers(2, timeout=60)  # another comes in its place


def test_cluster_interrupt_ends_workers_silently(small, tmp_path, request):
    """Nor does Dask say that the port is taken which it would ask for."""
    with suppress(OSError):
        request.addfinalizer(socket.create_server(("127.0.0.1", 8787)).close)
    streams = {"env": environment(), "stderr": subprocess.PIPE, "text": True}
    for turn in range(4):  # on a busy machine a run may end before the signal comes
        output = tmp_path / f"{turn}.zarr"
        words = ("transpose", str(small), "2,1,0", "-o", str(output), "--memory", "33MiB", "--cluster", "local:2")
        with subprocess.Popen(command(*words), **streams, start_new_session=True) as running:
            done = output.with_suffix(".zarr.part") / "done"
            while running.poll() is None and not (done.exists() and done.read_text()):
                time.sleep(0.01)
            os.killpg(running.pid, signal.SIGINT)
            said = running.stderr.read()
        if running.returncode:
            break
    assert (running.returncode, said.count("\n"), "--resume" in said) == (130, 1, True), said


def test_cluster_different_workers_are_refused(small, cluster, tmp_path, request):
    cluster.check_workers(str(small), tmp_path / "y.zarr")

    def pretend(name, found):
        import shapecalc
        from shapecalc.engine.stores import workers

        setattr(workers, name, found)

    for name, own in (("source_state", source_state), ("__version__", __version__)):
        request.addfinalizer(partial(cluster.client.run, pretend, name, own))
    cluster.client.run(pretend, "source_state", other_state)
    with pytest.raises(FileError, match=r"its view of the source is state other, and here state [0-9a-f]{32}$"):
        cluster.check_workers(str(small), tmp_path / "y.zarr")
    with pytest.raises(FileError, match="sees another source there"):  # as would one that comes later
        carry(planned(small), tmp_path / "y.zarr", cluster.run)
    cluster.client.run(pretend, "__version__", "0.0")
    with pytest.raises(FileError, match=r"its shapecalc is 0\.0"):
        cluster.check_workers(str(small), tmp_path / "y.zarr")


def other_state(_):
    return "other"


@contextmanager
def scheduler_elsewhere(folder):
    """Yield the address of a scheduler on this machine, its process, and what starts a worker in a folder."""
    told, made = folder / "scheduler.json", []

    def started(*words):
        words = [sys.executable, "-m", *words, "--no-dashboard"]
        made.append(subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.DEVNULL))
        return made[-1]

    def worker():
        process = started("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1")
        with distributed.Client(address) as client:
            client.wait_for_workers(1, timeout=60)
        return process

    try:
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told))
        scheduler = started("distributed.cli.dask_scheduler", *options)
        while not told.exists() or not told.read_text().endswith("}"):
            time.sleep(0.02)
        address = json.loads(told.read_text())["address"]
        yield address, scheduler, worker
    finally:
        for each in made:
            each.kill()
            each.wait()


def test_cluster_remote_worker_and_lost_scheduler(small, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "WORKERLESS_SECONDS", 1)
    for name, begin in (("here", 0), ("there", 1_000_000)):
        (tmp_path / name).mkdir()
        made = zarr.create_array(str(tmp_path / name / "x.zarr"), shape=(40, 24), chunks=(10, 8), dtype="f4")
        made[...] = np.arange(960, dtype="f4").reshape(40, 24) + begin
    with scheduler_elsewhere(tmp_path / "there") as (address, scheduler, worker):
        first = worker()
        asked = command("transpose", "x.zarr", "1,0", "-o", "y.zarr", "--cluster", address, "--verify", "sample")
        assert subprocess.run(asked, cwd=tmp_path / "here", env=environment(), check=False).returncode == 0
        found = zarr.open_array(str(tmp_path / "here" / "y.zarr"))[...]
        np.testing.assert_array_equal(found, np.arange(960, dtype="f4").reshape(40, 24).T)
        check_gone(first, "has had no workers for 1 s", address, small, tmp_path / "first.zarr")
        worker()
        check_gone(scheduler, "", address, small, tmp_path / "second.zarr")


def check_gone(process, said, address, source, target):
    """Kill a process of a cluster while it works: that is said, and what is done can be gone on with."""
    job = planned(source)
    told = rf"{address}: .*{said}.*; go on with --resume"
    with workers.open_cluster(address, MEMORY) as cluster, pytest.raises(FileError, match=told):
        carry(job, target, cluster.run, lambda count: count and process.kill())
    assert target.with_suffix(".zarr.part").joinpath("done").read_text()
    carry(job, target, workers.make_thread_runner(1), resume=True)
    check_equal(source, target)


def test_cluster_names_a_silent_scheduler(small, tmp_path, shapecalc, monkeypatch):
    words = ("transpose", str(small), "2,1,0", "-o", str(tmp_path / "y.zarr"), "--cluster")
    monkeypatch.setattr("shapecalc.engine.stores.workers.CONNECT_SECONDS", 0.5)
    for address, told in (("tls", "Dask's configuration names no certificates"), ("tcp", "tcp://127.0.0.1:9")):
        refused = shapecalc(*words, f"{address}://127.0.0.1:9")
        assert (refused.code, refused.err.count("\n"), told in refused.err) == (4, 1, True)
        assert not (tmp_path / "y.zarr.part").exists()
