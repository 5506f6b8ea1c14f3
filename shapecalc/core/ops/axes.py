"""What ops that name axes share: axes counted from 0, and stages that merge axes or only cut anew."""

from __future__ import annotations

from _collections_abc import Iterable

from shapecalc.core.answers import Kind, Reasons, Stage, Step
from shapecalc.core.dialects.base import Repeats, Setting, checked_volume, recut
from shapecalc.core.dims import Axes, Shape, product
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, MERGED, NEGATIVE_AXIS, REPEATED_AXIS
from shapecalc.core.text import brief


def merge(shape: Shape, parts: list[Axes]) -> Reasons:
    """Make one dim of each part, which names neighbouring axes: the steps and the move of a stage that began.

    Raises `ShapeError`: overflow.
    """
    output = tuple([product([shape[axis] for axis in part]) for part in parts])
    for out, part in enumerate(parts):
        yield Step(MERGED, out, part, output[out], (), FrozenDict(dims=tuple([shape[axis] for axis in part])))
    checked_volume(output, "input")
    return (yield from recut(shape, output))


def merge_runs(shape: Shape, runs: Iterable[Iterable[str | Record]]) -> Reasons:
    """Make one dim of as many axes in turn as each of the runs holds, as a stage of its own; raise as `merge` does."""
    yield Stage(Kind.MERGE, "merge", "", shape)
    axes = iter(range(len(shape)))
    return (yield from merge(shape, [tuple([next(axes) for _ in run]) for run in runs]))


def axis_from_zero(
    axis: int, rank: int, at: Setting, argument: str, index: int | None = None, *, past_the_last: bool = False
) -> int:
    """Return `axis` counted from 0, if it is one of `rank` axes (or the place past the last).

    Raises `ShapeError`: negative-axis, axis-out-of-range.
    """
    row, since = at.row, at.row.negative_axes_since
    if axis < 0 and at.version is not None and at.version < since:
        message = f"axis {axis}: negative axes exist since version {since}, and this is {at.version}"
        raise refusal(NEGATIVE_AXIS, message, argument=argument, index=index)
    span = 1 if rank == 0 and row.scalar_axis and at.operator.scalar_axis else rank
    highest = span if past_the_last else span - 1
    if not -span <= axis <= highest:
        valid = f"axes run from {-span} to {highest}" if span or past_the_last else "a scalar has no axes"
        raise refusal(AXIS_OUT_OF_RANGE, f"axis {axis} does not exist: {valid}", argument=argument, index=index)
    return axis % span if axis < 0 else axis


def axes_from_zero(axes: Axes, rank: int, at: Setting, repeats: Repeats, argument: str = "axes") -> dict[int, int]:
    """Return the named axes counted from 0, each with its index in `axes`. `repeats` are refused or dropped.

    Raises `ShapeError`: repeated-axis, and what `axis_from_zero` raises.
    """
    found: dict[int, int] = {}
    for index, axis in enumerate(axes):
        place = axis_from_zero(axis, rank, at, argument, index)
        if place in found and repeats is Repeats.REFUSED:
            raise refusal(REPEATED_AXIS, f"axis {axis} is named twice", argument=argument, index=index)
        found.setdefault(place, index)
    return found


def no_axis_of_a_scalar(axis: int, argument: str, index: int | None = None) -> ShapeError:
    """Return the error for an axis of a scalar (axis-out-of-range)."""
    message = f"axis {brief(str(axis))} does not exist: a scalar has no axes"
    return refusal(AXIS_OUT_OF_RANGE, message, argument=argument, index=index)


def existing_axis(axis: int, shape: Shape, at: Setting) -> int:
    """Return an axis counted from 0; a scalar has none.

    Raises `ShapeError`: axis-out-of-range, negative-axis.
    """
    if not shape:
        raise no_axis_of_a_scalar(axis, "axis")
    return axis_from_zero(axis, len(shape), at, "axis")
