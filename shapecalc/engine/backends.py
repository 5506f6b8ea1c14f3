"""The backends: NumPy, and CuPy when it is installed and a device answers.

Both know views and moves by the same names, so a namespace is the whole difference; only the copy differs.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from shapecalc.core.answers.moves import Expand, Move, Permute, Reshape
from shapecalc.core.sizes.record import Record
from shapecalc.engine.copying import copy_into
from shapecalc.engine.plan import Strided

NAMES = ("auto", "numpy", "cupy")


class BackendError(Exception):
    """A backend that cannot be had, with the reason and what to install."""


class Backend(Record):
    """Arrays of one library."""

    name: str
    namespace: Any

    def asarray(self, array: Any) -> Any:
        """Return `array` as a plain one of this library's; the mapping of a file stays mapped."""
        return self.namespace.asarray(array)

    def strided(self, array: Any, view: Strided) -> Any:
        """Return a view of `array` with the given sizes and byte strides."""
        if array.size == 0:
            return array.reshape(view.shape)
        return self.namespace.lib.stride_tricks.as_strided(array, view.shape, view.strides)

    def moved(self, array: Any, moves: tuple[Move, ...]) -> Any:
        """Return `array` after the moves, one by one, by the library's own functions."""
        for move in moves:
            if type(move) is Permute:
                array = array.transpose(move.axes)
            elif type(move) is Reshape:
                array = array.reshape(move.shape)
            elif type(move) is Expand:
                array = self.namespace.broadcast_to(array, move.shape)
        return array

    def copied(self, view: Any) -> Any:
        """Return a C-contiguous copy of a view."""
        if self.name == "cupy":
            return view.copy()
        target = np.empty(view.shape, view.dtype)
        copy_into(target, view)
        return target


NUMPY = Backend("numpy", np)


def backend_for(array: Any, wanted: str = "auto") -> Backend:
    """Return the backend for an array: the one wanted, or for `auto` the one whose array it is.

    Raises `BackendError` where the backend is not known, or CuPy cannot be had.
    """
    if wanted not in NAMES:
        raise BackendError(f"there is no backend '{wanted}'; there are {', '.join(NAMES)}")
    if wanted == "cupy" or (wanted == "auto" and type(array).__module__.partition(".")[0] == "cupy"):
        return Backend("cupy", cupy())
    return NUMPY


def cupy() -> Any:
    """Return the CuPy module, with a device that answers; raise `BackendError` with the reason otherwise."""
    try:
        import cupy as found
    except ImportError as error:
        missing = "CuPy is not installed" if error.name == "cupy" else f"CuPy does not load: {error}"
        raise BackendError(f"{missing}; install it with: pip install 'shapecalc[cupy]'") from None
    try:
        count = found.cuda.runtime.getDeviceCount()
    except found.cuda.runtime.CUDARuntimeError as error:
        raise BackendError(f"CuPy has no device: {error}; a CUDA device and its driver are needed") from None
    if not count:
        raise BackendError("CuPy has no device; a CUDA device and its driver are needed")
    return found


def listed() -> list[dict[str, object]]:
    """Return every backend and device with its version and memory in bytes, or why it cannot be had."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    rows = [_row("numpy", np.__version__, "this machine", memory)]
    try:
        found = cupy()
    except BackendError as error:
        return [*rows, _row("cupy", None, None, None, str(error))]
    for number in range(found.cuda.runtime.getDeviceCount()):
        properties = found.cuda.runtime.getDeviceProperties(number)
        rows.append(_row("cupy", found.__version__, properties["name"].decode(), properties["totalGlobalMem"]))
    return rows


def _row(
    name: str, version: str | None, device: str | None, memory: int | None, problem: str | None = None
) -> dict[str, object]:
    return {"name": name, "version": version, "device": device, "memory": memory, "problem": problem}
