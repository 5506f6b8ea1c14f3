"""TensorFlow Lite (LiteRT): the builtin operators.

The rules of reshape are those of TensorFlow.
"""

from __future__ import annotations

from shapecalc.core.dialects import base
from shapecalc.core.dims import Axes, Shape
from shapecalc.core.problem import Rule, ShapeError, rule_error
from shapecalc.core.rules import MISSING_ARGUMENT
from shapecalc.core.text import shape_text

MAX_RANK = 8
"""The maximum input rank of TRANSPOSE, SQUEEZE and REVERSE_V2."""

AXES_NOT_ADJACENT = Rule(
    "axes-apart",
    "the operator reverses only adjacent axes",
    "Use one node for each group of adjacent axes.",
    "shapecalc flip 2,3,4 0,2 --dialect tflite",
    "measured with LiteRT 2.3.0",
)


def reverse_error(shape: Shape, rules: base.RequestRules, axes: Axes) -> ShapeError | None:
    """Return the error for a flip that REVERSE_V2 refuses, or None.

    REVERSE_V2 requires at least one axis, only adjacent axes, and at most `MAX_RANK` dims. Source: LiteRT 2.3.0,
    measured.
    """
    rank = len(shape)
    if not axes:
        return rule_error(MISSING_ARGUMENT, "REVERSE_V2 takes at least one axis", argument="axes")
    positions = sorted({axis % rank for axis in axes if -rank <= axis < rank})
    if len(positions) == len(axes) and positions[-1] - positions[0] >= len(positions):
        message = f"{shape_text(axes)} are not neighbours among {rank} axes"
        return rule_error(AXES_NOT_ADJACENT, message, argument="axes")
    return base.rank_limit_error(MAX_RANK, rank, rules.dialect)


FLOAT8_TYPES = frozenset({"float8_e4m3fn", "float8_e5m2"})
PACKED = base.INT4 | {"int2"}
UNSIGNED = frozenset({"uint16", "uint32", "uint64"})

TFLITE = base.Dialect(
    name="tflite",
    aliases=("litert",),
    source="TensorFlow Lite operators (schema.fbs, MLIR's tfl dialect); verified with the CPU kernels of LiteRT 2.3.0",
    operators=base.operators_by_op(
        reshape="RESHAPE", unsqueeze="EXPAND_DIMS", expand="BROADCAST_TO", shape="SHAPE", split="SPLIT"
    )
    | base.operators_by_op(select="STRIDED_SLICE", slice="STRIDED_SLICE")
    | {
        "transpose": base.Operator("TRANSPOSE", refusal_check=base.make_rank_limit_check(MAX_RANK)),
        "squeeze": base.Operator("SQUEEZE", refusal_check=base.make_rank_limit_check(MAX_RANK)),
        "flip": base.Operator("REVERSE_V2", refusal_check=reverse_error),
    },
    reshape_semantics={
        None: base.ReshapeSemantics(base.ZeroMeaning.LITERAL, empty=base.ZeroVolumeInferPolicy.WITHOUT_ZEROS)
    },
    max_inferred=2**31 - 1,
    types=base.INTEGERS | base.FLOATS | base.COMPLEX | FLOAT8_TYPES | PACKED | {"bool", "string", "bfloat16"},
    missing_types={
        **dict.fromkeys(("reshape", "unsqueeze"), frozenset({"bfloat16"})),
        **dict.fromkeys(("squeeze", "expand"), frozenset({"bfloat16", "string"})),
        "transpose": frozenset({"bfloat16", "complex128", "int2", "string"}),
        **dict.fromkeys(("select", "slice"), PACKED | {"bfloat16", "complex128", "string"}),
        "split": PACKED | UNSIGNED | base.COMPLEX | FLOAT8_TYPES | {"bool", "bfloat16", "string", "float16", "float64"},
        "flip": PACKED | UNSIGNED | base.COMPLEX | FLOAT8_TYPES | {"bfloat16", "string", "float64"},
    },
    note="Transpose, squeeze and flip support at most 8 dims. TensorFlow Lite accepts repeated axes of a transpose, "
    "an index outside of its dim, slices of axes that do not exist, and a non-integral inferred dim next to a 0, but "
    "shapecalc refuses them",
    rules=(AXES_NOT_ADJACENT,),
)
