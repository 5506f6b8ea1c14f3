"""Random models as text: chains of listed operators and of the shape arithmetic that exporters put around them."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from tests.models.text import model

OPSETS = (11, 13, 17, 21)
SMALL = 2000
"""How many elements there are at most in front of what makes more of them."""


def comma(numbers):
    return ",".join(map(str, numbers))


class Chain:
    """A model that grows by a node or a few; `shape` is that of the last tensor at a batch of `batch`."""

    def __init__(self, start, batch, opset):
        self.start, self.batch, self.opset, self.last = comma(start), batch, opset, "x"
        self.shape = tuple([batch if dim == "N" else dim for dim in start])
        self.lines, self.names = [], []

    def add(self, op, *words):
        self.names.append(f"t{len(self.names)}")
        self.lines.append(f"{self.names[-1]} = {op} {' '.join(words)}")
        return self.names[-1]

    def go(self, shape, op, *words):
        """Add a node on the last tensor; `shape` is what it gives."""
        self.last, self.shape = self.add(op, self.last, *words), tuple(map(int, shape))

    def with_axes(self, shape, op, axis, since, *words):
        """Add a node whose axes became an input in an opset."""
        self.go(shape, op, f"{'axes=' * (self.opset < since)}[{axis}]", *words)

    @property
    def body(self):
        return "\n".join(self.lines)

    def model(self, **changed):
        """Return the model, with some constants changed; all that is made is an output."""
        return model(f"opset {self.opset}; x = ({self.start})\n{self.body}\n=> {' '.join(self.names)}", **changed)


FIRST = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3).map(lambda dims: ("N", *dims))


@st.composite
def chains(draw, starts=FIRST, batches=(1, 2), steps=()):
    """Draw a chain of some nodes, of the usual steps or of these; its targets are those of one of some batches."""
    chain = Chain(draw(starts), draw(st.sampled_from(batches)), draw(st.sampled_from(OPSETS)))
    for step in draw(st.lists(st.sampled_from(steps or STEPS), min_size=1, max_size=6)):
        step(chain, draw)
    if not chain.lines:
        chain.go(chain.shape, "Relu")
    return chain


def axis_of(chain, draw):
    return draw(st.integers(0, len(chain.shape) - 1))


def changed(shape, axis, *sizes):
    """Return a shape with other sizes in place of an axis."""
    return (*shape[:axis], *sizes, *shape[axis + 1 :])


def transposed(chain, draw):
    perm = draw(st.permutations(range(len(chain.shape))))
    chain.go([chain.shape[axis] for axis in perm], "Transpose", f"perm=[{comma(perm)}]")


def flattened(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    chain.go((prod(chain.shape[:axis]), prod(chain.shape[axis:])), "Flatten", f"axis={axis}")


def unsqueezed(chain, draw):
    axis = draw(st.integers(0, len(chain.shape)))
    if len(chain.shape) < 5:
        chain.with_axes((*chain.shape[:axis], 1, *chain.shape[axis:]), "Unsqueeze", axis, 13)


def squeezed(chain, draw):
    if 1 in chain.shape:
        axis = draw(st.sampled_from([axis for axis, dim in enumerate(chain.shape) if dim == 1]))
        chain.with_axes(changed(chain.shape, axis), "Squeeze", axis, 13)


def expanded(chain, draw):
    if chain.shape and prod(chain.shape) < SMALL:
        target = [draw(st.sampled_from([1, dim] if dim > 1 else [1, 3])) for dim in chain.shape]
        chain.go(map(max, chain.shape, target), "Expand", f"[{comma(target)}]")


def tiled(chain, draw):
    if chain.shape and prod(chain.shape) < SMALL:
        repeats = [draw(st.sampled_from([1, 1, 2])) for _ in chain.shape]
        chain.go(np.multiply(chain.shape, repeats), "Tile", f"[{comma(repeats)}]")


def sliced(chain, draw):
    if chain.shape:
        axis = axis_of(chain, draw)
        end = draw(st.sampled_from([1, chain.shape[axis], 2**40]))
        shape = changed(chain.shape, axis, min(chain.shape[axis], end))
        chain.go(shape, "Slice", f"[0] [{end}] [{axis}] [1]")


def doubled(chain, draw):
    if chain.shape and prod(chain.shape) < SMALL:
        axis = axis_of(chain, draw)
        chain.go(changed(chain.shape, axis, 2 * chain.shape[axis]), "Concat", chain.last, f"axis={axis}")


def passed(chain, draw):
    chain.go(chain.shape, draw(st.sampled_from(["Relu", "Neg", "Softplus"])))


def mixed(chain, draw):
    if chain.shape:
        chain.go(chain.shape, "Softmax", f"axis={axis_of(chain, draw)}")


def averaged(chain, draw):
    if len(chain.shape) > 1:
        axis, keeps = axis_of(chain, draw), draw(st.integers(0, 1))
        chain.with_axes(changed(chain.shape, axis, *[1] * keeps), "ReduceMean", axis, 18, f"keepdims={keeps}")


def multiplied(chain, _):
    if len(chain.shape) > 1:
        chain.go((*chain.shape[:-1], 3), "MatMul", f"floats({chain.shape[-1]},3)")


def reshaped(chain, draw):
    """Reshape to other cuts of the same elements, in numbers, with 0 and -1."""
    shape = regrouped(chain.shape, draw)
    target = [
        draw(st.sampled_from([size, 0])) if (size,) == chain.shape[at : at + 1] else size
        for at, size in enumerate(shape)
    ]
    if target and prod(shape) and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    chain.go(shape, "Reshape", f"[{comma(target)}]")


def computed(chain, draw):
    """Reshape to dims of which some are read from a shape, and multiplied and divided again."""
    shape, pieces = regrouped(chain.shape, draw), []
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


def regrouped(shape, draw):
    """Return a shape of as many elements: two neighbours merged, one dim split, or one of 1 more."""
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
    *(transposed, flattened, unsqueezed, squeezed, expanded, tiled, sliced, doubled, passed),
    *(reshaped, reshaped, computed),
)
