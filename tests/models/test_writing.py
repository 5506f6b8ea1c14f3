"""Mended files: right in ONNX Runtime at other batch sizes, the same bits at the declared one, nothing else touched."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from shapecalc.cli.model_report import fixed_lines, report_object, table_lines
from shapecalc.core.problem import USAGE, ShapeError
from shapecalc.models.file import read_model
from shapecalc.models.free_dims import SizeOptions
from shapecalc.models.judge import judged_model
from shapecalc.models.prove import _told_apart
from shapecalc.models.verdicts import Fix
from shapecalc.models.write import written
from tests.models.judging import graph_model
from tests.models.samples import freed, session

pytestmark = pytest.mark.sessions(10)

node = helper.make_node


def ints(*numbers):
    return np.array(numbers, np.int64)


def floats(*shape):
    return np.random.default_rng(3).normal(size=shape).astype(np.float32)


def detector():
    """Return a detector's head with its batch written into two targets, one of which fails no runtime."""
    nodes = [
        node("Conv", ["x", "w"], ["f"], name="/Conv"),
        node("Reshape", ["f", "t"], ["a"], name="/Reshape"),
        node("Transpose", ["a"], ["b"], perm=[0, 1, 3, 4, 2], name="/Transpose"),
        node("Reshape", ["b", "u"], ["c"], name="/Reshape_1"),
        node("Sigmoid", ["c"], ["y"]),
    ]
    constants = [("w", floats(12, 3, 1, 1)), ("t", ints(1, 3, 4, 5, 5)), ("u", ints(1, -1, 4))]
    return graph_model(nodes, [("x", (1, 3, 5, 5))], ["y"], constants)


def mend(proto, tmp_path, **options):
    """Write a model, mend it, and return the report and where the mended file is."""
    source, target = tmp_path / "model.onnx", tmp_path / "fixed.onnx"
    if proto is not None:
        source.write_bytes(proto if isinstance(proto, bytes) else proto.SerializeToString())
    outcome = judged_model(read_model(source), options.pop("asked", SizeOptions()))
    report = written(outcome, outcome.report("model.onnx"), target, options.pop("chosen", {}), **options)
    return report, target


def run(model, feeds):
    return session(model).run(None, feeds)


def samples(shape, batch):
    return np.random.default_rng(5).normal(size=(batch, *shape[1:])).astype(np.float32)


def assert_right(before, target, shape, *, home=1):
    """Assert that a mended model gives the same bits at home, and at batch 3 what each sample gives alone."""
    after = onnx.load(target)
    onnx.checker.check_model(after, full_check=True)
    many = samples(shape, max(3, home))
    for old, new in zip(run(before, {"x": many[:home]}), run(after, {"x": many[:home]}), strict=True):
        assert old.tobytes() == new.tobytes()
    (larger,) = run(after, {"x": many[:3]})
    for sample in range(3):
        (alone,) = run(after, {"x": many[sample : sample + 1]})
        np.testing.assert_allclose(larger[sample : sample + 1], alone, rtol=1e-5, atol=1e-7)


def test_a_mended_detector_is_right_and_proved(tmp_path):
    report, target = mend(detector(), tmp_path)
    fixed = report.fixed
    assert [(judged.node.name, fix.target) for judged, fix in fixed.mended] == [
        ("/Reshape", (0, 3, 4, 5, 5)),
        ("/Reshape_1", (0, -1, 4)),
    ]
    assert (fixed.left, fixed.proved) == ((), True)
    assert fixed.why == "batch 1 bit for bit, batch 3 sample by sample; checker passes"
    assert_right(detector(), target, (1, 3, 5, 5))


def declaring(batch):
    """Return a model whose nodes are right at every batch size."""
    return graph_model([node("Reshape", ["x", "t"], ["y"])], [("x", (batch, 2, 3))], ["y"], [("t", ints(0, -1))])


def test_an_input_that_declares_one_batch_is_freed_and_told(tmp_path):
    report, target = mend(declaring(1), tmp_path)
    said = table_lines(report, report.nodes)[-1]
    assert said.startswith("The file declares N = 1, and --fix frees it.   Next: shapecalc model ")
    lines = fixed_lines(report, report.fixed)
    assert lines[0] == "mended  input x  1,2,3 to N,2,3"
    told = report_object(report, ())["fixed"]
    assert told["freed"] == [{"name": "x", "declared": [1, 2, 3], "taken": ["N", 2, 3]}]
    assert_right(declaring(1), target, (1, 2, 3))


def test_a_free_input_is_not_told(tmp_path):
    report, _ = mend(declaring("N"), tmp_path, prove=False)
    assert table_lines(report, report.nodes)[-1] == "No listed node breaks at another N."
    assert report.fixed.freed == ()


def test_a_model_that_the_checker_refused_before_is_told(tmp_path):
    proto = declaring(1)
    proto.graph.name = ""
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(proto)
    report, _ = mend(proto, tmp_path)
    assert report.fixed.proved
    assert report.fixed.why.endswith("; the checker refuses it, as it refuses the model that was read")


def test_mended_twice_nothing_changes(tmp_path):
    _, target = mend(detector(), tmp_path, prove=False)
    second = tmp_path / "second"
    second.mkdir()
    report, again = mend(target.read_bytes(), second)
    assert again.read_bytes() == target.read_bytes()
    assert (report.fixed.mended, report.fixed.proved) == ((), None)
    assert report.fixed.why == "there was nothing to mend"


def test_nothing_but_targets_and_declared_dims_is_touched(tmp_path):
    before = detector()
    before.doc_string, before.graph.doc_string = "about it", "more"
    before.graph.value_info.extend(
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, (1, 3, 4, 5, 5)),
            helper.make_tensor_value_info("y_", TensorProto.FLOAT, (1, 2)),
            helper.make_tensor_value_info("f", TensorProto.FLOAT, ("batch", 12, 5, 5)),
        ]
    )
    _, target = mend(before, tmp_path, prove=False)
    after = onnx.load(target)
    assert [each.name for each in after.graph.value_info] == ["y_", "f"]
    assert [dim.dim_param or dim.dim_value for dim in after.graph.input[0].type.tensor_type.shape.dim] == ["N", 3, 5, 5]
    targets = {each.name: numpy_helper.to_array(each).tolist() for each in after.graph.initializer if each.name != "w"}
    assert targets == {"t": [0, 3, 4, 5, 5], "u": [0, -1, 4]}
    assert [dim.dim_param or dim.dim_value for dim in after.graph.output[0].type.tensor_type.shape.dim] == ["N", 75, 4]
    for model in (before, after):
        del model.graph.value_info[:], model.graph.initializer[1:], model.graph.input[:], model.graph.output[:]
    assert after == before


def test_a_target_that_two_nodes_share_is_split(tmp_path):
    nodes = [
        node("Reshape", ["x", "t"], ["a"]),
        node("Relu", ["a"], ["b"]),
        node("Reshape", ["k", "t"], ["c"]),
        node("Add", ["b", "c"], ["y"]),
    ]
    proto = graph_model(nodes, [("x", (1, 6))], ["y"], [("t", ints(1, 2, 3)), ("k", floats(6))])
    report, target = mend(proto, tmp_path, prove=False)
    assert report.fixed.left == ()
    held = {each.name: numpy_helper.to_array(each).tolist() for each in onnx.load(target).graph.initializer}
    assert (held["t"], held["t_mended"]) == ([1, 2, 3], [0, 2, 3])
    assert_right(proto, target, (1, 6))


def test_allowzero_goes_where_a_zero_copies(tmp_path):
    proto = graph_model(
        [node("Reshape", ["x", "t"], ["y"], allowzero=1)], [("x", (1, 6))], ["y"], [("t", ints(1, 2, 3))]
    )
    report, target = mend(proto, tmp_path, prove=False)
    assert report.fixed.left == ()
    assert [each.name for each in onnx.load(target).graph.node[0].attribute] == []
    assert_right(proto, target, (1, 6))


def test_another_fix_may_be_chosen(tmp_path):
    chosen = {"1": Fix((-1, 3, 4, 5, 5), None, "", "")}
    report, target = mend(detector(), tmp_path, chosen=chosen, prove=False)
    assert report.fixed.left == ()
    held = {each.name: numpy_helper.to_array(each).tolist() for each in onnx.load(target).graph.initializer[1:]}
    assert held["t"] == [-1, 3, 4, 5, 5]


@pytest.mark.parametrize("made", ["initializer", "Constant", "attribute", "old file", "function", "branch"])
def test_a_target_is_mended_wherever_it_stands(tmp_path, made):
    target = ints(1, 2, 3)
    constant = node("Constant", [], ["t"], value=numpy_helper.from_array(target))
    reshape = node("Reshape", ["x", "t"], ["y"])
    if made == "Constant":
        proto = graph_model([constant, reshape], [("x", (1, 6))], ["y"])
    elif made == "attribute":
        proto = graph_model([node("Reshape", ["x"], ["y"], shape=[1, 2, 3])], [("x", (1, 6))], ["y"], opset=4)
    elif made == "old file":
        proto = graph_model(
            [reshape, node("Reshape", ["x", "t"], ["z"])],
            [("x", (1, 6))],
            ["y"],
            [("t", target)],
            opset=9,
            ir_version=3,
        )
        proto.graph.input.append(helper.make_tensor_value_info("t", TensorProto.INT64, (3,)))
    elif made == "function":
        opsets = [helper.make_opsetid("", 18)]
        function = helper.make_function("own", "Fold", ["x"], ["y"], [constant, reshape], opsets)
        proto = graph_model([node("Fold", ["x"], ["y"], domain="own")], [("x", (1, 6))], ["y"], functions=[function])
    elif made == "branch":
        empty = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        branch = helper.make_graph([reshape], "then", [], [empty], [numpy_helper.from_array(target, "t")])
        other = helper.make_graph([reshape], "else", [], [empty], [numpy_helper.from_array(ints(0, 2, 3), "t")])
        proto = graph_model(
            [node("If", ["c"], ["y"], then_branch=branch, else_branch=other)],
            [("x", (1, 6))],
            ["y"],
            [("c", np.array(True))],
        )
    else:
        proto = graph_model([reshape], [("x", (1, 6))], ["y"], [("t", target)])
    report, path = mend(proto, tmp_path, prove=False)
    assert report.fixed.mended
    assert report.fixed.left == ()
    assert_right(proto, path, (1, 6))


def test_a_constant_repeated_once_gets_the_size_of_the_batch(tmp_path):
    nodes = [
        node("Expand", ["token", "s"], ["c"], name="/Expand"),
        node("Concat", ["c", "x"], ["a"], axis=1),
        node("Reshape", ["a", "t"], ["y"], name="/Reshape"),
    ]
    constants = [("token", floats(1, 1, 4)), ("s", ints(1, -1 + 2, 4)), ("t", ints(1, -1))]
    proto = graph_model(nodes, [("x", (1, 5, 4))], ["y"], constants)
    report, target = mend(proto, tmp_path)
    assert [(stop.node.op, stop.cause) for stop in report.stops] == [("Concat", "0")]
    assert [(judged.node.name, fix.target, fix.inserts) for judged, fix in report.fixed.mended] == [
        ("/Expand", None, ("Shape", "Gather", "Concat")),
        ("/Reshape", (0, -1), ()),
    ]
    assert report.fixed.proved, report.fixed.why
    assert_right(proto, target, (1, 5, 4))


def test_a_static_batch_of_eight_is_compared_at_eight(tmp_path):
    nodes = [node("Reshape", ["x", "t"], ["a"]), node("Softmax", ["a"], ["y"])]
    proto = graph_model(nodes, [("x", (8, 6))], ["y"], [("t", ints(8, 2, 3))])
    report, target = mend(proto, tmp_path)
    assert report.fixed.proved
    assert report.fixed.why.startswith("batch 8 bit for bit, batch 3 sample by sample")
    assert_right(proto, target, (8, 6), home=8)


def test_large_payloads_are_copied_and_external_ones_stay_where_they_are(tmp_path):
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Reshape", ["a", "t"], ["y"])]
    constants = [("w", floats(100, 300)), ("t", ints(1, 3, 100))]
    proto = graph_model(nodes, [("x", (1, 100))], ["y"], constants)
    report, target = mend(proto, tmp_path)
    assert report.fixed.proved
    assert np.array_equal(numpy_helper.to_array(onnx.load(target).graph.initializer[0]), constants[0][1])
    apart = tmp_path / "apart"
    apart.mkdir()
    within = onnx.ModelProto()
    within.CopyFrom(proto)
    onnx.save(proto, apart / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=1000)
    report, beside = mend(None, apart)
    assert report.fixed.proved
    assert_right(within, beside, (1, 100))
    outcome = judged_model(read_model(apart / "model.onnx"))
    with pytest.raises(ShapeError, match=r"weights\.bin"):
        written(outcome, outcome.report("model.onnx"), tmp_path / "elsewhere.onnx", {})
    assert not (tmp_path / "elsewhere.onnx").exists()


def test_the_model_itself_is_never_written_to(tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(detector().SerializeToString())
    (tmp_path / "link.onnx").symlink_to(source)
    outcome = judged_model(read_model(source))
    for target in (source, tmp_path / "link.onnx"):
        with pytest.raises(ShapeError, match="the model itself"):
            written(outcome, outcome.report("model.onnx"), target, {}, force=True)
    assert source.read_bytes() == detector().SerializeToString()


def test_a_chosen_fix_that_does_not_mend_is_left(tmp_path):
    report, target = mend(detector(), tmp_path, chosen={"3": Fix((1, 75, -1), None, "", "")})
    assert [judged.node.name for judged in report.fixed.left] == ["/Reshape_1"]
    assert (report.fixed.proved, report.fixed.why) == (None, "1 node in it cannot be mended")
    assert target.exists()


def test_a_failed_proof_writes_nothing(tmp_path):
    nodes = [
        node("Reshape", ["x", "t"], ["a"]),
        node("Shape", ["x"], ["s"], end=1),
        node("Cast", ["s"], ["n"], to=TensorProto.FLOAT),
        node("Mul", ["a", "n"], ["y"]),
    ]
    proto = graph_model(nodes, [("x", (1, 6))], ["y"], [("t", ints(1, 2, 3))])
    report, _ = mend(proto, tmp_path)
    assert (report.fixed.proved, report.fixed.path) == (False, None)
    assert report.fixed.why == "output y differs in sample 0 of batch 3"
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (node("RandomNormalLike", ["b"], ["y"]), "RandomNormalLike gives other numbers each time"),
        (node("Strange", ["b"], ["y"], domain="own"), "ONNX Runtime"),
    ],
)
def test_what_cannot_be_proved_is_written_and_says_why(tmp_path, made, why):
    nodes = [node("Reshape", ["x", "t"], ["a"]), node("Relu", ["a"], ["b"]), made]
    proto = graph_model(nodes, [("x", (1, 6))], ["y"], [("t", ints(1, 2, 3))])
    report, target = mend(proto, tmp_path)
    assert report.fixed.proved is None
    assert why in report.fixed.why or "nobody can say where the samples are" in report.fixed.why
    assert target.exists()


def attends(query, key, bias, batch, lengths):
    """Return the nodes of an attention of two heads over 4 features, and their targets."""
    nodes, targets = [], {}
    for name, source, length in (("q", query, lengths[0]), ("k", key, lengths[1])):
        targets[f"{name}{query}_heads"] = ints(batch, length, 2, 2)
        nodes.append(node("Reshape", [source, f"{name}{query}_heads"], [f"{name}{query}1"]))
        nodes.append(node("Transpose", [f"{name}{query}1"], [f"{name}{query}2"], perm=[0, 2, 1, 3]))
    nodes += [
        node("Transpose", [f"k{query}2"], [f"k{query}3"], perm=[0, 1, 3, 2]),
        node("MatMul", [f"q{query}2", f"k{query}3"], [f"{query}3"]),
        node("Add", [f"{query}3", bias], [f"{query}4"]),
        node("Softmax", [f"{query}4"], [f"{query}5"], axis=-1),
        node("MatMul", [f"{query}5", f"k{query}2"], [f"{query}6"]),
        node("Transpose", [f"{query}6"], [f"{query}7"], perm=[0, 2, 1, 3]),
        node("Reshape", [f"{query}7", f"{query}_joined"], [f"{query}_out"]),
    ]
    return nodes, targets | {f"{query}_joined": ints(batch, lengths[0], 4)}


def several(kind, batch):
    """Return a static export of several inputs, and the axis of the batch in each."""
    table = [("table", floats(9, 4)), ("one", np.array(1, np.float32)), ("places", ints(1, 2))]
    masked = [
        node("Gather", ["table", "ids"], ["words"]),
        node("Cast", ["mask"], ["kept"], to=TensorProto.FLOAT),
        node("Sub", ["kept", "one"], ["lacking"]),
        node("Unsqueeze", ["lacking", "places"], ["bias"]),
    ]
    if kind == "masked":
        inputs = {"ids": (batch, 6), "mask": (batch, 6)}
        nodes, targets = attends("words", "words", "bias", batch, (6, 6))
        proto = graph_model([*masked, *nodes], inputs.items(), ["words_out"], [*table, *targets.items()], shapes=False)
    elif kind == "two sequences":
        inputs = {"ids": (batch, 6), "mask": (batch, 6), "said": (batch, 3)}
        nodes, targets = attends("others", "words", "bias", batch, (3, 6))
        nodes = [*masked, node("Gather", ["table", "said"], ["others"]), *nodes]
        proto = graph_model(nodes, inputs.items(), ["others_out"], [*table, *targets.items()], shapes=False)
    elif kind == "timesteps":
        inputs = {"x0": (batch, 3, 4, 4), "x1": (batch,)}
        nodes = [
            node("Unsqueeze", ["x1", "at"], ["t1"]),
            node("MatMul", ["t1", "w"], ["t2"]),
            node("Reshape", ["t2", "t"], ["t3"]),
            node("Mul", ["x0", "t3"], ["a"]),
            node("Mul", ["a", "factor"], ["y"]),
        ]
        constants = [("w", floats(1, 3)), ("at", ints(1)), ("t", ints(batch, 3, 1, 1))]
        proto = graph_model(nodes, [*inputs.items(), ("factor", (1,))], ["y"], constants, shapes=False)
    else:
        inputs = {"x": (batch, 5, 4), "h": (1, batch, 3)}
        nodes = [
            node("Transpose", ["x"], ["s"], perm=[1, 0, 2]),
            node("GRU", ["s", "w", "r", "", "", "h"], ["", "last"], hidden_size=3),
            node("Reshape", ["last", "t"], ["y"]),
        ]
        constants = [("w", floats(1, 9, 4)), ("r", floats(1, 9, 3)), ("t", ints(batch, 3))]
        proto = graph_model(nodes, inputs.items(), ["y"], constants, shapes=False)
    for each in proto.graph.input:
        if each.name in ("ids", "mask", "said"):
            each.type.tensor_type.elem_type = TensorProto.INT64
    return proto, inputs


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("kind", ["masked", "two sequences", "timesteps", "recurrent"])
def test_all_inputs_of_a_static_export_are_freed_and_each_sample_is_right(tmp_path, kind, batch):
    proto, inputs = several(kind, batch)
    report, target = mend(proto, tmp_path)
    fixed = report.fixed
    assert [each.name for each in fixed.freed] == [*inputs]
    assert (fixed.proved, fixed.left) == (True, ()), fixed.why
    if kind == "timesteps" and batch == 1:
        assert "stays   input factor  1; --set factor=N frees it" in fixed_lines(report, fixed)
        assert report_object(report, ())["fixed"]["stays"] == [{"name": "factor", "declared": [1], "taken": [1]}]
    else:
        assert fixed.stays == ()
    axes = {name: 1 if name == "h" else 0 for name in inputs}
    random = np.random.default_rng(6)
    shapes = {name: [5 if at == axes[name] else size for at, size in enumerate(inputs[name])] for name in inputs}
    whole = {"ids": random.integers(0, 9, (5, 6)), "mask": random.integers(0, 2, (5, 6)), "said": ints(*range(15))}
    whole["said"] = whole["said"].reshape(5, 3) % 9
    feeds = {
        name: whole[name] if name in whole else random.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    shared = {"factor": floats(1)} if kind == "timesteps" else {}
    before, after = session(proto), session(onnx.load(target))
    for size in (1, 2, 3, 5):
        many = {name: array.take(range(size), axes[name]) for name, array in feeds.items()}
        (larger,) = after.run(None, many | shared)
        for sample in range(size):
            one = {name: array.take([sample] * batch, axes[name]) for name, array in feeds.items()}
            (alone,) = before.run(None, one | shared)
            np.testing.assert_allclose(larger[sample], alone[0], rtol=1e-4, atol=1e-6)


def test_masks_of_two_samples_differ():
    for axis, shape in ((0, (5, 6)), (1, (6, 5)), (0, (3, 1, 2, 2)), (0, (2,))):
        bits = _told_apart(np.zeros(shape, np.int64), [None if at == axis else size for at, size in enumerate(shape)])
        assert len({sample.tobytes() for sample in np.moveaxis(bits, axis, 0)}) == shape[axis]
        assert {*bits.ravel().tolist()} == {0, 1}


@pytest.mark.parametrize("given", [("N", 3, 8, 8), ("N", 3, "H", "W")])
def test_a_shape_that_is_given_forgets_no_size_of_the_file(tmp_path, given):
    proto = graph_model([node("Reshape", ["x", "t"], ["y"])], [("x", (8, 3, 8, 8))], ["y"], [("t", ints(8, -1))])
    report, target = mend(proto, tmp_path, asked=SizeOptions(shapes={"x": given}))
    assert [fix.target for _, fix in report.fixed.mended] == [(0, -1)]
    assert report.fixed.why.startswith("batch 8 bit for bit, batch 3 sample by sample")
    assert_right(proto, target, (8, 3, 8, 8), home=8)


@pytest.mark.parametrize(
    "asked",
    [
        SizeOptions(shapes={"x": ("N", 3, 4, 4)}),
        SizeOptions(shapes={"x": ("N", 3, "H", "W")}, where={"H": 4}),
        SizeOptions(shapes={"x": (2, "N", 8, 8)}),
    ],
)
def test_nothing_is_written_for_sizes_that_the_file_does_not_have(tmp_path, asked):
    proto = graph_model([node("Reshape", ["x", "t"], ["y"])], [("x", (8, 3, 8, 8))], ["y"], [("t", ints(8, -1))])
    with pytest.raises(ShapeError, match=r"input x is 8,3,8,8 in the file, and not ") as refused:
        mend(proto, tmp_path, asked=asked)
    assert refused.value.problem.rule is USAGE
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]


@pytest.mark.parametrize("target", [(64, 1, 8), (1, 64, 8)])
def test_what_a_fix_assumes_is_told_if_a_transpose_of_one_sample_may_have_become_a_reshape(tmp_path, target):
    nodes = [node("Reshape", ["x", "t"], ["a"], name="turn"), node("Gather", ["a", "i"], ["y"], axis=0)]
    proto = graph_model(nodes, [("x", (1, 8, 8, 8))], ["y"], [("t", ints(*target)), ("i", ints(-1))])
    report, _ = mend(proto, tmp_path)
    assert report.fixed.proved is None
    told = "the fix of turn assumes that no Transpose 1,0,2 was folded into it"
    assert (told in report.fixed.why) == (target == (64, 1, 8))


OPS = st.sampled_from(["reshape", "transpose", "relu", "flatten"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["reshape", "transpose", "relu", "flatten"]), st.randoms(use_true_random=False)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([1, 2]),
)
def test_a_random_chain_that_is_mended_is_right(tmp_path, steps, home):
    """The proof in a child process is left out, since the test itself compares."""
    shape, nodes, constants = [home, 2, 3, 4], [], []
    for at, (op, random) in enumerate(steps):
        before, after = f"x{at}" if at else "x", f"x{at + 1}"
        if op == "reshape":
            shape = _regrouped(shape, random, home)
            written_ = [-1 if place == random.randrange(4) else size for place, size in enumerate(shape)]
            constants.append((f"t{at}", ints(*(written_ if written_.count(-1) < 2 else shape))))
            nodes.append(node("Reshape", [before, f"t{at}"], [after]))
        elif op == "transpose" and len(shape) > 2:
            shape = [shape[0], *shape[:0:-1]]
            nodes.append(node("Transpose", [before], [after], perm=[0, *range(len(shape) - 1, 0, -1)]))
        elif op == "flatten":
            shape = [shape[0], int(np.prod(shape[1:]))]
            nodes.append(node("Flatten", [before], [after]))
        else:
            nodes.append(node("Relu", [before], [after]))
    proto = graph_model(nodes, [("x", (home, 2, 3, 4))], [f"x{len(steps)}"], constants)
    report, target = mend(proto, tmp_path, force=True, prove=False)
    if report.fixed.left or any(each.verdict.value in ("unknown", "sometimes") for each in report.nodes):
        return
    model, many = onnx.load(target), samples((home, 2, 3, 4), 6)
    (old,), (new,) = run(proto, {"x": many[:home]}), run(model, {"x": many[:home]})
    assert old.tobytes() == new.tobytes()
    (three,), (six,) = run(model, {"x": many[:3]}), run(model, {"x": many})
    assert three.shape[0] * 2 == six.shape[0]
    assert np.array_equal(three, six[: three.shape[0]])


def _regrouped(shape, random, home):
    rest = int(np.prod(shape)) // home
    first = random.choice([size for size in range(1, rest + 1) if rest % size == 0])
    return [home, first, rest // first]


def attention():
    """Return self-attention of two heads with the sequence first, as exporters write it for a batch of 1."""
    nodes = [node("Transpose", ["x"], ["s"], perm=[1, 0, 2])]
    for name in "qkv":
        nodes += [
            node("MatMul", ["s", f"w{name}"], [name]),
            node("Reshape", [name, "heads"], [f"{name}_split"], name=f"/{name}"),
            node("Transpose", [f"{name}_split"], [f"{name}_turned"], perm=[1, 2, 0] if name == "k" else [1, 0, 2]),
        ]
    nodes += [
        node("MatMul", ["q_turned", "k_turned"], ["scores"]),
        node("Softmax", ["scores"], ["shares"], axis=-1),
        node("MatMul", ["shares", "v_turned"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[1, 0, 2], name="/back"),
        node("Reshape", ["back", "rows"], ["joined"], name="/rows"),
        node("Gemm", ["joined", "wo"], ["out"]),
        node("Reshape", ["out", "full"], ["sequence"], name="/full"),
        node("Transpose", ["sequence"], ["y"], perm=[1, 0, 2]),
    ]
    weights = [(f"w{name}", floats(6, 6)) for name in "qkvo"]
    targets = [("heads", ints(5, 2, 3)), ("rows", ints(5, 6)), ("full", ints(5, 1, 6))]
    return graph_model(nodes, [("x", (1, 5, 6))], ["y"], [*weights, *targets])


def test_of_two_fixes_the_one_is_taken_with_which_the_rest_runs(tmp_path):
    report, target = mend(attention(), tmp_path)
    taken = {judged.node.name: fix.target for judged, fix in report.fixed.mended}
    assert taken == dict.fromkeys(("/q", "/k", "/v"), (5, -1, 3)) | {"/rows": (-1, 6), "/full": (5, -1, 6)}
    assert "swallows" not in [each.verdict.value for each in report.nodes]
    assert (report.fixed.proved, report.fixed.left) == (True, ())
    assert_right(attention(), target, (1, 5, 6))


def test_a_recurrent_state_of_one_sample_stops_the_rest(tmp_path):
    constants = [("w", floats(1, 9, 4)), ("r", floats(1, 9, 3)), ("h", floats(1, 1, 3)), ("t", ints(1, -1))]
    nodes = [
        node("Transpose", ["x"], ["s"], perm=[1, 0, 2]),
        node("GRU", ["s", "w", "r", "", "", "h"], ["", "last"], hidden_size=3, name="/GRU"),
        node("Transpose", ["last"], ["first"], perm=[1, 0, 2]),
        node("Reshape", ["first", "t"], ["y"]),
    ]
    proto = graph_model(nodes, [("x", (1, 5, 4))], ["y"], constants)
    report, _ = mend(proto, tmp_path)
    assert [(stop.node.name, stop.why) for stop in report.stops] == [
        ("/GRU", "initial_h has a batch of 1, and X one of 2")
    ]
    assert report.nodes[-1].why == "/GRU (GRU) fails above it"
    assert (report.fixed.proved, report.fixed.why) == (None, "1 node in it cannot be mended")
    other = freed(proto)
    with pytest.raises(Exception, match="GRU"):
        run(other, {"x": samples((1, 5, 4), 2)})


def test_a_proof_that_takes_too_long_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr("shapecalc.models.prove.SECONDS", 0.01)
    report, target = mend(detector(), tmp_path)
    assert report.fixed.proved is None
    assert report.fixed.why == "it takes longer than 0.01 seconds"
    assert target.exists()


def test_a_chosen_fix_that_changes_what_the_model_gives_fails_its_proof(tmp_path):
    report, target = mend(detector(), tmp_path, chosen={"1": Fix((0, 4, 3, 5, 5), None, "", "")})
    assert (report.fixed.proved, report.fixed.why) == (False, "output y differs at batch 1")
    assert not target.exists()


def test_a_declared_size_that_is_a_multiple_of_the_batch_is_left_open(tmp_path):
    proto = graph_model([node("Reshape", ["x", "t"], ["y"])], [("x", (1, 6))], ["y"], [("t", ints(2, 3))])
    _, target = mend(proto, tmp_path, prove=False)
    dims = onnx.load(target).graph.output[0].type.tensor_type.shape.dim
    assert [dim.WhichOneof("value") for dim in dims] == [None, "dim_value"]
