"""Conditions: what the named sizes must satisfy for a symbolic answer to hold, and no more than that.

Each of `equal`, `divides` and `differ` returns the conditions that are necessary and sufficient together:
none when the relation always holds, and raises `Never` when no sizes of at least 1 can meet it.
An equality of monomials is solvable iff for every prime p the exponents can balance:
v_p(coefficient) + sum(e_i * a_i) = 0 with whole a_i >= 0.
"""

from __future__ import annotations

from math import gcd

from shapecalc.core.sizes.dims import Dim, Monomial, lowest_terms, monomial, named, names, product, quotient, substitute
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Never(ValueError):
    """No choice of sizes can meet the relation."""


class Condition(Record):
    """A relation between two dims: `left % right == 0`, `left == right` or `left != right`.

    Its text is an expression over the names that Python would evaluate to the truth.
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

        >>> equal(named("N"), 3)[0].words
        'N is 3'
        """
        says = {"%": "{right} divides {left}", "==": "{left} is {right}", "!=": "{left} is not {right}"}
        return says[self.relation].format(left=self.left, right=self.right)


Conditions = tuple[Condition, ...]


def equal(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `a == b`; raise `Never` when no sizes make them equal.

    >>> [str(c) for c in equal(product((named("N"), named("N"))), 4)], equal(6, 6)
    (['N == 2'], ())
    """
    if a == b:
        return ()
    if a == 0 or b == 0:
        raise Never(f"{a} == {b}")
    ratio = _rootless(monomial(quotient(a, b)))
    signs = {power > 0 for _, power in ratio.powers}
    if not signs:
        raise Never(f"{a} == {b}")
    if len(signs) == 2:
        return (Condition(_above(ratio), "==", _below(ratio)),)
    size, rest = (ratio.denominator, ratio.numerator) if signs == {True} else (ratio.numerator, ratio.denominator)
    if rest != 1 or not _reachable(size, [abs(power) for _, power in ratio.powers]):
        raise Never(f"{a} == {b}")
    if size == 1:
        return tuple(Condition(named(name), "==", 1) for name, _ in ratio.powers)
    return (Condition(lowest_terms(1, 1, {name: abs(power) for name, power in ratio.powers}), "==", size),)


def divides(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `b`, which is not 0, divides `a`; raise `Never` when it divides for no sizes.

    >>> [str(c) for c in divides(product((named("H"), named("W"))), 64)], divides(24, 2)
    (['H*W % 64 == 0'], ())
    """
    ratio = quotient(a, b)
    if isinstance(ratio, int) or _is_whole(ratio):
        return ()
    over, under = _above(ratio), _below(ratio)
    if isinstance(over, int):
        if ratio.denominator != 1:
            raise Never(f"{a} % {b} == 0")
        if over == 1:
            return equal(under, 1)
    elif isinstance(under, int):
        over = lowest_terms(1, 1, {name: power for name, power in ratio.powers if power > 0})
    return (Condition(over, "%", under),)


def differ(a: Dim, b: Dim) -> Conditions:
    """Return the conditions under which `a != b`; raise `Never` when they are always equal.

    >>> [str(c) for c in differ(named("N"), 1)], differ(2, 1)
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


def combined(conditions: Iterable[Condition]) -> Conditions:
    """Return the conditions without repeats, with every solved `name == number` put into the others.

    >>> both = equal(named("N"), 4) + divides(product((named("N"), named("C"))), 6)
    >>> [str(c) for c in combined(both)]
    ['N == 4', 'C % 3 == 0']
    """
    kept = tuple(dict.fromkeys(conditions))
    if len(kept) < 2:
        return kept
    kept = _needed(kept)
    solved = dict(solution for condition in kept if (solution := _solution(condition)))
    if not solved:
        return kept
    again = tuple(simpler for condition in kept for simpler in _put_in(condition, solved))
    return kept if again == kept else combined(again)


def _needed(conditions: Conditions) -> Conditions:
    """Return the conditions without the divisibilities that follow from another one."""
    ratios = {each: quotient(each.left, each.right) for each in conditions if each.relation == "%"}
    if len(ratios) > MOST_COMPARED:
        return conditions
    follows = [a for a in ratios for b in ratios if a != b and _is_multiple(ratios[a], ratios[b])]
    return tuple(condition for condition in conditions if condition not in follows)


def _is_multiple(a: Dim, b: Dim) -> bool:
    """Say whether `a` is `b` times something whole, whatever the sizes."""
    return _is_whole(monomial(quotient(a, b)))


def _put_in(condition: Condition, solved: Mapping[str, int]) -> Conditions:
    """Return what is left of a condition beside the solved ones; a solution of its own stays."""
    solution = _solution(condition)
    if solution and solved[solution[0]] == solution[1]:
        return (condition,)
    return under(condition, solved)


def holds(conditions: Iterable[Condition], sizes: Mapping[str, int]) -> bool:
    """Say whether every condition can still hold once `sizes` are put in for the names."""
    try:
        for condition in conditions:
            under(condition, sizes)
    except (Never, ZeroDivisionError):
        return False
    return True


def under(condition: Condition, sizes: Mapping[str, int]) -> Conditions:
    """Return what is left of a condition once `sizes` are put in; raise `Never` when it cannot hold any more."""
    left, right = substitute(condition.left, sizes), substitute(condition.right, sizes)
    relation = {"==": equal, "%": divides, "!=": differ}[condition.relation]
    return relation(left, right)


def _solution(condition: Condition) -> tuple[str, int] | tuple[()]:
    if condition.relation == "==" and isinstance(condition.right, int):
        found = names((condition.left,))
        if len(found) == 1:
            return found[0], condition.right
    return ()


def _is_whole(ratio: Monomial) -> bool:
    """Say whether a quotient is a whole number for all sizes."""
    return ratio.denominator == 1 and all(power > 0 for _, power in ratio.powers)


def _above(ratio: Monomial) -> Dim:
    return lowest_terms(ratio.numerator, 1, {name: power for name, power in ratio.powers if power > 0})


def _below(ratio: Monomial) -> Dim:
    return lowest_terms(ratio.denominator, 1, {name: -power for name, power in ratio.powers if power < 0})


def _rootless(ratio: Monomial) -> Monomial:
    """Return the relation `ratio == 1` with the common root of all its powers taken: N*N == 4 is N == 2."""
    root = gcd(*(power for _, power in ratio.powers))
    if root < 2:
        return ratio
    numerator, denominator = _exact_root(ratio.numerator, root), _exact_root(ratio.denominator, root)
    return Monomial(numerator, denominator, tuple((name, power // root) for name, power in ratio.powers))


def _exact_root(number: int, root: int) -> int:
    low, high = 1, 1 << (number.bit_length() // root + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**root >= number else (middle + 1, high)
    if low**root != number:
        raise Never(f"{number} has no whole root of order {root}")
    return low


def _reachable(size: int, powers: list[int]) -> bool:
    """Say whether whole sizes with these exponents can have the product `size`."""
    return 1 in powers or all(_sums_to(exponent, powers) for exponent in _exponents(size))


def _sums_to(exponent: int, powers: list[int]) -> bool:
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums


TRIED = 1 << 16
"""Primes up to here are divided out one by one."""
MOST_COMPARED = 64
"""How many divisibilities are compared with each other."""


def _exponents(size: int) -> list[int]:
    """Return the exponents of the primes of `size`, enough of them to see which products can make it.

    What is left once the small primes are out has at most four prime factors below 2**80, and so a prime
    that occurs once unless it is a perfect power.
    """
    found = []
    for factor in range(2, TRIED):
        if factor * factor > size:
            break
        exponent = 0
        while size % factor == 0:
            size, exponent = size // factor, exponent + 1
        if exponent:
            found.append(exponent)
    return [*found, _perfect_power(size)] if size > 1 else found


def _perfect_power(number: int) -> int:
    """Return the largest exponent of which `number` is a power."""
    for root in range(4, 1, -1):
        try:
            _exact_root(number, root)
        except Never:
            continue
        return root
    return 1
