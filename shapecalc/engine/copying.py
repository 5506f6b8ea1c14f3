"""The copy engine: a strided copy to C order, done in the way that is fastest for its sizes and strides.

Bytes that stay together on both sides are moved as one element. NumPy copies in the order of the destination, even if
it then reads the source in a slow order, or has a short inner loop. A copy can be cut into tiles, both sides of which
fit into the cache of a core. A tile can be filled position by position along its last axis, so that the inner loop is
long. It can be copied row by row to scratch bytes first, so that its lines do not crowd into few sets of the cache.
`TABLE` says which of these pays where; anywhere else a copy is NumPy's own. Each thread takes the next tile that is
left. The thread that asks for the copy fills tiles too, so it never waits for another thread to wake.

Source of the table: `tests/benchmarks/ways.py` measures every way on copies that it draws, and prints it. It names a
way where that was faster on average, and nearly never slower than NumPy. This is what four runs found together, with
seeds 1 to 4, in half an hour on a busy machine: NumPy 2.4 on an AMD EPYC of 2024, with 48 KiB of first and 1 MiB of
second cache a core.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache, partial
from itertools import product as every
from math import gcd, prod
from threading import local
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

IN_ORDER, TILES = "in order", "tiles"
"""NumPy's own copy, which goes in the target's order; and NumPy's own, tile by tile."""
BY_POSITION, BY_ROWS = "by position", "by rows"
"""Each tile position by position of its last axis; each by way of scratch."""
WIDTHS = (1, 2, 4, 8, 16)
"""The columns: the bytes of an element, at most. NumPy moves wider ones as fast as the memory."""
FEW, BESIDE = 4, 16
"""The target's last axis is `few` if it has at most so many positions, and the axis before it at least so many."""
ROWS = {"short": 32, "some": 256}
"""The most positions of the axis along which the source lies together; `long` are more."""
FIRST, SECOND = (4096, 12), (1 << 16, 16)
"""The two caches of a core: addresses that are so many bytes apart share a set, and a set holds so many lines."""
SLACK, WIDE_SLACK = 1.5, 4
"""Lines `fit` a cache, or lie in the `second` one, if they are at most so many times those that it has room for.

A line of the widest elements is read again only a few times, so more of them may crowd.
"""
LINES = ("fit", "crowd", "second", "far")
"""Where a line of the source is found when it is read again. Lines that `crowd` would fit if they shared no sets."""
TABLE = """
last row   lines   1  2  4  8  16
few  short fit     p  p  p  p  p
few  short crowd   .  .  .  r  .
few  short second  p  p  .  .  .
few  short far     .  p  p  t  .
few  some  fit     p  p  p  p  p
few  some  crowd   .  .  r  p  .
few  some  second  r  r  r  .  .
few  some  far     r  r  r  p  .
few  long  fit     p  p  p  p  p
few  long  crowd   r  .  r  r  .
few  long  second  r  .  .  .  .
few  long  far     r  .  .  .  .
more short fit     .  .  .  .  .
more short crowd   .  t  t  .  .
more short second  .  .  .  .  .
more short far     t  t  t  t  t
more some  fit     .  .  .  .  .
more some  crowd   .  r  .  r  r
more some  second  .  .  t  t  .
more some  far     t  r  r  t  t
more long  fit     .  .  .  .  .
more long  crowd   r  r  r  r  r
more long  second  r  r  t  t  .
more long  far     r  r  r  r  r
"""
SIGNS = {".": IN_ORDER, "t": TILES, "p": BY_POSITION, "r": BY_ROWS}

TINY = 1 << 15
"""Fewer bytes are copied by NumPy before a strategy is looked for."""
MANY = 4
"""Fewer rows than so many for each byte of one are copied by NumPy before they are looked at as elements."""
SHARE = 1 << 22
"""The bytes that are worth a thread of their own: a smaller copy is done before another thread is awake."""
ROOM = {IN_ORDER: 1 << 26, TILES: 1 << 18, BY_POSITION: 1 << 20, BY_ROWS: 1 << 20}
"""The most bytes of a tile of each way."""
MOST = {TILES: 1 << 16, BY_ROWS: 1 << 17}
"""The most elements of a tile, where these are what counts."""
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
    """How a tile is filled: one of the four ways."""
    tile: Sizes
    """How many positions a tile has along each axis."""
    threads: int


class TableKey(Record):
    """Where in the table a copy stands."""

    last: str
    row: str
    lines: str
    width: int


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
    ((4096, 4096, 4), 4, 'by rows')
    >>> copy_strategy((1000, 100, 3), (3, 3000, 1), 1, cores=2).width
    3
    """
    together, strides = steps(axes_of(shape, strides))
    sizes, strides, width = elements_of(together, strides, itemsize)
    threads = max(1, min(cores, prod(sizes) * width // SHARE))
    fill = fill_of(table_key(sizes, strides, width))
    return CopyStrategy(together, width, fill, tile_of(fill, sizes, strides, width, threads), threads)


def elements_of(shape: Sizes, strides: Sizes, itemsize: int) -> tuple[Sizes, Sizes, int]:
    """Return the sizes, the strides and the bytes of an element, if a last axis that is not too wide is part of it."""
    width = shape[-1] * itemsize if shape else 0
    if len(shape) > 1 and strides[-1] == itemsize and width <= WIDE:
        return shape[:-1], strides[:-1], width
    return shape, strides, itemsize


def table_key(shape: Sizes, strides: Sizes, itemsize: int) -> TableKey | None:
    """Return where in the table a copy stands; None if both sides run along the same axis, or all are wide elements.

    A line of the source is read again at the next position of its running axis, when all axes behind it have been gone
    through. The lines that are read meanwhile decide where it is found then. Where it is read only a few times, the
    copy is not in the table.
    """
    running = min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)
    if running == len(shape) - 1 or itemsize > max(WIDTHS):
        return None
    wide, short = itemsize == max(WIDTHS), shape[-1] <= FEW
    few = short and shape[-2] >= BESIDE and (running == len(shape) - 2 or not wide)
    if not few and (shape[running] < AGAIN or (wide and short)):
        return None
    row = next((name for name, most in ROWS.items() if shape[running] <= most), "long")
    lines = _lines(shape[running + 1 :], strides[running + 1 :], WIDE_SLACK if wide else SLACK)
    return TableKey("few" if few else "more", row, lines, min(w for w in WIDTHS if w >= itemsize))


def fill_of(key: TableKey | None) -> str:
    """Return the way that was fastest; for what is not in the table, NumPy's own.

    >>> fill_of(TableKey("few", "long", "fit", 1)), fill_of(None)
    ('by position', 'in order')
    """
    return rows()[key.last, key.row, key.lines][WIDTHS.index(key.width)] if key else IN_ORDER


@cache
def rows() -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the rows of the table: the ways for each width."""
    made = dict[tuple[str, str, str], tuple[str, ...]]()
    for line in TABLE.split("\n")[2:-1]:
        last, row, lines, *signs = line.split()
        made[last, row, lines] = tuple([SIGNS[sign] for sign in signs])
    return made


def _lines(shape: Sizes, strides: Sizes, slack: float) -> str:
    """Return where lines that are gone through along these axes are found afterwards."""
    sizes = [min(size, size * abs(stride) // LINE + 1) for size, stride in zip(shape, strides, strict=True)]
    axes = [*zip(sizes, [max(LINE, abs(stride)) for stride in strides], strict=True)]
    lines = prod(sizes)
    if lines <= slack * _room(axes, *FIRST):
        return "fit"
    if lines <= FIRST[0] // LINE * FIRST[1]:
        return "crowd"
    return "second" if lines <= slack * _room(axes, *SECOND) else "far"


def _room(axes: list[tuple[int, int]], period: int, ways: int) -> int:
    """Return how many lines a cache has room for in the sets that lines at these steps share."""
    sets = prod(min(size, period // max(LINE, gcd(step, period))) for size, step in axes)
    return ways * min(sets, period // max(LINE, gcd(period, *[step for _, step in axes])))


def tile_in_order(shape: Sequence[int], room: int) -> Sizes:
    """Return the positions along each axis of a tile of at most `room` elements that follow each other in C order."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def tile_of(fill: str, shape: Sizes, strides: Sizes, itemsize: int, threads: int = 1) -> Sizes:
    """Return the positions along each axis of a tile that is filled in one of the ways.

    It is first made long along the innermost axes of both sides, then as large as fits. Each thread gets two or more.
    """
    room = max(1, min(ROOM[fill] // itemsize, MOST.get(fill, 1 << 62)))
    if threads > 1:
        room = max(1, min(room, prod(shape) // (2 * threads)))
    if fill == IN_ORDER:
        return tile_in_order(shape, room)
    sizes = [1] * len(shape)
    by_target = [*range(len(shape))[::-1]]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    first, second = (by_source, by_target) if fill == BY_ROWS else (by_target, by_source)
    for order, wanted in ((first, ALONG), (second, ALONG), (by_target, room)):
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


def tiles_of(shape: Sizes, tile: Sizes) -> Iterator[tuple[slice, ...]]:
    """Return the tiles of an array of `shape`, with so many positions along each axis, in C order."""
    axes = zip(shape, tile, strict=True)
    return every(*[[slice(start, start + step) for start in range(0, size, step)] for size, step in axes])


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
    remaining = tiles_of(source.shape, strategy.tile)

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


def _fill_by_rows(target: Array, source: Array) -> None:
    """Copy a tile row by row to scratch bytes, and fill the target from there.

    Each row is padded by a cache line there, so the rows do not crowd into few sets of the cache.
    """
    order, back = _orders(source.strides)
    sorted_rows = source.transpose(order)
    *before, long = sorted_rows.shape
    padded = (*before, long + LINE // source.itemsize + 1)
    scratch = np.frombuffer(_scratch(prod(padded) * source.itemsize), source.dtype, prod(padded))
    near = scratch.reshape(padded)[..., :long]
    np.copyto(near, sorted_rows)
    fill = _fill_by_position if source.shape[-1] <= FEW else np.copyto
    fill(target, near.transpose(back))


@lru_cache(maxsize=256)
def _orders(strides: Sizes) -> tuple[list[int], list[int]]:
    """Return the axes in the order of the source, and the order that leads back from there."""
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    return order, sorted(range(len(strides)), key=order.__getitem__)


FILLS: dict[str, Fill] = {IN_ORDER: np.copyto, TILES: np.copyto, BY_POSITION: _fill_by_position, BY_ROWS: _fill_by_rows}

_of_thread = local()


def _scratch(nbytes: int) -> bytearray:
    """Return at least `nbytes` bytes to write on. A thread gets the same ones for every tile."""
    kept: bytearray = getattr(_of_thread, "bytes", bytearray())
    if len(kept) < nbytes:
        _of_thread.bytes = kept = bytearray(nbytes)
    return kept
