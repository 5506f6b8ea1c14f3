"""Roll: the positions of an axis move on, and those at its end come to its start."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.dialects.base import Holds, Operator, Param, Setting
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Roll
from shapecalc.core.ops.axes import existing_axis
from shapecalc.core.ops.op import Op, vectors
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import brief


def _rolled_axis(step: Step, shift: int) -> str:
    return f"dim {step.out} is {step.value}, and its positions move on by {brief(str(shift))}"


ROLLED_AXIS = StepRule(
    "roll-axis",
    "the elements move along an axis by a shift, and those that pass its end come back at its start",
    "The size stays, so the answer holds for names as well. A negative shift moves back. No strides can read an "
    "axis in this order, so a roll copies the data.",
    "shapecalc roll 2,3,4 1 -1",
    "numpy.roll, torch.roll, OpenVINO Roll, paddle.roll",
    name="roll axis",
    why=_rolled_axis,
)


def roll(shape: Shape, at: Setting, shift: int, axis: int) -> Reasons:
    """Move the positions of an axis on by `shift`; those at the end come to the start. The shape stays as it is.

    Source: numpy.roll ("elements that roll beyond the last position are re-introduced at the first"), torch.roll,
    OpenVINO Roll, paddle.roll. Raises `ShapeError`: axis-out-of-range.
    """
    yield Stage(Kind.ROLL, "roll", "shift", shape)
    rolled = existing_axis(axis, shape, at)
    for out, dim in enumerate(shape):
        facts = FrozenDict(shift=shift)
        yield Step(ROLLED_AXIS, out, (out,), dim, (), facts) if out == rolled else Step(KEPT_DIM, out, (out,), dim)
    yield Roll(shift, rolled)
    return shape


ROLL = Op(
    name="roll",
    summary="Move the elements along an axis; those that pass its end come back at its start.",
    params=(
        Param("shift", Holds.INT, "by how many positions the elements move", positional=True, required=True),
        Param("axis", Holds.INT, "the axis along which they move", positional=True, required=True),
    ),
    steps=roll,
    operators={
        "numpy": Operator("roll"),
        "torch": Operator("roll"),
        "openvino": Operator("Roll"),
        "paddle": Operator("roll"),
    },
    examples=("roll 2,3,4 1 0", "roll N,H,W,C -3 1 --explain", "roll 2,3,4 1 -1 -d torch"),
    vectors=vectors(
        "shift axis",
        ("2,3,4", "1 0", "-7 -1", "1 3"),
        ("0,3", "1 0"),
        ("[]", "1 0"),
        ("N,C", "1 1"),
    ),
    default_dialect="numpy",
    rules=(ROLLED_AXIS,),
)
