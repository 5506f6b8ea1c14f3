"""Layers and functions whose arguments need a conversion to the options of an op.

Their names and arguments are in the signatures of the ops. An option builder converts the arguments of a layer, such as
`nn.Conv2d(3, 64, 7)`, to the options of its op. A tensor argument is represented by its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from shapecalc.core.dims import Shape, quotient
from shapecalc.core.ops.calls import NamedCall, calls_by_name
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.pool import GLOBAL, POOL
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.upsample import UPSAMPLE
from shapecalc.core.record import Record
from shapecalc.core.requests import Options

LayerArguments: TypeAlias = Mapping[str, Any]
"""The arguments by the op's parameter or, where the op has no such parameter, by their name.

An omitted argument is None, and a tensor is represented by its shape.
"""
OptionBuilder: TypeAlias = Callable[[Shape, LayerArguments, "Layer"], Options]
"""A function from a tensor's shape, the arguments and the layer to the options of an op."""
KERAS_LAYERS = "keras.layers."


class Layer(Record):
    """A supported layer or function: its op and its parameters.

    `build_options` returns the options of the op, given the tensor's shape and the arguments.
    """

    op: Op
    name: str
    parameters: Mapping[str, str]
    """The argument names of each parameter, separated by slashes: `stride/strides`."""
    implied: Mapping[str, object]
    """The options of the op that the layer implies."""
    build_options: OptionBuilder


def _window_options(arguments: LayerArguments) -> dict[str, object]:
    """Return the arguments that describe a sliding window."""
    return {
        name: arguments.get(name) for name in ("stride", "padding", "dilation", "groups", "output_padding", "layout")
    }


def _linear_options(_: Shape, arguments: LayerArguments, layer: Layer) -> Options:
    if "in_features" in layer.parameters:
        return {"weight": (arguments["out_features"], arguments["in_features"])}
    name = "weight" if "weight" in layer.parameters else "out_features"
    return {name: arguments[name]}


def _conv_options(shape: Shape, arguments: LayerArguments, layer: Layer) -> Options:
    weight, size, rank = arguments.get("weight"), arguments.get("kernel_size"), re.search(r"\d", layer.name)
    kernel = size if isinstance(size, tuple) else (size,) * int(rank[0] if rank else 1)
    if "filters" in arguments:
        weight = (*kernel, shape[-1], arguments["filters"])
    if "in_channels" in arguments:
        ends = ("in", "out") if layer.implied.get("transposed") else ("out", "in")
        outer, inner = [arguments[f"{name}_channels"] for name in ends]
        weight = (outer, quotient(inner, arguments["groups"] or 1), *kernel)
    return {"weight": weight, "transposed": None, **_window_options(arguments), **layer.implied}


def _pool_options(_: Shape, arguments: LayerArguments, layer: Layer) -> Options:
    kernel = arguments.get("kernel")
    if "output_size" in arguments:
        is_global = arguments["output_size"] in (1, (1,), (1, 1), (1, 1, 1))
        kernel = GLOBAL if is_global else f"to {arguments['output_size']}"
    window = _window_options(arguments)
    return {"kernel": kernel, "kind": None, "ceil": arguments.get("ceil") or None, **window, **layer.implied}


def _pad_options(shape: Shape, arguments: LayerArguments, _: Layer) -> Options:
    """Return the options of `pad`: the padding widths and the axes.

    PyTorch lists the pairs of widths from the last axis backwards. NumPy and TensorFlow list one pair per axis, from
    the first axis on.
    """
    widths = arguments["padding"]
    if not isinstance(widths, tuple):
        pairs = [(widths, widths)] * len(shape)
    elif widths and isinstance(widths[0], tuple):
        pairs = [*widths]
    else:
        pairs = [*zip(widths[::2], widths[1::2], strict=False)][::-1]
    axes = tuple(range(len(shape) - len(pairs), len(shape)))
    return {"padding": (*(begin for begin, _ in pairs), *(end for _, end in pairs)), "axes": axes}


BUILDERS: Mapping[str, OptionBuilder] = {
    LINEAR.name: _linear_options,
    CONV.name: _conv_options,
    POOL.name: _pool_options,
    PAD.name: _pad_options,
    UPSAMPLE.name: lambda _, arguments, __: {"size": arguments["size"], "scale": arguments["scale"]},
}
"""The option builders of ops all of whose functions and layers need one."""
KERAS_BUILDERS: Mapping[str, OptionBuilder] = {
    RESHAPE.name: lambda shape, arguments, _: {"target": (*shape[:1], *arguments["target"])},
    TRANSPOSE.name: lambda _, arguments, __: {"perm": (0, *arguments["perm"])},
}
"""The option builders of Keras layers that leave out the batch axis, and number the axes after it from 1."""


def _find_builder(call: NamedCall) -> OptionBuilder | None:
    op, signature = call
    return BUILDERS.get(op.name) or (KERAS_BUILDERS.get(op.name) if signature.path.startswith(KERAS_LAYERS) else None)


def _make_layers() -> dict[str, Layer]:
    """Return the layers by name; the argument names of frameworks that share the name are merged."""
    layers = dict[str, Layer]()
    for name, calls in calls_by_name().items():
        builder = _find_builder(calls[0])
        if builder is None:
            continue
        parameters: dict[str, dict[str, None]] = {}
        for _, signature in calls:
            for argument in signature.arguments:
                parameters.setdefault(argument.param, {}).update(dict.fromkeys(argument.names))
        joined = {param: "/".join(names) for param, names in parameters.items()}
        layers[name] = Layer(calls[0][0], name, joined, calls[0][1].options, builder)
    return layers


LAYERS: Mapping[str, Layer] = _make_layers()
"""Layers and functions by name.

The first argument of a function is the tensor; a layer is called with the tensor.
"""
MULTI_OPERAND_FUNCTIONS: Mapping[str, Op] = {
    name: op
    for name, [(op, signature), *_] in calls_by_name().items()
    if any(argument.param == "operands" for argument in signature.arguments)
}
"""The ops of functions that take several tensors."""
