"""Moveaxis: move axes to new positions, and keep the order of the other axes."""

from __future__ import annotations

from functools import partial

from shapecalc.core.answers import StageBuilder, StageKind, Stages
from shapecalc.core.dialects.base import Operator, Param, ParamType, RequestRules
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy, normalize_axis_index, normalize_axis_indices
from shapecalc.core.ops.op import Arguments, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.ops.transpose import TRANSPOSE_SEMANTICS, transpose
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.rules import REPEATED_AXIS
from shapecalc.core.text import format_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

UNPAIRED_AXES = Rule(
    "unpaired-axes",
    "each axis moves to one position",
    "There must be as many positions as axes. The first axis moves to the first position, and the second axis moves "
    "to the second position.",
    "shapecalc moveaxis 2,3,4 0,1 2",
    "numpy.moveaxis: '`source` and `destination` arguments must have the same number of elements'",
)


def moveaxis(
    shape: Shape, rules: RequestRules, axes: Axes, destination: Axes, *, repeats_positions: bool = False
) -> Stages:
    """Move axes to new positions in the output.

    The other axes keep their order. If `repeats_positions` is True, `destination` may contain an index twice. Source:
    numpy.moveaxis ("other axes remain in their original order"), torch.movedim, paddle.moveaxis, and the source code of
    jax.numpy.moveaxis, which inserts the axes in the order of their destination and does not check for repeats. Raises
    `ShapeError` (unpaired-axes, axis-out-of-range or repeated-axis).
    """
    with StageBuilder(StageKind.PERMUTE, "moveaxis", "", shape):
        order = _axis_order(len(shape), rules, axes, destination, repeats_positions)
    return transpose(shape, rules, order, "moveaxis", "")


def _axis_order(rank: int, rules: RequestRules, axes: Axes, destination: Axes, repeats_positions: bool) -> Axes:
    """Return the input axis of each output axis.

    Raises `ShapeError` (unpaired-axes, axis-out-of-range or repeated-axis).
    """
    if len(axes) != len(destination):
        moved, places = format_count(len(axes), "axis", "axes"), format_count(len(destination), "place", "places")
        shorter = "axes" if len(axes) < len(destination) else "destination"
        raise rule_error(UNPAIRED_AXES, f"{moved} and {places} are named", argument=shorter)
    moving = normalize_axis_indices(axes, rank, rules, RepeatedAxesPolicy.REFUSED)
    if repeats_positions:
        positions = [normalize_axis_index(axis, rank, rules, "destination", at) for at, axis in enumerate(destination)]
    else:
        positions = [*normalize_axis_indices(destination, rank, rules, RepeatedAxesPolicy.REFUSED, "destination")]
    if not rank:  # some dialects accept axis 0 of a scalar
        return ()
    return insert_axes(rank, tuple(moving), positions)


def insert_axes(rank: int, axes: Axes, positions: Sequence[int]) -> Axes:
    """Return the order of `rank` input axes after `axes` are moved to `positions`.

    All axes and positions are nonnegative.

    >>> insert_axes(3, (0,), (2,))
    (1, 2, 0)
    """
    order = [axis for axis in range(rank) if axis not in axes]
    for position, axis in sorted(zip(positions, axes, strict=True)):
        order.insert(position, axis)
    return tuple(order)


def _equal_length_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield candidates that make both lists equally long.

    The first candidate extends the shorter list with unused axes, and the second truncates the longer list.
    """
    (short, few), (long, many) = sorted(arguments.items(), key=lambda item: len(item[1]))
    used = {axis % max(1, len(shape)) for axis in few}
    free = [axis for axis in range(len(shape)) if axis not in used]
    yield short, (*few, *free[: len(many) - len(few)])
    yield long, many[: len(few)]


def _distinct_axis_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield candidates that replace repeated axes with unused axes.

    The first candidate changes `axes`, and the second changes `destination`.
    """
    for name in ("axes", "destination"):
        axes = [axis % max(1, len(shape)) for axis in arguments[name]]
        free = iter([axis for axis in range(len(shape)) if axis not in axes])
        yield name, tuple([next(free, axis) if axis in axes[:index] else axis for index, axis in enumerate(axes)])


MOVEAXIS = Op(
    name="moveaxis",
    summary="Move axes to new positions; the others keep their order.",
    params=(
        Param("axes", ParamType.AXES, "the axes to move", positional=True, required=True),
        Param(
            "destination", ParamType.AXES, "their positions in the output, one for each", positional=True, required=True
        ),
    ),
    resolve=moveaxis,
    operators={
        "paddle": Operator("moveaxis", scalar_axis=False),
        "jax": Operator("moveaxis", resolve=partial(moveaxis, repeats_positions=True)),
        **operators_by_dialect(moveaxis="numpy", movedim="torch"),
    },
    signatures=(
        ("numpy jax", "np.moveaxis(x, source: axes, destination)"),
        ("torch", "x.movedim/moveaxis(source: axes, destination)"),
    ),
    examples=("moveaxis N,H,W,C -1 1", "moveaxis 2,3,4 0,1 2,0 --explain", "moveaxis 2,3,4 0 -1 -d torch"),
    vectors=make_test_vectors(
        "axes destination",
        ("2,3,4", "0 -1", "0,1 2,0", "[] []", "0,1 2", "0,-3 1,2", "0,1 2,2", "3 0", "0 -4"),
        ("2,3,4,5", "-1,0 1,2"),
        ("0,3", "0 1"),
        ("[]", "0 0"),
        ("N,H,W,C", "3 1"),
    ),
    default_dialect="numpy",
    semantics=(AXIS_SEMANTICS, TRANSPOSE_SEMANTICS),
    rules=(UNPAIRED_AXES,),
    fix_candidates={UNPAIRED_AXES: _equal_length_candidates, REPEATED_AXIS: _distinct_axis_candidates},
)
