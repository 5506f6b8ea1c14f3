"""Check roots, prime factors, sums of dims and example sizes against brute force."""

from __future__ import annotations

from itertools import islice, product
from math import prod
from random import Random

import pytest

import shapecalc as sc
from shapecalc.core.dims import Monomial, exact_root, lowest_terms, monomial, prime_powers, substitute, sum_terms
from shapecalc.reasoning.examples import example_sizes, iter_ascending_sizes


@pytest.mark.parametrize("order", range(1, 6))
def test_root_is_exact_or_none(order):
    powers = {root**order: root for root in range(1, 400)}
    for number in range(1, 400):
        assert exact_root(number, order) == powers.get(number)
    for root in (2**31 - 1, 10**30):
        assert [exact_root(root**order + more, order) for more in (0, 1)] == [root, root + 1 if order == 1 else None]


def test_primes_multiply_to_their_number():
    for number in range(1, 3000):
        powers = prime_powers(number)
        assert prod(prime**power for prime, power in powers) == number
        assert all(prime % smaller for prime, _ in powers for smaller in range(2, prime))
        assert [prime for prime, _ in powers] == sorted({prime for prime, _ in powers})


def test_sum_equals_its_terms():
    for seed in range(200):
        draw = Random(seed)
        powers = [{"N": draw.randint(0, 2), "M": draw.randint(0, 1)} for _ in range(draw.randint(0, 5))]
        terms = [
            lowest_terms(draw.choice([1, 2, 3, -1, -2]), draw.choice([1, 2, 3]), exponents) for exponents in powers
        ]
        total = sum_terms(terms)
        for sizes in ({"N": 12, "M": 18}, {"N": 6, "M": 36}, {"N": 30, "M": 6}):
            assert sum(six_times(term, sizes) for term in total) == sum(six_times(term, sizes) for term in terms)
        assert sum_terms(reversed(terms)) == total
        assert len({monomial(term).powers for term in total}) == len(total)
        assert 0 not in total


def six_times(dim, sizes):
    """Return six times the value of a dim at some sizes, which is an integer."""
    value = monomial(dim)
    return substitute(Monomial(value.numerator * 6, 1, value.powers), sizes) // value.denominator


@pytest.mark.parametrize(("start", "count"), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)])
def test_sizes_are_ordered_by_sum(start, count):
    sizes_found = [tuple(sizes.values()) for sizes in islice(iter_ascending_sizes(tuple("ABC"[:count]), start), 20)]
    candidates = product(range(start, start + 20), repeat=count)
    assert sorted(sizes_found) == sorted(sorted(candidates, key=sum)[:20])
    assert [*map(sum, sizes_found)] == sorted(map(sum, sizes_found))
    assert count > 2 or sizes_found == sorted(sizes_found, key=lambda sizes: (sum(sizes), sizes))


@pytest.mark.parametrize(
    ("shape", "target"),
    [("N,C,H,W", "0,-1,64"), ("N,C", "-1,6"), ("N", "-1,1000"), ("N,12,W", "-1,8,W"), ("N,C", "N*C/35,-1")],
)
def test_dim_is_normalized_only_where_equal(shape, target):
    answer = sc.reshape(shape, target)
    sizes = example_sizes(answer)
    assert 1 not in [substitute(dim, sizes) for dim in answer.output]


@pytest.mark.parametrize("target", ["N", "2*N", "C*H*W/64", "N*N", "3*N/2", "?"])
def test_monomial_equals_its_spelling(target):
    (dim,) = sc.match("X", (target,)).values() if target != "?" else sc.flatten("?,1", axis=1).output[:1]
    assert type(dim) is Monomial
    assert (dim, 12) == (target, 12)
    assert (target, 12) == (dim, 12)
    assert hash((dim, 12)) == hash((target, 12))
    assert dim != f"{target}*2"
    assert {target: 1}[dim] == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: sc.reshape((2, 3, 4), (0, -1)), "Trace(reshape 2,3,4 0,-1 -> 2,12)"),
        (lambda: sc.reshape(("N", 4), (2, 6)), "Trace(reshape N,4 2,6 -> 2,6 when N == 3)"),
        (lambda: sc.reshape(("N", 4), (2, 6)).conditions, "(Condition(N == 3),)"),
        (lambda: sc.chain("2,3 | transpose | reshape -1"), "Chain(2,3 | transpose | reshape -1 -> 6)"),
        (lambda: sc.equiv("2,3 | transpose", "| transpose"), "Equivalence(same)"),
        (lambda: sc.simplify("2,3 | transpose | transpose"), "Simplification(2,3)"),
        (lambda: sc.invert("2,3 | transpose"), "Inversion(3,2 | transpose 1,0)"),
        (lambda: sc.find("2,3", "3,2"), "ChainSearchResult(2 found: 2,3 | reshape 3,2, 2,3 | transpose 1,0)"),
        (lambda: sc.compare((2, 3), (6,)), "Comparison(reshape 2,3: 6)"),
    ],
)
def test_repr_of_answers_is_one_line(value, text):
    assert repr(value()) == text


def test_repr_of_refusals_is_one_line():
    with pytest.raises(sc.ShapeError) as caught:
        sc.reshape((2, 3), (4, -1))
    assert repr(caught.value.problem) == f"Problem({caught.value})"
    assert repr(caught.value.trace) == "Trace(reshape 2,3 4,-1 refused: indivisible)"
