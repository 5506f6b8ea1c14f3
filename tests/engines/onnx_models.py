"""ONNX models of one op, with their shapes by shape inference and by ONNX Runtime."""

from __future__ import annotations

import functools
import logging

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from tests.engines.library_worker import ends_of

AS_INPUT = {
    "mean": ("axes", 18),
    "reshape": ("target", 5),
    "squeeze": ("axes", 13),
    "unsqueeze": ("axes", 13),
    "expand": ("target", 1),
    "tile": ("repeats", 6),
    "take": ("indices", 1),
    "select": ("index", 1),
}
"""The argument that is an input tensor, and its first opset."""
ATTRIBUTES = {"target": "shape", "block": "blocksize", "pattern": "equation", "kernel": "kernel_shape"}
ATTRIBUTES |= {"stride": "strides", "dilation": "dilations", "groups": "group", "ceil": "ceil_mode"}
PADDINGS = {"same": "SAME_UPPER", "same-lower": "SAME_LOWER", "valid": "VALID"}
IR_VERSION = 12

onnxruntime.set_default_logger_severity(4)
logging.getLogger("onnxruntime").setLevel(logging.CRITICAL)


def each(values, count):
    """Repeat the values up to `count`, if it is a multiple of their number."""
    return list(values) * (count // len(values)) if count % len(values) == 0 else list(values)


def node_arguments(op, shape, given, opset):
    """Return the attributes of a node, and the constants after its tensors, None for an omitted one."""
    count, constants = len(shape) - 2, []
    name, since = AS_INPUT.get(op, (None, 1))
    if name in given and opset >= since:
        constants = [np.array(given.pop(name), np.int64)]
    elif op == "slice":
        starts, ends, steps = ends_of(given.pop("slices"))
        axes = [*range(len(steps))]
        if opset < 10:
            return {"starts": starts, "ends": ends, "axes": axes}, []
        constants = [np.array(values, np.int64) for values in (starts, ends, axes, steps)]
    elif op == "pad":
        constants = [np.array(given["padding"], np.int64)]
        constants += [np.array(given["fill"], np.float32) if "fill" in given else None]
        constants += [np.array(given["axes"], np.int64)] if "axes" in given else []
        given = {"mode": given["mode"]} if "mode" in given else {}
    elif op == "upsample":
        if size := given.pop("size", None):
            constants = [None, None, np.array([*shape[:2], *each(size, count)], np.int64)]
        else:
            constants = [None, np.array([1, 1, *each(given.pop("scale"), count)], np.float32)]
    elif op in ("conv", "pool"):
        given = window_attributes(given, count)
    return {ATTRIBUTES.get(name, name): value for name, value in given.items()}, constants


def window_attributes(given, count):
    """Return the attributes of conv and pool for their arguments."""
    if given.get("kernel") == "global":
        return {}
    windows, padding = {"stride", "dilation", "output_padding", "kernel"} & {*given}, given.get("padding")
    found = {name: each(given[name], count) for name in windows}
    found |= {name: int(given[name]) for name in ("groups", "ceil") if name in given}
    if padding is None:
        return found
    return found | ({"auto_pad": PADDINGS[padding]} if padding in PADDINGS else {"pads": each(padding, 2 * count)})


def tensors_of(shape, arguments):
    """Return the shapes of all input tensors of an op, and its other arguments."""
    given = {name: value for name, value in arguments.items() if value is not None}
    weight = given.pop("weight", None)
    return [shape, *given.pop("operands", ()), *([] if weight is None else [weight])], given


def model(op, shape, arguments, opset, dtype=TensorProto.FLOAT, *, known=True, constant=True):
    """Return the model of one op; `known` declares input shapes, `constant` stores input arguments."""
    shapes, given = tensors_of(shape, arguments)
    tensors, outputs, nodes = [f"x{place}" for place in range(len(shapes))], ["y"], []
    made_of = {"linear": "matmul", "stack": "concat"}.get(op, op)
    operator = operator_of(OPS[made_of], ONNX)
    name = (operator.variant_of(given) if op in ("conv", "pool") else operator).name
    attributes, constants = node_arguments(op, shape, given, opset)
    if op == "split":
        parts, part = attributes.pop("parts"), attributes.pop("part", 0)
        outputs = ["y" if place == part else f"unread{place}" for place in range(parts)]
        attributes |= {"num_outputs": parts} if opset >= 18 else {}
    held = {f"c{place}": value for place, value in enumerate(constants) if value is not None}
    inputs = [*tensors, *["" if value is None else f"c{place}" for place, value in enumerate(constants)]]
    if op == "stack":
        held["axis"] = np.array([attributes["axis"]])
        nodes = [helper.make_node("Unsqueeze", [each, "axis"], [f"u{each}"]) for each in tensors]
        inputs = [f"u{each}" for each in tensors]
    elif op == "linear":
        nodes, inputs = [helper.make_node("Transpose", ["x1"], ["t"], perm=[1, 0])], ["x0", "t"]
    elif op == "broadcast" and len(tensors) > 2:
        nodes, inputs = [helper.make_node(name, tensors[:2], ["s"])], ["s", tensors[2]]
    node = helper.make_node(name, inputs, outputs)
    for key, value in attributes.items():
        kind = AttributeProto.INTS if isinstance(value, (tuple, list)) else None
        node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
    ends = [
        helper.make_tensor_value_info(each, dtype, [*dims] if known else None)
        for each, dims in zip(tensors, shapes, strict=True)
    ]
    if not constant:
        ends += [helper.make_tensor_value_info(key, TensorProto.INT64, value.shape) for key, value in held.items()]
        held = {}
    output = helper.make_tensor_value_info("y", TensorProto.INT64 if op == "shape" else dtype, None)
    known_values = [numpy_helper.from_array(value, key) for key, value in held.items()]
    graph = helper.make_graph([*nodes, node], "g", ends, [output], known_values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def inferred_shape(op, shape, arguments, opset):
    """Return the shape of ONNX shape inference; `None` if it refuses."""
    try:
        found = onnx.shape_inference.infer_shapes(
            model(op, shape, arguments, opset), check_type=True, strict_mode=True, data_prop=True
        )
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        return None
    kind = found.graph.output[0].type.tensor_type
    return tuple([dim.dim_value for dim in kind.shape.dim])


def session_of(serialized):
    """Return a session with one thread: the models are small, and threads start slowly."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])


_session = functools.lru_cache(maxsize=500)(session_of)


def runtime_result(call):
    """Return the result of a call to ONNX Runtime; `None` if it refuses."""
    try:
        return call()
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        return None


def runtime_shape(op, shape, arguments, opset, *, known=True, constant=True):
    """Return the shape (for op `shape`, the values) of ONNX Runtime; `None` if it refuses."""
    made = model(op, shape, arguments, opset, known=known, constant=constant)
    shapes, given = tensors_of(shape, arguments)
    feeds = {f"x{place}": np.zeros(dims, np.float32) for place, dims in enumerate(shapes)}
    if not constant:
        feeds["c0"] = np.array(given[AS_INPUT[op][0]], np.int64)
    output = runtime_result(lambda: _session(made.SerializeToString()).run(None, feeds)[0])
    if output is None:
        return None
    return tuple(output.tolist()) if op == "shape" else output.shape
