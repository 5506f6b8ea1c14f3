"""Roll: shift elements along axes, with wraparound at the ends."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule, run_stages
from shapecalc.core.dialects.base import Param, ParamType, RequestRules, explain_changed_axis, regroup_step
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.moves import Reshape, Roll
from shapecalc.core.ops.axes import flatten_axes, normalize_nonscalar_axis
from shapecalc.core.ops.op import Arguments, DialectTable, FixCandidates, Op, make_test_vectors, operators_by_dialect
from shapecalc.core.problem import Rule, rule_error
from shapecalc.core.record import Choice, FrozenDict, Record
from shapecalc.core.rules import GIVEN_DIM
from shapecalc.core.text import format_count, truncate

ROLLED_AXIS = StepRule(
    "roll-axis",
    "the elements move along an axis by a shift, and those that pass its end reappear at its start",
    "The size does not change, so the answer also holds for named sizes. A negative shift moves elements towards the "
    "start. Strides cannot express this order, so a roll copies the data.",
    "shapecalc roll 2,3,4 1 -1",
    "numpy.roll, torch.roll, OpenVINO Roll, paddle.roll",
    why=lambda step, shift: f"dim {step.out} is {step.value}, and its positions move on by {truncate(str(shift))}",
)


UNPAIRED_SHIFTS = Rule(
    "unpaired-shifts",
    "each axis must have one shift",
    "The numbers of shifts and axes must be equal. NumPy and JAX also accept one shift for all axes, and several "
    "shifts for one axis. Without axes, all elements are rolled in flattened order, which TensorFlow and OpenVINO do "
    "not support.",
    "shapecalc roll 2,3,4 1 0,1 --dialect torch",
    "torch.roll: 'shifts and dimensions must align'; numpy.roll",
)


def roll(shape: Shape, rules: RequestRules, shift: Axes, axis: Axes | None = None) -> Stages:
    """Shift elements along axes, with wraparound at the ends.

    Without axes, the flattened tensor is rolled. Source: numpy.roll ("if axis is not specified, the array is flattened
    before shifting, after which the original shape is restored"), torch.roll, OpenVINO Roll, paddle.roll, tf.roll.
    Raises `ShapeError` (axis-out-of-range, unpaired-shifts or overflow).
    """
    with StageBuilder(StageKind.ROLL, "roll", "shift", shape):
        shifts, axes = _pair_shifts(shift, axis, rules)
        rolled_axes = [0] if axes is None else [normalize_nonscalar_axis(name, shape, rules) for name in axes]
    if axes is not None:
        return tuple(
            [
                stage
                for amount, rolled_axis in zip(shifts, rolled_axes, strict=True)
                for stage in _roll_axis(shape, amount, rolled_axis)
            ]
        )
    if len(shape) == 1:
        return _roll_axis(shape, sum(shifts), 0)
    return run_stages(
        shape,
        flatten_axes,
        lambda flattened: _roll_axis(flattened, sum(shifts), 0),
        lambda rolled: _reshape_back(rolled, shape),
    )


def _reshape_back(flattened: Shape, shape: Shape) -> Stages:
    with StageBuilder(StageKind.RESHAPE, "reshape", "", flattened) as stage:
        stage.explain = lambda _: (
            *[Step(GIVEN_DIM, out, (), dim) for out, dim in enumerate(shape)],
            regroup_step(flattened, shape),
        )
        return stage.finish(Reshape(shape))


def _roll_axis(shape: Shape, shift: int, axis: int) -> Stages:
    with StageBuilder(StageKind.ROLL, "roll", "shift", shape) as stage:
        stage.explain = lambda _: explain_changed_axis(
            shape, Step(ROLLED_AXIS, axis, (axis,), shape[axis], (), FrozenDict(shift=shift))
        )
        return stage.finish(Roll(shift, axis))


def _pair_shifts(shift: Axes, axis: Axes | None, rules: RequestRules) -> tuple[Axes, Axes | None]:
    """Return one shift for each axis, and the axes.

    If the flattened tensor is rolled, the axes are None. Raises `ShapeError` (unpaired-shifts) if the numbers of shifts
    and axes do not match.
    """
    rolls = ROLL_SEMANTICS.for_dialect(rules.dialect).rolls
    if (axis is None and rolls is RollPairing.ANY) or (not axis and rolls is RollPairing.PAIRED and len(shift) == 1):
        return shift, None
    axes = axis or ()
    if rolls is RollPairing.ANY:
        shift, axes = shift * (len(axes) if len(shift) == 1 else 1), axes * (len(shift) if len(axes) == 1 else 1)
    if len(shift) != len(axes) or (not shift and rolls is not RollPairing.ANY):
        message = f"{format_count(len(shift), 'shift', 'shifts')} for {format_count(len(axes), 'axis', 'axes')}"
        raise rule_error(UNPAIRED_SHIFTS, message, argument="shift" if len(shift) > len(axes) else "axis")
    return shift, axes


def _equal_length_candidates(shape: Shape, arguments: Arguments) -> FixCandidates:
    """Yield candidates that make the shifts and the axes equally many.

    The first candidate changes the axes, and the second changes the shifts.
    """
    shift, axis = arguments["shift"], arguments.get("axis") or ()
    yield "axis", (*axis, *[other for other in range(len(shape)) if other not in axis])[: len(shift)]
    yield "shift", (*shift, *shift[-1:] * len(axis))[: len(axis)]


class RollPairing(Choice):
    """The combinations of shifts and axes that roll accepts."""

    ANY = "one shift for all axes, or several for one; without axes all elements roll as one row"
    PAIRED = "one shift for each axis; without axes all elements roll as one row"
    AXES = "one shift for each axis"


class RollSemantics(Record):
    """The shifts and axes that roll accepts in a dialect."""

    rolls: RollPairing = RollPairing.PAIRED


ROLL_SEMANTICS = DialectTable(
    {
        "torch paddle": RollSemantics(),
        "openvino tensorflow": RollSemantics(RollPairing.AXES),
        "numpy jax": RollSemantics(RollPairing.ANY),
    }
)
ROLL = Op(
    name="roll",
    summary="Shift the elements along axes, with wrap-around.",
    params=(
        Param("shift", ParamType.AXES, "the number of positions to shift by", positional=True, required=True),
        Param("axis", ParamType.AXES, "the axes to shift along; by default the flattened tensor", positional=True),
    ),
    resolve=roll,
    operators=operators_by_dialect(roll="numpy torch paddle", Roll="openvino"),
    signatures=(
        ("torch", "x.roll(shifts: shift, dims: axis=None)"),
        ("numpy jax", "np.roll(x, shift, axis=None)"),
        ("tensorflow", "tf.roll(x, shift, axis)"),
        ("paddle", "paddle.roll(x, shifts: shift, axis=None)"),
        ("openvino", "ops.roll(x, [shift], [axes]: axis)"),
    ),
    examples=("roll 2,3,4 1 0", "roll N,H,W,C -3,-3 1,2 --explain", "roll 2,3,4 1 -d torch"),
    vectors=make_test_vectors(
        "shift axis",
        ("2,3,4", "1 0", "-7 -1", "1 3", "1", "1,2", "1,2 0,-1", "1 0,1", "1,2 0"),
        ("0,3", "1 0", "1"),
        ("[]", "1 0", "1"),
        ("N,C", "1 1", "1"),
    ),
    default_dialect="numpy",
    semantics=(ROLL_SEMANTICS,),
    rules=(ROLLED_AXIS, UNPAIRED_SHIFTS),
    fix_candidates={UNPAIRED_SHIFTS: _equal_length_candidates},
)
