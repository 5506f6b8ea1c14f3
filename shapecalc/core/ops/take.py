"""Take: positions of one axis are taken, in any order and any number of times."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Holds, Operator, Param, Setting
from shapecalc.core.dims import Axes, Dim, Shape
from shapecalc.core.moves import Take
from shapecalc.core.ops.axes import existing_axis
from shapecalc.core.ops.op import Arguments, Changes, Op, called, vectors
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE, position
from shapecalc.core.problem import refusal
from shapecalc.core.record import FrozenDict, replace
from shapecalc.core.rules import KEPT_DIM
from shapecalc.core.text import brief, shape_text


def _taken(step: Step, text: str, places: Axes, dim: Dim) -> str:
    from_zero = "" if text == shape_text(places) else f", which are {brief(shape_text(places))},"
    return f"positions {brief(text)}{from_zero} of dim {step.sources[0]}, {brief(str(dim))}: {step.value} in all"


TAKEN_POSITIONS = StepRule(
    "take-positions",
    "the named positions of an axis are taken, in the order in which they are named",
    "A position that is named again comes again. The axis stays, and its size is the count of positions. An axis "
    "with a name has a first and a last position; whether it has others depends on its size.",
    "shapecalc take 2,3,4 1 2,0,0",
    "ONNX Gather with indices of one axis, numpy.take, PyTorch and JAX indexing, tf.gather, OpenVINO Gather",
    why=_taken,
)


def take(shape: Shape, at: Setting, axis: int, indices: Axes) -> Reasons:
    """Take the named positions of an axis, in their order.

    A position may be named several times. Source: ONNX Gather ("gather entries of the axis dimension of data indexed by
    indices"), numpy.take. Raises `ShapeError`: axis-out-of-range, index-out-of-range, needs-size.
    """
    yield Stage(Kind.TAKE, "take", "indices", shape)
    taken_axis = existing_axis(axis, shape, replace(at, version=None))  # Gather takes negative axes since version 1
    negative = next((entry for entry, index in enumerate(indices) if index < 0), None)
    if negative is not None and not at.row.takes_from_the_end:
        message = f"{at.operator.name} counts positions from 0, and this is {brief(str(indices[negative]))}"
        raise refusal(INDEX_OUT_OF_RANGE, message, argument="indices", index=negative)
    resolved = [
        position(index, shape[taken_axis], taken_axis, at, "indices", entry) for entry, index in enumerate(indices)
    ]
    positions = tuple([entry for _, entry in resolved])
    facts = FrozenDict(text=shape_text(indices), places=positions, dim=shape[taken_axis])
    for out, dim in enumerate(shape):
        step = Step(TAKEN_POSITIONS, out, (out,), len(positions), (), facts)
        yield step if out == taken_axis else Step(KEPT_DIM, out, (out,), dim)
    move = Take(taken_axis, positions)
    yield move
    return move.after(shape)


def _nearest_indices(shape: Shape, arguments: Arguments) -> Changes:
    """Yield the indices moved to the nearest position, then counted from 0."""
    dim = shape[arguments["axis"]]
    if isinstance(dim, int) and dim > 0:
        clamped = tuple([min(max(index, -dim), dim - 1) for index in arguments["indices"]])
        yield from (("indices", indices) for indices in (clamped, tuple([index % dim for index in clamped])))


TAKE = Op(
    name="take",
    summary="Take positions of one axis, in any order.",
    params=(
        Param("axis", Holds.INT, "the axis whose positions are taken", positional=True, required=True),
        Param("indices", Holds.AXES, "the positions, in order; -1 is the last", positional=True, required=True),
    ),
    steps=take,
    operators={
        "onnx": Operator("Gather", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}),
        **called(take="numpy", indexing="torch", Gather="openvino"),
    },
    examples=("take 2,3,4 1 2,0,0", "take N,C,H 1 0,-1 --explain", "take 2,3,4 -1 3,1 -d torch"),
    vectors=vectors(
        "axis indices",
        ("2,3,4", "0 0", "1 2,0,0", "-1 -1,1", "2 4", "1 0,-4", "3 0", "0 []"),
        ("2,0", "1 []", "1 0"),
        ("[]", "0 0"),
        ("N,C", "1 0,-1,0", "0 1"),
    ),
    keeps_count=False,
    rules=(TAKEN_POSITIONS,),
    changes={INDEX_OUT_OF_RANGE: _nearest_indices},
)
