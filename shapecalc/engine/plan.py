"""Plans: the moves of a trace as views, with a copy if a view is not enough.

A plan works on strides alone, so it takes microseconds for data of any size.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod

from shapecalc.core.answers import Trace
from shapecalc.core.layout import View
from shapecalc.core.moves import Move, Roll, Slice
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.engine.atoms import blocking_pair, contiguous_axes, steps, view_of
from shapecalc.engine.legs import fewest_legs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain


class StridedView(Record):
    """A view of a buffer: sizes, the bytes between neighbours along each axis, and the bytes before its first element.

    The offset may be negative: in a buffer that runs backwards, the first element of a view can lie before its own.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


class Copy(Record):
    """A copy into a new C-contiguous buffer. `source` is read in order; axes that one step can stand for are merged."""

    source: StridedView
    culprits: tuple[int, int] | None
    """The two strides, in bytes, that one step cannot stand for; none if the copy rolls an axis."""
    roll: tuple[int, int] | None = None
    """The axis of the source that is rolled, and by how much: between 0 and its size."""


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
        return sum(prod(copy.source.shape) for copy in self.copies) * self.itemsize


def concrete_moves(answer: Trace | Chain) -> tuple[Move, ...]:
    """Return the moves of an answer; raise `ShapeError` (usage) if it is refused or a dim has no number."""
    if answer.concrete:
        return answer.moves
    if answer.output is None:
        raise misuse("the request is refused, so there is nothing to carry out")
    raise misuse("names have no size", "give the sizes with --where")


@lru_cache(maxsize=256)
def plan_moves(moves: tuple[Move, ...], shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Plan:
    """Return the plan for `moves` on an array of `shape` and `strides` (in bytes).

    >>> from shapecalc.core.moves import Permute, Reshape
    >>> plan_moves((Permute((1, 0)), Reshape((6,))), (2, 3), (12, 4), 4).verdict
    'copy'
    >>> plan_moves((Reshape((3, 2)), Permute((1, 0))), (2, 3), (12, 4), 4).verdict
    'view'
    """
    moves = tuple([move for move in moves if not isinstance(move, Slice)])
    shapes = tuple(accumulate(moves, _sizes, initial=shape))
    copies, stages, view = list[Copy](), list[StridedView](), view_of(shape, strides)
    for leg in fewest_legs(moves, shapes, view, itemsize):
        stages += [_strided_view(shapes[at], found, itemsize) for at, found in leg.stages]
        view = leg.view
        if leg.roll:
            copies.append(_rolled_copy(view, leg.roll))
        elif leg.is_copied:
            copies.append(_copy(view))
        if leg.is_copied:
            view = View(contiguous_axes(shapes[leg.end], itemsize))
    return Plan(tuple(copies), _strided_view(shapes[-1], view, itemsize), tuple(stages), itemsize)


def _sizes(before: tuple[int, ...], move: Move) -> tuple[int, ...]:
    return tuple([dim for dim in move.after(before) if isinstance(dim, int)])


def _copy(view: View) -> Copy:
    together = tuple([atom for axis in view.axes for atom in axis])
    culprits = blocking_pair(view.axes) or blocking_pair((together,)) or (0, 0)
    return Copy(StridedView(*steps(view.axes), view.first), culprits)


def _rolled_copy(view: View, roll: Roll) -> Copy:
    """Return the copy that rolls an axis, which is a single step."""
    cuts = (0, roll.axis, roll.axis + 1, len(view.axes))
    (before, outer), (rolled, own), (after, inner) = (steps(view.axes[start:end]) for start, end in pairwise(cuts))
    source = StridedView(before + rolled + after, outer + own + inner, view.first)
    return Copy(source, None, (len(before), roll.shift % rolled[0]))


def _strided_view(sizes: tuple[int, ...], view: View, itemsize: int) -> StridedView:
    """Return the sizes with their strides. If an axis is more than one step, they are those of a contiguous array."""
    strides = [steps((axis,))[1] for axis in view.axes] if view.is_plain else []
    if 0 in sizes or not view.is_plain or any(len(axis) > 1 for axis in strides):
        view = View(contiguous_axes(sizes, itemsize))
        strides = [steps((axis,))[1] for axis in view.axes]
    return StridedView(sizes, tuple([axis[0] if axis else itemsize for axis in strides]), view.first)
