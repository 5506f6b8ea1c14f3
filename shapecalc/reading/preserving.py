"""Effects of shape-preserving functions on elements and strides.

A chain has no stages for these functions. If a function changes the elements, the code, data and examples of a chain
are therefore wrong. The strides determine whether a later `view` is possible. Sources: the kernels of PyTorch 2.13.0
and its page on tensor views; measured in `tests/engines/test_strides.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from shapecalc.core.dims import Shape
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.ops.strides import (
    compute_clone_strides,
    compute_elementwise_strides,
    compute_suggested_strides,
    is_contiguous,
)
from shapecalc.core.record import Record


class PreservingFunction(Record):
    """The effect of a shape-preserving function on elements and strides."""

    keeps_elements: bool
    """Whether the result has the same elements as the input."""
    result_strides: Callable[[Shape, Shape], Shape | None]
    """A function that returns the strides of the result, or None if they are unknown.

    Its arguments are the shape and the strides of the input.
    """

    is_contiguous: bool = False
    """Whether the result is contiguous, whatever the strides of the input are."""


def _keep_strides(_: Shape, strides: Shape) -> Shape:
    return strides


def _elementwise_result_strides(shape: Shape, strides: Shape) -> Shape | None:
    return compute_elementwise_strides(shape, [(shape, strides)])


def _contiguous_result_strides(shape: Shape, _: Shape) -> Shape:
    return contiguous_strides(shape)


def _contiguous_call_strides(shape: Shape, strides: Shape) -> Shape:
    return strides if is_contiguous(shape, strides) else contiguous_strides(shape)


def _suggested_result_strides(shape: Shape, strides: Shape) -> Shape:
    return compute_suggested_strides(shape, [(shape, strides)])


SAME_TENSOR = PreservingFunction(True, _keep_strides)
"""A function that returns its input or a view of it."""
COPY = PreservingFunction(True, compute_clone_strides)
SAME_STRIDES = PreservingFunction(False, _keep_strides)
"""A function that keeps the strides and may change the elements, such as `float`. It may return its input."""
CAST = PreservingFunction(False, compute_clone_strides)
ELEMENTWISE = PreservingFunction(False, _elementwise_result_strides)
CONTIGUOUS = PreservingFunction(False, _contiguous_result_strides, is_contiguous=True)
SUGGESTED_FORMAT = PreservingFunction(False, _suggested_result_strides)
"""A function whose result is channels-last if the input is, and otherwise contiguous."""

_GROUPS: Mapping[str, PreservingFunction] = {
    "detach to cpu cuda numpy asarray tensor constant convert_to_tensor identity from_numpy as_tensor eval "
    "stop_gradient requires_grad_": SAME_TENSOR,
    "clone copy array": COPY,
    "contiguous ascontiguousarray": PreservingFunction(True, _contiguous_call_strides, is_contiguous=True),
    "float type type_as astype cast dropout": SAME_STRIDES,
    "half double bfloat16 long short char bool cfloat cdouble zeros_like ones_like randn_like rand_like empty_like "
    "full_like": CAST,
    "relu relu6 leaky_relu gelu silu elu celu selu mish sigmoid logsigmoid tanh softplus softsign hardtanh hardswish "
    "hardsigmoid exp expm1 log log1p log2 log10 abs sin cos tan asin acos atan sinh cosh erf neg square pow rsqrt sqrt "
    "reciprocal exp2 acosh asinh atanh erfc erfinv lgamma digamma logit sinc deg2rad rad2deg sgn clamp_min clamp_max "
    "round clamp clip sign logical_not normalize isnan isinf isfinite nan_to_num floor ceil trunc frac fmod "
    "remainder atan2 lerp xlogy angle real conj absolute arccos arccosh arcsin arcsinh arctan arctanh negative "
    "positive bitwise_not hardshrink softshrink tanhshrink threshold rrelu i0 signbit isposinf isneginf isreal "
    "arctan2": ELEMENTWISE,
    "dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout prelu channel_shuffle renorm": ELEMENTWISE,
    "softmax softmin log_softmax layer_norm masked_fill tril triu cumsum cumprod": CONTIGUOUS,
    "batch_norm group_norm rms_norm instance_norm local_response_norm": SUGGESTED_FORMAT,
    "masked_fill_": SAME_STRIDES,
}
PRESERVING_FUNCTIONS: Mapping[str, PreservingFunction] = {
    name: function for names, function in _GROUPS.items() for name in names.split()
}
"""The shape-preserving functions, keyed by name."""

BROADCASTING_METHODS = {
    "masked_fill",
    "masked_fill_",
    "pow",
    "clamp",
    "clip",
    "clamp_min",
    "clamp_max",
    "fmod",
    "remainder",
    "atan2",
    "arctan2",
    "lerp",
    "xlogy",
}
"""The methods whose additional arguments, numbers or tensors, broadcast with the tensor."""
PRESERVING_LAYERS: Mapping[str, PreservingFunction] = {
    r"drop(out|path)?\d?d?": SAME_STRIDES,
    r"identity": SAME_TENSOR,
    r"(layer_?norm|ln|(log_?)?softmax)\d?d?|instance_?norm\d?d?": CONTIGUOUS,
    r"((batch|group|rms)?_?norm|bn)_?\d*d?": SUGGESTED_FORMAT,
}
"""The effects of shape-preserving layers, keyed by a regular expression for the layer name.

Other layers are elementwise.
"""
CASTING_FUNCTIONS = {
    *("to", "type", "type_as", "astype", "cast"),
    *("asarray", "array", "tensor", "as_tensor", "constant", "convert_to_tensor"),
}
"""The functions that accept an element type as an argument."""
ELEMENT_TYPE_NAME = r"(?:float|half|bfloat|double|u?int|long|short|bool|complex|cfloat)\d*(?:_)?"
"""A regular expression for names of element types, such as `float16` in `x.to(torch.float16)`."""


def find_preserving_layer(layer_name: str) -> PreservingFunction:
    """Return the effect of a shape-preserving layer, given its name.

    >>> find_preserving_layer("self.attn_drop").keeps_elements, find_preserving_layer("nn.Identity").keeps_elements
    (False, True)
    """
    name = layer_name.rpartition(".")[2].lower()
    found = (function for pattern, function in PRESERVING_LAYERS.items() if re.fullmatch(rf"(.+_)?({pattern})", name))
    return next(found, ELEMENTWISE)
