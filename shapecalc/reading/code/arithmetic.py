"""Operators on sizes and tuples, and indices of tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from math import isqrt, nan

from shapecalc.core.dims import Dim, Monomial, product, quotient
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.ops.select import SELECT
from shapecalc.core.ops.slice import SLICE
from shapecalc.core.text import SIZE_BOUND
from shapecalc.reading.code.values import CodeValue, ErrorFactory, TensorChunks, TracedTensor, is_number
from shapecalc.reading.preserving import ELEMENTWISE, SAME_TENSOR

MAX_EXPONENT = 64
OPERATOR_SYMBOLS = {
    "Add": "+",
    "Sub": "-",
    "Mult": "*",
    "Div": "/",
    "FloorDiv": "//",
    "Mod": "%",
    "Pow": "**",
    "MatMult": "@",
}
"""The symbol of each operator, by the name of its `ast` class."""
INTEGER_OPERATORS = {"+": operator.add, "-": operator.sub, "//": operator.floordiv, "%": operator.mod}
"""The operators that are defined on integers only."""


def apply_unary(value: CodeValue, op: ast.unaryop, error: ErrorFactory) -> CodeValue:
    """Apply a unary operator: `-`, `+`, `~` or `not`.

    Raises `ShapeError` (usage) if the operator is not defined for the value: `-` is not defined for a named size.
    """
    if isinstance(op, ast.Not):
        return not value if value is None or isinstance(value, int) else nan
    if isinstance(op, ast.UAdd) and is_number(value):
        return value
    if isinstance(op, ast.Invert) and isinstance(value, int):
        return ~value
    if isinstance(op, ast.USub) and isinstance(value, int | float):
        return -value
    if isinstance(value, TracedTensor):
        return value.preserve(SAME_TENSOR if isinstance(op, ast.UAdd) else ELEMENTWISE)
    raise error("a minus sign is allowed before numbers only, not before sizes")


def apply_binary(left: CodeValue, symbol: str, right: CodeValue, error: ErrorFactory) -> CodeValue:
    """Apply a binary operator to two sizes, or concatenate two tuples.

    Raises `ShapeError` (usage) for a sum of symbolic sizes, a division by 0, a result that is too large, or operands
    that are neither two sizes nor two tuples.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and symbol == "+":
        if len(left) + len(right) > MAX_SHAPE_DIMS:
            raise error(MAX_SHAPE_DIMS.message(f"{len(left) + len(right)} dims"))
        return left + right
    if not (is_number(left) and is_number(right)):
        raise error(f"{symbol} works between sizes only")
    if symbol == "**" and right == 0.5:
        return square_root(left)
    if symbol == "*":
        left, right = [
            int(operand) if isinstance(operand, float) and operand.is_integer() else operand
            for operand in (left, right)
        ]
    if isinstance(left, float) or isinstance(right, float):
        return nan
    result = _apply_to_dims(left, symbol, right, error)
    if isinstance(result, int) and abs(result) >= SIZE_BOUND:
        raise error("the number has more digits than any size")
    return result


def _apply_to_dims(left: Dim, symbol: str, right: Dim, error: ErrorFactory) -> Dim:
    if symbol == "*":
        return product((left, right))
    if symbol in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    if symbol in INTEGER_OPERATORS and isinstance(left, int) and isinstance(right, int):
        return int(INTEGER_OPERATORS[symbol](left, right))
    if symbol in ("/", "//"):
        ratio = quotient(left, right)
        if isinstance(ratio, Monomial) and not ratio.powers:
            raise error(f"{ratio} is not a whole number", "// divides and rounds down")
        return ratio
    if symbol == "**" and isinstance(right, int) and 0 <= right <= MAX_EXPONENT:
        return product([left] * right)
    raise error("a dim is a number or a product of names, never a sum", "give sizes with --where")


def square_root(value: CodeValue) -> int | float:
    """Return the square root of a perfect square; nan for any other value."""
    return isqrt(value) if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value else nan


def get_item(value: CodeValue, key: CodeValue, error: ErrorFactory) -> CodeValue:
    """Return an item or slice of a tuple, or a part of a split tensor.

    Raises `ShapeError` (usage) if there is no such item.
    """
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # an invalid key raises
        except (TypeError, IndexError, ValueError):
            raise error(f"there is no such element among {len(value)}") from None
    if isinstance(value, TensorChunks) and isinstance(key, int):
        if value.count is not None and not -value.count <= key < value.count:
            raise error(f"there is no such part among {value.count}")
        return value.chunk(key if value.count is None else key % value.count)
    raise error("only a shape, a tensor or its parts can be indexed")


TENSOR_ATTRIBUTES: dict[str, Callable[[TracedTensor], CodeValue]] = {
    "shape": lambda tensor: tensor.shape,
    "size": lambda tensor: product(tensor.shape),
    "ndim": lambda tensor: tensor.rank,
    "T": TracedTensor.reverse_axes,
    "mT": lambda tensor: tensor.permute([*range(tensor.rank)[:-2], tensor.rank - 1, tensor.rank - 2]),
    "data": lambda tensor: tensor,
}
"""Functions that evaluate the attributes of a tensor, by attribute name."""


def index_tensor(tensor: TracedTensor, key: CodeValue, error: ErrorFactory) -> TracedTensor:
    """Return the tensor after an index expression.

    An integer selects one index, a slice keeps a range, and None inserts a dim of size 1. Raises `ShapeError` (usage)
    for any other item.
    """
    items = _expand_index(key if isinstance(key, tuple) else (key,), tensor.rank, error)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    if any(part != slice(None) for part in slices):
        ends = [end for part in slices for end in (part.start, part.stop, part.step)]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise error("a slice takes whole numbers", "give sizes with --where")
        tensor = tensor.apply(SLICE, slices=tuple(slices))
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.apply(SELECT, axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([position for position, item in enumerate(kept) if item is None])
    return tensor.insert_axes(new) if new else tensor


def _expand_index(items: tuple[CodeValue, ...], rank: int, error: ErrorFactory) -> list[CodeValue]:
    """Expand the `...` of an index, and add full slices for omitted axes."""
    for item in items:
        is_integer = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or is_integer):
            raise error("an index is a whole number, a slice, None or ...")
    count = sum(item is not None and item is not Ellipsis for item in items)
    if count > rank or items.count(Ellipsis) > 1:
        raise error(f"{count} indices for {rank} dims" if count > rank else "two ... in one index")
    rest = [slice(None)] * (rank - count)
    gap = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:gap], *rest, *items[gap + 1 :]]


COMPARISON_SIGNS = {ast.Eq: (0,), ast.NotEq: (-1, 1), ast.Lt: (-1,), ast.LtE: (-1, 0), ast.Gt: (1,), ast.GtE: (0, 1)}
"""For each comparison operator, the signs of `left - right` for which it is true: `<=` is true for -1 and 0."""
