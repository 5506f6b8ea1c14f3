"""The way to a device and back: on one that NumPy plays, and on a real one where there is one."""

from __future__ import annotations

import os
import sys
from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.engine import execute, run
from shapecalc.engine.arrays import open_array
from shapecalc.engine.execute import BackendError, carry_out
from tests.engine.test_files import ARRAYS, SHUFFLE, expected

ROOM = 4096
"""Bytes of memory that the fake device has."""


class Device:
    """A fake device. The one that was entered last is where arrays are made."""

    entered: ClassVar[list[int]] = [0]

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        self.entered.append(self.number)

    def __exit__(self, *_):
        self.entered.pop()


class Played(np.ndarray):
    """An array on a fake device: that of the array that it is a view of, else the one that is entered."""

    def __array_finalize__(self, base):
        self.number = getattr(base, "number", Device.entered[-1])

    @property
    def device(self):
        return Device(self.number)

    def copy(self):
        return on_device(np.array(self, order="C"))

    def get(self):
        return np.array(self)


Played.__module__ = "cupy"


def on_device(array):
    """Return an array there; what CuPy refuses is refused."""
    array = np.asarray(array)
    if array.dtype.kind not in "biufc" or not array.dtype.isnative:
        raise ValueError(f"Unsupported dtype {array.dtype}")
    if array.nbytes > ROOM:
        raise MemoryError
    return array.view(Played)


@pytest.fixture
def fake_device(monkeypatch):
    """Play CuPy, with one device of little memory; return the bytes of each piece that is sent."""
    sent = []

    def asarray(array):
        if isinstance(array, Played):
            return array
        sent.append(array.nbytes)
        return on_device(array)

    runtime = SimpleNamespace(getDeviceCount=lambda: 1, CUDARuntimeError=OSError)
    tricks = SimpleNamespace(as_strided=partial(np.lib.stride_tricks.as_strided, subok=True))
    lib = SimpleNamespace(stride_tricks=tricks)
    names = {"array": np.array, "broadcast_to": np.broadcast_to, "lib": lib, "ndarray": Played}

    def empty(shape, dtype):
        return on_device(np.empty(shape, dtype))

    cupy = SimpleNamespace(asarray=asarray, empty=empty, cuda=SimpleNamespace(runtime=runtime), **names)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(execute, "SENT", 64)
    return sent


def carry_by_device(tmp_path, array, answer):
    """Return the file that an answer makes on the device of an array in a file, and the bytes told of its pieces."""
    np.save(tmp_path / "x.npy", array)
    told = []
    carry_out(
        answer, open_array(str(tmp_path / "x.npy")), tmp_path / "y.npy", force=True, tick=told.append, backend="cupy"
    )
    return np.load(tmp_path / "y.npy"), told


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", sorted(set(ARRAYS) - {"structure"}))
def test_every_element_of_a_number_s_width_goes_there_and_back_in_pieces(tmp_path, fake_device, name, order):
    array = np.asarray(ARRAYS[name].reshape(2, 3, 4), order=order)
    if array.itemsize not in execute.NUMBERS:
        with pytest.raises(BackendError, match=f"CuPy has no elements of {array.itemsize} bytes"):
            carry_by_device(tmp_path, array, SHUFFLE)
        return
    written, told = carry_by_device(tmp_path, array, SHUFFLE)
    assert (written.dtype, written.tobytes()) == (array.dtype, expected(array).tobytes())
    assert sum(told) == array.nbytes
    assert max(*told, *fake_device) <= max(64, array.itemsize)


def test_a_scalar_and_an_empty_array_go_there_too(tmp_path, fake_device):
    assert carry_by_device(tmp_path, np.float32(3), sc.reshape((), (1, 1)))[0].tolist() == [[3.0]]
    assert carry_by_device(tmp_path, np.zeros((0, 3)), sc.transpose((0, 3)))[0].shape == (3, 0)
    assert fake_device == [4]


@pytest.mark.usefixtures("fake_device")
def test_what_a_device_cannot_hold_leaves_no_file(tmp_path):
    for array, answer, reason in (
        (np.zeros(ROOM), sc.reshape((ROOM,), (-1, 2)), f"no room for {8 * ROOM} bytes"),
        (ARRAYS["structure"].reshape(2, 3, 4), SHUFFLE, "no elements of 9 bytes"),
    ):
        with pytest.raises(BackendError, match=reason):
            carry_by_device(tmp_path, array, answer)
        assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.usefixtures("fake_device")
def test_an_array_there_stays_there():
    array = on_device(ARRAYS["float"].reshape(2, 3, 4))
    result = run(SHUFFLE, array)
    assert (result.backend, type(result.array)) == ("cupy", Played)
    assert result.array.get().tolist() == expected(array).tolist()


@pytest.mark.usefixtures("fake_device")
@pytest.mark.parametrize("contiguous", [False, True])
@pytest.mark.parametrize("answer", [sc.transpose((2, 3, 4)), SHUFFLE, sc.roll((2, 3, 4), 1, 0)])
def test_an_array_on_another_device_stays_on_that(answer, contiguous):
    with Device(1):
        array = on_device(ARRAYS["float"].reshape(2, 3, 4))
    result = run(answer, array, contiguous=contiguous)
    assert (result.array.number, Device.entered) == (1, [0])


@pytest.mark.gpu
def test_cupy_gives_what_numpy_gives(tmp_path):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no CUDA device: {error}")
    assert count
    array = ARRAYS["float"].reshape(2, 3, 4)
    result = run(SHUFFLE, cupy.asarray(array))
    assert (result.backend, result.array.get().tolist()) == ("cupy", expected(array).tolist())
    for name in ("float", "big-endian", "half", "unknown", "complex"):
        array = ARRAYS[name].reshape(2, 3, 4)
        assert carry_by_device(tmp_path, array, SHUFFLE)[0].tobytes() == expected(array).tobytes()
