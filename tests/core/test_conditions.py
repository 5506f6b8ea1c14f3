"""Conditions: what is always true, what no sizes meet, and what is left to say, against brute force."""

from __future__ import annotations

from itertools import product as every

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.cases import read_conditions
from shapecalc.core.conditions import Condition, Known, Never, combine, differ, divides, equal, holds
from shapecalc.core.dims import lowest_terms, substitute
from shapecalc.core.problem import ShapeError
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


MAKERS = {"==": equal, "%": divides, "!=": differ}
relations = st.tuples(st.sampled_from([*MAKERS]), dims, nonzero)


@examples(300)
@given(st.lists(relations, min_size=2, max_size=4))
def test_combining_keeps_their_meaning(listed):
    try:
        conditions = combine(sum((MAKERS[name](a, b) for name, a, b in listed), ()))
    except Never:
        conditions = None
    for sizes in SIZES:
        meant = all(true_at(name, a, b, sizes) for name, a, b in listed)
        assert (conditions is not None and holds(conditions, sizes)) is meant


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


def meets(listed, tried, *, two):
    """Say whether names with these exponents of 2, or of another prime, meet relations between products."""
    for sign, (exponents, twos) in listed:
        total = sum(a * b for a, b in zip(exponents, tried, strict=True)) + twos * two
        if total < 0 or (total and sign == "=="):
            return False
    return True


def solution(listed, exponents, *, two):
    """Return those of the exponents that meet relations; None if none do."""
    return next((tried for tried in every(exponents, repeat=3) if meets(listed, tried, two=two)), None)


@examples(200)
@given(st.lists(st.tuples(st.sampled_from(["==", "==", "%"]), products), min_size=2, max_size=4))
def test_equalities_that_no_sizes_meet_are_refused_and_all_that_follows_is_left_out(listed):
    """Each prime has its own exponents, so that 2, which coefficients have, and any other one tell it all."""
    try:
        conditions = combine(sum((MAKERS[name](*sides(*ratio)) for name, ratio in listed), ()))
    except Never:
        assert solution(listed, FEW, two=True) is None
        return
    twos = solution(listed, FEW, two=True) or solution(listed, MANY, two=True)
    assert twos is not None
    for dropped in conditions:
        others = [each for each in conditions if each != dropped]
        assert any(holds(others, sizes) and not holds([dropped], sizes) for sizes in sizes_near(twos))


def sizes_near(twos):
    """Yield sizes that are powers of 2, and sizes with the given exponents of 2 that are also powers of 3."""
    for tried in every(FEW, repeat=3):
        for places in ((tried, (0, 0, 0)), (twos, tried)):
            yield {name: 2**a * 3**b for name, a, b in zip("NMK", *places, strict=True)}


bounds = st.sampled_from(["12 % N == 0", "N*M == 12", "12 % (N*M) == 0", "N % M == 0", "2*M == N", "8 % N == 0"])
differences = st.builds(lambda left, right: f"{left} != {right}", st.sampled_from(["N", "M", "N*M"]), st.integers(1, 6))
others = st.sampled_from(["N != M", "N != 2*M", "2*N != 3*M", "N != 3*M", "M != 2*N", "M != 4*N"])


@examples(500)
@given(st.lists(bounds, min_size=1, max_size=2), st.lists(differences | others, min_size=1, max_size=5))
def test_differences_that_leave_no_sizes_are_refused(bounding, differing):
    """What these relations leave possible, sizes below 49 show."""
    listed = [*bounding, *differing]
    wanted = [condition for text in listed for condition in _stated(text)]
    met = any(holds(wanted, dict(zip("NM", pair, strict=True))) for pair in every(range(1, 49), repeat=2))
    try:
        read_conditions(listed)
    except ShapeError:
        assert not met
    else:
        assert met


def _stated(text):
    """Return the conditions that one text states."""
    try:
        return read_conditions([text])
    except ShapeError:
        return [Condition(1, "==", 2)]


@pytest.mark.parametrize(
    "listed",
    [
        "N == M and M == 2*N",
        "N == M and N*M == 2",
        "N*N*M*M*M == K and K == 2*J and J == 1",
        "N == M and N != M",
        "6 % M == 0 and M % 4 == 0",
        "N % 2 == 0 and 2*M % N == 0 and M == 3*K and K*N == 3",
        "N == 1 and N*M == 6 and M % 4 == 0",
        "2 % N == 0 and N != 1 and N != 2",
        "N*M == 2 and N != 1 and M != 1",
        "4 % (N*M) == 0 and N % M == 0 and N != M and N != 2*M and N != 4*M",
    ],
)
def test_conditions_that_exclude_each_other(listed):
    with pytest.raises(ShapeError, match="never be true together"):
        read_conditions(listed.split(" and "))


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ("N == M and M == K and N == K", "N == M and M == K"),
        ("N == M and M*N == 4", "N == 2 and M == 2"),
        ("N == K*M and M == J*N", "K == 1 and N == M and J == 1"),
        ("N % 6 == 0 and 6 % N == 0", "N == 6"),
        ("N % 32 == 0 and C % 2 == 0 and N % 64 == 0", "C % 2 == 0 and N % 64 == 0"),
        ("H % 2 == 0 and W % 2 == 0 and H*W % 4 == 0", "H % 2 == 0 and W % 2 == 0"),
        ("2*N == 3*M and M % 2 == 0", "2*N == 3*M"),
        ("N % 4 == 0 and N != 1", "N % 4 == 0"),
        ("N*C % 6 == 0 and N == 4", "C % 3 == 0 and N == 4"),
        ("N % 4 == 0 and M != 1 and N % 6 == 0", "N % 4 == 0 and M != 1 and N % 6 == 0"),
    ],
)
def test_conditions_that_follow_are_left_out(listed, left):
    assert " and ".join(map(str, read_conditions(listed.split(" and ")))) == left


def test_of_more_names_than_can_be_searched_equalities_are_still_solved():
    row = [f"A{place} == A{place + 1}" for place in range(1000)]
    assert [str(each) for each in read_conditions([*row, "A1000 == 7"])][::500] == [
        "A0 == 7",
        "A500 == 7",
        "A1000 == 7",
    ]
    assert [str(each) for each in read_conditions([*row, "A1000 == A0"])] == row
    with pytest.raises(ShapeError, match="never be true together"):
        read_conditions([*row, "A1000 == 2*A0"])


def test_coefficients_whose_primes_are_not_found_are_left_as_they_are():
    large = (2**61 - 1) * (2**31 - 1)
    listed = [f"N*M % {large} == 0", f"N*K % {large} == 0", f"{2**61 - 1}*M == {2**31 - 1}*K"]
    assert [str(each) for each in read_conditions(listed)] == [str(read_conditions([text])[0]) for text in listed]


def test_more_differences_than_can_be_searched_are_left_as_they_are():
    bound = f"{2**400} % N == 0"
    listed = [f"N != {2**power}" for power in range(401)]
    with pytest.raises(ShapeError, match="never be true together"):
        read_conditions([f"{2**80} % N == 0", *listed[:81]])
    assert [str(each) for each in read_conditions([bound, *listed])] == [bound, *listed]


def test_coefficients_of_too_many_digits_leave_conditions_as_they_are():
    large = 10**700
    row = [f"A{place} == {large}*A{place + 1}" for place in range(6)]
    listed = [*row, "A0 % 10 == 0", "A6 != 1"]
    assert [str(each) for each in read_conditions(listed)] == listed
    conditions = [condition for text in listed for condition in _stated(text)]
    known = Known((), conditions)
    assert known.undecided
    assert not known.implies(conditions[-2])
    assert known.settled.keys() == {f"A{place}" for place in range(6)}


def test_what_follows_is_implied_and_nothing_else():
    known = Known((), read_conditions(["N*N == M*M*M", "K % (2*N) == 0", "J == N*M", "N != 1", "C == N"]))
    following = ["N % M == 0", "J % (M*M) == 0", "K % (2*M) == 0", "J*J == C*C*M*M", "M != 1", "C != 1", "N != 2"]
    assert [known.implies(*_stated(text)) for text in following] == [True] * 7
    others = ["M % N == 0", "K % 4 == 0", "K == 2*N", "J != 32", "L != 1"]
    assert [known.implies(*_stated(text)) for text in others] == [False] * 5


def test_equalities_that_follow_from_those_before_are_named():
    first, second = (Condition(lowest_terms(1, 1, {name: 1}), "==", other) for name, other in (("N", 4), ("M", 4)))
    squared = Condition(lowest_terms(1, 1, {"N": 2}), "==", lowest_terms(4, 1, {"M": 1}))
    assert Known((), [first, second, squared]).repeated == {squared}


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


def test_of_many_conditions_each_group_is_searched():
    listed = [f"A{place} % {number} == 0" for place in range(1000) for number in (2, 4)]
    assert [str(each) for each in read_conditions(listed)] == listed[1::2]
