"""An answer carried out on CuPy's device for data in memory or in files.

The data are sent in pieces, moved on the device, and brought back in pieces.
"""

from __future__ import annotations

from typing import Any

from shapecalc.engine.backends import BackendError, cupy
from shapecalc.engine.copying import tiles_of
from shapecalc.engine.execute import run
from shapecalc.engine.reading import part_of
from shapecalc.engine.ways import chunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shapecalc.core.answers import Chain, Trace
    from shapecalc.engine.files import Source

PIECE = 1 << 26
"""The bytes of a piece that is sent or brought back."""
NUMBERS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""The number types that stand for elements, by their width in bytes."""


def fill_by_device(target: Any, source: Source, answer: Trace | Chain, tick: Callable[[int], object]) -> None:
    """Fill `target` with what an answer makes of `source` on the device; call `tick` with the bytes of each piece.

    `source` has the answer's input shape, and `target` its output shape. Raises `BackendError` if there is no
    device, if it has no room, or if it knows no elements of that width; `FileError` if `source` is cut short.
    """
    device, array, target = cupy(), _numbers(source.array), _numbers(target)
    try:
        sent = device.empty(array.shape, array.dtype)
        into, array = (sent, array) if array.flags.c_contiguous else (sent.T, array.T)
        for piece in _pieces(array):
            into[piece] = device.asarray(part_of(source, array[(*piece, ...)]))
        made = run(answer, sent, "cupy", contiguous=True).array
    except MemoryError:
        raise BackendError(
            f"the device has no room for {array.nbytes} bytes and the result; numpy needs little"
        ) from None
    for piece in _pieces(made):
        target[piece] = made[piece].get()
        tick(target[piece].nbytes)


def _numbers(array: Any) -> Any:
    """Return an array's elements as numbers of their width. They are only moved, and CuPy knows only numbers."""
    if array.itemsize not in NUMBERS:
        raise BackendError(
            f"CuPy has no elements of {array.itemsize} bytes, and type {array.dtype} has them; numpy moves them"
        )
    return array.view(NUMBERS[array.itemsize])


def _pieces(array: Any) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of a contiguous array that are sent one after another, in order."""
    return tiles_of(array.shape, chunk(array.shape, PIECE // array.itemsize))
