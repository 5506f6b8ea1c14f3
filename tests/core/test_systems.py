"""Systems of monomials, against every size: a prime's exponents are tried one by one."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from shapecalc.core.sizes.dims import lowest_terms, monomial
from shapecalc.core.sizes.systems import Impossible, System
from tests.sampling import some_and_all

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


@pytest.mark.parametrize("seeds", some_and_all(range(6000), 1000))
def test_a_system_says_what_its_solutions_say(seeds):
    for seed in seeds:
        check_system(seed)
