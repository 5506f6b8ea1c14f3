"""Named results: names for output dims that are not monomials.

A dim is an integer or a monomial. If the size of an output dim is a sum or a floor, such as `(H - 1)//2 + 1`, the dim
is a new name, such as `H1`. This size is called a result. `Trace.results` maps the name to its definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd

from shapecalc.core import dims
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.record import Record


class SizeExpression(Record):
    """A sum of monomials and at most one floor division, such as `N + (H - 1)//2`.

    Create a size expression with `floor_quotient`, which returns equal values for equal sizes.
    """

    terms: Sum
    dividend: Sum = ()
    divisor: int = 1

    def __str__(self) -> str:
        """Return the size expression in Python syntax.

        >>> C, D, H = map(dims.named_dim, "CDH")
        >>> print(floor_quotient([H, -1], 2, 1), "|", floor_quotient([C, D]))
        (H - 1)//2 + 1 | C + D
        """
        rest = str(dims.sum_to_json(self.terms)) if self.terms else ""
        if not self.dividend:
            return rest
        text = str(dims.sum_to_json(self.dividend))
        floor = f"{f'({text})' if ' ' in text or '/' in text or '*' in text else text}//{self.divisor}"
        return f"{floor} - {rest[1:]}" if rest[:1] == "-" else f"{floor} + {rest}" if rest else floor


SizeExpressions = dict[str, SizeExpression]
"""The definition of each named result. A definition may contain the names of earlier results."""


def floor_quotient(terms: Iterable[Dim], divisor: int = 1, offset: int = 0) -> Dim | SizeExpression:
    """Return `floor(sum(terms) / divisor) + offset` with `divisor >= 1`.

    Returns a dim if the value is an integer or a monomial.

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
    """An allocator of new names for the results of one request."""

    def __init__(self, used_names: Iterable[str], earlier_names: Mapping[str, SizeExpression | None]) -> None:
        """Reserve the names in a request and in earlier stages of its chain.

        `earlier_names` maps the named results of earlier stages to their definitions, and other names to None.
        """
        self.used_names, self.earlier_names = {*used_names, *earlier_names}, earlier_names
        self.results = {name: result for name, result in earlier_names.items() if result is not None}

    def dim_for_expression(self, expression: SizeExpression, prefix: str) -> Dim:
        """Return the name of a size expression as a dim.

        Equal expressions have the same name. A new name starts with `prefix`.
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

        If the value is neither an integer nor a monomial, the dim is a name that starts with the first name in `terms`.
        Named sums in `terms` are expanded if this reduces the number of names in the value.
        """
        terms = tuple(terms)
        if dims.is_concrete(terms):
            return sum(dims.numeric_dims(terms)) // divisor + offset
        expanded = self.expand_sums(terms)
        if len(_names_in_sum(expanded)) < len(_names_in_sum(terms)):
            terms = expanded
        size = floor_quotient(terms, divisor, offset)
        return self.dim_for_expression(size, dims.dim_names(terms)[0]) if isinstance(size, SizeExpression) else size

    def expand_sums(self, terms: Iterable[Dim]) -> tuple[Dim, ...]:
        """Replace each multiple of a named sum with the terms of the sum."""
        expanded: list[Dim] = []
        for term in terms:
            names = dims.dim_names([term])
            definition = self.results.get(names[0]) if len(names) == 1 else None
            factor = 1 if definition is None else dims.quotient(term, dims.named_dim(names[0]))
            if definition is None or definition.dividend or not isinstance(factor, int):
                expanded.append(term)
            else:
                expanded += [dims.product((factor, part)) for part in definition.terms]
        return tuple(expanded)

    @property
    def new_results(self) -> SizeExpressions:
        """The results of this request, excluding the results of earlier stages."""
        return {name: result for name, result in self.results.items() if name not in self.earlier_names}


def _names_in_sum(terms: Iterable[Dim]) -> Sequence[str]:
    """Return the names in a sum after cancelling terms."""
    return dims.dim_names(dims.sum_terms(terms))


def select_used_results(names: Mapping[str, SizeExpression | None], used_dims: Iterable[Dim]) -> SizeExpressions:
    """Return the definitions of the named results in `used_dims`.

    If a definition contains named results, their definitions are also returned.
    """
    pending = [*dims.dim_names(used_dims)]
    used: SizeExpressions = {}
    while pending:
        name = pending.pop()
        definition = names.get(name)
        if definition is not None and name not in used:
            used[name] = definition
            pending += dims.dim_names([*definition.terms, *definition.dividend])
    return {name: used[name] for name in names if name in used}


def format_results(results: Mapping[str, SizeExpression]) -> dict[str, str]:
    """Format the definitions of all results except unknown dims."""
    return {name: str(result) for name, result in results.items() if name[0] != "?"}


def substitute_results(shape: Shape, results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> Shape:
    """Substitute sizes and the values of results for names in a shape.

    If the value of a result is neither an integer nor a monomial, the text of the value becomes a name. Raises
    `ZeroDivisionError` if the size of a divisor is 0.

    >>> substitute_results((dims.named_dim("H1"), 3), {"H1": floor_quotient([dims.named_dim("H"), -1], 2)}, {"H": 9})
    (4, 3)
    """
    values = _evaluate_results(results, sizes)
    return tuple([_substitute_values(dim, sizes, values) for dim in shape])


def sizes_with_results(results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return `sizes` and the sizes of the results that `sizes` determines.

    If `sizes` contains the name of a result, this size is ignored. Raises `ZeroDivisionError` if the size of a divisor
    is 0.
    """
    numbers = {name: dim for name, dim in _evaluate_results(results, sizes).items() if isinstance(dim, int)}
    return {name: size for name, size in sizes.items() if name not in results} | numbers


def _evaluate_results(results: Mapping[str, SizeExpression], sizes: Mapping[str, int]) -> dict[str, Dim]:
    """Evaluate the definition of each result at `sizes`.

    If a value is neither an integer nor a monomial, the text of the value becomes a name.
    """
    values: dict[str, Dim] = {}
    for name, result in results.items():
        inside = [_substitute_values(term, sizes, values) for term in result.dividend]
        outside = [dims.product((_substitute_values(term, sizes, values), result.divisor)) for term in result.terms]
        value = floor_quotient([*inside, *outside], result.divisor)
        values[name] = dims.named_dim(str(value)) if isinstance(value, SizeExpression) else value
    return values


def _substitute_values(dim: Dim, sizes: Mapping[str, int], result_values: Mapping[str, Dim]) -> Dim:
    """Substitute `sizes` and the values of results for names in a dim."""
    zeros = {name: 0 for name, value in result_values.items() if value == 0}
    nonzero_values = {name: value for name, value in result_values.items() if value != 0}
    return dims.substitute_dims(dims.substitute(dim, {**sizes, **zeros}), nonzero_values)
