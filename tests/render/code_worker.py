"""Run code of a library in a separate process: `python code_worker.py LIBRARY`, one JSON object per line.

Several of these libraries cannot share a process.
"""

from __future__ import annotations

import base64
import json
import sys
from importlib import import_module

import numpy as np

MARK = "ran: "


def tensor_of(library, x):
    """Return an array as a tensor of the library."""
    if library == "einops":
        return x
    if library == "openvino":
        from openvino import opset13

        return opset13.parameter([-1] * x.ndim, dtype=np.float32)
    calls = {"torch": "from_numpy", "jax.numpy": "asarray", "tensorflow": "constant", "paddle": "to_tensor"}
    name = "jax.numpy" if library == "jax" else library
    return getattr(import_module(name), calls[name])(x)


def arange_array(shape):
    """Return the array 0, 1, 2, ... of a shape."""
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def output_array(library, arrays, inputs, output):
    """Return the result of the code as an array; an OpenVINO graph is compiled and run in float32."""
    if library == "openvino":
        import openvino

        model = openvino.Model([output], inputs)
        return openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(arrays)[0]
    return np.asarray(output)


def answer(library, question):
    """Run the code on 0, 1, 2, ...; return the shape, dtype and bytes of its result, or its error."""
    arrays = {name: arange_array(shape) for name, shape in {"x": question["shape"], **question["operands"]}.items()}
    try:
        names = {name: tensor_of(library, array) for name, array in arrays.items()}
        inputs = [*names.values()]
        names |= question["names"]
        exec(question["text"], names)
        array = output_array(library, [*arrays.values()], inputs, names["y"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"shape": array.shape, "dtype": str(array.dtype), "data": base64.b64encode(array.tobytes()).decode()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(MARK + json.dumps(answer(sys.argv[1], json.loads(line))), flush=True)
