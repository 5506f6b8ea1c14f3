"""Random chains of operators, judged node by node and held against ONNX Runtime, in which one sample is changed."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from shapecalc.models.operators import LISTED
from shapecalc.models.verdicts import OFFENCES, Verdict
from tests.models.judging import graph_model, judged
from tests.models.samples import changes, separating_axes, session

node = helper.make_node
STARTS = [("N", 4), ("N", 2, 3), ("N", 6, 4), (3, "N", 4)]
SIZES = (1, 2, 3)


def ints(*numbers):
    return np.array(numbers, np.int64)


class Chain:
    """A chain of nodes while it grows: the shape is that at a batch of 1."""

    def __init__(self, start, draw):
        self.start, self.draw = start, draw
        self.shape = [1 if size == "N" else size for size in start]
        self.nodes, self.constants = [], []

    def put(self, op, shape, *arguments, **attributes):
        at = len(self.nodes)
        names = [f"c{at}_{place}" for place in range(len(arguments))]
        self.constants += list(zip(names, arguments, strict=True))
        self.nodes.append(node(op, [f"x{at}", *names], [f"x{at + 1}"], **attributes))
        self.shape = [int(size) for size in shape]

    def axis(self):
        return self.draw(st.integers(0, len(self.shape) - 1))

    def reshape(self):
        sizes = list(self.shape)
        if len(sizes) > 1 and self.draw(st.booleans()):
            at = self.draw(st.integers(0, len(sizes) - 2))
            sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
        at = self.draw(st.integers(0, len(sizes) - 1))
        factor = self.draw(st.sampled_from([size for size in range(1, sizes[at] + 1) if sizes[at] % size == 0]))
        sizes[at : at + 1] = [factor, sizes[at] // factor]
        written = [
            self.draw(st.sampled_from([size, 0])) if at < len(self.shape) and size == self.shape[at] else size
            for at, size in enumerate(sizes)
        ]
        if self.draw(st.booleans()):
            written[self.draw(st.integers(0, len(written) - 1))] = -1
        self.put("Reshape", sizes, ints(*written))

    def transpose(self):
        perm = self.draw(st.permutations(range(len(self.shape))))
        self.put("Transpose", [self.shape[axis] for axis in perm], perm=perm)

    def flatten(self):
        axis = self.draw(st.integers(0, len(self.shape)))
        self.put("Flatten", [np.prod(self.shape[:axis]), np.prod(self.shape[axis:])], axis=axis)

    def unsqueeze(self):
        axis = self.axis()
        self.put("Unsqueeze", [*self.shape[:axis], 1, *self.shape[axis:]], ints(axis))

    def squeeze(self):
        axis = self.axis()
        if self.shape[axis] == 1 and len(self.shape) > 1:
            self.put("Squeeze", [*self.shape[:axis], *self.shape[axis + 1 :]], ints(axis))

    def tile(self):
        axis = self.axis()
        repeats = [2 if place == axis else 1 for place in range(len(self.shape))]
        self.put("Tile", np.multiply(self.shape, repeats), ints(*repeats))

    def softmax(self):
        self.put("Softmax", self.shape, axis=self.axis())

    def mean(self):
        axis, keeps = self.axis(), self.draw(st.integers(0, 1))
        shape = [*self.shape[:axis], *[1] * keeps, *self.shape[axis + 1 :]]
        if shape:
            self.put("ReduceMean", shape, ints(axis), keepdims=keeps)

    def half(self):
        axis = self.axis()
        size = self.shape[axis] // 2
        if size:
            shape = [*self.shape[:axis], size, *self.shape[axis + 1 :]]
            self.put("Slice", shape, ints(0), ints(size), ints(axis))

    def multiplied(self):
        if len(self.shape) > 1:
            weights = np.random.default_rng(2).normal(size=(self.shape[-1], 3)).astype(np.float32)
            self.put("MatMul", [*self.shape[:-1], 3], weights)

    def model(self, count, targets, outputs):
        """Return the model of the first nodes, with other targets in place of some constants."""
        constants = [(name, targets.get(name, array)) for name, array in self.constants]
        graph = helper.make_graph(
            self.nodes[:count],
            "g",
            [helper.make_tensor_value_info("x0", TensorProto.FLOAT, self.start)],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in constants],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


MOVES = ("reshape", "reshape", "transpose", "flatten", "unsqueeze", "squeeze", "tile", "softmax", "mean", "half")


@st.composite
def chains(draw):
    chain = Chain(draw(st.sampled_from(STARTS)), draw)
    for move in draw(st.lists(st.sampled_from((*MOVES, "multiplied")), min_size=1, max_size=6)):
        getattr(chain, move)()
    return chain


def bits_at(chain, count, targets, batch):
    """Return which samples a node's input and output depend on; None for the output if the node fails."""
    names = [f"x{count - 1}", f"x{count}"]
    shape = [batch if size == "N" else size for size in chain.start]
    feeds = {"x0": np.random.default_rng(batch).normal(size=shape).astype(np.float32)}
    axes = {"x0": chain.start.index("N")}
    own = np.broadcast_to((1 << np.arange(batch)).reshape([-1 if size == "N" else 1 for size in chain.start]), shape)
    if count == 1:
        before = own
    else:
        (before,) = changes(session(chain.model(count - 1, targets, names[:1])), feeds, axes, batch)
    try:
        (after,) = changes(session(chain.model(count, targets, names[1:])), feeds, axes, batch)
    except Exception:
        after = None
    return before, after


def is_kept(before, after, axis, batch):
    """Say whether an axis of the output is the batch alone, or holds what axis 0 held."""
    parts = before, np.moveaxis(after, axis, 0)
    held, holds = ([np.bitwise_or.reduce(each, axis=None) for each in samples] for samples in parts)
    return after.shape[axis] == batch or held == holds


def by_runtime(chain, count, targets):
    """Return the verdict on a node by the words' own definitions; None if its input holds the samples apart nowhere.

    A Softmax over an axis of size 1 holds none at all.
    """
    found = {batch: bits_at(chain, count, targets, batch) for batch in SIZES}
    runs = [after is not None for _, after in found.values()]
    if not runs[0]:
        return Verdict.FAILS
    if not all(runs):
        return Verdict.SOMETIMES if any(runs[1:]) else Verdict.ONLY
    words = set()
    for batch in SIZES[1:]:
        before, after = found[batch]
        here, there = separating_axes(before, batch), separating_axes(after, batch)
        if not here:
            return None
        if not there:
            words.add(Verdict.SCRAMBLES)
        elif 0 in here and 0 not in there and not any(is_kept(before, after, axis, batch) for axis in there):
            words.add(Verdict.SWALLOWS)
    return next((word for word in (Verdict.SCRAMBLES, Verdict.SWALLOWS) if word in words), Verdict.SAFE)


@settings(max_examples=60)
@given(chains())
def test_every_node_of_a_chain_is_judged_as_the_runtime_shows(chain):
    if not chain.nodes:
        return
    proto = graph_model(chain.nodes, [("x0", chain.start)], [f"x{len(chain.nodes)}"], chain.constants, shapes=False)
    _, follower = judged(proto)
    targets = {}
    for at, each in enumerate(chain.nodes):
        if each.op_type not in LISTED:
            continue
        told = follower.told.get(str(at))
        if told is None or told.verdict is Verdict.UNKNOWN:
            continue
        expected = by_runtime(chain, at + 1, targets)
        assert expected is None or told.verdict is expected, (at, told.why)
        if told.verdict in OFFENCES:
            fixable = told.fixes and told.fixes[0].target is not None and each.op_type == "Reshape"
            if not fixable:
                return
            targets[each.input[1]] = ints(*told.fixes[0].target)
