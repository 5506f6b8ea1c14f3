"""Layers in code, and functions that take what layers hold: their arguments, as the options of an op.

A layer is `nn.Conv2d(3, 64, 7)(x)` in code. What it holds is a shape here: a weight, a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from shapecalc.core.dims import Shape, quotient
from shapecalc.core.record import Record

Given: TypeAlias = Mapping[str, Any]
"""The arguments by the first of their names; None for one that is left out, a shape for a tensor."""
Options: TypeAlias = Mapping[str, object]
Make: TypeAlias = Callable[[Shape, Given], Options]
"""Makes the options of an op, given the shape of the tensor and the arguments."""


class Layer(Record):
    """A layer or function: the op that it is, the names of its arguments in order, and what gives the op's options."""

    op: str
    names: tuple[str, ...]
    """Each may have others behind slashes."""
    options: Make


def _moved(given: Given) -> dict[str, object]:
    """Return how a window moves, as all frameworks call it."""
    return {name: given.get(name) for name in ("stride", "padding", "dilation", "groups", "output_padding", "layout")}


def _conv(transposed: bool | None, rank: int) -> Make:
    def options(shape: Shape, given: Given) -> Options:
        weight, size = given.get("weight"), given.get("kernel_size")
        kernel = size if isinstance(size, tuple) else (size,) * rank
        if "filters" in given:
            return {"weight": (*kernel, shape[-1], given["filters"]), **_moved({**given, "layout": "nhwc"})}
        if "in_channels" in given:
            outer, inner = [given[f"{name}_channels"] for name in (("in", "out") if transposed else ("out", "in"))]
            weight = (outer, quotient(inner, given["groups"] or 1), *kernel)
        return {"weight": weight, "transposed": transposed, **_moved(given)}

    return options


def _pool(kind: str | None, layout: str | None = None) -> Make:
    def options(_: Shape, given: Given) -> Options:
        kernel = given.get("kernel_size")
        if "output_size" in given:
            whole = given["output_size"] in (1, (1,), (1, 1), (1, 1, 1))
            kernel = "global" if whole else f"to {given['output_size']}"
        moved = _moved({**given, "layout": layout})
        return {"kernel": kernel, "kind": kind, "ceil": given.get("ceil_mode") or None, **moved}

    return options


def _pad(shape: Shape, given: Given) -> Options:
    """Return begins and ends: torch has pairs from the last axis on, NumPy and TensorFlow one for each axis."""
    widths = given["pad"]
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
    """Return layers for one, two and three spatial dims."""
    found = dict[str, Layer]()
    for rank in (1, 2, 3):
        found |= _each(" ".join([f"{name}{rank}d" for name in names.split()]), op, arguments, options(rank))
    return found


HELD, FORM = "in_channels out_channels kernel_size stride padding", "padding_mode device dtype"
WINDOW = "kernel_size stride padding dilation"
MEANS = "kernel_size stride padding ceil_mode count_include_pad divisor_override"
UP = "size scale_factor mode align_corners"
CONV, BACK, MAX, MEAN = partial(_conv, None), partial(_conv, True), _pool(None), _pool("average")

LAYERS: Mapping[str, Layer] = {
    **_each(
        *("Linear", "linear", "in_features out_features bias device dtype"),
        lambda _, given: {"weight": (given["out_features"], given["in_features"])},
    ),
    **_each("linear", "linear", "weight bias", lambda _, given: {"weight": given["weight"]}),
    **_each("LazyLinear Dense", "linear", "out_features/units", lambda _, given: dict(given)),
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
        "Reshape", "reshape", "target_shape", lambda shape, given: {"target": (*shape[:1], *given["target_shape"])}
    ),
    **_each("Permute", "transpose", "dims", lambda _, given: {"perm": (0, *given["dims"])}),  # which count from 1
    **_each("pad", "pad", "pad/pad_width/paddings mode value", _pad),
    **_each(
        "interpolate Upsample", "upsample", UP, lambda _, given: {"size": given["size"], "scale": given["scale_factor"]}
    ),
}
"""Layers and functions by name; the tensor is their first argument, or what a layer is called with."""
JOINING: Mapping[str, str] = {
    **dict.fromkeys(("cat", "concat", "concatenate"), "concat"),
    "stack": "stack",
    "einsum": "einsum",
    **dict.fromkeys(("matmul", "mm", "bmm", "dot"), "matmul"),
    **dict.fromkeys(("add", "sub", "subtract", "mul", "multiply", "div", "divide"), "broadcast"),
    **dict.fromkeys(("maximum", "minimum", "where", "broadcast_tensors"), "broadcast"),
}
"""The ops of functions of several tensors."""
