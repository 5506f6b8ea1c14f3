"""NumPy: every negative number marks a dim to infer, and 0 is a size."""

from __future__ import annotations

from shapecalc.core.dialects.base import (
    ALL_TYPES,
    Dialect,
    InferMarker,
    ReshapeSemantics,
    ZeroMeaning,
    operators_by_op,
)

NUMPY = Dialect(
    name="numpy",
    aliases=("np",),
    source="NumPy reference; verified with NumPy 2.4.6",
    operators=operators_by_op(
        "reshape transpose flatten squeeze shape", unsqueeze="expand_dims", expand="broadcast_to"
    ),
    reshape_semantics={None: ReshapeSemantics(ZeroMeaning.LITERAL, infers=InferMarker.ANY_NEGATIVE)},
    max_rank=64,
    types=ALL_TYPES,
    spellings={"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"complex": "complex128", "str": "string", "str_": "string", "bytes_": "bytes", "bool_": "bool"},
)
