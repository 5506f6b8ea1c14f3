"""Strided axes, and what transposes and reshapes do to them without touching an element.

An axis of a tensor is a list of `Atom`s, the outermost first. Each atom is a step through memory with one
size and one stride. A transpose reorders axes. A reshape regroups the atoms, and splits an atom if a cut
falls inside it. If all cuts of a row of moves line up, the row reorders atoms once and needs at most one copy.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul

from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Atom(Record):
    """A step through memory: `size` positions that are `stride` bytes apart."""

    size: int
    stride: int


Axes = tuple[tuple[Atom, ...], ...]


def axes_of(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Return the axes of an array from its shape and its strides in bytes: one atom each, none for a size of 1."""
    return tuple((Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> Axes:
    """Return the axes of a C-contiguous array of `shape`, whose elements have `itemsize` bytes."""
    return axes_of(shape, contiguous_strides(shape, itemsize))


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of a C-contiguous array of `shape`, whose elements have `itemsize` bytes.

    >>> contiguous_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(accumulate(reversed(shape), mul, initial=itemsize))[-2::-1]


def merge(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Return the atoms, with neighbours merged if one step can stand for both.

    >>> merge((Atom(2, 12), Atom(3, 4)))
    (Atom(size=6, stride=4),)
    """
    kept: list[Atom] = []
    for atom in atoms:
        if kept and kept[-1].stride == atom.size * atom.stride:
            atom = Atom(kept.pop().size * atom.size, atom.stride)
        kept.append(atom)
    return tuple(kept)


def regroup(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """Return the axes cut into `shape`, which has the same volume; None if a cut does not line up with the atoms.

    >>> regroup(((Atom(6, 4),),), (2, 3))
    ((Atom(size=2, stride=12),), (Atom(size=3, stride=4),))
    """
    left = list(merge(atom for axis in axes for atom in axis))[::-1]
    new_axes = []
    for size in shape:
        taken, rest = [], size
        while rest > 1:
            atom = left.pop()
            if atom.size > rest and atom.size % rest == 0:
                left.append(Atom(atom.size // rest, atom.stride))
                atom = Atom(rest, atom.stride * (atom.size // rest))
            if rest % atom.size:
                return None
            taken.append(atom)
            rest //= atom.size
        new_axes.append(tuple(taken))
    return tuple(new_axes)


def picked(axes: Axes, kept: Iterable[tuple[int, int, int | None]], sizes: Sequence[int]) -> tuple[Axes, int] | None:
    """Return what is left of axes of `sizes`, and the bytes from the first element to the first one that is kept.

    `kept` is for each axis its start, its step and its size, which is None for an axis that goes. None if an axis of
    several atoms would keep some positions, since they are no row of steps.

    >>> picked(((Atom(6, 4),),), [(-1, -2, 3)], (6,))
    (((Atom(size=3, stride=-8),),), 20)
    """
    left, offset = list[tuple[Atom, ...]](), 0
    for axis, (start, step, size), whole in zip(axes, kept, sizes, strict=True):
        first, pieces = start % whole, merge(axis)
        if size in (None, 1):
            found: tuple[Atom, ...] = ()
        elif len(pieces) == 1:
            found = (Atom(size or 1, step * pieces[0].stride),)
        elif size == whole:
            found = tuple(Atom(atom.size, step * atom.stride) for atom in pieces)
        else:
            return None
        if size is not None:
            left.append(found)
        for atom in reversed(pieces):
            offset += first % atom.size * atom.stride
            first //= atom.size
    return tuple(left), offset


def blocking_pair(axes: Axes) -> tuple[int, int] | None:
    """Return the first two strides, in bytes, that keep an axis from being one step; None if every axis is one."""
    for axis in axes:
        pieces = merge(axis)
        if len(pieces) > 1:
            return pieces[0].stride, pieces[1].stride
    return None
