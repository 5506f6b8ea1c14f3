"""Shapes and verdicts of tabulated and random models, compared with ONNX Runtime at every size, node by node."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.models import file
from shapecalc.models.file import build_model
from shapecalc.models.judge import add_node_explanations
from shapecalc.models.operators import LISTED_OPERATORS
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict
from shapecalc.models.write import fix_model
from tests.models.chains import STEPS, add_mix, chains
from tests.models.judging import FailureTracker, assert_matches_runtime, outcome_of, shapes_by_name, walk_and_judge
from tests.models.samples import are_apart, bits_of, dims_of, freed, run_until_failure, session, verdict_shown
from tests.models.text import model, rows, sections
from tests.sampling import each_row, examples

SIZES = (1, 2, 3)


def reshape(shape, target):
    """Return the model of a Reshape."""
    return model(f"y = Reshape ({','.join(map(str, shape))}) {[*target]}".replace(", ", ","))


def runtime_verdict(proto):
    """Return the verdict on the only node of a model by running it."""
    declared, free = proto.graph.input[0], type(proto).FromString(proto.SerializeToString())
    home = 1 if "N" in dims_of(declared) else dims_of(declared)[0]
    if home > 1:
        free.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    by_batch = {batch: bits_of(free, batch) for batch in {*SIZES, home}}
    name, output = declared.name, proto.graph.output[0].name
    return verdict_shown({batch: (bits[name], bits.get(output)) for batch, bits in by_batch.items()}, home)


@each_row(("text", "verdict"), rows("verdicts"))
def test_verdicts_match_the_runtime(text, verdict):
    proto = model(text)
    assert walk_and_judge(proto)[1].verdicts["0"].verdict.value == verdict
    assert runtime_verdict(proto).value == verdict


RESHAPES = (
    st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3),
    st.integers(0, 3),
    st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12]), min_size=1, max_size=4),
)


@given(*RESHAPES)
def test_reshape_verdicts_and_fixes_match_the_runtime(sizes, axis, target):
    assume(target.count(-1) <= 1)
    shape = (*sizes[:axis], "N", *sizes[axis:])
    verdict = walk_and_judge(reshape(shape, target))[1].verdicts["0"]
    assert verdict.verdict is runtime_verdict(reshape(shape, target)), verdict.why
    for fix in verdict.fixes:
        if fix.target is not None:
            fixed = reshape(shape, fix.target)
            after = walk_and_judge(fixed)[1].verdicts["0"]
            assert (after.verdict, runtime_verdict(fixed)) == (BatchVerdict.SAFE, BatchVerdict.SAFE)
            assert after.outputs[0] == verdict.outputs[0]


def test_target_changing_the_declared_shape_is_no_fix():
    verdict = walk_and_judge(reshape(("N", 2, 3), (2, -1)))[1].verdicts["0"]
    assert [(fix.target, fix.assumes) for fix in verdict.fixes] == [((-1, 3), "axis 2 stays 3")]


def test_batch_of_zero_is_a_note():
    for target, outcome in (((0, 2, 3), "ok"), ((-1, 2, 3), "ok"), ((2, -1, 3), "ok"), ((0, -1), "refused")):
        assert walk_and_judge(reshape(("N", 6), target))[1].verdicts["0"].empty == outcome


def has_independent_samples(proto, sizes=(1, 2, 3, 5)):
    """Return whether ONNX Runtime gives the same for a sample in batches of these sizes as alone."""
    x = np.random.default_rng(5).normal(size=(max(sizes), *dims_of(proto.graph.input[0])[1:])).astype(np.float32)
    try:
        running = session(freed(proto))
        alone = [running.run(None, {"x": x[index : index + 1]})[0] for index in range(len(x))]
        batches = [running.run(None, {"x": x[:size]})[0] for size in sizes]
    except Exception:
        return False
    expected = [np.concatenate(alone[:size]) for size in sizes]
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(batches, expected, strict=True))


def messages_of(proto, requested):
    """Return the messages by node name: on failing nodes, and on listed ones that are unsafe or requested."""
    outcome = outcome_of(proto)
    report = outcome.build_report("m.onnx")
    messages = {stop.node.proto.name: f"{'' if stop.silent else 'fails: '}{stop.why}" for stop in report.stops}
    for node in add_node_explanations(outcome, report, [node.node.path for node in report.nodes]).nodes:
        name, below = node.node.proto.name, f" below {node.blocked_by}:" if node.blocked_by else ""
        if node.verdict is not BatchVerdict.SAFE or name in requested:
            messages[name] = f"{node.verdict.value}{below} {node.why}"
    return messages


@each_row(("text", "lines"), sections("judged"))
def test_report_matches_what_happens_to_samples(text, lines):
    proto = model(text)
    expected = {name: text for name, _, text in (line.partition(" ") for line in lines)}
    messages = messages_of(proto, expected)
    assert {name: text[: len(expected.get(name, text))] for name, text in messages.items()} == expected
    if any("unknown" in text for text in messages.values()):
        return
    assert has_independent_samples(proto) is not bool(expected)
    walk, tracker = walk_and_judge(proto)
    if not expected:
        assert_matches_runtime(proto)
        name, marks = proto.graph.output[0].name, tracker.marks_of(walk.model.graph.outputs[0])
        for batch, mark in zip(SIZES, marks, strict=False):
            assert mark is None or are_apart(bits_of(proto, batch)[name], mark.axis, mark.inner, batch)
    elif not tracker.stops:
        assert has_independent_samples(fix_model(walk, tracker, {}).proto)
    if [text.split()[0] for text in messages.values()] == ["swallows"] and len(proto.graph.node) < 4:
        _, failing = run_until_failure(
            freed(proto), {"x": np.ones((2, *dims_of(proto.graph.input[0])[1:]), np.float32)}
        )
        before = next(iter(messages.values())).partition(" before ")[2]
        assert before == (failing or "")


@each_row(("text", "lines"), sections("walks"))
def test_propagation_matches_the_runtime(text, lines):
    proto = model(text)
    walk, _ = walk_and_judge(proto, SIZES, FailureTracker())
    unknown = set()
    for name, expected in (line.split(maxsplit=1) for line in lines):
        number = walk.model.names.index(name)
        if expected.startswith("? "):
            unknown.add(name)
            assert walk.unknown_reasons[number] == expected[2:]
        else:
            shapes = [shapes_by_name(walk, lane)[name] for lane in range(3)]
            assert [",".join(map(str, shape)) if shape else "-" for shape in shapes] == expected.split()
    if "own.Magic" not in text:
        assert_matches_runtime(proto, unknown)


def test_functions_are_inlined():
    proto = model(
        "x = (N,4); function Flat a = {b = Flatten a axis=@axis}; y = own.Flat x axis=1; z = own.Flat y axis=0"
    )
    nodes = build_model(proto, Path("m.onnx"), {}).graph.nodes
    assert [node.bodies[0].nodes[0].path for node in nodes] == ["0/@Flat/0", "1/@Flat/0"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = (N,4); function Again a = {b = own.Again a}; y = own.Again x", "calls itself"),
        ("x = (N,4); a = Add x b; b = Relu a", "in a cycle"),
    ],
)
def test_recursive_functions_are_refused(text, why):
    with pytest.raises(ValueError, match=why):
        build_model(model(text), Path("m.onnx"), {})


def test_functions_that_expand_too_much_stay_calls(monkeypatch):
    monkeypatch.setattr(file, "MAX_EXPANDED_NODES", 40)
    twice = [f"function F{n} a = {{m = own.F{under} a; b = own.F{under} m}}" for under, n in pairwise(range(30))]
    text = "\n".join(["x = (N,4); function F0 a = {b = Relu a}", *twice, "y = own.F29 x"])
    walk, _ = walk_and_judge(model(text))
    assert "custom operator" in walk.unknown_reasons[walk.model.graph.outputs[0]]


SIZES = (1, 2, 3)
STARTS = st.sampled_from([("N", 4), ("N", 2, 3), ("N", 6, 4), (3, "N", 4)])


@examples(60)
@given(chains())
def test_shapes_and_failures_match_the_runtime(chain):
    assert_matches_runtime(chain.model(), sizes=(1, 2, 3, 5, 0))


@examples(45)
@given(chains(STARTS, (1,), (*STEPS, add_mix)))
def test_chain_node_verdicts_match_the_runtime(chain):
    tracker = walk_and_judge(chain.model())[1]
    targets = {}
    bits = {batch: bits_of(chain.model(), batch) for batch in SIZES}
    for index, node in enumerate(chain.model().graph.node):
        verdict = tracker.verdicts.get(str(index))
        if node.op_type not in LISTED_OPERATORS or node.op_type == "Shape" or verdict.verdict is BatchVerdict.UNKNOWN:
            continue
        pairs = {size: (tensors[node.input[0]], tensors.get(node.output[0])) for size, tensors in bits.items()}
        expected = verdict_shown(pairs)
        assert expected is None or verdict.verdict is expected, (index, verdict.why)
        if verdict.verdict in FAILING_VERDICTS:
            target = verdict.fixes[0].target if verdict.fixes else None
            if target is None or node.op_type != "Reshape" or not node.input[1].endswith(".1"):
                return
            targets[node.input[1]] = np.array(target, np.int64)
            bits = {batch: bits_of(chain.model(**targets), batch) for batch in SIZES}


def loop_model(chain):
    """Return a model with the chain in the body of a loop that carries its input."""
    begins = "i = int64(); go = bool(); x = (...); on = Identity go"
    body = f"{{{begins}\n{chain.body}\nw = Identity x; => on w {chain.last}}}"
    return model(f"opset {chain.opset}; v0 = ({chain.start}); y all = Loop 3 _ v0 body={body}")


@examples(50)
@given(chains())
def test_loop_body_verdicts_match_the_outer_graph(chain):
    outside, inside = walk_and_judge(chain.model())[1].verdicts, walk_and_judge(loop_model(chain))[1].verdicts
    assert {path: inside[f"0/body/{int(path) + 1}"].verdict for path in outside} == {
        path: verdict.verdict for path, verdict in outside.items()
    }
