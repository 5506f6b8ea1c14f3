"""TensorRT: the Shuffle layer."""

from __future__ import annotations

from shapecalc.core.dialects.base import COPIES, FLOATS, LITERAL, Dialect, NoPerm, Operator, Outside, Switch, Windows

SHUFFLE = Operator("Shuffle")

TENSORRT = Dialect(
    name="tensorrt",
    aliases=("trt",),
    source="TensorRT operator document: Shuffle",
    operators={"shuffle": SHUFFLE, "reshape": SHUFFLE, "transpose": SHUFFLE},
    readings={True: COPIES, False: LITERAL},
    switch=Switch("zero_is_placeholder", default=True),
    max_rank=8,
    max_inferred=2**31 - 1,
    no_perm=NoPerm.KEEPS,
    outside=Outside.REFUSED,
    equal_ranks=True,
    windows=Windows("numbers same same-lower", (2, 3), counts_outside=True),
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
    note="0 copies from the tensor after first_transpose",
)
