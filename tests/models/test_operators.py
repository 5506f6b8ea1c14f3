"""The table of operators: each row has a shape, and what those of ONNX Runtime give is what it runs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from shapecalc.models.answers import Inference
from shapecalc.models.batch_axis import BatchAxis
from shapecalc.models.operators import OPERATORS, Inferred, Operator
from shapecalc.models.walk import OtherNodes
from tests.models.judging import graph_model, judged
from tests.models.samples import are_apart, changes, session

F = np.float32
ROWS = [pytest.param(domain, op, row, id=op) for domain, rows in OPERATORS.items() for op, row in rows.items()]


@pytest.mark.parametrize(("domain", "op", "row"), ROWS)
def test_a_row_with_a_route_has_a_shape(domain, op, row):
    """ONNX infers those of which it has a schema."""
    assert isinstance(row, Operator)
    assert not (row.route and row.move)
    if row.route or row.move:
        own = (row.like, "") if row.like else (op, domain)
        assert not isinstance(row.shape, Inferred) or onnx.defs.has(own[0], domain=own[1])
    if isinstance(row.shape, Inferred) and row.shape.hands_on:
        assert onnx.defs.has(op, domain=domain)


def floats(*shape):
    return np.random.default_rng(1).normal(size=shape).astype(F)


N = "N"
CONTRIBUTED = [
    # operator, shapes of the inputs, constants after them, attributes, the first output's shape and axis of the batch
    ("Gelu", [(N, 3)], [], {}, (N, 3), 0),
    ("QuickGelu", [(2, N)], [], {}, (2, N), 1),
    ("FastGelu", [(N, 3)], [floats(3)], {}, (N, 3), 0),
    ("BiasGelu", [(N, 3)], [floats(3)], {}, (N, 3), 0),
    ("SkipLayerNormalization", [(N, 2, 4), (N, 2, 4)], [floats(4), floats(4)], {}, (N, 2, 4), 0),
    ("SkipSimplifiedLayerNormalization", [(N, 2, 4), (N, 2, 4)], [floats(4)], {}, (N, 2, 4), 0),
    ("FusedMatMul", [(N, 2, 3)], [floats(3, 4)], {}, (N, 2, 4), 0),
    ("FusedMatMul", [(3, N)], [floats(3, 4)], {"transA": 1}, (N, 4), 0),
    ("FusedMatMul", [(N, 2, 3)], [floats(4, 3)], {"transB": 1, "alpha": 0.5}, (N, 2, 4), 0),
    ("FusedMatMul", [(2, 3), (N, 3)], [], {"transB": 1}, (2, N), 1),
    ("FusedConv", [(N, 3, 5, 5)], [floats(2, 3, 3, 3)], {"activation": "Relu"}, (N, 2, 3, 3), 0),
    ("FusedConv", [(N, 2, 7)], [floats(2, 1, 3)], {"activation": "Relu", "group": 2, "strides": [2]}, (N, 2, 3), 0),
    ("FusedConv", [(N, 1, 7)], [floats(2, 1, 2)], {"activation": "Relu", "auto_pad": "SAME_UPPER"}, (N, 2, 7), 0),
    ("MultiHeadAttention", [(N, 5, 8), (N, 6, 8), (N, 6, 8)], [], {"num_heads": 2}, (N, 5, 8), 0),
]


@pytest.mark.parametrize("row", CONTRIBUTED, ids=lambda row: f"{row[0]} {row[1]} {row[3]}")
def test_what_onnx_runtime_adds_gives_the_shapes_and_keeps_the_samples_as_it_runs(row):
    op, shapes, constants, attributes, wanted, axis = row
    names, others = [f"x{at}" for at in range(len(shapes))], [f"c{at}" for at in range(len(constants))]
    nodes = [helper.make_node(op, [*names, *others], ["y"], domain="com.microsoft", **attributes)]
    model = graph_model(
        nodes, [*zip(names, shapes, strict=True)], ["y"], [*zip(others, constants, strict=True)], shapes=False
    )
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    walk, followed = judged(model)
    number = walk.model.names.index("y")
    running = session(model)
    for lane, at in enumerate(walk.lanes):
        if at.batch:
            sizes = [[at.batch if size == N else size for size in shape] for shape in shapes]
            feeds = {name: floats(*shape) for name, shape in zip(names, sizes, strict=True)}
            assert walk.shapes[number][lane] == running.run(None, feeds)[0].shape
            assert walk.shapes[number][lane] == tuple([at.batch if size == N else size for size in wanted])
        if at.batch > 1:
            assert followed.marks(number)[lane] == BatchAxis(axis, 1)
            places = {name: shape.index(N) for name, shape in zip(names, shapes, strict=True) if N in shape}
            assert are_apart(changes(running, feeds, places, at.batch)[0], axis, 1, at.batch)


def test_operators_of_classical_machine_learning_are_unknown():
    nodes = [
        helper.make_node("Scaler", ["x"], ["s"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0]),
        helper.make_node("Flatten", ["s"], ["y"], name="flat"),
    ]
    model = graph_model(nodes, [("x", ["N", 4])], ["y"], shapes=False)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    _, followed = judged(model)
    assert followed.told["1"].verdict.value == "unknown"


ASKED = [
    ("Conv", ["N", 3, 8, 8], [np.zeros((4, 3, 3, 3), F)], {}),
    ("Conv", [1, "N", 8, 8], [np.zeros((4, 2, 3, 3), F)], {}),
    ("MatMul", ["N", 3, 4], [np.zeros((4, 5), F)], {}),
    ("MatMul", ["N", 4], [np.zeros((2, 5), F)], {}),
    ("MatMul", ["N", 3, 4], [np.zeros((2, 4, 5), F)], {}),
    ("Gemm", ["N", 4], [np.zeros((4, 5), F)], {}),
    ("Pad", ["N", 4], [np.array([0, 1, 0, 2])], {}),
    ("Pad", ["N", 4], [np.array([1, 0, 2, 0])], {}),
    ("Slice", ["N", 4], [np.array([0]), np.array([2]), np.array([0])], {}),
    ("Slice", ["N", 4], [np.array([0]), np.array([2]), np.array([1])], {}),
    ("ReduceMean", ["N", 4], [np.array([1])], {"keepdims": 0}),
    ("MaxPool", ["N", 2, "N"], [], {"kernel_shape": [1]}),
    ("Gather", ["N", 4], [np.array([[0, 2]])], {"axis": 1}),
    ("Gather", [4, 3], [np.array([[0, 2]])], {"axis": 1}),
    ("Split", [6, "N"], [np.array([2, 4])], {"outputs": 2}),
    ("TopK", ["N", 4], [np.array([2])], {"outputs": 2}),
    ("Resize", ["N", 3, 4, 4], [np.array([], F), np.array([1, 1, 2, 2], F)], {}),
]


@pytest.mark.parametrize(("op", "shape", "constants", "attributes"), ASKED, ids=[row[0] for row in ASKED])
def test_asking_once_for_all_sizes_tells_what_asking_at_each_size_tells(op, shape, constants, attributes, monkeypatch):
    attributes = dict(attributes)
    names = [f"c{at}" for at in range(len(constants))]
    outputs = [f"y{at}" for at in range(attributes.pop("outputs", 1))]
    nodes = [helper.make_node(op, ["x", *names], outputs, **attributes)]
    model = graph_model(nodes, [("x", shape)], outputs, [*zip(names, constants, strict=True)], shapes=False)
    once, told_once = judged(model)
    monkeypatch.setattr(Inference, "in_all", lambda *_: None)
    each, told_each = judged(model)
    assert (once.shapes, once.dtypes) == (each.shapes, each.dtypes)
    assert [stop.why for stop in told_once.stops] == [stop.why for stop in told_each.stops]


def test_onnx_is_asked_once_for_all_sizes_if_a_node_hands_the_batch_on(monkeypatch):
    asked = []
    infer = Inference.outputs
    monkeypatch.setattr(Inference, "outputs", lambda self, *given: asked.append(given[0].op) or infer(self, *given))
    monkeypatch.setattr(OtherNodes, "_in_each", lambda *_: pytest.fail("each size is asked about"))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    judged(graph_model(nodes, [("x", ["N", 4])], ["y"], [("w", np.zeros((4, 5), F))], shapes=False))
    assert asked == ["MatMul"]
