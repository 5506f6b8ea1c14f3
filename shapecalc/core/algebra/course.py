"""Courses: a chain as what it does to its input, whatever its ops were called, for names and for numbers."""

from __future__ import annotations

from array import array
from math import prod

from shapecalc.core.answers.atoms import Known, axes_after, axes_of, axes_through, merge
from shapecalc.core.answers.moves import Expand, Move, Pick, Reshape, Roll, Slice
from shapecalc.core.sizes.dims import Shape, rewrite
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.answers.atoms import Axes
    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.sizes.dims import Dim

NOTHING = Known()
"""What is known of numbers."""


class Course(Record):
    """The input shape of a chain and its moves."""

    input: Shape
    moves: tuple[Move, ...]

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shape of the input, and the shape after each move."""
        shapes = [self.input]
        for move in self.moves:
            shapes.append(move.after(shapes[-1]))
        return tuple(shapes)

    @property
    def dims(self) -> Shape:
        """The dims of all shapes, each once."""
        return tuple({dim: None for shape in self.shapes for dim in shape})

    @property
    def output(self) -> Shape:
        """The shape after the last move."""
        return self.shapes[-1]

    def rewritten(self, dims: Mapping[str, Dim]) -> Course:
        """Return the course with dims put in for names."""
        moves = [
            type(move)(_rewritten(move.shape, dims)) if isinstance(move, Reshape | Expand) else move
            for move in self.moves
        ]
        return Course(_rewritten(self.input, dims), tuple(moves))

    def axes(self, known: Known) -> Axes:
        """Return the axes of the output, which are the same for all courses of one output if that is empty."""
        return () if 0 in self.dims else axes_through(self.input, self.moves, known)


def _rewritten(shape: Shape, dims: Mapping[str, Dim]) -> Shape:
    return tuple([rewrite(dim, dims) for dim in shape])


def course_of(answer: Trace | Chain) -> Course:
    """Return the course of an answer; raise `ShapeError` (usage) for op `shape`, which moves no elements."""
    for move in answer.moves:
        if isinstance(move, Slice):
            raise misuse("shape returns dims, so no element moves")
        if isinstance(move, Pick | Roll):
            raise misuse("chains with select, slice, split, flip or roll are not compared")
    return Course(answer.input, answer.moves)


def positions(course: Course) -> array[int]:
    """Return where in the input each element of the output stands, in C order; every dim is a number but 0.

    >>> from shapecalc.core.answers.moves import Permute
    >>> positions(Course((2, 3), (Permute((1, 0)),))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    found, axes, shape = array("q", range(prod(course.input))), axes_of(course.input), course.input  # type: ignore[arg-type]
    for move in course.moves:
        after = axes_after(axes, move, shape, NOTHING)
        if any(atom.base for axis in after for atom in axis):
            found, after = _gathered(found, axes), axes_after(axes_of(shape), move, shape, NOTHING)
        axes, shape = after, move.after(shape)
    return _gathered(found, axes)


def _gathered(source: array[int], axes: Axes) -> array[int]:
    """Return the items that axes read from a source, in C order; the longest atom is read in one step."""
    steps = [(atom.size, atom.stride) for atom in merge([atom for axis in axes for atom in axis])] or [(1, 1)]
    sizes = [int(str(size)) for size, _ in steps]
    strides = [int(str(stride)) for _, stride in steps]
    along = max(range(len(sizes)), key=sizes.__getitem__)
    made = array("q", bytes(8 * prod(sizes)))
    starts, places = [0], [0]
    for place, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if place != along:
            step = prod(sizes[place + 1 :])
            starts = [start + index * stride for start in starts for index in range(size)]
            places = [start + index * step for start in places for index in range(size)]
    size, stride, step = sizes[along], strides[along], prod(sizes[along + 1 :])
    for start, place in zip(starts, places, strict=True):
        read = source[start : start + size * stride : stride] if stride else source[start : start + 1] * size
        made[place : place + size * step : step] = read
    return made
