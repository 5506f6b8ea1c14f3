"""Runs code of a library in a process of its own: `python code_worker.py LIBRARY`, one JSON object a line.

Several of these libraries cannot live in one process.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib import import_module

import numpy as np

MARK = "ran: "


def tensor_of(library, x):
    """Return an array as the tensor `x` of a library's code."""
    if library == "einops":
        return x
    if library == "openvino":
        from openvino import opset13

        return opset13.parameter([-1] * x.ndim, dtype=np.float32)
    calls = {"torch": "from_numpy", "jax.numpy": "asarray", "tensorflow": "constant", "paddle": "to_tensor"}
    name = "jax.numpy" if library == "jax" else library
    return getattr(import_module(name), calls[name])(x)


def counted(shape):
    """Return the array 0, 1, 2 ... of a shape."""
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def array_of(library, arrays, starts, end):
    """Return what a library's code made. OpenVINO's is a model, which is run without its faster types."""
    if library == "openvino":
        import openvino

        model = openvino.Model([end], starts)
        return openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(arrays)[0]
    return np.asarray(end)


def answer(library, question):
    """Return the shape, the element type and the bytes that the code makes of 0, 1, 2 ...; or why it does not run."""
    arrays = {name: counted(shape) for name, shape in {"x": question["shape"], **question["operands"]}.items()}
    try:
        names = {name: tensor_of(library, array) for name, array in arrays.items()}
        starts = [*names.values()]
        names |= question["names"]
        exec(question["text"], names)
        found = array_of(library, [*arrays.values()], starts, names["y"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"shape": found.shape, "dtype": str(found.dtype), "data": base64.b64encode(found.tobytes()).decode()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(MARK + json.dumps(answer(sys.argv[1], json.loads(line))), flush=True)
