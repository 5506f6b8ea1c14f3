"""Compute the result shapes of PyTorch layers that have no op.

The layers are attention, recurrent layers and embeddings. Source: the documentation of `torch.nn` in PyTorch 2.13.
`tests/engines/test_checks.py` compares the shapes with PyTorch on random inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.record import Record, replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kind_checks import require_indices, require_kinds
from shapecalc.reading.code.logic import is_explicitly_false, truth_value
from shapecalc.reading.code.shape_arguments import are_different_integers, require_tensor
from shapecalc.reading.code.values import CodeValue, LayerInstance, TracedTensor, derived_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

LayerFunction: TypeAlias = "Callable[[TracedTensor, Mapping[str, Any], Call], CodeValue]"
"""A function that returns the result of a layer.

Its arguments are the first input, the constructor arguments of the layer, and the call with the other inputs.
"""


class OplessLayer(Record):
    """A layer that has no op, with its parameters and its result function."""

    parameters: tuple[str, ...]
    result: LayerFunction

    def apply(self, tensor: TracedTensor, layer: Call, call: Call) -> CodeValue:
        """Return the result of a layer call.

        `layer` contains the constructor arguments of the layer.
        """
        values = layer.bind_arguments(*self.parameters)
        names = [name.partition("/")[0] for name in self.parameters]
        return self.result(tensor, dict(zip(names, values, strict=True)), call)


def _embedding(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    result = replace(derived_tensor((*tensor.shape, call.to_dim(arguments["embedding_dim"])), tensor), kinds="f")
    table = derived_tensor((call.to_dim(arguments["num_embeddings"]),), tensor)
    return require_indices(result, tensor, table, 0, call)


def _multi_head_attention(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply multi-head attention, and return the output and the attention weights."""
    inputs = call.bind_arguments(
        *("key", "value", "key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
    )
    key, value = [require_tensor(part, call) for part in inputs[:2]]
    sizes = [call.to_dim(arguments[name] or arguments["embed_dim"]) for name in ("embed_dim", "kdim", "vdim")]
    length = 1 if tensor.rank == 3 and truth_value(arguments["batch_first"]) else 0
    _require_attention_inputs((tensor, key, value), sizes, length, call)
    _require_divisible_by_heads(call, sizes[0], call.to_dim(arguments["num_heads"]))
    _require_masks(tensor, key, inputs[4], inputs[2], length, call.to_dim(arguments["num_heads"]), call)
    output = derived_tensor(tensor.shape, tensor, key, value)
    if is_explicitly_false(inputs[3]):
        return output, None
    heads = () if not is_explicitly_false(inputs[5]) else (call.to_dim(arguments["num_heads"]),)
    batches = (tensor.shape[1 - length],) if tensor.rank == 3 else ()
    return output, derived_tensor((*batches, *heads, tensor.shape[length], key.shape[length]), tensor, key, value)


def _require_attention_inputs(parts: Sequence[TracedTensor], sizes: Sequence[Dim], length: int, call: Call) -> None:
    """Raise `CheckRefused` if the shapes of queries, keys and values do not match.

    `sizes` are the last dims of the three tensors, and `length` is the axis of the sequence.
    """
    tensor, key, value = parts
    text = " ".join([shape_text(part.shape) for part in parts])
    if tensor.rank not in (2, 3) or {part.rank for part in parts} != {tensor.rank}:
        raise call.refusal(f"queries, keys and values have 2 or 3 dims: {text}")
    if any(are_different_integers(part.shape[-1], size) for part, size in zip(parts, sizes, strict=True)):
        raise call.refusal(f"the last dims are {', '.join(map(str, sizes))}: {text}")
    batches = [part.shape[1 - length] for part in parts] if tensor.rank == 3 else []
    if are_different_integers(key.shape[length], value.shape[length]) or any(
        are_different_integers(batches[0], size) for size in batches
    ):
        raise call.refusal(f"queries, keys and values do not fit: {text}")


def _require_masks(
    tensor: TracedTensor, key: TracedTensor, mask: CodeValue, padding: CodeValue, length: int, heads: Dim, call: Call
) -> None:
    """Raise `CheckRefused` if an attention mask or a key padding mask has the wrong shape.

    `length` is the axis of the sequence.
    """
    batches = (tensor.shape[1 - length],) if tensor.rank == 3 else ()
    matrix, keys = (tensor.shape[length], key.shape[length]), (*batches, key.shape[length])
    wanted = {2: matrix, 3: (product((*batches, heads)), *matrix)}
    for name, part, dims in (
        ("attn_mask", mask, wanted.get(mask.rank, matrix) if isinstance(mask, TracedTensor) else ()),
        ("key_padding_mask", padding, keys),
    ):
        if not isinstance(part, TracedTensor):
            continue
        require_kinds(part, "bf", call, f"its {name}")
        if part.rank != len(dims) or any(map(are_different_integers, part.shape, dims)):
            raise call.refusal(f"its {name} is {shape_text(part.shape)}, and it takes {shape_text(dims)}")


def _require_divisible_by_heads(call: Call, size: Dim, heads: Dim) -> None:
    """Raise `CheckRefused` unless `size` is a multiple of the number of heads."""
    if size == 0:
        raise call.refusal("its size is at least 1")
    if isinstance(size, int) and isinstance(heads, int) and (heads < 1 or size % heads):
        raise call.refusal(f"{size} is not a multiple of {heads} heads")


def _recurrent_layer(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply a recurrent layer, and return the outputs and the final states."""
    hidden, size = call.to_dim(arguments["hidden_size"]), call.to_dim(arguments["input_size"])
    if tensor.rank not in (2, 3) or are_different_integers(tensor.shape[-1], size):
        raise call.refusal(f"it takes 2 or 3 dims that end in {size}, not {shape_text(tensor.shape)}")
    layers = call.to_integer(arguments["num_layers"], 1)
    if 0 in (hidden, size, layers):
        raise call.refusal("its sizes and the number of its layers are at least 1")
    directions = 2 if truth_value(arguments["bidirectional"]) else 1
    projected = arguments.get("proj_size") or hidden
    has_batch, is_batch_first = tensor.rank == 3, truth_value(arguments["batch_first"]) is True
    batch: Shape = (tensor.shape[0 if is_batch_first else 1],) if has_batch else ()
    if tensor.shape[1 if has_batch and is_batch_first else 0] == 0:
        raise call.refusal(f"the sequence has no steps: {shape_text(tensor.shape)}")
    output = derived_tensor((*tensor.shape[:-1], product((directions, projected))), tensor)
    if has_batch and is_batch_first:  # PyTorch computes with the sequence first, and transposes the result
        width = output.shape[-1]
        output = replace(output, strides=(width, product((output.shape[0], width)), 1))
    state = derived_tensor((layers * directions, *batch, projected), tensor)
    states: tuple[TracedTensor, ...] = (state,)
    if call.name == "LSTM":
        states = (state, derived_tensor((layers * directions, *batch, hidden), tensor))
    _check_state_shapes(call.keywords.get("hx", call.positional[0] if call.positional else None), states, call)
    return output, states if call.name == "LSTM" else state


def _check_state_shapes(initial_states: CodeValue, states: Sequence[TracedTensor], call: Call) -> None:
    """Raise `CheckRefused` if the initial states of a recurrent layer have the wrong shapes."""
    parts = initial_states if isinstance(initial_states, tuple) else (initial_states,)
    if initial_states is None or not all(isinstance(part, TracedTensor) for part in parts):
        return
    shapes = [part.shape for part in parts if isinstance(part, TracedTensor)]
    wanted = [state.shape for state in states]
    pairs = zip(shapes, wanted, strict=False)
    if [*map(len, shapes)] != [*map(len, wanted)] or any(any(map(are_different_integers, *pair)) for pair in pairs):
        found, expected = (" ".join(map(shape_text, part)) for part in (shapes, wanted))
        raise call.refusal(f"its states are {found}, and it takes {expected}")


def _transformer_layer(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    size = call.to_dim(arguments["d_model"])
    if tensor.rank not in (2, 3) or are_different_integers(tensor.shape[-1], size):
        raise call.refusal(f"it takes 2 or 3 dims that end in {size}, not {shape_text(tensor.shape)}")
    _require_divisible_by_heads(call, size, call.to_dim(arguments["nhead"]))
    if call.name == "TransformerEncoderLayer":
        mask, padding, *_ = call.bind_arguments("src_mask", "src_key_padding_mask", "is_causal")
        length = 1 if tensor.rank == 3 and truth_value(arguments["batch_first"]) else 0
        _require_masks(tensor, tensor, mask, padding, length, call.to_dim(arguments["nhead"]), call)
        return derived_tensor(tensor.shape, tensor)
    memory = require_tensor(call.keywords.get("memory", call.positional[0] if call.positional else None), call)
    length = 1 if tensor.rank == 3 and truth_value(arguments["batch_first"]) else 0
    _require_attention_inputs((tensor, memory, memory), (size,) * 3, length, call)
    return derived_tensor(tensor.shape, tensor, memory)


def _recurrent_cell(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply a recurrent cell, and return the next hidden state.

    An LSTM cell also returns the next cell state.
    """
    hidden, size = call.to_dim(arguments["hidden_size"]), call.to_dim(arguments["input_size"])
    if tensor.rank not in (1, 2) or are_different_integers(tensor.shape[-1], size):
        raise call.refusal(f"it takes 1 or 2 dims that end in {size}, not {shape_text(tensor.shape)}")
    state = derived_tensor((*tensor.shape[:-1], hidden), tensor)
    states = (state, state) if call.name == "LSTMCell" else (state,)
    _check_state_shapes(call.keywords.get("hx", call.positional[0] if call.positional else None), states, call)
    return states if len(states) > 1 else state


def _bilinear(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    (other,) = [require_tensor(part, call) for part in call.bind_arguments("input2")]
    sizes = [call.to_dim(arguments[name]) for name in ("in1_features", "in2_features")]
    is_fit = (
        tensor.rank == other.rank > 0
        and 0 not in sizes
        and not any(map(are_different_integers, tensor.shape[:-1], other.shape[:-1]))
    )
    if not is_fit or any(map(are_different_integers, (tensor.shape[-1], other.shape[-1]), sizes)):
        found = f"{shape_text(tensor.shape)} and {shape_text(other.shape)}"
        raise call.refusal(f"its inputs end in {sizes[0]} and {sizes[1]}, and these are {found}")
    return derived_tensor((*tensor.shape[:-1], call.to_dim(arguments["out_features"])), tensor, other)


def _transformer_stack(tensor: TracedTensor, arguments: Mapping[str, Any], call: Call) -> CodeValue:
    """Apply a stack of transformer layers.

    The result has the shape of the first input.
    """
    inner = arguments["layer"]
    if not isinstance(inner, LayerInstance) or inner.name != f"{call.name}Layer":
        raise call.error("the layer of this stack is not known")
    layer = Call(inner.name, inner.positional, inner.keywords, call.error, call.program)
    words = {"mask": "src_mask"}
    keywords = {words.get(name, name): value for name, value in call.keywords.items()}
    return OPLESS_LAYERS[inner.name].apply(tensor, layer, replace(call, name=inner.name, keywords=keywords))


_RECURRENT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size")
_PLAIN = ("input_size", "hidden_size", "num_layers", "nonlinearity", *_RECURRENT[3:])
_TRANSFORMER = ("d_model", "nhead", "dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first")
_NESTED = ("enable_nested_tensor", "mask_check")
OPLESS_LAYERS: Mapping[str, OplessLayer] = {
    "Embedding": OplessLayer(
        (
            *("num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq"),
            *("sparse", "_weight", "_freeze"),
        ),
        _embedding,
    ),
    "MultiheadAttention": OplessLayer(
        (
            *("embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn", "kdim", "vdim"),
            *("batch_first",),
        ),
        _multi_head_attention,
    ),
    **dict.fromkeys(("LSTM", "GRU"), OplessLayer(_RECURRENT, _recurrent_layer)),
    "RNN": OplessLayer(_PLAIN, _recurrent_layer),
    **dict.fromkeys(
        ("TransformerEncoderLayer", "TransformerDecoderLayer"),
        OplessLayer((*_TRANSFORMER, "norm_first", "bias"), _transformer_layer),
    ),
    **dict.fromkeys(("LSTMCell", "GRUCell"), OplessLayer(("input_size", "hidden_size", "bias"), _recurrent_cell)),
    "RNNCell": OplessLayer(("input_size", "hidden_size", "bias", "nonlinearity"), _recurrent_cell),
    "Bilinear": OplessLayer(("in1_features", "in2_features", "out_features", "bias"), _bilinear),
    "TransformerEncoder": OplessLayer(("layer/encoder_layer", "num_layers", "norm", *_NESTED), _transformer_stack),
    "TransformerDecoder": OplessLayer(("layer/decoder_layer", "num_layers", "norm"), _transformer_stack),
}
"""The layers that have no op, keyed by name."""
TENSOR_PARAMETERS = {
    "MultiheadAttention": "query",
    **dict.fromkeys(("TransformerEncoder", "TransformerEncoderLayer"), "src"),
    **dict.fromkeys(("TransformerDecoder", "TransformerDecoderLayer"), "tgt"),
    "Bilinear": "input1",
    "CosineSimilarity": "x1",
    "PairwiseDistance": "x1",
}
"""The name of the first parameter of each layer that does not call it `input`."""
OTHER_TENSOR_PARAMETERS = {"CosineSimilarity": "x2", "PairwiseDistance": "x2"}
"""The name of the second tensor parameter of each layer in `FUNCTIONS_OF_LAYERS` that does not call it `target`."""

FUNCTIONS_OF_LAYERS: Mapping[str, str] = {
    "Unfold": "F.unfold",
    "Fold": "F.fold",
    "GLU": "glu",
    "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance",
    "UpsamplingNearest2d": "interpolate",
    "UpsamplingBilinear2d": "interpolate",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
}
"""The function that each layer calls with its own arguments."""
IMPLIED_ARGUMENTS: Mapping[str, Mapping[str, CodeValue]] = {"UpsamplingBilinear2d": {"mode": "bilinear"}}
"""The function arguments that the name of a layer implies."""
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
