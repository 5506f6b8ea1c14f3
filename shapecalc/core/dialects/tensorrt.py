"""TensorRT: the Shuffle layer."""

from __future__ import annotations

from shapecalc.core.dialects.base import (
    FLOATS,
    ZERO_COPIES,
    ZERO_LITERAL,
    Dialect,
    Operator,
    Switch,
)

SHUFFLE = Operator("Shuffle")

TENSORRT = Dialect(
    name="tensorrt",
    aliases=("trt",),
    source="TensorRT operator document: Shuffle",
    operators={"shuffle": SHUFFLE, "reshape": SHUFFLE, "transpose": SHUFFLE},
    reshape_semantics={True: ZERO_COPIES, False: ZERO_LITERAL},
    switch=Switch("zero_is_placeholder", default=True),
    max_rank=8,
    max_inferred=2**31 - 1,
    types=FLOATS - {"float64"} | {"bfloat16", "bool", "int4", "int8", "uint8", "int32", "float8_e4m3fn"},
    spellings={
        "float": "float32",
        "half": "float16",
        "fp32": "float32",
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp8": "float8_e4m3fn",
        "float8": "float8_e4m3fn",
    },
    note="A 0 copies a dim of the result of the first transpose",
)
