"""What is done to the data: the moves of a resolved request."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.record import Record


class Permute(Record):
    """Move axes: output axis i is input axis `axes[i]`."""

    axes: tuple[int, ...]

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move.

        >>> Permute((1, 2, 0)).after((2, 3, 4))
        (3, 4, 2)
        """
        return tuple([shape[axis] for axis in self.axes])


class Reshape(Record):
    """Keep the elements in order and cut them into `shape`."""

    shape: Shape

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move: the new one."""
        return self.shape


class Expand(Record):
    """Repeat the elements along axes of size one until the tensor has `shape`."""

    shape: Shape

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move: the new one."""
        return self.shape


class Slice(Record):
    """Return the dims from `start` to `end` as a vector of int64."""

    start: int
    end: int

    def after(self, shape: Shape) -> Shape:
        """Return the dims that the vector holds."""
        return shape[self.start : self.end]


Move = Permute | Reshape | Expand | Slice
