"""Pad: add or remove positions at both ends of axes."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.dialects.base import (
    FLOATS,
    INTEGERS,
    NEWEST_VERSIONS,
    SINCE_13,
    Operator,
    Param,
    ParamKind,
    Setting,
)
from shapecalc.core.dims import INT64_MAX, Dim, Shape
from shapecalc.core.ops import windows
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxes, normalize_axis_indices, scalar_axis_error
from shapecalc.core.ops.op import DialectTable, Op, make_vectors, operators_by_dialect
from shapecalc.core.problem import rule_error
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import truncate

SOURCE = "ONNX Pad, numpy.pad, torch.nn.functional.pad, tf.pad, OpenVINO Pad, paddle.nn.functional.pad"


LENGTHENED = StepRule(
    "lengthen",
    "positions are added at the beginning and at the end of an axis",
    "The pads list all begins first: for a matrix, begin 0, begin 1, end 0, end 1. PyTorch itself lists the begin and "
    "the end of the last axis first.",
    "shapecalc pad 1,3,8,8 0,0,1,1,0,0,1,1",
    SOURCE,
    why=lambda step, dim, begin, end: f"{begin} + {truncate(str(dim))} + {end} = {step.value}".replace("+ -", "- "),
)


def pad(shape: Shape, rules: Setting, padding: tuple[int, ...], axes: tuple[int, ...] | None = None) -> Stages:
    """Add positions at the start and the end of axes, by default of all axes.

    `padding` lists the number of positions for each start, then for each end; negative numbers remove positions.
    Source: ONNX Pad ("x1_begin, x2_begin, ..., x1_end, x2_end"; "add or remove (if negative)"), numpy.pad. Raises
    `ShapeError`: window-values, nothing-left, axis-out-of-range, repeated-axis, overflow.
    """
    with StageBuilder(StageKind.LENGTHEN, "pad", "padding", shape) as stage:
        if axes and not shape:
            raise scalar_axis_error(axes[0], "axes", 0)
        padded_axes = (
            range(len(shape)) if axes is None else normalize_axis_indices(axes, len(shape), rules, RepeatedAxes.REFUSED)
        )
        count = len(padded_axes)
        least = -INT64_MAX if PAD_SEMANTICS.of(rules.dialect).allows_negative_padding else 0
        padding = windows.numbers_per_axis(padding, [2 * count], "padding", least)
        ends = {axis: padding[index::count] for index, axis in enumerate(padded_axes) if any(padding[index::count])}
        steps = {axis: partial(_pad_axis, rules, axis, shape[axis], *both) for axis, both in ends.items()}
        return windows.apply_steps(stage, steps, ends)


def _pad_axis(rules: Setting, axis: int, dim: Dim, begin: int, end: int) -> Step:
    removed = -min(begin, 0) - min(end, 0)
    message = f"dim {axis} is {truncate(str(dim))}, and {removed} are taken away"
    error = rule_error(windows.NOTHING_LEFT, message, argument="padding")
    conditions = windows.at_least_conditions(dim, removed, error) if removed else ()
    size = rules.names.floor_dim((dim, begin, end))
    return Step(LENGTHENED, axis, (axis,), size, conditions, FrozenDict(dim=dim, begin=begin, end=end))


class PadSemantics(Record):
    """The padding that the pad of a dialect accepts."""

    allows_negative_padding: bool = True
    """Whether negative padding, which removes elements, is accepted."""


PAD_SEMANTICS = DialectTable(
    {
        "onnx openvino torch paddle": PadSemantics(),
        "numpy tensorflow jax tflite": PadSemantics(allows_negative_padding=False),
    }
)
PAD = Op(
    name="pad",
    summary="Pad axes at their start and end.",
    params=(
        Param(
            "padding",
            ParamKind.SIZES,
            "one size for all ends, or all starts and then all ends",
            positional=True,
            required=True,
        ),
        Param("axes", ParamKind.AXES, "the axes to pad, by default all", positional_or_named=True),
    ),
    resolve=pad,
    operators={
        "onnx": Operator(
            "Pad",
            {1: FLOATS, 2: FLOATS, 11: INTEGERS | FLOATS, 13: SINCE_13, 18: SINCE_13, 19: SINCE_13, **NEWEST_VERSIONS},
            params_since={"axes": 18},
        ),
        **operators_by_dialect(pad="numpy torch tensorflow jax paddle", PAD="tflite", Pad="openvino"),
    },
    signatures=(
        ("torch", "torch.nn.functional.pad(x, pad: padding, mode='constant', value=None)"),
        ("numpy jax", "np.pad(x, pad_width: padding, mode='constant')"),
        ("tensorflow", "tf.pad(x, paddings: padding, mode='CONSTANT')"),
    ),
    examples=("pad 1,3,8,8 0,0,1,1,0,0,1,1", "pad N,C,H,W 1,1,1,1 --axes 2,3 --explain", "pad 5,5 -1,0,0,2"),
    vectors=make_vectors(
        "padding axes",
        ("2,3", "1,0,0,2", "1,1", "1,1 1", "1,2 -1", "1,2 2", "1,1,1,1 0,0", "-1,0,0,-3", "-3,0,1,0", "0,0,0,0"),
        ("0,3", "1,0,0,0"),
        ("N,3", "1,1,1,1", "-2,0,0,0"),
    ),
    keeps_element_count=False,
    semantics=(PAD_SEMANTICS, AXIS_SEMANTICS),
    rules=(LENGTHENED,),
)
