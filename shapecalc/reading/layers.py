"""Tables that map layers and functions of frameworks to ops.

A row converts the arguments of a layer, such as `nn.Conv2d(3, 64, 7)`, to the options of an op. A tensor argument is
represented by its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from shapecalc.core.dims import Shape, quotient
from shapecalc.core.record import Record
from shapecalc.core.requests import Options

LayerArguments: TypeAlias = Mapping[str, Any]
"""The arguments by parameter name.

An omitted argument is None, and a tensor is represented by its shape.
"""
OptionBuilder: TypeAlias = Callable[[Shape, LayerArguments], Options]
"""A function from a tensor's shape and the arguments to the options of an op."""


class Layer(Record):
    """A supported layer or function: its op and its parameters.

    `build_options` returns the options of the op, given the tensor's shape and the arguments.
    """

    op: str
    parameters: tuple[str, ...]
    """The parameter names, each with its aliases: `stride/strides`."""
    build_options: OptionBuilder


def _window_options(arguments: LayerArguments) -> dict[str, object]:
    """Return the arguments that describe a sliding window."""
    return {
        name: arguments.get(name) for name in ("stride", "padding", "dilation", "groups", "output_padding", "layout")
    }


def _conv_options(transposed: bool | None, rank: int) -> OptionBuilder:
    def build(shape: Shape, arguments: LayerArguments) -> Options:
        weight, size = arguments.get("weight"), arguments.get("kernel_size")
        kernel = size if isinstance(size, tuple) else (size,) * rank
        if "filters" in arguments:
            return {
                "weight": (*kernel, shape[-1], arguments["filters"]),
                **_window_options({**arguments, "layout": "nhwc"}),
            }
        if "in_channels" in arguments:
            outer, inner = [arguments[f"{name}_channels"] for name in (("in", "out") if transposed else ("out", "in"))]
            weight = (outer, quotient(inner, arguments["groups"] or 1), *kernel)
        return {"weight": weight, "transposed": transposed, **_window_options(arguments)}

    return build


def _pool_options(kind: str | None, layout: str | None = None) -> OptionBuilder:
    def build(_shape: Shape, arguments: LayerArguments) -> Options:
        kernel = arguments.get("kernel_size")
        if "output_size" in arguments:
            is_global = arguments["output_size"] in (1, (1,), (1, 1), (1, 1, 1))
            kernel = "global" if is_global else f"to {arguments['output_size']}"
        window = _window_options({**arguments, "layout": layout})
        return {"kernel": kernel, "kind": kind, "ceil": arguments.get("ceil_mode") or None, **window}

    return build


def _pad_options(shape: Shape, arguments: LayerArguments) -> Options:
    """Return the options of `pad`: the padding widths and the axes.

    PyTorch lists the pairs of widths from the last axis backwards. NumPy and TensorFlow list one pair per axis, from
    the first axis on.
    """
    widths = arguments["pad"]
    if not isinstance(widths, tuple):
        pairs = [(widths, widths)] * len(shape)
    elif widths and isinstance(widths[0], tuple):
        pairs = [*widths]
    else:
        pairs = [*zip(widths[::2], widths[1::2], strict=False)][::-1]
    axes = tuple(range(len(shape) - len(pairs), len(shape)))
    return {"padding": (*(begin for begin, _ in pairs), *(end for _, end in pairs)), "axes": axes}


def _layer_rows(names: str, op: str, parameters: str, options: OptionBuilder) -> dict[str, Layer]:
    return {name: Layer(op, tuple(parameters.split()), options) for name in names.split()}


def _layer_rows_by_rank(
    names: str, op: str, parameters: str, options: Callable[[int], OptionBuilder]
) -> dict[str, Layer]:
    """Return the rows of layers that exist for one, two and three spatial dims."""
    layers = dict[str, Layer]()
    for rank in (1, 2, 3):
        layers |= _layer_rows(" ".join([f"{name}{rank}d" for name in names.split()]), op, parameters, options(rank))
    return layers


CONV_PARAMETERS, CONV_MODULE_PARAMETERS = (
    "in_channels out_channels kernel_size stride padding",
    "padding_mode device dtype",
)
MAX_POOL_PARAMETERS = "kernel_size stride padding dilation"
AVG_POOL_PARAMETERS = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
UPSAMPLE_PARAMETERS = "size scale_factor mode align_corners"
CONV_OPTIONS, TRANSPOSED_CONV_OPTIONS, MAX_POOL_OPTIONS, AVG_POOL_OPTIONS = (
    partial(_conv_options, None),
    partial(_conv_options, True),
    _pool_options(None),
    _pool_options("average"),
)

LAYERS: Mapping[str, Layer] = {
    **_layer_rows(
        *("Linear", "linear", "in_features out_features bias device dtype"),
        lambda _, arguments: {"weight": (arguments["out_features"], arguments["in_features"])},
    ),
    **_layer_rows("linear", "linear", "weight bias", lambda _, arguments: {"weight": arguments["weight"]}),
    **_layer_rows("LazyLinear Dense", "linear", "out_features/units", lambda _, arguments: dict(arguments)),
    **_layer_rows_by_rank(
        "Conv", "conv", f"{CONV_PARAMETERS} dilation groups bias {CONV_MODULE_PARAMETERS}", CONV_OPTIONS
    ),
    **_layer_rows_by_rank(
        "ConvTranspose",
        "conv",
        f"{CONV_PARAMETERS} output_padding groups bias dilation {CONV_MODULE_PARAMETERS}",
        TRANSPOSED_CONV_OPTIONS,
    ),
    **_layer_rows_by_rank("conv", "conv", "weight bias stride padding dilation groups", CONV_OPTIONS),
    **_layer_rows_by_rank(
        "conv_transpose", "conv", "weight bias stride padding output_padding groups dilation", TRANSPOSED_CONV_OPTIONS
    ),
    **_layer_rows("Conv2D", "conv", "filters kernel_size stride/strides padding", _conv_options(None, 2)),
    **_layer_rows_by_rank(
        "MaxPool", "pool", f"{MAX_POOL_PARAMETERS} return_indices ceil_mode", lambda _: MAX_POOL_OPTIONS
    ),
    **_layer_rows_by_rank(
        "max_pool", "pool", f"{MAX_POOL_PARAMETERS} ceil_mode return_indices", lambda _: MAX_POOL_OPTIONS
    ),
    **_layer_rows_by_rank("AvgPool avg_pool", "pool", AVG_POOL_PARAMETERS, lambda _: AVG_POOL_OPTIONS),
    **_layer_rows_by_rank("AdaptiveMaxPool adaptive_max_pool", "pool", "output_size", lambda _: MAX_POOL_OPTIONS),
    **_layer_rows_by_rank("AdaptiveAvgPool adaptive_avg_pool", "pool", "output_size", lambda _: AVG_POOL_OPTIONS),
    **_layer_rows("MaxPooling2D", "pool", "kernel_size/pool_size stride/strides padding", _pool_options(None, "nhwc")),
    **_layer_rows(
        "AveragePooling2D", "pool", "kernel_size/pool_size stride/strides padding", _pool_options("average", "nhwc")
    ),
    **_layer_rows(
        "Reshape",
        "reshape",
        "target_shape",
        lambda shape, arguments: {"target": (*shape[:1], *arguments["target_shape"])},
    ),
    **_layer_rows(
        "Permute", "transpose", "dims", lambda _, arguments: {"perm": (0, *arguments["dims"])}
    ),  # Keras numbers the axes from 1, after the batch axis
    **_layer_rows("pad", "pad", "pad/pad_width/paddings mode value", _pad_options),
    **_layer_rows(
        "interpolate Upsample",
        "upsample",
        UPSAMPLE_PARAMETERS,
        lambda _, arguments: {"size": arguments["size"], "scale": arguments["scale_factor"]},
    ),
}
"""Layers and functions by name.

The first argument of a function is the tensor; a layer is called with the tensor.
"""
MULTI_OPERAND_FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("cat", "concat", "concatenate"), "concat"),
    "stack": "stack",
    "einsum": "einsum",
    **dict.fromkeys(("matmul", "mm", "bmm", "dot"), "matmul"),
    **dict.fromkeys(("add", "sub", "subtract", "mul", "multiply", "div", "divide"), "broadcast"),
    **dict.fromkeys(("maximum", "minimum", "where", "broadcast_tensors"), "broadcast"),
}
"""The ops of functions that take several tensors."""
