"""Check conditions (their simplification, contradictions and consequences) against brute force."""

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
from shapecalc.reading.cases import parse_conditions
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


def is_true_at(relation, a, b, sizes):
    left, right = substitute(a, sizes), substitute(b, sizes)
    return {"==": left == right, "%": right != 0 and left % right == 0, "!=": left != right}[relation]


@examples(150)
@given(st.lists(relations, min_size=1, max_size=4))
def test_conditions_are_necessary_and_sufficient(triples):
    try:
        conditions = simplify_conditions(sum((MAKERS[name](a, b) for name, a, b in triples), ()))
    except Unsatisfiable:
        conditions = None
    for sizes in SIZES:
        expected = all(is_true_at(name, a, b, sizes) for name, a, b in triples)
        assert (conditions is not None and can_hold(conditions, sizes)) is expected


FEW, MANY = range(9), range(60)
"""Exponents of one prime in a name: those to try first, and those to try where a solution must exist."""
products = st.tuples(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), st.integers(-1, 1))
"""A monomial of N, M and K by its exponents, and the exponent of 2 in its coefficient."""


def sides(exponents, twos):
    """Return two dims whose quotient is the monomial."""
    named = dict(zip("NMK", exponents, strict=True))
    return [
        lowest_terms(2 ** max(sign * twos, 0), 1, {name: max(sign * power, 0) for name, power in named.items()})
        for sign in (1, -1)
    ]


def solution(ratios, exponents):
    """Return exponents of 2 at which the names meet the relations, or None."""

    def meets(candidate):
        sums = [sum(a * b for a, b in zip(row, candidate, strict=True)) + twos for _, (row, twos) in ratios]
        return all(value >= 0 and not (value and sign == "==") for value, (sign, _) in zip(sums, ratios, strict=True))

    return next(filter(meets, every(exponents, repeat=3)), None)


@examples(75)
@given(st.lists(st.tuples(st.sampled_from(["==", "==", "%"]), products), min_size=2, max_size=4))
def test_unsolvable_equalities_are_refused(ratios):
    """Primes are independent, so 2 (the only prime in coefficients) and one other prime suffice."""
    try:
        conditions = simplify_conditions(sum((MAKERS[name](*sides(*ratio)) for name, ratio in ratios), ()))
    except Unsatisfiable:
        assert solution(ratios, FEW) is None
        return
    twos = solution(ratios, FEW) or solution(ratios, MANY)
    assert twos is not None
    for removed in conditions:
        remaining = [condition for condition in conditions if condition != removed]
        assert any(can_hold(remaining, sizes) and not can_hold([removed], sizes) for sizes in sizes_near(twos))


def sizes_near(twos):
    """Yield sizes that are powers of 2, and sizes with the given exponents of 2 times powers of 3."""
    for exponents in every(FEW, repeat=3):
        for pair in ((exponents, (0, 0, 0)), (twos, exponents)):
            yield {name: 2**a * 3**b for name, a, b in zip("NMK", *pair, strict=True)}


bounds = st.sampled_from(["12 % N == 0", "N*M == 12", "12 % (N*M) == 0", "N % M == 0", "2*M == N", "8 % N == 0"])
differences = st.builds(lambda left, right: f"{left} != {right}", st.sampled_from(["N", "M", "N*M"]), st.integers(1, 6))
others = st.sampled_from(["N != M", "N != 2*M", "2*N != 3*M", "N != 3*M", "M != 2*N", "M != 4*N"])


@examples(110)
@given(st.lists(bounds, min_size=1, max_size=2), st.lists(differences | others, min_size=1, max_size=5))
def test_unsolvable_inequalities_are_refused(bound_texts, inequality_texts):
    """Sizes below 49 decide all of these relations."""
    texts = [*bound_texts, *inequality_texts]
    conditions = [condition for text in texts for condition in conditions_of(text)]
    is_satisfiable = any(
        can_hold(conditions, dict(zip("NM", pair, strict=True))) for pair in every(range(1, 49), repeat=2)
    )
    try:
        parse_conditions(texts)
    except ShapeError:
        assert not is_satisfiable
    else:
        assert is_satisfiable


def conditions_of(text):
    """Parse one condition; return one that never holds if it is refused."""
    try:
        return parse_conditions([text])
    except ShapeError:
        return [Condition(1, "==", 2)]


# Consequences, checked at all exponents of one prime in three names.

NAMES = ("H", "N", "W")
MOST = 3
"""The largest exponent of a name."""


def draw_row(draw, most):
    """Draw a linear form of the exponents: a factor of at most `most` for each name, and a constant."""
    return [draw.choice([0, 0, 1, 1, most, -1, -1, -most]) for _ in NAMES], draw.randint(-4, 6)


def ratio(factors, number):
    """Return the monomial whose exponent is the linear form."""
    return monomial(lowest_terms(2 ** max(number, 0), 2 ** max(-number, 0), dict(zip(NAMES, factors, strict=True))))


def row_value(row, exponents):
    factors, number = row
    return sum(factor * exponent for factor, exponent in zip(factors, exponents, strict=True)) + number


def check_assumptions(seed):
    """Fail unless `Assumptions` agrees with its solutions; where factors are above 1 it may leave truths unproved."""
    draw = Random(seed)
    most = draw.randint(1, 3)

    def is_right(claim, truth):
        return claim == truth if most == 1 else truth or not claim

    unit_rows = [draw_row(draw, most) for _ in range(draw.choice([0, 0, 0, 1, 1, 2]))]
    integral_rows = [draw_row(draw, most) for _ in range(draw.randint(0, 3))]
    integral_rows += [([-(other == name) for other in NAMES], MOST) for name in NAMES]
    unequal_rows = [draw_row(draw, most) for _ in range(draw.randint(1, 3))]
    solutions = [
        exponents
        for exponents in every(range(MOST + 1), repeat=len(NAMES))
        if all(row_value(row, exponents) == 0 for row in unit_rows)
        and all(row_value(row, exponents) >= 0 for row in integral_rows)
    ]
    equalities = [Condition(ratio(*row), "==", 1) for row in unit_rows]
    integral = [ratio(*row) for row in integral_rows]
    assumptions = Assumptions(integral, equalities)
    assert is_right(assumptions.is_contradictory(), not solutions), seed
    inequalities = [Condition(ratio(*row), "!=", 1) for row in unequal_rows]
    is_solvable = any(all(row_value(row, exponents) for row in unequal_rows) for exponents in solutions)
    assert is_right(Assumptions(integral, [*equalities, *inequalities]).is_contradictory(), not is_solvable), seed
    row = draw_row(draw, most)
    if solutions:
        values = [row_value(row, exponents) for exponents in solutions]
        assert is_right(assumptions.is_integral(ratio(*row)), all(value >= 0 for value in values)), (seed, row)
        for sign, holds in (("==", lambda value: value == 0), ("%", lambda value: value >= 0), ("!=", bool)):
            follows = all(map(holds, values))
            assert is_right(assumptions.implies(Condition(ratio(*row), sign, 1)), follows), (seed, row, sign)


@pytest.mark.parametrize("seeds", some_and_rest(range(1500), 200))
def test_implied_conditions_hold_for_all_solutions(seeds):
    for seed in seeds:
        check_assumptions(seed)
