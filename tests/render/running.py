"""The code of every target, run: the arrays that it makes of 0, 1, 2 ... in an `x` of some shape."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
import onnx
import pytest

from tests.engines.onnx_models import session_of
from tests.plans import size
from tests.render import fake_tensorrt
from tests.render.code_worker import MARK

WORKER = Path(__file__).with_name("code_worker.py")
APART = ("torch", "jax", "tensorflow", "paddle", "openvino", "einops")
"""The libraries that run in processes of their own: here, or where a variable such as SHAPECALC_JAX_PYTHON says."""
RUNS = ("numpy", "onnx", "tensorrt", *APART)
"""The targets whose code can be run."""

_workers: dict[str, subprocess.Popen[str]] = {}


def data(shape):
    return np.arange(size(shape), dtype=np.float32).reshape(shape)


def python_of(library):
    """Return the Python that has a library; None if none has."""
    return os.environ.get(f"SHAPECALC_{library.upper()}_PYTHON") or (find_spec(library) and sys.executable)


def why_not(target):
    """Return why the code of a target cannot be run here; an empty text if it can."""
    if target not in APART or python_of(target):
        return ""
    return f"{target} is not installed, and SHAPECALC_{target.upper()}_PYTHON names no Python that has it"


def run_code(target, text, x, operands=None, **given_names):
    """Return what the code makes of `x`, and of 0, 1, 2 ... in operands of some shapes, by their names."""
    shapes = operands or {}
    if target in APART:
        return _run_apart(target, text, x.shape, given_names, shapes)
    arrays = {"x": x} | {name: data(shape) for name, shape in shapes.items()}
    names = {**arrays, "network": fake_tensorrt.Network(), **given_names}
    with patch.dict(sys.modules, tensorrt=fake_tensorrt):
        exec(text, names)
    if target != "onnx":
        return np.asarray(names["y"])
    onnx.checker.check_model(names["model"], full_check=True)
    return session_of(names["model"].SerializeToString()).run(None, arrays)[0]


def _run_apart(library, text, shape, names, operands):
    if library not in _workers:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [python_of(library), WORKER, library]
        _workers[library] = subprocess.Popen(command, text=True, env=clean, **pipes)
    worker = _workers[library]
    worker.stdin.write(json.dumps({"text": text, "shape": shape, "names": names, "operands": operands}) + "\n")
    worker.stdin.flush()
    line = next((line for line in worker.stdout if line.startswith(MARK)), None)
    if line is None:
        _workers.pop(library).communicate()
        pytest.fail(f"{library} ended of it:\n{text}")
    found = json.loads(line.removeprefix(MARK))
    assert "error" not in found, f"{found['error']}\n{text}"
    return np.frombuffer(base64.b64decode(found["data"]), found["dtype"]).reshape(found["shape"])


def end_workers():
    """End the processes of the libraries."""
    while _workers:
        _workers.popitem()[1].communicate()
