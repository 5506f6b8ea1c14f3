"""Systems: monomials that are 1 and monomials that are whole numbers, all at once, in names of at least 1.

A whole number is the exponents of its primes. So each prime has a system of its own, in which a monomial that is 1
is a linear equation over whole exponents, and a monomial that is whole is a linear inequality. The equations are
solved exactly, by the steps of Euclid's algorithm. The inequalities that are left are decided for each prime.

What a system says is impossible, or follows, is so. Where the work would be too much it says nothing: `Undecided`.
"""

from __future__ import annotations

from math import gcd, lcm, prod

from shapecalc.core.sizes.dims import Monomial, lowest_terms, monomial, named_dim, names
from shapecalc.core.sizes.inequalities import Undecided, Work, add_inequality, has_solution
from shapecalc.core.sizes.roots import TRIED, exact_root, prime_powers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from shapecalc.core.sizes.inequalities import Rows

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
