"""Helpers for ops with axis arguments: normalized axes and merged axes."""

from __future__ import annotations

from collections.abc import Iterable

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step
from shapecalc.core.dialects.base import RequestRules, compute_volume, regroup_step
from shapecalc.core.dims import Axes, Shape, product
from shapecalc.core.moves import Reshape
from shapecalc.core.ops.op import DialectTable
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, MERGED, NEGATIVE_AXIS, REPEATED_AXIS
from shapecalc.core.text import missing_axis_text


class RepeatedAxesPolicy(Choice):
    """The handling of repeated axes in a request."""

    REFUSED = "refused"
    DROPPED = "counted once"
    EACH = "counted each time"
    """Each occurrence counts as a separate dim.

    Operators with this policy have their own resolver; `normalize_axis_indices` does not support it.
    """


class AxisSemantics(Record):
    """The axis arguments that a dialect accepts."""

    negative_axes_since: int = 1
    """The first version that accepts negative axes and indices."""
    scalar_axis: bool = False
    """Whether a scalar is treated as a tensor with one axis."""


AXIS_SEMANTICS = DialectTable(
    {
        "tensorrt onednn numpy mxnet tensorflow jax tflite coreml caffe onnxruntime": AxisSemantics(),
        "onnx": AxisSemantics(negative_axes_since=11),
        "openvino torch paddle": AxisSemantics(scalar_axis=True),
    }
)


def merge_axis_groups(stage: StageBuilder, groups: list[Axes]) -> Stages:
    """Finish a stage that merges each group of axes into one output dim.

    Raises `ShapeError` (overflow).
    """
    shape = stage.before
    output = tuple([product([shape[axis] for axis in part]) for part in groups])

    def explain(finished: Stage) -> tuple[Step, ...]:
        steps = [
            Step(MERGED, out, part, output[out], (), FrozenDict(dims=tuple([shape[axis] for axis in part])))
            for out, part in enumerate(groups)
        ]
        return tuple(steps) if finished.after is None else (*steps, regroup_step(shape, output))

    stage.explain = explain
    compute_volume(output, "input")
    return stage.finish(Reshape(output))


def flatten_axes(shape: Shape) -> Stages:
    """Merge all axes in one stage.

    Raises `ShapeError` (overflow).
    """
    with StageBuilder(StageKind.MERGE, "flatten", "", shape) as stage:
        return merge_axis_groups(stage, [tuple(range(len(shape)))])


def merge_adjacent_axes(shape: Shape, runs: Iterable[Iterable[str | Record]]) -> Stages:
    """Merge runs of adjacent axes in one stage.

    The runs cover all axes in order. A run has one item for each axis; the values of the items are not used. Raises
    `ShapeError` (overflow).
    """
    with StageBuilder(StageKind.MERGE, "merge", "", shape) as stage:
        axes = iter(range(len(shape)))
        return merge_axis_groups(stage, [tuple([next(axes) for _ in run]) for run in runs])


def normalize_axis_index(
    axis: int, rank: int, rules: RequestRules, argument: str, index: int | None = None, *, allow_end: bool = False
) -> int:
    """Return the nonnegative index of an axis.

    If `allow_end` is True, an axis equal to `rank` is also valid. For error messages, `argument` is the name of the
    argument, and `index` is the position of the axis in a list argument. Raises `ShapeError` (negative-axis or
    axis-out-of-range).
    """
    if axis < 0 and rules.version is not None:
        since = AXIS_SEMANTICS.for_dialect(rules.dialect).negative_axes_since
        if rules.version < since:
            message = f"axis {axis}: negative axes exist since version {since}, and this is {rules.version}"
            raise rule_error(NEGATIVE_AXIS, message, argument=argument, index=index)
    has_axis = rank == 0 and rules.operator.scalar_axis and AXIS_SEMANTICS.for_dialect(rules.dialect).scalar_axis
    span = 1 if has_axis else rank
    if not -span <= axis < span + allow_end:
        message = missing_axis_text(axis, span, allow_end=allow_end)
        raise rule_error(AXIS_OUT_OF_RANGE, message, argument=argument, index=index)
    return axis % span if axis < 0 else axis


def normalize_axis_indices(
    axes: Axes, rank: int, rules: RequestRules, repeats: RepeatedAxesPolicy, argument: str = "axes"
) -> dict[int, int]:
    """Map each axis, as a nonnegative index, to its position in `axes`.

    `repeats` specifies whether repeated axes are refused or dropped. Raises `ShapeError` (repeated-axis or an error of
    `normalize_axis_index`).
    """
    indices: dict[int, int] = {}
    for index, axis in enumerate(axes):
        normalized = normalize_axis_index(axis, rank, rules, argument, index)
        if normalized in indices and repeats is RepeatedAxesPolicy.REFUSED:
            raise rule_error(REPEATED_AXIS, f"axis {axis} is named twice", argument=argument, index=index)
        indices.setdefault(normalized, index)
    return indices


def scalar_axis_error(axis: int, argument: str, index: int | None = None) -> ShapeError:
    """Return the error (axis-out-of-range) for an axis argument of a scalar."""
    return rule_error(AXIS_OUT_OF_RANGE, missing_axis_text(axis, 0), argument=argument, index=index)


def normalize_nonscalar_axis(axis: int, shape: Shape, rules: RequestRules) -> int:
    """Return the nonnegative index of an axis of a tensor that is not a scalar.

    Raises `ShapeError` (axis-out-of-range or negative-axis).
    """
    if not shape:
        raise scalar_axis_error(axis, "axis")
    return normalize_axis_index(axis, len(shape), rules, "axis")
