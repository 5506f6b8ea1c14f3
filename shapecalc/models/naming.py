"""Naming: what a number that was seen in several lanes is in terms of the free dims, or that nobody knows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement

from shapecalc.core.sizes.dims import Dim, lowest_terms
from shapecalc.models.named import NamedDim, NamedShape, Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.models.walk import Lane, Shapes

    Powers = tuple[tuple[str, int], ...]
    Term = tuple[Powers, tuple[int | Fraction, ...]]
    """A product of names, and what it is in each lane."""

MOST_NAMES = 8
"""Of how many names products are tried."""
LARGEST = 10**6
"""The largest factor of a term in a sum."""


class Namer:
    """Names numbers by the lanes that they were seen in; the lane of an empty batch does not count."""

    def __init__(self, lanes: Sequence[Lane], batch: str) -> None:
        """Make the products of names that a dim may be."""
        self._places = [place for place, lane in enumerate(lanes) if lane.batch]
        self._lanes = [lanes[place].sizes for place in self._places]
        names = [batch, *[name for name in lanes[0].sizes if name != batch]][:MOST_NAMES]
        self._one: Term = ((), (1,) * len(self._lanes))
        self._names = [self._term(((name, 1),)) for name in names]
        self._products = [self._term(_powers(pair)) for pair in combinations_with_replacement(names, 2)]
        triples = [self._term(_powers(three)) for three in combinations_with_replacement(names, 3)]
        over = [self._term(tuple(sorted(((batch, -1), (name, 1))))) for name in names if name != batch]
        shares = [
            self._term(tuple(sorted(((batch, -1), *each[0])))) for each in self._products if batch not in dict(each[0])
        ]
        self._singles = [*self._names, *self._products, *triples, *over, *shares, self._term(((batch, -1),))]
        self._known: dict[tuple[int | None, ...], NamedDim] = {}
        self._shapes: dict[Shapes, NamedShape | None] = {}

    def shape(self, shapes: Shapes) -> NamedShape | None:
        """Return the shape of a tensor with names; None if its rank is not known."""
        if shapes not in self._shapes:
            self._shapes[shapes] = self._shape([shapes[place] for place in self._places])
        return self._shapes[shapes]

    def _shape(self, shapes: Sequence[tuple[int, ...] | None]) -> NamedShape | None:
        ranks = {len(shape) for shape in shapes if shape is not None}
        if len(ranks) != 1:
            return None
        unknown = (None,) * ranks.pop()
        return tuple([self.dim(sizes) for sizes in zip(*[unknown if s is None else s for s in shapes], strict=True)])

    def dim(self, sizes: tuple[int | None, ...]) -> NamedDim:
        """Return what a number is that was `sizes` in the lanes with a batch; None if nothing fits in all of them.

        A number that was seen in one lane alone stays a number.
        """
        first = sizes[0]
        if first is not None and sizes.count(first) == len(sizes):
            return first
        if sizes not in self._known:
            self._known[sizes] = self._named(sizes)
        return self._known[sizes]

    def _named(self, sizes: tuple[int | None, ...]) -> NamedDim:
        seen = [place for place, size in enumerate(sizes) if size is not None]
        numbers = [Fraction(sizes[place] or 0) for place in seen]
        if len({*numbers}) == 1:
            return int(numbers[0])
        if len(seen) < 3:
            return None
        for powers, values in self._singles:
            factor = numbers[0] / values[seen[0]]
            if all(factor * values[place] == number for place, number in zip(seen, numbers, strict=True)):
                return lowest_terms(factor.numerator, factor.denominator, dict(powers))
        return self._sum(seen, numbers)

    def _sum(self, seen: Sequence[int], numbers: Sequence[Fraction]) -> NamedDim:
        """Return the sum of two or three terms that a number is in all lanes, at least one of which checks it."""
        terms = [*self._names, self._one, *self._products]
        for many in (2, 3):
            if len(seen) <= many:
                return None
            for chosen in combinations(terms if many == 2 else [*self._names, self._one], many):
                factors = _factors([[Fraction(values[place]) for _, values in chosen] for place in seen], numbers)
                if factors is not None and all(
                    each and each.denominator == 1 and abs(each) < LARGEST for each in factors
                ):
                    return Sum(tuple(_ordered(factors, [powers for powers, _ in chosen])))
        return None

    def _term(self, powers: Powers) -> Term:
        """Return a product of names with what it is in each lane."""
        values = []
        for sizes in self._lanes:
            value = Fraction(1)
            for name, power in powers:
                value *= Fraction(sizes[name]) ** power
            values.append(value)
        return powers, tuple(values)


def _powers(names: Sequence[str]) -> Powers:
    return tuple(sorted((name, names.count(name)) for name in {*names}))


def _ordered(factors: Sequence[Fraction], powers: Sequence[Powers]) -> Iterator[Dim]:
    """Yield the terms of a sum, the number last."""
    pairs = sorted(zip(powers, factors, strict=True), key=lambda pair: not pair[0])
    for names, factor in pairs:
        yield lowest_terms(int(factor), 1, dict(names))


def _factors(rows: Sequence[Sequence[Fraction]], numbers: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the one solution of linear equations that is right in all of them; None if there is none.

    >>> _factors([[1, 1], [2, 1], [3, 1]], [Fraction(5), Fraction(7), Fraction(9)])
    [Fraction(2, 1), Fraction(3, 1)]
    """
    left = [[*map(Fraction, row), number] for row, number in zip(rows, numbers, strict=True)]
    unknowns = len(rows[0])
    for column in range(unknowns):
        pivot = next((at for at in range(column, len(left)) if left[at][column]), None)
        if pivot is None:
            return None
        left[column], left[pivot] = left[pivot], left[column]
        left[column] = [each / left[column][column] for each in left[column]]
        for at, row in enumerate(left):
            if at != column and row[column]:
                left[at] = [a - row[column] * b for a, b in zip(row, left[column], strict=True)]
    return None if any(row[-1] for row in left[unknowns:]) else [row[-1] for row in left[:unknowns]]
