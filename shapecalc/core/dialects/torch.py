"""PyTorch: 0 is a size, and -1 is the only value that marks a dim to infer."""

from __future__ import annotations

from shapecalc.core.dialects import base

TORCH = base.Dialect(
    name="torch",
    aliases=("pt", "pytorch"),
    source="PyTorch reference; verified with PyTorch 2.13.0",
    operators=base.operators_by_op("reshape flatten squeeze unsqueeze expand shape", transpose="permute"),
    reshape_semantics={None: base.ReshapeSemantics(base.ZeroMeaning.LITERAL)},
    types=base.SINCE_19 - {"string"} | {"float8_e8m0fnu"},
    spellings={"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64"}
    | {"short": "int16", "cfloat": "complex64", "cdouble": "complex128"},
    prefix="torch.",
    note="Without a permutation, transpose is Tensor.T",
)
