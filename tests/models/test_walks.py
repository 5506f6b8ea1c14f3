"""Walks against ONNX Runtime: at every size the shapes that are told, and the nodes that fail, are its own."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from shapecalc.models import file
from shapecalc.models.file import model_of
from tests.models.judging import Bare, held_against_runtime, judged, shapes_by_name
from tests.models.text import model, sections

SIZES = (1, 2, 3)


@pytest.mark.parametrize(("text", "lines"), sections("walks"))
def test_a_walk_tells_what_runs(text, lines):
    proto = model(text)
    walk, _ = judged(proto, SIZES, Bare())
    unknown = set()
    for name, said in (line.split(maxsplit=1) for line in lines):
        number = walk.model.names.index(name)
        if said.startswith("? "):
            unknown.add(name)
            assert walk.whys[number] == said[2:]
        else:
            told = [shapes_by_name(walk, lane)[name] for lane in range(3)]
            assert [",".join(map(str, each)) if each else "-" for each in told] == said.split()
    if "own.Magic" not in text:
        held_against_runtime(proto, unknown)


def test_a_function_is_put_in_where_it_is_called():
    made = model(
        "x = (N,4); function Flat a = {b = Flatten a axis=@axis}; y = own.Flat x axis=1; z = own.Flat y axis=0"
    )
    nodes = model_of(made, Path("m.onnx"), {}).graph.nodes
    assert [node.bodies[0].nodes[0].path for node in nodes] == ["0/@Flat/0", "1/@Flat/0"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = (N,4); function Again a = {b = own.Again a}; y = own.Again x", "calls itself"),
        ("x = (N,4); a = Add x b; b = Relu a", "in a cycle"),
    ],
)
def test_what_goes_round_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        model_of(model(text), Path("m.onnx"), {})


def test_functions_that_would_become_many_nodes_stay_calls(monkeypatch):
    monkeypatch.setattr(file, "MOST_CALLED", 40)
    twice = [f"function F{n} a = {{m = own.F{under} a; b = own.F{under} m}}" for under, n in pairwise(range(30))]
    text = "\n".join(["x = (N,4); function F0 a = {b = Relu a}", *twice, "y = own.F29 x"])
    walk, _ = judged(model(text))
    assert "custom operator" in walk.whys[walk.model.graph.outputs[0]]
