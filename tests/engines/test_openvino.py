"""The openvino dialect against OpenVINO's own shape inference, where it is installed."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.resolve import resolve
from tests.engines.library_worker import ends_of
from tests.sampling import examples
from tests.strategies import axes, ones, permutations, positions, reshapes, shapes

openvino = pytest.importorskip("openvino", reason="OpenVINO is not installed")
from openvino import opset8  # noqa: E402

MANY = examples(150)

DISAGREEMENTS = {
    "special_zero switches the element count check off": "(2,3,4) to 0,5 is (2,5) at load, refused when it runs",
    "an empty list cannot be made a constant": "its Python API refuses, whatever the operator says",
    "gather reads zeros out of range": "the document says so of the operator, and the row refuses what is no position",
    "broadcast takes a negative size as unknown": "the document asks for a positive shape",
    "tile takes a negative repeat for 0": "the document is silent",
}
"""Where the engine is known to depart from its documents, by name; the tests below step around each."""


def answer(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "openvino"})).output


def ran(call, shape, *lists, **options):
    """Return the shape that inference gives; `None` where OpenVINO refuses."""
    constants = [opset8.constant(np.array(values, np.int64)) for values in lists]
    try:
        node = call(opset8.parameter(list(shape), np.float32), *constants, **options)
    except RuntimeError:
        return None
    return tuple(node.output(0).shape)


@MANY
@given(reshapes().filter(lambda drawn: drawn[1]), st.booleans())
def test_reshape(drawn, special_zero):
    shape, target = drawn
    ours = answer("reshape", shape, target=target, special_zero=special_zero)
    theirs = ran(lambda x, s: opset8.reshape(x, s, special_zero), shape, target)
    if ours is None and theirs is not None and special_zero and 0 in target and -1 not in target:
        assert prod(theirs) != prod(shape), DISAGREEMENTS["special_zero switches the element count check off"]
    else:
        assert ours == theirs


@MANY
@given(shapes.filter(bool), positions("select", 3))
def test_select(shape, drawn):
    ours, theirs = answer("select", shape, **drawn), ran(opset8.gather, shape, drawn["index"], drawn["axis"])
    if ours is None and theirs is not None:
        dim = shape[drawn["axis"]]
        assert not -dim <= drawn["index"] < dim, DISAGREEMENTS["gather reads zeros out of range"]
    else:
        assert ours == theirs


@MANY
@given(shapes.filter(bool), positions("slice", 3).filter(lambda drawn: drawn["slices"] != "[]"))
def test_slice(shape, drawn):
    ends = ends_of(drawn["slices"])
    assert answer("slice", shape, **drawn) == ran(opset8.slice, shape, *ends, [*range(len(ends[0]))])


@MANY
@given(shapes.filter(bool), positions("split", 3).filter(lambda drawn: drawn["part"] == 0 <= drawn["parts"]))
def test_split(shape, drawn):
    split = lambda x, axis: opset8.split(x, axis, drawn["parts"])  # noqa: E731
    assert answer("split", shape, **drawn) == ran(split, shape, drawn["axis"])


@MANY
@given(shapes.filter(bool), positions("roll", 3))
def test_roll(shape, drawn):
    assert answer("roll", shape, **drawn) == ran(opset8.roll, shape, drawn["shift"], drawn["axis"])


@MANY
@given(shapes, st.lists(st.integers(0, 3), min_size=1, max_size=6).map(tuple))
def test_tile(shape, repeats):
    assert answer("tile", shape, repeats=repeats) == ran(opset8.tile, shape, repeats)


@MANY
@given(permutations().filter(lambda drawn: drawn[1]))
def test_transpose(drawn):
    shape, perm = drawn
    assert answer("transpose", shape, perm=perm) == ran(opset8.transpose, shape, perm)


def test_an_empty_order_reverses():
    assert answer("transpose", (2, 3, 4), perm=()) == (4, 3, 2)


@MANY
@given(ones, axes.filter(lambda named: named))
def test_squeeze(shape, named):
    assert answer("squeeze", shape, axes=named) == ran(opset8.squeeze, shape, named)


@MANY
@given(ones, axes.filter(lambda named: named))
def test_unsqueeze(shape, named):
    assert answer("unsqueeze", shape, axes=named) == ran(opset8.unsqueeze, shape, named)


@pytest.mark.parametrize(
    "named", [(0, 0), (2, 2), (0, -4), (-1, -1), (3, 0, 0), (0, 1, 2, 2, 4), (2, -1, 5, -4), (3, 3)]
)
def test_unsqueeze_counts_repeated_axes_once(named):
    assert answer("unsqueeze", (2, 3), axes=named) == ran(opset8.unsqueeze, (2, 3), named)


@MANY
@given(ones, st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple))
def test_expand(shape, target):
    assert answer("expand", shape, target=target) == ran(opset8.broadcast, shape, target)
