"""Upsample: the spatial dims are scaled or resized."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Holds, Operator, Param, Setting
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops import windows
from shapecalc.core.ops.op import Op, called, vectors
from shapecalc.core.ops.operands import sized
from shapecalc.core.problem import misuse, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief
from shapecalc.core.values import ratios_of

SOURCE = "ONNX Resize, torch.nn.functional.interpolate, keras.layers.UpSampling2D, OpenVINO Interpolate"


def _scaled(step: Step, dim: Dim, factor: str | None) -> str:
    size = brief(str(dim))
    return f"{size} gets the size {step.value}" if factor is None else f"{size}*{factor}, rounded down, = {step.value}"


SCALED = StepRule(
    "scale",
    "a spatial dim is multiplied by a factor and rounded down, or gets another size",
    "The new positions are copies of the nearest old ones, or lie between them; the shape is the same either way.",
    "shapecalc upsample 1,64,28,28 2",
    SOURCE,
    why=_scaled,
)


def upsample(shape: Shape, at: Setting, scale: str | None = None, size: Shape | None = None) -> Reasons:
    """Multiply the spatial dims by factors and round down, or set their sizes.

    Source: ONNX Resize ("output_dimension = floor(input_dimension * (roi_end - roi_start) * scale)"), and
    torch.nn.functional.interpolate. Raises `ShapeError`: window-rank, window-values, nothing-left, overflow.
    """
    yield Stage(Kind.LENGTHEN, "upsample", "scale" if size is None else "size", shape)
    if (scale is None) == (size is None):
        raise misuse("upsample takes factors or sizes, one of the two", "write a factor, or --size", argument="scale")
    _, axes = windows.spatial_axes(shape, at, len(shape) - 2)
    values, name = (scale.split(","), "scale") if scale is not None else ([*map(str, size or ())], "size")
    windows.for_each(size, [len(axes)], "size")
    texts = windows.as_many(values, [len(axes)], name)
    pairs = [*zip(axes, texts, strict=True)]
    steps = {axis: _settled(axis, shape[axis], text, at, fixed=scale is None) for axis, text in pairs}
    return (yield from windows.along_axes(shape, steps, [axis for axis, text in pairs if not scale or text != "1"]))


def _settled(axis: int, dim: Dim, text: str, at: Setting, *, fixed: bool) -> windows.Settled:
    """Return the step of a dim that is resized or scaled.

    Raises `ShapeError` (nothing-left) if it becomes 0 and the framework refuses that.
    """
    [(numerator, denominator)] = ratios_of(text)
    scaled = numerator if fixed else product((numerator, dim))
    error = refusal(windows.NOTHING_LEFT, f"nothing is left of dim {axis}, {brief(str(dim))}", argument="scale")
    conditions = () if fixed or at.row.windows.empty else windows.fitting(scaled, denominator, error)
    size = yield from sized((scaled,), denominator)
    return Step(SCALED, axis, (axis,), size, conditions, FrozenDict(dim=dim, factor=None if fixed else text))


UPSAMPLE = Op(
    name="upsample",
    summary="Scale the spatial dims (resize, interpolate).",
    params=(
        Param("scale", Holds.SCALES, "a factor for all spatial dims, or one for each", positional=True),
        Param("size", Holds.SIZES, "the new sizes of the spatial dims"),
    ),
    steps=upsample,
    operators={
        "onnx": Operator(
            "Resize", {10: UP_TO_12, 11: UP_TO_12, 13: SINCE_13, 18: SINCE_13, 19: SINCE_13}, since={"size": 11}
        ),
        "tflite": Operator("RESIZE_NEAREST_NEIGHBOR", since={"scale": None}),
        **called(interpolate="torch paddle", UpSampling2D="tensorflow", Interpolate="openvino", Resize="tensorrt"),
    },
    examples=("upsample 1,64,28,28 2", "upsample N,C,H,W 0.5 --explain", "upsample N,C,H,W --size 224,224"),
    vectors=vectors(
        "scale", ("1,3,5,7", "2", "0.5,1.5", "2,2,2", "0.1"), ("3,5", "2"), ("N,C,H,W", "2", "0.5", "1.5,1")
    ),
    keeps_count=False,
    rules=(SCALED,),
)
