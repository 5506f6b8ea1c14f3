"""Check with NumPy that the rearrangement of a pair turns its first array into its second."""

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
    find_pair_rearrangement,
    find_rearrangements_for_pairs,
    generalize_pairs,
    iter_rearrangements,
)
from tests.core.drawing import cut_row, draw_factors
from tests.numpy_moves import flat_input_indices
from tests.sampling import some_and_rest


def atoms_of(sizes, perm):
    """Return the sizes and strides that read a contiguous tensor in permuted order."""
    atoms = []
    for size, stride in [(sizes[axis], prod(sizes[axis + 1 :])) for axis in perm if sizes[axis] != 1]:
        if atoms and atoms[-1][1] == size * stride:
            size *= atoms.pop()[0]
        atoms.append((size, stride))
    return tuple(atoms)


def is_correct(rearrangement, sizes, perm):
    """Return whether a rearrangement has the effect of a transpose and a reshape in NumPy."""
    moved = np.arange(prod(sizes)).reshape(sizes).transpose(perm).reshape(rearrangement.after)
    return bool((flat_input_indices(sc.chain(shape_text(rearrangement.before), *rearrangement.stages)) == moved).all())


@pytest.mark.parametrize("seeds", some_and_rest(range(1100), 150))
def test_array_pair_path_leads_to_the_second_array(seeds):
    """The shapes may cut the atoms anywhere, also across them."""
    for seed in seeds:
        draw = Random(seed)
        sizes = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))]
        perm = draw.sample(range(len(sizes)), len(sizes))
        shapes = []
        for row in (sizes, [sizes[axis] for axis in perm]):
            fitting_dims = [prod(part) for part in cut_row(draw, row)]
            shapes.append(tuple(draw.choice([fitting_dims, fitting_dims, draw_factors(draw, prod(sizes))])))
        rearrangement = find_pair_rearrangement(ArrayPair(*shapes, atoms_of(sizes, perm)))
        assert [rearrangement.before, rearrangement.after] == shapes
        assert is_correct(rearrangement, sizes, perm), seed


@pytest.mark.parametrize("seeds", some_and_rest(range(750), 100))
def test_array_pairs_of_different_sizes_share_one_named_path(seeds):
    for seed in seeds:
        draw = Random(seed)
        rank = draw.randint(1, 4)
        perm = draw.sample(range(rank), rank)
        cuts = cut_row(draw, [*range(rank)]), cut_row(draw, perm)
        sizes_of_pairs = [[draw.choice([2, 3, 4, 5, 7]) for _ in range(rank)] for _ in range(3)]
        shapes = [
            [tuple(prod(sizes[axis] for axis in part) for part in parts) for parts in cuts] for sizes in sizes_of_pairs
        ]
        pair_search = generalize_pairs(
            [ArrayPair(*pair, atoms_of(sizes, perm)) for pair, sizes in zip(shapes, sizes_of_pairs, strict=True)]
        )
        (rearrangement,) = pair_search.search.ways
        for pair, sizes, sizes_by_name in zip(shapes, sizes_of_pairs, pair_search.sizes, strict=True):
            rows = (rearrangement.before, rearrangement.split, rearrangement.after)
            before, split, after = (tuple(substitute(dim, sizes_by_name) for dim in dims) for dims in rows)
            concrete = Rearrangement(before, split, rearrangement.perm, after)
            assert [concrete.before, concrete.after] == pair
            assert is_correct(concrete, sizes, perm), seed


@pytest.mark.parametrize("pair", [ArrayPair((2, 3), (3, 2), ((3, 1), (2, 3))), ArrayPair((2, 5), (5, 2), ((10, 1),))])
def test_array_pair_filters_paths_between_shapes(pair):
    before, after = parse_dims("N,C"), parse_dims("C,N")
    pair_search = find_rearrangements_for_pairs([pair], before, after)
    assert [dict(sizes) for sizes in pair_search.sizes] == [{"N": pair.before[0], "C": pair.before[1]}]
    expected = [
        rearrangement
        for rearrangement in iter_rearrangements(before, after)
        if rearrangement.transpose_count == (len(pair.atoms) > 1)
    ]
    assert [*pair_search.search.ways] == expected
    assert pair_search.search.fits == len(expected) <= MAX_ORDERS
