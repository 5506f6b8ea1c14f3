"""Real messages: libraries are made to refuse requests, and the doctor must read what they say.

NumPy, ONNX and ONNX Runtime are installed; the others run where they are, or where a variable such as
`SHAPECALC_TORCH_PYTHON` names a Python that has them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shapecalc.doctor.reading import readings

PROVOKE = Path(__file__).with_name("provoke.py")
ARRAYS = "import numpy as np; a = np.zeros((2, 3, 4))"
TORCH = "import torch; a = torch.zeros(2, 3, 4)"
JAX = "import jax.numpy as jnp; a = jnp.zeros((2, 3, 4))"
TENSORFLOW = """
import os; os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import tensorflow as tf; a = tf.zeros((2, 3, 4))
def graph(f): return tf.function(f, input_signature=[tf.TensorSpec((2, 3, 4))], autograph=False).get_concrete_function()
"""
PADDLE = "import paddle; a = paddle.zeros([2, 3, 4])"
DASK = "import dask.array as da; a = da.zeros((2, 3, 4), chunks=2)"
OPENVINO = """
import numpy as np
from openvino import opset13 as o
a = o.parameter([2, 3, 4], np.float32); whole = lambda *v: np.array(v, dtype=np.int64)
"""
EINOPS = "import numpy as np; from einops import rearrange; a = np.zeros((2, 3, 4))"
ONNX = """
import numpy as np, onnx, onnxruntime
from onnx import helper as h, TensorProto as T
onnxruntime.set_default_logger_severity(4)
def model(op, sizes, values=(), **attributes):
    names = ["x", *(["v"] if values else [])]
    given = [h.make_tensor("v", T.INT64, [len(values)], values)] if values else []
    node = h.make_node(op, names, ["y"], name="/neck/node_7", **attributes)
    ends = [h.make_tensor_value_info(name, T.FLOAT, dims) for name, dims in (("x", sizes), ("y", None))]
    graph = h.make_graph([node], "g", ends[:1], ends[1:], given)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
def run(op, fed, *values, **attributes):
    made = model(op, [None] * len(fed), values, **attributes).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.zeros(fed, "f4")})
def infer(op, sizes, *values, **attributes):
    onnx.shape_inference.infer_shapes(model(op, sizes, values, **attributes), strict_mode=True, data_prop=True)
"""
CASES = {
    "numpy": (
        ARRAYS,
        ("a.reshape(5, 5)", "numpy", "reshape", "count-mismatch", {"elements": 24, "target": (5, 5)}),
        ("a.reshape(5, -1)", "numpy", "reshape", "indivisible", {"elements": 24, "target": (5, -1)}),
        ("a.reshape(-1, -1)", "numpy", "reshape", "two-infer", {}),
        ("np.zeros((0, 3)).reshape(0, -1)", "numpy", "reshape", "infer-with-empty", {"elements": 0, "target": (0, -1)}),
        ("a.reshape(0, 5)", "numpy", "reshape", "zero-literal", {"elements": 24, "target": (0, 5)}),
        ("np.zeros((0, 3)).reshape(2, 2)", "numpy", "reshape", "empty-input", {"elements": 0, "target": (2, 2)}),
        ("a.transpose(1, 0)", "numpy", "transpose", "bad-perm", {}),
        ("np.squeeze(a, 0)", "numpy", "squeeze", "not-one", {}),
        (
            "np.broadcast_to(a, (2, 3, 5))",
            *("numpy", "expand", "not-broadcastable", {"input": (2, 3, 4), "target": (2, 3, 5)}),
        ),
        ("a @ a", "numpy", "matmul", "inner-differs", {}),
        (
            "a + np.zeros((2, 5))",
            *("numpy", "broadcast", "not-broadcastable", {"input": (2, 3, 4), "operands": ((2, 5),)}),
        ),
        ("np.concatenate((a, a[:, :2]))", "numpy", "concat", "dims-differ", {}),
    ),
    "onnxruntime": (
        ONNX,
        (
            "run('Reshape', (8, 12, 4, 4), 1, 3, 4, 4, 4)",
            *("onnxruntime", "reshape", "hard-coded-batch", {"input": (8, 12, 4, 4), "target": (1, 3, 4, 4, 4)}),
        ),
        (
            "run('Reshape', (2, 3, 4), 5, -1)",
            *("onnxruntime", "reshape", "indivisible", {"input": (2, 3, 4), "target": (5, -1)}),
        ),
        (
            "run('Reshape', (0, 3), 0, -1)",
            *("onnxruntime", "reshape", "infer-with-empty", {"input": (0, 3), "target": (0, -1)}),
        ),
        ("run('Reshape', (6, 4), 0, 0, 0)", "onnxruntime", "reshape", "zero-out-of-range", {}),
        ("run('Squeeze', (2, 3, 4), 1)", "onnxruntime", "squeeze", "not-one", {"input": (2, 3, 4), "axes": (1,)}),
        ("run('Squeeze', (2, 3, 4), 7)", "onnxruntime", "squeeze", "bad-axis", {"axes": (7,)}),
        ("run('Expand', (2, 3), 4, 3)", "onnxruntime", "expand", "not-broadcastable", {}),
        ("run('Tile', (2, 3), 2)", "onnxruntime", "tile", "rank-mismatch", {}),
        ("run('Tile', (2, 3), 2, -1)", "onnxruntime", "tile", "bad-value", {}),
        ("infer('Tile', (2, 3), 2)", "onnx", "tile", "rank-mismatch", {}),
        ("infer('Tile', (2, 3), 2, -1)", "onnx", "tile", "bad-value", {}),
        ("run('Transpose', (2, 3, 4), perm=[1, 0])", "onnxruntime", "transpose", "bad-perm", {}),
        (
            "run('Transpose', (2, 3, 4), perm=[0, 1, 3])",
            *("onnxruntime", "transpose", "bad-perm", {"input": ("?", "?", "?"), "perm": (0, 1, 3)}),
        ),
        ("infer('Reshape', (2, 3, 4), 5, -1)", "onnx", "reshape", "indivisible", {}),
        ("infer('Reshape', (2, 3, 4), -2, 12)", "onnx", "reshape", "bad-value", {}),
        (
            "infer('Transpose', (2, 3, 4), perm=[0, 1, 3])",
            *("onnx", "transpose", "bad-perm", {"input": (2, 3, 4), "perm": (0, 1, 3)}),
        ),
        ("infer('Unsqueeze', (2, 3, 4), 0, 0)", "onnx", "unsqueeze", "bad-axis", {"axes": (0,)}),
    ),
    "torch": (
        TORCH,
        ("a.view(5, 5)", "torch", "reshape", "count-mismatch", {"elements": 24, "target": (5, 5)}),
        ("a.reshape(5, -1)", "torch", "reshape", "indivisible", {"elements": 24, "target": (5, -1)}),
        ("torch.zeros(0, 3).view(0, -1)", "torch", "reshape", "infer-with-empty", {"elements": 0, "target": (0, -1)}),
        ("a.transpose(0, 2).view(24)", "torch", "reshape", "stride-incompatible", {}),
        ("a.permute(1, 0)", "torch", "transpose", "bad-perm", {}),
        ("a.squeeze(5)", "torch", None, "bad-axis", {"axes": (5,)}),
        ("a.expand(2, 3, 5)", "torch", "expand", "not-broadcastable", {"input": (2, 3, 4), "target": (2, 3, 5)}),
        (
            "a.unflatten(1, (2, 2))",
            "torch",
            "unflatten",
            "count-mismatch",
            {"elements": 3, "target": (2, 2), "axes": (1,)},
        ),
        ("a @ a", "torch", "matmul", "inner-differs", {}),
        (
            "torch.nn.Conv2d(3, 4, 3)(torch.zeros(1, 5, 9, 9))",
            *("torch", "conv", "channels-differ", {"input": (1, 5, 9, 9), "operands": ((4, 3, 3, 3),)}),
        ),
    ),
    "jax": (
        JAX,
        ("a.reshape(5, 5)", "jax", "reshape", "count-mismatch", {"input": (2, 3, 4), "target": (5, 5)}),
        ("a.transpose(1, 0)", "jax", "transpose", "bad-perm", {"input": (2, 3, 4), "perm": (1, 0)}),
        ("jnp.squeeze(a, 1)", "jax", "squeeze", "not-one", {"input": (2, 3, 4), "axes": (1,)}),
    ),
    "tensorflow": (
        TENSORFLOW,
        ("tf.reshape(a, (5, 5))", "tensorflow", "reshape", "count-mismatch", {"elements": 24, "target_elements": 25}),
        ("tf.reshape(a, (5, -1))", "tensorflow", "reshape", "indivisible", {"elements": 24, "target_elements": 5}),
        (
            "graph(lambda x: tf.reshape(x, (5, 5)))",
            *("tensorflow", "reshape", "count-mismatch", {"input": (2, 3, 4), "target": (5, 5)}),
        ),
        ("tf.transpose(a, (0, 0, 1))", "tensorflow", "transpose", "bad-perm", {"perm": (0, 0, 1)}),
        ("graph(lambda x: tf.squeeze(x, [1]))", "tensorflow", "squeeze", "not-one", {"input": (2, 3, 4), "axes": (1,)}),
        (
            "tf.keras.layers.Reshape((5, 5))(tf.keras.Input((3, 4)))",
            *("keras", "reshape", "count-mismatch", {"input": (3, 4), "target": (5, 5)}),
        ),
    ),
    "paddle": (
        PADDLE,
        ("a.reshape([5, 5])", "paddle", "reshape", "count-mismatch", {"input": (2, 3, 4), "target": (5, 5)}),
        ("a.reshape([-1, -1])", "paddle", "reshape", "two-infer", {"target": (-1, -1)}),
        ("paddle.squeeze(a, 5)", "paddle", "squeeze", "bad-axis", {"input": (2, 3, 4), "axes": (5,)}),
    ),
    "dask": (
        DASK,
        ("a.reshape(5, 5)", "dask", "reshape", "count-mismatch", {}),
        ("a.reshape(5, -1)", "dask", "reshape", "indivisible", {}),
        ("a.transpose(1, 0)", "dask", "transpose", "bad-perm", {}),
    ),
    "openvino": (
        OPENVINO,
        (
            "o.reshape(a, whole(5, 5), False)",
            *("openvino", "reshape", "count-mismatch", {"input": (2, 3, 4), "target": (5, 5)}),
        ),
        ("o.reshape(a, whole(5, -1), False)", "openvino", "reshape", "indivisible", {"input": (2, 3, 4)}),
        (
            "o.transpose(a, whole(0, 0, 1))",
            *("openvino", "transpose", "bad-perm", {"input": (2, 3, 4), "perm": (0, 0, 1)}),
        ),
        (
            "o.add(a, o.parameter([5], np.float32))",
            *("openvino", "broadcast", "not-broadcastable", {"input": (2, 3, 4), "operands": ((5,),)}),
        ),
    ),
    "einops": (
        EINOPS,
        ("rearrange(a, 'b (c k) h -> b c k h', k=2)", "einops", "rearrange", "indivisible", {"input": (2, 3, 4)}),
        ("rearrange(a, 'b c h w -> b (c h w)')", "einops", "rearrange", "rank-mismatch", {"input": (2, 3, 4)}),
        ("rearrange(a, 'b c h -> b')", "einops", "rearrange", "bad-pattern", {"input": (2, 3, 4)}),
    ),
}


def python_with(library):
    """Return a Python that has a library; skip the test if none is known."""
    variable = f"SHAPECALC_{library.upper()}_PYTHON"
    if variable in os.environ:
        return os.environ[variable]
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed, and {variable} names no Python that has it")
    return sys.executable


def provoked(library):
    """Return the tracebacks of a library's cases."""
    setup, *cases = CASES[library]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    words = [python_with(library), str(PROVOKE), setup, *(line for line, *_ in cases)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300, env=clean)
    return json.loads(ran.stdout.splitlines()[-1])


QUICK = ("numpy", "onnxruntime")


@pytest.mark.parametrize(
    "library", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_what_a_library_says_is_read(library):
    said = provoked(library)
    held = ("input", "elements", "target", "target_elements", "perm", "axes", "operands")
    for text, (line, framework, op, cause, told) in zip(said, CASES[library][1:], strict=True):
        found = readings(text)
        assert found, (line, text)
        got = {name: getattr(found[0], name) for name in held if getattr(found[0], name) is not None}
        assert (found[0].framework, found[0].op, found[0].cause, got) == (framework, op, cause, told), (line, text)
