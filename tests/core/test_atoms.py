"""Atoms: what they say of a tensor is what NumPy does, and what reads the same is the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.answers.atoms import Atom, Known, axes_of, axes_through, regroup
from shapecalc.core.answers.moves import Expand, Permute, Reshape
from shapecalc.core.sizes.dims import quotient, rewrite, substitute
from shapecalc.core.sizes.text import read_dims, shape_text
from tests.sampling import examples
from tests.strategies import factorisations

MANY = examples(2000)


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
    assert (read(axes_through(shape, moves, Known()), array.shape) == array).all()


@MANY
@given(st.sampled_from([6, 8, 12]).flatmap(lambda volume: st.tuples(chains(volume), chains(volume))))
def test_axes_that_mix_nothing_are_equal_where_the_elements_are(drawn):
    (shape, moves, array), (other_shape, other_moves, other) = drawn
    axes, other_axes = (axes_through(*each, Known()) for each in ((shape, moves), (other_shape, other_moves)))
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
    axes = axes_through(shape, moves, Known())
    assert [[shape_text((atom.size,)) for atom in axis] for axis in axes] == [["N"], ["3"], ["2"], ["C"]]
    assert [bool(atom.base) for axis in axes for atom in axis] == [False, True, True, False]


def test_what_both_sides_share_at_the_front_is_not_mixed():
    (outer, *mixed), _ = regroup(((Atom(6, 1),), (Atom(2, 6),)), (4, 3), Known())
    assert outer == Atom(2, 3)
    assert [atom.base for atom in mixed] == [(Atom(3, 1), Atom(2, 6))]


def test_an_atom_is_not_read_through_to_a_part_of_its_base_that_it_mixes():
    shape, moves = (9, 4, 2), [Permute((2, 1, 0)), Reshape((2, 36)), Reshape((3, 6, 4))]
    array = np.arange(72).reshape(shape).transpose(2, 1, 0).reshape(3, 6, 4)
    assert (read(axes_through(shape, moves, Known()), array.shape) == array).all()


def test_what_was_mixed_and_is_merged_again_is_read_through():
    shape = (4, 3, 2)
    moves = [Permute((0, 2, 1)), Reshape((4, 3, 2)), Reshape((4, 6)), Reshape((4, 2, 3)), Permute((0, 2, 1))]
    assert axes_through(shape, moves, Known()) == axes_through(shape, [], Known())


def test_a_name_is_exchanged_for_a_dim():
    (dim, other) = read_dims("N*N*H/2,6*K")
    assert rewrite(dim, {"N": other}) == read_dims("18*H*K*K")[0]
    assert rewrite(quotient(1, dim), {"N": other, "H": 4}) == quotient(
        1, substitute(rewrite(dim, {"N": other}), {"H": 4})
    )


def test_what_two_dims_share_is_cut_off_first():
    shape, moves = read_dims("A,2*B"), [Permute((1, 0)), Reshape(read_dims("2*A,B"))]
    (outer, *mixed), _ = axes_through(shape, moves, Known())
    base = (Atom(read_dims("B")[0], 1), Atom(read_dims("A")[0], read_dims("2*B")[0]))
    assert outer == Atom(2, read_dims("B")[0])
    assert [atom.base for atom in mixed] == [base]


def test_what_is_expanded_stays_in_place():
    assert axes_through((1, 3), [Expand(read_dims("N,3"))], Known()) == ((Atom(read_dims("N")[0], 0),), (Atom(3, 1),))
    assert axes_through((1, 3), [Expand((1, 3))], Known()) == ((), (Atom(3, 1),))
