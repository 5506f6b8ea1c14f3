"""Two rows of sizes with one product, cut into parts that line up, or that mix between two cuts that do."""

from __future__ import annotations

from itertools import accumulate
from math import gcd, lcm
from operator import mul

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Parts = tuple[tuple[int, int], ...]
    """Parts of sizes: the place of each size in its row, and how much of it."""


class Segment(Record):
    """Parts of two rows that hold the same positions. One part of each if their cuts line up."""

    ours: Parts
    theirs: Parts


def aligned(ours: Sequence[int], theirs: Sequence[int]) -> list[Segment]:
    """Return the segments of two rows of sizes above 1, the outermost first; the rows have the same product.

    >>> [(each.ours, each.theirs) for each in aligned((6, 4), (2, 12))]
    [(((0, 2),), ((0, 2),)), (((0, 3),), ((1, 3),)), (((1, 4),), ((1, 4),))]
    >>> [(each.ours, each.theirs) for each in aligned((2, 3), (3, 2))]
    [(((0, 2), (1, 3)), ((0, 3), (1, 2)))]
    """
    rows = _Row(ours), _Row(theirs)
    made = []
    while rows[0].left:
        common = gcd(rows[0].left[-1], rows[1].left[-1])
        size = common if common != 1 else _next_cut(*rows)
        one, other = rows
        made.append(Segment(one.taken(size), other.taken(size)))
    return made


class _Row:
    """What is left of a row of sizes, the outermost last."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.left = list(reversed(sizes))
        self.count = len(sizes)

    def cuts(self) -> list[int]:
        """Return the products of the first sizes that are left, of one size, of two, and so on."""
        return list(accumulate(reversed(self.left), mul))

    def taken(self, size: int) -> Parts:
        """Take so many positions: whole sizes, and the outer part of the next."""

        def parts() -> Iterator[tuple[int, int]]:
            wanted = size
            while wanted != 1:
                part = min(wanted, self.left[-1])
                yield self.count - len(self.left), part
                wanted //= part
                self.left[-1] //= part
                if self.left[-1] == 1:
                    self.left.pop()

        return tuple(parts())


def _next_cut(one: _Row, other: _Row) -> int:
    """Return the smallest number of positions after which both rows can be cut."""
    have, want = one.cuts(), other.cuts()
    found = [lcm(a, b) for a in have for b in want]
    return min(cut for cut in found if _fits(cut, have) and _fits(cut, want))


def _fits(cut: int, cuts: Sequence[int]) -> bool:
    """Say whether a row can be cut after so many positions: between two sizes or inside one."""
    before, after = max((each for each in cuts if each <= cut), default=1), [each for each in cuts if each >= cut]
    return bool(after) and cut % before == 0 and after[0] % cut == 0
