"""`model --diff`, `--free`, `--trt`, `--static` and `--rename`."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest

from shapecalc.models import write
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
    empty = shapecalc("model", path, "--trt", "N=0:4:8,H=20:20:20,W=20:20:20")
    assert (empty.code, empty.out.split()[0]) == (0, "--minShapes=x:0x6x20x20")
    for wrong in (
        "N=1:4:8",
        "N=0:0:0,H=20:20:20,W=20:20:20",
        "N=4:1:8,H=20:20:20,W=20:20:20",
        "N=1:4,H=1:1:1,W=1:1:1",
        "K=1:1:1",
    ):
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
    "words",
    [
        "N=2",
        "N=2,H=20,W=20,K=1",
        "N=0,H=20,W=20",
        "N=2,H=20,W=20 --all",
        "N=2,H=20,W=20 --free H",
        "N=2,H=20,W=20 --set x=2,6,H,W",
        "N=2,H=20,W=20 --batch N,2",
        "N=2 --fix",
        "N=2,H=20,W=20,K=1 --fix",
        "N=0,H=20,W=20 --fix",
    ],
)
def test_static_refuses_sizes_and_options_that_do_not_fit(words, save, shapecalc, tmp_path):
    out = tmp_path / "static.onnx"
    assert shapecalc("model", save(RESHAPED), "--static", *words.split(), "-o", str(out)).code == 2
    assert not out.exists()


def test_static_model_that_does_not_run_is_not_proved(save, shapecalc, tmp_path):
    out = tmp_path / "static.onnx"
    assert shapecalc("model", save(RESHAPED), "--static", "N=2,H=7,W=7", "-o", str(out)).code == 1


FAILING = "x = (1,6,H,4); y = Reshape x [1,6,-1]"


def test_static_of_the_fixed_model(save, shapecalc, tmp_path):
    path, out = save(FAILING), tmp_path / "static.onnx"
    words = ("model", path, "--fix", "--static", "N=8,H=3", "-o", str(out))
    result = shapecalc(*words)
    assert result.code == 0, result.err
    fixed, proof, static = result.out.splitlines()[-3:]
    assert fixed.split()[0] == "fixed"
    assert proof == "proved (onnxruntime): batch 1 bit for bit, batches 3 and 5 sample by sample; checker passes."
    assert static.startswith("proved (onnxruntime): bit for bit at N = 8, H = 3")
    assert static.endswith(f"Wrote {out}")
    written = onnx.load(out)
    assert dims_of(written.graph.input[0]) == (8, 6, 3, 4)
    assert dims_of(written.graph.output[0]) == (8, 6, 12)
    x = np.random.default_rng(1).normal(size=(8, 6, 3, 4)).astype("f")
    assert np.array_equal(run(written, {"x": x})[0], x.reshape(8, 6, 12))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["m.onnx", "static.onnx"]
    assert shapecalc(*words).code == 4
    report = json.loads(shapecalc(*words, "--force", "--json").out)
    assert (report["fixed"]["proved"], report["fixed"]["path"], report["static"]["path"]) == (True, str(out), str(out))
    assert (report["static"]["proved"], report["static"]["sizes"]) == (True, {"N": 8, "H": 3})
    renamed = shapecalc(*words[:4], "batch=2,H=3", "--rename", "x:0=batch", "-o", str(out), "--force")
    assert (renamed.code, dims_of(onnx.load(out).graph.input[0])) == (0, (2, 6, 3, 4))


def test_static_sizes_are_checked_before_the_proof(save, shapecalc, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "prove_model", lambda *_: pytest.fail("the model is proved"))
    words = ("model", save(FAILING), "--fix", "--static")
    assert shapecalc(*words, "N=8,K=3", "-o", str(tmp_path / "static.onnx")).code == 2
    result = shapecalc(*words, "N=8,H=3", "--no-prove", "-o", str(tmp_path / "static.onnx"))
    assert (result.code, result.out.count("not proved")) == (0, 1)


def test_static_of_a_model_that_is_not_all_fixed(save, shapecalc, tmp_path):
    out = tmp_path / "static.onnx"
    path = save("x = (1,4); a = ReduceMax x [0]; y = Sub x a")
    result = shapecalc("model", path, "--fix", "--static", "N=8", "-o", str(out))
    assert (result.code, "not proved" in result.out, out.exists()) == (1, True, True), result.out


def test_static_of_a_fixed_model_over_the_model_itself(save, shapecalc):
    path = save(FAILING)
    assert shapecalc("model", path, "--fix", "--static", "N=8,H=3", "--force", "-o", path).code == 4


FREED = """
x = (1,3,16,24); y = Reshape x [1,3,384] => 0 mended
x = (1,4,8,12); p = MaxPool x kernel_shape=[4,4] strides=[4,4]; y = Reshape p [1,4,6] => 0 mended
x = (1,3,16,24); r = Reshape x [3,16,24]; y = Relu r => 0 mended mended
x = (1,1,8,12); y = Expand x [1,3,8,12] => 0 mended mended
x = (1,4,8,12); r = Reshape x [0,4,96]; y = Reshape r [0,4,8,12] => 0 mended mended mended
x = (1,4,8,12); y = Resize x _ _ [1,4,16,24] => 1 mended mended assumed assumed
x = (1,4,8,12); y = Reshape x [1,4,2,4,12] => 1 mended mended assumed
x = (1,4,8,12); y = Add x ones(8,12) => 1 left left
x = (1,4,8,8); r = Reshape x [1,4,64]; t = Transpose r perm=[0,2,1]; m = MatMul t ones(4,5); y = Reshape m [1,8,8,5] \
=> 1 mended left left
"""
FREED_ROWS = [line.rpartition(" => ")[::2] for line in FREED.replace("\\\n", "").strip().splitlines()]


@pytest.mark.parametrize(("text", "expected"), FREED_ROWS, ids=[row[0].partition(";")[2] for row in FREED_ROWS])
def test_fix_and_free_replaces_sizes(text, expected, save, shapecalc, tmp_path):
    channels, (code, *kinds) = text.split(",")[1], expected.split()
    path, out = save(text), tmp_path / "free.onnx"
    words = ("model", path, "--set", f"x=N,{channels},H,W", "--fix", "--free", "H,W", "-o", str(out))
    result = shapecalc(*words, "--json")
    assert result.code == int(code), result.err
    freed = json.loads(result.out)["freed"]
    assert [kind for kind in ("mended", "left", "assumed") for _ in freed[kind]] == sorted(
        kinds, key=["mended", "left", "assumed"].index
    )
    if freed["proved"]:
        height, width = dims_of(onnx.load(path).graph.input[0])[2:]
        shape = (2, int(channels), height * 3, width * 2)
        assert run(onnx.load(out), {"x": np.random.default_rng(1).normal(size=shape).astype("f")})[0].size
    lines = shapecalc(*words, "--force").out.splitlines()
    assert sum(line.startswith("freed ") for line in lines) == kinds.count("mended")


def test_fix_and_free_refuses_other_options(save, shapecalc, tmp_path):
    words = ("model", save("x = (1,3,16,24); y = Reshape x [1,3,384]"), "--fix", "-o", str(tmp_path / "o.onnx"))
    assert shapecalc(*words, "--free", "H").code == 2
    assert shapecalc(*words, "--set", "x=N,3,H,W", "--free", "H,W", "--static", "N=2").code == 2
    assert not (tmp_path / "o.onnx").exists()


NAMED = "x = (N,3); y = (M,3); z = (N,H); a = Relu x; b = Relu y; c = Relu z"


def test_rename_changes_every_dim_of_the_name(save, shapecalc, tmp_path):
    path, out = save(NAMED), str(tmp_path / "named.onnx")
    result = shapecalc("model", path, "--rename", "x:0=batch,y:0=N", "--rename", "z:-1=height", "-o", out)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"renamed x:0 from N to batch, y:0 from M to N, z:-1 from H to height. Wrote {out}\n"
    written = onnx.load(out).graph
    assert [dims_of(value) for value in written.input] == [("batch", 3), ("N", 3), ("batch", "height")]
    assert [dims_of(value) for value in written.output] == [("batch", "height")]
    result = shapecalc("model", path, "--rename", "x:0=b", "-o", out, "--force", "--json")
    assert json.loads(result.out)["renamed"] == {"x:0": ["N", "b"]}


def test_rename_changes_names_in_expressions(save, shapecalc, tmp_path):
    path, out = save("x = (N,3); y = Relu x"), str(tmp_path / "named.onnx")
    proto = onnx.load(path)
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "2*N + floor(N.x)"
    onnx.save(proto, path)
    assert shapecalc("model", path, "--rename", "x:0=batch", "-o", out).code == 0
    assert dims_of(onnx.load(out).graph.output[0]) == ("2*batch + floor(N.x)", 3)


@pytest.mark.parametrize(
    "words, message",
    [
        ("0=batch", "x:0 (N) and y:0 (M) may have different sizes, and cannot both be batch"),
        ("x:0=M", "x:0 (N) and another dim (M) may have different sizes, and cannot both be M"),
        ("x:0=a,z:0=b", "N gets two names, a and b"),
        ("x:1=batch", "x:1 is 3, a fixed size"),
        ("x:2=batch", "input x does not have an axis 2"),
        ("5=batch", "no input has an axis 5"),
        ("k:0=batch", "no input is called k (the inputs are x, y, z)"),
        ("x=batch", "'x=batch' is not INPUT:AXIS=NAME"),
        ("x:0=3", "'x:0=3' is not INPUT:AXIS=NAME"),
        ("x:0=b --lint", "--rename cannot be combined with --lint"),
        ("x:0=b --no-prove", "--no-prove needs --fix"),
    ],
)
def test_rename_refuses_names_that_do_not_fit(words, message, save, shapecalc, tmp_path):
    out = tmp_path / "named.onnx"
    result = shapecalc("model", save(NAMED), "--rename", *words.split(), "-o", str(out))
    assert (result.code, message in result.err) == (2, True), result.err
    assert not out.exists()
    assert shapecalc("model", save(NAMED), "--rename", "x:0=b").code == 2


def test_rename_joins_dims_that_the_model_needs_equal(save, shapecalc, tmp_path):
    path, out = save("x = (N,3); y = (M,3); z = Concat x y axis=1"), str(tmp_path / "named.onnx")
    assert shapecalc("model", path, "--rename", "0=batch", "-o", out).code == 0
    assert [dims_of(value) for value in onnx.load(out).graph.input] == [("batch", 3)] * 2


def test_fix_with_rename_names_the_freed_batch(save, shapecalc, tmp_path):
    path, out = save("x = (1,6,4); y = Reshape x [1,24]"), str(tmp_path / "fixed.onnx")
    result = shapecalc("model", path, "--fix", "--rename", "0=batch", "-o", out)
    assert result.code == 0, result.err
    written = onnx.load(out).graph
    assert [dims_of(value) for value in (*written.input, *written.output)] == [("batch", 6, 4), ("batch", 24)]


TRACE = """File "{}", line 7, in forward
    y = y.reshape(1, 6)
  File "/venv/lib/python3.11/site-packages/torch/functional.py", line 9, in f
    return x"""


def save_traced(path, code_path):
    """Write a model whose Reshape was exported from line 7 of a file, and return its path."""
    proto = with_shapes(model("x = (1,2,3); y = Reshape x [1,6]"))
    entry = next(node for node in proto.graph.node if node.op_type == "Reshape").metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.stack_trace", TRACE.format(code_path)
    onnx.save(proto, path)
    return str(path)


def test_failing_node_names_the_line_of_code(shapecalc, tmp_path, monkeypatch):
    code = tmp_path / "net.py"
    code.write_text("pass\n")
    path = save_traced(tmp_path / "traced.onnx", code)
    name = json.loads(shapecalc("model", path, "--json").out)["nodes"][0]["path"]
    assert json.loads(shapecalc("model", path, "--json").out)["nodes"][0]["source"] == {
        "path": str(code), "line": 7, "function": "forward", "code": "y = y.reshape(1, 6)"
    }  # fmt: skip
    header, row = shapecalc("model", path).out.splitlines()[1:3]
    assert (header.split()[-1], row.split()[-1]) == ("code", "net.py:7")
    assert f"code    {code}:7 in forward  y = y.reshape(1, 6)" in shapecalc("model", path, "--node", f"#{name}").out
    assert " (net.py:7): only N = 1" in shapecalc("model", path, "--lint").out
    monkeypatch.chdir(tmp_path)
    assert shapecalc("model", path, "--github").out.startswith("::error file=net.py,line=7::")
    monkeypatch.chdir("/")
    code.unlink()
    assert shapecalc("model", path, "--github").out.startswith(f"::error file={path}::")


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--free", "W"], 0, "y: Reshape holds 384 (target 1,3,384), which was 16*W"),
        (["--free", "W", "--lint"], 1, "which was"),
        (["--free", "W", "-q"], 1, ""),
        (["--free", "W", "--json"], 0, '"expression": "16*W"'),
        (["--free", "Q"], 2, "no free dim is called Q (it has H, W;"),
        (["--free", "N"], 2, "N is the batch"),
        (["--free", "W", "--all"], 2, "--free cannot be combined with --all"),
    ],
)
def test_free_prints_the_numbers_that_are_sizes(options, code, text, save, shapecalc):
    path = save("x = (1,3,16,24); y = Reshape x [1,3,384]")
    result = shapecalc("model", path, "--set", "x=N,3,H,W", *options)
    assert result.code == code
    assert text in result.out + result.err
