"""The torch dialect against PyTorch, where it is installed."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from shapecalc.core.ask import ask
from shapecalc.core.dialects.base import SINCE_25
from shapecalc.core.dialects.torch import TORCH
from shapecalc.core.resolve import resolve
from shapecalc.engine import run
from tests.engines.library_worker import indices
from tests.sampling import examples
from tests.strategies import POSITIONS, axes, images, ones, permutations, positions, reshapes, shapes, targets

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
MANY = examples(150)
NOT_REACHED = {"int2": "a placeholder without arithmetic", "uint2": "likewise", "int4": "likewise", "uint4": "likewise"}
"""Element types that PyTorch names and stores but that the dialect does not promise."""
DISAGREEMENTS = {
    "pixel_unshuffle of nothing, on the CPU": "it gives the tensor back as it was; the document does not",
    "roll of nothing": "it takes any axis, also one that there is not",
    "repeat of nothing": "it takes a repeat below 0, which the row refuses",
}
"""Where PyTorch is known to depart from its document, by name."""


def answer(op, shape, **arguments):
    return resolve(ask(op, shape, {**arguments, "dialect": "torch"})).output


def ran(call):
    """Return the shape of what `call` makes; `None` where PyTorch refuses, or where it keeps a -1 as a size."""
    try:
        shape = tuple(call().shape)
    except (RuntimeError, IndexError, ValueError):
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


KEEPS = {
    "select": lambda x, axis, index: x.select(axis, index),
    "slice": lambda x, slices: x[indices(slices)],
    "split": lambda x, axis, parts, part: x.chunk(parts, axis)[part if part >= 0 else parts],
    "flip": lambda x, axes: x.flip(axes),
    "roll": lambda x, shift, axis: x.roll(shift, axis),
    "swapaxes": lambda x, axis1, axis2: x.swapaxes(axis1, axis2),
    "unflatten": lambda x, axis, sizes: x.unflatten(axis, sizes),
    "tile": lambda x, repeats: x.repeat(repeats),
    "moveaxis": lambda x, axes, destination: x.movedim(axes, destination),
}


@MANY
@given(st.sampled_from(POSITIONS), shapes, st.data())
def test_kept_and_moved_positions(op, shape, data):
    drawn = data.draw(positions(op, len(shape)))
    axis = drawn.get("axis", 0)
    assume(op != "roll" or prod(shape))  # DISAGREEMENTS["roll of nothing"]
    assume(-1 not in drawn.get("repeats", ()) or prod(shape))  # DISAGREEMENTS["repeat of nothing"]
    cut = shape[axis] if op == "split" and -len(shape) <= axis < len(shape) else 0
    assume(drawn.get("parts", 1) < 1 or cut % drawn.get("parts", 1) == 0)  # chunk makes the last part smaller
    assert answer(op, shape, **drawn) == ran(lambda: KEEPS[op](torch.zeros(shape), **drawn))


@MANY
@given(ones, st.lists(st.integers(-2, 3), max_size=4).map(tuple))
def test_expand(shape, target):
    assert answer("expand", shape, target=target) == ran(lambda: torch.zeros(shape).expand(target))


@st.composite
def views(draw):
    """Draw a tensor with strides of many kinds, and a target of its volume or any other."""
    shape = draw(st.lists(st.sampled_from([1, 2, 2, 3, 4, 6, 0]), max_size=4).map(tuple))
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(shape))))
        whole = torch.empty([shape[axis] for axis in order])
        made = whole.permute([order.index(axis) for axis in range(len(shape))])
        return made[::2] if shape and draw(st.booleans()) else made, draw(targets(tuple(made.shape)))
    strides = draw(st.lists(st.integers(0, 12), min_size=len(shape), max_size=len(shape)))
    return torch.empty(1000).as_strided(shape, strides), draw(targets(shape))


@examples(600)
@given(views())
@example((torch.empty(1000).as_strided((2, 1, 3), (3, 7, 1)), (6,)))
@example((torch.empty(1000).as_strided((2, 3, 1), (3, 1, 7)), (6, 1, 1)))
@example((torch.empty(1000).as_strided((0, 3), (7, 5)), (0, 3)))
@example((torch.empty(1000).as_strided((1, 1), (7, 5)), ()))
def test_view_has_the_strides_of_torch_or_both_refuse(drawn):
    tensor, target = drawn
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    trace = resolve(ask("view", shape, {"target": target, "strides": strides}))
    try:
        theirs = tensor.view(target)
    except RuntimeError:
        assert trace.output is None
        return
    if any(dim < 0 for dim in theirs.shape):
        assert trace.output is None
        return
    assert trace.output == tuple(theirs.shape)
    assert trace.steps[-1].shape == theirs.stride()
    contiguous = resolve(ask("view", shape, {"target": target}))
    assert contiguous.steps[-1].shape == torch.empty(shape).view(target).stride()


def test_a_refused_view_names_the_dims_that_forbid_it():
    trace = resolve(ask("view", (2, 3, 4, 1), {"target": (2, 12), "strides": (12, 1, 3, 9)}))
    assert trace.problem.message == (
        "a dim would span dims 1 and 2, and dim 1 has stride 1 where 12 is needed (dim 2 is 4 of stride 3)"
    )
    assert (trace.problem.argument, trace.problem.index) == ("strides", 1)


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
