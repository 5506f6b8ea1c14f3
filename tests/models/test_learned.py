"""Operators for classical machine learning: their shapes and their samples, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from shapecalc.models.inference import CARRYING, Inference
from shapecalc.models.learned import RULES
from shapecalc.models.plain import PlainNodes
from tests.models.judging import graph_model, judged
from tests.models.samples import IR_VERSION, session

F = np.float32
FEATURES = 4


def classes(count):
    return {"classlabels_ints": [*range(count)]}


def linear(count):
    return {"coefficients": [0.5] * count * FEATURES, "intercepts": [0.1 * each for each in range(count)]}


def tree(kind, count):
    """Return the attributes of a stump with a leaf for each class or target on its right side."""
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        f"{kind}_treeids": [0] * (count + 1),
        f"{kind}_nodeids": [1, *[2] * count],
        f"{kind}_ids": [0, *range(count)],
        f"{kind}_weights": [1.0] * (count + 1),
    }


def vectors(count):
    """Return the attributes of a support vector machine with a vector for each class."""
    pairs = count * (count - 1) // 2
    return {
        "kernel_type": "LINEAR",
        "kernel_params": [1.0, 0.0, 0.0],
        "support_vectors": [0.5] * count * FEATURES,
        "vectors_per_class": [1] * count,
        "coefficients": [0.5] * count * (count - 1),
        "rho": [0.1] * pairs,
        **classes(count),
    }


PAIRED = {"prob_a": [1.0] * 3, "prob_b": [0.0] * 3}
ROWS = [
    ("Scaler", {"offset": [0.0] * FEATURES, "scale": [2.0] * FEATURES}, [], 1),
    ("Normalizer", {"norm": "L2"}, [], 1),
    ("Binarizer", {"threshold": 0.5}, [], 1),
    ("Imputer", {"imputed_value_floats": [1.0], "replaced_value_float": 0.0}, [], 1),
    ("LabelEncoder", {"keys_floats": [1.0], "values_floats": [2.0]}, [], 1),
    ("LinearClassifier", {**linear(3), **classes(3)}, [], 2),
    ("LinearClassifier", {**linear(2), **classes(2)}, [], 2),
    ("LinearRegressor", {**linear(2), "targets": 2}, [], 1),
    ("TreeEnsembleClassifier", {**tree("class", 3), "classlabels_int64s": [0, 1, 2]}, [], 2),
    ("TreeEnsembleClassifier", {**tree("class", 2), "classlabels_strings": ["a", "b"]}, [], 2),
    ("TreeEnsembleRegressor", {**tree("target", 3), "n_targets": 3}, [], 1),
    ("SVMClassifier", vectors(2), [], 2),
    ("SVMClassifier", vectors(4), [], 2),
    ("SVMClassifier", {**vectors(3), **PAIRED}, [], 2),
    ("ArrayFeatureExtractor", {}, [np.array([1, 3])], 1),
    ("ArrayFeatureExtractor", {}, [np.array([[1, 2], [0, 3]])], 1),
    ("OneHotEncoder", {"cats_int64s": [0, 1, 2], "zeros": 1}, [], 1),
]


@pytest.mark.parametrize(("op", "attributes", "constants", "outputs"), ROWS, ids=[row[0] for row in ROWS])
def test_outputs_have_the_shapes_that_the_runtime_gives(op, attributes, constants, outputs):
    model = learned_model(op, attributes, constants, outputs)
    walk, _ = judged(model)
    ran = session(model)
    for place, lane in enumerate(walk.lanes):
        if not lane.batch:
            continue
        seen = ran.run(None, {"x": np.zeros((lane.batch, FEATURES), F)})
        for at, array in enumerate(seen):
            number = walk.model.names.index(f"y{at}")
            assert walk.shapes[number][place] == array.shape
            assert walk.dtypes[number] == helper.np_dtype_to_tensor_dtype(array.dtype)


def test_columns_that_the_batch_chooses_hold_its_samples():
    """A classifier's labels choose from the list of classes: the batch goes from the indices to the last axis."""
    nodes = [
        helper.make_node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["names", "best"], ["row"], domain="ai.onnx.ml"),
        helper.make_node("Reshape", ["row", "target"], ["y"], name="turn"),
    ]
    constants = [("names", np.array([5, 6, 7, 8], F)), ("target", np.array([-1]))]
    _, told = judged(with_learned(graph_model(nodes, [("x", ["N", FEATURES])], ["y"], constants, shapes=False)))
    judgement = told.told["2"]
    assert (judgement.verdict.value, judgement.batch_in, judgement.batch_out) == ("safe", (1, "whole"), (0, "whole"))


def test_the_tables_name_operators_of_onnx():
    assert all(onnx.defs.has(op, domain="ai.onnx.ml") for op in RULES)
    assert all(onnx.defs.has(op) for op in CARRYING)


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
    monkeypatch.setattr(PlainNodes, "_asked_in_each", lambda *_: pytest.fail("each size is asked about"))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    judged(graph_model(nodes, [("x", ["N", 4])], ["y"], [("w", np.zeros((4, 5), F))], shapes=False))
    assert asked == ["MatMul"]


def learned_model(op, attributes, constants, outputs):
    """Return a model of one operator for classical machine learning, that reads `x`."""
    names = [f"c{at}" for at in range(len(constants))]
    made = [f"y{at}" for at in range(outputs)]
    node = helper.make_node(op, ["x", *names], made, domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", FEATURES])],
        [helper.make_empty_tensor_value_info(name) for name in made],
        [numpy_helper.from_array(array, name) for name, array in zip(names, constants, strict=True)],
    )
    return with_learned(helper.make_model(graph, ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", 17)]))


def with_learned(model):
    """Return a model that imports the operators for classical machine learning."""
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    return model
