"""Roots and prime factors of whole numbers, as far as they are found in a short time."""

from __future__ import annotations

from functools import lru_cache

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
