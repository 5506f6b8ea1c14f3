"""What is done to the data: the moves of a resolved request."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, Shape
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


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


class Pick(Record):
    """Keep some positions of each axis: position i of those kept is position `starts + i * steps` of the axis."""

    starts: Shape
    """The first positions; a negative one counts from the end."""
    steps: tuple[int, ...]
    """How far apart they are; a negative step goes backwards."""
    sizes: tuple[Dim | None, ...]
    """How many are kept. None for an axis that goes: one position of it is taken."""

    @property
    def axes(self) -> Iterator[tuple[Any, int, Any]]:
        """For each axis its start, its step and its size."""
        return zip(self.starts, self.steps, self.sizes, strict=True)

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move.

        >>> Pick((0, 1), (1, 1), (2, None)).after((2, 3))
        (2,)
        """
        return tuple([size for size in self.sizes if size is not None])


class Roll(Record):
    """Move the positions of an axis on by `shift`; those at its end come to its start."""

    shift: int
    axis: int

    def after(self, shape: Shape) -> Shape:
        """Return the shape of a tensor of `shape` after the move: the same."""
        return shape


class Slice(Record):
    """Return the dims from `start` to `end` as a vector of int64."""

    start: int
    end: int

    def after(self, shape: Shape) -> Shape:
        """Return the dims that the vector holds."""
        return shape[self.start : self.end]


Move = Permute | Reshape | Expand | Pick | Roll | Slice
