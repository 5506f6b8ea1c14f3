"""What a stage keeps of its axes, as a slice has it: where it starts, before which position it stops, its step."""

from __future__ import annotations

from shapecalc.core.dims import INT64_MAX
from shapecalc.core.moves import Pick, Roll
from shapecalc.core.ops.split import SplitAxis
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record
from shapecalc.core.text import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Stage
    from shapecalc.core.dims import Dim

INT32_MAX = 2**31 - 1
INT64_MIN = -(2**63)


class Kept(Record):
    """What is kept of one axis: an index, if the axis goes, otherwise a slice whose ends may be left open."""

    axis: int
    start: int | None
    stop: int | None
    step: int = 1
    goes: bool = False

    @property
    def first(self) -> int:
        """Where it starts, in numbers."""
        return (0 if self.step > 0 else -1) if self.start is None else self.start

    @property
    def end(self) -> int:
        """Where it stops, in numbers: as far on as there are any if it goes to the end of the axis."""
        return (INT64_MAX if self.step > 0 else INT64_MIN) if self.stop is None else self.stop

    def __str__(self) -> str:
        if self.goes:
            return str(self.start)
        start, stop = ("" if end is None else str(end) for end in (self.start, self.stop))
        return f"{start}:{stop}" + (f":{self.step}" if self.step != 1 else "")


def pick_of(stage: Stage) -> Pick:
    """Return the move of a stage that keeps some positions of axes."""
    assert isinstance(stage.move, Pick)
    return stage.move


def roll_of(stage: Stage) -> Roll:
    """Return the move of a stage that rolls an axis."""
    assert isinstance(stage.move, Roll)
    return stage.move


def short_roll(stage: Stage, target: str) -> Roll:
    """Return the move of a stage that rolls an axis, with a shift of 32 bits, for targets that take no longer one.

    Raises `ShapeError` (usage) if no such shift is the same.
    """
    roll = roll_of(stage)
    dim = stage.before[roll.axis]
    if abs(roll.shift) > INT32_MAX and isinstance(dim, int):
        roll = Roll(roll.shift % dim if dim else 0, roll.axis)
    if abs(roll.shift) > INT32_MAX:
        raise misuse(f"a roll by {brief(str(roll.shift))} is not written as {target} code", "give a shorter shift")
    return roll


def split_axis(stage: Stage) -> tuple[int, int, int]:
    """Return the axis that a split cuts, the count of parts, and the part that is kept."""
    for step in stage.steps:
        if isinstance(step.facts, SplitAxis):
            return step.sources[0], step.facts.parts, step.facts.part
    raise TypeError(f"{stage.label} splits no axis")


def kept_axes(stage: Stage) -> tuple[Kept, ...]:
    """Return what a stage keeps of each axis.

    >>> import shapecalc as sc
    >>> [str(kept) for kept in kept_axes(sc.select(("N", 3), 0, -1).stages[0])]
    ['-1', ':']
    """
    found = list[Kept]()
    for axis, ((start, step, size), dim) in enumerate(zip(pick_of(stage).axes, stage.before, strict=True)):
        if size is None:
            found.append(Kept(axis, start, None, goes=True))
        else:
            found.append(
                _known(axis, start, step, size, dim) if isinstance(dim, int) else _open(axis, start, step, size)
            )
    return tuple(found)


def cut_axes(stage: Stage) -> tuple[Kept, ...]:
    """Return what a stage keeps of each axis that does not stay whole."""
    return tuple(kept for kept in kept_axes(stage) if str(kept) != ":")


def _known(axis: int, start: int, step: int, size: int, dim: int) -> Kept:
    """Return what is kept of an axis whose size is a number; an end that lies at the end of the axis is left open."""
    if size == 0:
        return Kept(axis, None, None if dim == 0 else 0)
    first = start % dim
    stop = first + step * size
    at_end = first == (0 if step > 0 else dim - 1)
    return Kept(axis, None if at_end else first, stop if 0 <= stop < dim else None, step)


def _open(axis: int, start: int, step: int, size: Dim) -> Kept:
    """Return what is kept of an axis with a name: all of it, either way, every so many, or the first or the last."""
    at_end = start == (0 if step > 0 else -1)
    return Kept(axis, None if at_end else start, 1 if size == 1 and at_end else None, step)


def turned(kept: Kept, dim: Dim) -> Kept:
    """Return what is to be kept, in the same order, of an axis that was reversed before."""
    last = dim - 1 if isinstance(dim, int) else -1
    start, stop = (None if end is None else last - end for end in (kept.start, kept.stop))
    return Kept(kept.axis, start, stop, -kept.step)
