"""Run models in ONNX Runtime, and find the output elements that depend on each sample of the batch."""

from __future__ import annotations

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from shapecalc.models.verdicts import BatchVerdict

onnxruntime.set_default_logger_severity(4)


def session(model):
    """Return an ONNX Runtime session with one thread and without graph rewriting."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, feeds):
    """Return all outputs of a model."""
    return session(model).run(None, feeds)


def freed(proto):
    """Return a model without declared dims of inputs and inner tensors, so that ONNX Runtime accepts any.

    ONNX Runtime plans the memory of inner tensors by their declared dims.
    """
    copy = type(proto)()
    copy.CopyFrom(proto)
    del copy.graph.value_info[:]
    for each in copy.graph.input:
        for dim in each.type.tensor_type.shape.dim:
            dim.Clear()
    return copy


def dims_of(declared):
    """Return the dims of an input or an output: numbers and names."""
    return tuple([dim.dim_param or dim.dim_value for dim in declared.type.tensor_type.shape.dim])


def random_inputs(proto, **sizes):
    """Return inputs for a model: random floats, zeros for integers; `sizes` are those of free dims."""
    feeds = {}
    for each in proto.graph.input:
        shape = [sizes.get(dim, dim) for dim in dims_of(each)]
        drawn = np.random.default_rng(sum(map(ord, each.name))).normal(size=shape).astype(np.float32)
        is_integer = each.type.tensor_type.elem_type == TensorProto.INT64
        feeds[each.name] = np.zeros(shape, np.int64) if is_integer else drawn
    return feeds


def batch_axes(proto):
    """Return the axis of N by input; inputs without N are left out."""
    return {each.name: dims_of(each).index("N") for each in proto.graph.input if "N" in dims_of(each)}


def run_until_failure(proto, feeds):
    """Return the shapes of all outputs by name, and the name of the failing node or None."""
    try:
        running = session(proto)
        outputs = running.run(None, feeds)
    except Exception as error:
        if "onnxruntime" not in type(error).__module__:
            raise
        said = str(error)
        return {}, next((n.name for n in proto.graph.node if f"'{n.name}'" in said or f"({n.name})" in said), said)
    return {each.name: np.shape(array) for each, array in zip(running.get_outputs(), outputs, strict=True)}, None


def up_to(proto, name):
    """Return the model before the node of that name, with every tensor as an output."""
    names = [node.name for node in proto.graph.node]
    kept = proto.graph.node[: names.index(name)]
    outputs = [helper.make_empty_tensor_value_info(each) for node in kept for each in node.output]
    graph = helper.make_graph(kept, "g", proto.graph.input, outputs, proto.graph.initializer)
    return helper.make_model(graph, opset_imports=proto.opset_import, ir_version=proto.ir_version)


def changes(running, feeds, axes, batch):
    """Return a bit set for each element of each output: the samples that it depends on.

    `axes` has the axis of the batch in each input that has one.
    """
    before = running.run(None, feeds)
    reached = [np.zeros(np.shape(output), np.int64) for output in before]
    for sample in range(batch):
        changed = {name: array.copy() for name, array in feeds.items()}
        for name, axis in axes.items():
            part = np.moveaxis(changed[name], axis, 0)
            part[sample] = part[sample] * 1.7 + 1.3 if part.dtype.kind == "f" else part[sample] + 1
        after = running.run(None, changed)
        for bits, old, new in zip(reached, before, after, strict=True):
            bits |= (np.asarray(old) != np.asarray(new)).astype(np.int64) << sample
    return reached


def bits_of(proto, batch):
    """Return the samples that the elements of each tensor depend on, by name, up to a failing node."""
    feeds, axes, bits = random_inputs(proto, N=batch), batch_axes(proto), {}
    for name, axis in axes.items():
        own = (1 << np.arange(batch)).reshape([-1 if axis == place else 1 for place in range(feeds[name].ndim)])
        bits[name] = np.broadcast_to(own, feeds[name].shape)
    _, failing = run_until_failure(proto, feeds)
    proto = up_to(proto, failing) if failing else proto
    names = [each.name for each in proto.graph.output]
    return bits | dict(zip(names, changes(session(proto), feeds, axes, batch), strict=True) if names else ())


def are_apart(bits, axis, inner, batch):
    """Return whether every position of an axis depends on its own sample only."""
    own = 1 << (np.arange(bits.shape[axis]) // inner % batch)
    others = np.moveaxis(bits, axis, -1) & ~own
    return not others.any()


def separating_axes(bits, batch):
    """Return the axes that separate the samples: index `i` belongs to sample `i // inner % batch` for some `inner`."""
    found = []
    for axis, size in enumerate(bits.shape):
        parts = np.moveaxis(bits, axis, 0)
        for inner in [inner for inner in range(1, size // batch + 1) if size % (inner * batch) == 0]:
            numbers = np.arange(size) // inner % batch
            samples = [np.bitwise_or.reduce(parts[numbers == at], axis=None) for at in range(batch)]
            if sorted(samples) == [1 << at for at in range(batch)]:
                found.append(axis)
                break
    return found


def _is_kept(before, after, axis, batch):
    """Return whether an output axis is the batch alone, or holds the same as axis 0."""
    parts = before, np.moveaxis(after, axis, 0)
    held, holds = ([np.bitwise_or.reduce(each, axis=None) for each in samples] for samples in parts)
    return after.shape[axis] == batch or held == holds


def verdict_shown(found, home=1):
    """Return the verdict on a node by the definitions; None if no input axis separates the samples.

    `found` has by batch which samples the elements of its input and of its output depend on, None where it fails.
    """
    others = [after is not None for batch, (_, after) in found.items() if batch != home]
    if found[home][1] is None:
        return BatchVerdict.FAILS
    if not all(others):
        return BatchVerdict.SOMETIMES if any(others) else BatchVerdict.ONLY
    words = set()
    for batch, (before, after) in found.items():
        if batch in (1, home):
            continue
        here, there = separating_axes(before, batch), separating_axes(after, batch)
        if not here:
            return None
        if not there:
            words.add(BatchVerdict.SCRAMBLES)
        elif 0 in here and 0 not in there and not any(_is_kept(before, after, axis, batch) for axis in there):
            words.add(BatchVerdict.SWALLOWS)
    return next((word for word in (BatchVerdict.SCRAMBLES, BatchVerdict.SWALLOWS) if word in words), BatchVerdict.SAFE)
