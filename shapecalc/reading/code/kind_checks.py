"""Check the element kinds and the values of arguments, and set the element kinds of results."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence

from shapecalc.core.conditions import Conditions, Unsatisfiable, require_min_size
from shapecalc.core.ops.concat import CONCAT
from shapecalc.core.ops.einsum import EINSUM
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.ops.mean import MEAN
from shapecalc.core.ops.pad import PAD
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE
from shapecalc.core.record import replace
from shapecalc.core.rules import ELEMENT_KIND
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.kinds import (
    ANY_KIND,
    COMPARED_TENSORS,
    INDEX_PAIRS,
    KIND_RULES,
    PROMOTING_KEYWORDS,
    KindRule,
    format_kinds,
    promote_kinds,
    unite_kinds,
)
from shapecalc.reading.code.values import (
    CheckRefused,
    CodeValue,
    ErrorFactory,
    TracedTensor,
    attach_conditions,
    find_extremes,
    is_integer,
    is_number,
    kinds_of,
    tensors_in,
)


def apply_kind_rule(
    name: str,
    positional: Sequence[CodeValue],
    keywords: Mapping[str, CodeValue],
    value: CodeValue,
    error: ErrorFactory,
    *,
    cast: str = "",
) -> CodeValue:
    """Set the possible element kinds of the result of a function or layer.

    `cast` contains the kinds that the argument `dtype` requests. Raises `CheckRefused` (element-kind) if PyTorch
    refuses the kinds of the arguments.
    """
    named = [word for key, word in keywords.items() if key in PROMOTING_KEYWORDS or any(True for _ in tensors_in(word))]
    operands = [*positional, *named]
    first = next((tensor for operand in operands for tensor in tensors_in(operand)), None)
    is_in_place = name.endswith("_")
    base_name = name.removesuffix("_") if name not in KIND_RULES else name
    rule = KIND_RULES.get(_kind_rule_name(base_name, operands, keywords))
    if first is None or rule is None:
        return _set_einsum_kinds(operands, value) if name == EINSUM.name else value
    kinds = _operand_kinds(name, rule, operands)
    if cast:
        kinds[0] = cast
    result, operand_kinds = rule.result(kinds), first.kinds
    if (
        base_name in ("clamp", "clip")
        and len({isinstance(bound, TracedTensor) for bound in operands[1:] if _is_definite_bound(bound)}) > 1
    ):
        raise error("PyTorch takes two numbers or two tensors as bounds")
    if first.conventions.torch_checks:
        _check_alpha(name, keywords, result, error)
        mask = _mask_kinds(base_name, operands, keywords)
        if mask and "b" not in mask:
            raise CheckRefused(error(f"{name}: the mask is bool, and this one is {format_kinds(mask)}"), ELEMENT_KIND)
        if not result or (base_name == "addcdiv" and not rule.result(kinds[1:])):
            raise kind_refusal(name, rule, kinds, error)
        if is_in_place and ANY_KIND.index(result[0]) > ANY_KIND.index(operand_kinds[-1]):
            message = (
                f"{name}: elements that are {format_kinds(operand_kinds)} do not become {format_kinds(result)} in place"
            )
            raise CheckRefused(error(message), ELEMENT_KIND)
    if base_name in ("add", "sub", "mul") and isinstance(value, TracedTensor):
        value = replace(value, extremes=_result_extremes(base_name, operands))
    return set_kinds(name, value, operand_kinds if is_in_place else result or ANY_KIND, operand_kinds)


def _check_alpha(name: str, keywords: Mapping[str, CodeValue], result: str, error: ErrorFactory) -> None:
    """Raise `CheckRefused` (element-kind) for a boolean factor of `add` or `sub`.

    A boolean factor is accepted if the result is also boolean.
    """
    if isinstance(keywords.get("alpha"), bool) and result and "b" not in result:
        raise CheckRefused(
            error(f"{name}: a boolean alpha is for boolean results only", "write a number"), ELEMENT_KIND
        )


def _mask_kinds(name: str, operands: Sequence[CodeValue], keywords: Mapping[str, CodeValue]) -> str:
    """Return the element kinds of the mask of a function, or `""` for a function or a call without a mask."""
    if name not in MASK_POSITIONS or not operands[1:]:
        return ""
    return kinds_of(keywords.get("mask", operands[MASK_POSITIONS[name]]))


def _is_definite_bound(value: CodeValue) -> bool:
    """Return whether a bound of `clamp` is a number or a non-scalar tensor.

    A scalar tensor can be combined with either of them.
    """
    return (isinstance(value, TracedTensor) and value.rank > 0) or is_number(value)


MASK_POSITIONS = {"masked_fill": 1, "where": 0}
"""The index of the mask argument of each function."""


def _result_extremes(name: str, operands: Sequence[CodeValue]) -> tuple[int, int] | None:
    """Return the smallest and the largest result of an operation on a tensor and an integer.

    Returns None if they are unknown.
    """
    pairs = [operand.extremes if isinstance(operand, TracedTensor) else find_extremes(operand) for operand in operands]
    numbers = [operand for operand in operands if is_integer(operand)]
    if len(pairs) != 2 or not numbers or None in pairs:
        return None
    (low, high), (other_low, other_high) = pairs  # type: ignore[misc]  # none is None
    function = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}[name]
    results = [function(one, other) for one in (low, high) for other in (other_low, other_high)]
    return min(results), max(results)


def _kind_rule_name(name: str, operands: Sequence[CodeValue], keywords: Mapping[str, CodeValue]) -> str:
    """Return the name of the kind rule for a call."""
    if name in ("div", "divide") and keywords.get("rounding_mode"):
        return "floor_divide"
    if name == "l1_loss" and "none" in (keywords.get("reduction"), *operands[4:5]):
        return "absolute_difference"
    if name in ("max", "min") and any(isinstance(operand, TracedTensor) for operand in operands[1:]):
        return "maximum"
    if name == EINSUM.name:
        return _einsum_rule(operands)
    if name == "where" and len(operands) == 1:
        return "nonzero"
    if "daptive" in name and (1 in operands or (1, 1) in operands or (1, 1, 1) in operands):
        return MEAN.name if "avg" in name.lower() else name
    if re.fullmatch(r"(Reflection|Replication)Pad\dd", name):
        return "reflected"
    if name == PAD.name and {"reflect", "replicate"} & {keywords.get("mode"), *operands[2:3]}:
        return "reflected"
    return PAD.name if re.fullmatch(r"(Zero|Constant|Circular)Pad\dd", name) else name


def _set_einsum_kinds(operands: Sequence[CodeValue], value: CodeValue) -> CodeValue:
    """Set the possible kinds of the result of an einsum whose rule is unknown.

    A sum of booleans is an integer. The kinds of an einsum of an empty tensor are unknown.
    """
    tensors = [tensor for operand in operands for tensor in tensors_in(operand)]
    kinds = promote_kinds([tensor.kinds for tensor in tensors])
    kinds = (
        ANY_KIND if any(0 in tensor.shape for tensor in tensors) else unite_kinds((kinds, "bi" if "b" in kinds else ""))
    )
    return set_kinds(EINSUM.name, value, kinds, kinds)


def _einsum_rule(operands: Sequence[CodeValue]) -> str:
    """Return the name of the kind rule for an `einsum`.

    PyTorch computes a matrix product if it sums over a dim that two tensors have, and otherwise an elementwise product.
    Returns an empty string if this is unknown.
    """
    left, _, right = str(operands[0]).partition("->")
    terms = left.replace(" ", "").split(",")
    tensors = [tensor for operand in operands for tensor in tensors_in(operand)]
    summed = {letter for letter in left if letter.isalpha() and letter not in right}
    if len(terms) == 1:
        return "sum"
    letters = [term.removeprefix("...") for term in terms]
    if not right or "." in "".join(letters) or len(terms) != len(tensors):
        return ""
    pairs = [
        pair
        for term, tensor in zip(letters, tensors, strict=True)
        for pair in zip(term[::-1], tensor.shape[::-1], strict=False)
    ]
    sizes = [(letter, dim) for letter, dim in pairs if letter in summed and isinstance(dim, int) and dim > 1]
    return MATMUL.name if any(sizes.count(size) > 1 for size in sizes) else "" if summed else CONCAT.name


def _operand_kinds(name: str, rule: KindRule, operands: Sequence[CodeValue]) -> list[str]:
    """Return the possible kinds of the operands that a rule compares."""
    if rule.mode in ("promoted", "no-bool"):
        operands = operands[1:] if name == "where" else operands
        return [kinds for kinds in map(kinds_of, operands) if kinds]
    tensors = [tensor for operand in operands for tensor in tensors_in(operand)]
    return [tensor.kinds for tensor in tensors[: 1 if rule.mode == "first" else COMPARED_TENSORS.get(name)]]


def kind_refusal(name: str, rule: KindRule, kinds: Sequence[str], error: ErrorFactory) -> CheckRefused:
    """Return the exception for operands with kinds that a function refuses."""
    found = " and ".join(dict.fromkeys(map(format_kinds, kinds)))
    accepted = "".join(rule.results)
    needs_equal = rule.mode == "equal" and all({*operand} & {*accepted} for operand in kinds)
    wanted = "equal element types" if needs_equal else f"elements that are {format_kinds(accepted)}"
    hint = "write .float() behind the tensor" if "f" in accepted else ""
    return CheckRefused(error(f"{name}: it takes {wanted}, and these are {found}", hint), ELEMENT_KIND)


def set_kinds(name: str, value: CodeValue, kinds: str, operand_kinds: str) -> CodeValue:
    """Set the kinds of a tensor or of each tensor in a tuple.

    `operand_kinds` contains the kinds of the operand.
    """
    if isinstance(value, TracedTensor):
        return value if value.kinds == kinds else replace(value, kinds=kinds)
    if not isinstance(value, tuple):
        return value
    second_kinds = "i" if name in INDEX_PAIRS else operand_kinds if name in ("std_mean", "var_mean") else kinds
    return tuple(
        [
            set_kinds(name, item, second_kinds if index == 1 else kinds, operand_kinds)
            for index, item in enumerate(value)
        ]
    )


def require_kinds(tensor: TracedTensor, kinds: str, call: Call, role: str) -> None:
    """Raise `CheckRefused` (element-kind) if no possible kind of an argument is in `kinds`."""
    if tensor.conventions.torch_checks and not {*kinds} & {*tensor.kinds}:
        message = f"{role} is {format_kinds(kinds)}, and its elements are {format_kinds(tensor.kinds)}"
        raise call.refusal(message, ELEMENT_KIND)


def require_equal_kinds(tensor: TracedTensor, source: CodeValue, call: Call) -> None:
    """Raise `CheckRefused` (element-kind) if two tensors have no possible kind in common.

    The elements of `source` are written to `tensor`.
    """
    if isinstance(source, TracedTensor) and tensor.conventions.torch_checks and not {*source.kinds} & {*tensor.kinds}:
        message = f"it writes {format_kinds(source.kinds)} elements to a tensor of {format_kinds(tensor.kinds)} ones"
        raise call.refusal(message, ELEMENT_KIND)


def range_conditions(
    index: TracedTensor, tensor: TracedTensor, axis: int, error: ErrorFactory, *, accepts_negative: bool = False
) -> Conditions:
    """Return the conditions under which known elements of an index are in range.

    The elements of `index` are positions along the axis `axis`. If `accepts_negative` is True, negative indices count
    from the end. Raises `CheckRefused` (index-out-of-range) if an element is out of range.
    """
    dim = tensor.shape[axis]
    if 0 in index.shape or (index.extremes is None and dim != 0):
        return ()
    low, high = index.extremes or (0, 0)
    try:
        if dim == 0 or (low < 0 and not accepts_negative):
            raise Unsatisfiable
        return (*require_min_size(dim, high + 1), *require_min_size(dim, -low))
    except Unsatisfiable:
        outside = low if low < 0 and (not accepts_negative or (isinstance(dim, int) and low < -dim)) else high
        raise CheckRefused(error(f"dim {axis} is {dim}, and has no index {outside}"), INDEX_OUT_OF_RANGE) from None


def require_indices(
    result: TracedTensor,
    index: TracedTensor,
    tensor: TracedTensor,
    axis: int,
    call: Call,
    *,
    accepts_negative: bool = False,
) -> TracedTensor:
    """Add to a result the conditions under which the elements of an index are in range.

    Raises `CheckRefused` if the index is not an integer, or if a known element of it is out of range.
    """
    require_kinds(index, "i", call, "the index")
    return attach_conditions(
        result, range_conditions(index, tensor, axis, call.error, accepts_negative=accepts_negative)
    )
