"""Squeeze: remove dims of size 1."""

from __future__ import annotations

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step
from shapecalc.core.conditions import Conditions, require_different
from shapecalc.core.dialects.base import (
    NEWEST_VERSIONS,
    SINCE_13,
    UP_TO_12,
    Operator,
    Param,
    ParamType,
    RequestRules,
    regroup_step,
    require_one,
)
from shapecalc.core.dims import Axes, Dim, Shape
from shapecalc.core.moves import Reshape
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_indices
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.record import Choice, Record
from shapecalc.core.rules import DROPPED_ONE, KEPT_DIM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

CheckedAxis: TypeAlias = "tuple[int, int | None, Conditions]"
"""A requested axis, its output axis and its conditions. The output axis is None if the axis is dropped.

The conditions are those under which the axis is kept or dropped.
"""


def squeeze(shape: Shape, rules: RequestRules, axes: Axes | None = None) -> Stages:
    """Drop axes of size 1.

    Without `axes`, all axes of size 1 are dropped. Source: ONNX Squeeze ("if an axis is selected with shape entry not
    equal to one, an error is raised"). torch.squeeze and OpenVINO keep such an axis. Raises `ShapeError` (axis-not-one,
    axis-out-of-range, negative-axis or repeated-axis).
    """
    with StageBuilder(StageKind.SQUEEZE, "squeeze", "axes", shape, axes or ()) as stage:
        semantics = SQUEEZE_SEMANTICS.for_dialect(rules.dialect)
        drops_all = axes is None or (not axes and semantics.no_axes_is_all)
        named = {} if drops_all else normalize_axis_indices(axes or (), len(shape), rules, semantics.squeeze_repeats)
        keeps_others = drops_all or semantics.not_one is NonUnitAxisPolicy.KEPT
        kept, checked = list[Dim](), list[CheckedAxis]()
        stage.explain = lambda finished: _squeeze_steps(finished, checked)
        for axis, dim in enumerate(shape):
            is_named = drops_all or axis in named
            is_kept = not is_named or (keeps_others and dim != 1)
            if is_named:
                conditions: Conditions = require_different(dim, 1) if is_kept else ()
                if not keeps_others:
                    conditions = require_one(dim, axis, named[axis])
                checked.append((axis, len(kept) if is_kept else None, conditions))
            if is_kept:
                kept.append(dim)
        return stage.finish(Reshape(tuple(kept)))


def _squeeze_steps(stage: Stage, checked: Sequence[CheckedAxis]) -> tuple[Step, ...]:
    """Return the steps of the checked axes, and the final regrouping step."""
    steps = [
        Step(DROPPED_ONE if out is None else KEPT_DIM, out, (axis,), stage.before[axis], conditions)
        for axis, out, conditions in checked
    ]
    return tuple(steps) if stage.after is None else (*steps, regroup_step(stage.before, stage.after))


class NonUnitAxisPolicy(Choice):
    """The handling of a requested axis that is not 1."""

    REFUSED = "refused"
    KEPT = "left alone"


class SqueezeSemantics(Record):
    """The axes that squeeze accepts and drops in a dialect."""

    not_one: NonUnitAxisPolicy = NonUnitAxisPolicy.REFUSED
    squeeze_repeats: RepeatedAxesPolicy = RepeatedAxesPolicy.REFUSED
    no_axes_is_all: bool = False
    """Whether squeeze drops all dims of 1 if the list of axes is empty."""


SQUEEZE_SEMANTICS = DialectTable(
    {
        "onnx numpy mxnet jax": SqueezeSemantics(),
        "torch coreml": SqueezeSemantics(NonUnitAxisPolicy.KEPT),
        "openvino paddle": SqueezeSemantics(NonUnitAxisPolicy.KEPT, RepeatedAxesPolicy.DROPPED, no_axes_is_all=True),
        "tensorflow tflite onnxruntime": SqueezeSemantics(
            squeeze_repeats=RepeatedAxesPolicy.DROPPED, no_axes_is_all=True
        ),
    }
)
SQUEEZE = Op(
    name="squeeze",
    summary="Remove dims of size 1.",
    params=(
        Param("axes", ParamType.AXES, "the axes to remove; by default every dim of size 1", positional_or_named=True),
    ),
    resolve=squeeze,
    operators={"onnx": Operator("Squeeze", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13} | NEWEST_VERSIONS)},
    signatures=(
        ("torch", "x.squeeze(dim: axes=None)"),
        ("numpy jax", "x.squeeze(axis: axes=None)"),
        ("tensorflow", "tf.squeeze(x, [axis]: axes=None)"),
        ("paddle", "paddle.squeeze(x, [axis]: axes=None)"),
        ("openvino", "ops.squeeze(x, [axes]: axes=None)"),
    ),
    printed_names="squeeze squeeze2",
    examples=("squeeze 1,3,1", "squeeze 1,3,1 --axes 0", "squeeze 1,N --axes 0,1 -d torch"),
    vectors=make_test_vectors(
        "axes",
        ("1,3,1", "", "0", "0,2", "-1", "[]", "1", "3", "-4", "0,-3"),
        ("1,1", ""),
        ("2,3", ""),
        ("[]", "0"),
        ("N,1", "", "0"),
    ),
    semantics=(SQUEEZE_SEMANTICS, AXIS_SEMANTICS),
)
