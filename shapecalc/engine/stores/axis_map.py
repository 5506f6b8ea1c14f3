"""Maps between the axes of a source array and the axes of an output array.

The output is computed from the source by moves (`core.moves`), such as a reshape or a permutation. A reshape splits an
axis into sub-axes, and merges sub-axes into an axis. A group contains the source sub-axes and the output sub-axes of
the same elements. Most groups have one source sub-axis and one output sub-axis. A group with several source sub-axes is
mixed: the boundaries of its output sub-axes differ from the boundaries of its source sub-axes. For example, a reshape
of 2,3 to 3,2 yields one mixed group.

A map is computed from the layout of the output (`core.layout`), in which a sub-axis is called an atom. A pass reads the
source once, and writes the output once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from shapecalc.core.conditions import Assumptions
from shapecalc.core.dims import IntTuple
from shapecalc.core.layout import Atom, View, contiguous_strides
from shapecalc.core.moves import Move, ShapeVector, Take, unravel


class MoveError(ValueError):
    """Raised for moves that cannot be executed in one pass over the data."""


@dataclass(frozen=True, slots=True)
class SubAxis:
    """A sub-axis of `size` indices, with a stride along its axis.

    The stride is negative if the sub-axis is traversed in reverse.
    """

    axis: int
    size: int
    stride: int


@dataclass(frozen=True, slots=True)
class SubAxisGroup:
    """The source sub-axes and the output sub-axes of the same elements.

    Both tuples begin with the outermost sub-axis.
    """

    sources: tuple[SubAxis, ...]
    outputs: tuple[SubAxis, ...]

    @property
    def size(self) -> int:
        """The number of elements in the group."""
        return prod(part.size for part in self.outputs)

    @property
    def is_mixed(self) -> bool:
        """Whether the group has several source sub-axes."""
        return len(self.sources) > 1


@dataclass(frozen=True)
class AxisMap:
    """A map from sub-axes of source axes to sub-axes of output axes.

    Along `repeated_sub_axes`, output sub-axes that are in no group, the elements are broadcast.
    """

    source_shape: IntTuple
    output_shape: IntTuple
    groups: tuple[SubAxisGroup, ...]
    starts: IntTuple
    """For each source axis, the index of the first element that is read."""
    rolls: IntTuple
    """For each source axis, the shift by which it is rolled before it is read."""
    repeated_sub_axes: tuple[SubAxis, ...] = ()

    @property
    def is_mixed(self) -> bool:
        """Whether a group is mixed."""
        return any(run.is_mixed for run in self.groups)

    @cached_property
    def source_sub_axes(self) -> tuple[tuple[SubAxis, ...], ...]:
        """The sub-axes of each source axis, the outermost first."""
        return _sort_by_axis([atom for run in self.groups for atom in run.sources], len(self.source_shape))

    @cached_property
    def output_sub_axes(self) -> tuple[tuple[SubAxis, ...], ...]:
        """The sub-axes of each output axis, the outermost first."""
        return _sort_by_axis(
            [atom for run in self.groups for atom in run.outputs] + [*self.repeated_sub_axes], len(self.output_shape)
        )


def _sort_by_axis(parts: Iterable[SubAxis], rank: int) -> tuple[tuple[SubAxis, ...], ...]:
    ordered = sorted(parts, key=lambda part: -abs(part.stride))
    return tuple([tuple([part for part in ordered if part.axis == axis]) for axis in range(rank)])


def build_axis_map(source_shape: IntTuple, moves: Sequence[Move]) -> AxisMap:
    """Return the axis map of moves that are applied to a non-empty array.

    Raises `MoveError` for moves that cannot be executed in one pass over the data.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> [run.size for run in build_axis_map((2, 3, 4), [Permute((1, 0, 2)), Reshape((3, 8))]).groups]
    [3, 2, 4]
    """
    padded_shape = tuple(
        [2 * size + 1 for size in source_shape]
    )  # gaps between the source axes prevent `View.normalize` from merging them
    strides = contiguous_strides(padded_shape)
    axes = [(Atom(size, stride),) if size != 1 else () for size, stride in zip(source_shape, strides, strict=True)]
    view, shape = View(tuple(axes)), source_shape
    for move in moves:
        if isinstance(move, ShapeVector):
            raise MoveError("shape returns dims, so no element moves")
        if isinstance(move, Take) and move.start_and_step is None:
            raise MoveError("take reads positions in no regular steps")
        view, shape = view.apply_move(move, shape, Assumptions()), move.output_shape(shape)  # type: ignore[assignment]  # all are numbers
    return _AxisMapBuilder(source_shape, padded_shape, view.normalize(Assumptions())).build(shape)


def split_into_axis_maps(source_shape: IntTuple, moves: Sequence[Move]) -> tuple[AxisMap, ...]:
    """Split moves into the fewest passes over the data, each an axis map.

    Among splits with equally many passes, the one with the smallest intermediate arrays is chosen. Raises `MoveError`
    if a single move cannot be executed in one pass.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> len(split_into_axis_maps((2, 3), [Reshape((3, 2)), Permute((1, 0)), Reshape((3, 2)), Permute((1, 0))]))
    2
    """
    shapes: list[IntTuple] = [*accumulate(moves, lambda shape, move: move.output_shape(shape), initial=source_shape)]  # type: ignore[arg-type, return-value]
    best: list[tuple[int, int, tuple[AxisMap, ...]]] = [(0, 0, ())]
    for end in range(1, len(shapes)):
        solutions = []
        for start in range(end):
            count, between, maps = best[start]
            try:
                last_map = build_axis_map(shapes[start], moves[start:end])
            except MoveError as error:
                last_error = error
            else:
                solutions.append((count + 1, between + (prod(shapes[start]) if start else 0), (*maps, last_map)))
        if not solutions:
            raise last_error
        best.append(min(solutions, key=lambda solution: solution[:2]))
    return best[-1][2] or (build_axis_map(source_shape, ()),)


class _AxisMapBuilder:
    """A converter from the atoms of a layout to an axis map."""

    def __init__(self, source_shape: IntTuple, padded_shape: IntTuple, view: View) -> None:
        if view.fixed:
            raise MoveError("what is mixed is not picked from")
        self.source_shape, self.padded_shape = source_shape, padded_shape
        self.axes: Any = view.axes  # `Any`, because all sizes and strides are integers here
        self.strides: IntTuple = contiguous_strides(padded_shape)  # type: ignore[assignment]  # all of them are numbers
        self.offsets: dict[int | None, int] = {None: sum(view.offset)}  # type: ignore[arg-type]
        self.rolls = [0] * len(source_shape)
        self.index_spaces: dict[Any, tuple[int | None, int]] = {((), ()): (None, 1)}

    def build(self, output_shape: IntTuple) -> AxisMap:
        """Convert the layout of an array with the shape `output_shape` to an axis map."""
        runs: dict[Any, list[tuple[int, SubAxis]]] = {}
        repeated = []
        for axis, atoms in enumerate(self.axes):
            stride = output_shape[axis]
            for atom in atoms:
                stride //= atom.size
                part = SubAxis(axis, atom.size, stride)
                if atom.stride == 0:
                    repeated.append(part)
                else:
                    key = atom.space if len(atom.base) > 1 else self._source_sub_axis(atom)
                    runs.setdefault(key, []).append((atom.stride, part))
        groups = tuple([self._build_group(key, outputs) for key, outputs in runs.items()])
        return AxisMap(self.source_shape, output_shape, groups, self._axis_starts(), tuple(self.rolls), tuple(repeated))

    def _build_group(self, source_key: Any, strided_outputs: list[tuple[int, SubAxis]]) -> SubAxisGroup:
        """Build the group of output sub-axes, which are given with their source strides.

        `source_key` is the source sub-axis of the group, or the index space of a mixed group.
        """
        if isinstance(source_key, SubAxis):
            return SubAxisGroup((source_key,), (strided_outputs[0][1],))
        base, start = source_key
        strided_outputs.sort(key=lambda pair: -pair[0])
        strides = [*accumulate([part.size for _, part in strided_outputs[::-1]], mul, initial=1)][::-1]
        if start or strides != [prod([atom.size for atom in base]), *[stride for stride, _ in strided_outputs]]:
            raise MoveError("what is mixed is not picked from")
        return SubAxisGroup(tuple(map(self._source_sub_axis, base)), tuple([part for _, part in strided_outputs]))

    def _source_sub_axis(self, atom: Any) -> SubAxis:
        if atom.stride == 0 or len(atom.base) > 1:
            raise MoveError("a reshape mixes what is mixed or repeated already")
        axis, scale = self._resolve_index_space(atom.space)
        if atom.stride < 0:
            self.offsets[axis] -= scale * atom.stride * (atom.size - 1)
        stride = scale * atom.stride
        if axis is None:
            axis = next(axis for axis, step in enumerate(self.strides) if step <= abs(stride))
            stride //= self.strides[axis]
        return SubAxis(axis, atom.size, stride)

    def _resolve_index_space(self, index_space: Any) -> tuple[int | None, int]:
        """Return the source axis of an index space (`Atom.space`), and its stride.

        The index space of an atom is the set of indices to which its stride refers. Only a rolled axis has an index
        space of its own. For other spaces, the axis is None, and the stride is in elements of the padded source.
        """
        if index_space not in self.index_spaces:
            (base, *others), start = index_space
            if others or base.stride == 0:
                raise MoveError("what is mixed is not picked from")
            start_index, size, stride = sum(start), base.size, base.stride
            axis = self.strides.index(stride) if stride in self.strides else None
            is_whole = axis is not None and not base.base and self.source_shape[axis] == size
            if axis is not None and start and is_whole and axis not in self.offsets:
                self.rolls[axis], self.offsets[axis] = -start_index % size, 0
                self.index_spaces[index_space] = axis, 1
            elif start_index + self._index_space_extent(index_space) < size:
                outer, scale = self._resolve_index_space(base.space)
                self.offsets[outer] += scale * stride * (start_index if stride > 0 else start_index + 1 - size)
                self.index_spaces[index_space] = outer, scale * stride
            else:
                raise MoveError("what is rolled is not an axis of the source")
        return self.index_spaces[index_space]

    def _index_space_extent(self, index_space: Any) -> int:
        """Return the difference of the largest and the smallest index in an index space."""
        pending, extent, visited = [atom for axis in self.axes for atom in axis], 0, set()
        while pending:
            atom = pending.pop()
            extent += abs(atom.stride) * (atom.size - 1) if atom.space == index_space else 0
            if atom.space not in visited:
                visited.add(atom.space)
                pending += atom.base
        return extent

    def _axis_starts(self) -> IntTuple:
        """Return the index of the first element that is read, for each source axis."""
        starts = [*unravel(self.offsets.pop(None), self.padded_shape)]
        for axis, first in self.offsets.items():
            starts[axis] += first  # type: ignore[index]  # None, the key of the whole source, does not occur here
        return tuple(starts)
