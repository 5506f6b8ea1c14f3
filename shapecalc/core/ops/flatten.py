"""Flatten: neighbouring dims are merged."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage
from shapecalc.core.dialects import base
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.ops.axes import axis_from_zero, merge
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.problem import refusal
from shapecalc.core.rules import START_AFTER_END


def flatten(
    shape: Shape, at: base.Setting, axis: int | None = None, start_dim: int | None = None, end_dim: int | None = None
) -> Reasons:
    """Merge dims: into two at `axis`, from `start_dim` to `end_dim`, or all.

    ONNX has `axis`, PyTorch the range, NumPy neither; some dialects merge all dims after the first. Source: ONNX
    Flatten ("the result is a 2D tensor"), torch.flatten, ndarray.flatten. Raises `ShapeError`: axis-out-of-range,
    negative-axis, start-after-end, overflow.
    """
    argument = "axis" if at.row.flattens is base.Flattens.AXIS else "start_dim"
    yield Stage(Kind.MERGE, "flatten", argument, shape)
    return (yield from merge(shape, _merged_axes(len(shape), at, axis, start_dim, end_dim)))


def _merged_axes(rank: int, at: base.Setting, axis: int | None, start: int | None, end: int | None) -> list[Axes]:
    """Return the input axes of each output dim.

    Raises `ShapeError`: axis-out-of-range, negative-axis, start-after-end.
    """
    axes = tuple(range(rank))
    if at.row.flattens is base.Flattens.ALL:
        return [axes]
    if at.row.flattens is base.Flattens.REST:
        return [axes[:1], axes[1:]]
    if at.row.flattens is base.Flattens.AXIS:
        cut = axis_from_zero(1 if axis is None else axis, rank, at, "axis", past_the_last=True)
        return [axes[:cut], axes[cut:]]
    first = axis_from_zero(at.row.flattens_from if start is None else start, rank, at, "start_dim")
    last = axis_from_zero(-1 if end is None else end, rank, at, "end_dim")
    if first > last:
        raise refusal(START_AFTER_END, f"start_dim {first} comes after end_dim {last}", argument="start_dim")
    before, after = [(axis,) for axis in axes[:first]], [(axis,) for axis in axes[last + 1 :]]
    return [*before, axes[first : last + 1], *after]


def _takes_range(row: base.Dialect) -> bool:
    return row.flattens is base.Flattens.RANGE


FLATTEN = Op(
    name="flatten",
    summary="Merge dims.",
    params=(
        base.Param(
            *("axis", base.Holds.INT, "ONNX: the first axis of the second output dim, by default 1"),
            placed=True,
            taken_by=lambda dialect: dialect.flattens is base.Flattens.AXIS,
            twin="start_dim",
        ),
        base.Param("start_dim", base.Holds.INT, "PyTorch: the first dim to merge, by default 0", taken_by=_takes_range),
        base.Param(
            *("end_dim", base.Holds.INT, "PyTorch: the last dim to merge, by default -1"),
            placed=True,
            taken_by=_takes_range,
        ),
    ),
    steps=flatten,
    operators={
        "onnx": base.Operator(
            "Flatten", {1: base.FLOATS, 9: base.UP_TO_12, 11: base.UP_TO_12, 13: base.SINCE_13} | base.NEWEST
        )
    },
    examples=("flatten 2,3,4", "flatten N,C,H,W 2", "flatten N,C,H,W 1 2 -d torch"),
    vectors=vectors(
        "axis start_dim end_dim",
        ("2,3,4", "", "0", "1", "2", "3", "4", "-1", "-3", "-4", "_ 1", "_ _ 1", "_ 2 1", "_ 3"),
        ("[]", ""),
        ("0,3,4", ""),
        ("N,C,H,W", ""),
        ("2,3,4,5", "_ 1 -2"),
    ),
)
