"""PaddlePaddle: a 0 in reshape copies a dim, except for empty tensors.

In a reshape of an empty tensor, a 0 is a size. unsqueeze inserts one axis at a time, so each axis is an index of the
intermediate shape.
"""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.answers import ResolvedDim, StageBuilder, StageKind, Stages, Step
from shapecalc.core.conditions import require_divisible, require_relation
from shapecalc.core.dialects import base
from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.moves import Expand
from shapecalc.core.problem import ShapeError, rule_error

MAX_EXPANDED_RANK = 8
"""The maximum output rank of unsqueeze and expand. The limit of other operators is 9."""


def reshape(shape: Shape, rules: base.RequestRules, target: Shape) -> Stages | None:
    """Resolve a reshape of an empty tensor.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    return _reshape_empty(shape, rules.dialect, target) if 0 in shape else None


def _reshape_empty(shape: Shape, dialect: base.Dialect, target: Shape) -> Stages:
    """Resolve a reshape of an empty tensor.

    Each 0 in the target is a size. Source: paddle.reshape, measured; the documentation mentions only zeros that copy.
    Raises `ShapeError` (two-infers, below-minus-one, zero-volume-infer, indivisible, volume-mismatch, rank-limit or
    overflow).
    """
    return base.resolve_target(EmptyTensorTarget(shape, target), target, dialect)


class EmptyTensorTarget(base.Target):
    """The requested shape of an empty tensor, in which each 0 is a size.

    If the target has no 0, -1 is 0. If the target has as many zeros as the input, -1 is the product of the nonzero
    input dims divided by the product of the other nonzero target dims. Paddle refuses any other number of zeros.
    """

    __slots__ = ()

    def resolve_infer(self, known: Dim, index: int) -> ResolvedDim:
        """Return the inferred size of the -1, with its rule, conditions and facts.

        Raises `ShapeError` (zero-volume-infer or indivisible).
        """
        shape, target = self.shape, self.target
        if known != 0:
            return base.infer_dim(shape, known, index)
        zeros, input_zeros = target.count(0), shape.count(0)
        if zeros != input_zeros:
            message = (
                f"-1 beside {zeros} dims of size zero, and the input has {input_zeros}: Paddle requires the same number"
            )
            raise rule_error(rules.ZERO_VOLUME_INFER, message, argument="target", index=index)
        have, known = (product(dim for dim in dims if dim not in (0, -1)) for dims in (shape, target))

        def make_error() -> ShapeError:
            message = f"the input's {have} cannot be divided by {known}, both without their zeros"
            return rule_error(rules.INDIVISIBLE, message, argument="target", index=index)

        conditions = require_relation(require_divisible, have, known, make_error)
        facts = {"have": have, "known": known, "left_out": rules.ExcludedDims.ZEROS}
        return rules.INFERRED_EMPTY, quotient(have, known), conditions, facts


def unsqueeze(shape: Shape, _rules: base.RequestRules, axes: tuple[int, ...] | None = None) -> Stages | None:
    """Resolve an unsqueeze whose result depends on the order of `axes`.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    ascending = axes is None or (list(axes) == sorted(set(axes)) and (len(axes) < 2 or axes[0] >= 0))
    return None if axes is None or ascending else _insert_unit_dims_in_order(shape, axes)


def unsqueeze_rank_error(
    shape: Shape, rules: base.RequestRules, axes: tuple[int, ...] | None = None
) -> ShapeError | None:
    """Return the error for an unsqueeze with too many output dims, or None."""
    return (
        None
        if axes is None
        else base.rank_limit_error(MAX_EXPANDED_RANK, len(shape) + len(axes), rules.dialect, "gives", "axes")
    )


def _insert_unit_dims_in_order(shape: Shape, axes: tuple[int, ...]) -> Stages:
    """Insert dims of 1 in the order of `axes`.

    Each axis is an index of the intermediate shape. Source: paddle.unsqueeze, measured; according to the documentation,
    the axes are indices of the output. Raises `ShapeError` (axis-out-of-range or rank-limit).
    """
    with StageBuilder(StageKind.UNSQUEEZE, "unsqueeze", "axes", shape, axes) as stage:
        sources: list[int | None] = [*range(len(shape))]
        for index, axis in enumerate(axes):
            count = len(sources)
            if not -count - 1 <= axis <= count:
                message = f"axis {axis} does not exist when it is inserted: axes then run from {-count - 1} to {count}"
                raise rule_error(rules.AXIS_OUT_OF_RANGE, message, argument="axes", index=index)
            sources.insert(axis % (count + 1), None)
        return base.finish_unsqueeze_stage(stage, sources)


def expand(shape: Shape, _rules: base.RequestRules, target: Shape) -> Stages | None:
    """Resolve an expand to an empty target.

    Returns None for other requests, which `Op.resolve` resolves.
    """
    return None if target else _expand_to_empty_target(shape)


def expand_rank_error(_shape: Shape, rules: base.RequestRules, target: Shape) -> ShapeError | None:
    """Return the error for an expand with too many output dims, or None."""
    return base.rank_limit_error(MAX_EXPANDED_RANK, len(target), rules.dialect, "gives", "target")


def _expand_to_empty_target(shape: Shape) -> Stages:
    """Resolve an expand to an empty target.

    The shape is unchanged. Source: paddle.expand, measured; the documentation does not mention empty targets.
    """
    with StageBuilder(StageKind.EXPAND, "expand", "target", shape) as stage:
        stage.explain = lambda _: (
            *[Step(rules.KEPT_DIM, axis, (axis,), dim) for axis, dim in enumerate(shape)],
            base.broadcast_step(shape, shape),
        )
        return stage.finish(Expand(shape))


FLOAT8_TYPES = frozenset({"float8_e4m3fn", "float8_e5m2"})
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
TRANSPOSE_ONLY_TYPES = frozenset({"int8", "int16", "uint8", "float16", "bfloat16"})
"""Element types that only transpose supports."""

PADDLE = base.Dialect(
    name="paddle",
    source="Paddle reference; verified with Paddle 3.3.1",
    operators=base.operators_by_op("transpose flatten squeeze shape")
    | {
        "reshape": base.Operator("reshape", resolve=reshape),
        "unsqueeze": base.Operator("unsqueeze", resolve=unsqueeze, refusal_check=unsqueeze_rank_error),
        "expand": base.Operator("expand", resolve=expand, refusal_check=expand_rank_error),
    },
    reshape_semantics={
        None: base.ReshapeSemantics(base.ZeroMeaning.COPIES, empty=base.ZeroVolumeInferPolicy.WITHOUT_ZEROS)
    },
    max_rank=9,
    types=base.INTEGERS | base.FLOATS | base.COMPLEX | FLOAT8_TYPES | {"bool", "bfloat16"},
    missing_types=dict.fromkeys(("reshape", "flatten", "squeeze", "unsqueeze", "select", "slice"), UNSIGNED)
    | {
        "expand": UNSIGNED | FLOAT8_TYPES,
        "tile": UNSIGNED | FLOAT8_TYPES | {"bfloat16"},
        "shape": UNSIGNED | FLOAT8_TYPES | {"int16"},
        **dict.fromkeys(("flip", "roll"), UNSIGNED | FLOAT8_TYPES | TRANSPOSE_ONLY_TYPES),
    }
    | {"split": UNSIGNED | FLOAT8_TYPES | base.COMPLEX | {"int16"}},
    spellings={"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
    prefix="paddle.",
    note="If the input is empty, a 0 in the target is a size. A target with -1 must then have no zeros, or as many "
    "zeros as the input has. Unsqueeze inserts its axes one after another. Unsqueeze and expand return at most 8 "
    "dims. An expand to the shape [] changes nothing. Paddle accepts an incomplete permutation, sizes below -1 in "
    "expand, and element counts above the range of int64, but shapecalc refuses them",
)
