"""Conditions: what the named sizes must satisfy for a symbolic answer to hold.

`equal`, `divides` and `differ` return conditions that are necessary and sufficient together. They return none if
the relation always holds, and raise `Never` if no sizes of at least 1 can meet it. An equality of monomials has a
solution if and only if the exponents can balance for every prime p: v_p(coefficient) + sum(e_i * a_i) = 0 with
whole a_i >= 0.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd, lcm, prod

from shapecalc.core.dims import (
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
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from typing import Any, TypeVar


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

    numerator, denominator = exact_root(ratio.numerator, root), exact_root(ratio.denominator, root)
    if not numerator or not denominator:
        raise Never(f"{ratio} has no whole root of order {root}")
    return Monomial(numerator, denominator, tuple((name, power // root) for name, power in ratio.powers))


def _can_reach(size: int, powers: list[int]) -> bool:
    """Say whether whole sizes, each raised to one of `powers`, can have the product `size`."""
    return 1 in powers or all(_sums_to(exponent, powers) for _, exponent in prime_powers(size))


def _sums_to(exponent: int, powers: list[int]) -> bool:
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums


# Relations taken together: what they settle, whether sizes can meet them all, and which follow from the others.
#
# A relation is a sign and the quotient of its two sides: `==` says that the quotient is 1, `!=` that it is not, `%`
# that it is whole.


WORK_OF_EACH = 50
"""How much longer a question about many relations may take for each of them."""
KEPT_FIRST = "==", "%", "!="
"""Of relations that follow from each other, those that stay; of equal ones, those that come first."""


def settled_sizes(relations: Sequence[Relation]) -> dict[str, int]:
    """Return the names to which the relations leave one size; raise `Impossible` if they leave a name none.

    >>> from shapecalc.core.dims import lowest_terms
    >>> settled_sizes([("==", lowest_terms(1, 1, {"N": 1, "M": -1})), ("==", lowest_terms(1, 4, {"N": 1, "M": 1}))])
    {'M': 2, 'N': 2}
    """
    work = Work(WORK_OF_EACH * len(relations))
    sizes = {name: size for group in _linked(relations) for name, size in _settled(group, work).items()}
    if any(size.denominator != 1 for size in sizes.values()):
        raise Impossible
    return {name: size.numerator for name, size in sorted(sizes.items())}


def _settled(group: Sequence[Relation], work: Work) -> Mapping[str, Monomial]:
    """Return what a group settles, as far as that is found in a short time."""
    try:
        system = _system(group, work)
        if len(group) > 1:
            system.settle()
    except Undecided:
        return {}
    return system.numbers


def independent(relations: Sequence[Relation]) -> list[Relation]:
    """Return the relations that do not follow from the others; raise `Impossible` if no sizes meet them all."""
    work = Work(WORK_OF_EACH * len(relations))
    return [
        relation
        for group in _linked(relations)
        for relation in (_independent(group, work) if len(group) > 1 else group)
    ]


def _linked(relations: Iterable[Relation]) -> list[list[Relation]]:
    """Return the relations in groups that have no name in common."""
    group_of: dict[str, list[Relation]] = {}
    for relation in relations:
        present = names(relation[1:])
        groups = {id(group_of[name]): group_of[name] for name in present if name in group_of}
        largest = max(groups.values(), key=len, default=[])
        smaller = [group for group in groups.values() if group is not largest]
        largest += [relation, *(each for group in smaller for each in group)]
        moved = names(ratio for group in smaller for _, ratio in group)
        group_of |= dict.fromkeys((*present, *moved), largest)
    return list({id(group): group for group in group_of.values()}.values())


def _independent(group: list[Relation], work: Work) -> list[Relation]:
    """Return those of a group, as far as that is found in a short time."""
    kept = group
    try:
        whole = _system(group, work)
        if not whole.allows([ratio for sign, ratio in group if sign == "!="]):
            raise Impossible
        kept = [each for each in group if each[0] != "==" or each[1] not in whole.repeated]
        for relation in sorted(kept, key=lambda each: KEPT_FIRST.index(each[0]))[::-1]:
            others = [each for each in kept if each is not relation]
            if _follows(relation, others, work):
                kept = others
    except Undecided:
        pass
    return kept


def _follows(relation: Relation, others: Iterable[Relation], work: Work) -> bool:
    """Say whether a relation holds for all sizes that meet the others."""
    sign, ratio = relation
    if sign == "!=":
        try:
            return not _system([*others, ("==", ratio)], work).allows()
        except Impossible:
            return True
    system = _system(others, work)
    return system.makes_one(ratio) if sign == "==" else system.makes_whole(ratio)


def _system(relations: Iterable[Relation], work: Work) -> System:
    relations = tuple(relations)
    return System(
        [ratio for sign, ratio in relations if sign == "=="], [ratio for sign, ratio in relations if sign == "%"], work
    )


if TYPE_CHECKING:
    Relation = tuple[str, Monomial]


# Systems: monomials that are 1 and monomials that are whole numbers, all at once, in names of at least 1.
#
# A whole number is the exponents of its primes. So each prime has a system of its own, in which a monomial that is 1
# is a linear equation over whole exponents, and a monomial that is whole is a linear inequality. The equations are
# solved exactly, by the steps of Euclid's algorithm. The inequalities that are left are decided for each prime.
#
# What a system says is impossible, or follows, is so. Where the work would be too much it says nothing: `Undecided`.


MOST_BITS = 4096
"""The most binary digits of a coefficient on the way."""
FREE = "~"
"""What begins the name of an unknown that need not be whole."""
NO_PRIME = 1
"""It stands for a prime that no coefficient has."""
MOST_APART = 100
"""The most differences that have to share primes."""


class Impossible(Exception):
    """No sizes meet the system."""


class System:
    """Monomials that are 1 and monomials that are whole.

    Raises `Impossible` if the equations alone have no solution, `Undecided` if the work becomes too much.

    >>> N, M = named_dim("N"), named_dim("M")
    >>> system = System([lowest_terms(1, 2, {"N": 1, "M": -1})], [lowest_terms(1, 4, {"M": 1})])
    >>> system.makes_whole(lowest_terms(1, 8, {"N": 1})), system.makes_whole(lowest_terms(1, 8, {"M": 1}))
    (True, False)
    """

    def __init__(self, ones: Iterable[Monomial], wholes: Iterable[Monomial], work: Work | None = None) -> None:
        """Solve the equations, and keep those apart that say nothing new."""
        self.work = work or Work()
        self.solved: dict[str, Monomial] = {}
        ones, wholes = tuple(ones), tuple(wholes)
        self.names = dict.fromkeys(names((*ones, *wholes)))
        self.work.add(len(ones) + len(wholes) + len(self.names))
        self.repeated = {ratio for ratio in ones if not self._solve(ratio)}
        self.wholes = [*wholes, *map(named_dim, self.names)]
        self._put_solutions_in()

    def settle(self) -> list[Monomial]:
        """Solve also what must be whole as its inverse must, and return it: it is 1.

        Raises `Impossible` if that cannot be.
        """
        settled = []
        while found := next((each for each in self.wholes if each.powers and self.makes_one(each)), None):
            settled.append(found)
            self._solve(found)
            self._put_solutions_in()
        return settled

    @property
    def numbers(self) -> Mapping[str, Monomial]:
        """The names that the equations leave one value, which may be a fraction."""
        return {name: value for name, value in self.solved.items() if name in self.names and not value.powers}

    def allows(self, differing: Iterable[Monomial] = ()) -> bool:
        """Say whether some sizes may meet the system and make none of these monomials 1; False is proved.

        A monomial is not 1 if it or its inverse is not whole, by some prime. There are primes enough for all monomials
        that a prime which no coefficient has can do this for. The others have to share the primes of coefficients.
        """
        ratios = [self.put_in(ratio) for ratio in differing]
        wholes = [*self.wholes, *self._new_names(ratios)]
        tight = [
            ratio
            for ratio in ratios
            if not any(self._has_exponents(wholes, NO_PRIME, each) for each in (ratio, _power(ratio, -1)))
        ]
        if len(tight) > MOST_APART:
            raise Undecided
        primes = _primes([*wholes, *tight])
        possible = all(self._has_exponents(wholes, prime) for prime in primes)
        return possible and self._breaks(tight, wholes, dict.fromkeys(primes, ()))

    def _breaks(
        self, ratios: Sequence[Monomial], wholes: Sequence[Monomial], broken: Mapping[int, tuple[Monomial, ...]]
    ) -> bool:
        """Say whether each ratio or its inverse can be kept from being whole by a prime, which others may share."""
        if not ratios:
            return True
        return any(
            self._has_exponents(wholes, prime, *others, each)
            and self._breaks(ratios[1:], wholes, {**broken, prime: (*others, each)})
            for prime, others in broken.items()
            for each in (ratios[0], _power(ratios[0], -1))
        )

    def makes_whole(self, ratio: Monomial) -> bool:
        """Say whether a monomial is whole for all sizes that meet the system; True is proved."""
        wholes = [*self.wholes, *self._new_names([ratio])]
        ratio = self.put_in(ratio)
        return not any(self._has_exponents(wholes, prime, ratio) for prime in (*_primes([*wholes, ratio]), NO_PRIME))

    def makes_one(self, ratio: Monomial) -> bool:
        """Say whether a monomial is 1 for all sizes that meet the system; True is proved."""
        ratio = self.put_in(ratio)
        return ratio == ONE or (self.makes_whole(ratio) and self.makes_whole(_power(ratio, -1)))

    def _new_names(self, ratios: Iterable[Monomial]) -> list[Monomial]:
        """Return the names that the system does not have, which are whole."""
        return [named_dim(name) for name in names(ratios) if name not in self.names and name[0] != FREE]

    def put_in(self, ratio: Monomial) -> Monomial:
        """Return a monomial in the names that the equations leave free."""
        while any(name in self.solved for name, _ in ratio.powers):
            self.work.add(len(ratio.powers))
            factors = [(self.solved.get(name) or named_dim(name), power) for name, power in ratio.powers]
            ratio = _product(factors, ratio)
        return ratio

    def _put_solutions_in(self) -> None:
        for name in reversed(self.solved):
            self.solved[name] = self.put_in(self.solved[name])
        self.wholes = [self.put_in(each) for each in self.wholes]

    def _solve(self, ratio: Monomial) -> bool:
        """Solve one more equation for some of its names; say whether it does not follow from those before."""
        if (ratio := self.put_in(ratio)) == ONE:
            return False
        while (ratio := _root(self.put_in(ratio))).powers:
            name, power = min(ratio.powers, key=lambda each: abs(each[1]))
            if _only_ones(ratio, self.names):
                self.solved |= {each: ONE for each, _ in ratio.powers}
            elif abs(power) == 1:
                self.solved[name] = _product([(ratio, -power), (named_dim(name), 1)])
            else:
                free = f"{FREE}{len(self.solved)}"
                others = {other: -(e // power) for other, e in ratio.powers if other != name}
                self.solved[name] = monomial(lowest_terms(1, 1, {**others, free: 1}))
        if ratio != ONE:
            raise Impossible
        return True

    def _has_exponents(self, wholes: Sequence[Monomial], prime: int, *broken: Monomial) -> bool:
        """Say whether a prime may be in the names so that monomials are whole, and other ones are not."""
        self.work.add(len(wholes))
        rows: Rows = {}
        for ratio in wholes:
            add_inequality(rows, ratio.powers, _exponent(ratio, prime))
        for ratio in broken:
            below = [(name, -power) for name, power in ratio.powers]
            add_inequality(rows, below, -_exponent(ratio, prime) - 1)
        return has_solution(rows, self.work)


ONE = Monomial(1, 1, ())


def _primes(ratios: Iterable[Monomial]) -> list[int]:
    """Return the primes of all coefficients; raise `Undecided` if some are not found."""
    sizes = {size for ratio in ratios for size in (ratio.numerator, ratio.denominator)}
    found = sorted({prime for size in sizes for prime, _ in prime_powers(size)})
    large = [prime for prime in found if prime > TRIED]
    if large and (large[-1] >= TRIED**3 or lcm(*large) != prod(large)):
        raise Undecided
    return found


def _power(ratio: Monomial, power: int) -> Monomial:
    return _product([(ratio, power)])


def _product(factors: Iterable[tuple[Monomial, int]], coefficient: Monomial = ONE) -> Monomial:
    """Return the product of monomials raised to powers, times the coefficient of another one."""
    numerator, denominator, powers = coefficient.numerator, coefficient.denominator, dict[str, int]()
    for ratio, power in factors:
        above, below = (ratio.numerator, ratio.denominator)[:: 1 if power > 0 else -1]
        bits = numerator.bit_length() + denominator.bit_length()
        if bits + (above * below).bit_length() * abs(power) > MOST_BITS and above * below != 1:
            raise Undecided
        numerator, denominator = numerator * above ** abs(power), denominator * below ** abs(power)
        for name, exponent in ratio.powers:
            powers[name] = powers.get(name, 0) + exponent * power
    return monomial(lowest_terms(numerator, denominator, powers))


def _root(ratio: Monomial) -> Monomial:
    """Return a monomial that is 1 for the same sizes, and whose exponents have no common factor."""
    order = gcd(*(power for _, power in ratio.powers))
    if order < 2:
        return ratio
    above, below = exact_root(ratio.numerator, order), exact_root(ratio.denominator, order)
    if not above or not below:
        raise Impossible
    return Monomial(above, below, tuple((name, power // order) for name, power in ratio.powers))


def _only_ones(ratio: Monomial, whole: Container[str]) -> bool:
    """Say whether a monomial that is 1 has only names that are whole, and all of them on one side of 1."""
    return (
        ratio.numerator == ratio.denominator
        and len({power > 0 for _, power in ratio.powers}) == 1
        and all(name in whole for name, _ in ratio.powers)
    )


def _exponent(ratio: Monomial, prime: int) -> int:
    """Return how often a prime is in a coefficient."""
    return dict(prime_powers(ratio.numerator)).get(prime, 0) - dict(prime_powers(ratio.denominator)).get(prime, 0)


# Linear inequalities over whole numbers: whether some numbers meet them all.
#
# Names are eliminated one after another (Fourier and Motzkin, with the bounds rounded to whole numbers). If the
# rounding leaves a doubt, the few values that a name may have are tried. What is said to have no solution has none.
# If the work becomes too much, nothing is said: `Undecided`.


MOST_WORK = 20_000
"""The most monomials and inequalities that are made for one question."""
MOST_VALUES = 64
"""The most values of one name that are tried one by one."""


class Undecided(Exception):
    """The question would take too long."""


class Work:
    """What one question may still take."""

    def __init__(self, more: int = 0) -> None:
        """Begin, with some more work than usual to be done at most."""
        self.left = MOST_WORK + more

    def add(self, amount: int) -> None:
        """Count some work; raise `Undecided` if it becomes too much."""
        self.left -= amount
        if self.left < 0:
            raise Undecided


def add_inequality(rows: Rows, powers: Iterable[tuple[str, int]], number: int) -> None:
    """Add an inequality with its number rounded; of two with the same factors the tighter one stays.

    >>> rows = {}
    >>> add_inequality(rows, [("N", 2)], -3), add_inequality(rows, [("N", 4)], -4), rows
    (None, None, {(('N', 1),): -2})
    """
    kept = tuple(sorted((name, power) for name, power in powers if power))
    common = gcd(*(power for _, power in kept)) or 1
    row = tuple((name, power // common) for name, power in kept)
    rows[row] = min(rows.get(row, number // common), number // common)


def has_solution(rows: Rows, work: Work) -> bool:
    """Say whether inequalities may have a whole solution; False is proved. Raises `Undecided` for too much work.

    >>> at_least_two, below_two = {(("N", 1),): -2}, {(("N", -1),): 1}
    >>> has_solution(at_least_two, Work()), has_solution({**at_least_two, **below_two}, Work())
    (True, False)
    """
    left, doubtful = _without_names(rows, None, work)
    if left.get((), 0) < 0:
        return False
    if doubtful is None:
        return True
    values = _values(rows, doubtful, work)
    return values is None or any(has_solution(_with_value(rows, doubtful, value), work) for value in values)


def _without_names(rows: Rows, kept: str | None, work: Work) -> tuple[Rows, str | None]:
    """Return what inequalities say once every name but `kept` is eliminated, and a name that was left a doubt.

    In doubt, what is left has a solution, but maybe none for which that name is whole.
    """
    doubtful = None
    while rows.get((), 0) >= 0:
        signs: dict[str, list[int]] = {}
        for row in rows:
            for name, power in row:
                if name != kept:
                    signs.setdefault(name, [0, 0])[power > 0] += 1
        if not signs:
            break
        name = min(signs, key=lambda each: signs[each][0] * signs[each][1])
        rows, exact = _without(rows, name, work)
        doubtful = doubtful if exact else name
    return rows, doubtful


def _without(rows: Rows, name: str, work: Work) -> tuple[Rows, bool]:
    """Return what inequalities say without a name, and whether it can always be whole where they hold."""
    found: Rows = {}
    sides: tuple[list[tuple[dict[str, int], int, int]], ...] = ([], [])
    for row, number in rows.items():
        powers = dict(row)
        power = powers.pop(name, 0)
        if power:
            sides[power > 0].append((powers, abs(power), number))
        else:
            found[row] = number
    work.add(len(rows) + len(sides[0]) * len(sides[1]))
    exact = True
    for above, a, most in sides[0]:
        for below, b, least in sides[1]:
            both = {key: above.get(key, 0) * b + below.get(key, 0) * a for key in {**above, **below}}
            add_inequality(found, both.items(), most * b + least * a)
            exact = exact and 1 in (a, b)
    return found, exact


def _values(rows: Rows, name: str, work: Work) -> Sequence[int] | None:
    """Return the values that a name may have; None if they are too many."""
    left, _ = _without_names(rows, name, work)
    least = [-(number // power) for row, number in left.items() for _, power in row if power > 0]
    most = [number // -power for row, number in left.items() for _, power in row if power < 0]
    if not least or not most or min(most) - max(least) >= MOST_VALUES:
        return None
    return range(max(least), min(most) + 1)


def _with_value(rows: Rows, name: str, value: int) -> Rows:
    """Return inequalities with a value put in for a name."""
    found: Rows = {}
    for row, number in rows.items():
        powers = dict(row)
        others = [(other, power) for other, power in row if other != name]
        add_inequality(found, others, number + powers.get(name, 0) * value)
    return found


if TYPE_CHECKING:
    Row = tuple[tuple[str, int], ...]
    """The factors of names. With a number they are an inequality: the sum of all is not below 0."""
    Rows = dict[Row, int]


# What is known of names: which dims are whole numbers, if others must be.


DEEPEST = 6
"""How many known fractions a quotient is made of at most."""


class Known:
    """What is known of the names: dims that must be whole numbers."""

    def __init__(self, dims: Iterable[Dim] = ()) -> None:
        """Begin with dims that are whole, such as those that a request writes."""
        self.fractions = tuple({dim: None for dim in dims if not is_plain(dim)})
        self._answers: dict[Dim, bool] = {}
        self._kept: dict[Any, Any] = {}

    def same(self, value: Kept) -> Kept:
        """Return a value, or the equal one that was given before: of deep ones, only one is to be compared."""
        found: Kept = self._kept.setdefault(value, value)
        return found

    def is_whole(self, dim: Dim) -> bool:
        """Say whether `dim` is sure to be a whole number: a product of whole ones.

        >>> from shapecalc.core.text import read_dims
        >>> known = Known(read_dims("H/7,W/7"))
        >>> [known.is_whole(dim) for dim in read_dims("C*H*W/49,H/14")]
        [True, False]
        """
        if is_plain(dim):
            return True
        if not self.fractions:
            return False
        answer = self._answers.get(dim)
        if answer is None:
            answer = self._answers[dim] = self._is_product(monomial(dim), DEEPEST)
        return answer

    def divides(self, part: Dim, whole: Dim) -> bool:
        """Say whether `part`, which is not 0, is sure to divide `whole`."""
        if type(part) is int and type(whole) is int:
            return whole % part == 0
        return self.is_whole(quotient(whole, part))

    def _is_product(self, dim: Monomial, depth: int) -> bool:
        for fraction in self.fractions:
            rest = quotient(dim, fraction)
            if is_plain(rest):
                return True
            if depth and _lies_under(monomial(rest)) < _lies_under(dim) and self._is_product(monomial(rest), depth - 1):
                return True
        return False


def is_plain(dim: Dim) -> bool:
    """Say whether a dim is a whole number for all sizes."""
    return isinstance(dim, int) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def _lies_under(dim: Monomial) -> tuple[int, int]:
    """Return how much divides in a monomial: how many names, and the number."""
    return sum(-power for _, power in dim.powers if power < 0), dim.denominator


class Implied(Known):
    """All that follows from dims that must be whole, and not only their products; it takes longer to tell."""

    def is_whole(self, dim: Dim) -> bool:
        """Say whether `dim` is sure to be a whole number.

        >>> from shapecalc.core.text import read_dims
        >>> Implied(read_dims("N*N/3")).is_whole(*read_dims("N/3"))
        True
        """
        if super().is_whole(dim):
            return True
        if not self.fractions:
            return False

        try:
            return System((), map(monomial, self.fractions)).makes_whole(monomial(dim))
        except Undecided:
            return False


if TYPE_CHECKING:
    Kept = TypeVar("Kept")


# Roots and prime factors of whole numbers, as far as they are found in a short time.


TRIED = 1 << 16
"""Primes up to this number are divided out one by one."""


def exact_root(number: int, order: int) -> int | None:
    """Return the whole root of a number; None if it has none.

    >>> exact_root(27, 3), exact_root(28, 3)
    (3, None)
    """
    low, high = 1, 1 << (number.bit_length() // order + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**order >= number else (middle + 1, high)
    return low if low**order == number else None


@lru_cache(maxsize=256)
def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """Return the primes of a number with their exponents, enough of them to see which products can make it.

    After the small primes are divided out, a rest below 2**48 is a prime, the square of one, or a product of two
    others, which stand as one. A rest below 2**80 has at most four prime factors. So one of its primes occurs once,
    or the rest is a perfect power.

    >>> prime_powers(360)
    ((2, 3), (3, 2), (5, 1))
    """
    found = []
    for factor in range(2, TRIED):
        if factor * factor > number:
            break
        exponent = 0
        while number % factor == 0:
            number, exponent = number // factor, exponent + 1
        if exponent:
            found.append((factor, exponent))
    return (*found, _as_power(number)) if number > 1 else tuple(found)


def _as_power(number: int) -> tuple[int, int]:
    """Return a number as a root with the largest exponent, up to 4."""
    for order in range(4, 1, -1):
        if root := exact_root(number, order):
            return root, order
    return number, 1
