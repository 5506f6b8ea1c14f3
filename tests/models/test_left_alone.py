"""What is said to fail below a node that goes wrong without an error is the node that ONNX Runtime names."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from shapecalc.models.free_dims import SizeOptions
from shapecalc.models.judge import report_of
from shapecalc.models.verdicts import Verdict
from tests.models.judging import graph_model
from tests.models.samples import freed, session

node = helper.make_node
SPLIT = node("Reshape", ["x", "t"], ["r"], name="split")
CONSTANTS = [("t", np.array([1, -1, 4])), ("turn", np.array([1, 12])), ("w", np.ones((12, 2), np.float32))]
WAYS = {
    "before /Gemm": [node("Flatten", ["r"], ["f"], name="flat"), node("Gemm", ["f", "w"], ["y"], name="/Gemm")],
    "before turn": [node("Relu", ["r"], ["f"], name="relu"), node("Reshape", ["f", "turn"], ["y"], name="turn")],
    "": [node("Relu", ["r"], ["f"], name="relu"), node("Softmax", ["f"], ["y"], name="soft", axis=2)],
    "beside": [node("Reshape", ["x", "t"], ["f"], name="other"), node("Concat", ["r", "f"], ["y"], name="put", axis=2)],
    None: [node("Own", ["r"], ["f"], name="own", domain="own"), node("Flatten", ["f"], ["y"], name="flat")],
}


@pytest.mark.parametrize(("where", "below"), WAYS.items())
def test_the_first_node_that_fails_below_is_the_one_that_the_runtime_names(where, below, tmp_path):
    model = graph_model([SPLIT, *below], [("x", ["N", 3, 4])], ["y"], CONSTANTS, shapes=False)
    onnx.save(model, tmp_path / "m.onnx")
    report = report_of(str(tmp_path / "m.onnx"), SizeOptions(), ["split", "nobody"])
    (judged,) = [each for each in report.nodes if each.node.name == "split"]
    assert judged.verdict is Verdict.SWALLOWS
    before, comma, said = judged.why.partition(", and nothing fails")
    assert before == "N was axis 0; now it is the slow part of axis 1"
    if where is None:
        assert not comma
        return
    assert (comma, said) == (", and nothing fails", f" {where}" if where.startswith("before") else "")
    try:
        session(freed(model)).run(None, {"x": np.ones((2, 3, 4), np.float32)})
    except Exception as error:
        assert f"Name:'{where.removeprefix('before ')}'" in str(error)
    else:
        assert "before" not in where
