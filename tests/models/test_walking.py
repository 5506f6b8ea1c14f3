"""Walks against ONNX Runtime: at every size the shapes that are told, and the nodes that fail, are its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from shapecalc.models.answers import CoreCalls
from shapecalc.models.file import model_of
from shapecalc.models.free_dims import InputChoice, Lane
from shapecalc.models.walk import walked
from tests.models.chains import chains
from tests.models.judging import graph_model, judged
from tests.models.samples import session
from tests.sampling import examples

SIZES = (1, 2, 3, 5, 0)


class Bare:
    """A follower that mends nothing, and keeps where nodes fail: their names, by lane."""

    def __init__(self):
        self.core, self.failed = CoreCalls(), {}

    def start(self, walk):
        """Nothing is marked."""

    def carry(self, node):
        pass

    def judge(self, visit):
        self._note(visit.node, visit.problems)
        return visit.outputs

    def spoil(self, node, why):
        pass

    def trial(self):
        return Bare()

    def carried(self, tensors):
        return [None for _ in tensors]

    def lost(self, count):
        return [None] * count

    def enter(self, tensors, marks):
        pass

    def slice(self, node, tensor, inner, axis):
        pass

    def joined(self, marks, tensors):
        return [*marks]

    def stop(self, node, refused):
        self._note(node, refused)

    def _note(self, node, problems):
        for lane, problem in enumerate(problems):
            if problem:
                self.failed.setdefault(lane, node.name)


def walk_of(proto, sizes=SIZES):
    """Return the walk of a model whose only free dim is N, and the names of the first nodes that fail, by lane."""
    model = model_of(proto, Path("model.onnx"), {})
    lanes = tuple(Lane(size, {"N": size}, True) for size in sizes)
    follower = Bare()
    walk = walked(model, InputChoice("N", None, tuple(each.dims for each in model.inputs), lanes), follower)
    return walk, follower.failed


def shapes_by_name(walk, lane):
    names = walk.model.names
    return {names[number]: each and each[lane] for number, each in enumerate(walk.shapes) if number}


def ran(proto, feeds):
    """Return the shapes of all outputs by name, and the name of the node that fails; None if none does."""
    try:
        running = session(proto)
        outputs = running.run(None, feeds)
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return {}, failing_node(proto, str(error))
    return {each.name: np.shape(array) for each, array in zip(running.get_outputs(), outputs, strict=True)}, None


def failing_node(proto, message):
    """Return the name of the node that a message names."""
    return next((node.name for node in proto.graph.node if f"'{node.name}'" in message), message)


def up_to(proto, name):
    """Return the model without the node of that name and all after it."""
    kept = []
    for node in proto.graph.node:
        if node.name == name:
            break
        kept.append(node)
    outputs = [helper.make_empty_tensor_value_info(each) for node in kept for each in node.output]
    graph = helper.make_graph(kept, "g", proto.graph.input, outputs, proto.graph.initializer)
    return helper.make_model(graph, opset_imports=proto.opset_import, ir_version=proto.ir_version)


def assert_as_run(proto, walk, failed, lane, feeds):
    found, fails = ran(proto, feeds)
    assert failed.get(lane) == fails
    if fails and proto.graph.node[0].name != fails:
        found, again = ran(up_to(proto, fails), feeds)
        assert again is None
    told = shapes_by_name(walk, lane)
    assert {name: told[name] for name in found} == found


@examples(400)
@given(chains())
def test_shapes_and_failures_are_those_of_the_runtime(chain):
    proto = chain.model()
    walk, failed = walk_of(proto)
    for lane, size in enumerate(SIZES):
        assert_as_run(proto, walk, failed, lane, {"x": np.ones((size, *chain.start), np.float32)})


def test_indices_that_are_longer_than_what_they_gather_from_fail_as_they_run():
    """ONNX's inference takes them; the runtime does not."""
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], name="cast", to=TensorProto.INT64),
        helper.make_node("GatherElements", ["held", "i"], ["y"], name="gather", axis=1),
    ]
    held = numpy_helper.from_array(np.ones((2, 9), np.float32), "held")
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("i", "y")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [held])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    walk, failed = walk_of(proto)
    assert failed == {2: "gather", 3: "gather"}
    for lane, size in enumerate(SIZES):
        assert_as_run(proto, walk, failed, lane, {"x": np.zeros((size, 4), np.float32)})


@pytest.mark.parametrize(("op", "size"), [("Sub", 3000), ("Reshape", 3000), ("Sub", 5000)])
def test_elements_that_are_few_at_some_sizes_alone_leave_no_shape_unknown(op, size):
    """An empty tensor has few elements, and so has one of a single sample."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Slice", ["s", "zero", "one"], ["batch"]),
        helper.make_node("Concat", ["batch", "many"], ["both"], axis=0),
        helper.make_node("ConstantOfShape", ["both"], ["filled"]),
        helper.make_node("Cast", ["filled"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Cast", ["whole"], ["again"], to=TensorProto.INT64),
        helper.make_node(op, ["again", "target" if op == "Reshape" else "one"], ["y"]),
        helper.make_node("Transpose", ["y"], ["z"], perm=[1, 0]),
    ]
    numbers = {"zero": [0], "one": [1], "many": [size], "target": [0, 0]}
    constants = [(name, np.array(values)) for name, values in numbers.items()]
    walk, _ = judged(graph_model(nodes, [("x", ["N", 3])], ["z"], constants, shapes=False))
    assert walk.shapes[walk.model.names.index("z")] == tuple((size, lane.batch) for lane in walk.lanes)


@pytest.mark.parametrize("pads", [[1, 0, 0, 2], [0, 0, 0, 0], [0, -1, 0, 3], [1, 2, 3], [], [0, 0, 0, 0, 0, 0]])
def test_a_pad_gives_what_runs(pads):
    """Pads that only add are summed here; all others are ONNX's, and the runtime refuses some of them."""
    nodes = [helper.make_node("Pad", ["x", "pads"], ["y"], name="pad")]
    graph = graph_model(nodes, [("x", ["N", 4])], ["y"], [("pads", np.array(pads, np.int64))])
    walk, failed = walk_of(graph, (1, 2, 3, 5))
    for lane, size in enumerate((1, 2, 3, 5)):
        found, fails = ran(graph, {"x": np.ones((size, 4), np.float32)})
        told = shapes_by_name(walk, lane)["y"]
        assert told == found["y"] if not fails else told is None or failed.get(lane) == fails


@pytest.mark.parametrize(
    ("op", "shape", "weights", "attributes"),
    [
        ("Gemm", ["N", 4], [(2, 5)], {"transA": 1}),
        ("Gemm", [3, "N"], [(5, 2)], {"transB": 1}),
        ("Gemm", ["N", 4], [(4, 5)], {}),
        ("Conv", [1, "N", 5, 5], [(4, 2, 3, 3)], {}),
        ("Conv", [1, "N", 5, 5], [(4, 1, 3, 3)], {"group": 2}),
        ("ConvTranspose", [1, "N", 5, 5], [(3, 2, 3, 3)], {}),
        ("BatchNormalization", [1, "N", 5], [(3,)] * 4, {}),
    ],
)
def test_sizes_that_are_multiplied_with_one_another_must_be_the_same(op, shape, weights, attributes):
    """ONNX's inference does not compare them; the runtime does."""
    constants = [(f"w{place}", np.ones(each, np.float32)) for place, each in enumerate(weights)]
    nodes = [helper.make_node(op, ["x", *[name for name, _ in constants]], ["y"], name="node", **attributes)]
    graph = graph_model(nodes, [("x", shape)], ["y"], constants)
    walk, failed = walk_of(graph, (1, 2, 3, 5))
    for lane, size in enumerate((1, 2, 3, 5)):
        feed = np.ones([size if dim == "N" else dim for dim in shape], np.float32)
        assert_as_run(graph, walk, failed, lane, {"x": feed})
