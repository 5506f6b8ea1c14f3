"""Views: what they say of a tensor under any moves is what NumPy does, and plain ones are equal where it is equal."""

from __future__ import annotations

from array import array as array_of
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.conditions import Known
from shapecalc.core.dims import quotient
from shapecalc.core.layout import TABLE, Moves, positions, view_of, view_through
from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll, Take
from shapecalc.core.text import read_dims, shape_text
from tests.sampling import examples
from tests.strategies import factorisations

MANY = examples(600)
KINDS = ["permute", "reshape", "reshape", "pick", "pick", "flip", "roll", "take", "expand"]


def carried_out(array, move):
    """Return what NumPy makes of an array by a move."""
    match move:
        case Permute():
            return array.transpose(move.axes)
        case Expand():
            return np.broadcast_to(array, move.shape)
        case Roll():
            return np.roll(array, move.shift, move.axis)
        case Take():
            return array.take(move.places, move.axis)
        case Pick():
            for axis, (start, step, size) in reversed([*enumerate(move.axes)]):
                dim = array.shape[axis]
                places = [start % dim + step * place for place in range(1 if size is None else size)]
                array = array.take(places[0] if size is None else places, axis)
            return array
    return array.reshape(move.shape)


@st.composite
def picks(draw, shape):
    """Draw what may be picked of a shape: of each axis one position, or some of them in either direction."""
    picked = []
    for dim in shape:
        start, step = draw(st.sampled_from([0, 0, 0, dim // 2, dim - 1])), draw(st.sampled_from([1, 1, 2, 3]))
        most = len(range(start, dim, step))
        count = draw(st.sampled_from([most, most, draw(st.integers(1, most))]))
        last = start + step * (count - 1)
        if draw(st.booleans()):
            start, step = last - draw(st.sampled_from([0, dim])), -step
        picked.append((start, step, None if count == 1 and draw(st.booleans()) else count))
    return Pick(*zip(*picked, strict=True)) if picked else Pick((), (), ())


@st.composite
def moves(draw, shape):
    """Draw a move of a tensor of a shape of numbers."""
    kind = draw(st.sampled_from(KINDS))
    if kind == "permute":
        return Permute(tuple(draw(st.permutations(range(len(shape))))))
    if kind == "pick":
        return draw(picks(shape))
    if kind == "flip":
        signs = [draw(st.sampled_from([1, -1])) for _ in shape]
        return Pick(tuple(min(sign, 0) for sign in signs), tuple(signs), shape)
    if kind == "roll" and shape:
        return Roll(draw(st.integers(-7, 7)), draw(st.integers(0, len(shape) - 1)))
    if kind == "take" and shape:
        axis = draw(st.integers(0, len(shape) - 1))
        return Take(axis, tuple(draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=5))))
    if kind == "expand" and prod(shape) < 200:
        return Expand(tuple(draw(st.sampled_from([1, 2])) if dim == 1 else dim for dim in shape))
    return Reshape(draw(factorisations(prod(shape))))


@st.composite
def chains(draw, volume):
    """Draw a shape of `volume` elements and some moves, with what NumPy makes of the elements' positions."""
    shape = draw(factorisations(volume))
    array, made = np.arange(volume).reshape(shape), []
    for _ in range(draw(st.integers(0, 5))):
        made.append(draw(moves(array.shape)))
        array = carried_out(array, made[-1])
    return shape, made, array


def read(view, shape):
    """Return the position in the input of every element of a tensor with this view."""
    sums = dict.fromkeys(view.fixed, 0)

    def add(atoms, index):
        for atom in reversed(atoms):
            place, index = index % atom.size, index // atom.size
            if not isinstance(atom.stride, int):  # a table of places
                steps = np.array([*map(int, str(atom.stride).removeprefix(TABLE).split(","))])[place]
            else:
                steps = place * atom.stride if atom.stride >= 0 else (place + 1 - atom.size) * atom.stride
            sums[atom.level] = sums.get(atom.level, 0) + steps

    for axis, index in zip(view.axes, np.indices(shape), strict=True):
        add(axis, index)
    while based := [level for level in sums if level[0]]:
        base, start = level = max(based, key=depth)
        add(base, (sums.pop(level) + sum(start)) % prod(atom.size for atom in base))
    return np.broadcast_to(sums.get(((), ()), 0) + sum(view.offset), shape)


def depth(level):
    return 1 + max((depth(atom.level) for atom in level[0]), default=0)


VOLUMES = st.sampled_from([1, 8, 12, 36, 60])


@MANY
@given(VOLUMES.flatmap(chains))
def test_views_read_what_numpy_reads(drawn):
    shape, made, array = drawn
    view, before = view_of(shape), shape
    for move in made:
        view, before = view.after(move, before, Known()), move.after(before)
    assert (read(view, array.shape) == array).all()
    assert (read(view.normal(Known()), array.shape) == array).all()


@MANY
@given(VOLUMES.flatmap(chains))
def test_positions_are_those_of_numpy(drawn):
    shape, made, array = drawn
    assert positions(Moves(shape, tuple(made)), array_of("q", range(prod(shape)))).tolist() == array.ravel().tolist()


@MANY
@given(st.sampled_from([6, 8, 12]).flatmap(lambda volume: st.tuples(chains(volume), chains(volume))))
def test_plain_views_are_equal_where_the_elements_are(drawn):
    (shape, made, array), (other_shape, other_made, other) = drawn
    one, two = (view_through(*each, Known()) for each in ((shape, made), (other_shape, other_made)))
    same = array.shape == other.shape and bool((array == other).all())
    if one.is_plain and two.is_plain:
        assert (one == two) == same
        assert array.size == 0 or one.first == array.ravel()[0]
    else:
        assert (one == two) <= same


def through(shape, *texts):
    """Return the view of a chain of names."""
    answer = sc.chain(shape, *texts)
    known = Known([dim for stage in answer.stages for dim in (*stage.before, *stage.after)])
    return view_through(answer.input, answer.moves, known)


def test_an_axis_that_is_read_backwards_counts_from_its_last_position():
    view = through("N,C", "flip 0", "select 1 -1")
    assert [shape_text((atom.size, atom.stride)) for atom in view.axes[0]] == ["N,-C"]
    assert view.offset == (-1, *read_dims("C"))


def test_a_part_begins_at_a_product():
    view = through("N,C", "split 0 4 --part 3")
    assert view.offset == (quotient(read_dims("3*C*N")[0], 4),)


@pytest.mark.parametrize(
    "texts", [("roll 2 0", "roll -2 0"), ("roll 5 1", "roll 7 1"), ("flip 0,1", "flip 1", "flip 0")]
)
def test_what_is_undone_leaves_the_view_as_it_was(texts):
    assert through("N,6", *texts) == view_of(read_dims("N,6"))


def test_rolls_of_one_axis_are_one():
    (atoms, _) = through("N,C", "roll 1 0", "transpose 1,0", "roll 2 1", "transpose 1,0").axes
    assert [(atom.start, str(atom.size)) for atom in atoms] == [((-3,), "N")]


def test_a_roll_that_is_cut_before_its_seam_is_seen_through():
    assert through("N,10", "roll 3 1", "slice :,3:8").is_plain
    assert not through("N,10", "roll 3 1", "slice :,2:8").is_plain
