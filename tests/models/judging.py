"""Models walked in a few lanes, with what the follower said of each listed node."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper

from shapecalc.models.file import model_of
from shapecalc.models.free_dims import InputChoice, Lane
from shapecalc.models.propagate import Judge
from shapecalc.models.walk import walked
from tests.models.samples import IR_VERSION


class Telling(Judge):
    """A follower that keeps what it said, by the node's path."""

    def __init__(self):
        super().__init__()
        self.told = {}

    def judge(self, visit):
        self.told[visit.node.path] = found = self._judged(visit)
        return found.outputs


def graph_model(nodes, inputs, outputs, constants=(), *, opset=18, ir_version=IR_VERSION, functions=(), shapes=True):
    """Return a model; inputs are pairs of a name and a shape, constants pairs of a name and an array."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, functions=functions)
    if not shapes:
        return model
    for output, inferred in zip(model.graph.output, onnx.shape_inference.infer_shapes(model).graph.output, strict=True):
        output.CopyFrom(inferred)
        output.type.tensor_type.shape.SetInParent()
    return model


def judged(proto, sizes=(1, 2, 3)):
    """Return the walk of a model and its follower: the batch is axis 0 of the first input, or what is called N."""
    model = model_of(proto, Path("model.onnx"), {})
    named = [tuple(each.dims) for each in model.inputs]
    if any("N" in dims for dims in named):
        taken, declared = named, None
    else:
        taken, declared = [("N", *named[0][1:]), *named[1:]], named[0][0]
    every = sorted({*sizes, declared or 1})
    lanes = [Lane(size, {"N": size}, True) for size in every] + [Lane(0, {"N": 0}, False)]
    follower = Telling()
    return walked(model, InputChoice("N", declared, tuple(taken), tuple(lanes)), follower), follower
