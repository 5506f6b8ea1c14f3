"""TensorFlow Lite (LiteRT): the builtin operators. A requested shape is read as TensorFlow reads it."""

from __future__ import annotations

from shapecalc.core.answers import Kind, Stage
from shapecalc.core.dialects.base import (
    COMPLEX,
    FLOATS,
    INT4,
    INTEGERS,
    Dialect,
    EmptyInfer,
    NoPerm,
    Operator,
    Reading,
    Repeats,
    Zero,
    refused,
    too_many,
)
from shapecalc.core.problem import Rule, refusal
from shapecalc.core.rules import MISSING_ARGUMENT
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.core.answers import Reasons
    from shapecalc.core.dims import Shape

    Axes = tuple[int, ...]

MOST = 8
"""The most dims of a tensor that TRANSPOSE, SQUEEZE and REVERSE_V2 take."""

APART = Rule(
    "axes-apart",
    "the operator reverses neighbouring axes only",
    "Reverse the first ones, and the others in another node.",
    "shapecalc flip 2,3,4 0,2 --dialect tflite",
    "LiteRT 2.3.0, run",
)


def transpose(shape: Shape, at: Any, perm: Axes | None = None) -> Reasons | None:
    """Refuse the transpose of a tensor of too many dims; the rest is left to the op."""
    return too_many(Stage(Kind.PERMUTE, "transpose", "perm", shape, perm or ()), MOST, at.row)


def squeeze(shape: Shape, at: Any, axes: Axes | None = None) -> Reasons | None:
    """Refuse the squeeze of a tensor of too many dims; the rest is left to the op."""
    return too_many(Stage(Kind.SQUEEZE, "squeeze", "axes", shape, axes or ()), MOST, at.row)


def reverse(shape: Shape, at: Any, axes: Axes) -> Reasons | None:
    """Refuse the flip of no axes, of axes that are no neighbours, and of a tensor of too many dims.

    Source: REVERSE_V2, run. The rest is left to the op. Raises `ShapeError`: missing-argument, axes-apart, rank-limit.
    """
    rank, stage = len(shape), Stage(Kind.FLIP, "flip", "axes", shape)
    if not axes:
        return refused(stage, refusal(MISSING_ARGUMENT, "REVERSE_V2 takes at least one axis", argument="axes"))
    places = sorted({axis % rank for axis in axes if -rank <= axis < rank})
    if len(places) == len(axes) and places[-1] - places[0] >= len(places):
        message = f"{shape_text(axes)} are not neighbours among {rank} axes"
        return refused(stage, refusal(APART, message, argument="axes"))
    return too_many(stage, MOST, at.row)


FLOAT8 = frozenset({"float8_e4m3fn", "float8_e5m2"})
PACKED = INT4 | {"int2"}
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})

TFLITE = Dialect(
    name="tflite",
    aliases=("litert",),
    source="TensorFlow Lite operators (schema.fbs, MLIR's tfl dialect), and LiteRT 2.3.0, its CPU kernels",
    operators={
        "reshape": Operator("RESHAPE"),
        "transpose": Operator("TRANSPOSE", steps=transpose, heeds_empty=False),
        "squeeze": Operator("SQUEEZE", steps=squeeze, heeds_empty=False),
        "unsqueeze": Operator("EXPAND_DIMS"),
        "expand": Operator("BROADCAST_TO"),
        "shape": Operator("SHAPE"),
        "select": Operator("STRIDED_SLICE"),
        "slice": Operator("STRIDED_SLICE"),
        "split": Operator("SPLIT"),
        "flip": Operator("REVERSE_V2", steps=reverse, heeds_empty=False),
    },
    readings={None: Reading(Zero.LITERAL, empty=EmptyInfer.WITHOUT_ZEROS)},
    max_inferred=2**31 - 1,
    no_perm=NoPerm.REFUSED,
    negative_perm=True,
    squeeze_repeats=Repeats.DROPPED,
    inserts_one=True,
    no_axes_is_all=True,
    slices_shape=False,
    types=INTEGERS | FLOATS | COMPLEX | FLOAT8 | PACKED | {"bool", "string", "bfloat16"},
    lacks_types={
        **dict.fromkeys(("reshape", "unsqueeze"), frozenset({"bfloat16"})),
        **dict.fromkeys(("squeeze", "expand"), frozenset({"bfloat16", "string"})),
        "transpose": frozenset({"bfloat16", "complex128", "int2", "string"}),
        **dict.fromkeys(("select", "slice"), PACKED | {"bfloat16", "complex128", "string"}),
        "split": PACKED | UNSIGNED | COMPLEX | FLOAT8 | {"bool", "bfloat16", "string", "float16", "float64"},
        "flip": PACKED | UNSIGNED | COMPLEX | FLOAT8 | {"bfloat16", "string", "float64"},
    },
    note="transpose, squeeze and flip allow at most 8 dims; refused here, although TensorFlow Lite accepts them: "
    "repeated axes of a transpose, an index outside of its dim, slices of axes that do not exist, and a -1 with "
    "a 0 that is not a whole number",
    refusals=(APART,),
)
