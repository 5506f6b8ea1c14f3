"""Evaluate operators and index expressions on sizes, tuples and tensors."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from math import isnan, isqrt, nan

from shapecalc.core.dims import Dim, Monomial, dim_names, product, quotient
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE, SELECT
from shapecalc.core.ops.slice import SLICE
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import SIZE_BOUND
from shapecalc.reading.code.values import (
    UNKNOWN_ELEMENT,
    UNKNOWN_INTEGER,
    Binding,
    CheckRefused,
    CodeDict,
    CodeList,
    CodeValue,
    ErrorFactory,
    LayerInstance,
    ObjectValue,
    ProgramSizes,
    TensorChunks,
    TracedTensor,
    derived_tensor,
    index_count_error,
    is_number,
    unpack_chunks,
)
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
"""The symbol of each operator, keyed by the name of its `ast` class."""
INTEGER_OPERATORS = {"+": operator.add, "-": operator.sub, "//": operator.floordiv, "%": operator.mod}
"""The operators that have integer results for integers."""
NUMBER_OPERATORS = {**INTEGER_OPERATORS, "*": operator.mul, "/": operator.truediv, "**": operator.pow}
"""The operators on numbers that may be non-integral."""


def apply_unary_operator(value: CodeValue, op: ast.unaryop, error: ErrorFactory) -> CodeValue:
    """Apply `-`, `+` or `~` to a value.

    Raises `ShapeError` (usage) if the operator is not defined for the value. For example, `-` is not defined for a
    symbolic size.
    """
    if isinstance(op, ast.UAdd) and is_number(value):
        return value
    if isinstance(op, ast.Invert) and isinstance(value, int):
        return ~value
    if isinstance(op, ast.USub) and isinstance(value, int | float):
        return -value
    if isinstance(value, TracedTensor):
        result = value.apply_shape_preserving(SAME_TENSOR if isinstance(op, ast.UAdd) else ELEMENTWISE)
        is_negated = isinstance(op, ast.USub) and isinstance(value.size, int)
        return replace(result, size=-value.size) if is_negated else result  # type: ignore[operator]
    name = str(value) if isinstance(value, Monomial) and str(value).isidentifier() else ""
    hint = f"give the size: --where {name}=NUMBER" if name else ""
    raise error("a minus sign is allowed before numbers only, not before sizes", hint)


def apply_binary_operator(
    left: CodeValue, symbol: str, right: CodeValue, error: ErrorFactory, program: ProgramSizes | None = None
) -> CodeValue:
    """Apply a binary operator to numbers, sizes, tuples or strings.

    `program` gives a sum of symbolic sizes a new name. Raises `ShapeError` (usage) for such a sum without a program, a
    division by 0, a result that is too large, or operands of other types.
    """
    if isinstance(left, tuple | str) or isinstance(right, tuple | str):
        return _apply_sequence_operator(left, symbol, right, error)
    if not (is_number(left) and is_number(right)):
        raise error(f"{symbol} works between sizes only")
    if symbol == "*":
        left, right = [
            int(operand) if isinstance(operand, float) and operand.is_integer() else operand
            for operand in (left, right)
        ]
    if symbol == "**" and right == 0.5:
        return square_root(left)
    if isinstance(left, float) or isinstance(right, float):
        return _apply_number_operator(left, symbol, right, error)
    result = _apply_dim_operator(left, symbol, right, error, program)
    if isinstance(result, int) and abs(result) >= SIZE_BOUND:
        raise error("the number has more digits than any size")
    return result


def _apply_sequence_operator(left: CodeValue, symbol: str, right: CodeValue, error: ErrorFactory) -> CodeValue:
    """Concatenate or repeat tuples or strings.

    String formatting with `%` returns nan, because its result is unknown.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and symbol == "+":
        return _check_length(left + right, error)
    for items, count in ((left, right), (right, left)):
        if isinstance(items, tuple | str) and isinstance(count, int) and symbol == "*":
            if len(items) * count > MAX_SHAPE_DIMS:
                raise error(MAX_SHAPE_DIMS.message(f"{len(items) * count} dims"))
            return items * count
    if isinstance(left, str) and isinstance(right, str) and symbol == "+":
        return left + right
    if isinstance(left, str) and symbol == "%":
        return nan
    raise error(f"{symbol} works between sizes only")


def _check_length(items: tuple[CodeValue, ...], error: ErrorFactory) -> tuple[CodeValue, ...]:
    if len(items) > MAX_SHAPE_DIMS:
        raise error(MAX_SHAPE_DIMS.message(f"{len(items)} dims"))
    return items


def _apply_number_operator(left: Dim | float, symbol: str, right: Dim | float, error: ErrorFactory) -> int | float:
    """Apply an operator to two numbers, at least one of which is not an integer.

    Returns nan for symbolic sizes and on overflow.
    """
    unknown = next((part for part in (left, right) if part is UNKNOWN_ELEMENT or part is UNKNOWN_INTEGER), None)
    if unknown is not None:
        return unknown if symbol in INTEGER_OPERATORS or symbol == "*" else UNKNOWN_ELEMENT
    if isinstance(left, Monomial) or isinstance(right, Monomial) or symbol not in NUMBER_OPERATORS:
        return nan
    if symbol in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    try:
        result = NUMBER_OPERATORS[symbol](left, right)
    except (OverflowError, ValueError, ZeroDivisionError):
        return nan
    return result if isinstance(result, int | float) else nan


def _apply_dim_operator(
    left: Dim, symbol: str, right: Dim, error: ErrorFactory, program: ProgramSizes | None
) -> Dim | float:
    if symbol == "*":
        return product((left, right))
    if symbol in ("/", "//", "%") and right == 0:
        raise error("a division by 0")
    if symbol in INTEGER_OPERATORS and isinstance(left, int) and isinstance(right, int):
        return int(INTEGER_OPERATORS[symbol](left, right))
    if symbol == "%" and isinstance(right, int) and right > 0 and program is not None:
        return program.modulo(left, right)
    if symbol in ("/", "//"):
        ratio = quotient(left, right)
        return ratio.numerator / ratio.denominator if isinstance(ratio, Monomial) and not ratio.powers else ratio
    if symbol == "**" and isinstance(right, int) and 0 <= right <= MAX_EXPONENT:
        return product([left] * right)
    if symbol == "**" and isinstance(left, int) and isinstance(right, int) and -MAX_EXPONENT <= right < 0 < left:
        return float(left) ** right
    if symbol in ("+", "-") and program is not None:
        return program.add_dims(left, right if symbol == "+" else product((-1, right)))
    raise error("a dim is a number or a product of names, never a sum", "give sizes with --where")


def square_root(value: CodeValue) -> int | float:
    """Return the square root of a number, or nan if it is unknown."""
    if isinstance(value, int) and value >= 0:
        return isqrt(value) if isqrt(value) ** 2 == value else float(value) ** 0.5
    return value**0.5 if isinstance(value, float) and value >= 0 else nan


def get_item(value: CodeValue, key: CodeValue, error: ErrorFactory) -> CodeValue:
    """Return an item or a slice of a tuple, a dict or a split tensor.

    Raises `ShapeError` (usage) if there is no such item.
    """
    if isinstance(value, LayerInstance) and value.name == "Sequential":
        part = get_item(value.positional, key, error)
        return replace(value, positional=part) if isinstance(part, tuple) else part
    if isinstance(value, CodeDict):
        return _get_dict_item(value, key, error)
    if isinstance(value, ObjectValue) and value.fields:
        names = [*value.fields]
        return get_item(
            CodeList(value.fields.values()), names.index(key) if isinstance(key, str) and key in names else key, error
        )
    items: CodeValue | tuple[Binding, ...] = value.bindings if isinstance(value, CodeList) else value
    if isinstance(items, tuple | str):
        try:
            item: Binding = items[key]  # type: ignore[index]  # an invalid key raises
        except (TypeError, IndexError, ValueError):
            raise error(f"there is no such element among {len(items)}") from None
        if isinstance(item, ShapeError):
            raise item
        return CodeList(item) if isinstance(value, CodeList) and isinstance(key, slice) else item  # type: ignore[arg-type]
    if isinstance(value, TensorChunks) and isinstance(key, slice):
        return get_item(unpack_chunks(value), key, error)
    if isinstance(value, TensorChunks) and isinstance(key, int):
        if value.count is not None and not -value.count <= key < value.count:
            raise CheckRefused(error(f"part {key} does not exist: there are {value.count}"), INDEX_OUT_OF_RANGE)
        return value.chunk(key if value.count is None else key % value.count)
    raise error("only a shape, a tensor or its parts can be indexed")


def _get_dict_item(value: CodeDict, key: CodeValue, error: ErrorFactory) -> CodeValue:
    """Return the value of a key in a dict.

    Raises `ShapeError` (usage) for a missing key.
    """
    if (key is None or isinstance(key, str | int)) and key in value.items:
        item = value.items[key]
        if isinstance(item, ShapeError):
            raise item
        return item
    raise error(f"there is no such key among {len(value.items)}")


def complex_part(tensor: TracedTensor) -> TracedTensor:
    """Return a view of the real or imaginary part of a tensor."""
    kinds = "".join(dict.fromkeys(tensor.kinds.replace("c", "f")))
    return replace(
        tensor.apply_shape_preserving(ELEMENTWISE), kinds=kinds, strides=None if "c" in tensor.kinds else tensor.strides
    )


TENSOR_ATTRIBUTES: dict[str, Callable[[TracedTensor], CodeValue]] = {
    "shape": lambda tensor: tensor.shape,
    "size": lambda tensor: product(tensor.shape),
    "ndim": lambda tensor: tensor.rank,
    "T": TracedTensor.reverse_axes,
    "mT": lambda tensor: tensor.permute([*range(tensor.rank)[:-2], tensor.rank - 1, tensor.rank - 2]),
    "data": lambda tensor: tensor,
    **dict.fromkeys(("real", "imag"), complex_part),
}
"""Functions that evaluate the attributes of a tensor, keyed by attribute name."""


def index_tensor(tensor: TracedTensor, key: CodeValue, error: ErrorFactory) -> TracedTensor:
    """Index a tensor with integers, slices and None.

    An integer selects one index, a slice keeps a range, and None inserts a dim of size 1. Raises `ShapeError` (usage)
    for any other item.
    """
    items = _expand_index(key if isinstance(key, tuple) else (key,), tensor.rank, error)
    axes = [item for item in items if item is not None]
    slices = [item if isinstance(item, slice) else slice(None) for item in axes]
    data_dependent = [bool({*dim_names([dim])} & tensor.program.data_dependent_names) for dim in tensor.shape]
    unknown = [
        axis
        for axis, part in enumerate(slices)
        if any(map(_depends_on_elements, _slice_ends(part))) or (data_dependent[axis] and part != slice(None))
    ]
    slices = [slice(None) if axis in unknown else part for axis, part in enumerate(slices)]
    if any(part != slice(None) for part in slices):
        ends = [end for part in slices for end in _slice_ends(part)]
        if not all(end is None or isinstance(end, int) for end in ends):
            raise error(
                "a slice takes whole numbers", unknown=next((end for end in ends if isinstance(end, Monomial)), None)
            )
        tensor = tensor.apply(SLICE, slices=tuple(slices))
    if unknown:
        dims = [tensor.program.new_name("K") if axis in unknown else dim for axis, dim in enumerate(tensor.shape)]
        tensor = replace(derived_tensor(tuple(dims), tensor), strides=None)
    for axis in reversed(range(len(axes))):
        if isinstance(axes[axis], int):
            tensor = tensor.apply(SELECT, axis=axis, index=axes[axis])
    kept = [item for item in items if item is None or isinstance(item, slice)]
    new = tuple([position for position, item in enumerate(kept) if item is None])
    return tensor.insert_axes(new) if new else tensor


def _slice_ends(part: slice) -> tuple[CodeValue, ...]:
    return part.start, part.stop, part.step


def _depends_on_elements(value: CodeValue) -> bool:
    """Return whether a value is an unknown number that depends on tensor elements."""
    return (isinstance(value, float) and isnan(value)) or (isinstance(value, TracedTensor) and not value.rank)


def _expand_index(items: tuple[CodeValue, ...], rank: int, error: ErrorFactory) -> list[CodeValue]:
    """Replace `...` and omitted axes in an index with full slices."""
    for item in items:
        is_integer = isinstance(item, int) and not isinstance(item, bool)
        if not (item is None or item is Ellipsis or isinstance(item, slice) or is_integer):
            raise error("an index is a whole number, a slice, None or ...")
    count = sum(item is not None and item is not Ellipsis for item in items)
    if count > rank or items.count(Ellipsis) > 1:
        raise index_count_error(count, rank, error)
    rest = [slice(None)] * (rank - count)
    gap = items.index(Ellipsis) if Ellipsis in items else len(items)
    return [*items[:gap], *rest, *items[gap + 1 :]]


COMPARISON_SIGNS = {ast.Eq: (0,), ast.NotEq: (-1, 1), ast.Lt: (-1,), ast.LtE: (-1, 0), ast.Gt: (1,), ast.GtE: (0, 1)}
"""For each comparison operator, the signs of `left - right` for which it is true: `<=` is true for -1 and 0."""
