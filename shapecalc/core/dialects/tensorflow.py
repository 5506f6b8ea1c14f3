"""TensorFlow: 0 is a size, even together with -1.

The operator expand_dims inserts one dim.
"""

from __future__ import annotations

from shapecalc.core.dialects import base

MAX_INDEXING_RANK = 8
"""The maximum input rank of indexing and reverse.

TensorFlow itself accepts some slices of higher rank, such as a slice of the complete tensor.
"""
SHAPE_ONLY_TYPES = base.INT4 | {
    "int2",
    "uint2",
    "float4_e2m1fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
}
"""Element types that reshape supports and transpose does not."""


TENSORFLOW = base.Dialect(
    name="tensorflow",
    aliases=("tf", "keras"),
    source="TensorFlow reference; verified with TensorFlow 2.21.0",
    operators=base.operators_by_op(
        "reshape transpose squeeze shape split roll tile", unsqueeze="expand_dims", expand="broadcast_to"
    )
    | {
        "select": base.Operator("indexing", refusal_check=base.make_rank_limit_check(MAX_INDEXING_RANK)),
        "slice": base.Operator("indexing", refusal_check=base.make_rank_limit_check(MAX_INDEXING_RANK)),
        "take": base.Operator("gather"),
        "flip": base.Operator("reverse", refusal_check=base.make_rank_limit_check(MAX_INDEXING_RANK)),
    },
    reshape_semantics={
        None: base.ReshapeSemantics(base.ZeroMeaning.LITERAL, empty=base.ZeroVolumeInferPolicy.WITHOUT_ZEROS)
    },
    max_rank=254,
    types=base.INTEGERS | base.FLOATS | base.COMPLEX | SHAPE_ONLY_TYPES | base.FLOAT8 | {"bool", "string", "bfloat16"},
    missing_types={
        **dict.fromkeys(("transpose", "expand", "select", "slice"), SHAPE_ONLY_TYPES),
        "split": SHAPE_ONLY_TYPES - base.INT4,
        **dict.fromkeys(("flip", "roll"), SHAPE_ONLY_TYPES | base.FLOAT8),
        "tile": SHAPE_ONLY_TYPES | base.FLOAT8 | {"uint16"},
        "mean": SHAPE_ONLY_TYPES | base.FLOAT8 | {"bool", "string"},
    },
    spellings={"float": "float32", "double": "float64", "half": "float16"},
    prefix="tf.",
    note="Flip and indexing support at most 8 dims. If a dim is 0, TensorFlow rounds a non-integral inferred dim down, "
    "but shapecalc refuses it. TensorFlow also accepts invalid axes in a flip of an empty tensor, but shapecalc "
    "refuses them. The element types are those of eager mode on a CPU",
)
