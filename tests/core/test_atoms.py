"""Atoms: what they say of a tensor is what NumPy does, and what reads the same is the same."""

from __future__ import annotations

from itertools import accumulate, groupby, pairwise
from math import prod
from operator import mul
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.conditions import Known
from shapecalc.core.dims import product, quotient, rewrite, substitute
from shapecalc.core.layout import Atom, axes_of, regroup, view_through
from shapecalc.core.moves import Expand, Permute, Reshape
from shapecalc.core.text import read_dims, shape_text
from tests.sampling import examples, some_and_rest
from tests.strategies import factorisations

MANY = examples(800)


@st.composite
def chains(draw, volume):
    """Draw a shape of `volume` elements and some moves, each with what NumPy makes of the elements' positions."""
    shape = draw(factorisations(volume))
    array, moves = np.arange(volume).reshape(shape), []
    for kind in draw(st.lists(st.sampled_from(["permute", "permute", "reshape", "reshape", "expand"]), max_size=5)):
        if kind == "permute":
            moves.append(Permute(tuple(draw(st.permutations(range(array.ndim))))))
            array = array.transpose(moves[-1].axes)
        elif kind == "reshape":
            moves.append(Reshape(draw(factorisations(array.size))))
            array = array.reshape(moves[-1].shape)
        elif array.size < 1000:
            moves.append(Expand(tuple(draw(st.sampled_from([1, 2])) if dim == 1 else dim for dim in array.shape)))
            array = np.broadcast_to(array, moves[-1].shape)
    return shape, moves, array


def read(axes, shape):
    """Return the position in the input of every element of a tensor with these axes."""
    sums = {}

    def add(atoms, index):
        for atom in reversed(atoms):
            sums[atom.base] = sums.get(atom.base, 0) + index % atom.size * atom.stride
            index = index // atom.size

    for axis, index in zip(axes, np.indices(shape), strict=True):
        add(axis, index)
    while any(sums):
        base = max(sums, key=depth)
        add(base, sums.pop(base))
    return np.broadcast_to(sums.get((), 0), shape)


def depth(atoms):
    return 1 + max(depth(atom.base) for atom in atoms) if atoms else 0


@MANY
@given(st.sampled_from([1, 8, 12, 36, 60]).flatmap(chains))
def test_axes_read_what_numpy_reads(drawn):
    shape, moves, array = drawn
    assert (read(view_through(shape, moves, Known()).axes, array.shape) == array).all()


@MANY
@given(st.sampled_from([6, 8, 12]).flatmap(lambda volume: st.tuples(chains(volume), chains(volume))))
def test_axes_that_mix_nothing_are_equal_where_the_elements_are(drawn):
    (shape, moves, array), (other_shape, other_moves, other) = drawn
    axes, other_axes = (view_through(*each, Known()).axes for each in ((shape, moves), (other_shape, other_moves)))
    same = array.shape == other.shape and bool((array == other).all())
    mixed = any(atom.base for axis in (*axes, *other_axes) for atom in axis)
    assert (axes == other_axes) <= same
    assert mixed or (axes == other_axes) == same


def test_names_are_cut_where_a_quotient_is_known_to_be_whole():
    (axis,) = axes_of(read_dims("H"))
    known = Known(read_dims("H/7"))
    rows, columns = regroup((axis,), read_dims("H/7,7"), known)
    assert [(str(atom.size), str(atom.stride)) for atom in (*rows, *columns)] == [("H/7", "7"), ("7", "1")]
    assert not any(atom.base for atom in (*rows, *columns))


def test_only_the_axes_that_mix_are_mixed():
    shape = read_dims("N,3,2,C")
    moves = [Permute((0, 2, 1, 3)), Reshape(read_dims("N,3,2,C"))]
    axes = view_through(shape, moves, Known()).axes
    assert [[shape_text((atom.size,)) for atom in axis] for axis in axes] == [["N"], ["3"], ["2"], ["C"]]
    assert [bool(atom.base) for axis in axes for atom in axis] == [False, True, True, False]


def test_what_both_sides_share_at_the_front_is_not_mixed():
    (outer, *mixed), _ = regroup(((Atom(6, 1),), (Atom(2, 6),)), (4, 3), Known())
    assert outer == Atom(2, 3)
    assert [atom.base for atom in mixed] == [(Atom(3, 1), Atom(2, 6))]


def test_an_atom_is_not_read_through_to_a_part_of_its_base_that_it_mixes():
    shape, moves = (9, 4, 2), [Permute((2, 1, 0)), Reshape((2, 36)), Reshape((3, 6, 4))]
    array = np.arange(72).reshape(shape).transpose(2, 1, 0).reshape(3, 6, 4)
    assert (read(view_through(shape, moves, Known()).axes, array.shape) == array).all()


def test_what_was_mixed_and_is_merged_again_is_read_through():
    shape = (4, 3, 2)
    moves = [Permute((0, 2, 1)), Reshape((4, 3, 2)), Reshape((4, 6)), Reshape((4, 2, 3)), Permute((0, 2, 1))]
    assert view_through(shape, moves, Known()).axes == view_through(shape, [], Known()).axes


def test_a_name_is_exchanged_for_a_dim():
    (dim, other) = read_dims("N*N*H/2,6*K")
    assert rewrite(dim, {"N": other}) == read_dims("18*H*K*K")[0]
    assert rewrite(quotient(1, dim), {"N": other, "H": 4}) == quotient(
        1, substitute(rewrite(dim, {"N": other}), {"H": 4})
    )


def test_what_two_dims_share_is_cut_off_first():
    shape, moves = read_dims("A,2*B"), [Permute((1, 0)), Reshape(read_dims("2*A,B"))]
    (outer, *mixed), _ = view_through(shape, moves, Known()).axes
    base = (Atom(read_dims("B")[0], 1), Atom(read_dims("A")[0], read_dims("2*B")[0]))
    assert outer == Atom(2, read_dims("B")[0])
    assert [atom.base for atom in mixed] == [base]


def test_what_is_expanded_stays_in_place():
    assert view_through((1, 3), [Expand(read_dims("N,3"))], Known()).axes == (
        (Atom(read_dims("N")[0], 0),),
        (Atom(3, 1),),
    )
    assert view_through((1, 3), [Expand((1, 3))], Known()).axes == ((), (Atom(3, 1),))


PRIMES = {"2": 2, "A": 3, "B": 5, "C": 7}


def partition(draw, factors):
    """Return factors in lots, each of which is a dim."""
    factors = draw.sample(factors, len(factors))
    cuts = sorted(draw.sample(range(1, len(factors)), draw.randint(0, min(3, len(factors) - 1))))
    return [factors[start:end] for start, end in pairwise([0, *cuts, len(factors)])]


def drawn_regroupings(draw):
    """Return a shape and some moves, twice: of names, and of numbers that are primes in place of the names."""
    factors = draw.choices([*PRIMES], k=draw.randint(2, 6))
    dims = partition(draw, factors)
    shape, moves = [dims], []
    for _ in range(draw.randint(1, 4)):
        if draw.random() < 0.5:
            perm = draw.sample(range(len(dims)), len(dims))
            moves.append(perm)
            dims = [dims[axis] for axis in perm]
        else:
            dims = partition(draw, factors)
            shape.append(dims)
            moves.append(None)
    return [course(shape, moves, put_in) for put_in in (lambda name: read_dims(name)[0], PRIMES.__getitem__)]


def course(shapes, moves, put_in):
    shapes = [tuple(product(map(put_in, dim)) for dim in dims) for dims in shapes]
    waiting = iter(shapes[1:])
    return shapes[0], [Permute(tuple(perm)) if perm else Reshape(next(waiting)) for perm in moves]


def put_primes_in(axes):
    sizes = {name: prime for name, prime in PRIMES.items() if name != "2"}
    return tuple(
        tuple(
            Atom(substitute(atom.size, sizes), substitute(atom.stride, sizes), *put_primes_in((atom.base,)))
            for atom in axis
        )
        for axis in axes
    )


@pytest.mark.parametrize("seeds", some_and_rest(range(20_000), 1500))
def test_names_are_cut_as_primes_are(seeds):
    """What is read of names holds for all sizes, and primes have no more factors in common than names."""
    for seed in seeds:
        named, numbered = drawn_regroupings(Random(seed))
        assert put_primes_in(view_through(*named, Known()).axes) == view_through(*numbered, Known()).axes, seed


def cuts(sizes):
    """Return the counts of elements at which a row of sizes can be cut."""
    counts = [*accumulate(sizes, mul, initial=1)]
    inside = range(2, counts[-1])
    return {cut for cut in inside for low, high in pairwise(counts) if cut % low == 0 and high % cut == 0}


@pytest.mark.parametrize("seeds", some_and_rest(range(20_000), 1500))
def test_what_is_mixed_lines_up_nowhere_inside(seeds):
    for seed in seeds:
        draw = Random(seed)
        factors = draw.choices([2, 2, 3, 4, 5], k=draw.randint(2, 6))
        shape, target = ([prod(dim) for dim in partition(draw, factors)] for _ in range(2))
        axes = axes_of(shape)
        taken = regroup(draw.sample(axes, len(axes)), target, Known())
        for base, atoms in groupby((atom for axis in taken for atom in axis), key=lambda atom: atom.base):
            if base:
                assert not cuts([atom.size for atom in base]) & cuts([atom.size for atom in atoms]), seed
