"""Layers and functions with a weight or a window, applied to a tensor."""

from __future__ import annotations

from collections.abc import Mapping

from shapecalc.core.ops.pad import PAD
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.values import CodeValue, TracedTensor, are_inputs, is_dim, mark_change
from shapecalc.reading.layers import LAYERS


def apply_window_layer(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Return the tensor after a layer whose arguments need a conversion to the options of its op."""
    layer = LAYERS[call.name]
    names = [name.partition("/")[0] for name in layer.parameters.values()]
    arguments = dict(zip(layer.parameters, call.bind_arguments(*layer.parameters.values()), strict=True))
    if layer.op is PAD and tensor.dialect in ("numpy", "jax"):
        arguments["padding"] = _pad_pairs(arguments["padding"], tensor.rank)
    shapes = {name: value.shape if isinstance(value, TracedTensor) else value for name, value in arguments.items()}
    try:
        options = layer.build_options(tensor.shape, shapes, layer)
    except (TypeError, ValueError, IndexError):  # an argument has the wrong type, such as None instead of a size
        options = {"weight": None}
    weight = options.get("weight", ())
    if not isinstance(weight, tuple) or not all(map(is_dim, weight)):
        raise call.error(f"{call.name} needs sizes or a tensor's shape for {', '.join(names[:3])}")
    result = tensor.apply(layer.op, **options)
    return mark_change(result) if _omits_arguments(tensor, arguments, options) else result


def _pad_pairs(widths: CodeValue, rank: int) -> CodeValue:
    """Return a pair of widths per axis for NumPy's `pad`, which repeats a single width or pair. Source: numpy.pad."""
    if not isinstance(widths, tuple) or not widths:
        return widths
    if len(widths) == 1 and isinstance(widths[0], tuple):
        return widths * rank
    if isinstance(widths[0], tuple):
        return widths
    return ((widths[0], widths[-1]),) * rank


def _omits_arguments(tensor: TracedTensor, arguments: Mapping[str, CodeValue], options: Mapping[str, object]) -> bool:
    """Return whether a layer computes with something that the options of its op do not contain.

    Examples are a bias, the weight of a `nn.Linear`, and the mode of an `interpolate`.
    """
    weight = arguments.get("weight")
    if options.get("weight") is not None and not (isinstance(weight, TracedTensor) and are_inputs([tensor, weight])):
        return True
    others = [(name, value) for name, value in arguments.items() if value is not None and options.get(name) is None]
    return any(value not in HARMLESS_VALUES.get(name, ()) for name, value in others if name not in SIZE_ARGUMENTS)


HARMLESS_VALUES: Mapping[str, tuple[CodeValue, ...]] = {
    "bias": (False,),
    "ceil": (False,),
    "return_indices": (False,),
    "align_corners": (False,),
    "count_include_pad": (True,),
    "padding_mode": ("zeros",),
    "mode": ("constant", "nearest"),
    "fill": (0,),
}
"""The values of arguments with which a layer computes what its op computes without the argument."""
SIZE_ARGUMENTS = ("in_channels", "out_channels", "in_features", "out_features", "filters", "kernel_size", "output_size")
"""The arguments of layers that only determine the shape of the weight or of the output."""
