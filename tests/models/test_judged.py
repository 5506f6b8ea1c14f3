"""Each verdict has a model that earns it and a neighbour that does not, as ONNX Runtime shows by changing a sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shapecalc.models.batch_axis import BatchAxis
from shapecalc.models.judge import near
from shapecalc.models.verdicts import Verdict
from shapecalc.models.write import fixed_model
from tests.models.judging import held_against_runtime, judged, outcome_of
from tests.models.samples import are_apart, bits_of, dims_of, freed, ran, session, verdict_shown
from tests.models.text import model, rows, sections

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


@pytest.mark.parametrize(("text", "verdict"), rows("verdicts"))
def test_each_verdict_is_what_the_runtime_shows(text, verdict):
    proto = model(text)
    assert judged(proto)[1].told["0"].verdict.value == verdict
    assert by_runtime(proto).value == verdict


RESHAPES = (
    st.lists(st.sampled_from([1, 2, 3, 4, 6]), max_size=3),
    st.integers(0, 3),
    st.lists(st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12]), min_size=1, max_size=4),
)


@given(*RESHAPES)
def test_any_reshape_and_every_fix_of_it_is_judged_as_the_runtime_shows(sizes, axis, target):
    assume(target.count(-1) <= 1)
    shape = (*sizes[:axis], "N", *sizes[axis:])
    told = judged(reshape(shape, target))[1].told["0"]
    assert told.verdict is by_runtime(reshape(shape, target)), told.why
    for fix in told.fixes:
        if fix.target is not None:
            mended = reshape(shape, fix.target)
            after = judged(mended)[1].told["0"]
            assert (after.verdict, by_runtime(mended)) == (Verdict.SAFE, Verdict.SAFE)
            assert after.outputs[0] == told.outputs[0]


def test_a_target_that_gives_another_shape_at_home_is_no_fix():
    told = judged(reshape(("N", 2, 3), (2, -1)))[1].told["0"]
    assert [(fix.target, fix.assumes) for fix in told.fixes] == [((-1, 3), "axis 2 stays 3")]


def test_a_batch_of_none_is_a_note():
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
    report = outcome.report("m.onnx")
    told = {each.node.proto.name: f"{'' if each.silent else 'fails: '}{each.why}" for each in report.stops}
    for each in near(outcome, report, [each.node.path for each in report.nodes]).nodes:
        name, below = each.node.proto.name, f" below {each.blocked_by}:" if each.blocked_by else ""
        if each.verdict is not Verdict.SAFE or name in asked:
            told[name] = f"{each.verdict.value}{below} {each.why}"
    return told


def marks_hold(proto):
    """Check where the samples are told to be in the first output, in ONNX Runtime."""
    walk, follower = judged(proto, (1, 2, 3, 5))
    marks = follower.marks(walk.model.graph.outputs[0]) or ()
    for lane, mark in zip(walk.lanes, marks, strict=False):
        if isinstance(mark, BatchAxis):
            bits = bits_of(proto, lane.batch)[proto.graph.output[0].name]
            assert are_apart(bits, mark.axis, mark.inner, lane.batch)


@pytest.mark.parametrize(("text", "lines"), sections("judged"))
def test_what_is_told_of_a_model_is_what_becomes_of_its_samples(text, lines):
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
        marks_hold(proto)
    elif not follower.stops:
        assert runs_apart(fixed_model(walk, follower, {}).proto)
    if [said.split()[0] for said in told.values()] == ["swallows"] and len(proto.graph.node) < 4:
        _, failing = ran(freed(proto), {"x": np.ones((2, *dims_of(proto.graph.input[0])[1:]), np.float32)})
        before = next(iter(told.values())).partition(" before ")[2]
        assert before == (failing or "")
