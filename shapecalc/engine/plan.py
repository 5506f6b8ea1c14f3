"""Plan the execution of moves as strided views, with as few copies as possible.

A reshape that merges axes can require a copy. If a later reshape separates these axes again, the copy is unnecessary.
The search therefore continues past shapes that no strided view can represent; if a later shape is a strided view again,
one copy executes all moves up to it. A plan is computed from strides alone, so it takes microseconds for data of any
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.conditions import Assumptions
from shapecalc.core.dims import IntTuple, Shape, is_concrete, sum_terms
from shapecalc.core.layout import Atom, StridedAxes, View, merge_atoms
from shapecalc.core.limits import MAX_AXIS_MIXING_STAGES, MAX_EXAMINED_COPIES
from shapecalc.core.moves import Combine, Move, Pad, Reshape, Roll, ShapeVector, StridedSlice, Take
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record

AxisPieces = tuple[int, tuple[tuple[int, int], ...]]
"""An axis of the source, and its pieces in output order, each with its start and its length."""
IndexedViews = tuple[tuple[int, View], ...]
"""Views of a buffer, each preceded by the number of moves that produce it."""

UNMIXING_MOVES = (Reshape, StridedSlice)
"""The moves after which an axis that a reshape has mixed may be strided again."""


class StridedView(Record):
    """A view of a buffer: its shape, its strides in bytes, and its offset in bytes.

    The offset is relative to the first element of the array that owns the buffer. It is negative if the view starts
    before this element, which is possible if the array has negative strides.
    """

    shape: IntTuple
    strides: IntTuple
    offset: int = 0


class BufferCopy(Record):
    """A copy of a view into a new C-contiguous buffer.

    Adjacent axes of `source` are merged if one stride steps through both.
    """

    source: StridedView
    blocking_strides: tuple[int, int] | None
    """Two strides of one axis, in bytes, because of which a copy is necessary; None for a copy of pieces."""
    pieces: AxisPieces | None = None

    @property
    def shape(self) -> IntTuple:
        """The shape of the new buffer."""
        return compute_copy_shape(self.source.shape, self.pieces)


class Plan(Record):
    """The copies of an array in order of execution, and the view of the last copy."""

    copies: tuple[BufferCopy, ...]
    view: StridedView
    stages: tuple[StridedView, ...]
    """The strided view of the data after each move.

    For a view with an axis that has no single stride, this is the view of its C-contiguous copy.
    """
    itemsize: int

    @property
    def verdict(self) -> str:
        """`copy` if elements are copied, otherwise `view`."""
        return "copy" if self.copies else "view"

    @property
    def bytes_moved(self) -> int:
        """The number of bytes that the copies write."""
        return sum(prod(copy.shape) for copy in self.copies) * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the last view is C-contiguous."""
        return 0 in self.view.shape or merge_axes(axes_from_strides(self.view.shape, self.view.strides))[1] in (
            (),
            (self.itemsize,),
        )

    @property
    def is_whole_last_buffer(self) -> bool:
        """Whether the last view is the complete buffer of the last copy."""
        if not self.copies:
            return False
        shape = self.copies[-1].shape
        return self.view == StridedView(shape, byte_strides(shape, self.itemsize))

    @property
    def has_repeats(self) -> bool:
        """Whether the last view reads some element more than once."""
        pairs = zip(self.view.shape, self.view.strides, strict=True)
        return 0 not in self.view.shape and any(size > 1 and not stride for size, stride in pairs)


class BufferView(Record):
    """Consecutive moves that are executed as views of one buffer."""

    view: View
    """The view after the last of the moves, or the view before `piecewise_move`."""
    end: int
    """The number of moves of the plan up to the last of these moves, inclusive."""
    is_copied: bool
    """Whether the view is copied into a new C-contiguous buffer."""
    views: IndexedViews
    """The view after each of the moves."""
    piecewise_move: Roll | Take | None = None
    """The last move, if it is a roll or an irregular take; such a move requires a copy.

    The positions of an irregular take are not evenly spaced.
    """


class _CopySearch:
    """A memoized search for the views with the fewest copies.

    The best continuation after a copy does not depend on the moves before it, so each continuation is searched only
    once.
    """

    def __init__(self, moves: tuple[Move, ...], shapes: tuple[IntTuple, ...], itemsize: int) -> None:
        self.moves, self.shapes, self.itemsize = moves, shapes, itemsize
        self.views_after_copies: dict[int, tuple[BufferView, ...]] = {}
        self.budget = int(MAX_EXAMINED_COPIES)
        self.last_unmixing = max(
            [index + 1 for index, move in enumerate(moves) if isinstance(move, UNMIXING_MOVES)], default=0
        )

    def find_best_views(self, start: int, view: View) -> tuple[BufferView, ...]:
        """Return the best views for the moves from index `start` on, beginning with `view`."""
        stages = tuple(self._iter_views(start, view))
        if stages[-1][0] == len(self.moves) and stages[-1][1].is_strided:
            return (self._make_buffer_view(stages, len(stages)),)
        choices = self._iter_solutions(start, stages)
        last = next(choices)
        minimum = (
            1,
            min(map(prod, self.shapes[start:])),
        )  # a single copy, of the smallest intermediate array, is optimal
        return last if self._cost(last) == minimum else min((last, *choices), key=self._cost)

    def _iter_views(self, start: int, view: View) -> Iterator[tuple[int, View]]:
        """Yield the views after each move from `start` on, until a copy is required.

        A copy is required before a roll or an irregular take, and if no later view can be strided.
        """
        yield start, view
        mixed = 0
        for index in range(start, len(self.moves)):
            mixed = 0 if view.is_strided else mixed + 1
            if self._find_piecewise_move(index) or (
                mixed and (index >= self.last_unmixing or mixed > MAX_AXIS_MIXING_STAGES or self.budget < 0)
            ):
                return
            self.budget -= mixed
            view = self._apply_move(view, index)
            yield index + 1, view

    def _apply_move(self, view: View, index: int) -> View:
        """Return the view after a move.

        The view of an empty tensor is contiguous.
        """
        if 0 in self.shapes[index + 1]:
            return View(contiguous_axes(self.shapes[index + 1], self.itemsize))
        if isinstance(self.moves[index], Roll):
            return view
        view = view.apply_move(self.moves[index], self.shapes[index], Assumptions())
        return (
            view
            if view.is_strided or not isinstance(self.moves[index], UNMIXING_MOVES)
            else view.normalize(Assumptions())
        )

    def _find_piecewise_move(self, index: int) -> Roll | Take | None:
        """Return the move at `index` if it requires a copy, otherwise None.

        Such a move is an irregular take, or a roll that moves an element.
        """
        move, sizes = self.moves[index], self.shapes[index]
        if isinstance(move, Take):
            return move if move.start_and_step is None and 0 not in sizes else None
        return move if isinstance(move, Roll) and 0 not in sizes and move.shift % sizes[move.axis] else None

    def _iter_solutions(self, start: int, views: IndexedViews) -> Iterator[tuple[BufferView, ...]]:
        """Yield the best solution for each possible position of the first copy.

        Later positions come first. A view can be copied only if it is strided.
        """
        for count in range(len(views), 0, -1):
            index, view = views[count - 1]
            if not view.is_strided:
                continue
            roll = self._find_piecewise_move(index) if index < len(self.moves) else None
            if roll and not find_blocking_strides((view.axes[roll.axis],)):
                yield (self._make_piecewise_view(views[:count], roll), *self.find_best_views_after_copy(index + 1))
            elif index > start or start not in self.views_after_copies:
                yield (self._make_buffer_view(views, count, is_copied=True), *self.find_best_views_after_copy(index))

    def find_best_views_after_copy(self, start: int) -> tuple[BufferView, ...]:
        """Return the best views for the moves from `start` on, after a copy."""
        if start not in self.views_after_copies:
            self.views_after_copies[start] = ()
            self.views_after_copies[start] = self.find_best_views(
                start, View(contiguous_axes(self.shapes[start], self.itemsize))
            )
        return self.views_after_copies[start]

    def _make_buffer_view(self, views: IndexedViews, count: int, *, is_copied: bool = False) -> BufferView:
        end, view = views[count - 1]
        needed = end == len(self.moves) and 0 not in self.shapes[end] and find_blocking_strides(view.axes) is not None
        return BufferView(view, end, is_copied or needed, views[1:count])

    def _make_piecewise_view(self, views: IndexedViews, move: Roll | Take) -> BufferView:
        end, view = views[-1]
        after = View(contiguous_axes(self.shapes[end + 1], self.itemsize))
        return BufferView(view, end + 1, True, (*views[1:], (end + 1, after)), move)

    def _cost(self, views: tuple[BufferView, ...]) -> tuple[int, int]:
        """Return the number of copies, and the number of elements that they copy."""
        copied = [prod(self.shapes[view.end]) for view in views if view.is_copied]
        return len(copied), sum(copied)


def executable_moves(answer: Trace | Chain) -> tuple[Move, ...]:
    """Return the moves of an answer, after checking that they can be executed.

    Pads may be among the moves; the caller must execute them, because a plan cannot. Raises `ShapeError` (usage) if the
    answer is refused, has symbolic sizes, or has several operands or windows.
    """
    require_executable_moves(answer.moves, answer.input, answer.output)
    return answer.moves


def require_executable_moves(moves: tuple[Move, ...], input_shape: Shape, output: Shape | None) -> None:
    """Raise `ShapeError` (usage) if a plan cannot execute the moves of an answer.

    The reasons are those of `executable_moves`. `input_shape` and `output` are the input and the output of the answer.
    """
    if any(isinstance(move, Combine) and not isinstance(move, Pad) for move in moves):
        raise usage_error("an array is moved by itself, and this answer combines operands or computes elements")
    if output is None:
        raise usage_error("the request is refused, so there is nothing to carry out")
    if not is_concrete(input_shape + output):
        raise usage_error("names have no size", "give the sizes with --where")


@lru_cache(maxsize=256)
def plan_moves(
    moves: tuple[Move, ...], shape: IntTuple, strides: IntTuple | None, itemsize: int, *, contiguous: bool = False
) -> Plan:
    """Plan the execution of moves on an array of the given shape and strides.

    `strides` and `itemsize` are in bytes; without strides, the array is C-contiguous. With `contiguous`, the result is
    C-contiguous.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> plan_moves((Permute((1, 0)), Reshape((6,))), (2, 3), (12, 4), 4).verdict
    'copy'
    >>> plan_moves((Reshape((3, 2)), Permute((1, 0))), (2, 3), (12, 4), 4).verdict
    'view'
    """
    moves = tuple([move for move in moves if not isinstance(move, ShapeVector)])
    shapes = tuple(accumulate(moves, _compute_shape_after, initial=shape))
    strides = byte_strides(shape, itemsize) if strides is None else strides
    copies, stages, view = list[BufferCopy](), list[StridedView](), view_from_strides(shape, strides)
    for part in minimize_copies(moves, shapes, view, itemsize):
        stages += [_make_strided_view(shapes[done], partial, itemsize) for done, partial in part.views]
        view = part.view
        if part.piecewise_move:
            copies.append(_make_piecewise_copy(view, part.piecewise_move))
        elif part.is_copied:
            copies.append(_make_copy(view))
        if part.is_copied:
            view = View(contiguous_axes(shapes[part.end], itemsize))
    plan = Plan(tuple(copies), _make_strided_view(shapes[-1], view, itemsize), tuple(stages), itemsize)
    if not contiguous or plan.is_contiguous:
        return plan
    last = StridedView(shapes[-1], byte_strides(shapes[-1], itemsize))
    return Plan((*copies, _make_copy(view)), last, plan.stages, itemsize)


def _compute_shape_after(before: IntTuple, move: Move) -> IntTuple:
    return tuple([dim for dim in move.output_shape(before) if isinstance(dim, int)])


def _make_copy(view: View) -> BufferCopy:
    together = tuple([atom for axis in view.axes for atom in axis])
    culprits = find_blocking_strides(view.axes) or find_blocking_strides((together,)) or (0, 0)
    return BufferCopy(StridedView(*merge_axes(view.axes), view.first_index), culprits)


def compute_copy_shape(source_shape: IntTuple, pieces: AxisPieces | None) -> IntTuple:
    """Return the shape of a copy of a source, or of pieces of the source."""
    if pieces is None:
        return source_shape
    return (*source_shape[: pieces[0]], sum([count for _, count in pieces[1]]), *source_shape[pieces[0] + 1 :])


def _make_piecewise_copy(view: View, move: Roll | Take) -> BufferCopy:
    """Return the copy that executes a roll or a take.

    The axis of the move must have a single stride.
    """
    cuts = (0, move.axis, move.axis + 1, len(view.axes))
    (before, outer), (rolled, own), (after, inner) = (merge_axes(view.axes[start:end]) for start, end in pairwise(cuts))
    source = StridedView(before + rolled + after, outer + own + inner, view.first_index)
    return BufferCopy(source, None, (len(before), tuple(move.segments(rolled[0]))))


def _make_strided_view(shape: IntTuple, view: View, itemsize: int) -> StridedView:
    """Convert a view of a layout to a strided view.

    If an axis has no single stride, the result is the view of a C-contiguous copy.
    """
    strides = [merge_axes((axis,))[1] for axis in view.axes] if view.is_strided else []
    if 0 in shape or not view.is_strided or any(len(axis) > 1 for axis in strides):
        view = View(contiguous_axes(shape, itemsize))
        strides = [merge_axes((axis,))[1] for axis in view.axes]
    return StridedView(shape, tuple([axis[0] if axis else itemsize for axis in strides]), view.first_index)


def axes_from_strides(shape: Sequence[int], strides: Sequence[int]) -> StridedAxes:
    """Return the axes of an array with byte strides, as lists of atoms.

    Each axis has one atom; an axis of size 1 has none.
    """
    return tuple([(Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True)])


def view_from_strides(shape: Sequence[int], strides: Sequence[int]) -> View:
    """Return the view of an array with byte strides, relative to its first element.

    >>> view_from_strides((3,), (-4,)).first_index
    0
    """
    view = View(axes_from_strides(shape, strides))
    return View(view.axes, sum_terms((-view.first_index,)))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> StridedAxes:
    """Return the axes of a C-contiguous array, as lists of atoms.

    `itemsize` is in bytes.
    """
    return axes_from_strides(shape, byte_strides(shape, itemsize))


def byte_strides(shape: Sequence[int], itemsize: int) -> IntTuple:
    """Return the strides of a C-contiguous array of `shape`, in bytes.

    >>> byte_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(accumulate(reversed(shape), mul, initial=itemsize))[-2::-1]


def merge_axes(axes: StridedAxes) -> tuple[IntTuple, IntTuple]:
    """Merge adjacent axes if one stride steps through both.

    Returns the sizes and the byte strides of the merged axes.

    >>> merge_axes(((Atom(2, 12),), (Atom(3, 4),)))
    ((6,), (4,))
    """
    atoms = merge_atoms([atom for axis in axes for atom in axis])
    sizes, strides = tuple([atom.size for atom in atoms]), tuple([atom.stride for atom in atoms])
    return sizes, strides  # type: ignore[return-value]  # in memory, all of them are numbers


def find_blocking_strides(axes: StridedAxes) -> tuple[int, int] | None:
    """Return two different byte strides of the first axis that has no single stride.

    Returns None if every axis has a single stride.
    """
    for axis in axes:
        strides = merge_axes((axis,))[1] if len(axis) > 1 else ()
        if len(strides) > 1:
            return strides[0], strides[1]
    return None


def minimize_copies(
    moves: tuple[Move, ...], shapes: tuple[IntTuple, ...], view: View, itemsize: int
) -> tuple[BufferView, ...]:
    """Return the views that execute `moves` with the fewest copies.

    Among plans with equally many copies, the one that copies the fewest bytes is chosen. `shapes` are the shape of the
    array and the shape after each move; `view` is the view of the array.
    """
    search = _CopySearch(moves, shapes, itemsize)
    for start in (
        range(len(moves), 0, -1) if len(moves) > MAX_AXIS_MIXING_STAGES else ()
    ):  # beginning at the last move limits the recursion depth
        search.find_best_views_after_copy(start)
    return search.find_best_views(0, view)
