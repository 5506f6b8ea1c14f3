"""Sums of dims. A dim is never a sum; the place in an input at which a tensor begins may be one."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, all_known, lowest_terms, monomial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

Sum = tuple[Dim, ...]
"""Terms with different names, in order, none of them 0; so equal sums are equal tuples."""


def total(terms: Iterable[Dim]) -> Sum:
    """Return the sum of terms, which may be below 0.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> total((*read_dims("2*N,3,N/2"), -1))
    (2, 5*N/2)
    """
    terms = tuple(terms)
    if all_known(terms):
        known = sum(terms)  # type: ignore[arg-type]  # all are numbers
        return (known,) if known else ()
    found: dict[tuple[tuple[str, int], ...], tuple[int, int]] = {}
    for term in map(monomial, terms):
        above, below = found.get(term.powers, (0, 1))
        found[term.powers] = above * term.denominator + term.numerator * below, below * term.denominator
    dims = [lowest_terms(*found[powers], dict(powers)) for powers in sorted(found)]
    return tuple([dim for dim in dims if dim != 0])
