"""Conditions: what the named sizes must satisfy for a symbolic answer to hold.

`equal`, `divides` and `differ` return conditions that are necessary and sufficient together. They return none if
the relation always holds, and raise `Never` if no sizes of at least 1 can meet it. An equality of monomials has a
solution if and only if the exponents can balance for every prime p: v_p(coefficient) + sum(e_i * a_i) = 0 with
whole a_i >= 0.
"""

from __future__ import annotations

from math import gcd

from shapecalc.core.sizes.dims import (
    Dim,
    Monomial,
    lowest_terms,
    monomial,
    named_dim,
    names,
    product,
    quotient,
    rewrite,
    substitute,
)
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Never(ValueError):
    """No choice of sizes can meet the relation."""


class Condition(Record):
    """A relation between two dims: `left % right == 0`, `left == right` or `left != right`.

    Its text is a Python expression over the names, which is true if the condition holds.
    """

    left: Dim
    relation: str
    right: Dim

    def __str__(self) -> str:
        if self.relation == "%":
            right = f"({self.right})" if "*" in str(self.right) else str(self.right)
            return f"{self.left} % {right} == 0"
        return f"{self.left} {self.relation} {self.right}"

    @property
    def words(self) -> str:
        """The condition as a person would say it.

        >>> equal(named_dim("N"), 3)[0].words
        'N is 3'
        """
        says = {"%": "{right} divides {left}", "==": "{left} is {right}", "!=": "{left} is not {right}"}
        return says[self.relation].format(left=self.left, right=self.right)


Conditions = tuple[Condition, ...]


def equal(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `a == b`; raise `Never` if no sizes make them equal.

    >>> [str(c) for c in equal(product((named_dim("N"), named_dim("N"))), 4)], equal(6, 6)
    (['N == 2'], ())
    """
    if a == b:
        return ()
    if a == 0 or b == 0:
        raise Never(f"{a} == {b}")
    ratio = _take_common_root(monomial(quotient(a, b)))
    signs = {power > 0 for _, power in ratio.powers}
    if not signs:
        raise Never(f"{a} == {b}")
    if len(signs) == 2:
        return (Condition(_numerator(ratio), "==", _denominator(ratio)),)
    size, rest = (ratio.denominator, ratio.numerator) if signs == {True} else (ratio.numerator, ratio.denominator)
    if rest != 1 or not _can_reach(size, [abs(power) for _, power in ratio.powers]):
        raise Never(f"{a} == {b}")
    if size == 1:
        return tuple(Condition(named_dim(name), "==", 1) for name, _ in ratio.powers)
    return (Condition(lowest_terms(1, 1, {name: abs(power) for name, power in ratio.powers}), "==", size),)


def divides(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `b` divides `a`; raise `Never` if it does so for no sizes. `b` is not 0.

    >>> [str(c) for c in divides(product((named_dim("H"), named_dim("W"))), 64)], divides(24, 2)
    (['H*W % 64 == 0'], ())
    """
    ratio = quotient(a, b)
    if isinstance(ratio, int) or _is_whole(ratio):
        return ()
    over, under = _numerator(ratio), _denominator(ratio)
    if isinstance(over, int):
        if ratio.denominator != 1:
            raise Never(f"{a} % {b} == 0")
        if over == 1:
            return equal(under, 1)
    elif isinstance(under, int):
        over = lowest_terms(1, 1, dict(ratio.powers))
    return (Condition(over, "%", under),)


def differ(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `a != b`; raise `Never` if they are always equal.

    >>> [str(c) for c in differ(named_dim("N"), 1)], differ(2, 1)
    (['N != 1'], ())
    """
    try:
        same = equal(a, b)
    except Never:
        return ()
    if not same:
        raise Never(f"{a} != {b}")
    left = product(condition.left for condition in same)
    return (Condition(left, "!=", same[0].right),)


def combine(conditions: Iterable[Condition]) -> Conditions:
    """Return the conditions without those that follow from others, with the sizes that they settle put in.

    Raises `Never` if no sizes can meet them all.

    >>> N, M = named_dim("N"), named_dim("M")
    >>> [str(c) for c in combine(equal(N, 4) + divides(product((N, M)), 6))]
    ['N == 4', 'M % 3 == 0']
    >>> [str(c) for c in combine(equal(N, M) + divides(N, 64) + divides(M, 32) + differ(N, 1))]
    ['N == M', 'N % 64 == 0']
    """
    kept = tuple(dict.fromkeys(conditions))
    if len(kept) < 2:
        return kept
    from shapecalc.core.sizes.joined import independent, settled_sizes
    from shapecalc.core.sizes.systems import Impossible

    relations = {each: (each.relation, monomial(quotient(each.left, each.right))) for each in kept}
    try:
        sizes = settled_sizes([*relations.values()])
        again = _with_sizes(kept, sizes)
        if sizes and again != kept:
            return combine(again)
        left = {*independent([*relations.values()])}
    except Impossible:
        raise Never(" and ".join(map(str, kept))) from None
    return tuple(condition for condition in kept if relations[condition] in left)


def _with_sizes(conditions: Conditions, sizes: Mapping[str, int]) -> Conditions:
    """Return what is left of conditions once sizes are put in, with a condition for each of these sizes.

    It stands where the first equality of its name stood, or the first condition if no equality has the name.
    """
    compared = {*names(side for each in conditions if each.relation == "==" for side in (each.left, each.right))}
    left = dict[Condition, None]()
    for condition in conditions:
        for name in names((condition.left, condition.right)):
            if name in sizes and (condition.relation == "==" or name not in compared):
                left[Condition(named_dim(name), "==", sizes[name])] = None
        left |= dict.fromkeys(put_sizes_in(condition, sizes))
    return tuple(left)


def holds(conditions: Iterable[Condition], sizes: Mapping[str, int]) -> bool:
    """Say whether every condition can still hold once `sizes` are put in for the names."""
    try:
        for condition in conditions:
            put_sizes_in(condition, sizes)
    except (Never, ZeroDivisionError):
        return False
    return True


def put_sizes_in(condition: Condition, sizes: Mapping[str, int]) -> Conditions:
    """Return what is left of a condition once `sizes` are put in for names.

    Raises `Never` if it cannot hold any more, and `ZeroDivisionError` if a size that divides is 0.
    """
    left, right = substitute(condition.left, sizes), substitute(condition.right, sizes)
    if condition.relation == "%" and isinstance(left, int) and isinstance(right, int):
        if left % right:
            raise Never(f"{left} % {right} == 0")
        return ()
    relation = {"==": equal, "%": divides, "!=": differ}[condition.relation]
    return relation(left, right)


def solved_names(conditions: Iterable[Condition]) -> dict[str, Dim]:
    """Return the names that equalities solve, each with its value in other names: the one in which least divides.

    >>> solved_names(equal(named_dim("C"), product((named_dim("D"), named_dim("H")))))
    {'C': D*H}
    """
    solved: dict[str, Dim] = {}
    for condition in conditions:
        if condition.relation == "==":
            ratio = monomial(rewrite(quotient(condition.left, condition.right), solved))
            values = {name: _value_of(name, power, ratio) for name, power in ratio.powers if abs(power) == 1}
            if values:
                name = min(values, key=lambda each: _dividing(values[each]))
                solved = {other: rewrite(dim, {name: values[name]}) for other, dim in solved.items()}
                solved[name] = values[name]
    return solved


def _value_of(name: str, power: int, ratio: Monomial) -> Dim:
    """Return what a name is if `ratio` is 1; `power` is its power there, 1 or -1."""
    return quotient(named_dim(name), ratio) if power == 1 else product((named_dim(name), ratio))


def _dividing(dim: Dim) -> int:
    """Return how much divides in a dim."""
    whole = monomial(dim)
    return whole.denominator - sum(min(power, 0) for _, power in whole.powers)


def _is_whole(ratio: Monomial) -> bool:
    """Say whether a quotient is a whole number for all sizes."""
    return ratio.denominator == 1 and all(power > 0 for _, power in ratio.powers)


def _numerator(ratio: Monomial) -> Dim:
    return lowest_terms(ratio.numerator, 1, {name: power for name, power in ratio.powers if power > 0})


def _denominator(ratio: Monomial) -> Dim:
    return lowest_terms(ratio.denominator, 1, {name: -power for name, power in ratio.powers if power < 0})


def _take_common_root(ratio: Monomial) -> Monomial:
    """Return a ratio that is 1 for the same sizes, with the common root of all powers taken: N*N/4 becomes N/2."""
    root = gcd(*(power for _, power in ratio.powers))
    if root < 2:
        return ratio
    from shapecalc.core.sizes.roots import exact_root

    numerator, denominator = exact_root(ratio.numerator, root), exact_root(ratio.denominator, root)
    if not numerator or not denominator:
        raise Never(f"{ratio} has no whole root of order {root}")
    return Monomial(numerator, denominator, tuple((name, power // root) for name, power in ratio.powers))


def _can_reach(size: int, powers: list[int]) -> bool:
    """Say whether whole sizes, each raised to one of `powers`, can have the product `size`."""
    from shapecalc.core.sizes.roots import prime_powers

    return 1 in powers or all(_sums_to(exponent, powers) for _, exponent in prime_powers(size))


def _sums_to(exponent: int, powers: list[int]) -> bool:
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums
