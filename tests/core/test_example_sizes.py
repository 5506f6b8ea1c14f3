"""Sizes that stand for names: the order in which they are tried, and those that meet conditions."""

from __future__ import annotations

from itertools import islice, product

import pytest

import shapecalc as sc
from shapecalc.core.cases import read_conditions
from shapecalc.core.dims import substitute
from shapecalc.core.examples import MOST_TRIED, ascending_sizes, example_sizes, multiplied_sizes


@pytest.mark.parametrize(("start", "count"), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)])
def test_sizes_with_a_small_sum_come_first(start, count):
    found = [tuple(sizes.values()) for sizes in islice(ascending_sizes(tuple("ABC"[:count]), start), 20)]
    every = product(range(start, start + 20), repeat=count)
    assert sorted(found) == sorted(sorted(every, key=sum)[:20])
    assert [*map(sum, found)] == sorted(map(sum, found))
    assert count > 2 or found == sorted(found, key=lambda sizes: (sum(sizes), sizes))


def test_so_many_sizes_are_tried():
    assert len([*ascending_sizes(("N", "C"), 1)]) == MOST_TRIED
    assert [*ascending_sizes((), 1)] == [{}]


@pytest.mark.parametrize(
    ("listed", "sizes"),
    [
        (["N % 4 == 0", "N % 6 == 0"], {"N": 24, "C": 1}),
        (["C == 5", "N % 2 == 0"], {"N": 2, "C": 5}),
        (["N*C % 3 == 0", "C*N % 5 == 0"], {"N": 1, "C": 15}),
        (["N % C == 0"], {"N": 1, "C": 1}),
        (["12 % N == 0"], {"N": 1, "C": 1}),
        (["H1 >= 3", "C*H1 % 2 == 0"], {"N": 1, "C": 2}),
    ],
)
def test_what_divides_is_multiplied_into_the_first_name(listed, sizes):
    assert multiplied_sizes(("N", "C"), read_conditions(listed)) == sizes


def test_sizes_that_no_small_ones_meet_are_usage():
    assert example_sizes(sc.reshape("N,C", "N*C/1001,1001")) == {"N": 1, "C": 1001}
    with pytest.raises(sc.ShapeError, match="no small sizes meet the conditions"):
        example_sizes(sc.transpose("N/1013,C/1009,N/C"))


@pytest.mark.parametrize(
    ("shape", "target"),
    [("N,C,H,W", "0,-1,64"), ("N,C", "-1,6"), ("N", "-1,1000"), ("N,12,W", "-1,8,W"), ("N,C", "N*C/35,-1")],
)
def test_no_dim_turns_into_one_that_need_not(shape, target):
    answer = sc.reshape(shape, target)
    sizes = example_sizes(answer)
    assert 1 not in [substitute(dim, sizes) for dim in answer.output]
