"""Parts: how the axes of one shape can be split so that the parts, in another order, merge into another shape.

An axis of the input and one of the output share at most one part. A part ends where one of the two ends, so every
part is cut where one of the shapes has a cut. Of all such splits, those with the fewest parts count. Each part takes
all that is left of an axis on one side: axes that share parts in a circle, as 6,10 and 4,15 do, are not split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise, permutations
from itertools import product as every
from math import factorial, prod
from operator import attrgetter
from string import ascii_uppercase
from typing import Any

from shapecalc.core.conditions import Conditions, Known, Never, combine, equal
from shapecalc.core.dims import Dim, Shape, all_known, named_dim, names, product, quotient, substitute
from shapecalc.core.layout import Atom, cut
from shapecalc.core.limits import MOST_TRIED
from shapecalc.core.origins import AxisAtom, mixing, regrouping, reshaped
from shapecalc.core.pattern import Matcher, ShapePattern
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.text import number_text, read_shape, shape_text
from shapecalc.core.values import shape_of


class SharedAtom(Record):
    """What an input axis and an output axis have in common."""

    source: int
    out: int
    size: Dim

    def __hash__(self) -> int:
        return hash((self.source, self.out))


Parts = frozenset[SharedAtom]


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
    while waiting:
        rest = waiting[-1]
        made = len(_open(rest.before)) * len(_open(rest.after))
        tried += len(before) + len(after) + made * (1 + (len(before) + len(after)) // 64)
        if tried > MOST_TRIED:
            break
        waiting.pop()
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
    found = reshaped(before, after)
    atoms = [(atom, out) for out, origin in enumerate(found) for atom in origin or () if isinstance(atom, AxisAtom)]
    shared = [SharedAtom(atom.axis, out, atom.size) for atom, out in atoms if atom.size != 1]
    return None if mixing(found) else frozenset(shared)


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
    for source, out in every(_open(rest.before), _open(rest.after)):
        size = _common(rest.before[source], rest.after[out], known)
        if size is not None:
            yield _matched(rest, source, out, size)


def _matched(rest: Rest, source: int, out: int, size: Dim) -> Rest:
    """Return what is left once a part of this size is taken from an input axis and put into an output axis."""
    before, after = list(rest.before), list(rest.after)
    before[source], after[out] = quotient(before[source], size), quotient(after[out], size)
    return Rest(tuple(before), tuple(after), rest.parts | {SharedAtom(source, out, size)})


# Which chains lead from one shape to another: first the reshape alone, then those with one transpose.


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
    layout: str = ""
    """What it is called, if it is one of those that have a name."""

    @property
    def function(self) -> tuple[Shape, tuple[int, ...]]:
        """Its split and its order, with neighbours that stay together as one part and without dims of 1."""
        kept = [axis for axis, size in enumerate(self.split) if size != 1]
        return merged(tuple(self.split[axis] for axis in kept), order_of(kept, [a for a in self.perm if a in kept]))

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
        name = f"{self.layout}: " if self.layout else ""
        if not self.moves:
            return f"{name}the elements stay in order: {regrouping(self.before, self.after)}"
        split = "" if self.split == self.before else f"split into {shape_text(self.split)}, "
        merge = "" if self.moved == self.after else f", merge into {shape_text(self.after)}"
        return f"{name}{split}move to {shape_text(self.moved)}{merge}"

    def as_json(self) -> dict[str, object]:
        """Return the way as the JSON object that the command line documents."""
        return {"chain": self.chain, "moves": self.moves, "why": self.why}


class Found(Record):
    """The chains that lead from one shape to another, and how many functions they are chosen from."""

    ways: tuple[Way, ...]
    fits: int
    complete: bool = True
    """Whether no other chain exists within the bounds."""
    bounds: str = "one split, one transpose and one merge"
    """How far the search looked."""
    other: Way | None = None
    """A way within the bounds that is not among these functions, if there is one."""

    def as_json(self) -> dict[str, object]:
        """Return the answer as the JSON object that the command line documents."""
        search = {"fits": self.fits, "complete": self.complete, "bounds": self.bounds}
        return {"chains": [way.as_json() for way in self.ways], **search}


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
    every = list(_ways(before, after, found))
    fits = int(in_order(before, after) not in found.all)
    for parts in found.all:  # which can stand in so many orders inside their axes
        fits += prod(factorial(len(group)) for group in (*_by(parts, "source"), *_by(parts, "out")))
    fits = len(every) if fits <= MOST_ORDERED else fits
    functions = {way.function for way in every}
    tried = list(islice(_moved_whole(before, after), MOST_ORDERED + 1))
    other = next((way for way in tried if way.function not in functions), None)
    complete = found.complete and other is None and fits <= MOST_LISTED and len(tried) <= MOST_ORDERED
    least = max([1, *map(len, found.all)])
    bounds = f"a transpose and a reshape, known layouts, splits into {number_text(least, 'part', 'parts')}"
    return Found(tuple(every[:MOST_LISTED]), fits, complete, bounds, other)


def ways(before: Shape, after: Shape) -> Iterator[Way]:
    """Yield the ways from one shape to another, `MOST_ORDERED` at most; none if their volumes differ."""
    if product(before) != product(after):
        return iter(())
    return _ways(before, after, splits(before, after))


def _still(before: Shape, after: Shape) -> Way:
    """Return the way that moves nothing."""
    return Way(before, before, tuple(range(len(before))), after)


def _ways(before: Shape, after: Shape, found: Splits) -> Iterator[Way]:
    """Yield the way that moves nothing, then those with a name and those that splits make, the shortest first.

    If the shapes differ, those with a name come before all.
    """
    ones = _ones(before, after)
    orders = (order for parts in found.all for order in _orders(parts | ones))
    moving = [
        shortest(before, tuple(part.size for part in row), order_of(row, column), after)
        for row, column in islice(orders, MOST_ORDERED)
    ]
    named = {way.function: way for way in named_ways(before, after)}
    unnamed = [_still(before, after), *sorted((way for way in moving if way.moves), key=lambda way: way.length)]
    listed = [*named.values(), *(way for way in unnamed if way.function not in named)]
    yield from sorted(listed, key=lambda way: way.moves) if before == after else listed


LAYOUTS = (
    ("heads split", "heads joined", "b t nd", "b n t d"),
    ("image to patches (ViT)", "patches to image (ViT)", "b c hp wp", "b hw ppc"),
    ("image to patches, channels first", "patches to image, channels first", "b c hp wp", "b hw cpp"),
    ("NHWC image to patches (ViT)", "patches to NHWC image (ViT)", "b hp wp c", "b hw ppc"),
    ("image to windows (Swin)", "windows to image (Swin)", "b hp wp c", "bhw p p c"),
    ("image to windows (Swin)", "windows to image (Swin)", "b hp wp c", "bhw pp c"),
    ("pixel unshuffle", "pixel shuffle", "b c hr wr", "b crr h w"),
    ("space to depth (DCR)", "depth to space (DCR)", "b c hr wr", "b rrc h w"),
    ("NHWC space to depth", "NHWC depth to space", "b hr wr c", "b h w rrc"),
    ("NCHW to NHWC", "NHWC to NCHW", "b c h w", "b h w c"),
    ("image to tokens", "tokens to image", "b c h w", "b hw c"),
    ("channels in groups", "groups of channels joined", "b gc h w", "b g c h w"),
)
"""Layouts that have a name, with that of the way back. A word is a dim, each letter in it a part."""


def named_ways(before: Shape, after: Shape) -> list[Way]:
    """Return the ways between two shapes that have a name, each function once.

    >>> [(way.layout, way.chain) for way in named_ways((2, 3, 8, 8), (2, 4, 48))][:1]
    [('image to patches (ViT)', '2,3,8,8 | reshape 2,3,2,4,2,4 | transpose 0,2,4,3,5,1 | reshape 2,4,48')]
    """
    found: dict[object, Way] = {}
    back = [(name, right, left) for _, name, left, right in LAYOUTS]
    for name, source, out in (*((name, left, right) for name, _, left, right in LAYOUTS), *back):
        row, column = (_letters(side) for side in (source, out))
        dims = [product(named_dim(f"@{letter}") for letter in word) for word in f"{source} {out}".split()]
        matcher = Matcher(ShapePattern(tuple(dims)))
        fits = len(source.split()) == len(before) and not matcher.problem((*before, *after))
        if fits and all(matcher.sizes.get(f"@{letter}") != 1 for letter in "hwprngtd"):
            split = tuple(matcher.sizes[f"@{letter}"] for letter, _ in row)
            way = replace(shortest(before, split, order_of(row, column), after), layout=name)
            found.setdefault(way.function, way)
    return list(found.values())


def _letters(side: str) -> list[tuple[str, int]]:
    """Return the letters of one side of a layout in order, each with how many like it come before."""
    letters = side.replace(" ", "")
    return [(letter, letters[:place].count(letter)) for place, letter in enumerate(letters)]


def _moved_whole(before: Shape, after: Shape) -> Iterator[Way]:
    """Yield the ways that transpose the input's own axes and reshape, and those that end with the output's own axes."""
    yield from (Way(before, before, perm, after) for perm in permutations(range(len(before))))
    for perm in permutations(range(len(after))):
        yield Way(before, tuple(after[axis] for axis in perm), order_of(perm, range(len(after))), after)


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
    return frozenset(SharedAtom(source, out, 1) for source, out in zip(sources, outs, strict=True))


def _orders(parts: Parts) -> Iterator[Order]:
    """Yield the parts in every order inside their axes, the natural one first."""
    yield from ((row, column) for row in _arranged(_by(parts, "source")) for column in _arranged(_by(parts, "out")))


def _arranged(groups: list[list[SharedAtom]]) -> Iterator[tuple[SharedAtom, ...]]:
    """Yield the parts of all groups, each group in the first `MOST_ORDERED` of its orders."""
    for arranged in every(*(islice(permutations(group), MOST_ORDERED) for group in groups)):
        yield tuple(chain(*arranged))


def _by(parts: Parts, side: str) -> list[list[SharedAtom]]:
    """Return the parts of each axis of one side, in the order of the other side's axes."""
    ordered = sorted(sorted(parts, key=lambda part: (part.source, part.out)), key=attrgetter(side))
    return [list(group) for _, group in groupby(ordered, key=attrgetter(side))]


Order = tuple[tuple[SharedAtom, ...], tuple[SharedAtom, ...]]
"""Parts as they lie in the input, and as they lie in the output."""


# What pairs of arrays tell: one way that turns every first array into its second.
#
# Each pair is known by its atoms: the sizes and strides, in elements of the first array, that lead through it in the
# order of the second. They are cut into pieces at the cuts of both shapes. Pieces of different sizes in different
# pairs get names.


class Pair(Record):
    """The shapes of two arrays, and the atoms that lead through the first in the order of the second."""

    before: Sizes
    after: Sizes
    atoms: Atoms

    @property
    def order(self) -> tuple[Shape, tuple[int, ...]]:
        """The atoms in the order of the first array, and their order in the second."""
        ordered = sorted(self.atoms, key=lambda atom: -atom[1])
        return tuple(size for size, _ in ordered), order_of(ordered, self.atoms)


class PairAtom(Record):
    """A part that lies inside one axis of both arrays, with its stride in each."""

    source: int
    out: int
    size: int
    stride: int
    out_stride: int


class Fitting(Record):
    """The ways that turn the first array of every pair into the second, and the sizes that each pair gives to names."""

    found: Found
    sizes: tuple[Mapping[str, int], ...] = ()


def fitting_ways(pairs: Sequence[Pair], before: Shape, after: Shape) -> Fitting:
    """Return the ways between two shapes that turn the first array of every pair into the second.

    Raises `ShapeError` (usage) if an array does not have the shape that is asked for, or if that has a name which no
    array gives a size.
    """
    sizes = tuple(sizes_of(pair, before, after) for pair in pairs)
    if all_known(before + after):
        return named_way(pairs)
    known = list(zip(pairs, sizes, strict=True))
    fit = [way for way in ways(before, after) if all(_is_done_by(pair, way, put_in) for pair, put_in in known)]
    return Fitting(Found(tuple(fit), len(fit)), sizes)


def sizes_of(pair: Pair, before: Shape, after: Shape) -> Mapping[str, int]:
    """Return the sizes that a pair gives to names; raise `ShapeError` (usage) if its shapes are others."""
    stated: Conditions = ()
    for have, asked, argument in ((pair.before, before, "input"), (pair.after, after, "output")):
        try:
            sides = [each for size, dim in zip(have, asked, strict=True) for each in equal(dim, size)]
            stated += combine(sides)
        except ValueError:  # another rank, or `Never`
            message = f"an array has shape {shape_text(have)}, and {shape_text(asked)} is asked for"
            raise misuse(message, argument=argument) from None
    try:
        told = combine(stated)
    except Never:
        shapes, wanted = (" and ".join(map(shape_text, both)) for both in ((pair.before, pair.after), (before, after)))
        raise misuse(f"arrays have shapes {shapes}, which {wanted} are not", argument="input") from None
    found = {str(each.left): each.right for each in told if isinstance(each.right, int)}
    if missing := [name for name in names(before + after) if name not in found]:
        raise misuse(f"the arrays do not say which size {missing[0]} has", argument="input")
    return found


def _is_done_by(pair: Pair, way: Way, sizes: Mapping[str, int]) -> bool:
    """Say whether a way with sizes put in for names turns the first array of a pair into the second."""
    return replace(way, split=tuple(substitute(dim, sizes) for dim in way.split)).function == pair.order


def way_of(pair: Pair) -> Way:
    """Return the way that turns the first array of a pair into the second.

    >>> print(way_of(Pair((2, 3), (3, 2), ((3, 1), (2, 3)))).chain)
    2,3 | transpose 1,0
    """
    pieces = _pieces(pair)
    if pieces is None:
        return shortest(pair.before, *pair.order, pair.after)
    return _way(pair.before, pair.after, pieces, [piece.size for piece in pieces])


def named_way(pairs: Sequence[Pair]) -> Fitting:
    """Return the way that turns every first array into its second, with names for sizes that differ.

    >>> pairs = Pair((2, 3), (3, 2), ((3, 1), (2, 3))), Pair((2, 5), (5, 2), ((5, 1), (2, 5)))
    >>> [way.chain for way in named_way(pairs).found.ways]
    ['2,A | transpose 1,0']
    """
    none = Fitting(Found((), 0))
    if len({*pairs}) == 1:
        return Fitting(Found((way_of(pairs[0]),), 1), ({},) * len(pairs))
    cut = [pieces for pair in pairs if (pieces := _pieces(pair)) is not None]
    ranks = {(len(pair.before), len(pair.after)) for pair in pairs}
    if len(cut) < len(pairs) or len(ranks) > 1:
        return none
    model = max(cut, key=len)
    sizes = [found for pieces in cut if (found := _sizes_like(model, pieces)) is not None]
    if len(sizes) < len(cut):
        return none
    dims = _dims(list(zip(*sizes, strict=True)), model)
    before, after = (_merged_dims(model, dims, *side) for side in zip(SIDES, *ranks, strict=True))
    named = [(place, str(dim)) for place, dim in enumerate(dims) if not isinstance(dim, int)]
    given = tuple({name: column[place] for place, name in named} for column in sizes)
    return Fitting(Found((_way(before, after, model, dims),), 1), given)


SIDES = "source", "out"


def _merged_dims(pieces: Sequence[PairAtom], dims: Sequence[Dim], side: str, rank: int) -> Shape:
    """Return the dims of the axes that pieces make up on one side."""
    placed = [*zip([getattr(piece, side) for piece in pieces], dims, strict=True)]
    return tuple(product([dim for place, dim in placed if place == axis]) for axis in range(rank))


def _dims(sizes: Sequence[Sizes], model: Sequence[PairAtom]) -> list[Dim]:
    """Return a dim for each piece: its size, or a name of its own if the sizes differ."""
    order = sorted(range(len(model)), key=lambda place: (model[place].source, -model[place].stride))
    free = map(named_dim, chain(ascii_uppercase, (f"A{count}" for count in range(len(order)))))
    found = {place: sizes[place][0] if len({*sizes[place]}) == 1 else next(free) for place in order}
    return [found[place] for place in range(len(model))]


def _sizes_like(model: Sequence[PairAtom], pieces: Sequence[PairAtom]) -> Sizes | None:
    """Return the sizes of pieces in the order of other ones, 1 for those that are missing; None if they do not fit."""
    waiting = list(pieces)
    sizes, present = [], []
    for piece in model:
        if waiting and (waiting[0].source, waiting[0].out) == (piece.source, piece.out):
            present.append(piece)
            sizes.append(waiting.pop(0).size)
        else:
            sizes.append(1)
    return None if waiting or _by_stride(present) != _by_stride(pieces) else tuple(sizes)


def _by_stride(pieces: Sequence[PairAtom]) -> list[int]:
    """Return the places of pieces in the order of their strides in the first array."""
    return sorted(range(len(pieces)), key=lambda place: pieces[place].stride)


def _way(before: Shape, after: Shape, pieces: Sequence[PairAtom], dims: Sequence[Dim]) -> Way:
    """Return the way that moves pieces of these dims, with the dims of 1 kept in place if both shapes have as many."""
    pairs = zip(pieces, dims, strict=True)
    placed = [(piece.source, -piece.stride, piece.out, -piece.out_stride, dim) for piece, dim in pairs]
    placed += [(part.source, 0, part.out, 0, 1) for part in _ones(before, after)]
    row = sorted(placed, key=lambda each: each[:2])
    column = sorted(placed, key=lambda each: each[2:4])
    return shortest(before, tuple(each[4] for each in row), order_of(row, column), after)


def _pieces(pair: Pair) -> list[PairAtom] | None:
    """Return the pieces of a pair in the order of the second array; None if a cut falls across an atom."""
    outs: Any = cut([Atom(*atom) for atom in pair.atoms], pair.after, Known())
    parts = sorted(chain(*outs or ()), key=lambda atom: -atom.stride)
    sources: Any = cut(parts, pair.before, Known())
    if outs is None or sources is None:
        return None
    ends = {part.size * part.stride: (source, part) for source, axis in enumerate(sources) for part in axis}
    pieces, out_stride = list[PairAtom](), prod(pair.after)
    for out, axis in enumerate(outs):
        for atom in axis:
            end = atom.size * atom.stride
            while end != atom.stride:
                source, part = ends[end]
                end, out_stride = part.stride, out_stride // part.size
                pieces.append(PairAtom(source, out, part.size, part.stride, out_stride))
    return pieces


Sizes = tuple[int, ...]
Atoms = tuple[tuple[int, int], ...]
"""Sizes and strides, the outermost first."""
