"""Apply layers and functions that have a weight or a window."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shapecalc.core.dims import Dim, Monomial, Shape, quotient
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.conv import CONV
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.pool import POOL
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.strides import is_contiguous
from shapecalc.core.ops.upsample import UPSAMPLE
from shapecalc.core.record import replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.logic import is_explicitly_false, truth_value
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.shape_arguments import are_different_integers
from shapecalc.reading.code.values import (
    UNKNOWN_ELEMENT,
    UNKNOWN_INTEGER,
    CodeValue,
    LayerInstance,
    TracedTensor,
    are_unmodified_inputs,
    derived_tensor,
    inherit_conditions,
    is_dim,
    mark_untraced_change,
    unwrap_sizes,
)
from shapecalc.reading.layers import LAYERS

_CONV = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")
_CONV_TRANSPOSE = (*_CONV[:5], "output_padding", "groups", "bias", "dilation")
_NORM = ("num_features", "eps", "momentum", "affine", "track_running_stats")
_RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")
LAYER_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "Embedding": ("num_embeddings", "embedding_dim", "padding_idx"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "RMSNorm": ("normalized_shape", "eps", "elementwise_affine"),
    "GroupNorm": ("num_groups", "num_channels", "eps", "affine"),
    "MultiheadAttention": ("embed_dim", "num_heads", "dropout"),
    **{f"Conv{rank}d": _CONV for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": _CONV_TRANSPOSE for rank in (1, 2, 3)},
    **{f"{kind}Norm{rank}d": _NORM for kind in ("Batch", "Instance") for rank in (1, 2, 3)},
    **dict.fromkeys(("_BatchNorm", "_InstanceNorm", "_NormBase"), _NORM),
    **{
        f"MaxPool{rank}d": ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
        for rank in (1, 2, 3)
    },
    **{
        f"AvgPool{rank}d": ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
        for rank in (1, 2, 3)
    },
    **{f"Adaptive{kind}Pool{rank}d": ("output_size",) for kind in ("Avg", "Max") for rank in (1, 2, 3)},
    **dict.fromkeys(("LSTM", "GRU"), _RECURRENT),
    "EncoderDecoderCache": ("self_attention_cache", "cross_attention_cache"),
    "RNN": (*_RECURRENT[:3], "nonlinearity", *_RECURRENT[3:]),
    **dict.fromkeys(("Dropout", "Dropout1d", "Dropout2d", "Dropout3d"), ("p",)),
}
"""The parameters of PyTorch's layers, in order; they are also attributes of the layer."""


DEFAULT_ARGUMENTS: Mapping[str, CodeValue] = {
    "eps": 1e-5,
    "momentum": 0.1,
    "affine": True,
    "ceil_mode": False,
    "count_include_pad": True,
    "num_layers": 1,
    "batch_first": False,
    "bidirectional": False,
    "dropout": 0.0,
}
"""The defaults of constructor arguments that several layers of PyTorch share."""


def layer_attribute(layer: LayerInstance, name: str, new_tensor: Callable[[Shape], TracedTensor]) -> CodeValue:
    """Return a parameter of a layer, or an argument of its constructor.

    Returns `MISSING` if the attribute is unknown.
    """
    parameters = LAYER_PARAMETERS.get(layer.name)
    if parameters is None:
        return MISSING  # type: ignore[no-any-return]
    arguments = dict(zip(parameters, layer.positional, strict=False)) | {**layer.keywords}
    if name in ("weight", "bias", "running_mean", "running_var"):
        if _is_absent_parameter(layer.name, name, arguments):
            return None
        dims = _parameter_shape(layer.name, name, arguments)
        return new_tensor(dims) if dims is not None and all(map(is_dim, dims)) else MISSING
    if name not in (*parameters, "normalized_shape"):
        return MISSING  # type: ignore[no-any-return]
    value = _layer_argument(layer, name, arguments)
    return MISSING if value is None else value


def _is_absent_parameter(layer_name: str, name: str, arguments: Mapping[str, CodeValue]) -> bool:
    """Return whether a parameter or a running statistic of a layer is None."""
    if name in ("running_mean", "running_var"):
        tracks = arguments.get("track_running_stats", "Instance" not in layer_name)
        return truth_value(tracks) is False
    affine = arguments.get("affine", arguments.get("elementwise_affine"))
    if "Norm" in layer_name and is_explicitly_false(affine):
        return True
    is_plain = "Instance" in layer_name and affine is None
    return is_plain or (name == "bias" and is_explicitly_false(arguments.get("bias")))


def _layer_argument(layer: LayerInstance, name: str, arguments: Mapping[str, CodeValue]) -> CodeValue:
    """Return a constructor argument of a layer, or its default if that is known."""
    value = arguments.get(name)
    if name == "normalized_shape" and is_dim(value):
        return (value,)
    if name in ("kernel_size", "stride", "padding", "dilation") and layer.name[-2:-1].isdecimal():
        value = {"stride": 1, "padding": 0, "dilation": 1}.get(name) if value is None else value
        is_pool = "Pool" in layer.name
        value = arguments.get("kernel_size") if is_pool and name == "stride" and arguments.get(name) is None else value
        return (value,) * int(layer.name[-2]) if is_dim(value) and not is_pool else value
    if name in DEFAULT_ARGUMENTS and value is None:
        return DEFAULT_ARGUMENTS[name] if name != "affine" else "Instance" not in layer.name
    if name == "track_running_stats" and value is None:
        return "Instance" not in layer.name
    return 1 if name == "groups" and value is None and "Conv" in layer.name else value


def _parameter_shape(layer_name: str, name: str, arguments: Mapping[str, CodeValue]) -> Shape | None:
    """Return the shape of a weight, bias or running statistic of a layer.

    Returns None if the shape is unknown.
    """
    get = arguments.get
    if layer_name == "Linear":
        dims = (get("out_features"), get("in_features"))
        return dims[: 1 if name == "bias" else 2]  # type: ignore[return-value]  # the caller checks the dims
    if layer_name == "Embedding" and name == "weight":
        return get("num_embeddings"), get("embedding_dim")  # type: ignore[return-value]
    if layer_name in ("LayerNorm", "RMSNorm"):
        shape = get("normalized_shape")
        return shape if isinstance(shape, tuple) else (shape,)  # type: ignore[return-value]
    if "Norm" in layer_name:
        return (get("num_channels" if layer_name == "GroupNorm" else "num_features"),)  # type: ignore[return-value]
    if "Conv" not in layer_name:
        return None
    outer, inner, groups = get("out_channels"), get("in_channels"), get("groups") or 1
    if name == "bias":
        return (outer,)  # type: ignore[return-value]
    if "Transpose" in layer_name:
        outer, inner = inner, outer
    size = get("kernel_size")
    kernel = size if isinstance(size, tuple) else (size,) * int(layer_name[-2])
    if not is_dim(outer) or not is_dim(inner) or not is_dim(groups):
        return None
    return (outer, quotient(inner, groups), *kernel)  # type: ignore[arg-type]  # the caller checks the dims


def apply_window_layer(tensor: TracedTensor, call: Call) -> TracedTensor:
    """Apply the op of a layer, with options converted from the arguments of the layer."""
    layer = LAYERS[call.name]
    if layer.op in (POOL, CONV) and tensor.conventions.torch_checks and (count := parse_spatial_rank(call.name)):
        if call.name.lower().startswith("adaptive"):
            return _apply_adaptive_pool(tensor, count, call)
        _check_window_ranks(tensor, count, call, has_weight="weight" in layer.parameters)
        if layer.op is POOL and tensor.rank == count + 1:
            return apply_window_layer(tensor.insert_axes((0,)), call).apply(SQUEEZE, axes=(0,))
    names = [name.partition("/")[0] for name in layer.parameters.values()]
    bound = zip(layer.parameters, call.bind_arguments(*layer.parameters.values()), strict=True)
    arguments = {name: value if name in TENSOR_ARGUMENTS else unwrap_sizes(value) for name, value in bound}
    if (result := _apply_to_symbolic_sizes(tensor, layer.op, arguments, call)) is not None:
        return result
    if layer.op is PAD:
        arguments["padding"] = _expand_pad_widths(arguments["padding"], tensor)
    if tensor.conventions.torch_checks:
        _check_mode(tensor, layer.op, arguments, call)
    shapes = {name: value.shape if isinstance(value, TracedTensor) else value for name, value in arguments.items()}
    try:
        options = layer.build_options(tensor.shape, shapes, layer)
    except (TypeError, ValueError, IndexError):  # an argument has the wrong type, for example None instead of a size
        options = {"weight": None}
    weight = options.get("weight", ())
    if not isinstance(weight, tuple) or not all(map(is_dim, weight)):
        raise call.error(f"{call.name} needs sizes or a tensor's shape for {', '.join(names[:3])}")
    result = tensor.apply(layer.op, **options)
    if tensor.conventions.torch_checks and isinstance(bias := _bind_bias(call), TracedTensor):
        result = _add_bias_conditions(result, weight, bias, call)
    return mark_untraced_change(result) if _has_unmapped_arguments(tensor, arguments, options) else result


def _name_unknown_sizes(value: CodeValue, call: Call) -> CodeValue:
    """Replace numbers that depend on the elements of a tensor with new symbolic sizes."""
    if isinstance(value, tuple):
        return tuple([_name_unknown_sizes(size, call) for size in value])
    is_unknown = value is UNKNOWN_INTEGER or value is UNKNOWN_ELEMENT
    return call.program.data_dependent_size(value) if is_unknown and call.program is not None else value


def _apply_to_symbolic_sizes(
    tensor: TracedTensor, op: Op, arguments: Mapping[str, CodeValue], call: Call
) -> TracedTensor | None:
    """Apply a pad or an interpolation with symbolic sizes, or return None if all sizes are numbers."""
    if op is UPSAMPLE:
        return _resize_to_symbolic_sizes(tensor, arguments["size"], call)
    return _pad_by_symbolic_sizes(tensor, arguments["padding"], call) if op is PAD else None


def _resize_to_symbolic_sizes(tensor: TracedTensor, value: CodeValue, call: Call) -> TracedTensor | None:
    """Apply an interpolation to symbolic sizes, or return None if all sizes are numbers."""
    count = tensor.rank - 2
    sizes = _name_unknown_sizes(value if isinstance(value, tuple) else (value,) * count, call)
    if not isinstance(sizes, tuple) or not any(isinstance(size, Monomial) for size in sizes):
        return None
    if len(sizes) != count or not all(map(is_dim, sizes)):
        raise call.error(f"{call.name} needs {count} sizes")
    return derived_tensor((*tensor.shape[:2], *map(call.to_dim, sizes)), tensor)


TENSOR_ARGUMENTS = ("weight", "bias")
"""The layer arguments that may be tensors. In other arguments, a one-dimensional input denotes a size."""
INTERPOLATION_RANKS: Mapping[str, int] = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
"""The input rank that each mode of PyTorch's `interpolate` requires. Source: torch.nn.functional.interpolate, 2.13."""


def _check_mode(tensor: TracedTensor, op: Op, arguments: Mapping[str, CodeValue], call: Call) -> None:
    """Raise `CheckRefused` if the mode of a pad, an interpolation or a convolution does not support the tensor."""
    if op in (PAD, UPSAMPLE):
        _check_mode_rank(tensor, arguments, call)
    elif op is CONV:
        _check_padding_mode(tensor, arguments, call)


def _check_mode_rank(tensor: TracedTensor, arguments: Mapping[str, CodeValue], call: Call) -> None:
    """Raise `CheckRefused` if the mode of a pad or interpolation does not support the rank of the tensor."""
    mode, padding = arguments["mode"], arguments.get("padding")
    if isinstance(padding, tuple) and len(padding) % 2:
        raise call.refusal(f"the pads are pairs, and there are {len(padding)}")
    if "padding" not in arguments:
        ranks = {INTERPOLATION_RANKS.get(mode, tensor.rank) if isinstance(mode, str) else tensor.rank}
    elif mode in (None, "constant"):
        return
    else:
        count = len(padding) // 2 if isinstance(padding, tuple) else 0
        ranks = {count + 1, count + 2}
    if tensor.rank not in ranks:
        dims = " or ".join(map(str, sorted(ranks)))
        raise call.refusal(f"{mode} takes {dims} dims, and {shape_text(tensor.shape)} has {tensor.rank}")


def _pad_by_symbolic_sizes(tensor: TracedTensor, padding: CodeValue, call: Call) -> TracedTensor | None:
    """Pad the ends of axes by symbolic sizes, as `F.pad(x, (0, -W % 32))` does.

    The padding is represented by a concatenation. Returns None if all sizes are numbers. Raises `ShapeError` (usage)
    for a symbolic size at the start of an axis.
    """
    sizes = padding if isinstance(padding, tuple) and tensor.conventions.torch_checks else ()
    named: dict[int, Dim] = {index: size for index, size in enumerate(sizes) if isinstance(size, Monomial)}
    if not named:
        return None
    mode = call.keywords.get("mode", call.positional[1] if len(call.positional) > 1 else "constant")
    if mode != "constant" or any(index % 2 == 0 for index in named) or len(sizes) > 2 * tensor.rank:
        raise call.error("a named size pads the end of an axis with a constant only", "give sizes with --where")
    numbers = tuple([0 if index in named else size for index, size in enumerate(sizes)])
    keywords = {name: value for name, value in call.keywords.items() if name not in ("pad", "padding")}
    result = apply_window_layer(tensor, replace(call, positional=(numbers, *call.positional[1:]), keywords=keywords))
    for index, size in named.items():
        axis = tensor.rank - 1 - index // 2
        added = (*result.shape[:axis], size, *result.shape[axis + 1 :])
        result = result.apply(CONCAT, operands=[added], axis=axis)
    return result


def _check_padding_mode(tensor: TracedTensor, arguments: Mapping[str, CodeValue], call: Call) -> None:
    """Raise `CheckRefused` if a convolution pads an axis by more than its padding mode allows."""
    mode, padding = arguments.get("padding_mode"), arguments.get("padding")
    if mode in (None, "zeros"):
        return
    if "Transpose" in call.name:
        raise call.refusal(f"it pads with zeros, not by {mode}")
    count = parse_spatial_rank(call.name)
    if 0 in tensor.shape[-count - 1 :]:
        raise call.refusal(f"only the batch may be 0, and the input is {shape_text(tensor.shape)}")
    widths = padding if isinstance(padding, tuple) else (padding,) * count
    spare = {"reflect": -1, "circular": 0}.get(str(mode))
    for dim, width in zip(tensor.shape[-count:], widths, strict=False):
        if spare is not None and isinstance(dim, int) and isinstance(width, int) and width > dim + spare:
            raise call.refusal(f"{mode} pads a dim of {dim} by at most {dim + spare}, not by {width}")


def _bind_bias(call: Call) -> CodeValue:
    """Return the bias argument of a function, passed by position or by keyword."""
    return call.keywords.get("bias", call.positional[1] if len(call.positional) > 1 else None)


def _add_bias_conditions(result: TracedTensor, weight: Shape, bias: TracedTensor, call: Call) -> TracedTensor:
    """Extend the conditions of a layer's result by those under which the bias fits.

    The bias of a convolution has one value for each output channel; the bias of `linear` is broadcast to the result.
    Raises `CheckRefused` if the bias does not fit.
    """
    count = parse_spatial_rank(call.name)
    if len(weight) < 2:  # PyTorch adds a bias with addmm, which requires a matrix
        raise call.refusal(f"with a bias its weight has 2 dims, and this one has {len(weight)}")
    size = result.shape[-1 - count] or weight[0]
    if count:
        fits = bias.rank == 1 and not are_different_integers(bias.shape[0], size)
    else:
        pairs = zip(bias.shape[::-1], result.shape[::-1], strict=False)
        fits = bias.rank <= result.rank and not any(own != 1 and are_different_integers(own, dim) for own, dim in pairs)
    if not fits:
        raise call.refusal(f"its bias is {shape_text(bias.shape)}, and it adds a value for each of {size}")
    return inherit_conditions(result, [bias])


def parse_spatial_rank(name: str) -> int:
    """Return the number of spatial axes in the name of a layer, such as 2 for `Conv2d`.

    Returns 0 for a name without a number.
    """
    return int(name[-2]) if name[-1] == "d" and name[-2].isdecimal() else 0


def _check_window_ranks(tensor: TracedTensor, count: int, call: Call, *, has_weight: bool = False) -> None:
    """Raise `CheckRefused` if the rank of the input or the weight does not fit a window along `count` axes."""
    message = ""
    if tensor.rank not in (count + 1, count + 2):
        dims = f"{count + 1} or {count + 2} dims"
        message = f"it takes {dims}, and {shape_text(tensor.shape)} has {tensor.rank}"
    for weight in (*call.positional[:1], call.keywords.get("weight")) if has_weight else ():
        if isinstance(weight, TracedTensor) and weight.rank != count + 2:
            message = (
                f"the weight of {call.name} has {count + 2} dims, and {shape_text(weight.shape)} has {weight.rank}"
            )
    if message:
        raise call.refusal(message)


def _apply_adaptive_pool(tensor: TracedTensor, count: int, call: Call) -> TracedTensor:
    """Apply an adaptive pool.

    An output size of None keeps the size of the axis.
    """
    (size, *_) = call.bind_arguments("output_size", "return_indices")
    sizes = size if isinstance(size, tuple) else (size,) * count
    if len(sizes) != count:
        raise call.error(f"{call.name} needs {count} sizes")
    is_mean = (
        "max" not in call.name.lower()
        and count > 1
        and set(sizes) == {1}
        and tensor.rank >= count + isinstance(size, tuple)
    )
    if not is_mean:  # for 1,1 and 1,1,1 PyTorch computes the mean of the last dims at any rank
        _check_window_ranks(tensor, count, call)
        is_batched = tensor.rank == count + 2
        needs_channels = count == 3 or ("max" in call.name.lower() and (is_batched or count == 1))
        if 0 in tensor.shape[-count - needs_channels :]:
            raise call.refusal(f"no dim except the batch may be 0, and the input is {shape_text(tensor.shape)}")
    kept = tensor.shape[-count:]
    if set(sizes) == {1} and tensor.rank == count + 2 and 0 not in tensor.shape:
        layer = LAYERS[call.name]
        return tensor.apply(POOL, **layer.build_options(tensor.shape, {"output_size": 1}, layer))
    dims = [dim if wanted is None else call.to_dim(wanted) for dim, wanted in zip(kept, sizes, strict=True)]
    result = derived_tensor((*tensor.shape[:-count], *dims), tensor)
    is_ordered = tensor.strides is not None and is_contiguous(tensor.shape, tensor.strides)
    return result if is_ordered else replace(result, strides=None)


def _expand_pad_widths(widths: CodeValue, tensor: TracedTensor) -> CodeValue:
    """Return one pair of padding widths per axis, for NumPy.

    Returns the widths unchanged for other frameworks. Source: numpy.pad, which repeats a single width or pair.
    """
    if not tensor.conventions.numpy_arguments or not isinstance(widths, tuple) or not widths:
        return widths
    if len(widths) == 1 and isinstance(widths[0], tuple):
        return widths * tensor.rank
    if isinstance(widths[0], tuple):
        return widths
    return ((widths[0], widths[-1]),) * tensor.rank


def _has_unmapped_arguments(
    tensor: TracedTensor, arguments: Mapping[str, CodeValue], options: Mapping[str, object]
) -> bool:
    """Return whether arguments that affect the output elements are missing from `options`.

    Such arguments are a bias, the weight of an `nn.Linear`, and the mode of an `interpolate`.
    """
    weight = arguments.get("weight")
    if options.get("weight") is not None and not (
        isinstance(weight, TracedTensor) and are_unmodified_inputs([tensor, weight])
    ):
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
"""The values of each argument that do not affect the result."""
SIZE_ARGUMENTS = ("in_channels", "out_channels", "in_features", "out_features", "filters", "kernel_size", "output_size")
"""The layer arguments that affect only the shape of the weight or of the output."""
