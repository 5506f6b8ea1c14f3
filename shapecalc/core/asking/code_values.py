"""What expressions of code stand for beside tensors: sizes, tuples of them, and the arithmetic that sizes have."""

from __future__ import annotations

from math import isqrt

from shapecalc.core.asking.code_tensors import Parts
from shapecalc.core.sizes.dims import Dim, Monomial, product, quotient
from shapecalc.core.sizes.text import TOO_LARGE
from shapecalc.core.sizes.tokens import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeGuard

    from shapecalc.core.asking.code_tensors import Failing, Tensor, Value

HIGHEST_POWER = 64


def is_number(value: Value) -> TypeGuard[Dim | float]:
    """Say whether a value is a size or another number."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: Value) -> TypeGuard[Dim]:
    """Say whether a value is a size: a whole number, or one with names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def negated(value: Value, failing: Failing) -> Value:
    """Return a number with its sign changed; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int | float):
        return -value
    raise failing("a minus sign is allowed before numbers only, not before sizes")


def arithmetic(left: Value, sign: str, right: Value, failing: Failing) -> Value:
    """Return what an operator makes of two sizes, or of two tuples that are joined.

    Raises `ShapeError` (usage) for what is no size: a sum with names, a division by 0, a number too large.
    """
    if isinstance(left, tuple) and isinstance(right, tuple) and sign == "+":
        if len(left) + len(right) > MOST_DIMS:
            raise failing(f"no shape has more than {MOST_DIMS} dims")
        return left + right
    if sign == "**" and right == 0.5:
        return root(left, failing)
    if not (is_dim(left) and is_dim(right)):
        raise failing(f"{sign} works between sizes only")
    found = _computed(left, sign, right, failing)
    if isinstance(found, int) and abs(found) >= TOO_LARGE:
        raise failing("the number has more digits than any size")
    return found


def _computed(left: Dim, sign: str, right: Dim, failing: Failing) -> Dim:
    if sign == "*":
        return product((left, right))
    if sign in ("/", "//", "%") and right == 0:
        raise failing("a division by 0")
    if sign in ("/", "//"):
        if isinstance(left, int) and isinstance(right, int) and (sign == "//" or left % right == 0):
            return left // right
        found = quotient(left, right)
        if isinstance(found, Monomial) and not found.powers:
            raise failing(f"{found} is not a whole number", "// divides and rounds down")
        return found
    if sign == "**" and isinstance(right, int) and 0 <= right <= HIGHEST_POWER:
        return product([left] * right)
    if isinstance(left, int) and isinstance(right, int) and sign in ("+", "-", "%"):
        return {"+": left + right, "-": left - right, "%": left % right if right else 0}[sign]
    raise failing("a dim is a number or a product of names, never a sum", "give sizes with --where")


def root(value: Value, failing: Failing) -> int:
    """Return the square root of a square; raise `ShapeError` (usage) for anything else."""
    if isinstance(value, int) and value >= 0 and isqrt(value) ** 2 == value:
        return isqrt(value)
    raise failing("a root needs a square number", "give sizes with --where")


def measure(tensor: Tensor, name: str) -> Value:
    """Return what an attribute says of a tensor's shape; None for other attributes."""
    if name == "shape":
        return tensor.shape
    if name == "size":
        return product(tensor.shape)
    return len(tensor.shape) if name == "ndim" else None


def element(value: Value, key: Value, failing: Failing) -> Value:
    """Return an element or a slice of a tuple, or a part of a tensor; raise `ShapeError` (usage) otherwise."""
    if isinstance(value, tuple):
        try:
            return value[key]  # type: ignore[index]  # the errors say what cannot be
        except (TypeError, IndexError, ValueError):
            raise failing(f"there is no such element among {len(value)}") from None
    if isinstance(value, Parts) and isinstance(key, int):
        if value.count < 1 or not -value.count <= key < value.count:
            raise failing(f"there is no such part among {value.count}")
        return value.part(key % value.count)
    raise failing("only a shape, a tensor or its parts can be indexed")
