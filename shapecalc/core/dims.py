"""Dims and shapes: the numbers and monomials that reshape and transpose multiply and divide.

A `Dim` is an `int`, or a `Monomial` if it has names: `3*H*W`, `C*H*W/64`. A `Shape` is a tuple of dims. The dims
of a concrete shape are plain ints, so `(2, 12)` is fast and ready for JSON. A name stands for a size of at least 1.
A name that starts with `?` is a dim that nobody knows, and prints as `?`.
"""

from __future__ import annotations

from _collections_abc import Callable, Iterable, Iterator, Mapping
from math import gcd, prod

from shapecalc.core.record import Record

INT64_MAX = 2**63 - 1
TRIED = 1 << 16
"""Primes up to this number are divided out one by one."""
MOST_KEPT = 256
"""The most numbers whose primes are remembered."""


class Monomial(Record):
    """A rational coefficient times named sizes with integer exponents, in lowest terms.

    Make one with `named_dim`, `monomial`, `product` or `quotient`. They sort `powers` by name and leave zero
    exponents out, so that equal monomials are equal values.
    """

    numerator: int
    denominator: int
    powers: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """Return the text: the coefficient, the names in order, then what divides.

        >>> print(quotient(product((3, named_dim("W"), named_dim("H"))), product((64, named_dim("K")))))
        3*H*W/64/K
        """
        if len(self.powers) == self.numerator == self.denominator == self.powers[0][1] == 1:
            return _printed_name(self.powers[0][0])
        return self.written(_printed_name)

    def written(self, printed: Callable[[str], str], times: str = "*", over: str = "/") -> str:
        """Return the text with each name as `printed` gives it, and these signs between the factors.

        >>> print(quotient(product((3, named_dim("W"), named_dim("H"))), 64).written(str.lower, " * ", " // "))
        3 * h * w // 64
        """
        above = [printed(name) for name, power in self.powers for _ in range(power)]
        below = [printed(name) for name, power in self.powers for _ in range(-power)]
        if self.numerator == -1 and above:
            above[0] = f"-{above[0]}"
        elif self.numerator != 1 or not above:
            above.insert(0, str(self.numerator))
        if self.denominator != 1:
            below.insert(0, str(self.denominator))
        return over.join([times.join(above), *below])

    def __repr__(self) -> str:
        return str(self)


Dim = int | Monomial
Shape = tuple[Dim, ...]
Axes = tuple[int, ...]
Sum = tuple[Dim, ...]
"""Terms with different names, in order, none of them 0; so equal sums are equal tuples. A dim is never a sum."""


def _printed_name(name: str) -> str:
    return "?" if name.startswith("?") else name


def named_dim(name: str) -> Monomial:
    """Return the dim that is called `name`."""
    return Monomial(1, 1, ((name, 1),))


def monomial(dim: Dim) -> Monomial:
    """Return `dim` as a `Monomial`, even if it is an int."""
    return Monomial(dim, 1, ()) if isinstance(dim, int) else dim


def lowest_terms(numerator: int, denominator: int, powers: Mapping[str, int]) -> Dim:
    """Return the `Dim` that equals `numerator / denominator * powers`; an int if it is a whole number."""
    if numerator == 0:
        return 0
    common = gcd(numerator, denominator)
    if 0 in powers.values():
        powers = {name: power for name, power in powers.items() if power}
    if not powers and denominator == common:
        return numerator // common
    return Monomial(numerator // common, denominator // common, tuple(sorted(powers.items())))


def quotient(a: Dim, b: Dim) -> Dim:
    """Return `a / b` with equal factors cancelled; raise `ZeroDivisionError` if `b` is 0.

    The result may be a fraction. `conditions.divides` says when it is whole.

    >>> quotient(24, 2), str(quotient(named_dim("N"), 2))
    (12, 'N/2')
    """
    if isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError(f"{a} / 0")
        if b == 1:
            return a
        if isinstance(a, int) and a % b == 0:
            return a // b
    top, bottom = monomial(a), monomial(b)
    powers = dict(top.powers)
    for name, power in bottom.powers:
        powers[name] = powers.get(name, 0) - power
    return lowest_terms(top.numerator * bottom.denominator, top.denominator * bottom.numerator, powers)


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of `dims`. It is 1 for no dims, and 0 if a dim is 0.

    >>> product((2, 3, 4)), str(product((named_dim("N"), 4, named_dim("N"))))
    (24, '4*N*N')
    """
    dims = tuple(dims)
    for dim in dims:
        if type(dim) is Monomial:
            return _monomial_product(dims)
    return prod(dims)  # type: ignore[arg-type]  # no dim is a monomial


def _monomial_product(dims: Shape) -> Dim:
    """Return the product of `dims` if some of them have names."""
    numerator, denominator = 1, 1
    powers: dict[str, int] = {}
    for dim in dims:
        if isinstance(dim, int):
            numerator *= dim
            continue
        numerator, denominator = numerator * dim.numerator, denominator * dim.denominator
        fewer: Iterable[tuple[str, int]] = dim.powers
        if len(dim.powers) > len(powers):
            fewer, powers = powers.items(), dict(dim.powers)
        for name, power in fewer:
            powers[name] = powers.get(name, 0) + power
    return lowest_terms(numerator, denominator, powers)


def all_known(dims: Iterable[Dim]) -> bool:
    """Say whether every dim is a number.

    >>> all_known((2, 3)), all_known((named_dim("N"), 3))
    (True, False)
    """
    for dim in dims:  # noqa: SIM110 - `any` takes twice as long, on every shape
        if type(dim) is Monomial:
            return False
    return True


def numbers(dims: Iterable[Dim]) -> tuple[int, ...]:
    """Return those of `dims` that are numbers."""
    return tuple([dim for dim in dims if isinstance(dim, int)])


def names(dims: Iterable[Dim]) -> tuple[str, ...]:
    """Return the names that occur in `dims`, in order of first appearance."""
    return tuple(dict.fromkeys(name for dim in dims if isinstance(dim, Monomial) for name, _ in dim.powers))


def substitute(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """Return `dim` with numbers put in for the names in `sizes`.

    Raises `ZeroDivisionError` if a name that divides is 0.

    >>> substitute(quotient(named_dim("N"), 4), {"N": 8})
    2
    """
    if isinstance(dim, int):
        return dim
    numerator, denominator, powers = dim.numerator, dim.denominator, dict(dim.powers)
    for name, power in dim.powers:
        if name in sizes:
            del powers[name]
            numerator *= sizes[name] ** max(power, 0)
            denominator *= sizes[name] ** max(-power, 0)
    if denominator == 0:
        raise ZeroDivisionError(f"{dim} with {dict(sizes)}")
    return lowest_terms(numerator, denominator, powers)


def rewrite(dim: Dim, dims: Mapping[str, Dim]) -> Dim:
    """Return `dim` with other dims put in for the names in `dims`; none of them may be 0.

    >>> rewrite(quotient(named_dim("C"), 4), {"C": product((8, named_dim("K")))})
    2*K
    """
    if isinstance(dim, int) or not any(name in dims for name, _ in dim.powers):
        return dim
    kept = {name: power for name, power in dim.powers if name not in dims}
    above = [dims[name] for name, power in dim.powers if name in dims for _ in range(power)]
    below = [dims[name] for name, power in dim.powers if name in dims for _ in range(-power)]
    return quotient(product([lowest_terms(dim.numerator, dim.denominator, kept), *above]), product(below))


def always_whole(dim: Dim) -> bool:
    """Say whether a dim is a whole number for all sizes."""
    return isinstance(dim, int) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def exceeds(dim: Dim, limit: int) -> bool:
    """Say whether `dim` is greater than `limit` for all sizes.

    >>> exceeds(product((2**63, named_dim("N"))), INT64_MAX)
    True
    """
    if isinstance(dim, int):
        return dim > limit
    return dim.numerator > limit * dim.denominator and all(power > 0 for _, power in dim.powers)


def plain(value: object) -> object:
    """Return a dim, a shape or an argument for JSON. Dims with names are strings; shapes are lists.

    >>> plain((2, named_dim("N"), -1)), plain(None)
    ([2, 'N', -1], None)
    """
    if isinstance(value, Monomial):
        return str(value)
    return [plain(part) for part in value] if isinstance(value, tuple) else value


def total(terms: Iterable[Dim]) -> Sum:
    """Return the sum of terms, which may be below 0.

    >>> from shapecalc.core.text import read_dims
    >>> total((*read_dims("2*N,3,N/2"), -1))
    (2, 5*N/2)
    """
    terms = tuple(terms)
    if all_known(terms):
        known = sum(terms)  # type: ignore[arg-type]  # all are numbers
        return (known,) if known else ()
    found: dict[tuple[tuple[str, int], ...], tuple[int, int]] = {}
    for term in map(monomial, terms):
        above, below = found.get(term.powers, (0, 1))
        found[term.powers] = above * term.denominator + term.numerator * below, below * term.denominator
    dims = [lowest_terms(*found[powers], dict(powers)) for powers in sorted(found)]
    return tuple([dim for dim in dims if dim != 0])


def plain_sum(terms: Sum) -> object:
    """Return a sum for JSON: a number, or a text.

    >>> plain_sum((3,)), plain_sum((-1, named_dim("N")))
    (3, 'N - 1')
    """
    if len(terms) == 1:
        return plain(terms[0])
    ordered = sorted(terms, key=lambda term: (isinstance(term, int), is_negative(term)))
    texts = [str(product((-1, term))) if is_negative(term) else str(term) for term in ordered]
    signs = [" - " if is_negative(term) else " + " for term in ordered]
    return "".join([part for pair in zip(signs, texts, strict=True) for part in pair]).removeprefix(" + ").strip()


def is_negative(dim: Dim) -> bool:
    """Say whether a term is below 0."""
    return (dim if isinstance(dim, int) else dim.numerator) < 0


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


def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """Return the primes of a number with their exponents, enough of them to see which products can make it.

    After the small primes are divided out, a rest below 2**48 is a prime, the square of one, or a product of two
    others, which stand as one. A rest below 2**80 has at most four prime factors. So one of its primes occurs once,
    or the rest is a perfect power.

    >>> prime_powers(360)
    ((2, 3), (3, 2), (5, 1))
    """
    if number not in _primes_of:
        if len(_primes_of) == MOST_KEPT:
            _primes_of.clear()
        _primes_of[number] = tuple(_found_primes(number))
    return _primes_of[number]


_primes_of: dict[int, tuple[tuple[int, int], ...]] = {}


def _found_primes(number: int) -> Iterator[tuple[int, int]]:
    factor = 2
    while factor < TRIED and factor * factor <= number:
        exponent = 0
        while number % factor == 0:
            number, exponent = number // factor, exponent + 1
        if exponent:
            yield factor, exponent
        factor += 1 if factor == 2 else 2
    if number > 1:
        yield _as_power(number)


def _as_power(number: int) -> tuple[int, int]:
    """Return a number as a root with the largest exponent, up to 4."""
    for order in range(4, 1, -1):
        if root := exact_root(number, order):
            return root, order
    return number, 1


def factored(number: int) -> str:
    """Return a number with its prime factors; a rest without small ones stays whole.

    >>> factored(1600), factored(7), factored(0), factored(12675)
    ('1600 = 2^6*5^2', '7', '0', '12675 = 3*5^2*13^2')
    """
    text = "*".join(_prime_text(prime, power) for prime, power in prime_powers(number))
    return f"{number} = {text}" if text not in ("", str(number)) else str(number)


def missing_factors(have: int, asked: int) -> str:
    """Say which prime powers of a number another does not have, both at least 1; nothing if it has all.

    >>> missing_factors(1600, 8 * 3 * 64), missing_factors(24, 6)
    ('no factor 2^9 and no factor 3', '')
    """
    powers = [(prime, power) for prime, power in prime_powers(asked) if have % prime**power]
    return " and ".join(f"no factor {_prime_text(prime, power)}" for prime, power in powers)


def _prime_text(prime: int, power: int) -> str:
    return str(prime) if power == 1 else f"{prime}^{power}"
