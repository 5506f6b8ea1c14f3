"""oneDNN Graph: the operators StaticReshape and StaticTranspose."""

from __future__ import annotations

from shapecalc.core.dialects.base import ZERO_COPIES, ZERO_LITERAL, Dialect, Operator, Switch

ONEDNN = Dialect(
    name="onednn",
    source="oneDNN Graph documents: StaticReshape, StaticTranspose",
    operators={"reshape": Operator("StaticReshape"), "transpose": Operator("StaticTranspose")},
    reshape_semantics={True: ZERO_COPIES, False: ZERO_LITERAL},
    switch=Switch("special_zero", default=None),
    max_rank=12,
    types=frozenset({"float32", "float16", "bfloat16"}),
    spellings={"f32": "float32", "f16": "float16", "bf16": "bfloat16", "s32": "int32", "s8": "int8", "u8": "uint8"},
    note="The operator DynamicReshape of the older specification has the same rules. The shape of DynamicReshape is a "
    "run-time input",
)
