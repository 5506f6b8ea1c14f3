"""PyTorch: 0 is a size, only -1 is inferred."""

from __future__ import annotations

from shapecalc.core.dialects.base import (
    SINCE_19,
    Broadcast,
    Dialect,
    Flattens,
    NotOne,
    Operator,
    Reading,
    TileRepeats,
    Zero,
)

TORCH = Dialect(
    name="torch",
    aliases=("pt",),
    source="PyTorch reference, and PyTorch 2.13.0",
    operators={
        "reshape": Operator("reshape"),
        "transpose": Operator("permute"),
        "flatten": Operator("flatten"),
        "squeeze": Operator("squeeze"),
        "unsqueeze": Operator("unsqueeze"),
        "expand": Operator("expand"),
        "shape": Operator("shape"),
    },
    readings={None: Reading(Zero.LITERAL)},
    negative_perm=True,
    not_one=NotOne.LEFT_ALONE,
    scalar_axis=True,
    flattens=Flattens.RANGE,
    broadcast=Broadcast.ONE_WAY_KEEPS,
    tile_repeats=TileRepeats.AT_LEAST,
    slices_backwards=False,
    types=SINCE_19 - {"string"} | {"float8_e8m0fnu"},
    spellings={"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
    prefix="torch.",
    note="transpose without a permutation is Tensor.T",
)
