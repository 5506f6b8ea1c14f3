"""The map from the axes of an array to those of what moves make of it, read from the core's atoms.

A run is positions that both hold: a part of one source axis and of one output axis where cuts line up. Where they do
not, it is several parts of the source, cut otherwise in the output. A part that is read backwards, or not at every
position, has a step of its own, and each axis of the source a place where it begins to be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any

from shapecalc.core.conditions import Known
from shapecalc.core.layout import Atom, View, contiguous_strides
from shapecalc.core.moves import Dims, Move, Take, unravel

Sizes = tuple[int, ...]


class MoveError(ValueError):
    """Moves that one pass over the data cannot make. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class AxisAtom:
    """A part of an axis: `size` positions that are `step` apart on it, below 0 if it is read backwards."""

    axis: int
    size: int
    step: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run of positions: the parts of the source that it goes through, outermost first, and of the output."""

    sources: tuple[AxisAtom, ...]
    outputs: tuple[AxisAtom, ...]

    @property
    def size(self) -> int:
        """How many positions it has."""
        return prod(each.size for each in self.outputs)

    @property
    def mixes(self) -> bool:
        """Whether it is cut otherwise in the output than in the source."""
        return len(self.sources) > 1


@dataclass(frozen=True)
class AxisMap:
    """What moves do to an array. An output part that no run has repeats all of them."""

    source: Sizes
    output: Sizes
    runs: tuple[Run, ...]
    starts: Sizes
    """Where each axis of the source is read when all of its parts are at 0."""
    rolls: Sizes
    """By how much each axis of the source is rolled before anything else."""
    repeated: tuple[AxisAtom, ...] = ()

    @property
    def mixes(self) -> bool:
        """Whether one of its runs does."""
        return any(run.mixes for run in self.runs)

    @cached_property
    def by_source_axis(self) -> tuple[tuple[AxisAtom, ...], ...]:
        """The parts of each axis of the source, the outermost first."""
        return _by_axis([atom for run in self.runs for atom in run.sources], len(self.source))

    @cached_property
    def by_output_axis(self) -> tuple[tuple[AxisAtom, ...], ...]:
        """The parts of each axis of the output, the outermost first."""
        return _by_axis([atom for run in self.runs for atom in run.outputs] + [*self.repeated], len(self.output))


def _by_axis(atoms: Iterable[AxisAtom], rank: int) -> tuple[tuple[AxisAtom, ...], ...]:
    ordered = sorted(atoms, key=lambda atom: -abs(atom.step))
    return tuple([tuple([each for each in ordered if each.axis == axis]) for axis in range(rank)])


def axis_map(source: Sizes, moves: Sequence[Move]) -> AxisMap:
    """Return the map of an array of shape `source` under moves; no dim of it may be 0.

    Raises `MoveError` for moves that one pass over the data cannot make.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> [run.size for run in axis_map((2, 3, 4), [Permute((1, 0, 2)), Reshape((3, 8))]).runs]
    [3, 2, 4]
    """
    room = tuple([2 * size + 1 for size in source])  # so far apart, atoms of two axes are never one step
    strides = contiguous_strides(room)
    axes = [(Atom(size, stride),) if size != 1 else () for size, stride in zip(source, strides, strict=True)]
    view, shape = View(tuple(axes)), source
    for move in moves:
        if isinstance(move, Dims):
            raise MoveError("shape returns dims, so no element moves")
        if isinstance(move, Take) and move.regular is None:
            raise MoveError("take reads positions in no regular steps")
        view, shape = view.after(move, shape, Known()), move.after(shape)  # type: ignore[assignment]  # all are numbers
    return _Reader(source, room, view.normal(Known())).axis_map(shape)


def fewest_maps(source: Sizes, moves: Sequence[Move]) -> tuple[AxisMap, ...]:
    """Return the maps of moves, in as few passes as there are; of those, with the smallest arrays between.

    Raises `MoveError` for a move that no pass can make.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> len(fewest_maps((2, 3), [Reshape((3, 2)), Permute((1, 0)), Reshape((3, 2)), Permute((1, 0))]))
    2
    """
    shapes: list[Sizes] = [*accumulate(moves, lambda shape, move: move.after(shape), initial=source)]  # type: ignore[arg-type, return-value]
    best: list[tuple[int, int, tuple[AxisMap, ...]]] = [(0, 0, ())]
    for end in range(1, len(shapes)):
        ways = []
        for begin in range(end):
            count, between, before = best[begin]
            try:
                own = axis_map(shapes[begin], moves[begin:end])
            except MoveError as error:
                refused = error
            else:
                ways.append((count + 1, between + (prod(shapes[begin]) if begin else 0), (*before, own)))
        if not ways:
            raise refused
        best.append(min(ways, key=lambda way: way[:2]))
    return best[-1][2] or (axis_map(source, ()),)


class _Reader:
    """Reads the atoms of a view as parts of the axes of its source, and where each of these axes begins to be read."""

    def __init__(self, source: Sizes, room: Sizes, view: View) -> None:
        if view.fixed:
            raise MoveError("what is mixed is not picked from")
        self.source, self.room = source, room
        self.axes: Any = view.axes  # all sizes and strides in it are numbers
        self.strides: Sizes = contiguous_strides(room)  # type: ignore[assignment]  # all of them are numbers
        self.first: dict[int | None, int] = {None: sum(view.offset)}  # type: ignore[arg-type]
        self.rolls = [0] * len(source)
        self.levels: dict[Any, tuple[int | None, int]] = {((), ()): (None, 1)}

    def axis_map(self, output: Sizes) -> AxisMap:
        """Return the map of the view, which has the shape `output`."""
        runs: dict[Any, list[tuple[int, AxisAtom]]] = {}
        repeated = []
        for axis, atoms in enumerate(self.axes):
            left = output[axis]
            for atom in atoms:
                left //= atom.size
                own = AxisAtom(axis, atom.size, left)
                if atom.stride == 0:
                    repeated.append(own)
                else:
                    key = atom.level if len(atom.base) > 1 else self._of_source(atom)
                    runs.setdefault(key, []).append((atom.stride, own))
        made = tuple([self._run(key, outputs) for key, outputs in runs.items()])
        return AxisMap(self.source, output, made, self._starts(), tuple(self.rolls), tuple(repeated))

    def _run(self, key: Any, outputs: list[tuple[int, AxisAtom]]) -> Run:
        if isinstance(key, AxisAtom):
            return Run((key,), (outputs[0][1],))
        base, start = key
        outputs.sort(key=lambda each: -each[0])
        strides = [*accumulate([part.size for _, part in outputs[::-1]], mul, initial=1)][::-1]
        if start or strides != [prod([atom.size for atom in base]), *[stride for stride, _ in outputs]]:
            raise MoveError("what is mixed is not picked from")
        return Run(tuple(map(self._of_source, base)), tuple([part for _, part in outputs]))

    def _of_source(self, atom: Any) -> AxisAtom:
        """Return the part of a source axis that an atom steps through."""
        if atom.stride == 0 or len(atom.base) > 1:
            raise MoveError("a reshape mixes what is mixed or repeated already")
        axis, scale = self._level(atom.level)
        if atom.stride < 0:
            self.first[axis] -= scale * atom.stride * (atom.size - 1)
        stride = scale * atom.stride
        if axis is None:
            axis = next(axis for axis, step in enumerate(self.strides) if step <= abs(stride))
            stride //= self.strides[axis]
        return AxisAtom(axis, atom.size, stride)

    def _level(self, level: Any) -> tuple[int | None, int]:
        """Return the axis that is rolled, none for the source itself, and how far a step of a level leads on it."""
        if level not in self.levels:
            (base, *others), start = level
            if others or base.stride == 0:
                raise MoveError("what is mixed is not picked from")
            at, size, stride = sum(start), base.size, base.stride
            axis = self.strides.index(stride) if stride in self.strides else None
            is_whole = axis is not None and not base.base and self.source[axis] == size
            if axis is not None and start and is_whole and axis not in self.first:
                self.rolls[axis], self.first[axis] = -at % size, 0
                self.levels[level] = axis, 1
            elif at + self._extent(level) < size:
                outer, scale = self._level(base.level)
                self.first[outer] += scale * stride * (at if stride > 0 else at + 1 - size)
                self.levels[level] = outer, scale * stride
            else:
                raise MoveError("what is rolled is not an axis of the source")
        return self.levels[level]

    def _extent(self, level: Any) -> int:
        """Return how many positions of a level its atoms step over."""
        waiting, found, visited = [atom for axis in self.axes for atom in axis], 0, set()
        while waiting:
            atom = waiting.pop()
            found += abs(atom.stride) * (atom.size - 1) if atom.level == level else 0
            if atom.level not in visited:
                visited.add(atom.level)
                waiting += atom.base
        return found

    def _starts(self) -> Sizes:
        """Return where each axis begins to be read, once all atoms are known."""
        starts = [*unravel(self.first.pop(None), self.room)]
        for axis, first in self.first.items():
            starts[axis] += first  # type: ignore[index]  # only the source itself is no axis
        return tuple(starts)
