"""The free dims of a model: which they are, at which numbers it is walked, and what a number seen there is in them.

A *lane* is one size of the batch, with sizes for all other free dims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, count, cycle, islice
from itertools import product as every_choice
from operator import ne

import numpy as np
from numpy.linalg import matrix_rank

from shapecalc.core.answers import NONE
from shapecalc.core.conditions import Condition, holds
from shapecalc.core.dims import Dim, lowest_terms
from shapecalc.core.problem import misuse
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import brief, visible
from shapecalc.models.batch_axis import Shapes
from shapecalc.models.file import Declared, Model

Dims = list[int | str] | None
Alike = tuple[object, ...]
"""What inputs have in common that are freed alike: the declared shape; one of a single dim is like no other."""
LADDER = (64, 224, 128, 8)
"""The sizes to try for free dims that nobody gives one, once those are tried that the file declares."""
BATCHES = ("N", "B", "batch")
"""What a batch is called that has no name."""
NO_BATCH = "none"
"""What is written for the name of the batch where there is none; its name is empty then."""
HELD_BACK = (5, 7, 11, 13, 17)
"""The batch sizes that only check names."""
MOVES = ((0, ()), (2, (-2, 8, 1)), (4, (32, 8, 1)), (7, (1,)))
"""Where the primes begin by which other free dims are moved, and steps, of which the first shorter one that fits in.

A step of -2 is half of the size, and without any it is the size. Models halve images; the last shows where they round.
"""
ALONE = (0,)
"""In place of steps: the size is the prime itself."""
UNSEEN = (*[(first, (1,)) for first in (8, 1, 9, 3, 10, 5, 11)], (1, ALONE), (2, ALONE))
"""The same for the sizes that tell every node: most are odd, and two are small."""
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
LONGEST_NAME = 40
MOST_SUMS = 12
"""How many sums of dims are tried, and how many pairs of equal ones."""
MOST_GUESSES, MOST_CHOICES = 16, 512
"""How many ways to free inputs are tried, and among how many these are the likeliest."""
FARTHEST_SIZE = 4096
"""How far above a size one is looked for that satisfies conditions."""


class SizeOptions(Record):
    """What the options ask for."""

    batch: str | None = None
    """The batch's name; None to take the first dim of the first input."""
    sizes: tuple[int, ...] = (1, 2, 3)
    """The sizes to judge; the declared one is added."""
    shapes: Mapping[str, tuple[int | str, ...]] = NONE
    """Shapes of inputs by name, from `--set`."""
    where: Mapping[str, int] = NONE
    """Sizes of other free dims by name, from `--where`."""


class Lane(Record):
    """One assignment of numbers to the free dims."""

    batch: int
    sizes: Mapping[str, int]
    """The size of every free dim, the batch among them."""
    judged: bool
    """Whether verdicts look at it; otherwise it only checks names (the size that is held back)."""
    moved: bool = False
    """Whether other free dims have other sizes than the model is judged at, and conditions hold that are known."""


class InputChoice(Record):
    """One way to take the inputs."""

    batch: str
    declared: int | None
    """The batch that the file declares as a number; None if it is free, or named by a given shape."""
    inputs: tuple[tuple[int | str | None, ...] | None, ...]
    lanes: tuple[Lane, ...]
    """The judged ones first, by size, then those held back, and last the one with a batch of 0."""
    names: Mapping[str, str] = NONE
    """What the file writes for a name that core cannot read, and what a dim was taken as."""
    assumed: Mapping[str, int] = NONE
    """The sizes of other free dims that nobody gave."""
    doubtful: int = 0
    """How many inputs have the batch in place of one number, which may be for all samples."""
    unseen: tuple[Lane, ...] = ()
    """More lanes, in which the model is walked if every node is told."""


class Guess:
    """One way to take the inputs' shapes, with sizes for their free dims."""

    def __init__(self, naming: _Naming, shapes: list[Dims], doubtful: int, judged: Sequence[int]) -> None:
        """Find the free dims; raise `ShapeError` (usage) if a size is given for one that there is not."""
        self._naming, self._shapes, self._doubtful, self._judged = naming, shapes, doubtful, judged
        free = dict.fromkeys(dim for dims in shapes for dim in dims or () if isinstance(dim, str))
        self._others = [name for name in free if name != naming.batch]
        _check_known(naming.where, self._others, naming.batch)
        self.open = [name for name in self._others if name not in naming.where]
        """The free dims but for the batch that nobody gave a size."""

    def choice(
        self, conditions: Sequence[Condition] = (), size: int | None = None, sums: Mapping[str, Sequence[str]] = NONE
    ) -> InputChoice:
        """Return the inputs with sizes that satisfy conditions, with this one in place of what the file declares."""
        naming, others = self._naming, self._others
        totals = {**{name: terms for name in others if (terms := naming.terms(name, others))}, **sums}
        sizes = {**dict.fromkeys(others, size or LADDER[0]), **({} if size else naming.numbers), **naming.where}
        home = {naming.batch: naming.declared or 1}
        base = {name: sizes[name] for name in others if name not in totals}
        base = _fitting(base, conditions, [name for name in self.open if name in base], home)
        judged = sorted({*self._judged, naming.declared or 1})
        held_back = (each for each in chain(HELD_BACK, count(judged[-1] + 1)) if each not in judged)
        lanes = [naming.lane(each, base, totals, judged=True) for each in judged]
        lanes.append(naming.lane(next(held_back), base, totals))
        moved = []
        for move in (*MOVES, *UNSEEN) if others else ():
            batch, sizes = next(held_back), _moved(base, *move)
            fitting = _fitting(sizes, conditions, [*sizes], {naming.batch: batch})
            if any(fitting[name] == base[name] for name in base) and move is MOVES[-1]:
                moved.append(naming.lane(batch, sizes, totals))  # some can have no other size
            else:
                moved.append(naming.lane(batch, fitting, totals, moved=fitting != base))
        lanes += moved[: len(MOVES)]
        if naming.batch:
            lanes.append(naming.lane(0, base, totals))
        return InputChoice(
            naming.batch,
            naming.declared,
            tuple([None if dims is None else tuple(dims) for dims in self._shapes]),
            tuple(lanes),
            FrozenDict({**naming.names, **{name: " + ".join(terms) for name, terms in sums.items()}}),
            FrozenDict({name: lanes[0].sizes[name] for name in self.open}),
            self._doubtful,
            tuple(moved[len(MOVES) :]),
        )

    def other_sizes(self) -> Iterator[InputChoice]:
        """Yield the inputs with other sizes for the free dims, then with sums of them."""
        for size in LADDER[not self._naming.numbers :] if self.open else ():
            yield self.choice((), size)
        yield from self.related()

    def related(self, conditions: Sequence[Condition] = ()) -> Iterator[InputChoice]:
        """Yield the inputs with all free dims alike, then two, then one the sum of two, as a mask's of past and new."""
        names = self.open
        alike: list[Mapping[str, Sequence[str]]] = [dict.fromkeys(names[1:], names[:1])] if names[2:] else []
        pairs: Iterator[Mapping[str, Sequence[str]]] = ({second: (first,)} for first, second in combinations(names, 2))
        sums = ({name: pair} for name in reversed(names) for pair in combinations([o for o in names if o != name], 2))
        for each in chain(alike, islice(pairs, MOST_SUMS), islice(sums, MOST_SUMS)):
            yield self.choice(conditions, sums=each)


def guesses(model: Model, options: SizeOptions) -> Iterator[Guess]:
    """Yield the ways to take a model's inputs, the likeliest first.

    Raises `ShapeError` (usage) for an input or a name that the model does not have, and for sizes that cannot be.
    """
    judged = sorted({*options.sizes})
    if len(judged) < 2 or judged[0] < 1:
        raise misuse("the batch is judged at two sizes or more, each of at least 1", "write N,1,8", argument="batch")
    naming = _Naming(model.inputs, options)
    naming.find_batch(options.batch)
    for shapes, doubtful in naming.guesses():
        yield Guess(naming, shapes, doubtful, judged)


def _fitting(
    sizes: Mapping[str, int], conditions: Sequence[Condition], free: Sequence[str], batch: Mapping[str, int]
) -> dict[str, int]:
    """Return sizes of which those that are free grow, or if that does not help shrink, until conditions hold."""
    settled = {**batch, **{name: size for name, size in sizes.items() if name not in free}}
    for name in free:
        first = sizes[name]
        tried = chain(range(first, first + FARTHEST_SIZE), range(first - 1, 0, -1)) if conditions else ()
        settled[name] = next((size for size in tried if holds(conditions, {**settled, name: size})), first)
    return {name: settled[name] for name in sizes}


def _moved(sizes: Mapping[str, int], first: int, steps: Sequence[int]) -> dict[str, int]:
    """Return other sizes, each farther by another prime number of steps."""
    moved, primes = {}, islice(cycle(PRIMES), first, None)
    for name, size in sizes.items():
        parts = [size // -step if step < 0 else step for step in steps]
        step = next((part for part in parts if 0 < part < size and size % part == 0), size)
        prime = next(prime for prime in primes if step == size or step * prime % size)
        moved[name] = size + step * prime if steps != ALONE else prime
    return moved


def _check_known(where: Mapping[str, int], others: Sequence[str], batch: str) -> None:
    for name in where:
        if name not in others:
            has = ", ".join(others) or f"none beside the batch {batch}"
            known = f"it is the batch: write {where[name]} behind the file" if name == batch else f"it has {has}"
            raise misuse(f"no free dim is called {visible(brief(name))}", known, argument="where")


class _Naming:
    """The dims of the inputs with the names that core can read."""

    def __init__(self, inputs: Sequence[Declared], options: SizeOptions) -> None:
        self.inputs, self.batch, self.where = inputs, "", options.where
        self.declared: int | None = None
        self.numbers: dict[str, int] = {}
        """What the file declares for the names that are given in place of numbers."""
        self.names: dict[str, str] = {}
        self._readable: dict[str, str] = {}
        self._used = {dim for each in inputs for dim in each.dims or () if isinstance(dim, str)}
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

    def _fresh_batch(self) -> str:
        return self.fresh(chain(BATCHES, (f"N{number}" for number in count())))

    def find_batch(self, wanted: str | None) -> None:
        """Find the batch: the dim of that name, or the first dim of the first input, freed if it is a number."""
        wanted = self._readable.get(wanted, wanted) if wanted else None
        if wanted and not wanted.isidentifier():
            raise misuse(f"no dim is called '{visible(brief(wanted))}'", "write N or N,1,2,8", argument="batch")
        there = {dim for dims in self.shapes for dim in dims or ()}
        place = next((at for at, dims in enumerate(self.shapes) if dims), None)
        if wanted == NO_BATCH and wanted not in there:
            pass
        elif place is None or (wanted and wanted in there):
            self.batch = wanted or self._fresh_batch()
        else:
            self.batch = self._first_batch(place, wanted)
        for each, dims in zip(self.inputs, self.shapes, strict=True):
            given = zip(dims or (), each.dims or (), strict=False) if each.name in self.given else ()
            self.numbers |= {name: size for name, size in given if isinstance(name, str) and isinstance(size, int)}
        self.declared = self.numbers.pop(self.batch, self.declared)

    def _first_batch(self, place: int, wanted: str | None) -> str:
        """Return the batch's name: that of an input that is given, or of the first dim of the first input."""
        dims, declared = self.shapes[place] or [], self.inputs[place].dims or (None,)
        is_given = self.inputs[place].name in self.given
        first = next((dim for dim in dims if isinstance(dim, str)), dims[0]) if is_given else dims[0]
        named = {dim for shape in self.given.values() for dim in shape} - {
            dim for e in self.inputs for dim in e.dims or ()
        }
        if isinstance(first, str) and wanted is None:
            unnamed = first not in self._readable.values() and declared[0] is None and not is_given
            batch = self._fresh_batch() if unnamed else first
        elif wanted is None and (found := next((name for name in BATCHES if name in named), None)):
            batch = found
        else:
            batch = wanted or self._fresh_batch()
        if isinstance(first, int):
            self.declared = first
            dims[dims.index(first)] = batch
        self.shapes = [_renamed(each, {first: batch}) if isinstance(first, str) else each for each in self.shapes]
        return batch

    def guesses(self) -> Iterator[tuple[list[Dims], int]]:
        """Yield the inputs' shapes, and how many of them are freed that may be numbers for all samples.

        All free first dims are the batch, or are what they are called. Of the numbers that may be the declared batch
        all are freed first, then fewer, at last none.
        """
        firsts = [(each.name, dims[0]) for each, dims in zip(self.inputs, self.shapes, strict=True) if dims]
        free = {dim for name, dim in firsts[1:] if isinstance(dim, str) and name not in self.given}
        twins = free - {self.batch} if firsts and firsts[0][1] == self.batch else set()
        for shapes in [[_renamed(dims, dict.fromkeys(twins, self.batch)) for dims in self.shapes], self.shapes][
            not twins :
        ]:
            ways = self._ways_to_free(shapes)
            likeliest = [axes[0] for axes in ways.values()]
            every = islice(every_choice(*ways.values()), MOST_CHOICES)
            nearest = sorted(every, key=lambda axes, first=likeliest: sum(map(ne, axes, first)))  # type: ignore[misc]
            for axes in dict.fromkeys([*nearest[:MOST_GUESSES], (None,) * len(ways)]):
                yield self._freed(shapes, dict(zip(ways, axes, strict=True)))

    def _freed(self, shapes: list[Dims], axes: Mapping[Alike, int | None]) -> tuple[list[Dims], int]:
        """Return shapes with the batch on an axis of those that declare this, and how many these are of one number."""
        freed, doubtful = [], 0
        for each, dims in zip(self.inputs, shapes, strict=True):
            axis = axes.get(_alike(each)) if dims and each.name not in self.given and self.batch not in dims else None
            freed.append(dims if dims is None or axis is None else [*dims[:axis], self.batch, *dims[axis + 1 :]])
            doubtful += axis is not None and each.dims == (1,)
        return freed, doubtful

    def _ways_to_free(self, shapes: list[Dims]) -> dict[Alike, list[int | None]]:
        """Return the axes that may be the batch by what inputs declare, the likeliest first; None stands for none."""
        axis = next((dims.index(self.batch) for dims in shapes if dims and self.batch in dims), 0)
        found: dict[Alike, list[int | None]] = {}
        for each, dims in zip(self.inputs, shapes, strict=True):
            if dims and each.dims and self.declared in dims and each.name not in self.given and self.batch not in dims:
                axes = sorted([at for at, size in enumerate(dims) if size == self.declared], key=lambda at: at != axis)
                is_likely = axes[0] in (axis, 0) or self.declared != 1
                found[_alike(each)] = [*axes, None] if is_likely else [None, *axes]
        return found

    def terms(self, name: str, others: Sequence[str]) -> tuple[str, ...]:
        """Return the terms of a dim that the file writes as a sum of others and numbers; none if it is no such sum."""
        terms = tuple([term.strip() for term in self.names.get(name, "").split("+")])
        readable = [term.isdecimal() or (term in others and term != name) for term in terms]
        return terms if len(terms) > 1 and all(readable) else ()

    def lane(self, batch: int, base: Mapping[str, int], totals: Mapping[str, Iterable[str]], **marked: bool) -> Lane:
        """Return a lane of these sizes, and of sums of them; verdicts look at it if it is `judged`."""
        sizes = {self.batch: batch, **base}
        for name, terms in totals.items():
            sizes[name] = sum(int(term) if term.isdecimal() else base.get(term, 0) for term in terms)
        return Lane(batch, FrozenDict(sizes), **{"judged": False, **marked})


def _alike(input: Declared) -> Alike:
    return (input.name,) if input.dims is None or len(input.dims) == 1 else input.dims


def _renamed(dims: Dims, names: Mapping[int | str, str]) -> Dims:
    return None if dims is None else [names.get(dim, dim) for dim in dims]


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
Systems = tuple[list[tuple[Term, ...]], np.ndarray, np.ndarray]
"""The terms of some sums, what they are in each lane, and the inverses of these matrices."""
MOST_NAMES = 8
"""Of how many names products are tried."""
LARGEST = 10**6
"""The largest factor of a term in a sum."""


class Sum(Record):
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


def columns(shapes: Sequence[tuple[int, ...] | None]) -> list[tuple[int | None, ...]] | None:
    """Return what each dim of a tensor is in some lanes; None if its rank is not the same in all."""
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1:
        return None
    unknown = (None,) * ranks.pop()
    return [*zip(*[unknown if shape is None else shape for shape in shapes], strict=True)]


class Namer:
    """Names numbers by the lanes that they were seen in; the lane of an empty batch does not count."""

    def __init__(self, lanes: Sequence[Lane], batch: str) -> None:
        """Make the products of names that a dim may be."""
        self._places = [place for place, lane in enumerate(lanes) if lane.batch]
        self._lanes = [lanes[place].sizes for place in self._places]
        self._moved = {at for at, place in enumerate(self._places) if lanes[place].moved}
        names = [batch, *[name for name in lanes[0].sizes if name != batch]][:MOST_NAMES]
        self._one: Term = ((), (1,) * len(self._lanes))
        self._names = [self._term(((name, 1),)) for name in names]
        self._products = [self._term(_powers(pair)) for pair in combinations_with_replacement(names, 2)]
        triples = [self._term(_powers(three)) for three in combinations_with_replacement(names, 3)]
        shared = [powers for powers, _ in (*self._names, *self._products, self._one) if batch not in dict(powers)]
        shares = [self._term(tuple(sorted(((batch, -1), *powers)))) for powers in shared]
        self._singles = [*self._names, *self._products, *triples, *shares]
        self._known: dict[tuple[int | None, ...], NamedDim] = {}
        self._shapes: dict[Shapes, NamedShape | None] = {}
        self._systems: dict[tuple[int, ...], list[Systems]] = {}

    def shape(self, shapes: Shapes) -> NamedShape | None:
        """Return the shape of a tensor with names; None if its rank is not known."""
        found = self._shapes.get(shapes)
        if found is None:
            axes = columns([shapes[place] for place in self._places])
            found = self._shapes[shapes] = None if axes is None else tuple(map(self.dim, axes))
        return found

    def dim(self, sizes: tuple[int | None, ...]) -> NamedDim:
        """Return what a number is that was `sizes` in the lanes with a batch; None if nothing fits in all of them.

        A number that was seen in one lane alone stays a number, unless other free dims move and few show it then.
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
        if len(self._moved.intersection(observed)) < min(2, len(self._moved)):
            return None
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
            self._systems[observed] = [*self._systems_in(observed)]
        for chosen, rows, inverses in self._systems[observed]:
            factors = np.rint(inverses @ np.array(numbers, float))
            fit = (
                ((rows @ factors[..., None])[..., 0] == numbers).all(1)
                & factors.all(1)
                & (abs(factors) < LARGEST).all(1)
            )
            for at in np.flatnonzero(fit)[:1]:
                terms = zip([powers for powers, _ in chosen[at]], factors[at].astype(int).tolist(), strict=True)
                last = sorted(terms, key=lambda term: not term[0])  # the number stands last
                return Sum(tuple([lowest_terms(factor, 1, dict(powers)) for powers, factor in last]))
        return None

    def _systems_in(self, observed: tuple[int, ...]) -> Iterator[Systems]:
        """Yield the sums to try, with the equations for their factors: names and numbers first, products then."""
        simple = [*self._names, self._one]
        for terms, many in ((simple, 2), ([*simple, *self._products], 2), (simple, 3)):
            tried = combinations(terms, many) if len(observed) > many else ()
            lanes = {each: [tuple([float(values[at]) for _, values in each]) for at in observed] for each in tried}
            chosen = [each for each, rows in lanes.items() if len({*rows}) > many]
            equations = np.array([lanes[each] for each in chosen])
            if chosen:
                settled = np.flatnonzero(matrix_rank(equations) == many)
                yield [chosen[at] for at in settled], equations[settled], np.linalg.pinv(equations[settled])

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
