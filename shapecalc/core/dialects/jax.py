"""JAX: the functions of jax.numpy.

JAX clamps indices that are out of range.
"""

from __future__ import annotations

from shapecalc.core.answers import Step, StepRule
from shapecalc.core.dialects.base import (
    ALL_TYPES,
    Dialect,
    ReshapeSemantics,
    ZeroMeaning,
    operators_by_op,
)
from shapecalc.core.text import truncate


def _explain_clamped_index(step: Step, index: int, position: int) -> str:
    requested, axis = truncate(str(index)), step.sources[0]
    return f"dim {axis} has no index {requested}: {position}, the nearest, is used, and the dim is dropped"


CLAMPED_INDEX = StepRule(
    "clamp-index",
    "an index outside of the dim is clamped to the first or the last index",
    "Code that runs on a GPU cannot raise an error, so JAX clamps the index. NumPy, ONNX and PyTorch refuse the index.",
    "shapecalc select 2,3,4 1 7 --dialect jax",
    "JAX, The Sharp Bits: out-of-bounds indexing",
    why=_explain_clamped_index,
)


JAX = Dialect(
    name="jax",
    aliases=("jnp",),
    source="JAX reference of jax.numpy; verified with JAX 0.10.2",
    operators=operators_by_op(
        "reshape transpose flatten squeeze shape split flip roll tile swapaxes",
        unsqueeze="expand_dims",
        expand="broadcast_to",
        select="indexing",
        take="indexing",
        slice="indexing",
    ),
    reshape_semantics={None: ReshapeSemantics(ZeroMeaning.LITERAL)},
    types=ALL_TYPES
    - {"string", "bytes", "object", "datetime64", "timedelta64", "void", "longdouble", "clongdouble"}
    - {"float6_e2m3fn", "float6_e3m2fn", "uint1"},
    spellings={"single": "float32", "double": "float64", "half": "float16", "csingle": "complex64"}
    | {"cdouble": "complex128", "bool_": "bool"},
    prefix="jnp.",
    note="An index outside of its dim is clamped to the first or the last index. The 64-bit types are available only "
    "if jax_enable_x64 is set",
    rules=(CLAMPED_INDEX,),
)
