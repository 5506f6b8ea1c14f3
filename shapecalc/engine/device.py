"""An answer carried out on CuPy's device for data that are not there: sent, moved, and brought back in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapecalc.engine.backends import BackendError, cupy
from shapecalc.engine.copying import tiles_of
from shapecalc.engine.execute import run
from shapecalc.engine.ways import chunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shapecalc.core.answers.trace import Chain, Trace

PIECE = 1 << 26
"""Bytes that are sent, or brought back, at once."""
NUMBERS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""Numbers by their width in bytes."""


def fill_by_device(target: Any, source: Any, answer: Trace | Chain, tick: Callable[[int], object]) -> None:
    """Fill `target` with what an answer makes of `source` on the device; call `tick` with the bytes of each piece.

    Raises `BackendError` where there is no device, or it has no room or no such elements.
    """
    device, source, target = cupy(), _numbers(source), _numbers(target)
    try:
        sent = device.empty(source.shape, source.dtype)
        for piece in _pieces(sent):
            sent[piece] = device.asarray(np.asarray(source[piece], order="C"))
        made = run(answer, sent, "cupy", contiguous=True).array
    except MemoryError:
        raise BackendError(
            f"the device has no room for {source.nbytes} bytes and what is made of them; numpy needs little"
        ) from None
    for piece in _pieces(made):
        target[piece] = made[piece].get()
        tick(target[piece].nbytes)


def _numbers(array: Any) -> Any:
    """Return an array's elements as numbers of their width: they only move, and CuPy knows numbers alone."""
    if array.itemsize not in NUMBERS:
        raise BackendError(
            f"CuPy has no elements of {array.itemsize} bytes, as those of type {array.dtype} are; numpy moves them"
        )
    return array.view(NUMBERS[array.itemsize])


def _pieces(array: Any) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of a contiguous array, in order, that are sent one after another."""
    return tiles_of(array.shape, chunk(array.shape, PIECE // array.itemsize))
