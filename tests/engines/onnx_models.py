"""One-node ONNX models, and what shape inference and ONNX Runtime make of them."""

from __future__ import annotations

import functools
import logging

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from tests.engines.library_worker import ends_of

AS_INPUT = {
    "reshape": ("target", 5),
    "squeeze": ("axes", 13),
    "unsqueeze": ("axes", 13),
    "expand": ("target", 1),
    "tile": ("repeats", 6),
    "pad": ("padding", 11),
    "take": ("indices", 1),
    "upsample": ("size", 11),
}
"""The argument that is an input tensor, and the opset since when."""
ATTRIBUTES = {"target": "shape", "block": "blocksize", "pattern": "equation", "kernel": "kernel_shape"}
TWICE = ("broadcast", "matmul", "concat", "einsum", "conv")
"""The ops whose models add, multiply, join or convolve a tensor with itself."""
IR_VERSION = 12

onnxruntime.set_default_logger_severity(4)
logging.getLogger("onnxruntime").setLevel(logging.CRITICAL)


def model(op, shape, arguments, opset, dtype=TensorProto.FLOAT, *, known=True, constant=True):
    """Return the model of one node; `known` puts the input shape into it, `constant` the target."""
    name, since = AS_INPUT.get(op, (None, 1))
    inputs, initializers, graph_inputs = ["x"] * (2 if op in TWICE else 1), [], []
    attributes = {ATTRIBUTES.get(key, key): value for key, value in arguments.items()}
    if name in arguments and opset >= since:
        values = attributes.pop(ATTRIBUTES.get(name, name))
        values, left_out = ((*shape[:2], *values), ["", ""]) if op == "upsample" else (values, [])
        inputs += [*left_out, "a"]
        if constant:
            initializers.append(helper.make_tensor("a", TensorProto.INT64, [len(values)], values))
        else:
            graph_inputs.append(helper.make_tensor_value_info("a", TensorProto.INT64, [len(values)]))
    if op == "slice":
        _put_slices(attributes.pop("slices"), opset, attributes, inputs, initializers)
    if op == "select":
        inputs.append("a")
        initializers.append(helper.make_tensor("a", TensorProto.INT64, [], [attributes.pop("index")]))
    outputs = ["y"]
    if op == "split":
        parts, part = attributes.pop("parts"), attributes.pop("part", 0)
        outputs = ["y" if each == part else f"unread{each}" for each in range(parts)]
        attributes |= {"num_outputs": parts} if opset >= 18 else {}
    empty = [key for key, value in attributes.items() if isinstance(value, tuple) and not value]
    node = helper.make_node(
        operator_of(OPS[op], ONNX).name,
        inputs,
        outputs,
        **{key: value for key, value in attributes.items() if key not in empty},
    )
    for key in empty:
        node.attribute.append(onnx.AttributeProto(name=key, type=onnx.AttributeProto.INTS))
    graph_inputs.insert(0, helper.make_tensor_value_info("x", dtype, list(shape) if known else None))
    output = helper.make_tensor_value_info("y", TensorProto.INT64 if op == "shape" else dtype, None)
    graph = helper.make_graph([node], "g", graph_inputs, [output], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def _put_slices(text, opset, attributes, inputs, initializers):
    """Put the starts, ends, axes and steps of slices into a node: as attributes before opset 10, as inputs since."""
    starts, ends, steps = ends_of(text)
    values = {"starts": starts, "ends": ends, "axes": [*range(len(steps))]}
    if opset < 10:
        attributes.update({name: tuple(numbers) for name, numbers in values.items()})
        return
    for name, numbers in (values | {"steps": steps}).items():
        inputs.append(name)
        initializers.append(helper.make_tensor(name, TensorProto.INT64, [len(numbers)], numbers))


def inferred(op, shape, arguments, opset):
    """Return the shape that ONNX shape inference gives; `None` where it refuses."""
    try:
        found = onnx.shape_inference.infer_shapes(
            model(op, shape, arguments, opset), check_type=True, strict_mode=True, data_prop=True
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return None
    kind = found.graph.output[0].type.tensor_type
    return tuple(dim.dim_value for dim in kind.shape.dim)


def session_of(serialized):
    """Return the session of a model, in one thread: the models are small, and threads take long to start."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])


_session = functools.cache(session_of)


def ran(op, shape, arguments, opset, *, known=True, constant=True):
    """Return the shape (for op `shape`, the values) that ONNX Runtime gives; `None` where it refuses."""
    feeds = {"x": np.zeros(shape, np.float32)}
    name, since = AS_INPUT.get(op, (None, 1))
    if not constant and name in arguments and opset >= since:
        feeds["a"] = np.array(arguments[name], np.int64)
    serialized = model(op, shape, arguments, opset, known=known, constant=constant).SerializeToString()
    try:
        output = _session(serialized).run(None, feeds)[0]
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return None
    return tuple(output.tolist()) if op == "shape" else output.shape
