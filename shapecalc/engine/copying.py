"""The copy engine: a strided copy to C order, done in the way that is fastest for its sizes and strides.

Bytes that stay together on both sides are moved as one element. NumPy copies in the order of the destination, even if
it then reads the source in a slow order, or has a short inner loop. A copy can be cut into tiles, both sides of which
fit into the cache of a core. A tile can be filled position by position along its last axis, so that the inner loop is
long. Anywhere else a copy is NumPy's own. Each thread takes the next tile that is left. The thread that asks for the
copy fills tiles too, so it never waits for another thread to wake.

The numbers were measured with `tests/benchmarks/engine.py`: NumPy 2.4 on an AMD EPYC of 2024, with 48 KiB of first
cache a core.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from itertools import product as every
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.record import Record
from shapecalc.engine.plan import axes_of, steps
from shapecalc.engine.processes import count_cores

Array = np.ndarray[Any, np.dtype[Any]]
Fill = Callable[[Array, Array], object]
Sizes = tuple[int, ...]
Pieces = tuple[int, tuple[tuple[int, int], ...]]
"""An axis of a source, and its stretches that follow each other: where each starts, and how long it is."""

IN_ORDER, TILES, BY_POSITION = "in order", "tiles", "by position"
"""NumPy's own copy, which goes in the target's order; NumPy's own, tile by tile; each position of the last axis."""
WIDEST = 16
"""The bytes of the widest element for which another way than NumPy's own pays."""
FEW, BESIDE = 4, 16
"""The target's last axis is short if it has at most so many positions, and the axis before it at least so many."""
KEPT = 1024
"""How many lines of the source a core's first cache keeps until they are read again."""

TINY = 1 << 15
"""Fewer bytes are copied by NumPy before a strategy is looked for."""
MANY = 4
"""Fewer rows than so many for each byte of one are copied by NumPy before they are looked at as elements."""
SHARE = 1 << 22
"""The bytes that are worth a thread of their own: a smaller copy is done before another thread is awake."""
ROOM = {IN_ORDER: 1 << 26, TILES: 1 << 18, BY_POSITION: 1 << 20}
"""The most bytes of a tile of each way."""
MOST = 1 << 16
"""The most elements of a tile that is read in another order than it is written."""
ALONG = 256
"""How many positions a tile has along the innermost axes of each side, if there are so many."""
WIDE = 512
"""The most bytes that are moved as one element, whatever they hold. NumPy moves each twice as fast as its parts."""
LINE = 64
"""The bytes of a cache line."""
AGAIN = 4
"""A line is worth keeping if it is read so many times."""


class CopyStrategy(Record):
    """How a copy is done: its tiles, and how each is filled."""

    shape: Sizes
    """The sizes of both sides. Axes that one step can stand for are merged."""
    width: int
    """The bytes of an element. If the last axis is moved as one element, it is part of it."""
    fill: str
    """How a tile is filled: one of the three ways."""
    tile: Sizes
    """How many positions a tile has along each axis."""
    threads: int


def copy_into(target: Array, source: Array, tick: Callable[[int], object] = int, pieces: Pieces | None = None) -> None:
    """Fill the C-contiguous `target` with `source`, of the same shape; call `tick` with the bytes of each tile.

    If pieces of an axis are given, it is these that follow each other.
    """
    if pieces:
        before, at = (slice(None),) * pieces[0], 0
        for start, count in pieces[1]:
            into = target[(*before, slice(at, at + count))]
            into[...] = source[(*before, slice(start, start + count))]
            tick(into.nbytes)
            at += count
        return
    fill = fill_for(source)
    if fill is np.copyto:
        np.copyto(target, source)
        tick(source.nbytes)
    else:
        fill(target, source, tick)


def fill_for(source: Array) -> Callable[..., object]:
    """Return what fills C-contiguous targets with sources of one layout: `np.copyto`, or what also takes a tick."""
    if source.nbytes < TINY or source.dtype.hasobject:
        return np.copyto
    cores = count_cores() if source.nbytes >= 2 * SHARE else 1
    return _fill_of_layout(source.shape, source.strides, source.itemsize, cores)


@lru_cache(maxsize=256)
def _fill_of_layout(shape: Sizes, strides: Sizes, itemsize: int, cores: int) -> Callable[..., object]:
    strategy = copy_strategy(shape, strides, itemsize, cores)
    whole = FILLS[strategy.fill] is np.copyto and strategy.tile == strategy.shape[: len(strategy.tile)]
    if whole and (strategy.width == itemsize or prod(strategy.tile) < MANY * strategy.width):
        return np.copyto
    return partial(_fill_in_tiles, strategy, np.dtype(f"V{strategy.width}") if strategy.width != itemsize else None)


@lru_cache(maxsize=256)
def copy_strategy(shape: Sizes, strides: Sizes, itemsize: int, cores: int) -> CopyStrategy:
    """Return how to copy a source of `shape`, `strides` and `itemsize` (both in bytes) to a target in C order.

    `cores` are those that may be used.

    >>> strategy = copy_strategy((4096, 4096, 4), (4, 16384, 1), 1, cores=2)
    >>> strategy.shape, strategy.width, strategy.fill
    ((4096, 4096, 4), 4, 'tiles')
    >>> copy_strategy((1000, 100, 3), (3, 3000, 1), 1, cores=2).width
    3
    """
    together, strides = steps(axes_of(shape, strides))
    sizes, strides, width = elements_of(together, strides, itemsize)
    threads = max(1, min(cores, prod(sizes) * width // SHARE))
    fill = fill_of(sizes, strides, width)
    return CopyStrategy(together, width, fill, tile_of(fill, sizes, strides, width, threads), threads)


def elements_of(shape: Sizes, strides: Sizes, itemsize: int) -> tuple[Sizes, Sizes, int]:
    """Return the sizes, the strides and the bytes of an element, if a last axis that is not too wide is part of it."""
    width = shape[-1] * itemsize if shape else 0
    if len(shape) > 1 and strides[-1] == itemsize and width <= WIDE:
        return shape[:-1], strides[:-1], width
    return shape, strides, itemsize


def fill_of(shape: Sizes, strides: Sizes, itemsize: int) -> str:
    """Return the way that is fastest.

    A line of the source is read again at the next position of its running axis, when all axes behind it have been gone
    through. The lines that are read meanwhile decide whether it is still in the cache then.

    >>> fill_of((9000, 3), (1, 9000), 1), fill_of((4096, 4096), (1, 4096), 1), fill_of((4096, 4096), (4096, 1), 1)
    ('by position', 'tiles', 'in order')
    """
    running = min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)
    if running == len(shape) - 1 or itemsize > WIDEST:
        return IN_ORDER
    behind = zip(shape[running + 1 :], strides[running + 1 :], strict=True)
    is_kept = prod(min(size, size * abs(stride) // LINE + 1) for size, stride in behind) <= KEPT
    if shape[-1] <= FEW:
        return BY_POSITION if is_kept and shape[-2] >= BESIDE and itemsize < WIDEST else IN_ORDER
    return IN_ORDER if is_kept or shape[running] < AGAIN else TILES


def tile_in_order(shape: Sequence[int], room: int) -> Sizes:
    """Return the positions along each axis of a tile of at most `room` elements that follow each other in C order."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def tile_of(fill: str, shape: Sizes, strides: Sizes, itemsize: int, threads: int = 1) -> Sizes:
    """Return the positions along each axis of a tile that is filled in one of the ways.

    It is first made long along the innermost axes of both sides, then as large as fits. Each thread gets two or more.
    """
    room = max(1, min(ROOM[fill] // itemsize, MOST if fill == TILES else 1 << 62))
    if threads > 1:
        room = max(1, min(room, prod(shape) // (2 * threads)))
    if fill == IN_ORDER:
        return tile_in_order(shape, room)
    sizes = [1] * len(shape)
    by_target = [*range(len(shape))[::-1]]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    for order, wanted in ((by_target, ALONG), (by_source, ALONG), (by_target, room)):
        _grow(sizes, order, shape, wanted, room)
    return tuple(sizes)


def _grow(sizes: list[int], order: Sequence[int], shape: Sequence[int], wanted: int, room: int) -> None:
    """Extend a tile along the axes in `order` until it has `wanted` positions along them, or `room` elements."""
    along = 1
    for axis in order:
        others = prod(sizes) // sizes[axis]
        sizes[axis] = max(sizes[axis], min(shape[axis], room // others, -(-wanted // along)))
        along *= sizes[axis]
        if along >= wanted or sizes[axis] < shape[axis]:
            return


def _fill_in_tiles(
    strategy: CopyStrategy, element: Any, target: Array, source: Array, tick: Callable[[int], object] = int
) -> None:
    """Fill `target` with `source` by the strategy for its layout, as such elements if they are wider."""
    source, target = source.reshape(strategy.shape), target.reshape(strategy.shape)
    if element:
        source, target = source.view(element)[..., 0], target.view(element)[..., 0]
    fill = FILLS[strategy.fill]
    if strategy.tile == source.shape:
        fill(target, source)
        tick(source.nbytes)
        return
    axes = zip(source.shape, strategy.tile, strict=True)
    remaining = every(*[[slice(start, start + step) for start in range(0, size, step)] for size, step in axes])

    def work() -> None:
        try:
            for tile in remaining:
                into = target[tile]
                fill(into, source[tile])
                tick(into.nbytes)
        finally:
            deque(remaining, maxlen=0)  # if one thread fails, nothing is left for the others

    others = [_threads().submit(work) for _ in range(strategy.threads - 1)]
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


def _fill_by_position(target: Array, source: Array) -> None:
    """Fill a tile position by position along its last axis."""
    for position in range(source.shape[-1]):
        target[..., position] = source[..., position]


FILLS: dict[str, Fill] = {IN_ORDER: np.copyto, TILES: np.copyto, BY_POSITION: _fill_by_position}
