"""Upsample: scale or resize the spatial dims."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import ResolvedDim, StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops import windows
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import ShapeError, rule_error, usage_error
from shapecalc.core.record import Record
from shapecalc.core.text import truncate
from shapecalc.core.values import scale_ratios

SOURCE = "ONNX Resize, torch.nn.functional.interpolate, keras.layers.UpSampling2D, OpenVINO Interpolate"


def _explain_scale(step: Step, dim: Dim, factor: str | None) -> str:
    size = truncate(str(dim))
    return f"{size} gets the size {step.value}" if factor is None else f"{size}*{factor}, rounded down, = {step.value}"


SCALED = StepRule(
    "scale",
    "a spatial dim is multiplied by a factor and rounded down, or set to a given size",
    "The new elements are copies of the nearest input elements, or are interpolated between them. The shape is the "
    "same in both cases.",
    "shapecalc upsample 1,64,28,28 2",
    SOURCE,
    why=_explain_scale,
)


def upsample(shape: Shape, rules: RequestRules, scale: str | None = None, size: Shape | None = None) -> Stages:
    """Scale or resize the spatial dims.

    Scaled sizes are rounded down. Source: ONNX Resize ("output_dimension = floor(input_dimension * (roi_end -
    roi_start) * scale)"), and torch.nn.functional.interpolate. Raises `ShapeError` (window-rank, window-values,
    nothing-left or overflow).
    """
    with StageBuilder(StageKind.LENGTHEN, "upsample", "scale" if size is None else "size", shape) as stage:
        if (scale is None) == (size is None):
            raise usage_error(
                "upsample takes factors or sizes, one of the two", "write a factor, or --size", argument="scale"
            )
        channels, axes = windows.spatial_axes(shape, rules, len(shape) - 2)
        windows.require_channels(shape, channels, rules)
        values, name = (scale.split(","), "scale") if scale is not None else ([*map(str, size or ())], "size")
        windows.numbers_per_axis(size, [len(axes)], "size")
        texts = windows.values_per_axis(values, [len(axes)], name)
        pairs = [*zip(axes, texts, strict=True)]
        resolvers = {
            axis: partial(_scale_dim, axis, shape[axis], text, rules, is_size=scale is None) for axis, text in pairs
        }
        window_axes = [axis for axis, text in pairs if not scale or text != "1"]
        return windows.finish_window_stage(stage, resolvers, window_axes)


def _scale_dim(axis: int, dim: Dim, factor_or_size: str, rules: RequestRules, *, is_size: bool) -> ResolvedDim:
    """Return the output dim of a spatial dim that is scaled or resized.

    `is_size` specifies whether `factor_or_size` is a size. Raises `ShapeError` (nothing-left) if the output dim is 0
    and the framework refuses empty dims.
    """
    [(numerator, denominator)] = scale_ratios(factor_or_size)
    scaled = numerator if is_size else product((numerator, dim))
    conditions: Conditions = ()

    def make_error() -> ShapeError:
        message = f"nothing is left of dim {axis}, {truncate(str(dim))}"
        return rule_error(windows.NOTHING_LEFT, message, argument="scale")

    if not UPSAMPLE_SEMANTICS.for_dialect(rules.dialect).allows_empty_dims:
        least = (dim, 1) if is_size else (scaled, denominator)
        conditions = windows.require_min_dim(*least, make_error)
    size = rules.names.floor_dim((scaled,), denominator)
    return SCALED, size, conditions, {"dim": dim, "factor": None if is_size else factor_or_size}


class UpsampleSemantics(Record):
    """The output sizes that upsample accepts in a dialect."""

    allows_empty_dims: bool = True
    """Whether upsample may scale a dim to 0."""


UPSAMPLE_SEMANTICS = DialectTable(
    {
        "onnx tensorrt openvino tensorflow tflite": UpsampleSemantics(),
        "torch paddle": UpsampleSemantics(allows_empty_dims=False),
    }
)
UPSAMPLE = Op(
    name="upsample",
    summary="Scale the spatial dims (resize, interpolate).",
    params=(
        Param("scale", ParamType.SCALES, "a factor for all spatial dims, or one for each", positional=True),
        Param("size", ParamType.SIZES, "the new sizes of the spatial dims"),
    ),
    resolve=upsample,
    operators={
        "onnx": Operator(
            "Resize", {10: UP_TO_12, 11: UP_TO_12, 13: SINCE_13, 18: SINCE_13, 19: SINCE_13}, params_since={"size": 11}
        ),
        "tflite": Operator("RESIZE_NEAREST_NEIGHBOR", params_since={"scale": None}),
        **operators_by_dialect(
            interpolate="torch paddle", UpSampling2D="tensorflow", Interpolate="openvino", Resize="tensorrt"
        ),
    },
    signatures=(
        (
            "torch",
            "torch.nn.functional.interpolate(x, size=None, scale_factor: scale=None, mode='nearest', "
            "align_corners=None, recompute_scale_factor=None, antialias=False)",
        ),
        ("torch", "torch.nn.Upsample(size=None, scale_factor: scale=None, mode='nearest', align_corners=None)"),
    ),
    examples=("upsample 1,64,28,28 2", "upsample N,C,H,W 0.5 --explain", "upsample N,C,H,W --size 224,224"),
    vectors=make_test_vectors(
        "scale size",
        ("1,3,5,7", "2", "0.5,1.5", "2,2,2", "0.1", "_ 10,14"),
        ("3,5", "2"),
        ("N,C,H,W", "2", "0.5", "1.5,1"),
    ),
    keeps_element_count=False,
    semantics=(UPSAMPLE_SEMANTICS, windows.WINDOW_SEMANTICS),
    rules=(SCALED,),
)
