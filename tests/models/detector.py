"""The head of a detector as exporters write it, with the batch size of the example image in its targets.

`python -m tests.models.detector yolo.onnx` writes it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save_model

SIZE, ANCHORS, FIELDS = 64, 3, 85


def head(stride, number):
    """Return the nodes and constants of one scale, whose boxes have 85 fields."""
    cells, name, channels = SIZE // stride, f"/head.{number}", ANCHORS * FIELDS
    draw = np.random.default_rng(stride)
    constants = {
        f"head.{number}.weight": draw.normal(size=(channels, 3, stride, stride)).astype(np.float32) / stride,
        f"head.{number}.bias": draw.normal(size=channels).astype(np.float32),
        f"{name}/Constant": np.array([1, ANCHORS, FIELDS, cells, cells]),
        f"{name}/Constant_1": np.array([1, -1, FIELDS]),
    }
    weight, bias, split, joined = constants
    nodes, last = [], "images"

    def put(place, *given, **attributes):
        nonlocal last
        inputs, last = [last, *given], f"{name}/{place}_output_0"
        nodes.append(helper.make_node(place.partition("_")[0], inputs, [last], f"{name}/{place}", **attributes))

    put("Conv", weight, bias, strides=[stride, stride])
    put("Reshape", split)
    put("Transpose", perm=[0, 1, 3, 4, 2])
    put("Reshape_1", joined)
    return nodes, constants


def detector():
    """Return the model: the concatenated boxes of two scales."""
    nodes, constants = zip(*[head(8, 0), head(16, 1)], strict=True)
    boxes = sum(ANCHORS * (SIZE // stride) ** 2 for stride in (8, 16))
    scales = [f"/head.{number}/Reshape_1_output_0" for number in (0, 1)]
    joined = helper.make_node("Concat", scales, ["boxes"], "/Concat", axis=1)
    given = [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIZE, SIZE])]
    outputs = [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, [1, boxes, FIELDS])]
    held = [numpy_helper.from_array(value, name) for each in constants for name, value in each.items()]
    made = helper.make_graph([*nodes[0], *nodes[1], joined], "detector", given, outputs, held)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def write(path):
    """Write the model into a file."""
    save_model(detector(), str(path))
    return Path(path)


if __name__ == "__main__":
    write(sys.argv[1])
