"""Unflatten: one axis is cut into several."""

from __future__ import annotations

from _collections_abc import Iterator

from shapecalc.core.answers import Kind, Reasons, Stage, Step
from shapecalc.core.conditions import Conditions, equal, required
from shapecalc.core.dialects.base import Holds, Operator, Param, Setting, check_hole, check_rank, checked_volume, recut
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.axes import existing_axis
from shapecalc.core.ops.op import Arguments, Changes, Op, vectors
from shapecalc.core.ops.reshape import Target
from shapecalc.core.problem import ShapeError, refusal
from shapecalc.core.record import replace
from shapecalc.core.rules import GIVEN, INDIVISIBLE, KEPT_DIM, MISSING_ARGUMENT, VOLUME_MISMATCH, ZERO_VOLUME_INFER
from shapecalc.core.text import brief, left_over

NEAR = 6
"""The maximum difference between a size and its candidates."""


class Parts(Target):
    """The state of the sizes of an axis while they are resolved."""

    __slots__ = ("axis",)

    def __init__(self, shape: Shape, at: Setting, axis: int, sizes: Shape) -> None:
        """Set the state as for a tensor with that axis alone."""
        super().__init__(shape[axis : axis + 1], at, sizes, "sizes")
        self.axis = axis

    def _indivisible(self, hole: int, have: Dim, known: Dim) -> ShapeError:
        remainder = left_over(have, known)
        message = f"dim {self.axis}, {brief(str(have))}, cannot be divided by {brief(str(known))}{remainder}"
        return refusal(INDIVISIBLE, message, argument="sizes", index=hole)


def unflatten(shape: Shape, at: Setting, axis: int, sizes: Shape) -> Reasons:
    """Cut an axis into `sizes`, of which one may be -1.

    The other axes stay, and may be of size 0. Source: torch.unflatten ("expands a dimension of the input tensor over
    multiple dimensions"). Raises `ShapeError`: axis-out-of-range, missing-argument, two-infers, below-minus-one,
    zero-volume-infer, indivisible, volume-mismatch, rank-limit, overflow.
    """
    yield Stage(Kind.RESHAPE, "unflatten", "sizes", shape)
    cut_axis = existing_axis(axis, shape, at)
    if not sizes:
        raise refusal(MISSING_ARGUMENT, "an axis is cut into at least one size", argument="sizes")
    target = (*shape[:cut_axis], *sizes, *shape[cut_axis + 1 :])
    yield Stage(Kind.RESHAPE, "unflatten", "sizes", shape, target)
    check_rank(target, at.row, "sizes")
    dims = list(target)
    for step in _steps(shape, at, cut_axis, sizes):
        dims[step.out or 0] = step.dim
        yield step
    output = tuple(dims)
    conditions = _same_size(
        shape[cut_axis],
        cut_axis,
        checked_volume(output[cut_axis : cut_axis + len(sizes)], "sizes"),
    )
    checked_volume(output, "input")
    return (yield from recut(shape, output, conditions))


def _steps(shape: Shape, at: Setting, cut: int, sizes: Shape) -> Iterator[Step]:
    """Yield the step of each dim; that of the inferred size is last."""
    resolver, infer_index = Parts(shape, at, cut, sizes), None
    for out, dim in enumerate((*shape[:cut], *sizes, *shape[cut + 1 :])):
        index, source = out - cut, out if out < cut else out - len(sizes) + 1
        if not 0 <= index < len(sizes):
            yield Step(KEPT_DIM, out, (source,), dim)
        elif isinstance(dim, int) and dim < 0:
            check_hole(index, dim, infer_index, "sizes")
            infer_index = index
        else:
            step = resolver.zero(index) if dim == 0 else Step(GIVEN, index, (), dim)
            yield Step(step.rule, out, (cut,), dim)
    if infer_index is not None:
        known = checked_volume(tuple(resolver.dims), "sizes")
        yield replace(resolver.inferred(shape, known, infer_index), out=cut + infer_index, sources=(cut,))


def _same_size(dim: Dim, axis: int, made: Dim) -> Conditions:
    """Return the conditions under which sizes multiply to the dim of an axis.

    Raises `ShapeError`: volume-mismatch.
    """
    message = f"dim {axis} is {brief(str(dim))}, and the sizes multiply to {brief(str(made))}"
    return required(equal, dim, made, refusal(VOLUME_MISMATCH, message, argument="sizes"))


def _other_sizes(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the sizes with one replaced, from the right.

    It becomes -1, or, if the sizes have a -1, a number nearby.
    """
    sizes = arguments["sizes"]
    for index in range(len(sizes))[::-1]:
        size, others = sizes[index], [-1]
        if -1 in sizes and isinstance(size, int) and size != -1:
            others = sorted(range(max(1, size - NEAR), size + NEAR), key=lambda other: abs(other - size))
        yield from (("sizes", (*sizes[:index], other, *sizes[index + 1 :])) for other in others)


UNFLATTEN = Op(
    name="unflatten",
    summary="Cut one axis into several.",
    params=(
        Param("axis", Holds.INT, "the axis that is cut", positional=True, required=True),
        Param("sizes", Holds.TARGET, "what it is cut into; one may be -1", positional=True, required=True),
    ),
    steps=unflatten,
    operators={"torch": Operator("unflatten")},
    examples=("unflatten 2,12 1 3,-1", "unflatten B,T,C -1 h,-1 --explain", "unflatten 0,12 1 3,4"),
    vectors=vectors(
        "axis sizes",
        ("2,12", "1 3,-1", "-1 3,4", "1 12", "1 5,-1", "1 3,5", "1 -1,-1", "1 -2,6", "1 []", "2 3,4"),
        ("0,12", "1 3,-1"),
        ("2,0", "1 0,-1", "1 3,-1"),
        ("[]", "0 1"),
        ("B,T,C", "-1 h,-1"),
        ("N,L", "1 2,6"),
    ),
    default_dialect="torch",
    changes={
        **dict.fromkeys((INDIVISIBLE, VOLUME_MISMATCH, ZERO_VOLUME_INFER), _other_sizes),
        MISSING_ARGUMENT: lambda *_: iter([("sizes", (-1,))]),
    },
)
