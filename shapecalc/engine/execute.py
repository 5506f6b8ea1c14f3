"""Answers carried out on arrays of NumPy, or of CuPy where it is installed and a device answers.

The result is a read-only view wherever a view will do, otherwise a new array, with as few copies as possible.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Dims, Move
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import shape_text
from shapecalc.engine.arrays import Source, part_of
from shapecalc.engine.copying import copy_into, copy_of_view, tile_in_order, tiles_of
from shapecalc.engine.plan import Plan, StridedView, concrete_moves, plan_moves

NAMES = ("auto", "numpy", "cupy")
SENT = 1 << 26
"""The bytes that are sent to a device or brought back at a time."""
NUMBERS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""The number types that stand for elements on a device, by their width in bytes."""


class BackendError(Exception):
    """A backend that cannot be used. The message gives the reason and what to install."""


@dataclass(frozen=True, slots=True)
class Backend:
    """Arrays of one library. Both libraries give views the same names; only the copy is done differently."""

    name: str
    namespace: Any

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

    def copy(self, view: Any, roll: tuple[int, int] | None = None) -> Any:
        """Return a C-contiguous copy of a view, one axis of it rolled if an axis and a shift are given."""
        if roll is None:
            return view.copy() if self.name == "cupy" else copy_of_view(view)
        target = self.namespace.empty(view.shape, view.dtype)
        copy_into(target, view, roll=roll)
        return target


@dataclass(frozen=True, slots=True)
class Result:
    """An array, and how it was made."""

    array: Any
    plan: Plan
    """The views and copies that made it of the source; of op `shape`, those before it."""
    verdict: str
    """`view` if the array is a read-only view of the source, `copy` if it is a new one."""
    backend: str
    """The backend that moved the data: `numpy` or `cupy`."""


NUMPY = Backend("numpy", np)


def run(answer: Trace | Chain, array: Any, backend: str = "auto", *, contiguous: bool = False) -> Result:
    """Carry an answer out on an array of its input shape.

    The result is a read-only view of `array` wherever a view is possible, otherwise a new array that may be changed,
    unless its own elements stand in it several times. With `contiguous` it is C-contiguous. CuPy has no read-only
    arrays. A subclass, such as a masked array, is read as its plain elements. The result of op `shape` is a vector of
    the dims, of type int64. Raises `ShapeError` (usage) for an array of another shape and for an answer that is not
    concrete. Raises `BackendError` for a backend that cannot be used.

    >>> import numpy as np, shapecalc as sc
    >>> result = run(sc.transpose((2, 3)), np.arange(6).reshape(2, 3))
    >>> result.array.tolist(), result.verdict
    ([[0, 3], [1, 4], [2, 5]], 'view')
    """
    used = backend_for(array, backend)
    with used.device_of(array):
        source = used.namespace.asarray(array)
        moves = concrete_moves(answer)
        if source.shape != answer.input:
            raise shape_mismatch(answer.input, source.shape)
        plan = plan_moves(moves, source.shape, source.strides, source.itemsize, contiguous=contiguous)
        if moves and isinstance(moves[-1], Dims):
            return Result(used.namespace.array(answer.output, dtype="int64"), plan, "copy", used.name)
        return Result(apply_plan(plan, source, used), plan, plan.verdict, used.name)


def moved(moves: tuple[Move, ...], array: Any) -> Any:
    """Return what moves make of a NumPy array."""
    return apply_plan(plan_moves(moves, array.shape, array.strides, array.itemsize), array)


def apply_plan(plan: Plan, source: Any, used: Backend = NUMPY) -> Any:
    """Return the array that a plan makes of `source`: read-only if it is a view of it, or repeats its own elements."""
    for copy in plan.copies:
        source = used.copy(used.view(source, copy.source), copy.roll)
    made = used.view(source, plan.view)
    if used.name == "numpy" and (not plan.copies or plan.repeats):
        made.flags.writeable = False
    return made


def shape_mismatch(expected: Shape, actual: tuple[int, ...]) -> ShapeError:
    """Return the error (usage) for an array of shape `actual` if the question is about shape `expected`."""
    return misuse(f"the array has shape {shape_text(actual)}, and the question is about {shape_text(expected)}")


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


def fill_by_device(target: Any, source: Source, answer: Trace | Chain, tick: Callable[[int], object]) -> None:
    """Fill `target` with what an answer makes of `source` on the device; call `tick` with the bytes of each piece.

    `source` has the answer's input shape, and `target` its output shape. Raises `BackendError` if there is no
    device, if it has no room, or if it knows no elements of that width; `FileError` if `source` is cut short.
    """
    device, array, target = cupy(), _numbers(source.array), _numbers(target)
    try:
        sent = device.empty(array.shape, array.dtype)
        into, array = (sent, array) if array.flags.c_contiguous else (sent.T, array.T)
        for part in _parts(array):
            into[part] = device.asarray(part_of(source, array[(*part, ...)]))
        made = run(answer, sent, "cupy", contiguous=True).array
    except MemoryError:
        raise BackendError(
            f"the device has no room for {array.nbytes} bytes and the result; numpy needs little"
        ) from None
    for part in _parts(made):
        target[part] = made[part].get()
        tick(target[part].nbytes)


def _numbers(array: Any) -> Any:
    """Return an array's elements as numbers of their width. They are only moved, and CuPy knows only numbers."""
    if array.itemsize not in NUMBERS:
        raise BackendError(
            f"CuPy has no elements of {array.itemsize} bytes, and type {array.dtype} has them; numpy moves them"
        )
    return array.view(NUMBERS[array.itemsize])


def _parts(array: Any) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of a contiguous array that are sent one after another, in order."""
    return tiles_of(array.shape, tile_in_order(array.shape, SENT // array.itemsize))
