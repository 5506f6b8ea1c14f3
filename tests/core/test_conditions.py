"""Conditions: what is always true, what no sizes meet, what follows, and what is left to say, against brute force."""

from __future__ import annotations

from itertools import product as every
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.conditions import (
    Assumptions,
    Condition,
    Unsatisfiable,
    can_hold,
    require_different,
    require_divisible,
    require_equal,
    simplify_conditions,
)
from shapecalc.core.dims import lowest_terms, monomial, substitute
from shapecalc.core.problem import ShapeError
from shapecalc.reading.cases import read_conditions
from tests.sampling import examples, some_and_rest

SIZES = [dict(zip("NM", pair, strict=True)) for pair in every(range(1, 13), repeat=2)]
MAKERS = {"==": require_equal, "%": require_divisible, "!=": require_different}
dims = st.builds(
    lambda coefficient, n, m: lowest_terms(coefficient, 1, {"N": n, "M": m}),
    st.integers(0, 12),
    st.integers(0, 3),
    st.integers(0, 3),
)
relations = st.tuples(st.sampled_from([*MAKERS]), dims, dims.filter(bool))


def true_at(relation, a, b, sizes):
    left, right = substitute(a, sizes), substitute(b, sizes)
    return {"==": left == right, "%": right != 0 and left % right == 0, "!=": left != right}[relation]


@examples(150)
@given(st.lists(relations, min_size=1, max_size=4))
def test_conditions_are_necessary_and_sufficient(listed):
    try:
        conditions = simplify_conditions(sum((MAKERS[name](a, b) for name, a, b in listed), ()))
    except Unsatisfiable:
        conditions = None
    for sizes in SIZES:
        meant = all(true_at(name, a, b, sizes) for name, a, b in listed)
        assert (conditions is not None and can_hold(conditions, sizes)) is meant


FEW, MANY = range(9), range(60)
"""The exponents of one prime in a name that are tried, and those that are tried where there must be some."""
products = st.tuples(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), st.integers(-1, 1))
"""A monomial of N, M and K by its exponents, and the exponent of 2 in its coefficient."""


def sides(exponents, twos):
    """Return two dims of which a product is the quotient."""
    named = dict(zip("NMK", exponents, strict=True))
    return [
        lowest_terms(2 ** max(sign * twos, 0), 1, {name: max(sign * power, 0) for name, power in named.items()})
        for sign in (1, -1)
    ]


def solution(listed, exponents):
    """Return those of the exponents of 2 with which names meet relations between products; None if none do."""

    def meets(tried):
        sums = [sum(a * b for a, b in zip(row, tried, strict=True)) + twos for _, (row, twos) in listed]
        return all(found >= 0 and not (found and sign == "==") for found, (sign, _) in zip(sums, listed, strict=True))

    return next(filter(meets, every(exponents, repeat=3)), None)


@examples(75)
@given(st.lists(st.tuples(st.sampled_from(["==", "==", "%"]), products), min_size=2, max_size=4))
def test_unsolvable_equalities_are_refused(listed):
    """Each prime has its own exponents, so that 2, which coefficients have, and any other one tell it all."""
    try:
        conditions = simplify_conditions(sum((MAKERS[name](*sides(*ratio)) for name, ratio in listed), ()))
    except Unsatisfiable:
        assert solution(listed, FEW) is None
        return
    twos = solution(listed, FEW) or solution(listed, MANY)
    assert twos is not None
    for dropped in conditions:
        others = [each for each in conditions if each != dropped]
        assert any(can_hold(others, sizes) and not can_hold([dropped], sizes) for sizes in sizes_near(twos))


def sizes_near(twos):
    """Yield sizes that are powers of 2, and sizes with the given exponents of 2 that are also powers of 3."""
    for tried in every(FEW, repeat=3):
        for places in ((tried, (0, 0, 0)), (twos, tried)):
            yield {name: 2**a * 3**b for name, a, b in zip("NMK", *places, strict=True)}


bounds = st.sampled_from(["12 % N == 0", "N*M == 12", "12 % (N*M) == 0", "N % M == 0", "2*M == N", "8 % N == 0"])
differences = st.builds(lambda left, right: f"{left} != {right}", st.sampled_from(["N", "M", "N*M"]), st.integers(1, 6))
others = st.sampled_from(["N != M", "N != 2*M", "2*N != 3*M", "N != 3*M", "M != 2*N", "M != 4*N"])


@examples(110)
@given(st.lists(bounds, min_size=1, max_size=2), st.lists(differences | others, min_size=1, max_size=5))
def test_unsolvable_inequalities_are_refused(bounding, differing):
    """What these relations leave possible, sizes below 49 show."""
    listed = [*bounding, *differing]
    wanted = [condition for text in listed for condition in stated(text)]
    met = any(can_hold(wanted, dict(zip("NM", pair, strict=True))) for pair in every(range(1, 49), repeat=2))
    try:
        read_conditions(listed)
    except ShapeError:
        assert not met
    else:
        assert met


def stated(text):
    """Return the conditions that one text states; one that never holds where it is refused."""
    try:
        return read_conditions([text])
    except ShapeError:
        return [Condition(1, "==", 2)]


# What follows, against every size: the exponents of one prime in three names are tried one by one.

NAMES = ("H", "N", "W")
MOST = 3
"""The largest exponent that a name may have."""


def drawn_row(draw, most):
    """Return the factors of the exponents of each name, up to `most`, and a number that is added."""
    return [draw.choice([0, 0, 1, 1, most, -1, -1, -most]) for _ in NAMES], draw.randint(-4, 6)


def ratio(factors, number):
    """Return the monomial whose exponent is the sum of a row."""
    return monomial(lowest_terms(2 ** max(number, 0), 2 ** max(-number, 0), dict(zip(NAMES, factors, strict=True))))


def total(row, exponents):
    factors, number = row
    return sum(factor * exponent for factor, exponent in zip(factors, exponents, strict=True)) + number


def check_known(seed):
    """Raise `AssertionError` if what is known says other than its solutions do, or more where powers are above 1."""
    draw = Random(seed)
    most = draw.randint(1, 3)

    def right(said, is_so):
        return said == is_so if most == 1 else is_so or not said

    ones = [drawn_row(draw, most) for _ in range(draw.choice([0, 0, 0, 1, 1, 2]))]
    wholes = [drawn_row(draw, most) for _ in range(draw.randint(0, 3))]
    wholes += [([-(each == name) for each in NAMES], MOST) for name in NAMES]
    apart = [drawn_row(draw, most) for _ in range(draw.randint(1, 3))]
    found = [
        exponents
        for exponents in every(range(MOST + 1), repeat=len(NAMES))
        if all(total(row, exponents) == 0 for row in ones) and all(total(row, exponents) >= 0 for row in wholes)
    ]
    equalities = [Condition(ratio(*row), "==", 1) for row in ones]
    whole = [ratio(*row) for row in wholes]
    known = Assumptions(whole, equalities)
    assert right(known.is_contradictory(), not found), seed
    kept_apart = Assumptions(whole, [*equalities, *(Condition(ratio(*row), "!=", 1) for row in apart)])
    assert right(kept_apart.is_contradictory(), not any(all(total(row, each) for row in apart) for each in found)), seed
    asked = drawn_row(draw, most)
    if found:
        assert right(known.is_integral(ratio(*asked)), all(total(asked, each) >= 0 for each in found)), (seed, asked)
        for sign, meets in (("==", lambda value: value == 0), ("%", lambda value: value >= 0), ("!=", bool)):
            follows = all(meets(total(asked, each)) for each in found)
            assert right(known.implies(Condition(ratio(*asked), sign, 1)), follows), (seed, asked, sign)


@pytest.mark.parametrize("seeds", some_and_rest(range(1500), 200))
def test_implied_conditions_hold_for_all_solutions(seeds):
    for seed in seeds:
        check_known(seed)
