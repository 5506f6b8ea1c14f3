"""Apply functions of several tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shapecalc.core.answers import CHAIN_TENSOR
from shapecalc.core.conditions import Unsatisfiable, require_equal
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.strides import compute_elementwise_strides, compute_expand_strides
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable, rank_text, shape_text, truncate
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kinds import promote_kinds
from shapecalc.reading.code.values import (
    CodeValue,
    ErrorFactory,
    TracedTensor,
    are_unmodified_inputs,
    derived_tensor,
    inherit_conditions,
    is_number,
    mark_untraced_change,
)
from shapecalc.reading.commands import EINSUM_LETTERS
from shapecalc.reading.layers import MULTI_OPERAND_FUNCTIONS

OPERAND_KEYWORDS = ("tensors", "arrays", "values", "input", "x", "other", "y")
"""The names of the tensor parameters in functions of several tensors."""


def call_multi_operand_function(call: Call) -> CodeValue:
    """Call a function of several tensors."""
    op, keywords = MULTI_OPERAND_FUNCTIONS[call.name], dict(call.keywords)
    params = [param.name for param in op.params]
    values = [*call.positional, *[keywords.pop(name) for name in OPERAND_KEYWORDS if name in keywords]]
    axes = [keywords.pop(name) for name in ("dim", "axis") if name in keywords]
    options: dict[str, object] = {}
    if "pattern" in params:
        is_last = len(values) > 1 and isinstance(values[-1], str)  # einops and OpenVINO take the equation last
        pattern = (values.pop() if is_last else values.pop(0)) if values else None
        has_names = is_last and isinstance(values[0], TracedTensor)
        options["pattern"] = _replace_names_by_letters(str(pattern)) if has_names else pattern
    if values and isinstance(values[0], tuple):
        values, axes = [*values[0]], [*values[1:], *axes]
    if "axis" in params:
        if axes and axes[-1] is None:
            values = _flatten_operands(values, call)
        options["axis"] = call.to_integer(axes.pop() if axes else None, 0)
    elif op is BROADCAST:
        values = [value for value in values if not is_number(value)]
    if "pattern" in params and len(values) == 1 and isinstance(values[0], TracedTensor):
        return _apply_to_one_tensor(values[0], str(options["pattern"]))
    for name in {*keywords} - {"alpha", "rounding_mode"} or ("dim" for _ in axes):
        raise call.error(f"the argument {escape_unprintable(truncate(name))} of {call.name} is not supported")
    if call.name in BROADCASTING_FUNCTIONS:
        return _broadcast_tensors(values, call)
    ranks = TORCH_RANKS.get(call.name)
    tensors = [value for value in values if isinstance(value, TracedTensor)]
    if ranks and tensors and tensors[0].conventions.torch_checks:
        _check_ranks(tensors, ranks, call)
    return apply_multi_operand(op, values, call.error, **options)


def _apply_to_one_tensor(tensor: TracedTensor, pattern: str) -> TracedTensor:
    """Apply an `einsum` of one tensor."""
    reduced = _reduce_by_letters(tensor, pattern)
    return (
        tensor.apply(REARRANGE, pattern=re.sub(r"([A-Za-z]|\.\.\.)", r"\1 ", pattern)) if reduced is None else reduced
    )


def _reduce_by_letters(tensor: TracedTensor, pattern: str) -> TracedTensor | None:
    """Apply an `einsum` of one tensor that sums over axes or takes a diagonal.

    Returns None for any other pattern.
    """
    left, mark, right = pattern.replace(" ", "").partition("->")
    if not left.isalpha() or not (right or "a").isalpha() or len(left) != tensor.rank:
        return None
    kept = right if mark else "".join(sorted(letter for letter in {*left} if left.count(letter) == 1))
    if {*kept} == {*left} and len(left) == len(kept):
        return None
    sizes = dict(zip(left, tensor.shape, strict=True))
    is_fit = {*kept} <= {*left} and all(sizes[own] == dim for own, dim in zip(left, tensor.shape, strict=True))
    return derived_tensor(tuple([sizes[letter] for letter in kept]), tensor) if is_fit else None


def _replace_names_by_letters(pattern: str) -> str:
    """Convert a pattern of einops' `einsum` to a pattern with a letter for each axis name.

    >>> _replace_names_by_letters("b n d, b m d -> b n m")
    'abc,adc->abd'
    """
    names = [*dict.fromkeys(re.findall(r"\w+", pattern))]
    letters = dict(zip(names, EINSUM_LETTERS, strict=False))
    return re.sub(r"\w+", lambda match: letters.get(match[0], match[0]), pattern).replace(" ", "")


def _flatten_operands(values: Sequence[CodeValue], call: Call) -> list[CodeValue]:
    """Flatten the operands of a concatenation.

    `np.concatenate` flattens them for `axis=None`. Raises `ShapeError` (usage) for other dialects.
    """
    if call.name not in ("concatenate", "concat") or any(
        isinstance(value, TracedTensor) and not value.conventions.numpy_arguments for value in values
    ):
        raise call.error(f"None is not an axis of {call.name}")
    return [value.reshape(-1) if isinstance(value, TracedTensor) else value for value in values]


TORCH_RANKS: Mapping[str, int] = {"mm": 2, "bmm": 3, "dot": 1}
"""The rank that each product function of PyTorch requires of both tensors."""


def _check_ranks(tensors: Sequence[TracedTensor], rank: int, call: Call) -> None:
    """Raise `CheckRefused` unless all tensors have the rank `rank`.

    Tensors of rank 3 must also have equal batch sizes.
    """
    message = ""
    for tensor in tensors:
        if tensor.rank != rank:
            message = f"it takes {rank_text(rank)}, and {shape_text(tensor.shape)} has {tensor.rank}"
    if not message and rank == 3 and tensors[0].shape[0] != tensors[-1].shape[0]:
        try:
            require_equal(tensors[0].shape[0], tensors[-1].shape[0])
        except Unsatisfiable:
            message = f"it never repeats a batch, and {tensors[0].shape[0]} is not {tensors[-1].shape[0]}"
    if message:
        raise call.refusal(message)


BROADCASTING_FUNCTIONS = ("broadcast_tensors", "broadcast_arrays")
"""The functions that return their tensors, each broadcast to the common shape."""


def _broadcast_tensors(values: Sequence[CodeValue], call: Call) -> tuple[CodeValue, ...]:
    """Return each tensor expanded to the broadcast shape."""
    tensors = [value for value in values if isinstance(value, TracedTensor)]
    if len(tensors) < max(len(values), 2):
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    results = list[CodeValue]()
    for index, tensor in enumerate(tensors):
        operands = [CHAIN_TENSOR if number == index else other.shape for number, other in enumerate(tensors)]
        result = tensor.apply(BROADCAST, operands=tuple(operands[1:] if index == 0 else operands))
        strides = tensor.strides and compute_expand_strides(tensor.shape, tensor.strides, result.shape)
        others = [*tensors[:index], *tensors[index + 1 :]]
        result = inherit_conditions(result, others)
        results.append(
            replace(
                result if are_unmodified_inputs([tensor, *others]) else mark_untraced_change(result), strides=strides
            )
        )
    return tuple(results)


def apply_multi_operand(op: Op, values: Sequence[CodeValue], error: ErrorFactory, **options: object) -> TracedTensor:
    """Apply an op to several tensors as a new stage of the main tensor.

    The main tensor is the first tensor that derives from the first input of the code, or else the first tensor. The
    other tensors become operands of the stage. An elementwise op is represented by a broadcast, with its elements
    marked as changed.
    """
    tensors = [part for part in values if isinstance(part, TracedTensor)]
    if len(tensors) < len(values) or not tensors:
        raise error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    main = next(
        (tensor for tensor in sorted(tensors, key=lambda candidate: not candidate.stages) if tensor.is_main), tensors[0]
    )
    if len(tensors) == 1 and op is BROADCAST:
        return main.apply_scalar_op()
    main_index = next(index for index, tensor in enumerate(tensors) if tensor is main)
    operands = tuple([CHAIN_TENSOR if index == main_index else tensor.shape for index, tensor in enumerate(tensors)])
    others = [*tensors[:main_index], *tensors[main_index + 1 :]]
    strides = [contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides for tensor in tensors]
    result = main.apply_to_operands(
        op,
        [own for index, own in enumerate(strides) if index != main_index],
        {"operands": operands[1:] if main_index == 0 else operands, **options},
    )
    result = replace(inherit_conditions(result, others), kinds=promote_kinds([tensor.kinds for tensor in tensors]))
    if op is BROADCAST:
        pairs = [*zip([tensor.shape for tensor in tensors], strides, strict=True)]
        is_known = main.conventions.is_strided and all(tensor.strides is not None for tensor in tensors)
        ordered = compute_elementwise_strides(result.shape, pairs) if is_known else result.strides
        return mark_untraced_change(replace(result, strides=ordered))
    return result if are_unmodified_inputs([main, *others]) else mark_untraced_change(result)
