"""Compute the result shapes of loss functions.

Sources: `torch/nn/functional.py` and `LossNLL.cpp` of PyTorch 2.13.
"""

from __future__ import annotations

from shapecalc.core.dims import Shape
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.record import replace
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kind_checks import require_indices, require_kinds
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.shape_arguments import (
    BoundArguments,
    are_different_integers,
    require_equal_shapes,
    require_tensor,
)
from shapecalc.reading.code.values import CodeValue, TracedTensor, derived_tensor

REDUCTIONS = (None, "mean", "sum", "batchmean")
"""The values of `reduction` that return a scalar; None is the default."""


def apply_elementwise_loss(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply a loss function that computes one loss per element.

    A binary cross entropy requires equal shapes. The other losses broadcast the tensor and the target.
    """
    target = require_tensor(arguments["target"], call)
    if call.name.startswith("binary"):
        require_equal_shapes(tensor, target, call)
    weights = [arguments[name] for name in ("weight", "pos_weight") if isinstance(arguments.get(name), TracedTensor)]
    if call.name.startswith("binary"):
        _require_weight_kinds(arguments, call)
        weights = [weight.apply(EXPAND, target=target.shape) for weight in weights]
    common = apply_multi_operand(BROADCAST, [tensor, target, *weights], call.error)
    return derived_tensor(common.shape if arguments["reduction"] not in REDUCTIONS else (), common)


def _require_weight_kinds(arguments: BoundArguments, call: Call) -> None:
    """Raise `CheckRefused` (element-kind) for a complex class weight, or a boolean weight of the positive class."""
    for name, kinds in (("weight", "bif"), ("pos_weight", "if")):
        if isinstance(weight := arguments.get(name), TracedTensor):
            require_kinds(weight, kinds, call, f"its {name}")


def apply_class_loss(tensor: TracedTensor, arguments: BoundArguments, call: Call) -> CodeValue:
    """Apply `cross_entropy` or `nll_loss`.

    The target contains the index of a class for each item, or, in `cross_entropy`, the probabilities of all classes.
    """
    target, weight = require_tensor(arguments["target"], call), arguments["weight"]
    if not tensor.rank:
        raise call.refusal("it takes at least 1 dim, and the input is a scalar")
    axis = min(tensor.rank - 1, 1)
    if isinstance(weight, TracedTensor) and (
        weight.rank != 1 or are_different_integers(weight.shape[0], tensor.shape[axis])
    ):
        raise call.refusal(f"its weight is {shape_text(weight.shape)}, and there are {tensor.shape[axis]} classes")
    losses = (*tensor.shape[:axis], *tensor.shape[axis + 1 :])
    result = derived_tensor(losses if arguments["reduction"] not in REDUCTIONS else (), tensor, target)
    if call.name == "cross_entropy" and target.shape == tensor.shape:
        require_kinds(target, "f", call, "a target of probabilities")
        return result
    _require_class_indices(target, losses, call)
    if target.extremes and target.extremes[0] < 0:  # an ignored index, by default -100
        target = replace(target, extremes=None)
    return require_indices(result, target, tensor, axis, call)


def _require_class_indices(target: TracedTensor, losses: Shape, call: Call) -> None:
    """Raise `CheckRefused` unless a target has one class index for each loss.

    The target of a single loss may be a vector of one element.
    """
    if not losses and not are_different_integers(target.shape[0] if target.rank == 1 else 1, 1):
        losses = target.shape if target.rank == 1 else ()
    if target.rank != len(losses) or any(map(are_different_integers, target.shape, losses)):
        raise call.refusal(f"its target is {shape_text(target.shape)}, and it takes {shape_text(losses)}")
