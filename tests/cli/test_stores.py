"""Stores on the command line: complete and resumable outputs. Plans: `transcripts/stores.txt`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shapecalc.engine.stores import workers
from shapecalc.engine.stores.regions import grid_cell_at
from tests.cli.conftest import command, environment, run_program

WORDS = ("shuffle", "x.zarr", "--first", "2,0,1", "--to", "0,-1", "-o", "y.zarr")
ARRAY = np.arange(40 * 24 * 20, dtype="f4").reshape(40, 24, 20)
EXPECTED = ARRAY.transpose(2, 0, 1).reshape(20, -1)


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Create a Zarr array in a new working folder, and return it."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    monkeypatch.chdir(tmp_path)
    array = zarr.create_array("x.zarr", shape=ARRAY.shape, chunks=(10, 8, 5), dtype="f4")
    array[...] = ARRAY
    return array


@pytest.fixture
def failed_run(monkeypatch, shapecalc):
    """Return a function that runs a command line whose tasks find a full disk, and returns its error output."""

    def raise_disk_full(_work, _number):
        raise OSError(28, os.strerror(28))

    def run(*words):
        with monkeypatch.context() as patch:
            patch.setattr(workers, "run_task", raise_disk_full)
            ran = shapecalc(*words)
        assert ran.code == 4
        return ran.err

    return run


def read_array(folder):
    import zarr

    return zarr.open_array(str(folder), mode="r")[...]


@pytest.mark.usefixtures("store")
def test_store_multipass_chain_resumes(shapecalc, failed_run):
    stages = "reshape 24,20,40 | transpose 2,0,1 | reshape 30,-1 | transpose | reshape 60,-1 | flip 0 | roll 3 1"
    words = ("chain", f"x.zarr | {stages}", "-o", "y.zarr")
    assert "no space left on device; mend it and go on with --resume" in failed_run(*words)
    assert shapecalc(*words, "--resume", "--verify", "all").code == 0
    expected = ARRAY.reshape(24, 20, 40).transpose(2, 0, 1).reshape(30, -1).T.reshape(60, -1)
    np.testing.assert_array_equal(read_array("y.zarr"), np.roll(np.flip(expected, 0), 3, 1))
    assert not Path("y.zarr.part").exists()


@pytest.mark.usefixtures("store")
def test_store_lost_chunks_are_rewritten(shapecalc, failed_run):
    words = ("transpose", "x.zarr", "2,1,0", "-o", "y.zarr", "--chunks", "20,24,10", "--memory", "33MiB")
    failed_run(*words)
    part = Path("y.zarr.part")
    number = json.loads((part / "manifest.json").read_text())["request"][0][2]
    (part / "done").write_text("".join(f"0 {task} 1 1 1\n" for task in range(-(-40 // number[2]))))
    (part / "0.array.zarr" / "c").mkdir(exist_ok=True)
    (part / "0.array.zarr" / "c" / "0.0123456789abcdef.partial").write_bytes(b"half")
    assert shapecalc(*words, "--resume").code == 0
    np.testing.assert_array_equal(read_array("y.zarr"), ARRAY.transpose(2, 1, 0))
    assert not [*Path("y.zarr").rglob("*.partial")]


@pytest.mark.usefixtures("store")
def test_store_output_is_complete_and_verified(shapecalc):
    assert shapecalc(*WORDS, "--verify", "all").out == "20,960\n"
    np.testing.assert_array_equal(read_array("y.zarr"), EXPECTED)
    assert not Path("y.zarr.part").exists()
    assert shapecalc(*WORDS, "--verify", "sample").code == 0
    wrong = shapecalc("shuffle", "x.zarr", "--first", "2,1,0", *WORDS[4:], "--verify", "all")
    assert (wrong.code, "element 0,1 is 20.0, and should be 480.0" in wrong.err) == (1, True)


def test_store_partial_output_is_bound_to_process_and_source(store, shapecalc, failed_run):
    fcntl = pytest.importorskip("fcntl", reason="this system has no file locks")
    failed_run(*WORDS)
    with open("y.zarr.part/manifest.json", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process writes it" in shapecalc(*WORDS, "--resume").err
    store[...] = ARRAY + 7
    refused = shapecalc(*WORDS, "--resume")
    assert (refused.code, "its source is another" in refused.err, Path("y.zarr").exists()) == (4, True, False)


@pytest.mark.usefixtures("store")
def test_store_damaged_source_advises_a_restart(shapecalc):
    Path("x.zarr/c/0/0/0").write_bytes(b"damaged")
    ran = shapecalc(*WORDS)
    assert (ran.code, "x.zarr: " in ran.err, "repair it and start again" in ran.err) == (4, True, True)


def run_and_signal(store, task_count, words, number=signal.SIGKILL):
    """Run a command line on a store, and send a signal once `task_count` tasks are done.

    Return the exit code, the error output and the lines of the task log.
    """
    done = store.with_name("y.zarr.part") / "done"
    with subprocess.Popen(command(*words), env=environment(), stderr=subprocess.PIPE, text=True) as running:
        while running.poll() is None and not (done.exists() and done.read_text().count("\n") >= task_count):
            time.sleep(0.002)
        running.send_signal(number)
        stderr = running.stderr.read()
    return running.returncode, stderr, done.read_text().splitlines() if done.exists() else []


@pytest.fixture
def large(tmp_path):
    """Return the folder of an array that takes many tasks in little memory."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(192, 192, 192), chunks=(32, 32, 32), dtype="f4")
    array[...] = np.arange(192**3, dtype="f4").reshape(192, 192, 192)
    return tmp_path / "x.zarr"


@pytest.mark.slow
def test_store_killed_run_resumes_finished_chunks(large, shapecalc):
    target = large.with_name("y.zarr")
    words = ("transpose", str(large), "2,1,0", "-o", str(target), "--chunks", "32,32,32", "--memory", "33MiB")
    plan = json.loads(shapecalc(*words, "--plan", "--json").out)["plan"]
    code, _, done = run_and_signal(large, plan["tasks"] / 2, words)
    assert (code, target.exists(), len(done) >= plan["tasks"] / 2) == (-signal.SIGKILL, False, True)
    part = large.with_name("y.zarr.part")
    again = shapecalc(*words)
    assert (again.code, "--resume" in again.err, "rm -r" in again.err) == (4, True, True)
    other = shapecalc(*words[:2], "1,2,0", *words[3:], "--resume")
    assert (other.code, "its request is another" in other.err) == (4, True)
    times = {path.relative_to(part / "0.array.zarr"): path.stat().st_mtime_ns for path in part.rglob("c/*/*/*")}
    assert shapecalc(*words, "--resume").code == 0
    steps = plan["passes"][0]["task"]
    boxes = [grid_cell_at(int(line.split()[1]), (192, 192, 192), steps) for line in done]
    grids = [[range(start // 32, stop // 32) for start, stop in box] for box in boxes]
    kept = [Path("c", *map(str, index)) for grid in grids for index in product(*grid)]
    assert len(kept) >= len(done) > 0
    assert all((target / path).stat().st_mtime_ns == times[path] for path in kept)
    np.testing.assert_array_equal(read_array(target), read_array(large).transpose(2, 1, 0))
    assert not part.exists()


@pytest.mark.slow
def test_store_interrupt_prints_how_to_resume(large):
    words = ("transpose", str(large), "2,1,0", "-o", str(large.with_name("y.zarr")), "--chunks", "32,32,32")
    code, stderr, _ = run_and_signal(large, 4, (*words, "--memory", "33MiB"), signal.SIGTERM)
    assert (code, "go on with --resume" in stderr, "Traceback" in stderr) == (130, True, False)


KILLED_RUN = """
import os, shutil, sys
moment, calls = int(sys.argv.pop(1)), []
def killing_at_moment(call):
    def count_and_call(*words, **options):
        if len(calls) == moment:
            os._exit(137)
        calls.append(call)
        return call(*words, **options)
    return count_and_call
import shapecalc.engine.atomic_files as files
files.rename_and_sync, shutil.rmtree = killing_at_moment(files.rename_and_sync), killing_at_moment(shutil.rmtree)
from shapecalc.__main__ import main
sys.exit(main())
"""
"""A run that is killed at its n-th call of `atomic_files.rename_and_sync` or `shutil.rmtree`, counted from 0."""


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("moment", "new"), [(0, False), (1, False), (2, True), (3, True)])
def test_store_interrupted_rename_is_recovered(moment, new, shapecalc):
    assert shapecalc("reshape", "x.zarr", "20,960", "-o", "y.zarr").code == 0
    words = [sys.executable, "-c", KILLED_RUN, str(moment), *WORDS, "--force"]
    assert run_program(words).returncode == 137
    later = shapecalc(*WORDS)
    assert (later.code, "it exists; --force" in later.err) == (4, True)
    np.testing.assert_array_equal(read_array("y.zarr"), EXPECTED if new else ARRAY.reshape(20, 960))
    assert not [*Path().glob("*/replaced.zarr")]
    assert shapecalc(*WORDS, "--force", "--resume").code == 0
    np.testing.assert_array_equal(read_array("y.zarr"), EXPECTED)
    assert sorted(os.listdir()) == ["x.zarr", "y.zarr"]


MEASURED_RUN = """
import sys
from pathlib import Path
from shapecalc.__main__ import main
code = main()
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""
"""A command line that prints its peak memory in KiB; `getrusage` would include the memory of the parent."""


@pytest.mark.sampled(1)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
@pytest.mark.parametrize("kind", ["gzip", "zstd", "blosc", "shards"])
def test_store_decompression_bomb_is_refused(kind, tmp_path):
    zarr, numcodecs = pytest.importorskip("zarr", reason="zarr is not installed"), pytest.importorskip("numcodecs")
    codec = {"gzip": zarr.codecs.GzipCodec(), "blosc": zarr.codecs.BloscCodec()}.get(kind, zarr.codecs.ZstdCodec())
    pack = {"gzip": numcodecs.GZip(1), "blosc": numcodecs.Blosc()}.get(kind, numcodecs.Zstd()).encode
    sizes = (1, 1024, 1024)
    options = {"shape": sizes, "chunks": sizes, "dtype": "f4", "compressors": codec, "fill_value": None}
    options |= {"shards": sizes} if kind == "shards" else {}
    zarr.create_array(str(tmp_path / "x.zarr"), **options)[...] = 1
    packed = bytes(pack(np.zeros(128 << 22, "u1")))
    index = np.array([0, len(packed)], "<u8").tobytes()
    packed += bytes(numcodecs.CRC32C().encode(index)) if kind == "shards" else b""
    (tmp_path / "x.zarr" / "c" / "0" / "0" / "0").write_bytes(packed)
    words = ["transpose", "x.zarr", "2,1,0", "-o", "y.zarr", "--memory", "64MiB"]
    ran = run_program([sys.executable, "-c", MEASURED_RUN, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.count("\n")) == (4, 1)
    assert "or than --memory allows" in ran.stderr
    assert int(ran.stdout) << 10 <= (64 + 256) << 20


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo") or sys.platform != "linux", reason="file size limits need Unix")
def test_store_full_disk_is_reported_and_resumable(large, shapecalc):
    target = large.with_name("y.zarr")
    words = ("transpose", str(large), "2,1,0", "-o", str(target), "--chunks", "96,96,96")
    limit = 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 64; exec "$@"'  # bytecode files would be cut at the limit
    ran = run_program(["sh", "-c", limit, "sh", *command(*words)], capture_output=True, text=True)
    assert (ran.returncode, "file too large" in ran.stderr, "--resume" in ran.stderr) == (4, True, True)
    assert shapecalc(*words, "--resume").code == 0
    np.testing.assert_array_equal(read_array(target), read_array(large).transpose(2, 1, 0))
