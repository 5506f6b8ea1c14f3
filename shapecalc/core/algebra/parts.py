"""Parts: how the axes of one shape can be split so that the parts, in another order, merge into another shape.

An axis of the input and one of the output share at most one part. A part ends where one of the two ends, so every
part is cut where one of the shapes has a cut. Of all such splits, those with the fewest parts count. Each part takes
all that is left of an axis on one side: axes that share parts in a circle, as 6,10 and 4,15 do, are not split.
"""

from __future__ import annotations

from itertools import product

from shapecalc.core.answers.regrouping import pieces
from shapecalc.core.sizes.dims import Dim, Shape, names, quotient
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_TRIED = 200_000
"""The most pairs of axes that are looked at."""


class Part(Record):
    """What an input axis and an output axis have in common."""

    source: int
    out: int
    size: Dim

    def __hash__(self) -> int:
        return hash((self.source, self.out))


Parts = frozenset[Part]


class Splits(Record):
    """The splits with the fewest parts; `complete` says that there are no others."""

    all: tuple[Parts, ...]
    complete: bool


class Rest(Record):
    """What is still to be split of an input, and what is still missing in an output."""

    before: Shape
    after: Shape
    parts: Parts

    @property
    def least(self) -> int:
        """The fewest parts that a split which goes on from here can have."""
        return len(self.parts) + max(len(_open(self.before)), len(_open(self.after)))


def splits(before: Shape, after: Shape) -> Splits:
    """Return the ways to split the axes of an input into parts that make up the axes of an output of the same volume.

    >>> [sorted((part.source, part.out, part.size) for part in parts) for parts in splits((6, 4), (3, 8)).all]
    [[(0, 0, 3), (0, 1, 2), (1, 1, 4)]]
    """
    known = Known(before + after)
    waiting = [_with_own_names_matched(Rest(before, after, frozenset()), known)]
    seen, found = set[Parts](), dict[Parts, None]()
    tried = 0
    while waiting and tried < MOST_TRIED:
        rest = waiting.pop()
        tried += len(before) + len(after) + len(_open(rest.before)) * len(_open(rest.after))
        if rest.parts in seen or (found and rest.least > len(next(iter(found)))):
            continue
        seen.add(rest.parts)
        if rest.least == len(rest.parts):
            if found and rest.least < len(next(iter(found))):
                found.clear()
            found[rest.parts] = None
        waiting += sorted(_next(rest, known), key=lambda each: (-each.least, -_last(each, rest)))
    return Splits(tuple(found), not waiting)


def in_order(before: Shape, after: Shape) -> Parts | None:
    """Return the split in which the parts stay in order; None if the axes mix.

    >>> sorted((part.source, part.out, part.size) for part in in_order((2, 6), (4, 3)))
    [(0, 0, 2), (1, 0, 2), (1, 1, 3)]
    """
    rows = pieces(before, after)
    if rows is None:
        return None
    return frozenset([Part(piece.source, out, piece.size) for out, row in enumerate(rows) for piece in row])


def _open(shape: Shape) -> list[int]:
    """Return the axes that are not used up."""
    return [axis for axis, dim in enumerate(shape) if dim != 1]


def _last(rest: Rest, before: Rest) -> int:
    (part,) = rest.parts - before.parts
    return part.source * len(before.after) + part.out


def _common(a: Dim, b: Dim, known: Known) -> Dim | None:
    """Return the one of two dims that divides the other for all sizes; None if neither does."""
    if a == b or known.divides(a, b):
        return a
    return b if known.divides(b, a) else None


def _with_own_names_matched(rest: Rest, known: Known) -> Rest:
    """Return what is left once the axes that share a name with one other axis alone have their part in common."""
    sources, outs = (_axes_of_names(shape) for shape in (rest.before, rest.after))
    for name in [name for name in sources if name in outs]:
        if len(sources[name]) == len(outs[name]) == 1:
            (source,), (out,) = sources[name], outs[name]
            size = _common(rest.before[source], rest.after[out], known)
            if size is not None and size != 1 and name in names((size,)):
                rest = _matched(rest, source, out, size)
    return rest


def _axes_of_names(shape: Shape) -> dict[str, list[int]]:
    """Return for each name the axes that have it."""
    found: dict[str, list[int]] = {}
    for axis, dim in enumerate(shape):
        for name in names((dim,)):
            found.setdefault(name, []).append(axis)
    return found


def _next(rest: Rest, known: Known) -> Iterator[Rest]:
    """Yield what is left after one more part, which is all that is left of an axis on one side."""
    for source, out in product(_open(rest.before), _open(rest.after)):
        size = _common(rest.before[source], rest.after[out], known)
        if size is not None:
            yield _matched(rest, source, out, size)


def _matched(rest: Rest, source: int, out: int, size: Dim) -> Rest:
    """Return what is left once a part of this size is taken from an input axis and put into an output axis."""
    before, after = list(rest.before), list(rest.after)
    before[source], after[out] = quotient(before[source], size), quotient(after[out], size)
    return Rest(tuple(before), tuple(after), rest.parts | {Part(source, out, size)})
