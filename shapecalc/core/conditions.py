"""Conditions on named sizes, and a solver for their consequences.

`require_equal`, `require_divisible` and `require_different` return conditions that are necessary and sufficient
together. They return none if the relation always holds, and raise `Unsatisfiable` if no sizes of at least 1 meet it. An
equality of monomials has a solution if and only if the exponents balance for every prime p:
v_p(coefficient) + sum(e_i * a_i) = 0 with integers a_i >= 0.

`Assumptions` decides the consequences of several conditions. A size is a vector of prime exponents. For each prime, a
monomial that equals 1 is a linear equation over the integers, and a monomial that is an integer is a linear inequality.
The equations are solved exactly, as in Euclid's algorithm. The inequalities are decided for each prime by
Fourier-Motzkin elimination with integer rounding. A positive result (contradictory, implied) is proved. If the rounding
leaves a doubt or the work exceeds its limit, the result is negative.
"""

from __future__ import annotations

from math import gcd, lcm, prod

from shapecalc.core import dims
from shapecalc.core.limits import MOST_WORK
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from shapecalc.core.problem import ShapeError

    Kept = TypeVar("Kept")
    Relation = Callable[[dims.Dim, dims.Dim], "Conditions"]
    """A function that returns the conditions of a relation between two dims, or raises `Unsatisfiable`."""
    Row = tuple[tuple[str, int], ...]
    """The left-hand side of an inequality: pairs of a name and its integer coefficient."""
    Rows = dict[Row, int]
    """Inequalities `sum(coefficient * name) + constant >= 0`, as the constants by their left-hand sides."""


WORK_OF_EACH = 50
"""The additional work allowed for each condition of a combination."""
MOST_BITS = 4096
"""The maximum bit length of an intermediate coefficient."""
MOST_APART = 100
"""The maximum number of `!=` conditions that must share primes."""
KEPT_FIRST = "==", "%", "!=", ">="
"""The relations in the order in which redundant conditions are kept; within a relation, earlier ones are kept."""
FREE = "~"
"""The prefix of the names of auxiliary unknowns, which need not be integers."""
NO_PRIME = 1
"""A stand-in for every prime that divides no coefficient."""
ONE = dims.Monomial(1, 1, ())
WORDS = {
    "%": "{right} divides {left}",
    "==": "{left} is {right}",
    "!=": "{left} is not {right}",
    ">=": "{left} is at least {right}",
}
"""The English phrase of each relation."""


class Never(ValueError):
    """Raised for a relation that no sizes satisfy."""


class Undecided(Exception):
    """Raised when deciding a relation would exceed the work limit."""


class Work:
    """A budget of work for one decision."""

    def __init__(self, most: int = MOST_WORK) -> None:
        """Start with this amount of work."""
        self.left = most

    def add(self, amount: int) -> None:
        """Spend some work; raise `Undecided` if the budget is exceeded."""
        self.left -= amount
        if self.left < 0:
            raise Undecided


class Condition(Record):
    """A relation between two dims.

    It is one of `left % right == 0`, `left == right`, `left != right` and `left >= right`. Its text is a Python
    expression over the names that is true if and only if the condition holds.
    """

    left: dims.Dim
    relation: str
    right: dims.Dim

    def __str__(self) -> str:
        if self.relation == "%":
            right = f"({self.right})" if "*" in str(self.right) else str(self.right)
            return f"{self.left} % {right} == 0"
        return f"{self.left} {self.relation} {self.right}"

    @property
    def words(self) -> str:
        """The condition in English.

        >>> equal(dims.named_dim("N"), 3)[0].words
        'N is 3'
        """
        return WORDS[self.relation].format(left=self.left, right=self.right)

    @property
    def ratio(self) -> dims.Monomial:
        """The quotient `left / right`.

        It is an integer for `%`, 1 for `==`, not 1 for `!=` and at least 1 for `>=`.
        """
        return dims.monomial(dims.quotient(self.left, self.right))


Conditions = tuple[Condition, ...]


def equal(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a == b`.

    Raises `Unsatisfiable` if no sizes make them equal.

    >>> [str(c) for c in equal(dims.product((dims.named_dim("N"), dims.named_dim("N"))), 4)], equal(6, 6)
    (['N == 2'], ())
    """
    if a == b:
        return ()
    if a == 0 or b == 0:
        raise Never(f"{a} == {b}")
    ratio = _root(dims.monomial(dims.quotient(a, b)))
    left, right = _numerator(ratio), _denominator(ratio)
    if isinstance(left, int):
        left, right = right, left
    if isinstance(left, int) or (isinstance(right, int) and not _can_be(left, right)):
        raise Never(f"{a} == {b}")
    if right == 1:
        return tuple(Condition(dims.named_dim(name), "==", 1) for name, _ in left.powers)
    return (Condition(left, "==", right),)


def divides(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which nonzero `b` divides `a`.

    Raises `Unsatisfiable` if it never does.

    >>> [str(c) for c in divides(dims.product((dims.named_dim("H"), dims.named_dim("W"))), 64)], divides(24, 2)
    (['H*W % 64 == 0'], ())
    """
    ratio = dims.monomial(dims.quotient(a, b))
    if dims.always_whole(ratio):
        return ()
    over, under = _numerator(ratio), _denominator(ratio)
    if isinstance(over, int):
        if ratio.denominator != 1:
            raise Never(f"{a} % {b} == 0")
        if over == 1:
            return equal(under, 1)
    elif isinstance(under, int):
        over = dims.lowest_terms(1, 1, dict(ratio.powers))
    return (Condition(over, "%", under),)


def required(make: Relation, left: dims.Dim, right: dims.Dim, error: ShapeError) -> Conditions:
    """Return the conditions of a relation between two dims.

    Raises `error` if no sizes satisfy it.
    """
    try:
        return make(left, right)
    except Never:
        raise error from None


def differ(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a != b`.

    Raises `Unsatisfiable` if they are always equal.

    >>> [str(c) for c in differ(dims.named_dim("N"), 1)], differ(2, 1)
    (['N != 1'], ())
    """
    try:
        same = equal(a, b)
    except Never:
        return ()
    if not same:
        raise Never(f"{a} != {b}")
    return (Condition(dims.product(condition.left for condition in same), "!=", same[0].right),)


def at_least(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a >= b` with `b > 0`.

    Raises `Unsatisfiable` if no sizes meet it.

    >>> [str(c) for c in at_least(dims.product((2, dims.named_dim("H"))), 7)], at_least(dims.named_dim("H"), 1)
    (['H >= 4'], ())
    """
    ratio = dims.monomial(dims.quotient(a, b))
    if is_at_least_one(ratio):
        return ()
    above, below = _numerator(ratio), _denominator(ratio)
    if isinstance(above, int):
        if dims.exceeds(below, above):
            raise Never(f"{a} >= {b}")
    elif isinstance(below, int):
        above, below = dims.lowest_terms(1, 1, dict(ratio.powers)), -(-ratio.denominator // ratio.numerator)
    return (Condition(above, ">=", below),)


RELATIONS = {"%": divides, "!=": differ, ">=": at_least, "==": equal}
"""The functions by relation, in parsing order: `%` comes before `==` because a divisibility ends in `== 0`."""


class Known:
    """Assumed conditions and integral dims, with their consequences.

    >>> from shapecalc.core.text import read_dims
    >>> known = Known(read_dims("H/7,W/7,N*N/3"), equal(dims.named_dim("C"), dims.named_dim("H")))
    >>> [known.is_whole(dim) for dim in read_dims("C*H*W/49,N/3,H/14")]
    [True, True, False]
    """

    def __init__(
        self, wholes: Iterable[dims.Dim] = (), conditions: Iterable[Condition] = (), work: Work | None = None
    ) -> None:
        """Assume that the dims are integers and the conditions hold.

        `work` is a budget shared with other decisions.
        """
        self.dims = tuple(dict.fromkeys(dim for dim in wholes if not dims.always_whole(dim)))
        self.conditions = tuple(conditions)
        self.repeated: set[Condition] = set()
        """The equalities that earlier ones imply."""
        self.shared, self.work = work, work or Work()
        self.solved: dict[str, dims.Monomial] = {}
        """The names that the equalities determine, with their values in the free names."""
        self.impossible = self.undecided = self._bare = False
        self._settled: dict[str, dims.Dim] | None = None
        self._answers: dict[dims.Dim, bool] = {}
        self._kept: dict[Any, Any] = {}
        self.names = set[str]()
        self.wholes = [*map(dims.monomial, self.dims), *self._ratios("%")]
        """The monomials that are integers, in the free names."""
        try:
            self._know_names((*self._ratios("=="), *self.wholes))
            self._solve_equalities()
        except Never:
            self.impossible = True
        except Undecided:
            self.undecided = True

    def _ratios(self, relation: str) -> list[dims.Monomial]:
        return [condition.ratio for condition in self.conditions if condition.relation == relation]

    def _know_names(self, ratios: Iterable[dims.Monomial]) -> None:
        """Add the names of monomials as integers."""
        new = [name for name in dims.names(ratios) if name not in self.names and name[0] != FREE]
        self.names.update(new)
        self.wholes += map(dims.named_dim, new)

    def _solve_equalities(self) -> None:
        self.work.add(len(self.conditions) + len(self.wholes))
        for condition in self.conditions:
            if condition.relation == "==" and not self._solve(condition.ratio):
                self.repeated.add(condition)
        self._put_solutions_in()

    def _solve(self, ratio: dims.Monomial) -> bool:
        """Solve `ratio == 1` for some of its names.

        Return False if the earlier equations imply it.
        """
        if (ratio := self.put_in(ratio)) == ONE:
            return False
        while (ratio := _root(self.put_in(ratio))).powers:
            if _only_ones(ratio):
                self.solved |= {name: ONE for name, _ in ratio.powers}
            elif solution := _solution(ratio):
                self.solved |= {name: dims.monomial(value) for name, value in solution.items()}
            else:
                name, power = min(ratio.powers, key=lambda factor: abs(factor[1]))
                others = {other: -(e // power) for other, e in ratio.powers if other != name}
                self.solved[name] = dims.monomial(dims.lowest_terms(1, 1, {**others, f"{FREE}{len(self.solved)}": 1}))
        if ratio != ONE:
            raise Never
        return True

    def _put_solutions_in(self) -> None:
        """Substitute the solutions in each other and in the integral monomials."""
        for name in reversed(self.solved):
            self.solved[name] = self.put_in(self.solved[name])
        self.wholes = [self.put_in(ratio) for ratio in self.wholes]
        self._bare = all(map(dims.always_whole, self.wholes)) and not any(map(_has_free, self.wholes))

    def put_in(self, ratio: dims.Monomial) -> dims.Monomial:
        """Substitute the solved names, and return the monomial in the free names."""
        while any(name in self.solved for name, _ in ratio.powers):
            self.work.add(len(ratio.powers))
            factors = [(self.solved.get(name) or dims.named_dim(name), power) for name, power in ratio.powers]
            ratio = _product(factors, ratio)
        return ratio

    def settle(self) -> list[dims.Monomial]:
        """Solve `m == 1` for each integral monomial m with an integral inverse.

        Returns these monomials. Raises `Unsatisfiable` if one cannot be 1, and `Undecided` if the work exceeds its
        limit.
        """
        if self.impossible or self.undecided:
            raise Undecided
        units = []
        while unit := next((ratio for ratio in self._bounded() if self._makes_whole(_inverse(ratio))), None):
            units.append(unit)
            self._solve(unit)
            self._put_solutions_in()
        return units

    def _bounded(self) -> list[dims.Monomial]:
        """Return the integral monomials whose names are all divisors elsewhere.

        Only these can have an integral inverse.
        """
        below = {name for ratio in self.wholes for name, power in ratio.powers if power < 0}
        return [one for one in self.wholes if one.powers and all(p < 0 or name in below for name, p in one.powers)]

    @property
    def settled(self) -> dict[str, dims.Dim]:
        """The values of the names that the conditions determine.

        They follow from equalities, and from dims that divide each other.
        """
        if self._settled is None:
            self.work = self.shared or Work()
            try:
                ones = [condition for one in self.settle() if not _has_free(one) for condition in equal(one, 1)]
            except (Never, Undecided):
                ones = []
            self._settled = solved_names((*self.conditions, *ones))
        return self._settled

    @property
    def fractions(self) -> dims.Shape:
        """The fractions that are assumed or determined to be integers."""
        integral = [dims.rewrite(dim, self.settled) for dim in (*self.dims, *self._ratios("%"))]
        integral += self.settled.values()
        return tuple(dict.fromkeys(dim for dim in integral if not dims.always_whole(dim)))

    def sizes(self) -> dict[str, int]:
        """Return the names with a single possible size.

        Raises `Unsatisfiable` if a name has none.
        """
        if self.impossible:
            raise Never
        try:
            if len(self.conditions) > 1 or self.undecided:
                self.settle()
        except Undecided:
            return {}
        numbers = {name: value for name, value in self.solved.items() if name[0] != FREE and not value.powers}
        if any(value.denominator != 1 for value in numbers.values()):
            raise Never
        return {name: value.numerator for name, value in numbers.items()}

    def same(self, value: Kept) -> Kept:
        """Return the first equal value, so that equal values share their identity.

        Deep values are then compared quickly.
        """
        first: Kept = self._kept.setdefault(value, value)
        return first

    def is_whole(self, dim: dims.Dim) -> bool:
        """Return whether `dim` is proved to be an integer."""
        if dims.always_whole(dim):
            return True
        if dim not in self._answers:
            is_multiple = any(dims.always_whole(dims.quotient(dim, assumed)) for assumed in self.dims)
            self._answers[dim] = is_multiple or self._ask(lambda: self._makes_whole(dims.monomial(dim)))
        return self._answers[dim]

    def divides(self, part: dims.Dim, whole: dims.Dim) -> bool:
        """Return whether `divisor`, which is not 0, is proved to divide `dividend`."""
        if type(part) is int and type(whole) is int:
            return whole % part == 0
        return self.is_whole(dims.quotient(whole, part))

    def implies(self, condition: Condition) -> bool:
        """Return whether a condition is proved to hold.

        >>> N, M = dims.named_dim("N"), dims.named_dim("M")
        >>> known = Known((), equal(N, M) + divides(M, 6))
        >>> known.implies(*divides(N, 3)), known.implies(*differ(N, 3)), known.implies(*differ(N, 6))
        (True, True, False)
        """
        if condition.relation == "!=":
            same = Condition(condition.left, "==", condition.right)
            return Known(self.dims, (*self.conditions, same), self.shared).is_contradictory()
        if condition.relation == ">=":
            quotients = [dims.quotient(condition.ratio, assumed) for assumed in self._ratios(">=")]
            return any(map(is_at_least_one, map(dims.monomial, quotients)))
        makes_so = self._makes_one if condition.relation == "==" else self._makes_whole
        return self._ask(lambda: makes_so(condition.ratio))

    def is_contradictory(self) -> bool:
        """Return whether the conditions are proved to have no solution."""
        return self.impossible or self._ask(lambda: not self._allows(self._ratios("!=")))

    def _ask(self, question: Callable[[], bool]) -> bool:
        """Run a decision procedure with a fresh or the shared budget.

        Return False if it is undecided.
        """
        if self.impossible or self.undecided:
            return False
        self.work = self.shared or Work()
        try:
            return question()
        except Undecided:
            return False

    def _makes_whole(self, ratio: dims.Monomial) -> bool:
        self._know_names([ratio])
        ratio = self.put_in(ratio)
        if self._bare:
            return dims.always_whole(ratio)
        return not any(self._has_exponents(prime, ratio) for prime in (*_primes([*self.wholes, ratio]), NO_PRIME))

    def _makes_one(self, ratio: dims.Monomial) -> bool:
        ratio = self.put_in(ratio)
        return ratio == ONE or (self._makes_whole(ratio) and self._makes_whole(_inverse(ratio)))

    def _allows(self, differing: Iterable[dims.Monomial]) -> bool:
        """Return whether all these monomials can differ from 1; False is proved.

        A monomial is not 1 if some prime makes it or its inverse non-integral. If a prime that divides no coefficient
        can do so, each monomial can use a different one. The other monomials share the primes of the coefficients.
        """
        ratios = [self.put_in(ratio) for ratio in differing]
        self._know_names(ratios)
        tight = [one for one in ratios if not any(self._has_exponents(NO_PRIME, way) for way in (one, _inverse(one)))]
        if len(tight) > MOST_APART:
            raise Undecided
        primes = _primes([*self.wholes, *tight])
        return all(map(self._has_exponents, primes)) and self._breaks(tight, dict.fromkeys(primes, ()))

    def _breaks(self, ratios: Sequence[dims.Monomial], broken: Mapping[int, tuple[dims.Monomial, ...]]) -> bool:
        """Return whether some prime can make each ratio, or its inverse, non-integral.

        Ratios may share a prime.
        """
        if not ratios:
            return True
        return any(
            self._has_exponents(prime, *others, ratio) and self._breaks(ratios[1:], {**broken, prime: (*others, ratio)})
            for prime, others in broken.items()
            for ratio in (ratios[0], _inverse(ratios[0]))
        )

    def _has_exponents(self, prime: int, *broken: dims.Monomial) -> bool:
        """Return whether exponents of `prime` can make these monomials non-integral.

        False is proved. All assumed monomials must stay integral.
        """
        self.work.add(len(self.wholes))
        rows: Rows = {}
        for ratio in self.wholes:
            add_inequality(rows, ratio.powers, _exponent(ratio, prime))
        for ratio in broken:
            below = [(name, -power) for name, power in ratio.powers]
            add_inequality(rows, below, -_exponent(ratio, prime) - 1)
        return has_solution(rows, self.work)


def combine(conditions: Iterable[Condition], shared: Work | None = None) -> Conditions:
    """Substitute the sizes that conditions determine, and drop redundant ones.

    If the shared budget is spent, all conditions are kept. Raises `Unsatisfiable` if no sizes meet them all.

    >>> N, M = dims.named_dim("N"), dims.named_dim("M")
    >>> [str(c) for c in combine(equal(N, 4) + divides(dims.product((N, M)), 6))]
    ['N == 4', 'M % 3 == 0']
    >>> [str(c) for c in combine(equal(N, M) + divides(N, 64) + divides(M, 32) + differ(N, 1))]
    ['N == M', 'N % 64 == 0']
    """
    kept = tuple(dict.fromkeys(conditions))
    if len(kept) < 2 or (shared and shared.left < 0):
        return kept
    groups, more = _linked(kept), MOST_WORK + WORK_OF_EACH * len(kept)
    work = shared or Work(more)
    sizes = {name: size for group in groups for name, size in Known((), group, work).sizes().items()}
    again = _with_sizes(kept, sizes)
    if sizes and again != kept:
        return combine(again, shared)
    work = shared or Work(more)
    independent = {condition for group in groups for condition in _independent(group, work)}
    return tuple(condition for condition in kept if condition in independent)


def _linked(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """Partition the conditions into groups that share no name."""
    group_of: dict[str, list[Condition]] = {}
    for condition in conditions:
        present = dims.names([condition.ratio])
        groups = {id(group_of[name]): group_of[name] for name in present if name in group_of}
        largest = max(groups.values(), key=len, default=[])
        merged = [member for group in groups.values() if group is not largest for member in group]
        largest += [condition, *merged]
        group_of |= dict.fromkeys((*present, *dims.names(member.ratio for member in merged)), largest)
    return list({id(group): group for group in group_of.values()}.values())


def _names_of(conditions: Iterable[Condition]) -> tuple[str, ...]:
    return dims.names(side for condition in conditions for side in (condition.left, condition.right))


def _independent(group: list[Condition], work: Work) -> list[Condition]:
    """Return a group without the conditions that others imply.

    Raises `Unsatisfiable` if no sizes meet them all.
    """
    if len(group) == 1:
        return group
    known = Known((), group, work)
    if known.is_contradictory():
        raise Never(" and ".join(map(str, group)))
    kept = [condition for condition in group if condition not in known.repeated]
    for condition in sorted(kept, key=lambda one: KEPT_FIRST.index(one.relation))[::-1]:
        others = [other for other in kept if other is not condition]
        if Known((), [other for other in others if other.relation != "!="], work).implies(condition):
            kept = others
    return kept


def _with_sizes(conditions: Conditions, sizes: Mapping[str, int]) -> Conditions:
    """Substitute sizes in conditions, and add a condition for each size.

    The new condition replaces the first equality with that name, or the first condition if no equality has it.
    """
    compared = {*_names_of(condition for condition in conditions if condition.relation == "==")}
    result = dict[Condition, None]()
    for condition in conditions:
        for name in _names_of([condition]):
            if name in sizes and (condition.relation == "==" or name not in compared):
                result[Condition(dims.named_dim(name), "==", sizes[name])] = None
        result |= dict.fromkeys(put_sizes_in(condition, sizes))
    return tuple(result)


def holds(conditions: Iterable[Condition], sizes: Mapping[str, int]) -> bool:
    """Return whether each condition can hold after `sizes` are substituted."""
    try:
        for condition in conditions:
            put_sizes_in(condition, sizes)
    except (Never, ZeroDivisionError):
        return False
    return True


def put_sizes_in(condition: Condition, sizes: Mapping[str, int]) -> Conditions:
    """Substitute `sizes` in a condition and return the conditions that remain.

    Raises `Unsatisfiable` if it cannot hold any more, and `ZeroDivisionError` if the size of a divisor is 0.
    """
    left, right = dims.substitute(condition.left, sizes), dims.substitute(condition.right, sizes)
    return RELATIONS[condition.relation](left, right)


def solved_names(conditions: Iterable[Condition]) -> dict[str, dims.Dim]:
    """Solve the equalities for names, and return each name with its value.

    Values with small divisors are preferred.

    >>> solved_names(equal(dims.named_dim("C"), dims.product((dims.named_dim("D"), dims.named_dim("H")))))
    {'C': D*H}
    """
    solved: dict[str, dims.Dim] = {}
    for condition in conditions:
        if condition.relation == "==":
            solution = _solution(dims.monomial(dims.rewrite(condition.ratio, solved)))
            solved = {name: dims.rewrite(dim, solution) for name, dim in solved.items()} | solution
    return solved


def _solution(ratio: dims.Monomial) -> dict[str, dims.Dim]:
    """Solve `ratio == 1` for the name whose value has the smallest divisor.

    Return {} if no exponent is 1 or -1.
    """
    above = ratio.numerator + sum(power for _, power in ratio.powers if power > 0)
    below = ratio.denominator - sum(power for _, power in ratio.powers if power < 0)
    single = [(name, power) for name, power in ratio.powers if abs(power) == 1]
    if not single:
        return {}
    name, power = min(single, key=lambda factor: above if factor[1] == 1 else below)
    own = dims.named_dim(name)
    return {name: dims.quotient(own, ratio) if power == 1 else dims.product((own, ratio))}


def _numerator(ratio: dims.Monomial) -> dims.Dim:
    return dims.lowest_terms(ratio.numerator, 1, {name: power for name, power in ratio.powers if power > 0})


def _denominator(ratio: dims.Monomial) -> dims.Dim:
    return dims.lowest_terms(ratio.denominator, 1, {name: -power for name, power in ratio.powers if power < 0})


def _root(ratio: dims.Monomial) -> dims.Monomial:
    """Divide all exponents by their common factor: N*N/4 becomes N/2.

    The result is 1 for the same sizes. Raises `Unsatisfiable` if the coefficient has no such root.
    """
    order = gcd(*(power for _, power in ratio.powers))
    if order < 2:
        return ratio
    above, below = dims.exact_root(ratio.numerator, order), dims.exact_root(ratio.denominator, order)
    if not above or not below:
        raise Never(f"{ratio} has no whole root of order {order}")
    return dims.Monomial(above, below, tuple((name, power // order) for name, power in ratio.powers))


def _can_be(dim: dims.Monomial, size: int) -> bool:
    """Return whether a dim can equal a number; its exponents have no common factor."""
    powers = [power for _, power in dim.powers]
    is_reached = 1 in powers or all(_sums_to(exponent, powers) for _, exponent in dims.prime_powers(size))
    return is_reached and dim.numerator == 1


def _sums_to(exponent: int, powers: list[int]) -> bool:
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums


def is_at_least_one(ratio: dims.Monomial) -> bool:
    """Return whether a monomial is at least 1 for all sizes."""
    return ratio.numerator >= ratio.denominator and all(power > 0 for _, power in ratio.powers)


def _has_free(ratio: dims.Monomial) -> bool:
    return any(name[0] == FREE for name, _ in ratio.powers)


def _inverse(ratio: dims.Monomial) -> dims.Monomial:
    return dims.monomial(dims.quotient(1, ratio))


def _only_ones(ratio: dims.Monomial) -> bool:
    """Return whether `ratio == 1` implies that all its names are 1."""
    signs = {power > 0 for _, power in ratio.powers}
    return ratio.numerator == ratio.denominator and len(signs) == 1 and not _has_free(ratio)


def _product(factors: Iterable[tuple[dims.Monomial, int]], coefficient: dims.Monomial) -> dims.Monomial:
    """Return a product of powers of monomials and a coefficient.

    The coefficient is that of the monomial `coefficient`.
    """
    numerator, denominator, powers = coefficient.numerator, coefficient.denominator, dict[str, int]()
    for ratio, power in factors:
        above, below = (ratio.numerator, ratio.denominator)[:: 1 if power > 0 else -1]
        bits = numerator.bit_length() + denominator.bit_length()
        if bits + (above * below).bit_length() * abs(power) > MOST_BITS and above * below != 1:
            raise Undecided
        numerator, denominator = numerator * above ** abs(power), denominator * below ** abs(power)
        for name, exponent in ratio.powers:
            powers[name] = powers.get(name, 0) + exponent * power
    return dims.monomial(dims.lowest_terms(numerator, denominator, powers))


def _primes(ratios: Iterable[dims.Monomial]) -> list[int]:
    """Return the primes of all coefficients.

    Raises `Undecided` if a coefficient cannot be factorized.
    """
    sizes = {size for ratio in ratios for size in (ratio.numerator, ratio.denominator)}
    primes = sorted({prime for size in sizes for prime, _ in dims.prime_powers(size)})
    large = [prime for prime in primes if prime > dims.TRIED]
    if large and (large[-1] >= dims.TRIED**3 or lcm(*large) != prod(large)):
        raise Undecided
    return primes


def _exponent(ratio: dims.Monomial, prime: int) -> int:
    """Return the exponent of a prime in the coefficient of a monomial."""
    above, below = (dict(dims.prime_powers(size)).get(prime, 0) for size in (ratio.numerator, ratio.denominator))
    return above - below


def add_inequality(rows: Rows, powers: Iterable[tuple[str, int]], number: int) -> None:
    """Add an inequality, tightened for integer solutions.

    It is `sum(coefficient * name) + constant >= 0`. Of two inequalities with the same left-hand side, the tighter one
    is kept.

    >>> rows = {}
    >>> add_inequality(rows, [("N", 2)], -3), add_inequality(rows, [("N", 4)], -4), rows
    (None, None, {(('N', 1),): -2})
    """
    kept = tuple(sorted((name, power) for name, power in powers if power))
    common = gcd(*(power for _, power in kept)) or 1
    row = tuple((name, power // common) for name, power in kept)
    rows[row] = min(rows.get(row, number // common), number // common)


def has_solution(rows: Rows, work: Work) -> bool:
    """Return whether inequalities may have an integer solution; False is proved.

    Raises `Undecided` if the work exceeds its limit.

    >>> at_least_two, below_two = {(("N", 1),): -2}, {(("N", -1),): 1}
    >>> has_solution(at_least_two, Work()), has_solution({**at_least_two, **below_two}, Work())
    (True, False)
    """
    while rows.get((), 0) >= 0:
        signs: dict[str, list[int]] = {}
        for row in rows:
            for name, power in row:
                signs.setdefault(name, [0, 0])[power > 0] += 1
        if not signs:
            return True
        unbounded = {name for name, (below, above) in signs.items() if not (below and above)}
        if unbounded:  # a large enough value of each satisfies all its inequalities
            work.add(len(rows))
            rows = {row: number for row, number in rows.items() if not any(name in unbounded for name, _ in row)}
        else:
            rows = _without(rows, min(signs, key=lambda name: signs[name][0] * signs[name][1]), work)
    return False


def _without(rows: Rows, name: str, work: Work) -> Rows:
    """Eliminate a name from inequalities by a Fourier-Motzkin step."""
    result: Rows = {}
    sides: tuple[list[tuple[dict[str, int], int, int]], ...] = ([], [])
    for row, number in rows.items():
        powers = dict(row)
        power = powers.pop(name, 0)
        if power:
            sides[power > 0].append((powers, abs(power), number))
        else:
            result[row] = number
    work.add(len(rows) + len(sides[0]) * len(sides[1]))
    for above, a, most in sides[0]:
        for below, b, least in sides[1]:
            both = {key: above.get(key, 0) * b + below.get(key, 0) * a for key in {**above, **below}}
            add_inequality(result, both.items(), most * b + least * a)
    return result
