"""Memory as a tape: cells in a row, and the bars between them where an axis is cut.

The cells stand in one line, or in several if there are many. A bar is as tall as the axis that it cuts is far outside.
Of a large tensor the first cells are shown, and dots stand for the others.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul

from shapecalc.core.record import Record
from shapecalc.view.film.frames import Sprite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Shape = tuple[int, ...]

GAP = 1
"""Character cells between two cells of the tape, where the bars stand."""
DOTS = "…"
BARS = "│┃║"
"""The bars of an axis that has a row of its own, and of those further outside that share the highest row."""
WIDEST_GAP = 3
FULL = 0.7
"""The part of a line that blocks of an axis fill at least; a line of larger ones would waste too much room."""
MOST_TALL = 5
"""The most rows of a line."""


class Tape(Record):
    """The place of every cell and bar of a tensor that lies in memory in C order."""

    shape: Shape
    pitch: int
    """Character cells from one cell to the next."""
    per_line: int
    """How many cells a line has."""
    tall: int
    """How many rows a line has: bars stand in all of them, numbers in the lowest."""
    shown: int
    """How many cells are shown; the others are left out."""
    top: int

    @property
    def count(self) -> int:
        """How many elements there are."""
        return prod(self.shape)

    @property
    def bottom(self) -> int:
        """The row after the last."""
        return self.top + self.tall * max(1, -(-self.shown // self.per_line))

    def place(self, cell: int) -> tuple[int, int]:
        """Return where a cell's number begins; of a cell that is not shown, where the dots are."""
        line, column = divmod(cell, self.per_line)
        if cell >= self.shown:
            line, column = (self.shown - 1) // self.per_line, (self.shown - 1) % self.per_line + 1
        return column * self.pitch + 1, self.top + line * self.tall + self.tall - 1

    def bar(self, position: int, layer: int) -> Sprite:
        """Return the bar before a cell, or after the last, of the axis that is the `layer`th from the innermost."""
        line = max(0, position - (position == self.shown)) // self.per_line
        row = min(layer, self.tall - 1)
        x = (position - line * self.per_line) * self.pitch
        y = self.top + line * self.tall + self.tall - 1 - row
        return Sprite(x, y, BARS[min(layer - row, len(BARS) - 1)], "quiet")


def tape_of(shape: Shape, wide: int, width: int, top: int, rows: int, layers: int) -> Tape:
    """Return a tensor's tape in a room of so many rows, from the row `top` on; the longest number is `wide`.

    Few cells stand further apart. A line has whole blocks of an axis, as large as they fit. It is as tall as bars of
    so many `layers` need, unless more cells are shown if it is not.

    >>> tape = tape_of((2, 3, 4), 2, 80, 0, 4, 2)
    >>> tape.per_line, tape.pitch, tape.tall, tape.shown, tape.place(23)
    (24, 3, 2, 24, (70, 1))
    """
    count, steps = prod(shape), cuts(shape)
    pitch = max(wide + GAP, min(wide + WIDEST_GAP, (width - 2) // max(1, count)))
    room = max(1, (width - 2) // pitch)
    block = max((step for step in steps if room // step * step >= FULL * room), default=1)
    per_line = max(1, min(count, room // block * block))
    lines = max(1, -(-count // per_line))
    tall = max(1, min(layers, MOST_TALL, rows // lines))
    return Tape(shape, pitch, per_line, tall, min(count, per_line * max(1, rows // tall)), top)


def strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how far apart in memory two neighbours along each axis are, in elements.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple([*accumulate(reversed(shape[1:]), mul, initial=1)][::-1]) if shape else ()


def cuts(shape: Shape) -> list[int]:
    """Return after how many elements each axis is cut, from the innermost axis that has blocks outwards.

    >>> cuts((2, 3, 4)), cuts((6,)), cuts((2, 1, 3))
    ([4, 12], [], [3])
    """
    found = [stride for size, stride in zip(shape, strides(shape), strict=True) if size > 1 and stride > 1]
    return found[::-1]


def positions(shape: Shape, layer: int, shown: int) -> list[int]:
    """Return before which cells the bars of an axis stand; beyond the outermost axis, only at both ends.

    >>> positions((2, 3, 4), 0, 24), positions((2, 3, 4), 1, 24), positions((2, 3, 4), 2, 24)
    ([0, 4, 8, 12, 16, 20, 24], [0, 12, 24], [0, 24])
    """
    steps, count = cuts(shape), prod(shape)
    step = steps[layer] if layer < len(steps) else max(1, count)
    return [*range(0, min(shown, count) + 1, step)]


def partners(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return from where to where each bar moves, as pairs: those at places of both stay, others take the next way.

    Where there are too few, one bar becomes several; where there are too many, several become one.

    >>> partners([0, 4, 8, 12], [0, 6, 12]), partners([0, 12], [0, 6, 12])
    ([(0, 0), (12, 12), (4, 6), (8, 6)], [(0, 0), (12, 12), (0, 6)])
    """
    leaving, coming = [place for place in old if place not in new], [place for place in new if place not in old]
    sources = [_nearest(old, place) for place in coming]
    if leaving:
        sources = [leaving[at * len(leaving) // len(coming)] for at in range(len(coming))]
    idle = [place for place in leaving if place not in sources]
    moves = [*zip(sources, coming, strict=True), *[(place, _nearest(coming or new, place)) for place in idle]]
    return [(place, place) for place in old if place in new] + moves


def _nearest(places: Sequence[int], place: int) -> int:
    return min(places, key=lambda other: abs(other - place))
