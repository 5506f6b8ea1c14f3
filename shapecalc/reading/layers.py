"""Convert the arguments of layers and functions to options of ops.

The signatures of the ops define the names and parameters of the layers. An option builder converts the arguments of a
layer, such as `nn.Conv2d(3, 64, 7)`, to the options of the op, such as `{"weight": (64, 3, 7, 7)}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite

from shapecalc.core.dims import Shape, quotient
from shapecalc.core.moves import CONSTANT
from shapecalc.core.ops.calls import OpCall, Signature, calls_by_name
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.linear import LINEAR
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.pad import MODE_PARAM, PAD
from shapecalc.core.ops.pool import GLOBAL, POOL
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.upsample import UPSAMPLE
from shapecalc.core.record import Record, lazy
from shapecalc.core.requests import Options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

LayerArguments: TypeAlias = "Mapping[str, Any]"
"""The arguments of a layer or function, keyed by op parameter.

An argument that is not an op parameter keeps its own name. An omitted argument is None, and a tensor argument is
represented by its shape.
"""
OptionBuilder: TypeAlias = "Callable[[Shape, LayerArguments, Layer], Options]"
"""A function that returns the options of an op, given the input shape, the arguments and the layer."""
KERAS_LAYERS = "keras.layers."


class Layer(Record):
    """A supported layer or function, with its op and parameters.

    `build_options` converts the arguments of the layer to the options of the op.
    """

    op: Op
    name: str
    signatures: tuple[Signature, ...]
    """The signatures of the layer, one for each framework."""
    build_options: OptionBuilder

    @lazy
    def parameters(self) -> Mapping[str, str]:
        """Map each op parameter to its names in the frameworks, such as `stride/strides`."""
        names: dict[str, dict[str, None]] = {}
        for signature in self.signatures:
            for argument in signature.arguments:
                names.setdefault(argument.param, {}).update(dict.fromkeys(argument.names))
        return {param: "/".join(own_names) for param, own_names in names.items()}

    @property
    def implied_options(self) -> Mapping[str, object]:
        """The op options that the name of the layer implies, such as the kind of an `AvgPool2d`."""
        return self.signatures[0].options


def _window_options(arguments: LayerArguments) -> dict[str, object]:
    """Return the window options of an op.

    The arguments have the same names.
    """
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
        ends = ("in", "out") if layer.implied_options.get("transposed") else ("out", "in")
        outer, inner = [arguments[f"{name}_channels"] for name in ends]
        weight = (outer, quotient(inner, arguments["groups"] or 1), *kernel)
    return {"weight": weight, "transposed": None, **_window_options(arguments), **layer.implied_options}


def _pool_options(_: Shape, arguments: LayerArguments, layer: Layer) -> Options:
    kernel = arguments.get("kernel")
    if "output_size" in arguments:
        is_global = arguments["output_size"] in (1, (1,), (1, 1), (1, 1, 1))
        kernel = GLOBAL if is_global else f"to {arguments['output_size']}"
    window = _window_options(arguments)
    return {"kernel": kernel, "kind": None, "ceil": arguments.get("ceil") or None, **window, **layer.implied_options}


def _pad_options(shape: Shape, arguments: LayerArguments, _: Layer) -> Options:
    """Return the options of `pad`.

    PyTorch lists the pairs of widths starting with the last axis, NumPy and TensorFlow starting with the first axis. A
    mode that the op does not support is omitted, because the mode does not affect the shape.
    """
    widths = arguments["padding"]
    if not isinstance(widths, tuple):
        pairs = [(widths, widths)] * len(shape)
    elif widths and isinstance(widths[0], tuple):
        pairs = [*widths]
    else:
        pairs = [*zip(widths[::2], widths[1::2], strict=False)][::-1]
    axes = tuple(range(len(shape) - len(pairs), len(shape)))
    mode, fill = str(arguments["mode"] or CONSTANT).lower(), arguments["fill"]
    return {
        "padding": (*(begin for begin, _ in pairs), *(end for _, end in pairs)),
        "axes": axes,
        "mode": mode if mode != CONSTANT and mode in (*MODE_PARAM.choices, *MODE_PARAM.spellings) else None,
        "fill": fill + 0 if isinstance(fill, (int, float)) and isfinite(fill) and mode == CONSTANT else None,
    }


BUILDERS: Mapping[str, OptionBuilder] = {
    LINEAR.name: _linear_options,
    CONV.name: _conv_options,
    POOL.name: _pool_options,
    PAD.name: _pad_options,
    UPSAMPLE.name: lambda _, arguments, __: {"size": arguments["size"], "scale": arguments["scale"]},
}
"""The option builders of layers and functions, keyed by op."""
KERAS_BUILDERS: Mapping[str, OptionBuilder] = {
    RESHAPE.name: lambda shape, arguments, _: {"target": (*shape[:1], *arguments["target"])},
    TRANSPOSE.name: lambda _, arguments, __: {"perm": (0, *arguments["perm"])},
}
"""The option builders of Keras layers, keyed by op. The arguments of these layers do not count the batch axis."""


def _find_option_builder(call: OpCall) -> OptionBuilder | None:
    op, signature = call
    return BUILDERS.get(op.name) or (KERAS_BUILDERS.get(op.name) if signature.path.startswith(KERAS_LAYERS) else None)


def _layers_by_name() -> dict[str, Layer]:
    """Return all layers, keyed by name.

    Layers of several frameworks with the same name share an entry.
    """
    layers = dict[str, Layer]()
    for name, calls in calls_by_name().items():
        builder = _find_option_builder(calls[0])
        if builder is not None:
            layers[name] = Layer(calls[0][0], name, tuple([signature for _, signature in calls]), builder)
    return layers


LAYERS: Mapping[str, Layer] = _layers_by_name()
"""The layers and functions, keyed by name.

The input tensor is the first argument of a function, and the only argument when a layer object is called.
"""
MULTI_OPERAND_FUNCTIONS: Mapping[str, Op] = {
    name: op
    for name, [(op, signature), *_] in calls_by_name().items()
    if "operands" in op.param_names and any(argument.param == "operands" for argument in signature.arguments)
}
"""The ops of the functions that take several tensors, keyed by function name."""
