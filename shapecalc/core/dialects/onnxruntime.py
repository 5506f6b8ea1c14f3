"""ONNX Runtime: the measured behaviour for shapes that are unknown at load time.

If the shapes are known at load time, ONNX Runtime has the rules of ONNX.
"""

from __future__ import annotations

from shapecalc.core.dialects.base import (
    COMPLEX,
    FLOAT8,
    INT4,
    SINCE_13,
    SUB_BYTE,
    ZERO_COPIES,
    ReshapeSemantics,
    ZeroMeaning,
    ZeroVolumeInferPolicy,
)
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.record import replace

UNSUPPORTED_TYPES = COMPLEX | INT4 | SUB_BYTE | FLOAT8
"""Element types that flatten, squeeze and unsqueeze do not support."""

ONNXRUNTIME = replace(
    ONNX,
    name="onnxruntime",
    aliases=("ort",),
    source="ONNX Runtime 1.32.0 on a CPU, measured with shapes that are unknown when the model is loaded",
    reshape_semantics={
        False: ZERO_COPIES,
        True: ReshapeSemantics(ZeroMeaning.LITERAL, empty=ZeroVolumeInferPolicy.WITHOUT_ZEROS),
    },
    follows=ONNX,
    newest_opset=26,
    missing_types={
        "reshape": COMPLEX | INT4 | SUB_BYTE,
        "shape": COMPLEX,
        "transpose": COMPLEX | {"float4_e2m1fn", "float8_e8m0fnu"},
        "flatten": UNSUPPORTED_TYPES,
        "squeeze": UNSUPPORTED_TYPES,
        "unsqueeze": UNSUPPORTED_TYPES,
        **dict.fromkeys(("expand", "tile"), COMPLEX | {"bfloat16"}),
        "select": COMPLEX,
        "slice": COMPLEX,
        **dict.fromkeys(("split", "concat", "stack", "take"), COMPLEX),
        **dict.fromkeys(("broadcast", "matmul", "linear", "pool"), frozenset({"bfloat16"})),
        "conv": frozenset({"bfloat16", "float64"}),
        "mean": frozenset({"bfloat16", "uint32", "uint64"}),
        "pad": UNSUPPORTED_TYPES | {"int16", "uint16", "string"},
        "upsample": SINCE_13 - {"float16", "float32", "int32", "int8", "uint8"},
    },
    note="If the shapes are known when the model is loaded, ONNX Runtime refuses the same requests as ONNX",
)
