"""The torch dialect against PyTorch, where it is installed."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.core.asking.ask import ask
from shapecalc.core.asking.resolve import resolve
from shapecalc.core.dialects.element_types import SINCE_25
from shapecalc.core.dialects.torch import TORCH
from shapecalc.engine import run
from tests.sampling import examples
from tests.strategies import axes, images, ones, permutations, reshapes, shapes

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
MANY = examples(150)
NOT_REACHED = {"int2": "a placeholder without arithmetic", "uint2": "likewise", "int4": "likewise", "uint4": "likewise"}
"""Element types that PyTorch names and stores but that the dialect does not promise."""
DISAGREEMENTS = {"pixel_unshuffle of nothing, on the CPU": "it gives the tensor back as it was; the document does not"}
"""Where PyTorch is known to depart from its document, by name."""


def answer(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "torch"})).output


def ran(call):
    """Return the shape of what `call` makes; `None` where PyTorch refuses, or where it keeps a -1 as a size."""
    try:
        shape = tuple(call().shape)
    except (RuntimeError, IndexError):
        return None
    return None if any(dim < 0 for dim in shape) else shape


@MANY
@given(reshapes())
def test_reshape(drawn):
    shape, target = drawn
    assert answer("reshape", shape, target=target) == ran(lambda: torch.zeros(shape).reshape(target))


@MANY
@given(permutations())
def test_permute(drawn):
    shape, perm = drawn
    assert answer("transpose", shape, perm=perm) == ran(lambda: torch.permute(torch.zeros(shape), perm))


@MANY
@given(shapes, st.integers(-5, 5), st.integers(-5, 5))
def test_flatten(shape, start, end):
    ours = answer("flatten", shape, start_dim=start, end_dim=end)
    assert ours == ran(lambda: torch.flatten(torch.zeros(shape), start, end))


@MANY
@given(ones, axes)
def test_squeeze(shape, named):
    squeezed = (lambda: torch.zeros(shape).squeeze()) if named is None else (lambda: torch.zeros(shape).squeeze(named))
    assert answer("squeeze", shape, axes=named) == ran(squeezed)


@MANY
@given(ones, st.integers(-5, 5))
def test_unsqueeze(shape, axis):
    assert answer("unsqueeze", shape, axes=(axis,)) == ran(lambda: torch.zeros(shape).unsqueeze(axis))


@MANY
@given(ones, st.lists(st.integers(-2, 3), max_size=4).map(tuple))
def test_expand(shape, target):
    assert answer("expand", shape, target=target) == ran(lambda: torch.zeros(shape).expand(target))


def rearranged(op, shape, block, theirs):
    """Fail unless an op makes what PyTorch makes, or both refuse."""
    trace = resolve(ask(op, shape, {"block": block, "dialect": "torch"}))
    if trace.output is not None and 0 in shape:
        meta = theirs(torch.empty(shape, device="meta"), block)
        assert trace.output == tuple(meta.shape), DISAGREEMENTS["pixel_unshuffle of nothing, on the CPU"]
        return
    assert trace.output == ran(lambda: theirs(torch.zeros(shape), block))
    if trace.output is not None:
        data = torch.arange(prod(shape)).reshape(shape)
        assert run(trace, data.numpy()).array.tolist() == theirs(data, block).tolist()


IMAGES = st.one_of(
    images, images.map(lambda shape: shape[1:]), images.map(lambda shape: (2, *shape)), st.just(()), shapes
)


@MANY
@given(IMAGES, st.integers(-1, 4))
def test_pixel_shuffle_value_by_value(shape, block):
    rearranged("depth_to_space", shape, block, torch.pixel_shuffle)


@MANY
@given(IMAGES, st.integers(-1, 4))
def test_pixel_unshuffle_value_by_value(shape, block):
    rearranged("space_to_depth", shape, block, torch.pixel_unshuffle)


@pytest.mark.parametrize("name", sorted(SINCE_25 - set(NOT_REACHED)))
def test_the_element_types_are_those_that_torch_has(name):
    assert hasattr(torch, name) is (name in TORCH.types)
