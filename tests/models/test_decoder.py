"""A decoder with its cache: sums of past and new tokens are told, and hold at sizes that were not walked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from shapecalc.core.dims import substitute
from shapecalc.models.file import model_of
from shapecalc.models.free_dims import Sum
from shapecalc.models.judge import judged_model
from tests.models.samples import session

NODES = [
    helper.make_node("Reshape", ["x", "heads"], ["x4"]),
    helper.make_node("Transpose", ["x4"], ["q"], perm=[0, 2, 1, 3]),
    helper.make_node("Concat", ["past", "q"], ["k"], axis=2),
    helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
    helper.make_node("MatMul", ["q", "kt"], ["scores"]),
    helper.make_node("Add", ["scores", "mask"], ["masked"]),
    helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
    helper.make_node("MatMul", ["weights", "k"], ["mixed"]),
    helper.make_node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
    helper.make_node("Reshape", ["back", "flat"], ["y"]),
    helper.make_node("Shape", ["k"], ["seen"]),
    helper.make_node("Expand", ["one", "seen"], ["ones"]),
    helper.make_node("Tile", ["k", "twice"], ["tiled"]),
]
INPUTS = {
    "x": ["batch.size", "S", 16],
    "past": ["batch.size", 4, "past", 4],
    "mask": ["batch.size", 1, 1, "past + S"],
}
CONSTANTS = {
    "heads": np.array([0, 0, 4, -1]),
    "flat": np.array([0, 0, 16]),
    "one": np.ones((1,), np.float32),
    "twice": np.array([1, 1, 2, 1]),
}


def decoder():
    graph = helper.make_graph(
        NODES,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in INPUTS.items()],
        [helper.make_empty_tensor_value_info(name) for node in NODES for name in node.output],
        [numpy_helper.from_array(array, name) for name, array in CONSTANTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def size_of(dim, sizes):
    return sum(substitute(term, sizes) for term in (dim.terms if isinstance(dim, Sum) else (dim,)))


def test_the_sums_of_a_decoder_are_told_and_hold_at_other_sizes():
    proto = decoder()
    report = judged_model(model_of(proto, Path("m.onnx"), {})).report("m.onnx")
    assert (report.batch, dict(report.names), report.stops) == ("d0", {"d0": "batch.size", "d1": "past + S"}, ())
    sizes = {"d0": 4, "S": 3, "past": 9, "d1": 12}
    feeds = {each.name: np.ones([sizes.get(dim, dim) for dim in each.taken], np.float32) for each in report.inputs}
    running = session(proto)
    found = dict(zip([each.name for each in running.get_outputs()], running.run(None, feeds), strict=True))
    told = {each.tensors[1][0]: each.output for each in report.nodes}
    assert {name: tuple(size_of(dim, sizes) for dim in shape) for name, shape in told.items()} == {
        name: found[name].shape for name in told
    }
    assert [str(dim) for dim in told["kt"]] in (["d0", "4", "4", "d1"], ["d0", "4", "4", "S+past"])
    assert {each.verdict.value for each in report.nodes} == {"safe"}
