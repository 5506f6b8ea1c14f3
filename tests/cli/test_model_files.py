"""`model --diff`, `--trt` and `--static`."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from tests.models.judging import with_shapes
from tests.models.samples import dims_of, run
from tests.models.text import model

RESHAPED = "x = (N,6,H,W); y = Reshape x [0,3,2,20,20]"


@pytest.fixture
def save(tmp_path):
    """Write the model of a text, and return its path."""

    def write(text, name="m.onnx"):
        onnx.save(with_shapes(model(text)), tmp_path / name)
        return str(tmp_path / name)

    return write


def test_diff_lists_differences(save, shapecalc):
    here, there = save("x = (N,3); y = Relu x"), save("x = (N,4); y = Neg x; z = Relu y", "n.onnx")
    result = shapecalc("model", here, "--diff", there)
    assert result.code == 1
    assert result.out.splitlines() == [
        "input x: float32 N,3 here, float32 N,4 there",
        "output y: float32 N,3 here, absent there",
        "output z: absent here, float32 N,4 there",
        "node y: Relu here, Neg there",
        "node z: absent here, Relu there",
        "operator Neg: absent here, 1 there",
    ]
    listed = json.loads(shapecalc("model", here, "--diff", there, "--json").out)["differences"]
    assert listed[0] == {"kind": "input", "name": "x", "here": "float32 N,3", "there": "float32 N,4"}
    same = shapecalc("model", here, "--diff", here)
    assert (same.code, same.out) == (0, "")
    assert shapecalc("model", here, "--diff", here + "x").code == 4
    assert shapecalc("model", here, "--diff", there, "--all").code == 2


def test_trt_prints_the_shapes_of_a_profile(save, shapecalc):
    path = save(RESHAPED)
    result = shapecalc("model", path, "--trt", "N=1:4:8,H=20:20:20,W=20:20:20")
    assert (result.code, result.out) == (
        0,
        "--minShapes=x:1x6x20x20 --optShapes=x:4x6x20x20 --maxShapes=x:8x6x20x20\n",
    )
    failing = shapecalc("model", path, "--trt", "N=1:4:8,H=20:20:40,W=20:20:20")
    assert failing.code == 1
    assert "runs only where H*W = 400" in failing.err
    assert json.loads(shapecalc("model", path, "--trt", "N=1:1:1,H=1:1:1,W=2:2:2", "--json").out)["fails"] == [
        "H*W == 400"
    ]
    for wrong in ("N=1:4:8", "N=4:1:8,H=20:20:20,W=20:20:20", "N=1:4,H=1:1:1,W=1:1:1", "K=1:1:1"):
        assert shapecalc("model", path, "--trt", wrong).code == 2


def test_static_gives_every_free_dim_a_size(save, shapecalc, tmp_path):
    path, out = save(RESHAPED), str(tmp_path / "static.onnx")
    result = shapecalc("model", path, "--static", "N=2,H=10,W=40", "-o", out)
    assert result.code == 0, result.err
    assert "bit for bit at N = 2, H = 10, W = 40" in result.out
    written = onnx.load(out)
    assert dims_of(written.graph.input[0]) == (2, 6, 10, 40)
    assert dims_of(written.graph.output[0]) == (2, 3, 2, 20, 20)
    feeds = {"x": np.random.default_rng(1).normal(size=(2, 6, 10, 40)).astype("f")}
    assert all(map(np.array_equal, run(onnx.load(path), feeds), run(written, feeds)))
    assert shapecalc("model", path, "--static", "N=2,H=10,W=40", "-o", out).code == 4
    report = json.loads(shapecalc("model", path, "--static", "N=2,H=10,W=40", "-o", out, "--force", "--json").out)
    assert (report["proved"], report["sizes"]) == (True, {"N": 2, "H": 10, "W": 40})


@pytest.mark.parametrize(
    "words", ["N=2", "N=2,H=20,W=20,K=1", "N=0,H=20,W=20", "N=2,H=20,W=20 --fix", "N=2,H=20,W=20 --all"]
)
def test_static_refuses_sizes_and_options_that_do_not_fit(words, save, shapecalc, tmp_path):
    out = tmp_path / "static.onnx"
    assert shapecalc("model", save(RESHAPED), "--static", *words.split(), "-o", str(out)).code == 2
    assert not out.exists()


def test_static_model_that_does_not_run_is_not_proved(save, shapecalc, tmp_path):
    out = tmp_path / "static.onnx"
    assert shapecalc("model", save(RESHAPED), "--static", "N=2,H=7,W=7", "-o", str(out)).code == 1
