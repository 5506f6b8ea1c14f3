"""Fixed models are right at other batch sizes, equal at the declared one, and otherwise unchanged."""

from __future__ import annotations

import re
import sys

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from shapecalc.cli.model_report import failure_lines, fix_report_lines, report_json, table_lines
from shapecalc.core.problem import FILE, USAGE, ShapeError
from shapecalc.models import prove, write
from shapecalc.models.file import read_model
from shapecalc.models.free_dims import BatchOptions
from shapecalc.models.judge import judge_model
from shapecalc.models.prove import Proof
from shapecalc.models.verdicts import NodeFix
from shapecalc.models.write import write_fixed_model
from tests.models.chains import STEPS, chains, comma
from tests.models.judging import with_shapes
from tests.models.samples import dims_of, random_inputs, run, session
from tests.models.text import model, sections
from tests.transcripts import matches_expected

pytestmark = pytest.mark.sessions(4)
SECTIONS = sections("mended")
DETECTOR = SECTIONS[0].values[0]


def write_and_fix(proto, tmp_path, **options):
    """Write a model and fix it; return the report and the path of the fixed file."""
    source, target = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    if proto is not None:
        source.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    outcome = judge_model(read_model(source), BatchOptions(**options.pop("asked", {})))
    return write_fixed_model(
        outcome, outcome.build_report("model.onnx"), target, options.pop("chosen", {}), **options
    ), target


def model_with_batch(batch):
    """Return a model with a declared batch whose nodes are right at every batch size."""
    return with_shapes(model(f"x = ({batch},2,3); y = Reshape x [0,-1]"))


def assert_right(before, target, shape, *, home=1):
    """Assert that a fixed model is equal at batch `home`, and at batch 3 treats each sample as alone."""
    after = onnx.load(target)
    onnx.checker.check_model(after, full_check=True)
    many = np.random.default_rng(5).normal(size=(max(3, home), *shape[1:])).astype(np.float32)
    for old, new in zip(run(before, {"x": many[:home]}), run(after, {"x": many[:home]}), strict=True):
        assert old.tobytes() == new.tobytes()
    (larger,) = run(after, {"x": many[:3]})
    alone = [run(after, {"x": many[sample : sample + 1]})[0] for sample in range(3)]
    declared = dims_of(after.graph.output[0])
    axis = declared.index("N") if "N" in declared else 0
    np.testing.assert_allclose(larger, np.concatenate(alone, axis), rtol=1e-5, atol=1e-7)


def fix_lines(report, target):
    """Return the lines about the fix of a model, as in the table."""
    fixed = report.fix_result
    lines = [f"mends {each.node.proto.name} {comma(fix.target or fix.inserts)}" for each, fix in fixed.mended]
    lines += [f"left {each.node.proto.name}" for each in fixed.left]
    lines += [f"stops {e.node.proto.name} {'by ' * bool(e.cause)}{e.cause or e.why}" for e in report.stops]
    lines.append(f"{ {True: 'proved', False: 'refuted', None: 'unproved'}[fixed.proved] } {fixed.why}")
    if target.exists():
        graph = onnx.load(target).graph
        lines += [f"declares {e.name} {comma(d or '?' for d in dims_of(e))}" for e in (*graph.input, *graph.output)]
        small = [each for each in graph.initializer if each.data_type == TensorProto.INT64]
        lines += [f"holds {each.name} {comma(numpy_helper.to_array(each).ravel())}" for each in small]
    return lines


@pytest.mark.parametrize(("text", "lines"), SECTIONS)
def test_fixed_models_are_right(text, lines, tmp_path):
    text, _, options = text.partition("with ")
    options = {"chosen": {}, "asked": {}} | eval(f"dict({options})")
    chosen = {path: NodeFix(target, None, "", "") for path, target in options["chosen"].items()}
    proto, asked = with_shapes(model(text)), options["asked"]
    is_proved = any(line.split()[0] in ("proved", "unproved", "refuted") for line in lines)
    if lines[0].startswith("refused"):
        with pytest.raises(ShapeError) as refused:
            write_and_fix(proto, tmp_path, asked=asked)
        assert refused.value.problem.rule is USAGE
        assert matches_expected(lines[0].removeprefix("refused "), refused.value.problem.message + "\n")
        assert [*tmp_path.iterdir()] == [tmp_path / "model.onnx"]
        return
    report, target = write_and_fix(proto, tmp_path, chosen=chosen, asked=asked, prove=is_proved)
    reported = fix_lines(report, target)
    for line in lines:
        assert any(matches_expected(line, f"{each}\n") for each in reported), reported
    if report.fix_result.proved is False:
        assert [*tmp_path.iterdir()] == [tmp_path / "model.onnx"]
    elif not report.fix_result.left and not report.stops and "own." not in text and "Random" not in text:
        shape = dims_of(proto.graph.input[0])
        assert_right(proto, target, shape, home=shape[0])
        again = write_and_fix(target.read_bytes(), tmp_path, force=True)[0].fix_result
        assert (again.mended, again.changed, again.proved) == ((), False, True)


def test_declared_batch_of_one_is_freed_and_reported(tmp_path):
    report, target = write_and_fix(model_with_batch(1), tmp_path, prove=False)
    said = table_lines(report, report.nodes)[-1]
    assert said.startswith("The file declares N = 1, and --fix frees it.   Next: shapecalc model ")
    assert fix_report_lines(report, report.fix_result)[0] == "fixed   input x  1,2,3 to N,2,3"
    freed = [{"name": "x", "declared": [1, 2, 3], "taken": ["N", 2, 3]}]
    assert report_json(report, ())["fixed"]["freed"] == freed
    assert_right(model_with_batch(1), target, (1, 2, 3))
    report, _ = write_and_fix(model_with_batch("N"), tmp_path, prove=False, force=True)
    assert table_lines(report, report.nodes)[-1] == "No listed node breaks at another N."
    assert report.fix_result.freed == ()


def test_model_refused_by_the_checker_is_reported(tmp_path):
    proto = model_with_batch(1)
    proto.graph.name = ""
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(proto)
    fixed = write_and_fix(proto, tmp_path)[0].fix_result
    assert fixed.proved
    assert fixed.why.endswith("; the checker refuses it, as it refuses the model that was read")


def test_fixed_model_declares_the_known_shapes(tmp_path):
    """A dim without one size or name is declared as unknown (0 here)."""
    text = "x = (1,6,H,W); a = Reshape x [1,6,-1]; b = Relu a; c = Transpose b 0,2,1"
    after = onnx.load(write_and_fix(with_shapes(model(text)), tmp_path, prove=False)[1])
    declared = {each.name: dims_of(each) for each in after.graph.value_info}
    assert declared == {"a": ("N", 6, 0), "b": ("N", 6, 0)}


def test_fix_changes_only_targets_and_declared_dims(tmp_path):
    before = with_shapes(model(DETECTOR))
    before.doc_string, before.graph.doc_string = "about it", "more"
    for name, dims in {"a": (1, 3, 4, 5, 5), "y_": (1, 2), "f": ("batch", 12, 5, 5)}.items():
        before.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims))
    after = onnx.load(write_and_fix(before, tmp_path, prove=False)[1])
    assert [each.name for each in after.graph.value_info][:2] == ["y_", "f"]
    for each in (before, after):
        del each.graph.value_info[:], each.graph.initializer[1:], each.graph.input[:], each.graph.output[:]
    assert after == before


def test_fix_handles_initializers_listed_as_inputs(tmp_path):
    proto = with_shapes(model("opset 9; x = (1,6); t = [1,2,3]; y = Reshape x t; z = Reshape x t; => y"))
    proto.ir_version = 3
    proto.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, (3,)))
    report, target = write_and_fix(proto, tmp_path, prove=False)
    assert (len(report.fix_result.mended), report.fix_result.left) == (2, ())
    assert_right(proto, target, (1, 6))


def test_fix_copies_large_payloads_and_keeps_external_data(tmp_path):
    proto = with_shapes(model("x = (1,100); w = floats(100,300); a = MatMul x w; y = Reshape a [1,3,100]"))
    report, target = write_and_fix(proto, tmp_path)
    assert report.fix_result.proved
    assert onnx.load(target).graph.initializer[0] == proto.graph.initializer[0]
    apart = tmp_path / "apart"
    apart.mkdir()
    within = onnx.ModelProto.FromString(proto.SerializeToString())
    onnx.save(proto, apart / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=1000)
    report, beside = write_and_fix(None, apart)
    assert report.fix_result.proved
    assert_right(within, beside, (1, 100))
    outcome = judge_model(read_model(apart / "model.onnx"))
    with pytest.raises(ShapeError, match=r"weights\.bin"):
        write_fixed_model(outcome, outcome.build_report("model.onnx"), tmp_path / "elsewhere.onnx", {})
    assert not (tmp_path / "elsewhere.onnx").exists()


def test_fix_never_overwrites_its_input(tmp_path):
    source, data = tmp_path / "model.onnx", model_with_batch(1).SerializeToString()
    source.write_bytes(data)
    (tmp_path / "link.onnx").symlink_to(source)
    outcome = judge_model(read_model(source))
    for target in (source, tmp_path / "link.onnx"):
        with pytest.raises(ShapeError, match="the model itself"):
            write_fixed_model(outcome, outcome.build_report("model.onnx"), target, {}, force=True)
    assert source.read_bytes() == data


def test_proof_timeout_is_unproved(tmp_path, monkeypatch):
    monkeypatch.setattr(prove, "TIMEOUT_SECONDS", 0.01)
    report, target = write_and_fix(model_with_batch(1), tmp_path)
    assert (report.fix_result.proved, report.fix_result.why) == (None, "it takes longer than 0.01 seconds")
    assert target.exists()


@pytest.mark.parametrize(("size", "why"), [(2**31 - 1, "nobody asked"), (2**31, "it is too large")])
def test_proof_skips_models_of_two_gibibytes(size, why, tmp_path):
    small, large = tmp_path / "small.onnx", tmp_path / "large.onnx"
    for path, length in ((small, 1), (large, size)):
        with path.open("wb") as file:
            file.truncate(length)
    for source, fixed_model in ((small, large), (large, small)):
        with fixed_model.open("rb") as file:
            assert prove.prove_model(source, "nobody asked", file).why == why


PROVED = [(1, prove.BIT_FOR_BIT, True)]
LOOP = """
x = (1,6)
a = Loop 2 true x body={i = int64(); c = bool(); h = (1,6); d = Identity c; g = Reshape h [-1,6]; => d g}
y = Reshape a [-1,2,3]
"""


@pytest.mark.parametrize(
    ("text", "proved", "checks"),
    [
        (
            "x = (1,6); y = Reshape x [1,2,3]",
            True,
            [*PROVED, (3, "sample by sample", True), (5, "sample by sample", True)],
        ),
        (
            "x = (2,5); z = Concat x floats(2,5) axis=1",
            None,
            [(2, "bit for bit", True), (3, "sample by sample", False)],
        ),
        (
            "x = (1,18); a = Reshape x [1,2,9]; s = Shape x end=1; n = Cast s to=1; w = Mul floats(9,9) n\n"
            "y = MatMul a w",
            False,
            [*PROVED, (3, "sample by sample", False)],
        ),
        ("x = (1,6); y = own.Strange x", None, []),
        # no batch mark reaches the output, so that the axis of the samples is found by comparison
        (
            LOOP,
            True,
            [*PROVED, (3, "sample by sample", True), (5, "sample by sample", True)],
        ),
    ],
)
def test_proof_lists_its_comparisons(text, proved, checks, tmp_path):
    report, target = write_and_fix(with_shapes(model(text)), tmp_path)
    fixed = report.fix_result
    expected = [(None, "checker", True), *checks] if checks else []
    assert (fixed.proved, [(e.size, e.what, e.ok) for e in fixed.proofs]) == (proved, expected), fixed.why
    assert report_json(report, ())["fixed"]["proofs"] == [{"size": s, "what": w, "ok": o} for s, w, o in expected]
    assert target.exists() == (proved is not False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = (1,6); y = Reshape x nobody", "'nobody' of node"),
        ("x = (1,6); y = Reshape x [1.0,6.0]", "type mismatch"),
        ("x = (1,6); y = Reshape x 6", "a target has one axis, and this one has 0"),
        ("x = (1,6); y = Reshape x [[1,6]]", "a target has one axis, and this one has 2"),
        ("x = (0,6); y = Reshape x [0,2,3]", "it declares a batch of 0"),
        ("x = (1,6); a = If true then_branch={p = Relu b} else_branch={q = Relu x}; b = Relu a; => b", "'b' of node"),
    ],
)
def test_fix_refuses_invalid_models(text, reason, tmp_path):
    proto = model(text)
    for output in proto.graph.output:
        output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, ("p", "q")))
    with pytest.raises(ShapeError, match=re.escape(reason)) as refused:
        write_and_fix(proto, tmp_path)
    assert refused.value.problem.rule is FILE
    assert "\n" not in refused.value.problem.message
    assert [*tmp_path.iterdir()] == [tmp_path / "model.onnx"]


def test_fix_without_onnxruntime_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "prove_model", lambda *_: Proof(None, "", missing_module="onnxruntime"))
    with pytest.raises(ShapeError, match="onnxruntime") as refused:
        write_and_fix(model_with_batch(1), tmp_path)
    assert "--no-prove" in refused.value.problem.hint
    assert [*tmp_path.iterdir()] == [tmp_path / "model.onnx"]
    assert write_and_fix(None, tmp_path, prove=False)[1].exists()


def test_proof_reports_a_missing_onnxruntime(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    path = tmp_path / "m.onnx"
    onnx.save(model_with_batch(1), path)
    task = {"model": str(path), "declared": 1, "batches": [3], "unfixed": "", "is_doubtful": False}
    assert prove.run_task(task, path.read_bytes()).missing_module == "onnxruntime"


STAYING = {"x1": "nothing fails", "factor": "y fails: 4 and 2 do not broadcast"}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(("text", "_"), sections("attentions"))
def test_static_export_inputs_are_all_freed(tmp_path, text, _, batch):
    proto = with_shapes(model(text.replace("B", str(batch))))
    inputs = {each.name: dims_of(each) for each in proto.graph.input}
    report, target = write_and_fix(proto, tmp_path)
    fixed = report.fix_result
    assert (fixed.proved, fixed.left) == (True, ()), fixed.why
    stays = {name: why for name, why in STAYING.items() if batch == 1 and name in inputs}
    assert {each.name: each.why for each in report.stays} == stays
    for name, why in stays.items():
        line = f"stays   input {name}  1; --set {name}=N frees it ({why})"
        assert line in fix_report_lines(report, fixed)
        assert line in table_lines(report, report.nodes)
        assert f"model.onnx: {line}" in failure_lines(report, report.nodes, report.stops, strict=True, github=False)
    assert failure_lines(report, (), (), strict=False, github=False) == []
    expected = [{"name": name, "declared": [1], "taken": [1], "axis": 0, "why": why} for name, why in stays.items()]
    assert report_json(report, ())["stays"] == report_json(report, ())["fixed"]["stays"] == expected
    freed = [each.name for each in fixed.freed]
    assert freed == [name for name in inputs if name not in {*stays, "factor"}]
    fixed_model, random = onnx.load(target), np.random.default_rng(6)
    feeds = random_inputs(fixed_model, N=5)
    for name, most in {"ids": 9, "mask": 2, "said": 9}.items():
        if name in feeds:
            feeds[name] = random.integers(0, most, feeds[name].shape)
    before, after = session(proto), session(fixed_model)

    def of(places):
        return {name: each.take(places, int(name == "h")) if name in freed else each for name, each in feeds.items()}

    for size in (1, 2, 3, 5):
        (larger,) = after.run(None, of(range(size)))
        for sample in range(size):
            (alone,) = before.run(None, of([sample] * batch))
            np.testing.assert_allclose(larger[sample], alone[0], rtol=1e-4, atol=1e-6)


def test_proof_integer_inputs_are_zeros_and_ones(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(model("x = int64(N,64); y = Cast x to=1"), path)
    comparison = prove.ModelComparison({"model": str(path), "declared": 1, "batches": [3], "inputs": {"x": [None, 64]}})
    comparison.load_models(path.read_bytes())
    drawn = comparison.samples["x"]
    assert (drawn.shape, {*drawn[:, 8:].ravel().tolist()}) == ((3, 64), {0, 1})


def test_proof_masks_of_two_samples_differ():
    for axis, shape in ((0, (5, 6)), (1, (6, 5)), (0, (3, 1, 2, 2)), (0, (2,))):
        dims = [None if at == axis else size for at, size in enumerate(shape)]
        bits = prove._encode_sample_numbers(np.zeros(shape, np.int64), dims)
        assert len({sample.tobytes() for sample in np.moveaxis(bits, axis, 0)}) == shape[axis]
        assert {*bits.ravel().tolist()} == {0, 1}


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chains(st.just(("N", 2, 3, 4)), steps=STEPS[:-1]))
def test_fixed_random_chains_are_right(tmp_path, chain):
    """The proof in a child process is omitted: the test itself compares."""
    home = chain.batch
    text = f"opset {chain.opset}; x = ({chain.start})\n{chain.body}\n=> {chain.last}".replace("(N,", f"({home},")
    proto = with_shapes(model(text))
    report, target = write_and_fix(proto, tmp_path, force=True, prove=False)
    unsure = report.fix_result.left or any(each.verdict.value in ("unknown", "sometimes") for each in report.nodes)
    if not unsure and "N" in dims_of(onnx.load(target).graph.output[0]):
        assert_right(proto, target, (home, 2, 3, 4), home=home)
