"""`shapecalc doctor --model`: the node that a message names, as the model has it."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper

from shapecalc.cli import model_report
from tests.cli.conftest import command
from tests.cli.test_model import NODE
from tests.models.judging import graph_model
from tests.models.reports import YOLO
from tests.models.samples import freed, session

node = helper.make_node

OUTER = "Non-zero status code returned while running Reshape node. Name:'{}' Status Message: it cannot be done\n"
PARSER = "[TRT] While parsing node number 18 [Reshape -> r1]: In function parseGraph: [6] reshaping failed for tensor\n"


@pytest.fixture
def told(shapecalc, monkeypatch):
    monkeypatch.setattr(model_report, "report_of", lambda *_: YOLO)
    return lambda text, *words: shapecalc("doctor", "--model", "yolo.onnx", *words, stdin=text)


@pytest.mark.parametrize("text", [OUTER.format("/Reshape_1"), PARSER])
def test_the_node_is_shown_as_the_model_has_it(told, text):
    ran = told(text)
    assert ran.code == 0
    assert ran.out.endswith("\n\n" + NODE)
    (message,) = json.loads(told(text, "--json").out)
    assert message["model"]["path"] == "18"
    assert message["model"]["fixes"][0]["target"] == [0, -1, 85]


def test_a_node_of_several_messages_is_shown_once(told):
    text = OUTER.format("/Reshape_1") + "step\n" * 500 + PARSER
    assert told(text).out.count("fix     0,-1,85") == 1
    assert [each["model"]["path"] for each in json.loads(told(text, "--json").out)] == ["18", "18"]


@pytest.mark.parametrize(
    ("text", "said", "code"),
    [
        (OUTER.format("/Nobody\x1b"), "yolo.onnx: no listed node is called '/Nobody' or has that path", 0),
        ("shape '[8, 3]' is invalid for input of size 16", "yolo.onnx: the message names no node", 0),
        ("hello", "not known to me (paste the whole log or traceback, from its first line)", 1),
    ],
)
def test_a_node_that_is_not_there_is_told_in_one_line(told, text, said, code):
    ran = told(text)
    assert (ran.code, ran.out.splitlines()[-1]) == (code, said)
    assert json.loads(told(text, "--json").out)[0]["model"] is None


def test_a_model_that_cannot_be_read_is_exit_4(shapecalc, tmp_path):
    ran = shapecalc("doctor", "--model", str(tmp_path / "no.onnx"), stdin=PARSER)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.count("\n") == 1


REAL = {
    "a listed node": ([node("Reshape", ["x", "t"], ["y"], name="/R")], "", "/R"),
    "a node without a name": ([node("Reshape", ["x", "t"], ["y"])], "the message names no node, and #0 alone", "#0"),
    "a product below": (
        [node("Reshape", ["x", "u"], ["a"], name="/Flat"), node("Gemm", ["a", "w"], ["y"], name="/Gemm")],
        "'/Gemm' is not among the listed nodes; next above it /Flat offends",
        "/Flat",
    ),
    "a sum two nodes below": (
        [
            node("Reshape", ["x", "u"], ["a"], name="/Flat"),
            node("Relu", ["a"], ["b"], name="/Relu"),
            node("Add", ["b", "v"], ["y"], name="/Add"),
        ],
        "'/Add' is not among the listed nodes; next above it /Flat offends",
        "/Flat",
    ),
}


@pytest.mark.parametrize(("nodes", "said", "shown"), REAL.values(), ids=REAL)
def test_what_the_runtime_says_of_a_model_leads_to_the_node_to_mend(shapecalc, tmp_path, nodes, said, shown):
    constants = [("t", np.array([1, 2, 3])), ("u", np.array([1, -1])), ("w", np.ones((6, 2), np.float32))]
    model = graph_model(nodes, [("x", (1, 6))], ["y"], [*constants, ("v", np.ones((1, 6), np.float32))], shapes=False)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(Exception, match="Non-zero status code") as failed:
        session(freed(model)).run(None, {"x": np.ones((3, 6), np.float32)})
    ran = shapecalc("doctor", "--model", str(tmp_path / "m.onnx"), stdin=str(failed.value))
    assert ran.code == 0
    assert said in ran.out
    assert f"\n{shown}  Reshape 14 " in ran.out
    assert "\n  fix     0," in ran.out
    if "Flat" in shown:
        assert f"and nothing fails before {nodes[-1].name}\n" in ran.out
        refused = shapecalc("model", str(tmp_path / "m.onnx"), "--node", nodes[-1].name)
        assert (refused.code, said in refused.err) == (2, True)


def test_of_two_nodes_with_the_shapes_of_a_message_none_is_taken(shapecalc, tmp_path):
    nodes = [node("Reshape", ["x", "t"], ["y"]), node("Reshape", ["x", "t"], ["z"])]
    onnx.save(graph_model(nodes, [("x", (1, 6))], ["y", "z"], [("t", np.array([1, 2, 3]))]), tmp_path / "m.onnx")
    text = "Input shape:{3,6}, requested shape:{1,2,3}"
    assert shapecalc("doctor", "--model", str(tmp_path / "m.onnx"), stdin=text).out.endswith("names no node\n")


def test_a_message_on_standard_input_belongs_to_the_model_that_is_named(tmp_path):
    onnx.save(
        graph_model(REAL["a listed node"][0], [("x", (1, 6))], ["y"], [("t", np.array([1, 2, 3]))]), tmp_path / "m.onnx"
    )
    (tmp_path / "said.txt").write_text(OUTER.format("/R"))
    with (tmp_path / "said.txt").open() as said:
        ran = subprocess.run(command("m.onnx"), stdin=said, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stderr == "read as: shapecalc doctor - --model m.onnx\n"
    assert "\n/R  Reshape" in ran.stdout
