"""Strided axes, and what transposes and reshapes do to them without touching an element.

An axis of a tensor is a list of `Atom`s, outermost first: steps through memory of one size and one
stride. Transposes reorder axes; a reshape regroups the atoms, splitting one where a cut falls inside it.
So any row of moves whose cuts line up becomes one reordering of atoms, and at most one copy.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Atom(Record):
    """A step through memory: `size` positions, `stride` bytes apart."""

    size: int
    stride: int


Axes = tuple[tuple[Atom, ...], ...]


def axes_of(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Return the axes of an array, an atom each; sizes of one have none."""
    return tuple((Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> Axes:
    """Return the axes of a C-contiguous array of `shape`."""
    return axes_of(shape, contiguous_strides(shape, itemsize))


def contiguous_strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides, in bytes, of a C-contiguous array.

    >>> contiguous_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape)))


def merged(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """Return the atoms with neighbours that travel together made one.

    >>> merged((Atom(2, 12), Atom(3, 4)))
    (Atom(size=6, stride=4),)
    """
    kept: list[Atom] = []
    for atom in atoms:
        if kept and kept[-1].stride == atom.size * atom.stride:
            atom = Atom(kept.pop().size * atom.size, atom.stride)
        kept.append(atom)
    return tuple(kept)


def regrouped(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """Return the axes cut into `shape`, of the same volume; None where a cut lines up with no atom's.

    >>> regrouped(((Atom(6, 4),),), (2, 3))
    ((Atom(size=2, stride=12),), (Atom(size=3, stride=4),))
    """
    left = list(merged(atom for axis in axes for atom in axis))[::-1]
    found = []
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
        found.append(tuple(taken))
    return tuple(found)


def blocking_pair(axes: Axes) -> tuple[int, int] | None:
    """Return the two neighbouring strides, in bytes, that keep an axis from being one step; None for a view."""
    for axis in axes:
        pieces = merged(axis)
        if len(pieces) > 1:
            return pieces[0].stride, pieces[1].stride
    return None
