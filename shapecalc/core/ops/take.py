"""Take: some positions of one axis, in any order and as often as they are named."""

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
    counted = "" if text == shape_text(places) else f", which are {brief(shape_text(places))},"
    return f"positions {brief(text)}{counted} of dim {step.sources[0]}, {brief(str(dim))}: {step.value} in all"


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
    """Take positions of an axis, in the order and as often as they are named.

    Source: ONNX Gather ("gather entries of the axis dimension of data indexed by indices"), numpy.take.
    Raises `ShapeError`: axis-out-of-range, index-out-of-range, needs-size.
    """
    yield Stage(Kind.TAKE, "take", "indices", shape)
    taken = existing_axis(axis, shape, replace(at, version=None))  # Gather takes negative axes since version 1
    below = next((place for place, index in enumerate(indices) if index < 0), None)
    if below is not None and not at.row.takes_from_the_end:
        message = f"{at.operator.name} counts positions from 0, and this is {brief(str(indices[below]))}"
        raise refusal(INDEX_OUT_OF_RANGE, message, argument="indices", index=below)
    found = [position(index, shape[taken], taken, at, "indices", place) for place, index in enumerate(indices)]
    places = tuple([place for _, place in found])
    facts = FrozenDict(text=shape_text(indices), places=places, dim=shape[taken])
    for out, dim in enumerate(shape):
        own = Step(TAKEN_POSITIONS, out, (out,), len(places), (), facts)
        yield own if out == taken else Step(KEPT_DIM, out, (out,), dim)
    move = Take(taken, places)
    yield move
    return move.after(shape)


def _nearest_indices(shape: Shape, arguments: Arguments) -> Changes:
    """Yield the indices with the nearest position in place of each that there is not."""
    dim = shape[arguments["axis"]]
    if isinstance(dim, int) and dim > 0:
        inside = tuple([min(max(index, -dim), dim - 1) for index in arguments["indices"]])
        yield from (("indices", each) for each in (inside, tuple([index % dim for index in inside])))


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
