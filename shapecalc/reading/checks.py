"""Check the inputs of PyTorch's shape-preserving layers and functions.

Layers are checked in evaluation mode. Sources: `torch/nn/functional.py` and `torch/nn/modules` of PyTorch 2.13.0.
`tests/engines/test_checks.py` compares each row of the tables with PyTorch on random inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isnan

from shapecalc.core.conditions import Conditions, Unsatisfiable, require_divisible, require_equal
from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.problem import rule_error
from shapecalc.core.record import Record
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, LAYER_MISMATCH, TOO_FEW_VALUES
from shapecalc.core.text import missing_axis_text, rank_text, shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

CheckedArguments: TypeAlias = "Mapping[str, Any]"
"""The arguments of a layer or function, keyed by PyTorch's parameter names. A tensor is represented by its shape."""
Check: TypeAlias = "Callable[[Shape, CheckedArguments], Iterator[Conditions]]"
"""A function that yields the conditions under which a layer accepts an input shape.

It raises `ShapeError` if the layer refuses the input.
"""


class CheckedLayer(Record):
    """A shape-preserving layer or function, and the check of its input."""

    parameters: tuple[str, ...]
    """The parameter names in PyTorch, each with its default if the check uses the default, as in `dim=1`."""
    check: Check

    def bind_arguments(self, positional: tuple[object, ...], keywords: CheckedArguments) -> dict[str, object]:
        """Return the arguments, including defaults, keyed by parameter name.

        Excess arguments are ignored.
        """
        names = [name.partition("=")[0] for name in self.parameters]
        defaults = {name: DEFAULT_VALUES[text] for name, _, text in (item.partition("=") for item in self.parameters)}
        return defaults | dict(zip(names, positional, strict=False)) | {**keywords}

    def conditions(self, shape: Shape, positional: tuple[object, ...], keywords: CheckedArguments) -> Conditions:
        """Return the conditions on symbolic sizes under which the layer accepts an input.

        Raises `ShapeError` (layer-mismatch, too-few-values or axis-out-of-range) if the layer refuses the input.
        """
        arguments = self.bind_arguments(positional, keywords)
        return tuple([condition for part in self.check(shape, arguments) for condition in part])


DEFAULT_VALUES: Mapping[str, object] = {"": None, "True": True, "False": False, "1": 1, "-1": -1}
"""The values of the defaults in the parameter tables, keyed by their source text."""


def _require_rank(shape: Shape, *ranks: int) -> None:
    """Raise `ShapeError` (layer-mismatch) unless the rank of a shape is one of `ranks`."""
    if len(shape) not in ranks:
        message = f"it takes {' or '.join(map(str, ranks))} dims, and the input {shape_text(shape)} has {len(shape)}"
        raise rule_error(LAYER_MISMATCH, message)


def _require_min_rank(shape: Shape, min_rank: int) -> None:
    if len(shape) < min_rank:
        raise rule_error(LAYER_MISMATCH, f"it takes at least {rank_text(min_rank)}, and the input has {len(shape)}")


def _require_size(shape: Shape, axis: int, size: object) -> Conditions:
    """Return the conditions under which an axis has the size `size`.

    Raises `ShapeError` (layer-mismatch) if the sizes always differ.
    """
    if not isinstance(size, Dim) or isinstance(size, bool):
        return ()
    try:
        return require_equal(shape[axis], size)
    except Unsatisfiable:
        message = f"it is made for {size}, and dim {axis} of the input {shape_text(shape)} is {shape[axis]}"
        raise rule_error(LAYER_MISMATCH, message) from None


def _require_channels(shape: Shape, name: str, arguments: CheckedArguments) -> Conditions:
    """Return the conditions under which a vector argument has one value per channel.

    An argument that is not a tensor is not checked.
    """
    dims = arguments.get(name)
    if not isinstance(dims, tuple):
        return ()
    if len(dims) != 1:
        raise rule_error(LAYER_MISMATCH, f"its {name} is {shape_text(dims)}, and it takes a vector")
    return _require_size(shape, 1, dims[0])


def _require_several_values(count: Dim) -> None:
    """Raise `ShapeError` (too-few-values) if each mean is computed from a single value."""
    if count == 1:
        raise rule_error(TOO_FEW_VALUES, "each mean would be that of one value")


def _accept_any_input(_: Shape, __: CheckedArguments) -> Iterator[Conditions]:
    yield ()


def _make_batch_norm_check(*ranks: int) -> Check:
    def check(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
        _require_rank(shape, *ranks)
        if arguments["affine"] or arguments["track_running_stats"]:
            yield _require_size(shape, 1, arguments["num_features"])
        if arguments["affine"] and shape[1] == 0:
            raise rule_error(LAYER_MISMATCH, "the weight of no channels cannot be applied")
        if not arguments["track_running_stats"]:
            _require_several_values(product((shape[0], *shape[2:])))

    return check


def _make_instance_norm_check(rank: int) -> Check:
    def check(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
        _require_rank(shape, rank, rank + 1)
        axis = len(shape) - rank
        if arguments["affine"] or arguments["track_running_stats"]:
            yield _require_size(shape, axis, arguments["num_features"])
        if arguments["affine"] and 0 in shape[: axis + 1]:
            raise rule_error(LAYER_MISMATCH, "the weight of no channels cannot be applied")
        if not arguments["track_running_stats"]:
            _require_several_values(product(shape[axis + 1 :]))

    return check


def _check_normalized_shape(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that the last dims equal the normalized shape."""
    normalized = arguments["normalized_shape"]
    dims = normalized if isinstance(normalized, tuple) else (normalized,)
    if len(dims) > len(shape) or not dims:
        message = f"it normalizes {rank_text(len(dims))}, and the input {shape_text(shape)} has {len(shape)}"
        raise rule_error(LAYER_MISMATCH, message)
    for axis, size in enumerate(dims, len(shape) - len(dims)):
        yield _require_size(shape, axis, size)
    for name in ("weight", "bias"):
        if isinstance(arguments.get(name), tuple) and arguments[name] != dims:
            raise rule_error(LAYER_MISMATCH, f"its {name} is {shape_text(arguments[name])}, not {shape_text(dims)}")


def _check_shape_list(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that the normalized shape is a list and equals the last dims."""
    if isinstance(arguments["normalized_shape"], int):
        raise rule_error(LAYER_MISMATCH, "its normalized shape is a list, as in (4,)")
    yield from _check_normalized_shape(shape, arguments)


def _check_group_norm(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    _require_min_rank(shape, 2)
    groups, channels = arguments["num_groups"], arguments.get("num_channels")
    for count in (channels, shape[1]):
        if not isinstance(count, Dim) or not isinstance(groups, int):
            continue
        try:
            yield require_divisible(count, groups)
        except (Unsatisfiable, ZeroDivisionError):
            raise rule_error(LAYER_MISMATCH, f"{count} channels are not a multiple of {groups} groups") from None
    if arguments.get("affine", True) is not False:
        yield _require_size(shape, 1, channels)
    for name in ("weight", "bias"):
        yield _require_channels(shape, name, arguments)
    if isinstance(groups, int):
        _require_several_values(product((quotient(product(shape[:2]), groups), *shape[2:])))


def _check_batch_norm_function(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check the sizes of the running statistics, the weight and the bias."""
    _require_min_rank(shape, 2)
    for name in ("running_mean", "running_var", "weight", "bias"):
        yield _require_channels(shape, name, arguments)
    if arguments.get("running_mean") is None:
        _require_several_values(product((shape[0], *shape[2:])))


def _make_axis_check(default: int | None = None) -> Check:
    """Return a check that the axis argument of a function is in range.

    `default` is the default axis.
    """

    def check(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
        axis, rank = arguments["dim"], max(len(shape), 1)
        axis = default if axis is None else axis
        if isinstance(axis, int) and not -rank <= axis < rank:
            raise rule_error(AXIS_OUT_OF_RANGE, missing_axis_text(axis, rank))
        yield ()

    return check


def _check_probability(_: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that the probability of a dropout is between 0 and 1."""
    rate = arguments["p"]
    if isinstance(rate, int | float) and not isnan(rate) and not 0 <= rate <= 1:
        raise rule_error(LAYER_MISMATCH, f"its rate is from 0 to 1, and this one is {rate}")
    yield ()


def _check_matrix(shape: Shape, _: CheckedArguments) -> Iterator[Conditions]:
    _require_min_rank(shape, 2)
    yield ()


def _check_prelu(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that `num_parameters` is 1 or the number of channels."""
    count = arguments["num_parameters"]
    if count != 1:
        _require_min_rank(shape, 2)
        yield _require_size(shape, 1, count)


def _make_rank_check(*ranks: int) -> Check:
    def check(shape: Shape, _: CheckedArguments) -> Iterator[Conditions]:
        _require_rank(shape, *ranks)
        yield ()

    return check


def _check_response_norm(shape: Shape, _: CheckedArguments) -> Iterator[Conditions]:
    _require_min_rank(shape, 3)
    yield ()


def _check_dropout_of_vectors(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check the rank of the input and the probability of `dropout1d`."""
    _require_rank(shape, 2, 3)
    yield from _check_probability(shape, arguments)


def _check_prelu_function(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that the weight has one value, or one value per channel."""
    weight = arguments["weight"]
    if not isinstance(weight, tuple):
        yield ()
    elif len(weight) > 1:
        raise rule_error(LAYER_MISMATCH, f"its weight is a vector, not {shape_text(weight)}")
    elif product(weight) != 1:
        _require_min_rank(shape, 2)
        yield _require_size(shape, 1, product(weight))


def _check_channel_shuffle(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that the number of channels is a multiple of the number of groups."""
    _require_min_rank(shape, 3)
    groups, channels = arguments["groups"], shape[1]
    if not isinstance(groups, int):
        return
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise rule_error(LAYER_MISMATCH, f"{channels} channels are not a multiple of {groups} groups")
    yield require_divisible(channels, groups)


def _check_renorm(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check that there are at least 2 dims, and that the axis exists."""
    _require_min_rank(shape, 2)
    yield from _make_axis_check()(shape, arguments)


def _check_instance_norm_function(shape: Shape, arguments: CheckedArguments) -> Iterator[Conditions]:
    """Check the number of values per mean, and the sizes of the running statistics, the weight and the bias."""
    _require_min_rank(shape, 2)
    for name in ("running_mean", "running_var", "weight", "bias"):
        yield _require_channels(shape, name, arguments)
        if isinstance(arguments.get(name), tuple) and 0 in shape[:2]:
            raise rule_error(LAYER_MISMATCH, f"the {name} of no channels cannot be applied")
    if arguments["use_input_stats"] is not False:
        _require_several_values(product(shape[2:]))


_BATCH = ("num_features", "eps", "momentum", "affine=True", "track_running_stats=True")
_INSTANCE = ("num_features", "eps", "momentum", "affine=False", "track_running_stats=False")
_LAYER = ("normalized_shape", "eps", "elementwise_affine=True", "bias")
CHECKED_LAYERS: Mapping[str, CheckedLayer] = {
    "BatchNorm1d": CheckedLayer(_BATCH, _make_batch_norm_check(2, 3)),
    "BatchNorm2d": CheckedLayer(_BATCH, _make_batch_norm_check(4)),
    "BatchNorm3d": CheckedLayer(_BATCH, _make_batch_norm_check(5)),
    "InstanceNorm1d": CheckedLayer(_INSTANCE, _make_instance_norm_check(2)),
    "InstanceNorm2d": CheckedLayer(_INSTANCE, _make_instance_norm_check(3)),
    "InstanceNorm3d": CheckedLayer(_INSTANCE, _make_instance_norm_check(4)),
    "LayerNorm": CheckedLayer(_LAYER, _check_normalized_shape),
    "RMSNorm": CheckedLayer(("normalized_shape", "eps", "elementwise_affine=True"), _check_normalized_shape),
    "GroupNorm": CheckedLayer(("num_groups", "num_channels", "eps", "affine=True"), _check_group_norm),
    "LocalResponseNorm": CheckedLayer(("size", "alpha", "beta", "k"), _check_response_norm),
    "PReLU": CheckedLayer(("num_parameters=1", "init"), _check_prelu),
    "ChannelShuffle": CheckedLayer(("groups",), _check_channel_shuffle),
    "SyncBatchNorm": CheckedLayer(_BATCH, _make_batch_norm_check(2, 3, 4, 5, 6)),
    **dict.fromkeys(
        ("Dropout", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"),
        CheckedLayer(("p", "inplace"), _check_probability),
    ),
    "Dropout1d": CheckedLayer(("p", "inplace"), _make_rank_check(2, 3)),
    "Softmax2d": CheckedLayer((), _make_rank_check(3, 4)),
    **dict.fromkeys(("Softmax", "LogSoftmax", "Softmin"), CheckedLayer(("dim",), _make_axis_check())),
    **dict.fromkeys(
        [
            "Identity",
            "ReLU",
            "ReLU6",
            "LeakyReLU",
            "RReLU",
            "ELU",
            "CELU",
            "SELU",
            "GELU",
            "SiLU",
            "Mish",
            "Sigmoid",
            "LogSigmoid",
            "Tanh",
            "Hardtanh",
            "Hardswish",
            "Hardsigmoid",
            "Hardshrink",
            "Softshrink",
            "Tanhshrink",
            "Softplus",
            "Softsign",
            "Threshold",
            "DropPath",
            "StochasticDepth",
        ],
        CheckedLayer((), _accept_any_input),
    ),
}
"""The checks of shape-preserving layers, keyed by layer name."""
CHECKED_FUNCTIONS: Mapping[str, CheckedLayer] = {
    "layer_norm": CheckedLayer(("normalized_shape", "weight", "bias", "eps"), _check_shape_list),
    "rms_norm": CheckedLayer(("normalized_shape", "weight", "eps"), _check_shape_list),
    "group_norm": CheckedLayer(("num_groups", "weight", "bias", "eps"), _check_group_norm),
    "batch_norm": CheckedLayer(("running_mean", "running_var", "weight", "bias"), _check_batch_norm_function),
    **dict.fromkeys(
        ("softmax", "log_softmax", "softmin", "cumsum", "cumprod"), CheckedLayer(("dim",), _make_axis_check())
    ),
    **dict.fromkeys(
        ("dropout", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"),
        CheckedLayer(("p", "training"), _check_probability),
    ),
    "dropout1d": CheckedLayer(("p", "training"), _check_dropout_of_vectors),
    "prelu": CheckedLayer(("weight",), _check_prelu_function),
    "channel_shuffle": CheckedLayer(("groups",), _check_channel_shuffle),
    "renorm": CheckedLayer(("p", "dim", "maxnorm"), _check_renorm),
    "instance_norm": CheckedLayer(
        ("running_mean", "running_var", "weight", "bias", "use_input_stats=True"), _check_instance_norm_function
    ),
    "local_response_norm": CheckedLayer(("size", "alpha", "beta", "k"), _check_response_norm),
    "normalize": CheckedLayer(("p", "dim"), _make_axis_check(1)),
    "tril": CheckedLayer(("diagonal",), _check_matrix),
    "triu": CheckedLayer(("diagonal",), _check_matrix),
}
"""The checks of shape-preserving functions and methods that do not accept every shape, keyed by name."""
