"""A strided copy done in its way: tile by tile, every core taking the next one.

The thread that asks works along: it never waits for another to wake.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product as every
from math import prod
from threading import local

import numpy as np

from shapecalc.engine.ways import CORES, FEW, LINE, RUN, better_by_position, way_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Array = np.ndarray[Any, np.dtype[Any]]
    Index = tuple[slice, ...]
    Fill = Callable[[Array, Array], object]

SMALL = 1 << 18
"""Bytes up to which NumPy's own moves are as good, for all that they may copy twice."""


def copy_into(target: Array, source: Array, tick: Callable[[int], object] = int) -> None:
    """Fill `target`, C-contiguous, with `source`, of the same shape; call `tick` with the bytes of each tile."""
    rows = source.ndim > 0 and source.strides[-1] == source.itemsize and source.shape[-1] >= FEW
    if source.nbytes <= (RUN if rows else SMALL) or source.size == 1 or source.dtype.hasobject:
        np.copyto(target, source)
        tick(source.nbytes)
        return
    way = way_of(source.shape, source.strides, source.itemsize)
    source, target = source.reshape(way.shape), target.reshape(way.shape)
    if way.width != source.itemsize:
        source, target = source.view(f"V{way.width}")[..., 0], target.view(f"V{way.width}")[..., 0]
    fill = FILLS[way.fill]
    if way.steps == source.shape:
        fill(target, source)
        tick(source.nbytes)
    else:
        _copy_tiles(target, source, fill, list(tiles_of(source.shape, way.steps)), way.threads, tick)


def _copy_tiles(
    target: Array, source: Array, fill: Fill, tiles: list[Index], threads: int, tick: Callable[[int], object]
) -> None:
    """Fill `target` tile by tile, with as many threads, this one among them."""
    remaining = iter(tiles)

    def work() -> None:
        try:
            for tile in remaining:
                fill(target[tile], source[tile])
                tick(target[tile].nbytes)
        finally:
            tiles.clear()  # whoever fails stops the others

    helping = [_threads().submit(work) for _ in range(min(threads, len(tiles)) - 1)]
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


_kept = local()


def _by_position(target: Array, source: Array) -> None:
    """Fill a tile position by position along its last axis."""
    for position in range(source.shape[-1]):
        target[..., position] = source[..., position]


def _by_rows(target: Array, source: Array) -> None:
    """Bring a tile in row by row, a cache line apart so that none crowd, and fill the target from there."""
    order = sorted(range(source.ndim), key=lambda axis: -abs(source.strides[axis]))
    rows = source.transpose(order)
    padded = (*rows.shape[:-1], rows.shape[-1] + LINE // source.itemsize + 1)
    near = _scratch(prod(padded) * source.itemsize).view(source.dtype).reshape(padded)[..., : rows.shape[-1]]
    np.copyto(near, rows)
    near = near.transpose(sorted(range(source.ndim), key=order.__getitem__))
    fill = _by_position if better_by_position(near.shape, near.strides, near.itemsize) else np.copyto
    fill(target, near)


FILLS: dict[str, Fill] = {"in order": np.copyto, "by position": _by_position, "by rows": _by_rows}


def _scratch(nbytes: int) -> Array:
    """Return bytes to write on, the same ones for every tile of a thread: fresh ones would be mapped each time."""
    if getattr(_kept, "bytes", np.empty(0)).nbytes < nbytes:
        _kept.bytes = np.empty(nbytes, np.uint8)
    kept: Array = _kept.bytes
    return kept[:nbytes]


def tiles_of(shape: tuple[int, ...], steps: tuple[int, ...]) -> Iterator[Index]:
    """Yield the tiles of a copy, in the order of the destination."""
    starts = [range(0, size, step) for size, step in zip(shape, steps, strict=True)]
    for corner in every(*starts):
        yield tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))
