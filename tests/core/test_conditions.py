"""Conditions: what is always true, what no sizes meet, and what is left to say, against brute force."""

from __future__ import annotations

from itertools import product as every

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.sizes.conditions import Never, combine, differ, divides, equal, holds
from shapecalc.core.sizes.dims import lowest_terms, substitute
from tests.sampling import examples

SIZES = [dict(zip("NM", pair, strict=True)) for pair in every(range(1, 13), repeat=2)]
dims = st.builds(
    lambda coefficient, n, m: lowest_terms(coefficient, 1, {"N": n, "M": m}),
    st.integers(0, 12),
    st.integers(0, 3),
    st.integers(0, 3),
)
nonzero = dims.filter(lambda dim: dim != 0)


def true_at(relation, a, b, sizes):
    left, right = substitute(a, sizes), substitute(b, sizes)
    return {"==": left == right, "%": right != 0 and left % right == 0, "!=": left != right}[relation]


@examples(500)
@given(st.sampled_from([("==", equal), ("%", divides), ("!=", differ)]), dims, nonzero)
def test_conditions_are_necessary_and_sufficient(relation, a, b):
    name, conditions_of = relation
    try:
        conditions = combine(conditions_of(a, b))
    except Never:
        assert not any(true_at(name, a, b, sizes) for sizes in SIZES)
    else:
        for sizes in SIZES:
            assert holds(conditions, sizes) is true_at(name, a, b, sizes)


@examples(300)
@given(st.lists(st.tuples(st.sampled_from([("==", equal), ("%", divides)]), dims, nonzero), min_size=2, max_size=3))
def test_combining_keeps_their_meaning(relations):
    try:
        conditions = combine(sum((make(a, b) for (_, make), a, b in relations), ()))
    except Never:
        conditions = None
    for sizes in SIZES:
        meant = all(true_at(name, a, b, sizes) for (name, _), a, b in relations)
        assert (conditions is not None and holds(conditions, sizes)) is meant


@pytest.mark.parametrize(
    ("make", "left", "right", "text", "words"),
    [
        (equal, "N", 3, "N == 3", "N is 3"),
        (divides, "NM", 64, "M*N % 64 == 0", "64 divides M*N"),
        (divides, 6, "NM", "6 % (M*N) == 0", "M*N divides 6"),
        (differ, "N", 1, "N != 1", "N is not 1"),
    ],
)
def test_text_and_words(make, left, right, text, words):
    def dim(factors):
        return factors if isinstance(factors, int) else lowest_terms(1, 1, dict.fromkeys(factors, 1))

    (condition,) = make(dim(left), dim(right))
    assert (str(condition), condition.words) == (text, words)


def test_huge_coefficients_are_decided_promptly():
    prime = 2**61 - 1
    with pytest.raises(Never):
        equal(lowest_terms(1, 1, {"N": 2, "M": 3}), prime)
    assert [str(found) for found in equal(lowest_terms(1, 1, {"N": 2}), prime**2)] == [f"N == {prime}"]
