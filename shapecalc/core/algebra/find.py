"""Which chains lead from one shape to another: first the reshape alone, then those with one transpose."""

from __future__ import annotations

from itertools import chain, groupby, islice, pairwise, permutations
from itertools import product as every
from math import factorial, prod

from shapecalc.core.algebra.parts import Part, in_order, splits
from shapecalc.core.answers.regrouping import regrouping
from shapecalc.core.sizes.dims import Shape, names, product
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.python_values import shape_of
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import read_shape, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shapecalc.core.algebra.parts import Parts, Splits

    Order = tuple[tuple[Part, ...], tuple[Part, ...]]
    """Parts as they lie in the input, and as they lie in the output."""

MOST_LISTED = 32
"""The most chains that are listed."""
MOST_ORDERED = 200
"""The most chains of which the shortest are listed first."""


def named_shape(value: object, argument: str) -> Shape:
    """Return a shape whose dims all have a number or a name, from its text or from dims.

    Raises `ShapeError` (usage) for anything else. `argument` is the name of the argument at fault.
    """
    shape = read_shape(value, argument) if isinstance(value, str) else shape_of(value, argument)
    if any(name.startswith("?") for name in names(shape)):
        raise misuse("? is an unknown size, so no chain can ask for it", "write a name", argument=argument)
    return shape


class Way(Record):
    """One function from a shape to another: a split, the order in which the parts are merged, and a merge."""

    before: Shape
    split: Shape
    perm: tuple[int, ...]
    after: Shape

    @property
    def moves(self) -> int:
        """How many transposes it takes. Where a dim of 1 is dropped moves nothing."""
        moving = [axis for axis in self.perm if self.split[axis] != 1]
        return int(moving != sorted(moving))

    @property
    def moved(self) -> Shape:
        """The parts in the order in which they are merged."""
        return tuple(self.split[axis] for axis in self.perm)

    @property
    def length(self) -> int:
        """How many stages it takes."""
        return 1 + self.moves * ((self.split != self.before) + (self.moved != self.after))

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of a chain that does it, as they are typed."""
        if not self.moves:
            return (_reshape(self.after),)
        stages = [] if self.split == self.before else [_reshape(self.split)]
        stages.append(f"transpose {','.join(map(str, self.perm))}")
        return (*stages, *([] if self.moved == self.after else [_reshape(self.after)]))

    @property
    def chain(self) -> str:
        """The chain, with its input."""
        return " | ".join((shape_text(self.before), *self.stages))

    @property
    def why(self) -> str:
        """What it does, in a sentence."""
        if not self.moves:
            return f"the elements stay in order: {regrouping(self.before, self.after)}"
        split = "" if self.split == self.before else f"split into {shape_text(self.split)}, "
        merge = "" if self.moved == self.after else f", merge into {shape_text(self.after)}"
        return f"{split}move to {shape_text(self.moved)}{merge}"

    def as_json(self) -> dict[str, object]:
        """Return the way as the JSON object that the command line documents."""
        return {"chain": self.chain, "moves": self.moves, "why": self.why}


class Found(Record):
    """The chains that lead from one shape to another, and how many functions they are chosen from."""

    ways: tuple[Way, ...]
    fits: int
    complete: bool = True
    """Whether these are all functions that fit; otherwise the search ended before it had seen all."""

    def as_json(self) -> dict[str, object]:
        """Return the answer as the JSON object that the command line documents."""
        return {"chains": [way.as_json() for way in self.ways], "fits": self.fits, "complete": self.complete}


def ways_between(before: Shape, after: Shape) -> Found:
    """Return the ways from one shape to another, the simplest first; none if their volumes differ.

    What fits is the reshape alone, and every split into the fewest parts, one transpose, and one merge.

    >>> found = ways_between((2, 3, 4), (6, 4))
    >>> found.fits, [way.chain for way in found.ways]
    (2, ['2,3,4 | reshape 6,4', '2,3,4 | transpose 1,0,2 | reshape 6,4'])
    """
    if product(before) != product(after):
        return Found((), 0)
    if 0 in before:
        return Found((_still(before, after),), 1)
    found = splits(before, after)
    others = int(in_order(before, after) not in found.all)
    listed = islice(_ways(before, after, found), MOST_LISTED)
    return Found(tuple(listed), others + sum(map(_orders_count, found.all)), found.complete)


def ways(before: Shape, after: Shape) -> Iterator[Way]:
    """Yield the ways from one shape to another, `MOST_ORDERED` at most; none if their volumes differ."""
    if product(before) != product(after):
        return iter(())
    return _ways(before, after, splits(before, after))


def _still(before: Shape, after: Shape) -> Way:
    """Return the way that moves nothing."""
    return Way(before, before, tuple(range(len(before))), after)


def _ways(before: Shape, after: Shape, found: Splits) -> Iterator[Way]:
    """Yield the way that moves nothing, then those that splits make, the shortest first."""
    yield _still(before, after)
    ones = _ones(before, after)
    orders = (order for parts in found.all for order in _orders(parts | ones))
    moving = [
        shortest(before, tuple(part.size for part in row), order_of(row, column), after)
        for row, column in islice(orders, MOST_ORDERED)
    ]
    yield from sorted((way for way in moving if way.moves), key=lambda way: way.length)


def order_of(row: Sequence[object], column: Iterable[object]) -> tuple[int, ...]:
    """Return the places that the values of a column have in a row.

    >>> order_of("abc", "cab")
    (2, 0, 1)
    """
    places = {value: place for place, value in enumerate(row)}
    return tuple(places[value] for value in column)


def shortest(before: Shape, split: Shape, perm: tuple[int, ...], after: Shape) -> Way:
    """Return the way that a split and an order of its parts make, with neighbours merged first if it is shorter so."""
    fine, coarse = Way(before, split, perm, after), Way(before, *merged(split, perm), after)
    return min((fine, coarse), key=lambda way: way.length)


def merged(split: Shape, perm: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]]:
    """Return a split and an order of its parts, with neighbours that stay neighbours as one part.

    >>> merged((2, 3, 4), (2, 0, 1))
    ((6, 4), (1, 0))
    """
    starts = [axis for place, axis in enumerate(perm) if not place or perm[place - 1] + 1 != axis]
    firsts = sorted(starts)
    sizes = tuple(product(split[first:end]) for first, end in pairwise([*firsts, len(split)]))
    return sizes, order_of(firsts, starts)


def _reshape(shape: Shape) -> str:
    return f"reshape {shape_text(shape)}{' --allowzero' * (0 in shape)}"


def _ones(before: Shape, after: Shape) -> Parts:
    """Return the dims of 1 as parts, if both shapes have as many."""
    sources, outs = ([axis for axis, dim in enumerate(shape) if dim == 1] for shape in (before, after))
    if len(sources) != len(outs):
        return frozenset()
    return frozenset(Part(source, out, 1) for source, out in zip(sources, outs, strict=True))


def _orders(parts: Parts) -> Iterator[Order]:
    """Yield the parts in every order inside their axes, the natural one first."""
    rows, columns = _by_source(parts), _by_out(parts)
    for row in _arranged(rows):
        for column in _arranged(columns):
            yield row, column


def _arranged(groups: list[list[Part]]) -> Iterator[tuple[Part, ...]]:
    """Yield the parts of all groups, each group in the first `MOST_ORDERED` of its orders."""
    for arranged in every(*(islice(permutations(group), MOST_ORDERED) for group in groups)):
        yield tuple(chain(*arranged))


def _orders_count(parts: Parts) -> int:
    """Return in how many orders the parts can stand inside their axes."""
    return prod(factorial(len(group)) for group in (*_by_source(parts), *_by_out(parts)))


def _by_source(parts: Parts) -> list[list[Part]]:
    ordered = sorted(parts, key=lambda part: (part.source, part.out))
    return [list(group) for _, group in groupby(ordered, key=lambda part: part.source)]


def _by_out(parts: Parts) -> list[list[Part]]:
    ordered = sorted(parts, key=lambda part: (part.out, part.source))
    return [list(group) for _, group in groupby(ordered, key=lambda part: part.out)]
