"""Dims with names, as a model's shapes have them: core's dims, and sums of them, which core does not have."""

from __future__ import annotations

from shapecalc.core.dims import Dim
from shapecalc.core.record import Record


class Sum(Record):
    """A sum of dims, as in `19200*N+1` and `S+past`. It has two terms or more, a number stands last."""

    terms: tuple[Dim, ...]

    def __str__(self) -> str:
        """Return the text.

        >>> from shapecalc.core.dims import named_dim
        >>> print(Sum((named_dim("N"), -1)))
        N-1
        """
        return "+".join(map(str, self.terms)).replace("+-", "-")


NamedDim = Dim | Sum | None
"""A number, a monomial, a sum; None where nobody knows."""
NamedShape = tuple[NamedDim, ...]
