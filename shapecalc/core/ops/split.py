"""Split: an axis is cut into equal parts, and one of them is kept."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Reasons, Stage, Step, StepRule
from shapecalc.core.conditions import divides, required
from shapecalc.core.dialects.base import FLOATS, SINCE_13, UP_TO_12, Holds, Operator, Param, Setting
from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.moves import Pick
from shapecalc.core.ops.axes import existing_axis
from shapecalc.core.ops.op import Arguments, Changes, Op, near, vectors
from shapecalc.core.ops.select import INDEX_OUT_OF_RANGE
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.record import FrozenDict
from shapecalc.core.rules import INDIVISIBLE, KEPT_DIM
from shapecalc.core.text import brief, left_over

SOURCE = "ONNX Split, numpy.split, torch.chunk, OpenVINO Split, paddle.split"

BAD_PARTS = Rule(
    "bad-parts",
    "an axis is split into at least one part",
    "One part is the whole axis.",
    "shapecalc split 6,4 0 0",
    SOURCE,
)


def _split_axis(step: Step, part: int, parts: int, dim: Dim) -> str:
    count = brief(str(parts))
    return f"part {brief(str(part))} of {count}: {brief(str(dim))} / {count} = {step.value}"


SPLIT_AXIS = StepRule(
    "split-axis",
    "an axis is cut into equal parts, and one of them is kept",
    "The count of parts must divide the size. If it does not, ONNX since Split 18 and PyTorch's chunk make the "
    "last part smaller; here every dialect refuses it.",
    "shapecalc split 6,4 0 3 --part 1",
    SOURCE,
    name="split axis",
    why=_split_axis,
)


def split(shape: Shape, at: Setting, axis: int, parts: int, part: int = 0) -> Reasons:
    """Cut an axis into `parts` equal parts and keep one of them, counted from 0.

    Source: ONNX Split ("the tensor is split into equal sized parts"), numpy.split, torch.chunk, OpenVINO Split.
    Raises `ShapeError`: axis-out-of-range, negative-axis, bad-parts, indivisible, index-out-of-range.
    """
    yield Stage(Kind.SPLIT, "split", "parts", shape)
    cut = existing_axis(axis, shape, at)
    _check_part(parts, part)
    kept = _part_step(shape[cut], cut, parts, part)
    for out, dim in enumerate(shape):
        yield kept if out == cut else Step(KEPT_DIM, out, (out,), dim)
    starts: list[Dim] = [0] * len(shape)
    sizes = list(shape)
    starts[cut], sizes[cut] = product((part, kept.dim)), kept.dim
    yield Pick(tuple(starts), (1,) * len(shape), tuple(sizes))
    return tuple(sizes)


def _check_part(parts: int, part: int) -> None:
    """Refuse a count of parts below 1, and a part that there is not: bad-parts, index-out-of-range."""
    if parts < 1:
        raise refusal(BAD_PARTS, f"there is at least 1 part, and this is {brief(str(parts))}", argument="parts")
    if not 0 <= part < parts:
        message = f"parts run from 0 to {brief(str(parts - 1))}, and this is {brief(str(part))}"
        raise refusal(INDEX_OUT_OF_RANGE, message, argument="part")


def _part_step(dim: Dim, axis: int, parts: int, part: int) -> Step:
    """Return the step that settles the axis that is cut; raise `ShapeError` (indivisible) if no part is whole."""
    message = f"dim {axis}, {brief(str(dim))}, has no {brief(str(parts))} equal parts{left_over(dim, parts)}"
    conditions = required(divides, dim, parts, refusal(INDIVISIBLE, message, argument="parts"))
    facts = FrozenDict(part=part, parts=parts, dim=dim)
    return Step(SPLIT_AXIS, axis, (axis,), quotient(dim, parts), conditions, facts)


def _nearest_parts(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the counts nearest to the one that was refused; last 1, which is the whole axis."""
    parts = arguments["parts"]
    nearest = sorted(near(parts), key=lambda count: (abs(count - parts), -count))
    yield from (("parts", count) for count in (*nearest, 1) if count != parts)


def _nearest_part(_shape: Shape, arguments: Arguments) -> Changes:
    """Yield the last part, or the first if the one that was refused counts backwards."""
    yield "part", arguments["parts"] - 1 if arguments["part"] > 0 else 0


SPLIT = Op(
    name="split",
    summary="Cut an axis into equal parts, and keep one.",
    params=(
        Param("axis", Holds.INT, "the axis that is cut", positional=True, required=True),
        Param("parts", Holds.INT, "how many equal parts there are", positional=True, required=True),
        Param("part", Holds.INT, "the part that is kept, by default 0"),
    ),
    steps=split,
    operators={
        "onnx": Operator("Split", {1: FLOATS, 2: UP_TO_12, 11: UP_TO_12, 13: SINCE_13, 18: SINCE_13}),
        "numpy": Operator("split"),
        "torch": Operator("chunk"),
        "openvino": Operator("Split"),
        "paddle": Operator("split"),
    },
    examples=("split 6,4 0 3 --part 1", "split N,3*C 1 3 --part 2 --explain", "split N,C 1 2 -d torch"),
    vectors=vectors(
        "axis parts part",
        ("6,4", "0 3", "-1 2 1", "0 3 3", "0 3 -1", "0 4", "0 0", "0 -2", "0 1", "2 2"),
        ("0,4", "0 3 2"),
        ("[]", "0 1"),
        ("N,3*C", "1 3 2"),
        ("N,C", "1 2 1"),
    ),
    keeps_count=False,
    rules=(SPLIT_AXIS, BAD_PARTS),
    changes={INDIVISIBLE: _nearest_parts, BAD_PARTS: _nearest_parts, INDEX_OUT_OF_RANGE: _nearest_part},
)
