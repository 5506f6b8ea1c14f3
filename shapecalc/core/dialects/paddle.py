"""PaddlePaddle: 0 copies, but of an empty tensor it is a size; unsqueeze inserts one axis after another."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Stage, Step
from shapecalc.core.conditions import Never, divides
from shapecalc.core.dialects.base import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    Broadcast,
    Dialect,
    EmptyInfer,
    Flattens,
    NoPerm,
    NotOne,
    Operator,
    Reading,
    Repeats,
    Zero,
    check_hole,
    check_rank,
    checked_volume,
    same_count,
)
from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.moves import Expand, Reshape
from shapecalc.core.problem import refusal
from shapecalc.core.rules import (
    AXIS_OUT_OF_RANGE,
    BROADCASTED,
    GIVEN,
    INDIVISIBLE,
    INSERTED_ONE,
    KEPT_DIM,
    LITERAL_ZERO,
    RANK_LIMIT,
    ZERO_VOLUME_INFER,
    Inferred,
    InferredEmpty,
    LeftOut,
    Regrouped,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.core.answers import Reasons

MOST_MADE = 8
"""The most dims that unsqueeze and expand take and give; the other operators take 9."""


def reshape(shape: Shape, at: Any, target: Shape) -> Reasons | None:
    """Resolve the reshape of an empty tensor, where 0 is a size. Any other is left to the op."""
    return _reshape_empty(shape, at, target) if 0 in shape else None


def _reshape_empty(shape: Shape, at: Any, target: Shape) -> Reasons:
    """Resolve `target` against a tensor that holds nothing: 0 copies nothing, whatever its index.

    Source: paddle.reshape, run; its document says of 0 only that it copies. Raises `ShapeError`: two-infers,
    below-minus-one, zero-volume-infer, indivisible, volume-mismatch, rank-limit, overflow.
    """
    yield Stage(Kind.RESHAPE, "reshape", "target", shape, target)
    check_rank(target, at.row, "target")
    hole = None
    for out, dim in enumerate(target):
        if isinstance(dim, int) and dim < 0:
            check_hole(out, dim, hole)
            hole = out
        else:
            yield Step(LITERAL_ZERO if dim == 0 else GIVEN, out, (), dim)
    settled = target
    known = checked_volume(tuple(dim for dim in target if dim != -1), "target")
    if hole is not None:
        step = _inferred(shape, target, hole, known)
        yield step
        settled = (*target[:hole], step.dim, *target[hole + 1 :])
    else:
        same_count(shape, target, 0, known, "target")
    yield Step(Regrouped(shape, settled), None, tuple(range(len(shape))), settled)
    yield Reshape(settled)
    return settled


def _inferred(shape: Shape, target: Shape, hole: int, known: Dim) -> Step:
    """Return the step that infers -1 from a tensor that holds nothing.

    Beside no 0 it is 0, whatever the other dims are. Beside as many 0s as the input has, these are left out of both
    products. Beside any other number of 0s Paddle has no answer.
    """
    axes = tuple(range(len(shape)))
    if known != 0:
        return Step(Inferred(shape, 0, known), hole, axes, 0)
    zeros = target.count(0)
    if zeros != shape.count(0):
        message = (
            f"-1 beside {zeros} dims of size zero, and the input has {shape.count(0)}: Paddle requires the same number"
        )
        raise refusal(ZERO_VOLUME_INFER, message, argument="target", index=hole)
    have, known = (product(dim for dim in dims if dim not in (0, -1)) for dims in (shape, target))
    try:
        conditions = divides(have, known)
    except Never:
        message = f"the input's {have} cannot be divided by {known}, both without their zeros"
        raise refusal(INDIVISIBLE, message, argument="target", index=hole) from None
    return Step(InferredEmpty(have, known, LeftOut.ZEROS), hole, axes, quotient(have, known), conditions)


def unsqueeze(shape: Shape, _at: Any, axes: tuple[int, ...] | None = None) -> Reasons | None:
    """Resolve an unsqueeze whose order of axes matters, or of too many dims. Any other is left to the op."""
    if axes is None:
        return None
    ascending = list(axes) == sorted(set(axes)) and (len(axes) < 2 or axes[0] >= 0)
    return None if ascending and len(shape) + len(axes) <= MOST_MADE else _insert_in_turn(shape, axes)


def _insert_in_turn(shape: Shape, axes: tuple[int, ...]) -> Reasons:
    """Insert dims of 1 one after another, each at its axis of the shape as it then is.

    Source: paddle.unsqueeze, run; its document says that the axes are those of the output. Raises `ShapeError`:
    axis-out-of-range, rank-limit.
    """
    yield Stage(Kind.UNSQUEEZE, "unsqueeze", "axes", shape, axes)
    _check_made(len(shape) + len(axes), "axes")
    sources: list[int | None] = [*range(len(shape))]
    for index, axis in enumerate(axes):
        count = len(sources)
        if not -count - 1 <= axis <= count:
            message = f"axis {axis} does not exist when it is inserted: axes then run from {-count - 1} to {count}"
            raise refusal(AXIS_OUT_OF_RANGE, message, argument="axes", index=index)
        sources.insert(axis % (count + 1), None)
    output = tuple([1 if axis is None else shape[axis] for axis in sources])
    for out, source in enumerate(sources):
        if source is None:
            yield Step(INSERTED_ONE, out, (), 1)
        else:
            yield Step(KEPT_DIM, out, (source,), shape[source])
    yield Step(Regrouped(shape, output), None, tuple(range(len(shape))), output)
    yield Reshape(output)
    return output


def expand(shape: Shape, _at: Any, target: Shape) -> Reasons | None:
    """Resolve an expand to no dims, or to too many. Any other is left to the op."""
    return None if 0 < len(target) <= MOST_MADE else _expand_to_none(shape, target)


def _expand_to_none(shape: Shape, target: Shape) -> Reasons:
    """Keep the tensor as it is if no dims are asked for.

    Source: paddle.expand, run; its document does not say so. Raises `ShapeError`: rank-limit.
    """
    yield Stage(Kind.EXPAND, "expand", "target", shape, target)
    _check_made(len(target), "target")
    for axis, dim in enumerate(shape):
        yield Step(KEPT_DIM, axis, (axis,), dim)
    yield Step(BROADCASTED, None, tuple(range(len(shape))), shape)
    yield Expand(shape)
    return shape


def _check_made(rank: int, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) if unsqueeze or expand would give too many dims."""
    if rank > MOST_MADE:
        message = f"{rank} dims, and this operator of paddle gives at most {MOST_MADE}"
        raise refusal(RANK_LIMIT, message, argument=argument, index=MOST_MADE)


FLOAT8 = frozenset({"float8_e4m3fn", "float8_e5m2"})
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})
NARROW = frozenset({"int8", "int16", "uint8", "float16", "bfloat16"})
"""Element types that transpose alone has kernels for."""

PADDLE = Dialect(
    name="paddle",
    source="Paddle reference, and Paddle 3.3.1",
    operators={
        "reshape": Operator("reshape", steps=reshape),
        "transpose": Operator("transpose"),
        "flatten": Operator("flatten"),
        "squeeze": Operator("squeeze"),
        "unsqueeze": Operator("unsqueeze", steps=unsqueeze),
        "expand": Operator("expand", steps=expand),
        "shape": Operator("shape"),
    },
    readings={None: Reading(Zero.COPIES, empty=EmptyInfer.WITHOUT_ZEROS)},
    max_rank=9,
    no_perm=NoPerm.REFUSED,
    negative_perm=True,
    not_one=NotOne.LEFT_ALONE,
    squeeze_repeats=Repeats.DROPPED,
    unsqueeze_repeats=Repeats.EACH,
    no_axes_is_all=True,
    scalar_axis=True,
    flattens=Flattens.RANGE,
    broadcast=Broadcast.ONE_WAY_KEEPS,
    slices_shape=False,
    types=INTEGERS | FLOATS | COMPLEX | FLOAT8 | {"bool", "bfloat16"},
    lacks_types=dict.fromkeys(("reshape", "flatten", "squeeze", "unsqueeze", "select", "slice"), UNSIGNED)
    | {
        "expand": UNSIGNED | FLOAT8,
        "tile": UNSIGNED | FLOAT8 | {"bfloat16"},
        "shape": UNSIGNED | FLOAT8 | {"int16"},
        **dict.fromkeys(("flip", "roll"), UNSIGNED | FLOAT8 | NARROW),
    }
    | {"split": UNSIGNED | FLOAT8 | COMPLEX | {"int16"}},
    spellings={"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
    prefix="paddle.",
    note="if the input is empty, a 0 is a size, and -1 needs no 0 or as many as the input has; unsqueeze inserts one "
    "axis after another; unsqueeze and expand give at most 8 dims, and expand to [] changes nothing; refused "
    "here, although Paddle accepts them: a short permutation, sizes below -1 in expand, and counts over int64",
)
