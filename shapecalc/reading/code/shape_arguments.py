"""Convert and check the arguments of shape functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.mean import EMPTY_REDUCTION
from shapecalc.core.rules import REPEATED_AXIS
from shapecalc.core.text import shape_text
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.values import CodeValue, TracedTensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

BoundArguments: TypeAlias = "Mapping[str, Any]"
"""The arguments of a call, keyed by parameter. An omitted argument has its default, or None."""
ResultFunction: TypeAlias = "Callable[[TracedTensor, BoundArguments, Call], CodeValue]"
"""A function that returns the result of a call, given its first tensor and its other arguments."""


def replace_dim(shape: Shape, axis: int, dim: Dim) -> Shape:
    """Return a shape with one dim replaced."""
    return (*shape[:axis], dim, *shape[axis + 1 :])


def require_tensor(value: CodeValue, call: Call) -> TracedTensor:
    """Check that a value is a tensor, and return it.

    Raises `ShapeError` (usage) for any other value.
    """
    if not isinstance(value, TracedTensor):
        raise call.error("another tensor's shape is not known", "give all shapes: --input 'x=N,C w=C,D'")
    return value


def to_dims(value: CodeValue, count: int, call: Call) -> Shape:
    """Convert a value to `count` sizes.

    A single size is repeated.
    """
    values = value if isinstance(value, tuple) else (value,) * count
    if len(values) != count:
        raise call.error(f"{call.name} needs {count} sizes")
    return tuple(map(call.to_dim, values))


def require_elements(tensor: TracedTensor, reduced: Iterable[int], call: Call) -> None:
    """Raise `CheckRefused` (empty-reduction) if one of the axes `reduced` has size 0."""
    for axis in reduced:
        if tensor.shape[axis] == 0:
            raise call.refusal(f"dim {axis} is 0, and {call.name} needs an element", EMPTY_REDUCTION)


def require_distinct_axes(axes: Sequence[int], call: Call) -> None:
    """Raise `CheckRefused` (repeated-axis) if an axis occurs twice."""
    repeated = [axis for position, axis in enumerate(axes) if axis in axes[:position]]
    if repeated:
        raise call.refusal(f"axis {repeated[0]} is named twice", REPEATED_AXIS)


def require_flag(value: CodeValue, call: Call) -> None:
    """Raise `ShapeError` (usage) if the argument keepdim is a number, as in `x.sum(-1, -2)`."""
    if isinstance(value, int) and not isinstance(value, bool):
        raise call.error(f"keepdim is True or False, not {value}", "write several dims in a tuple")


def require_equal_shapes(tensor: TracedTensor, other: TracedTensor, call: Call) -> None:
    """Raise `CheckRefused` if two shapes differ."""
    if tensor.rank != other.rank or any(map(are_different_integers, tensor.shape, other.shape)):
        raise call.refusal(f"it takes equal shapes, not {shape_text(tensor.shape)} and {shape_text(other.shape)}")


def are_different_integers(one: Dim, other: Dim) -> bool:
    """Return whether two sizes are integers that differ."""
    return isinstance(one, int) and isinstance(other, int) and one != other
