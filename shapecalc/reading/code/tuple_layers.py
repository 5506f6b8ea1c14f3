"""Result shapes of PyTorch layers that have no op.

The layers are attention, recurrent layers, embeddings and losses. Source: the documentation of `torch.nn` in
PyTorch 2.13. `tests/engines/test_checks.py` compares the shapes with PyTorch on random inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.logic import is_explicitly_false, truth_value
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import are_unequal, require_tensor
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

LayerFunction: TypeAlias = "Callable[[TracedTensor, Mapping[str, Any], Call], CodeValue]"
"""A function that returns the result of a layer for its first input, the layer's arguments, and its other inputs."""


class ResultLayer(Record):
    """A layer without an op, with its parameters and its result function."""

    parameters: tuple[str, ...]
    result: LayerFunction

    def apply(self, tensor: TracedTensor, layer: Call, call: Call) -> CodeValue:
        """Return the result of a layer call.

        `layer` contains the constructor arguments of the layer.
        """
        values = layer.bind_arguments(*self.parameters)
        return self.result(tensor, dict(zip(self.parameters, values, strict=True)), call)


def _embedding(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    return derived_tensor((*tensor.shape, call.to_dim(arguments["embedding_dim"])), tensor)


def _attention(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply multi-head attention: return the output and the weights."""
    inputs = call.bind_arguments(
        *("key", "value", "key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
    )
    key, value = [require_tensor(part, call) for part in inputs[:2]]
    parts, is_batched = (tensor, key, value), tensor.rank == 3
    text = " ".join([shape_text(part.shape) for part in parts])
    sizes = [arguments[name] or arguments["embed_dim"] for name in ("embed_dim", "kdim", "vdim")]
    if tensor.rank not in (2, 3) or {part.rank for part in parts} != {tensor.rank}:
        raise call.refusal(f"queries, keys and values have 2 or 3 dims: {text}")
    if any(are_unequal(part.shape[-1], call.to_dim(size)) for part, size in zip(parts, sizes, strict=True)):
        raise call.refusal(f"the last dims are {', '.join(map(str, sizes))}: {text}")
    _require_divisible_by_heads(call, call.to_dim(arguments["embed_dim"]), call.to_dim(arguments["num_heads"]))
    length = 1 if is_batched and truth_value(arguments["batch_first"]) else 0
    batch = 1 - length
    is_fit = not are_unequal(key.shape[length], value.shape[length])
    if not is_fit or (is_batched and any(are_unequal(tensor.shape[batch], part.shape[batch]) for part in parts)):
        raise call.refusal(f"queries, keys and values do not fit: {text}")
    output = derived_tensor(tensor.shape, *parts)
    if is_explicitly_false(inputs[3]):
        return output, None
    heads = () if not is_explicitly_false(inputs[5]) else (call.to_dim(arguments["num_heads"]),)
    batches = (tensor.shape[batch],) if is_batched else ()
    return output, derived_tensor((*batches, *heads, tensor.shape[length], key.shape[length]), *parts)


def _require_divisible_by_heads(call: Call, size: Dim, heads: Dim) -> None:
    """Raise `CheckRefused` unless the size is a multiple of the number of heads."""
    if isinstance(size, int) and isinstance(heads, int) and (heads < 1 or size % heads):
        raise call.refusal(f"{size} is not a multiple of {heads} heads")


def _recurrent(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply a recurrent layer: return the outputs and the last states."""
    hidden, size = call.to_dim(arguments["hidden_size"]), call.to_dim(arguments["input_size"])
    if tensor.rank not in (2, 3) or are_unequal(tensor.shape[-1], size):
        raise call.refusal(f"it takes 2 or 3 dims that end in {size}, not {shape_text(tensor.shape)}")
    layers = call.to_integer(arguments["num_layers"], 1)
    directions = 2 if truth_value(arguments["bidirectional"]) else 1
    projected = arguments.get("proj_size") or hidden
    has_batch, is_batch_first = tensor.rank == 3, truth_value(arguments["batch_first"]) is True
    batch: Shape = (tensor.shape[0 if is_batch_first else 1],) if has_batch else ()
    if tensor.shape[1 if has_batch and is_batch_first else 0] == 0:
        raise call.refusal(f"the sequence has no steps: {shape_text(tensor.shape)}")
    output = derived_tensor((*tensor.shape[:-1], product((directions, projected))), tensor)
    if has_batch and is_batch_first:  # PyTorch transposes a result with the sequence first
        width = output.shape[-1]
        output = replace(output, strides=(width, product((output.shape[0], width)), 1))
    state = derived_tensor((layers * directions, *batch, projected), tensor)
    if call.name != "LSTM":
        return output, state
    return output, (state, derived_tensor((layers * directions, *batch, hidden), tensor))


def _transformer_layer(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    size = call.to_dim(arguments["d_model"])
    if tensor.rank not in (2, 3) or are_unequal(tensor.shape[-1], size):
        raise call.refusal(f"it takes 2 or 3 dims that end in {size}, not {shape_text(tensor.shape)}")
    _require_divisible_by_heads(call, size, call.to_dim(arguments["nhead"]))
    return derived_tensor(tensor.shape, tensor)


def _loss(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply a loss: return a scalar, or a loss for each element without a reduction."""
    if arguments["reduction"] in (None, "mean", "sum", "batchmean"):
        return derived_tensor((), tensor)
    if arguments["reduction"] != "none" or not call.positional:
        raise call.error("the reduction of this loss is not known")
    target = require_tensor(call.positional[0], call)
    if call.name in ("CrossEntropyLoss", "NLLLoss"):
        classes = 1 if tensor.rank > 1 else 0
        return derived_tensor((*tensor.shape[:classes], *tensor.shape[classes + 1 :]), tensor, target)
    return apply_multi_operand(BROADCAST, (tensor, target), call.error)


_RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size")
_PLAIN = ("input_size", "hidden_size", "num_layers", "nonlinearity", *_RECURRENT[3:])
_TRANSFORMER = ("d_model", "nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first")
RESULT_LAYERS: Mapping[str, ResultLayer] = {
    "Embedding": ResultLayer(("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "sparse"), _embedding),
    "MultiheadAttention": ResultLayer(
        (
            *("embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim"),
            *("batch_first",),
        ),
        _attention,
    ),
    **dict.fromkeys(("LSTM", "GRU"), ResultLayer(_RECURRENT, _recurrent)),
    "RNN": ResultLayer(_PLAIN, _recurrent),
    **dict.fromkeys(
        ("CrossEntropyLoss", "NLLLoss"),
        ResultLayer(("weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"), _loss),
    ),
    "BCEWithLogitsLoss": ResultLayer(("weight", "size_average", "reduce", "reduction", "pos_weight"), _loss),
    "BCELoss": ResultLayer(("weight", "size_average", "reduce", "reduction"), _loss),
    "HuberLoss": ResultLayer(("reduction", "delta"), _loss),
    **dict.fromkeys(
        ("MSELoss", "L1Loss", "SmoothL1Loss", "KLDivLoss"),
        ResultLayer(("size_average", "reduce", "reduction", "beta", "log_target"), _loss),
    ),
    **dict.fromkeys(
        ("TransformerEncoderLayer", "TransformerDecoderLayer"),
        ResultLayer((*_TRANSFORMER, "norm_first", "bias"), _transformer_layer),
    ),
}
"""The layers without a stage, by name."""

FUNCTIONS_OF_LAYERS: Mapping[str, str] = {
    "Unfold": "F.unfold",
    "Fold": "F.fold",
    "GLU": "glu",
    "CosineSimilarity": "cosine_similarity",
    "UpsamplingNearest2d": "interpolate",
    "UpsamplingBilinear2d": "interpolate",
}
"""The functions that layers call with their own arguments, by the name of the layer."""
_PAD_LAYER = "(Zero|Constant|Reflection|Replication|Circular)Pad([123])d"
_PAD_MODES = {"Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}


def pad_arguments(layer_name: str, positional: Sequence[CodeValue]) -> tuple[CodeValue, ...] | None:
    """Return the padding and the mode of a padding layer.

    Returns None for any other layer.

    >>> pad_arguments("ReflectionPad2d", (1,)), pad_arguments("Conv2d", (1,))
    (((1, 1, 1, 1), 'reflect'), None)
    """
    match = re.fullmatch(_PAD_LAYER, layer_name)
    if match is None or not positional:
        return None
    padding = positional[0]
    widths = padding if isinstance(padding, tuple) else (padding,) * (2 * int(match[2]))
    return widths, _PAD_MODES.get(match[1], "constant")
