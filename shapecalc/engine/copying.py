"""Strided copies to C order, in tiles that fit the cache, on several threads.

Bytes that are contiguous in both the source and the target are copied as one element. NumPy copies in the order of the
destination, even if that reads the source in a slow order or makes the inner loop short. Where it is faster, a copy is
therefore split into tiles whose source and target both fit the cache of a core, or is filled index by index along its
last axis, so that the inner loop is long. All other copies are single NumPy copies. Each thread takes the next
remaining tile. The calling thread fills tiles as well, so it never waits for another thread to wake up.

All thresholds were measured with `tests/benchmarks/engine.py`: NumPy 2.4 on an AMD EPYC of 2024, with 48 KiB of L1
cache per core.
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

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record
from shapecalc.engine.plan import AxisPieces, axes_from_strides, merge_axes
from shapecalc.engine.processes import count_cores

Array = np.ndarray[Any, np.dtype[Any]]
FillFunction = Callable[[Array, Array], object]

IN_ORDER, TILES, BY_INDEX = "in order", "tiles", "by position"
"""The methods: one NumPy copy of the whole array, one copy per tile, or one per index of the last axis."""
MAX_TILED_ITEMSIZE = 16
"""The maximum size, in bytes, of an element that is copied by tile or by index."""
SHORT_AXIS, LONG_AXIS = 4, 16
"""For a copy by index, the maximum size of the last axis and the minimum size of the axis before it."""
CACHED_LINES = 1024
"""The number of cache lines of the source that remain in L1 until they are read again."""
INNER_LINES = 512
"""The number of cache lines that remain in L1 while a loop reads one element of each line."""
L2_BYTES = 1 << 20
"""The maximum size, in bytes and including gaps, of a source that remains in L2."""
WIDE_ITEMSIZE = 8
"""The minimum element size, in bytes, for which copying an element takes longer than fetching its line from L2."""

SMALL_COPY_BYTES = 1 << 15
"""The size, in bytes, below which `np.copyto` is used, because choosing a strategy would take longer."""
MIN_ELEMENTS_PER_BYTE = 4
"""The minimum number of merged elements that are copied as such, per byte of a merged element.

For fewer elements, viewing the array as merged elements takes longer than it saves.
"""
BYTES_PER_THREAD = 1 << 22
"""The minimum number of bytes that a thread copies.

A smaller share is finished before another thread is awake.
"""
MAX_TILE_BYTES = {IN_ORDER: 1 << 26, TILES: 1 << 18, BY_INDEX: 1 << 20}
"""The maximum size of a tile for each method, in bytes."""
MAX_TILE_ELEMENTS = 1 << 16
"""The maximum element count of a tile whose source and target have different memory orders."""
MIN_TILE_EXTENT = 256
"""The minimum element count of a tile along the innermost axes of the source and of the target."""
MAX_MERGED_BYTES = 512
"""The maximum number of bytes that are copied as one element of the NumPy void type.

NumPy copies such an element twice as fast as its parts.
"""
CACHE_LINE_BYTES = 64
"""The size of a cache line, in bytes."""
MIN_LINE_READS = 4
"""The minimum number of times that a cache line is read for tiles to be faster."""


class CopyStrategy(Record):
    """The tiles of a copy, and the method that fills each tile."""

    shape: IntTuple
    """The shape of source and target, in which adjacent axes are merged if one stride steps through both."""
    itemsize: int
    """The size of an element in bytes; if the last axis is merged into the element, the axis is included."""
    method: str
    """The method: `IN_ORDER`, `TILES` or `BY_INDEX`."""
    tile_shape: IntTuple
    """The shape of a tile. The last axis is omitted if it is merged into the element."""
    thread_count: int


def copy_into(
    target: Array, source: Array, tick: Callable[[int], object] = int, pieces: AxisPieces | None = None
) -> None:
    """Copy `source`, or parts of it, into the C-contiguous `target`.

    Without `pieces`, both have the same shape. `pieces` are ranges of a source axis, which become adjacent in the
    target. `tick` is called with the size, in bytes, of each finished tile or piece.
    """
    if pieces:
        before, offset = (slice(None),) * pieces[0], 0
        for start, count in pieces[1]:
            part = target[(*before, slice(offset, offset + count))]
            part[...] = source[(*before, slice(start, start + count))]
            tick(part.nbytes)
            offset += count
        return
    fill = choose_copy_function(source)
    if fill is np.copyto:
        np.copyto(target, source)
        tick(source.nbytes)
    else:
        fill(target, source, tick)


def choose_copy_function(source: Array) -> Callable[..., object]:
    """Return the fastest function for copying arrays with the layout of `source`.

    The targets are C-contiguous. The function is `np.copyto`, or has the same arguments and, as `copy_into`, a progress
    callback.
    """
    if source.nbytes < SMALL_COPY_BYTES:
        return np.copyto
    cores = count_cores() if source.nbytes >= 2 * BYTES_PER_THREAD else 1
    return _choose_copy_function_for_layout(source.shape, source.strides, source.itemsize, cores)


def prepare_copy_function(shape: IntTuple, strides: IntTuple, itemsize: int) -> Callable[..., object]:
    """Return a function that copies arrays of a given layout.

    The layout is given by `shape`, and by `strides` and `itemsize` in bytes. For large arrays, the function counts the
    cores when it is called.
    """
    size = prod(shape) * itemsize
    if size < SMALL_COPY_BYTES:
        return np.copyto
    return copy_into if size >= 2 * BYTES_PER_THREAD else _choose_copy_function_for_layout(shape, strides, itemsize, 1)


@lru_cache(maxsize=256)
def _choose_copy_function_for_layout(
    shape: IntTuple, strides: IntTuple, itemsize: int, cores: int
) -> Callable[..., object]:
    strategy = choose_copy_strategy(shape, strides, itemsize, cores)
    whole = (
        FILL_FUNCTIONS[strategy.method] is np.copyto
        and strategy.tile_shape == strategy.shape[: len(strategy.tile_shape)]
    )
    if whole and (
        strategy.itemsize == itemsize or prod(strategy.tile_shape) < MIN_ELEMENTS_PER_BYTE * strategy.itemsize
    ):
        return np.copyto
    return partial(
        _fill_by_tile, strategy, np.dtype(f"V{strategy.itemsize}") if strategy.itemsize != itemsize else None
    )


@lru_cache(maxsize=256)
def choose_copy_strategy(shape: IntTuple, strides: IntTuple, itemsize: int, cores: int) -> CopyStrategy:
    """Choose how to copy an array with a given layout to C order.

    `strides` and `itemsize` are in bytes; `cores` is the number of cores that may be used.

    >>> strategy = choose_copy_strategy((4096, 4096, 4), (4, 16384, 1), 1, cores=2)
    >>> strategy.shape, strategy.itemsize, strategy.method
    ((4096, 4096, 4), 4, 'tiles')
    >>> choose_copy_strategy((1000, 100, 3), (3, 3000, 1), 1, cores=2).itemsize
    3
    """
    together, strides = merge_axes(axes_from_strides(shape, strides))
    sizes, strides, width = merge_last_axis(together, strides, itemsize)
    threads = max(1, min(cores, prod(sizes) * width // BYTES_PER_THREAD))
    fill = choose_copy_method(sizes, strides, width)
    return CopyStrategy(together, width, fill, choose_tile(fill, sizes, strides, width, threads), threads)


def merge_last_axis(shape: IntTuple, strides: IntTuple, itemsize: int) -> tuple[IntTuple, IntTuple, int]:
    """Merge a contiguous last axis of up to `MAX_MERGED_BYTES` into the element.

    Returns the remaining sizes and strides, and the size of the merged element in bytes.
    """
    width = shape[-1] * itemsize if shape else 0
    if len(shape) > 1 and strides[-1] == itemsize and width <= MAX_MERGED_BYTES:
        return shape[:-1], strides[:-1], width
    return shape, strides, itemsize


def choose_copy_method(shape: IntTuple, strides: IntTuple, itemsize: int) -> str:
    """Return the fastest method for copying an array with a given layout.

    A copy in C order is the fastest method if each cache line of the source is read from memory only once. A line is
    read again at the next index of the axis with the smallest source stride, after all axes to its right were
    traversed, and must still be in the cache then. If the source fits in L2, a copy in C order is also the fastest if
    lines can be prefetched: elements are wide, a step of the inner loop stays within a line, or few lines are read in
    between.

    >>> choose_copy_method((9000, 3), (1, 9000), 1), choose_copy_method((4096, 4096), (1, 4096), 1)
    ('by position', 'tiles')
    >>> choose_copy_method((4096, 4096), (4096, 1), 1), choose_copy_method((5, 16000), (1, 5), 1)
    ('in order', 'in order')
    """
    fast_axis = min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)
    if fast_axis == len(shape) - 1 or itemsize > MAX_TILED_ITEMSIZE:
        return IN_ORDER
    axes = [*zip(shape, strides, strict=True)]
    lines = [min(size, size * abs(stride) // CACHE_LINE_BYTES + 1) for size, stride in axes]
    lines_between = prod(lines[fast_axis + 1 :])
    is_kept = lines_between <= CACHED_LINES
    if shape[-1] <= SHORT_AXIS:
        return BY_INDEX if is_kept and shape[-2] >= LONG_AXIS and itemsize < MAX_TILED_ITEMSIZE else IN_ORDER
    if is_kept or shape[fast_axis] < MIN_LINE_READS:
        return IN_ORDER
    near_axis = max([axis for axis, stride in enumerate(strides[:-1]) if abs(stride) < CACHE_LINE_BYTES] or [fast_axis])
    is_near = prod(lines[near_axis + 1 :]) <= INNER_LINES
    is_fetched = is_near or itemsize >= WIDE_ITEMSIZE or abs(strides[-1]) <= CACHE_LINE_BYTES
    span = itemsize + sum([(size - 1) * abs(stride) for size, stride in axes])
    return IN_ORDER if is_fetched and span <= L2_BYTES else TILES


def c_order_tile(shape: Sequence[int], max_elements: int) -> IntTuple:
    """Return the shape of the largest C-contiguous tile of at most `max_elements`."""
    sizes = [1] * len(shape)
    _grow_tile(sizes, range(len(shape))[::-1], shape, max_elements, max_elements)
    return tuple(sizes)


def choose_tile(method: str, shape: IntTuple, strides: IntTuple, itemsize: int, threads: int = 1) -> IntTuple:
    """Choose the shape of the tiles for a method.

    A tile is first extended along the innermost axes of the target, then along those of the source, and then along the
    axes of the target up to the maximum size. Each thread gets at least two tiles.
    """
    room = max(1, min(MAX_TILE_BYTES[method] // itemsize, MAX_TILE_ELEMENTS if method == TILES else 1 << 62))
    if threads > 1:
        room = max(1, min(room, prod(shape) // (2 * threads)))
    if method == IN_ORDER:
        return c_order_tile(shape, room)
    sizes = [1] * len(shape)
    by_target = [*range(len(shape))[::-1]]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    for order, goal in ((by_target, MIN_TILE_EXTENT), (by_source, MIN_TILE_EXTENT), (by_target, room)):
        _grow_tile(sizes, order, shape, goal, room)
    return tuple(sizes)


def _grow_tile(sizes: list[int], order: Sequence[int], shape: Sequence[int], goal: int, max_elements: int) -> None:
    """Extend a tile along the axes in `order`.

    `sizes` is the shape of the tile, and is modified. The extension stops at `goal` elements along these axes, or at
    `max_elements` elements in the tile.
    """
    extent = 1
    for axis in order:
        others = prod(sizes) // sizes[axis]
        sizes[axis] = max(sizes[axis], min(shape[axis], max_elements // others, -(-goal // extent)))
        extent *= sizes[axis]
        if extent >= goal or sizes[axis] < shape[axis]:
            return


def _fill_by_tile(
    strategy: CopyStrategy, element_dtype: Any, target: Array, source: Array, tick: Callable[[int], object] = int
) -> None:
    """Copy `source` into `target` tile by tile.

    If `element_dtype` is not None, both arrays are viewed with that dtype. `tick` is called with the size, in bytes, of
    each finished tile.
    """
    if source.dtype.hasobject:  # Python objects cannot be viewed as bytes
        np.copyto(target, source)
        tick(source.nbytes)
        return
    source, target = source.reshape(strategy.shape), target.reshape(strategy.shape)
    if element_dtype:
        source, target = source.view(element_dtype)[..., 0], target.view(element_dtype)[..., 0]
    fill = FILL_FUNCTIONS[strategy.method]
    if strategy.tile_shape == source.shape:
        fill(target, source)
        tick(source.nbytes)
        return
    axes = zip(source.shape, strategy.tile_shape, strict=True)
    remaining = every(*[[slice(start, start + step) for start in range(0, size, step)] for size, step in axes])

    def fill_remaining_tiles() -> None:
        try:
            for tile in remaining:
                part = target[tile]
                fill(part, source[tile])
                tick(part.nbytes)
        finally:
            deque(remaining, maxlen=0)  # after an error, each of the other threads stops after its current tile

    others = [_thread_pool().submit(fill_remaining_tiles) for _ in range(strategy.thread_count - 1)]
    try:
        fill_remaining_tiles()
    finally:
        for thread in others:
            if not thread.cancel():  # a thread that has not started is cancelled
                thread.result()


@cache
def _thread_pool() -> ThreadPoolExecutor:
    """Return the thread pool that copies use.

    The threads run in parallel, because NumPy releases the GIL while it copies.
    """
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="shapecalc-copy")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)  # a forked child does not inherit the threads


def _fill_by_index(target: Array, source: Array) -> None:
    for position in range(source.shape[-1]):
        target[..., position] = source[..., position]


FILL_FUNCTIONS: dict[str, FillFunction] = {IN_ORDER: np.copyto, TILES: np.copyto, BY_INDEX: _fill_by_index}
