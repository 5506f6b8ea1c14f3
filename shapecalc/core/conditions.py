"""Conditions on named sizes, and a solver for their consequences.

The functions `require_...` return the conditions under which a relation of two dims, such as `a == b`, holds. All sizes
are at least 1. The functions return no conditions if the relation holds for all sizes, and raise `Unsatisfiable` if it
holds for no sizes. The equation `coefficient * product(size_i ** e_i) == 1` has a solution if and only if, for every
prime p, the equation v_p(coefficient) + sum(e_i * a_i) = 0 has a solution in integers a_i >= 0. Here, v_p(coefficient)
is the exponent of p in the coefficient, and a_i is the exponent of p in size_i.

`Assumptions` decides the consequences of several conditions. A size is a vector of prime exponents. For each prime, a
monomial that equals 1 gives a linear equation over the integers, and a monomial that is an integer gives a linear
inequality. The equations are solved exactly, as in Euclid's algorithm. The inequalities are decided for each prime by
Fourier-Motzkin elimination with integer rounding. The methods of `Assumptions` return True only for a proven result.
They return False if the rounding is inconclusive or the work exceeds its limit.
"""

from __future__ import annotations

from math import gcd, lcm, prod

from shapecalc.core import dims
from shapecalc.core.limits import MAX_WORK
from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from shapecalc.core.problem import ShapeError

    InternedValue = TypeVar("InternedValue")
    RelationFunction = Callable[[dims.Dim, dims.Dim], "Conditions"]
    """A function that returns the conditions for a relation of two dims, or raises `Unsatisfiable`."""
    LinearForm = tuple[tuple[str, int], ...]
    """A linear combination of unknowns: the name and the integer coefficient of each unknown."""
    Inequalities = dict[LinearForm, int]
    """Inequalities `sum(coefficient * unknown) + constant >= 0`, as a mapping from linear form to constant."""


WORK_PER_CONDITION = 50
"""The units of work that each condition adds to the budget of `simplify_conditions`."""
MAX_COEFFICIENT_BITS = 4096
"""The maximum size of a coefficient: the bits of its numerator plus the bits of its denominator."""
MAX_PRIME_CONDITIONS = 100
"""The maximum number of `!=` conditions to which the solver assigns primes."""
RELATION_PRIORITY = "==", "%", "!=", ">="
"""The relations in descending priority. Redundant `>=` conditions are dropped first."""
AUXILIARY_PREFIX = "~"
"""The name prefix of auxiliary unknowns. Unlike a size, an auxiliary unknown may be a fraction."""
GENERIC_PRIME = 1
"""A placeholder for a prime that divides no coefficient. The exponent of this prime in each coefficient is 0."""
ONE = dims.Monomial(1, 1, ())
RELATION_PHRASES = {
    "%": "{right} divides {left}",
    "==": "{left} is {right}",
    "!=": "{left} is not {right}",
    ">=": "{left} is at least {right}",
}
"""The English phrase for each relation."""


class Unsatisfiable(ValueError):
    """Raised if no sizes satisfy a relation."""


class Undecided(Exception):
    """Raised if deciding a relation would exceed the work limit."""


class WorkBudget:
    """A budget of work that several decisions may share.

    Visiting an inequality, a condition or a factor of a monomial costs one unit.
    """

    def __init__(self, limit: int = MAX_WORK) -> None:
        """Create a budget of `limit` units of work."""
        self.remaining = limit

    def spend(self, amount: int) -> None:
        """Subtract `amount` units of work.

        Raises `Undecided` if the budget is exceeded.
        """
        self.remaining -= amount
        if self.remaining < 0:
            raise Undecided


class Condition(Record):
    """A relation between two dims that holds only for some sizes.

    The relation is `left % right == 0`, `left == right`, `left != right` or `left >= right`. As a string, a condition
    is a Python expression.
    """

    left: dims.Dim
    relation: str
    right: dims.Dim

    def __str__(self) -> str:
        if self.relation == "%":
            right = f"({self.right})" if "*" in str(self.right) else str(self.right)
            return f"{self.left} % {right} == 0"
        return f"{self.left} {self.relation} {self.right}"

    def __repr__(self) -> str:
        return f"Condition({self})"

    @property
    def phrase(self) -> str:
        """The condition in English.

        >>> require_equal(dims.named_dim("N"), 3)[0].phrase
        'N is 3'
        """
        return RELATION_PHRASES[self.relation].format(left=self.left, right=self.right)

    @property
    def ratio(self) -> dims.Monomial:
        """The quotient `left / right`.

        The condition holds if the quotient is an integer (`%`), is 1 (`==`), differs from 1 (`!=`) or is at least 1
        (`>=`).
        """
        return dims.monomial(dims.quotient(self.left, self.right))


Conditions = tuple[Condition, ...]


def require_equal(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a == b`.

    Raises `Unsatisfiable` if no sizes make `a` and `b` equal.

    >>> N = dims.named_dim("N")
    >>> [str(c) for c in require_equal(dims.product((N, N)), 4)], require_equal(6, 6)
    (['N == 2'], ())
    """
    if a == b:
        return ()
    if a == 0 or b == 0:
        raise Unsatisfiable
    ratio = _reduce_powers(dims.monomial(dims.quotient(a, b)))
    left, right = _numerator(ratio), _denominator(ratio)
    if isinstance(left, int):
        left, right = right, left
    if isinstance(left, int) or (isinstance(right, int) and not _can_equal(left, right)):
        raise Unsatisfiable
    if right == 1:
        return tuple(Condition(dims.named_dim(name), "==", 1) for name, _ in left.powers)
    return (Condition(left, "==", right),)


def require_divisible(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `b` divides `a`.

    `b` must be nonzero. Raises `Unsatisfiable` if `b` divides `a` for no sizes.

    >>> H, W = dims.named_dim("H"), dims.named_dim("W")
    >>> [str(c) for c in require_divisible(dims.product((H, W)), 64)], require_divisible(24, 2)
    (['H*W % 64 == 0'], ())
    """
    exact = dims.quotient(a, b)
    if dims.is_always_integral(exact):
        return ()
    ratio = dims.monomial(exact)
    if not ratio.powers:
        raise Unsatisfiable
    over, under = _numerator(ratio), _denominator(ratio)
    if isinstance(over, int):
        if ratio.denominator != 1:
            raise Unsatisfiable
        if over == 1:
            return require_equal(under, 1)
    elif isinstance(under, int):
        over = dims.lowest_terms(1, 1, dict(ratio.powers))
    return (Condition(over, "%", under),)


def require_relation(
    relation: RelationFunction, left: dims.Dim, right: dims.Dim, make_error: Callable[[], ShapeError]
) -> Conditions:
    """Return the conditions under which a relation of two dims holds.

    If no sizes satisfy the relation, raise the error that `make_error` returns.
    """
    try:
        return relation(left, right)
    except Unsatisfiable:
        raise make_error() from None


def require_different(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a != b`.

    Raises `Unsatisfiable` if `a` and `b` are equal for all sizes.

    >>> [str(c) for c in require_different(dims.named_dim("N"), 1)], require_different(2, 1)
    (['N != 1'], ())
    """
    try:
        same = require_equal(a, b)
    except Unsatisfiable:
        return ()
    if not same:
        raise Unsatisfiable
    return (Condition(dims.product(condition.left for condition in same), "!=", same[0].right),)


def require_at_least(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a >= b`.

    `b` must be positive. Raises `Unsatisfiable` if `a < b` for all sizes.

    >>> H = dims.named_dim("H")
    >>> [str(c) for c in require_at_least(dims.product((2, H)), 7)], require_at_least(H, 1)
    (['H >= 4'], ())
    """
    if isinstance(a, int) and isinstance(b, int) and b > 0:
        if a < b:
            raise Unsatisfiable
        return ()
    ratio = dims.monomial(dims.quotient(a, b))
    if is_at_least_one(ratio):
        return ()
    above, below = _numerator(ratio), _denominator(ratio)
    if isinstance(above, int):
        if dims.exceeds(below, above):
            raise Unsatisfiable
    elif isinstance(below, int):
        above, below = dims.lowest_terms(1, 1, dict(ratio.powers)), -(-ratio.denominator // ratio.numerator)
    return (Condition(above, ">=", below),)


def require_min_size(dim: dims.Dim, count: int) -> Conditions:
    """Return the conditions under which `dim` is at least `count`.

    A named size is at least 1. Raises `Unsatisfiable` if `dim` is smaller for all sizes.
    """
    return require_at_least(dim, count) if count > 1 else ()


RELATION_FUNCTIONS = {"%": require_divisible, "!=": require_different, ">=": require_at_least, "==": require_equal}
"""The `require_...` function of each relation. A parser tries the relations in this order: `%` precedes `==` because `a
%
b == 0` contains both operators.
"""


class Assumptions:
    """A solver for the consequences of conditions and integrality assumptions.

    >>> from shapecalc.core.text import parse_dims
    >>> known = Assumptions(parse_dims("H/7,W/7,N*N/3"), require_equal(dims.named_dim("C"), dims.named_dim("H")))
    >>> [known.is_integral(dim) for dim in parse_dims("C*H*W/49,N/3,H/14")]
    [True, True, False]
    """

    def __init__(
        self,
        integral_dims: Iterable[dims.Dim] = (),
        conditions: Iterable[Condition] = (),
        work: WorkBudget | None = None,
    ) -> None:
        """Assume that `integral_dims` are integers and that `conditions` hold.

        All decisions share the budget `work`. If `work` is None, each decision has its own budget.
        """
        self.integral_dims = tuple(dict.fromkeys(dim for dim in integral_dims if not dims.is_always_integral(dim)))
        self.conditions = tuple(conditions)
        self.redundant_equalities: set[Condition] = set()
        """The equality conditions that earlier equality conditions imply."""
        self.shared_work, self.work = work, work or WorkBudget()
        self.solutions: dict[str, dims.Monomial] = {}
        """The values of the solved names, as monomials in the unsolved names."""
        self.is_impossible = self.is_undecided = self._has_trivial_integrality = False
        self._cached_values: dict[str, dims.Dim] | None = None
        self._integrality_cache: dict[dims.Dim, bool] = {}
        self._interned: dict[Any, Any] = {}
        self.names = set[str]()
        self.integral_monomials = [*map(dims.monomial, self.integral_dims), *self._condition_ratios("%")]
        """The monomials that must be integers, with the solutions substituted."""
        try:
            self._add_integral_names((*self._condition_ratios("=="), *self.integral_monomials))
            self._solve_equalities()
        except Unsatisfiable:
            self.is_impossible = True
        except Undecided:
            self.is_undecided = True

    def _condition_ratios(self, relation: str) -> list[dims.Monomial]:
        """Return the ratios of the assumed conditions with this relation."""
        return [condition.ratio for condition in self.conditions if condition.relation == relation]

    def _add_integral_names(self, ratios: Iterable[dims.Monomial]) -> None:
        """Add each new name in `ratios` to the monomials that must be integers."""
        new = [name for name in dims.dim_names(ratios) if name not in self.names and name[0] != AUXILIARY_PREFIX]
        self.names.update(new)
        self.integral_monomials += map(dims.named_dim, new)

    def _solve_equalities(self) -> None:
        self.work.spend(len(self.conditions) + len(self.integral_monomials))
        for condition in self.conditions:
            if condition.relation == "==" and not self._solve_equation(condition.ratio):
                self.redundant_equalities.add(condition)
        self._substitute_solutions()

    def _solve_equation(self, ratio: dims.Monomial) -> bool:
        """Solve the equation `ratio == 1` for one or more of its names.

        Returns False if the solutions of earlier equations already satisfy the equation.
        """
        if (ratio := self.substitute(ratio)) == ONE:
            return False
        while (ratio := _reduce_powers(self.substitute(ratio))).powers:
            if _implies_all_ones(ratio):
                self.solutions |= {name: ONE for name, _ in ratio.powers}
            elif solution := _solve_for_name(ratio):
                self.solutions |= {name: dims.monomial(value) for name, value in solution.items()}
            else:
                name, power = min(ratio.powers, key=lambda factor: abs(factor[1]))
                others = {other: -(e // power) for other, e in ratio.powers if other != name}
                self.solutions[name] = dims.monomial(
                    dims.lowest_terms(1, 1, {**others, f"{AUXILIARY_PREFIX}{len(self.solutions)}": 1})
                )
        if ratio != ONE:
            raise Unsatisfiable
        return True

    def _substitute_solutions(self) -> None:
        """Substitute the solutions in all solutions and integral monomials."""
        for name in reversed(self.solutions):
            self.solutions[name] = self.substitute(self.solutions[name])
        self.integral_monomials = [self.substitute(ratio) for ratio in self.integral_monomials]
        self._has_trivial_integrality = all(map(dims.is_always_integral, self.integral_monomials)) and not any(
            map(_has_auxiliary_unknown, self.integral_monomials)
        )

    def substitute(self, ratio: dims.Monomial) -> dims.Monomial:
        """Replace the solved names in a monomial with their values."""
        while any(name in self.solutions for name, _ in ratio.powers):
            self.work.spend(len(ratio.powers))
            factors = [(self.solutions.get(name) or dims.named_dim(name), power) for name, power in ratio.powers]
            ratio = _multiply_powers(factors, ratio)
        return ratio

    def solve_units(self) -> list[dims.Monomial]:
        """Solve `m == 1` for each unit m, and return the units.

        A monomial is a unit if the monomial and its inverse must both be integers. Raises `Unsatisfiable` if a unit
        cannot be 1, and `Undecided` if the work exceeds its limit.
        """
        if self.is_impossible or self.is_undecided:
            raise Undecided
        units = []
        while unit := next(
            (ratio for ratio in self._find_unit_candidates() if self._implies_integral(_inverse(ratio))), None
        ):
            units.append(unit)
            self._solve_equation(unit)
            self._substitute_solutions()
        return units

    def _find_unit_candidates(self) -> list[dims.Monomial]:
        """Return the integral monomials that may be units.

        Each name in a unit has a negative exponent in some integral monomial.
        """
        below = {name for ratio in self.integral_monomials for name, power in ratio.powers if power < 0}
        return [
            one
            for one in self.integral_monomials
            if one.powers and all(p < 0 or name in below for name, p in one.powers)
        ]

    @property
    def values(self) -> dict[str, dims.Dim]:
        """The value of each name that the conditions determine.

        A value follows from an equality, or from two dims that divide each other.
        """
        if self._cached_values is None:
            self.work = self.shared_work or WorkBudget()
            try:
                ones = [
                    condition
                    for one in self.solve_units()
                    if not _has_auxiliary_unknown(one)
                    for condition in require_equal(one, 1)
                ]
            except (Unsatisfiable, Undecided):
                ones = []
            self._cached_values = solve_equalities((*self.conditions, *ones))
        return self._cached_values

    @property
    def integral_quotients(self) -> dims.Shape:
        """The quotients, such as `N/2`, that must be integers."""
        integral = [
            dims.substitute_dims(dim, self.values) for dim in (*self.integral_dims, *self._condition_ratios("%"))
        ]
        integral += self.values.values()
        return tuple(dict.fromkeys(dim for dim in integral if not dims.is_always_integral(dim)))

    def solve_sizes(self) -> dict[str, int]:
        """Return the size of each name that has only one possible size.

        Raises `Unsatisfiable` if a name has no possible size.
        """
        if self.is_impossible:
            raise Unsatisfiable
        try:
            if len(self.conditions) > 1 or self.is_undecided:
                self.solve_units()
        except Undecided:
            return {}
        numbers = {
            name: value for name, value in self.solutions.items() if name[0] != AUXILIARY_PREFIX and not value.powers
        }
        if any(value.denominator != 1 for value in numbers.values()):
            raise Unsatisfiable
        return {name: value.numerator for name, value in numbers.items()}

    def intern(self, value: InternedValue) -> InternedValue:
        """Return the first interned value that equals `value`.

        Equal values are then the same object, so comparisons of deeply nested values are fast.
        """
        first: InternedValue = self._interned.setdefault(value, value)
        return first

    def is_integral(self, dim: dims.Dim) -> bool:
        """Return whether the assumptions prove that `dim` is an integer."""
        if dims.is_always_integral(dim):
            return True
        if dim not in self._integrality_cache:
            is_multiple = any(dims.is_always_integral(dims.quotient(dim, assumed)) for assumed in self.integral_dims)
            self._integrality_cache[dim] = is_multiple or self._run_within_budget(
                lambda: self._implies_integral(dims.monomial(dim))
            )
        return self._integrality_cache[dim]

    def divides(self, divisor: dims.Dim, dividend: dims.Dim) -> bool:
        """Return whether the assumptions prove that `divisor` divides `dividend`.

        `divisor` must be nonzero.
        """
        if type(divisor) is int and type(dividend) is int:
            return dividend % divisor == 0
        return self.is_integral(dims.quotient(dividend, divisor))

    def implies(self, condition: Condition) -> bool:
        """Return whether the assumptions prove a condition.

        >>> N, M = dims.named_dim("N"), dims.named_dim("M")
        >>> known = Assumptions((), require_equal(N, M) + require_divisible(M, 6))
        >>> known.implies(*require_divisible(N, 3))
        True
        >>> known.implies(*require_different(N, 3)), known.implies(*require_different(N, 6))
        (True, False)
        """
        if condition.relation == "!=":
            same = Condition(condition.left, "==", condition.right)
            return Assumptions(self.integral_dims, (*self.conditions, same), self.shared_work).is_contradictory()
        if condition.relation == ">=":
            quotients = [dims.quotient(condition.ratio, assumed) for assumed in self._condition_ratios(">=")]
            return any(map(is_at_least_one, map(dims.monomial, quotients)))
        is_implied = self._implies_equal_to_one if condition.relation == "==" else self._implies_integral
        return self._run_within_budget(lambda: is_implied(condition.ratio))

    def is_contradictory(self) -> bool:
        """Return whether the assumptions are proven to be contradictory."""
        return self.is_impossible or self._run_within_budget(
            lambda: not self._can_all_differ_from_one(self._condition_ratios("!="))
        )

    def _run_within_budget(self, procedure: Callable[[], bool]) -> bool:
        """Run a decision procedure with the shared budget or a new one.

        Returns False if the procedure exceeds the budget.
        """
        if self.is_impossible or self.is_undecided:
            return False
        self.work = self.shared_work or WorkBudget()
        try:
            return procedure()
        except Undecided:
            return False

    def _implies_integral(self, ratio: dims.Monomial) -> bool:
        self._add_integral_names([ratio])
        ratio = self.substitute(ratio)
        if self._has_trivial_integrality:
            return dims.is_always_integral(ratio)
        return not any(
            self._can_divide_denominators(prime, ratio)
            for prime in (*_find_primes([*self.integral_monomials, ratio]), GENERIC_PRIME)
        )

    def _implies_equal_to_one(self, ratio: dims.Monomial) -> bool:
        ratio = self.substitute(ratio)
        return ratio == ONE or (self._implies_integral(ratio) and self._implies_integral(_inverse(ratio)))

    def _can_all_differ_from_one(self, monomials: Iterable[dims.Monomial]) -> bool:
        """Return whether all monomials may differ from 1 at the same sizes.

        Returns False only if this is proven to be impossible. A monomial differs from 1 if a prime divides the
        denominator of the monomial or of its inverse. There are infinitely many primes that divide no coefficient.
        Therefore, if such a prime suffices for a monomial, the monomial can have a prime of its own. The other
        monomials must share the primes that divide the coefficients.
        """
        ratios = [self.substitute(ratio) for ratio in monomials]
        self._add_integral_names(ratios)
        tight = [
            one
            for one in ratios
            if not any(self._can_divide_denominators(GENERIC_PRIME, way) for way in (one, _inverse(one)))
        ]
        if len(tight) > MAX_PRIME_CONDITIONS:
            raise Undecided
        primes = _find_primes([*self.integral_monomials, *tight])
        return all(map(self._can_divide_denominators, primes)) and self._can_assign_primes(
            tight, dict.fromkeys(primes, ())
        )

    def _can_assign_primes(
        self, ratios: Sequence[dims.Monomial], ratios_by_prime: Mapping[int, tuple[dims.Monomial, ...]]
    ) -> bool:
        """Return whether each ratio, or its inverse, can be non-integral at some prime.

        Several ratios may share a prime. `ratios_by_prime` maps each prime to the ratios assigned to it.
        """
        if not ratios:
            return True
        return any(
            self._can_divide_denominators(prime, *others, ratio)
            and self._can_assign_primes(ratios[1:], {**ratios_by_prime, prime: (*others, ratio)})
            for prime, others in ratios_by_prime.items()
            for ratio in (ratios[0], _inverse(ratios[0]))
        )

    def _can_divide_denominators(self, prime: int, *ratios: dims.Monomial) -> bool:
        """Return whether `prime` may divide the denominators of all `ratios`.

        Returns False only if this is proven to be impossible for sizes that satisfy the assumptions.
        """
        self.work.spend(len(self.integral_monomials))
        rows: Inequalities = {}
        for ratio in self.integral_monomials:
            add_inequality(rows, ratio.powers, _prime_exponent(ratio, prime))
        for ratio in ratios:
            below = [(name, -power) for name, power in ratio.powers]
            add_inequality(rows, below, -_prime_exponent(ratio, prime) - 1)
        return has_solution(rows, self.work)


def simplify_conditions(conditions: Iterable[Condition], shared_work: WorkBudget | None = None) -> Conditions:
    """Substitute fixed sizes in conditions, and drop redundant conditions.

    A size is fixed if the conditions determine it. If the shared budget is exhausted, no condition is dropped. Raises
    `Unsatisfiable` if no sizes satisfy all conditions.

    >>> N, M = dims.named_dim("N"), dims.named_dim("M")
    >>> [str(c) for c in simplify_conditions(require_equal(N, 4) + require_divisible(dims.product((N, M)), 6))]
    ['N == 4', 'M % 3 == 0']
    >>> divisible = require_divisible(N, 64) + require_divisible(M, 32)
    >>> [str(c) for c in simplify_conditions(require_equal(N, M) + divisible + require_different(N, 1))]
    ['N == M', 'N % 64 == 0']
    """
    kept = tuple(conditions)
    kept = tuple(dict.fromkeys(kept)) if len(kept) > 1 else kept
    if len(kept) < 2 or (shared_work and shared_work.remaining < 0):
        return kept
    groups, limit = _group_by_shared_names(kept), MAX_WORK + WORK_PER_CONDITION * len(kept)
    work = shared_work or WorkBudget(limit)
    sizes = {name: size for group in groups for name, size in Assumptions((), group, work).solve_sizes().items()}
    substituted = _substitute_fixed_sizes(kept, sizes)
    if sizes and substituted != kept:
        return simplify_conditions(substituted, shared_work)
    work = shared_work or WorkBudget(limit)
    independent = {condition for group in groups for condition in _drop_implied(group, work)}
    return tuple(condition for condition in kept if condition in independent)


def _group_by_shared_names(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """Group conditions so that no two groups contain the same name."""
    group_of: dict[str, list[Condition]] = {}
    for condition in conditions:
        present = dims.dim_names([condition.ratio])
        groups = {id(group_of[name]): group_of[name] for name in present if name in group_of}
        largest = max(groups.values(), key=len, default=[])
        merged = [member for group in groups.values() if group is not largest for member in group]
        largest += [condition, *merged]
        group_of |= dict.fromkeys((*present, *dims.dim_names(member.ratio for member in merged)), largest)
    return list({id(group): group for group in group_of.values()}.values())


def _condition_names(conditions: Iterable[Condition]) -> tuple[str, ...]:
    return dims.dim_names(side for condition in conditions for side in (condition.left, condition.right))


def _drop_implied(group: list[Condition], work: WorkBudget) -> list[Condition]:
    """Drop the conditions that the other conditions of the group imply.

    Raises `Unsatisfiable` if no sizes satisfy all conditions.
    """
    if len(group) == 1:
        return group
    known = Assumptions((), group, work)
    if known.is_contradictory():
        raise Unsatisfiable
    kept = [condition for condition in group if condition not in known.redundant_equalities]
    for condition in sorted(kept, key=lambda one: RELATION_PRIORITY.index(one.relation))[::-1]:
        others = [other for other in kept if other is not condition]
        if Assumptions((), [other for other in others if other.relation != "!="], work).implies(condition):
            kept = others
    return kept


def _substitute_fixed_sizes(conditions: Conditions, sizes: Mapping[str, int]) -> Conditions:
    """Substitute sizes in conditions, and add `name == size` for each size.

    The new condition is inserted before the first equality that contains the name. Without such an equality, the new
    condition is inserted before the first condition that contains the name.
    """
    compared = {*_condition_names(condition for condition in conditions if condition.relation == "==")}
    result = dict[Condition, None]()
    for condition in conditions:
        for name in _condition_names([condition]):
            if name in sizes and (condition.relation == "==" or name not in compared):
                result[Condition(dims.named_dim(name), "==", sizes[name])] = None
        result |= dict.fromkeys(substitute_condition(condition, sizes))
    return tuple(result)


def can_hold(conditions: Iterable[Condition], sizes: Mapping[str, int]) -> bool:
    """Return whether each condition is satisfiable at `sizes`, independently of the others."""
    try:
        for condition in conditions:
            substitute_condition(condition, sizes)
    except (Unsatisfiable, ZeroDivisionError):
        return False
    return True


def substitute_condition(condition: Condition, sizes: Mapping[str, int]) -> Conditions:
    """Substitute `sizes` in a condition and return the conditions that remain.

    Raises `Unsatisfiable` if the condition cannot hold at these sizes, and `ZeroDivisionError` if the size of a divisor
    is 0.
    """
    left, right = dims.substitute(condition.left, sizes), dims.substitute(condition.right, sizes)
    return RELATION_FUNCTIONS[condition.relation](left, right)


def solve_equalities(conditions: Iterable[Condition]) -> dict[str, dims.Dim]:
    """Solve each equality for one of its names, and return the value of each name.

    For example, `C == D*H` is solved for C and not for D, because the solution D = C/H has a divisor.

    >>> solve_equalities(require_equal(dims.named_dim("C"), dims.product((dims.named_dim("D"), dims.named_dim("H")))))
    {'C': D*H}
    """
    solved: dict[str, dims.Dim] = {}
    for condition in conditions:
        if condition.relation == "==":
            solution = _solve_for_name(dims.monomial(dims.substitute_dims(condition.ratio, solved)))
            solved = {name: dims.substitute_dims(dim, solution) for name, dim in solved.items()} | solution
    return solved


def _solve_for_name(ratio: dims.Monomial) -> dict[str, dims.Dim]:
    """Solve `ratio == 1` for a name with exponent 1 or -1, and return the solution.

    Prefers the name whose value has the smallest divisor. Returns an empty dict if no exponent is 1 or -1.
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


def _reduce_powers(ratio: dims.Monomial) -> dims.Monomial:
    """Divide all exponents by their greatest common divisor.

    For example, N*N/4 becomes N/2. The result equals 1 at the same sizes as `ratio`. Raises `Unsatisfiable` if the root
    of the coefficient is irrational.
    """
    order = gcd(*(power for _, power in ratio.powers))
    if order < 2:
        return ratio
    above, below = dims.exact_root(ratio.numerator, order), dims.exact_root(ratio.denominator, order)
    if not above or not below:
        raise Unsatisfiable
    return dims.Monomial(above, below, tuple((name, power // order) for name, power in ratio.powers))


def _can_equal(dim: dims.Monomial, size: int) -> bool:
    """Return whether `dim` equals `size` for some sizes of its names.

    The exponents in `dim` must have no common factor.
    """
    powers = [power for _, power in dim.powers]
    is_reached = 1 in powers or all(_is_sum_of_powers(exponent, powers) for _, exponent in dims.prime_powers(size))
    return is_reached and dim.numerator == 1


def _is_sum_of_powers(exponent: int, powers: list[int]) -> bool:
    """Return whether `exponent` is a sum of `powers`, with repetition."""
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums


def is_at_least_one(ratio: dims.Monomial) -> bool:
    """Return whether a monomial is at least 1 for all sizes."""
    return ratio.numerator >= ratio.denominator and all(power > 0 for _, power in ratio.powers)


def _has_auxiliary_unknown(ratio: dims.Monomial) -> bool:
    return any(name[0] == AUXILIARY_PREFIX for name, _ in ratio.powers)


def _inverse(ratio: dims.Monomial) -> dims.Monomial:
    return dims.monomial(dims.quotient(1, ratio))


def _implies_all_ones(ratio: dims.Monomial) -> bool:
    """Return whether `ratio == 1` implies that all names in `ratio` are 1."""
    signs = {power > 0 for _, power in ratio.powers}
    return ratio.numerator == ratio.denominator and len(signs) == 1 and not _has_auxiliary_unknown(ratio)


def _multiply_powers(factors: Iterable[tuple[dims.Monomial, int]], coefficient_of: dims.Monomial) -> dims.Monomial:
    """Return the product of powers of monomials, times a coefficient.

    `factors` are pairs of a monomial and its exponent. The coefficient is taken from `coefficient_of`, whose powers are
    ignored. Raises `Undecided` if a coefficient exceeds `MAX_COEFFICIENT_BITS`.
    """
    numerator, denominator, powers = coefficient_of.numerator, coefficient_of.denominator, dict[str, int]()
    for ratio, power in factors:
        above, below = (ratio.numerator, ratio.denominator)[:: 1 if power > 0 else -1]
        bits = numerator.bit_length() + denominator.bit_length()
        if bits + (above * below).bit_length() * abs(power) > MAX_COEFFICIENT_BITS and above * below != 1:
            raise Undecided
        numerator, denominator = numerator * above ** abs(power), denominator * below ** abs(power)
        for name, exponent in ratio.powers:
            powers[name] = powers.get(name, 0) + exponent * power
    return dims.monomial(dims.lowest_terms(numerator, denominator, powers))


def _find_primes(ratios: Iterable[dims.Monomial]) -> list[int]:
    """Return the primes that divide the coefficients of monomials.

    Raises `Undecided` if a coefficient cannot be factorized.
    """
    sizes = {size for ratio in ratios for size in (ratio.numerator, ratio.denominator)}
    primes = sorted({prime for size in sizes for prime, _ in dims.prime_powers(size)})
    large = [prime for prime in primes if prime > dims.TRIAL_DIVISION_BOUND]
    if large and (large[-1] >= dims.TRIAL_DIVISION_BOUND**3 or lcm(*large) != prod(large)):
        raise Undecided
    return primes


def _prime_exponent(ratio: dims.Monomial, prime: int) -> int:
    above, below = (dict(dims.prime_powers(size)).get(prime, 0) for size in (ratio.numerator, ratio.denominator))
    return above - below


def add_inequality(inequalities: Inequalities, coefficients: Iterable[tuple[str, int]], constant: int) -> None:
    """Add `sum(coefficient * unknown) + constant >= 0` to `inequalities`.

    The constant is rounded to the tightest bound for integers. Of two inequalities with the same linear form, only the
    tighter one remains.

    >>> rows = {}
    >>> add_inequality(rows, [("N", 2)], -3), add_inequality(rows, [("N", 4)], -4), rows
    (None, None, {(('N', 1),): -2})
    """
    kept = tuple(sorted((name, power) for name, power in coefficients if power))
    common = gcd(*(power for _, power in kept)) or 1
    row = tuple((name, power // common) for name, power in kept)
    inequalities[row] = min(inequalities.get(row, constant // common), constant // common)


def has_solution(inequalities: Inequalities, work: WorkBudget) -> bool:
    """Return whether inequalities may have an integer solution.

    Returns False only if it is proven that there is no solution. Raises `Undecided` if the work exceeds its limit.

    >>> at_least_two, below_two = {(("N", 1),): -2}, {(("N", -1),): 1}
    >>> has_solution(at_least_two, WorkBudget()), has_solution({**at_least_two, **below_two}, WorkBudget())
    (True, False)
    """
    while inequalities.get((), 0) >= 0:
        signs: dict[str, list[int]] = {}
        for row in inequalities:
            for name, power in row:
                signs.setdefault(name, [0, 0])[power > 0] += 1
        if not signs:
            return True
        unbounded = {name for name, (below, above) in signs.items() if not (below and above)}
        if unbounded:  # a suitable value of an unbounded name satisfies every inequality that contains the name
            work.spend(len(inequalities))
            inequalities = {
                row: number for row, number in inequalities.items() if not any(name in unbounded for name, _ in row)
            }
        else:
            inequalities = _eliminate_name(
                inequalities, min(signs, key=lambda name: signs[name][0] * signs[name][1]), work
            )
    return False


def _eliminate_name(inequalities: Inequalities, name: str, work: WorkBudget) -> Inequalities:
    """Eliminate a name from inequalities by a Fourier-Motzkin step."""
    result: Inequalities = {}
    sides: tuple[list[tuple[dict[str, int], int, int]], ...] = ([], [])
    for row, number in inequalities.items():
        powers = dict(row)
        power = powers.pop(name, 0)
        if power:
            sides[power > 0].append((powers, abs(power), number))
        else:
            result[row] = number
    work.spend(len(inequalities) + len(sides[0]) * len(sides[1]))
    for above, a, most in sides[0]:
        for below, b, least in sides[1]:
            combined = {key: above.get(key, 0) * b + below.get(key, 0) * a for key in {**above, **below}}
            add_inequality(result, combined.items(), most * b + least * a)
    return result
