"""Dims and shapes, with exact products, quotients, sums and substitution.

A `Dim` is an `int`, or a `Monomial` of named sizes such as `3*H*W` or `C*H*W/64`. A `Shape` is a tuple of dims; the
shape of a concrete tensor is a tuple of plain ints. Every named size is at least 1. A name that starts with `?` denotes
an unknown dim and is printed as `?`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import gcd, prod

from shapecalc.core.record import Record, lazy

INT64_MAX = 2**63 - 1
TRIAL_DIVISION_BOUND = 1 << 16
"""The exclusive upper bound of trial division."""
PRIME_CACHE_SIZE = 256
"""The maximum number of cached factorizations."""
_prime_cache: dict[int, tuple[tuple[int, int], ...]] = {}
MAX_CACHED_DIMS = 256
"""The maximum number of cached dims for one name."""
_named_dims: dict[str, Monomial] = {}


class Monomial(Record):
    """A rational coefficient times integer powers of named sizes.

    Create a monomial with `named_dim`, `monomial`, `product` or `quotient`. These functions sort `powers` by name and
    drop zero exponents, so that equal monomials are equal values.
    """

    numerator: int
    denominator: int
    powers: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        """Return the monomial as text: its factors, followed by its divisors.

        >>> print(quotient(product((3, named_dim("W"), named_dim("H"))), product((64, named_dim("K")))))
        3*H*W/64/K
        """
        if len(self.powers) == self.numerator == self.denominator == self.powers[0][1] == 1:
            return _display_name(self.powers[0][0])
        return self.format(_display_name)

    def format(self, format_name: Callable[[str], str], times_sign: str = "*", division_sign: str = "/") -> str:
        """Format the monomial with custom names and operator signs.

        >>> print(quotient(product((3, named_dim("W"), named_dim("H"))), 64).format(str.lower, " * ", " // "))
        3 * h * w // 64
        """
        above = [format_name(name) for name, power in self.powers for _ in range(power)]
        below = [format_name(name) for name, power in self.powers for _ in range(-power)]
        if self.numerator == -1 and above:
            above[0] = f"-{above[0]}"
        elif self.numerator != 1 or not above:
            above.insert(0, str(self.numerator))
        if self.denominator != 1:
            below.insert(0, str(self.denominator))
        return division_sign.join([times_sign.join(above), *below])

    def __repr__(self) -> str:
        return str(self)

    @lazy
    def spelling(self) -> str:
        """Return the canonical string, which compares equal to the monomial.

        A shape with the dims N and 12 therefore equals `("N", 12)`.
        """
        return str(self)

    def __eq__(self, other: object) -> bool:
        return self.spelling == other if type(other) is str else Record.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(self.spelling)


Dim = int | Monomial
Shape = tuple[Dim, ...]
Axes = tuple[int, ...]
"""Axis indices."""
IntTuple = tuple[int, ...]
"""Concrete sizes, strides or chunk sizes."""
Sum = tuple[Dim, ...]
"""The nonzero terms of a sum. They are sorted and have distinct powers, so that equal sums are equal tuples. A `Dim`
cannot represent a sum of several terms.
"""


def _display_name(name: str) -> str:
    return "?" if name.startswith("?") else name


def named_dim(name: str) -> Monomial:
    """Create a symbolic dim from its name."""
    if name not in _named_dims:
        if len(_named_dims) == MAX_CACHED_DIMS:
            _named_dims.clear()
        _named_dims[name] = Monomial(1, 1, ((name, 1),))
    return _named_dims[name]


def monomial(dim: Dim) -> Monomial:
    """Convert a dim to a `Monomial`."""
    return Monomial(dim, 1, ()) if isinstance(dim, int) else dim


def lowest_terms(numerator: int, denominator: int, powers: Mapping[str, int]) -> Dim:
    """Return `numerator / denominator` times powers of names, in lowest terms.

    `powers` maps each name to its exponent. Returns an int if the result is an integer without names.
    """
    if numerator == 0:
        return 0
    common = gcd(numerator, denominator)
    if 0 in powers.values():
        powers = {name: power for name, power in powers.items() if power}
    if not powers and denominator == common:
        return numerator // common
    return Monomial(numerator // common, denominator // common, tuple(sorted(powers.items())))


def quotient(a: Dim, b: Dim) -> Dim:
    """Return `a / b` with common factors cancelled.

    The result may be a fraction; `conditions.require_divisible` returns the conditions under which it is an integer.
    Raises `ZeroDivisionError` if `b` is 0.

    >>> quotient(24, 2), str(quotient(named_dim("N"), 2))
    (12, 'N/2')
    """
    if isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError(f"{a} / 0")
        if b == 1:
            return a
        if isinstance(a, int):
            return lowest_terms(a, b, {}) if a % b else a // b
    top, bottom = monomial(a), monomial(b)
    powers = dict(top.powers)
    for name, power in bottom.powers:
        powers[name] = powers.get(name, 0) - power
    return lowest_terms(top.numerator * bottom.denominator, top.denominator * bottom.numerator, powers)


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of `dims`, or 1 if there are no dims.

    >>> product((2, 3, 4)), str(product((named_dim("N"), 4, named_dim("N"))))
    (24, '4*N*N')
    """
    if type(dims) is not tuple:
        dims = tuple(dims)
    for dim in dims:
        if type(dim) is Monomial:
            return _monomial_product(dims)
    return prod(dims)


def _monomial_product(dims: Shape) -> Dim:
    """Return the product of dims that include monomials."""
    numerator, denominator = 1, 1
    powers: dict[str, int] = {}
    for dim in dims:
        if isinstance(dim, int):
            numerator *= dim
            continue
        numerator, denominator = numerator * dim.numerator, denominator * dim.denominator
        fewer: Collection[tuple[str, int]] = dim.powers
        if len(fewer) > len(powers):
            fewer, powers = powers.items(), dict(fewer)
        for name, power in fewer:
            powers[name] = powers.get(name, 0) + power
    return lowest_terms(numerator, denominator, powers)


def is_concrete(dims: Iterable[Dim]) -> bool:
    """Return whether every dim is an integer.

    >>> is_concrete((2, 3)), is_concrete((named_dim("N"), 3))
    (True, False)
    """
    for dim in dims:  # noqa: SIM110 - `all` takes three times as long, and this runs on every shape
        if type(dim) is Monomial:
            return False
    return True


def numeric_dims(dims: Iterable[Dim]) -> tuple[int, ...]:
    """Return the dims that are integers."""
    return tuple([dim for dim in dims if isinstance(dim, int)])


def dim_names(dims: Iterable[Dim]) -> tuple[str, ...]:
    """Return the names in `dims`, in order of first appearance."""
    return tuple(dict.fromkeys([name for dim in dims if isinstance(dim, Monomial) for name, _ in dim.powers]))


def substitute(dim: Dim, sizes: Mapping[str, int]) -> Dim:
    """Substitute sizes for names in a dim.

    Raises `ZeroDivisionError` if the size of a divisor is 0.

    >>> substitute(quotient(named_dim("N"), 4), {"N": 8})
    2
    """
    if isinstance(dim, int):
        return dim
    numerator, denominator, powers = dim.numerator, dim.denominator, dict[str, int]()
    for name, power in dim.powers:
        if name not in sizes:
            powers[name] = power
        elif power > 0:
            numerator *= sizes[name] ** power
        else:
            denominator *= sizes[name] ** -power
    if denominator == 0:
        raise ZeroDivisionError(f"{dim} with {dict(sizes)}")
    return lowest_terms(numerator, denominator, powers)


def substitute_dims(dim: Dim, dims: Mapping[str, Dim]) -> Dim:
    """Substitute nonzero dims for names in a dim.

    >>> substitute_dims(quotient(named_dim("C"), 4), {"C": product((8, named_dim("K")))})
    2*K
    """
    if isinstance(dim, int) or not any(name in dims for name, _ in dim.powers):
        return dim
    kept = {name: power for name, power in dim.powers if name not in dims}
    above = [dims[name] for name, power in dim.powers if name in dims for _ in range(power)]
    below = [dims[name] for name, power in dim.powers if name in dims for _ in range(-power)]
    return quotient(product([lowest_terms(dim.numerator, dim.denominator, kept), *above]), product(below))


def is_always_integral(dim: Dim) -> bool:
    """Return whether a dim is an integer for all sizes."""
    return isinstance(dim, int) or (dim.denominator == 1 and _has_positive_powers(dim))


def exceeds(dim: Dim, limit: int) -> bool:
    """Return whether `dim` is greater than `limit` for all sizes.

    >>> exceeds(product((2**63, named_dim("N"))), INT64_MAX)
    True
    """
    if isinstance(dim, int):
        return dim > limit
    numerator = dim.numerator
    return numerator > limit and numerator > limit * dim.denominator and _has_positive_powers(dim)


def _has_positive_powers(dim: Monomial) -> bool:
    for _, power in dim.powers:  # noqa: SIM110 - `all` of a generator takes twice as long
        if power <= 0:
            return False
    return True


def to_json(value: object) -> object:
    """Convert a dim, a shape or an argument to JSON.

    Monomials become strings, and shapes become lists.

    >>> to_json((2, named_dim("N"), -1)), to_json(None)
    ([2, 'N', -1], None)
    """
    if isinstance(value, Monomial):
        return str(value)
    return [to_json(part) for part in value] if isinstance(value, tuple) else value


def sum_terms(terms: Iterable[Dim]) -> Sum:
    """Return the sum of terms, with like terms combined.

    Terms may be negative.

    >>> from shapecalc.core.text import parse_dims
    >>> sum_terms((*parse_dims("2*N,3,N/2"), -1))
    (2, 5*N/2)
    """
    terms = tuple(terms)
    if is_concrete(terms):
        known = sum(terms)  # type: ignore[arg-type]  # all are numbers
        return (known,) if known else ()
    coefficients: dict[tuple[tuple[str, int], ...], tuple[int, int]] = {}
    for term in map(monomial, terms):
        above, below = coefficients.get(term.powers, (0, 1))
        coefficients[term.powers] = above * term.denominator + term.numerator * below, below * term.denominator
    dims = [lowest_terms(*coefficients[powers], dict(powers)) for powers in sorted(coefficients)]
    return tuple([dim for dim in dims if dim != 0])


def sum_to_json(terms: Sum) -> object:
    """Convert a sum to a JSON number or string.

    >>> sum_to_json((3,)), sum_to_json((-1, named_dim("N")))
    (3, 'N - 1')
    """
    if len(terms) == 1:
        return to_json(terms[0])
    ordered = sorted(terms, key=lambda term: (isinstance(term, int), is_negative(term)))
    texts = [str(product((-1, term))) if is_negative(term) else str(term) for term in ordered]
    signs = [" - " if is_negative(term) else " + " for term in ordered]
    return "".join([part for pair in zip(signs, texts, strict=True) for part in pair]).removeprefix(" + ").strip()


def is_negative(dim: Dim) -> bool:
    """Return whether the coefficient of a dim is negative."""
    return (dim if isinstance(dim, int) else dim.numerator) < 0


def exact_root(number: int, order: int) -> int | None:
    """Return the integer root of a number, or None if the root is not an integer.

    `order` is the degree of the root.

    >>> exact_root(27, 3), exact_root(28, 3)
    (3, None)
    """
    low, high = 1, 1 << (number.bit_length() // order + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**order >= number else (middle + 1, high)
    return low if low**order == number else None


def prime_powers(number: int) -> tuple[tuple[int, int], ...]:
    """Return the prime factors of a number with their exponents.

    Trial division finds the primes below 2**16. The remaining cofactor is returned as one factor or as a perfect power,
    so the last factor may be composite. A cofactor below 2**48 has at most two prime factors. A cofactor below 2**80
    has at most four prime factors. One of these factors occurs exactly once unless the cofactor is a perfect power.

    >>> prime_powers(360)
    ((2, 3), (3, 2), (5, 1))
    """
    if number not in _prime_cache:
        if len(_prime_cache) == PRIME_CACHE_SIZE:
            _prime_cache.clear()
        _prime_cache[number] = tuple(_factorize(number))
    return _prime_cache[number]


def _factorize(number: int) -> Iterator[tuple[int, int]]:
    factor = 2
    while factor < TRIAL_DIVISION_BOUND and factor * factor <= number:
        exponent = 0
        while number % factor == 0:
            number, exponent = number // factor, exponent + 1
        if exponent:
            yield factor, exponent
        factor += 1 if factor == 2 else 2
    if number > 1:
        yield _perfect_power(number)


def _perfect_power(number: int) -> tuple[int, int]:
    """Return (root, exponent) with `root**exponent == number` and exponent <= 4.

    The exponent is as large as possible.
    """
    for order in range(4, 1, -1):
        if root := exact_root(number, order):
            return root, order
    return number, 1


def factorization_text(number: int) -> str:
    """Format a number and its prime factorization, such as `12 = 2^2*3`.

    >>> factorization_text(1600), factorization_text(7), factorization_text(0), factorization_text(12675)
    ('1600 = 2^6*5^2', '7', '0', '12675 = 3*5^2*13^2')
    """
    text = "*".join(_format_prime_power(prime, power) for prime, power in prime_powers(number))
    return f"{number} = {text}" if text not in ("", str(number)) else str(number)


def missing_factors_text(number: int, divisor: int) -> str:
    """Format the prime powers of `divisor` that do not divide `number`.

    Both numbers are at least 1.

    >>> missing_factors_text(1600, 8 * 3 * 64), missing_factors_text(24, 6)
    ('no factor 2^9 and no factor 3', '')
    """
    powers = [(prime, power) for prime, power in prime_powers(divisor) if number % prime**power]
    return " and ".join(f"no factor {_format_prime_power(prime, power)}" for prime, power in powers)


def _format_prime_power(prime: int, power: int) -> str:
    return str(prime) if power == 1 else f"{prime}^{power}"
