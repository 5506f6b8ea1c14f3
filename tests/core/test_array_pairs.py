"""Pairs of arrays: the way that is found turns each first array into its second, which NumPy carries out."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.dims import substitute
from shapecalc.core.find import MOST_ORDERED, Pair, Way, fitting_ways, named_way, sizes_of, way_of, ways
from shapecalc.core.text import read_dims, shape_text
from tests.core.drawing import factors, positions_of
from tests.sampling import some_and_rest


def drawn_cut(draw, sizes):
    """Return the dims that neighbours among sizes make."""
    cuts = sorted(draw.sample(range(1, len(sizes)), draw.randint(0, len(sizes) - 1)))
    return [sizes[start:end] for start, end in zip([0, *cuts], [*cuts, len(sizes)], strict=True)]


def drawn_shape(draw, sizes):
    """Return the shape that neighbours among sizes make, or any of as many elements."""
    fits = [prod(lot) for lot in drawn_cut(draw, sizes)]
    return draw.choice([fits, fits, factors(draw, prod(sizes))])


def atoms_of(sizes, perm):
    """Return the sizes and strides that lead through a tensor of `sizes` in the order of a permutation."""
    atoms = [(sizes[axis], prod(sizes[axis + 1 :])) for axis in perm if sizes[axis] != 1]
    made = []
    for size, stride in atoms:
        if made and made[-1][1] == size * stride:
            size *= made.pop()[0]
        made.append((size, stride))
    return tuple(made)


def moved(sizes, perm):
    return np.arange(prod(sizes)).reshape(sizes).transpose(perm)


def with_sizes(way, sizes):
    """Return a way with sizes put in for names."""
    before, split, after = (
        tuple(substitute(dim, sizes) for dim in dims) for dims in (way.before, way.split, way.after)
    )
    return Way(before, split, way.perm, after)


def carried_out(way):
    return positions_of(sc.chain(shape_text(way.before), *way.stages))


@pytest.mark.parametrize("seeds", some_and_rest(range(4000), 500))
def test_the_way_of_a_pair_leads_from_its_first_array_to_its_second(seeds):
    """The shapes may cut the atoms anywhere, also across them."""
    for seed in seeds:
        draw = Random(seed)
        sizes = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))]
        perm = draw.sample(range(len(sizes)), len(sizes))
        before, after = drawn_shape(draw, sizes), drawn_shape(draw, [sizes[axis] for axis in perm])
        way = way_of(Pair(tuple(before), tuple(after), atoms_of(sizes, perm)))
        assert way.before == tuple(before)
        assert (carried_out(way) == moved(sizes, perm).reshape(after)).all(), seed


@pytest.mark.parametrize("seeds", some_and_rest(range(4000), 400))
def test_pairs_whose_sizes_differ_have_one_way_with_names(seeds):
    for seed in seeds:
        draw = Random(seed)
        rank = draw.randint(1, 4)
        perm = draw.sample(range(rank), rank)
        rows = drawn_cut(draw, [*range(rank)]), drawn_cut(draw, perm)
        drawn = [[draw.choice([2, 3, 4, 5, 7]) for _ in range(rank)] for _ in range(3)]
        shapes = [[tuple(prod(sizes[axis] for axis in lot) for lot in lots) for lots in rows] for sizes in drawn]
        pairs = [Pair(*both, atoms_of(sizes, perm)) for both, sizes in zip(shapes, drawn, strict=True)]
        fitting = named_way(pairs)
        (way,) = fitting.found.ways
        for (before, after), sizes, given in zip(shapes, drawn, fitting.sizes, strict=True):
            put = with_sizes(way, given)
            assert (put.before, put.after) == (before, after)
            assert (carried_out(put) == moved(sizes, perm).reshape(after)).all(), seed


def test_names_are_given_in_the_order_of_the_input():
    pairs = [Pair((n, m), (m, n), ((m, 1), (n, m))) for n, m in ((2, 3), (4, 5))]
    fitting = named_way(pairs)
    assert [way.chain for way in fitting.found.ways] == ["A,B | transpose 1,0"]
    assert [dict(sizes) for sizes in fitting.sizes] == [{"A": 2, "B": 3}, {"A": 4, "B": 5}]


@pytest.mark.parametrize("other", [Pair((2, 3), (3, 2), ((6, 1),)), Pair((4,), (4,), ((4, 1),))])
def test_pairs_that_no_one_way_turns_have_none(other):
    assert named_way([Pair((2, 3), (3, 2), ((3, 1), (2, 3))), other]).found.ways == ()


def test_pairs_whose_shapes_cut_across_atoms_have_no_names():
    pairs = [Pair((2, dim), (2, dim), ((2, 1), (dim, 2))) for dim in (3, 5)]
    assert [named_way([pair]).found.ways[0].chain for pair in pairs] == [
        "2,3 | reshape 3,2 | transpose 1,0",
        "2,5 | reshape 5,2 | transpose 1,0",
    ]
    assert named_way(pairs).found.ways == ()


@pytest.mark.parametrize("pair", [Pair((2, 3), (3, 2), ((3, 1), (2, 3))), Pair((2, 5), (5, 2), ((10, 1),))])
def test_of_the_ways_between_two_shapes_those_stay_that_a_pair_shows(pair):
    before, after = read_dims("N,C"), read_dims("C,N")
    fitting = fitting_ways([pair], before, after)
    sizes = {"N": pair.before[0], "C": pair.before[1]}
    assert [dict(each) for each in fitting.sizes] == [sizes]
    wanted = [way for way in ways(before, after) if way.moves == (len(pair.atoms) > 1)]
    assert [*fitting.found.ways] == wanted
    assert fitting.found.fits == len(wanted) <= MOST_ORDERED


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("N,C,H", "C,N", "an array has shape 2,3, and N,C,H is asked for"),
        ("N,4", "4,N", "an array has shape 2,3, and N,4 is asked for"),
        ("N,C", "N,C", "arrays have shapes 2,3 and 3,2, which N,C and N,C are not"),
        ("N*C,3", "3,N*C", "the arrays do not say which size C has"),
    ],
)
def test_shapes_that_a_pair_does_not_have_are_usage(before, after, message):
    with pytest.raises(sc.ShapeError) as error:
        sizes_of(Pair((2, 3), (3, 2), ((3, 1), (2, 3))), read_dims(before), read_dims(after))
    assert error.value.problem.message == message
