"""Plans: the moves of an answer as strided views, with as few copies as possible.

If all cuts of consecutive moves line up, these moves reorder atoms once and need at most one copy. Axes that one
reshape mixes may be separated again by a later one. A view may therefore pass through stages that no strided view can
represent: if the core's atoms lead through the buffer at its end, one strided copy executes all moves up to there. A
plan is computed from strides alone, so it takes microseconds for data of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.conditions import Known
from shapecalc.core.dims import total
from shapecalc.core.layout import Atom, Axes, View, merge
from shapecalc.core.limits import MOST_LOOKED, MOST_MIXED
from shapecalc.core.moves import Combine, Dims, Move, Pick, Reshape, Roll, Take
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record

Sizes = tuple[int, ...]
Pieces = tuple[int, tuple[tuple[int, int], ...]]
"""An axis of the source, and the (start, length) of its pieces, in output order."""
Stages = tuple[tuple[int, View], ...]
"""Views of a buffer, each with the number of moves applied up to there."""

MENDING = (Reshape, Pick)
"""The moves after which mixed axes can be a plain view again."""


class StridedView(Record):
    """A view of a buffer: its shape, its strides in bytes, and its offset in bytes.

    The offset is relative to the first element of the array that owns the buffer. It is negative if that array runs
    backwards and the view starts before it.
    """

    shape: Sizes
    strides: Sizes
    offset: int = 0


class Copy(Record):
    """A copy of a view into a new C-contiguous buffer.

    Axes of `source` are merged where one stride steps through them.
    """

    source: StridedView
    culprits: tuple[int, int] | None
    """Two strides, in bytes, that cannot be one; None if the copy takes pieces."""
    pieces: Pieces | None = None

    @property
    def shape(self) -> Sizes:
        """The shape of the new buffer."""
        return pieced(self.source.shape, self.pieces)


class Plan(Record):
    """The copies of an array, executed in order, and the view of the last buffer."""

    copies: tuple[Copy, ...]
    view: StridedView
    stages: tuple[StridedView, ...]
    """The shape after each move, with the strides of a view of the data there.

    If an axis needs several strides, they are those of a C-contiguous copy.
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
        return 0 in self.view.shape or steps(axes_of(self.view.shape, self.view.strides))[1] in ((), (self.itemsize,))

    @property
    def repeats(self) -> bool:
        """Whether the last view reads an element several times."""
        pairs = zip(self.view.shape, self.view.strides, strict=True)
        return 0 not in self.view.shape and any(size > 1 and not stride for size, stride in pairs)


class BufferView(Record):
    """Consecutive moves that one view of a buffer represents."""

    view: View
    """The view after the last of these moves, or before `piecewise_move`."""
    end: int
    """The number of moves applied at its end."""
    is_copied: bool
    """Whether the view is then copied into a new C-contiguous buffer."""
    stages: Stages
    """The view after each of the moves."""
    roll: Roll | Take | None = None
    """The last move, if it is a roll or an irregular take, which the copy executes."""


class _Search:
    """A memoized search for the views with the fewest copies.

    All solutions that copy the data before the same move continue in the same way, so each continuation is searched
    once.
    """

    def __init__(self, moves: tuple[Move, ...], shapes: tuple[Sizes, ...], itemsize: int) -> None:
        self.moves, self.shapes, self.itemsize = moves, shapes, itemsize
        self.copied: dict[int, tuple[BufferView, ...]] = {}
        self.left = int(MOST_LOOKED)
        self.mending = max([index + 1 for index, move in enumerate(moves) if isinstance(move, MENDING)], default=0)

    def best(self, place: int, view: View) -> tuple[BufferView, ...]:
        """Return the best views from move `start` on, where `view` is the current view."""
        stages = tuple(self._stages(place, view))
        if stages[-1][0] == len(self.moves) and stages[-1][1].is_plain:
            return (self._end(stages, len(stages)),)
        choices = self._choices(place, stages)
        last = next(choices)
        minimum = (
            1,
            min(map(prod, self.shapes[place:])),
        )  # if the last choice needs one smallest copy, no other is better
        return last if self._cost(last) == minimum else min((last, *choices), key=self._cost)

    def _stages(self, place: int, view: View) -> Iterator[tuple[int, View]]:
        """Yield the views from move `start` on, until only a copy can go on.

        That is before a move that only a copy can execute, and where no plain view can follow.
        """
        yield place, view
        mixed = 0
        for index in range(place, len(self.moves)):
            mixed = 0 if view.is_plain else mixed + 1
            if self._roll(index) or (mixed and (index >= self.mending or mixed > MOST_MIXED or self.left < 0)):
                return
            self.left -= mixed
            view = self._after(view, index)
            yield index + 1, view

    def _after(self, view: View, at: int) -> View:
        """Return the view after a move; any contiguous view if it is empty."""
        if 0 in self.shapes[at + 1]:
            return View(contiguous_axes(self.shapes[at + 1], self.itemsize))
        if isinstance(self.moves[at], Roll):
            return view
        view = view.after(self.moves[at], self.shapes[at], Known())
        return view if view.is_plain or not isinstance(self.moves[at], MENDING) else view.normal(Known())

    def _roll(self, at: int) -> Roll | Take | None:
        """Return the move if only a copy can execute it: a roll or an irregular take.

        Returns None for other moves, and for a roll that moves no element.
        """
        move, sizes = self.moves[at], self.shapes[at]
        if isinstance(move, Take):
            return move if move.regular is None and 0 not in sizes else None
        return move if isinstance(move, Roll) and 0 not in sizes and move.shift % sizes[move.axis] else None

    def _choices(self, place: int, stages: Stages) -> Iterator[tuple[BufferView, ...]]:
        """Yield the solutions that copy at each plain view, from the last of them on."""
        for count in range(len(stages), 0, -1):
            index, view = stages[count - 1]
            if not view.is_plain:
                continue
            roll = self._roll(index) if index < len(self.moves) else None
            if roll and not blocking_pair((view.axes[roll.axis],)):
                yield (self._rolled(stages[:count], roll), *self.after_copy(index + 1))
            elif index > place or place not in self.copied:
                yield (self._end(stages, count, is_copied=True), *self.after_copy(index))

    def after_copy(self, place: int) -> tuple[BufferView, ...]:
        """Return the best views from move `start` on, if the data were copied before it."""
        if place not in self.copied:
            self.copied[place] = ()
            self.copied[place] = self.best(place, View(contiguous_axes(self.shapes[place], self.itemsize)))
        return self.copied[place]

    def _end(self, stages: Stages, count: int, *, is_copied: bool = False) -> BufferView:
        end, view = stages[count - 1]
        needed = end == len(self.moves) and 0 not in self.shapes[end] and blocking_pair(view.axes) is not None
        return BufferView(view, end, is_copied or needed, stages[1:count])

    def _rolled(self, stages: Stages, roll: Roll | Take) -> BufferView:
        end, view = stages[-1]
        after = View(contiguous_axes(self.shapes[end + 1], self.itemsize))
        return BufferView(view, end + 1, True, (*stages[1:], (end + 1, after)), roll)

    def _cost(self, views: tuple[BufferView, ...]) -> tuple[int, int]:
        """Return the number of copies, and the number of elements that they copy."""
        copied = [prod(self.shapes[view.end]) for view in views if view.is_copied]
        return len(copied), sum(copied)


def concrete_moves(answer: Trace | Chain) -> tuple[Move, ...]:
    """Return the moves of an answer whose dims are all numbers.

    Raises `ShapeError` (usage) if the answer is refused, has names, or combines operands or windows.
    """
    if any(isinstance(move, Combine) for move in answer.moves):
        raise misuse("an array is moved by itself, and this answer combines operands or computes elements")
    if answer.concrete:
        return answer.moves
    if answer.output is None:
        raise misuse("the request is refused, so there is nothing to carry out")
    raise misuse("names have no size", "give the sizes with --where")


@lru_cache(maxsize=256)
def plan_moves(
    moves: tuple[Move, ...], shape: Sizes, strides: Sizes, itemsize: int, *, contiguous: bool = False
) -> Plan:
    """Return the plan for `moves` on an array of `shape` and `strides`, in bytes.

    With `contiguous`, the result is C-contiguous.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> plan_moves((Permute((1, 0)), Reshape((6,))), (2, 3), (12, 4), 4).verdict
    'copy'
    >>> plan_moves((Reshape((3, 2)), Permute((1, 0))), (2, 3), (12, 4), 4).verdict
    'view'
    """
    moves = tuple([move for move in moves if not isinstance(move, Dims)])
    shapes = tuple(accumulate(moves, _sizes, initial=shape))
    copies, stages, view = list[Copy](), list[StridedView](), view_of(shape, strides)
    for part in fewest_copies(moves, shapes, view, itemsize):
        stages += [_strided_view(shapes[done], partial, itemsize) for done, partial in part.stages]
        view = part.view
        if part.roll:
            copies.append(_pieced_copy(view, part.roll))
        elif part.is_copied:
            copies.append(_copy(view))
        if part.is_copied:
            view = View(contiguous_axes(shapes[part.end], itemsize))
    plan = Plan(tuple(copies), _strided_view(shapes[-1], view, itemsize), tuple(stages), itemsize)
    if not contiguous or plan.is_contiguous:
        return plan
    last = StridedView(shapes[-1], byte_strides(shapes[-1], itemsize))
    return Plan((*copies, _copy(view)), last, plan.stages, itemsize)


def _sizes(before: Sizes, move: Move) -> Sizes:
    return tuple([dim for dim in move.after(before) if isinstance(dim, int)])


def _copy(view: View) -> Copy:
    together = tuple([atom for axis in view.axes for atom in axis])
    culprits = blocking_pair(view.axes) or blocking_pair((together,)) or (0, 0)
    return Copy(StridedView(*steps(view.axes), view.first), culprits)


def pieced(shape: Sizes, pieces: Pieces | None) -> Sizes:
    """Return the shape of a copy of a source of `shape`."""
    if pieces is None:
        return shape
    return (*shape[: pieces[0]], sum([count for _, count in pieces[1]]), *shape[pieces[0] + 1 :])


def _pieced_copy(view: View, roll: Roll | Take) -> Copy:
    """Return the copy that executes a roll or a take along an axis of one stride."""
    cuts = (0, roll.axis, roll.axis + 1, len(view.axes))
    (before, outer), (rolled, own), (after, inner) = (steps(view.axes[start:end]) for start, end in pairwise(cuts))
    source = StridedView(before + rolled + after, outer + own + inner, view.first)
    return Copy(source, None, (len(before), tuple(roll.pieces(rolled[0]))))


def _strided_view(sizes: Sizes, view: View, itemsize: int) -> StridedView:
    """Return the strided view of a shape, contiguous if an axis needs several strides."""
    strides = [steps((axis,))[1] for axis in view.axes] if view.is_plain else []
    if 0 in sizes or not view.is_plain or any(len(axis) > 1 for axis in strides):
        view = View(contiguous_axes(sizes, itemsize))
        strides = [steps((axis,))[1] for axis in view.axes]
    return StridedView(sizes, tuple([axis[0] if axis else itemsize for axis in strides]), view.first)


def axes_of(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Return the axes of an array: one atom each, none for a size of 1.

    `strides` are in bytes.
    """
    return tuple([(Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True)])


def view_of(shape: Sequence[int], strides: Sequence[int]) -> View:
    """Return an array as a view of its buffer, relative to its own first element.

    >>> view_of((3,), (-4,)).first
    0
    """
    view = View(axes_of(shape, strides))
    return View(view.axes, total((-view.first,)))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> Axes:
    """Return the axes of a C-contiguous array of `shape`; `itemsize` is in bytes."""
    return axes_of(shape, byte_strides(shape, itemsize))


def byte_strides(shape: Sequence[int], itemsize: int) -> Sizes:
    """Return the strides of a C-contiguous array of `shape`, in bytes.

    >>> byte_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(accumulate(reversed(shape), mul, initial=itemsize))[-2::-1]


def steps(axes: Axes) -> tuple[Sizes, Sizes]:
    """Merge axes where one stride steps through them; return sizes and strides.

    The strides are in bytes, as those of the atoms.

    >>> steps(((Atom(2, 12),), (Atom(3, 4),)))
    ((6,), (4,))
    """
    atoms = merge([atom for axis in axes for atom in axis])
    sizes, strides = tuple([atom.size for atom in atoms]), tuple([atom.stride for atom in atoms])
    return sizes, strides  # type: ignore[return-value]  # in memory, all of them are numbers


def blocking_pair(axes: Axes) -> tuple[int, int] | None:
    """Return the first two strides, in bytes, of an axis that needs several.

    Returns None if every axis has one stride.
    """
    for axis in axes:
        strides = steps((axis,))[1] if len(axis) > 1 else ()
        if len(strides) > 1:
            return strides[0], strides[1]
    return None


def fewest_copies(
    moves: tuple[Move, ...], shapes: tuple[Sizes, ...], view: View, itemsize: int
) -> tuple[BufferView, ...]:
    """Return the views that execute `moves` with the fewest copies.

    Of several such solutions, the one that copies the fewest bytes is returned. `shapes` are those before and after
    each move, `view` is the array.
    """
    search = _Search(moves, shapes, itemsize)
    for start in range(len(moves), 0, -1) if len(moves) > MOST_MIXED else ():  # backwards, so that recursion stays flat
        search.after_copy(start)
    return search.best(0, view)
