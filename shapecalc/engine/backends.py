"""The backends: NumPy, and CuPy when it is installed and a device answers.

Both libraries give views and moves the same names, so a `Backend` holds the library's namespace. Only the copy
is done differently.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any, cast

import numpy as np

from shapecalc.core.moves import Expand, Move, Permute, Pick, Reshape, Roll
from shapecalc.core.record import Record
from shapecalc.engine.copying import copy_for, roll_into
from shapecalc.engine.plan import StridedView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

NAMES = ("auto", "numpy", "cupy")


class BackendError(Exception):
    """A backend that cannot be used. The message gives the reason and what to install."""


class Backend(Record):
    """Arrays of one library."""

    name: str
    namespace: Any

    def asarray(self, array: Any) -> Any:
        """Return `array` as a plain array of this library. A mapped file stays mapped."""
        return self.namespace.asarray(array)

    def device_of(self, array: Any) -> AbstractContextManager[object]:
        """Return the device that an array lies on, to enter it: what is made of the array is to lie there, too."""
        if self.name == "cupy" and isinstance(array, self.namespace.ndarray):
            return cast("AbstractContextManager[object]", array.device)
        return nullcontext()

    def view(self, array: Any, view: StridedView) -> Any:
        """Return a view of `array` with the sizes, the strides and the offset, in bytes, of `view`."""
        if array.size == 0:
            return array.reshape(view.shape)
        strided = self.namespace.lib.stride_tricks.as_strided
        if view.offset:
            array = strided(array, (2,), (view.offset,))[1:]
        return strided(array, view.shape, view.strides)

    def move(self, array: Any, moves: tuple[Move, ...]) -> Any:
        """Return `array` after the moves. The library's own functions make them one by one."""
        for move in moves:
            if type(move) is Permute:
                array = array.transpose(move.axes)
            elif type(move) is Reshape:
                array = array.reshape(move.shape)
            elif type(move) is Expand:
                array = self.namespace.broadcast_to(array, move.shape)
            elif type(move) is Pick:
                array = array[_places(move, array.shape)]
            elif type(move) is Roll:
                array = self.namespace.roll(array, move.shift, move.axis)
        return array

    def copy(self, view: Any, roll: tuple[int, int] | None = None) -> Any:
        """Return a C-contiguous copy of a view, one axis of it rolled if an axis and a shift are given."""
        if self.name == "cupy" and roll is None:
            return view.copy()
        if roll is None:
            return copy_for(view)(view)
        target = self.namespace.empty(view.shape, view.dtype)
        roll_into(target, view, *roll)
        return target


def _places(move: Pick, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index that reads what a move keeps of an array of `shape`."""
    places = list[Any]()
    for (start, step, size), dim in zip(move.axes, shape, strict=True):
        first: Any = start if size == 0 else start % dim
        stop: Any = 0 if size is None else first + step * size
        places.append(first if size is None else slice(first, stop if stop >= 0 else None, step))
    return (*places, ...)


NUMPY = Backend("numpy", np)


def backend_for(array: Any, wanted: str = "auto") -> Backend:
    """Return the backend that is wanted for an array. `auto` is the library that the array belongs to.

    Raises `BackendError` if the backend is not known or CuPy cannot be used.
    """
    if wanted not in NAMES:
        raise BackendError(f"there is no backend '{wanted}'; there are {', '.join(NAMES)}")
    if wanted == "cupy" or (wanted == "auto" and type(array).__module__.partition(".")[0] == "cupy"):
        return Backend("cupy", cupy())
    return NUMPY


def cupy() -> Any:
    """Return the CuPy module; raise `BackendError` with the reason if it is not installed or has no device."""
    try:
        import cupy as module
    except ImportError as error:
        missing = "CuPy is not installed" if error.name == "cupy" else f"CuPy does not load: {error}"
        raise BackendError(f"{missing}; install it with: pip install 'shapecalc[cupy]'") from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"CuPy has no device: {error}; a CUDA device and its driver are needed") from None
    if not count:
        raise BackendError("CuPy has no device; a CUDA device and its driver are needed")
    return module


def list_backends() -> list[dict[str, object]]:
    """Return every backend and device, with its version and memory in bytes or with why it cannot be used."""
    rows = [_backend_row("numpy", np.__version__, "this machine", _memory())]
    try:
        module = cupy()
    except BackendError as error:
        return [*rows, _backend_row("cupy", None, None, None, str(error))]
    for number in range(module.cuda.runtime.getDeviceCount()):
        properties = module.cuda.runtime.getDeviceProperties(number)
        rows.append(_backend_row("cupy", module.__version__, properties["name"].decode(), properties["totalGlobalMem"]))
    return rows


def _memory() -> int | None:
    """Return the bytes of this machine's memory; None if the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return None


def _backend_row(
    name: str, version: str | None, device: str | None, memory: int | None, problem: str | None = None
) -> dict[str, object]:
    return {"name": name, "version": version, "device": device, "memory": memory, "problem": problem}
