"""Pairs of arrays: the way that is found turns each first array into its second, which NumPy carries out."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.dims import substitute
from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reasoning.find import (
    MAX_ORDERS,
    ArrayPair,
    Rearrangement,
    find_chains_for_pairs,
    generalize_pairs,
    iterate_rearrangements,
    rearrangement_of_pair,
)
from tests.core.drawing import cut, factors
from tests.numpy_moves import positions_of
from tests.sampling import some_and_rest


def atoms_of(sizes, perm):
    """Return the sizes and strides that lead through a tensor of `sizes` in the order of a permutation."""
    made = []
    for size, stride in [(sizes[axis], prod(sizes[axis + 1 :])) for axis in perm if sizes[axis] != 1]:
        if made and made[-1][1] == size * stride:
            size *= made.pop()[0]
        made.append((size, stride))
    return tuple(made)


def is_carried_out(way, sizes, perm):
    """Say whether a way permutes the axes of a tensor and reshapes it."""
    moved = np.arange(prod(sizes)).reshape(sizes).transpose(perm).reshape(way.after)
    return bool((positions_of(sc.chain(shape_text(way.before), *way.stages)) == moved).all())


@pytest.mark.parametrize("seeds", some_and_rest(range(1100), 150))
def test_array_pair_path_leads_to_the_second_array(seeds):
    """The shapes may cut the atoms anywhere, also across them."""
    for seed in seeds:
        draw = Random(seed)
        sizes = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))]
        perm = draw.sample(range(len(sizes)), len(sizes))
        shapes = []
        for row in (sizes, [sizes[axis] for axis in perm]):
            fits = [prod(lot) for lot in cut(draw, row)]
            shapes.append(tuple(draw.choice([fits, fits, factors(draw, prod(sizes))])))
        way = rearrangement_of_pair(ArrayPair(*shapes, atoms_of(sizes, perm)))
        assert [way.before, way.after] == shapes
        assert is_carried_out(way, sizes, perm), seed


@pytest.mark.parametrize("seeds", some_and_rest(range(750), 100))
def test_array_pairs_of_different_sizes_share_one_named_path(seeds):
    for seed in seeds:
        draw = Random(seed)
        rank = draw.randint(1, 4)
        perm = draw.sample(range(rank), rank)
        both = cut(draw, [*range(rank)]), cut(draw, perm)
        drawn = [[draw.choice([2, 3, 4, 5, 7]) for _ in range(rank)] for _ in range(3)]
        shapes = [[tuple(prod(sizes[axis] for axis in lot) for lot in lots) for lots in both] for sizes in drawn]
        fitting = generalize_pairs(
            [ArrayPair(*each, atoms_of(sizes, perm)) for each, sizes in zip(shapes, drawn, strict=True)]
        )
        (way,) = fitting.search.ways
        for each, sizes, given in zip(shapes, drawn, fitting.sizes, strict=True):
            rows = (way.before, way.split, way.after)
            before, split, after = (tuple(substitute(dim, given) for dim in dims) for dims in rows)
            put = Rearrangement(before, split, way.perm, after)
            assert [put.before, put.after] == each
            assert is_carried_out(put, sizes, perm), seed


@pytest.mark.parametrize("pair", [ArrayPair((2, 3), (3, 2), ((3, 1), (2, 3))), ArrayPair((2, 5), (5, 2), ((10, 1),))])
def test_array_pair_filters_paths_between_shapes(pair):
    before, after = parse_dims("N,C"), parse_dims("C,N")
    fitting = find_chains_for_pairs([pair], before, after)
    assert [dict(each) for each in fitting.sizes] == [{"N": pair.before[0], "C": pair.before[1]}]
    wanted = [way for way in iterate_rearrangements(before, after) if way.moves == (len(pair.atoms) > 1)]
    assert [*fitting.search.ways] == wanted
    assert fitting.search.fits == len(wanted) <= MAX_ORDERS
