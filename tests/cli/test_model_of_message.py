"""`shapecalc doctor --model`: from a runtime message of a real model to the node to fix."""

from __future__ import annotations

import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.cli.conftest import command
from tests.models.judging import graph_model
from tests.models.samples import freed, session

node = helper.make_node
FLAT = node("Reshape", ["x", "u"], ["a"], name="/Flat")
CASES = {
    "a listed node": ([node("Reshape", ["x", "t"], ["y"], name="/R")], "", "/R"),
    "a node without a name": ([node("Reshape", ["x", "t"], ["y"])], "the message names no node, and #0 alone", "#0"),
    "a product below": (
        [FLAT, node("Gemm", ["a", "w"], ["y"], name="/Gemm")],
        "'/Gemm' is not among the listed nodes; next above it /Flat offends",
        "/Flat",
    ),
    "a sum two nodes below": (
        [FLAT, node("Relu", ["a"], ["b"], name="/Relu"), node("Add", ["b", "v"], ["y"], name="/Add")],
        "'/Add' is not among the listed nodes; next above it /Flat offends",
        "/Flat",
    ),
}


def save_model(folder, nodes, outputs=("y",)):
    """Write a model of nodes on an input x of 1,6 to a folder, and return it."""
    constants = {"t": [1, 2, 3], "u": [1, -1], "w": np.ones((6, 2), np.float32), "v": np.ones((1, 6), np.float32)}
    initializers = [(name, np.array(value)) for name, value in constants.items()]
    model = graph_model(nodes, [("x", (1, 6))], outputs, initializers, shapes=False)
    onnx.save(model, folder / "m.onnx")
    return model


@pytest.mark.parametrize(("nodes", "message", "heading"), CASES.values(), ids=CASES)
def test_runtime_message_leads_to_the_node_to_fix(shapecalc, tmp_path, nodes, message, heading):
    model = save_model(tmp_path, nodes)
    with pytest.raises(Exception, match="Non-zero status code") as failed:
        session(freed(model)).run(None, {"x": np.ones((3, 6), np.float32)})
    ran = shapecalc("doctor", "--model", str(tmp_path / "m.onnx"), stdin=str(failed.value))
    assert ran.code == 0
    assert message in ran.out
    assert f"\n{heading}  Reshape 14 " in ran.out
    assert "\n  fix     0," in ran.out
    if "Flat" in heading:
        assert f"and nothing fails before {nodes[-1].name}\n" in ran.out
        refused = shapecalc("model", str(tmp_path / "m.onnx"), "--node", nodes[-1].name)
        assert (refused.code, message in refused.err) == (2, True)


def test_message_matching_two_nodes_selects_none(shapecalc, tmp_path):
    save_model(tmp_path, [node("Reshape", ["x", "t"], [name]) for name in "yz"], ["y", "z"])
    text = "Input shape:{3,6}, requested shape:{1,2,3}"
    assert shapecalc("doctor", "--model", str(tmp_path / "m.onnx"), stdin=text).out.endswith("names no node\n")


def test_message_on_stdin_belongs_to_the_named_model(tmp_path):
    save_model(tmp_path, CASES["a listed node"][0])
    (tmp_path / "message.txt").write_text(
        "Non-zero status code returned while running Reshape node. Name:'/R' failed\n"
    )
    with (tmp_path / "message.txt").open() as stdin:
        ran = subprocess.run(command("m.onnx"), stdin=stdin, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stderr == "read as: shapecalc doctor - --model m.onnx\n"
    assert "\n/R  Reshape" in ran.stdout
