"""Roots, primes, sums of dims, and sizes that stand for names: each against counting or numbers."""

from __future__ import annotations

from itertools import islice, product
from math import prod
from random import Random

import pytest

import shapecalc as sc
from shapecalc.core.dims import Monomial, exact_root, lowest_terms, monomial, prime_powers, substitute, sum_terms
from shapecalc.reasoning.examples import ascending_sizes, example_sizes


@pytest.mark.parametrize("order", range(1, 6))
def test_root_is_exact_or_none(order):
    powers = {root**order: root for root in range(1, 400)}
    for number in range(1, 400):
        assert exact_root(number, order) == powers.get(number)
    for root in (2**31 - 1, 10**30):
        assert [exact_root(root**order + more, order) for more in (0, 1)] == [root, root + 1 if order == 1 else None]


def test_primes_multiply_to_their_number():
    for number in range(1, 3000):
        found = prime_powers(number)
        assert prod(prime**power for prime, power in found) == number
        assert all(prime % smaller for prime, _ in found for smaller in range(2, prime))
        assert [prime for prime, _ in found] == sorted({prime for prime, _ in found})


def test_sum_equals_its_terms():
    for seed in range(200):
        draw = Random(seed)
        powers = [{"N": draw.randint(0, 2), "M": draw.randint(0, 1)} for _ in range(draw.randint(0, 5))]
        terms = [lowest_terms(draw.choice([1, 2, 3, -1, -2]), draw.choice([1, 2, 3]), each) for each in powers]
        found = sum_terms(terms)
        for sizes in ({"N": 12, "M": 18}, {"N": 6, "M": 36}, {"N": 30, "M": 6}):
            assert sum(six_times(term, sizes) for term in found) == sum(six_times(term, sizes) for term in terms)
        assert sum_terms(reversed(terms)) == found
        assert len({monomial(term).powers for term in found}) == len(found)
        assert 0 not in found


def six_times(dim, sizes):
    """Return six times the value of a dim at some sizes, which is whole."""
    whole = monomial(dim)
    return substitute(Monomial(whole.numerator * 6, 1, whole.powers), sizes) // whole.denominator


@pytest.mark.parametrize(("start", "count"), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)])
def test_sizes_are_ordered_by_sum(start, count):
    found = [tuple(sizes.values()) for sizes in islice(ascending_sizes(tuple("ABC"[:count]), start), 20)]
    every = product(range(start, start + 20), repeat=count)
    assert sorted(found) == sorted(sorted(every, key=sum)[:20])
    assert [*map(sum, found)] == sorted(map(sum, found))
    assert count > 2 or found == sorted(found, key=lambda sizes: (sum(sizes), sizes))


@pytest.mark.parametrize(
    ("shape", "target"),
    [("N,C,H,W", "0,-1,64"), ("N,C", "-1,6"), ("N", "-1,1000"), ("N,12,W", "-1,8,W"), ("N,C", "N*C/35,-1")],
)
def test_dim_is_normalized_only_where_equal(shape, target):
    answer = sc.reshape(shape, target)
    sizes = example_sizes(answer)
    assert 1 not in [substitute(dim, sizes) for dim in answer.output]
