"""Select: one position of one axis, which goes."""

from __future__ import annotations

from shapecalc.core.answers import Facts, Kind, Stage, Step
from shapecalc.core.dialects.base import SINCE_13, UP_TO_12, Operator
from shapecalc.core.dims import Dim
from shapecalc.core.moves import Pick
from shapecalc.core.ops.axes import axis_from_zero
from shapecalc.core.ops.op import Holds, Op, Param
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.rules import AXIS_OUT_OF_RANGE, KEPT_DIM, NEEDS_SIZE
from shapecalc.core.text import brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from shapecalc.core.answers import Reasons
    from shapecalc.core.dims import Shape
    from shapecalc.core.ops.op import Setting

SOURCE = "ONNX Gather, NumPy indexing, torch.select, OpenVINO Gather, Paddle indexing"

INDEX_OUT_OF_RANGE = Rule(
    "index-out-of-range",
    "there is no such position",
    "Positions run from 0 to one less than the size. Negative ones count from the end: -1 is the last. In ONNX they do "
    "so since Gather 11.",
    "shapecalc select 2,3,4 1 3",
    "ONNX Gather: 'it is an error if any of the index values are out of bounds'",
)


class TakenIndex(Facts):
    """The position that is taken."""

    name = "take index"
    rule = Rule(
        "take-index",
        "one position of an axis is taken, and the axis is dropped",
        "The other axes stay as they are. An axis with a name has a first and a last position; whether it has others "
        "depends on its size.",
        "shapecalc select 2,3,4 1 -1",
        SOURCE,
    )
    index: int
    """As it was asked for."""
    place: int
    """The same position, counted from 0 if the dim is known."""

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        counted = "" if self.index == self.place else f", which is {self.place},"
        return f"index {self.index}{counted} of dim {step.sources[0]} is taken, and the dim is dropped"


def select(shape: Shape, at: Setting, axis: int, index: int) -> Reasons:
    """Take one position of an axis, which goes. On a dim with a name it is the first or the last.

    Source: ONNX Gather with a single index, NumPy indexing, torch.select.
    Raises `ShapeError`: axis-out-of-range, index-out-of-range, needs-size.
    """
    yield Stage(Kind.SELECT, "select", "index", shape)
    gone = existing_axis(axis, shape, at, since=1)
    taken = _checked_index(index, shape[gone], gone, at)
    yield Step(TakenIndex(index, taken), None, (gone,), shape[gone])
    kept = [place for place in range(len(shape)) if place != gone]
    for out, place in enumerate(kept):
        yield Step(KEPT_DIM, out, (place,), shape[place])
    starts = tuple([taken if place == gone else 0 for place in range(len(shape))])
    yield Pick(starts, (1,) * len(shape), tuple([None if place == gone else dim for place, dim in enumerate(shape)]))
    return tuple([shape[place] for place in kept])


def existing_axis(axis: int, shape: Shape, at: Setting, since: int | None = None) -> int:
    """Return an axis counted from 0; a scalar has none. `since` is the first version that takes negative axes.

    Raises `ShapeError`: axis-out-of-range, negative-axis.
    """
    if not shape:
        raise refusal(
            AXIS_OUT_OF_RANGE, f"axis {brief(str(axis))} does not exist: a scalar has no axes", argument="axis"
        )
    return axis_from_zero(axis, len(shape), at, "axis", since=since)


def _checked_index(index: int, dim: Dim, axis: int, at: Setting) -> int:
    """Return the position that an index names, counted from 0 if the dim is known.

    Raises `ShapeError`: index-out-of-range, needs-size.
    """
    if index < 0 and at.version is not None and at.version < at.row.negative_axes_since:
        since = f"{at.operator.name} {at.row.negative_axes_since}"
        message = f"index {brief(str(index))}: negative indices exist since {since}, and this is version {at.version}"
        raise refusal(INDEX_OUT_OF_RANGE, message, argument="index")
    if not isinstance(dim, int):
        if index in (0, -1):
            return index
        message = f"whether dim {axis}, {brief(str(dim))}, has an index {brief(str(index))} depends on its size"
        raise refusal(NEEDS_SIZE, message, argument="index")
    if not -dim <= index < dim:
        message = f"dim {axis} is {brief(str(dim))}, and has no index {brief(str(index))}"
        raise refusal(INDEX_OUT_OF_RANGE, message, argument="index")
    return index % dim


def _nearest_index(shape: Shape, arguments: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the same position counted from 0, and those at both ends."""
    dim, index = shape[arguments["axis"]], arguments["index"]
    if isinstance(dim, int):
        ends = (dim - 1, 0) if index > 0 else (0, dim - 1)
        yield from (("index", near) for near in (index + dim, *ends) if near in range(dim))


SELECT = Op(
    name="select",
    summary="Take one index of one axis, and drop the axis.",
    params=(
        Param("axis", Holds.INT, "the axis to drop", positional=True, required=True),
        Param("index", Holds.INT, "the position to take; -1 is the last", positional=True, required=True),
    ),
    steps=select,
    operators={
        "onnx": Operator("Gather", {1: UP_TO_12, 11: UP_TO_12, 13: SINCE_13}),
        "numpy": Operator("indexing"),
        "torch": Operator("select"),
        "openvino": Operator("Gather"),
        "paddle": Operator("indexing"),
    },
    examples=("select 2,3,4 1 0", "select N,C,H -1 -1 --explain", "select 2,3,4 0 1 -d torch"),
    vectors=tuple(
        (shape, {"axis": axis, "index": index})
        for shape, axis, index in (
            ("2,3,4", "0", "0"),
            ("2,3,4", "1", "2"),
            ("2,3,4", "-1", "-4"),
            ("2,3,4", "2", "4"),
            ("2,3,4", "2", "-5"),
            ("2,3,4", "3", "0"),
            ("2,3,4", "-4", "0"),
            ("5", "0", "-1"),
            ("2,0", "0", "1"),
            ("2,0", "1", "0"),
            ("[]", "0", "0"),
            ("N,C", "1", "0"),
            ("N,C", "0", "-1"),
            ("N,C", "0", "1"),
        )
    ),
    keeps_count=False,
    facts=(TakenIndex,),
    refusals=(INDEX_OUT_OF_RANGE,),
    changes={INDEX_OUT_OF_RANGE: _nearest_index},
)
