"""The free dims of a model: which they are, at which numbers it is walked, and what a number seen there is in them.

A *lane* is one size of the batch, with sizes for all other free dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, count, islice
from operator import mul

from shapecalc.core.dims import Dim, lowest_terms
from shapecalc.core.problem import misuse
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief, visible
from shapecalc.models.batch_axis import Shapes
from shapecalc.models.file import Declared, Model

Dims = list[int | str] | None
LADDER = (64, 224, 128, 8)
"""The sizes to try for free dims that nobody gives one."""
HELD_BACK = (5, 7, 11, 13, 17)
"""The batch sizes that only check names."""
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
LONGEST_NAME = 40
MOST_SUMS = 12
"""How many sums of dims are tried."""


NONE: FrozenDict = FrozenDict()


@dataclass(frozen=True, slots=True)
class SizeOptions:
    """What the options ask for."""

    batch: str | None = None
    """The batch's name; None to take the first dim of the first input."""
    sizes: tuple[int, ...] = (1, 2, 3)
    """The sizes to judge; the declared one is added."""
    shapes: Mapping[str, tuple[int | str, ...]] = NONE
    """Shapes of inputs by name, from `--set`."""
    where: Mapping[str, int] = NONE
    """Sizes of other free dims by name, from `--where`."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One assignment of numbers to the free dims."""

    batch: int
    sizes: Mapping[str, int]
    """The size of every free dim, the batch among them."""
    judged: bool
    """Whether verdicts look at it; otherwise it only checks names (the size that is held back)."""


@dataclass(frozen=True, slots=True)
class InputChoice:
    """One way to take the inputs."""

    batch: str
    declared: int | None
    """The batch that the file declares as a number; None if it is free, or named by a given shape."""
    inputs: tuple[tuple[int | str | None, ...] | None, ...]
    lanes: tuple[Lane, ...]
    """The judged ones first, by size, then those held back, and last the one with a batch of 0."""
    names: Mapping[str, str] = NONE
    """What the file writes for a name that core cannot read."""
    assumed: Mapping[str, int] = NONE
    """The sizes of other free dims that nobody gave."""


def choices(model: Model, options: SizeOptions) -> Iterator[InputChoice]:
    """Yield the ways to take a model's inputs, the likeliest first: the first that resolves is right.

    Raises `ShapeError` (usage) for an input or a name that the model does not have, and for sizes that cannot be.
    """
    judged = sorted({*options.sizes})
    if len(judged) < 2 or judged[0] < 1:
        raise misuse("the batch is judged at two sizes or more, each of at least 1", argument="batch")
    naming = _Naming(model.inputs, options)
    naming.find_batch(options.batch)
    for shapes in naming.guesses():
        free = [*dict.fromkeys(dim for dims in shapes for dim in dims or () if isinstance(dim, str))]
        others = [name for name in free if name != naming.batch]
        _check_known(options.where, others, naming.batch)
        ladder = LADDER if any(name not in options.where for name in others) else LADDER[:1]
        for size in ladder:
            yield naming.choice(shapes, others, judged, options.where, size, {})
        for sums in _sums(others, options.where):
            yield naming.choice(shapes, others, judged, options.where, LADDER[0], sums)


def _check_known(where: Mapping[str, int], others: Sequence[str], batch: str) -> None:
    for name in where:
        if name not in others:
            known = f"it has {', '.join(others)}" if others else f"it has none beside the batch {batch}"
            raise misuse(f"no free dim is called {visible(brief(name))}", known, argument="where")


def _sums(others: Sequence[str], where: Mapping[str, int]) -> Iterator[dict[str, tuple[str, str]]]:
    """Yield guesses that one free dim is the sum of two others, as a mask's is that of past and new tokens."""
    open_ = [name for name in others if name not in where]
    pairs = ((name, pair) for name in reversed(open_) for pair in combinations([o for o in others if o != name], 2))
    for name, pair in islice(pairs, MOST_SUMS):
        yield {name: pair}


class _Naming:
    """The dims of the inputs with the names that core can read."""

    def __init__(self, inputs: Sequence[Declared], options: SizeOptions) -> None:
        self.inputs, self.batch = inputs, "N"
        self.declared: int | None = None
        self.names: dict[str, str] = {}
        self._readable: dict[str, str] = {}
        self._used = {dim for each in inputs for dim in each.dims or () if isinstance(dim, str)}
        self._used |= {dim for dims in options.shapes.values() for dim in dims if isinstance(dim, str)}
        self.given = _given(inputs, options.shapes)
        self.shapes: list[Dims] = [self._dims(self.given.get(each.name, each.dims)) for each in inputs]

    def _dims(self, dims: Sequence[int | str | None] | None) -> Dims:
        return None if dims is None else [dim if isinstance(dim, int) else self._name(dim) for dim in dims]

    def _name(self, written: str | None) -> str:
        """Return the name of a dim that is written so: itself if core can read it, otherwise d0, d1 ..."""
        if written is None:
            return self.fresh(f"d{number}" for number in count())
        if written.isidentifier() and written.isascii() and len(written) <= LONGEST_NAME:
            return written
        if written not in self._readable:
            self._readable[written] = name = self.fresh(f"d{number}" for number in count())
            self.names[name] = written
        return self._readable[written]

    def fresh(self, wanted: Iterable[str]) -> str:
        """Return the first of these names that no dim has, and keep it."""
        name = next(name for name in wanted if name not in self._used)
        self._used.add(name)
        return name

    def find_batch(self, wanted: str | None) -> None:
        """Find the batch: the dim of that name, or the first dim of the first input, freed if it is a number."""
        wanted = self._readable.get(wanted, wanted) if wanted else None
        if wanted and not wanted.isidentifier():
            raise misuse(f"no dim is called '{visible(brief(wanted))}'", "write N or N,1,2,8", argument="batch")
        if wanted and any(wanted in (dims or ()) for dims in self.shapes):
            self.batch = wanted
            return
        place = next((at for at, dims in enumerate(self.shapes) if dims), None)
        if place is None:
            self.batch = wanted or self.fresh(("N", "B", "batch", *(f"N{number}" for number in range(1000))))
            return
        dims = self.shapes[place] or []
        is_given = self.inputs[place].name in self.given
        first = next((dim for dim in dims if isinstance(dim, str)), dims[0]) if is_given else dims[0]
        if isinstance(first, str) and wanted is None:
            unnamed = first not in self._readable.values() and (self.inputs[place].dims or (0,))[0] is None
            self.batch = self.fresh(("N", "B", "batch", first + "_")) if unnamed and not is_given else first
        else:
            first_choice = [] if wanted is None else [wanted]
            self.batch = self.fresh((*first_choice, "N", "B", "batch", *(f"N{number}" for number in range(1000))))
        if isinstance(first, int):
            self.declared = None if is_given else first
            dims[dims.index(first)] = self.batch
        else:
            self.shapes = [self._renamed(each, {first}) for each in self.shapes]

    def _renamed(self, dims: Dims, names: set[str]) -> Dims:
        return None if dims is None else [self.batch if dim in names else dim for dim in dims]

    def guesses(self) -> Iterator[list[Dims]]:
        """Yield the inputs' shapes: with the batch in axis 0 of all free there, as declared, or of its size."""
        firsts = [(each.name, dims[0]) for each, dims in zip(self.inputs, self.shapes, strict=True) if dims]
        twins: set[str] = set()
        if firsts and firsts[0][1] == self.batch:
            free = {dim for name, dim in firsts[1:] if isinstance(dim, str) and name not in self.given}
            twins = free - {self.batch}
        if twins:
            yield [self._renamed(dims, twins) for dims in self.shapes]
        yield self.shapes
        if self.declared is not None:
            yield [[self.batch, *dims[1:]] if dims and dims[0] == self.declared else dims for dims in self.shapes]

    def choice(
        self,
        shapes: list[Dims],
        others: Sequence[str],
        judged: Sequence[int],
        where: Mapping[str, int],
        size: int,
        sums: Mapping[str, tuple[str, str]],
    ) -> InputChoice:
        """Return a way to take the inputs: these shapes, other free dims of this size, but for those of sums."""
        totals = {**{name: terms for name in others if (terms := self._terms(name, others))}, **sums}
        base = {name: where.get(name, size) for name in others if name not in totals}
        sizes = sorted({*judged, self.declared or 1})
        held_back = [each for each in HELD_BACK if each not in sizes]
        lanes = [self._lane(each, base, totals, judged=True) for each in sizes]
        lanes.append(self._lane(held_back[0], base, totals, judged=False))
        if others:
            for batch, first in zip(held_back[1:3], (0, 3), strict=False):
                moved = {}
                for at, (name, each) in enumerate(base.items(), first):
                    stride = next(step for step in (32, 8, 1) if each % step == 0)  # models halve their images
                    moved[name] = each + stride * PRIMES[at % len(PRIMES)]
                lanes.append(self._lane(batch, moved, totals, judged=False))
        lanes.append(self._lane(0, base, totals, judged=False))
        assumed = {name: lanes[0].sizes[name] for name in others if name not in where}
        inputs = tuple([None if dims is None else tuple(dims) for dims in shapes])
        return InputChoice(self.batch, self.declared, inputs, tuple(lanes), FrozenDict(self.names), FrozenDict(assumed))

    def _terms(self, name: str, others: Sequence[str]) -> tuple[str, ...]:
        """Return the terms of a dim that the file writes as a sum of others and numbers; none if it is no such sum."""
        terms = tuple([term.strip() for term in self.names.get(name, "").split("+")])
        readable = [term.isdecimal() or (term in others and term != name) for term in terms]
        return terms if len(terms) > 1 and all(readable) else ()

    def _lane(self, batch: int, base: Mapping[str, int], totals: Mapping[str, Iterable[str]], *, judged: bool) -> Lane:
        sizes = {self.batch: batch, **base}
        for name, terms in totals.items():
            sizes[name] = sum(int(term) if term.isdecimal() else base.get(term, 0) for term in terms)
        return Lane(batch, FrozenDict(sizes), judged)


def _given(inputs: Sequence[Declared], shapes: Mapping[str, tuple[int | str, ...]]) -> dict[str, tuple[int | str, ...]]:
    """Return the shapes given for inputs; raise `ShapeError` (usage) for one that does not fit the model."""
    ranks = {each.name: None if each.dims is None else len(each.dims) for each in inputs}
    for name, dims in shapes.items():
        if name not in ranks:
            names = ", ".join(visible(brief(each)) for each in list(ranks)[:8])
            raise misuse(f"no input is called {visible(brief(name))}", f"it has {names}", argument="set")
        if ranks[name] not in (None, len(dims)):
            raise misuse(f"input {visible(brief(name))} has {ranks[name]} dims, not {len(dims)}", argument="set")
    return dict(shapes)


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
                terms = zip([powers for powers, _ in chosen], factors, strict=True)
                last = sorted(terms, key=lambda term: not term[0])  # the number stands last
                return Sum(tuple([lowest_terms(factor, 1, dict(powers)) for powers, factor in last]))
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
