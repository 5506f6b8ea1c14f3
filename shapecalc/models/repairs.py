"""Find fixes for constants that contain the declared batch size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.models.batch_axis import BatchAxis, BatchMark, LaneShapes
from shapecalc.models.file import ABSENT, Node, load_elements
from shapecalc.models.operators import find_operator
from shapecalc.models.verdicts import NodeFix, build_insertion_fix
from shapecalc.models.walk_state import WalkState, is_same_in_all_lanes

REPEATABLE_INPUTS: Mapping[str, Sequence[int] | None] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (5, 6)),
    **dict.fromkeys(("Concat", "GridSample", "MatMul", "GatherElements", "ScatterElements"), None),
}
"""The inputs that must have the batch size, by operator; None means all inputs.

All inputs of elementwise operators are repeated, too. Source: the ONNX operator documents, and the initial states of
LSTM, GRU and RNN ("[num_directions, batch_size, hidden_size]").
"""
INSERTED_SINCE = 11
"""The first opset in which all inserted operators exist. Source: the ONNX operators Range (11) and Slice (10)."""
BATCH_NODES = ("Shape", "Gather")
"""The operators that read the batch size from an input of the model."""
RESIZE_SIZES_INPUT = 3
"""The index of the input `sizes` of a Resize. Source: the ONNX operator Resize, since opset 11."""
RESIZE_AXES_SINCE = 18
"""The first opset in which Resize has the attribute `axes`. Source: the ONNX operator Resize, version 18."""


def find_resize_fix(
    node: Node, walk: WalkState, marks: Sequence[BatchMark], declared_batch: int
) -> tuple[NodeFix, IntTuple, LaneShapes] | None:
    """Return the fix of a Resize with constant sizes.

    `marks` are the batch marks of the data. The fix resizes only the axes that change, so that the batch keeps its
    size. Returns the fix, the old sizes and the fixed output shapes. Returns None for other operators and sizes, and
    for a Resize that uses a region or keeps the aspect ratio.
    """
    values = walk.elements_of(node.inputs[RESIZE_SIZES_INPUT]) if len(node.inputs) > RESIZE_SIZES_INPUT else None
    mark = next((mark for mark in marks if isinstance(mark, BatchAxis)), None)
    shapes = walk.shapes_of(node.inputs[0])
    if node.op != "Resize" or node.domain or values is None or mark is None or not is_same_in_all_lanes(values):
        return None
    if node.attributes.get("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        return None
    if node.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize":
        return None
    before, sizes = shapes[0] or (), tuple(values[0].ravel().tolist())
    axes = tuple([axis % len(before) for axis in node.attributes.get("axes", range(len(before)))])
    by_axis = dict(zip(axes, sizes, strict=False))
    if (
        walk.has_unknown_value(shapes)
        or len(axes) != len(sizes)
        or by_axis.get(mark.axis) != declared_batch * mark.inner
    ):
        return None
    kept = tuple([axis for axis in axes if axis > mark.axis and (by_axis[axis] != before[axis] or axis > 1)])
    if mark.axis or not kept or any(by_axis[axis] != before[axis] for axis in axes if axis not in (mark.axis, *kept)):
        return None
    new_sizes = {axis: by_axis[axis] for axis in kept}
    fixed = [shape and tuple([new_sizes.get(axis, size) for axis, size in enumerate(shape)]) for shape in shapes]
    inserts = () if node.opset >= RESIZE_AXES_SINCE else ("Shape", "Gather", "Concat")
    fix = NodeFix(None, None, "", "resizes the other axes", inserts, resize=(kept, tuple(new_sizes.values())))
    return fix, sizes, tuple(fixed)


def find_repeat_fix(
    node: Node, walk: WalkState, marks_of: Callable[[int], Sequence[BatchMark] | None], declared_batch: int
) -> NodeFix | None:
    """Return the fix that repeats constant inputs of a node for each sample.

    If the declared batch is larger than 1, the samples in the input must be equal. Returns None if there is no such
    input.
    """
    repeats = [
        (index, axis, inner)
        for index, axis, inner in _iter_batch_constants(node, walk, marks_of, declared_batch)
        if declared_batch == 1 or _has_equal_samples(walk, node.inputs[index], axis, declared_batch)
    ]
    inserts = (*BATCH_NODES, "Tile")
    return NodeFix(None, None, "", "repeats a constant", inserts, repeats=tuple(repeats)) if repeats else None


def find_differing_constant(
    node: Node, walk: WalkState, marks_of: Callable[[int], Sequence[BatchMark] | None], declared_batch: int
) -> str | None:
    """Return the name of a constant input with different samples, which cannot be repeated, or None."""
    for index, axis, _ in _iter_batch_constants(node, walk, marks_of, declared_batch):
        number = node.inputs[index]
        if walk.is_constant(number) and not _has_equal_samples(walk, number, axis, declared_batch):
            return walk.model.names[number]
    return None


def _iter_batch_constants(
    node: Node, walk: WalkState, marks_of: Callable[[int], Sequence[BatchMark] | None], declared_batch: int
) -> Iterator[tuple[int, int, int]]:
    """Yield the inputs that have the size of the declared batch where another input has the batch axis.

    Each input is yielded as input index, axis, and size of one sample on the axis.
    """
    allowed = REPEATABLE_INPUTS.get(node.op, () if not find_operator(node).is_pointwise else None)
    marked = next(
        (
            (mark, shapes[0])
            for number in node.inputs
            if (mark := first_batch_axis(marks_of(number))) and (shapes := walk.shapes_of(number))[0] is not None
        ),
        None,
    )
    if marked is None or node.domain or node.opset < INSERTED_SINCE or "/@" in node.path:
        return
    mark, shape = marked
    for index, number in enumerate(node.inputs):
        lanes = [walk.shapes_of(number)[lane] for lane in walk.judged_lanes]
        own = lanes[0]
        if number == ABSENT or marks_of(number) or own is None or lanes.count(own) < len(lanes):
            continue
        axis = mark.axis - len(shape or ()) + len(own)
        if axis < 0 or own[axis] != declared_batch * mark.inner or (allowed is not None and index not in allowed):
            continue
        yield index, axis, mark.inner


def first_batch_axis(marks: Sequence[BatchMark] | None) -> BatchAxis | None:
    """Return the first `BatchAxis` among batch marks, or None."""
    return next((mark for mark in marks or () if isinstance(mark, BatchAxis)), None)


def _has_equal_samples(walk: WalkState, number: int, axis: int, batch: int) -> bool:
    """Return whether a constant has equal samples along an axis."""
    known = walk.elements_of(number)
    array = known[0] if known else None
    if array is None and number in walk.initializers:
        array = load_elements(walk.model, walk.initializers[number].proto)
    if array is None:
        return False
    first, *others = np.split(array, batch, axis)
    return all(np.array_equal(first, other) for other in others)


def find_index_fix(
    node: Node, walk: WalkState, mark: BatchAxis, declared_batch: int
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a Gather or GatherND with hard-coded sample indices.

    `mark` is the batch mark of the data. On one axis, the indices of each sample are those of the first sample plus a
    constant step. The result contains the output shapes and the batch mark of the output. Returns None for other
    indices and operators.
    """
    data = walk.shapes_of(node.inputs[0])
    values, step = walk.elements_of(node.inputs[1]), mark.inner
    is_nd = node.op.endswith("ND")
    first = 0 if is_nd else node.attributes.get("axis", 0)
    if (
        node.op not in ("Gather", "GatherND")
        or node.domain
        or node.opset < INSERTED_SINCE
        or "/@" in node.path
        or values is None
    ):
        return None
    array, shape = values[walk.judged_lanes[0]], data[walk.judged_lanes[0]]
    if array is None or shape is None or not array.size or node.attributes.get("batch_dims", 0):
        return None
    first %= len(shape)
    coordinates = array.shape[-1] if is_nd else 1
    if array.ndim < 1 + is_nd or not (mark.axis < coordinates if is_nd else mark.axis == first):
        return None
    column = array[..., mark.axis] if is_nd else array
    axis = next((axis for axis, size in enumerate(column.shape) if size == declared_batch), None)
    if axis is None or any(_has_differing_lanes(value, array) for value in values):
        return None
    along = np.moveaxis(column, axis, 0)
    numbers = np.arange(declared_batch).reshape(-1, *[1] * (along.ndim - 1)) * step
    if not (along == along[:1] + numbers).all() or along[:1].min() < 0 or along[:1].max() >= step:
        return None
    steps = tuple([step * (place == mark.axis) for place in range(coordinates)]) if is_nd else (step,)
    output = []
    for lane, sizes in zip(walk.lanes, data, strict=True):
        index = (*array.shape[:axis], lane.batch, *array.shape[axis + 1 :])
        rest = () if sizes is None else sizes[coordinates:] if is_nd else sizes[first + 1 :]
        before = () if sizes is None or is_nd else sizes[:first]
        output.append(None if sizes is None else (*before, *(index[:-1] if is_nd else index), *rest))
    fix = NodeFix(None, None, "", "counts the batch", (*BATCH_NODES, "Range"), counts=(axis, declared_batch, steps))
    return fix, tuple(output), BatchAxis(axis if is_nd else first + axis, 1)


def find_grid_fix(
    node: Node, walk: WalkState, mark: BatchAxis, declared_batch: int
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of an AffineGrid whose constant sizes contain the declared batch.

    `mark` is the batch mark of the matrices. The result contains the output shapes and the batch mark of the output.
    Source: the ONNX operator AffineGrid, whose sizes are N, C, H, W or N, C, D, H, W.
    """
    values = walk.elements_of(node.inputs[1])
    if node.op != "AffineGrid" or node.domain or values is None or not is_same_in_all_lanes(values):
        return None
    sizes = values[0].ravel().tolist()
    if mark != BatchAxis(0, 1) or "/@" in node.path or sizes[:1] != [declared_batch]:
        return None
    output = tuple([(lane.batch, *sizes[2:], len(sizes) - 2) for lane in walk.lanes])
    return build_insertion_fix(walk.batch, 0), output, mark


def _has_differing_lanes(value: Any, array: Any) -> bool:
    """Return whether the indices differ between two size assignments."""
    return value is not None and not np.array_equal(value, array)
