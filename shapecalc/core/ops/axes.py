"""Shared parts of ops with axes: axes counted from 0, and merges of neighbours."""

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
    """Yield the steps and the move that merge groups of axes, which end a stage.

    Each group names neighbouring axes. Raises `ShapeError`: overflow.
    """
    output = tuple([product([shape[axis] for axis in part]) for part in parts])
    for out, part in enumerate(parts):
        yield Step(MERGED, out, part, output[out], (), FrozenDict(dims=tuple([shape[axis] for axis in part])))
    checked_volume(output, "input")
    return (yield from recut(shape, output))


def merge_runs(shape: Shape, runs: Iterable[Iterable[str | Record]]) -> Reasons:
    """Merge runs of neighbouring axes in a stage of its own.

    The length of each run is the number of axes to merge. Raises `ShapeError`: overflow.
    """
    yield Stage(Kind.MERGE, "merge", "", shape)
    axes = iter(range(len(shape)))
    return (yield from merge(shape, [tuple([next(axes) for _ in run]) for run in runs]))


def axis_from_zero(
    axis: int, rank: int, at: Setting, argument: str, index: int | None = None, *, past_the_last: bool = False
) -> int:
    """Return an axis counted from 0.

    With `allow_end` it may also be `rank`. Raises `ShapeError`: negative-axis, axis-out-of-range.
    """
    dialect, since = at.row, at.row.negative_axes_since
    if axis < 0 and at.version is not None and at.version < since:
        message = f"axis {axis}: negative axes exist since version {since}, and this is {at.version}"
        raise refusal(NEGATIVE_AXIS, message, argument=argument, index=index)
    span = 1 if rank == 0 and dialect.scalar_axis and at.operator.scalar_axis else rank
    highest = span if past_the_last else span - 1
    if not -span <= axis <= highest:
        valid = f"axes run from {-span} to {highest}" if span or past_the_last else "a scalar has no axes"
        raise refusal(AXIS_OUT_OF_RANGE, f"axis {axis} does not exist: {valid}", argument=argument, index=index)
    return axis % span if axis < 0 else axis


def axes_from_zero(axes: Axes, rank: int, at: Setting, repeats: Repeats, argument: str = "axes") -> dict[int, int]:
    """Return the axes counted from 0, each with its index in `axes`.

    Repeated axes are refused or dropped. Raises `ShapeError`: repeated-axis, and the errors of `normalize_axis_index`.
    """
    indices: dict[int, int] = {}
    for index, axis in enumerate(axes):
        normalized = axis_from_zero(axis, rank, at, argument, index)
        if normalized in indices and repeats is Repeats.REFUSED:
            raise refusal(REPEATED_AXIS, f"axis {axis} is named twice", argument=argument, index=index)
        indices.setdefault(normalized, index)
    return indices


def no_axis_of_a_scalar(axis: int, argument: str, index: int | None = None) -> ShapeError:
    """Return the error (axis-out-of-range) for an axis of a scalar."""
    message = f"axis {brief(str(axis))} does not exist: a scalar has no axes"
    return refusal(AXIS_OUT_OF_RANGE, message, argument=argument, index=index)


def existing_axis(axis: int, shape: Shape, at: Setting) -> int:
    """Return an axis of a tensor counted from 0; a scalar has none.

    Raises `ShapeError`: axis-out-of-range, negative-axis.
    """
    if not shape:
        raise no_axis_of_a_scalar(axis, "axis")
    return axis_from_zero(axis, len(shape), at, "axis")
