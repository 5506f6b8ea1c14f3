"""Which way of a strided copy is fastest: which tiles it has, and how each is filled. Sizes and strides say it.

Bytes that stay together on both sides are moved as one element. NumPy copies in the order of the destination, even if
it then reads the source in a slow order. Where lines of the source would leave the cache before they are read again,
a copy is cut into tiles, and both sides of a tile fit into the cache of a core. If reading across a tile would crowd
into few sets of the cache, the tile is first copied row by row to scratch bytes. If its last axis is short, it is
filled position by position along that axis, so that the inner loop is long. Anything else is NumPy's own copy. The
numbers below are measured on the random copies of `tests/benchmarks/engine.py`: with these numbers, the copies are on
average nearest to their fastest way.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from shapecalc.core.sizes.record import Record
from shapecalc.engine.atoms import axes_of, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHARE = 1 << 22
"""The bytes that are worth a thread of their own: a smaller copy is done before another thread is awake."""
RUN = 1 << 22
"""The bytes of a tile if both sides run along the same axis. NumPy alone is then nearly as fast as the memory."""
TILE = 1 << 20
"""The most bytes of a tile."""
FAR = 1 << 18
"""The bytes of lines between two reads of one line, from which on it has left a core's cache."""
CROWD = 4
"""How many times the lines that fit into their sets may be read between, before tiles pay; all then need more than
the cache's `WAYS * APART` bytes."""
ALONG = 256
"""How many positions a tile has along the innermost axes of each side, if there are so many."""
LONG = 32
"""A tile is filled by rows only if it has at least so many rows, and each row so many positions."""
FEW = 8
"""The most positions of a short axis. An inner loop should run along a longer one."""
MANY = 64
"""The most positions along which a crowded tile is filled one by one."""
WIDE = 512
"""The most bytes that are moved as one element, whatever they hold. NumPy moves each twice as fast as its parts."""
LINE = 64
"""The bytes of a cache line."""
APART, WAYS = 4096, 8
"""Addresses that are so many bytes apart share a set of a core's first cache. A set holds so many lines."""


class Way(Record):
    """How a copy is done: its tiles, and how each is filled."""

    shape: tuple[int, ...]
    """The sizes of both sides. Axes that one step can stand for are merged."""
    width: int
    """The bytes of an element. If the last axis is moved as one element, it is part of it."""
    fill: str
    """How a tile is filled: `in order` of the destination, `by position` of the last axis, or `by rows`."""
    steps: tuple[int, ...]
    """How many positions a tile has along each axis."""
    threads: int


@lru_cache(maxsize=256)
def way_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, cores: int) -> Way:
    """Return the way to copy a source of `shape`, `strides` and `itemsize` (both in bytes) to a target in C order.

    `cores` are those that may be used.

    >>> way = way_of((4096, 4096, 4), (4, 16384, 1), 1, cores=2)
    >>> way.shape, way.width, way.fill
    ((4096, 4096, 4), 4, 'by rows')
    >>> way_of((1000, 100, 3), (3, 3000, 1), 1, cores=2).width
    3
    """
    together, strides = steps(axes_of(shape, strides))
    sizes, width = together, together[-1] * itemsize
    if len(sizes) > 1 and strides[-1] == itemsize and width <= WIDE:
        sizes, strides, itemsize = sizes[:-1], strides[:-1], width
    threads = max(1, min(cores, prod(sizes) * itemsize // SHARE))
    if not (_tiles_pay(sizes, strides, itemsize) or better_by_position(sizes, strides, itemsize)):
        return Way(together, itemsize, "in order", chunk(sizes, max(1, RUN // itemsize)), threads)
    room = TILE if threads == 1 else min(TILE, prod(sizes) * itemsize // (2 * threads))
    tile = _tile(sizes, strides, max(1, room // itemsize))
    return Way(together, itemsize, _fill_method(sizes, strides, tile, itemsize), tile, threads)


def better_by_position(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Say whether it is faster to fill a tile position by position along its last axis than in order.

    It is faster if two things hold. The last axis is short or crowds the cache, and the axis before it makes a
    good inner loop. The lines that one position reads are still in the cache at the next, or no two positions
    share a line. Elements that fill whole lines never share one.
    """
    if len(shape) < 2 or itemsize >= LINE:
        return False
    other, last = shape[-2:]
    short = last <= min(FEW, other) and last * itemsize <= LINE // 2
    crowded = _lines_that_fit(strides[-1]) < last <= min(MANY, 2 * other)
    return (short or crowded) and (abs(strides[-1]) >= LINE or other <= _lines_that_fit(strides[-2]))


def _tiles_pay(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Say whether a copy in order of the destination would lose the lines that it reads before it reads them again.

    A line is read again at the next position of the source's running axis, when all axes behind it have been gone
    through. It is lost if too many lines come between, or if they crowd into few sets of the cache.
    """
    running = _running_axis(strides)
    between = [*zip(shape[running + 1 :], strides[running + 1 :], strict=True)]
    lines = prod(min(size, -(-size * abs(stride) // LINE)) for size, stride in between)
    if any(size > CROWD * _lines_that_fit(stride) for size, stride in between):
        return lines * LINE > WAYS * APART
    return lines * LINE > FAR and prod(shape) * itemsize > TILE


def _running_axis(strides: tuple[int, ...]) -> int:
    """Return the axis along which the source has the smallest stride."""
    return min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)


def _lines_that_fit(stride: int) -> int:
    """Return how many lines that are `stride` bytes apart fit into a core's first cache."""
    return WAYS * APART // gcd(stride, APART)


def _fill_method(shape: tuple[int, ...], strides: tuple[int, ...], tile: tuple[int, ...], itemsize: int) -> str:
    """Return how a tile of `tile` positions is filled: the `fill` of its `Way`."""
    row = _running_axis(strides)
    across = range(row + 1, len(shape))
    crowded = any(min(tile[axis], ALONG) > _lines_that_fit(strides[axis]) for axis in across)
    if crowded and min(shape[row], prod(shape[axis] for axis in across)) >= LONG:
        return "by rows"
    return "by position" if better_by_position(tile, strides, itemsize) else "in order"


def chunk(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the positions along each axis of a tile of at most `room` elements that follow each other in C order."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def _tile(shape: tuple[int, ...], strides: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the positions along each axis of a tile of at most `room` elements.

    It is first made long along the innermost axes of both sides, then as large as fits.
    """
    sizes = [1] * len(shape)
    by_target = range(len(shape))[::-1]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    for order, wanted in ((by_target, ALONG), (by_source, ALONG), (by_target, room)):
        _grow(sizes, order, shape, wanted, room)
    return tuple(sizes)


def _grow(sizes: list[int], order: Sequence[int], shape: tuple[int, ...], wanted: int, room: int) -> None:
    """Extend a tile along the axes in `order` until it has `wanted` positions along them, or `room` elements."""
    along = 1
    for axis in order:
        others = prod(sizes) // sizes[axis]
        sizes[axis] = max(sizes[axis], min(shape[axis], room // others, -(-wanted // along)))
        along *= sizes[axis]
        if along >= wanted or sizes[axis] < shape[axis]:
            return
