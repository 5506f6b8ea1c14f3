"""A strided copy, done in its `Way`: tile by tile. Each thread takes the next tile that is left.

The thread that asks for the copy fills tiles too, so it never waits for another thread to wake.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product as every
from math import prod
from threading import local

import numpy as np

from shapecalc.engine.cores import count_cores
from shapecalc.engine.fastest import BY_POSITION, BY_ROWS, IN_ORDER, LASTS, NEAR, TILES
from shapecalc.engine.ways import LINE, SHARE, WIDE, Way, way_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]
    Index = tuple[slice, ...]
    Fill = Callable[[Array, Array], object]

FEW = 1 << 15
"""Fewer elements are copied by NumPy before a way is found, unless its inner loop would be very short."""
WORD = 8
"""The most bytes of an element for which so short a loop costs more than to find a way."""


def copy_into(target: Array, source: Array, tick: Callable[[int], object] | None = None) -> None:
    """Fill the C-contiguous `target` with `source`, of the same shape; call `tick` with the bytes of each tile."""
    way = None if _is_soon_done(source) else _way(source)
    if way is None or (way.fill == IN_ORDER and way.steps == way.shape):
        np.copyto(target, source)
        if tick:
            tick(source.nbytes)
        return
    source, target = source.reshape(way.shape), target.reshape(way.shape)
    if way.width != source.itemsize:
        source, target = source.view(f"V{way.width}")[..., 0], target.view(f"V{way.width}")[..., 0]
    fill, tick = FILLS[way.fill], tick or int
    if way.steps == source.shape:
        fill(target, source)
        tick(source.nbytes)
    else:
        _copy_tiles(target, source, fill, list(tiles_of(source.shape, way.steps)), way.threads, tick)


def _is_soon_done(source: Array) -> bool:
    """Say whether NumPy copies faster than a way is found, or copies objects."""
    count = source.size
    if count < FEW and (count < FEW // 4 or source.shape[-1] > LASTS["few"] or source.itemsize > WORD):
        return True
    row = source.shape[-1] * source.itemsize
    if source.strides[-1] == source.itemsize and row >= LINE and source.nbytes < (SHARE if row > WIDE else NEAR):
        return True
    return source.dtype.hasobject


def _way(source: Array) -> Way:
    cores = count_cores() if source.nbytes >= 2 * SHARE else 1
    return way_of(source.shape, source.strides, source.itemsize, cores)


def roll_into(target: Array, source: Array, axis: int, shift: int, tick: Callable[[int], object] = int) -> None:
    """Fill `target` with `source` rolled along one axis by `shift`, which is less than its size: in two pieces."""
    before = (slice(None),) * axis
    for into, taken in ((slice(shift, None), slice(-shift)), (slice(shift), slice(-shift, None))):
        target[(*before, into)] = source[(*before, taken)]
        tick(target[(*before, into)].nbytes)


def _copy_tiles(
    target: Array, source: Array, fill: Fill, tiles: list[Index], threads: int, tick: Callable[[int], object]
) -> None:
    """Fill `target` tile by tile with `threads` threads. The calling thread is one of them."""
    remaining = iter(tiles)

    def work() -> None:
        try:
            for tile in remaining:
                fill(target[tile], source[tile])
                tick(target[tile].nbytes)
        finally:
            tiles.clear()  # if one thread fails, the others stop

    others = [_threads().submit(work) for _ in range(min(threads, len(tiles)) - 1)]
    try:
        work()
    finally:
        for thread in others:
            if not thread.cancel():  # one that has not begun has nothing left to do
                thread.result()


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads that help to copy. They run at once: NumPy releases the interpreter while it copies."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="shapecalc-copy")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not live on in a forked child


_of_thread = local()


def _fill_by_position(target: Array, source: Array) -> None:
    """Fill a tile position by position along its last axis."""
    for position in range(source.shape[-1]):
        target[..., position] = source[..., position]


def _fill_by_rows(target: Array, source: Array) -> None:
    """Copy a tile row by row to scratch bytes, and fill the target from there.

    Each row is padded by a cache line there, so the rows do not crowd into few sets of the cache.
    """
    order = sorted(range(source.ndim), key=lambda axis: -abs(source.strides[axis]))
    rows = source.transpose(order)
    padded = (*rows.shape[:-1], rows.shape[-1] + LINE // source.itemsize + 1)
    near = _scratch_bytes(prod(padded) * source.itemsize).view(source.dtype).reshape(padded)[..., : rows.shape[-1]]
    np.copyto(near, rows)
    near = near.transpose(sorted(range(source.ndim), key=order.__getitem__))
    fill = _fill_by_position if near.shape[-1] <= LASTS["few"] else np.copyto
    fill(target, near)


FILLS: dict[str, Fill] = {
    IN_ORDER: np.copyto,
    TILES: np.copyto,
    BY_POSITION: _fill_by_position,
    BY_ROWS: _fill_by_rows,
}


def _scratch_bytes(nbytes: int) -> Array:
    """Return `nbytes` bytes to write on. A thread gets the same ones for every tile, so they are mapped only once."""
    if getattr(_of_thread, "bytes", np.empty(0)).nbytes < nbytes:
        _of_thread.bytes = np.empty(nbytes, np.uint8)
    kept: Array = _of_thread.bytes
    return kept[:nbytes]


def tiles_of(shape: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[Index]:
    """Yield the tiles of an array of `shape`, `steps` positions along each axis, in C order."""
    starts = [range(0, size, step) for size, step in zip(shape, steps, strict=True)]
    for corner in every(*starts):
        yield tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))
