"""What is done to the data: the moves of a resolved request."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.record import Record


class Permute(Record):
    """Move axes: output axis i is input axis `axes[i]`."""

    axes: tuple[int, ...]


class Reshape(Record):
    """Keep the elements in order and cut them into `shape`."""

    shape: Shape


class Expand(Record):
    """Repeat the elements along axes of size one until the tensor has `shape`."""

    shape: Shape


class Slice(Record):
    """Return the dims from `start` to `end` as a vector of int64."""

    start: int
    end: int


Move = Permute | Reshape | Expand | Slice


def moved_shape(shape: Shape, move: Move) -> Shape:
    """Return the shape of a tensor of `shape` after a move; for a `Slice`, the dims that it returns.

    >>> moved_shape((2, 3, 4), Permute((1, 2, 0))), moved_shape((2, 3), Reshape((6,)))
    ((3, 4, 2), (6,))
    """
    if isinstance(move, Reshape | Expand):
        return move.shape
    if isinstance(move, Permute):
        return tuple([shape[axis] for axis in move.axes])
    return shape[move.start : move.end]
