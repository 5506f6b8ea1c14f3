"""Which input axes became which output axes when a tensor is reshaped.

The elements keep their order. If the running products of the dims on both sides agree, the cuts of the old shape
and of the new shape line up there. The axes between two such cuts belong together.
"""

from __future__ import annotations

from math import gcd

from shapecalc.core.sizes.dims import Dim, Shape, monomial, product
from shapecalc.core.sizes.record import Record

Key = tuple[int, int, int]
"""What a product is found by: its numerator, its denominator, and a number for its names."""
ONE: Key = (1, 1, 0)

MOST_LISTED = 12
"""The most axes that a sentence lists one by one."""


class Group(Record):
    """Input axes and the output axes that they became: the smallest sets whose elements stay together."""

    sources: tuple[int, ...]
    outs: tuple[int, ...]

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
        return "mix into"


def groups(before: Shape, after: Shape) -> tuple[Group, ...]:
    """Return the axis groups of a reshape from `before` to `after`, two shapes of the same volume.

    >>> [(group.sources, group.outs) for group in groups((2, 3, 4), (6, 2, 2))]
    [((0, 1), (0,)), ((2,), (1, 2))]
    """
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
        made.append(Group(tuple(range(a, i)), tuple(range(b, j))))
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
            if key[0] and key in reached[1 - side]:
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
    """
    if before == after:
        return "the shape is the one it was"
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
