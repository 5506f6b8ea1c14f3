"""Numbers with their prime factors."""

from __future__ import annotations

LARGEST_TRIED = 20_000
"""Up to which prime a factor is looked for."""


def factored(number: int) -> str:
    """Return a number with its prime factors; a rest without small ones stays whole.

    >>> factored(1600), factored(7), factored(0), factored(12675)
    ('1600 = 2^6*5^2', '7', '0', '12675 = 3*5^2*13^2')
    """
    text = "*".join(_text(prime, power) for prime, power in prime_powers(number).items())
    return f"{number} = {text}" if text not in ("", str(number)) else str(number)


def missing_factors(have: int, asked: int) -> str:
    """Say which prime powers of a number another does not have, both at least 1; nothing if it has all.

    >>> missing_factors(1600, 8 * 3 * 64), missing_factors(24, 6)
    ('no factor 2^9 and no factor 3', '')
    """
    powers = [(prime, power) for prime, power in prime_powers(asked).items() if have % prime**power]
    return " and ".join(f"no factor {_text(prime, power)}" for prime, power in powers)


def _text(prime: int, power: int) -> str:
    return str(prime) if power == 1 else f"{prime}^{power}"


def prime_powers(number: int) -> dict[int, int]:
    """Return the prime factors of a number with their powers.

    >>> prime_powers(1600)
    {2: 6, 5: 2}
    """
    powers: dict[int, int] = {}
    prime = 2
    while number > 1 and prime <= LARGEST_TRIED and prime * prime <= number:
        while number % prime == 0:
            powers[prime] = powers.get(prime, 0) + 1
            number //= prime
        prime += 1 if prime == 2 else 2
    if number > 1:
        powers[number] = powers.get(number, 0) + 1
    return powers
