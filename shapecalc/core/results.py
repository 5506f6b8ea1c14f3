"""Named results: names for sizes that are not monomials.

An example is `H1` for `(H - 1)//2 + 1`. A dim is a number or a monomial. If an op computes a sum or a floor, the output
dim is a new name, and `Trace.results` contains the definition of this name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from shapecalc.core import dims
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.record import Record


class SizeExpression(Record):
    """A sum of monomials and a floor: `terms + floor(inside / divisor)`.

    Create a size expression with `floor_quotient`, so that equal sizes are equal values.
    """

    terms: Sum
    inside: Sum = ()
    divisor: int = 1

    def __str__(self) -> str:
        """Return the size as a Python expression.

        >>> C, D, H = map(dims.named_dim, "CDH")
        >>> print(floor_quotient([H, -1], 2, 1), "|", floor_quotient([C, D]))
        (H - 1)//2 + 1 | C + D
        """
        rest = str(dims.sum_to_json(self.terms)) if self.terms else ""
        if not self.inside:
            return rest
        text = str(dims.sum_to_json(self.inside))
        floor = f"{f'({text})' if ' ' in text or '/' in text or '*' in text else text}//{self.divisor}"
        return f"{floor} - {rest[1:]}" if rest[:1] == "-" else f"{floor} + {rest}" if rest else floor


SizeExpressions = dict[str, SizeExpression]
"""The definitions of named results, by name; a definition may use the names that are defined before it."""


def floor_quotient(terms: Iterable[Dim], divisor: int = 1, offset: int = 0) -> Dim | SizeExpression:
    """Return `floor(sum(terms) / divisor) + offset` with `divisor >= 1`.

    Returns a dim if the value is a number or a monomial.

    >>> H = dims.named_dim("H")
    >>> print(floor_quotient([7, -3], 2, 1), floor_quotient([H, -2], 2, 1))
    3 H//2
    >>> print(floor_quotient([H, 6, -7], 2, 1), floor_quotient([8, H], 1, -8))
    (H - 1)//2 + 1 H
    """
    outside, inside, constant = list[Dim]([offset]), list[Dim](), 0
    for term in dims.sum_terms(terms):
        exact = dims.quotient(term, divisor)
        if isinstance(term, int):
            constant = term
        elif divisor == 1 or dims.is_always_integral(exact):
            outside.append(exact)
        else:
            inside.append(term)
    parts = [dims.monomial(term) for term in inside]
    common = gcd(divisor, *[part.numerator for part in parts]) if all(part.denominator == 1 for part in parts) else 1
    inside, divisor, constant = [dims.quotient(term, common) for term in inside], divisor // common, constant // common
    above = -(-constant // divisor) if inside else constant // divisor
    outside.append(above)
    dividend = dims.sum_terms([*inside, constant - above * divisor]) if inside else ()
    exact_terms = dims.sum_terms(outside)
    if not dividend and len(exact_terms) < 2:
        return exact_terms[0] if exact_terms else 0
    return SizeExpression(exact_terms, dividend, divisor if dividend else 1)


class NameAllocator:
    """An allocator of names for the results of one answer."""

    def __init__(self, used_names: Iterable[str], known: Mapping[str, SizeExpression | None]) -> None:
        """Store the names used in this answer, and the names known from earlier stages.

        `known` maps the name of a result to its definition, and any other name to None.
        """
        self.used_names, self.known = {*used_names, *known}, known
        self.results = {name: result for name, result in known.items() if result is not None}

    def name_of(self, expression: SizeExpression, prefix: str) -> Dim:
        """Return the dim with the name of a size; equal sizes share one name.

        `prefix` is the start of a new name.
        """
        chosen = next((name for name, result in self.results.items() if result == expression), None)
        if chosen is None:
            first = "?" if prefix[0] == "?" else prefix
            if first in self.results:
                first = first.rstrip("0123456789")
            number = 1
            while f"{first}{number}" in self.used_names:
                number += 1
            chosen = f"{first}{number}"
            self.used_names.add(chosen)
            self.results[chosen] = expression
        return dims.named_dim(chosen)

    def floor_dim(self, terms: Iterable[Dim], divisor: int = 1, offset: int = 0) -> Dim:
        """Return `floor(sum(terms) / divisor) + offset` as a dim.

        A size that is not a number or a monomial gets a name, whose prefix is the first name in `terms`.
        """
        terms = tuple(terms)
        size = floor_quotient(terms, divisor, offset)
        return self.name_of(size, dims.dim_names(terms)[0]) if isinstance(size, SizeExpression) else size

    @property
    def new_results(self) -> SizeExpressions:
        """The named results of this answer that no earlier stage defines."""
        return {name: result for name, result in self.results.items() if name not in self.known}


def result_texts(results: Mapping[str, SizeExpression]) -> dict[str, str]:
    """Return the text of each definition, by name; omit results for unknown dims."""
    return {name: str(result) for name, result in results.items() if name[0] != "?"}


def substitute_results(shape: Shape, results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> Shape:
    """Substitute sizes for names, and values for the names of results.

    If the value of a result is still not a monomial, the text of the value replaces the result's name. Raises
    `ZeroDivisionError` if the size of a divisor is 0.

    >>> substitute_results((dims.named_dim("H1"), 3), {"H1": floor_quotient([dims.named_dim("H"), -1], 2)}, {"H": 9})
    (4, 3)
    """
    known = _evaluate_results(results, sizes)
    return tuple([_substitute_values(dim, sizes, known) for dim in shape])


def sizes_with_results(results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return `sizes` with the sizes of the results that `sizes` determine.

    Raises `ZeroDivisionError` if the size of a divisor is 0.
    """
    known = {name: dim for name, dim in _evaluate_results(results, sizes).items() if isinstance(dim, int)}
    return {name: size for name, size in sizes.items() if name not in results} | known


def _evaluate_results(results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> dict[str, Dim]:
    """Return the value of each result with sizes substituted.

    If a value is still not a monomial, it is represented by a dim whose name is the text of the value.
    """
    known: dict[str, Dim] = {}
    for name, result in results.items():
        inside = [_substitute_values(term, sizes, known) for term in result.inside]
        outside = [dims.product((_substitute_values(term, sizes, known), result.divisor)) for term in result.terms]
        value = floor_quotient([*inside, *outside], result.divisor)
        known[name] = dims.named_dim(str(value)) if isinstance(value, SizeExpression) else value
    return known


def _substitute_values(dim: Dim, sizes: Mapping[str, int], known: Mapping[str, Dim]) -> Dim:
    zero = {name: 0 for name, value in known.items() if value == 0}
    others = {name: value for name, value in known.items() if value != 0}
    return dims.substitute_dims(dims.substitute(dim, {**sizes, **zero}), others)
