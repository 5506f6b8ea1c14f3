"""Which input axes became which output axes when a tensor is reshaped.

The elements keep their order. If the running products of the dims on both sides agree, the cuts of the old shape
and of the new shape line up there. The axes between two such cuts belong together. They mix if a new cut falls across
the old ones: then a new axis is made of no whole pieces of old axes.
"""

from __future__ import annotations

from math import gcd

from shapecalc.core.answers.atoms import Atom, cut
from shapecalc.core.sizes.conditions import Never, equal, solved_names
from shapecalc.core.sizes.dims import Dim, Shape, monomial, named_dim, names, product, quotient, rewrite, substitute
from shapecalc.core.sizes.known import Implied
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

Key = tuple[int, int, int]
"""What a product is found by: its numerator, its denominator, and a number for its names."""
ONE: Key = (1, 1, 0)

EMPTY = "0"
"""The name of a size of 0 while shapes are cut."""

MOST_LISTED = 12
"""The most axes that a sentence lists one by one."""


class Group(Record):
    """Input axes and the output axes that they became: the smallest sets whose elements stay together."""

    sources: tuple[int, ...]
    outs: tuple[int, ...]
    mixes: bool = False
    """Whether an output axis is made of no whole pieces of input axes."""

    @property
    def verb(self) -> str:
        """What happened to the axes of the group."""
        match len(self.sources), len(self.outs):
            case (1, 1):
                return "stays"
            case (_, 0):
                return "is dropped"
            case (0, _):
                return "is inserted"
            case (_, 1):
                return "merge into"
            case (1, _):
                return "splits into"
        return "mix into" if self.mixes else "split and merge into"


class Piece(Record):
    """A part of an axis, or a whole one, that a reshape keeps together."""

    source: int
    size: Dim


def pieces(before: Sequence[Dim], after: Sequence[Dim]) -> tuple[tuple[Piece, ...], ...] | None:
    """Return the pieces that make up each dim of `after`, in the order of the elements; None if the axes mix.

    A dim of 1 has no piece.

    >>> [[str(piece.size) for piece in dim] for dim in pieces((2, 8), (4, 4))], pieces((2, 3), (3, 2))
    ([['2', '2'], ['4']], None)
    """
    before, after = _level(before, after)
    made = cut([Atom(size, 0) for size in before if size != 1], after, Implied((*before, *after)))
    if made is None:
        return None
    found, source = list[tuple[Piece, ...]](), -1
    rest: Dim = 1
    for atoms in made:
        row = []
        for atom in atoms:
            while rest == 1:
                source += 1
                rest = before[source]
            row.append(Piece(source, substitute(atom.size, {EMPTY: 0})))
            rest = quotient(rest, atom.size)
        found.append(tuple(row))
    return tuple(found)


def _level(before: Sequence[Dim], after: Sequence[Dim]) -> tuple[Shape, Shape]:
    """Return both shapes without a size of 0, and with the names solved that make their volumes equal."""
    before = without_zeros(before)
    after = without_zeros(after, product(before))
    try:
        solved = solved_names(equal(product(before), product(after)))
    except Never:
        solved = {}
    return tuple([rewrite(dim, solved) for dim in before]), tuple([rewrite(dim, solved) for dim in after])


def without_zeros(shape: Sequence[Dim], volume: Dim = 0) -> Shape:
    """Return a shape with a name for every size of 0, but the last stands for what the others leave of a volume.

    >>> without_zeros((2, 0, 3)), without_zeros((0, 2), product((4, named_dim(EMPTY))))
    ((2, 0, 3), (2*0, 2))
    """
    dims = [named_dim(EMPTY) if dim == 0 else dim for dim in shape]
    if 0 in shape:
        last = len(dims) - 1 - list(shape)[::-1].index(0)
        rest = quotient(volume, product(dims[:last] + dims[last + 1 :]))
        if EMPTY in names((rest,)):
            dims[last] = rest
    return tuple(dims)


def groups(before: Shape, after: Shape) -> tuple[Group, ...]:
    """Return the axis groups of a reshape from `before` to `after`, two shapes of the same volume.

    >>> [(group.sources, group.outs) for group in groups((2, 3, 4), (6, 2, 2))]
    [((0, 1), (0,)), ((2,), (1, 2))]
    """
    before, after = _level(before, after)
    made, i, j = [], 0, 0
    while i < len(before) or j < len(after):
        a, b = i, j
        if i < len(before) and j < len(after) and before[i] == after[j]:
            i, j = i + 1, j + 1
        elif i < len(before) and before[i] == 1:
            i += 1
        elif j < len(after) and after[j] == 1:
            j += 1
        else:
            i, j = _next_cut(before, i, after, j)
        mixes = i - a > 1 and j - b > 1 and pieces(before[a:i], after[b:j]) is None
        made.append(Group(tuple(range(a, i)), tuple(range(b, j)), mixes))
    return tuple(made)


def _next_cut(before: Shape, i: int, after: Shape, j: int) -> tuple[int, int]:
    """Return the next places after `i` and `j` at which the running products agree; both ends if there are none."""
    sides = (before, i), (after, j)
    reached: tuple[dict[Key, int], dict[Key, int]] = ({}, {})
    keys = [ONE, ONE]
    for length in range(max(len(before) - i, len(after) - j)):
        for side, (dims, start) in enumerate(sides):
            if start + length >= len(dims):
                continue
            key = keys[side] = _times(keys[side], dims[start + length])
            reached[side].setdefault(key, start + length + 1)
            if key in reached[1 - side]:
                ends = reached[0][key], reached[1][key]
                if product(before[i : ends[0]]) == product(after[j : ends[1]]):
                    return ends
    return len(before), len(after)


def _times(key: Key, dim: Dim) -> Key:
    """Return the key of a product with one more factor. Equal products have equal keys, and others hardly ever do."""
    factor = monomial(dim)
    above, below = key[0] * factor.numerator, key[1] * factor.denominator
    common = gcd(above, below)
    return above // common, below // common, key[2] + sum([hash(name) * power for name, power in factor.powers])


def regrouping(before: Shape, after: Shape) -> str:
    """Say in one sentence which axes merge, split, mix, are inserted or are dropped.

    >>> regrouping((2, 3, 4), (2, 12))
    'axis 0 stays; axes 1,2 merge into axis 1'
    >>> regrouping((2, 8), (4, 4))
    'axes 0,1 split and merge into axes 0,1'
    """
    if before == after:
        return "the shape stays the same"
    return "; ".join(_sentence(group) for group in groups(before, after))


def _sentence(group: Group) -> str:
    """Say what happened to one group. The output axes are named only if they differ from the input axes."""
    if not group.sources or not group.outs or (group.verb == "stays" and group.sources == group.outs):
        axes = group.sources or group.outs
        return f"{_axes(axes)} {group.verb if len(axes) == 1 else group.verb.replace('is ', 'are ')}"
    verb = "becomes" if group.verb == "stays" else group.verb
    return f"{_axes(group.sources)} {verb} {_axes(group.outs)}"


def _axes(axes: tuple[int, ...]) -> str:
    if len(axes) > MOST_LISTED:
        return f"axes {axes[0]} to {axes[-1]}"
    return f"axis {axes[0]}" if len(axes) == 1 else f"axes {','.join(map(str, axes))}"
