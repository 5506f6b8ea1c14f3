"""Pool: slide a window along the spatial dims, and return its maximum or mean."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shapecalc.core.answers import EMPTY_DICT, StageBuilder, StageKind, Stages
from shapecalc.core.dialects.base import FLOATS, Dialect, Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Shape
from shapecalc.core.ops import windows
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GLOBAL = "global"
"""The value of `kernel` for a window that covers all spatial dims."""


def pool(
    shape: Shape,
    rules: RequestRules,
    kernel: Shape | str,
    kind: str = "max",
    layout: str | None = None,
    **window_options: object,
) -> Stages:
    """Slide a window along the spatial dims.

    The kernel `global` covers all spatial dims. Source: ONNX MaxPool, AveragePool and their global variants,
    torch.nn.MaxPool2d, keras.layers.MaxPooling2D, OpenVINO. Raises `ShapeError` (window-rank, window-values,
    window-too-large, nothing-left, bad-padding, needs-size or overflow).
    """
    with StageBuilder(StageKind.WINDOW, "pool", "kernel", shape) as stage:
        count = len(kernel) if isinstance(kernel, tuple) and len(kernel) > 1 else max(len(shape) - 2, 1)
        channels, axes = windows.spatial_axes(shape, rules, count, layout)
        windows.require_channels(shape, channels, rules)
        if isinstance(kernel, tuple):
            sizes = windows.numbers_per_axis(kernel, [count], "kernel")
            if POOL_SEMANTICS.for_dialect(rules.dialect).strides_by_kernel:
                window_options = {"stride": sizes, **window_options}
            window_list = windows.build_windows(axes, rules, kind, sizes, window_options)
        elif window_options:
            name = next(iter(window_options))
            raise usage_error(f"a global pool has no {name}: its window is over all of the spatial dims", argument=name)
        else:
            window_list = [windows.Window(axis, shape[axis]) for axis in axes]
        if kind == "average" and len(axes) == POOL_SEMANTICS.for_dialect(rules.dialect).average_rank_within:
            window_list = [replace(window, must_fit=True) for window in window_list]
        resolvers = {
            window.axis: partial(windows.resolve_window_dim, shape[window.axis], window, rules)
            for window in window_list
        }
        return windows.finish_window_stage(
            stage, resolvers, [window.axis for window in window_list if not window.is_identity]
        )


def _make_pool_operator(
    max_operator: Operator, average_operator: Operator, global_operators: Mapping[str, Operator] = EMPTY_DICT
) -> Operator:
    def select_variant(arguments: Mapping[str, object]) -> Operator:
        kind = str(arguments.get("kind", "max"))
        operator = average_operator if kind == "average" else max_operator
        return global_operators.get(kind, operator) if arguments["kernel"] == GLOBAL else operator

    return replace(max_operator, variant_of=select_variant)


def _make_unversioned_operator(max_name: str, average_name: str, *missing_params: str) -> Operator:
    """Return the max pool operator of an unversioned framework, with its variants.

    No variant has the parameters `missing_params`. In addition, average pools have no `dilation`.
    """
    lacks = dict.fromkeys(missing_params)
    return _make_pool_operator(
        Operator(max_name, params_since=lacks), Operator(average_name, params_since={**lacks, "dilation": None})
    )


MAX_POOL_TYPES = FLOATS | {"int8", "uint8"}
MAX_POOL_VERSIONS = {
    1: FLOATS,
    8: FLOATS,
    10: FLOATS,
    11: FLOATS,
    12: MAX_POOL_TYPES,
    22: MAX_POOL_TYPES | {"bfloat16"},
}
AVERAGE_POOL_VERSIONS = {1: FLOATS, 7: FLOATS, 10: FLOATS, 11: FLOATS, 19: FLOATS, 22: FLOATS | {"bfloat16"}}
GLOBAL_POOL_VERSIONS = {1: FLOATS, 22: FLOATS | {"bfloat16"}}
ONNX_POOL = _make_pool_operator(
    Operator("MaxPool", MAX_POOL_VERSIONS, params_since={"dilation": 10, "ceil": 10}),
    Operator("AveragePool", AVERAGE_POOL_VERSIONS, params_since={"dilation": 19, "ceil": 10}),
    {
        "max": Operator("GlobalMaxPool", GLOBAL_POOL_VERSIONS),
        "average": Operator("GlobalAveragePool", GLOBAL_POOL_VERSIONS),
    },
)
OPENVINO_POOL = _make_pool_operator(
    Operator("MaxPool", required_since={"stride": 1}),
    Operator("AvgPool", required_since={"stride": 1}),
    {"max": Operator("ReduceMax"), "average": Operator("ReduceMean")},
)


class PoolSemantics(Record):
    """The defaults of pool in a dialect, and the limit on kernels."""

    strides_by_kernel: bool = False
    """Whether the default stride is the kernel size instead of 1."""
    average_rank_within: int | None = None
    """The number of spatial dims for which the kernel of an average pool must fit into the unpadded input, or None."""
    counts_padding: bool = False
    """Whether an average pool includes the zeros of the padding by default."""


POOL_SEMANTICS = DialectTable(
    {
        "onnx tensorrt openvino": PoolSemantics(),
        "torch": PoolSemantics(strides_by_kernel=True, average_rank_within=3, counts_padding=True),
        "paddle tensorflow tflite": PoolSemantics(strides_by_kernel=True),
    }
)


def _describe_stride(_: Shape, arguments: Mapping[str, Any], dialect: Dialect) -> str:
    """Return a note on the default stride if the request omits the stride."""
    kernel = arguments["kernel"]
    if "stride" in arguments or kernel == GLOBAL or {*kernel} == {1}:
        return ""
    is_kernel = POOL_SEMANTICS.for_dialect(dialect).strides_by_kernel
    stride = f"{shape_text(kernel)}, the kernel" if is_kernel else "1"
    return f"the stride was left out; in {dialect.name} it is {stride}"


KERNEL_HELP = "the size of the window, or global for all spatial dims"
POOL = Op(
    name="pool",
    summary="Compute the maximum or the mean of each window.",
    params=(
        Param("kernel", ParamType.SIZES, KERNEL_HELP, positional=True, required=True, choices=(GLOBAL,)),
        Param("kind", ParamType.CHOICE, "the reduction of each window, by default max", choices=("max", "average")),
        *windows.WINDOW_PARAMS,
        Param("ceil", ParamType.FLAG, "include a partial window at the end"),
        windows.LAYOUT_PARAM,
    ),
    resolve=pool,
    describe_interpretation=_describe_stride,
    operators={
        "onnx": ONNX_POOL,
        "torch": _make_unversioned_operator("max_pool", "avg_pool"),
        "tensorflow": _make_unversioned_operator("MaxPooling", "AveragePooling", "dilation", "ceil"),
        "tflite": _make_unversioned_operator("MAX_POOL_2D", "AVERAGE_POOL_2D", "dilation", "ceil"),
        "openvino": OPENVINO_POOL,
        "tensorrt": _make_unversioned_operator("Pooling", "Pooling", "dilation"),
        "paddle": _make_unversioned_operator("max_pool", "avg_pool", "dilation"),
    },
    signatures=(
        (
            "torch",
            "torch.nn.MaxPool{rank}d(kernel_size: kernel, stride=None, padding=0, dilation=1, return_indices=False, "
            "ceil_mode: ceil=False)",
        ),
        (
            "torch",
            "torch.nn.functional.max_pool{rank}d(x, kernel_size: kernel, stride=None, padding=0, dilation=1, "
            "ceil_mode: ceil=False, return_indices=False)",
        ),
        (
            "torch",
            "torch.nn.AvgPool{rank}d(kernel_size: kernel, stride=None, padding=0, ceil_mode: ceil=False, "
            "count_include_pad=True, divisor_override=None)",
            {"kind": "average"},
        ),
        (
            "torch",
            "torch.nn.functional.avg_pool{rank}d(x, kernel_size: kernel, stride=None, padding=0, "
            "ceil_mode: ceil=False, count_include_pad=True, divisor_override=None)",
            {"kind": "average"},
        ),
        ("torch", "torch.nn.AdaptiveMaxPool{rank}d(output_size)"),
        ("torch", "torch.nn.functional.adaptive_max_pool{rank}d(x, output_size)"),
        ("torch", "torch.nn.AdaptiveAvgPool{rank}d(output_size)", {"kind": "average"}),
        ("torch", "torch.nn.functional.adaptive_avg_pool{rank}d(x, output_size)", {"kind": "average"}),
        (
            "tensorflow",
            "keras.layers.MaxPooling2D(pool_size/kernel_size: kernel=2, strides/stride: stride=None, padding='valid')",
            {"layout": "nhwc"},
        ),
        (
            "tensorflow",
            "keras.layers.AveragePooling2D(pool_size/kernel_size: kernel=2, strides/stride: stride=None, "
            "padding='valid')",
            {"layout": "nhwc", "kind": "average"},
        ),
    ),
    printed_names="maxpool avgpool averagepool",
    noun="a pooling window",
    examples=(
        "pool 1,64,112,112 3 --stride 2 --padding 1",
        "pool N,C,H,W 2 --kind average --stride 2 --ceil --explain",
        "pool N,C,H,W global --kind average",
    ),
    vectors=make_test_vectors(
        "kernel stride padding",
        ("1,3,9,9", "2", "3 2 1", "2,3 2,1", "10", "2 1 same", "2 1 2", "global", "2,2,2"),
        ("3,9,9", "2", "2,2"),
        ("2,3,9", "3 2 0,1"),
        ("N,C,H,W", "2", "2 2", "3 2 1"),
    ),
    keeps_element_count=False,
    semantics=(POOL_SEMANTICS, windows.WINDOW_SEMANTICS),
)
