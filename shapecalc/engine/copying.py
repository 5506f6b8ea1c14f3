"""A strided copy that stays in the cache: tiles, a loop order that keeps one side contiguous, two threads.

NumPy copies in the order of the destination, whatever that does to the source. Here the copy is cut
into tiles in which both sides fit the cache, and where the destination's innermost axis is short, the
tile is filled position by position along it, so that the inner loop is long.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product as every
from math import prod
from threading import Event

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]
    Index = tuple[slice, ...]

SMALL = 1 << 17
"""Bytes below which a plain copy is as good."""
CHUNK = 1 << 20
"""Bytes that are worth a thread of their own."""
ALONG_TARGET, ALONG_SOURCE = 64, 256
"""Positions of a tile along the innermost axes of either side: some cache lines, and rather more."""
TILE = 1 << 17
"""Bytes up to which a tile then grows: source and destination stay in a core's own cache."""
SHORT = 16
"""Positions of the innermost axis below which it is filled one by one."""


def copy_into(target: Array, source: Array, tick: Callable[[int], object] = int) -> None:
    """Fill `target`, C-contiguous, with `source`, of the same shape; call `tick` with the bytes of each tile."""
    if source.nbytes <= SMALL or source.ndim < 2:
        np.copyto(target, source)
        tick(source.nbytes)
        return
    steps = _chunk_sizes(source) if source.strides[-1] == source.itemsize else _tile_sizes(source)
    tiles = list(_tiles(source.shape, steps))
    fill = _by_position if target.shape[-1] < SHORT and source.strides[-1] != source.itemsize else np.copyto

    stopped = Event()

    def work(part: list[Index]) -> None:
        for tile in part:
            if stopped.is_set():
                return
            fill(target[tile], source[tile])
            tick(target[tile].nbytes)

    threads = min(os.cpu_count() or 1, source.nbytes // CHUNK, len(tiles))
    if threads < 2:
        work(tiles)
        return
    size = -(-len(tiles) // threads)
    try:
        list(_threads().map(work, [tiles[start : start + size] for start in range(0, len(tiles), size)]))
    finally:
        stopped.set()


@cache
def _threads() -> ThreadPoolExecutor:
    """Return the threads that copy; NumPy lets go of the interpreter while it does."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="shapecalc-copy")


def _by_position(target: Array, source: Array) -> None:
    """Fill a tile position by position along its last axis, so that the inner loop runs along another."""
    for position in range(target.shape[-1]):
        target[..., position] = source[..., position]


def _tiles(shape: tuple[int, ...], steps: list[int]) -> Iterator[Index]:
    """Yield the tiles of a copy, in the order of the destination."""
    starts = [range(0, size, step) for size, step in zip(shape, steps, strict=True)]
    for corner in every(*starts):
        yield tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))


def _chunk_sizes(source: Array) -> list[int]:
    """Return how far a chunk goes along each axis where both sides run together: about a thread's worth."""
    sizes = [1] * source.ndim
    _grow(sizes, range(source.ndim)[::-1], source.shape, CHUNK // source.itemsize, CHUNK // source.itemsize)
    return sizes


def _tile_sizes(source: Array) -> list[int]:
    """Return how far a tile goes along each axis: some lines on both sides, then whatever fits."""
    shape, room = source.shape, max(1, TILE // source.itemsize)
    sizes = [1] * len(shape)
    by_target = range(len(shape))[::-1]
    by_source = sorted(by_target, key=lambda axis: abs(source.strides[axis]) or 1 << 62)
    for order, wanted in ((by_target, ALONG_TARGET), (by_source, ALONG_SOURCE), (by_target, room)):
        _grow(sizes, order, shape, wanted, room)
    return sizes


def _grow(sizes: list[int], order: Sequence[int], shape: tuple[int, ...], wanted: int, room: int) -> None:
    """Extend a tile along the axes in `order` until it has `wanted` positions along them, within `room`."""
    along = 1
    for axis in order:
        others = prod(sizes) // sizes[axis]
        sizes[axis] = max(sizes[axis], min(shape[axis], room // others, -(-wanted // along)))
        along *= sizes[axis]
        if along >= wanted or sizes[axis] < shape[axis]:
            return
