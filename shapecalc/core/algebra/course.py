"""Courses: a chain as what it does to its input, whatever its ops were called, for names and for numbers."""

from __future__ import annotations

from array import array
from math import prod

from shapecalc.core.answers.atoms import merge
from shapecalc.core.answers.element_path import index_before, ravel, unravel
from shapecalc.core.answers.moves import Expand, Move, Pick, Reshape, Roll, Slice
from shapecalc.core.answers.views import View, view_of, view_through
from shapecalc.core.sizes.dims import Shape, rewrite
from shapecalc.core.sizes.known import Known
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.answers.trace import Chain, Trace
    from shapecalc.core.sizes.dims import Dim


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
        return Course(_rewritten(self.input, dims), tuple([_move_rewritten(move, dims) for move in self.moves]))

    def view(self, known: Known) -> View:
        """Return the view of the output, which is the same for all courses of one output if that is empty."""
        return View(()) if 0 in self.dims else view_through(self.input, self.moves, known)


def _move_rewritten(move: Move, dims: Mapping[str, Dim]) -> Move:
    if isinstance(move, Reshape | Expand):
        return type(move)(_rewritten(move.shape, dims))
    if isinstance(move, Pick):
        sizes = tuple([size if size is None else rewrite(size, dims) for size in move.sizes])
        return Pick(_rewritten(move.starts, dims), move.steps, sizes)
    return move


def _rewritten(shape: Shape, dims: Mapping[str, Dim]) -> Shape:
    return tuple([rewrite(dim, dims) for dim in shape])


def course_of(answer: Trace | Chain) -> Course:
    """Return the course of an answer; raise `ShapeError` (usage) for op `shape`, which moves no elements."""
    for move in answer.moves:
        if isinstance(move, Slice):
            raise misuse("shape returns dims, so no element moves")
    return Course(answer.input, answer.moves)


def position(course: Course, place: int) -> int:
    """Return where in the input the element at a place of the output stands, both counted in C order.

    >>> from shapecalc.core.answers.moves import Permute
    >>> [position(Course((2, 3), (Permute((1, 0)),)), place) for place in range(6)]
    [0, 3, 1, 4, 2, 5]
    """
    index = unravel(place, course.output)
    for shape, move in zip(course.shapes[-2::-1], course.moves[::-1], strict=True):
        index = index_before(index, shape, move)
    found: int = ravel(index, course.input)
    return found


def positions(course: Course, elements: array[int]) -> array[int]:
    """Return which of the input's elements each element of the output is, in C order; every dim is a number but 0.

    >>> from shapecalc.core.answers.moves import Permute
    >>> positions(Course((2, 3), (Permute((1, 0)),)), array("q", range(6))).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    found, view, shape, known = elements, view_of(course.input), course.input, Known()
    for move in course.moves:
        after = view.after(move, shape, known)
        if not after.is_plain:
            found, after = _gathered(found, view), view_of(shape)
            if isinstance(move, Roll):
                found = _rolled(found, shape, move)
            else:
                after = after.after(move, shape, known)
        view, shape = after, move.after(shape)
    return _gathered(found, view)


def _rolled(source: array[int], shape: Shape, move: Roll) -> array[int]:
    """Return the items of a tensor with the positions of one axis moved on, in C order."""
    within = prod(shape[move.axis :])  # type: ignore[arg-type]  # all are numbers
    shift = move.shift * prod(shape[move.axis + 1 :]) % within  # type: ignore[arg-type]
    made = array("q")
    for start in range(0, len(source), within):
        end = start + within
        made += source[end - shift : end] + source[start : end - shift]
    return made


def _gathered(source: array[int], view: View) -> array[int]:
    """Return the items that a view reads from a source, in C order; the longest atom is read in one step."""
    steps = [(atom.size, atom.stride) for atom in merge([atom for axis in view.axes for atom in axis])] or [(1, 1)]
    sizes = [int(str(size)) for size, _ in steps]
    strides = [int(str(stride)) for _, stride in steps]
    along = max(range(len(sizes)), key=sizes.__getitem__)
    made = array("q", bytes(8 * prod(sizes)))
    starts, places = [view.first], [0]
    for place, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        if place != along:
            step = prod(sizes[place + 1 :])
            starts = [start + index * stride for start in starts for index in range(size)]
            places = [start + index * step for start in places for index in range(size)]
    size, stride, step = sizes[along], strides[along], prod(sizes[along + 1 :])
    for start, place in zip(starts, places, strict=True):
        made[place : place + size * step : step] = _run(source, start, stride, size)
    return made


def _run(source: array[int], start: int, stride: int, size: int) -> array[int]:
    """Return every so many items of a source, backwards for a stride below 0, or one item all the time for 0."""
    if stride == 0:
        return source[start : start + 1] * size
    end = start + size * stride
    return source[start : end if end >= 0 else None : stride]
