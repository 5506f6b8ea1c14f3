"""`shapecalc model` on a detector head, from the file to the fixed file, and on runs of nodes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cli import test_transcripts as cli
from tests.cli.conftest import environment
from tests.core.test_imports import loaded
from tests.models import detector
from tests.models.samples import session
from tests.transcripts import transcripts

pytestmark = pytest.mark.sessions(5)
node = helper.make_node
RUN = [
    node("Transpose", ["x"], ["a"], "/T", perm=[0, 2, 1]),
    node("Reshape", ["a", "t"], ["b"], "/R"),
    node("Transpose", ["b"], ["c"], "/U", perm=[0, 2, 1, 3]),
]
LONG = [node("Transpose", [f"t{at}" if at else "x"], [f"t{at + 1}"], f"/{at}") for at in range(99)]
RUNS = {
    "run.onnx": (RUN, ["c"], [0, 3, 2, 4]),
    "read_between.onnx": (RUN, ["a", "c"], [0, 3, 2, 4]),
    "of_one.onnx": (RUN[:1], ["a"], None),
    "of_batch_1.onnx": (RUN, ["c"], [1, 3, 2, 4]),
    "long.onnx": (LONG, ["t99"], None),
}
"""The nodes, outputs and reshape target of each model; its input x is N,4,6."""


@pytest.fixture
def yolo(tmp_path):
    return detector.write(tmp_path / "yolo.onnx")


@pytest.mark.usefixtures("yolo")
@pytest.mark.parametrize("lines", transcripts(Path(cli.__file__).parent / "transcripts" / "detector", cli.SIGNS))
def test_detector_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    for file, (nodes, outputs, target) in RUNS.items():
        graph = helper.make_graph(
            nodes,
            "runs",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, 6])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            [numpy_helper.from_array(np.array(target), "t")] if target else [],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save_model(model, str(tmp_path / file))
    cli.play(lines, shapecalc, tmp_path, monkeypatch)


def test_detector_fix_is_exact_per_sample(shapecalc, yolo):
    fixed, again = yolo.with_name("fixed.onnx"), yolo.with_name("again.onnx")
    ran = shapecalc("model", str(yolo), "--fix", "-o", str(fixed))
    assert (ran.code, ran.err) == (0, "")
    images = np.random.default_rng(1).random((3, 3, 64, 64), np.float32)

    def run(path, images):
        return session(onnx.load(path)).run(None, {"images": images})[0]

    assert (run(fixed, images[:1]) == run(yolo, images[:1])).all()
    for sample, image in zip(run(fixed, images), images, strict=True):
        np.testing.assert_allclose(sample, run(yolo, image[None])[0], rtol=1e-5, atol=1e-6)
    shapecalc("model", str(fixed), "--fix", "-o", str(again))
    assert again.read_bytes() == fixed.read_bytes()


@pytest.mark.parametrize("data", [b"", b"\0" * 100, onnx.ModelProto().SerializeToString(), b"\n" * 5000], ids=ascii)
def test_detector_other_file_is_one_line(shapecalc, tmp_path, data):
    (tmp_path / "bad\x1b.onnx").write_bytes(data)
    ran = shapecalc("model", str(tmp_path / "bad\x1b.onnx"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert ran.err.startswith("shapecalc: file: ")
    assert ran.err.strip().isprintable()


def test_detector_truncated_file_is_refused(shapecalc, yolo):
    intact = yolo.read_bytes()
    for length in [*range(1, 400, 37), *range(500, len(intact), len(intact) // 40)]:
        yolo.write_bytes(intact[:length])
        assert shapecalc("model", str(yolo), "--quiet").code == 4, length


def test_detector_without_onnx_names_what_to_install(yolo):
    code = (
        "import sys; sys.modules['onnx'] = None; "
        f"sys.argv = ['shapecalc', 'model', {str(yolo)!r}]; from shapecalc.__main__ import main; sys.exit(main())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1)
    assert re.search(r"onnx is not installed; .* -m pip install '?onnx", ran.stderr)


def test_other_commands_do_not_import_models():
    for words in (["doctor", "/dev/null"], ["match", "N", "/dev/null"], ["model", "-h"], ["tui", "-h"]):
        code = f"import sys; sys.argv = ['shapecalc', *{words!r}]; from shapecalc.__main__ import main; main()"
        assert loaded(code, ("onnx", "shapecalc.models", "google.protobuf", "numpy")) == []
