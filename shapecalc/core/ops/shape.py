"""Shape: return the dims of a tensor as a vector."""

from __future__ import annotations

from shapecalc.core.answers import StageBuilder, StageKind, Stages, Step, StepRule
from shapecalc.core.dialects.base import (
    NEWEST_VERSIONS,
    SINCE_13,
    SINCE_19,
    UP_TO_12,
    Dialect,
    Operator,
    Param,
    ParamType,
    RequestRules,
)
from shapecalc.core.dims import Shape
from shapecalc.core.moves import ShapeVector
from shapecalc.core.ops.op import DialectTable, Op, make_test_vectors
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import rank_text


def _explain_clamp(step: Step, end: str, requested: int, rank: int) -> str:
    """Format the reason for clamping the start or the end.

    `end` is the name of the clamped argument, and `requested` is its value in the request.
    """
    text = f"{end} {requested}"
    if requested < 0:
        text += f" counts from the end: {requested + rank}"
    return text if requested + rank == step.value else f"{text}, moved to {step.value}"


CLAMPED = StepRule(
    "clamp",
    "a negative start or end counts from the end; then both are clamped to the range from 0 to the rank",
    "Older versions of the ONNX Shape document have the range [0, rank - 1]. This erratum was corrected later. For a "
    "shape of rank 3, start=3 gives an empty vector.",
    "shapecalc shape 2,3,4 --start 3 --end 9",
    "ONNX Shape 15 and later",
    why=_explain_clamp,
)


READ_DIM = StepRule(
    "read-dim",
    "an element of the result is the size of a dim",
    "Shape returns the dims as the elements of a vector.",
    "shapecalc shape 2,3,4",
    "ONNX Shape: 'outputs an 1D int64 tensor containing the shape of the input tensor'",
    why="element {step.out} is the size of dim {step.sources[0]}, which is {step.value}",
)


SLICED_DIMS = StepRule(
    "slice",
    "the output contains the dims from start to end, excluding end",
    "If the start is after the end, the result is an empty vector.",
    "shapecalc shape 2,3,4 --start 1",
    "ONNX Shape: 'the end axis, if specified, is exclusive'",
    why=lambda step, rank: f"{len(step.sources)} of {rank_text(rank)}, as a vector of int64",
)


def shape(dims: Shape, _rules: RequestRules, start: int | None = None, end: int | None = None) -> Stages:
    """Return the dims from `start` to `end` (exclusive) as an int64 vector.

    Negative values count from the end. Then both values are clamped to [0, rank]. If `start` is not below `end`, the
    vector is empty. Source: ONNX Shape. Older versions of its specification contain an erratum: they document a clamp
    to [0, rank - 1].
    """
    with StageBuilder(StageKind.SHAPE, "shape", "start", dims) as stage:
        rank = len(dims)
        first, last, _ = slice(start, end).indices(rank)
        output = dims[first:last]
        stage.explain = lambda _: (
            *[
                Step(CLAMPED, None, (), clamped, (), FrozenDict(end=name, requested=requested, rank=rank))
                for name, requested, clamped in (("start", start, first), ("end", end, last))
                if requested not in (None, clamped)
            ],
            *[Step(READ_DIM, out, (first + out,), dim) for out, dim in enumerate(output)],
            Step(SLICED_DIMS, None, tuple(range(first, max(first, last))), output, (), FrozenDict(rank=rank)),
        )
        return stage.finish(ShapeVector(first, last))


class ShapeSemantics(Record):
    """The parameters of the op `shape` in a dialect."""

    slices_shape: bool = True
    """Whether the op `shape` accepts `start` and `end`."""


SHAPE_SEMANTICS = DialectTable(
    {
        "onnx numpy torch jax": ShapeSemantics(),
        "openvino paddle mxnet tensorflow tflite coreml": ShapeSemantics(slices_shape=False),
    }
)


def _has_shape_range(dialect: Dialect) -> bool:
    return SHAPE_SEMANTICS.for_dialect(dialect).slices_shape


START_HELP = "the index of the first dim, by default 0; negative values count from the end"
END_HELP = "the index after the last dim, by default the rank; negative values count from the end"
SHAPE = Op(
    name="shape",
    rules=(CLAMPED, READ_DIM, SLICED_DIMS),
    summary="Return the dims as a vector of int64.",
    params=(
        Param(
            "start",
            ParamType.INT,
            START_HELP,
            positional_or_named=True,
            supported_by=_has_shape_range,
        ),
        Param("end", ParamType.INT, END_HELP, positional_or_named=True, supported_by=_has_shape_range),
    ),
    resolve=shape,
    operators={
        "onnx": Operator(
            "Shape",
            {1: UP_TO_12, 13: SINCE_13, 15: SINCE_13, 19: SINCE_19} | NEWEST_VERSIONS,
            params_since={"start": 15, "end": 15},
        )
    },
    examples=("shape 2,3,4", "shape N,C,H,W --start -2", "shape 2,3,4 --start 3 --end 9 --explain"),
    vectors=make_test_vectors(
        "start end", ("2,3,4", "", "-1", "_ -1", "1 2", "3", "_ -4", "-9 9", "2 1"), ("[]", ""), ("N,C,H,W", "-2")
    ),
    keeps_element_count=False,
    ends_chain=True,
    semantics=(SHAPE_SEMANTICS,),
)
