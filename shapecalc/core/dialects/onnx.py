"""ONNX: the rules of the operator specification.

The versions of the ONNX operators are listed in the modules of the ops.
"""

from __future__ import annotations

from shapecalc.core.dialects import base
from shapecalc.core.dialects.base import Dialect

ONNX = Dialect(
    name="onnx",
    source="ONNX operator documents",
    reshape_semantics={False: base.ZERO_COPIES, True: base.ZERO_LITERAL},
    switch=base.Switch("allowzero", default=False, since=14),
    types=frozenset(),
    newest_opset=28,
    spellings={
        "float": "float32",
        "double": "float64",
        "float4e2m1": "float4_e2m1fn",
        "float8e4m3fn": "float8_e4m3fn",
        "float8e4m3fnuz": "float8_e4m3fnuz",
        "float8e5m2": "float8_e5m2",
        "float8e5m2fnuz": "float8_e5m2fnuz",
        "float8e8m0": "float8_e8m0fnu",
    },
)
