"""Single nodes and the table of operators: shapes, refusals and batch marks, compared with ONNX Runtime."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, defs, helper, numpy_helper

from shapecalc.models.batch_axis import (
    BatchAxis,
    LaneNode,
    LostBatch,
    infer_mark,
    locate_batch,
    reshape_batch_axis,
    sample_numbers_along_axis,
)
from shapecalc.models.file import build_model
from shapecalc.models.operators import (
    LISTED_OPERATORS,
    ONNX_OPERATORS,
    OPERATORS,
    InferredShapeRule,
    OperatorSpec,
)
from shapecalc.models.propagate import output_mark
from shapecalc.models.queries import ShapeInference
from shapecalc.models.walk import InferredNodeVisitor
from tests.models.judging import assert_matches_runtime, walk_and_judge
from tests.models.samples import are_apart, batch_axes, changes, dims_of, random_inputs, separating_axes, session
from tests.models.text import model, rows
from tests.sampling import each_row

BATCHES = (2, 3)


@pytest.mark.parametrize("domain", OPERATORS)
def test_routed_operators_have_shapes(domain):
    """An inferred shape needs an ONNX schema with an inference function."""
    for op, row in OPERATORS[domain].items():
        assert isinstance(row, OperatorSpec)
        assert not (row.axis_rule and row.mark_rule), op
        if isinstance(row.shape_rule, InferredShapeRule) and (row.axis_rule or row.mark_rule):
            schema = (row.onnx_equivalent, "") if row.onnx_equivalent else (op, domain)
            assert onnx.defs.get_schema(*schema).has_type_and_shape_inference_function, op
        if isinstance(row.shape_rule, InferredShapeRule) and row.shape_rule.copies_dims:
            assert onnx.defs.has(op, domain=domain), op


WRITTEN_BY_THE_QUANTIZER = """
    DequantizeLinear DynamicQuantizeLSTM EmbedLayerNormalization MatMulBnb4 MatMulNBits QAttention
    QEmbedLayerNormalization QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearGlobalAveragePool QLinearLeakyRelu
    QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere QuantizeLinear
"""
WITHOUT_SHAPES = {"GatherBlockQuantized"}
"""The operators of the quantizer whose outputs are reported as unknown."""


def test_operators_of_the_quantizer_have_shapes():
    folder = Path(onnxruntime.__file__).parent / "quantization"
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.py"))
    pattern = r'"(QL[a-zA-Z]+|Q[A-Z][a-z]+[A-Za-z]*|QGemm|DynamicQuantizeLSTM|MatMulNBits|MatMulBnb4|GatherBlock\w+)"'
    named = {name for name in re.findall(pattern, text) if not re.match(r"QDQ|QOperator|QLinear$", name)}
    onnx_ops = {name for name in named if onnx.defs.has(name)}
    known = {*WRITTEN_BY_THE_QUANTIZER.split()}
    assert named - onnx_ops - known == WITHOUT_SHAPES
    assert known <= {*OPERATORS["com.microsoft"]}


def test_every_operator_of_opset_23_has_a_shape_or_a_reason():
    """Without an inference function, the outputs need a rule, or are unknown for the reason that is named."""
    schemas = {s.name: s for s in onnx.defs.get_all_schemas_with_history() if not s.domain and s.since_version <= 23}
    unknown = {
        name
        for name in schemas
        if not onnx.defs.get_schema(name, 23, "").has_type_and_shape_inference_function
        and not (OPERATORS[""].get(name, OperatorSpec()).evaluate or name in LISTED_OPERATORS)
        and not onnx.defs.get_schema(name, 23, "").has_function
        and not onnx.defs.get_schema(name, 23, "").deprecated
        and isinstance(OPERATORS[""].get(name, OperatorSpec()).shape_rule, InferredShapeRule)
    }
    assert unknown == set()


def node_at_batch(proto, batch, outputs):
    """Return the only node of a model at a batch size."""
    node = build_model(proto, Path("m.onnx"), {}).graph.nodes[0]
    inputs = {tensor.name: dims_of(tensor) for tensor in proto.graph.input}
    initializers = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    names, axes = proto.graph.node[0].input, batch_axes(proto)
    sizes = {"": None} | {name: array.shape for name, array in initializers.items()}
    sizes |= {name: tuple([batch if dim == "N" else dim for dim in dims]) for name, dims in inputs.items()}
    arrays = {index: initializers.get(name) for index, name in enumerate(names)}
    known = {index: array for index, array in arrays.items() if array is not None and array.dtype != np.float32}
    marks, shapes = [axes.get(name) for name in names], [sizes[name] for name in names]
    absent = [index for index, name in enumerate(names) if not name]
    marks = [None if axis is None else BatchAxis(axis, 1) for axis in marks]
    row = node.op, node.domain, node.opset, node.attributes
    return LaneNode(*row, batch, marks, shapes, outputs, known.get, absent)


@each_row(("text", "place"), rows("routes"))
def test_batch_mark_matches_the_samples(text, place):
    proto = model(text)
    assert_matches_runtime(proto)
    walk, tracker = walk_and_judge(proto, BATCHES)
    for lane, batch in enumerate(BATCHES, 1):
        outputs = changes(session(proto), random_inputs(proto, N=batch), batch_axes(proto), batch)
        node = node_at_batch(proto, batch, [bits.shape for bits in outputs])
        for index, bits in enumerate(outputs):
            mark = output_mark(node, index)
            if proto.graph.node[0].op_type not in LISTED_OPERATORS and not tracker.stops:
                assert tracker.marks_of(walk.model.graph.outputs[index])[lane] == mark
            if place == "lost":
                assert isinstance(mark, LostBatch)
            else:
                assert mark == BatchAxis(*map(int, place.split(",")))
                assert are_apart(bits, mark.axis, mark.inner, batch)


@pytest.mark.parametrize(
    "node",
    [
        "com.microsoft.QLinearAdd q 0.1 z q 0.1 z 0.1 z",
        "com.microsoft.QLinearMul q 0.1 z q 0.1 z 0.1 z",
        "com.microsoft.QLinearGlobalAveragePool q 0.1 z 0.1 z",
        "com.microsoft.QLinearConcat 0.1 z q 0.1 z q 0.1 z axis=1",
        "com.microsoft.QLinearSigmoid q 0.1 z 0.1 z",
        "com.microsoft.QLinearLeakyRelu q 0.1 z 0.1 z",
        "com.microsoft.QLinearSoftmax q 0.1 z 0.1 z axis=1 opset=13",
        "com.microsoft.DequantizeLinear q 0.1 z",
        "com.microsoft.QuantizeLinear x 0.1 z",
        "com.microsoft.QGemm f 0.1 z w 0.1 z",
    ],
)
def test_quantized_operators_have_shapes_and_marks(node):
    proto = model(f"x = (N,2,4,4); q = QuantizeLinear x 0.1; f = Reshape q [0,-1]; y = {node}")
    for name, shape in {"w": (32, 3), "z": ()}.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.zeros(shape, np.uint8), name))
    walk = assert_matches_runtime(proto)
    _, tracker = walk_and_judge(proto, BATCHES)
    for lane, batch in enumerate(BATCHES, 1):
        (bits,) = changes(session(proto), random_inputs(proto, N=batch), batch_axes(proto), batch)
        mark = tracker.marks_of(walk.model.graph.outputs[0])[lane]
        assert mark == BatchAxis(0, 1)
        assert are_apart(bits, 0, 1, batch)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x = (N,5,4); y = com.microsoft.DynamicQuantizeMatMul x w 0.1 z", {"w": (4, 3), "z": ()}),
        (
            "x = (3,N,4); y h = com.microsoft.DynamicQuantizeLSTM x w r _ _ _ _ _ ones(2) z ones(2) z hidden_size=2 "
            "direction=bidirectional",
            {"w": (2, 4, 8), "r": (2, 2, 8), "z": (2,)},
        ),
    ],
    ids=["matmul", "lstm"],
)
def test_operators_with_one_scale_for_all_samples(text, shapes):
    proto = model(text)
    for name, shape in shapes.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.full(shape, 3 if name == "z" else 5, np.uint8), name))
    assert_matches_runtime(proto)
    _, tracker = walk_and_judge(proto, BATCHES)
    assert [(stop.why, stop.mixes) for stop in tracker.stops] == [("takes one scale for all samples", True)]
    x, axis = random_inputs(proto, N=3)["x"], batch_axes(proto)["x"]
    x = np.concatenate([x.take([0, 1], axis), 9 * x.take([2], axis)], axis)  # the last sample changes the scale
    alone, together = (session(proto).run(None, {"x": x.take(chosen, axis)})[0] for chosen in ([0], [0, 1, 2]))
    assert not np.allclose(together.take([0], 2 if axis else 0), alone, rtol=1e-4)


def test_unknown_axes_are_not_omitted_axes():
    proto = model("y = Slice (N,4) [0] [1] [0]")
    node = node_at_batch(proto, 2, [(1, 4)])
    node.inputs[3], node.elements = None, {1: np.array([0]), 2: np.array([1])}.get
    assert isinstance(output_mark(node), LostBatch)


@each_row("text", [row[0] for row in rows("sizes")])
def test_sizes_refused_by_the_runtime_are_refused(text):
    assert_matches_runtime(model(text))


@pytest.mark.parametrize("text", ["y = Pad (N,4) [1,2,3]", "y = Pad (N,4) [0,0,0,0,0,0]", "y = Pad (N,4) []"])
def test_pads_of_wrong_length_give_no_shape(text):
    walk, _ = walk_and_judge(model(text))
    assert walk.shapes[walk.model.graph.outputs[0]] is None


@each_row("text", [row[0] for name in ("routes", "sizes") for row in rows(name)])
def test_inference_once_equals_inference_per_size(text, monkeypatch):
    once, tracker_once = walk_and_judge(model(text))
    with monkeypatch.context() as patch:
        patch.setattr(ShapeInference, "infer_all_lanes", lambda *_: None)
        per_size, tracker_per_size = walk_and_judge(model(text))
    assert (once.shapes, once.dtypes) == (per_size.shapes, per_size.dtypes)
    assert [stop.why for stop in tracker_once.stops] == [stop.why for stop in tracker_per_size.stops]


CONSTANT_INTEGERS = st.integers(-9, 9) | st.sampled_from([2**62, -(2**63)])


@st.composite
def pads_and_slices(draw):
    """Draw a Pad or a Slice with constant arguments as text; the arguments may be invalid."""
    count = draw(st.integers(0, 3))
    sizes = st.lists(CONSTANT_INTEGERS, min_size=count, max_size=count)
    if draw(st.booleans()):
        pads = draw(st.lists(st.integers(-3, 5), min_size=2 * count, max_size=2 * count))
        return f"y = Pad (N,4,5) {pads}"
    axes = draw(st.lists(st.integers(-4, 3), min_size=count, max_size=count))
    steps = draw(st.lists(st.integers(-2, 3), min_size=count, max_size=count))
    return f"y = Slice (N,4,5) {draw(sizes)} {draw(sizes)} {axes} {steps}"


@given(pads_and_slices())
def test_constant_pads_and_slices_have_the_shapes_of_inference(text):
    words = re.sub(r"(?<=\d), ", ",", text)
    walk, tracker = walk_and_judge(model(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InferredNodeVisitor, "_record_constant_shape", lambda *_: False)
        inferred, inferred_tracker = walk_and_judge(model(words))
    assert (walk.shapes, walk.dtypes, walk.unknown_reasons) == (
        inferred.shapes,
        inferred.dtypes,
        inferred.unknown_reasons,
    )
    assert [stop.why for stop in tracker.stops] == [stop.why for stop in inferred_tracker.stops]


def test_constant_pads_and_slices_need_no_inference(monkeypatch):
    monkeypatch.setattr(ShapeInference, "infer_lane", lambda *_: pytest.fail("inference runs"))
    walk, _ = walk_and_judge(model("x = (N,4); a = Pad x [0,1,0,2]; y = Slice a [-3] [9] [1] [2]"))
    assert walk.shapes[walk.model.graph.outputs[0]][1] == (2, 2)


def test_onnx_inference_runs_once_if_the_batch_continues(monkeypatch):
    inferred = []
    infer = ShapeInference.infer_lane
    monkeypatch.setattr(
        ShapeInference, "infer_lane", lambda self, node, *rest: inferred.append(node.op) or infer(self, node, *rest)
    )
    monkeypatch.setattr(InferredNodeVisitor, "_infer_each_lane", lambda *_: pytest.fail("each size is inferred"))
    walk_and_judge(model("y = Gemm (N,4) zeros(4,5)"))
    assert inferred == ["Gemm"]


def test_rules_give_the_element_type_of_outputs():
    wrong = []
    for name, row in ONNX_OPERATORS.items():
        if isinstance(row.shape_rule, InferredShapeRule) or row.core_op or not defs.has(name):
            continue
        schema = defs.get_schema(name)
        index = getattr(row.shape_rule, "typed_input", 0)
        is_comparison = getattr(row.shape_rule, "is_comparison", False)
        expected = {c.type_param_str: [*c.allowed_type_strs] for c in schema.type_constraints}
        types = [expected.get(each.type_str, each.type_str) for each in (schema.inputs[index], schema.outputs[0])]
        if types[1] != (["tensor(bool)"] if is_comparison else types[0]):
            wrong.append(name)
    assert not wrong


SMALL = st.lists(st.integers(1, 4), max_size=3)


def draw_factors(count, parts, draw):
    """Draw a shape of `count` elements."""
    shape = []
    for _ in range(parts):
        size = draw(st.sampled_from([size for size in range(1, count + 1) if count % size == 0]))
        shape.append(size)
        count //= size
    return [*shape, count]


@st.composite
def marked_shapes(draw):
    """Draw a batch, a shape with an axis that holds it, the mark, and another shape of equal element count."""
    batch, outer, inner = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    left, right = draw(SMALL), draw(SMALL)
    shape = (*left, outer * batch * inner, *right)
    after = draw_factors(prod(shape), draw(st.integers(0, 3)), draw)
    return batch, shape, BatchAxis(len(left), inner), tuple(after)


def samples_of(shape, mark, batch):
    """Return the bit of its sample for each element."""
    bits = 1 << sample_numbers_along_axis(mark, shape[mark.axis], batch)
    return np.broadcast_to(bits.reshape([-1 if axis == mark.axis else 1 for axis in range(len(shape))]), shape)


@given(marked_shapes())
def test_reshape_separates_samples_by_element_count(drawn):
    batch, before, mark, after = drawn
    bits = samples_of(before, mark, batch).reshape(after)
    result = reshape_batch_axis(mark, before, after, batch)
    located = locate_batch(result, after, batch)
    assert separating_axes(bits, batch) == ([] if located is None else [located[0]])
    if isinstance(result, BatchAxis):
        assert np.array_equal(samples_of(after, result, batch), bits)


@given(marked_shapes(), st.data())
def test_axis_mark_is_derived_from_positions(drawn, data):
    batch, shape, mark, _ = drawn
    size = shape[mark.axis]
    samples = sample_numbers_along_axis(mark, size, batch)
    assert infer_mark(mark.axis, samples, batch) == mark
    moved = np.roll(samples, data.draw(st.integers(1, size)))
    changed = infer_mark(mark.axis, moved, batch)
    assert (changed == mark) == np.array_equal(moved, samples)


def test_concat_joins_parts_with_equal_sample_layout():
    def concat_mark_rule(*marks_and_sizes):
        marks, sizes = zip(*marks_and_sizes, strict=True)
        return output_mark(
            LaneNode("Concat", "", 18, {"axis": 0}, 2, marks, [(size,) for size in sizes], [(sum(sizes),)], {}.get)
        )

    assert concat_mark_rule((BatchAxis(0, 2), 4), (BatchAxis(0, 2), 8)) == BatchAxis(0, 2)
    assert concat_mark_rule((BatchAxis(0, 2), 4), (None, 4)) == BatchAxis(0, 2)
    assert isinstance(concat_mark_rule((BatchAxis(0, 2), 4), (BatchAxis(0, 1), 4)), LostBatch)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 3], "pads": [1, 0, 1, 1]},
        {"strides": [2, 2], "ceil_mode": 1},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "channels_last": 1},
    ],
    ids=str,
)
def test_quantized_average_pool_has_the_runtimes_shape(attributes):
    constants = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.uint8(3), "z")]
    node = helper.make_node(
        "QLinearAveragePool",
        ["x", "s", "z", "s", "z"],
        ["y"],
        domain="com.microsoft",
        kernel_shape=[3, 2],
        **attributes,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["N", 8, 9, 8])],
        [helper.make_empty_tensor_value_info("y")],
        constants,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    walk, _ = walk_and_judge(proto, (2, 3))
    shapes = walk.shapes_of(walk.model.names.index("y"))
    for lane, shape in zip(walk.lanes, shapes, strict=True):
        ran = session(proto).run(None, {"x": np.ones((lane.batch, 8, 9, 8), np.uint8)})
        assert ran[0].shape == shape


def test_sparse_constant_is_read_as_a_target():
    values = helper.make_tensor("v", TensorProto.INT64, [2], [2, 6])
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [0, 2])
    sparse = helper.make_sparse_tensor(values, indices, [3])
    nodes = [
        helper.make_node("Constant", [], ["t"], sparse_value=sparse),
        helper.make_node("Reshape", ["x", "t"], ["y"], allowzero=0),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 2])],
        [helper.make_empty_tensor_value_info("y")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    _, tracker = walk_and_judge(proto, (2,))
    assert tracker.judged_nodes[0][0].arguments[0]["target"] == (2, 0, 6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "n = Squeeze s; y = Loop n true x body={i = int64(); c = bool(); s = (...); d = Identity c; a = Add s 1.0; "
            "=> d a}",
            "the batch size determines how often it runs",
        ),
        (
            "c = Greater s [2]; q = Squeeze c; y = If q then_branch={a = Relu x} else_branch={b = Neg x}",
            "the batch size determines which branch runs",
        ),
        ("y = Loop 3 true x body={i = int64(); c = bool(); s = (...); d = Identity c; a = Relu s; => d a}", ""),
    ],
)
def test_control_flow_by_the_batch_size_cannot_be_checked(text, reason):
    _, tracker = walk_and_judge(model(f"x = (N,4); s = Shape x end=1; {text}"))
    assert [why for _, why in tracker.lost_nodes.values()] == ([reason] if reason else [])
