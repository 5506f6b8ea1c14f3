"""Plans: the moves of a trace as views, with a copy if a view is not enough.

A plan works on strides alone, so it takes microseconds for data of any size.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import prod

from shapecalc.core.answers.atoms import Known, axes_after
from shapecalc.core.answers.moves import Move, Pick, Reshape, Roll, Slice
from shapecalc.core.answers.trace import Trace
from shapecalc.core.answers.views import View
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.record import Record
from shapecalc.engine.atoms import NOTHING, axes_of, blocking_pair, contiguous_axes, regroup, steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers.atoms import Axes
    from shapecalc.core.answers.trace import Chain


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

    >>> from shapecalc.core.answers.moves import Permute
    >>> plan_moves((Permute((1, 0)), Reshape((6,))), (2, 3), (12, 4), 4).verdict
    'copy'
    >>> plan_moves((Reshape((3, 2)), Permute((1, 0))), (2, 3), (12, 4), 4).verdict
    'view'
    """
    axes, copies, stages = axes_of(shape, strides), list[Copy](), list[StridedView]()
    sizes, offset = shape, 0
    for move in moves:
        if isinstance(move, Slice):
            break
        if isinstance(move, Roll) and 0 not in sizes and move.shift % sizes[move.axis]:
            copies += _roll_copies(axes, offset, sizes, itemsize, move)
            axes, offset = contiguous_axes(sizes, itemsize), 0
        after = _move_axes(axes, move, sizes)
        if after is None:
            copies.append(_copy(axes, offset))
            after, offset = _move_axes(contiguous_axes(sizes, itemsize), move, sizes), 0
        axes, further = after or ((), 0)
        sizes, offset = _sizes(move, sizes), offset + further
        stages.append(_strided_view(sizes, axes, itemsize, offset))
    if 0 not in sizes and blocking_pair(axes):
        copies.append(_copy(axes, offset))
        axes, offset = contiguous_axes(sizes, itemsize), 0
    return Plan(tuple(copies), _strided_view(sizes, axes, itemsize, offset), tuple(stages), itemsize)


def _move_axes(axes: Axes, move: Move, sizes: tuple[int, ...]) -> tuple[Axes, int] | None:
    """Return the axes after a move of an array of `sizes`, and the bytes that its first element lies further on.

    None for a move that needs a copy first.
    """
    wanted = _sizes(move, sizes)
    if 0 in wanted:
        return contiguous_axes(wanted, 1), 0
    if isinstance(move, Pick):
        whole = View(axes)
        left = whole.after(move, sizes, Known())
        return (left.axes, left.first - whole.first) if left.is_plain else None
    if isinstance(move, Roll):  # the copy before it has rolled the axis
        return axes, 0
    after = regroup(axes, wanted) if isinstance(move, Reshape) else axes_after(axes, move, sizes, NOTHING)
    return None if after is None else (after, 0)


def _sizes(move: Move, sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([dim for dim in move.after(sizes) if isinstance(dim, int)])


def _copy(axes: Axes, offset: int) -> Copy:
    together = tuple([atom for axis in axes for atom in axis])
    return Copy(StridedView(*steps(axes), offset), blocking_pair(axes) or blocking_pair((together,)) or (0, 0))


def _roll_copies(axes: Axes, offset: int, sizes: tuple[int, ...], itemsize: int, move: Roll) -> list[Copy]:
    """Return the copy that rolls an axis, after one that makes the axis a single step if it is not."""
    copies = list[Copy]()
    if blocking_pair((axes[move.axis],)):
        copies.append(_copy(axes, offset))
        axes, offset = contiguous_axes(sizes, itemsize), 0
    cuts = (0, move.axis, move.axis + 1, len(axes))
    (before, outer), (rolled, own), (after, inner) = (steps(axes[start:end]) for start, end in pairwise(cuts))
    source = StridedView(before + rolled + after, outer + own + inner, offset)
    return [*copies, Copy(source, None, (len(before), move.shift % sizes[move.axis]))]


def _strided_view(sizes: tuple[int, ...], axes: Axes, itemsize: int, offset: int) -> StridedView:
    """Return the sizes with their strides. If an axis is more than one step, they are those of a contiguous array."""
    strides = [steps((axis,))[1] for axis in axes]
    if 0 in sizes or any(len(axis) > 1 for axis in strides):
        strides, offset = [steps((axis,))[1] for axis in contiguous_axes(sizes, itemsize)], 0
    return StridedView(sizes, tuple([axis[0] if axis else itemsize for axis in strides]), offset)
