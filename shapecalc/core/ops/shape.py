"""Shape: return the dims themselves."""

from __future__ import annotations

from shapecalc.core.answers import Facts, Kind, Stage, Step
from shapecalc.core.dialects.base import NEWEST, SINCE_13, SINCE_19, UP_TO_12, Operator
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Dims
from shapecalc.core.ops.op import Holds, Op, Param
from shapecalc.core.problem import Rule
from shapecalc.core.text import rank_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Reasons
    from shapecalc.core.dialects.base import Dialect
    from shapecalc.core.ops.op import Setting


class Clamped(Facts):
    """A start or an end that was out of range."""

    name = "clamp"
    rule = Rule(
        "clamp",
        "a negative start or end counts from the end; then both are moved into the range from 0 to the rank",
        "Older texts of ONNX Shape clamp to [0, rank - 1]; that is an erratum, corrected later: start=3 of a shape "
        "of rank 3 gives an empty vector.",
        "shapecalc shape 2,3,4 --start 3 --end 9",
        "ONNX Shape 15 and later",
    )
    end: str
    """Which of the two: `start` or `end`."""
    wanted: int
    rank: int

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        said = f"{self.end} {self.wanted}"
        if self.wanted < 0:
            said += f" counts from the end: {self.wanted + self.rank}"
        return said if self.wanted + self.rank == step.value else f"{said}, moved to {step.value}"


class ReadDim(Facts):
    """A dim that becomes an element of the result."""

    name = "read dim"
    rule = Rule(
        "read-dim",
        "an element of the result is the size of a dim",
        "Shape returns the dims themselves: the shape becomes data.",
        "shapecalc shape 2,3,4",
        "ONNX Shape: 'outputs an 1D int64 tensor containing the shape of the input tensor'",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"element {step.out} is the size of dim {step.sources[0]}, {step.value}"


class SlicedDims(Facts):
    """The dims that are returned."""

    name = "slice"
    rule = Rule(
        "slice",
        "the dims from start up to end, without end itself",
        "A start after the end gives an empty vector.",
        "shapecalc shape 2,3,4 --start 1",
        "ONNX Shape: 'the end axis, if specified, is exclusive'",
    )
    rank: int

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"{len(step.sources)} of {rank_text(self.rank)}, as a vector of int64"


READ_DIM = ReadDim()


def shape(dims: Shape, _at: Setting, start: int | None = None, end: int | None = None) -> Reasons:
    """Return the dims from `start` to `end` themselves, as a vector of int64.

    Negatives count from the back, then both ends are clamped to [0, rank]. A start after the end gives an empty
    vector. Source: ONNX Shape, whose older texts clamp to [0, rank - 1], an erratum.
    """
    yield Stage(Kind.SHAPE, "shape", "start", dims)
    rank = len(dims)
    first, last, _ = slice(start, end).indices(rank)
    for name, wanted, clamped in (("start", start, first), ("end", end, last)):
        if wanted is not None and wanted != clamped:
            yield Step(Clamped(name, wanted, rank), None, (), clamped)
    output = dims[first:last]
    for out, dim in enumerate(output):
        yield Step(READ_DIM, out, (first + out,), dim)
    yield Step(SlicedDims(rank), None, tuple(range(first, max(first, last))), output)
    yield Dims(first, last)
    return output


def _slices(row: Dialect) -> bool:
    return row.slices_shape


SHAPE = Op(
    name="shape",
    facts=(Clamped, ReadDim, SlicedDims),
    summary="Return the dims themselves, as a vector of int64.",
    params=(
        Param("start", Holds.INT, "the first dim, by default 0; a negative one counts from the end", taken_by=_slices),
        Param(
            "end",
            Holds.INT,
            "the dim to stop before, by default the rank; a negative one counts from the end",
            taken_by=_slices,
        ),
    ),
    steps=shape,
    operators={
        "onnx": Operator(
            "Shape", {1: UP_TO_12, 13: SINCE_13, 15: SINCE_13, 19: SINCE_19} | NEWEST, since={"start": 15, "end": 15}
        )
    },
    examples=("shape 2,3,4", "shape N,C,H,W --start -2", "shape 2,3,4 --start 3 --end 9 --explain"),
    vectors=(
        ("2,3,4", {}),
        ("[]", {}),
        ("2,3,4", {"start": "-1"}),
        ("2,3,4", {"end": "-1"}),
        ("2,3,4", {"start": "1", "end": "2"}),
        ("2,3,4", {"start": "3"}),
        ("2,3,4", {"end": "-4"}),
        ("2,3,4", {"start": "-9", "end": "9"}),
        ("2,3,4", {"start": "2", "end": "1"}),
        ("N,C,H,W", {"start": "-2"}),
    ),
    keeps_count=False,
    ends_chain=True,
)
