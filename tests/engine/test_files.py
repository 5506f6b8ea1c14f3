"""Arrays in files: headers, mapped data, and outputs that are whole or not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.engine import whole_files
from shapecalc.engine.arrays import FileError, open_array
from shapecalc.engine.execute import carry_out
from tests.cli.conftest import ROOT, environment, process

ARRAYS = {
    "float": np.arange(24, dtype=np.float32),
    "big-endian": np.arange(24, dtype=">i8"),
    "half": np.arange(24, dtype=np.float16),
    "text": np.array([f"{i}" for i in range(24)]),
    "bytes": np.array([b"x"] * 24),
    "structure": np.zeros(24, [("a", "u1"), ("b", "<f8")]),
    "unknown": np.arange(48, dtype=np.uint8).view("V2"),
    "complex": np.arange(24) * 1j,
}


def expected(array):
    return array.transpose(1, 0, 2).reshape(2, 4, 3).transpose(2, 0, 1)


SHUFFLE = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3), second=(2, 0, 1))


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["npy", "npz", "packed"])
def test_every_kind_of_array_goes_through_unchanged(tmp_path, name, order, kind):
    array = np.asarray(ARRAYS[name].reshape(2, 3, 4), order=order)
    path = tmp_path / f"x.{'npy' if kind == 'npy' else 'npz'}"
    {"npy": np.save, "npz": lambda p, a: np.savez(p, w=a), "packed": lambda p, a: np.savez_compressed(p, w=a)}[kind](
        path, array
    )
    source = open_array(str(path) if kind == "npy" else f"{path}:w")
    assert source.array.shape == (2, 3, 4)
    carry_out(SHUFFLE, source, tmp_path / "y.npy", force=False, tick=int)
    written = np.load(tmp_path / "y.npy")
    assert (written.dtype, written.tobytes()) == (array.dtype, expected(array).tobytes())
    assert written.flags.c_contiguous
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, "y.npy"])


def test_a_scalar_an_empty_array_and_the_vector_of_a_shape(tmp_path):
    for array, answer, output in (
        (np.float32(3), sc.reshape((), (1, 1)), [[3.0]]),
        (np.zeros((0, 3)), sc.reshape((0, 3), (3, 0), allowzero=True), [[], [], []]),
        (np.zeros((2, 3)), sc.shape((2, 3)), [2, 3]),
    ):
        np.save(tmp_path / "x.npy", array)
        carry_out(answer, open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=True, tick=int)
        assert np.load(tmp_path / "y.npy").tolist() == output


def test_two_copies_go_through_a_scratch_file(tmp_path):
    array = np.arange(36, dtype=np.uint8).reshape(4, 9)
    np.save(tmp_path / "x.npy", array)
    answer = sc.chain((4, 9), "transpose", "reshape 4,9", "transpose", "reshape 4,9", "transpose")
    carry_out(answer, open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=False, tick=int)
    assert np.load(tmp_path / "y.npy").tolist() == array.T.reshape(4, 9).T.reshape(4, 9).T.tolist()


KEPT = {
    "slice [::-1, 1:9:3]": lambda x: x[::-1, 1:9:3],
    "slice [:0]": lambda x: x[:0],
    "transpose | reshape 4,9 | slice 1:2": lambda x: x.T.reshape(4, 9)[1:2],
    "transpose | reshape 4,9 | select 0 -1": lambda x: x.T.reshape(4, 9)[-1],
    "split 1 3 --part 2 | flip 0,1 | reshape -1": lambda x: np.flip(x[:, 6:]).reshape(-1),
    "tile 2,3": lambda x: np.tile(x, (2, 3)),
    "moveaxis 0 1 | tile 2 -d numpy": lambda x: np.tile(x.T, 2),
    "unflatten 1 3,-1 | swapaxes 0 2": lambda x: x.reshape(4, 3, 3).swapaxes(0, 2),
    "roll -7 1": lambda x: np.roll(x, -7, 1),
    "transpose | reshape 4,9 | roll 1 0 | roll 4 1 | flip 0": lambda x: np.roll(x.T.reshape(4, 9), (1, 4), (0, 1))[
        ::-1
    ],
}
"""Chains that keep or move positions, and what NumPy makes of them."""


@pytest.mark.parametrize("stages", KEPT)
def test_kept_and_moved_positions_are_written(tmp_path, stages):
    array = np.arange(36, dtype=np.uint8).reshape(4, 9)
    np.save(tmp_path / "x.npy", array)
    answer, ticks = sc.chain((4, 9), *stages.split(" | ")), []
    carry_out(answer, open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=False, tick=ticks.append)
    assert np.load(tmp_path / "y.npy").tolist() == KEPT[stages](array).tolist()
    assert sum(ticks) >= KEPT[stages](array).nbytes


def test_safetensors(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    path = tmp_path / "x.safetensors"
    library.save_file({"w": ARRAYS["float"].reshape(2, 3, 4), "b": np.zeros(3, np.int8)}, path)
    source = open_array(f"{path}:w")
    assert (source.array.shape, source.dtype) == ((2, 3, 4), "float32")
    carry_out(SHUFFLE, source, tmp_path / "y.npy", force=False, tick=int)
    assert np.load(tmp_path / "y.npy").tolist() == expected(ARRAYS["float"].reshape(2, 3, 4)).tolist()
    for text in (f"{path}:nope", str(path)):
        with pytest.raises(FileError, match="it has b, w"):
            open_array(text)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FileError):
        open_array(f"{path}:w")


def bad_files(folder):
    """Return names of files that are no arrays, each made in its own way."""
    np.save(folder / "x.npy", np.zeros((2, 3)))
    whole = (folder / "x.npy").read_bytes()
    np.save(folder / "pickled.npy", np.array([None]), allow_pickle=True)
    np.savez(folder / "x.npz", w=np.zeros(3))
    packed = (folder / "x.npz").read_bytes()
    for name, content in {
        "cut.npy": whole[:140],
        "cut-header.npy": whole[:50],
        "empty.npy": b"",
        "garbage.npy": b"garbage" * 40,
        "lies.npy": whole.replace(b"(2, 3)", b"(9, 9)"),
        "negative.npy": whole.replace(b"(2, 3)", b"(-2,3)"),
        "code.npy": whole.replace(b"(2, 3)", b"exit()"),
        "cut.npz": packed[: len(packed) // 2],
        "lies.npz": packed.replace(b"(3,)", b"(9,)"),
    }.items():
        (folder / name).write_bytes(content)
    (folder / "folder.npy").mkdir()
    names = [
        "missing.npy",
        "pickled.npy",
        "cut.npy",
        "cut-header.npy",
        "empty.npy",
        "garbage.npy",
        "lies.npy",
        "negative.npy",
    ]
    return [*names, "code.npy", "folder.npy", "cut.npz:w", "lies.npz:w", "x.npz", "x.npz:nope", "missing.safetensors:w"]


def test_a_packed_member_that_is_damaged_still_has_a_shape(tmp_path, shapecalc):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, w=np.random.default_rng(1).integers(0, 9, 6000).astype("u1"))
    packed = bytearray(path.read_bytes())
    packed[len(packed) // 2] ^= 0xFF
    path.write_bytes(packed)
    assert shapecalc("reshape", f"{path}:w", "0").out == "6000\n"
    for asked in ("--values", "--explain", f"-o{tmp_path / 'y.npy'}"):
        ran = shapecalc("reshape", f"{path}:w", "-1,6", asked)
        assert (ran.code, ran.out) == (4, ""), asked
        assert ran.err.splitlines()[-1].startswith(f"shapecalc: file: {path}:w: "), asked
    assert not (tmp_path / "y.npy").exists()


def test_files_that_are_no_arrays_are_4_and_one_line(tmp_path, shapecalc):
    for name in bad_files(tmp_path):
        ran = shapecalc("reshape", str(tmp_path / name), "-1")
        assert (ran.code, ran.out) == (4, ""), name
        assert ran.err.startswith("shapecalc: file: "), name
        assert ran.err.count("\n") == 1, name
        found = shapecalc("reshape", str(tmp_path / name), "-1", "--json")
        assert (found.code, json.loads(found.out)["problem"]["rule"]) == (4, "file")


def test_the_command_line_reads_shapes_and_types_from_headers(tmp_path, shapecalc):
    path = str(tmp_path / "x.npy")
    np.save(path, np.arange(24.0).reshape(2, 3, 4))
    assert shapecalc("reshape", path, "0,-1").out == "2,12\n"
    assert shapecalc("reshape", path, "0,-1", "-d", "onednn", "--special-zero").code == 3
    assert shapecalc("chain", f"{path} | transpose 1,0,2 | reshape 0,-1").out == "3,8\n"
    assert shapecalc("compare", path, "6,4").code == 0
    assert "after 4,6\n[[ 0.0  1.0" in shapecalc("reshape", path, "4,6", "--values").err


def test_an_output_is_written_once_and_never_onto_its_input(tmp_path, shapecalc):
    path, target = str(tmp_path / "x.npy"), str(tmp_path / "y.npy")
    np.save(path, np.arange(6))
    assert shapecalc("reshape", path, "2,3", "-o", target, "--expect", "9").code == 1
    assert not os.path.exists(target)
    assert shapecalc("reshape", path, "2,3", "-o", target).code == 0
    assert shapecalc("reshape", path, "3,2", "-o", target).code == 4
    assert np.load(target).shape == (2, 3)
    assert shapecalc("reshape", path, "3,2", "-o", target, "--force").code == 0
    assert np.load(target).shape == (3, 2)
    os.link(path, tmp_path / "same.npy")
    assert shapecalc("reshape", path, "2,3", "-o", str(tmp_path / "same.npy"), "--force").code == 4
    assert shapecalc("reshape", path, "2,3", "-o", str(tmp_path / "none" / "y.npy")).code == 4
    assert shapecalc("reshape", path, "2,3", "-o", str(tmp_path / "y.txt")).code == 4
    assert shapecalc("reshape", "2,3", "6", "-o", target).code == 2
    assert shapecalc("reshape", path, "2,3", "--backend", "abacus").code == 2


SLOW = """
import os, signal, sys, time
from pathlib import Path
import shapecalc as sc
from shapecalc.engine.arrays import open_array
from shapecalc.engine.execute import carry_out
def tick(done):
    os.write(1, b"w")
    time.sleep(3)
carry_out(sc.transpose((512, 512)), open_array(sys.argv[1]), Path(sys.argv[2]), force=True, tick=tick)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_write_that_is_cut_short_leaves_the_old_file_and_no_litter(tmp_path, end):
    np.save(tmp_path / "x.npy", np.ones((512, 512)))
    (tmp_path / "y.npy").write_text("the old file")
    running = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path / "x.npy"), str(tmp_path / "y.npy")],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert running.stdout is not None
    assert running.stdout.read(1) == b"w"
    running.send_signal(end)
    running.wait(timeout=70)
    running.stdout.close()
    assert (tmp_path / "y.npy").read_text() == "the old file"
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(1 << 20, np.uint8))
    (tmp_path / "y.npy").write_text("the old file")
    line = (
        f"ulimit -f 64; '{sys.executable}' -B -m shapecalc"
        f" reshape {tmp_path}/x.npy 1024,1024 -o {tmp_path}/y.npy --force"
    )
    ran = subprocess.run(["bash", "-c", line], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert ran.returncode == 4
    assert ran.stderr.startswith("shapecalc: file: ")
    assert (tmp_path / "y.npy").read_text() == "the old file"
    assert sorted(os.listdir(tmp_path)) == ["x.npy", "y.npy"]


def test_cupy_is_refused_with_the_reason(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(6))
    rows = json.loads(process("backends", "--json", capture_output=True).stdout)
    assert rows[0]["version"] == np.__version__
    for words in (("-o", str(tmp_path / "y.npy")), ("--explain",), ("--json",)):
        words = ("reshape", str(tmp_path / "x.npy"), "2,3", "--backend", "cupy", *words)
        ran = process(*words, capture_output=True, text=True)
        assert (ran.returncode, "carries out no files" in ran.stdout + ran.stderr) == (4, True)


def test_backends_are_listed_where_the_system_does_not_tell_its_memory(shapecalc, monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert json.loads(shapecalc("backends", "--json").out)[0]["memory"] is None
    assert f"{np.__version__} on this machine\n" in shapecalc("backends").out


def test_the_strides_that_a_view_names_are_those_of_the_data(shapecalc):
    ran = shapecalc("view", "3,4", "3,2,2", "--strides", "1,3", "--explain=all")
    assert "engine: no data is copied: the output is a view of the input\nengine: 3,2,2 with strides 1,6,3\n" in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "6,4"),
            "24 elements are copied: one dim would need the ",
        ),
        (("roll", "2,3", "1", "0"), "6 elements are copied: no stride goes round the end of an axis\n"),
    ],
)
def test_why_data_is_copied(shapecalc, words, told):
    assert f"engine: {told}" in shapecalc(*words, "--explain").err


def test_following_an_element_there_and_back(shapecalc):
    words = ("shuffle", "2,3,4", "--first", "1,0,2", "--to", "2,-1,3")
    ran = shapecalc(*words, "--follow", "1,0,0", "--follow-out", "0,1,1")
    assert ran.out == "2,4,3\n"
    assert ran.err == (
        "goes: input [1,0,0] -> first [0,1,0] -> to [0,1,1]\ncame: to [0,1,1] -> first [0,1,0] -> input [1,0,0]\n"
    )
    found = json.loads(shapecalc(*words, "--follow", "-1,0,0", "--json").out)
    assert found["follow"][-1] == {"stage": "to", "index": [0, 1, 1]}
    for index in ("2,0,0", "1,0", "x"):
        assert shapecalc(*words, "--follow", index).code == 2
    assert shapecalc("shape", "2,3", "--follow", "0,0").code == 2
    assert shapecalc("reshape", "N,3", "-1", "--follow", "0,0").code == 2
    assert shapecalc("reshape", "N,3", "-1", "--values").code == 2


def test_an_element_that_a_stage_leaves_out_is_followed_to_there(shapecalc):
    chain = "4,9 | slice ::2 | transpose"
    assert shapecalc("chain", chain, "--follow", "1,0").err == "goes: input [1,0] -> slice left out\n"
    found = json.loads(shapecalc("chain", chain, "--follow", "1,0", "--follow-out", "0,1", "--json").out)
    assert [place["index"] for place in found["follow"]] == [[1, 0], None]
    assert [place["index"] for place in found["follow_out"]] == [[0, 1], [1, 0], [2, 0]]


def test_values_of_a_shape_that_no_machine_holds(shapecalc):
    ran = shapecalc("reshape", "1000000000,1000000000", "-1", "--values")
    assert (ran.code, ran.out) == (0, "1000000000000000000\n")
    assert ran.err.endswith("999999999999999997 999999999999999998 999999999999999999]\n")


def test_a_system_without_nameless_files_and_without_reserving_writes_whole_files_too(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_files, "UNNAMED", 0)
    monkeypatch.delattr(os, "posix_fallocate")
    np.save(tmp_path / "x.npy", np.arange(6).reshape(2, 3))
    carry_out(sc.transpose((2, 3)), open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=False, tick=int)
    assert np.load(tmp_path / "y.npy").tolist() == [[0, 3], [1, 4], [2, 5]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npy", "y.npy"]
