"""Batch marks: the axis of a tensor that separates the samples of a batch.

A batch mark describes a tensor at one batch size. The mark is None for a tensor that does not depend on the batch, a
`BatchAxis` if an axis separates the samples, and a `LostBatch` if no axis is known to separate them. Marks exist only
for batch sizes of 2 and more, because a batch of 1 has no samples to separate.

A lane is one assignment of sizes to the free dims of a model. Each operator has a rule that returns the mark of its
output in one lane. Source of the rules: the ONNX operator documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record

LaneShapes = tuple[IntTuple | None, ...]
"""The concrete shape of a tensor in each lane; None where the shape is unknown."""
MAX_AXIS_LENGTH = 1 << 20
"""The longest axis whose indices are enumerated."""


class BatchAxis(Record):
    """A batch mark: index `i` of `axis` belongs to sample `i // inner % batch`."""

    axis: int
    inner: int


class LostBatch(Record):
    """A batch mark: no axis of the tensor is known to separate the samples."""

    why: str
    certain: bool = False
    """Whether no axis separates the samples; False if this is unknown."""


BatchMark = BatchAxis | LostBatch | None
"""A batch mark, or None for a tensor that does not depend on the batch."""


class SharedSample(LostBatch):
    """A batch mark: the node uses one sample for the whole batch, without an error."""

    intended: BatchMark = None
    """The mark that replaces this mark if the model intends to use one sample."""


def locate_batch(mark: BatchMark, shape: IntTuple, batch: int) -> tuple[int, str] | None:
    """Return the axis that contains the batch, and the factor of its size.

    If the batch is one factor of a merged axis, the factor is `major` (varies slowest) or `minor` (varies fastest),
    otherwise `whole`. Returns None if no axis contains the batch, or if the batch is a middle factor of an axis.

    >>> [locate_batch(BatchAxis(axis, inner), (12, 12), 3) for axis, inner in ((0, 4), (1, 1), (1, 2))]
    [(0, 'major'), (1, 'minor'), None]
    """
    if not isinstance(mark, BatchAxis):
        return None
    whole = batch * mark.inner
    if shape[mark.axis] == whole:
        return mark.axis, "whole" if mark.inner == 1 else "major"
    return (mark.axis, "minor") if mark.inner == 1 else None


def reshape_batch_axis(mark: BatchAxis, input_shape: IntTuple, output_shape: IntTuple, batch: int) -> BatchMark:
    """Return the batch mark after a reshape of a tensor with the batch mark `mark`.

    A size of 0 counts as 1, so that the batch can be tracked through empty tensors.

    >>> reshape_batch_axis(BatchAxis(0, 1), (3, 4, 5), (1, 60), 3)
    BatchAxis(axis=1, inner=20)
    >>> reshape_batch_axis(BatchAxis(0, 1), (3, 8), (8, 3), 3)
    LostBatch(why='no axis separates the samples any more', certain=True)
    """
    kept = mark.axis + 1
    if input_shape[:kept] == output_shape[:kept]:
        return mark
    unit = mark.inner * _nonzero_product(input_shape[kept:])
    below = 1
    for axis in range(len(output_shape) - 1, -1, -1):
        above = below * (output_shape[axis] or 1)
        if unit % below == 0 and above % (unit * batch) == 0:
            return BatchAxis(axis, unit // below)
        below = above
    return LostBatch("no axis separates the samples any more", certain=True)


def _nonzero_product(shape: IntTuple) -> int:
    return prod([size or 1 for size in shape])


def merge_marks(marks: Iterable[BatchMark]) -> BatchMark:
    """Merge the batch marks of the inputs of an elementwise op."""
    result: BatchMark = None
    for mark in marks:
        if isinstance(mark, LostBatch):
            return mark
        if mark is not None and result not in (None, mark):
            return LostBatch("samples that lie on different axes meet")
        result = mark or result
    return result


def sample_numbers_along_axis(mark: BatchAxis, size: int, batch: int) -> np.ndarray:
    """Return the sample number at each index of the batch axis.

    `size` is the size of the axis.

    >>> sample_numbers_along_axis(BatchAxis(0, 2), 8, 2)
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """
    return np.arange(size) // mark.inner % batch


def infer_mark(axis: int, samples: np.ndarray, batch: int) -> BatchMark:
    """Return the batch mark that follows from the sample number at each axis index.

    The sample number -1 marks an index that belongs to no sample.

    >>> import numpy as np
    >>> infer_mark(0, np.array([0, 1, -1, -1]), 2), infer_mark(0, np.array([1, 0]), 2)
    (BatchAxis(axis=0, inner=1), LostBatch(why='the samples change places', certain=False))
    """
    size = len(samples)
    for inner in range(1, size // batch + 1):
        if size % (inner * batch) == 0:
            agree = (sample_numbers_along_axis(BatchAxis(axis, inner), size, batch) == samples) | (samples < 0)
            if agree.all():
                return BatchAxis(axis, inner)
    return LostBatch("the samples change places")


@dataclass(slots=True)
class NodeInLane:
    """The argument of the batch rules: a node with its shapes and marks in one lane."""

    op: str
    domain: str
    opset: int
    attributes: Mapping[str, Any]
    batch: int
    marks: Sequence[BatchMark]
    """The batch marks of the inputs."""
    inputs: Sequence[IntTuple | None]
    outputs: Sequence[IntTuple | None]
    elements: Callable[[int], Any]
    """A function that returns the elements of the input with a given index, or None if they are unknown."""
    absent: Sequence[int] = ()
    """The indices of absent optional inputs."""
    bounds: Callable[[int], Any] = lambda _: None
    """A function that returns lower and upper bounds of the elements of one input, or None if they are unknown.

    Its argument is the index of the input.
    """

    def input_rank(self, index: int) -> int:
        """Return the rank of an input with a known shape."""
        return len(self.inputs[index])  # type: ignore[arg-type]

    def output_rank(self, index: int = 0) -> int:
        """Return the rank of an output with a known shape."""
        return len(self.outputs[index])  # type: ignore[arg-type]

    def axis_attribute(self, default: int, rank: int) -> int:
        """Return the attribute `axis` as a non-negative index."""
        axis: int = self.attributes.get("axis", default)
        return axis + rank if axis < 0 else axis

    def integer_argument(self, name: str, input_index: int) -> tuple[int, ...] | None:
        """Return an integer argument as a tuple; None if it is unknown or absent.

        The argument is the attribute `name` in older opsets, and the input at `input_index` in newer opsets.
        """
        if name in self.attributes:
            value = self.attributes[name]
            return tuple(value) if isinstance(value, tuple) else (value,)
        array = self.elements(input_index)
        return None if array is None else tuple(array.ravel().tolist())

    def is_absent(self, input_index: int) -> bool:
        """Return whether an optional input is absent."""
        return input_index >= len(self.inputs) or input_index in self.absent


AxisRule = Callable[[NodeInLane, int, int, int], int | None]
"""A function that maps node, input index, input axis and output index to an output axis.

An element at index `i` of the output axis depends only on elements at index `i` of the input axis. The function returns
None if an output element depends on several indices along the input axis, or if the dependence is unknown.
"""
MarkRule = Callable[[NodeInLane, int], BatchMark]
"""A function that maps node and output index to the batch mark of that output.

Operators that move elements along the batch axis need a mark rule.
"""


def broadcast_axis(node: NodeInLane, input_index: int, axis: int, output_index: int) -> int | None:
    """Map an input axis of a broadcast to the output, aligning axes from the right."""
    return axis + node.output_rank(output_index) - node.input_rank(input_index)


def pointwise_rule(*axes: int, inputs: int | None = None) -> AxisRule:
    """Return the axis rule of an operator that is pointwise along the axes `axes`.

    The rule applies to the first `inputs` inputs; None means all inputs.
    """

    def rule(_node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
        return axis if axis in axes and (inputs is None or input_index < inputs) else None

    return rule


def first_input_pointwise_rule(*axes: int) -> AxisRule:
    """Return the axis rule of an operator that is pointwise along axes of input 0."""
    return pointwise_rule(*axes, inputs=1)


def unmixed_axes_rule(mixed_axes: Callable[[NodeInLane, int], Iterable[int]] | slice) -> AxisRule:
    """Return the axis rule of an operator that mixes some axes of its first input.

    An axis is mixed if output elements depend on several indices along the axis. `mixed_axes` is a slice into the list
    of axes, or a function that maps a node and a rank to the mixed axes.
    """

    def rule(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
        rank = node.input_rank(0)
        mixed = range(rank)[mixed_axes] if isinstance(mixed_axes, slice) else mixed_axes(node, rank)
        return axis if input_index == 0 and axis not in mixed else None

    return rule


def axis_from_attribute(node: NodeInLane, rank: int) -> Iterable[int]:
    """Read an axis from the attribute `axis`; the default is the last axis."""
    return (node.axis_attribute(-1, rank),)


def trailing_axes(node: NodeInLane, rank: int, default: int = -1) -> Iterable[int]:
    """Return all axes from the attribute `axis` on."""
    return range(node.axis_attribute(default, rank), rank)


def softmax_axes(node: NodeInLane, rank: int) -> Iterable[int]:
    """Return the axes that a Softmax normalizes.

    Since opset 13, Softmax normalizes only the axis in the attribute `axis`; before, also all later axes.
    """
    return axis_from_attribute(node, rank) if node.opset >= 13 else trailing_axes(node, rank, 1)


def axis_from_input(node: NodeInLane, rank: int) -> Iterable[int]:
    """Read an axis from the second input; return all axes if the input is unknown."""
    along = node.integer_argument("axis", 1)
    return (along[0] % rank,) if along else range(rank)


def axes_from_attribute(node: NodeInLane, rank: int) -> Iterable[int]:
    """Read axes from the attribute `axes`; the default axes are 0, 2 and 3."""
    return {axis % rank for axis in node.attributes.get("axes", (0, 2, 3))}


def reduction_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of a reduction to the output; None for a reduced axis.

    The list of reduced axes is an attribute in older opsets and an input in newer opsets.
    """
    if input_index:
        return None
    axes, rank = node.integer_argument("axes", 1), node.input_rank(0)
    if axes is None and not ("axes" in node.attributes or node.is_absent(1)):
        return None
    if not axes:
        return axis if node.attributes.get("noop_with_empty_axes") else None
    return _axis_after_reduction({reduced_axis % rank for reduced_axis in axes}, axis, node)


def argmax_axis(node: NodeInLane, _input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of ArgMax or ArgMin to the output; None for a reduced axis."""
    return _axis_after_reduction({node.axis_attribute(0, node.input_rank(0))}, axis, node)


def _axis_after_reduction(reduced_axes: set[int], axis: int, node: NodeInLane) -> int | None:
    """Map an input axis of a node to the output; None for a reduced axis."""
    if axis in reduced_axes:
        return None
    return axis if node.attributes.get("keepdims", 1) else axis - sum(mixed_axis < axis for mixed_axis in reduced_axes)


def batch_norm_axis(node: NodeInLane, input_index: int, axis: int, output_index: int) -> int | None:
    """Map an input axis of a BatchNormalization to the output.

    In training mode the output depends on all samples, so the result is None.
    """
    return axis if input_index == output_index == 0 and not node.attributes.get("training_mode") else None


def matmul_rule(second_input: int = 1) -> AxisRule:
    """Return the axis rule of a matrix product `(..., m, k) @ (..., k, n)`.

    `second` is the input index of the second matrix. FusedMatMul may transpose the last two axes of each matrix. If
    the operator moves the leading axes (`transBatchA`, `transBatchB`), the rule returns None.
    """

    def rule(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
        if (
            input_index not in (0, second_input)
            or node.input_rank(input_index) == 1
            or _has_true_attribute(node, "transBatchA", "transBatchB")
        ):
            return None
        from_end = axis - node.input_rank(input_index)
        if from_end >= -2 and _has_true_attribute(node, "transB" if input_index else "transA"):
            from_end = -3 - from_end
        leading = max(2, node.input_rank(0), node.input_rank(second_input)) - 2
        if from_end < -2:
            return leading + 2 + from_end
        if from_end == (-1 if input_index == 0 else -2):
            return None
        return leading if input_index == 0 else node.output_rank() - 1

    return rule


def _has_true_attribute(node: NodeInLane, *names: str) -> bool:
    """Return whether one of the attributes `names` is set and not 0."""
    return any(node.attributes.get(name) for name in names)


def gemm_axis(node: NodeInLane, input_index: int, axis: int, output_index: int) -> int | None:
    """Map an input axis of a Gemm to the output.

    Output axis 0 is the row axis of the first matrix, output axis 1 the column axis of the second matrix.
    """
    if input_index == 2:
        return broadcast_axis(node, input_index, axis, output_index)
    is_transposed = bool(node.attributes.get("transB" if input_index else "transA", 0))
    return input_index if (axis ^ int(is_transposed)) == input_index else None


def conv_rule(kernel_input: int = 1) -> AxisRule:
    """Return the axis rule of a convolution; `weights` is the kernel's input index.

    The convolution is pointwise along the batch axis, and along each spatial axis with a kernel size of 1, a stride of
    1 and no padding.
    """

    def rule(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
        if input_index or axis < 2:
            return 0 if input_index == axis == 0 else None
        kernel = node.inputs[kernel_input]
        reads_one = kernel is not None and axis < len(kernel) and kernel[axis] == 1
        is_padded = any((*node.attributes.get("pads", ()), node.attributes.get("auto_pad", b"NOTSET") != b"NOTSET"))
        unit_strides = {*node.attributes.get("strides", (1,))} == {1}
        return axis if reads_one and not is_padded and unit_strides else None

    return rule


def resize_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of a Resize to the output; None for a resized axis."""
    before, after = node.inputs[0], node.outputs[0]
    crops = node.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    return axis if input_index == 0 and before and after and before[axis] == after[axis] and not crops else None


def pad_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of a Pad to the output; None for a padded axis."""
    pads = node.integer_argument("pads", 1) or node.integer_argument("paddings", 1)
    if input_index or not pads or not node.is_absent(3):
        return None
    return axis if pads[axis] == pads[axis + len(pads) // 2] == 0 else None


def einsum_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of an Einsum to the output axis with the same letter."""
    equation = node.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow or "." in equation or input_index >= len(terms) or axis >= len(terms[input_index]):
        return None
    letter = terms[input_index][axis]
    return right.find(letter) if terms[input_index].count(letter) == right.count(letter) == 1 else None


def recurrent_axis(node: NodeInLane, input_index: int, axis: int, output_index: int) -> int | None:
    """Map the batch axis of an LSTM, GRU or RNN input to the output.

    The batch is the first axis if the attribute `layout` is 1.
    """
    first = bool(node.attributes.get("layout", 0))
    batch_axes = {0: 0 if first else 1, 4: 0, 5: 0 if first else 1, 6: 0 if first else 1}
    if batch_axes.get(input_index) != axis:
        return None
    return 0 if first else 2 if output_index == 0 else 1


def one_hot_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an axis of the indices of a OneHot to the output, which has one axis more."""
    return None if input_index else axis + (axis >= node.axis_attribute(-1, node.output_rank()))


def gather_elements_rule(output_shaped_input: int) -> AxisRule:
    """Return the axis rule of a GatherElements or ScatterElements.

    `output_shaped_input` is the index of the input whose shape equals the output shape.
    """
    return lambda node, at, axis, _to: (
        axis if at == output_shaped_input or axis != node.axis_attribute(0, node.input_rank(0)) else None
    )


def reverse_sequence_axis(node: NodeInLane, input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of a ReverseSequence to the output; None for the time axis."""
    batch_axis: int = node.attributes.get("batch_axis", 1)
    if input_index:
        return batch_axis
    return axis if axis != node.attributes.get("time_axis", 0) else None


def transpose_axis(node: NodeInLane, _input_index: int, axis: int, _output_index: int) -> int | None:
    """Map an input axis of a Transpose to the output."""
    perm = node.attributes.get("perm", tuple(range(node.input_rank(0)))[::-1])
    return perm.index(axis) if axis in perm else None


def reshape_mark(node: NodeInLane, output_index: int) -> BatchMark:
    """Return the batch mark after an op that keeps the element order, as Reshape."""
    mark, before, after = node.marks[0], node.inputs[0], node.outputs[output_index]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis) or before is None or after is None:
        return LostBatch(f"the elements decide what {node.op} does")
    return reshape_batch_axis(mark, before, after, node.batch)


def repeat_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after an Expand or Tile, which add axes on the left."""
    mark = node.marks[0]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis):
        return LostBatch(f"the elements decide what {node.op} does")
    return BatchAxis(mark.axis + node.output_rank() - node.input_rank(0), mark.inner)


def concat_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after a Concat.

    If the batch is on the concatenated axis, the mark is inferred from the sample numbers along that axis.
    """
    along = node.axis_attribute(1, node.output_rank())
    if not any(isinstance(mark, BatchAxis) and mark.axis == along for mark in node.marks):
        return merge_marks(node.marks)
    if any(isinstance(mark, BatchAxis) and mark.axis != along for mark in node.marks):
        return LostBatch("samples that lie on different axes meet")
    parts = []
    for shape, mark in zip(node.inputs, node.marks, strict=True):
        if shape is None or shape[along] > MAX_AXIS_LENGTH:
            return LostBatch("no shape")
        size = shape[along]
        parts.append(
            sample_numbers_along_axis(mark, size, node.batch) if isinstance(mark, BatchAxis) else np.full(size, -1)
        )
    return infer_mark(along, np.concatenate(parts), node.batch)


def _mark_after_selection(node: NodeInLane, axis: int, select: Callable[[np.ndarray], np.ndarray | None]) -> BatchMark:
    """Return the batch mark after the selection of some indices along `axis`.

    `select` maps the sample numbers along the axis to the sample numbers of the selected indices, or returns None if
    the selection is unknown. A mark on a different axis does not change.
    """
    mark, shape = node.marks[0], node.inputs[0]
    if not isinstance(mark, BatchAxis) or mark.axis != axis:
        return mark
    if shape is None or shape[axis] > MAX_AXIS_LENGTH:
        return LostBatch("no shape")
    samples = select(sample_numbers_along_axis(mark, shape[axis], node.batch))
    if samples is None or not len(samples):
        return LostBatch(f"nobody can say which samples {node.op} takes")
    return infer_mark(axis, samples, node.batch)


def split_mark(node: NodeInLane, output_index: int) -> BatchMark:
    """Return the batch mark of one output of a Split."""
    along = node.axis_attribute(0, node.input_rank(0))
    sizes = [shape[along] if shape else None for shape in node.outputs]
    if None in sizes:
        return _mark_after_selection(node, along, lambda _samples: None)
    start, end = list(pairwise(accumulate(sizes, initial=0)))[output_index]
    return _mark_after_selection(node, along, lambda samples: samples[start:end])


def slice_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after a Slice."""
    starts, ends = node.integer_argument("starts", 1), node.integer_argument("ends", 2)
    mark, rank = node.marks[0], node.input_rank(0)
    if any(node.marks[1:]) or starts is None or ends is None or not isinstance(mark, BatchAxis):
        return LostBatch(f"nobody can say which samples {node.op} takes")
    axes = tuple(range(len(starts))) if _is_argument_absent(node, "axes", 3) else node.integer_argument("axes", 3)
    steps = (1,) * len(starts) if _is_argument_absent(node, "steps", 4) else node.integer_argument("steps", 4)
    if axes is None or steps is None:
        return LostBatch(f"nobody can say which samples {node.op} takes")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank == mark.axis:
            return _mark_after_selection(node, mark.axis, partial(_onnx_slice, start, end, step))
    return mark


def _is_argument_absent(node: NodeInLane, name: str, input_index: int) -> bool:
    """Return whether an optional argument is neither an attribute nor an input."""
    return name not in node.attributes and node.is_absent(input_index)


def _onnx_slice(start: int, end: int, step: int, samples: np.ndarray) -> np.ndarray:
    """Slice an array as ONNX does.

    If `step` is negative, an `end` below `-len(samples)` includes the first element.
    """
    return samples[slice(start, None if step < 0 and end < -len(samples) else end, step)]


def gather_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after a Gather.

    If the data is marked on the gathered axis, the indices determine which samples are selected. Otherwise the result
    is the mark of the data or the mark of the indices, moved to the axis in the output.
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


def gather_nd_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after a GatherND.

    If the data is marked on an indexed axis, the indices determine which samples are selected. Otherwise the result is
    the mark of the data or the mark of the indices, moved to the axis in the output.
    """
    (data, indices), shape, kept = node.marks[:2], node.inputs[1], node.attributes.get("batch_dims", 0)
    if shape is None or (isinstance(indices, BatchAxis) and indices.axis == len(shape) - 1):
        return LostBatch(f"nobody can say which samples {node.op} takes")
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
    """Merge the batch mark of gathered data with the batch mark of the indices."""
    if isinstance(data_mark, SharedSample):
        return SharedSample(data_mark.why, intended=indices_mark)
    return (
        data_mark
        if indices_mark in (None, data_mark) or isinstance(data_mark, LostBatch)
        else LostBatch("samples meet")
    )


def _mark_after_indexing(node: NodeInLane, bounds: Any, first_axis: int) -> BatchMark:
    """Return the batch mark after indices are gathered from the batch axis.

    `bounds` are the lower and upper bounds of the indices, or None if unknown. The axes of the index tensor become
    output axes, of which the first is `first_axis`.
    """
    mark, shape = node.marks[0], node.inputs[0]
    unknown = LostBatch(f"nobody can say which samples {node.op} takes")
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
            return infer_mark(first_axis + axis, runs[:, 0], node.batch)
    return LostBatch("the samples change places")


def _samples_at_indices(mark: BatchAxis, shape: IntTuple, indices: Any, batch: int) -> np.ndarray:
    """Return the sample number for each of the indices into the batch axis.

    Negative indices count from the end of the axis.
    """
    return np.asarray(indices % shape[mark.axis] // mark.inner % batch)


def scatter_nd_mark(node: NodeInLane, _output_index: int) -> BatchMark:
    """Return the batch mark after a ScatterND.

    The batch is lost if the update of one sample writes to the elements of a different sample.
    """
    (data, indices, updates), (before, shape), taken = node.marks[:3], node.inputs[:2], node.elements(1)
    if indices is not None or before is None or shape is None:
        return LostBatch(f"the elements decide what {node.op} does")
    index_rank, count = len(shape) - 1, shape[-1]
    if isinstance(updates, BatchAxis) and updates.axis >= index_rank:
        return merge_marks([data, BatchAxis(updates.axis - index_rank + count, updates.inner)])
    if isinstance(data, BatchAxis) and data.axis >= count:
        return data if updates is None else LostBatch("samples that lie on different axes meet")
    if taken is None or not taken.size:
        return LostBatch(f"nobody can say which samples {node.op} takes")
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
            else LostBatch("samples meet")
        )
    for axis, size in enumerate(before[:count]):
        samples = np.full(size, -1)
        samples[taken[..., axis]] = written
        if (samples[taken[..., axis]] == written).all():
            return infer_mark(axis, samples, node.batch)
    return LostBatch("samples meet")
