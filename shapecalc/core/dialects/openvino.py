"""OpenVINO: the rules of the operator specification, and measured rules."""

from __future__ import annotations

from shapecalc.core.dialects import base

OPENVINO = base.Dialect(
    name="openvino",
    aliases=("ov",),
    source="OpenVINO operator documents; verified with OpenVINO 2026.4.1",
    operators=base.operators_by_op(reshape="Reshape", transpose="Transpose", squeeze="Squeeze")
    | base.operators_by_op(unsqueeze="Unsqueeze", expand="Broadcast", shape="ShapeOf"),
    reshape_semantics={
        True: base.ReshapeSemantics(base.ZeroMeaning.COPIES, empty=base.ZeroVolumeInferPolicy.WITHOUT_COPIES),
        False: base.ReshapeSemantics(base.ZeroMeaning.LITERAL, empty=base.ZeroVolumeInferPolicy.WITHOUT_COPIES),
    },
    switch=base.Switch("special_zero", default=None),
    types=base.INTEGERS
    | base.FLOATS
    | base.INT4
    | {"bfloat16", "bool", "string", "uint2", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"},
    spellings={"boolean": "bool", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
    | {"f8e8m0": "float8_e8m0fnu", "f4e2m1": "float4_e2m1fn"}
    | {f"f{bits}": f"float{bits}" for bits in (16, 32, 64)}
    | {f"i{bits}": f"int{bits}" for bits in (4, 8, 16, 32, 64)}
    | {f"u{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
)
