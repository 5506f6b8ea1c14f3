"""Swapaxes: swap two axes."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages
from shapecalc.core.dialects.base import Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Shape
from shapecalc.core.ops.axes import AXIS_SEMANTICS, normalize_axis_index
from shapecalc.core.ops.op import Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.transpose import TRANSPOSE_SEMANTICS, transpose


def swapaxes(shape: Shape, rules: RequestRules, axis1: int, axis2: int) -> Stages:
    """Swap two axes.

    If both are the same axis, the tensor is unchanged. Source: numpy.swapaxes ("interchange two axes of an array"),
    torch.swapaxes, paddle.swapaxes. Raises `ShapeError` (axis-out-of-range).
    """
    with StageBuilder(StageKind.PERMUTE, "swapaxes", "", shape):
        one = normalize_axis_index(axis1, len(shape), rules, "axis1")
        other = normalize_axis_index(axis2, len(shape), rules, "axis2")
    swapped = {one: other, other: one}
    order = tuple([swapped.get(axis, axis) for axis in range(len(shape))])
    return transpose(shape, rules, order, "swapaxes", "")


SWAPAXES = Op(
    name="swapaxes",
    summary="Swap two axes.",
    params=(
        Param("axis1", ParamType.INT, "one of the axes", positional=True, required=True),
        Param("axis2", ParamType.INT, "the other axis", positional=True, required=True),
    ),
    resolve=swapaxes,
    operators={"paddle": Operator("swapaxes", scalar_axis=False), **operators_by_dialect(swapaxes="numpy torch")},
    signatures=(
        ("numpy jax", "np.swapaxes(x, axis1, axis2)"),
        ("torch", "x.transpose(dim0/axis0: axis1, dim1/axis1: axis2)"),
        ("torch", "x.swapaxes/swapdims(dim0/axis0: axis1, dim1: axis2)"),
        ("paddle", "paddle.swapaxes(x, axis0: axis1, axis1: axis2)"),
    ),
    examples=("swapaxes 2,3,4 0 2", "swapaxes N,T,H,D 1 2 --explain", "swapaxes 2,3,4 -1 -2 -d torch"),
    vectors=make_test_vectors(
        "axis1 axis2",
        ("2,3,4", "0 2", "-1 -3", "1 1", "0 3", "-4 0"),
        ("0,3", "0 1"),
        ("[]", "0 -1"),
        ("N,T,H,D", "1 2"),
    ),
    default_dialect="numpy",
    semantics=(AXIS_SEMANTICS, TRANSPOSE_SEMANTICS),
)
