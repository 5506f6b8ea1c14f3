"""How a strided copy is best done, told from sizes and strides alone: in which tiles, and how each is filled.

NumPy copies in the order of the destination, whatever that does to the source. A copy that stays in the
cache is cut into tiles in which both sides fit a core's own. Where reading across a tile would crowd into
few sets of the cache, the tile is first brought in row by row. If its innermost axis is short, it is filled
position by position along it, so that the inner loop is long. The numbers below are measured: with them,
copies drawn at random, as `tests/benchmarks/engine.py` draws them, lose least to the best way of each.
"""

from __future__ import annotations

import os
from functools import lru_cache
from math import gcd, prod

from shapecalc.core.sizes.record import Record
from shapecalc.engine.atoms import axes_of, merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CORES = os.cpu_count() or 1
CHUNK = 1 << 18
"""Elements that are worth a thread of their own."""
RUN = 1 << 22
"""Bytes that are, where both sides run together: NumPy alone is nearly as fast as memory there."""
TILE = 1 << 20
"""Bytes up to which a tile grows."""
ALONG = 256
"""Positions of a tile along the innermost axes of either side, where there are as many."""
LONG = 32
"""Rows, and positions of a row, from which on a tile is worth bringing in by rows."""
FEW = 8
"""Positions of a short axis: too short for an inner loop where there is a better one."""
MANY = 64
"""Positions up to which a tile is worth filling one by one."""
WIDTHS = (2, 4, 8, 16)
"""Bytes that are moved as one element, whatever they hold."""
LINE = 64
"""Bytes of a cache line."""
APART, WAYS = 4096, 8
"""Bytes apart at which addresses share a set of a core's first cache, and the lines that a set holds."""


class Way(Record):
    """How a copy is done."""

    shape: tuple[int, ...]
    """The sizes of both sides, axes that travel together made one."""
    width: int
    """The bytes of an element; the last axis, where it is moved as one, is part of it."""
    fill: str
    """How a tile is filled: `in order` of the destination, `by position` of the last axis, or `by rows`."""
    steps: tuple[int, ...]
    """How far a tile goes along each axis."""
    threads: int


@lru_cache(maxsize=256)
def way_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Way:
    """Return the way to copy a source of `shape`, `strides` and `itemsize` (in bytes) to one in C order.

    >>> way = way_of((512, 512, 4), (4, 2048, 1), 1)
    >>> way.shape, way.width, way.fill
    ((512, 512, 4), 4, 'by rows')
    >>> way_of((1000, 100, 3), (3, 3000, 1), 1).fill
    'by position'
    """
    atoms = merged(atom for axis in axes_of(shape, strides) for atom in axis)
    together = tuple(atom.size for atom in atoms)
    width = together[-1] * itemsize
    if len(atoms) > 1 and atoms[-1].stride == itemsize and width in WIDTHS:
        atoms, itemsize = atoms[:-1], width
    sizes, strides = tuple(atom.size for atom in atoms), tuple(atom.stride for atom in atoms)
    threads = max(1, min(CORES, prod(sizes) // CHUNK))
    if _row(strides) == len(sizes) - 1 and sizes[-1] >= FEW:
        return Way(together, itemsize, "in order", chunk(sizes, max(1, RUN // itemsize)), threads)
    room = TILE if threads == 1 else min(TILE, prod(sizes) * itemsize // (2 * threads))
    tile = _tile(sizes, strides, max(1, room // itemsize))
    return Way(together, itemsize, _fill(sizes, strides, tile, itemsize), tile, threads)


def better_by_position(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Say whether a tile is better filled position by position along its last axis than in order.

    So it is where that axis is short, or crowds the cache, beside one before it that makes a good inner loop,
    and what that reads at one position is still near at the next, or shares no line with it.
    """
    if len(shape) < 2:
        return False
    other, last = shape[-2:]
    short = last <= min(FEW, other) and last * itemsize <= LINE // 2
    crowded = _lines(strides[-1]) < last <= min(MANY, 2 * other)
    return (short or crowded) and (abs(strides[-1]) >= LINE or other <= _lines(strides[-2]))


def _row(strides: tuple[int, ...]) -> int:
    """Return the axis along which the source runs."""
    return min(range(len(strides)), key=lambda axis: abs(strides[axis]) or 1 << 62)


def _lines(stride: int) -> int:
    """Return how many lines, `stride` bytes apart, a first cache has room for."""
    return WAYS * APART // gcd(stride, APART)


def _fill(shape: tuple[int, ...], strides: tuple[int, ...], tile: tuple[int, ...], itemsize: int) -> str:
    """Return how a tile is filled."""
    row = _row(strides)
    across = range(row + 1, len(shape))
    crowded = any(min(tile[axis], ALONG) > _lines(strides[axis]) for axis in across)
    if crowded and min(shape[row], prod(shape[axis] for axis in across)) >= LONG:
        return "by rows"
    return "by position" if better_by_position(tile, strides, itemsize) else "in order"


def chunk(shape: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return how far a tile goes that has `room` elements in order, as where both sides run together."""
    sizes = [1] * len(shape)
    _grow(sizes, range(len(shape))[::-1], shape, room, room)
    return tuple(sizes)


def _tile(shape: tuple[int, ...], strides: tuple[int, ...], room: int) -> tuple[int, ...]:
    """Return how far a tile of `room` elements goes: some lines on both sides, then whatever fits."""
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
