"""Which way of a strided copy was fastest where, as measured.

Source: `tests/benchmarks/ways.py` measures every way on copies that it draws, and prints this table. It names a way
where that was faster on average, and nearly never slower than NumPy. This is what four runs found together, with seeds
1 to 4, in half an hour on a busy machine: NumPy 2.4 on an AMD EPYC of 2024, with 48 KiB of first and 1 MiB of second
cache a core.
"""

from __future__ import annotations

from functools import cache

from shapecalc.core.record import Record

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


class Place(Record):
    """A place in the table."""

    last: str
    row: str
    lines: str
    width: int


def fill_of(place: Place | None) -> str:
    """Return the way that was fastest at a place; where there is none, NumPy's own.

    >>> fill_of(Place("few", "long", "fit", 1)), fill_of(None)
    ('by position', 'in order')
    """
    return rows()[place.last, place.row, place.lines][WIDTHS.index(place.width)] if place else IN_ORDER


@cache
def rows() -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the rows of the table: the ways for each width."""
    made = dict[tuple[str, str, str], tuple[str, ...]]()
    for line in TABLE.split("\n")[2:-1]:
        last, row, lines, *signs = line.split()
        made[last, row, lines] = tuple([SIGNS[sign] for sign in signs])
    return made
