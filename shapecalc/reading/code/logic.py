"""Evaluate truth values and comparisons, and merge the values of two branches."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import isnan, nan

from shapecalc.core.dims import Monomial
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.reading.code.arithmetic import COMPARISON_SIGNS
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.values import (
    AlternativeValue,
    Binding,
    ClassValue,
    CodeDict,
    CodeList,
    CodeValue,
    FunctionValue,
    LayerInstance,
    LibraryName,
    ObjectValue,
    PartialValue,
    TensorChunks,
    TracedTensor,
    UnknownConditionError,
    derived_tensor,
    is_dim,
)

CALLABLES = (LayerInstance, ObjectValue, FunctionValue, ClassValue, LibraryName, AlternativeValue)
"""The types of values that can be called."""


def truth_value(value: CodeValue) -> bool | None:
    """Return the truth value of a value, or None if it is unknown."""
    if value is None or isinstance(value, bool | int | str | tuple):
        return bool(value)
    if isinstance(value, float):
        return None if isnan(value) else bool(value)
    if isinstance(value, CodeList):
        return bool(value.bindings)
    if isinstance(value, CodeDict):
        return bool(value.items)
    if isinstance(value, AlternativeValue) and value.may_be_none:
        return None
    return True if isinstance(value, (*CALLABLES, PartialValue)) else None


def is_explicitly_false(value: CodeValue) -> bool:
    """Return whether an option is set to a false value other than None."""
    return value is not None and truth_value(value) is False


def compare_values(left: CodeValue, sign: ast.cmpop, right: CodeValue) -> bool | float:
    """Compare values other than tensors, or return nan if the result is unknown."""
    if isinstance(sign, ast.In | ast.NotIn):
        return _evaluate_membership(right, left, is_negated=isinstance(sign, ast.NotIn))
    if _is_constant(left) and _is_constant(right):
        if isinstance(sign, ast.Eq | ast.Is):
            return left == right
        if isinstance(sign, ast.NotEq | ast.IsNot):
            return left != right
        if isinstance(left, int | float) and isinstance(right, int | float) and type(sign) in COMPARISON_SIGNS:
            return (left > right) - (left < right) in COMPARISON_SIGNS[type(sign)]
        return nan
    if is_dim(left) and is_dim(right) and left == right and type(sign) in COMPARISON_SIGNS:
        return 0 in COMPARISON_SIGNS[type(sign)]
    return nan


def _is_constant(value: CodeValue) -> bool:
    """Return whether a value is a constant, or a tuple or list of constants."""
    if isinstance(value, float):
        return not isnan(value)
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, int | str)


def _evaluate_membership(container: CodeValue, item: CodeValue, *, is_negated: bool) -> bool | float:
    """Evaluate `in` or `not in`, or return nan if the result is unknown."""
    if isinstance(container, CodeDict):
        items: tuple[object, ...] = (*container.items,)
    elif isinstance(container, CodeList):
        items = container.bindings
    elif isinstance(container, tuple):
        items = container
    elif isinstance(container, str) and isinstance(item, str):
        return (item in container) != is_negated
    else:
        return nan
    if not items:
        return is_negated
    if not _is_constant(item) or not all(_is_constant(part) for part in items):  # type: ignore[arg-type]
        return nan
    return (item in items) != is_negated


def make_set(items: Sequence[CodeValue]) -> CodeList:
    """Return a list of distinct items."""
    return CodeList([item for index, item in enumerate(items) if item not in items[:index]])


def freeze_value(value: CodeValue) -> CodeValue:
    """Return a value with its lists converted to tuples.

    Raises the error of an unknown item.
    """
    if isinstance(value, CodeList):
        return tuple([freeze_value(item) for item in value.items])
    return tuple([freeze_value(item) for item in value]) if isinstance(value, tuple) else value


def is_tuple_index(value: CodeList) -> bool:
    """Return whether PyTorch interprets a list in an index as a tuple of index items.

    It does so if an item is not a number.
    """
    items = (CodeList, tuple, slice, TracedTensor)
    return any(item is None or item is Ellipsis or isinstance(item, items) for item in value.bindings)


def merge_values(left: Binding, right: Binding, error: ShapeError) -> Binding:
    """Merge the values of a name after two branches.

    Returns `error` if the values differ.
    """
    if left is right:
        return left
    if left is MISSING or right is MISSING or isinstance(left, ShapeError) or isinstance(right, ShapeError):
        return error
    if isinstance(left, TracedTensor | None) and isinstance(right, TracedTensor | None):
        return _merge_tensors(left, right, error)
    if isinstance(left, TensorChunks) and isinstance(right, TensorChunks):
        return left if left == right else error
    if isinstance(left, tuple | CodeList) and type(left) is type(right):
        return _merge_sequences(left, right, error)
    if isinstance(left, int | float) and isinstance(right, int | float) and not (left == right and _is_constant(left)):
        return nan if isinstance(left, bool | float) and isinstance(right, bool | float) else error
    if isinstance(left, LayerInstance) and isinstance(right, LayerInstance) and left == right:
        return left
    if (called := _merge_callables(left, right, error)) is not None:
        return called
    if (size := _merge_defaults(left, right, error)) is not None:
        return size
    return left if type(left) is type(right) and (_is_constant(left) or is_dim(left)) and left == right else error


def _merge_defaults(left: CodeValue, right: CodeValue, error: ShapeError) -> Monomial | None:
    """Merge an unknown size with its default, as in `size = default if size is None else size`.

    The name then denotes the size in both cases. Returns None for other values.
    """
    tested = error.tested if isinstance(error, UnknownConditionError) else ()
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Monomial) and one in tested and is_dim(other) and other not in tested:
            return one
    return None


def _merge_callables(left: CodeValue, right: CodeValue, error: ShapeError) -> CodeValue:
    """Merge two functions or layers into one callable value, or return None for other values."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, LayerInstance) and one.name == "Activation" and isinstance(other, Monomial):
            return one  # `other` may be the name of the activation function
    if all(value is None or isinstance(value, CALLABLES) for value in (left, right)):
        values = [value for side in (left, right) for value in getattr(side, "values", (side,))]
        return AlternativeValue(values, error)
    return None


def _merge_sequences(
    left: tuple[CodeValue, ...] | CodeList, right: tuple[CodeValue, ...] | CodeList, error: ShapeError
) -> Binding:
    """Merge two sequences item by item with `merge_values`.

    Returns `error` if their lengths differ.
    """
    ours, theirs = [value.bindings if isinstance(value, CodeList) else value for value in (left, right)]
    if len(ours) != len(theirs):
        return error
    items = [merge_values(one, other, error) for one, other in zip(ours, theirs, strict=True)]
    if isinstance(left, CodeList):
        return CodeList(items)
    return error if any(isinstance(item, ShapeError) for item in items) else tuple(items)  # type: ignore[arg-type]


def _merge_tensors(left: TracedTensor | None, right: TracedTensor | None, error: ShapeError) -> Binding:
    """Merge two tensors of equal shape.

    If one of the values is None, the result is a tensor that may be None. Returns `error` if the shapes differ.
    """
    if left is None or right is None:
        tensor = right if left is None else left
        return None if tensor is None else replace(tensor, absence=error)
    if left == right:
        return left
    if left.shape != right.shape:
        return error
    strides = left.strides if left.strides == right.strides else None
    absence = left.absence or right.absence
    return replace(derived_tensor(left.shape, left, right), strides=strides, absence=absence)
