"""Stores on the command line: plans, outputs that are whole or a part to go on with, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from shapecalc.engine.stores import workers
from shapecalc.engine.stores.regions import region_at
from tests.cli.conftest import command, environment, process

ASK = ("--first", "2,0,1", "--to", "0,-1")
ARRAY = np.arange(40 * 24 * 20, dtype="f4").reshape(40, 24, 20)
WANT = ARRAY.transpose(2, 0, 1).reshape(20, -1)


@pytest.fixture
def store(tmp_path):
    """Return the folder of a Zarr array, with a group beside it."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    made = zarr.create_array(str(tmp_path / "x.zarr"), shape=ARRAY.shape, chunks=(10, 8, 5), dtype="f4")
    made[...] = ARRAY
    zarr.create_array(str(tmp_path / "g.zarr"), name="a/b", shape=(2, 3), dtype="f4")
    return tmp_path / "x.zarr"


@pytest.fixture
def failing(monkeypatch):
    """Return what lets tasks fail for want of room, from some number on, meanwhile."""
    do_task = workers.do_task

    @contextmanager
    def fail(begin=0):
        def failed(work, number):
            if number >= begin:
                raise OSError(28, os.strerror(28))
            return do_task(work, number)

        monkeypatch.setattr(workers, "do_task", failed)
        yield
        monkeypatch.setattr(workers, "do_task", do_task)

    return fail


def held(folder):
    import zarr

    return zarr.open_array(str(folder), mode="r")[...]


def test_the_shape_of_a_store_answers_commands_without_the_library(tmp_path, shapecalc):
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    metadata = {"zarr_format": 3, "node_type": "array", "shape": [4, 5, 6], "data_type": "float16"}
    (folder / "zarr.json").write_text(json.dumps(metadata))
    assert shapecalc("reshape", str(folder), "0,-1").out == "4,30\n"
    assert shapecalc("chain", f"{folder}/ | transpose 2,0,1").out == "6,4,5\n"
    assert json.loads(shapecalc("reshape", str(folder), "0,-1", "--json").out)["options"]["dtype"] == "float16"
    assert shapecalc("reshape", str(folder), "0,-1", "--explain").code == 0


def test_a_group_names_its_arrays_and_a_member_is_found(store, shapecalc):
    group = store.with_name("g.zarr")
    assert shapecalc("reshape", f"{group}:a/b", "-1").out == "6\n"
    refused = shapecalc("reshape", str(group), "-1")
    assert (refused.code, f"a/b; write {group}:NAME" in refused.err) == (4, True)
    assert shapecalc("reshape", f"{group}:../x.zarr", "-1").code == 4


def test_a_url_is_no_path(shapecalc):
    assert shapecalc("reshape", "s3://bucket/x.zarr", "-1").code == 2


def test_a_plan_is_printed_and_nothing_is_written(store, shapecalc):
    told = shapecalc("shuffle", str(store), *ASK, "--plan", "-o", str(store.with_name("y.zarr")))
    assert told.out.splitlines()[:3] == [
        "input   40,24,20 in chunks of 10,8,5",
        told.out.splitlines()[1],
        "tasks   1",
    ]
    assert not store.with_name("y.zarr").exists()
    plan = json.loads(shapecalc("shuffle", str(store), *ASK, "--plan", "--json").out)["plan"]
    assert (plan["read"], plan["written"], plan["data"], plan["disk"]) == (ARRAY.nbytes,) * 4


def test_a_chain_that_mixes_again_is_planned_and_gone_on_with_in_passes(store, shapecalc, monkeypatch, failing):
    monkeypatch.chdir(store.parent)
    mixed = "reshape 24,20,40 | transpose 2,0,1 | reshape 30,-1 | transpose | reshape 60,-1 | flip 0 | roll 3 1"
    told = shapecalc("chain", f"x.zarr | {mixed}", "--plan").out
    assert [line for line in told.splitlines() if line.startswith("passes  3, with stores between")]
    plan = json.loads(shapecalc("chain", f"x.zarr | {mixed}", "--plan", "--json").out)["plan"]
    assert (plan["written"], plan["disk"]) == (3 * ARRAY.nbytes, 2 * ARRAY.nbytes)
    words = ("chain", f"x.zarr | {mixed}", "-o", "y.zarr")
    with failing():
        assert "No space left on device; mend it and go on with --resume" in shapecalc(*words).err
    assert shapecalc(*words, "--resume", "--verify", "all").code == 0
    want = ARRAY.reshape(24, 20, 40).transpose(2, 0, 1).reshape(30, -1).T.reshape(60, -1)
    np.testing.assert_array_equal(held("y.zarr"), np.roll(np.flip(want, 0), 3, 1))
    assert not Path("y.zarr.part").exists()


def test_chunks_that_were_lost_are_written_again_and_what_was_left_is_removed(store, shapecalc, monkeypatch, failing):
    monkeypatch.chdir(store.parent)
    words = ("transpose", "x.zarr", "2,1,0", "-o", "y.zarr", "--chunks", "20,24,10", "--memory", "33MiB")
    with failing():
        assert shapecalc(*words).code == 4
    part = Path("y.zarr.part", "0.array.zarr")
    number = json.loads(Path("y.zarr.part", "manifest.json").read_text())["request"][0][2]
    Path("y.zarr.part", "done").write_text("".join(f"0 {task} 1 1 1\n" for task in range(-(-40 // number[2]))))
    (part / "c").mkdir(exist_ok=True)
    (part / "c" / "0.0123456789abcdef.partial").write_bytes(b"half")
    assert shapecalc(*words, "--resume").code == 0
    np.testing.assert_array_equal(held("y.zarr"), ARRAY.transpose(2, 1, 0))
    assert not [*Path("y.zarr").rglob("*.partial")]


def test_an_output_inside_its_source_is_refused(store, shapecalc):
    refused = shapecalc("transpose", str(store), "2,1,0", "-o", str(store / "y.zarr"))
    assert (refused.code, "inside it" in refused.err, (store / "y.zarr").exists()) == (4, True, False)


def test_an_output_is_written_whole_and_verified(store, shapecalc):
    target = store.with_name("y.zarr")
    assert shapecalc("shuffle", str(store), *ASK, "-o", str(target), "--verify", "all").out == "20,960\n"
    np.testing.assert_array_equal(held(target), WANT)
    assert not store.with_name("y.zarr.part").exists()
    assert shapecalc("shuffle", str(store), *ASK, "-o", str(target), "--verify", "sample").code == 0
    wrong = shapecalc("shuffle", str(store), "--first", "2,1,0", "--to", "0,-1", "-o", str(target), "--verify", "all")
    assert (wrong.code, "element 0,1 is 20.0, and should be 480.0" in wrong.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--plan", "--memory", "12 apples"], 2),
        (["--plan", "--memory", "1KiB"], 4),
        (["--plan", "--chunks", "5,5,5"], 4),
        (["--plan", "--chunks", "a,b"], 2),
        (["--verify", "some", "-o", "y.zarr"], 2),
        (["--resume"], 2),
        (["--cluster", "local:0", "-o", "y.zarr"], 2),
        (["--cluster", "pigeon", "-o", "y.zarr"], 2),
        (["-o", "y.npy"], 4),
        (["-o", "nowhere/y.zarr"], 4),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words, code, store, shapecalc, monkeypatch):
    monkeypatch.chdir(store.parent)
    refused = shapecalc("shuffle", "x.zarr", *ASK, *words)
    assert (refused.code, refused.err.count("\n"), refused.out) == (code, 1, "")
    assert sorted(path.name for path in store.parent.iterdir()) == ["g.zarr", "x.zarr"]


def test_options_of_stores_need_a_store(shapecalc, tmp_path):
    assert shapecalc("reshape", "2,3", "6", "--plan").code == 2
    np.save(tmp_path / "x.npy", ARRAY)
    words = ("transpose", str(tmp_path / "x.npy"), "-o", str(tmp_path / "y.npy"), "--memory", "1GiB")
    assert shapecalc(*words).code == 2


def test_an_output_that_exists_needs_force_which_replaces_arrays_alone(store, shapecalc, monkeypatch):
    monkeypatch.chdir(store.parent)
    ask = ("shuffle", "x.zarr", *ASK, "-o")
    assert shapecalc(*ask, "y.zarr").code == 0
    assert "--force writes over it" in shapecalc(*ask, "y.zarr").err
    assert shapecalc(*ask, "y.zarr", "--force").code == 0
    assert "no folder of a Zarr array" in shapecalc(*ask, "g.zarr", "--force").err
    assert "the output is the input" in shapecalc(*ask, "x.zarr", "--force").err
    Path("link.zarr").symlink_to("y.zarr")
    assert shapecalc(*ask, "link.zarr", "--force").code == 4
    assert sorted(os.listdir()) == ["g.zarr", "link.zarr", "x.zarr", "y.zarr"]


def killed_at(store, share, words, number=signal.SIGKILL):
    """Run a command line on a store of many tasks, and send it a signal when a share of them is done."""
    done = store.with_name("y.zarr.part") / "done"
    with subprocess.Popen(command(*words), env=environment(), stderr=subprocess.PIPE, text=True) as running:
        while running.poll() is None and not (done.exists() and done.read_text().count("\n") >= share):
            time.sleep(0.002)
        running.send_signal(number)
        said = running.stderr.read()
    return running.returncode, said, done.read_text().splitlines() if done.exists() else []


@pytest.fixture
def large(tmp_path):
    """Return the folder of an array that takes 64 tasks in little memory, and what it becomes."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    array = np.arange(16 << 20, dtype="f4").reshape(256, 256, 256)
    made = zarr.create_array(str(tmp_path / "x.zarr"), shape=array.shape, chunks=(64, 64, 64), dtype="f4")
    made[...] = array
    return tmp_path / "x.zarr"


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_run_that_is_killed_is_gone_on_with_and_what_is_done_stays(share, large, shapecalc):
    target = large.with_name("y.zarr")
    words = ("transpose", str(large), "2,1,0", "-o", str(target), "--chunks", "64,64,64", "--memory", "44MiB")
    plan = json.loads(shapecalc(*words, "--plan", "--json").out)["plan"]
    code, _, done = killed_at(large, share * plan["tasks"], words)
    assert (code, target.exists(), len(done) >= share * plan["tasks"]) == (-signal.SIGKILL, False, True)
    part = large.with_name("y.zarr.part")
    again = process(*words, capture_output=True, text=True)
    assert (again.returncode, "--resume" in again.stderr, "rm -r" in again.stderr) == (4, True, True)
    other = process(*words[:2], "1,2,0", *words[3:], "--resume", capture_output=True, text=True)
    assert (other.returncode, "its request is another" in other.stderr) == (4, True)
    times = {path.relative_to(part / "0.array.zarr"): path.stat().st_mtime_ns for path in part.rglob("c/*/*/*")}
    assert process(*words, "--resume").returncode == 0
    steps = plan["passes"][0]["task"]
    boxes = [region_at(int(line.split()[1]), (256, 256, 256), steps) for line in done]
    grids = [[range(start // 64, stop // 64) for start, stop in box] for box in boxes]
    kept = [Path("c", *map(str, place)) for grid in grids for place in product(*grid)]
    assert len(kept) >= len(done) > 0
    assert all((target / path).stat().st_mtime_ns == times[path] for path in kept)
    np.testing.assert_array_equal(held(target), held(large).transpose(2, 1, 0))
    assert not part.exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_says_how_to_go_on(number, large):
    words = ("transpose", str(large), "2,1,0", "-o", str(large.with_name("y.zarr")), "--chunks", "64,64,64")
    code, said, _ = killed_at(large, 4, (*words, "--memory", "44MiB"), number)
    assert (code, "go on with --resume" in said, "Traceback" in said) == (130, True, False)


def test_a_source_that_changed_is_not_gone_on_with(store, shapecalc, monkeypatch, failing):
    import zarr

    monkeypatch.chdir(store.parent)
    words = ("shuffle", "x.zarr", *ASK, "-o", "y.zarr")
    with failing():
        assert shapecalc(*words).code == 4
    zarr.open_array("x.zarr", mode="r+")[...] = ARRAY + 7
    refused = shapecalc(*words, "--resume")
    assert (refused.code, "its source is another" in refused.err, Path("y.zarr").exists()) == (4, True, False)


def test_a_damaged_source_says_to_begin_anew(store, shapecalc, monkeypatch):
    monkeypatch.chdir(store.parent)
    (store / "c" / "0" / "0" / "0").write_bytes(b"damaged")
    words = ("shuffle", "x.zarr", *ASK, "-o", "y.zarr")
    failed = shapecalc(*words)
    assert (failed.code, "x.zarr: " in failed.err, "begin anew when it is mended" in failed.err) == (4, True, True)


BROKEN_OFF = """
import os, shutil, sys
from pathlib import Path
moment, calls = int(sys.argv.pop(1)), []
def counted(call):
    def made(*words, **options):
        if len(calls) == moment:
            os._exit(137)
        calls.append(call)
        return call(*words, **options)
    return made
Path.rename, shutil.rmtree = counted(Path.rename), counted(shutil.rmtree)
from shapecalc.__main__ import main
sys.exit(main())
"""
"""A command line that is killed at its first, second ... renaming or removing of a folder."""


@pytest.mark.parametrize(("moment", "new"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_kill_while_names_change_is_finished_or_taken_back(moment, new, store, shapecalc, monkeypatch):
    monkeypatch.chdir(store.parent)
    assert shapecalc("reshape", "x.zarr", "20,960", "-o", "y.zarr").code == 0
    words = ("shuffle", "x.zarr", *ASK, "-o", "y.zarr")
    killed = [sys.executable, "-c", BROKEN_OFF, str(moment), *words, "--force"]
    assert subprocess.run(killed, env=environment(), check=False).returncode == 137
    later = shapecalc(*words)
    assert (later.code, "it exists; --force" in later.err) == (4, True)
    np.testing.assert_array_equal(held("y.zarr"), WANT if new else ARRAY.reshape(20, 960))
    assert not [*Path().glob("*/replaced.zarr")]
    assert shapecalc(*words, "--force", "--resume").code == 0
    np.testing.assert_array_equal(held("y.zarr"), WANT)
    assert sorted(os.listdir()) == ["g.zarr", "x.zarr", "y.zarr"]


MEASURED = """
import sys
from pathlib import Path
from shapecalc.__main__ import main
code = main()
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""
"""A command line that prints the most memory that it held, in KiB. What `getrusage` says counts its parent's, too."""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
@pytest.mark.parametrize("kind", ["gzip", "zstd", "blosc", "shards"])
def test_a_chunk_that_unpacks_to_128_times_what_it_declares_is_refused_in_bounded_memory(kind, tmp_path):
    zarr, numcodecs = pytest.importorskip("zarr", reason="zarr is not installed"), pytest.importorskip("numcodecs")
    codec = {"gzip": zarr.codecs.GzipCodec(), "blosc": zarr.codecs.BloscCodec()}.get(kind, zarr.codecs.ZstdCodec())
    pack = {"gzip": numcodecs.GZip(1), "blosc": numcodecs.Blosc()}.get(kind, numcodecs.Zstd()).encode
    sizes = (1, 1024, 1024)
    shards = {"shards": sizes} if kind == "shards" else {}
    made = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=sizes, chunks=sizes, dtype="f4", compressors=codec, fill_value=None, **shards
    )
    made[...] = 1
    packed = bytes(pack(np.zeros(128 << 22, "u1")))
    index = np.array([0, len(packed)], "<u8").tobytes()
    (tmp_path / "x.zarr" / "c" / "0" / "0" / "0").write_bytes(
        packed + bytes(numcodecs.CRC32C().encode(index)) if shards else packed
    )
    words = ["transpose", "x.zarr", "2,1,0", "-o", "y.zarr", "--memory", "64MiB"]
    asked = [sys.executable, "-c", MEASURED, *words]
    ran = subprocess.run(asked, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (4, 1)
    assert "or than --memory allows" in ran.stderr
    assert int(ran.stdout) << 10 <= (64 + 256) << 20


def test_the_plan_tells_the_disk_that_an_unpacked_input_takes(shapecalc, tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed")
    np.savez_compressed(tmp_path / "x.npz", a=ARRAY)
    words = ("transpose", f"{tmp_path / 'x.npz'}:a", "--plan")
    assert "scratch 75.0 KiB" in shapecalc(*words).out
    assert json.loads(shapecalc(*words, "--json").out)["plan"]["scratch"] == ARRAY.nbytes


def test_a_part_that_another_process_holds_is_left_to_it(store, shapecalc, monkeypatch, failing):
    fcntl = pytest.importorskip("fcntl", reason="this system has no file locks")
    monkeypatch.chdir(store.parent)
    words = ("shuffle", "x.zarr", *ASK, "-o", "y.zarr")
    with failing():
        assert shapecalc(*words).code == 4
    with open("y.zarr.part/manifest.json", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process writes it" in shapecalc(*words, "--resume").err
    assert shapecalc(*words, "--resume").code == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo") or sys.platform != "linux", reason="limits of file sizes are of Unix")
def test_a_full_disk_is_said_and_gone_on_with(large):
    target = large.with_name("y.zarr")
    words = ("transpose", str(large), "2,1,0", "-o", str(target), "--chunks", "128,128,128")
    limited = subprocess.run(
        ["sh", "-c", 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 64; exec "$@"', "sh", *command(*words)],
        env=environment() | {"PYTHONDONTWRITEBYTECODE": "1"},  # Python would leave half of a file
        capture_output=True,
        text=True,
        check=False,
    )
    assert (limited.returncode, "File too large" in limited.stderr, "--resume" in limited.stderr) == (4, True, True)
    assert process(*words, "--resume").returncode == 0
    np.testing.assert_array_equal(held(target), held(large).transpose(2, 1, 0))


def test_an_empty_part_holds_nothing_to_go_on_with(store, shapecalc):
    store.with_name("y.zarr.part").mkdir()
    assert shapecalc("shuffle", str(store), *ASK, "-o", str(store.with_name("y.zarr"))).code == 0
    assert sorted(path.name for path in store.parent.iterdir()) == ["g.zarr", "x.zarr", "y.zarr"]
