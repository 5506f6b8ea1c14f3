"""Model files: stripped payloads, files that are not models, and models of excessive size."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from shapecalc.cli.model_report import all_node_lines, failure_lines, node_lines, report_json, table_lines
from shapecalc.core.problem import FILE, ShapeError
from shapecalc.core.record import replace
from shapecalc.models.all_nodes import describe_all_nodes
from shapecalc.models.file import MAX_COPIED_BYTES, build_model, read_model, restore_payloads, strip_payloads
from shapecalc.models.judge import add_node_explanations, judge_model
from shapecalc.models.operators import CONTRIB_OPERATORS, ONNX_OPERATORS
from shapecalc.models.verdicts import BatchVerdict
from shapecalc.models.write import fix_model
from tests.models.judging import report_of
from tests.models.text import model, rows
from tests.sampling import each_row, examples, some_and_rest

BIG = np.arange(MAX_COPIED_BYTES, dtype=np.float32)


def model_with_tensors(held=BIG):
    """Return a model with tensors in every field that can hold them."""
    made = model("""
        x = (N,3); c = bool(); held = Constant value=[0.5]; r = Relu x; function F a = {b = Constant value=[0.5]}
        y = If c then_branch={k = Constant value=[0.5]} else_branch={l = Constant value=[0.5]}
    """)
    inner = [each.g for each in made.graph.node[2].attribute]
    for node in (made.graph.node[0], made.functions[0].node[0], *[graph.node[0] for graph in inner]):
        node.attribute[0].t.CopyFrom(numpy_helper.from_array(held))
    typed = helper.make_tensor("typed", TensorProto.FLOAT, BIG.shape, BIG)  # not as raw data
    for graph in inner:
        graph.initializer.append(typed)
    if held is BIG:
        made.graph.initializer.extend([numpy_helper.from_array(BIG), typed, numpy_helper.from_array(BIG[:4])])
    return made


def test_model_large_initializers_are_stripped_and_restored():
    for data, count in ((model_with_tensors().SerializeToString(), 8), (model("x = (N,3)").SerializeToString(), 0)):
        message, payloads = strip_payloads(data)
        assert (len(payloads), len(message) < 2000) == (count, True)
        assert b"".join(restore_payloads(message, payloads, data)) == data


def test_model_payloads_are_restored_after_changes():
    data = model_with_tensors().SerializeToString()
    message, payloads = strip_payloads(data)
    changed, wanted = onnx.ModelProto.FromString(message), model_with_tensors()
    for each in (changed, wanted):
        each.graph.node.insert(0, helper.make_node("Neg", ["x"], ["n"], name="new" * 100))
        each.graph.initializer.insert(0, numpy_helper.from_array(np.arange(3), "target"))
    made = onnx.ModelProto.FromString(b"".join(restore_payloads(changed.SerializeToString(), payloads, data)))
    assert made == wanted


def test_model_foreign_markers_are_kept():
    data = model_with_tensors().SerializeToString()
    message, _ = strip_payloads(data)
    again, payloads = strip_payloads(message)
    assert (again, payloads) == (message, {})
    assert b"".join(restore_payloads(message, strip_payloads(data)[1], data)) == message


MESSAGES = [model_with_tensors(held).SerializeToString() for held in (BIG, BIG[:4])]


@examples(110)
@given(st.data())
def test_model_truncated_or_changed_is_refused_or_read(data):
    """A damaged model is read as protobuf reads it, or refused in one line."""
    message = bytearray(data.draw(st.sampled_from(MESSAGES)))
    for _ in range(data.draw(st.integers(0, 3))):
        message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(message[: data.draw(st.integers(0, len(message)))])
    try:
        kept, payloads = strip_payloads(cut)
    except ValueError as error:
        assert "\n" not in str(error)
        with pytest.raises(DecodeError):
            onnx.ModelProto.FromString(cut)
    else:
        assert b"".join(restore_payloads(kept, payloads, cut)) == cut


def deep(levels):
    """Encode nested Ifs by hand, since protobuf writes only what it can read."""

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
        (model_with_tensors().SerializeToString()[:-7], "it is not an ONNX model, or it is cut short"),
        (b"\x08\x07", "it holds no graph"),
        (deep(40), "nested deeper than protobuf reads"),
        (deep(400), "nested deeper than protobuf reads"),
    ],
)
def test_model_other_file_is_refused(tmp_path, content, said):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    with pytest.raises(ShapeError) as refused:
        read_model(path)
    problem = refused.value.problem
    assert (problem.rule, said in problem.message, "\n" in problem.message) == (FILE, True, False)


def test_model_nesting_limit_and_missing_external_data(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(deep(30))
    assert len(read_model(path).graph.nodes) == 1
    for other in (tmp_path, tmp_path / "none.onnx"):
        with pytest.raises(ShapeError):
            read_model(other)


MOST_GROWN = 200_000
"""The allowed growth of the process, in kilobytes."""
WIDE = "; ".join([f"x{at} = (n{at},L)" for at in range(500)])
WIDE += f"; y = Concat {' '.join([f'x{at}' for at in range(500)])} axis=0; z = Flatten y"
GREEDY = [row[0] for row in rows("greedy")]


@each_row("text", [*GREEDY, WIDE])
def test_model_excessive_sizes_are_judged_or_unknown(text):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = report_of(model(text))
    assert all(isinstance(each.verdict, BatchVerdict) for each in report.nodes)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWN


@pytest.mark.parametrize("name", ["reshape_1", "Flatten", "inner_t", "batch_n", "axis"])
def test_model_name_with_invalid_utf_8_is_refused(name, tmp_path):
    """protobuf returns such a name as bytes."""
    proto = model("x = (batch_n,4); inner_t = Relu x; y = Flatten inner_t axis=1")
    proto.graph.node[0].name = "reshape_1"
    path, data = tmp_path / "m.onnx", proto.SerializeToString()
    path.write_bytes(data.replace(name.encode(), b"\xff" + name.encode()[1:]))
    with pytest.raises(ShapeError, match="a name in it is not UTF-8"):
        read_model(path)
    path.write_bytes(data)
    assert read_model(path).outputs


OPS = [
    *sorted({*ONNX_OPERATORS, *CONTRIB_OPERATORS, "SequenceMap"}),
    *["If", "Loop", "Scan", "Reshape", "Transpose"] * 8,
]
WORDS = """
    axis axes perm shape keepdims pads to value num_outputs group strides kernel_shape mode blocksize start end
    allowzero num_scan_inputs scan_input_axes scan_output_axes starts ends split transA equation batch_dims value_int
    value_ints layout hidden_size transB num_heads repeats batch_axis time_axis then_branch else_branch body
"""
ATTRIBUTES = WORDS.split()
NUMBERS = (0, 1, -1, 2, 3, -2, 7, 100, 2**31, 2**62, -(2**63), 10**12)
TEXTS = (b"", b"NOTSET", b"CRD", b"ij->ji", b"\xff")
GRAPHS = ("then_branch", "else_branch", "body")
DIMS = (["N", 6], [1, 6], [1, 2, 3, 4], None, [], ["N", "M"], [0, 3])
OPSETS = (0, 1, 5, 7, 9, 11, 13, 17, 18, 21, 23, 999)


def strange_model(random):
    """Return a parsed model whose operators have invalid inputs, outputs, attributes and graphs."""
    imported = [helper.make_opsetid(*each) for each in (("", random.choice(OPSETS)), ("com.microsoft", 1))]
    made = helper.make_model(_graph(random, 0), opset_imports=imported, ir_version=8)
    return ModelProto.FromString(made.SerializeToString())


def _graph(random, depth):
    names = ["x", "c0", "c1", "c2", "", *[f"d{depth}_{at}" for at in range(4)]]
    nodes = []
    for place in range(random.randrange(1, 5)):
        node = _node(random, names, f"g{depth}_{place}", depth)
        nodes.append(node)
        names += [each for each in node.output if each] * 2
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, random.choice(DIMS))]
    if depth:
        kinds = [(random.choice([1, 7, 9]), random.choice([None, [], [2]])) for _ in range(random.randrange(4))]
        inputs = [helper.make_tensor_value_info(f"d{depth}_{at}", *kind) for at, kind in enumerate(kinds)]
    outputs = [random.choice([each for each in names if each]) for _ in range(random.randrange(4))]
    made = [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in outputs]
    vector = np.array([random.choice([0, 1, -1, 2, 3, 6]) for _ in range(random.randrange(4))], np.int64)
    arrays = {"c0": vector, "c1": np.array(random.choice([0, 1, 2, -1, 5])), "c2": np.ones((2, 3), np.float32)}
    constants = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    return helper.make_graph(nodes, "g", inputs, made, [] if depth else constants)


def _node(random, names, output, depth):
    op = random.choice(OPS)
    inputs = [random.choice(names) for _ in range(random.randrange(5))]
    outputs = [f"{output}_{at}" if random.random() < 0.9 else "" for at in range(random.choice([0, 1, 1, 1, 2, 3]))]
    domain = random.choice(["", "", "", "", "", "com.microsoft", "own"])
    node = helper.make_node(op, inputs, outputs, name=random.choice(["", "n", output]), domain=domain)
    node.attribute.extend([_attribute(random, depth) for _ in range(random.choice([0, 0, 1, 1, 2, 4]))])
    return node


def _attribute(random, depth):
    name, kind = random.choice(ATTRIBUTES), random.randrange(8)
    numbers = [random.choice(NUMBERS) for _ in range(random.randrange(4))]
    if name in GRAPHS and depth < 2:
        return helper.make_attribute(name, _graph(random, depth + 1))
    if kind < 3:
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=numbers)
    if kind < 6:
        return helper.make_attribute(name, [random.choice(NUMBERS), random.choice(TEXTS), random.random()][kind - 3])
    if kind == 6:
        return helper.make_attribute(name, numpy_helper.from_array(np.array(numbers, np.int64), "held"))
    return AttributeProto(name=name, type=random.randrange(15))


def judge_and_fix(proto):
    """Judge a model, format it in every way, and fix it; return the report or the reason of refusal."""
    try:
        outcome = judge_model(build_model(proto, Path("m.onnx"), {}))
    except ValueError as error:
        return str(error)
    every = describe_all_nodes(outcome.walk, outcome.tracker)
    report = replace(add_node_explanations(outcome, outcome.build_report("m.onnx"), ["n", "0", "1"]), all_nodes=every)
    lines = [
        *table_lines(report, report.nodes),
        *all_node_lines(report, every.nodes),
        *failure_lines(report, report.nodes, report.stops, strict=True, github=False),
        *[line for judged in report.nodes for line in node_lines(report, judged)],
    ]
    assert all(line.isprintable() for line in lines)
    assert json.loads(json.dumps(report_json(report, report.nodes, every.nodes)))["model"] == "m.onnx"
    fix_model(outcome.walk, outcome.tracker, {})
    return report


@pytest.mark.parametrize("seeds", some_and_rest(range(750), 150))
def test_model_malformed_is_judged_or_refused(seeds):
    outcomes = [judge_and_fix(strange_model(Random(seed))) for seed in seeds]
    refused = [each for each in outcomes if isinstance(each, str)]
    assert all("\n" not in each and ("cycle" in each or "two graphs" in each) for each in refused)
    assert 0 < len(refused) < len(outcomes) / 10


def test_model_target_in_external_data_is_not_judged():
    proto = model("x = (N,4); y = Reshape x [2,-1]")
    target = proto.graph.initializer[0]
    target.ClearField("raw_data")
    target.data_location = target.EXTERNAL
    target.external_data.add(key="location", value="target.bin")
    (judged,) = judge_and_fix(proto).nodes
    assert (judged.verdict.value, judged.why) == ("unknown", "external target")


@pytest.mark.parametrize(
    "text", ["opset 7; x = (N,2); y = Expand x [2,2]", "opset 13; x = (N,2); y = Reshape x [0,-1] allowzero=1"]
)
def test_model_operator_newer_than_opset_has_no_shape(text):
    (judged,) = judge_and_fix(model(text)).nodes
    assert (judged.verdict.value, judged.why) == ("unknown", "no shape")


def test_model_conv_rank_error_gives_the_runtimes_reason():
    report = judge_and_fix(model("x = (N); y = Conv x ones(4,3,3); z = Flatten y"))
    assert [stop.why.partition(" (")[0] for stop in report.stops] == ["Input tensor must have at least 3 dimensions"]


SMALL = "x = (N,4); y = If true then_branch={a = Neg x} else_branch={a = Neg x}; z = Reshape y [0,-1]"


def refusal_of(data, path):
    """Return why a file with these bytes is refused; None if it is judged."""
    path.write_bytes(data)
    try:
        judge_model(read_model(path)).build_report("m.onnx")
    except ShapeError as error:
        assert "\n" not in error.problem.message
        return error.problem.message
    return None


def test_model_truncated_anywhere_is_refused_or_read(tmp_path):
    data = model(SMALL).SerializeToString()
    outcomes = [refusal_of(data[:end], tmp_path / "m.onnx") for end in range(1, len(data))]
    assert all("cut short" in each or "no graph" in each for each in outcomes if each)
    assert sum(each is not None for each in outcomes) > len(data) // 2


@pytest.mark.parametrize("seeds", some_and_rest(range(450), 100))
def test_model_with_random_bytes_is_refused_or_judged(seeds, tmp_path):
    refused, whole = 0, model(SMALL).SerializeToString()
    for seed in seeds:
        random, data = Random(seed), bytearray(whole)
        for _ in range(random.choice([1, 1, 2, 4])):
            data[random.randrange(len(data))] = random.choice([0, 1, 127, 128, 255, random.randrange(256)])
        refused += refusal_of(data, tmp_path / "m.onnx") is not None
    assert len(seeds) / 4 < refused < len(seeds)


@pytest.mark.parametrize(("declared", "strict", "fails"), [("N", False, False), ("N", True, True), ("1", False, True)])
def test_lint_of_mixed_samples(declared, strict, fails):
    report = report_of(model(f"x = ({declared},3); m = ReduceMax x [0]; y = Sub x m"))
    lines = failure_lines(report, report.nodes, report.stops, strict=strict, github=False)
    assert lines == ["m.onnx: m: ReduceMax mixes the samples"] * fails
    assert [stop["silent"] for stop in report_json(report, ())["stops"]] == [True]
