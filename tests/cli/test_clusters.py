"""Stores on a cluster of real worker processes: results equal to NumPy, bounded memory, killed workers."""

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
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shapecalc import __version__
from shapecalc.engine.arrays import FileError
from shapecalc.engine.stores import workers
from shapecalc.engine.stores.jobs import plan_job, run_job
from shapecalc.engine.stores.store_io import compute_source_digest
from shapecalc.reading.commands import parse_chain
from shapecalc.reasoning.answers import answer_chain
from tests.cli.conftest import command, environment

zarr = pytest.importorskip("zarr", reason="zarr is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

DATA = 192 << 20
MEMORY = 44 << 20
"""The memory limit of a worker: less than a quarter of the large array."""
SMALL_MEMORY = 34 << 20
"""A memory limit with which the small array takes many tasks."""


def create_store(folder, side):
    """Create a store whose chunks are cubes with this side; return its path."""
    shape = (12 * side, 4 * side, 4 * side)
    array = zarr.create_array(str(folder / "x.zarr"), shape=shape, chunks=(side,) * 3, dtype="f4", compressors=None)
    for start in range(0, shape[0], side):
        array[start : start + side] = np.arange(16 * side**3, dtype="f4").reshape(side, *shape[1:]) + start
    return folder / "x.zarr"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return create_store(tmp_path_factory.mktemp("stores"), 64)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return create_store(tmp_path_factory.mktemp("stores"), 32)


@pytest.fixture(scope="module")
def cluster():
    with workers.open_cluster("local:2", MEMORY, print) as local_cluster:
        yield local_cluster


def private_memory(pid):
    with open(f"/proc/{pid}/status") as status:
        return sum(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))


class MemoryWatch:
    """The peak of the private memory of processes, relative to the start, in bytes."""

    def __init__(self, processes):
        self.first = {pid: private_memory(pid) for pid in processes}
        self.peaks, self.stopped = dict(self.first), threading.Event()
        self.thread = threading.Thread(target=self.sample)

    def sample(self):
        while not self.stopped.wait(0.01):
            for pid in self.first:
                self.peaks[pid] = max(self.peaks[pid], private_memory(pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stopped.set()
        self.thread.join()

    @property
    def peak_growth(self):
        return max(peak - self.first[pid] for pid, peak in self.peaks.items())


def chain_of(a, b, c):
    return f"{a},{b},{c} | shuffle --first 2,0,1 --to {2 * c},{a // 2},{b} --second 1,0,2"


def plan_chain(source, memory=SMALL_MEMORY, chain=chain_of):
    text = chain(*zarr.open_array(str(source)).shape)
    return plan_job(answer_chain(*parse_chain(text), {}), str(source), memory, 1)


def execute(job, target, run, tick=int, *, resume=False):
    run_job(job, target, run, tick, force=False, resume=resume)


def check_equal(source, target):
    """Compare an output with NumPy's, slab by slab."""
    array, output = zarr.open_array(str(source), mode="r")[...], zarr.open_array(str(target), mode="r")
    a, b, c = array.shape
    want = array.transpose(2, 0, 1).reshape(2 * c, a // 2, b).transpose(1, 0, 2)
    for start in range(0, want.shape[0], 32):
        np.testing.assert_array_equal(output[start : start + 32], want[start : start + 32])


def test_cluster_reads_each_byte_once_in_bounded_memory(large, small, cluster, tmp_path):
    job = plan_chain(large, MEMORY)
    assert (job.plan.bytes_read, job.plan.bytes_written) == (DATA, DATA)
    processes = [*cluster.client.run(os.getpid).values()]
    execute(plan_chain(small), tmp_path / "warm.zarr", cluster.run_tasks)
    before, done = bytes_read(processes), []
    with MemoryWatch(processes) as watch:
        execute(job, tmp_path / "y.zarr", cluster.run_tasks, done.append)
    check_equal(large, tmp_path / "y.zarr")
    assert watch.peak_growth <= job.worker_memory <= MEMORY < DATA / 4
    assert DATA <= bytes_read(processes) - before < 1.02 * DATA
    assert len([count for count in done if count]) == job.plan.task_count < 100


def bytes_read(processes):
    """Return the bytes that processes have read from files; this array is not compressed."""
    texts = [Path(f"/proc/{pid}/io").read_text() for pid in processes]
    return sum(int(text.partition("rchar: ")[2].split()[0]) for text in texts)


def test_cluster_damaged_chunk_is_named_and_repaired(cluster, tmp_path):
    codec = [zarr.codecs.Crc32cCodec()]
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(64, 64), chunks=(16, 16), dtype="f4", compressors=codec)
    array[...] = np.arange(4096, dtype="f4").reshape(64, 64)
    chunk = tmp_path / "x.zarr" / "c" / "3" / "3"
    intact = chunk.read_bytes()
    chunk.write_bytes(b"\xff" + intact[1:])
    transpose = "{},{} | transpose 1,0".format
    with pytest.raises(FileError, match=r"x\.zarr: .*checksum.*start again"):
        execute(plan_chain(tmp_path / "x.zarr", chain=transpose), tmp_path / "y.zarr", cluster.run_tasks)
    chunk.write_bytes(intact)
    shutil.rmtree(tmp_path / "y.zarr.part")
    execute(plan_chain(tmp_path / "x.zarr", chain=transpose), tmp_path / "y.zarr", cluster.run_tasks)
    np.testing.assert_array_equal(zarr.open_array(str(tmp_path / "y.zarr"))[...], array[...].T)


def test_cluster_survives_a_killed_worker(small, cluster, tmp_path):
    job, done, victims = plan_chain(small), [], [*cluster.client.run(os.getpid).values()]

    def tick(count):
        done.append(count)
        if victims and len(done) > job.plan.task_count / 2:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()

    execute(job, tmp_path / "y.zarr", cluster.run_tasks, tick)
    assert not victims
    check_equal(small, tmp_path / "y.zarr")
    cluster.client.wait_for_workers(2, timeout=60)  # the nanny starts another


def test_cluster_interrupt_ends_workers_silently(small, tmp_path, request):
    """Port 8787, the default of the Dask dashboard, is in use; the warning of Dask is suppressed."""
    with suppress(OSError):
        request.addfinalizer(socket.create_server(("127.0.0.1", 8787)).close)
    streams = {"env": environment(), "stderr": subprocess.PIPE, "text": True}
    for attempt in range(4):  # on a busy machine a run may end before the signal comes
        output = tmp_path / f"{attempt}.zarr"
        words = ("transpose", str(small), "2,1,0", "-o", str(output), "--memory", "33MiB", "--cluster", "local:2")
        with subprocess.Popen(command(*words), **streams, start_new_session=True) as running:
            done = output.with_suffix(".zarr.part") / "done"
            while running.poll() is None and not (done.exists() and done.read_text()):
                time.sleep(0.01)
            os.killpg(running.pid, signal.SIGINT)
            stderr = running.stderr.read()
        if running.returncode:
            break
    assert (running.returncode, stderr.count("\n"), "--resume" in stderr) == (130, 1, True), stderr


def test_cluster_different_workers_are_refused(small, cluster, tmp_path, request):
    cluster.check_workers(str(small), tmp_path / "y.zarr")

    def replace_attribute(name, value):
        from shapecalc.engine.stores import workers

        setattr(workers, name, value)

    for name, original in (("compute_source_digest", compute_source_digest), ("__version__", __version__)):
        request.addfinalizer(partial(cluster.client.run, replace_attribute, name, original))
    cluster.client.run(replace_attribute, "compute_source_digest", other_state)
    with pytest.raises(FileError, match=r"its view of the source is state other, and here state [0-9a-f]{32}$"):
        cluster.check_workers(str(small), tmp_path / "y.zarr")
    with pytest.raises(FileError, match="sees another source there"):  # a worker that joins later is refused likewise
        execute(plan_chain(small), tmp_path / "y.zarr", cluster.run_tasks)
    cluster.client.run(replace_attribute, "__version__", "0.0")
    with pytest.raises(FileError, match=r"its shapecalc is 0\.0"):
        cluster.check_workers(str(small), tmp_path / "y.zarr")


def other_state(_):
    return "other"


@contextmanager
def scheduler_elsewhere(folder):
    """Yield the address and the process of a scheduler on this machine, and a function that starts a worker."""
    scheduler_file, processes = folder / "scheduler.json", []

    def start(*words):
        words = [sys.executable, "-m", *words, "--no-dashboard"]
        processes.append(subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.DEVNULL))
        return processes[-1]

    def start_worker():
        process = start("distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1")
        with distributed.Client(address) as client:
            client.wait_for_workers(1, timeout=60)
        return process

    try:
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(scheduler_file))
        scheduler = start("distributed.cli.dask_scheduler", *options)
        while not scheduler_file.exists() or not scheduler_file.read_text().endswith("}"):
            time.sleep(0.02)
        address = json.loads(scheduler_file.read_text())["address"]
        yield address, scheduler, start_worker
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_cluster_remote_worker_and_lost_scheduler(small, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "MAX_WORKERLESS_SECONDS", 1)
    for name, begin in (("here", 0), ("there", 1_000_000)):
        (tmp_path / name).mkdir()
        array = zarr.create_array(str(tmp_path / name / "x.zarr"), shape=(40, 24), chunks=(10, 8), dtype="f4")
        array[...] = np.arange(960, dtype="f4").reshape(40, 24) + begin
    with scheduler_elsewhere(tmp_path / "there") as (address, scheduler, start_worker):
        first = start_worker()
        words = command("transpose", "x.zarr", "1,0", "-o", "y.zarr", "--cluster", address, "--verify", "sample")
        assert subprocess.run(words, cwd=tmp_path / "here", env=environment(), check=False).returncode == 0
        output = zarr.open_array(str(tmp_path / "here" / "y.zarr"))[...]
        np.testing.assert_array_equal(output, np.arange(960, dtype="f4").reshape(40, 24).T)
        check_lost_process(first, "has had no workers for 1 s", address, small, tmp_path / "first.zarr")
        start_worker()
        check_lost_process(scheduler, "", address, small, tmp_path / "second.zarr")


def check_lost_process(process, reason, address, source, target):
    """Kill a process of a cluster during a job; check that the job fails with the reason and can be resumed."""
    job = plan_chain(source)
    message = rf"{address}: .*{reason}.*; go on with --resume"
    with workers.open_cluster(address, MEMORY, print) as cluster, pytest.raises(FileError, match=message):
        execute(job, target, cluster.run_tasks, lambda count: count and process.kill())
    assert target.with_suffix(".zarr.part").joinpath("done").read_text()
    execute(job, target, workers.make_thread_runner(1), resume=True)
    check_equal(source, target)


def test_cluster_stalled_worker_is_reported_once(monkeypatch):
    monkeypatch.setattr(workers, "STALLED_SECONDS", 0)
    future = Future()
    executor = SimpleNamespace(submit=lambda *_: future, shutdown=lambda **_: None)
    client = SimpleNamespace(
        scheduler=SimpleNamespace(address="tcp://here:1"),
        nthreads=lambda: {"tcp://worker:2": 1},
        processing=lambda: {"tcp://worker:2": ["task"], "tcp://idle:3": []},
        get_executor=lambda **_: executor,
        status="running",
    )
    lines, timer = [], threading.Timer(2.5, future.set_result, [None])
    timer.start()
    assert [*workers.Cluster(client, lines.append).run_tasks(None, [7])] == [(7, None)]
    assert lines == ["tcp://here:1: no task has finished for 0 s; waiting for tcp://worker:2"]


def test_cluster_names_a_silent_scheduler(small, tmp_path, shapecalc, monkeypatch):
    words = ("transpose", str(small), "2,1,0", "-o", str(tmp_path / "y.zarr"), "--cluster")
    monkeypatch.setattr("shapecalc.engine.stores.workers.CONNECT_TIMEOUT_SECONDS", 0.5)
    for address, message in (("tls", "Dask's configuration names no certificates"), ("tcp", "tcp://127.0.0.1:9")):
        refused = shapecalc(*words, f"{address}://127.0.0.1:9")
        assert (refused.code, refused.err.count("\n"), message in refused.err) == (4, 1, True)
        assert not (tmp_path / "y.zarr.part").exists()
