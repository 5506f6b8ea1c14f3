"""Conv: filters of a weight slide along the spatial dims, transposed or not."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import divides, equal, required
from shapecalc.core.dialects.base import FLOATS, Holds, Operator, Param, Setting
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops import windows
from shapecalc.core.ops.matmul import CONTRACTED
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.problem import Rule, misuse, refusal
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.rules import INDIVISIBLE
from shapecalc.core.text import brief, rank_text

CHANNELS_DIFFER = Rule(
    "channels-differ",
    "the input has other channels than the weight",
    "A weight is OUT,IN/groups,k..., transposed IN,OUT/groups,k..., and in TensorFlow k...,IN,OUT. The channels are "
    "the dim behind the batch, in TensorFlow the last.",
    "shapecalc conv 1,3,8,8 16,4,3,3",
    windows.SOURCE,
)


def _filters(step: Step, filters: Dim, axis: int, groups: int) -> str:
    by = f", {groups} times" if filters != step.value else ""
    return f"{step.value}: the filters of the weight, its axis {axis}{by}"


OUT_CHANNELS = StepRule(
    "filters",
    "each filter of the weight makes a channel",
    "A filter reads all channels of its group. With groups, the first of them make the first channels of the output.",
    "shapecalc conv 1,64,56,56 128,64,3,3",
    windows.SOURCE,
    why=_filters,
)


class Filters(Record):
    """The dims of a convolution's weight."""

    channels: Dim
    filters: Dim
    axis: int
    kernel: Shape


def _filters_of(weight: Shape, at: Setting, *, transposed: bool) -> Filters:
    """Return the dims of a weight in the dialect's layout.

    Raises `ShapeError` (window-rank) if it has no kernel.
    """
    rank = len(weight)
    if rank < 3:
        message = f"a weight has filters, channels and a kernel, and this one has {rank_text(rank)}"
        raise refusal(windows.WINDOW_RANK, message, argument="weight")
    first = rank - 2 if at.row.windows.filters_last else 0
    kernel = weight[:first] if first else weight[2:]
    axis = first + (transposed != (first > 0))
    return Filters(weight[2 * first + 1 - axis], weight[axis], axis, kernel)


def conv(
    shape: Shape,
    at: Setting,
    weight: Shape,
    groups: int = 1,
    layout: str | None = None,
    transposed: bool = False,
    output_padding: Shape | None = None,
    **moved: object,
) -> Reasons:
    """Slide the filters of a weight along the spatial dims.

    Transposed, each element is spread over a window. Source: ONNX Conv and ConvTranspose, torch.nn.functional.conv2d,
    tf.nn.conv2d, keras.layers.Conv2DTranspose. Raises `ShapeError`: window-rank, window-values, window-too-large,
    bad-padding, channels-differ, indivisible.
    """
    yield Stage(Kind.WINDOW, "conv", "weight", shape)
    if output_padding is not None and not transposed:
        raise misuse("output_padding is for a transposed convolution", argument="output_padding")
    weight_dims = _filters_of(weight, at, transposed=transposed)
    count = len(weight_dims.kernel)
    windows.for_each((groups,), (), "groups")
    windows.for_each(weight_dims.kernel, [count], "weight")
    channels, axes = windows.spatial_axes(shape, at, count, layout)
    yield _summed(shape[channels], channels, weight_dims, groups, transposed=transposed)
    window_list = windows.windows_of(axes, at, "transposed" if transposed else "conv", weight_dims.kernel, moved)
    steps = {window.axis: windows.slid(shape[window.axis], window, at) for window in window_list}
    if transposed:
        known = output_padding is not None
        paddings = windows.for_each(output_padding, [count], "output_padding", 0) if known else (None,) * count
        pairs = zip(window_list, paddings, strict=True)
        steps = {window.axis: windows.spread(shape[window.axis], window, extra, at) for window, extra in pairs}
    steps[channels] = _made(channels, weight_dims, groups, transposed=transposed)
    weight_axes = {channels: (*[(0, channels)][: groups > 1], (1, weight_dims.axis))}
    mixing_axes = [window.axis for window in window_list if not window.reads_one]
    return (yield from windows.along_axes(shape, steps, mixing_axes, weight, places=weight_axes))


def _summed(have: Dim, axis: int, read: Filters, groups: int, *, transposed: bool) -> Step:
    """Return the step that compares the channels of input and weight.

    Raises `ShapeError`: channels-differ, indivisible.
    """
    want = read.channels if transposed else product((groups, read.channels))
    expected = brief(str(read.channels)) + (f" in each of {groups} groups" if groups > 1 and not transposed else "")
    message = f"the input has {brief(str(have))} channels (dim {axis}), and the weight is for {expected}"
    index = read.axis ^ 1 if read.axis < 2 else None
    conditions = required(equal, have, want, refusal(CHANNELS_DIFFER, message, argument="weight", index=index))
    divided = want if transposed else read.filters
    message = f"{brief(str(divided))} of the weight make no {groups} equal groups"
    conditions += required(divides, divided, groups, refusal(INDIVISIBLE, message, argument="groups"))
    return Step(CONTRACTED, None, (axis,), have, conditions, FrozenDict(left=have, right=want))


def _made(axis: int, read: Filters, groups: int, *, transposed: bool) -> windows.Settled:
    yield from ()
    facts = FrozenDict(filters=read.filters, axis=read.axis, groups=groups)
    channels = product((groups, read.filters)) if transposed else read.filters
    return Step(OUT_CHANNELS, axis, (axis,) * (groups > 1), channels, (), facts)


def _or_transposed(plain: Operator, transposed: Operator) -> Operator:
    """Return an operator with a variant for transposed convolutions."""
    return replace(plain, variant=lambda arguments: transposed if arguments.get("transposed") else plain)


VERSIONS = {1: FLOATS, 11: FLOATS, 22: FLOATS | {"bfloat16"}}
NO_GROUPS = {"groups": None}
PLAIN = _or_transposed(Operator("conv"), Operator("conv_transpose"))
CONV = Op(
    name="conv",
    summary="Convolve with the filters of a weight.",
    params=(
        Param("weight", Holds.SHAPE, "the shape of the weight", positional=True, required=True),
        *windows.PARAMS,
        Param("groups", Holds.INT, "how many groups the channels are cut into, by default 1"),
        windows.LAYOUT,
        Param("transposed", Holds.FLAG, "spread each element over a window (deconvolution)"),
        Param("output_padding", Holds.SIZES, "transposed: what is added at the end"),
    ),
    steps=conv,
    operators={
        "onnx": _or_transposed(Operator("Conv", VERSIONS), Operator("ConvTranspose", VERSIONS)),
        "torch": PLAIN,
        "paddle": PLAIN,
        "tensorflow": _or_transposed(Operator("conv"), Operator("conv_transpose", since=NO_GROUPS)),
        "tflite": _or_transposed(Operator("CONV_2D"), Operator("TRANSPOSE_CONV", since=NO_GROUPS)),
        "openvino": _or_transposed(
            *[Operator(name, since=NO_GROUPS) for name in ("Convolution", "ConvolutionBackpropData")]
        ),
        "tensorrt": _or_transposed(Operator("Convolution"), Operator("Deconvolution", since={"output_padding": None})),
    },
    examples=(
        "conv 1,3,224,224 64,3,7,7 --stride 2 --padding 3",
        "conv B,3,H,W 64,3,3,3 --stride 2 --padding 1 --explain",
        "conv 1,64,16,16 64,32,2,2 --transposed --stride 2",
    ),
    vectors=vectors(
        "weight stride padding dilation groups",
        ("1,3,9,9", "4,3,3,3", "4,3,3,3 2 1", "4,3,3,3 1 same", "4,3,3,3 2 0,1 2", "4,3,10,3", "4,2,3,3", "4,3,3"),
        ("2,4,9", "4,2,3 1 0 1 2", "4,2,3 1 0 1 3", "3,2,3 1 0 1 2"),
        ("3,9,9", "4,3,3,3"),
        ("1,9,9,3", "3,3,3,8"),
        ("B,C,H,W", "8,3,3,3 2", "8,3,7,7 2 3", "O,C,K,K"),
    ),
    keeps_count=False,
    rules=(*windows.RULES, OUT_CHANNELS, CHANNELS_DIFFER),
)
