"""Strides: how far apart the elements of each axis lie in memory, as axes move and are cut anew.

A view reads the same memory with other strides. What has no strides is a copy, and lies in memory in C order.
"""

from __future__ import annotations

from shapecalc.core.answers.atoms import Atom, merge, regroup
from shapecalc.core.answers.moves import Expand, Permute, Pick, Roll, Slice
from shapecalc.core.sizes.dims import Dim, Shape, product
from shapecalc.core.sizes.known import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.moves import Move


def contiguous_strides(shape: Shape) -> Shape:
    """Return the strides of a tensor that lies in memory in C order.

    >>> contiguous_strides((2, 3, 4)), contiguous_strides((2, 0, 4))
    ((12, 4, 1), (4, 4, 1))
    """
    strides: list[Dim] = [1]
    for dim in shape[:0:-1]:
        strides.append(strides[-1] if dim == 0 else product((strides[-1], dim)))
    return tuple(strides[::-1][: len(shape)])


def view_after(shape: Shape, strides: Shape, move: Move, known: Known) -> Shape | None:
    """Return the strides of the view that a move makes of a tensor; None if there is no view for all sizes.

    >>> view_after((3, 4), (1, 3), Permute((1, 0)), Known())
    (3, 1)
    """
    if isinstance(move, Permute):
        return tuple([strides[axis] for axis in move.axes])
    if isinstance(move, Expand):
        new = len(move.shape) - len(shape)
        return (0,) * new + tuple(
            [0 if dim == 1 != to else stride for dim, to, stride in zip(shape, move.shape[new:], strides, strict=True)]
        )
    if isinstance(move, Pick):
        kept = zip(strides, move.axes, strict=True)
        return tuple([product((stride, step)) for stride, (_, step, size) in kept if size is not None])
    if isinstance(move, (Roll, Slice)):
        return None
    axes = tuple([() if dim == 1 else (Atom(dim, stride),) for dim, stride in zip(shape, strides, strict=True)])
    made = [merge(atoms) for atoms in regroup(axes, move.shape, known)]
    if any(len(atoms) > 1 or atoms[0].base for atoms in made if atoms):
        return None
    return tuple([atoms[0].stride if atoms else 1 for atoms in made])
