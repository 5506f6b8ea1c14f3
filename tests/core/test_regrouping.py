"""Which axes merge, split and mix: in words, by pieces, and as NumPy lays the elements out."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.core.find import in_order
from shapecalc.core.origins import axes_read, linked, mixing, regrouping, reshaped
from shapecalc.core.text import read_dims
from tests.sampling import examples
from tests.strategies import factorisations

WORDS = [
    ("2,3,4", "6,4", "axes 0,1 merge into axis 0; axis 2 becomes axis 1"),
    ("2,8", "4,4", "axes 0,1 split and merge into axes 0,1"),
    ("4,6", "8,3", "axes 0,1 split and merge into axes 0,1"),
    ("2,3,4", "2,6,2", "axis 0 stays; axes 1,2 split and merge into axes 1,2"),
    ("N,6", "2*N,3", "axes 0,1 split and merge into axes 0,1"),
    ("H,4", "H/2,8", "axes 0,1 split and merge into axes 0,1"),
    ("N,N", "3,N*N/3", "axes 0,1 split and merge into axes 0,1"),
    ("2,N", "2*N/3,3", "axes 0,1 split and merge into axes 0,1"),
    ("2,3", "3,2", "axes 0,1 mix into axes 0,1"),
    ("6,2", "4,3", "axes 0,1 mix into axes 0,1"),
    ("N,C,H,W", "N,C*H*W/64,64", "axis 0 stays; axes 1,2,3 mix into axes 1,2"),
    ("1,2,3", "3,1,2,1", "axis 0 is dropped; axes 1,2 mix into axes 0,2; output axis 1 is new; output axis 3 is new"),
    ("3,4", "2,3,2", "axes 0,1 mix into axes 0,1; a part of axis 1 becomes axis 2"),
    ("2,3,4", "4,6", "axes 0,1,2 mix into axis 0; axes 1,2 mix into axis 1"),
    ("N,4", "3,2,2", "axis 0 stays; axis 1 splits into axes 1,2"),
    ("N,4", "2,6", "axes 0,1 mix into axes 0,1"),
    ("N*N,5", "M*M*M,5", "axis 0 stays; axis 1 stays"),
    ("4,0", "2,0", "axes 0,1 split and merge into axes 0,1"),
    ("0,3", "3,0", "axes 0,1 mix into axes 0,1"),
    ("3,0", "0", "axes 0,1 merge into axis 0"),
    ("0", "3,0", "axis 0 splits into axes 0,1"),
]


@pytest.mark.parametrize(("before", "after", "said"), WORDS)
def test_words_for_what_axes_become(before, after, said):
    assert regrouping(read_dims(before), read_dims(after)) == said


pairs = st.sampled_from([1, 6, 16, 24, 36, 72, 180]).flatmap(
    lambda volume: st.tuples(factorisations(volume), factorisations(volume))
)


def strides(shape):
    """Return how many elements NumPy steps over along each axis that has a second position."""
    array = np.empty(shape, np.int8)
    return [stride for stride, size in zip(array.strides, shape, strict=True) if size != 1]


@examples(1000)
@given(pairs)
def test_axes_mix_where_a_stride_is_no_whole_number_of_strides(pair):
    before, after = pair
    across = any(old % new and new % old for old in strides(before) for new in strides(after))
    assert (in_order(before, after) is None) == across == bool(mixing(reshaped(before, after)))


@examples(500)
@given(pairs)
def test_pieces_fill_the_axes_on_both_sides(pair):
    before, after = pair
    made = in_order(before, after)
    for shape, side in ((before, "source"), (after, "out")) if made else ():
        for axis, size in enumerate(shape):
            assert prod(part.size for part in made if getattr(part, side) == axis) == size


@examples(500)
@given(pairs)
def test_the_axes_of_a_group_hold_the_same_elements(pair):
    before, after = pair
    found = linked(len(before), [axes_read(origin) for origin in reshaped(before, after)])
    assert sorted(axis for group in found for axis in group.sources) == [*range(len(before))]
    assert sorted(axis for group in found for axis in group.outs) == [*range(len(after))]
    for group in found:
        assert prod(before[axis] for axis in group.sources) == prod(after[axis] for axis in group.outs)


def test_a_name_that_the_condition_settles_is_put_in_before_axes_are_grouped():
    trace = sc.reshape(("N", 255, 13, 13), (1, 3, 85, 13, 13))
    assert trace.steps[-1].why == (
        "43095*N elements in, 43095 out: axis 0 stays; axis 1 splits into axes 1,2; axis 2 becomes axis 3; "
        "axis 3 becomes axis 4"
    )
