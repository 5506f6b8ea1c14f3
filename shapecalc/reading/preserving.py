"""Functions that keep the shape of a tensor: what they do to its elements, and to its strides in PyTorch.

A chain has no stages for these functions. Code, data and examples of a chain are therefore wrong if a function changes
the elements. The strides decide whether a later `view` exists. Sources: the kernels of PyTorch 2.13.0 and its
page on tensor views; measured in `tests/engines/test_strides.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from shapecalc.core.dims import Shape
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.ops.strides import copy_strides, elementwise_strides, is_contiguous, suggested_strides
from shapecalc.core.record import Record


class PreservingFunction(Record):
    """A function whose result has the shape of its tensor."""

    keeps_elements: bool
    """Whether the result has the elements of the tensor."""
    result_strides: Callable[[Shape, Shape], Shape | None]
    """A function of the shape and the strides that returns the strides of the result, or None if undecided."""


def _keep_strides(_: Shape, strides: Shape) -> Shape:
    return strides


def _order_elementwise(shape: Shape, strides: Shape) -> Shape | None:
    return elementwise_strides(shape, [(shape, strides)])


def _order_contiguous(shape: Shape, _: Shape) -> Shape:
    return contiguous_strides(shape)


def _make_contiguous(shape: Shape, strides: Shape) -> Shape:
    return strides if is_contiguous(shape, strides) else contiguous_strides(shape)


def _order_suggested(shape: Shape, strides: Shape) -> Shape:
    return suggested_strides(shape, [(shape, strides)])


SAME_TENSOR = PreservingFunction(True, _keep_strides)
"""The result is the tensor itself, or a view of it."""
COPY = PreservingFunction(True, copy_strides)
SAME_STRIDES = PreservingFunction(False, _keep_strides)
"""The elements may change, and the result may be the tensor itself, as `float` returns a float32 tensor itself."""
CAST = PreservingFunction(False, copy_strides)
ELEMENTWISE = PreservingFunction(False, _order_elementwise)
CONTIGUOUS = PreservingFunction(False, _order_contiguous)
SUGGESTED = PreservingFunction(False, _order_suggested)
"""The result has the channels last if the tensor has, and is otherwise contiguous."""

_GROUPS: Mapping[str, PreservingFunction] = {
    "detach to cpu cuda numpy asarray tensor constant convert_to_tensor identity from_numpy as_tensor eval "
    "stop_gradient requires_grad_": SAME_TENSOR,
    "clone copy array": COPY,
    "contiguous ascontiguousarray": PreservingFunction(True, _make_contiguous),
    "float type type_as astype cast dropout": SAME_STRIDES,
    "half double bfloat16 long bool zeros_like ones_like randn_like rand_like empty_like full_like": CAST,
    "relu leaky_relu gelu silu elu sigmoid tanh softplus exp log abs sin cos neg square pow rsqrt sqrt round clamp "
    "clip sign logical_not normalize": ELEMENTWISE,
    "softmax log_softmax layer_norm masked_fill tril triu cumsum": CONTIGUOUS,
    "batch_norm group_norm rms_norm": SUGGESTED,
    "masked_fill_": SAME_STRIDES,
}
PRESERVING_FUNCTIONS: Mapping[str, PreservingFunction] = {
    name: function for names, function in _GROUPS.items() for name in names.split()
}
"""The functions that keep the shape, by name."""

PRESERVING_LAYERS: Mapping[str, PreservingFunction] = {
    r"drop(out|path)?\d?d?": SAME_STRIDES,
    r"identity": SAME_TENSOR,
    r"(layer_?norm|ln|(log_?)?softmax)\d?d?|instance_?norm\d?d?": CONTIGUOUS,
    r"((batch|group|rms)?_?norm|bn)_?\d*d?": SUGGESTED,
}
"""The layers that keep the shape, by a pattern for their name; other layers are elementwise."""
CASTING_FUNCTIONS = {
    *("to", "type", "type_as", "astype", "cast"),
    *("asarray", "array", "tensor", "as_tensor", "constant", "convert_to_tensor"),
}
"""The functions that may have an argument with the type of the elements."""
CAST_TYPES = re.compile(r"(?:float|half|bfloat|double|u?int|long|short|bool|complex|cfloat)\d*(?:_)?")
"""The names of element types, such as `float16` in `x.to(torch.float16)`."""


def find_preserving_layer(layer_name: str) -> PreservingFunction:
    """Return what a layer that keeps the shape does, by its name.

    >>> find_preserving_layer("self.attn_drop").keeps_elements, find_preserving_layer("nn.Identity").keeps_elements
    (False, True)
    """
    name = layer_name.rpartition(".")[2].lower()
    found = (function for pattern, function in PRESERVING_LAYERS.items() if re.fullmatch(rf"(.+_)?({pattern})", name))
    return next(found, ELEMENTWISE)
