"""Plans: the moves of an answer as views of memory, with a copy where no view will do.

If all cuts of a row of moves line up, the row reorders atoms once and needs at most one copy. What one reshape mixes a
later one may put back, so a view of a buffer may lead through places where none will do. Its end is what counts: if the
core's atoms lead through the buffer itself there, one strided copy makes all moves up to it. A plan works on strides
alone, so it takes microseconds for data of any size.
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
"""An axis of the source, and its stretches that follow each other: where each starts, and how long it is."""
Stages = tuple[tuple[int, View], ...]
"""Views, each with how many moves are made there."""

MENDING = (Reshape, Pick)
"""The moves after which what is mixed can be read straight on again."""


class StridedView(Record):
    """A view of a buffer: sizes, the bytes between neighbours along each axis, and the bytes before its first element.

    The offset may be negative: in a buffer that runs backwards, the first element of a view can lie before its own.
    """

    shape: Sizes
    strides: Sizes
    offset: int = 0


class Copy(Record):
    """A copy into a new C-contiguous buffer. `source` is read in order; axes that one step can stand for are merged."""

    source: StridedView
    culprits: tuple[int, int] | None
    """The two strides, in bytes, that one step cannot stand for; none if the copy takes pieces of an axis."""
    pieces: Pieces | None = None

    @property
    def shape(self) -> Sizes:
        """The sizes of what it makes."""
        return pieced(self.source.shape, self.pieces)


class Plan(Record):
    """What has to be done to an array: the copies, one after another, then the view of the last buffer."""

    copies: tuple[Copy, ...]
    view: StridedView
    stages: tuple[StridedView, ...]
    """The shape after each move, with the strides of a view of the data at that point. If an axis needs several
    steps there, the strides are those of a C-contiguous copy."""
    itemsize: int

    @property
    def verdict(self) -> str:
        """`copy` if elements are copied, otherwise `view`."""
        return "copy" if self.copies else "view"

    @property
    def bytes_moved(self) -> int:
        """How many bytes the copies write."""
        return sum(prod(copy.shape) for copy in self.copies) * self.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the last view reads its buffer in order, as C does."""
        return 0 in self.view.shape or steps(axes_of(self.view.shape, self.view.strides))[1] in ((), (self.itemsize,))

    @property
    def repeats(self) -> bool:
        """Whether the last view reads elements several times."""
        pairs = zip(self.view.shape, self.view.strides, strict=True)
        return 0 not in self.view.shape and any(size > 1 and not stride for size, stride in pairs)


def concrete_moves(answer: Trace | Chain) -> tuple[Move, ...]:
    """Return the moves of an answer.

    Raises `ShapeError` (usage) if it is refused, if a dim has no number, or if it is of several operands or of windows.
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
    """Return the plan for `moves` on an array of `shape` and `strides` (in bytes); if asked for, to a contiguous one.

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> plan_moves((Permute((1, 0)), Reshape((6,))), (2, 3), (12, 4), 4).verdict
    'copy'
    >>> plan_moves((Reshape((3, 2)), Permute((1, 0))), (2, 3), (12, 4), 4).verdict
    'view'
    """
    moves = tuple([move for move in moves if not isinstance(move, Dims)])
    shapes = tuple(accumulate(moves, _sizes, initial=shape))
    copies, stages, view = list[Copy](), list[StridedView](), view_of(shape, strides)
    for read in fewest_copies(moves, shapes, view, itemsize):
        stages += [_strided_view(shapes[at], found, itemsize) for at, found in read.stages]
        view = read.view
        if read.roll:
            copies.append(_pieced_copy(view, read.roll))
        elif read.is_copied:
            copies.append(_copy(view))
        if read.is_copied:
            view = View(contiguous_axes(shapes[read.end], itemsize))
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
    """Return the sizes of what a copy makes of a source of `shape`."""
    if pieces is None:
        return shape
    return (*shape[: pieces[0]], sum([count for _, count in pieces[1]]), *shape[pieces[0] + 1 :])


def _pieced_copy(view: View, roll: Roll | Take) -> Copy:
    """Return the copy that rolls an axis, or takes positions of it; the axis is a single step."""
    cuts = (0, roll.axis, roll.axis + 1, len(view.axes))
    (before, outer), (rolled, own), (after, inner) = (steps(view.axes[start:end]) for start, end in pairwise(cuts))
    source = StridedView(before + rolled + after, outer + own + inner, view.first)
    return Copy(source, None, (len(before), tuple(roll.pieces(rolled[0]))))


def _strided_view(sizes: Sizes, view: View, itemsize: int) -> StridedView:
    """Return the sizes with their strides. If an axis is more than one step, they are those of a contiguous array."""
    strides = [steps((axis,))[1] for axis in view.axes] if view.is_plain else []
    if 0 in sizes or not view.is_plain or any(len(axis) > 1 for axis in strides):
        view = View(contiguous_axes(sizes, itemsize))
        strides = [steps((axis,))[1] for axis in view.axes]
    return StridedView(sizes, tuple([axis[0] if axis else itemsize for axis in strides]), view.first)


def axes_of(shape: Sequence[int], strides: Sequence[int]) -> Axes:
    """Return the axes of an array from its shape and its strides in bytes: one atom each, none for a size of 1."""
    return tuple([(Atom(size, stride),) if size != 1 else () for size, stride in zip(shape, strides, strict=True)])


def view_of(shape: Sequence[int], strides: Sequence[int]) -> View:
    """Return an array as a view of its buffer, counted from its own first element.

    >>> view_of((3,), (-4,)).first
    0
    """
    view = View(axes_of(shape, strides))
    return View(view.axes, total((-view.first,)))


def contiguous_axes(shape: Sequence[int], itemsize: int) -> Axes:
    """Return the axes of a C-contiguous array of `shape`, whose elements have `itemsize` bytes."""
    return axes_of(shape, byte_strides(shape, itemsize))


def byte_strides(shape: Sequence[int], itemsize: int) -> Sizes:
    """Return the strides, in bytes, of a C-contiguous array of `shape`, whose elements have `itemsize` bytes.

    >>> byte_strides((2, 3, 4), 4)
    (48, 16, 4)
    """
    return tuple(accumulate(reversed(shape), mul, initial=itemsize))[-2::-1]


def steps(axes: Axes) -> tuple[Sizes, Sizes]:
    """Return the sizes and the strides, in bytes, of the fewest steps that lead through the axes in order.

    >>> steps(((Atom(2, 12),), (Atom(3, 4),)))
    ((6,), (4,))
    """
    atoms = merge([atom for axis in axes for atom in axis])
    sizes, strides = tuple([atom.size for atom in atoms]), tuple([atom.stride for atom in atoms])
    return sizes, strides  # type: ignore[return-value]  # in memory, all of them are numbers


def blocking_pair(axes: Axes) -> tuple[int, int] | None:
    """Return the first two strides, in bytes, that keep an axis from being one step; None if every axis is one."""
    for axis in axes:
        strides = steps((axis,))[1] if len(axis) > 1 else ()
        if len(strides) > 1:
            return strides[0], strides[1]
    return None


class BufferView(Record):
    """Moves that one view of a buffer makes."""

    view: View
    """What is read of the buffer after the last of them, or before the roll."""
    end: int
    """How many moves of the row are made then."""
    is_copied: bool
    """Whether the data are copied at its end into a new C-contiguous buffer."""
    stages: Stages
    """The view after each of its moves."""
    roll: Roll | Take | None = None
    """The last move, if it rolls an axis or takes positions of it by a table. The copy does it."""


def fewest_copies(
    moves: tuple[Move, ...], shapes: tuple[Sizes, ...], view: View, itemsize: int
) -> tuple[BufferView, ...]:
    """Return the views of `moves` with the fewest copies between them; of those, the ones that copy the fewest bytes.

    `shapes` are those before and after each move, `view` is the array.
    """
    search = _Search(moves, shapes, itemsize)
    for place in range(len(moves), 0, -1) if len(moves) > MOST_MIXED else ():  # from the end on, no search is deep
        search.after_copy(place)
    return search.best(0, view)


class _Search:
    """The views from each place on. From a place where the data were copied, they are searched once."""

    def __init__(self, moves: tuple[Move, ...], shapes: tuple[Sizes, ...], itemsize: int) -> None:
        self.moves, self.shapes, self.itemsize = moves, shapes, itemsize
        self.copied: dict[int, tuple[BufferView, ...]] = {}
        self.left = int(MOST_LOOKED)
        self.mending = max([at + 1 for at, move in enumerate(moves) if isinstance(move, MENDING)], default=0)

    def best(self, place: int, view: View) -> tuple[BufferView, ...]:
        """Return the views from `place` on, where `view` is what is read of the buffer."""
        stages = tuple(self._stages(place, view))
        if stages[-1][0] == len(self.moves) and stages[-1][1].is_plain:
            return (self._end(stages, len(stages)),)
        choices = self._choices(place, stages)
        last = next(choices)
        least = 1, min(map(prod, self.shapes[place:]))  # nothing but the last place is looked at, if that is enough
        return last if self._cost(last) == least else min((last, *choices), key=self._cost)

    def _stages(self, place: int, view: View) -> Iterator[tuple[int, View]]:
        """Yield the views of the buffer from `place` on, up to a move that rolls, or while plain ones may follow."""
        yield place, view
        mixed = 0
        for at in range(place, len(self.moves)):
            mixed = 0 if view.is_plain else mixed + 1
            if self._roll(at) or (mixed and (at >= self.mending or mixed > MOST_MIXED or self.left < 0)):
                return
            self.left -= mixed
            view = self._after(view, at)
            yield at + 1, view

    def _after(self, view: View, at: int) -> View:
        """Return the view after a move. One that reads nothing is as good as any other."""
        if 0 in self.shapes[at + 1]:
            return View(contiguous_axes(self.shapes[at + 1], self.itemsize))
        if isinstance(self.moves[at], Roll):
            return view
        view = view.after(self.moves[at], self.shapes[at], Known())
        return view if view.is_plain or not isinstance(self.moves[at], MENDING) else view.normal(Known())

    def _roll(self, at: int) -> Roll | Take | None:
        """Return a move that rolls an axis or takes by a table; none if it is another, or leaves all where it is."""
        move, sizes = self.moves[at], self.shapes[at]
        if isinstance(move, Take):
            return move if move.regular is None and 0 not in sizes else None
        return move if isinstance(move, Roll) and 0 not in sizes and move.shift % sizes[move.axis] else None

    def _choices(self, place: int, stages: Stages) -> Iterator[tuple[BufferView, ...]]:
        """Yield the views that are copied at each place where a view will do; the last of these places first."""
        for count in range(len(stages), 0, -1):
            at, view = stages[count - 1]
            if not view.is_plain:
                continue
            roll = self._roll(at) if at < len(self.moves) else None
            if roll and not blocking_pair((view.axes[roll.axis],)):
                yield (self._rolled(stages[:count], roll), *self.after_copy(at + 1))
            elif at > place or place not in self.copied:
                yield (self._end(stages, count, is_copied=True), *self.after_copy(at))

    def after_copy(self, place: int) -> tuple[BufferView, ...]:
        """Return the views from a place on at which the data were copied."""
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
        """Return how many copies views take, and how many elements they copy."""
        copied = [prod(self.shapes[read.end]) for read in views if read.is_copied]
        return len(copied), sum(copied)
