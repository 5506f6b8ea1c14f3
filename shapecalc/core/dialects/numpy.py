"""NumPy: every negative number marks a dim to infer, and 0 is a size."""

from __future__ import annotations

from shapecalc.core.dialects.base import KNOWN, Dialect, Infers, Reading, Rolls, Windows, Zero, named

NUMPY = Dialect(
    name="numpy",
    aliases=("np",),
    source="NumPy reference, and NumPy 2.4.6",
    operators=named("reshape transpose flatten squeeze shape", unsqueeze="expand_dims", expand="broadcast_to"),
    readings={None: Reading(Zero.LITERAL, infers=Infers.ANY_NEGATIVE)},
    max_rank=64,
    splits_unevenly=True,
    rolls=Rolls.ANY,
    negative_perm=True,
    windows=Windows(crops=False),
    types=KNOWN,
    spellings={"float": "float64", "double": "float64", "single": "float32", "half": "float16", "int": "int64"}
    | {"complex": "complex128", "str": "string", "str_": "string", "bytes_": "bytes", "bool_": "bool"},
)
