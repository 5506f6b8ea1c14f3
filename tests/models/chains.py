"""Random models: chains of listed operators and of the shape arithmetic that exporters put around them."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

OPSETS = (11, 13, 17, 21)
IR_VERSION = 8


class Chain:
    """A model that grows by a node or a few; `shape` is that of the last tensor at a batch of `batch`."""

    def __init__(self, shape, batch, opset):
        self.start, self.batch, self.opset = tuple(shape), batch, opset
        self.shape, self.last = (batch, *shape), "x"
        self.nodes, self.constants, self.names = [], [], 0

    def name(self):
        self.names += 1
        return f"t{self.names}"

    def constant(self, values):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op, inputs, **attributes):
        name = self.name()
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", **attributes))
        return name

    def go(self, shape, op, *arguments, **attributes):
        """Add a node on the last tensor; `shape` is what it gives."""
        self.last = self.add(op, [self.last, *arguments], **attributes)
        self.shape = tuple(shape)

    def with_axes(self, op, axes):
        """Add a Squeeze or an Unsqueeze, whose axes became an input in opset 13."""
        given = {"axes": axes} if self.opset < 13 else {}
        self.last = self.add(op, [self.last, *([] if given else [self.constant(axes)])], **given)

    def dim(self, axis):
        """Add what reads a dim of the last tensor, as a vector of one."""
        return self.add("Gather", [self.add("Shape", [self.last]), self.constant([axis])], axis=0)

    def model(self):
        dims = ["N", *self.start]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
            [helper.make_empty_tensor_value_info(name) for node in self.nodes for name in node.output],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=IR_VERSION)


@st.composite
def chains(draw):
    """Draw a chain of some nodes."""
    dims = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3)
    chain = Chain(draw(dims), draw(st.sampled_from([1, 2])), draw(st.sampled_from(OPSETS)))
    for _ in range(draw(st.integers(1, 6))):
        draw(st.sampled_from(STEPS))(chain, draw)
    if not chain.nodes:
        chain.go(chain.shape, "Relu")
    return chain


def transposed(chain, draw):
    perm = draw(st.permutations(range(len(chain.shape))))
    chain.go([chain.shape[axis] for axis in perm], "Transpose", perm=perm)


def flattened(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    chain.go((prod(chain.shape[:axis]), prod(chain.shape[axis:])), "Flatten", axis=axis)


def unsqueezed(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    if len(chain.shape) < 5:
        chain.with_axes("Unsqueeze", [axis])
        chain.shape = (*chain.shape[:axis], 1, *chain.shape[axis:])


def squeezed(chain, draw):
    ones = [axis for axis, dim in enumerate(chain.shape) if dim == 1]
    if ones:
        axis = draw(st.sampled_from(ones))
        chain.with_axes("Squeeze", [axis])
        chain.shape = (*chain.shape[:axis], *chain.shape[axis + 1 :])


def expanded(chain, draw):
    target = [draw(st.sampled_from([1, dim] if dim > 1 else [1, 3])) for dim in chain.shape]
    shape = [max(dim, wanted) for dim, wanted in zip(chain.shape, target, strict=True)]
    if prod(shape) < 5000:
        chain.go(shape, "Expand", chain.constant(target))


def tiled(chain, draw):
    repeats = [draw(st.sampled_from([1, 1, 2])) for _ in chain.shape]
    shape = [dim * times for dim, times in zip(chain.shape, repeats, strict=True)]
    if prod(shape) < 5000:
        chain.go(shape, "Tile", chain.constant(repeats))


def sliced(chain, draw):
    if not chain.shape:
        return
    axis = draw(st.integers(0, len(chain.shape) - 1))
    end = draw(st.sampled_from([1, chain.shape[axis], 2**40]))
    shape = [min(dim, end) if place == axis else dim for place, dim in enumerate(chain.shape)]
    chain.go(shape, "Slice", *map(chain.constant, ([0], [end], [axis], [1])))


def doubled(chain, draw):
    if chain.shape and prod(chain.shape) < 2000:
        axis = draw(st.integers(0, len(chain.shape) - 1))
        shape = [2 * dim if place == axis else dim for place, dim in enumerate(chain.shape)]
        chain.go(shape, "Concat", chain.last, axis=axis)


def passed(chain, draw):
    chain.go(chain.shape, draw(st.sampled_from(["Relu", "Neg", "Softplus"])))


def reshaped(chain, draw):
    """Reshape to other cuts of the same elements: in numbers, with 0 and -1, or with dims that are computed."""
    settled = regrouped(chain.shape, draw)
    target, parts = list(settled), []
    inferred = draw(st.sampled_from([None, *range(len(target))])) if prod(target) else None
    for out, dim in enumerate(target):
        source = draw(st.sampled_from(["number", "copy", "read", "multiplied", "divided"]))
        equal = [axis for axis, size in enumerate(chain.shape) if size == dim]
        if out == inferred:
            target[out] = -1
        elif source == "copy" and out < len(chain.shape) and chain.shape[out] == dim:
            target[out] = 0
        elif source in ("read", "multiplied", "divided") and equal:
            read = chain.dim(draw(st.sampled_from(equal)))
            if source != "read":
                read = chain.add("Mul", [read, chain.constant([2])])
                read = chain.add("Div", [read, chain.constant([2])]) if source == "divided" else read
            parts.append((out, read, 2 * dim if source == "multiplied" else dim))
    computed = {out: name for out, name, size in parts if size == settled[out]}
    if computed:
        pieces = [computed.get(out) or chain.constant([size]) for out, size in enumerate(target)]
        goal = chain.add("Concat", pieces, axis=0)
    else:
        goal = chain.constant(target)
    chain.go(settled, "Reshape", goal)


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
    transposed,
    flattened,
    unsqueezed,
    squeezed,
    expanded,
    tiled,
    sliced,
    doubled,
    passed,
    reshaped,
    reshaped,
    reshaped,
)
