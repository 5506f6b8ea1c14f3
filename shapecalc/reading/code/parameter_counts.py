"""Count the parameters of PyTorch's layers.

Source: the constructors of `torch.nn`, 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

ConstructorArguments: TypeAlias = "Mapping[str, Any]"
"""The arguments of a layer, keyed by name. Omitted arguments have no entry."""


class CountedLayer(Record):
    """The arguments of a layer, and a function that counts its parameters."""

    names: tuple[str, ...]
    """The names of the arguments, in order."""
    count: Callable[[ConstructorArguments], int]
    """A function that returns the number of parameters, given the constructor arguments."""


def _linear_parameter_count(arguments: ConstructorArguments) -> int:
    inputs, outputs = arguments["in_features"], arguments["out_features"]
    return int(inputs * outputs + outputs * arguments.get("bias", True))


def _make_convolution_row(rank: int, names: str) -> CountedLayer:
    """Return the table row of a convolution with `rank` spatial dims."""

    def convolution_parameter_count(arguments: ConstructorArguments) -> int:
        """Return the number of parameters in the weight and the bias."""
        size, outputs = arguments["kernel_size"], arguments["out_channels"]
        kernel = prod(size) if isinstance(size, tuple) else size**rank
        weight = arguments["in_channels"] * outputs // arguments.get("groups", 1) * kernel
        return int(weight + outputs * arguments.get("bias", True))

    return CountedLayer(("in_channels", "out_channels", "kernel_size", *names.split()), convolution_parameter_count)


def _make_normalization_row(names: str, *, is_affine: bool = True, has_bias: bool = True) -> CountedLayer:
    """Return the table row of a normalization layer.

    If `is_affine` is True, the layer has a weight by default, and a bias if `has_bias` is True.
    """
    size_name = next(name for name in names.split() if name != "num_groups")

    def normalization_parameter_count(arguments: ConstructorArguments) -> int:
        """Return the number of parameters in the weight and the bias.

        Each has one number per channel, or one per element of the normalized shape.
        """
        affine = arguments.get("affine", arguments.get("elementwise_affine", is_affine))
        size = arguments[size_name]
        channels = prod(size) if isinstance(size, tuple) else size
        return int(channels * (1 + (has_bias and arguments.get("bias", True)))) if affine else 0

    return CountedLayer(tuple(names.split()), normalization_parameter_count)


def _attention_parameter_count(arguments: ConstructorArguments) -> int:
    width = arguments["embed_dim"]
    sources = [arguments.get(name) or width for name in ("kdim", "vdim")]
    biases = 4 * arguments.get("bias", True) + 2 * arguments.get("add_bias_kv", False)
    return int(width * (2 * width + sum(sources)) + biases * width)


def _make_recurrent_row(gates: int, names: str) -> CountedLayer:
    """Return the table row of a recurrent layer with `gates` gates per cell."""

    def recurrent_parameter_count(arguments: ConstructorArguments) -> int:
        """Return the number of elements of the weights and biases in all layers and directions."""
        hidden, projected = arguments["hidden_size"], arguments.get("proj_size", 0)
        directions, outputs, total = 1 + arguments.get("bidirectional", False), projected or hidden, 0
        for layer in range(arguments.get("num_layers", 1)):
            inputs = arguments["input_size"] if layer == 0 else outputs * directions
            cell = gates * hidden * (inputs + outputs + 2 * arguments.get("bias", True))
            total += directions * (cell + projected * hidden)
        return total

    return CountedLayer(tuple(f"input_size hidden_size num_layers {names}".split()), recurrent_parameter_count)


_CONVOLUTION = "stride padding dilation groups bias padding_mode"
_TRANSPOSED = "stride padding output_padding groups bias dilation padding_mode"
_CHANNEL_NORM = "num_features eps momentum affine track_running_stats"
_ATTENTION = "embed_dim num_heads dropout bias add_bias_kv add_zero_attn kdim vdim batch_first"
_RECURRENT = "bias batch_first dropout bidirectional proj_size"
COUNTED_LAYERS: Mapping[str, CountedLayer] = {
    "Linear": CountedLayer(("in_features", "out_features", "bias"), _linear_parameter_count),
    **{f"Conv{rank}d": _make_convolution_row(rank, _CONVOLUTION) for rank in (1, 2, 3)},
    **{f"ConvTranspose{rank}d": _make_convolution_row(rank, _TRANSPOSED) for rank in (1, 2, 3)},
    **{f"BatchNorm{rank}d": _make_normalization_row(_CHANNEL_NORM) for rank in (1, 2, 3)},
    **{f"InstanceNorm{rank}d": _make_normalization_row(_CHANNEL_NORM, is_affine=False) for rank in (1, 2, 3)},
    "GroupNorm": _make_normalization_row("num_groups num_channels eps affine"),
    "LayerNorm": _make_normalization_row("normalized_shape eps elementwise_affine bias"),
    "RMSNorm": _make_normalization_row("normalized_shape eps elementwise_affine", has_bias=False),
    "Embedding": CountedLayer(
        ("num_embeddings", "embedding_dim"),
        lambda arguments: arguments["num_embeddings"] * arguments["embedding_dim"],
    ),
    "PReLU": CountedLayer(("num_parameters",), lambda arguments: arguments.get("num_parameters", 1)),
    "MultiheadAttention": CountedLayer(
        tuple(_ATTENTION.split()),
        _attention_parameter_count,
    ),
    "RNN": _make_recurrent_row(1, f"nonlinearity {_RECURRENT}"),
    "GRU": _make_recurrent_row(3, _RECURRENT),
    "LSTM": _make_recurrent_row(4, _RECURRENT),
}
"""The layers that have parameters, keyed by name."""
_WITHOUT_PARAMETERS = (
    "Identity Flatten Unflatten Dropout Dropout1d Dropout2d Dropout3d AlphaDropout ReLU ReLU6 LeakyReLU ELU SELU CELU "
    "GELU SiLU Mish Sigmoid LogSigmoid Tanh Softplus Softmax LogSoftmax Hardswish Hardsigmoid Hardtanh GLU "
    "MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d "
    "AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d ZeroPad1d ZeroPad2d ZeroPad3d "
    "ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d "
    "ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d Upsample UpsamplingNearest2d "
    "UpsamplingBilinear2d PixelShuffle PixelUnshuffle ChannelShuffle Fold Unfold"
)
LAYERS_WITHOUT_PARAMETERS = frozenset(_WITHOUT_PARAMETERS.split())


def count_parameters(layer: str, positional: tuple[object, ...], keywords: Mapping[str, object]) -> int | None:
    """Return the number of parameters of a PyTorch layer, or None if it is unknown.

    >>> count_parameters("Conv2d", (3, 64, 7), {"stride": 2, "bias": False}), count_parameters("ReLU", (), {})
    (9408, 0)
    >>> count_parameters("Linear", ("C", 64), {})
    """
    if layer in LAYERS_WITHOUT_PARAMETERS:
        return 0
    row = COUNTED_LAYERS.get(layer)
    if row is None:
        return None
    try:
        return row.count(dict(zip(row.names, positional, strict=False)) | dict(keywords))
    except (TypeError, KeyError):  # a size is symbolic, or an argument is missing
        return None
