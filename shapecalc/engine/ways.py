"""Which way of a strided copy is fastest: which tiles it has, and how each is filled. Sizes and strides say it.

Bytes that stay together on both sides are moved as one element. NumPy copies in the order of the destination, even if
it then reads the source in a slow order. A copy can be cut into tiles, both sides of which fit into the cache of a
core. A tile can be filled position by position along its last axis, so that the inner loop is long. It can be copied
row by row to scratch bytes first, so that its lines do not crowd into few sets of the cache. `fastest.py` says which
of these pays where; anywhere else a copy is NumPy's own.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from shapecalc.core.sizes.record import Record
from shapecalc.engine.atoms import axes_of, steps
from shapecalc.engine.fastest import (
    BY_POSITION,
    BY_ROWS,
    CROWD,
    IN_ORDER,
    LASTS,
    LONG,
    NEAR,
    REACHES,
    SHORT,
    TILES,
    WIDTHS,
    Place,
    fill_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SHARE = 1 << 22
"""The bytes that are worth a thread of their own: a smaller copy is done before another thread is awake."""
ROOM = {IN_ORDER: 1 << 26, TILES: 1 << 17, BY_POSITION: 1 << 18, BY_ROWS: 1 << 20}
"""The most bytes of a tile of each way."""
ALONG = 256
"""How many positions a tile has along the innermost axes of each side, if there are so many."""
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
    """How a tile is filled: one of those in `fastest.py`."""
    steps: tuple[int, ...]
    """How many positions a tile has along each axis."""
    threads: int


@lru_cache(maxsize=256)
def way_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, cores: int) -> Way:
    """Return the way to copy a source of `shape`, `strides` and `itemsize` (both in bytes) to a target in C order.

    `cores` are those that may be used.

    >>> way = way_of((4096, 4096, 4), (4, 16384, 1), 1, cores=2)
    >>> way.shape, way.width, way.fill
    ((4096, 4096, 4), 4, 'tiles')
    >>> way_of((1000, 100, 3), (3, 3000, 1), 1, cores=2).width
    3
    """
    together, strides = steps(axes_of(shape, strides))
    sizes, width = together, together[-1] * itemsize
    if len(sizes) > 1 and strides[-1] == itemsize and width <= WIDE:
        sizes, strides, itemsize = sizes[:-1], strides[:-1], width
    threads = max(1, min(cores, prod(sizes) * itemsize // SHARE))
    fill = fill_of(place_of(sizes, strides, itemsize))
    room = ROOM[fill] if threads == 1 else min(ROOM[fill], prod(sizes) * itemsize // (2 * threads))
    room = max(1, room // itemsize)
    tile = chunk(sizes, room) if fill == IN_ORDER else tile_of(sizes, strides, room)
    return Way(together, itemsize, fill, tile, threads)


def place_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Place | None:
    """Return where in the table a copy stands; None if both sides run along the same axis, or all are wide elements.

    A line of the source is read again at the next position of its running axis, when all axes behind it have been gone
    through: `reach` tells how far that is. It is lost before if lines crowd into few sets of the cache. They count as
    crowded only if the rows that a tile would be copied by are long.
    """
    running = _running_axis(strides)
    if running == len(shape) - 1 or itemsize > max(WIDTHS):
        return None
    between = [*zip(shape[running + 1 :], strides[running + 1 :], strict=True)]
    lines = prod(min(size, -(-size * abs(stride) // LINE)) for size, stride in between)
    near = prod(shape) * itemsize <= NEAR or abs(strides[-1]) < LINE or shape[running] < SHORT
    reach = "32K" if near else _class(REACHES, lines * LINE)
    crowded = shape[running] >= LONG and any(
        min(size, ALONG) > CROWD * _lines_that_fit(stride) for size, stride in between
    )
    return Place(_last(shape), reach, crowded, min(w for w in WIDTHS if w >= itemsize))


def _last(shape: tuple[int, ...]) -> str:
    """Return the class of the last axis. One that is few has a long axis before it, for an inner loop."""
    last = _class(LASTS, shape[-1])
    return "some" if last == "few" and shape[-2] < LONG else last


def _class(classes: dict[str, int], number: int) -> str:
    return next((name for name, most in classes.items() if number <= most), "more")


def _running_axis(strides: tuple[int, ...]) -> int:
    """Return the axis along which the source has the smallest stride."""
    return min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)


def _lines_that_fit(stride: int) -> int:
    """Return how many lines that are `stride` bytes apart fit into a core's first cache."""
    return WAYS * APART // gcd(stride, APART)


def chunk(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the positions along each axis of a tile of at most `room` elements that follow each other in C order."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def tile_of(shape: tuple[int, ...], strides: tuple[int, ...], room: int) -> tuple[int, ...]:
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
