"""A strided copy, done in its `Way`: tile by tile. Each thread takes the next tile that is left.

The thread that asks for the copy fills tiles too, so it never waits for another thread to wake.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from itertools import product as every
from math import prod
from threading import local

import numpy as np

from shapecalc.engine.cores import count_cores
from shapecalc.engine.fastest import BY_POSITION, BY_ROWS, FEW, IN_ORDER, TILES
from shapecalc.engine.ways import LINE, SHARE, Way, way_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]
    Index = tuple[slice, ...]
    Fill = Callable[[Array, Array], object]

TINY = 1 << 15
"""Fewer bytes are copied by NumPy before a way is found."""
MANY = 4
"""Fewer rows than so many for each byte of one are copied by NumPy before they are looked at as elements."""


def copy_into(target: Array, source: Array, tick: Callable[[int], object] | None = None) -> None:
    """Fill the C-contiguous `target` with `source`, of the same shape; call `tick` with the bytes of each tile."""
    fill = fill_for(source)
    if fill is not np.copyto:
        fill(target, source, tick or int)
        return
    np.copyto(target, source)
    if tick:
        tick(source.nbytes)


def copy_for(view: Array) -> Callable[[Array], Array]:
    """Return what makes a C-contiguous copy of arrays of the layout of `view`."""
    fill = fill_for(view) if view.nbytes < 2 * SHARE else None  # for more, the cores are counted at each copy
    if fill is np.copyto:
        return np.ndarray.copy

    def copied(view: Array) -> Array:
        chosen = fill or fill_for(view)
        if chosen is np.copyto:
            return view.copy()
        target = np.empty(view.shape, view.dtype)
        chosen(target, view)
        return target

    return copied


def fill_for(source: Array) -> Callable[..., object]:
    """Return what fills C-contiguous targets with sources of one layout: `np.copyto`, or what also takes a tick."""
    if source.nbytes < TINY or source.dtype.hasobject:
        return np.copyto
    cores = count_cores() if source.nbytes >= 2 * SHARE else 1
    return _fill_of(source.shape, source.strides, source.itemsize, cores)


@lru_cache(maxsize=256)
def _fill_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, cores: int) -> Callable[..., object]:
    way = way_of(shape, strides, itemsize, cores)
    whole = FILLS[way.fill] is np.copyto and way.steps == way.shape[: len(way.steps)]
    if whole and (way.width == itemsize or prod(way.steps) < MANY * way.width):
        return np.copyto
    return partial(_fill_in_tiles, way, np.dtype(f"V{way.width}") if way.width != itemsize else None)


def _fill_in_tiles(way: Way, element: Any, target: Array, source: Array, tick: Callable[[int], object] = int) -> None:
    """Fill `target` with `source` in a way that was found for its layout, as such elements if they are wider."""
    source, target = source.reshape(way.shape), target.reshape(way.shape)
    if element:
        source, target = source.view(element)[..., 0], target.view(element)[..., 0]
    fill = FILLS[way.fill]
    if way.steps == source.shape:
        fill(target, source)
        tick(source.nbytes)
    else:
        _copy_tiles(target, source, fill, way, tick)


def roll_into(target: Array, source: Array, axis: int, shift: int, tick: Callable[[int], object] = int) -> None:
    """Fill `target` with `source` rolled along one axis by `shift`, which is less than its size: in two pieces."""
    before = (slice(None),) * axis
    for into, taken in ((slice(shift, None), slice(-shift)), (slice(shift), slice(-shift, None))):
        target[(*before, into)] = source[(*before, taken)]
        tick(target[(*before, into)].nbytes)


def _copy_tiles(target: Array, source: Array, fill: Fill, way: Way, tick: Callable[[int], object]) -> None:
    """Fill `target` tile by tile with the threads of `way`. The calling thread is one of them."""
    remaining = tiles_of(source.shape, way.steps)

    def work() -> None:
        try:
            for tile in remaining:
                into = target[tile]
                fill(into, source[tile])
                tick(into.nbytes)
        finally:
            deque(remaining, maxlen=0)  # if one thread fails, nothing is left for the others

    others = [_threads().submit(work) for _ in range(way.threads - 1)]
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
NOTHING = bytearray()


@lru_cache(maxsize=256)
def _orders(strides: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """Return the axes in the order of the source, and the order that leads back from there."""
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    return order, sorted(range(len(strides)), key=order.__getitem__)


def _fill_by_position(target: Array, source: Array) -> None:
    """Fill a tile position by position along its last axis."""
    for position in range(source.shape[-1]):
        target[..., position] = source[..., position]


def _fill_by_rows(target: Array, source: Array) -> None:
    """Copy a tile row by row to scratch bytes, and fill the target from there.

    Each row is padded by a cache line there, so the rows do not crowd into few sets of the cache.
    """
    order, back = _orders(source.strides)
    rows = source.transpose(order)
    *before, long = rows.shape
    padded = (*before, long + LINE // source.itemsize + 1)
    scratch = np.frombuffer(_scratch(prod(padded) * source.itemsize), source.dtype, prod(padded))
    near = scratch.reshape(padded)[..., :long]
    np.copyto(near, rows)
    fill = _fill_by_position if source.shape[-1] <= FEW else np.copyto
    fill(target, near.transpose(back))


FILLS: dict[str, Fill] = {
    IN_ORDER: np.copyto,
    TILES: np.copyto,
    BY_POSITION: _fill_by_position,
    BY_ROWS: _fill_by_rows,
}


def _scratch(nbytes: int) -> bytearray:
    """Return at least `nbytes` bytes to write on. A thread gets the same ones for every tile."""
    kept: bytearray = getattr(_of_thread, "bytes", NOTHING)
    if len(kept) < nbytes:
        _of_thread.bytes = kept = bytearray(nbytes)
    return kept


def tiles_of(shape: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[Index]:
    """Return the tiles of an array of `shape`, `steps` positions along each axis, in C order."""
    return every(*[_slices(size, step) for size, step in zip(shape, steps, strict=True)])


def _slices(size: int, step: int) -> list[slice]:
    return [slice(start, start + step) for start in range(0, size, step)]
