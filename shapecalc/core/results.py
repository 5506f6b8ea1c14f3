"""Named results: sizes that are no monomials, such as `(H - 1)//2 + 1`, and the names that stand for them.

A dim is a number or a monomial. Where an op gives a sum or a floor of one, its answer has a new name in this place,
and tells apart what the name is.
"""

from __future__ import annotations

from _collections_abc import Iterable, Mapping
from math import gcd

from shapecalc.core import dims
from shapecalc.core.dims import Dim, Shape, Sum
from shapecalc.core.record import Record


class Result(Record):
    """A size that is no monomial: terms that are added, and the floor of a sum that is divided by a number.

    Make one with `floored`, so that equal sizes are equal values.
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
"""Named results by name; the definition of one may name those before it."""


class Wanted:
    """A size that an op asks a name for; whoever runs the op sets `dim`."""

    def __init__(self, result: Result, first: str) -> None:
        """Keep the size, and the name that its own name begins with."""
        self.result, self.first = result, first
        self.dim: Dim = 0


def floored(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Dim | Result:
    """Return the floor of a sum divided by a number of at least 1, with `more` added; a dim if it is a monomial.

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
    whole = [dims.monomial(term) for term in inside]
    common = gcd(divisor, *[each.numerator for each in whole]) if all(each.denominator == 1 for each in whole) else 1
    inside, divisor, constant = [dims.quotient(term, common) for term in inside], divisor // common, constant // common
    above = -(-constant // divisor) if inside else constant // divisor
    outside.append(above)
    left = dims.total([*inside, constant - above * divisor]) if inside else ()
    found = dims.total(outside)
    if not left and len(found) < 2:
        return found[0] if found else 0
    return Result(found, left, divisor if left else 1)


def wanted(terms: Iterable[Dim], divisor: int = 1, more: int = 0) -> Wanted | Dim:
    """Return a size as `floored` does, or the question for its name: the first one in the terms begins it."""
    terms = tuple(terms)
    found = floored(terms, divisor, more)
    return Wanted(found, dims.names(terms)[0]) if isinstance(found, Result) else found


class Naming:
    """The names of one answer: those that are in use, and the results that are known."""

    def __init__(self, used: Iterable[str], known: Mapping[str, Result | None]) -> None:
        """Begin with the names in use, and those of the stages before, with what they are if they are results."""
        self.used, self.before = {*used, *known}, known
        self.results = {name: each for name, each in known.items() if each is not None}

    def name(self, asked: Wanted) -> None:
        """Set the dim of a result that wants a name; equal results have one name."""
        found = next((name for name, each in self.results.items() if each == asked.result), None)
        if found is None:
            first = "?" if asked.first[0] == "?" else asked.first
            if first in self.results:
                first = first.rstrip("0123456789")
            number = 1
            while f"{first}{number}" in self.used:
                number += 1
            found = f"{first}{number}"
            self.used.add(found)
            self.results[found] = asked.result
        asked.dim = dims.named_dim(found)

    @property
    def new(self) -> Results:
        """The results that were not known before."""
        return {name: each for name, each in self.results.items() if name not in self.before}


def shown(results: Mapping[str, Result]) -> dict[str, str]:
    """Return the definitions of results by their names; what depends on unknown dims has none to show."""
    return {name: str(result) for name, result in results.items() if name[0] != "?"}


def put_in(shape: Shape, results: Mapping[str, Result], sizes: Mapping[str, int]) -> Shape:
    """Return a shape with sizes put in for names, and what results then are for theirs.

    A result that is still no monomial has its definition as name. Raises `ZeroDivisionError` if a name that divides
    is 0.

    >>> put_in((dims.named_dim("H1"), 3), {"H1": floored([dims.named_dim("H"), -1], 2)}, {"H": 9})
    (4, 3)
    """
    known = _known(results, sizes)
    return tuple([_put(dim, sizes, known) for dim in shape])


def settled(results: Mapping[str, Result], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes with those of the results that follow from them.

    Raises `ZeroDivisionError` if a name that divides is 0.
    """
    known = {name: dim for name, dim in _known(results, sizes).items() if isinstance(dim, int)}
    return {name: size for name, size in sizes.items() if name not in results} | known


def _known(results: Mapping[str, Result], sizes: Mapping[str, int]) -> dict[str, Dim]:
    """Return what results are once sizes are put in; one that is still no monomial has its definition as name."""
    known: dict[str, Dim] = {}
    for name, result in results.items():
        inside = [_put(term, sizes, known) for term in result.inside]
        outside = [dims.product((_put(term, sizes, known), result.divisor)) for term in result.terms]
        found = floored([*inside, *outside], result.divisor)
        known[name] = dims.named_dim(str(found)) if isinstance(found, Result) else found
    return known


def _put(dim: Dim, sizes: Mapping[str, int], known: Mapping[str, Dim]) -> Dim:
    zero = {name: 0 for name, each in known.items() if each == 0}
    others = {name: each for name, each in known.items() if each != 0}
    return dims.rewrite(dims.substitute(dim, {**sizes, **zero}), others)
