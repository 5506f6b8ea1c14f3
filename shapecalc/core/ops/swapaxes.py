"""Swapaxes: two axes are swapped."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage
from shapecalc.core.dialects.base import Holds, Operator, Param, Setting
from shapecalc.core.dims import Shape
from shapecalc.core.ops.axes import axis_from_zero
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.transpose import transpose


def swapaxes(shape: Shape, at: Setting, axis1: int, axis2: int) -> Reasons:
    """Swap two axes; the same axis twice changes nothing.

    Source: numpy.swapaxes ("interchange two axes of an array"), torch.swapaxes, paddle.swapaxes. Raises `ShapeError`:
    axis-out-of-range.
    """
    yield Stage(Kind.PERMUTE, "swapaxes", "", shape)
    one = axis_from_zero(axis1, len(shape), at, "axis1")
    other = axis_from_zero(axis2, len(shape), at, "axis2")
    swapped = {one: other, other: one}
    order = tuple([swapped.get(axis, axis) for axis in range(len(shape))])
    return (yield from transpose(shape, at, order, "swapaxes", ""))


SWAPAXES = Op(
    name="swapaxes",
    summary="Swap two axes.",
    params=(
        Param("axis1", Holds.INT, "one of the axes", positional=True, required=True),
        Param("axis2", Holds.INT, "the other axis", positional=True, required=True),
    ),
    steps=swapaxes,
    operators={"paddle": Operator("swapaxes", scalar_axis=False), **called(swapaxes="numpy torch")},
    examples=("swapaxes 2,3,4 0 2", "swapaxes N,T,H,D 1 2 --explain", "swapaxes 2,3,4 -1 -2 -d torch"),
    vectors=vectors(
        "axis1 axis2",
        ("2,3,4", "0 2", "-1 -3", "1 1", "0 3", "-4 0"),
        ("0,3", "0 1"),
        ("[]", "0 -1"),
        ("N,T,H,D", "1 2"),
    ),
    default_dialect="numpy",
)
