"""Unsqueeze: insert dims of 1."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages
from shapecalc.core.dialects.base import (
    NEWEST_VERSIONS,
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
    finish_unsqueeze_stage,
)
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_indices
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, MISSING_ARGUMENT

ONE_AXIS = Rule(
    "one-axis",
    "the operator inserts one dim at a time",
    "To insert several axes, use one unsqueeze for each of them. ONNX, NumPy and OpenVINO accept several axes at once.",
    "shapecalc unsqueeze 2,3 --axes 0,1 --dialect mxnet",
    "tf.expand_dims, MXNet expand_dims",
)


def unsqueeze(shape: Shape, rules: RequestRules, axes: Axes | None = None) -> Stages:
    """Insert dims of 1 at `axes` of the output.

    Source: ONNX Unsqueeze ("the rank of the output tensor is the rank of the input tensor plus the number of values in
    axes"). OpenVINO drops repeated axes (measured; its documentation does not mention them). Raises `ShapeError`
    (missing-argument, axis-out-of-range, negative-axis, repeated-axis, one-axis or rank-limit).
    """
    with StageBuilder(StageKind.UNSQUEEZE, "unsqueeze", "axes", shape, axes or ()) as stage:
        if axes is None:
            raise rule_error(MISSING_ARGUMENT, f"{rules.operator.name} requires axes", argument="axes")
        if UNSQUEEZE_SEMANTICS.for_dialect(rules.dialect).inserts_one and len(axes) != 1:
            message = f"{rules.operator.name} takes one axis, not {len(axes)}"
            raise rule_error(ONE_AXIS, message, argument="axes", index=1 if axes else None)
        new_axes, input_axes = _new_axes(shape, axes, rules), iter(range(len(shape)))
        sources = [None if out in new_axes else next(input_axes) for out in range(len(shape) + len(new_axes))]
        return finish_unsqueeze_stage(stage, sources, rules.dialect)


def _new_axes(shape: Shape, axes: Axes, rules: RequestRules) -> dict[int, int]:
    """Map the output axis of each new dim to its index in `axes`.

    OpenVINO drops repeated axes (measured). Equal values are dropped before the output rank is computed. Different
    values of the same axis, such as 0 and -3, are dropped afterwards, which reduces the rank. An axis that equals the
    reduced rank then becomes the last axis, and a larger axis is refused.
    """
    repeats = UNSQUEEZE_SEMANTICS.for_dialect(rules.dialect).unsqueeze_repeats
    count = len(axes) if repeats is RepeatedAxesPolicy.REFUSED else len({*axes})
    new_axes = normalize_axis_indices(axes, len(shape) + count, rules, repeats)
    result: dict[int, int] = {}
    for end, axis in enumerate(sorted(new_axes), len(shape)):
        if axis > end + 1:
            message = f"axis {axis} lies behind the {end} dims that there are without the repeats"
            raise rule_error(AXIS_OUT_OF_RANGE, message, argument="axes", index=new_axes[axis])
        result[min(axis, end)] = new_axes[axis]
    return result


class UnsqueezeSemantics(Record):
    """The axes that unsqueeze accepts in a dialect."""

    unsqueeze_repeats: RepeatedAxesPolicy = RepeatedAxesPolicy.REFUSED
    inserts_one: bool = False
    """Whether unsqueeze requires exactly one axis."""


UNSQUEEZE_SEMANTICS = DialectTable(
    {
        "onnx tensorrt onednn numpy torch jax coreml": UnsqueezeSemantics(),
        "openvino": UnsqueezeSemantics(RepeatedAxesPolicy.DROPPED),
        "paddle": UnsqueezeSemantics(RepeatedAxesPolicy.EACH),
        "mxnet tensorflow tflite": UnsqueezeSemantics(inserts_one=True),
    }
)
UNSQUEEZE = Op(
    name="unsqueeze",
    summary="Insert dims of size 1.",
    params=(Param("axes", ParamType.AXES, "the positions of the new dims in the output", positional_or_named=True),),
    resolve=unsqueeze,
    operators={"onnx": Operator("Unsqueeze", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13} | NEWEST_VERSIONS)},
    signatures=(
        ("torch", "x.unsqueeze(dim: each axes)"),
        ("numpy jax", "np.expand_dims(x, axis: axes)"),
        ("tensorflow", "tf.expand_dims(x, axis: each axes)"),
        ("paddle", "paddle.unsqueeze(x, [axis]: axes)"),
        ("openvino", "ops.unsqueeze(x, [axes])"),
    ),
    printed_names="unsqueeze unsqueeze2 expanddims expand_dims",
    examples=("unsqueeze 2,3 --axes 0", "unsqueeze 2,3 --axes 0,-1", "unsqueeze N,C --axes 2,3 -d numpy"),
    vectors=make_test_vectors(
        "axes", ("2,3", "0", "0,3", "0,-1", "3", "1,1", "-4", "[]", ""), ("[]", "0"), ("N,C", "2,3")
    ),
    semantics=(UNSQUEEZE_SEMANTICS, AXIS_SEMANTICS),
    rules=(ONE_AXIS,),
)
