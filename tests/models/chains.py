"""Random models: chains of listed operators and of the shape arithmetic that exporters put around them."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

OPSETS = (11, 13, 17, 21)
IR_VERSION = 8
SMALL = 2000
"""How many elements there are at most in front of what makes more of them."""


class Chain:
    """A model that grows by a node or a few; `shape` is that of the last tensor at a batch of `batch`."""

    def __init__(self, start, batch, opset):
        self.start, self.opset = tuple(start), opset
        self.shape, self.last = tuple([batch if dim == "N" else dim for dim in start]), "x"
        self.nodes, self.constants, self.names = [], {}, 0

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def constant(self, values):
        name = self.name()
        self.constants[name] = values if isinstance(values, np.ndarray) else np.array(values, np.int64)
        return name

    def add(self, op, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def go(self, shape, op, *arguments, **attributes):
        """Add a node on the last tensor; `shape` is what it gives."""
        self.last = self.add(op, [self.last, *arguments], **attributes)
        self.shape = tuple(map(int, shape))

    def with_axes(self, shape, op, axes, since, **attributes):
        """Add a node whose axes became an input in an opset."""
        if self.opset < since:
            self.go(shape, op, axes=axes, **attributes)
        else:
            self.go(shape, op, self.constant(axes), **attributes)

    def dim(self, axis):
        """Add what reads a dim of the last tensor, as a vector of one."""
        return self.add("Gather", [self.add("Shape", [self.last]), self.constant([axis])], axis=0)

    def model(self, **changed):
        """Return the model, with some constants changed; all that is made is an output."""
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.start)],
            [helper.make_empty_tensor_value_info(name) for node in self.nodes for name in node.output],
            [numpy_helper.from_array(array, name) for name, array in (self.constants | changed).items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR_VERSION)


FIRST = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3).map(lambda dims: ("N", *dims))


@st.composite
def chains(draw, starts=FIRST, batches=(1, 2), others=()):
    """Draw a chain of some nodes, of the usual steps and others."""
    chain = Chain(draw(starts), draw(st.sampled_from(batches)), draw(st.sampled_from(OPSETS)))
    for step in draw(st.lists(st.sampled_from((*STEPS, *others)), min_size=1, max_size=6)):
        step(chain, draw)
    if not chain.nodes:
        chain.go(chain.shape, "Relu")
    return chain


def axis_of(chain, draw):
    return draw(st.integers(0, len(chain.shape) - 1))


def changed(shape, axis, *sizes):
    """Return a shape with other sizes in place of an axis."""
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def transposed(chain, draw):
    perm = draw(st.permutations(range(len(chain.shape))))
    chain.go([chain.shape[axis] for axis in perm], "Transpose", perm=perm or None)


def flattened(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    chain.go((prod(chain.shape[:axis]), prod(chain.shape[axis:])), "Flatten", axis=axis)


def unsqueezed(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    if len(chain.shape) < 5:
        chain.with_axes((*chain.shape[:axis], 1, *chain.shape[axis:]), "Unsqueeze", [axis], 13)


def squeezed(chain, draw):
    ones = [axis for axis, dim in enumerate(chain.shape) if dim == 1]
    if ones:
        axis = draw(st.sampled_from(ones))
        chain.with_axes(changed(chain.shape, axis), "Squeeze", [axis], 13)


def expanded(chain, draw):
    target = [draw(st.sampled_from([1, dim] if dim > 1 else [1, 3])) for dim in chain.shape]
    if prod(chain.shape) < SMALL:
        chain.go(map(max, chain.shape, target), "Expand", chain.constant(target))


def tiled(chain, draw):
    repeats = [draw(st.sampled_from([1, 1, 2])) for _ in chain.shape]
    if prod(chain.shape) < SMALL:
        chain.go(np.multiply(chain.shape, repeats), "Tile", chain.constant(repeats))


def sliced(chain, draw):
    if chain.shape:
        axis = axis_of(chain, draw)
        end = draw(st.sampled_from([1, chain.shape[axis], 2**40]))
        shape = changed(chain.shape, axis, min(chain.shape[axis], end))
        chain.go(shape, "Slice", *map(chain.constant, ([0], [end], [axis], [1])))


def doubled(chain, draw):
    if chain.shape and prod(chain.shape) < SMALL:
        axis = axis_of(chain, draw)
        chain.go(changed(chain.shape, axis, 2 * chain.shape[axis]), "Concat", chain.last, axis=axis)


def passed(chain, draw):
    chain.go(chain.shape, draw(st.sampled_from(["Relu", "Neg", "Softplus"])))


def mixed(chain, draw):
    if chain.shape:
        chain.go(chain.shape, "Softmax", axis=axis_of(chain, draw))


def averaged(chain, draw):
    if len(chain.shape) > 1:
        axis, keeps = axis_of(chain, draw), draw(st.integers(0, 1))
        chain.with_axes(changed(chain.shape, axis, *[1] * keeps), "ReduceMean", [axis], 18, keepdims=keeps)


def multiplied(chain, _):
    if len(chain.shape) > 1:
        weights = np.random.default_rng(2).normal(size=(chain.shape[-1], 3)).astype(np.float32)
        chain.go((*chain.shape[:-1], 3), "MatMul", chain.constant(weights))


def reshaped(chain, draw):
    """Reshape to other cuts of the same elements, in numbers, with 0 and -1."""
    shape = regrouped(chain.shape, draw)
    target = [
        draw(st.sampled_from([size, 0])) if (size,) == chain.shape[at : at + 1] else size
        for at, size in enumerate(shape)
    ]
    if target and prod(shape) and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    chain.go(shape, "Reshape", chain.constant(target))


def computed(chain, draw):
    """Reshape to dims of which some are read from a shape, and multiplied and divided again."""
    shape = regrouped(chain.shape, draw)
    pieces = []
    for size in shape:
        equal = [axis for axis, dim in enumerate(chain.shape) if size == dim]
        source = draw(st.sampled_from(["number", "read", "divided"])) if equal else "number"
        if source == "number":
            pieces.append(chain.constant([size]))
        else:
            pieces.append(chain.dim(draw(st.sampled_from(equal))))
        if source == "divided":
            twice = chain.add("Mul", [pieces[-1], chain.constant([2])])
            pieces[-1] = chain.add("Div", [twice, chain.constant([2])])
    if pieces:
        chain.go(shape, "Reshape", chain.add("Concat", pieces, axis=0))


def regrouped(shape, draw):
    """Return a shape of as many elements: two neighbours merged, one dim split, or one of 1 more."""
    dims = list(shape)
    if len(dims) > 1 and draw(st.booleans()):
        place = draw(st.integers(0, len(dims) - 2))
        dims[place : place + 2] = [dims[place] * dims[place + 1]]
    if dims and len(dims) < 5 and draw(st.booleans()):
        place = draw(st.integers(0, len(dims) - 1))
        factors = [each for each in range(1, dims[place] + 1) if dims[place] % each == 0] or [1]
        factor = draw(st.sampled_from(factors))
        dims[place : place + 1] = [factor, dims[place] // factor]
    return dims


STEPS = (
    *(transposed, flattened, unsqueezed, squeezed, expanded, tiled, sliced, doubled, passed),
    *(reshaped, reshaped, computed),
)
