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
from shapecalc.models.report import UNKNOWN


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
        ({"x": [8, 3]}, {"shapes": {"x": ("N", 3)}}, "N", 8, [("N", 3)]),
        ({"x": [8, 3]}, {"shapes": {"x": (8, "M")}}, "M", 3, [(8, "M")]),
        ({"x": [6, 1], "h": [1, 1]}, {"shapes": {"x": (6, "N")}}, "N", 1, [(6, "N"), (1, "N")]),
        ({"x": [1, 3], "m": [1, 6]}, {"shapes": {"m": ("N", 6)}}, "N", 1, [("N", 3), ("N", 6)]),
        ({"x": ["b.size", 3], "m": [1, 6]}, {"shapes": {"m": ("d0", 6)}}, "d0", 1, [("d0", 3), ("d0", 6)]),
        ({"x": ["S", "N"]}, {"batch": "N"}, "N", None, [("S", "N")]),
        ({"x": [4, 3]}, {"batch": "many"}, "many", 4, [("many", 3)]),
        ({"x": ["b1", 3], "y": ["b2", 4]}, {}, "b1", None, [("b1", 3), ("b1", 4)]),
        ({"x": [2, 3], "y": [2, 4]}, {}, "N", 2, [("N", 3), ("N", 4)]),
        ({"x": [1, 3], "t": [1], "w": [48, 1], "m": [1, 1, 6]}, {}, "N", 1, [("N", 3), ("N",), (48, 1), ("N", 1, 6)]),
        ({"x": ["N", 3], "y": [1, 4]}, {}, "N", None, [("N", 3), (1, 4)]),
        ({"x": [1, 3], "y": ["S", 4]}, {"batch": "none"}, "", None, [(1, 3), ("S", 4)]),
        ({"x": [1, "none"]}, {"batch": "none"}, "none", None, [(1, "none")]),
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
    """Only a size that 7 divides fits, or only 49; the file's own comes first."""
    nodes = [helper.make_node("Reshape", ["x", "t"], ["r"]), helper.make_node("Transpose", ["r"], ["u"])]
    given = {"shapes": {"x": ("N", "L")}}
    for declared, target, asked, size, condition, output in (
        ("L", [0, 7, -1], {}, 70, "L % 7 == 0", "L/7"),
        (98, [0, 7, -1], given, 98, "L % 7 == 0", "L/7"),
        ("L", [0, 7, 7], {}, 49, "L == 49", "7"),
    ):
        report = taken({"x": ["N", declared]}, nodes, {"t": target}, **asked)
        assert dict(report.assumed) == {"L": size}
        assert report.nodes[0].conditions == (condition,)
        assert str(report.nodes[1].output[0]) == output


def test_equal_names_are_tried():
    """Two lengths that an Add needs alike, also three of them."""
    for names in (["s20", "s98"], ["s20", "s98", "size"]):
        inputs = [f"x{at}" for at in range(len(names))]
        nodes = [helper.make_node("Sum", inputs, ["a"]), helper.make_node("Transpose", ["a"], ["y"])]
        report = taken({name: ["N", length] for name, length in zip(inputs, names, strict=True)}, nodes)
        assert [str(dim) for dim in report.nodes[0].output] == ["s20", "N"]
        assert dict(report.names) == dict.fromkeys(names[1:], "s20")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2], strides=[2]), ["?", "3", "N"]),
        (helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2]), ["L-1", "3", "N"]),
        (helper.make_node("Reshape", ["x", "t"], ["a"]), ["64", "3", "N"]),
        (helper.make_node("Add", ["x", "c"], ["a"]), ["?", "?", "?"]),
    ],
)
def test_what_is_told_holds_at_odd_sizes_too(made, told):
    """A pool rounds; of an Add that 64 alone fits nobody knows what is below it at other sizes."""
    nodes = [made, helper.make_node("Transpose", ["a"], ["y"])]
    report = taken({"x": ["N", 3, "L"]}, nodes, {"t": [0, 3, 64], "c": [0] * 64})
    assert [UNKNOWN if dim is None else str(dim) for dim in report.nodes[-1].output] == told


def test_a_target_that_leaves_nothing_open_is_told_below_an_unknown_operator():
    nodes = [
        helper.make_node("Own", ["x"], ["a"], domain="own"),
        helper.make_node("Reshape", ["a", "t"], ["b"]),
        helper.make_node("Transpose", ["b"], ["c"]),
        helper.make_node("Reshape", ["a", "u"], ["d"]),
    ]
    report = taken({"x": ["N", 3]}, nodes, {"t": [4, 3, 2], "u": [0, 3]})
    assert [(each.output, each.verdict.value) for each in report.nodes] == [
        ((4, 3, 2), "unknown"),
        ((2, 3, 4), "unknown"),
        (None, "unknown"),
    ]
    assert {*report.nodes[0].runs.values()} == {"blocked"}


def test_a_number_for_all_samples_stays():
    nodes = [helper.make_node("Mul", ["x", "factor"], ["y"])]
    assert shapes(taken({"x": [1, 3, 8], "factor": [1]}, nodes)) == [("N", 3, 8), (1,)]


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
    assert taken({"x": ["N", "L"]}, sizes=(2, *free_dims.HELD_BACK)).sizes == (1, 2, *free_dims.HELD_BACK)


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
