"""Random models as text: chains of listed operators with the shape arithmetic of exporters."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from tests.models.text import model

OPSETS = (11, 13, 17, 21)
SMALL = 2000
"""The largest element count before an operator that increases it."""


def comma(numbers):
    return ",".join(map(str, numbers))


class Chain:
    """A model that grows by nodes; `shape` is that of the last tensor at batch size `batch`."""

    def __init__(self, start, batch, opset):
        self.start, self.batch, self.opset, self.last = comma(start), batch, opset, "x"
        self.shape = tuple([batch if dim == "N" else dim for dim in start])
        self.lines, self.names = [], []

    def add(self, op, *words):
        self.names.append(f"t{len(self.names)}")
        self.lines.append(f"{self.names[-1]} = {op} {' '.join(words)}")
        return self.names[-1]

    def go(self, shape, op, *words):
        """Add a node on the last tensor; `shape` is its output shape."""
        self.last, self.shape = self.add(op, self.last, *words), tuple(map(int, shape))

    def with_axes(self, shape, op, axis, since, *words):
        """Add a node whose axes are an input from an opset on."""
        self.go(shape, op, f"{'axes=' * (self.opset < since)}[{axis}]", *words)

    @property
    def body(self):
        return "\n".join(self.lines)

    def model(self, **changed):
        """Return the model, with some constants changed; every tensor is an output."""
        return model(f"opset {self.opset}; x = ({self.start})\n{self.body}\n=> {' '.join(self.names)}", **changed)


FIRST = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3).map(lambda dims: ("N", *dims))


@st.composite
def chains(draw, starts=FIRST, batches=(1, 2), steps=()):
    """Draw a chain of the usual or given steps, with the targets of one of the batch sizes."""
    chain = Chain(draw(starts), draw(st.sampled_from(batches)), draw(st.sampled_from(OPSETS)))
    for step in draw(st.lists(st.sampled_from(steps or STEPS), min_size=1, max_size=6)):
        step(chain, draw)
    if not chain.lines:
        chain.go(chain.shape, "Relu")
    return chain


def changed(shape, axis, *sizes):
    """Replace an axis of a shape by other sizes."""
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def add_move(chain, draw):
    """Add an operator that keeps the elements and changes the dims."""
    op = draw(st.sampled_from(["Transpose", "Flatten", "Unsqueeze", "Squeeze"]))
    shape, axis = chain.shape, draw(st.integers(0, len(chain.shape)))
    if op == "Transpose":
        perm = draw(st.permutations(range(len(shape))))
        chain.go([shape[axis] for axis in perm], op, f"perm=[{comma(perm)}]")
    elif op == "Flatten":
        chain.go((prod(shape[:axis]), prod(shape[axis:])), op, f"axis={axis}")
    elif op == "Unsqueeze" and len(shape) < 5:
        chain.with_axes((*shape[:axis], 1, *shape[axis:]), op, axis, 13)
    elif op == "Squeeze" and 1 in shape:
        axis = draw(st.sampled_from([axis for axis, dim in enumerate(shape) if dim == 1]))
        chain.with_axes(changed(shape, axis), op, axis, 13)


def add_repeat(chain, draw):
    """Add an operator that repeats elements or drops some."""
    op, shape = draw(st.sampled_from(["Expand", "Tile", "Concat", "Slice"])), chain.shape
    if not shape or prod(shape) > SMALL:
        return
    axis = draw(st.integers(0, len(shape) - 1))
    if op == "Expand":
        target = [draw(st.sampled_from([1, dim] if dim > 1 else [1, 3])) for dim in shape]
        chain.go(map(max, shape, target), op, f"[{comma(target)}]")
    elif op == "Tile":
        repeats = [draw(st.sampled_from([1, 1, 2])) for _ in shape]
        chain.go(np.multiply(shape, repeats), op, f"[{comma(repeats)}]")
    elif op == "Concat":
        chain.go(changed(shape, axis, 2 * shape[axis]), op, chain.last, f"axis={axis}")
    else:
        end = draw(st.sampled_from([1, shape[axis], 2**40]))
        chain.go(changed(shape, axis, min(shape[axis], end)), op, f"[0] [{end}] [{axis}] [1]")


def add_elementwise(chain, draw):
    chain.go(chain.shape, draw(st.sampled_from(["Relu", "Neg", "Softplus"])))


def add_mix(chain, draw):
    """Add an operator that mixes the elements along an axis."""
    op = draw(st.sampled_from(["Softmax", "ReduceMean", "MatMul"]))
    if len(chain.shape) < 2:
        return
    axis, keeps = draw(st.integers(0, len(chain.shape) - 1)), draw(st.integers(0, 1))
    if op == "Softmax":
        chain.go(chain.shape, op, f"axis={axis}")
    elif op == "ReduceMean":
        chain.with_axes(changed(chain.shape, axis, *[1] * keeps), op, axis, 18, f"keepdims={keeps}")
    else:
        chain.go((*chain.shape[:-1], 3), op, f"floats({chain.shape[-1]},3)")


def add_constant_reshape(chain, draw):
    """Add a Reshape to a constant target, with 0 and -1."""
    shape = draw_regrouping(chain.shape, draw)
    target = [
        draw(st.sampled_from([size, 0])) if (size,) == chain.shape[at : at + 1] else size
        for at, size in enumerate(shape)
    ]
    if target and prod(shape) and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    chain.go(shape, "Reshape", f"[{comma(target)}]")


def add_computed_reshape(chain, draw):
    """Add a Reshape to dims that are partly read from a shape, multiplied and divided."""
    shape, pieces = draw_regrouping(chain.shape, draw), []
    for size in shape:
        equal = [axis for axis, dim in enumerate(chain.shape) if size == dim]
        source = draw(st.sampled_from(["number", "read", "divided"])) if equal else "number"
        piece = f"[{size}]"
        if source != "number":
            piece = chain.add("Gather", chain.add("Shape", chain.last), f"[{draw(st.sampled_from(equal))}]")
        if source == "divided":
            piece = chain.add("Div", chain.add("Mul", piece, "[2]"), "[2]")
        pieces.append(piece)
    if pieces:
        chain.go(shape, "Reshape", chain.add("Concat", *pieces, "axis=0"))


def draw_regrouping(shape, draw):
    """Return a shape of equal element count: two dims merged, one split, or a 1 inserted."""
    dims = list(shape)
    if len(dims) > 1 and draw(st.booleans()):
        place = draw(st.integers(0, len(dims) - 2))
        dims[place : place + 2] = [dims[place] * dims[place + 1]]
    if dims and len(dims) < 5 and draw(st.booleans()):
        place = draw(st.integers(0, len(dims) - 1))
        factor = draw(st.sampled_from([each for each in range(1, dims[place] + 1) if dims[place] % each == 0]))
        dims[place : place + 1] = [factor, dims[place] // factor]
    return dims


STEPS = (
    add_move,
    add_move,
    add_repeat,
    add_repeat,
    add_elementwise,
    add_constant_reshape,
    add_constant_reshape,
    add_computed_reshape,
)
