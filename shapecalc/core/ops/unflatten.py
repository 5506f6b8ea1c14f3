"""Unflatten: split one axis into several axes."""

from __future__ import annotations

from shapecalc.core.answers import Stage, StageBuilder, StageKind, Stages, Step
from shapecalc.core.conditions import Conditions, require_equal, require_relation
from shapecalc.core.dialects.base import (
    Operator,
    Param,
    ParamType,
    RequestRules,
    check_rank,
    compute_volume,
    regroup_step,
)
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Reshape
from shapecalc.core.ops.axes import normalize_nonscalar_axis
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, make_test_vectors
from shapecalc.core.ops.reshape import ReshapeTarget
from shapecalc.core.problem import ShapeError, rule_error
from shapecalc.core.record import replace
from shapecalc.core.rules import INDIVISIBLE, KEPT_DIM, MISSING_ARGUMENT, VOLUME_MISMATCH, ZERO_VOLUME_INFER
from shapecalc.core.text import remainder_text, truncate

SEARCH_RADIUS = 6
"""The maximum difference between a refused size and the suggested sizes."""


class SizesTarget(ReshapeTarget):
    """The requested sizes of the parts of an axis.

    They are resolved like the target of a reshape of a vector.
    """

    __slots__ = ("axis", "full_shape")

    def __init__(self, shape: Shape, rules: RequestRules, axis: int, sizes: Shape) -> None:
        """Create a target from the requested sizes of one axis of `shape`."""
        super().__init__(shape[axis : axis + 1], rules, sizes, "sizes")
        self.axis, self.full_shape = axis, shape

    def _indivisible_error(self, infer_index: int, count: Dim, known: Dim) -> ShapeError:
        remainder = remainder_text(count, known)
        message = f"dim {self.axis}, {truncate(str(count))}, cannot be divided by {truncate(str(known))}{remainder}"
        return rule_error(INDIVISIBLE, message, argument="sizes", index=infer_index)

    def require_equal_counts(self, output: Shape, known: Dim) -> Conditions:
        """Return the conditions under which the product of the sizes is the axis size."""
        return _product_conditions(self.shape[0], self.axis, known)

    def explain(self, stage: Stage) -> tuple[Step, ...]:
        """Return the steps of the output dims, or of the dims before an error."""
        shape, axis = self.full_shape, self.axis
        steps = [Step(KEPT_DIM, out, (out,), dim) for out, dim in enumerate(shape[:axis])]
        own = self.dim_steps()
        inferred = [own.pop()] if self.inference is not None else []
        steps += [replace(step, out=axis + (step.out or 0), sources=(axis,)) for step in own]
        if self.resolved_count == len(self.target):
            behind = enumerate(shape[axis + 1 :], axis + len(self.target))
            steps += [Step(KEPT_DIM, out, (out - len(self.target) + 1,), dim) for out, dim in behind]
        steps += [replace(step, out=axis + (step.out or 0), sources=(axis,)) for step in inferred]
        if stage.after is not None:
            steps.append(regroup_step(shape, stage.after, self.conditions))
        return tuple(steps)


def unflatten(shape: Shape, rules: RequestRules, axis: int, sizes: Shape) -> Stages:
    """Split an axis into several axes.

    One of the `sizes` may be -1. The other axes are unchanged and may have size 0. Source: torch.unflatten ("expands a
    dimension of the input tensor over multiple dimensions"). Raises `ShapeError` (axis-out-of-range, missing-argument,
    two-infers, below-minus-one, zero-volume-infer, indivisible, volume-mismatch, rank-limit or overflow).
    """
    with StageBuilder(StageKind.RESHAPE, "unflatten", "sizes", shape):
        cut_axis = normalize_nonscalar_axis(axis, shape, rules)
        if not sizes:
            raise rule_error(MISSING_ARGUMENT, "an axis is cut into at least one size", argument="sizes")
    before, behind = shape[:cut_axis], shape[cut_axis + 1 :]
    with StageBuilder(StageKind.RESHAPE, "unflatten", "sizes", shape, (*before, *sizes, *behind)) as stage:
        check_rank(stage.requested, rules.dialect, "sizes")
        split_sizes = SizesTarget(shape, rules, cut_axis, sizes)
        stage.explain = split_sizes.explain
        output = (*before, *split_sizes.resolve(), *behind)
        compute_volume(output, "input")
        return stage.finish(Reshape(output))


def _product_conditions(dim: Dim, axis: int, size_product: Dim) -> Conditions:
    """Return the conditions under which the product of the sizes is the axis size.

    Raises `ShapeError` (volume-mismatch) if the two are never equal.
    """

    def make_error() -> ShapeError:
        message = f"dim {axis} is {truncate(str(dim))}, and the sizes multiply to {truncate(str(size_product))}"
        return rule_error(VOLUME_MISMATCH, message, argument="sizes")

    return require_relation(require_equal, dim, size_product, make_error)


def _size_candidates(_shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield the sizes with one size replaced, starting with the last size.

    The replacement is -1, or a nearby integer if the sizes already contain a -1.
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
        Param("axis", ParamType.INT, "the axis to split", positional=True, required=True),
        Param("sizes", ParamType.TARGET, "the new sizes; one may be -1", positional=True, required=True),
    ),
    resolve=unflatten,
    operators={"torch": Operator("unflatten")},
    signatures=(
        ("torch", "x.unflatten(dim: axis, sizes)"),
        ("torch", "torch.nn.Unflatten(dim: axis, unflattened_size: sizes)"),
    ),
    examples=("unflatten 2,12 1 3,-1", "unflatten B,T,C -1 h,-1 --explain", "unflatten 0,12 1 3,4"),
    vectors=make_test_vectors(
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
