"""Unflatten: split one axis into several."""

from __future__ import annotations

from collections.abc import Iterator

from shapecalc.core.answers import OpEvents, Stage, StageKind, Step
from shapecalc.core.conditions import Conditions, require_equal, require_or_raise
from shapecalc.core.dialects.base import (
    Operator,
    Param,
    ParamKind,
    Setting,
    check_negative_dim,
    check_rank,
    check_volume,
    regroup_elements,
)
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.ops.axes import normalize_tensor_axis
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, make_vectors
from shapecalc.core.ops.reshape import TargetResolver
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.record import replace
from shapecalc.core.rules import GIVEN, INDIVISIBLE, KEPT_DIM, MISSING_ARGUMENT, VOLUME_MISMATCH, ZERO_VOLUME_INFER
from shapecalc.core.text import remainder_text, truncate

SEARCH_RADIUS = 6
"""The maximum difference between a size and its replacement."""


class SizesResolver(TargetResolver):
    """A `TargetResolver` for the sizes into which an axis is split."""

    __slots__ = ("axis",)

    def __init__(self, shape: Shape, rules: Setting, axis: int, sizes: Shape) -> None:
        """Start with the split axis as the only input dim."""
        super().__init__(shape[axis : axis + 1], rules, sizes, "sizes")
        self.axis = axis

    def _indivisible_error(self, infer_index: int, count: Dim, known: Dim) -> ShapeError:
        remainder = remainder_text(count, known)
        message = f"dim {self.axis}, {truncate(str(count))}, cannot be divided by {truncate(str(known))}{remainder}"
        return rule_error(INDIVISIBLE, message, argument="sizes", index=infer_index)


def unflatten(shape: Shape, rules: Setting, axis: int, sizes: Shape) -> OpEvents:
    """Split an axis into `sizes`, of which one may be -1.

    The other axes are unchanged, and may have size 0. Source: torch.unflatten ("expands a dimension of the input tensor
    over multiple dimensions"). Raises `ShapeError`: axis-out-of-range, missing-argument, two-infers, below-minus-one,
    zero-volume-infer, indivisible, volume-mismatch, rank-limit, overflow.
    """
    yield Stage(StageKind.RESHAPE, "unflatten", "sizes", shape)
    cut_axis = normalize_tensor_axis(axis, shape, rules)
    if not sizes:
        raise rule_error(MISSING_ARGUMENT, "an axis is cut into at least one size", argument="sizes")
    target = (*shape[:cut_axis], *sizes, *shape[cut_axis + 1 :])
    yield Stage(StageKind.RESHAPE, "unflatten", "sizes", shape, target)
    check_rank(target, rules.dialect, "sizes")
    dims = list(target)
    for step in _dim_steps(shape, rules, cut_axis, sizes):
        dims[step.out or 0] = step.dim
        yield step
    output = tuple(dims)
    conditions = _product_conditions(
        shape[cut_axis],
        cut_axis,
        check_volume(output[cut_axis : cut_axis + len(sizes)], "sizes"),
    )
    check_volume(output, "input")
    return (yield from regroup_elements(shape, output, conditions))


def _dim_steps(shape: Shape, rules: Setting, axis: int, sizes: Shape) -> Iterator[Step]:
    """Yield the step of each output dim; the step of the inferred size is last."""
    resolver, infer_index = SizesResolver(shape, rules, axis, sizes), None
    for out, dim in enumerate((*shape[:axis], *sizes, *shape[axis + 1 :])):
        index, source = out - axis, out if out < axis else out - len(sizes) + 1
        if not 0 <= index < len(sizes):
            yield Step(KEPT_DIM, out, (source,), dim)
        elif isinstance(dim, int) and dim < 0:
            check_negative_dim(index, dim, infer_index, "sizes")
            infer_index = index
        else:
            step = resolver.resolve_zero(index) if dim == 0 else Step(GIVEN, index, (), dim)
            yield Step(step.rule, out, (axis,), dim)
    if infer_index is not None:
        known = check_volume(tuple(resolver.dims), "sizes")
        yield replace(resolver.resolve_infer(shape, known, infer_index), out=axis + infer_index, sources=(axis,))


def _product_conditions(dim: Dim, axis: int, size_product: Dim) -> Conditions:
    """Return the conditions under which the product of the sizes is the axis size.

    Raises `ShapeError` (volume-mismatch) if the product is never the axis size.
    """
    message = f"dim {axis} is {truncate(str(dim))}, and the sizes multiply to {truncate(str(size_product))}"
    return require_or_raise(require_equal, dim, size_product, rule_error(VOLUME_MISMATCH, message, argument="sizes"))


def _size_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield the sizes with one size replaced, from right to left.

    The replacement is -1, or a nearby number if the sizes already contain a -1.
    """
    sizes = arguments["sizes"]
    for index in range(len(sizes))[::-1]:
        size, others = sizes[index], [-1]
        if -1 in sizes and isinstance(size, int) and size != -1:
            others = sorted(
                range(max(1, size - SEARCH_RADIUS), size + SEARCH_RADIUS), key=lambda other: abs(other - size)
            )
        yield from (("sizes", (*sizes[:index], other, *sizes[index + 1 :])) for other in others)


UNFLATTEN = Op(
    name="unflatten",
    summary="Split one axis into several.",
    params=(
        Param("axis", ParamKind.INT, "the axis to split", positional=True, required=True),
        Param("sizes", ParamKind.TARGET, "the new sizes; one may be -1", positional=True, required=True),
    ),
    resolve=unflatten,
    operators={"torch": Operator("unflatten")},
    examples=("unflatten 2,12 1 3,-1", "unflatten B,T,C -1 h,-1 --explain", "unflatten 0,12 1 3,4"),
    vectors=make_vectors(
        "axis sizes",
        ("2,12", "1 3,-1", "-1 3,4", "1 12", "1 5,-1", "1 3,5", "1 -1,-1", "1 -2,6", "1 []", "2 3,4"),
        ("0,12", "1 3,-1"),
        ("2,0", "1 0,-1", "1 3,-1"),
        ("[]", "0 1"),
        ("B,T,C", "-1 h,-1"),
        ("N,L", "1 2,6"),
    ),
    default_dialect="torch",
    fix_candidates={
        **dict.fromkeys((INDIVISIBLE, VOLUME_MISMATCH, ZERO_VOLUME_INFER), _size_candidates),
        MISSING_ARGUMENT: lambda *_: iter([("sizes", (-1,))]),
    },
)
