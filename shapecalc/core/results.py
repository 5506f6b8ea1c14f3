"""Named results: names for sizes that are not monomials.

An example is `H1` for `(H - 1)//2 + 1`. A dim is a number or a monomial. If an op computes a sum or a floor, the dim of
its output is a new name, and the trace has the definition of that name in `results`.
"""

from __future__ import annotations

from _collections_abc import Iterable, Mapping
from math import gcd

from shapecalc.core import dims
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.record import Record


class Result(Record):
    """A size that is not a monomial: `terms + floor(inside / divisor)`.

    Create one with `floor_quotient`, so that equal sizes are equal values.
    """

    terms: Sum
    inside: Sum = ()
    divisor: int = 1

    def __str__(self) -> str:
        """Return the size as a Python expression.

        >>> print(floored([dims.named_dim("H"), -1], 2, 1), "|", floored([dims.named_dim("C"), dims.named_dim("D")]))
        (H - 1)//2 + 1 | C + D
        """
        rest = str(dims.plain_sum(self.terms)) if self.terms else ""
        if not self.inside:
            return rest
        text = str(dims.plain_sum(self.inside))
        floor = f"{f'({text})' if ' ' in text or '/' in text or '*' in text else text}//{self.divisor}"
        return f"{floor} - {rest[1:]}" if rest[:1] == "-" else f"{floor} + {rest}" if rest else floor


Results = dict[str, Result]
"""The definitions of named results by name; a definition may use the names before it."""


class Wanted:
    """A size for which an op requests a name; the caller that runs the op sets `dim`."""

    def __init__(self, result: Result, first: str) -> None:
        """Store the size and the prefix of its name."""
        self.result, self.first = result, first
        self.dim: Dim = 0


def floored(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Dim | Result:
    """Return `floor(sum(terms) / divisor) + offset` with `divisor >= 1`.

    Returns a dim if that is a monomial.

    >>> H = dims.named_dim("H")
    >>> print(floored([7, -3], 2, 1), floored([H, -2], 2, 1), floored([H, 6, -7], 2, 1), floored([8, H], 1, -8))
    3 H//2 (H - 1)//2 + 1 H
    """
    outside, inside, constant = list[Dim]([more]), list[Dim](), 0
    for term in dims.total(terms):
        exact = dims.quotient(term, divisor)
        if isinstance(term, int):
            constant = term
        elif divisor == 1 or dims.always_whole(exact):
            outside.append(exact)
        else:
            inside.append(term)
    parts = [dims.monomial(term) for term in inside]
    common = gcd(divisor, *[part.numerator for part in parts]) if all(part.denominator == 1 for part in parts) else 1
    inside, divisor, constant = [dims.quotient(term, common) for term in inside], divisor // common, constant // common
    above = -(-constant // divisor) if inside else constant // divisor
    outside.append(above)
    dividend = dims.total([*inside, constant - above * divisor]) if inside else ()
    exact_terms = dims.total(outside)
    if not dividend and len(exact_terms) < 2:
        return exact_terms[0] if exact_terms else 0
    return Result(exact_terms, dividend, divisor if dividend else 1)


def wanted(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Wanted | Dim:
    """Return `floor_quotient` if it is a dim, otherwise a request for its name.

    The prefix is the first name in it.
    """
    terms = tuple(terms)
    size = floored(terms, divisor, more)
    return Wanted(size, dims.names(terms)[0]) if isinstance(size, Result) else size


class Naming:
    """The names in use in one answer, with the definitions of the named results."""

    def __init__(self, used: Iterable[str], known: Mapping[str, Result | None]) -> None:
        """Start with the names in use and those of the earlier stages.

        `known` maps plain names to None.
        """
        self.used, self.before = {*used, *known}, known
        self.results = {name: result for name, result in known.items() if result is not None}

    def name(self, asked: Wanted) -> None:
        """Set the dim of a name request; equal sizes share one name."""
        chosen = next((name for name, result in self.results.items() if result == asked.result), None)
        if chosen is None:
            first = "?" if asked.first[0] == "?" else asked.first
            if first in self.results:
                first = first.rstrip("0123456789")
            number = 1
            while f"{first}{number}" in self.used:
                number += 1
            chosen = f"{first}{number}"
            self.used.add(chosen)
            self.results[chosen] = asked.result
        asked.dim = dims.named_dim(chosen)

    @property
    def new(self) -> Results:
        """The named results of this answer that no earlier stage has."""
        return {name: result for name, result in self.results.items() if name not in self.before}


def shown(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the texts of the definitions that have no unknown dims, by name."""
    return {name: str(result) for name, result in results.items() if name[0] != "?"}


def put_in(shape: Shape, results: Mapping[str, Result], sizes: Mapping[str, int]) -> Shape:
    """Substitute sizes for names and the values of the results for theirs.

    The name of a result that is still not a monomial becomes the text of its definition. Raises `ZeroDivisionError`
    if the size of a divisor is 0.

    >>> put_in((dims.named_dim("H1"), 3), {"H1": floored([dims.named_dim("H"), -1], 2)}, {"H": 9})
    (4, 3)
    """
    known = _known(results, sizes)
    return tuple([_put(dim, sizes, known) for dim in shape])


def settled(results: Mapping[str, Result], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes with those of the results that they determine.

    Raises `ZeroDivisionError` if the size of a divisor is 0.
    """
    known = {name: dim for name, dim in _known(results, sizes).items() if isinstance(dim, int)}
    return {name: size for name, size in sizes.items() if name not in results} | known


def _known(results: Mapping[str, Result], sizes: Mapping[str, int]) -> dict[str, Dim]:
    """Return the value of each result with sizes substituted.

    A result that is not a monomial becomes a dim named by its text.
    """
    known: dict[str, Dim] = {}
    for name, result in results.items():
        inside = [_put(term, sizes, known) for term in result.inside]
        outside = [dims.product((_put(term, sizes, known), result.divisor)) for term in result.terms]
        value = floored([*inside, *outside], result.divisor)
        known[name] = dims.named_dim(str(value)) if isinstance(value, Result) else value
    return known


def _put(dim: Dim, sizes: Mapping[str, int], known: Mapping[str, Dim]) -> Dim:
    zero = {name: 0 for name, value in known.items() if value == 0}
    others = {name: value for name, value in known.items() if value != 0}
    return dims.rewrite(dims.substitute(dim, {**sizes, **zero}), others)
