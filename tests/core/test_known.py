"""What follows from what is known, against every size: a prime's exponents are tried one by one."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from shapecalc.core.conditions import MOST_BITS, Condition, Known, Undecided, Work
from shapecalc.core.dims import lowest_terms, monomial
from shapecalc.core.limits import MOST_WORK
from tests.sampling import some_and_rest

NAMES = ("H", "N", "W")
MOST = 3
"""The largest exponent that a name may have."""
PRIME = 2


def drawn_row(draw, most):
    """Return the factors of the exponents of each name, up to `most`, and a number that is added."""
    factors = [draw.choice([0, 0, 1, 1, most, -1, -1, -most]) for _ in NAMES]
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


def known_of(ones, wholes, apart=(), work=None):
    """Return what is known if monomials are 1, whole, and not 1."""
    relations = [Condition(each, "==", 1) for each in ones] + [Condition(each, "!=", 1) for each in apart]
    return Known(wholes, relations, work)


def check_known(seed):
    """Raise `AssertionError` if what is known says other than its solutions do, or more where powers are above 1."""
    draw = Random(seed)
    most = draw.randint(1, 3)

    def right(said, is_so):
        return said == is_so if most == 1 else is_so or not said

    ones = [drawn_row(draw, most) for _ in range(draw.choice([0, 0, 0, 1, 1, 2]))]
    wholes = [drawn_row(draw, most) for _ in range(draw.randint(0, 3))]
    bounds = [([-(each == name) for each in NAMES], MOST) for name in NAMES]
    found = solutions(ones, wholes + bounds)
    given = [ratio(*row) for row in ones], [ratio(*row) for row in wholes + bounds]
    known = known_of(*given)
    assert right(known.is_contradictory(), not found), seed
    apart = [drawn_row(draw, most) for _ in range(draw.randint(1, 3))]
    some = any(all(total(row, each) for row in apart) for each in found)
    assert right(known_of(*given, [ratio(*row) for row in apart]).is_contradictory(), not some), (seed, apart)
    asked = drawn_row(draw, most)
    if found:
        assert right(known.is_whole(ratio(*asked)), all(total(asked, each) >= 0 for each in found)), (seed, asked)
        for sign, meets in (("==", lambda value: value == 0), ("%", lambda value: value >= 0), ("!=", bool)):
            follows = all(meets(total(asked, each)) for each in found)
            assert right(known.implies(Condition(ratio(*asked), sign, 1)), follows), (seed, asked, sign)


@pytest.mark.parametrize("seeds", some_and_rest(range(6000), 1000))
def test_what_follows_is_what_all_solutions_say(seeds):
    for seed in seeds:
        check_known(seed)


def of(numerator=1, denominator=1, **powers):
    return monomial(lowest_terms(numerator, denominator, powers))


RING = [of(A=1, B=-1), of(A=1, C=-1), of(B=1, D=-1), of(C=1, D=-1), of(D=1, E=-1), of(D=1, F=-1)]
WORKS = [
    ([], [], [], 0),
    ([of(N=1, M=-1)], [], [], 6),
    ([of(1, 2, N=1, M=-1)], [], [of(1, 4, N=1)], 7),
    ([of(N=2, M=-3)], [], [of(1, 2, N=1)], 17),
    ([], [of(A=1, B=-1)], [of(A=1, C=-1)], 16),
    ([], RING, [of(A=1, F=-1)], 76),
]


@pytest.mark.parametrize(("ones", "wholes", "asked", "work"), WORKS)
def test_the_monomials_and_inequalities_that_are_made_are_counted(ones, wholes, asked, work):
    counted = Work()
    left = counted.left
    known = known_of(ones, wholes, work=counted)
    for ratio in asked:
        known.is_whole(ratio)
    assert left - counted.left == work


def test_work_that_is_too_much_leaves_a_question_undecided():
    work = Work(MOST_WORK + 7)
    work.add(MOST_WORK + 7)
    with pytest.raises(Undecided):
        work.add(1)


def test_coefficients_of_so_many_digits_and_no_more_are_computed():
    known = known_of([of(1, 2, N=1, K=-1)], [])
    most = (MOST_BITS - 2) // 2
    assert known.put_in(of(N=most)) == of(2**most, 1, K=most)
    assert known.put_in(of(N=-most)) == of(1, 2**most, K=-most)
    with pytest.raises(Undecided):
        known.put_in(of(N=most + 1))
