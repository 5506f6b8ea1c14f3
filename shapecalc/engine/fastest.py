"""Which way of a strided copy was fastest where, as measured.

Source: `tests/benchmarks/ways.py` measures every way on copies that it draws, and prints this table. It names a way
where that was faster on average, and nearly never slower than NumPy. What runs of `tests/benchmarks/engine.py` then
showed to fall short is NumPy's own again. Measured with NumPy 2.4 on an AMD EPYC of 2024, with 48 KiB of first and
1 MiB of second cache a core.
"""

from __future__ import annotations

from functools import cache

from shapecalc.core.sizes.record import Record

IN_ORDER, TILES, BY_POSITION, BY_ROWS = "in order", "tiles", "by position", "by rows"
"""NumPy's own copy; the same tile by tile; each tile position by position of its last axis; each by way of scratch."""
WIDTHS = (1, 2, 4, 8, 16)
"""The columns: the bytes of an element, at most. NumPy moves wider ones as fast as the memory."""
LASTS = {"few": 4, "some": 64}
"""The most positions of the target's last axis; `more` are more."""
REACHES = {"32K": 1 << 15, "256K": 1 << 18, "2M": 1 << 21}
"""The most bytes of lines that are read between two reads of one line of the source; `more` are more."""
NEAR = 1 << 21
"""What has no more bytes is always within the first reach: half of it lies in a second cache."""
SHORT = 4
"""A row of fewer positions is read again too few times to matter, as are lines of which several elements are taken."""
CROWD = 2
"""A tile's axis crowds if it has more than so many times the lines that fit into their sets of the first cache."""
LONG = 32
"""The positions that an axis has at least which makes a good inner loop, or a row that is worth a copy of its own."""
TABLE = """
last reach         1  2  4  8  16
few  32K           p  p  p  p  .
few  32K   crowds  .  .  .  .  .
few  256K          p  p  p  p  .
few  256K  crowds  p  p  p  .  p
few  2M            p  p  p  p  .
few  2M    crowds  .  p  p  p  .
few  more          p  p  p  p  t
few  more  crowds  p  p  p  p  t
some 32K           .  .  .  .  .
some 32K   crowds  r  r  .  .  .
some 256K          .  .  .  .  .
some 256K  crowds  t  .  .  .  .
some 2M            t  t  t  .  .
some 2M    crowds  t  t  t  .  .
some more          t  t  t  t  t
some more  crowds  t  t  t  t  t
more 32K           .  .  .  .  .
more 32K   crowds  r  r  r  .  .
more 256K          .  .  .  .  .
more 256K  crowds  r  .  t  t  .
more 2M            t  t  .  t  .
more 2M    crowds  t  r  r  t  t
more more          t  t  t  t  t
more more  crowds  t  t  t  r  t
"""
SIGNS = {".": IN_ORDER, "t": TILES, "p": BY_POSITION, "r": BY_ROWS}


class Place(Record):
    """A place in the table."""

    last: str
    reach: str
    crowds: bool
    width: int


def fill_of(place: Place | None) -> str:
    """Return the way that was fastest at a place; where there is none, NumPy's own.

    >>> fill_of(Place("few", "32K", False, 1)), fill_of(None)
    ('by position', 'in order')
    """
    return rows()[place.last, place.reach, place.crowds][WIDTHS.index(place.width)] if place else IN_ORDER


@cache
def rows() -> dict[tuple[str, str, bool], tuple[str, ...]]:
    """Return the rows of the table: the ways for each width."""
    made = dict[tuple[str, str, bool], tuple[str, ...]]()
    for line in TABLE.split("\n")[2:-1]:
        (last, reach, *crowds), signs = line[:18].split(), line[18:].split()
        made[last, reach, bool(crowds)] = tuple([SIGNS[sign] for sign in signs])
    return made
