"""Which way of a strided copy is fastest: which tiles it has, and how each is filled. Sizes and strides say it.

Bytes that stay together on both sides are moved as one element. NumPy copies in the order of the destination, even if
it then reads the source in a slow order, or has a short inner loop. A copy can be cut into tiles, both sides of which
fit into the cache of a core. A tile can be filled position by position along its last axis, so that the inner loop is
long. It can be copied row by row to scratch bytes first, so that its lines do not crowd into few sets of the cache.
`fastest.py` says which of these pays where; anywhere else a copy is NumPy's own.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, prod

from shapecalc.core.record import Record
from shapecalc.engine.atoms import axes_of, steps
from shapecalc.engine.fastest import (
    BESIDE,
    BY_POSITION,
    BY_ROWS,
    FEW,
    FIRST,
    IN_ORDER,
    ROWS,
    SECOND,
    SLACK,
    TILES,
    WIDE_SLACK,
    WIDTHS,
    Place,
    fill_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

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
    ((4096, 4096, 4), 4, 'by rows')
    >>> way_of((1000, 100, 3), (3, 3000, 1), 1, cores=2).width
    3
    """
    together, strides = steps(axes_of(shape, strides))
    sizes, strides, width = elements_of(together, strides, itemsize)
    threads = max(1, min(cores, prod(sizes) * width // SHARE))
    fill = fill_of(place_of(sizes, strides, width))
    return Way(together, width, fill, tile_of(fill, sizes, strides, width, threads), threads)


def elements_of(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the sizes, the strides and the bytes of an element, if a last axis that is not too wide is part of it."""
    width = shape[-1] * itemsize if shape else 0
    if len(shape) > 1 and strides[-1] == itemsize and width <= WIDE:
        return shape[:-1], strides[:-1], width
    return shape, strides, itemsize


def place_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Place | None:
    """Return where in the table a copy stands; None if both sides run along the same axis, or all are wide elements.

    A line of the source is read again at the next position of its running axis, when all axes behind it have been gone
    through. The lines that are read meanwhile decide where it is found then. Where it is read only a few times, there
    is no place.
    """
    running = _running_axis(strides)
    if running == len(shape) - 1 or itemsize > max(WIDTHS):
        return None
    wide, short = itemsize == max(WIDTHS), shape[-1] <= FEW
    few = short and shape[-2] >= BESIDE and (running == len(shape) - 2 or not wide)
    if not few and (shape[running] < AGAIN or (wide and short)):
        return None
    row = next((name for name, most in ROWS.items() if shape[running] <= most), "long")
    lines = _lines(shape[running + 1 :], strides[running + 1 :], WIDE_SLACK if wide else SLACK)
    return Place("few" if few else "more", row, lines, min(w for w in WIDTHS if w >= itemsize))


def _running_axis(strides: tuple[int, ...]) -> int:
    """Return the axis along which the source has the smallest stride."""
    return min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)


def _lines(shape: tuple[int, ...], strides: tuple[int, ...], slack: float) -> str:
    """Return where lines that are gone through along these axes are found afterwards."""
    steps = [max(LINE, abs(stride)) for stride in strides]
    sizes = [min(size, size * abs(stride) // LINE + 1) for size, stride in zip(shape, strides, strict=True)]
    axes = [*zip(sizes, steps, strict=True)]
    lines = prod(sizes)
    if lines <= slack * _room(axes, *FIRST):
        return "fit"
    if lines <= FIRST[0] // LINE * FIRST[1]:
        return "crowd"
    return "second" if lines <= slack * _room(axes, *SECOND) else "far"


def _room(axes: list[tuple[int, int]], apart: int, ways: int) -> int:
    """Return how many lines a cache has room for in the sets that lines at these steps share."""
    sets = prod(min(size, apart // max(LINE, gcd(step, apart))) for size, step in axes)
    return ways * min(sets, apart // max(LINE, gcd(apart, *[step for _, step in axes])))


def chunk(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return the positions along each axis of a tile of at most `room` elements that follow each other in C order."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def tile_of(
    fill: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, threads: int = 1
) -> tuple[int, ...]:
    """Return the positions along each axis of a tile that is filled in one of the ways.

    It is first made long along the innermost axes of both sides, then as large as fits. Each thread gets two or more.
    """
    room = max(1, min(ROOM[fill] // itemsize, MOST.get(fill, 1 << 62)))
    if threads > 1:
        room = max(1, min(room, prod(shape) // (2 * threads)))
    if fill == IN_ORDER:
        return chunk(shape, room)
    sizes = [1] * len(shape)
    by_target = [*range(len(shape))[::-1]]
    by_source = sorted(by_target, key=lambda axis: abs(strides[axis]) or 1 << 62)
    first, second = (by_source, by_target) if fill == BY_ROWS else (by_target, by_source)
    for order, wanted in ((first, ALONG), (second, ALONG), (by_target, room)):
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
