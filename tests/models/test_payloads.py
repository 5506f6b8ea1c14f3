"""Payloads: what is left in the file, and that it comes back byte for byte; files that are no models."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from shapecalc.core.problem import FILE, ShapeError
from shapecalc.models.file import LARGE, read_model, with_payloads, without_payloads
from tests.models.text import model
from tests.sampling import examples

BIG = np.arange(LARGE, dtype=np.float32)


def loaded(held=BIG):
    """Return a model with tensors in all places where tensors can be."""
    made = model("""
        x = (N,3); c = bool(); held = Constant value=[0.5]; r = Relu x; function F a = {b = Constant value=[0.5]}
        y = If c then_branch={k = Constant value=[0.5]} else_branch={l = Constant value=[0.5]}
    """)
    inner = [each.g for each in made.graph.node[2].attribute]
    for node in (made.graph.node[0], made.functions[0].node[0], *[graph.node[0] for graph in inner]):
        node.attribute[0].t.CopyFrom(numpy_helper.from_array(held))
    typed = helper.make_tensor("typed", TensorProto.FLOAT, BIG.shape, BIG)  # its elements are written one by one
    for graph in inner:
        graph.initializer.append(typed)
    if held is BIG:
        made.graph.initializer.extend([numpy_helper.from_array(BIG), typed, numpy_helper.from_array(BIG[:4])])
    return made


def test_large_elements_are_left_out_everywhere_and_come_back():
    for data, count in ((loaded().SerializeToString(), 8), (model("x = (N,3)").SerializeToString(), 0)):
        message, payloads = without_payloads(data)
        assert (len(payloads), len(message) < 2000) == (count, True)
        assert b"".join(with_payloads(message, payloads, data)) == data


def test_payloads_come_back_into_a_model_that_was_changed():
    data = loaded().SerializeToString()
    message, payloads = without_payloads(data)
    changed, wanted = onnx.ModelProto.FromString(message), loaded()
    for each in (changed, wanted):
        each.graph.node.insert(0, helper.make_node("Neg", ["x"], ["n"], name="new" * 100))
        each.graph.initializer.insert(0, numpy_helper.from_array(np.arange(3), "target"))
    made = onnx.ModelProto.FromString(b"".join(with_payloads(changed.SerializeToString(), payloads, data)))
    assert made == wanted


def test_marks_that_a_file_brings_are_left_alone():
    data = loaded().SerializeToString()
    message, _ = without_payloads(data)
    again, payloads = without_payloads(message)
    assert (again, payloads) == (message, {})
    assert b"".join(with_payloads(message, without_payloads(data)[1], data)) == message


MESSAGES = [loaded(held).SerializeToString() for held in (BIG, BIG[:4])]


@examples(300)
@given(st.data())
def test_what_is_cut_or_changed_is_refused_or_read(data):
    """Cut short, or with other bytes: it is read as protobuf reads it, or refused in one line."""
    message = bytearray(data.draw(st.sampled_from(MESSAGES)))
    for _ in range(data.draw(st.integers(0, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(message[: data.draw(st.integers(0, len(message)))])
    try:
        kept, payloads = without_payloads(cut)
    except ValueError as error:
        assert "\n" not in str(error)
        with pytest.raises(DecodeError):
            onnx.ModelProto.FromString(cut)
    else:
        assert b"".join(with_payloads(kept, payloads, cut)) == cut


def deep(levels):
    """Return the message of Ifs in Ifs, written by hand, since protobuf does not write what it cannot read."""

    def field(number, content):
        size, length = len(content), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    graph = field(2, b"g")
    for _ in range(levels):
        graph = field(1, field(5, field(1, b"then_branch") + field(6, graph)) + field(4, b"If"))
    return field(7, graph)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"hello, world\n" * 20, "it is not an ONNX model, or it is cut short"),
        (loaded().SerializeToString()[:-7], "it is not an ONNX model, or it is cut short"),
        (b"\x08\x07", "it holds no graph"),
        (deep(40), "nested deeper than protobuf reads"),
        (deep(400), "nested deeper than protobuf reads"),
    ],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(tmp_path, content, said):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ShapeError) as refused:
        read_model(path)
    assert refused.value.problem.rule is FILE
    assert said in refused.value.problem.message
    assert "\n" not in refused.value.problem.message


def test_thirty_levels_are_read_and_no_folder_nor_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(deep(30))
    assert len(read_model(path).graph.nodes) == 1
    for other in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(ShapeError):
            read_model(other)
