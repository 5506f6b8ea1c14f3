"""What pairs of arrays tell: one way that turns every first array into its second.

Each pair is known by its atoms: the sizes and strides, in elements of the first array, that lead through it in the
order of the second. They are cut into pieces at the cuts of both shapes. Pieces of different sizes in different pairs
get names.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from string import ascii_uppercase

from shapecalc.core.algebra.find import Found, Way, merged, order_of, shortest, ways
from shapecalc.core.answers.atoms import Atom, cut
from shapecalc.core.sizes.conditions import Conditions, Never, combine, equal
from shapecalc.core.sizes.dims import Dim, Shape, all_known, named_dim, names, product, substitute
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Sizes = tuple[int, ...]
    Atoms = tuple[tuple[int, int], ...]
    """Sizes and strides, the outermost first."""


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


class Piece(Record):
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
    split = [substitute(dim, sizes) for dim in way.split]
    kept = [axis for axis, size in enumerate(split) if size != 1]
    perm = tuple(kept.index(axis) for axis in way.perm if axis in kept)
    return merged(tuple(split[axis] for axis in kept), perm) == pair.order


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


def _merged_dims(pieces: Sequence[Piece], dims: Sequence[Dim], side: str, rank: int) -> Shape:
    """Return the dims of the axes that pieces make up on one side."""
    return tuple(
        product([dim for piece, dim in zip(pieces, dims, strict=True) if getattr(piece, side) == axis])
        for axis in range(rank)
    )


def _dims(sizes: Sequence[Sizes], model: Sequence[Piece]) -> list[Dim]:
    """Return a dim for each piece: its size, or a name of its own if the sizes differ."""
    order = sorted(range(len(model)), key=lambda place: (model[place].source, -model[place].stride))
    free = map(named_dim, chain(ascii_uppercase, (f"A{count}" for count in range(len(order)))))
    found = {place: sizes[place][0] if len({*sizes[place]}) == 1 else next(free) for place in order}
    return [found[place] for place in range(len(model))]


def _sizes_like(model: Sequence[Piece], pieces: Sequence[Piece]) -> Sizes | None:
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


def _by_stride(pieces: Sequence[Piece]) -> list[int]:
    """Return the places of pieces in the order of their strides in the first array."""
    return sorted(range(len(pieces)), key=lambda place: pieces[place].stride)


def _way(before: Shape, after: Shape, pieces: Sequence[Piece], dims: Sequence[Dim]) -> Way:
    """Return the way that moves pieces of these dims, with the dims of 1 kept in place if both shapes have as many."""
    placed = [
        (piece.source, -piece.stride, piece.out, -piece.out_stride, dim)
        for piece, dim in zip(pieces, dims, strict=True)
    ]
    ones = [[axis for axis, dim in enumerate(shape) if dim == 1] for shape in (before, after)]
    if len(ones[0]) == len(ones[1]):
        placed += [(source, 0, out, 0, 1) for source, out in zip(*ones, strict=True)]
    row = sorted(placed, key=lambda each: each[:2])
    column = sorted(placed, key=lambda each: each[2:4])
    return shortest(before, tuple(each[4] for each in row), order_of(row, column), after)


def _pieces(pair: Pair) -> list[Piece] | None:
    """Return the pieces of a pair in the order of the second array; None if a cut falls across an atom."""
    outs: Any = cut([Atom(*atom) for atom in pair.atoms], pair.after, Known())
    parts = sorted(chain(*outs or ()), key=lambda atom: -atom.stride)
    sources: Any = cut(parts, pair.before, Known())
    if outs is None or sources is None:
        return None
    ends = {part.size * part.stride: (source, part) for source, axis in enumerate(sources) for part in axis}
    pieces, out_stride = list[Piece](), prod(pair.after)
    for out, axis in enumerate(outs):
        for atom in axis:
            end = atom.size * atom.stride
            while end != atom.stride:
                source, part = ends[end]
                end, out_stride = part.stride, out_stride // part.size
                pieces.append(Piece(source, out, part.size, part.stride, out_stride))
    return pieces
