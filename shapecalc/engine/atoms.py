"""Atoms in memory: strides in bytes, and what keeps an axis from being one step.

If all cuts of a row of moves line up, the row reorders atoms once and needs at most one copy.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from shapecalc.core.dims import total
from shapecalc.core.layout import Atom, View, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.layout import Axes


def axes_of(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Return the axes of an array from its shape and its strides in bytes: one atom each, none for a size of 1."""
    return tuple([(Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True)])


def view_of(shape: Sequence[int], strides: Sequence[int]) -> View:
    """Return an array as a view of its buffer, counted from its own first element.

    >>> view_of((3,), (-4,)).first
    0
    """
    view = View(axes_of(shape, strides))
    return View(view.axes, total((-view.first,)))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> Axes:
    """Return the axes of a C-contiguous array of `shape`, whose elements have `itemsize` bytes."""
    return axes_of(shape, contiguous_strides(shape, itemsize))


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of a C-contiguous array of `shape`, whose elements have `itemsize` bytes.

    >>> contiguous_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(accumulate(reversed(shape), mul, initial=itemsize))[-2::-1]


def steps(axes: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes and the strides, in bytes, of the fewest steps that lead through the axes in order.

    >>> steps(((Atom(2, 12),), (Atom(3, 4),)))
    ((6,), (4,))
    """
    atoms = merge([atom for axis in axes for atom in axis])
    sizes, strides = tuple([atom.size for atom in atoms]), tuple([atom.stride for atom in atoms])
    return sizes, strides  # type: ignore[return-value]  # in memory, all of them are numbers


def blocking_pair(axes: Axes) -> tuple[int, int] | None:
    """Return the first two strides, in bytes, that keep an axis from being one step; None if every axis is one."""
    for axis in axes:
        strides = steps((axis,))[1] if len(axis) > 1 else ()
        if len(strides) > 1:
            return strides[0], strides[1]
    return None
