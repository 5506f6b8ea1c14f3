"""A strided copy that stays in the cache: tiles that fit it, and every core taking the next one.

NumPy copies in the order of the destination, whatever that does to the source. Here the copy is cut into
tiles in which both sides fit a core's own cache. Where reading across a tile would crowd into few of its
sets, the tile is first brought in row by row; where the innermost axis is short, it is filled position by
position along it, so that the inner loop is long. The thread that asks works along: it never waits for another to wake.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import product as every
from math import gcd, prod
from threading import local

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]
    Index = tuple[slice, ...]
    Fill = Callable[[Array, Array], object]

SMALL = 1 << 17
"""Bytes up to which NumPy's own moves are as good, for all that they may copy twice."""
CORES = os.cpu_count() or 1
CHUNK = 1 << 20
"""Bytes that are worth a thread of their own."""
RUN = 1 << 22
"""Bytes that are, where both sides run together: NumPy alone is nearly as fast as memory there."""
ALONG = 256
"""Positions of a tile along the innermost axes of either side, where there are as many."""
TILE = 1 << 20
"""Bytes up to which a tile then grows."""
LINE = 64
"""Bytes of a cache line: an innermost axis up to one is filled position by position."""
LONG = 32
"""Rows, and positions of a row, from which on a tile is worth bringing in by rows."""
APART, WAYS = 4096, 8
"""Bytes apart at which addresses share a set of a core's first cache, and the lines that a set holds."""


def copy_into(target: Array, source: Array, tick: Callable[[int], object] = int) -> None:
    """Fill `target`, C-contiguous, with `source`, of the same shape; call `tick` with the bytes of each tile."""
    if source.nbytes <= SMALL or source.ndim < 2 or source.dtype.hasobject:
        np.copyto(target, source)
        tick(source.nbytes)
        return
    fill, steps = _way(source.shape, source.strides, source.itemsize)
    if steps == source.shape:
        fill(target, source)
        tick(source.nbytes)
        return
    tiles = list(_tiles(source.shape, steps))
    remaining = iter(tiles)

    def work() -> None:
        try:
            for tile in remaining:
                fill(target[tile], source[tile])
                tick(target[tile].nbytes)
        finally:
            tiles.clear()  # whoever fails stops the others

    threads = min(CORES, source.nbytes // CHUNK, len(tiles))
    helping = [_threads().submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        for thread in helping:
            thread.result()


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads that copy along; NumPy lets go of the interpreter while it does."""
    return ThreadPoolExecutor(CORES, thread_name_prefix="shapecalc-copy")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads do not live on in a forked child


@lru_cache(maxsize=256)
def _way(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[Fill, tuple[int, ...]]:
    """Return how a tile of a source is copied, and how far it goes along each axis."""
    row = min(range(len(shape)), key=lambda axis: abs(strides[axis]) or 1 << 62)
    across = range(row + 1, len(shape))
    if row == len(shape) - 1:
        return np.copyto, _chunk_sizes(shape, itemsize)
    sizes = _tile_sizes(shape, strides, itemsize)
    rows = prod(shape[axis] for axis in across)
    crowded = any(min(rows, ALONG) > WAYS * APART // gcd(strides[axis], APART) for axis in across)
    return _by_rows if crowded and min(rows, shape[row]) >= LONG else _filled, sizes


_kept = local()


def _filled(target: Array, source: Array) -> None:
    """Fill a tile; where its last axis is short, position by position along it: the inner loop runs along another."""
    if target.shape[-1] * target.itemsize > LINE:
        np.copyto(target, source)
        return
    for position in range(target.shape[-1]):
        target[..., position] = source[..., position]


def _by_rows(target: Array, source: Array) -> None:
    """Bring a tile in row by row, a cache line apart so that none crowd, and fill the target from there."""
    order = sorted(range(source.ndim), key=lambda axis: -abs(source.strides[axis]))
    rows = source.transpose(order)
    padded = (*rows.shape[:-1], rows.shape[-1] + LINE // source.itemsize + 1)
    near = _scratch(prod(padded) * source.itemsize).view(source.dtype).reshape(padded)[..., : rows.shape[-1]]
    np.copyto(near, rows)
    _filled(target, near.transpose(sorted(range(source.ndim), key=order.__getitem__)))


def _scratch(nbytes: int) -> Array:
    """Return bytes to write on, the same ones for every tile of a thread: fresh ones would be mapped each time."""
    if getattr(_kept, "bytes", np.empty(0)).nbytes < nbytes:
        _kept.bytes = np.empty(nbytes, np.uint8)
    kept: Array = _kept.bytes
    return kept[:nbytes]


def _tiles(shape: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[Index]:
    """Yield the tiles of a copy, in the order of the destination."""
    starts = [range(0, size, step) for size, step in zip(shape, steps, strict=True)]
    for corner in every(*starts):
        yield tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))


def _chunk_sizes(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return how far a tile goes where both sides run together: as far as is worth a thread."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, RUN // itemsize, RUN // itemsize)
    return tuple(sizes)


def _tile_sizes(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return how far a tile goes along each axis: some lines on both sides, then whatever fits."""
    room = max(1, TILE // itemsize)
    sizes = [1] * len(shape)
    by_target = range(len(shape))[::-1]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    for order, wanted in ((by_target, ALONG), (by_source, ALONG), (by_target, room)):
        _grow(sizes, order, shape, wanted, room)
    return tuple(sizes)


def _grow(sizes: list[int], order: Sequence[int], shape: tuple[int, ...], wanted: int, room: int) -> None:
    """Extend a tile along the axes in `order` until it has `wanted` positions along them, within `room`."""
    along = 1
    for axis in order:
        others = prod(sizes) // sizes[axis]
        sizes[axis] = max(sizes[axis], min(shape[axis], room // others, -(-wanted // along)))
        along *= sizes[axis]
        if along >= wanted or sizes[axis] < shape[axis]:
            return
