"""`shapecalc doctor --model`: the node that a message names, as the model has it."""

from __future__ import annotations

import json

import pytest

from shapecalc.cli.modelling import named_nodes
from tests.cli.test_model import NODE
from tests.models.reports import YOLO

OUTER = "Non-zero status code returned while running Reshape node. Name:'{}' Status Message: it cannot be done\n"
PARSER = "[TRT] While parsing node number 18 [Reshape -> r1]: In function parseGraph: [6] reshaping failed for tensor\n"


@pytest.fixture
def told(shapecalc, monkeypatch):
    monkeypatch.setattr(named_nodes, "report_of", lambda *_: YOLO)
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
        ("hello", "not known to me", 1),
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
