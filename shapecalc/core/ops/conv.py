"""Conv: convolution and transposed convolution along the spatial dims."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import ResolvedDim, StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.conditions import Conditions, require_divisible, require_equal, require_relation
from shapecalc.core.dialects.base import FLOATS, Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops import windows
from shapecalc.core.ops.matmul import contraction_step
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import Rule, ShapeError, rule_error, usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import INDIVISIBLE
from shapecalc.core.text import rank_text, truncate

CHANNELS_DIFFER = Rule(
    "channels-differ",
    "the channels of the input do not match the weight",
    "The shape of a weight is OUT,IN/groups,k... in a convolution, and IN,OUT/groups,k... in a transposed "
    "convolution. In TensorFlow, the shape of a weight is k...,IN,OUT. The channel axis usually follows the batch "
    "axis. In TensorFlow, the channel axis is the last axis.",
    "shapecalc conv 1,3,8,8 16,4,3,3",
    windows.SOURCE,
)


def _explain_filters(step: Step, filters: Dim, axis: int, groups: int) -> str:
    if step.value == 0 and filters != 0:
        return f"0: the input has no channels, and PyTorch returns none, not {filters}"
    by = f", {groups} times" if filters != step.value else ""
    return f"{step.value}: the filters of the weight, its axis {axis}{by}"


OUT_CHANNELS = StepRule(
    "filters",
    "each filter of the weight produces one output channel",
    "A filter reads all channels of its group. With several groups, the filters of the first group produce the first "
    "output channels.",
    "shapecalc conv 1,64,56,56 128,64,3,3",
    windows.SOURCE,
    why=_explain_filters,
)


class WeightDims(Record):
    """The dims of a convolution weight."""

    channels: Dim
    filters: Dim
    axis: int
    kernel: Shape


def _read_weight_dims(weight: Shape, rules: RequestRules, *, transposed: bool) -> WeightDims:
    """Read the dims of a weight in the dialect's layout.

    `ConvSemantics` describes the layout. Raises `ShapeError` (window-rank) if the weight has no kernel dims.
    """
    rank = len(weight)
    if rank < 3:
        message = f"a weight has filters, channels and a kernel, and this one has {rank_text(rank)}"
        raise rule_error(windows.WINDOW_RANK, message, argument="weight")
    first = rank - 2 if CONV_SEMANTICS.for_dialect(rules.dialect).filters_last else 0
    kernel = weight[:first] if first else weight[2:]
    axis = first + (transposed != (first > 0))
    return WeightDims(weight[2 * first + 1 - axis], weight[axis], axis, kernel)


def conv(
    shape: Shape,
    rules: RequestRules,
    weight: Shape,
    groups: int = 1,
    layout: str | None = None,
    transposed: bool = False,
    output_padding: Shape | None = None,
    **window_options: object,
) -> Stages:
    """Slide the filters of a weight along the spatial dims of the input.

    A transposed convolution spreads each element over a window. Source: ONNX Conv and ConvTranspose,
    torch.nn.functional.conv2d, tf.nn.conv2d, keras.layers.Conv2DTranspose. Raises `ShapeError` (window-rank,
    window-values, window-too-large, bad-padding, nothing-left, channels-differ, indivisible or overflow).
    """
    with StageBuilder(StageKind.WINDOW, "conv", "weight", shape) as stage:
        if output_padding is not None and not transposed:
            raise usage_error("output_padding is for a transposed convolution", argument="output_padding")
        weight_dims = _read_weight_dims(weight, rules, transposed=transposed)
        count = len(weight_dims.kernel)
        windows.numbers_per_axis((groups,), (), "groups")
        windows.numbers_per_axis(weight_dims.kernel, [count], "weight")
        channels, axes = windows.spatial_axes(shape, rules, count, layout)
        channel_sizes = _match_channels(shape[channels], channels, weight_dims, groups, transposed=transposed)
        stage.explain = lambda _: (contraction_step((channels,), *channel_sizes),)
        keeps_none = CONV_SEMANTICS.for_dialect(rules.dialect).accepts_zero_channels
        if keeps_none and (weight[0] == 0 or (transposed and weight_dims.filters == 0)):
            raise rule_error(windows.WINDOW_VALUES, "PyTorch convolves with at least one filter", argument="weight")
        window_list = windows.build_windows(
            axes, rules, "transposed" if transposed else "conv", weight_dims.kernel, window_options
        )
        resolvers: dict[int, windows.DimResolver] = {
            window.axis: partial(windows.resolve_window_dim, shape[window.axis], window, rules)
            for window in window_list
        }
        if transposed:
            known = output_padding is not None
            paddings = (
                windows.numbers_per_axis(output_padding, [count], "output_padding", 0) if known else (None,) * count
            )
            pairs = zip(window_list, paddings, strict=True)
            resolvers = {
                window.axis: partial(windows.resolve_transposed_dim, shape[window.axis], window, extra, rules)
                for window, extra in pairs
            }
        is_empty = keeps_none and shape[channels] == 0
        resolvers[channels] = partial(
            _resolve_out_channels, weight_dims, groups, transposed=transposed, is_empty=is_empty
        )
        weight_axes = {channels: (*[(0, channels)][: groups > 1], (1, weight_dims.axis))}
        mixing_axes = [window.axis for window in window_list if not window.is_identity]
        return windows.finish_window_stage(stage, resolvers, mixing_axes, weight, weight_axes=weight_axes)


def _match_channels(
    input_channels: Dim, axis: int, weight_dims: WeightDims, groups: int, *, transposed: bool
) -> tuple[Dim, Dim, Conditions]:
    """Return the input channels and the weight channels, which must match.

    The third result contains the conditions for the match. Raises `ShapeError` (channels-differ or indivisible).
    """
    want = weight_dims.channels if transposed else product((groups, weight_dims.channels))
    divided = want if transposed else weight_dims.filters

    def make_error() -> ShapeError:
        expected = truncate(str(weight_dims.channels)) + (
            f" in each of {groups} groups" if groups > 1 and not transposed else ""
        )
        shown = truncate(str(input_channels))
        message = f"the input has {shown} channels (dim {axis}), and the weight is for {expected}"
        index = weight_dims.axis ^ 1 if weight_dims.axis < 2 else None
        return rule_error(CHANNELS_DIFFER, message, argument="weight", index=index)

    def make_groups_error() -> ShapeError:
        message = f"{truncate(str(divided))} of the weight make no {groups} equal groups"
        return rule_error(INDIVISIBLE, message, argument="groups")

    conditions = require_relation(require_equal, input_channels, want, make_error)
    return input_channels, want, conditions + require_relation(require_divisible, divided, groups, make_groups_error)


def _resolve_out_channels(weight_dims: WeightDims, groups: int, *, transposed: bool, is_empty: bool) -> ResolvedDim:
    channels = product((groups, weight_dims.filters)) if transposed else weight_dims.filters
    facts = {"filters": weight_dims.filters, "axis": weight_dims.axis, "groups": groups}
    return OUT_CHANNELS, 0 if is_empty else channels, (), facts


def _add_transposed_variant(operator: Operator, transposed_operator: Operator) -> Operator:
    """Return `operator` with a variant for transposed convolutions."""
    return replace(
        operator, variant_of=lambda arguments: transposed_operator if arguments.get("transposed") else operator
    )


class ConvSemantics(Record):
    """The layout of weights in a dialect, and the handling of inputs without channels."""

    filters_last: bool = False
    """Whether the weight layout is (*kernel, in, out), or (*kernel, out, in) for a transposed convolution.

    Otherwise, the layout is (out, in, *kernel), or (in, out, *kernel) for a transposed convolution.
    """
    accepts_zero_channels: bool = False
    """Whether an input without channels is accepted; its output has no channels.

    If so, a weight without filters is refused. Source: `Convolution.cpp` of PyTorch 2.13.
    """


CONV_SEMANTICS = DialectTable(
    {
        "onnx tensorrt openvino paddle": ConvSemantics(),
        "torch": ConvSemantics(accepts_zero_channels=True),
        "tensorflow tflite": ConvSemantics(filters_last=True),
    }
)
VERSIONS = {1: FLOATS, 11: FLOATS, 22: FLOATS | {"bfloat16"}}
WITHOUT_GROUPS = {"groups": None}
CONV_OPERATOR = _add_transposed_variant(Operator("conv"), Operator("conv_transpose"))
CONV = Op(
    name="conv",
    summary="Convolve the input with a weight.",
    params=(
        Param("weight", ParamType.SHAPE, "the shape of the weight", positional=True, required=True),
        *windows.WINDOW_PARAMS,
        Param("groups", ParamType.INT, "the number of channel groups, by default 1"),
        windows.LAYOUT_PARAM,
        Param("transposed", ParamType.FLAG, "compute a transposed convolution (deconvolution)"),
        Param("output_padding", ParamType.SIZES, "if transposed, the padding at the end of the output"),
    ),
    resolve=conv,
    operators={
        "onnx": _add_transposed_variant(Operator("Conv", VERSIONS), Operator("ConvTranspose", VERSIONS)),
        "torch": CONV_OPERATOR,
        "paddle": CONV_OPERATOR,
        "tensorflow": _add_transposed_variant(
            Operator("conv"), Operator("conv_transpose", params_since=WITHOUT_GROUPS)
        ),
        "tflite": _add_transposed_variant(
            Operator("CONV_2D"), Operator("TRANSPOSE_CONV", params_since=WITHOUT_GROUPS | {"output_padding": None})
        ),
        "openvino": _add_transposed_variant(
            *[Operator(name, params_since=WITHOUT_GROUPS) for name in ("Convolution", "ConvolutionBackpropData")]
        ),
        "tensorrt": _add_transposed_variant(
            Operator("Convolution"), Operator("Deconvolution", params_since={"output_padding": None})
        ),
    },
    signatures=(
        (
            "torch",
            "torch.nn.Conv{rank}d(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
            "bias=True, padding_mode='zeros', device=None, dtype=None)",
        ),
        (
            "torch",
            "torch.nn.ConvTranspose{rank}d(in_channels, out_channels, kernel_size, stride=1, padding=0, "
            "output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros', device=None, dtype=None)",
            {"transposed": True},
        ),
        (
            "torch",
            "torch.nn.functional.conv{rank}d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)",
        ),
        (
            "torch",
            "torch.nn.functional.conv_transpose{rank}d(x, weight, bias=None, stride=1, padding=0, output_padding=0, "
            "groups=1, dilation=1)",
            {"transposed": True},
        ),
        (
            "tensorflow",
            "keras.layers.Conv2D(filters, kernel_size, strides/stride: stride=1, padding='valid')",
            {"layout": "nhwc"},
        ),
    ),
    printed_names="conv conv2d convolution groupconvolution convtranspose",
    noun="a convolution",
    examples=(
        "conv 1,3,224,224 64,3,7,7 --stride 2 --padding 3",
        "conv B,3,H,W 64,3,3,3 --stride 2 --padding 1 --explain",
        "conv 1,64,16,16 64,32,2,2 --transposed --stride 2",
    ),
    vectors=make_test_vectors(
        "weight stride padding dilation groups",
        ("1,3,9,9", "4,3,3,3", "4,3,3,3 2 1", "4,3,3,3 1 same", "4,3,3,3 2 0,1 2", "4,3,10,3", "4,2,3,3", "4,3,3"),
        ("2,4,9", "4,2,3 1 0 1 2", "4,2,3 1 0 1 3", "3,2,3 1 0 1 2"),
        ("3,9,9", "4,3,3,3"),
        ("1,9,9,3", "3,3,3,8"),
        ("B,C,H,W", "8,3,3,3 2", "8,3,7,7 2 3", "O,C,K,K"),
    ),
    keeps_element_count=False,
    semantics=(CONV_SEMANTICS, windows.WINDOW_SEMANTICS),
    rules=(*windows.WINDOW_RULES, OUT_CHANNELS, CHANNELS_DIFFER),
)
