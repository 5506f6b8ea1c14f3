"""Walks and verdicts against ONNX Runtime: of models in tables and of random ones, at every size, node by node."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.models import file
from shapecalc.models.file import build_model
from shapecalc.models.judge import explain_named_nodes
from shapecalc.models.operators import LISTED_OPERATORS
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict
from shapecalc.models.write import fix_model
from tests.models.chains import STEPS, chains, mixed
from tests.models.judging import Bare, held_against_runtime, judged, outcome_of, shapes_by_name
from tests.models.samples import are_apart, bits_of, dims_of, freed, ran, session, verdict_shown
from tests.models.text import model, rows, sections
from tests.sampling import each_row, examples

SIZES = (1, 2, 3)


def reshape(shape, target):
    """Return the model of a Reshape."""
    return model(f"y = Reshape ({','.join(map(str, shape))}) {[*target]}".replace(", ", ","))


def by_runtime(proto):
    """Return the verdict on the only node of a model that ONNX Runtime shows."""
    given, free = proto.graph.input[0], type(proto).FromString(proto.SerializeToString())
    home = 1 if "N" in dims_of(given) else dims_of(given)[0]
    if home > 1:
        free.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    found = {batch: bits_of(free, batch) for batch in {*SIZES, home}}
    name, made = given.name, proto.graph.output[0].name
    return verdict_shown({batch: (bits[name], bits.get(made)) for batch, bits in found.items()}, home)


@each_row(("text", "verdict"), rows("verdicts"))
def test_verdicts_match_the_runtime(text, verdict):
    proto = model(text)
    assert judged(proto)[1].told["0"].verdict.value == verdict
    assert by_runtime(proto).value == verdict


RESHAPES = (
    st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3),
    st.integers(0, 3),
    st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12]), min_size=1, max_size=4),
)


@given(*RESHAPES)
def test_reshape_verdicts_and_fixes_match_the_runtime(sizes, axis, target):
    assume(target.count(-1) <= 1)
    shape = (*sizes[:axis], "N", *sizes[axis:])
    told = judged(reshape(shape, target))[1].told["0"]
    assert told.verdict is by_runtime(reshape(shape, target)), told.why
    for fix in told.fixes:
        if fix.target is not None:
            mended = reshape(shape, fix.target)
            after = judged(mended)[1].told["0"]
            assert (after.verdict, by_runtime(mended)) == (BatchVerdict.SAFE, BatchVerdict.SAFE)
            assert after.outputs[0] == told.outputs[0]


def test_target_changing_the_declared_shape_is_no_fix():
    told = judged(reshape(("N", 2, 3), (2, -1)))[1].told["0"]
    assert [(fix.target, fix.assumes) for fix in told.fixes] == [((-1, 3), "axis 2 stays 3")]


def test_batch_of_zero_is_a_note():
    for target, said in (((0, 2, 3), "ok"), ((-1, 2, 3), "ok"), ((2, -1, 3), "ok"), ((0, -1), "refused")):
        assert judged(reshape(("N", 6), target))[1].told["0"].empty == said


def runs_apart(proto, sizes=(1, 2, 3, 5)):
    """Say whether ONNX Runtime gives the same for each sample in batches of these sizes as for it alone."""
    x = np.random.default_rng(5).normal(size=(max(sizes), *dims_of(proto.graph.input[0])[1:])).astype(np.float32)
    try:
        running = session(freed(proto))
        alone = [running.run(None, {"x": x[at : at + 1]})[0] for at in range(len(x))]
        found = [running.run(None, {"x": x[:size]})[0] for size in sizes]
    except Exception:
        return False
    wanted = [np.concatenate(alone[:size]) for size in sizes]
    return all(a.shape == b.shape and np.allclose(a, b, atol=1e-5) for a, b in zip(found, wanted, strict=True))


def told_of(proto, asked):
    """Return what is told by the nodes' names: of those that stop, and of listed ones, if not safe or if asked for."""
    outcome = outcome_of(proto)
    report = outcome.build_report("m.onnx")
    told = {each.node.proto.name: f"{'' if each.silent else 'fails: '}{each.why}" for each in report.stops}
    for each in explain_named_nodes(outcome, report, [each.node.path for each in report.nodes]).nodes:
        name, below = each.node.proto.name, f" below {each.blocked_by}:" if each.blocked_by else ""
        if each.verdict is not BatchVerdict.SAFE or name in asked:
            told[name] = f"{each.verdict.value}{below} {each.why}"
    return told


@each_row(("text", "lines"), sections("judged"))
def test_report_matches_what_happens_to_samples(text, lines):
    proto = model(text)
    wanted = {name: said for name, _, said in (line.partition(" ") for line in lines)}
    told = told_of(proto, wanted)
    assert {name: said[: len(wanted.get(name, said))] for name, said in told.items()} == wanted
    if any("unknown" in said for said in told.values()):
        return
    assert runs_apart(proto) is not bool(wanted)
    walk, follower = judged(proto)
    if not wanted:
        held_against_runtime(proto)
        name, marks = proto.graph.output[0].name, follower.marks_of(walk.model.graph.outputs[0])
        for batch, mark in zip(SIZES, marks, strict=False):
            assert mark is None or are_apart(bits_of(proto, batch)[name], mark.axis, mark.inner, batch)
    elif not follower.stops:
        assert runs_apart(fix_model(walk, follower, {}).proto)
    if [said.split()[0] for said in told.values()] == ["swallows"] and len(proto.graph.node) < 4:
        _, failing = ran(freed(proto), {"x": np.ones((2, *dims_of(proto.graph.input[0])[1:]), np.float32)})
        before = next(iter(told.values())).partition(" before ")[2]
        assert before == (failing or "")


@each_row(("text", "lines"), sections("walks"))
def test_propagation_matches_the_runtime(text, lines):
    proto = model(text)
    walk, _ = judged(proto, SIZES, Bare())
    unknown = set()
    for name, said in (line.split(maxsplit=1) for line in lines):
        number = walk.model.names.index(name)
        if said.startswith("? "):
            unknown.add(name)
            assert walk.unknown_reasons[number] == said[2:]
        else:
            told = [shapes_by_name(walk, lane)[name] for lane in range(3)]
            assert [",".join(map(str, each)) if each else "-" for each in told] == said.split()
    if "own.Magic" not in text:
        held_against_runtime(proto, unknown)


def test_functions_are_inlined():
    made = model(
        "x = (N,4); function Flat a = {b = Flatten a axis=@axis}; y = own.Flat x axis=1; z = own.Flat y axis=0"
    )
    nodes = build_model(made, Path("m.onnx"), {}).graph.nodes
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
    walk, _ = judged(model(text))
    assert "custom operator" in walk.unknown_reasons[walk.model.graph.outputs[0]]


SIZES = (1, 2, 3)
STARTS = st.sampled_from([("N", 4), ("N", 2, 3), ("N", 6, 4), (3, "N", 4)])


@examples(60)
@given(chains())
def test_shapes_and_failures_match_the_runtime(chain):
    held_against_runtime(chain.model(), sizes=(1, 2, 3, 5, 0))


@examples(45)
@given(chains(STARTS, (1,), (*STEPS, mixed)))
def test_chain_node_verdicts_match_the_runtime(chain):
    follower = judged(chain.model())[1]
    targets = {}
    bits = {batch: bits_of(chain.model(), batch) for batch in SIZES}
    for at, node in enumerate(chain.model().graph.node):
        said = follower.told.get(str(at))
        if node.op_type not in LISTED_OPERATORS or node.op_type == "Shape" or said.verdict is BatchVerdict.UNKNOWN:
            continue
        shown = verdict_shown({size: (each[node.input[0]], each.get(node.output[0])) for size, each in bits.items()})
        assert shown is None or said.verdict is shown, (at, said.why)
        if said.verdict in FAILING_VERDICTS:
            target = said.fixes[0].target if said.fixes else None
            if target is None or node.op_type != "Reshape" or not node.input[1].endswith(".1"):
                return
            targets[node.input[1]] = np.array(target, np.int64)
            bits = {batch: bits_of(chain.model(**targets), batch) for batch in SIZES}


def in_a_loop(chain):
    """Return a chain in the body of a loop that carries its input."""
    begins = "i = int64(); go = bool(); x = (...); on = Identity go"
    body = f"{{{begins}\n{chain.body}\nw = Identity x; => on w {chain.last}}}"
    return model(f"opset {chain.opset}; v0 = ({chain.start}); y all = Loop 3 _ v0 body={body}")


@examples(50)
@given(chains())
def test_loop_body_verdicts_match_the_outer_graph(chain):
    outside, inside = judged(chain.model())[1].told, judged(in_a_loop(chain))[1].told
    assert {path: inside[f"0/body/{int(path) + 1}"].verdict for path in outside} == {
        path: said.verdict for path, said in outside.items()
    }
