"""Marks: where the samples of the batch lie in a tensor, at one size of the batch.

A tensor that the batch does not reach has no mark. In any other either one axis holds the samples apart, or they are
lost from sight. Axes of size 1 hold nothing apart, so marks are for batches of 2 and more.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    Sizes = Sequence[int]

LONGEST_AXIS = 1 << 20
"""The longest axis whose positions are looked at one by one."""


class Apart(Record):
    """Position `i` of an axis holds nothing but sample `i // inner % batch`."""

    axis: int
    inner: int

    def __eq__(self, other: object) -> bool:
        return type(other) is Apart and self.axis == other.axis and self.inner == other.inner

    def __hash__(self) -> int:
        return hash((self.axis, self.inner))


class Lost(Record):
    """The batch reaches the tensor, and no axis is known to hold the samples apart."""

    why: str
    certain: bool = False
    """Whether it is known that none does."""


Mark = Apart | Lost | None
"""None where the batch does not reach."""


def place(mark: Mark, shape: Sizes, batch: int) -> tuple[int, str] | None:
    """Return the axis that carries the batch, and whether as a whole, as its slow part or its fast part.

    None if none does, or if the batch lies between two parts of an axis.

    >>> place(Apart(0, 4), (12, 5), 3), place(Apart(1, 1), (5, 12), 3), place(Apart(1, 2), (5, 12), 3)
    ((0, 'major'), (1, 'minor'), None)
    """
    if not isinstance(mark, Apart):
        return None
    whole = batch * mark.inner
    if shape[mark.axis] == whole:
        return mark.axis, "whole" if mark.inner == 1 else "major"
    return (mark.axis, "minor") if mark.inner == 1 else None


def regrouped(mark: Apart, before: Sizes, after: Sizes, batch: int) -> Mark:
    """Return the mark once the elements, in their order, have another shape.

    Both shapes are read as if their sizes of 0 were 1: an empty tensor still has its axes.

    >>> regrouped(Apart(0, 1), (3, 4, 5), (1, 60), 3), regrouped(Apart(0, 1), (3, 8), (8, 3), 3)
    (Apart(axis=1, inner=20), Lost(why='no axis separates the samples any more', certain=True))
    """
    kept = mark.axis + 1
    if before[:kept] == after[:kept]:
        return mark
    unit = mark.inner * _volume(before[kept:])
    below = 1
    for axis in range(len(after) - 1, -1, -1):
        above = below * (after[axis] or 1)
        if unit % below == 0 and above % (unit * batch) == 0:
            return Apart(axis, unit // below)
        below = above
    return Lost("no axis separates the samples any more", certain=True)


def _volume(shape: Sizes) -> int:
    return prod([size or 1 for size in shape])


def together(marks: Iterable[Mark]) -> Mark:
    """Return the mark of a tensor each of whose elements is made of those at the same place in several others."""
    found: Mark = None
    for mark in marks:
        if isinstance(mark, Lost):
            return mark
        if mark is not None and found not in (None, mark):
            return Lost("samples that lie on different axes meet")
        found = mark or found
    return found


def positions(mark: Apart, size: int, batch: int) -> np.ndarray:
    """Return the sample that each position of the marked axis holds.

    >>> positions(Apart(0, 2), 8, 2)
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """
    import numpy as np

    return np.arange(size) // mark.inner % batch


def mark_of(axis: int, samples: np.ndarray, batch: int) -> Mark:
    """Return the mark of an axis whose positions hold these samples; -1 stands where one holds none.

    >>> import numpy as np
    >>> mark_of(0, np.array([0, 1, -1, -1]), 2), mark_of(0, np.array([1, 0]), 2)
    (Apart(axis=0, inner=1), Lost(why='the samples change places', certain=False))
    """
    size = len(samples)
    for inner in range(1, size // batch + 1):
        if size % (inner * batch) == 0:
            agree = (positions(Apart(axis, inner), size, batch) == samples) | (samples < 0)
            if agree.all():
                return Apart(axis, inner)
    return Lost("the samples change places")
