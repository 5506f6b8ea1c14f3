"""Calls in code that return sizes: of the tensor, or of a shape."""

from __future__ import annotations

from shapecalc.core.asking.code_tensors import Tensor
from shapecalc.core.asking.code_values import is_dim, root
from shapecalc.core.sizes.dims import Shape, product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from shapecalc.core.asking.code_arguments import Arguments
    from shapecalc.core.asking.code_tensors import Value


def _shape_of(value: Value, given: Arguments) -> Value:
    if not isinstance(value, Tensor):
        raise given.failing(f"{given.name} works on the tensor only")
    (axis,) = given.named("dim/axis")
    if axis is None:
        return value.shape
    place = given.whole(axis)
    if not -value.rank <= place < value.rank:
        raise given.failing(f"there is no dim {place} among {value.rank}")
    return value.shape[place]


def _length(value: Value, given: Arguments) -> Value:
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, tuple):
        return len(value)
    raise given.failing("only a shape or a tensor has a length")


def _rank(value: Value, given: Arguments) -> Value:
    return len(_all_dims(value, given))


def _count(value: Value, given: Arguments) -> Value:
    return product(_all_dims(value, given))


def _all_dims(value: Value, given: Arguments) -> Shape:
    dims = value.shape if isinstance(value, Tensor) else value
    if not isinstance(dims, tuple) or not all(map(is_dim, dims)):
        raise given.failing(f"{given.name} works on a shape or on the tensor only")
    return dims  # type: ignore[return-value]


def _root(value: Value, given: Arguments) -> Value:
    return value if isinstance(value, Tensor) else root(value, given.failing)


def _same(value: Value, given: Arguments) -> Value:
    if isinstance(value, tuple) or is_dim(value):
        return value
    raise given.failing(f"{given.name} works on sizes only")


MEASURES: dict[str, Callable[[Value, Arguments], Value]] = {
    "size": _shape_of,
    "shape": _shape_of,
    "get_shape": _shape_of,
    "as_list": _same,
    **dict.fromkeys(("int", "tuple", "list", "Size", "TensorShape", "floor"), _same),
    "len": _length,
    **dict.fromkeys(("sqrt", "isqrt"), _root),
    **dict.fromkeys(("dim", "ndimension", "rank"), _rank),
    **dict.fromkeys(("numel", "prod", "nelement"), _count),
}
"""The calls that return sizes."""
