"""Conditions: what the named sizes must satisfy for a symbolic answer to hold, and what follows from what.

`equal`, `divides` and `differ` return conditions that are necessary and sufficient together. They return none if
the relation always holds, and raise `Never` if no sizes of at least 1 can meet it. An equality of monomials has a
solution if and only if the exponents can balance for every prime p: v_p(coefficient) + sum(e_i * a_i) = 0 with
whole a_i >= 0.

`Known` takes conditions together and says what follows from them. A size is the exponents of its primes. So each prime
has a system of its own, in which a monomial that is 1 is a linear equation over whole exponents, and a monomial that is
whole is a linear inequality. The equations are solved exactly, by the steps of Euclid's algorithm. The inequalities
that are left are decided for each prime: names are eliminated one after another (Fourier and Motzkin, with the bounds
rounded to whole numbers). What is said to be impossible, or to follow, is so. Where the rounding leaves a doubt or the
work would be too much, nothing is said: `Undecided`.
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


WORK_OF_EACH = 50
"""How much longer a question about many conditions may take for each of them."""
MOST_BITS = 4096
"""The most binary digits of a coefficient on the way."""
MOST_APART = 100
"""The most differences that have to share primes."""
KEPT_FIRST = "==", "%", "!=", ">="
"""Of conditions that follow from each other, those that stay; of equal ones, those that come first."""
FREE = "~"
"""What begins the name of an unknown that need not be whole."""
NO_PRIME = 1
"""It stands for a prime that no coefficient has."""
ONE = dims.Monomial(1, 1, ())


class Never(ValueError):
    """No choice of sizes can meet the relation."""


class Undecided(Exception):
    """The question would take too long."""


class Condition(Record):
    """A relation between two dims: `left % right == 0`, `left == right`, `left != right` or `left >= right`.

    Its text is a Python expression over the names, which is true if the condition holds.
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
        """The condition as a person would say it.

        >>> equal(dims.named_dim("N"), 3)[0].words
        'N is 3'
        """
        return WORDS[self.relation].format(left=self.left, right=self.right)

    @property
    def ratio(self) -> dims.Monomial:
        """The quotient of its sides, of which the relation says that it is whole, that it is 1, or that it is not."""
        return dims.monomial(dims.quotient(self.left, self.right))


WORDS = {
    "%": "{right} divides {left}",
    "==": "{left} is {right}",
    "!=": "{left} is not {right}",
    ">=": "{left} is at least {right}",
}
"""What a person would say, by the relation."""
Conditions = tuple[Condition, ...]


def equal(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a == b`; raise `Never` if no sizes make them equal.

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
    """Return the conditions under which `b` divides `a`; raise `Never` if it does so for no sizes. `b` is not 0.

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
    """Return the conditions that two dims must meet; raise the error if no sizes meet them."""
    try:
        return make(left, right)
    except Never:
        raise error from None


def differ(a: dims.Dim, b: dims.Dim) -> Conditions:
    """Return the conditions under which `a != b`; raise `Never` if they are always equal.

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
    """Return the conditions under which `a >= b`; raise `Never` if no sizes meet it. `b` is above 0.

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
"""What each relation asks of two dims, in the order in which they are looked for: a divisibility ends in == 0."""


def combine(conditions: Iterable[Condition], shared: Work | None = None) -> Conditions:
    """Return the conditions without those that follow from others, with the sizes that they settle put in.

    Once the work that questions share is done, all stay. Raises `Never` if no sizes can meet them all.

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
    left = {condition for group in groups for condition in _independent(group, work)}
    return tuple(condition for condition in kept if condition in left)


def _linked(conditions: Iterable[Condition]) -> list[list[Condition]]:
    """Return the conditions in groups that have no name in common."""
    group_of: dict[str, list[Condition]] = {}
    for condition in conditions:
        present = dims.names([condition.ratio])
        groups = {id(group_of[name]): group_of[name] for name in present if name in group_of}
        largest = max(groups.values(), key=len, default=[])
        smaller = [each for group in groups.values() if group is not largest for each in group]
        largest += [condition, *smaller]
        group_of |= dict.fromkeys((*present, *dims.names(each.ratio for each in smaller)), largest)
    return list({id(group): group for group in group_of.values()}.values())


def _names_of(conditions: Iterable[Condition]) -> tuple[str, ...]:
    return dims.names(side for each in conditions for side in (each.left, each.right))


def _independent(group: list[Condition], work: Work) -> list[Condition]:
    """Return the conditions of a group that do not follow from the others; raise `Never` if no sizes meet them all."""
    if len(group) == 1:
        return group
    known = Known((), group, work)
    if known.is_contradictory():
        raise Never(" and ".join(map(str, group)))
    kept = [each for each in group if each not in known.repeated]
    for condition in sorted(kept, key=lambda each: KEPT_FIRST.index(each.relation))[::-1]:
        others = [each for each in kept if each is not condition]
        if Known((), [each for each in others if each.relation != "!="], work).implies(condition):
            kept = others
    return kept


def _with_sizes(conditions: Conditions, sizes: Mapping[str, int]) -> Conditions:
    """Return what is left of conditions once sizes are put in, with a condition for each of these sizes.

    It stands where the first equality of its name stood, or the first condition if no equality has the name.
    """
    compared = {*_names_of(each for each in conditions if each.relation == "==")}
    left = dict[Condition, None]()
    for condition in conditions:
        for name in _names_of([condition]):
            if name in sizes and (condition.relation == "==" or name not in compared):
                left[Condition(dims.named_dim(name), "==", sizes[name])] = None
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
    left, right = dims.substitute(condition.left, sizes), dims.substitute(condition.right, sizes)
    return RELATIONS[condition.relation](left, right)


def solved_names(conditions: Iterable[Condition]) -> dict[str, dims.Dim]:
    """Return the names that equalities solve, each with its value in other names: the one in which least divides.

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
    """Return a name with what it is if a monomial is 1, the one in whose value least divides; none if all are roots."""
    above = ratio.numerator + sum(power for _, power in ratio.powers if power > 0)
    below = ratio.denominator - sum(power for _, power in ratio.powers if power < 0)
    single = [(name, power) for name, power in ratio.powers if abs(power) == 1]
    if not single:
        return {}
    name, power = min(single, key=lambda each: above if each[1] == 1 else below)
    own = dims.named_dim(name)
    return {name: dims.quotient(own, ratio) if power == 1 else dims.product((own, ratio))}


def _numerator(ratio: dims.Monomial) -> dims.Dim:
    return dims.lowest_terms(ratio.numerator, 1, {name: power for name, power in ratio.powers if power > 0})


def _denominator(ratio: dims.Monomial) -> dims.Dim:
    return dims.lowest_terms(ratio.denominator, 1, {name: -power for name, power in ratio.powers if power < 0})


def _root(ratio: dims.Monomial) -> dims.Monomial:
    """Return a monomial that is 1 for the same sizes, with the common root of all powers taken: N*N/4 becomes N/2."""
    order = gcd(*(power for _, power in ratio.powers))
    if order < 2:
        return ratio
    above, below = dims.exact_root(ratio.numerator, order), dims.exact_root(ratio.denominator, order)
    if not above or not below:
        raise Never(f"{ratio} has no whole root of order {order}")
    return dims.Monomial(above, below, tuple((name, power // order) for name, power in ratio.powers))


def _can_be(dim: dims.Monomial, size: int) -> bool:
    """Say whether names can have sizes so that a dim of which nothing is taken out has this one."""
    powers = [power for _, power in dim.powers]
    reached = 1 in powers or all(_sums_to(exponent, powers) for _, exponent in dims.prime_powers(size))
    return reached and dim.numerator == 1


def _sums_to(exponent: int, powers: list[int]) -> bool:
    sums = {0}
    for total in range(1, exponent + 1):
        if any(total - power in sums for power in powers):
            sums.add(total)
    return exponent in sums


class Work:
    """What one question may still take."""

    def __init__(self, most: int = MOST_WORK) -> None:
        """Begin, with so much work to be done at most."""
        self.left = most

    def add(self, amount: int) -> None:
        """Count some work; raise `Undecided` if it becomes too much."""
        self.left -= amount
        if self.left < 0:
            raise Undecided


class Known:
    """What is known of names: dims that are whole numbers, and conditions that hold. It says what follows.

    >>> from shapecalc.core.text import read_dims
    >>> known = Known(read_dims("H/7,W/7,N*N/3"), equal(dims.named_dim("C"), dims.named_dim("H")))
    >>> [known.is_whole(dim) for dim in read_dims("C*H*W/49,N/3,H/14")]
    [True, True, False]
    """

    def __init__(
        self, wholes: Iterable[dims.Dim] = (), conditions: Iterable[Condition] = (), work: Work | None = None
    ) -> None:
        """Take these dims as whole and these conditions as true; `work` is shared with other questions."""
        self.dims = tuple(dict.fromkeys(dim for dim in wholes if not dims.always_whole(dim)))
        self.conditions = tuple(conditions)
        self.repeated: set[Condition] = set()
        """The equalities that follow from those before them."""
        self.shared, self.work = work, work or Work()
        self.solved: dict[str, dims.Monomial] = {}
        """What the equalities say that names are, in the names that they leave free."""
        self.impossible = self.undecided = self._bare = False
        self._settled: dict[str, dims.Dim] | None = None
        self._answers: dict[dims.Dim, bool] = {}
        self._kept: dict[Any, Any] = {}
        self.names = set[str]()
        self.wholes = [*map(dims.monomial, self.dims), *self._ratios("%")]
        """What is whole, in the names that the equalities leave free."""
        try:
            self._know_names((*self._ratios("=="), *self.wholes))
            self._solve_equalities()
        except Never:
            self.impossible = True
        except Undecided:
            self.undecided = True

    def _ratios(self, relation: str) -> list[dims.Monomial]:
        return [each.ratio for each in self.conditions if each.relation == relation]

    def _know_names(self, ratios: Iterable[dims.Monomial]) -> None:
        """Keep the names in monomials as whole ones."""
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
        """Solve one more equation for some of its names; say whether it does not follow from those before."""
        if (ratio := self.put_in(ratio)) == ONE:
            return False
        while (ratio := _root(self.put_in(ratio))).powers:
            if _only_ones(ratio):
                self.solved |= {name: ONE for name, _ in ratio.powers}
            elif solution := _solution(ratio):
                self.solved |= {name: dims.monomial(value) for name, value in solution.items()}
            else:
                name, power = min(ratio.powers, key=lambda each: abs(each[1]))
                others = {other: -(e // power) for other, e in ratio.powers if other != name}
                self.solved[name] = dims.monomial(dims.lowest_terms(1, 1, {**others, f"{FREE}{len(self.solved)}": 1}))
        if ratio != ONE:
            raise Never
        return True

    def _put_solutions_in(self) -> None:
        """Put what is solved in everywhere, and see whether anything is whole only for some sizes."""
        for name in reversed(self.solved):
            self.solved[name] = self.put_in(self.solved[name])
        self.wholes = [self.put_in(each) for each in self.wholes]
        self._bare = all(map(dims.always_whole, self.wholes)) and not any(map(_has_free, self.wholes))

    def put_in(self, ratio: dims.Monomial) -> dims.Monomial:
        """Return a monomial in the names that the equalities leave free."""
        while any(name in self.solved for name, _ in ratio.powers):
            self.work.add(len(ratio.powers))
            factors = [(self.solved.get(name) or dims.named_dim(name), power) for name, power in ratio.powers]
            ratio = _product(factors, ratio)
        return ratio

    def settle(self) -> list[dims.Monomial]:
        """Solve also what is whole as its inverse is, and return it: it is 1.

        Raises `Never` if that cannot be, and `Undecided` if it takes too long.
        """
        if self.impossible or self.undecided:
            raise Undecided
        settled = []
        while found := next((each for each in self._bounded() if self._makes_whole(_inverse(each))), None):
            settled.append(found)
            self._solve(found)
            self._put_solutions_in()
        return settled

    def _bounded(self) -> list[dims.Monomial]:
        """Return what is whole and may have a largest size: something divides by each name that it is made of."""
        below = {name for each in self.wholes for name, power in each.powers if power < 0}
        return [each for each in self.wholes if each.powers and all(p < 0 or name in below for name, p in each.powers)]

    @property
    def settled(self) -> dict[str, dims.Dim]:
        """The names that are settled by equalities, and by what divides each other, each with its value."""
        if self._settled is None:
            self.work = self.shared or Work()
            try:
                ones = [each for one in self.settle() if not _has_free(one) for each in equal(one, 1)]
            except (Never, Undecided):
                ones = []
            self._settled = solved_names((*self.conditions, *ones))
        return self._settled

    @property
    def fractions(self) -> dims.Shape:
        """The dims that are whole, and not for all sizes, with what is settled put in."""
        found = [dims.rewrite(dim, self.settled) for dim in (*self.dims, *self._ratios("%"))] + [*self.settled.values()]
        return tuple(dict.fromkeys(dim for dim in found if not dims.always_whole(dim)))

    def sizes(self) -> dict[str, int]:
        """Return the names to which conditions leave one size; raise `Never` if they leave a name none."""
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
        """Return a value, or the equal one that was given before: of deep ones, only one is to be compared."""
        found: Kept = self._kept.setdefault(value, value)
        return found

    def is_whole(self, dim: dims.Dim) -> bool:
        """Say whether `dim` is sure to be a whole number."""
        if dims.always_whole(dim):
            return True
        if dim not in self._answers:
            is_multiple = any(dims.always_whole(dims.quotient(dim, each)) for each in self.dims)  # this is soon seen
            self._answers[dim] = is_multiple or self._ask(lambda: self._makes_whole(dims.monomial(dim)))
        return self._answers[dim]

    def divides(self, part: dims.Dim, whole: dims.Dim) -> bool:
        """Say whether `part`, which is not 0, is sure to divide `whole`."""
        if type(part) is int and type(whole) is int:
            return whole % part == 0
        return self.is_whole(dims.quotient(whole, part))

    def implies(self, condition: Condition) -> bool:
        """Say whether a condition is sure to hold.

        >>> N, M = dims.named_dim("N"), dims.named_dim("M")
        >>> known = Known((), equal(N, M) + divides(M, 6))
        >>> known.implies(*divides(N, 3)), known.implies(*differ(N, 3)), known.implies(*differ(N, 6))
        (True, True, False)
        """
        if condition.relation == "!=":
            same = Condition(condition.left, "==", condition.right)
            return Known(self.dims, (*self.conditions, same), self.shared).is_contradictory()
        if condition.relation == ">=":
            stated = [dims.quotient(condition.ratio, each) for each in self._ratios(">=")]
            return any(map(is_at_least_one, map(dims.monomial, stated)))
        makes_so = self._makes_one if condition.relation == "==" else self._makes_whole
        return self._ask(lambda: makes_so(condition.ratio))

    def is_contradictory(self) -> bool:
        """Say whether no sizes are sure to meet all conditions."""
        return self.impossible or self._ask(lambda: not self._allows(self._ratios("!=")))

    def _ask(self, question: Callable[[], bool]) -> bool:
        """Return the answer to a question; False if it is not found in a short time."""
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
        """Say whether some sizes may meet the conditions and make none of these monomials 1; False is proved.

        A monomial is not 1 if it or its inverse is not whole, by some prime. There are primes enough for all monomials
        that a prime which no coefficient has can do this for. The others have to share the primes of coefficients.
        """
        ratios = [self.put_in(ratio) for ratio in differing]
        self._know_names(ratios)
        tight = [one for one in ratios if not any(self._has_exponents(NO_PRIME, each) for each in (one, _inverse(one)))]
        if len(tight) > MOST_APART:
            raise Undecided
        primes = _primes([*self.wholes, *tight])
        return all(map(self._has_exponents, primes)) and self._breaks(tight, dict.fromkeys(primes, ()))

    def _breaks(self, ratios: Sequence[dims.Monomial], broken: Mapping[int, tuple[dims.Monomial, ...]]) -> bool:
        """Say whether each ratio or its inverse can be kept from being whole by a prime, which others may share."""
        if not ratios:
            return True
        return any(
            self._has_exponents(prime, *others, each) and self._breaks(ratios[1:], {**broken, prime: (*others, each)})
            for prime, others in broken.items()
            for each in (ratios[0], _inverse(ratios[0]))
        )

    def _has_exponents(self, prime: int, *broken: dims.Monomial) -> bool:
        """Say whether a prime may be in the names so that all is whole that must be, and these monomials are not."""
        self.work.add(len(self.wholes))
        rows: Rows = {}
        for ratio in self.wholes:
            add_inequality(rows, ratio.powers, _exponent(ratio, prime))
        for ratio in broken:
            below = [(name, -power) for name, power in ratio.powers]
            add_inequality(rows, below, -_exponent(ratio, prime) - 1)
        return has_solution(rows, self.work)


def is_at_least_one(ratio: dims.Monomial) -> bool:
    """Say whether no sizes make a monomial less than 1."""
    return ratio.numerator >= ratio.denominator and all(power > 0 for _, power in ratio.powers)


def _has_free(ratio: dims.Monomial) -> bool:
    return any(name[0] == FREE for name, _ in ratio.powers)


def _inverse(ratio: dims.Monomial) -> dims.Monomial:
    return dims.monomial(dims.quotient(1, ratio))


def _only_ones(ratio: dims.Monomial) -> bool:
    """Say whether a monomial that is 1 has only names that are whole, and all of them on one side of 1."""
    signs = {power > 0 for _, power in ratio.powers}
    return ratio.numerator == ratio.denominator and len(signs) == 1 and not _has_free(ratio)


def _product(factors: Iterable[tuple[dims.Monomial, int]], coefficient: dims.Monomial) -> dims.Monomial:
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
    return dims.monomial(dims.lowest_terms(numerator, denominator, powers))


def _primes(ratios: Iterable[dims.Monomial]) -> list[int]:
    """Return the primes of all coefficients; raise `Undecided` if some are not found."""
    sizes = {size for ratio in ratios for size in (ratio.numerator, ratio.denominator)}
    found = sorted({prime for size in sizes for prime, _ in dims.prime_powers(size)})
    large = [prime for prime in found if prime > dims.TRIED]
    if large and (large[-1] >= dims.TRIED**3 or lcm(*large) != prod(large)):
        raise Undecided
    return found


def _exponent(ratio: dims.Monomial, prime: int) -> int:
    """Return how often a prime is in a coefficient."""
    above, below = (dict(dims.prime_powers(size)).get(prime, 0) for size in (ratio.numerator, ratio.denominator))
    return above - below


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
    while rows.get((), 0) >= 0:
        signs: dict[str, list[int]] = {}
        for row in rows:
            for name, power in row:
                signs.setdefault(name, [0, 0])[power > 0] += 1
        if not signs:
            return True
        unbounded = {name for name, (below, above) in signs.items() if not (below and above)}
        if unbounded:  # some size of each meets whatever is said of it
            work.add(len(rows))
            rows = {row: number for row, number in rows.items() if not any(name in unbounded for name, _ in row)}
        else:
            rows = _without(rows, min(signs, key=lambda each: signs[each][0] * signs[each][1]), work)
    return False


def _without(rows: Rows, name: str, work: Work) -> Rows:
    """Return what inequalities say without a name."""
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
    for above, a, most in sides[0]:
        for below, b, least in sides[1]:
            both = {key: above.get(key, 0) * b + below.get(key, 0) * a for key in {**above, **below}}
            add_inequality(found, both.items(), most * b + least * a)
    return found


if TYPE_CHECKING:
    Kept = TypeVar("Kept")
    Relation = Callable[[dims.Dim, dims.Dim], Conditions]
    """Returns the conditions under which two dims stand in a relation; raises `Never` if they never do."""
    Row = tuple[tuple[str, int], ...]
    """The factors of names. With a number they are an inequality: the sum of all is not below 0."""
    Rows = dict[Row, int]
