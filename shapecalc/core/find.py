"""Chains of reshapes and transposes that lead from one shape to another.

The axes of the input are split into factors that, in another order, merge into the axes of the output. An axis of the
input and one of the output share at most one factor. A factor ends where one of the two axes ends, so every factor
boundary is a cut of one of the shapes. Only the splits with the fewest factors are kept. Each factor uses up an axis on
one side: axes that share factors in a cycle, as 6,10 and 4,15 do, are not split.

A pair of arrays determines the rearrangement: it is described by its atoms, which are the sizes and strides, in
elements of the first array, in the order of the second. They are split at the cuts of both shapes. Factors of different
sizes in different pairs become named sizes.
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

MOST_LISTED = 32
"""The most chains that are listed."""

MOST_ORDERED = 200
"""The most chains that are generated, to list the shortest of them first."""

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
"""Named layout changes: the name, its inverse's name, and both sides.

A word is a dim, and each letter in it a factor.
"""

Sizes = tuple[int, ...]
Atoms = tuple[tuple[int, int], ...]
"""Sizes and strides, the outermost first."""

SIDES = "source", "out"
"""The attributes of a factor that name its axis on each side."""


class SharedAtom(Record):
    """The factor that an input axis and an output axis share."""

    source: int
    out: int
    size: Dim

    def __hash__(self) -> int:
        return hash((self.source, self.out))


Parts = frozenset[SharedAtom]


class Splits(Record):
    """The splits with the fewest factors; `complete` states that there are no others."""

    all: tuple[Parts, ...]
    complete: bool


class Rest(Record):
    """A partial split: the remaining input and output dims, and the factors so far."""

    before: Shape
    after: Shape
    parts: Parts

    @property
    def least(self) -> int:
        """The fewest factors that a completion of this split can have."""
        return len(self.parts) + max(len(_open(self.before)), len(_open(self.after)))


Order = tuple[tuple[SharedAtom, ...], tuple[SharedAtom, ...]]
"""The factors in input order, and in output order."""


class Way(Record):
    """A split, a permutation of its factors, and a merge: one function of the input."""

    before: Shape
    split: Shape
    perm: tuple[int, ...]
    after: Shape
    layout: str = ""
    """The name of a well-known layout change, or an empty text."""

    @property
    def function(self) -> tuple[Shape, tuple[int, ...]]:
        """The canonical split and permutation: neighbours merged, and dims of 1 dropped.

        Two rearrangements with equal values are the same function.
        """
        kept = [axis for axis, size in enumerate(self.split) if size != 1]
        return merged(tuple(self.split[axis] for axis in kept), order_of(kept, [a for a in self.perm if a in kept]))

    @property
    def moves(self) -> int:
        """The number of transposes; moving a dim of 1 does not count."""
        moving = [axis for axis in self.perm if self.split[axis] != 1]
        return int(moving != sorted(moving))

    @property
    def moved(self) -> Shape:
        """The factors in the order in which they are merged."""
        return tuple(self.split[axis] for axis in self.perm)

    @property
    def length(self) -> int:
        """The number of stages."""
        return 1 + self.moves * ((self.split != self.before) + (self.moved != self.after))

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the chain, as text."""
        if not self.moves:
            return (_reshape(self.after),)
        stages = [] if self.split == self.before else [_reshape(self.split)]
        stages.append(f"transpose {','.join(map(str, self.perm))}")
        return (*stages, *([] if self.moved == self.after else [_reshape(self.after)]))

    @property
    def chain(self) -> str:
        """The chain with its input, as text."""
        return " | ".join((shape_text(self.before), *self.stages))

    @property
    def why(self) -> str:
        """A sentence that explains the rearrangement."""
        name = f"{self.layout}: " if self.layout else ""
        if not self.moves:
            return f"{name}the elements stay in order: {regrouping(self.before, self.after)}"
        split = "" if self.split == self.before else f"split into {shape_text(self.split)}, "
        merge = "" if self.moved == self.after else f", merge into {shape_text(self.after)}"
        return f"{name}{split}move to {shape_text(self.moved)}{merge}"

    def as_json(self) -> dict[str, object]:
        """Return the rearrangement as the JSON object that the manual documents."""
        return {"chain": self.chain, "moves": self.moves, "why": self.why}


class Found(Record):
    """The chains from one shape to another, with the number of distinct functions."""

    ways: tuple[Way, ...]
    fits: int
    complete: bool = True
    """Whether no other chain exists within the bounds."""
    bounds: str = "one split, one transpose and one merge"
    """The bounds of the search, in words."""
    other: Way | None = None
    """A rearrangement within the bounds that the search did not list, if known."""

    def as_json(self) -> dict[str, object]:
        """Return the search result as the JSON object that the manual documents."""
        search = {"fits": self.fits, "complete": self.complete, "bounds": self.bounds}
        return {"chains": [way.as_json() for way in self.ways], **search}


class Pair(Record):
    """The shapes of two arrays, and the first one's atoms in the second one's order."""

    before: Sizes
    after: Sizes
    atoms: Atoms

    @property
    def order(self) -> tuple[Shape, tuple[int, ...]]:
        """The atoms in the order of the first array, and their order in the second."""
        ordered = sorted(self.atoms, key=lambda atom: -atom[1])
        return tuple(size for size, _ in ordered), order_of(ordered, self.atoms)


class PairAtom(Record):
    """A factor inside one axis of each array, with its stride in each."""

    source: int
    out: int
    size: int
    stride: int
    out_stride: int


class Fitting(Record):
    """The rearrangements that fit every pair, and the sizes of names in each pair."""

    found: Found
    sizes: tuple[Mapping[str, int], ...] = ()


def splits(before: Shape, after: Shape) -> Splits:
    """Split the axes of an input into factors that make up the axes of an output.

    Both shapes have the same volume.

    >>> [sorted((part.source, part.out, part.size) for part in parts) for parts in splits((6, 4), (3, 8)).all]
    [[(0, 0, 3), (0, 1, 2), (1, 1, 4)]]
    """
    known = Known(before + after)
    stack = [_with_own_names_matched(Rest(before, after, frozenset()), known)]
    seen, best = set[Parts](), dict[Parts, None]()
    work = 0
    while stack:
        partial = stack[-1]
        branches = len(_open(partial.before)) * len(_open(partial.after))
        work += len(before) + len(after) + branches * (1 + (len(before) + len(after)) // 64)
        if work > MOST_TRIED:
            break
        stack.pop()
        if partial.parts in seen or (best and partial.least > len(next(iter(best)))):
            continue
        seen.add(partial.parts)
        if partial.least == len(partial.parts):
            if best and partial.least < len(next(iter(best))):
                best.clear()
            best[partial.parts] = None
        stack += sorted(_next(partial, known), key=lambda longer: (-longer.least, -_last(longer, partial)))
    return Splits(tuple(best), not stack)


def in_order(before: Shape, after: Shape) -> Parts | None:
    """Return the split that keeps the factors in order; None if the axes mix.

    >>> sorted((part.source, part.out, part.size) for part in in_order((2, 6), (4, 3)))
    [(0, 0, 2), (1, 0, 2), (1, 1, 3)]
    """
    origins = reshaped(before, after)
    atoms = [(atom, out) for out, origin in enumerate(origins) for atom in origin or () if isinstance(atom, AxisAtom)]
    shared = [SharedAtom(atom.axis, out, atom.size) for atom, out in atoms if atom.size != 1]
    return None if mixing(origins) else frozenset(shared)


def _open(shape: Shape) -> list[int]:
    """Return the axes with a remaining dim other than 1."""
    return [axis for axis, dim in enumerate(shape) if dim != 1]


def _last(rest: Rest, before: Rest) -> int:
    (part,) = rest.parts - before.parts
    return part.source * len(before.after) + part.out


def _common(a: Dim, b: Dim, known: Known) -> Dim | None:
    """Return the dim that divides the other for all sizes; None if neither does."""
    if a == b or known.divides(a, b):
        return a
    return b if known.divides(b, a) else None


def _with_own_names_matched(rest: Rest, known: Known) -> Rest:
    """Match the axes whose shared name occurs in one axis of each shape."""
    sources, outs = (_axes_of_names(shape) for shape in (rest.before, rest.after))
    for name in [name for name in sources if name in outs]:
        if len(sources[name]) == len(outs[name]) == 1:
            (source,), (out,) = sources[name], outs[name]
            size = _common(rest.before[source], rest.after[out], known)
            if size is not None and size != 1 and name in names((size,)):
                rest = _matched(rest, source, out, size)
    return rest


def _axes_of_names(shape: Shape) -> dict[str, list[int]]:
    """Return the axes of each name."""
    axes: dict[str, list[int]] = {}
    for axis, dim in enumerate(shape):
        for name in names((dim,)):
            axes.setdefault(name, []).append(axis)
    return axes


def _next(rest: Rest, known: Known) -> Iterator[Rest]:
    """Yield each partial split with one more factor."""
    for source, out in every(_open(rest.before), _open(rest.after)):
        size = _common(rest.before[source], rest.after[out], known)
        if size is not None:
            yield _matched(rest, source, out, size)


def _matched(rest: Rest, source: int, out: int, size: Dim) -> Rest:
    """Return the partial split after a factor of `size` is taken from two axes."""
    before, after = list(rest.before), list(rest.after)
    before[source], after[out] = quotient(before[source], size), quotient(after[out], size)
    return Rest(tuple(before), tuple(after), rest.parts | {SharedAtom(source, out, size)})


def named_shape(value: object, argument: str) -> Shape:
    """Parse a shape, from a text or from dims, in which no dim is unknown.

    Raises `ShapeError` (usage) for anything else; `argument` is the name of the argument in the error.
    """
    shape = read_shape(value, argument) if isinstance(value, str) else shape_of(value, argument)
    if any(name.startswith("?") for name in names(shape)):
        raise misuse("? is an unknown size, so no chain can ask for it", "write a name", argument=argument)
    return shape


def ways_between(before: Shape, after: Shape) -> Found:
    """Return the chains from one shape to another, the simplest first.

    Candidates are the reshape alone, and every split into the fewest factors with one transpose and one merge. There
    are none if the volumes differ.

    >>> found = ways_between((2, 3, 4), (6, 4))
    >>> found.fits, [way.chain for way in found.ways]
    (2, ['2,3,4 | reshape 6,4', '2,3,4 | transpose 1,0,2 | reshape 6,4'])
    """
    if product(before) != product(after):
        return Found((), 0)
    if 0 in before:
        return Found((_still(before, after),), 1)
    best = splits(before, after)
    chains = list(_ways(before, after, best))
    fits = int(in_order(before, after) not in best.all)
    for factors in best.all:
        fits += prod(factorial(len(group)) for group in (*_by(factors, "source"), *_by(factors, "out")))
    fits = len(chains) if fits <= MOST_ORDERED else fits
    functions = {way.function for way in chains}
    tried = list(islice(_moved_whole(before, after), MOST_ORDERED + 1))
    other = next((way for way in tried if way.function not in functions), None)
    complete = best.complete and other is None and fits <= MOST_LISTED and len(tried) <= MOST_ORDERED
    least = max([1, *map(len, best.all)])
    bounds = f"a transpose and a reshape, known layouts, splits into {number_text(least, 'part', 'parts')}"
    return Found(tuple(chains[:MOST_LISTED]), fits, complete, bounds, other)


def ways(before: Shape, after: Shape) -> Iterator[Way]:
    """Yield rearrangements from one shape to another, at most `MAX_ORDERS`.

    There are none if the volumes differ.
    """
    if product(before) != product(after):
        return iter(())
    return _ways(before, after, splits(before, after))


def _still(before: Shape, after: Shape) -> Way:
    """Return the rearrangement that is a reshape alone."""
    return Way(before, before, tuple(range(len(before))), after)


def _ways(before: Shape, after: Shape, found: Splits) -> Iterator[Way]:
    """Yield the reshape alone, then named layouts and splits, the shortest first.

    If the shapes differ, named layouts come first.
    """
    ones = _ones(before, after)
    orders = (order for factors in found.all for order in _orders(factors | ones))
    from_splits = [
        shortest(before, tuple(factor.size for factor in row), order_of(row, column), after)
        for row, column in islice(orders, MOST_ORDERED)
    ]
    named = {way.function: way for way in named_ways(before, after)}
    unnamed = [_still(before, after), *sorted((way for way in from_splits if way.moves), key=lambda way: way.length)]
    result = [*named.values(), *(way for way in unnamed if way.function not in named)]
    yield from sorted(result, key=lambda way: way.moves) if before == after else result


def named_ways(before: Shape, after: Shape) -> list[Way]:
    """Return the well-known layout changes between two shapes, each function once.

    >>> [(way.layout, way.chain) for way in named_ways((2, 3, 8, 8), (2, 4, 48))][:1]
    [('image to patches (ViT)', '2,3,8,8 | reshape 2,3,2,4,2,4 | transpose 0,2,4,3,5,1 | reshape 2,4,48')]
    """
    result: dict[object, Way] = {}
    inverses = [(name, right, left) for _, name, left, right in LAYOUTS]
    for name, source, out in (*((name, left, right) for name, _, left, right in LAYOUTS), *inverses):
        row, column = (_letters(side) for side in (source, out))
        dims = [product(named_dim(f"@{letter}") for letter in word) for word in f"{source} {out}".split()]
        matcher = Matcher(ShapePattern(tuple(dims)))
        fits = len(source.split()) == len(before) and not matcher.problem((*before, *after))
        if fits and all(matcher.sizes.get(f"@{letter}") != 1 for letter in "hwprngtd"):
            split = tuple(matcher.sizes[f"@{letter}"] for letter, _ in row)
            way = replace(shortest(before, split, order_of(row, column), after), layout=name)
            result.setdefault(way.function, way)
    return list(result.values())


def _letters(side: str) -> list[tuple[str, int]]:
    """Return the letters of a layout with their occurrence counts so far."""
    letters = side.replace(" ", "")
    return [(letter, letters[:index].count(letter)) for index, letter in enumerate(letters)]


def _moved_whole(before: Shape, after: Shape) -> Iterator[Way]:
    """Yield rearrangements that transpose whole input axes, or whole output axes."""
    yield from (Way(before, before, perm, after) for perm in permutations(range(len(before))))
    for perm in permutations(range(len(after))):
        yield Way(before, tuple(after[axis] for axis in perm), order_of(perm, range(len(after))), after)


def order_of(row: Sequence[object], column: Iterable[object]) -> tuple[int, ...]:
    """Return the permutation from `source` to `target`, as indices in `source`.

    >>> order_of("abc", "cab")
    (2, 0, 1)
    """
    index_of = {value: index for index, value in enumerate(row)}
    return tuple(index_of[value] for value in column)


def shortest(before: Shape, split: Shape, perm: tuple[int, ...], after: Shape) -> Way:
    """Return the rearrangement of a split, with neighbours merged if that is shorter."""
    fine, coarse = Way(before, split, perm, after), Way(before, *merged(split, perm), after)
    return min((fine, coarse), key=lambda way: way.length)


def merged(split: Shape, perm: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]]:
    """Merge factors that stay neighbours under a permutation.

    >>> merged((2, 3, 4), (2, 0, 1))
    ((6, 4), (1, 0))
    """
    starts = [axis for i, axis in enumerate(perm) if not i or perm[i - 1] + 1 != axis]
    firsts = sorted(starts)
    sizes = tuple(product(split[first:end]) for first, end in pairwise([*firsts, len(split)]))
    return sizes, order_of(firsts, starts)


def _reshape(shape: Shape) -> str:
    return f"reshape {shape_text(shape)}{' --allowzero' * (0 in shape)}"


def _ones(before: Shape, after: Shape) -> Parts:
    """Pair the dims of 1 of two shapes as factors; none if the counts differ."""
    sources, outs = ([axis for axis, dim in enumerate(shape) if dim == 1] for shape in (before, after))
    if len(sources) != len(outs):
        return frozenset()
    return frozenset(SharedAtom(source, out, 1) for source, out in zip(sources, outs, strict=True))


def _orders(parts: Parts) -> Iterator[Order]:
    """Yield the factors in every order within their axes, the natural one first."""
    yield from ((row, column) for row in _arranged(_by(parts, "source")) for column in _arranged(_by(parts, "out")))


def _arranged(groups: list[list[SharedAtom]]) -> Iterator[tuple[SharedAtom, ...]]:
    """Yield the factors of all groups, each in at most `MAX_ORDERS` orders."""
    for orders in every(*(islice(permutations(group), MOST_ORDERED) for group in groups)):
        yield tuple(chain(*orders))


def _by(parts: Parts, side: str) -> list[list[SharedAtom]]:
    """Group factors by their axis on one side, in the order of the other side's axes."""
    ordered = sorted(sorted(parts, key=lambda factor: (factor.source, factor.out)), key=attrgetter(side))
    return [list(group) for _, group in groupby(ordered, key=attrgetter(side))]


def fitting_ways(pairs: Sequence[Pair], before: Shape, after: Shape) -> Fitting:
    """Return the rearrangements between two shapes that map the arrays of every pair.

    Raises `ShapeError` (usage) if an array does not have the requested shape, or if no array determines the size of a
    name.
    """
    sizes = tuple(sizes_of(pair, before, after) for pair in pairs)
    if all_known(before + after):
        return named_way(pairs)
    known = list(zip(pairs, sizes, strict=True))
    fitting = [way for way in ways(before, after) if all(_is_done_by(pair, way, values) for pair, values in known)]
    return Fitting(Found(tuple(fitting), len(fitting)), sizes)


def sizes_of(pair: Pair, before: Shape, after: Shape) -> Mapping[str, int]:
    """Return the sizes that a pair gives to names.

    Raises `ShapeError` (usage) if the arrays do not have the requested shapes.
    """
    stated: Conditions = ()
    for actual, requested, argument in ((pair.before, before, "input"), (pair.after, after, "output")):
        try:
            equations = [each for size, dim in zip(actual, requested, strict=True) for each in equal(dim, size)]
            stated += combine(equations)
        except ValueError:  # another rank, or `Never`
            message = f"an array has shape {shape_text(actual)}, and {shape_text(requested)} is asked for"
            raise misuse(message, argument=argument) from None
    try:
        conditions = combine(stated)
    except Never:
        pairs = (pair.before, pair.after), (before, after)
        shapes, requests = (" and ".join(map(shape_text, both)) for both in pairs)
        raise misuse(f"arrays have shapes {shapes}, which {requests} are not", argument="input") from None
    sizes = {str(condition.left): condition.right for condition in conditions if isinstance(condition.right, int)}
    if missing := [name for name in names(before + after) if name not in sizes]:
        raise misuse(f"the arrays do not say which size {missing[0]} has", argument="input")
    return sizes


def _is_done_by(pair: Pair, way: Way, sizes: Mapping[str, int]) -> bool:
    """Return whether a rearrangement, at these sizes, maps one array to the other."""
    return replace(way, split=tuple(substitute(dim, sizes) for dim in way.split)).function == pair.order


def way_of(pair: Pair) -> Way:
    """Return the rearrangement that maps the first array of a pair to the second.

    >>> print(way_of(Pair((2, 3), (3, 2), ((3, 1), (2, 3)))).chain)
    2,3 | transpose 1,0
    """
    pieces = _pieces(pair)
    if pieces is None:
        return shortest(pair.before, *pair.order, pair.after)
    return _way(pair.before, pair.after, pieces, [piece.size for piece in pieces])


def named_way(pairs: Sequence[Pair]) -> Fitting:
    """Return the rearrangement that fits every pair, with names for differing sizes.

    >>> pairs = Pair((2, 3), (3, 2), ((3, 1), (2, 3))), Pair((2, 5), (5, 2), ((5, 1), (2, 5)))
    >>> [way.chain for way in named_way(pairs).found.ways]
    ['2,A | transpose 1,0']
    """
    none = Fitting(Found((), 0))
    if len({*pairs}) == 1:
        return Fitting(Found((way_of(pairs[0]),), 1), ({},) * len(pairs))
    factors_of_pairs = [factors for pair in pairs if (factors := _pieces(pair)) is not None]
    ranks = {(len(pair.before), len(pair.after)) for pair in pairs}
    if len(factors_of_pairs) < len(pairs) or len(ranks) > 1:
        return none
    model = max(factors_of_pairs, key=len)
    sizes = [aligned for factors in factors_of_pairs if (aligned := _sizes_like(model, factors)) is not None]
    if len(sizes) < len(factors_of_pairs):
        return none
    dims = _dims(list(zip(*sizes, strict=True)), model)
    before, after = (_merged_dims(model, dims, *side) for side in zip(SIDES, *ranks, strict=True))
    symbols = [(index, str(dim)) for index, dim in enumerate(dims) if not isinstance(dim, int)]
    values = tuple({name: column[index] for index, name in symbols} for column in sizes)
    return Fitting(Found((_way(before, after, model, dims),), 1), values)


def _merged_dims(pieces: Sequence[PairAtom], dims: Sequence[Dim], side: str, rank: int) -> Shape:
    """Return the product of the factors of each axis of one side."""
    rows = [*zip([getattr(factor, side) for factor in pieces], dims, strict=True)]
    return tuple(product([dim for position, dim in rows if position == axis]) for axis in range(rank))


def _dims(sizes: Sequence[Sizes], model: Sequence[PairAtom]) -> list[Dim]:
    """Return a dim for each factor: its size, or a new name if the sizes differ."""
    order = sorted(range(len(model)), key=lambda index: (model[index].source, -model[index].stride))
    new_names = map(named_dim, chain(ascii_uppercase, (f"A{count}" for count in range(len(order)))))
    dims = {index: sizes[index][0] if len({*sizes[index]}) == 1 else next(new_names) for index in order}
    return [dims[index] for index in range(len(model))]


def _sizes_like(model: Sequence[PairAtom], pieces: Sequence[PairAtom]) -> Sizes | None:
    """Return the sizes of `factors` aligned with `model`; None if they do not fit.

    A factor that is missing has size 1.
    """
    remaining = list(pieces)
    sizes, present = [], []
    for factor in model:
        if remaining and (remaining[0].source, remaining[0].out) == (factor.source, factor.out):
            present.append(factor)
            sizes.append(remaining.pop(0).size)
        else:
            sizes.append(1)
    return None if remaining or _by_stride(present) != _by_stride(pieces) else tuple(sizes)


def _by_stride(pieces: Sequence[PairAtom]) -> list[int]:
    """Return the indices of factors by their strides in the first array."""
    return sorted(range(len(pieces)), key=lambda index: pieces[index].stride)


def _way(before: Shape, after: Shape, pieces: Sequence[PairAtom], dims: Sequence[Dim]) -> Way:
    """Return the rearrangement of these factors.

    Dims of 1 stay in order if both shapes have equally many.
    """
    pairs = zip(pieces, dims, strict=True)
    rows = [(factor.source, -factor.stride, factor.out, -factor.out_stride, dim) for factor, dim in pairs]
    rows += [(factor.source, 0, factor.out, 0, 1) for factor in _ones(before, after)]
    in_input_order = sorted(rows, key=lambda row: row[:2])
    in_output_order = sorted(rows, key=lambda row: row[2:4])
    perm = order_of(in_input_order, in_output_order)
    return shortest(before, tuple(dim for *_, dim in in_input_order), perm, after)


def _pieces(pair: Pair) -> list[PairAtom] | None:
    """Return the factors of a pair in output order; None if a cut splits an atom."""
    outs: Any = cut([Atom(*atom) for atom in pair.atoms], pair.after, Known())
    parts = sorted(chain(*outs or ()), key=lambda atom: -atom.stride)
    sources: Any = cut(parts, pair.before, Known())
    if outs is None or sources is None:
        return None
    atom_by_end = {part.size * part.stride: (source, part) for source, axis in enumerate(sources) for part in axis}
    factors, out_stride = list[PairAtom](), prod(pair.after)
    for out, axis in enumerate(outs):
        for atom in axis:
            end = atom.size * atom.stride
            while end != atom.stride:
                source, part = atom_by_end[end]
                end, out_stride = part.stride, out_stride // part.size
                factors.append(PairAtom(source, out, part.size, part.stride, out_stride))
    return factors
