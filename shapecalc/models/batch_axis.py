"""Batch marks: the axis of a tensor that separates the samples of a batch.

A batch mark describes a tensor at one batch size. The mark is None for a tensor that does not depend on the batch, a
`BatchAxis` if an axis separates the samples, and a `LostBatch` if no axis is known to separate them. Marks exist only
for batch sizes of 2 and more, because a batch of 1 has no samples to separate.

A size assignment (`Lane`) gives a size to each free dim of a model. Each operator has a rule that returns the mark of
its output for one size assignment. Source of the rules: the ONNX operator documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record

LaneShapes = tuple[IntTuple | None, ...]
"""The concrete shape of a tensor for each size assignment, or None where the shape is unknown."""
MAX_AXIS_LENGTH = 1 << 20
"""The longest axis for which the sample number of each index is enumerated."""
PAIRS_SAMPLES = "pairs each sample with every sample"
"""The explanation in the batch mark of an output with one element for each pair of samples."""


class BatchAxis(Record):
    """The batch axis of a tensor.

    Index `i` along `axis` belongs to sample `i // inner % batch`.
    """

    axis: int
    inner: int


class LostBatch(Record):
    """The batch mark of a tensor without a known batch axis."""

    why: str
    certain: bool = False
    """Whether it is certain that no axis separates the samples."""


BatchMark = BatchAxis | LostBatch | None
"""A batch mark, or None for a tensor that does not depend on the batch."""


class SharedSample(LostBatch):
    """The batch mark of an output that uses one sample for the whole batch.

    The node runs without an error.
    """

    intended: BatchMark = None
    """The batch mark of the output if the use of one sample is intended."""


class MixedSamples(SharedSample):
    """The batch mark of an output whose elements each depend on several samples.

    The node runs without an error.
    """


class PaddedBatch(LostBatch):
    """The batch mark of a tensor with a padded or cropped batch axis.

    If a later node removes the padding, an axis separates the samples again.
    """

    axis: int = 0
    samples: tuple[int, ...] = ()
    """The sample number at each position of the axis, or -1 for padding."""


def locate_batch(mark: BatchMark, shape: IntTuple, batch: int) -> tuple[int, str] | None:
    """Return the batch axis of a tensor, and the part of the axis that is the batch.

    The part is `whole`, or, if the batch is one factor of a merged axis, `major` (varies slowest), `minor` (varies
    fastest) or `middle`. Returns None if no axis contains the batch.

    >>> [locate_batch(BatchAxis(axis, inner), (12, 12), 3) for axis, inner in ((0, 4), (1, 1), (1, 2))]
    [(0, 'major'), (1, 'minor'), (1, 'middle')]
    """
    if not isinstance(mark, BatchAxis):
        return None
    whole = batch * mark.inner
    if shape[mark.axis] == whole:
        return mark.axis, "whole" if mark.inner == 1 else "major"
    return mark.axis, "minor" if mark.inner == 1 else "middle"


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
    """Return the batch mark of an elementwise op on tensors with the given marks."""
    result: BatchMark = None
    for mark in marks:
        if isinstance(mark, LostBatch):
            return mark
        if mark is not None and result not in (None, mark):
            return LostBatch("tensors with the samples on different axes are combined")
        result = mark or result
    return result


def sample_numbers_along_axis(mark: BatchAxis, size: int, batch: int) -> np.ndarray:
    """Return the sample number at each index of a batch axis of size `size`.

    >>> sample_numbers_along_axis(BatchAxis(0, 2), 8, 2)
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """
    return np.arange(size) // mark.inner % batch


def infer_mark(axis: int, samples: np.ndarray, batch: int) -> BatchMark:
    """Infer the batch mark of a tensor from the sample number at each axis index.

    The sample number -1 marks an index that belongs to no sample.

    >>> import numpy as np
    >>> infer_mark(0, np.array([0, 1, -1, -1]), 2), infer_mark(0, np.array([1, 0]), 2)
    (BatchAxis(axis=0, inner=1), LostBatch(why='the order of the samples changes', certain=False))
    """
    size = len(samples)
    for inner in range(1, size // batch + 1):
        if size % (inner * batch) == 0:
            agree = (sample_numbers_along_axis(BatchAxis(axis, inner), size, batch) == samples) | (samples < 0)
            if agree.all():
                return BatchAxis(axis, inner)
    return LostBatch("the order of the samples changes")


@dataclass(slots=True)
class LaneNode:
    """A node with its shapes and batch marks for one size assignment.

    Axis rules and mark rules take a `LaneNode` as their argument.
    """

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
    """A function that returns the elements of the input at an index, or None if they are unknown."""
    absent: Sequence[int] = ()
    """The indices of absent optional inputs."""
    bounds: Callable[[int], Any] = lambda _: None
    """A function that returns lower and upper bounds of the elements of the input at an index.

    It returns None if the bounds are unknown.
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
        """Return an integer argument as a tuple, or None if it is unknown or absent.

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
