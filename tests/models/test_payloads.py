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
from tests.sampling import examples

BIG = np.arange(LARGE, dtype=np.float32)


def typed(name):
    """Return a tensor whose elements are written one by one."""
    return helper.make_tensor(name, TensorProto.FLOAT, BIG.shape, BIG)


def loaded(*, small=False):
    """Return a model with large tensors in all places where tensors can be."""
    tensors = [numpy_helper.from_array(BIG, "raw"), typed("typed"), numpy_helper.from_array(BIG[:4], "few")]
    held = numpy_helper.from_array(BIG[:4] if small else BIG)
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value=held)],
        "inner",
        [],
        [helper.make_tensor_value_info("k", TensorProto.FLOAT, None)],
        [typed("hidden")],
    )
    nodes = [
        helper.make_node("Constant", [], ["held"], value=held),
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]),
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    function = helper.make_function(
        "own", "F", ["a"], ["b"], [helper.make_node("Constant", [], ["b"], value=held)], [helper.make_opsetid("", 17)]
    )
    graph = helper.make_graph(nodes, "g", inputs, outputs, [] if small else tensors)
    return helper.make_model(graph, functions=[function], opset_imports=[helper.make_opsetid("", 17)])


def test_large_elements_are_left_out_everywhere_and_come_back():
    data = loaded().SerializeToString()
    message, payloads = without_payloads(data)
    assert (len(payloads), len(message) < 2000) == (8, True)
    assert b"".join(with_payloads(message, payloads, data)) == data


def test_a_small_model_is_the_same_message():
    data = helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString()
    assert without_payloads(data) == (data, {})
    assert b"".join(with_payloads(data, {}, data)) == data


def test_payloads_come_back_into_a_model_that_was_changed():
    data = loaded().SerializeToString()
    message, payloads = without_payloads(data)
    model = onnx.ModelProto.FromString(message)
    model.graph.node.insert(0, helper.make_node("Neg", ["x"], ["n"], name="new" * 100))
    model.graph.initializer.insert(0, numpy_helper.from_array(np.arange(3), "target"))
    made = onnx.ModelProto.FromString(b"".join(with_payloads(model.SerializeToString(), payloads, data)))
    wanted = loaded()
    wanted.graph.node.insert(0, model.graph.node[0])
    wanted.graph.initializer.insert(0, model.graph.initializer[0])
    assert made == wanted


def test_marks_that_a_file_brings_are_left_alone():
    data = loaded().SerializeToString()
    message, _ = without_payloads(data)
    again, payloads = without_payloads(message)
    assert (again, payloads) == (message, {})
    assert b"".join(with_payloads(message, without_payloads(data)[1], data)) == message


MESSAGES = [loaded(small=small).SerializeToString() for small in (False, True)]


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


def test_a_folder_and_a_file_that_is_not_there_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(ShapeError):
            read_model(path)


def test_thirty_levels_are_read(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(deep(30))
    model = read_model(path)
    assert len(model.graph.nodes) == 1
