"""The free dims of a model: their sizes for a walk, and symbolic dims.

Before a walk sizes are chosen; after it symbolic dims are fitted to the observed sizes.

A *lane* is one assignment of sizes to all free dims, the batch included. The model is walked in several lanes at once.
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
"""The key of inputs that are freed together: their declared shape.

An input of rank 1 or without a shape is keyed by its name.
"""
LADDER = (64, 224, 128, 8)
"""The sizes to try for free dims without a given size, after the sizes that the file declares."""
BATCHES = ("N", "B", "batch")
"""The names for a batch without a name."""
NO_BATCH = "none"
"""The option value for a model without a batch; the name of the batch is then empty."""
HELD_BACK = (5, 7, 11, 13, 17)
"""The batch sizes that only validate fitted dims."""
MOVES = ((0, ()), (2, (-2, 8, 1)), (4, (32, 8, 1)), (7, (1,)))
"""How the sizes of other free dims are perturbed: an index into `PRIMES`, and candidate steps.

A size grows by a prime number of steps. The first step that divides the size and is smaller is taken; without one the
step is the size itself, and -2 is half of it. Models halve images; the last entry shows where they round.
"""
ALONE = (0,)
"""Steps that replace the size by the prime itself."""
UNSEEN = (*[(first, (1,)) for first in (8, 1, 9, 3, 10, 5, 11)], (1, ALONE), (2, ALONE))
"""More perturbations, for the report of all nodes: most sizes are odd, and two are small."""
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
LONGEST_NAME = 40
MOST_SUMS = 12
"""The largest number of sums of dims, and of pairs of equal dims, that are tried."""
MOST_GUESSES, MOST_CHOICES = 16, 512
"""The largest number of input choices that are tried, and of those that are ranked before."""
FARTHEST_SIZE = 4096
"""How far above its first value a size is searched that satisfies conditions."""
Powers = tuple[tuple[str, int], ...]
Term = tuple[Powers, tuple[int | Fraction, ...]]
"""A product of names, and its value in each lane."""
Systems = tuple[list[tuple[Term, ...]], np.ndarray, np.ndarray]
"""The terms of some sums, their values in the lanes, and the pseudo-inverses of these matrices."""
MOST_NAMES = 8
"""The largest number of names that products are made of."""
LARGEST = 10**6
"""The bound on the coefficient of a term in a sum."""


class SizeOptions(Record):
    """The options of the user about the batch and the sizes."""

    batch: str | None = None
    """The name of the batch; None for the first dim of the first input."""
    sizes: tuple[int, ...] = (1, 2, 3)
    """The batch sizes to judge; the declared one is added."""
    shapes: Mapping[str, tuple[int | str, ...]] = NONE
    """Shapes of inputs by name, from `--set`."""
    where: Mapping[str, int] = NONE
    """Sizes of other free dims by name, from `--where`."""


class Lane(Record):
    """An assignment of sizes to the free dims."""

    batch: int
    sizes: Mapping[str, int]
    """The size of every free dim, the batch included."""
    judged: bool
    """Whether verdicts are based on this lane; other lanes only validate fitted dims."""
    moved: bool = False
    """Whether the other free dims have perturbed sizes that satisfy the known conditions."""


class InputChoice(Record):
    """A choice of shapes for the inputs, with the lanes to walk."""

    batch: str
    declared: int | None
    """The batch size that the file declares; None if the batch is free or named by a given shape."""
    inputs: tuple[tuple[int | str | None, ...] | None, ...]
    lanes: tuple[Lane, ...]
    """The judged lanes by size, then the held-back ones, and last the one with a batch of 0."""
    names: Mapping[str, str] = NONE
    """By symbolic name, the text in the file that is not a valid name, or the sum that a dim was taken as."""
    assumed: Mapping[str, int] = NONE
    """The sizes of other free dims that were not given."""
    doubtful: int = 0
    """The number of freed inputs with the shape (1,), which may be one value for all samples."""
    unseen: tuple[Lane, ...] = ()
    """More lanes, which are walked for the report of all nodes."""


class Sum(Record):
    """A sum of dims, such as `19200*N+1` or `S+past`.

    It has two terms or more; a number is last.
    """

    terms: tuple[Dim, ...]

    def __str__(self) -> str:
        """Return the text.

        >>> from shapecalc.core.dims import named_dim
        >>> print(Sum((named_dim("N"), -1)))
        N-1
        """
        return "+".join(map(str, self.terms)).replace("+-", "-")


NamedDim = Dim | Sum | None
"""A number, a monomial or a sum; None if unknown."""
NamedShape = tuple[NamedDim, ...]


class Guess:
    """A choice of shapes for the inputs, before sizes are assigned."""

    def __init__(self, naming: _Naming, shapes: list[Dims], doubtful: int, judged: Sequence[int]) -> None:
        """Find the free dims; raise `ShapeError` (usage) for a size of an unknown one."""
        self._naming, self._shapes, self._doubtful, self._judged = naming, shapes, doubtful, judged
        free = dict.fromkeys(dim for dims in shapes for dim in dims or () if isinstance(dim, str))
        self._others = [name for name in free if name != naming.batch]
        _check_known(naming.where, self._others, naming.batch)
        self.open = [name for name in self._others if name not in naming.where]
        """The free dims without a given size, except the batch."""

    def choice(
        self, conditions: Sequence[Condition] = (), size: int | None = None, sums: Mapping[str, Sequence[str]] = NONE
    ) -> InputChoice:
        """Return the inputs with sizes that satisfy conditions.

        `size` replaces the declared sizes; `sums` maps dims to the terms that they are the sum of.
        """
        naming, others = self._naming, self._others
        totals = {**{name: terms for name in others if (terms := naming.terms(name, others))}, **sums}
        sizes = {**dict.fromkeys(others, size or LADDER[0]), **({} if size else naming.numbers), **naming.where}
        home = {naming.batch: naming.declared or 1}
        base = {name: sizes[name] for name in others if name not in totals}
        base = _fitting(base, conditions, [name for name in self.open if name in base], home)
        judged = sorted({*self._judged, naming.declared or 1})
        held_back = (batch for batch in chain(HELD_BACK, count(judged[-1] + 1)) if batch not in judged)
        lanes = [naming.lane(batch, base, totals, judged=True) for batch in judged]
        lanes.append(naming.lane(next(held_back), base, totals))
        moved = []
        for move in (*MOVES, *UNSEEN) if others else ():
            batch, sizes = next(held_back), _moved(base, *move)
            fitting = _fitting(sizes, conditions, [*sizes], {naming.batch: batch})
            if any(fitting[name] == base[name] for name in base) and move is MOVES[-1]:
                # conditions may admit no other size of a dim; the sizes then ignore them
                moved.append(naming.lane(batch, sizes, totals))
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
        """Yield the inputs with other sizes, then with dims that depend on each other."""
        for size in LADDER[not self._naming.numbers :] if self.open else ():
            yield self.choice((), size)
        yield from self.related()

    def related(self, conditions: Sequence[Condition] = ()) -> Iterator[InputChoice]:
        """Yield the inputs with dims that depend on each other.

        First all dims are equal, then pairs of them. Then one is the sum of two others: a mask is as long as the past
        and the new tokens.
        """
        names = self.open
        all_equal: list[Mapping[str, Sequence[str]]] = [dict.fromkeys(names[1:], names[:1])] if names[2:] else []
        pairs: Iterator[Mapping[str, Sequence[str]]] = ({second: (first,)} for first, second in combinations(names, 2))
        sums = ({name: pair} for name in reversed(names) for pair in combinations([o for o in names if o != name], 2))
        for relation in chain(all_equal, islice(pairs, MOST_SUMS), islice(sums, MOST_SUMS)):
            yield self.choice(conditions, sums=relation)


def guesses(model: Model, options: SizeOptions) -> Iterator[Guess]:
    """Yield the choices of shapes for a model's inputs, the likeliest first.

    Raises `ShapeError` (usage) for an input or a name that the model does not have, and for invalid sizes.
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
    """Return sizes that satisfy conditions; the free ones grow first, then shrink."""
    assigned = {**batch, **{name: size for name, size in sizes.items() if name not in free}}
    for name in free:
        first = sizes[name]
        candidates = chain(range(first, first + FARTHEST_SIZE), range(first - 1, 0, -1)) if conditions else ()
        assigned[name] = next((size for size in candidates if holds(conditions, {**assigned, name: size})), first)
    return {name: assigned[name] for name in sizes}


def _moved(sizes: Mapping[str, int], first: int, steps: Sequence[int]) -> dict[str, int]:
    """Return perturbed sizes, each larger by a different prime number of steps."""
    result, primes = {}, islice(cycle(PRIMES), first, None)
    for name, size in sizes.items():
        parts = [size // -step if step < 0 else step for step in steps]
        step = next((part for part in parts if 0 < part < size and size % part == 0), size)
        prime = next(prime for prime in primes if step == size or step * prime % size)
        result[name] = size + step * prime if steps != ALONE else prime
    return result


def _check_known(where: Mapping[str, int], others: Sequence[str], batch: str) -> None:
    for name in where:
        if name not in others:
            names = ", ".join(others) or f"none beside the batch {batch}"
            hint = f"it is the batch: write {where[name]} behind the file" if name == batch else f"it has {names}"
            raise misuse(f"no free dim is called {visible(brief(name))}", hint, argument="where")


class _Naming:
    """The shapes of the inputs, with a valid symbolic name for every free dim."""

    def __init__(self, inputs: Sequence[Declared], options: SizeOptions) -> None:
        self.inputs, self.batch, self.where = inputs, "", options.where
        self.declared: int | None = None
        self.numbers: dict[str, int] = {}
        """The declared sizes of dims that were given a name."""
        self.names: dict[str, str] = {}
        self._readable: dict[str, str] = {}
        self._used = {dim for declared in inputs for dim in declared.dims or () if isinstance(dim, str)}
        self.given = _given(inputs, options.shapes)
        self.shapes: list[Dims] = [self._dims(self.given.get(declared.name, declared.dims)) for declared in inputs]

    def _dims(self, dims: Sequence[int | str | None] | None) -> Dims:
        return None if dims is None else [dim if isinstance(dim, int) else self._name(dim) for dim in dims]

    def _name(self, written: str | None) -> str:
        """Return the symbolic name of a dim.

        This is the name in the file if it is valid, otherwise d0, d1 ...
        """
        if written is None:
            return self.fresh(f"d{number}" for number in count())
        if written.isidentifier() and written.isascii() and len(written) <= LONGEST_NAME:
            return written
        if written not in self._readable:
            self._readable[written] = name = self.fresh(f"d{number}" for number in count())
            self.names[name] = written
        return self._readable[written]

    def fresh(self, wanted: Iterable[str]) -> str:
        """Return the first of these names that is unused, and reserve it."""
        name = next(name for name in wanted if name not in self._used)
        self._used.add(name)
        return name

    def _fresh_batch(self) -> str:
        return self.fresh(chain(BATCHES, (f"N{number}" for number in count())))

    def find_batch(self, wanted: str | None) -> None:
        """Find the batch: the dim of that name, or the first dim of the first input.

        A batch that is a number is replaced by a name.
        """
        wanted = self._readable.get(wanted, wanted) if wanted else None
        if wanted and not wanted.isidentifier():
            raise misuse(f"no dim is called '{visible(brief(wanted))}'", "write N or N,1,2,8", argument="batch")
        known = {dim for dims in self.shapes for dim in dims or ()}
        first = next((index for index, dims in enumerate(self.shapes) if dims), None)
        if wanted == NO_BATCH and wanted not in known:
            pass
        elif first is None or (wanted and wanted in known):
            self.batch = wanted or self._fresh_batch()
        else:
            self.batch = self._first_batch(first, wanted)
        for declared, dims in zip(self.inputs, self.shapes, strict=True):
            pairs = zip(dims or (), declared.dims or (), strict=False) if declared.name in self.given else ()
            self.numbers |= {name: size for name, size in pairs if isinstance(name, str) and isinstance(size, int)}
        self.declared = self.numbers.pop(self.batch, self.declared)

    def _first_batch(self, place: int, wanted: str | None) -> str:
        """Return the name of the batch, the first dim of an input.

        In a given shape it is the first dim that is a name.
        """
        dims, declared = self.shapes[place] or [], self.inputs[place].dims or (None,)
        is_given = self.inputs[place].name in self.given
        first = next((dim for dim in dims if isinstance(dim, str)), dims[0]) if is_given else dims[0]
        named = {dim for shape in self.given.values() for dim in shape} - {
            dim for e in self.inputs for dim in e.dims or ()
        }
        if isinstance(first, str) and wanted is None:
            unnamed = first not in self._readable.values() and declared[0] is None and not is_given
            batch = self._fresh_batch() if unnamed else first
        elif wanted is None and (usual := next((name for name in BATCHES if name in named), None)):
            batch = usual
        else:
            batch = wanted or self._fresh_batch()
        if isinstance(first, int):
            self.declared = first
            dims[dims.index(first)] = batch
        self.shapes = [_renamed(shape, {first: batch}) if isinstance(first, str) else shape for shape in self.shapes]
        return batch

    def guesses(self) -> Iterator[tuple[list[Dims], int]]:
        """Yield shapes of the inputs, and how many were freed with doubt.

        First all free first dims are the batch, then each has its own name. In both cases all dims equal to the
        declared batch are freed first, then fewer, at last none.
        """
        firsts = [(declared.name, dims[0]) for declared, dims in zip(self.inputs, self.shapes, strict=True) if dims]
        free = {dim for name, dim in firsts[1:] if isinstance(dim, str) and name not in self.given}
        twins = free - {self.batch} if firsts and firsts[0][1] == self.batch else set()
        for shapes in [[_renamed(dims, dict.fromkeys(twins, self.batch)) for dims in self.shapes], self.shapes][
            not twins :
        ]:
            ways = self._ways_to_free(shapes)
            likeliest = [axes[0] for axes in ways.values()]
            choices = islice(every_choice(*ways.values()), MOST_CHOICES)
            nearest = sorted(choices, key=lambda axes, first=likeliest: sum(map(ne, axes, first)))  # type: ignore[misc]
            for axes in dict.fromkeys([*nearest[:MOST_GUESSES], (None,) * len(ways)]):
                yield self._freed(shapes, dict(zip(ways, axes, strict=True)))

    def _freed(self, shapes: list[Dims], axes: Mapping[Alike, int | None]) -> tuple[list[Dims], int]:
        """Return shapes with the batch on these axes, and how many freed with doubt."""
        result, doubtful = [], 0
        for declared, dims in zip(self.inputs, shapes, strict=True):
            can_free = dims and declared.name not in self.given and self.batch not in dims
            axis = axes.get(_alike(declared)) if can_free else None
            result.append(dims if dims is None or axis is None else [*dims[:axis], self.batch, *dims[axis + 1 :]])
            doubtful += axis is not None and declared.dims == (1,)
        return result, doubtful

    def _ways_to_free(self, shapes: list[Dims]) -> dict[Alike, list[int | None]]:
        """Return the axes that may be the batch by declared shape, the likeliest first.

        An axis of None leaves the input unchanged.
        """
        axis = next((dims.index(self.batch) for dims in shapes if dims and self.batch in dims), 0)
        result: dict[Alike, list[int | None]] = {}
        for value, dims in zip(self.inputs, shapes, strict=True):
            if (
                dims
                and value.dims
                and self.declared in dims
                and value.name not in self.given
                and self.batch not in dims
            ):
                equal = [candidate for candidate, size in enumerate(dims) if size == self.declared]
                axes = sorted(equal, key=lambda candidate: candidate != axis)
                is_likely = axes[0] in (axis, 0) or self.declared != 1
                result[_alike(value)] = [*axes, None] if is_likely else [None, *axes]
        return result

    def terms(self, name: str, others: Sequence[str]) -> tuple[str, ...]:
        """Return the terms of a dim that the file writes as a sum, otherwise ()."""
        terms = tuple([term.strip() for term in self.names.get(name, "").split("+")])
        readable = [term.isdecimal() or (term in others and term != name) for term in terms]
        return terms if len(terms) > 1 and all(readable) else ()

    def lane(self, batch: int, base: Mapping[str, int], totals: Mapping[str, Iterable[str]], **marked: bool) -> Lane:
        """Return a lane with these sizes and the totals of sums."""
        sizes = {self.batch: batch, **base}
        for name, terms in totals.items():
            sizes[name] = sum(int(term) if term.isdecimal() else base.get(term, 0) for term in terms)
        return Lane(batch, FrozenDict(sizes), **{"judged": False, **marked})


def _alike(input: Declared) -> Alike:
    return (input.name,) if input.dims is None or len(input.dims) == 1 else input.dims


def _renamed(dims: Dims, names: Mapping[int | str, str]) -> Dims:
    return None if dims is None else [names.get(dim, dim) for dim in dims]


def _given(inputs: Sequence[Declared], shapes: Mapping[str, tuple[int | str, ...]]) -> dict[str, tuple[int | str, ...]]:
    """Return the given shapes; raise `ShapeError` (usage) if one does not fit."""
    ranks = {declared.name: None if declared.dims is None else len(declared.dims) for declared in inputs}
    for name, dims in shapes.items():
        if name not in ranks:
            names = ", ".join(visible(brief(other)) for other in list(ranks)[:8])
            raise misuse(f"no input is called {visible(brief(name))}", f"it has {names}", argument="set")
        if ranks[name] not in (None, len(dims)):
            raise misuse(f"input {visible(brief(name))} has {ranks[name]} dims, not {len(dims)}", argument="set")
    return dict(shapes)


def columns(shapes: Sequence[tuple[int, ...] | None]) -> list[tuple[int | None, ...]] | None:
    """Return the sizes of each dim in some lanes; None if the rank differs."""
    ranks = {len(shape) for shape in shapes if shape is not None}
    if len(ranks) != 1:
        return None
    unknown = (None,) * ranks.pop()
    return [*zip(*[unknown if shape is None else shape for shape in shapes], strict=True)]


class Namer:
    """A fitter of symbolic dims to sizes observed in the lanes.

    The lane of the empty batch does not count.
    """

    def __init__(self, lanes: Sequence[Lane], batch: str) -> None:
        """Evaluate the products of names that a dim may equal."""
        self._places = [index for index, lane in enumerate(lanes) if lane.batch]
        self._lanes = [lanes[index].sizes for index in self._places]
        self._moved = {position for position, index in enumerate(self._places) if lanes[index].moved}
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
        """Return the symbolic shape of a tensor; None if its rank is unknown."""
        shape = self._shapes.get(shapes)
        if shape is None:
            axes = columns([shapes[lane] for lane in self._places])
            shape = self._shapes[shapes] = None if axes is None else tuple(map(self.dim, axes))
        return shape

    def dim(self, sizes: tuple[int | None, ...]) -> NamedDim:
        """Return the symbolic dim with these sizes in the lanes; None if nothing fits.

        An equal size in all lanes is a number. So is one that is known in a single lane, unless other free dims are
        perturbed and fewer than two perturbed lanes show it.
        """
        first = sizes[0]
        if first is not None and sizes.count(first) == len(sizes):
            return first
        if sizes not in self._known:
            self._known[sizes] = self._named(sizes)
        return self._known[sizes]

    def _named(self, sizes: tuple[int | None, ...]) -> NamedDim:
        observed = tuple([lane for lane, size in enumerate(sizes) if size is not None])
        numbers = [sizes[lane] or 0 for lane in observed]
        if len(self._moved.intersection(observed)) < min(2, len(self._moved)):
            return None
        if len({*numbers}) == 1:
            return numbers[0]
        if len(observed) < 3:
            return None
        for powers, values in self._singles:
            first, unit = numbers[0], values[observed[0]]
            if all(first * values[lane] == number * unit for lane, number in zip(observed, numbers, strict=True)):
                factor = Fraction(first) / unit
                return lowest_terms(factor.numerator, factor.denominator, dict(powers))
        return self._sum(observed, numbers)

    def _sum(self, observed: tuple[int, ...], numbers: Sequence[int]) -> NamedDim:
        """Return the sum of two or three terms that equals a number in all lanes.

        There is at least one lane more than unknown coefficients, so that it validates the sum.
        """
        if observed not in self._systems:
            self._systems[observed] = [*self._systems_in(observed)]
        for sums, rows, inverses in self._systems[observed]:
            factors = np.rint(inverses @ np.array(numbers, float))
            fit = (
                ((rows @ factors[..., None])[..., 0] == numbers).all(1)
                & factors.all(1)
                & (abs(factors) < LARGEST).all(1)
            )
            for index in np.flatnonzero(fit)[:1]:
                terms = zip([powers for powers, _ in sums[index]], factors[index].astype(int).tolist(), strict=True)
                ordered = sorted(terms, key=lambda term: not term[0])
                return Sum(tuple([lowest_terms(factor, 1, dict(powers)) for powers, factor in ordered]))
        return None

    def _systems_in(self, observed: tuple[int, ...]) -> Iterator[Systems]:
        """Yield the linear systems of the sums to try, the simplest first."""
        simple = [*self._names, self._one]
        for terms, many in ((simple, 2), ([*simple, *self._products], 2), (simple, 3)):
            sums = combinations(terms, many) if len(observed) > many else ()
            lanes = {chosen: [tuple([float(values[at]) for _, values in chosen]) for at in observed] for chosen in sums}
            checked = [chosen for chosen, rows in lanes.items() if len({*rows}) > many]
            equations = np.array([lanes[chosen] for chosen in checked])
            if checked:
                solvable = np.flatnonzero(matrix_rank(equations) == many)
                yield [checked[index] for index in solvable], equations[solvable], np.linalg.pinv(equations[solvable])

    def _term(self, powers: Powers) -> Term:
        """Return a product of names with its value in each lane.

        Integral values are ints, which are faster than fractions.
        """
        values: list[int | Fraction] = []
        for sizes in self._lanes:
            value = Fraction(1)
            for name, power in powers:
                value *= Fraction(sizes[name]) ** power
            values.append(int(value) if value.denominator == 1 else value)
        return powers, tuple(values)


def _powers(names: Sequence[str]) -> Powers:
    return tuple(sorted((name, names.count(name)) for name in {*names}))
