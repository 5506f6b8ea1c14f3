"""Moves, and the mapping between input indices and output indices.

A move is the data movement of an op, such as a permutation of axes or a slice.
"""

from __future__ import annotations

from itertools import pairwise

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


class Permute(Record):
    """A permutation of axes: output axis i is input axis `axes[i]`."""

    axes: tuple[int, ...]

    def output_shape(self, shape: Shape) -> Shape:
        """Return the output shape for an input of `shape`.

        >>> Permute((1, 2, 0)).output_shape((2, 3, 4))
        (3, 4, 2)
        """
        return tuple([shape[axis] for axis in self.axes])


class ShapedMove(Record):
    """The base class of moves that store their output shape."""

    shape: Shape

    def output_shape(self, shape: Shape) -> Shape:
        """Return the output shape for an input of `shape`."""
        return self.shape


class Reshape(ShapedMove):
    """A reshape to `shape` that keeps the elements in C order."""


class Expand(ShapedMove):
    """A broadcast to `shape` that repeats the elements along axes of size 1."""


class StridedSlice(Record):
    """A strided slice: the element at output index i has input index `start + i * step`."""

    starts: Shape
    """The first index on each axis; a negative index counts from the end of the axis."""
    steps: tuple[int, ...]
    """The step on each axis; a negative step goes backwards."""
    sizes: tuple[Dim | None, ...]
    """The output size of each axis, or None for an axis that a single index removes."""

    @property
    def axis_ranges(self) -> Iterator[tuple[Any, int, Any]]:
        """The start, the step and the size of each axis."""
        return zip(self.starts, self.steps, self.sizes, strict=True)

    def output_shape(self, shape: Shape) -> Shape:
        """Return the output shape for an input of `shape`.

        >>> StridedSlice((0, 1), (1, 1), (2, None)).output_shape((2, 3))
        (2,)
        """
        return tuple([size for size in self.sizes if size is not None])


class Roll(Record):
    """A cyclic shift of an axis by `shift` positions.

    A positive shift moves the elements towards the end of the axis.
    """

    shift: int
    axis: int

    def segments(self, size: int) -> list[tuple[int, int]]:
        """Return the contiguous input segments in output order, as (start, length) pairs."""
        shift = self.shift % size
        return [(size - shift, shift), (0, size - shift)]

    def output_shape(self, shape: Shape) -> Shape:
        """Return `shape`, because a roll does not change the shape."""
        return shape


class Take(Record):
    """A selection of indices along an axis.

    The indices may be in any order and may be repeated.
    """

    axis: int
    positions: tuple[int, ...]
    """The selected indices. If the size of the axis is symbolic, a negative index counts from the end."""

    @property
    def start_and_step(self) -> tuple[int, int] | None:
        """The start and the step of an arithmetic sequence of indices, or None.

        If one index is repeated, the step is 0. The value is None for all other selections.

        >>> Take(0, (5, 3, 1)).start_and_step, Take(0, (2, 2)).start_and_step
        ((5, -2), (2, 0))
        >>> Take(0, (0, 2, 1)).start_and_step, Take(0, (0, -1)).start_and_step
        (None, None)
        """
        steps = {after - before for before, after in pairwise(self.positions)} or {1}
        from_both_ends = min(self.positions, default=0) < 0 and len({*self.positions}) > 1
        return None if len(steps) > 1 or from_both_ends else ((self.positions or (0,))[0], steps.pop())

    def segments(self, size: int) -> list[tuple[int, int]]:
        """Return the contiguous input segments in output order, as (start, length) pairs."""
        segments = list[tuple[int, int]]()
        for position in self.positions:
            start, length = segments[-1] if segments else (0, 0)
            is_adjacent = segments and start + length == position
            segments[-1:] = [(start, length + 1)] if is_adjacent else [*segments[-1:], (position, 1)]
        return segments

    def output_shape(self, shape: Shape) -> Shape:
        """Return the output shape for an input of `shape`.

        >>> Take(1, (2, 0, 0, 1)).output_shape((2, 3))
        (2, 4)
        """
        return (*shape[: self.axis], len(self.positions), *shape[self.axis + 1 :])


class ShapeVector(Record):
    """The input dims from `start` to `end` (exclusive) as an int64 vector."""

    start: int
    end: int

    def output_shape(self, shape: Shape) -> Shape:
        """Return the dims that the vector contains.

        The op `shape` reports the contents of the vector as its output, not the shape of the vector.
        """
        return shape[self.start : self.end]


OperandAxis = tuple[int, int]
"""The number of an operand, and an axis of this operand."""


class Combine(ShapedMove):
    """An op on several operands or on windows, such as concat or pool.

    Operand 0 is the input. The other operands are numbered from 1 in the order of the request.
    """

    operands: tuple[Shape, ...]
    """The shapes of the input and of the other operands."""
    sources: tuple[tuple[OperandAxis, ...], ...]
    """The operand axes of each output axis."""
    concat_axis: int | None = None
    """The axis of a concatenation, or None.

    The operands are concatenated in the order of `sources[concat_axis]`.
    """
    window_axes: tuple[int, ...] = ()
    """The window axes: each output element depends on several input elements along these axes, as in pooling."""


CONSTANT, REFLECT, SYMMETRIC, EDGE, WRAP = "constant", "reflect", "symmetric", "edge", "wrap"
"""The padding modes, with their NumPy names."""


def pad_source_index(mode: str, index: Any, size: int) -> Any:
    """Return the input index of an element of a padded axis.

    `size` is the length of the axis before padding. `index` is an integer or an integer array, and counts from the
    first input element. In mode `constant`, the result for an added element is out of range. Source: numpy.pad.

    >>> [pad_source_index(REFLECT, index, 3) for index in range(-2, 5)]
    [2, 1, 0, 1, 2, 1, 0]
    """
    if mode == CONSTANT:
        return index
    if mode == EDGE:
        return (index >= 0) * (index < size) * index + (index >= size) * (size - 1)
    if mode == WRAP:
        return index % size
    repeats_ends = mode == SYMMETRIC
    period = 2 * size if repeats_ends else max(1, 2 * size - 2)
    index = index % period
    return (index < size) * index + (index >= size) * (period - repeats_ends - index)


class Pad(Combine):
    """A pad, which adds elements at both ends of axes.

    A negative count removes elements.
    """

    begins: tuple[int, ...] = ()
    """The number of elements added at the start of each axis."""
    ends: tuple[int, ...] = ()
    """The number of elements added at the end of each axis."""
    mode: str = CONSTANT
    fill: float = 0
    """The value of the added elements in mode `constant`."""

    def source_indices(self, axis: int, positions: Any, size: int) -> Any:
        """Return the input index of each output index of an axis.

        `positions` is an integer or an integer array of output indices, and `size` is the size of the input axis. In
        mode `constant`, the results for added elements are out of range.

        >>> pad = Pad((7,), ((3,),), (((0, 0),),), None, (0,), (2,), (2,), REFLECT)
        >>> [pad.source_indices(0, position, 3) for position in range(7)]
        [2, 1, 0, 1, 2, 1, 0]
        """
        index = positions - self.begins[axis]
        return pad_source_index(self.mode, index, size) if self.begins[axis] or self.ends[axis] else index

    def first_position(self, axis: int, index: int, size: int) -> int:
        """Return the first output index that reads an input index.

        The result may be out of range.

        >>> Pad((7,), ((3,),), (((0, 0),),), None, (0,), (2,), (2,), REFLECT).first_position(0, 2, 3)
        0
        """
        begin = self.begins[axis]
        if self.mode == CONSTANT or not (begin or self.ends[axis]):
            return begin + index
        if self.mode == EDGE:
            return begin + index if index else 0
        if self.mode == WRAP:
            return (begin + index) % size
        repeats_ends = self.mode == SYMMETRIC
        period = 2 * size if repeats_ends else max(1, 2 * size - 2)
        return min((begin + index) % period, (begin - repeats_ends - index) % period)


Move = Permute | Reshape | Expand | StridedSlice | Roll | Take | ShapeVector | Combine

Index = tuple[int, ...]
"""The index of an element: one integer for each axis."""


def index_after_move(index: Index, shape: Sequence[Any], move: Move) -> Index | None:
    """Return the output index of the element at input index `index`.

    `shape` is the input shape. Returns None if the output does not contain the element. If the output repeats the
    element, the first output index is returned.
    """
    if isinstance(move, Permute):
        return tuple(index[axis] for axis in move.axes)
    if isinstance(move, Expand):
        return (0,) * (len(move.shape) - len(index)) + index
    if isinstance(move, StridedSlice):
        return _index_after_slice(index, shape, move)
    if isinstance(move, Roll):
        return _index_after_roll(index, shape, move.axis, move.shift)
    if isinstance(move, Pad):
        result = tuple([move.first_position(axis, position, shape[axis]) for axis, position in enumerate(index)])
        inside = [0 <= position < size for position, size in zip(result, move.output_shape(()), strict=True)]  # type: ignore[operator]
        return result if all(inside) else None
    if isinstance(move, Take):
        positions = [position % shape[move.axis] for position in move.positions]
        taken = index[move.axis]
        return (*index[: move.axis], positions.index(taken), *index[move.axis + 1 :]) if taken in positions else None
    return unravel(ravel(index, shape), move.shape) if isinstance(move, Reshape) else index


def _index_after_slice(index: Index, shape: Sequence[Any], move: StridedSlice) -> Index | None:
    result = list[int]()
    for position, dim, (start, step, size) in zip(index, shape, move.axis_ranges, strict=True):
        output_position, remainder = divmod(position - start % dim, step)
        if remainder or not 0 <= output_position < (1 if size is None else size):
            return None
        result += [] if size is None else [output_position]
    return tuple(result)


def _index_after_roll(index: Any, shape: Sequence[Any], axis: int, shift: int) -> tuple[Any, ...]:
    return (*index[:axis], (index[axis] + shift) % shape[axis], *index[axis + 1 :])


def index_before_move(index: Any, shape: Sequence[Any], move: Move) -> Any:
    """Return the input index of the element at output index `index`.

    `shape` is the input shape. The components of `index` are integers, or integer arrays for several elements. The
    index of an element that a pad adds is outside `shape`.
    """
    if isinstance(move, Pad):
        return tuple(
            [
                move.source_indices(axis, position, size)
                for axis, (position, size) in enumerate(zip(index, shape, strict=True))
            ]
        )
    if isinstance(move, Permute):
        output_axes = {axis: output_axis for output_axis, axis in enumerate(move.axes)}
        return tuple(index[output_axes[axis]] for axis in range(len(shape)))
    if isinstance(move, Expand):
        aligned = index[len(move.shape) - len(shape) :]
        return tuple(position * (size != 1) for position, size in zip(aligned, shape, strict=True))
    if isinstance(move, Roll):
        return _index_after_roll(index, shape, move.axis, -move.shift)
    if isinstance(move, StridedSlice):
        positions, axes = iter(index), zip(move.axis_ranges, shape, strict=True)
        return tuple(start % dim + (0 if size is None else step * next(positions)) for (start, step, size), dim in axes)
    if isinstance(move, Take):
        position = _positions_at(move.positions, index[move.axis]) % shape[move.axis]
        return (*index[: move.axis], position, *index[move.axis + 1 :])
    return unravel(ravel(index, move.shape), shape) if isinstance(move, Reshape) else index


def _positions_at(positions: tuple[int, ...], index: Any) -> Any:
    """Return the positions at an integer index or at an array of indices."""
    return (
        positions[index]
        if isinstance(index, int)
        else sum([(index == i) * position for i, position in enumerate(positions)])
    )


def ravel(index: Any, shape: Sequence[Any]) -> Any:
    """Convert an index into a tensor of `shape` to a flat index in C order.

    The components of `index` are integers, or integer arrays for several elements.

    >>> ravel((1, 0, 2), (2, 3, 4))
    14
    """
    flat: Any = 0
    for position, size in zip(index, shape, strict=True):
        flat = flat * size + position
    return flat


def unravel(flat: Any, shape: Sequence[Any]) -> Any:
    """Convert a flat index in C order to an index into a tensor of `shape`.

    >>> unravel(14, (2, 3, 4))
    (1, 0, 2)
    """
    index = []
    for size in reversed(shape):
        index.append(flat % size)
        flat = flat // size
    return tuple(reversed(index))
