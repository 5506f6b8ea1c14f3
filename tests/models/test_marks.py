"""Marks against a count of all elements: which sample each element is of, and which axes hold the samples apart."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.models.batch_axis import BatchAxis, Lost, NodeAtSize, batch_place, mark_of, positions, regrouped
from shapecalc.models.propagate import mark_after
from tests.models.samples import separating_axes

SMALL = st.lists(st.integers(1, 4), max_size=3)


def factors(count, parts, draw):
    """Return a shape of `count` elements."""
    shape = []
    for _ in range(parts):
        size = draw(st.sampled_from([size for size in range(1, count + 1) if count % size == 0]))
        shape.append(size)
        count //= size
    return [*shape, count]


@st.composite
def marked_shapes(draw):
    """Draw a batch, a shape whose marked axis holds it, the mark, and another shape of as many elements."""
    batch, outer, inner = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    left, right = draw(SMALL), draw(SMALL)
    shape = (*left, outer * batch * inner, *right)
    after = factors(prod(shape), draw(st.integers(0, 3)), draw)
    return batch, shape, BatchAxis(len(left), inner), tuple(after)


def samples_of(shape, mark, batch):
    """Return for each element one bit: that of its sample."""
    own = 1 << positions(mark, shape[mark.axis], batch)
    return np.broadcast_to(own.reshape([-1 if axis == mark.axis else 1 for axis in range(len(shape))]), shape)


@given(marked_shapes())
def test_a_reshape_keeps_the_samples_apart_where_counting_says_so(drawn):
    batch, before, mark, after = drawn
    bits = samples_of(before, mark, batch).reshape(after)
    found = regrouped(mark, before, after, batch)
    held = batch_place(found, after, batch)
    assert separating_axes(bits, batch) == ([] if held is None else [held[0]])
    if isinstance(found, BatchAxis):
        assert np.array_equal(samples_of(after, found, batch), bits)


@given(marked_shapes(), st.data())
def test_the_mark_of_an_axis_is_read_from_its_positions(drawn, data):
    batch, shape, mark, _ = drawn
    size = shape[mark.axis]
    samples = positions(mark, size, batch)
    found = mark_of(mark.axis, samples, batch)
    assert found == mark
    moved = np.roll(samples, data.draw(st.integers(1, size)))
    changed = mark_of(mark.axis, moved, batch)
    assert (changed == mark) == np.array_equal(moved, samples)


def test_parts_of_one_axis_are_joined_where_the_samples_lie_alike():
    def joined(*marks_and_sizes):
        marks, sizes = zip(*marks_and_sizes, strict=True)
        return mark_after(
            NodeAtSize("Concat", "", 18, {"axis": 0}, 2, marks, [(size,) for size in sizes], [(sum(sizes),)], {}.get)
        )

    assert joined((BatchAxis(0, 2), 4), (BatchAxis(0, 2), 8)) == BatchAxis(0, 2)
    assert joined((BatchAxis(0, 2), 4), (None, 4)) == BatchAxis(0, 2)
    assert isinstance(joined((BatchAxis(0, 2), 4), (BatchAxis(0, 1), 4)), Lost)
