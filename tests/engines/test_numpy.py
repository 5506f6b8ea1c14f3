"""The numpy dialect against NumPy itself."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.resolve import resolve
from tests.engines.library_worker import indices
from tests.sampling import examples
from tests.strategies import axes, ones, permutations, positions, reshapes, shapes

MANY = examples(150)


def answer(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "numpy"})).output


def ran(call):
    """Return the shape of what `call` makes; `None` where NumPy refuses."""
    try:
        return call().shape
    except (IndexError, ValueError, ZeroDivisionError, np.exceptions.AxisError):
        return None


def empty(shape):
    return np.zeros(shape, np.int8)


@MANY
@given(reshapes())
def test_reshape(drawn):
    shape, target = drawn
    assert answer("reshape", shape, target=target) == ran(lambda: empty(shape).reshape(target))


@MANY
@given(permutations(), st.booleans())
def test_transpose(drawn, named):
    shape, perm = drawn
    given_perm = perm if named else None
    assert answer("transpose", shape, perm=given_perm) == ran(lambda: np.transpose(empty(shape), given_perm))


@MANY
@given(shapes, positions("select", 3))
def test_select(shape, drawn):
    expected = ran(lambda: np.moveaxis(empty(shape), drawn["axis"], 0)[drawn["index"]])
    assert answer("select", shape, **drawn) == expected


@MANY
@given(shapes, positions("flip", 3))
def test_flip(shape, drawn):
    assert answer("flip", shape, **drawn) == ran(lambda: np.flip(empty(shape), drawn["axes"]))


@MANY
@given(shapes, positions("slice", 3))
def test_slice(shape, drawn):
    index = indices(drawn["slices"])
    assert answer("slice", shape, **drawn) == ran(lambda: empty(shape)[index])
    assert answer("slice", shape, slices=index) == answer("slice", shape, **drawn)


@MANY
@given(shapes, positions("split", 3))
def test_split(shape, drawn):
    parts, part = drawn["parts"], drawn["part"]
    expected = ran(lambda: np.split(empty(shape), parts, drawn["axis"])[part if part >= 0 else 9])
    assert answer("split", shape, **drawn) == expected


@MANY
@given(shapes, positions("roll", 3))
def test_roll(shape, drawn):
    assert answer("roll", shape, **drawn) == ran(lambda: np.roll(empty(shape), drawn["shift"], drawn["axis"]))


@MANY
@given(shapes, positions("swapaxes", 3))
def test_swapaxes(shape, drawn):
    assert answer("swapaxes", shape, **drawn) == ran(lambda: np.swapaxes(empty(shape), drawn["axis1"], drawn["axis2"]))


@MANY
@given(shapes, positions("moveaxis", 3))
def test_moveaxis(shape, drawn):
    assert answer("moveaxis", shape, **drawn) == ran(
        lambda: np.moveaxis(empty(shape), drawn["axes"], drawn["destination"])
    )


@MANY
@given(shapes, st.lists(st.integers(-1, 3), max_size=6).map(tuple))
def test_tile(shape, repeats):
    assume(prod(shape) or -1 not in repeats)  # NumPy reshapes what is empty, and takes -1 as to be inferred
    assert answer("tile", shape, repeats=repeats) == ran(lambda: np.tile(empty(shape), repeats))


@given(shapes)
def test_flatten(shape):
    assert answer("flatten", shape) == empty(shape).flatten().shape


@MANY
@given(ones, axes)
def test_squeeze(shape, named):
    assert answer("squeeze", shape, axes=named) == ran(lambda: np.squeeze(empty(shape), named))


@MANY
@given(ones, axes.filter(lambda named: named is not None))
def test_unsqueeze(shape, named):
    assert answer("unsqueeze", shape, axes=named) == ran(lambda: np.expand_dims(empty(shape), named))


@MANY
@given(ones, st.lists(st.integers(-2, 3), max_size=4).map(tuple))
def test_expand(shape, target):
    assert answer("expand", shape, target=target) == ran(lambda: np.broadcast_to(empty(shape), target))


@MANY
@given(shapes, st.one_of(st.none(), st.integers(-7, 7)), st.one_of(st.none(), st.integers(-7, 7)))
def test_shape_is_slicing(shape, start, end):
    assert answer("shape", shape, start=start, end=end) == empty(shape).shape[start:end]


@pytest.mark.parametrize("rank", [64, 65])
def test_the_rank_limit(rank):
    target = (1,) * rank
    assert answer("reshape", (1,), target=target) == ran(lambda: empty(1).reshape(target))
