"""NumPy: any negative number is inferred, 0 is a size."""

from __future__ import annotations

from shapecalc.core.dialects.base import KNOWN, Dialect, Infers, Operator, Reading, Zero

NUMPY = Dialect(
    name="numpy",
    source="NumPy reference, and NumPy 2.4.6",
    operators={
        "reshape": Operator("reshape"),
        "transpose": Operator("transpose"),
        "flatten": Operator("flatten"),
        "squeeze": Operator("squeeze"),
        "unsqueeze": Operator("expand_dims"),
        "expand": Operator("broadcast_to"),
        "shape": Operator("shape"),
    },
    readings={None: Reading(Zero.LITERAL, infers=Infers.ANY_NEGATIVE)},
    max_rank=64,
    negative_perm=True,
    types=KNOWN,
    spellings={"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"complex": "complex128", "str": "string", "str_": "string", "bytes_": "bytes", "bool_": "bool"},
)
