"""ONNX Runtime, as measured.

It differs from the ONNX specification if shapes are unknown when the model is loaded.
"""

from __future__ import annotations

from shapecalc.core.dialects.base import (
    COMPLEX,
    COPIES,
    FLOAT8,
    INT4,
    SINCE_13,
    SUB_BYTE,
    EmptyInfer,
    Reading,
    Repeats,
    Zero,
)
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.record import replace

MOVED = COMPLEX | INT4 | SUB_BYTE | FLOAT8
"""Element types without kernels for flatten, squeeze and unsqueeze."""

ONNXRUNTIME = replace(
    ONNX,
    name="onnxruntime",
    aliases=("ort",),
    source="ONNX Runtime 1.31.1, CPU, measured with shapes that are unknown when the model is loaded",
    readings={False: COPIES, True: Reading(Zero.LITERAL, empty=EmptyInfer.WITHOUT_ZEROS)},
    follows=ONNX,
    newest_opset=26,
    squeeze_repeats=Repeats.DROPPED,
    no_axes_is_all=True,
    negative_axes_since=1,
    lacks_types={
        "reshape": COMPLEX | INT4 | SUB_BYTE,
        "shape": COMPLEX,
        "transpose": COMPLEX | {"float4_e2m1fn", "float8_e8m0fnu"},
        "flatten": MOVED,
        "squeeze": MOVED,
        "unsqueeze": MOVED,
        **dict.fromkeys(("expand", "tile"), COMPLEX | {"bfloat16"}),
        "select": COMPLEX,
        "slice": COMPLEX,
        **dict.fromkeys(("split", "concat", "stack", "take"), COMPLEX),
        **dict.fromkeys(("broadcast", "matmul", "linear", "pool"), frozenset({"bfloat16"})),
        "conv": frozenset({"bfloat16", "float64"}),
        "pad": MOVED | {"bfloat16", "int16", "uint16", "string"},
        "upsample": SINCE_13 - {"float16", "float32", "int32", "int8", "uint8"},
    },
    note="if the shapes are known when the model is loaded, it refuses what the ONNX text refuses",
)
