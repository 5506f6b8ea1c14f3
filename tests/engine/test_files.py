"""Arrays from file to file, on every system; truncated, replaced and interrupted files are reported."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.engine import arrays, execute, processes
from shapecalc.engine.arrays import FileError, open_array
from shapecalc.engine.execute import run_on_file, sample_elements
from shapecalc.tui.question import make_element_reader
from tests.engine.tables import rows
from tests.engine.test_atomic_files import SYSTEMS, names
from tests.numpy_moves import apply_with_numpy

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
SAVES = {"npy": np.save, "npz": lambda path, w: np.savez(path, w=w), "packed": lambda p, w: np.savez_compressed(p, w=w)}
SHUFFLE = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3), second=(2, 0, 1))
TWICE = sc.chain((4, 9), "transpose", "reshape 4,9", "transpose", "reshape 4,9", "transpose")


def run_to_file(answer, array, folder, force=False, tick=int):
    """Run an answer on an array in a file, and return the written array."""
    np.save(folder / "x.npy", array)
    run_on_file(answer, open_array(str(folder / "x.npy")), folder / "y.npy", force=force, tick=tick)
    return np.load(folder / "y.npy")


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", SAVES)
def test_file_round_trip_of_every_element_type(tmp_path, name, order, kind):
    array = np.asarray(ARRAYS[name].reshape(2, 3, 4), order=order)
    path = tmp_path / f"x.{'npy' if kind == 'npy' else 'npz'}"
    SAVES[kind](path, array)
    source = open_array(str(path) if kind == "npy" else f"{path}:w")
    assert source.array.shape == (2, 3, 4)
    run_on_file(SHUFFLE, source, tmp_path / "y.npy", force=False, tick=int)
    written = np.load(tmp_path / "y.npy")
    assert (written.dtype, written.tobytes()) == (array.dtype, apply_with_numpy(array, SHUFFLE.moves).tobytes())
    assert written.flags.c_contiguous
    assert names(tmp_path) == [path.name, "y.npy"]


def test_file_scalar_empty_and_shape_vector(tmp_path):
    for array, answer, output in (
        (np.float32(3), sc.reshape((), (1, 1)), [[3.0]]),
        (np.zeros((0, 3)), sc.reshape((0, 3), (3, 0), allowzero=True), [[], [], []]),
        (np.zeros((2, 3)), sc.shape((2, 3)), [2, 3]),
    ):
        assert run_to_file(answer, array, tmp_path, force=True).tolist() == output


@pytest.mark.parametrize("stages", rows("carried"), ids=" | ".join)
def test_file_slices_and_moves_are_written(tmp_path, stages):
    array, ticks = np.arange(36, dtype=np.uint8).reshape(4, 9), []
    answer = sc.chain((4, 9), *stages)
    written, expected = run_to_file(answer, array, tmp_path, tick=ticks.append), apply_with_numpy(array, answer.moves)
    assert written.tolist() == expected.tolist()
    assert sum(ticks) >= expected.nbytes


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("system", SYSTEMS)
def test_file_large_arrays_on_every_system(tmp_path, monkeypatch, system, order, forks):
    SYSTEMS[system](monkeypatch)
    monkeypatch.setattr(execute, "MAX_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(arrays, "READ_BYTES", 100)
    monkeypatch.setattr(processes, "CAN_FORK", forks)
    monkeypatch.delattr(os, "posix_fallocate")
    array, ticks = np.asarray(np.arange(600, dtype=np.int32).reshape(20, 30), order=order), []
    for force in (False, True):
        written = run_to_file(sc.transpose((20, 30)), array, tmp_path, force, ticks.append)
    assert written.tolist() == array.T.tolist()
    assert (sum(ticks), names(tmp_path)) == (2 * array.nbytes, ["x.npy", "y.npy"])
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_file_copy_reads_in_blocks(tmp_path, monkeypatch, most):
    monkeypatch.setattr(arrays, "READ_BYTES", 1000)
    array = np.arange(600, dtype=np.int32).reshape(20, 30)
    np.save(tmp_path / "x.npy", array)
    assert arrays.load_copy(open_array(str(tmp_path / "x.npy")), most).tolist() == array.tolist()


@pytest.mark.parametrize(
    ("forks", "cut_before"), [(True, ["plan_moves"]), (True, ["read_file_stamp"]), (False, ["plan_moves", "load_copy"])]
)
def test_file_truncated_while_mapped_is_reported(tmp_path, monkeypatch, forks, cut_before):
    def cutting(call):
        def cut(*words):
            os.truncate(tmp_path / "x.npy", 5000)
            return call(*words)

        return cut

    monkeypatch.setattr(execute, "MAX_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(processes, "CAN_FORK", forks)
    for name in cut_before:
        monkeypatch.setattr(execute, name, cutting(getattr(execute, name)))
    with pytest.raises(FileError, match=r"x\.npy: it was cut short while it was read"):
        run_to_file(sc.transpose((600, 600)), np.ones((600, 600)), tmp_path)
    assert names(tmp_path) == ["x.npy"]


def test_file_space_is_reserved_before_copying(tmp_path, monkeypatch):
    array, sizes_seen = np.arange(36).reshape(4, 9), []

    def reserve(error):
        def reserved(_, start, size):
            sizes_seen.append(start + size)
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr(os, "posix_fallocate", reserved)

    reserve(errno.EOPNOTSUPP)
    assert (run_to_file(TWICE, array, tmp_path).shape, sizes_seen) == ((9, 4), [128 + 288, 288, 288])
    reserve(errno.ENOSPC)
    with pytest.raises(FileError, match="no space left on device"):
        run_to_file(TWICE, array, tmp_path, force=True)
    assert names(tmp_path) == ["x.npy", "y.npy"]


def test_file_worker_failure_is_reported(tmp_path, monkeypatch):
    def work(tell):
        tell(1)
        raise OSError(28, "No space left on device")

    results = []
    with pytest.raises(OSError, match="No space left"):
        processes.run_in_child(work, results.append)
    assert results == [1]
    monkeypatch.setattr(execute, "MAX_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(execute, "_fill_output", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(FileError, match="the copy was ended by SIGKILL"):
        run_to_file(sc.transpose((6, 6)), np.ones((6, 6)), tmp_path)
    assert names(tmp_path) == ["x.npy"]


def test_file_shown_elements_are_read_without_mapping(tmp_path):
    path, answer = tmp_path / "x.npy", sc.transpose((20, 30))
    np.save(path, np.asfortranarray(np.arange(600.0).reshape(20, 30)))
    source = open_array(str(path))
    shown = make_element_reader(source)
    assert sample_elements(answer, source)[1].elements[2][1] == 32
    assert shown((3, 4)) == 94
    os.truncate(path, 500)
    with pytest.raises(FileError, match="cut short"):
        sample_elements(answer, source)
    assert shown((3, 4)) == "?"
    path.rename(tmp_path / "old.npy")
    np.save(path, np.zeros((20, 30)))
    with pytest.raises(FileError, match="replaced"):
        sample_elements(answer, source)


def test_file_archive_is_unpacked_to_an_unnamed_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    np.savez(tmp_path / "x.npz", w=np.arange(6))
    array = open_array(f"{tmp_path / 'x.npz'}:w").array
    assert (array.tolist(), names(tmp_path)) == ([0, 1, 2, 3, 4, 5], ["x.npz"])


@pytest.mark.parametrize("is_known", [True, False])
def test_backends_are_listed_without_memory_information(shapecalc, monkeypatch, is_known):
    if not is_known:
        monkeypatch.delattr("os.sysconf")
    row = json.loads(shapecalc("backends", "--json").out)[0]
    assert (row["version"], row["memory"] is not None) == (np.__version__, is_known)
    assert is_known or f"{np.__version__} on this machine\n" in shapecalc("backends").out
