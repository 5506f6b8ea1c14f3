"""JAX code: the methods of NumPy's arrays, which JAX's have too. Shapes are known when a program is traced."""

from __future__ import annotations

from functools import partial

from shapecalc.view.code.arrays import numpy_call, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace
    from shapecalc.view.code import Code


def jax(answer: Trace | Chain) -> Code:
    """Return JAX code; raise `ShapeError` (usage) for a size that nobody knows.

    >>> import shapecalc as sc
    >>> print(jax(sc.expand("N,1", "-1,4", dialect="torch")).text.splitlines()[-1])
    y = jnp.broadcast_to(x, (x.shape[0], 4))
    """
    return program(answer, "jax", partial(numpy_call, module="jnp"))
