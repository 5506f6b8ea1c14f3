"""Mark rules of operators that move elements along an axis.

A mark rule returns the batch mark of an output. Source: the ONNX operator documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.models.axis_rules import MIXES, AxisRule
from shapecalc.models.batch_axis import (
    MAX_AXIS_LENGTH,
    PAIRS_SAMPLES,
    BatchAxis,
    BatchMark,
    LaneNode,
    LostBatch,
    MixedSamples,
    PaddedBatch,
    SharedSample,
    infer_mark,
    merge_marks,
    reshape_batch_axis,
    sample_numbers_along_axis,
)

MarkRule = Callable[[LaneNode, int], BatchMark]
"""A function that returns the batch mark of an output, given the node and the output index.

Operators that move elements along the batch axis need a mark rule.
"""


def reshape_mark_rule(node: LaneNode, output_index: int) -> BatchMark:
    """Return the batch mark after a Reshape or another order-preserving op."""
    mark, before, after = node.marks[0], node.inputs[0], node.outputs[output_index]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis) or before is None or after is None:
        return LostBatch(f"the effect of {node.op} depends on the elements of an input")
    return reshape_batch_axis(mark, before, after, node.batch)


def repeat_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after an Expand or Tile.

    Both operators may add axes on the left.
    """
    mark = node.marks[0]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis):
        return LostBatch(f"the effect of {node.op} depends on the elements of an input")
    return BatchAxis(mark.axis + node.output_rank() - node.input_rank(0), mark.inner)


def concat_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a Concat.

    If the batch is on the concatenated axis, the mark is inferred from the sample numbers along that axis.
    """
    along = node.axis_attribute(1, node.output_rank())
    if not any(isinstance(mark, BatchAxis) and mark.axis == along for mark in node.marks):
        return merge_marks(node.marks)
    if any(isinstance(mark, BatchAxis) and mark.axis != along for mark in node.marks):
        return LostBatch("tensors with the samples on different axes are combined")
    parts = []
    for shape, mark in zip(node.inputs, node.marks, strict=True):
        if shape is None or shape[along] > MAX_AXIS_LENGTH:
            return LostBatch("no shape")
        size = shape[along]
        parts.append(
            sample_numbers_along_axis(mark, size, node.batch) if isinstance(mark, BatchAxis) else np.full(size, -1)
        )
    return infer_mark(along, np.concatenate(parts), node.batch)


def dynamic_quantization_mark_rule(node: LaneNode, output_index: int) -> BatchMark:
    """Return the batch mark after a DynamicQuantizeLinear.

    The scale of the output depends on all samples. Source: the ONNX operator documents.
    """
    return MixedSamples("takes one scale for all samples", intended=None if output_index else node.marks[0])


def make_dynamic_quantization_rule(axis_rule: AxisRule) -> MarkRule:
    """Return the mark rule of an operator that quantizes its first input with one scale for all samples.

    `axis_rule` is the axis rule of the operator without quantization. Source: ContribOperators.md of ONNX Runtime.
    """

    def rule(node: LaneNode, output_index: int) -> BatchMark:
        mark = node.marks[0]
        axis = axis_rule(node, 0, mark.axis, output_index) if isinstance(mark, BatchAxis) else None
        if not isinstance(mark, BatchAxis) or axis is None or any(node.marks[1:]):
            return LostBatch(f"{node.op} may read several samples at once")
        intended = None if axis == MIXES else BatchAxis(axis, mark.inner)
        return MixedSamples("takes one scale for all samples", intended=intended)

    return rule


def quantized_concat_mark_rule(node: LaneNode, output_index: int) -> BatchMark:
    """Return the batch mark after a quantized Concat.

    The tensors are every third input from input 2 on.
    """
    return concat_mark_rule(replace(node, marks=node.marks[2::3], inputs=node.inputs[2::3]), output_index)


def _mark_after_selection(node: LaneNode, axis: int, select: Callable[[np.ndarray], np.ndarray | None]) -> BatchMark:
    """Return the batch mark after a selection of indices along `axis`.

    `select` maps the sample numbers along the axis to the sample numbers of the selected indices, or returns None if
    the selection is unknown. A mark on a different axis does not change.
    """
    mark, shape = node.marks[0], node.inputs[0]
    if not isinstance(mark, (BatchAxis, PaddedBatch)) or mark.axis != axis:
        return mark
    if shape is None or shape[axis] > MAX_AXIS_LENGTH:
        return LostBatch("no shape")
    samples = select(_positions(mark, shape[axis], node.batch))
    if samples is None or not len(samples):
        return LostBatch(f"it is unknown which samples {node.op} reads")
    if len({*samples.tolist()} - {-1}) < node.batch:
        why = "takes only some of the samples"
        is_lost = isinstance(mark, BatchAxis)
        return LostBatch(why, certain=True) if is_lost else MixedSamples(why, intended=BatchAxis(axis, 1))
    after = infer_mark(axis, samples, node.batch)
    if isinstance(mark, PaddedBatch) and isinstance(after, LostBatch):
        return PaddedBatch(mark.why, axis=axis, samples=tuple(samples.tolist()))
    # a full-length selection without a batch axis in the result counts as a permutation of the samples
    is_permuted = isinstance(after, LostBatch) and len(samples) == shape[axis]
    return MixedSamples("mixes the samples", intended=mark) if is_permuted else after


def _positions(mark: BatchAxis | PaddedBatch, size: int, batch: int) -> np.ndarray:
    """Return the sample number at each position of the axis of a batch mark."""
    if isinstance(mark, PaddedBatch):
        return np.array(mark.samples)
    return sample_numbers_along_axis(mark, size, batch)


def pad_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a Pad.

    Along a padded batch axis, the added positions belong to no sample, and a negative pad removes positions.
    """
    mark, shape = node.marks[0], node.inputs[0]
    pads = node.integer_argument("pads", 1) or node.integer_argument("paddings", 1)
    unknown = LostBatch(f"{node.op} may read several samples at once")
    if any(node.marks[1:]) or not pads or not node.is_absent(3) or shape is None or len(pads) != 2 * len(shape):
        return unknown
    if not isinstance(mark, (BatchAxis, PaddedBatch)):
        return mark
    first, last = pads[mark.axis], pads[mark.axis + len(shape)]
    if first == last == 0:
        return mark
    if node.attributes.get("mode", b"constant") != b"constant" or shape[mark.axis] > MAX_AXIS_LENGTH:
        return unknown
    samples = _positions(mark, shape[mark.axis], node.batch)
    samples = samples[max(-first, 0) : len(samples) - max(-last, 0)]
    samples = np.pad(samples, (max(first, 0), max(last, 0)), constant_values=-1)
    return PaddedBatch("pads the batch axis", axis=mark.axis, samples=tuple(samples.tolist()))


def split_mark_rule(node: LaneNode, output_index: int) -> BatchMark:
    """Return the batch mark of one output of a Split."""
    along = node.axis_attribute(0, node.input_rank(0))
    sizes = [shape[along] if shape else None for shape in node.outputs]
    if None in sizes:
        return _mark_after_selection(node, along, lambda _samples: None)
    start, end = list(pairwise(accumulate(sizes, initial=0)))[output_index]
    return _mark_after_selection(node, along, lambda samples: samples[start:end])


def slice_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a Slice."""
    starts, ends = node.integer_argument("starts", 1), node.integer_argument("ends", 2)
    mark, rank = node.marks[0], node.input_rank(0)
    if any(node.marks[1:]) or starts is None or ends is None or not isinstance(mark, (BatchAxis, PaddedBatch)):
        return LostBatch(f"it is unknown which samples {node.op} reads")
    axes = tuple(range(len(starts))) if _is_argument_absent(node, "axes", 3) else node.integer_argument("axes", 3)
    steps = (1,) * len(starts) if _is_argument_absent(node, "steps", 4) else node.integer_argument("steps", 4)
    if axes is None or steps is None:
        return LostBatch(f"it is unknown which samples {node.op} reads")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank == mark.axis:
            return _mark_after_selection(node, mark.axis, partial(_onnx_slice, start, end, step))
    return mark


def _is_argument_absent(node: LaneNode, name: str, input_index: int) -> bool:
    """Return whether an optional argument is neither an attribute nor an input."""
    return name not in node.attributes and node.is_absent(input_index)


def _onnx_slice(start: int, end: int, step: int, samples: np.ndarray) -> np.ndarray:
    """Slice an array as ONNX does.

    If `step` is negative, an `end` below `-len(samples)` includes the first element.
    """
    return samples[slice(start, None if step < 0 and end < -len(samples) else end, step)]


def gather_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a Gather.

    If the gathered axis is the batch axis of the data, the indices determine which samples are selected. Otherwise the
    output has the mark of the data or the mark of the indices, moved to the axis in the output.
    """
    along, shape = node.axis_attribute(0, node.input_rank(0)), node.inputs[1]
    data, indices = node.marks[:2]
    shifted = BatchAxis(indices.axis + along, indices.inner) if isinstance(indices, BatchAxis) else None
    if not isinstance(data, BatchAxis) or shape is None:
        return LostBatch("no shape") if data else shifted
    data_mark: BatchMark = data
    if data.axis > along:
        data_mark = BatchAxis(data.axis + len(shape) - 1, data.inner)
    elif data.axis == along:
        data_mark = _mark_after_indexing(node, node.bounds(1), along)
    return _merge_with_indices(data_mark, shifted)


def gather_nd_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a GatherND.

    If an indexed axis is the batch axis of the data, the indices determine which samples are selected. Otherwise the
    output has the mark of the data or the mark of the indices, moved to the axis in the output.
    """
    (data, indices), shape, kept = node.marks[:2], node.inputs[1], node.attributes.get("batch_dims", 0)
    if shape is None or (isinstance(indices, BatchAxis) and indices.axis == len(shape) - 1):
        return LostBatch(f"it is unknown which samples {node.op} reads")
    if not isinstance(data, BatchAxis):
        return indices
    end, bounds = kept + shape[-1], node.bounds(1)
    if data.axis < kept:
        data_mark: BatchMark = data
    elif data.axis >= end:
        data_mark = BatchAxis(data.axis + len(shape) - 1 - end, data.inner)
    else:
        data_mark = _mark_after_indexing(node, bounds and [bound[..., data.axis - kept] for bound in bounds], 0)
    return _merge_with_indices(data_mark, indices)


def _merge_with_indices(data_mark: BatchMark, indices_mark: BatchMark) -> BatchMark:
    """Merge the batch marks of gathered data and of the indices."""
    if isinstance(data_mark, SharedSample):
        return SharedSample(data_mark.why, intended=indices_mark)
    if indices_mark in (None, data_mark) or isinstance(data_mark, LostBatch):
        return data_mark
    return MixedSamples(PAIRS_SAMPLES, intended=data_mark)


def _mark_after_indexing(node: LaneNode, bounds: Any, first_batch_axis: int) -> BatchMark:
    """Return the batch mark after a gather along the batch axis.

    `bounds` are the lower and upper bounds of the indices, or None if unknown. The axes of the index tensor become
    output axes, the first of them the axis `first_batch_axis`.
    """
    mark, shape = node.marks[0], node.inputs[0]
    unknown = LostBatch(f"it is unknown which samples {node.op} reads")
    if bounds is None or bounds[0] is None or not bounds[0].size or not isinstance(mark, BatchAxis) or shape is None:
        return unknown
    low, high = bounds
    inside = (low >= 0) & (high < shape[mark.axis]) & (low // mark.inner == high // mark.inner)
    if not ((low == high) | inside).all():
        return unknown
    samples = _samples_at_indices(mark, shape, low, node.batch)
    if (samples == samples.flat[0]).all():
        return SharedSample("takes one sample for all")
    for axis in range(samples.ndim):
        runs = np.moveaxis(samples, axis, 0).reshape(samples.shape[axis], -1)
        if (runs == runs[:, :1]).all():
            after = infer_mark(first_batch_axis + axis, runs[:, 0], node.batch)
            return MixedSamples("mixes the samples", intended=mark) if isinstance(after, LostBatch) else after
    return LostBatch("the order of the samples changes")


def _samples_at_indices(mark: BatchAxis, shape: IntTuple, indices: Any, batch: int) -> np.ndarray:
    """Return the sample number at each of the indices into the batch axis.

    Negative indices count from the end of the axis.
    """
    return np.asarray(indices % shape[mark.axis] // mark.inner % batch)


def unique_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a Unique, which compares elements or slices of all samples."""
    mark = node.marks[0]
    return MixedSamples("compares the samples") if isinstance(mark, BatchAxis) else mark


def compress_mark_rule(node: LaneNode, output_index: int) -> BatchMark:
    """Return the batch mark after a Compress.

    Without the attribute `axis`, the elements of the flattened input are selected.
    """
    mark, shape, condition = node.marks[0], node.inputs[0], node.elements(1)
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis) or shape is None or condition is None:
        return LostBatch(f"it is unknown which samples {node.op} reads")
    selected = np.flatnonzero(condition)
    if "axis" not in node.attributes:
        samples = _samples_at_indices(mark, shape, np.indices(shape)[mark.axis].ravel()[selected], node.batch)
        if len({*samples.tolist()}) < node.batch:
            return MixedSamples("takes only some of the samples")
        return infer_mark(0, samples, node.batch)
    after = _mark_after_selection(node, node.axis_attribute(0, len(shape)), lambda samples: samples[selected])
    return LostBatch("no shape") if node.outputs[output_index] is None and after == mark else after


def scatter_elements_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a ScatterElements.

    Along the axis of the attribute `axis`, the indices determine which positions are replaced. Along the other axes,
    the indices and the updates replace the first positions.
    """
    (data, indices, updates), (before, shape) = node.marks[:3], node.inputs[:2]
    if before is None or shape is None or len(shape) != len(before):
        return LostBatch("no shape")
    along, marked = (
        node.axis_attribute(0, len(before)),
        [mark for mark in node.marks[:3] if isinstance(mark, BatchAxis)],
    )
    mark = marked[0]
    if any(other != mark for other in marked):
        return LostBatch("tensors with the samples on different axes are combined")
    if mark.axis == along:
        return _mark_after_scatter(node, mark)
    if shape[mark.axis] == before[mark.axis]:
        return mark
    written = sample_numbers_along_axis(mark, before[mark.axis], node.batch)[: shape[mark.axis]]
    if data is None or indices is not None or updates is not None or not len(written):
        return LostBatch(f"{node.op} may read several samples at once")
    return SharedSample("changes some of the samples", intended=mark) if len({*written}) < node.batch else mark


def _mark_after_scatter(node: LaneNode, mark: BatchAxis) -> BatchMark:
    """Return the batch mark after a ScatterElements along the batch axis.

    `mark` is the mark of the data, the updates, or both.
    """
    (data, indices, updates), (before, shape), taken = node.marks[:3], node.inputs[:2], node.elements(1)
    if indices is not None or taken is None or not taken.size or before is None or shape is None:
        return LostBatch(f"it is unknown which samples {node.op} reads")
    targets = _samples_at_indices(mark, before, taken, node.batch)
    written = np.array(-1)
    if updates is not None:
        places = [-1 if axis == mark.axis else 1 for axis in range(len(shape))]
        written = sample_numbers_along_axis(mark, shape[mark.axis], node.batch).reshape(places)
    if data is None:
        return mark if (targets == written).all() else LostBatch("the samples are combined")
    if updates is None:
        is_shared = (targets == targets.flat[0]).all()
        return SharedSample("changes one sample alone", intended=data) if is_shared else data
    return data if (targets == written).all() else MixedSamples("mixes the samples", intended=data)


def scatter_nd_mark_rule(node: LaneNode, _output_index: int) -> BatchMark:
    """Return the batch mark after a ScatterND.

    The batch is lost if the updates for one sample overwrite elements of another sample.
    """
    (data, indices, updates), (before, shape), taken = node.marks[:3], node.inputs[:2], node.elements(1)
    if indices is not None or before is None or shape is None:
        return LostBatch(f"the effect of {node.op} depends on the elements of an input")
    index_rank, count = len(shape) - 1, shape[-1]
    if isinstance(updates, BatchAxis) and updates.axis >= index_rank:
        return merge_marks([data, BatchAxis(updates.axis - index_rank + count, updates.inner)])
    if isinstance(data, BatchAxis) and data.axis >= count:
        return data if updates is None else LostBatch("tensors with the samples on different axes are combined")
    if taken is None or not taken.size:
        return LostBatch(f"it is unknown which samples {node.op} reads")
    written = np.array(-1)
    if isinstance(updates, BatchAxis):
        along = [-1 if axis == updates.axis else 1 for axis in range(index_rank)]
        written = sample_numbers_along_axis(updates, shape[updates.axis], node.batch).reshape(along)
    if isinstance(data, BatchAxis):
        targets = _samples_at_indices(data, before, taken[..., data.axis], node.batch)
        one_target = updates is None and (targets == targets.flat[0]).all()
        shared = SharedSample("changes one sample alone", intended=data)
        return (
            shared
            if one_target
            else data
            if updates is None or (targets == written).all()
            else LostBatch("the samples are combined")
        )
    for axis, size in enumerate(before[:count]):
        samples = np.full(size, -1)
        samples[taken[..., axis]] = written
        if (samples[taken[..., axis]] == written).all():
            return infer_mark(axis, samples, node.batch)
    return LostBatch("the samples are combined")
