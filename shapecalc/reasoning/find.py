"""Search for chains of reshapes and transposes that convert one shape to another.

A rearrangement splits the axes of the input into factors by a reshape, permutes the factors by a transpose, and merges
them into the axes of the output by a reshape. The search matches one input axis with one output axis at a time, and
takes the smaller of their remaining dims as a factor if it divides the larger dim. Shapes such as 6,10 and 4,15, in
which no dim divides another, have no split. Only the splits with the fewest factors are returned.

A pair of an input array and an output array determines a rearrangement, which is described by atoms. An atom is a size
with a stride in the first array; the atoms are in the order of the second array. The atoms are split into factors at
the axis boundaries of both shapes. A factor whose size differs between pairs becomes a symbolic size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, pairwise, permutations
from itertools import product as every
from math import factorial, prod
from operator import attrgetter
from string import ascii_uppercase
from typing import Any

from shapecalc.core.conditions import Assumptions, Conditions, Unsatisfiable, require_equal, simplify_conditions
from shapecalc.core.dims import (
    Dim,
    IntTuple,
    Shape,
    dim_names,
    is_always_integral,
    is_concrete,
    named_dim,
    product,
    quotient,
    substitute,
)
from shapecalc.core.layout import Atom, split_atoms
from shapecalc.core.limits import MAX_FIND_PAIRS
from shapecalc.core.origins import AxisAtom, compute_reshape_origins, describe_reshape, find_mixed_dims
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import TypedShape, dim_text, format_count, parse_typed_shape, shape_text
from shapecalc.core.values import to_shape
from shapecalc.reading.pattern import Matcher, ShapePattern

MAX_LISTED_CHAINS = 32
"""The maximum number of chains that a search returns."""

MAX_ORDERS = 200
"""The maximum number of orders of the factors that are generated before the chains are sorted by length."""

LAYOUT_CHANGES = (
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
    ("parts split, as queries, keys and values", "parts joined", "b t nd", "n b t d"),
    ("matrix to tiles", "tiles to matrix", "hp wq", "h w p q"),
    ("matrix to tiles", "tiles to matrix", "hp wq", "hw p q"),
    ("images to tiles", "tiles to images", "b hp wq", "bhw p q"),
    ("images to tiles", "tiles to images", "b hp wq", "b h w p q"),
    ("picture to patches", "patches to picture", "c hp wp", "hw ppc"),
    ("NHWC picture to patches", "patches to NHWC picture", "hp wp c", "hw ppc"),
    ("NHWC picture to patches", "patches to NHWC picture", "hp wp c", "hw p p c"),
)
"""Well-known layout changes: name, name of the inverse, input layout, output layout.

Each word of a layout is an axis, and each letter of the word is a factor of the axis: `hp` is the product of h and p.
"""

SizesAndStrides = tuple[tuple[int, int], ...]
"""Pairs of a size and a stride, the outermost pair first."""

AXIS_ATTRIBUTES = "source", "out"
"""The attributes of a factor that contain its input axis and its output axis."""


class SharedFactor(Record):
    """A factor of one input axis and one output axis."""

    source: int
    out: int
    size: Dim

    def __hash__(self) -> int:
        return hash((self.source, self.out))


SharedFactors = frozenset[SharedFactor]


class FactorSplits(Record):
    """The splits of two shapes into the fewest shared factors.

    If `complete` is False, the search was stopped early, and there may be other splits with as few factors.
    """

    candidates: tuple[SharedFactors, ...]
    complete: bool


class PartialSplit(Record):
    """A partial split: the remaining dims of both shapes, and the factors so far."""

    before: Shape
    after: Shape
    factors: SharedFactors

    @property
    def min_factor_count(self) -> int:
        """A lower bound on the number of factors of a completed split."""
        return len(self.factors) + max(len(_find_unfinished_axes(self.before)), len(_find_unfinished_axes(self.after)))


FactorOrder = tuple[tuple[SharedFactor, ...], tuple[SharedFactor, ...]]
"""The factors in input order, and in output order."""


class Rearrangement(Record):
    """A reshape that splits axes, a transpose, and a reshape that merges axes.

    The transpose permutes the factors of `split` by `perm`.
    """

    before: Shape
    split: Shape
    perm: tuple[int, ...]
    after: Shape
    layout: str = ""
    """The name of a well-known layout change; empty for any other rearrangement."""

    @property
    def canonical_form(self) -> tuple[Shape, tuple[int, ...]]:
        """The split shape and the permutation in canonical form.

        In canonical form, dims of 1 are dropped, and factors that stay neighbours are merged. Two rearrangements are
        the same function if their canonical forms are equal.
        """
        kept = [axis for axis, size in enumerate(self.split) if size != 1]
        return merge_neighbours(
            tuple(self.split[axis] for axis in kept), find_permutation(kept, [a for a in self.perm if a in kept])
        )

    @property
    def transpose_count(self) -> int:
        """The number of transposes, 0 or 1.

        A transpose that moves only dims of 1 is not counted.
        """
        moving = [axis for axis in self.perm if self.split[axis] != 1]
        return int(moving != sorted(moving))

    @property
    def transposed_shape(self) -> Shape:
        """The shape after the transpose: the factors in output order."""
        return tuple(self.split[axis] for axis in self.perm)

    @property
    def stage_count(self) -> int:
        """The number of stages."""
        return 1 + self.transpose_count * ((self.split != self.before) + (self.transposed_shape != self.after))

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the chain, in the syntax of the command line."""
        if not self.transpose_count:
            return (_format_reshape(self.after),)
        stages = [] if self.split == self.before else [_format_reshape(self.split)]
        stages.append(f"transpose {','.join(map(str, self.perm))}")
        return (*stages, *([] if self.transposed_shape == self.after else [_format_reshape(self.after)]))

    @property
    def chain(self) -> str:
        """The chain with its input, in the syntax of the command line."""
        return " | ".join((shape_text(self.before), *self.stages))

    @property
    def explanation(self) -> str:
        """A sentence that describes the rearrangement.

        For example, `split into 2,3,4, move to 2,4,3`.
        """
        name = f"{self.layout}: " if self.layout else ""
        if not self.transpose_count:
            return f"{name}the elements stay in order: {describe_reshape(self.before, self.after)}"
        split = "" if self.split == self.before else f"split into {shape_text(self.split)}, "
        merge = "" if self.transposed_shape == self.after else f", merge into {shape_text(self.after)}"
        return f"{name}{split}move to {shape_text(self.transposed_shape)}{merge}"

    def as_json(self) -> dict[str, object]:
        """Return the rearrangement as the JSON object that the manual documents."""
        return {"chain": self.chain, "moves": self.transpose_count, "why": self.explanation}


class ChainSearchResult(Record):
    """The rearrangements that a search found between two shapes.

    `fits` is their number; `ways` contains at most `MAX_LISTED_CHAINS` of them.
    """

    ways: tuple[Rearrangement, ...]
    fits: int
    complete: bool = True
    """Whether `ways` contains every rearrangement within `bounds`."""
    bounds: str = "one split, one transpose and one merge"
    """The limits of the search, in words."""
    other: Rearrangement | None = None
    """A rearrangement outside the limits of the search, or None if none is known."""

    def __bool__(self) -> bool:
        return bool(self.ways)

    def __repr__(self) -> str:
        return f"ChainSearchResult({self.fits} found: {', '.join(way.chain for way in self.ways) or 'none'})"

    def as_json(self) -> dict[str, object]:
        """Return the search result as the JSON object that the manual documents."""
        search = {"fits": self.fits, "complete": self.complete, "bounds": self.bounds}
        return {"chains": [way.as_json() for way in self.ways], **search}


class ArrayPair(Record):
    """The shapes of two arrays, and the atoms that map the first array to the second.

    An atom is a size with a stride in the first array. The atoms are in the order of the second array.
    """

    before: IntTuple
    after: IntTuple
    atoms: SizesAndStrides

    @property
    def order(self) -> tuple[Shape, tuple[int, ...]]:
        """The sizes of the atoms in input order, and the permutation to output order."""
        ordered = sorted(self.atoms, key=lambda atom: -atom[1])
        return tuple(size for size, _ in ordered), find_permutation(ordered, self.atoms)


class PairFactor(Record):
    """A factor of one axis of each array, with its stride in each array."""

    source: int
    out: int
    size: int
    stride: int
    out_stride: int


class PairSearchResult(Record):
    """The rearrangements that fit several pairs of arrays.

    A rearrangement fits a pair if it maps the first array to the second.
    """

    search: ChainSearchResult
    sizes: tuple[Mapping[str, int], ...] = ()
    """For each pair, the values of the symbolic sizes."""


def find_splits(before: Shape, after: Shape) -> FactorSplits:
    """Split the axes of an input into factors that make up the axes of an output.

    Both shapes have the same element count.

    >>> splits = find_splits((6, 4), (3, 8))
    >>> [sorted((part.source, part.out, part.size) for part in parts) for parts in splits.candidates]
    [[(0, 0, 3), (0, 1, 2), (1, 1, 4)]]
    """
    known = Assumptions(before + after)
    stack = [_match_unique_symbols(PartialSplit(before, after, frozenset()), known)]
    seen, best = set[SharedFactors](), dict[SharedFactors, None]()
    work = 0
    while stack:
        partial = stack[-1]
        branches = len(_find_unfinished_axes(partial.before)) * len(_find_unfinished_axes(partial.after))
        work += len(before) + len(after) + branches * (1 + (len(before) + len(after)) // 64)
        if work > MAX_FIND_PAIRS:
            break
        stack.pop()
        if partial.factors in seen or (best and partial.min_factor_count > len(next(iter(best)))):
            continue
        seen.add(partial.factors)
        if partial.min_factor_count == len(partial.factors):
            if best and partial.min_factor_count < len(next(iter(best))):
                best.clear()
            best[partial.factors] = None
        stack += sorted(
            _extend_split(partial, known),
            key=lambda longer: (-longer.min_factor_count, -_factor_sort_key(longer, partial)),
        )
    return FactorSplits(tuple(best), not stack)


def find_order_preserving_split(before: Shape, after: Shape) -> SharedFactors | None:
    """Return the factors of a reshape that keeps the order of the elements, or None.

    None means that the dims of the output are not products of factors of the input axes.

    >>> sorted((part.source, part.out, part.size) for part in find_order_preserving_split((2, 6), (4, 3)))
    [(0, 0, 2), (1, 0, 2), (1, 1, 3)]
    """
    origins = compute_reshape_origins(before, after)
    atoms = [(atom, out) for out, origin in enumerate(origins) for atom in origin or () if isinstance(atom, AxisAtom)]
    shared = [SharedFactor(atom.axis, out, atom.size) for atom, out in atoms if atom.size != 1]
    return None if find_mixed_dims(origins) else frozenset(shared)


def _find_unfinished_axes(shape: Shape) -> list[int]:
    """Return the axes whose remaining size is not 1."""
    return [axis for axis, dim in enumerate(shape) if dim != 1]


def _factor_sort_key(split: PartialSplit, previous: PartialSplit) -> int:
    """Return the sort key of the factor that `split` adds to `previous`."""
    (part,) = split.factors - previous.factors
    return part.source * len(previous.after) + part.out


def _find_exact_divisor(first: Dim, second: Dim, known: Assumptions) -> Dim | None:
    """Return the one of two dims that divides the other for all sizes, or None."""
    if first == second or known.divides(first, second):
        return first
    return second if known.divides(second, first) else None


def _match_unique_symbols(split: PartialSplit, known: Assumptions) -> PartialSplit:
    """Take a factor from each pair of axes that a symbolic size connects.

    A symbolic size connects two axes if it occurs in exactly one axis of each shape.
    """
    sources, outs = (_axes_by_name(shape) for shape in (split.before, split.after))
    for name in [name for name in sources if name in outs]:
        if len(sources[name]) == len(outs[name]) == 1:
            (source,), (out,) = sources[name], outs[name]
            size = _find_exact_divisor(split.before[source], split.after[out], known)
            if size is not None and size != 1 and name in dim_names((size,)):
                split = _take_factor(split, source, out, size)
    return split


def _axes_by_name(shape: Shape) -> dict[str, list[int]]:
    axes: dict[str, list[int]] = {}
    for axis, dim in enumerate(shape):
        for name in dim_names((dim,)):
            axes.setdefault(name, []).append(axis)
    return axes


def _extend_split(split: PartialSplit, known: Assumptions) -> Iterator[PartialSplit]:
    """Yield the partial splits that extend `split` by one factor."""
    for source, out in every(_find_unfinished_axes(split.before), _find_unfinished_axes(split.after)):
        size = _find_exact_divisor(split.before[source], split.after[out], known)
        if size is not None:
            yield _take_factor(split, source, out, size)


def _take_factor(split: PartialSplit, input_axis: int, output_axis: int, size: Dim) -> PartialSplit:
    """Divide an input axis and an output axis by `size`, and add it to the factors."""
    before, after = list(split.before), list(split.after)
    before[input_axis], after[output_axis] = quotient(before[input_axis], size), quotient(after[output_axis], size)
    return PartialSplit(tuple(before), tuple(after), split.factors | {SharedFactor(input_axis, output_axis, size)})


class ShapePair(Record):
    """The two shapes of a search, with notes on how they were interpreted.

    An unknown dim of the output is replaced by its inferred size.
    """

    before: Shape
    after: Shape
    notes: tuple[str, ...] = ()


def parse_shape_pair(before: object, after: object) -> ShapePair:
    """Parse the input shape and the output shape of a search.

    One size of the output may be unknown: it is inferred from the element count. Raises `ShapeError` (usage) for
    any other unknown size.

    >>> parse_shape_pair("2,3,4", "-1,6")
    ShapePair(before=(2, 3, 4), after=(4, 6), notes=('the unknown size of the output is 4',))
    """
    pairs = [_parse_shape_or_sequence(value, name) for value, name in ((before, "input"), (after, "output"))]
    notes = [note for shape, name in pairs for note in shape.notes]
    notes += [f"the element type {shape.dtype} was not used" for shape, _ in pairs if shape.dtype]
    (start, _), (end, _) = pairs
    unknown = [axis for axis, dim in enumerate(end.dims) if _has_unknown_size(dim)]
    if any(map(_has_unknown_size, start.dims)) or len(unknown) > 1:
        argument = "output" if not any(map(_has_unknown_size, start.dims)) else "input"
        raise usage_error("? is an unknown size, so no chain can ask for it", "write a name", argument=argument)
    if not unknown:
        return ShapePair(start.dims, end.dims, tuple(notes))
    (axis,) = unknown
    known = product([dim for index, dim in enumerate(end.dims) if index != axis])
    size = quotient(product(start.dims), known) if known != 0 else None
    if size is None or not is_always_integral(size):
        message = f"no size fits: {dim_text(product(start.dims))} elements, and the other dims hold {dim_text(known)}"
        raise usage_error(message, "write the size, or a name", argument="output", index=axis)
    notes = [note for note in notes if not note.startswith(("-1 is", "None is"))]
    dims = (*end.dims[:axis], size, *end.dims[axis + 1 :])
    return ShapePair(start.dims, dims, (*notes, f"the unknown size of the output is {dim_text(size)}"))


def _parse_shape_or_sequence(value: object, argument: str) -> tuple[TypedShape, str]:
    typed = parse_typed_shape(value, argument) if isinstance(value, str) else TypedShape(to_shape(value, argument))
    return typed, argument


def _has_unknown_size(dim: Dim) -> bool:
    return any(name.startswith("?") for name in dim_names((dim,)))


def search_chains(before: Shape, after: Shape) -> ChainSearchResult:
    """Search for chains from one shape to another, the simplest first.

    The candidates are a single reshape, the well-known layout changes, and all splits into the fewest factors, followed
    by one transpose and one merge. Shapes with different element counts have no candidates.

    >>> found = search_chains((2, 3, 4), (6, 4))
    >>> found.fits, [way.chain for way in found.ways]
    (2, ['2,3,4 | reshape 6,4', '2,3,4 | transpose 1,0,2 | reshape 6,4'])
    """
    if product(before) != product(after):
        return ChainSearchResult((), 0)
    if 0 in before:
        return ChainSearchResult((_make_plain_reshape(before, after),), 1)
    best = find_splits(before, after)
    chains = list(_iter_rearrangements(before, after, best))
    fits = int(find_order_preserving_split(before, after) not in best.candidates)
    for factors in best.candidates:
        fits += prod(
            factorial(len(group)) for group in (*_group_by_axis(factors, "source"), *_group_by_axis(factors, "out"))
        )
    fits = len(chains) if fits <= MAX_ORDERS else fits
    functions = {way.canonical_form for way in chains}
    tried = list(islice(_iter_whole_axis_transposes(before, after), MAX_ORDERS + 1))
    other = next((way for way in tried if way.canonical_form not in functions), None)
    complete = best.complete and other is None and fits <= MAX_LISTED_CHAINS and len(tried) <= MAX_ORDERS
    least = max([1, *map(len, best.candidates)])
    bounds = f"a transpose and a reshape, known layouts, splits into {format_count(least, 'part', 'parts')}"
    return ChainSearchResult(tuple(chains[:MAX_LISTED_CHAINS]), fits, complete, bounds, other)


def iter_rearrangements(before: Shape, after: Shape) -> Iterator[Rearrangement]:
    """Yield at most `MAX_ORDERS` rearrangements from one shape to another.

    Yields nothing if the element counts differ.
    """
    if product(before) != product(after):
        return iter(())
    return _iter_rearrangements(before, after, find_splits(before, after))


def _make_plain_reshape(before: Shape, after: Shape) -> Rearrangement:
    return Rearrangement(before, before, tuple(range(len(before))), after)


def _iter_rearrangements(before: Shape, after: Shape, splits: FactorSplits) -> Iterator[Rearrangement]:
    """Yield the well-known layout changes, the plain reshape, and then the splits.

    The splits are sorted by the number of stages of their chains. If the shapes are equal, rearrangements without a
    transpose come first.
    """
    ones = _match_unit_factors(before, after)
    orders = (order for factors in splits.candidates for order in _iter_factor_orders(factors | ones))
    from_splits = [
        build_shortest_rearrangement(before, tuple(factor.size for factor in row), find_permutation(row, column), after)
        for row, column in islice(orders, MAX_ORDERS)
    ]
    named = {way.canonical_form: way for way in find_layout_changes(before, after)}
    unnamed = [
        _make_plain_reshape(before, after),
        *sorted((way for way in from_splits if way.transpose_count), key=lambda way: way.stage_count),
    ]
    result = [*named.values(), *(way for way in unnamed if way.canonical_form not in named)]
    yield from sorted(result, key=lambda way: way.transpose_count) if before == after else result


def find_layout_changes(before: Shape, after: Shape) -> list[Rearrangement]:
    """Return the well-known layout changes between two shapes, without duplicates.

    >>> [(way.layout, way.chain) for way in find_layout_changes((2, 3, 8, 8), (2, 4, 48))][:1]
    [('image to patches (ViT)', '2,3,8,8 | reshape 2,3,2,4,2,4 | transpose 0,2,4,3,5,1 | reshape 2,4,48')]
    """
    result: dict[object, Rearrangement] = {}
    rows = [
        row for name, inverse, left, right in LAYOUT_CHANGES for row in ((name, left, right), (inverse, right, left))
    ]
    for name, source, out in rows:
        row, column = (_number_letters(side) for side in (source, out))
        dims = [product(named_dim(f"@{letter}") for letter in word) for word in f"{source} {out}".split()]
        matcher = Matcher(ShapePattern(tuple(dims)))
        fits = len(source.split()) == len(before) and not matcher.match_shape((*before, *after))
        if fits and all(matcher.sizes.get(f"@{letter}") != 1 for letter in "hwpqrngtd"):
            split = tuple(matcher.sizes[f"@{letter}"] for letter, _ in row)
            way = replace(
                build_shortest_rearrangement(before, split, find_permutation(row, column), after), layout=name
            )
            result.setdefault(way.canonical_form, way)
    return list(result.values())


def _number_letters(layout: str) -> list[tuple[str, int]]:
    """Return each letter of a layout with the number of its earlier occurrences."""
    letters = layout.replace(" ", "")
    return [(letter, letters[:index].count(letter)) for index, letter in enumerate(letters)]


def _iter_whole_axis_transposes(before: Shape, after: Shape) -> Iterator[Rearrangement]:
    """Yield rearrangements that permute axes without splitting any.

    The axes of the input are permuted first, then those of the output.
    """
    yield from (Rearrangement(before, before, perm, after) for perm in permutations(range(len(before))))
    for perm in permutations(range(len(after))):
        yield Rearrangement(
            before, tuple(after[axis] for axis in perm), find_permutation(perm, range(len(after))), after
        )


def find_permutation(source: Sequence[object], target: Iterable[object]) -> tuple[int, ...]:
    """Return the index in `source` of each item of `target`.

    >>> find_permutation("abc", "cab")
    (2, 0, 1)
    """
    index_of = {value: index for index, value in enumerate(source)}
    return tuple(index_of[value] for value in target)


def build_shortest_rearrangement(before: Shape, split: Shape, perm: tuple[int, ...], after: Shape) -> Rearrangement:
    """Build the rearrangement with the split shape `split` and the transpose `perm`.

    Factors that stay neighbours under `perm` are merged if that requires fewer stages.
    """
    unmerged, merged = (
        Rearrangement(before, split, perm, after),
        Rearrangement(before, *merge_neighbours(split, perm), after),
    )
    return min((unmerged, merged), key=lambda way: way.stage_count)


def merge_neighbours(split: Shape, perm: tuple[int, ...]) -> tuple[Shape, tuple[int, ...]]:
    """Merge factors that stay neighbours under a permutation.

    >>> merge_neighbours((2, 3, 4), (2, 0, 1))
    ((6, 4), (1, 0))
    """
    starts = [axis for i, axis in enumerate(perm) if not i or perm[i - 1] + 1 != axis]
    firsts = sorted(starts)
    sizes = tuple(product(split[first:end]) for first, end in pairwise([*firsts, len(split)]))
    return sizes, find_permutation(firsts, starts)


def _format_reshape(shape: Shape) -> str:
    return f"reshape {shape_text(shape)}{' --allowzero' * (0 in shape)}"


def _match_unit_factors(before: Shape, after: Shape) -> SharedFactors:
    """Pair the dims of 1 in two shapes, in order, as factors of size 1.

    Returns no factors if the shapes have different numbers of such dims.
    """
    sources, outs = ([axis for axis, dim in enumerate(shape) if dim == 1] for shape in (before, after))
    if len(sources) != len(outs):
        return frozenset()
    return frozenset(SharedFactor(source, out, 1) for source, out in zip(sources, outs, strict=True))


def _iter_factor_orders(factors: SharedFactors) -> Iterator[FactorOrder]:
    """Yield every order of the factors within their axes, the original order first."""
    yield from (
        (row, column)
        for row in _permute_groups(_group_by_axis(factors, "source"))
        for column in _permute_groups(_group_by_axis(factors, "out"))
    )


def _permute_groups(groups: list[list[SharedFactor]]) -> Iterator[tuple[SharedFactor, ...]]:
    """Yield the factors of all groups, with every order within the groups.

    At most `MAX_ORDERS` orders of each group are tried.
    """
    for orders in every(*(islice(permutations(group), MAX_ORDERS) for group in groups)):
        yield tuple(chain(*orders))


def _group_by_axis(factors: SharedFactors, side: str) -> list[list[SharedFactor]]:
    """Group factors by their input axis or by their output axis.

    `side` is one of `AXIS_ATTRIBUTES`. Within a group, the factors are in the order of the other axis.
    """
    ordered = sorted(sorted(factors, key=lambda factor: (factor.source, factor.out)), key=attrgetter(side))
    return [list(group) for _, group in groupby(ordered, key=attrgetter(side))]


def find_rearrangements_for_pairs(pairs: Sequence[ArrayPair], before: Shape, after: Shape) -> PairSearchResult:
    """Return the rearrangements between two shapes that fit every pair of arrays.

    A rearrangement fits a pair if it maps the first array to the second. Raises `ShapeError` (usage) if an array does
    not have the given shape, or if the arrays do not determine a symbolic size.
    """
    sizes = tuple(solve_pair_sizes(pair, before, after) for pair in pairs)
    if is_concrete(before + after):
        return generalize_pairs(pairs)
    known = list(zip(pairs, sizes, strict=True))
    fitting = [
        way
        for way in iter_rearrangements(before, after)
        if all(_is_consistent(pair, way, values) for pair, values in known)
    ]
    return PairSearchResult(ChainSearchResult(tuple(fitting), len(fitting)), sizes)


def solve_pair_sizes(pair: ArrayPair, before: Shape, after: Shape) -> Mapping[str, int]:
    """Compute the value of each symbolic size from the shapes of a pair.

    Raises `ShapeError` (usage) if the arrays do not have the given shapes, or if they do not determine a size.
    """
    stated: Conditions = ()
    for actual, requested, argument in ((pair.before, before, "input"), (pair.after, after, "output")):
        try:
            equations = [
                equation for size, dim in zip(actual, requested, strict=True) for equation in require_equal(dim, size)
            ]
            stated += simplify_conditions(equations)
        except ValueError:  # `zip` raises it for different ranks; `Unsatisfiable` is a subclass
            message = f"an array has shape {shape_text(actual)}, and {shape_text(requested)} is asked for"
            raise usage_error(message, argument=argument) from None
    try:
        conditions = simplify_conditions(stated)
    except Unsatisfiable:
        pairs = (pair.before, pair.after), (before, after)
        shapes, requests = (" and ".join(map(shape_text, both)) for both in pairs)
        raise usage_error(f"arrays have shapes {shapes}, which {requests} are not", argument="input") from None
    sizes = {str(condition.left): condition.right for condition in conditions if isinstance(condition.right, int)}
    if missing := [name for name in dim_names(before + after) if name not in sizes]:
        raise usage_error(f"the arrays do not say which size {missing[0]} has", argument="input")
    return sizes


def _is_consistent(pair: ArrayPair, rearrangement: Rearrangement, sizes: Mapping[str, int]) -> bool:
    """Return whether a rearrangement maps the first array of a pair to the second.

    `sizes` are the values of the symbolic sizes in the rearrangement.
    """
    return (
        replace(rearrangement, split=tuple(substitute(dim, sizes) for dim in rearrangement.split)).canonical_form
        == pair.order
    )


def find_pair_rearrangement(pair: ArrayPair) -> Rearrangement:
    """Return the rearrangement that maps the first array of a pair to the second.

    >>> print(find_pair_rearrangement(ArrayPair((2, 3), (3, 2), ((3, 1), (2, 3)))).chain)
    2,3 | transpose 1,0
    """
    pieces = _split_pair(pair)
    if pieces is None:
        return build_shortest_rearrangement(pair.before, *pair.order, pair.after)
    return _build_rearrangement(pair.before, pair.after, pieces, [piece.size for piece in pieces])


def generalize_pairs(pairs: Sequence[ArrayPair]) -> PairSearchResult:
    """Search for a rearrangement that fits every pair.

    A size that differs between pairs becomes symbolic.

    >>> pairs = ArrayPair((2, 3), (3, 2), ((3, 1), (2, 3))), ArrayPair((2, 5), (5, 2), ((5, 1), (2, 5)))
    >>> [way.chain for way in generalize_pairs(pairs).search.ways]
    ['2,A | transpose 1,0']
    """
    none = PairSearchResult(ChainSearchResult((), 0))
    if len({*pairs}) == 1:
        return PairSearchResult(ChainSearchResult((find_pair_rearrangement(pairs[0]),), 1), ({},) * len(pairs))
    factors_of_pairs = [factors for pair in pairs if (factors := _split_pair(pair)) is not None]
    ranks = {(len(pair.before), len(pair.after)) for pair in pairs}
    if len(factors_of_pairs) < len(pairs) or len(ranks) > 1:
        return none
    model = max(factors_of_pairs, key=len)
    sizes = [aligned for factors in factors_of_pairs if (aligned := _align_sizes(model, factors)) is not None]
    if len(sizes) < len(factors_of_pairs):
        return none
    dims = _factor_dims(list(zip(*sizes, strict=True)), model)
    before, after = (_multiply_by_axis(model, dims, *side) for side in zip(AXIS_ATTRIBUTES, *ranks, strict=True))
    symbols = [(index, str(dim)) for index, dim in enumerate(dims) if not isinstance(dim, int)]
    values = tuple({name: column[index] for index, name in symbols} for column in sizes)
    return PairSearchResult(ChainSearchResult((_build_rearrangement(before, after, model, dims),), 1), values)


def _multiply_by_axis(factors: Sequence[PairFactor], dims: Sequence[Dim], side: str, rank: int) -> Shape:
    """Multiply the dims of the factors of each axis.

    The attribute `side` of a factor contains its axis, which is less than `rank`.
    """
    pairs = [*zip([getattr(factor, side) for factor in factors], dims, strict=True)]
    return tuple(product([dim for factor_axis, dim in pairs if factor_axis == axis]) for axis in range(rank))


def _factor_dims(sizes: Sequence[IntTuple], reference: Sequence[PairFactor]) -> list[Dim]:
    """Return a dim for each factor: an integer, or a name if its sizes differ.

    `sizes` contains the sizes of each factor in all pairs.
    """
    order = sorted(range(len(reference)), key=lambda index: (reference[index].source, -reference[index].stride))
    new_names = map(named_dim, chain(ascii_uppercase, (f"A{count}" for count in range(len(order)))))
    dims = {index: sizes[index][0] if len({*sizes[index]}) == 1 else next(new_names) for index in order}
    return [dims[index] for index in range(len(reference))]


def _align_sizes(reference: Sequence[PairFactor], factors: Sequence[PairFactor]) -> IntTuple | None:
    """Return the sizes of a pair's factors, one for each factor of a reference pair.

    The reference pair has the most factors. A factor that only the reference pair has gets the size 1. Returns None if
    the factors do not match.
    """
    remaining = list(factors)
    sizes, present = [], []
    for factor in reference:
        if remaining and (remaining[0].source, remaining[0].out) == (factor.source, factor.out):
            present.append(factor)
            sizes.append(remaining.pop(0).size)
        else:
            sizes.append(1)
    return None if remaining or _sort_by_stride(present) != _sort_by_stride(factors) else tuple(sizes)


def _sort_by_stride(factors: Sequence[PairFactor]) -> list[int]:
    """Return the indices of factors, sorted by their strides in the input."""
    return sorted(range(len(factors)), key=lambda index: factors[index].stride)


def _build_rearrangement(
    before: Shape, after: Shape, factors: Sequence[PairFactor], dims: Sequence[Dim]
) -> Rearrangement:
    """Return the rearrangement that the factors describe.

    `dims` are the dims of the factors. Dims of 1 keep their order if both shapes have the same number of such dims.
    """
    pairs = zip(factors, dims, strict=True)
    rows = [(factor.source, -factor.stride, factor.out, -factor.out_stride, dim) for factor, dim in pairs]
    rows += [(factor.source, 0, factor.out, 0, 1) for factor in _match_unit_factors(before, after)]
    in_input_order = sorted(rows, key=lambda row: row[:2])
    in_output_order = sorted(rows, key=lambda row: row[2:4])
    perm = find_permutation(in_input_order, in_output_order)
    return build_shortest_rearrangement(before, tuple(dim for *_, dim in in_input_order), perm, after)


def _split_pair(pair: ArrayPair) -> list[PairFactor] | None:
    """Split the atoms of a pair at the axis boundaries of both arrays.

    The factors are in output order. Returns None if an atom cannot be split.
    """
    outs: Any = split_atoms([Atom(*atom) for atom in pair.atoms], pair.after, Assumptions())
    parts = sorted(chain(*outs or ()), key=lambda atom: -atom.stride)
    sources: Any = split_atoms(parts, pair.before, Assumptions())
    if outs is None or sources is None:
        return None
    atom_by_end = {part.size * part.stride: (source, part) for source, axis in enumerate(sources) for part in axis}
    factors, out_stride = list[PairFactor](), prod(pair.after)
    for out, axis in enumerate(outs):
        for atom in axis:
            end = atom.size * atom.stride
            while end != atom.stride:
                source, part = atom_by_end[end]
                end, out_stride = part.stride, out_stride // part.size
                factors.append(PairFactor(source, out, part.size, part.stride, out_stride))
    return factors
