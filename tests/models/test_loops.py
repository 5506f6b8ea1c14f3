"""The batch in loops: nodes in bodies are judged as outside of them, and what comes out is as ONNX Runtime shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from shapecalc.models.batch_axis import BatchAxis
from shapecalc.models.verdicts import Verdict
from tests.models.chains import IR_VERSION, chains
from tests.models.judging import graph_model, judged
from tests.models.samples import are_apart, changes, session
from tests.models.test_walking import ran
from tests.sampling import examples

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
told = helper.make_tensor_value_info
SIZES = (1, 2, 3, 5)


def loop(nodes, carried, scanned=(), count="three", go=""):
    """Return a Loop; `carried` are the tensor before, its name in the body, what comes out of a turn, and after all."""
    before, inner, results, after = zip(*carried, strict=True) if carried else ((), (), (), ())
    body = helper.make_graph(
        [node("Identity", ["go"], ["on"]), *nodes],
        "body",
        [told("i", INT64, []), told("go", BOOL, []), *[told(name, FLOAT, None) for name in inner]],
        [told("on", BOOL, []), *[told(name, FLOAT, None) for name in (*results, *scanned)]],
    )
    return node("Loop", [count, go, *before], [*after, *[f"all_{name}" for name in scanned]], body=body, name="loop")


def model(nodes, outputs, dims=("N", 4), **numbers):
    constants = [("three", np.array(3)), *[(name, np.array(value)) for name, value in numbers.items()]]
    return graph_model(nodes, [("x", dims)], outputs, constants)


def verdicts(proto, sizes=(1, 2, 3)):
    _, follower = judged(proto, sizes)
    return {path: said.verdict for path, said in follower.told.items()}


@examples(150)
@given(chains())
def test_a_node_in_a_loop_is_judged_as_outside_of_it(chain):
    outside = chain.model()
    inside = helper.make_model(
        helper.make_graph(
            [
                loop(
                    [*outside.graph.node, node("Identity", ["x"], ["w"])],
                    [("v0", "x", "w", "y")],
                    [chain.nodes[-1].output[0]],
                )
            ],
            "g",
            [told("v0", FLOAT, ["N", *chain.start])],
            [told("y", FLOAT, None)],
            [*chain.constants, numpy_helper.from_array(np.array(3), "three")],
        ),
        opset_imports=[helper.make_opsetid("", chain.opset)],
        ir_version=IR_VERSION,
    )
    expected = verdicts(outside)
    assert {path: verdicts(inside)[f"0/body/{int(path) + 1}"] for path in expected} == expected


SAFE, UNKNOWN, ONLY, SWALLOWS = Verdict.SAFE, Verdict.UNKNOWN, Verdict.ONLY, Verdict.SWALLOWS
CUT = node("Reshape", ["v", "halves"], ["r"])
BACK = node("Reshape", ["r", "whole"], ["w"])
HALVES, WHOLE = [-1, 2, 2], [-1, 4]
LOOPS = {
    "what keeps its shape": ([CUT, BACK], [("x", "v", "w", "y")], HALVES, WHOLE, (SAFE, SAFE)),
    "what is mended keeps its shape": ([CUT, BACK], [("x", "v", "w", "y")], [1, 2, 2], [1, 4], (ONLY, ONLY)),
    "what is swallowed": ([CUT, BACK], [("x", "v", "w", "y")], [1, -1, 2], [1, 4], (SWALLOWS, ONLY)),
    "samples that meet in a turn": (
        [CUT, BACK, node("ReduceSum", ["w", "axis"], ["s"]), node("Add", ["w", "s"], ["m"])],
        [("x", "v", "m", "y")],
        HALVES,
        WHOLE,
        (UNKNOWN, UNKNOWN),
    ),
    "a state that begins without the samples": (
        [node("Add", ["v", "x"], ["a"]), node("Reshape", ["v", "halves"], ["r"]), node("Relu", ["a"], ["w"])],
        [("zeros", "v", "w", "y")],
        HALVES,
        WHOLE,
        (SAFE,),
    ),
    "what the one before hands on": (
        [CUT, node("Concat", ["u", "u"], ["grown"], axis=1), node("Identity", ["u"], ["w"])],
        [("x", "v", "w", "y"), ("x", "u", "grown", "z")],
        HALVES,
        WHOLE,
        (UNKNOWN,),
    ),
}


@pytest.mark.parametrize("case", LOOPS.values(), ids=LOOPS)
def test_what_a_loop_carries_is_followed(case):
    nodes, carried, halves, whole, expected = case
    before = [node("Shape", ["x"], ["sizes"]), node("ConstantOfShape", ["sizes"], ["zeros"])]
    outputs = [after for *_, after in carried]
    proto = model([*before, loop(nodes, carried)], outputs, halves=halves, whole=whole, axis=[0])
    found = verdicts(proto)
    assert tuple(said for path, said in found.items() if "/" in path) == expected
    walk, follower = judged(proto, SIZES)
    tensor = walk.model.graph.outputs[0]
    runs, last = follower.offenders, walk.shapes[tensor]
    for lane, size in enumerate(SIZES):
        feed = {"x": np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32)}
        shapes, failing = ran(proto, feed)
        assert (failing is not None) == (bool(runs) and size > 1)
        if failing is None and last is not None and last[lane] is not None:
            assert last[lane] == shapes["y"]
            mark = (follower.marks(tensor) or [None] * len(SIZES))[lane]
            bits = changes(session(proto), feed, {"x": 0}, size)[0]
            assert not isinstance(mark, BatchAxis) or are_apart(bits, mark.axis, mark.inner, size)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_scan_keeps_the_samples_apart_unless_it_goes_over_them(axis):
    body = helper.make_graph(
        [node("Unsqueeze", ["e", "first"], ["o"]), node("Identity", ["s"], ["s2"])],
        "body",
        [told("s", FLOAT, None), told("e", FLOAT, None)],
        [told("s2", FLOAT, None), told("o", FLOAT, None)],
    )
    nodes = [
        node("ReduceSum", ["x", "first"], ["zero"], keepdims=0),
        node("Scan", ["zero", "x"], ["y", "z"], body=body, num_scan_inputs=1, scan_input_axes=[axis - 2]),
        node("Transpose", ["z"], ["t"], perm=[1, 2, 0]),
    ]
    proto = model(nodes, ["t"], first=[0])
    found = verdicts(proto)
    assert (found["1/body/0"], found["2"]) == ((SAFE, SAFE) if axis == 1 else (UNKNOWN, UNKNOWN))
    walk, follower = judged(proto, SIZES)
    for lane, size in enumerate(SIZES):
        feed = {"x": np.random.default_rng(size).normal(size=(size, 4)).astype(np.float32)}
        assert walk.shapes[walk.model.graph.outputs[0]][lane] == ran(proto, feed)[0]["t"]
        mark = (follower.marks(walk.model.graph.outputs[0]) or [None] * len(SIZES))[lane]
        if isinstance(mark, BatchAxis):
            assert are_apart(changes(session(proto), feed, {"x": 0}, size)[0], mark.axis, mark.inner, size)


def test_a_loop_that_elements_end_is_not_followed_further():
    nodes = [
        node("ReduceMax", ["x"], ["most"], keepdims=0),
        node("Cast", ["most"], ["count"], to=INT64),
        loop([node("Add", ["v", "v"], ["w"])], [("x", "v", "w", "y")], ["w"], count="count"),
        node("Reshape", ["y", "halves"], ["r"]),
        node("Relu", ["all_w"], ["z"]),
    ]
    found = verdicts(model(nodes, ["r", "z"], halves=HALVES))
    assert found["3"] is UNKNOWN


def test_loops_in_loops_are_followed():
    inner = loop([CUT, BACK], [("u", "v", "w", "y1")])
    outer = loop([inner, node("Relu", ["y1"], ["w1"])], [("x", "u", "w1", "y")])
    found = verdicts(model([outer], ["y"], halves=HALVES, whole=[1, -1]))
    assert list(found.values()) == [SAFE, SWALLOWS]
