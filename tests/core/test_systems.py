"""Systems of monomials, against every size: a prime's exponents are tried one by one."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from shapecalc.core.conditions import MOST_BITS, Impossible, System, Undecided, Work
from shapecalc.core.dims import lowest_terms, monomial
from tests.sampling import some_and_rest

NAMES = ("H", "N", "W")
MOST = 3
"""The largest exponent that a name may have."""
PRIME = 2


def drawn_row(draw):
    """Return the factors of the exponents of each name, and a number that is added."""
    factors = [draw.choice([0, 0, 1, 1, 2, 3, -1, -1, -2, -3]) for _ in NAMES]
    return factors, draw.randint(-4, 6)


def ratio(factors, number):
    """Return the monomial whose exponent is the sum of a row."""
    above, below = PRIME ** max(number, 0), PRIME ** max(-number, 0)
    return monomial(lowest_terms(above, below, dict(zip(NAMES, factors, strict=True))))


def total(row, exponents):
    factors, number = row
    return sum(factor * exponent for factor, exponent in zip(factors, exponents, strict=True)) + number


def solutions(ones, wholes):
    """Return the exponents of the names for which all of `ones` are 1 and all of `wholes` whole."""
    return [
        exponents
        for exponents in product(range(MOST + 1), repeat=len(NAMES))
        if all(total(row, exponents) == 0 for row in ones) and all(total(row, exponents) >= 0 for row in wholes)
    ]


def check_system(seed):
    """Raise `AssertionError` if a system says other than its solutions do."""
    draw = Random(seed)
    ones = [drawn_row(draw) for _ in range(draw.choice([0, 0, 0, 1, 1, 2]))]
    wholes = [drawn_row(draw) for _ in range(draw.randint(0, 3))]
    bounds = [([-(each == name) for each in NAMES], MOST) for name in NAMES]
    found = solutions(ones, wholes + bounds)
    try:
        system = System([ratio(*row) for row in ones], [ratio(*row) for row in wholes + bounds])
        possible = system.allows()
    except Impossible:
        assert not found, seed
        return
    assert possible == bool(found), seed
    apart = [drawn_row(draw) for _ in range(draw.randint(1, 3))]
    some = any(all(total(row, each) for row in apart) for each in found)
    assert system.allows([ratio(*row) for row in apart]) == some, (seed, apart)
    asked = drawn_row(draw)
    if possible:
        assert system.makes_whole(ratio(*asked)) == all(total(asked, each) >= 0 for each in found), (seed, asked)
        assert system.makes_one(ratio(*asked)) == all(total(asked, each) == 0 for each in found), (seed, asked)


@pytest.mark.parametrize("seeds", some_and_rest(range(6000), 1000))
def test_a_system_says_what_its_solutions_say(seeds):
    for seed in seeds:
        check_system(seed)


def of(numerator=1, denominator=1, **powers):
    return monomial(lowest_terms(numerator, denominator, powers))


RING = [of(A=1, B=-1), of(A=1, C=-1), of(B=1, D=-1), of(C=1, D=-1), of(D=1, E=-1), of(D=1, F=-1)]
WORKS = [
    ([], [], [], 0),
    ([of(N=1, M=-1)], [], [], 6),
    ([of(1, 2, N=1, M=-1)], [], [of(N=1)], 16),
    ([of(N=2, M=-3)], [], [of(N=1)], 17),
    ([], [of(A=1, B=-1)], [of(A=1, C=-1)], 16),
    ([], RING, [of(A=1, F=-1)], 76),
]


@pytest.mark.parametrize(("ones", "wholes", "asked", "work"), WORKS)
def test_the_monomials_and_inequalities_that_are_made_are_counted(ones, wholes, asked, work):
    counted = Work()
    left = counted.left
    system = System(ones, wholes, counted)
    for ratio in asked:
        system.makes_whole(ratio)
    assert left - counted.left == work


def test_work_that_is_too_much_leaves_a_question_undecided():
    work = Work(7)
    work.add(Work().left + 7)
    with pytest.raises(Undecided):
        work.add(1)


@pytest.mark.parametrize("value", [of(2, 1, K=1), of(1, 2, K=1)])
def test_coefficients_of_so_many_digits_and_no_more_are_computed(value):
    """K is a half or twice of N, so that its powers have as many digits."""
    system = System([of(value.denominator, value.numerator, N=1, K=-1)], [])
    most = (MOST_BITS - 2) // 2
    assert max(system.put_in(of(K=most)).numerator, system.put_in(of(K=most)).denominator) == 2**most
    with pytest.raises(Undecided):
        system.put_in(of(K=most + 1))
