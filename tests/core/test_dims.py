"""Roots, primes and sums: roots and primes against counting, and sums of dims against numbers."""

from __future__ import annotations

from math import prod
from random import Random

import pytest

from shapecalc.core.dims import (
    TRIED,
    Monomial,
    exact_root,
    lowest_terms,
    monomial,
    prime_powers,
    substitute,
    total,
)

LARGE = 2**31 - 1
"""A prime above those that are tried."""


@pytest.mark.parametrize("order", range(1, 6))
def test_a_root_is_exact_or_none(order):
    powers = {root**order: root for root in range(1, 400)}
    for number in range(1, 400):
        assert exact_root(number, order) == powers.get(number)
    for root in (LARGE, 10**30):
        assert [exact_root(root**order + more, order) for more in (0, 1)] == [root, root + 1 if order == 1 else None]


def test_primes_make_up_their_number():
    for number in range(1, 3000):
        found = prime_powers(number)
        assert prod(prime**power for prime, power in found) == number
        assert all(prime % smaller for prime, _ in found for smaller in range(2, prime))
        assert [prime for prime, _ in found] == sorted({prime for prime, _ in found})


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_a_large_prime_is_found_with_its_power(power):
    assert prime_powers(12 * LARGE**power) == ((2, 2), (3, 1), (LARGE, power))


@pytest.mark.parametrize("last", [65_521, 65_537])
def test_primes_are_tried_up_to_a_limit(last):
    """Of the two, the first is the last below the limit; the product of two above it stands as one."""
    rest = last * 65_539
    assert (last < TRIED) == (last == 65_521)
    assert prime_powers(rest) == (((65_521, 1), (65_539, 1)) if last < TRIED else ((rest, 1),))


@pytest.mark.sampled(40)
@pytest.mark.parametrize("seed", range(200))
def test_a_sum_is_what_its_terms_sum_up_to(seed):
    draw = Random(seed)
    terms = [
        lowest_terms(
            draw.choice([1, 2, 3, -1, -2]), draw.choice([1, 2, 3]), {"N": draw.randint(0, 2), "M": draw.randint(0, 1)}
        )
        for _ in range(draw.randint(0, 5))
    ]
    found = total(terms)
    for sizes in ({"N": 12, "M": 18}, {"N": 6, "M": 36}, {"N": 30, "M": 6}):
        assert sum(map(value_at(sizes), found)) == sum(map(value_at(sizes), terms))
    assert total(reversed(terms)) == found
    assert len({monomial(term).powers for term in found}) == len(found)
    assert 0 not in found


def value_at(sizes):
    """Return what gives six times the value of a dim at some sizes, which is whole."""

    def value(dim):
        whole = monomial(dim)
        return substitute(Monomial(whole.numerator * 6, 1, whole.powers), sizes) // whole.denominator

    return value
