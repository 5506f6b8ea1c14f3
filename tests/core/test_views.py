"""Check views against NumPy: positions under any moves, and equality of strided views."""

from __future__ import annotations

from array import array as array_of
from itertools import accumulate, groupby, pairwise
from math import prod
from operator import mul
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.conditions import Assumptions
from shapecalc.core.dims import product, substitute
from shapecalc.core.layout import (
    TABLE_PREFIX,
    Atom,
    MoveChain,
    apply_chain,
    contiguous_axes,
    contiguous_view,
    reshape_axes,
    view_after_moves,
)
from shapecalc.core.moves import Expand, Permute, Reshape, Roll, StridedSlice, Take
from shapecalc.core.text import parse_dims
from tests.core.drawing import cut_row
from tests.numpy_moves import apply_with_numpy
from tests.sampling import examples, some_and_rest
from tests.strategies import factorisations

MANY = examples(150)


@st.composite
def picks(draw, shape):
    """Draw a strided slice: one position of each axis, or several in either direction."""
    bounds = []
    for dim in shape:
        start, step = draw(st.sampled_from([0, 0, 0, dim // 2, dim - 1])), draw(st.sampled_from([1, 1, 2, 3]))
        most = len(range(start, dim, step))
        count = draw(st.sampled_from([most, most, draw(st.integers(1, most))]))
        last = start + step * (count - 1)
        if draw(st.booleans()):
            start, step = last - draw(st.sampled_from([0, dim])), -step
        bounds.append((start, step, None if count == 1 and draw(st.booleans()) else count))
    return StridedSlice(*zip(*bounds, strict=True)) if bounds else StridedSlice((), (), ())


@st.composite
def moves(draw, shape):
    """Draw a move for a numeric shape."""
    kinds = ["permute", "reshape", "reshape", "pick", "pick", "flip", "roll", "take", "expand"]
    match draw(st.sampled_from(kinds)):
        case "permute":
            return Permute(tuple(draw(st.permutations(range(len(shape))))))
        case "pick":
            return draw(picks(shape))
        case "flip":
            signs = [draw(st.sampled_from([1, -1])) for _ in shape]
            return StridedSlice(tuple(min(sign, 0) for sign in signs), tuple(signs), shape)
        case "roll" if shape:
            return Roll(draw(st.integers(-7, 7)), draw(st.integers(0, len(shape) - 1)))
        case "take" if shape:
            axis = draw(st.integers(0, len(shape) - 1))
            return Take(axis, tuple(draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=5))))
        case "expand" if prod(shape) < 200:
            return Expand(tuple(draw(st.sampled_from([1, 2])) if dim == 1 else dim for dim in shape))
    return Reshape(draw(factorisations(prod(shape))))


@st.composite
def chains(draw, volume):
    """Draw a shape of `volume` elements and some moves, with the positions that NumPy gives."""
    shape = draw(factorisations(volume))
    array, chain_moves = np.arange(volume).reshape(shape), []
    for _ in range(draw(st.integers(0, 5))):
        chain_moves.append(draw(moves(array.shape)))
        array = apply_with_numpy(array, chain_moves[-1:])
    return shape, chain_moves, array


def view_positions(view, shape):
    """Return the input position of every element of a tensor with this view."""
    sums = dict.fromkeys(view.fixed, 0)

    def add(atoms, index):
        for atom in reversed(atoms):
            position, index = index % atom.size, index // atom.size
            if not isinstance(atom.stride, int):  # a table of positions
                steps = np.array([*map(int, str(atom.stride).removeprefix(TABLE_PREFIX).split(","))])[position]
            else:
                steps = position * atom.stride if atom.stride >= 0 else (position + 1 - atom.size) * atom.stride
            sums[atom.space] = sums.get(atom.space, 0) + steps

    for axis, index in zip(view.axes, np.indices(shape), strict=True):
        add(axis, index)
    while based := [level for level in sums if level[0]]:
        base, start = level = max(based, key=depth)
        add(base, (sums.pop(level) + sum(start)) % prod(atom.size for atom in base))
    return np.broadcast_to(sums.get(((), ()), 0) + sum(view.offset), shape)


def depth(level):
    return 1 + max((depth(atom.space) for atom in level[0]), default=0)


@MANY
@given(st.sampled_from([1, 8, 12, 36, 60]).flatmap(chains))
def test_view_positions_equal_numpy(chain):
    shape, chain_moves, array = chain
    view, before = contiguous_view(shape), shape
    for move in chain_moves:
        view, before = view.apply_move(move, before, Assumptions()), move.output_shape(before)
    assert (view_positions(view, array.shape) == array).all()
    assert (view_positions(view.normalize(Assumptions()), array.shape) == array).all()
    assert (
        apply_chain(MoveChain(shape, tuple(chain_moves)), array_of("q", range(prod(shape)))).tolist()
        == array.ravel().tolist()
    )


@MANY
@given(st.sampled_from([6, 8, 12]).flatmap(lambda volume: st.tuples(chains(volume), chains(volume))))
def test_plain_views_are_equal_iff_elements_are(pair):
    (shape, chain_moves, array), (other_shape, other_moves, other) = pair
    one, two = (view_after_moves(*chain, Assumptions()) for chain in ((shape, chain_moves), (other_shape, other_moves)))
    same = array.shape == other.shape and bool((array == other).all())
    if one.is_strided and two.is_strided:
        assert (one == two) == same
        assert array.size == 0 or one.first_index == array.ravel()[0]
    else:
        assert (one == two) <= same


PRIMES = {"2": 2, "A": 3, "B": 5, "C": 7}


def draw_regroupings(draw):
    """Draw a shape and moves over names, and return them with the names and with primes as dims."""
    dims = cut_row(draw, draw.choices([*PRIMES], k=draw.randint(2, 6)), 4)
    shapes, perms = [dims], []
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.5:
            perms.append(draw.sample(range(len(dims)), len(dims)))
            dims = [dims[axis] for axis in perms[-1]]
        else:
            names = [name for dim in dims for name in dim]
            dims = cut_row(draw, draw.sample(names, len(names)), 4)
            shapes.append(dims)
            perms.append(None)
    return [build_moves(shapes, perms, dim_of) for dim_of in (lambda name: parse_dims(name)[0], PRIMES.__getitem__)]


def build_moves(shapes, perms, dim_of):
    first, *others = [tuple(product(map(dim_of, dim)) for dim in dims) for dims in shapes]
    targets = iter(others)
    return first, [Permute(tuple(perm)) if perm else Reshape(next(targets)) for perm in perms]


def substitute_primes(axes):
    sizes = {name: prime for name, prime in PRIMES.items() if name != "2"}
    return tuple(
        tuple(
            Atom(substitute(atom.size, sizes), substitute(atom.stride, sizes), *substitute_primes((atom.base,)))
            for atom in axis
        )
        for axis in axes
    )


@pytest.mark.parametrize("seeds", some_and_rest(range(2200), 500))
def test_names_split_like_primes(seeds):
    """Names and primes share no factors, so their views agree."""
    for seed in seeds:
        named, numbered = draw_regroupings(Random(seed))
        assert (
            substitute_primes(view_after_moves(*named, Assumptions()).axes)
            == view_after_moves(*numbered, Assumptions()).axes
        ), seed


def cut_counts(sizes):
    """Return the element counts at which a row of sizes can be cut."""
    counts = [*accumulate(sizes, mul, initial=1)]
    inside = range(2, counts[-1])
    return {count for count in inside for low, high in pairwise(counts) if count % low == 0 and high % count == 0}


@pytest.mark.parametrize("seeds", some_and_rest(range(2200), 500))
def test_mixed_atoms_have_no_inner_cut(seeds):
    for seed in seeds:
        draw = Random(seed)
        dims = draw.choices([2, 2, 3, 4, 5], k=draw.randint(2, 6))
        shape, target = ([prod(part) for part in cut_row(draw, draw.sample(dims, len(dims)), 4)] for _ in range(2))
        axes = contiguous_axes(shape)
        axes_after = reshape_axes(draw.sample(axes, len(axes)), target, Assumptions())
        for base, atoms in groupby((atom for axis in axes_after for atom in axis), key=lambda atom: atom.base):
            if base:
                assert not cut_counts([atom.size for atom in base]) & cut_counts([atom.size for atom in atoms]), seed
