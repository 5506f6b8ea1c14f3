"""Run generated code of every target on an `x` of 0, 1, 2, ..."""

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
WORKER_LIBRARIES = ("torch", "jax", "tensorflow", "paddle", "openvino", "einops")
"""The libraries that run in worker processes, with this Python or that of a variable such as SHAPECALC_JAX_PYTHON."""
RUNS = ("numpy", "onnx", "tensorrt", *WORKER_LIBRARIES)
"""The targets whose code can be run."""

_workers: dict[str, subprocess.Popen[str]] = {}


def data(shape):
    return np.arange(size(shape), dtype=np.float32).reshape(shape)


def find_python(library):
    """Return a Python that has the library, or a false value."""
    return os.environ.get(f"SHAPECALC_{library.upper()}_PYTHON") or (find_spec(library) and sys.executable)


def skip_reason(target):
    """Return why the code of a target cannot run here, or an empty string."""
    if target not in WORKER_LIBRARIES or find_python(target):
        return ""
    return f"{target} is not installed, and SHAPECALC_{target.upper()}_PYTHON names no Python that has it"


def run_code(target, text, x, operands=None, **given_names):
    """Run the code on `x` and on operands of 0, 1, 2, ... with the given shapes, and return the result."""
    shapes = operands or {}
    if target in WORKER_LIBRARIES:
        return _run_in_worker(target, text, x.shape, given_names, shapes)
    arrays = {"x": x} | {name: data(shape) for name, shape in shapes.items()}
    names = {**arrays, "network": fake_tensorrt.Network(), **given_names}
    with patch.dict(sys.modules, tensorrt=fake_tensorrt):
        exec(text, names)
    if target != "onnx":
        return np.asarray(names["y"])
    onnx.checker.check_model(names["model"], full_check=True)
    return session_of(names["model"].SerializeToString()).run(None, arrays)[0]


def _run_in_worker(library, text, shape, names, operands):
    if library not in _workers:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        command = [find_python(library), WORKER, library]
        _workers[library] = subprocess.Popen(command, text=True, env=environment, **pipes)
    worker = _workers[library]
    worker.stdin.write(json.dumps({"text": text, "shape": shape, "names": names, "operands": operands}) + "\n")
    worker.stdin.flush()
    line = next((line for line in worker.stdout if line.startswith(MARK)), None)
    if line is None:
        _workers.pop(library).communicate()
        pytest.fail(f"{library} crashed on:\n{text}")
    answer = json.loads(line.removeprefix(MARK))
    assert "error" not in answer, f"{answer['error']}\n{text}"
    return np.frombuffer(base64.b64decode(answer["data"]), answer["dtype"]).reshape(answer["shape"])


def stop_workers():
    """Stop the worker processes."""
    while _workers:
        _workers.popitem()[1].communicate()
