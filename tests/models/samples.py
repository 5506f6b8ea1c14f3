"""Models in ONNX Runtime, and which of their output's elements change when one sample of the batch does."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

onnxruntime.set_default_logger_severity(4)
IR_VERSION = 10


def session(model):
    """Return ONNX Runtime's session of a model, with one thread and without rewriting the graph."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def freed(proto):
    """Return a model with no dims declared for its inputs, so that ONNX Runtime takes any."""
    copy = type(proto)()
    copy.CopyFrom(proto)
    for each in copy.graph.input:
        for dim in each.type.tensor_type.shape.dim:
            dim.Clear()
    return copy


def one_node(op, shapes, *, arguments=(), outputs=1, opset=18, **attributes):
    """Return the model of one node: inputs of these shapes, then arguments that are constants."""
    names = [f"x{at}" for at in range(len(shapes))]
    constants = [
        helper.make_tensor(
            f"c{at}", TensorProto.FLOAT if array.dtype == np.float32 else TensorProto.INT64, array.shape, array
        )
        for at, array in enumerate(map(np.asarray, arguments))
        if array.dtype != object
    ]
    given = [*names, *["" if argument is None else f"c{at}" for at, argument in enumerate(arguments)]]
    node = helper.make_node(op, given, [f"y{at}" for at in range(outputs)], **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip(names, shapes, strict=True)
        ],
        [helper.make_empty_tensor_value_info(f"y{at}") for at in range(outputs)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def changes(running, feeds, axes, batch):
    """Return for each output an array of bits: which samples each element depends on.

    `axes` has the axis of the batch in each input that has one.
    """
    before = running.run(None, feeds)
    reached = [np.zeros(np.shape(output), np.int64) for output in before]
    for sample in range(batch):
        after = running.run(None, _with_other_sample(feeds, axes, sample))
        for bits, old, new in zip(reached, before, after, strict=True):
            bits |= (np.asarray(old) != np.asarray(new)).astype(np.int64) << sample
    return reached


def _with_other_sample(feeds, axes, sample):
    changed = {name: array.copy() for name, array in feeds.items()}
    for name, axis in axes.items():
        part = np.moveaxis(changed[name], axis, 0)
        part[sample] = part[sample] * 1.7 + 1.3 if part.dtype.kind == "f" else part[sample] + 1
    return changed


def are_apart(bits, axis, inner, batch):
    """Say whether every position of an axis depends on no sample but its own."""
    own = 1 << (np.arange(bits.shape[axis]) // inner % batch)
    others = np.moveaxis(bits, axis, -1) & ~own
    return not others.any()


def separating_axes(bits, batch):
    """Return the axes that hold the samples apart, cut into equal runs or by the index mod the batch."""
    found = []
    for axis, size in enumerate(bits.shape):
        if size % batch == 0:
            parts = np.moveaxis(bits, axis, 0)
            runs = [np.bitwise_or.reduce(part, axis=None) for part in parts.reshape(batch, -1)]
            turns = [np.bitwise_or.reduce(parts[at::batch], axis=None) for at in range(batch)]
            if any(sorted(each) == [1 << at for at in range(batch)] for each in (runs, turns)):
                found.append(axis)
    return found
