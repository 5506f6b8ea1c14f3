"""Propose a line of code that binds the undefined names in a reshape target to dims of the input.

In `x.view(B, T, 4, 2)` of a tensor `2,3,8`, the names B and T are probably the first two dims.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from shapecalc.core.dims import Monomial, Shape, product, substitute
from shapecalc.reading.code.values import CodeValue, is_dim


def propose_binding(name: str, shape: Shape, target: Sequence[CodeValue], bound: Collection[str]) -> str:
    """Return a line such as `B, T = x.shape[:2]`, or an empty string if the dims do not fit.

    `name` is the name of the tensor, and `bound` contains the names that the code already binds.

    >>> from shapecalc.core.text import parse_dims
    >>> propose_binding("x", (2, 3, 8), parse_dims("B,T,4,2"), ())
    'B, T = x.shape[:2]'
    >>> propose_binding("x", (2, 3, 8), parse_dims("B,T,h,C/h"), ())
    'B, T, C = x.shape'
    >>> propose_binding("x", (2, 3, 8), parse_dims("B,-1,C"), ())
    'B, C = x.shape[0], x.shape[2]'
    """
    if (whole := _name_all_dims(shape, target, bound)) is not None:
        return f"{', '.join(whole)} = {name}.shape"
    axes = {str(dim): axis for axis, dim in enumerate(target[: len(shape)]) if _is_free_name(dim, bound)}
    sizes = {free: shape[axis] for free, axis in axes.items()}
    if not axes or not all(isinstance(dim, int) for dim in shape) or not _has_equal_element_count(shape, target, sizes):
        return ""
    bound_axes = [*axes.values()]
    leads = bound_axes == [*range(len(bound_axes))] and len(bound_axes) > 1
    values = (
        f"{name}.shape[:{len(bound_axes)}]" if leads else ", ".join([f"{name}.shape[{axis}]" for axis in bound_axes])
    )
    return f"{', '.join(axes)} = {values}"


def _name_all_dims(shape: Shape, target: Sequence[CodeValue], bound: Collection[str]) -> list[str] | None:
    """Return a name for each dim if the target splits the last dim, or None.

    For example, `view(B, T, heads, C // heads)` splits the last dim.
    """
    first, rest = target[: len(shape) - 1], target[len(shape) - 1 :]
    dims = [dim for dim in rest if is_dim(dim) and dim != -1]
    last = product(dims) if len(rest) > 1 and len(dims) == len(rest) else -1
    names = [*first, last]
    is_free = all(_is_free_name(dim, bound) for dim in names) and all(isinstance(dim, int) for dim in shape)
    texts = [*map(str, names)]
    return texts if is_free and len({*texts}) == len(shape) else None


def _is_free_name(dim: CodeValue, bound: Collection[str]) -> bool:
    return isinstance(dim, Monomial) and str(dim).isidentifier() and str(dim) not in bound


def _has_equal_element_count(shape: Shape, target: Sequence[CodeValue], sizes: Mapping[str, object]) -> bool:
    """Return whether a target has as many elements as a shape, given the sizes of its names."""
    numbers = {name: size for name, size in sizes.items() if isinstance(size, int)}
    dims = [substitute(dim, numbers) if isinstance(dim, Monomial) else dim for dim in target]
    known = [dim for dim in dims if is_dim(dim) and isinstance(dim, int)]
    if len(known) < len(dims):
        return False
    count, total = product([dim for dim in known if dim != -1]), product(shape)
    assert isinstance(count, int)
    assert isinstance(total, int)
    return total == count if -1 not in known else count > 0 and total % count == 0
