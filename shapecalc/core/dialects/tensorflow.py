"""TensorFlow: 0 is a size and may occur with -1; expand_dims inserts one dim."""

from __future__ import annotations

from shapecalc.core.dialects import base

MOST_PICKED = 8
"""The maximum rank of a tensor for indexing and reverse.

TensorFlow runs some slices of higher rank, such as the whole tensor.
"""
NARROW = base.INT4 | {"int2", "uint2", "float4_e2m1fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz"}
"""Element types whose only kernels are those that change the shape."""


TENSORFLOW = base.Dialect(
    name="tensorflow",
    aliases=("tf",),
    source="TensorFlow reference, and TensorFlow 2.21.0",
    operators=base.named(
        "reshape transpose squeeze shape split roll tile", unsqueeze="expand_dims", expand="broadcast_to"
    )
    | {
        "select": base.Operator("indexing", refuses=base.at_most(MOST_PICKED)),
        "slice": base.Operator("indexing", refuses=base.at_most(MOST_PICKED)),
        "take": base.Operator("gather"),
        "flip": base.Operator("reverse", refuses=base.at_most(MOST_PICKED)),
    },
    readings={None: base.Reading(base.Zero.LITERAL, empty=base.EmptyInfer.WITHOUT_ZEROS)},
    max_rank=254,
    negative_perm=True,
    squeeze_repeats=base.Repeats.DROPPED,
    inserts_one=True,
    no_axes_is_all=True,
    slices_shape=False,
    infers_part=True,
    takes_from_the_end=False,
    rolls=base.Rolls.AXES,
    tile_repeats=base.TileRepeats.EACH,
    windows=base.Windows(
        *("valid same numbers:conv,max", (1, 3), "nhwc"),
        layouts=True,
        filters_last=True,
        kernel_steps=True,
        dilates_steps=False,
        crops=False,
    ),
    types=base.INTEGERS | base.FLOATS | base.COMPLEX | NARROW | base.FLOAT8 | {"bool", "string", "bfloat16"},
    lacks_types={
        **dict.fromkeys(("transpose", "expand", "select", "slice"), NARROW),
        "split": NARROW - base.INT4,
        **dict.fromkeys(("flip", "roll"), NARROW | base.FLOAT8),
        "tile": NARROW | base.FLOAT8 | {"uint16"},
    },
    spellings={"float": "float32", "double": "float64", "half": "float16"},
    prefix="tf.",
    note="flip and indexing allow at most 8 dims; refused here, although TensorFlow accepts them: a -1 with a 0 that "
    "is not a whole number (TensorFlow rounds it down), and wrong axes of an empty tensor in flip; element "
    "types are those of eager mode on a CPU",
)
