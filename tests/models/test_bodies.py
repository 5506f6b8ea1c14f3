"""Graphs inside nodes: branches, loops, scans and local functions, as ONNX Runtime runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from shapecalc.models import file
from shapecalc.models.file import model_of
from tests.models.samples import session
from tests.models.test_walking import shapes_by_name, walk_of

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SIZES = (1, 2, 3)


def constant(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


def model(nodes, constants=(), dims=("N", 4), outputs=("y",), functions=(), opset=17):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", FLOAT, dims)],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [*constants],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)


def branch(name, nodes, output, constants=()):
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(output, FLOAT, None)], [*constants])


def assert_as_run(proto, *outputs):
    walk, _ = walk_of(proto, SIZES)
    running = session(proto)
    for lane, size in enumerate(SIZES):
        shape = [size if dim == "N" else dim for dim in walk.inputs[0]]
        found = running.run([*outputs], {"x": np.ones(shape, np.float32)})
        told = shapes_by_name(walk, lane)
        assert {name: told[name] for name in outputs} == {
            name: array.shape for name, array in zip(outputs, found, strict=True)
        }
    return walk


def with_if(condition):
    """Return an If on a condition: one branch flattens, the other reshapes."""
    then = branch("a", [helper.make_node("Flatten", ["x"], ["a"], axis=0)], "a")
    other = branch("b", [helper.make_node("Reshape", ["x", "t"], ["b"])], "b", [constant("t", [-1, 2])])
    return [*condition, helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]


LONGER = [
    helper.make_node("Shape", ["x"], ["s"]),
    helper.make_node("Gather", ["s", "zero"], ["n"]),
    helper.make_node("Greater", ["n", "one"], ["c"]),
]


def test_the_branch_that_a_size_takes_is_followed():
    proto = model(with_if(LONGER), [constant("zero", 0), constant("one", 1)])
    walk = assert_as_run(proto, "y")
    assert walk.shapes[walk.model.graph.outputs[0]] == ((2, 2), (1, 8), (1, 12))


def test_a_branch_is_not_told_of_at_a_size_that_does_not_take_it():
    proto = model(with_if(LONGER), [constant("zero", 0), constant("one", 1)])
    walk, _ = walk_of(proto, SIZES)
    assert [shapes_by_name(walk, lane)["a"] for lane in range(3)] == [None, (1, 8), (1, 12)]


def test_a_branch_that_is_never_taken_fails_nobody():
    then = branch("a", [helper.make_node("Reshape", ["x", "bad"], ["a"])], "a", [constant("bad", [7, 7])])
    other = branch("b", [helper.make_node("Relu", ["x"], ["b"])], "b")
    nodes = [helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    walk, failed = walk_of(model(nodes, [constant("c", False, np.bool_)]), SIZES)
    assert (failed, walk.shapes[walk.model.graph.outputs[0]]) == ({}, ((1, 4), (2, 4), (3, 4)))


def test_what_data_decides_is_known_if_both_branches_agree():
    data = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "half"], ["c"]),
    ]
    half = constant("half", 0.5, np.float32)
    walk, _ = walk_of(model(with_if(data), [half]), SIZES)
    assert walk.shapes[walk.model.graph.outputs[0]] is None
    alike = branch("b", [helper.make_node("Neg", ["x"], ["b"])], "b")
    then = branch("a", [helper.make_node("Relu", ["x"], ["a"])], "a")
    nodes = [*data, helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=alike)]
    assert_as_run(model(nodes, [half]), "y")


def loop(body_nodes, carried_in, result, scanned, constants=()):
    """Return a Loop of three turns, and its constants."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), *body_nodes],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("on", BOOL, []),
            helper.make_tensor_value_info(result, FLOAT, None),
            helper.make_tensor_value_info(scanned, FLOAT, None),
        ],
        [*constants],
    )
    node = helper.make_node("Loop", ["three", "true", carried_in], ["y", "z"], body=body)
    return [node], [constant("three", 3), constant("true", True, np.bool_)]


def test_a_loop_keeps_what_it_carries_and_stacks_what_it_collects():
    inner = [
        helper.make_node("Add", ["v", "v"], ["w"]),
        helper.make_node("Reshape", ["w", "t"], ["r"]),
    ]
    nodes, constants = loop(inner, "x", "w", "r", [constant("t", [0, 2, -1])])
    walk = assert_as_run(model(nodes, constants, outputs=("y", "z")), "y", "z")
    assert walk.shapes[walk.model.graph.outputs[1]][2] == (3, 3, 2, 2)


def test_what_grows_in_a_loop_is_not_known():
    inner = [helper.make_node("Concat", ["v", "v"], ["w"], axis=0)]
    nodes, constants = loop(inner, "x", "w", "x", [])
    walk, _ = walk_of(model(nodes, constants, outputs=("y", "z")), SIZES)
    assert walk.shapes[walk.model.graph.outputs[0]] is None
    assert "loop" in walk.whys[walk.model.graph.outputs[0]]


def test_a_scan_goes_over_an_axis():
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Unsqueeze", ["s2", "axes"], ["o"])],
        "body",
        [helper.make_tensor_value_info("s", FLOAT, None), helper.make_tensor_value_info("e", FLOAT, None)],
        [helper.make_tensor_value_info("s2", FLOAT, None), helper.make_tensor_value_info("o", FLOAT, None)],
        [constant("axes", [0])],
    )
    nodes = [
        helper.make_node("ReduceSum", ["x", "one"], ["first"], keepdims=0),
        helper.make_node("Scan", ["first", "x"], ["y", "z"], body=body, num_scan_inputs=1, scan_input_axes=[1]),
    ]
    assert_as_run(model(nodes, [constant("one", [1])], dims=("N", 4), outputs=("y", "z")), "y", "z")


def function(name, nodes, attributes=()):
    return helper.make_function(
        "own", name, ["a"], ["b"], nodes, [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)], [*attributes]
    )


def flattening():
    node = helper.make_node("Flatten", ["a"], ["b"])
    node.attribute.append(AttributeProto(name="axis", ref_attr_name="at", type=AttributeProto.INT))
    return function("Flat", [node], ["at"])


def test_a_function_is_put_in_where_it_is_called_with_the_attributes_of_the_call():
    nodes = [
        helper.make_node("Flat", ["x"], ["y"], domain="own", at=2),
        helper.make_node("Flat", ["x"], ["z"], domain="own", at=0),
    ]
    walk = assert_as_run(model(nodes, dims=("N", 4, 2), outputs=("y", "z"), functions=[flattening()]), "y", "z")
    assert [node.bodies[0].nodes[0].path for node in walk.model.graph.nodes] == ["0/@Flat/0", "1/@Flat/0"]


def test_a_function_that_calls_itself_is_refused():
    nodes = [helper.make_node("Again", ["x"], ["y"], domain="own")]
    again = function("Again", [helper.make_node("Again", ["a"], ["b"], domain="own")])
    with pytest.raises(ValueError, match="calls itself"):
        model_of(model(nodes, functions=[again]), Path("model.onnx"), {})


def test_functions_that_would_become_many_nodes_stay_calls(monkeypatch):
    monkeypatch.setattr(file, "MOST_CALLED", 40)
    last = function("F0", [helper.make_node("Relu", ["a"], ["b"])])
    twice = [
        function(
            f"F{level}",
            [
                helper.make_node(f"F{level - 1}", ["a"], ["m"], domain="own"),
                helper.make_node(f"F{level - 1}", ["m"], ["b"], domain="own"),
            ],
        )
        for level in range(1, 30)
    ]
    walk, _ = walk_of(model([helper.make_node("F29", ["x"], ["y"], domain="own")], functions=[last, *twice]), SIZES)
    assert "custom operator" in walk.whys[walk.model.graph.outputs[0]]


def test_nodes_in_another_order_are_sorted_and_a_cycle_is_refused():
    nodes = [helper.make_node("Flatten", ["a"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    walk, _ = walk_of(model(nodes), SIZES)
    assert [node.path for node in walk.model.graph.nodes] == ["1", "0"]
    assert walk.shapes[walk.model.graph.outputs[0]] == ((1, 4), (2, 4), (3, 4))
    circle = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
    with pytest.raises(ValueError, match="in a cycle"):
        model_of(model(circle, outputs=("b",)), Path("model.onnx"), {})


def test_a_custom_operator_is_not_known_and_the_rest_goes_on():
    nodes = [
        helper.make_node("Magic", ["x"], ["m"], domain="own"),
        helper.make_node("Relu", ["m"], ["n"]),
        helper.make_node("Flatten", ["x"], ["y"]),
    ]
    walk, _ = walk_of(model(nodes, outputs=("n", "y")), SIZES)
    assert walk.shapes[walk.model.graph.outputs[0]] is None
    assert walk.whys[walk.model.graph.outputs[0]] == "custom operator Magic"
    assert walk.shapes[walk.model.graph.outputs[1]] == ((1, 4), (2, 4), (3, 4))
