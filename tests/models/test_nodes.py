"""Nodes alone, and the table of operators: shapes, refusals and where the samples are, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from shapecalc.models.answers import Inference
from shapecalc.models.batch_axis import BatchAxis, Lost, NodeAtSize
from shapecalc.models.file import model_of
from shapecalc.models.operators import LISTED, OPERATORS, Inferred, Operator
from shapecalc.models.propagate import mark_after
from shapecalc.models.walk import OtherNodes
from tests.models.judging import held_against_runtime, judged
from tests.models.samples import are_apart, batch_axes, changes, dims_of, fed, session
from tests.models.text import model, rows

ROWS = [pytest.param(domain, op, row, id=op) for domain, table in OPERATORS.items() for op, row in table.items()]
BATCHES = (2, 3)


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


def at_size(proto, batch, outputs):
    """Return the only node of a model as it is at a batch size."""
    node = model_of(proto, Path("m.onnx"), {}).graph.nodes[0]
    inputs = {each.name: dims_of(each) for each in proto.graph.input}
    held = {each.name: numpy_helper.to_array(each) for each in proto.graph.initializer}
    names, axes = proto.graph.node[0].input, batch_axes(proto)
    shapes = [
        tuple(batch if dim == "N" else dim for dim in inputs[name])
        if name in inputs
        else held[name].shape
        if name
        else None
        for name in names
    ]
    known = {at: held[name] for at, name in enumerate(names) if name in held and held[name].dtype != np.float32}
    marks = [BatchAxis(axes[name], 1) if name in axes and held.get(name) is None else None for name in names]
    absent = [at for at, name in enumerate(names) if not name]
    return NodeAtSize(
        node.op, node.domain, node.opset, node.attributes, batch, marks, shapes, outputs, known.get, absent
    )


@pytest.mark.parametrize(("text", "place"), rows("routes"))
def test_a_mark_is_where_the_samples_are(text, place):
    proto = model(text)
    held_against_runtime(proto)
    walk, follower = judged(proto, BATCHES)
    for lane, batch in enumerate(BATCHES, 1):
        found = changes(session(proto), fed(proto, N=batch), batch_axes(proto), batch)
        node = at_size(proto, batch, [each.shape for each in found])
        for to, reached in enumerate(found):
            mark = mark_after(node, to)
            if proto.graph.node[0].op_type not in LISTED and not follower.stops:
                assert follower.marks(walk.model.graph.outputs[to])[lane] == mark
            if place == "lost":
                assert isinstance(mark, Lost)
            else:
                assert mark == BatchAxis(*map(int, place.split(",")))
                assert are_apart(reached, mark.axis, mark.inner, batch)


def test_axes_that_nobody_knows_are_not_axes_left_out():
    proto = model("y = Slice (N,4) [0] [1] [0]")
    node = at_size(proto, 2, [(1, 4)])
    node.inputs[3], node.elements = None, {1: np.array([0]), 2: np.array([1])}.get
    assert isinstance(mark_after(node), Lost)


@pytest.mark.parametrize("text", [row.values[0] for row in rows("sizes")])
def test_sizes_that_the_runtime_refuses_are_refused(text):
    held_against_runtime(model(text))


@pytest.mark.parametrize("text", ["y = Pad (N,4) [1,2,3]", "y = Pad (N,4) [0,0,0,0,0,0]", "y = Pad (N,4) []"])
def test_pads_of_another_length_are_not_told(text):
    walk, _ = judged(model(text))
    assert walk.shapes[walk.model.graph.outputs[0]] is None


@pytest.mark.parametrize("text", [row.values[0] for name in ("routes", "sizes") for row in rows(name)])
def test_asking_once_for_all_sizes_tells_what_asking_at_each_size_tells(text, monkeypatch):
    once, told_once = judged(model(text))
    monkeypatch.setattr(Inference, "in_all", lambda *_: None)
    each, told_each = judged(model(text))
    assert (once.shapes, once.dtypes) == (each.shapes, each.dtypes)
    assert [stop.why for stop in told_once.stops] == [stop.why for stop in told_each.stops]


def test_onnx_is_asked_once_for_all_sizes_if_a_node_hands_the_batch_on(monkeypatch):
    asked = []
    infer = Inference.outputs
    monkeypatch.setattr(Inference, "outputs", lambda self, *given: asked.append(given[0].op) or infer(self, *given))
    monkeypatch.setattr(OtherNodes, "_in_each", lambda *_: pytest.fail("each size is asked about"))
    judged(model("y = MatMul (N,4) zeros(4,5)"))
    assert asked == ["MatMul"]
