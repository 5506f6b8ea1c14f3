"""Naming: what a number that was seen in several lanes is in terms of the free dims, or that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from operator import mul

from shapecalc.core.dims import Dim, lowest_terms
from shapecalc.models.lanes import Lane, Shapes

Powers = tuple[tuple[str, int], ...]
Term = tuple[Powers, tuple[int | Fraction, ...]]
"""A product of names, and what it is in each lane."""
MOST_NAMES = 8
"""Of how many names products are tried."""
LARGEST = 10**6
"""The largest factor of a term in a sum."""


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of dims, as in `19200*N+1` and `S+past`. It has two terms or more, a number stands last."""

    terms: tuple[Dim, ...]

    def __str__(self) -> str:
        """Return the text.

        >>> from shapecalc.core.dims import named_dim
        >>> print(Sum((named_dim("N"), -1)))
        N-1
        """
        return "+".join(map(str, self.terms)).replace("+-", "-")


NamedDim = Dim | Sum | None
"""A number, a monomial, a sum; None where nobody knows."""
NamedShape = tuple[NamedDim, ...]


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
        self._systems: dict[tuple[int, ...], list[tuple[tuple[Term, ...], System]]] = {}

    def shape(self, shapes: Shapes) -> NamedShape | None:
        """Return the shape of a tensor with names; None if its rank is not known."""
        found = self._shapes.get(shapes)
        if found is None:
            found = self._shapes[shapes] = self._shape([shapes[place] for place in self._places])
        return found

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
        observed = tuple([place for place, size in enumerate(sizes) if size is not None])
        numbers = [sizes[place] or 0 for place in observed]
        if len({*numbers}) == 1:
            return numbers[0]
        if len(observed) < 3:
            return None
        for powers, values in self._singles:
            first, unit = numbers[0], values[observed[0]]
            if all(first * values[place] == number * unit for place, number in zip(observed, numbers, strict=True)):
                factor = Fraction(first) / unit
                return lowest_terms(factor.numerator, factor.denominator, dict(powers))
        return self._sum(observed, numbers)

    def _sum(self, observed: tuple[int, ...], numbers: Sequence[int]) -> NamedDim:
        """Return the sum of two or three terms that a number is in all lanes, at least one of which checks it."""
        if observed not in self._systems:
            self._systems[observed] = list(self._systems_in(observed))
        for chosen, system in self._systems[observed]:
            factors = system.solution(numbers)
            if factors is not None and 0 not in factors and max(map(abs, factors)) < LARGEST:
                return Sum(tuple(_ordered(factors, [powers for powers, _ in chosen])))
        return None

    def _systems_in(self, observed: tuple[int, ...]) -> Iterator[tuple[tuple[Term, ...], System]]:
        """Yield the sums to try, with the equations for their factors: names and numbers first, products then."""
        simple = [*self._names, self._one]
        for terms, many in ((simple, 2), ([*simple, *self._products], 2), (simple, 3)):
            for chosen in combinations(terms, many) if len(observed) > many else ():
                system = system_of([[int(values[place]) for _, values in chosen] for place in observed])
                if system is not None:
                    yield chosen, system

    def _term(self, powers: Powers) -> Term:
        """Return a product of names with what it is in each lane; whole numbers are ints, which are faster."""
        values: list[int | Fraction] = []
        for sizes in self._lanes:
            value = Fraction(1)
            for name, power in powers:
                value *= Fraction(sizes[name]) ** power
            values.append(int(value) if value.denominator == 1 else value)
        return powers, tuple(values)


def _powers(names: Sequence[str]) -> Powers:
    return tuple(sorted((name, names.count(name)) for name in {*names}))


def _ordered(factors: Sequence[int], powers: Sequence[Powers]) -> Iterator[Dim]:
    """Yield the terms of a sum, the number last."""
    pairs = sorted(zip(powers, factors, strict=True), key=lambda pair: not pair[0])
    for names, factor in pairs:
        yield lowest_terms(factor, 1, dict(names))


@dataclass(frozen=True, slots=True)
class System:
    """Linear equations, a row for each lane, that were solved once for all right sides."""

    rows: tuple[tuple[int, ...], ...]
    lanes: tuple[int, ...]
    """The rows that settle the unknowns; the others check them."""
    inverse: tuple[tuple[int, ...], ...]
    """The inverse of these rows, times `scale`."""
    scale: int

    def solution(self, numbers: Sequence[int]) -> list[int] | None:
        """Return the whole numbers that are right in all rows; None if there are none.

        >>> system_of([[1, 1], [2, 1], [3, 1]]).solution([5, 7, 9])
        [2, 3]
        """
        sides = [numbers[lane] for lane in self.lanes]
        found = []
        for row in self.inverse:
            factor, left = divmod(sum(map(mul, row, sides)), self.scale)
            if left:
                return None
            found.append(factor)
        for row, number in zip(self.rows, numbers, strict=True):
            if sum(map(mul, row, found)) != number:
                return None
        return found


def system_of(rows: Sequence[Sequence[int]]) -> System | None:
    """Return the equations with these rows, of two unknowns or three; None if the rows do not settle them.

    The inverse is that of Cramer's rule: cofactors over the determinant.
    """
    many = len(rows[0])
    for lanes in combinations(range(len(rows)), many):
        square = [rows[lane] for lane in lanes]
        cofactors = tuple([tuple([_cofactor(square, row, column) for row in range(many)]) for column in range(many)])
        scale = sum(map(mul, cofactors[0], [row[0] for row in square]))
        if scale:
            return System(tuple(map(tuple, rows)), lanes, cofactors, scale)
    return None


def _cofactor(square: Sequence[Sequence[int]], row: int, column: int) -> int:
    """Return the cofactor of a place in a matrix of two or three rows."""
    left = [[each for at, each in enumerate(line) if at != column] for at, line in enumerate(square) if at != row]
    minor = left[0][0] if len(left) == 1 else left[0][0] * left[1][1] - left[0][1] * left[1][0]
    return minor if (row + column) % 2 == 0 else -minor
