"""Tables of the layers and functions of frameworks.

A row maps the arguments of a layer such as `nn.Conv2d(3, 64, 7)(x)` to the options of an op. Tensor arguments are
shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from shapecalc.core.dims import Shape, quotient
from shapecalc.core.record import Record

Given: TypeAlias = Mapping[str, Any]
"""Arguments by parameter name; None for an omitted one, a shape for a tensor."""
Options: TypeAlias = Mapping[str, object]
Make: TypeAlias = Callable[[Shape, Given], Options]
"""Builds the options of an op from the tensor's shape and the arguments."""


class Layer(Record):
    """A layer or function: its op, its parameters and its options.

    `build_options` returns the options of the op for a shape and arguments.
    """

    op: str
    names: tuple[str, ...]
    """Parameter names; aliases follow behind slashes."""
    options: Make


def _moved(arguments: Given) -> dict[str, object]:
    """Return the arguments of a moving window.

    Their names are the same in every framework.
    """
    return {
        name: arguments.get(name) for name in ("stride", "padding", "dilation", "groups", "output_padding", "layout")
    }


def _conv(transposed: bool | None, rank: int) -> Make:
    def options(shape: Shape, arguments: Given) -> Options:
        weight, size = arguments.get("weight"), arguments.get("kernel_size")
        kernel = size if isinstance(size, tuple) else (size,) * rank
        if "filters" in arguments:
            return {"weight": (*kernel, shape[-1], arguments["filters"]), **_moved({**arguments, "layout": "nhwc"})}
        if "in_channels" in arguments:
            outer, inner = [arguments[f"{name}_channels"] for name in (("in", "out") if transposed else ("out", "in"))]
            weight = (outer, quotient(inner, arguments["groups"] or 1), *kernel)
        return {"weight": weight, "transposed": transposed, **_moved(arguments)}

    return options


def _pool(kind: str | None, layout: str | None = None) -> Make:
    def options(_: Shape, arguments: Given) -> Options:
        kernel = arguments.get("kernel_size")
        if "output_size" in arguments:
            is_global = arguments["output_size"] in (1, (1,), (1, 1), (1, 1, 1))
            kernel = "global" if is_global else f"to {arguments['output_size']}"
        window = _moved({**arguments, "layout": layout})
        return {"kernel": kernel, "kind": kind, "ceil": arguments.get("ceil_mode") or None, **window}

    return options


def _pad(shape: Shape, arguments: Given) -> Options:
    """Return the begins and ends of a pad.

    PyTorch has pairs from the last axis on; NumPy and TensorFlow have one pair for each axis.
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


def _each(names: str, op: str, arguments: str, options: Make) -> dict[str, Layer]:
    return {name: Layer(op, tuple(arguments.split()), options) for name in names.split()}


def _ranked(names: str, op: str, arguments: str, options: Callable[[int], Make]) -> dict[str, Layer]:
    """Return the rows of layers for one, two and three spatial dims."""
    layers = dict[str, Layer]()
    for rank in (1, 2, 3):
        layers |= _each(" ".join([f"{name}{rank}d" for name in names.split()]), op, arguments, options(rank))
    return layers


HELD, FORM = "in_channels out_channels kernel_size stride padding", "padding_mode device dtype"
WINDOW = "kernel_size stride padding dilation"
MEANS = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
UP = "size scale_factor mode align_corners"
CONV, BACK, MAX, MEAN = partial(_conv, None), partial(_conv, True), _pool(None), _pool("average")

LAYERS: Mapping[str, Layer] = {
    **_each(
        *("Linear", "linear", "in_features out_features bias device dtype"),
        lambda _, arguments: {"weight": (arguments["out_features"], arguments["in_features"])},
    ),
    **_each("linear", "linear", "weight bias", lambda _, arguments: {"weight": arguments["weight"]}),
    **_each("LazyLinear Dense", "linear", "out_features/units", lambda _, arguments: dict(arguments)),
    **_ranked("Conv", "conv", f"{HELD} dilation groups bias {FORM}", CONV),
    **_ranked("ConvTranspose", "conv", f"{HELD} output_padding groups bias dilation {FORM}", BACK),
    **_ranked("conv", "conv", "weight bias stride padding dilation groups", CONV),
    **_ranked("conv_transpose", "conv", "weight bias stride padding output_padding groups dilation", BACK),
    **_each("Conv2D", "conv", "filters kernel_size stride/strides padding", _conv(None, 2)),
    **_ranked("MaxPool", "pool", f"{WINDOW} return_indices ceil_mode", lambda _: MAX),
    **_ranked("max_pool", "pool", f"{WINDOW} ceil_mode return_indices", lambda _: MAX),
    **_ranked("AvgPool avg_pool", "pool", MEANS, lambda _: MEAN),
    **_ranked("AdaptiveMaxPool adaptive_max_pool", "pool", "output_size", lambda _: MAX),
    **_ranked("AdaptiveAvgPool adaptive_avg_pool", "pool", "output_size", lambda _: MEAN),
    **_each("MaxPooling2D", "pool", "kernel_size/pool_size stride/strides padding", _pool(None, "nhwc")),
    **_each("AveragePooling2D", "pool", "kernel_size/pool_size stride/strides padding", _pool("average", "nhwc")),
    **_each(
        "Reshape",
        "reshape",
        "target_shape",
        lambda shape, arguments: {"target": (*shape[:1], *arguments["target_shape"])},
    ),
    **_each(
        "Permute", "transpose", "dims", lambda _, arguments: {"perm": (0, *arguments["dims"])}
    ),  # Keras counts these axes from 1, after the batch
    **_each("pad", "pad", "pad/pad_width/paddings mode value", _pad),
    **_each(
        "interpolate Upsample",
        "upsample",
        UP,
        lambda _, arguments: {"size": arguments["size"], "scale": arguments["scale_factor"]},
    ),
}
"""Layers and functions by name.

The tensor is the first argument, or the input of the layer.
"""
JOINING: Mapping[str, str] = {
    **dict.fromkeys(("cat", "concat", "concatenate"), "concat"),
    "stack": "stack",
    "einsum": "einsum",
    **dict.fromkeys(("matmul", "mm", "bmm", "dot"), "matmul"),
    **dict.fromkeys(("add", "sub", "subtract", "mul", "multiply", "div", "divide"), "broadcast"),
    **dict.fromkeys(("maximum", "minimum", "where", "broadcast_tensors"), "broadcast"),
}
"""The ops of functions that take several tensors."""
