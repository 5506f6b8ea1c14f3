"""Batch marks: the axis of a tensor that separates the samples.

A mark holds at one batch size. A tensor that does not depend on the batch has none. Any other has a `BatchAxis`, or a
`LostBatch` if no axis is known to separate the samples. An axis of size 1 separates nothing, so marks are for batches
of 2 and more.

Each operator has a rule that returns the mark of its output. Source of the rules: the ONNX operator documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.record import Record

Sizes = tuple[int, ...]
"""A shape whose dims are integers."""
Shapes = tuple[Sizes | None, ...]
"""A concrete shape in each lane; None where it is unknown."""
LONGEST_AXIS = 1 << 20
"""The longest axis whose positions are enumerated."""


class BatchAxis(Record):
    """An axis whose position `i` holds sample `i // inner % batch` only."""

    axis: int
    inner: int


class Lost(Record):
    """The mark of a tensor whose samples no axis is known to separate."""

    why: str
    certain: bool = False
    """Whether it is certain that no axis separates the samples."""


Mark = BatchAxis | Lost | None
"""A batch mark; None for a tensor that does not depend on the batch."""


class OneForAll(Lost):
    """The mark of an output that uses one sample for all others, without an error."""

    goes_on: Mark = None
    """The mark of the output if this is intended."""


def batch_place(mark: Mark, shape: Sizes, batch: int) -> tuple[int, str] | None:
    """Return the axis that holds the batch, and which part of it is the batch.

    The part is `whole`, `major` (the slow part) or `minor` (the fast part). None if no axis holds the batch, or if the
    batch lies between two parts of an axis.

    >>> [batch_place(BatchAxis(axis, inner), (12, 12), 3) for axis, inner in ((0, 4), (1, 1), (1, 2))]
    [(0, 'major'), (1, 'minor'), None]
    """
    if not isinstance(mark, BatchAxis):
        return None
    whole = batch * mark.inner
    if shape[mark.axis] == whole:
        return mark.axis, "whole" if mark.inner == 1 else "major"
    return (mark.axis, "minor") if mark.inner == 1 else None


def regrouped(mark: BatchAxis, before: Sizes, after: Sizes, batch: int) -> Mark:
    """Return the mark after a reshape that keeps the element order.

    Sizes of 0 are read as 1, because the axes of an empty tensor still exist.

    >>> regrouped(BatchAxis(0, 1), (3, 4, 5), (1, 60), 3), regrouped(BatchAxis(0, 1), (3, 8), (8, 3), 3)
    (BatchAxis(axis=1, inner=20), Lost(why='no axis separates the samples any more', certain=True))
    """
    kept = mark.axis + 1
    if before[:kept] == after[:kept]:
        return mark
    unit = mark.inner * _volume(before[kept:])
    below = 1
    for axis in range(len(after) - 1, -1, -1):
        above = below * (after[axis] or 1)
        if unit % below == 0 and above % (unit * batch) == 0:
            return BatchAxis(axis, unit // below)
        below = above
    return Lost("no axis separates the samples any more", certain=True)


def _volume(shape: Sizes) -> int:
    return prod([size or 1 for size in shape])


def together(marks: Iterable[Mark]) -> Mark:
    """Return the mark of the result of an elementwise op on tensors with these marks."""
    result: Mark = None
    for mark in marks:
        if isinstance(mark, Lost):
            return mark
        if mark is not None and result not in (None, mark):
            return Lost("samples that lie on different axes meet")
        result = mark or result
    return result


def positions(mark: BatchAxis, size: int, batch: int) -> np.ndarray:
    """Return the sample that each position of the marked axis holds.

    >>> positions(BatchAxis(0, 2), 8, 2)
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """
    return np.arange(size) // mark.inner % batch


def mark_of(axis: int, samples: np.ndarray, batch: int) -> Mark:
    """Return the mark of an axis whose positions hold these samples.

    A sample of -1 is a position without a sample.

    >>> import numpy as np
    >>> mark_of(0, np.array([0, 1, -1, -1]), 2), mark_of(0, np.array([1, 0]), 2)
    (BatchAxis(axis=0, inner=1), Lost(why='the samples change places', certain=False))
    """
    size = len(samples)
    for inner in range(1, size // batch + 1):
        if size % (inner * batch) == 0:
            agree = (positions(BatchAxis(axis, inner), size, batch) == samples) | (samples < 0)
            if agree.all():
                return BatchAxis(axis, inner)
    return Lost("the samples change places")


@dataclass(slots=True)
class NodeAtSize:
    """A node in one lane, as the batch rules read it."""

    op: str
    domain: str
    opset: int
    attributes: Mapping[str, Any]
    batch: int
    marks: Sequence[Mark]
    """The marks of its inputs."""
    inputs: Sequence[Sizes | None]
    outputs: Sequence[Sizes | None]
    elements: Callable[[int], Any]
    """A function from an input index to the elements; None if they are unknown."""
    absent: Sequence[int] = ()
    """The indices of absent optional inputs."""
    bounds: Callable[[int], Any] = lambda _: None
    """A function from an input index to lower and upper bounds of its elements; None if unknown."""

    def rank(self, at: int) -> int:
        """Return the rank of an input whose shape is known."""
        return len(self.inputs[at])  # type: ignore[arg-type]

    def rank_out(self, to: int = 0) -> int:
        """Return the rank of an output whose shape is known."""
        return len(self.outputs[to])  # type: ignore[arg-type]

    def axis(self, default: int, rank: int) -> int:
        """Return the attribute `axis`, counted from the left."""
        axis: int = self.attributes.get("axis", default)
        return axis + rank if axis < 0 else axis

    def numbers(self, name: str, at: int) -> tuple[int, ...] | None:
        """Return integers that are an attribute in old opsets and an input in new ones.

        None if they are unknown or absent.
        """
        if name in self.attributes:
            value = self.attributes[name]
            return tuple(value) if isinstance(value, tuple) else (value,)
        array = self.elements(at)
        return None if array is None else tuple(array.ravel().tolist())

    def lacks(self, at: int) -> bool:
        """Return whether an optional input is absent."""
        return at >= len(self.inputs) or at in self.absent


Route = Callable[[NodeAtSize, int, int, int], int | None]
"""A function from node, input index, input axis and output index to the output axis.

The output axis holds, position by position, the same samples as the input axis. None if an output element depends on
several positions along the input axis, or if this is unknown.
"""
Move = Callable[[NodeAtSize, int], Mark]
"""A function from node and output index to the mark of that output.

Needed for operators that move elements along the marked axis.
"""


def aligned(node: NodeAtSize, at: int, axis: int, to: int) -> int | None:
    """Return the output axis of a broadcast: axes are aligned from the right."""
    return axis + node.rank_out(to) - node.rank(at)


def every_input(*axes: int, inputs: int | None = None) -> Route:
    """Return the rule of an operator that works pointwise along these axes.

    Only the first `inputs` inputs count; None counts all.
    """

    def route(_node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
        return axis if axis in axes and (inputs is None or at < inputs) else None

    return route


def first_input(*axes: int) -> Route:
    """Return the rule of an operator pointwise along axes of its first input."""
    return every_input(*axes, inputs=1)


def mixing(axes: Callable[[NodeAtSize, int], Iterable[int]] | slice) -> Route:
    """Return the rule of an operator that mixes some axes of its first input.

    `axes` is a slice of the axes, or a function from node and rank to the mixed axes.
    """

    def route(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
        rank = node.rank(0)
        mixed = range(rank)[axes] if isinstance(axes, slice) else axes(node, rank)
        return axis if at == 0 and axis not in mixed else None

    return route


def axis_given(node: NodeAtSize, rank: int) -> Iterable[int]:
    """Return the axis in the attribute `axis`, by default the last."""
    return (node.axis(-1, rank),)


def axes_behind(node: NodeAtSize, rank: int, default: int = -1) -> Iterable[int]:
    """Return the axis in the attribute `axis` and all axes after it."""
    return range(node.axis(default, rank), rank)


def softmax_axes(node: NodeAtSize, rank: int) -> Iterable[int]:
    """Return the axes that a Softmax mixes.

    These are its axis, and before opset 13 all axes after it too.
    """
    return axis_given(node, rank) if node.opset >= 13 else axes_behind(node, rank, 1)


def axis_read(node: NodeAtSize, rank: int) -> Iterable[int]:
    """Return the axis in the second input; all axes if it is unknown."""
    along = node.numbers("axis", 1)
    return (along[0] % rank,) if along else range(rank)


def axes_given(node: NodeAtSize, rank: int) -> Iterable[int]:
    """Return the axes in the attribute `axes`, by default 0, 2 and 3."""
    return {axis % rank for axis in node.attributes.get("axes", (0, 2, 3))}


def reduced(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a reduction.

    Its axes are an attribute in old opsets and an input in new ones.
    """
    if at:
        return None
    axes, rank = node.numbers("axes", 1), node.rank(0)
    if axes is None and not ("axes" in node.attributes or node.lacks(1)):
        return None
    if not axes:
        return axis if node.attributes.get("noop_with_empty_axes") else None
    return _without({reduced_axis % rank for reduced_axis in axes}, axis, node)


def largest(node: NodeAtSize, _at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of an ArgMax or ArgMin."""
    return _without({node.axis(0, node.rank(0))}, axis, node)


def _without(mixed: set[int], axis: int, node: NodeAtSize) -> int | None:
    if axis in mixed:
        return None
    return axis if node.attributes.get("keepdims", 1) else axis - sum(mixed_axis < axis for mixed_axis in mixed)


def batch_normalized(node: NodeAtSize, at: int, axis: int, to: int) -> int | None:
    """Return the output axis of a BatchNormalization.

    It mixes samples only in training mode.
    """
    return axis if at == to == 0 and not node.attributes.get("training_mode") else None


def multiplied(second: int = 1) -> Route:
    """Return the rule of a matrix product `(..., m, k) @ (..., k, n)`.

    `second` is the input index of the second matrix. The fused operator may transpose the last two axes of each matrix;
    its flags that move the leading axes give None.
    """

    def route(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
        if at not in (0, second) or node.rank(at) == 1 or _turned(node, "transBatchA", "transBatchB"):
            return None
        from_end = axis - node.rank(at)
        if from_end >= -2 and _turned(node, "transB" if at else "transA"):
            from_end = -3 - from_end
        leading = max(2, node.rank(0), node.rank(second)) - 2
        if from_end < -2:
            return leading + 2 + from_end
        if from_end == (-1 if at == 0 else -2):
            return None
        return leading if at == 0 else node.rank_out() - 1

    return route


def _turned(node: NodeAtSize, *names: str) -> bool:
    return any(node.attributes.get(name) for name in names)


def gemm(node: NodeAtSize, at: int, axis: int, to: int) -> int | None:
    """Return the output axis of a Gemm.

    It keeps the rows of the first matrix and the columns of the second.
    """
    if at == 2:
        return aligned(node, at, axis, to)
    is_transposed = bool(node.attributes.get("transB" if at else "transA", 0))
    return at if (axis ^ int(is_transposed)) == at else None


def convolved(weights: int = 1) -> Route:
    """Return the rule of a convolution; `weights` is the input index of its kernels.

    It keeps the batch, and each axis along which the kernel has size 1, stride 1 and no padding.
    """

    def route(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
        if at or axis < 2:
            return 0 if at == axis == 0 else None
        kernel = node.inputs[weights]
        reads_one = kernel is not None and axis < len(kernel) and kernel[axis] == 1
        is_padded = any((*node.attributes.get("pads", ()), node.attributes.get("auto_pad", b"NOTSET") != b"NOTSET"))
        unit_strides = {*node.attributes.get("strides", (1,))} == {1}
        return axis if reads_one and not is_padded and unit_strides else None

    return route


def resized(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a Resize for axes whose size stays."""
    before, after = node.inputs[0], node.outputs[0]
    crops = node.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    return axis if at == 0 and before and after and before[axis] == after[axis] and not crops else None


def padded(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a Pad for axes without padding."""
    pads = node.numbers("pads", 1) or node.numbers("paddings", 1)
    if at or not pads or not node.lacks(3):
        return None
    return axis if pads[axis] == pads[axis + len(pads) // 2] == 0 else None


def summed(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of an Einsum, by its letter."""
    equation = node.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if not arrow or "." in equation or at >= len(terms) or axis >= len(terms[at]):
        return None
    letter = terms[at][axis]
    return right.find(letter) if terms[at].count(letter) == right.count(letter) == 1 else None


def recurrent(node: NodeAtSize, at: int, axis: int, to: int) -> int | None:
    """Return the output axis of the batch in an LSTM, GRU or RNN.

    `layout` 1 puts the batch first.
    """
    first = bool(node.attributes.get("layout", 0))
    batch_axes = {0: 0 if first else 1, 4: 0, 5: 0 if first else 1, 6: 0 if first else 1}
    if batch_axes.get(at) != axis:
        return None
    return 0 if first else 2 if to == 0 else 1


def one_hot(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a OneHot, which inserts an axis into the indices."""
    return None if at else axis + (axis >= node.axis(-1, node.rank_out()))


def elements_along(shaped: int) -> Route:
    """Return the rule of a GatherElements or ScatterElements.

    `output_shaped_input` is the index of the input that has the shape of the output.
    """
    return lambda node, at, axis, _to: axis if at == shaped or axis != node.axis(0, node.rank(0)) else None


def reverse_sequence(node: NodeAtSize, at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a ReverseSequence, which mixes its time axis."""
    batch_axis: int = node.attributes.get("batch_axis", 1)
    if at:
        return batch_axis
    return axis if axis != node.attributes.get("time_axis", 0) else None


def transposed(node: NodeAtSize, _at: int, axis: int, _to: int) -> int | None:
    """Return the output axis of a Transpose."""
    perm = node.attributes.get("perm", tuple(range(node.rank(0)))[::-1])
    return perm.index(axis) if axis in perm else None


def reshape_mark(node: NodeAtSize, to: int) -> Mark:
    """Return the mark after a Reshape or another operator that keeps the order."""
    mark, before, after = node.marks[0], node.inputs[0], node.outputs[to]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis) or before is None or after is None:
        return Lost(f"the elements decide what {node.op} does")
    return regrouped(mark, before, after, node.batch)


def repeat_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after an Expand or Tile; new axes are added on the left."""
    mark = node.marks[0]
    if any(node.marks[1:]) or not isinstance(mark, BatchAxis):
        return Lost(f"the elements decide what {node.op} does")
    return BatchAxis(mark.axis + node.rank_out() - node.rank(0), mark.inner)


def join_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after a Concat.

    Along the joined axis the samples of all inputs are enumerated.
    """
    along = node.axis(1, node.rank_out())
    if not any(isinstance(mark, BatchAxis) and mark.axis == along for mark in node.marks):
        return together(node.marks)
    if any(isinstance(mark, BatchAxis) and mark.axis != along for mark in node.marks):
        return Lost("samples that lie on different axes meet")
    parts = []
    for shape, mark in zip(node.inputs, node.marks, strict=True):
        if shape is None or shape[along] > LONGEST_AXIS:
            return Lost("no shape")
        size = shape[along]
        parts.append(positions(mark, size, node.batch) if isinstance(mark, BatchAxis) else np.full(size, -1))
    return mark_of(along, np.concatenate(parts), node.batch)


def _places(node: NodeAtSize, along: int, chosen: Callable[[np.ndarray], np.ndarray | None]) -> Mark:
    """Return the mark after positions along `axis` are selected.

    A mark on another axis stays. `select` maps the samples along the axis to the selected ones; None if it is unknown.
    """
    mark, shape = node.marks[0], node.inputs[0]
    if not isinstance(mark, BatchAxis) or mark.axis != along:
        return mark
    if shape is None or shape[along] > LONGEST_AXIS:
        return Lost("no shape")
    samples = chosen(positions(mark, shape[along], node.batch))
    if samples is None or not len(samples):
        return Lost(f"nobody can say which samples {node.op} takes")
    return mark_of(along, samples, node.batch)


def split_mark(node: NodeAtSize, to: int) -> Mark:
    """Return the mark of one output of a Split."""
    along = node.axis(0, node.rank(0))
    sizes = [shape[along] if shape else None for shape in node.outputs]
    if None in sizes:
        return _places(node, along, lambda _samples: None)
    start, end = list(pairwise(accumulate(sizes, initial=0)))[to]
    return _places(node, along, lambda samples: samples[start:end])


def slice_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after a Slice, which may select a part of the samples."""
    starts, ends = node.numbers("starts", 1), node.numbers("ends", 2)
    mark, rank = node.marks[0], node.rank(0)
    if any(node.marks[1:]) or starts is None or ends is None or not isinstance(mark, BatchAxis):
        return Lost(f"nobody can say which samples {node.op} takes")
    axes = tuple(range(len(starts))) if _left_out(node, "axes", 3) else node.numbers("axes", 3)
    steps = (1,) * len(starts) if _left_out(node, "steps", 4) else node.numbers("steps", 4)
    if axes is None or steps is None:
        return Lost(f"nobody can say which samples {node.op} takes")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis % rank == mark.axis:
            return _places(node, mark.axis, partial(_cut, start, end, step))
    return mark


def _left_out(node: NodeAtSize, name: str, at: int) -> bool:
    return name not in node.attributes and node.lacks(at)


def _cut(start: int, end: int, step: int, samples: np.ndarray) -> np.ndarray:
    """Return an ONNX slice, in which a negative end may lie before the first element."""
    return samples[slice(start, None if step < 0 and end < -len(samples) else end, step)]


def gather_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after a Gather.

    It comes from the indices, or from the positions that they select.
    """
    along, shape = node.axis(0, node.rank(0)), node.inputs[1]
    data, indices = node.marks[:2]
    shifted = BatchAxis(indices.axis + along, indices.inner) if isinstance(indices, BatchAxis) else None
    if not isinstance(data, BatchAxis) or shape is None:
        return Lost("no shape") if data else shifted
    data_mark: Mark = data
    if data.axis > along:
        data_mark = BatchAxis(data.axis + len(shape) - 1, data.inner)
    elif data.axis == along:
        data_mark = _chosen(node, node.bounds(1), along)
    return _with_indices(data_mark, shifted)


def gather_nd_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after a GatherND.

    It comes from the axes before or after the indexed ones, or from the positions that the indices select.
    """
    (data, indices), shape, kept = node.marks[:2], node.inputs[1], node.attributes.get("batch_dims", 0)
    if shape is None or (isinstance(indices, BatchAxis) and indices.axis == len(shape) - 1):
        return Lost(f"nobody can say which samples {node.op} takes")
    if not isinstance(data, BatchAxis):
        return indices
    end, bounds = kept + shape[-1], node.bounds(1)
    if data.axis < kept:
        data_mark: Mark = data
    elif data.axis >= end:
        data_mark = BatchAxis(data.axis + len(shape) - 1 - end, data.inner)
    else:
        data_mark = _chosen(node, bounds and [bound[..., data.axis - kept] for bound in bounds], 0)
    return _with_indices(data_mark, indices)


def _with_indices(own: Mark, indices: Mark) -> Mark:
    """Return the mark of gathered data, which must agree with that of its indices."""
    if isinstance(own, OneForAll):
        return OneForAll(own.why, goes_on=indices)
    return own if indices in (None, own) or isinstance(own, Lost) else Lost("samples meet")


def _chosen(node: NodeAtSize, taken: Any, first: int) -> Mark:
    """Return the mark after indexing along the marked axis.

    `bounds` are lower and upper bounds of the indices, None if unknown. The axes of the indices begin at output axis
    `first_axis`.
    """
    mark, shape = node.marks[0], node.inputs[0]
    unknown = Lost(f"nobody can say which samples {node.op} takes")
    if taken is None or taken[0] is None or not taken[0].size or not isinstance(mark, BatchAxis) or shape is None:
        return unknown
    low, high = taken
    inside = (low >= 0) & (high < shape[mark.axis]) & (low // mark.inner == high // mark.inner)
    if not ((low == high) | inside).all():
        return unknown
    samples = _samples(mark, shape, low, node.batch)
    if (samples == samples.flat[0]).all():
        return OneForAll("takes one sample for all")
    for axis in range(samples.ndim):
        runs = np.moveaxis(samples, axis, 0).reshape(samples.shape[axis], -1)
        if (runs == runs[:, :1]).all():
            return mark_of(first + axis, runs[:, 0], node.batch)
    return Lost("the samples change places")


def _samples(mark: BatchAxis, shape: Sizes, taken: Any, batch: int) -> np.ndarray:
    """Return the samples at indices along the marked axis.

    Negative indices count from its end.
    """
    return np.asarray(taken % shape[mark.axis] // mark.inner % batch)


def scatter_nd_mark(node: NodeAtSize, _to: int) -> Mark:
    """Return the mark after a ScatterND.

    Updates must write to positions of their own sample.
    """
    (data, indices, updates), (before, shape), taken = node.marks[:3], node.inputs[:2], node.elements(1)
    if indices is not None or before is None or shape is None:
        return Lost(f"the elements decide what {node.op} does")
    index_rank, count = len(shape) - 1, shape[-1]
    if isinstance(updates, BatchAxis) and updates.axis >= index_rank:
        return together([data, BatchAxis(updates.axis - index_rank + count, updates.inner)])
    if isinstance(data, BatchAxis) and data.axis >= count:
        return data if updates is None else Lost("samples that lie on different axes meet")
    if taken is None or not taken.size:
        return Lost(f"nobody can say which samples {node.op} takes")
    written = np.array(-1)
    if isinstance(updates, BatchAxis):
        along = [-1 if axis == updates.axis else 1 for axis in range(index_rank)]
        written = positions(updates, shape[updates.axis], node.batch).reshape(along)
    if isinstance(data, BatchAxis):
        targets = _samples(data, before, taken[..., data.axis], node.batch)
        one_target = updates is None and (targets == targets.flat[0]).all()
        shared = OneForAll("changes one sample alone", goes_on=data)
        return shared if one_target else data if updates is None or (targets == written).all() else Lost("samples meet")
    for axis, size in enumerate(before[:count]):
        samples = np.full(size, -1)
        samples[taken[..., axis]] = written
        if (samples[taken[..., axis]] == written).all():
            return mark_of(axis, samples, node.batch)
    return Lost("samples meet")
