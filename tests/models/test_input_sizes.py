"""How inputs are taken: what the batch is, what is freed, which sizes are tried, and what options say."""

from __future__ import annotations

from itertools import combinations as pairs
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.models import free_dims
from shapecalc.models.file import model_of
from shapecalc.models.free_dims import SizeOptions
from shapecalc.models.judge import judged_model


def taken(inputs, nodes=(), constants=(), **asked):
    """Return the report of a model with these inputs."""
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    graph = helper.make_graph(
        [*nodes],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        outputs,
        [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in dict(constants).items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return judged_model(model_of(proto, Path("m.onnx"), {}), SizeOptions(**asked)).report("m.onnx")


def shapes(report):
    return [each.taken for each in report.inputs]


@pytest.mark.parametrize(
    ("inputs", "asked", "batch", "declared", "wanted"),
    [
        ({"x": ["N", 3]}, {}, "N", None, [("N", 3)]),
        ({"x": ["batch", 3, "H"]}, {}, "batch", None, [("batch", 3, "H")]),
        ({"x": [1, 3]}, {}, "N", 1, [("N", 3)]),
        ({"x": [8, "N"]}, {}, "B", 8, [("B", "N")]),
        ({"x": [8, 3]}, {"shapes": {"x": ("N", 3)}}, "N", None, [("N", 3)]),
        ({"x": [8, 3]}, {"shapes": {"x": (8, "M")}}, "M", None, [(8, "M")]),
        ({"x": ["S", "N"]}, {"batch": "N"}, "N", None, [("S", "N")]),
        ({"x": [4, 3]}, {"batch": "many"}, "many", 4, [("many", 3)]),
        ({"x": ["b1", 3], "y": ["b2", 4]}, {}, "b1", None, [("b1", 3), ("b1", 4)]),
        ({"x": [2, 3], "y": [2, 4]}, {}, "N", 2, [("N", 3), (2, 4)]),
        ({"x": [None, 3]}, {}, "N", None, [("N", 3)]),
        ({"x": ["batch.size", "past + 1"]}, {}, "d0", None, [("d0", "d1")]),
        ({"x": ["batch.size", "past + 1"]}, {"batch": "past + 1"}, "d1", None, [("d0", "d1")]),
        ({"x": None}, {}, "N", None, [None]),
        ({"x": []}, {}, "N", None, [()]),
    ],
)
def test_what_the_batch_is(inputs, asked, batch, declared, wanted):
    report = taken(inputs, **asked)
    assert (report.batch, report.declared_batch, shapes(report)) == (batch, declared, wanted)


def test_names_that_core_cannot_read_are_told():
    report = taken({"x": ["batch.size", "past + 1"], "p": ["batch.size", "past"]})
    assert dict(report.names) == {"d0": "batch.size", "d1": "past + 1"}
    assert report.assumed["d1"] == report.assumed["past"] + 1


def test_another_input_is_no_batch_if_the_model_does_not_resolve_so():
    """A sum of the two inputs' dims in a Reshape that only 64 and 6 divide: axis 0 of y is another size."""
    nodes = [
        helper.make_node("Reshape", ["y", "t"], ["r"]),
    ]
    report = taken({"x": ["N", 3], "y": ["M", 3]}, nodes, {"t": [8, -1]})
    assert shapes(report) == [("N", 3), ("M", 3)]
    assert dict(report.assumed) == {"M": 64}


def test_sizes_are_tried_until_the_model_resolves():
    """Only a size that 7 divides fits."""
    nodes = [helper.make_node("Reshape", ["x", "t"], ["r"])]
    report = taken({"x": ["N", "L"]}, nodes, {"t": [0, 7, -1]})
    assert dict(report.assumed) == {"L": 224}
    assert report.nodes[0].conditions == ("L % 7 == 0",)


def test_a_mask_is_tried_as_the_sum_of_two_dims():
    nodes = [
        helper.make_node("Concat", ["past", "new"], ["both"], axis=1),
        helper.make_node("Add", ["both", "mask"], ["masked"]),
        helper.make_node("Transpose", ["masked"], ["y"], perm=[1, 0]),
    ]
    report = taken({"past": ["N", "P"], "new": ["N", "S"], "mask": ["N", "T"]}, nodes)
    assert report.assumed["T"] == report.assumed["P"] + report.assumed["S"]
    assert [str(dim) for dim in report.nodes[0].output] in (["T", "N"], ["P+S", "N"])
    assert report.stops == ()


def test_sizes_that_are_given_are_not_assumed():
    report = taken({"x": ["N", "L", "M"]}, where={"L": 640})
    assert (dict(report.assumed), report.sizes) == ({"M": 64}, (1, 2, 3))


def test_the_declared_batch_is_judged_beside_the_others():
    assert taken({"x": [8, 3]}).sizes == (1, 2, 3, 8)
    assert taken({"x": ["N", 3]}, sizes=(2, 4)).sizes == (1, 2, 4)


@pytest.mark.parametrize(
    "asked",
    [
        {"sizes": (2,)},
        {"sizes": (0, 2)},
        {"batch": "no.dim"},
        {"where": {"K": 3}},
        {"where": {"N": 3}},
        {"shapes": {"z": ("N",)}},
        {"shapes": {"x": ("N",)}},
    ],
)
def test_options_that_do_not_fit_are_usage(asked):
    with pytest.raises(ShapeError) as refused:
        taken({"x": ["N", 3, "L"]}, **asked)
    assert refused.value.problem.rule is USAGE


def test_of_many_free_dims_few_sums_are_looked_at(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        free_dims, "combinations", lambda *given: (drawn.append(pair) or pair for pair in pairs(*given))
    )
    nodes = [helper.make_node("Add", ["x0", "x1"], ["y"])]
    report = taken({f"x{at}": ["N", f"s{at}"] for at in range(60)}, nodes)
    assert len(drawn) < 100
    assert len(report.inputs) == 60
