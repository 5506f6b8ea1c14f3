"""A detector's head from its file to a mended one, by the command line alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

from tests.cli.conftest import environment
from tests.core.test_imports import loaded
from tests.models import detector

pytestmark = pytest.mark.sessions(5)


@pytest.fixture
def yolo(tmp_path):
    return detector.write(tmp_path / "yolo.onnx")


def run(path, images):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(
        None, {"images": images}
    )[0]


def test_it_is_mended_bit_for_bit_and_sample_by_sample(shapecalc, yolo):
    assert shapecalc("model", str(yolo), "--lint").code == 1
    fixed = yolo.with_name("fixed.onnx")
    ran = shapecalc("model", str(yolo), "--fix", "-o", str(fixed))
    assert (ran.code, ran.err) == (0, "")
    assert shapecalc("model", str(fixed), "--lint", "--strict").out == ""
    images = np.random.default_rng(1).random((3, 3, 64, 64), np.float32)
    assert (run(fixed, images[:1]) == run(yolo, images[:1])).all()
    together = run(fixed, images)
    for sample, image in zip(together, images, strict=True):
        np.testing.assert_allclose(sample, run(yolo, image[None])[0], rtol=1e-5, atol=1e-6)


def test_every_node_is_shown_if_asked_and_in_json_always(shapecalc, yolo):
    shown = shapecalc("model", str(yolo), "--all", "--where", "H=96", "--set", "images=N,3,H,64").out.splitlines()
    assert [line.split()[0] for line in shown[2:11]] == [*"012345678"]
    assert shown[2].split() == ["0", "/head.0/Conv", "Conv", "N,3,H,64", "N,255,H1,8", "24480", "97920"]
    assert "H1 is H//8" in shown
    told = json.loads(shapecalc("model", str(yolo), "--json").out)
    assert [node["path"] for node in told["others"]] == ["0", "4", "8"]
    assert told["others"][2]["outputs"][0]["shape"] == ["N", 240, 85]
    assert (told["results"], told["unknown"], told["largest"][0]["bytes"]) == ({}, 0, 240 * 85 * 4)
    one = json.loads(shapecalc("model", str(yolo), "--json", "--op", "conv").out)
    assert ([node["path"] for node in one["others"]], one["nodes"]) == (["0", "4"], [])


def test_a_mended_model_is_written_unchanged_and_said_to_be(shapecalc, yolo):
    fixed, again = yolo.with_name("fixed.onnx"), yolo.with_name("again.onnx")
    shapecalc("model", str(yolo), "--fix", "-o", str(fixed))
    ran = shapecalc("model", str(fixed), "--fix", "-o", str(again))
    assert (ran.code, ran.out) == (0, f"there was nothing to mend. Wrote {again}, unchanged\n")
    assert again.read_bytes() == fixed.read_bytes()
    ran = shapecalc("model", str(fixed), "--fix", "-o", str(again))
    assert (ran.code, ran.err) == (4, f"shapecalc: file: {again}: it exists; --force writes over it\n")


def test_a_target_given_by_hand_is_taken(shapecalc, yolo):
    fixed = yolo.with_name("fixed.onnx")
    ran = shapecalc("model", str(yolo), "--fix", "-o", str(fixed), "--fix-as", "/head.0/Reshape_1=-1,192,85", "--json")
    done = {each["path"]: each["target"] for each in json.loads(ran.out)["fixed"]["mended"]}
    assert done == {"1": [0, 3, 85, 8, 8], "3": [-1, 192, 85], "5": [0, 3, 85, 4, 4], "7": [0, -1, 85]}
    ran = shapecalc("model", str(yolo), "--fix", "-o", str(fixed), "--fix-as", "#2=1")
    assert ran.err == "shapecalc: usage: /head.0/Transpose does not offend, so it stays as it is\n"


def written(folder, nodes, outputs, **constants):
    """Write a model of some nodes on an input x of N,4,6 into a folder."""
    made = helper.make_graph(
        nodes,
        "runs",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, 6])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    save_model(model, str(folder / "runs.onnx"))
    return str(folder / "runs.onnx")


RUN = [
    helper.make_node("Transpose", ["x"], ["a"], "/T", perm=[0, 2, 1]),
    helper.make_node("Reshape", ["a", "t"], ["b"], "/R"),
    helper.make_node("Transpose", ["b"], ["c"], "/U", perm=[0, 2, 1, 3]),
]


def test_a_run_is_one_shuffle_and_none_where_others_read_between(shapecalc, tmp_path):
    whole = shapecalc("model", written(tmp_path, RUN, ["c"], t=[0, 3, 2, 4]), "-d", "tensorrt")
    assert whole.out.splitlines()[0] == "/T /R /U: 1 Shuffle"
    assert "layer.first_transpose = (0, 2, 1)" in whole.out
    parted = shapecalc("model", written(tmp_path, RUN, ["a", "c"], t=[0, 3, 2, 4]), "-d", "tensorrt", "--json")
    assert [run["nodes"] for run in json.loads(parted.out)["runs"]] == [["1", "2"]]
    none = shapecalc("model", written(tmp_path, RUN[:1], ["a"]), "-d", "tensorrt")
    assert (none.code, none.out) == (0, "")
    assert none.err == "shapecalc: no two nodes in a row only transpose and reshape\n"


def test_a_run_without_known_targets_has_no_layers_and_an_offender_is_mended_in_it(shapecalc, tmp_path):
    mended = shapecalc("model", written(tmp_path, RUN, ["c"], t=[1, 3, 2, 4]), "-d", "tensorrt")
    assert "layer.reshape_dims = (0, 3, 2, 4)" in mended.out
    assert "holds when" not in mended.out
    chain = [helper.make_node("Transpose", [f"t{at}" if at else "x"], [f"t{at + 1}"], f"/{at}") for at in range(99)]
    long = shapecalc("model", written(tmp_path, chain, ["t99"]), "-d", "tensorrt")
    assert long.out.splitlines()[-1] == "  99 nodes in a row are more than 32"


@pytest.mark.parametrize(
    "data",
    [b"", b"not a model", b"\x00" * 100, onnx.ModelProto().SerializeToString(), b"\x0a" * 5000],
    ids=["empty", "text", "zeros", "no graph", "nonsense"],
)
def test_what_is_no_model_is_one_line(shapecalc, tmp_path, data):
    (tmp_path / "bad\x1b.onnx").write_bytes(data)
    ran = shapecalc("model", str(tmp_path / "bad\x1b.onnx"))
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.startswith("shapecalc: file: ")
    assert ran.err.count("\n") == 1
    assert ran.err.strip().isprintable()


def test_a_model_cut_short_anywhere_is_refused_or_read(shapecalc, yolo):
    whole = yolo.read_bytes()
    for length in [*range(1, 400, 37), *range(500, len(whole), len(whole) // 40)]:
        yolo.write_bytes(whole[:length])
        ran = shapecalc("model", str(yolo), "--quiet")
        assert ran.code == 4, length


def test_without_onnx_it_says_what_to_install(yolo):
    code = (
        "import sys; sys.modules['onnx'] = None; "
        f"sys.argv = ['shapecalc', 'model', {str(yolo)!r}]; from shapecalc.__main__ import main; sys.exit(main())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert (ran.returncode, ran.stdout) == (4, "")
    assert re.search(r"onnx is not installed; .* -m pip install '?onnx", ran.stderr)
    assert ran.stderr.count("\n") == 1


def test_other_commands_import_no_models():
    for words in (["doctor", "/dev/null"], ["match", "N", "/dev/null"], ["model", "-h"], ["tui", "-h"]):
        code = f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"
        assert loaded(code, ("onnx", "shapecalc.models", "google.protobuf", "numpy")) == []
