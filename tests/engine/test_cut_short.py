"""Files that others cut short while they are read, and systems on which they are read in pieces."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.engine import arrays, execute, processes
from shapecalc.engine.arrays import FileError, open_array
from shapecalc.engine.execute import carry_out, samples
from shapecalc.tui.question import element_reader
from tests.engine.test_whole_files import SYSTEMS, names


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("system", SYSTEMS)
def test_large_arrays_are_carried_out_on_every_system(tmp_path, monkeypatch, system, order, forks):
    SYSTEMS[system](monkeypatch)
    monkeypatch.setattr(execute, "SMALL", 0)
    monkeypatch.setattr(arrays, "AT_ONCE", 100)
    monkeypatch.setattr(processes, "FORKS", forks)
    monkeypatch.delattr(os, "posix_fallocate")
    array = np.arange(600, dtype=np.int32).reshape(20, 30)
    np.save(tmp_path / "x.npy", np.asarray(array, order=order))
    told = []
    source = open_array(str(tmp_path / "x.npy"))
    for force in (False, True):
        carry_out(sc.transpose((20, 30)), source, tmp_path / "y.npy", force=force, tick=told.append)
    assert np.load(tmp_path / "y.npy").tolist() == array.T.tolist()
    assert (sum(told), names(tmp_path)) == (2 * array.nbytes, ["x.npy", "y.npy"])
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("forks", [True, False])
def test_an_input_that_is_cut_short_while_it_is_mapped_is_told(tmp_path, monkeypatch, forks):
    monkeypatch.setattr(execute, "SMALL", 0)
    monkeypatch.setattr(processes, "FORKS", forks)
    path = tmp_path / "x.npy"
    np.save(path, np.ones((600, 600)))
    source = open_array(str(path))
    monkeypatch.setattr(execute, "plan_moves", cutting(path, execute.plan_moves))
    monkeypatch.setattr(execute, "copy_of", cutting(path, execute.copy_of))
    with pytest.raises(FileError, match=r"x\.npy: it was cut short while it was read"):
        carry_out(sc.transpose((600, 600)), source, tmp_path / "y.npy", force=False, tick=int)
    assert names(tmp_path) == ["x.npy"]


def cutting(path, call):
    """Return a function that cuts a file short and then does what `call` does."""

    def cut(*words):
        os.truncate(path, 5000)
        return call(*words)

    return cut


def test_room_is_reserved_before_anything_is_copied_where_the_file_system_can(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.arange(36).reshape(4, 9))
    source, asked = open_array(str(tmp_path / "x.npy")), []
    twice = sc.chain((4, 9), "transpose", "reshape 4,9", "transpose", "reshape 4,9", "transpose")

    def reserve(error):
        def reserved(_, start, size):
            asked.append(start + size)
            raise OSError(error, os.strerror(error))

        return reserved

    monkeypatch.setattr(os, "posix_fallocate", reserve(errno.EOPNOTSUPP))
    carry_out(twice, source, tmp_path / "y.npy", force=False, tick=int)
    assert (np.load(tmp_path / "y.npy").shape, asked) == ((9, 4), [128 + 288, 288, 288])
    monkeypatch.setattr(os, "posix_fallocate", reserve(errno.ENOSPC))
    with pytest.raises(FileError, match="No space left on device"):
        carry_out(twice, source, tmp_path / "z.npy", force=False, tick=int)
    assert names(tmp_path) == ["x.npy", "y.npy"]


def test_a_child_that_is_killed_otherwise_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "SMALL", 0)
    monkeypatch.setattr(execute, "_fill", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    np.save(tmp_path / "x.npy", np.ones((6, 6)))
    with pytest.raises(FileError, match="the copy was ended by SIGKILL"):
        carry_out(sc.transpose((6, 6)), open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=False, tick=int)
    assert names(tmp_path) == ["x.npy"]


def test_what_fails_in_a_child_fails_here():
    def work(tell):
        tell(1)
        raise OSError(28, "No space left on device")

    told = []
    with pytest.raises(OSError, match="No space left"):
        processes.do_in_child(work, told.append)
    assert told == [1]


def test_elements_that_are_shown_are_read_without_a_mapping(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.asfortranarray(np.arange(600.0).reshape(20, 30)))
    source = open_array(str(path))
    shown = element_reader(source)
    assert samples(sc.transpose((20, 30)), source)[1].elements[2][1] == 32
    assert shown((3, 4)) == 94
    os.truncate(path, 500)
    with pytest.raises(FileError, match="cut short"):
        samples(sc.transpose((20, 30)), source)
    assert shown((3, 4)) == "?"
    path.rename(tmp_path / "old.npy")
    np.save(path, np.zeros((20, 30)))
    with pytest.raises(FileError, match="replaced"):
        samples(sc.transpose((20, 30)), source)


def test_an_archive_is_unpacked_to_a_file_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    np.savez(tmp_path / "x.npz", w=np.arange(6))
    array = open_array(f"{tmp_path / 'x.npz'}:w").array
    assert (array.tolist(), names(tmp_path)) == ([0, 1, 2, 3, 4, 5], ["x.npz"])
