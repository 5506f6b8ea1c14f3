"""Models that ask for too much: each is judged, or is unknown, in little memory and without a traceback."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from random import Random

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from shapecalc.cli.model_report import every_lines, lint_lines, node_lines, report_object, table_lines
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.models.every import every_node
from shapecalc.models.file import model_of, read_model
from shapecalc.models.judge import judged_model, near
from shapecalc.models.verdicts import Verdict
from shapecalc.models.write import fixed_model
from tests.models.strange import strange_model
from tests.sampling import some_and_rest

HUGE = 2**62
MOST_GROWN = 200_000
"""The kilobytes by which the process may grow."""


def report_of(nodes, constants=(), inputs=(("x", ["N", 4]),), opset=18):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs],
        [helper.make_empty_tensor_value_info(name) for node in nodes for name in node.output],
        [numpy_helper.from_array(np.asarray(values), name) for name, values in dict(constants).items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return judged_model(model_of(proto, Path("m.onnx"), {})).report("m.onnx")


def node(op, *inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


FOLLOWED = node("Flatten", "y", outputs=("z",))
GREEDY = {
    "a target of 2^62": ([node("Reshape", "x", "t"), FOLLOWED], {"t": [HUGE, -1]}),
    "a target of many dims": ([node("Reshape", "x", "t"), FOLLOWED], {"t": np.ones(10_000, np.int64)}),
    "a target of too many dims": ([node("Reshape", "x", "t"), FOLLOWED], {"t": np.ones(200_000, np.int64)}),
    "an expand to 2^62": ([node("Expand", "x", "t"), FOLLOWED], {"t": [HUGE, 1, 1]}),
    "a tile of 2^62": ([node("Tile", "x", "t"), FOLLOWED], {"t": [HUGE, HUGE]}),
    "a large range": ([node("Range", "a", "b", "c"), FOLLOWED], {"a": 0, "b": HUGE, "c": 1}),
    "a range without a step": ([node("Range", "a", "b", "c"), FOLLOWED], {"a": 0, "b": 5, "c": 0}),
    "a large fill": ([node("ConstantOfShape", "t"), FOLLOWED], {"t": [10**6, 10**6]}),
    "many parts": ([node("Split", "x", num_outputs=2**40), FOLLOWED], {}),
    "a stride of 0": (
        [node("Conv", "x", "w", strides=[0, 0]), FOLLOWED],
        {"w": np.ones((1, 1, 1, 1), np.float32)},
        [("x", ["N", 1, 8, 8])],
    ),
    "a block of 0": ([node("DepthToSpace", "x", blocksize=0), FOLLOWED], {}, [("x", ["N", 4, 2, 2])]),
    "a division by 0": ([node("Div", "a", "b"), node("Reshape", "x", "y", outputs=("z",))], {"a": [4], "b": [0]}),
    "a power beyond all": ([node("Pow", "a", "b"), node("Reshape", "x", "y", outputs=("z",))], {"a": [9], "b": [99]}),
    "10^12 elements": ([node("Relu", "x"), FOLLOWED], {}, [("x", [10**6, 10**6])]),
    "10^30 elements": ([node("Relu", "x"), FOLLOWED], {}, [("x", ["N", 10**15, 10**15])]),
    "attributes of another kind": ([node("Transpose", "x", perm=b"10"), FOLLOWED], {}),
    "an axis that is a text": ([node("Flatten", "x", axis=b"1")], {}),
    "no inputs": ([node("Reshape"), node("Flatten", outputs=("z",)), node("Shape", outputs=("v",))], {}),
    "no outputs": ([node("Reshape", "x", "t", outputs=()), node("Relu", "x", outputs=())], {"t": [0, -1]}),
    "an opset of the future": ([node("Reshape", "x", "t"), FOLLOWED], {"t": [0, -1]}),
    "an input that nobody makes": ([node("Reshape", "q", "t"), FOLLOWED], {"t": [0, -1]}),
    "500 inputs": (
        [node("Concat", *[f"x{at}" for at in range(500)], axis=0), FOLLOWED],
        {},
        [(f"x{at}", [f"n{at}", "L"]) for at in range(500)],
    ),
}


@pytest.mark.parametrize("what", GREEDY)
def test_what_asks_for_too_much_is_judged_or_unknown(what):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = report_of(*GREEDY[what], opset=999 if "future" in what else 18)
    assert all(isinstance(each.verdict, Verdict) for each in report.nodes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWN


@pytest.mark.parametrize("op", ["Conv", "Loop", "If", "Scan", "Concat", "Slice", "Gather", "Split", "Squeeze", "Cast"])
def test_a_node_without_its_inputs_or_attributes_is_no_error(op):
    report = report_of([node(op), node(op, "x", outputs=("z",)), node("Flatten", "z", outputs=("f",))])
    assert [each.node.op for each in report.nodes if each.node.op == "Flatten"] == ["Flatten"]


NAMED = {"node": b"reshape_1", "op_type": b"Flatten", "tensor": b"inner_t", "dim": b"batch_n", "attribute": b"axis"}


@pytest.mark.parametrize("which", NAMED)
def test_a_name_that_is_not_utf_8_is_refused_in_one_line(which, tmp_path):
    """protobuf hands out such a name as bytes."""
    relu = node("Relu", "x", outputs=("inner_t",), name="reshape_1")
    nodes = [relu, node("Flatten", "inner_t", axis=1)]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch_n", 4])
    proto = helper.make_model(helper.make_graph(nodes, "g", [given], [helper.make_empty_tensor_value_info("y")]))
    data = proto.SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data.replace(NAMED[which], b"\xff" + NAMED[which][1:]))
    with pytest.raises(ShapeError, match="a name in it is not UTF-8"):
        read_model(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").write_bytes(data)
    assert read_model(tmp_path / "m.onnx").outputs


def read_whole(proto):
    """Judge a model, show it in every way, and mend it; return the report, or why it is refused."""
    try:
        outcome = judged_model(model_of(proto, Path("m.onnx"), {}))
    except ValueError as error:
        return str(error)
    every = every_node(outcome.walk, outcome.judge)
    report = replace(near(outcome, outcome.report("m.onnx"), ["n", "0", "1"]), every=every)
    lines = [
        *table_lines(report, report.nodes),
        *every_lines(report, every.nodes),
        *lint_lines(report, report.nodes, report.stops, strict=True, github=False),
    ]
    lines += [line for judged in report.nodes for line in node_lines(report, judged)]
    assert all(line.isprintable() for line in lines)
    assert json.loads(json.dumps(report_object(report, report.nodes, every.nodes)))["model"] == "m.onnx"
    fixed_model(outcome.walk, outcome.judge, {})
    return report


@pytest.mark.parametrize("seeds", some_and_rest(range(8000), 400))
def test_a_model_that_is_written_wrongly_is_judged_or_refused_in_one_line(seeds):
    told = [read_whole(strange_model(Random(seed))) for seed in seeds]
    refused = [each for each in told if isinstance(each, str)]
    assert all("\n" not in each and ("cycle" in each or "two graphs" in each) for each in refused)
    assert 0 < len(refused) < len(told) / 10


def test_a_node_that_is_written_wrongly_is_unknown_and_says_so():
    wrong = node("Transpose", "x", perm=1)
    report = report_of([wrong, node("Flatten", "y", outputs=("f",)), node("Flatten", "x", outputs=("g",))])
    assert [each.verdict for each in report.nodes] == [Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.SAFE]
    assert {each.why for each in report.nodes[:2]} == {"Transpose 0 is not written as ONNX describes it"}


def small_model():
    """Return the bytes of a small model that has a body."""
    body = helper.make_graph([node("Neg", "x")], "b", [], [helper.make_empty_tensor_value_info("y")])
    constants = [numpy_helper.from_array(np.array([0, -1]), "t"), numpy_helper.from_array(np.array(True), "c")]
    nodes = [node("If", "c", then_branch=body, else_branch=body), node("Reshape", "y", "t", outputs=("z",))]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph(nodes, "g", [given], [helper.make_empty_tensor_value_info("z")], constants)
    return helper.make_model(graph).SerializeToString()


def refusal_of(data, path):
    """Return why a file that holds these bytes is refused; None if it is judged."""
    path.write_bytes(data)
    try:
        judged_model(read_model(path)).report("m.onnx")
    except ShapeError as error:
        assert "\n" not in error.problem.message
        return error.problem.message
    return None


def test_a_model_that_is_cut_anywhere_is_refused_in_one_line_or_read(tmp_path):
    data = small_model()
    told = [refusal_of(data[:end], tmp_path / "m.onnx") for end in range(1, len(data))]
    assert all("cut short" in each or "no graph" in each for each in told if each)
    assert sum(each is not None for each in told) > len(data) // 2


@pytest.mark.parametrize("seeds", some_and_rest(range(4000), 300))
def test_a_model_with_other_bytes_in_it_is_refused_in_one_line_or_judged(seeds, tmp_path):
    refused = 0
    for seed in seeds:
        random, data = Random(seed), bytearray(small_model())
        for _ in range(random.choice([1, 1, 2, 4])):
            data[random.randrange(len(data))] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
        refused += refusal_of(data, tmp_path / "m.onnx") is not None
    assert len(seeds) / 4 < refused < len(seeds)
