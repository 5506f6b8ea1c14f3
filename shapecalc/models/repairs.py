"""Find fixes for constants that contain the declared batch size.

A *constant* is a tensor that does not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.models.batch_axis import BatchAxis, BatchMark, LaneShapes
from shapecalc.models.file import ABSENT, Node, NodeGraph, iter_nodes, load_elements
from shapecalc.models.operators import RANDOM_OPERATORS, find_operator
from shapecalc.models.verdicts import NodeFix, SampleOffsets, build_insertion_fix
from shapecalc.models.walk_state import WalkState, broadcast_shapes, is_same_in_all_lanes

REPEATABLE_INPUTS: Mapping[str, Sequence[int] | None] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (5, 6)),
    "com.microsoft.Attention": (3,),
    "com.microsoft.MultiHeadAttention": (1, 2),
    "com.microsoft.RotaryEmbedding": (1,),
    **dict.fromkeys(("Concat", "Einsum", "GridSample", "MatMul", "GatherElements", "ScatterElements"), None),
}
"""The inputs that must have the batch size, by operator; None means all inputs.

All inputs of elementwise operators must have the batch size, too. Source: the ONNX operator documents; for example, the
initial states of LSTM, GRU and RNN have the shape "[num_directions, batch_size, hidden_size]".
"""
INSERTED_SINCE = 11
"""The first opset in which all inserted operators exist. Source: the ONNX operators Range (11) and Slice (10)."""
BATCH_NODES = ("Shape", "Gather")
"""The operators of inserted nodes that read the batch size from an input of the model."""
INDEX_OPERATORS = (
    "Add",
    "Cast",
    "Concat",
    "Expand",
    "Flatten",
    "Identity",
    "Reshape",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
"""The operators that compute indices from indices."""
MAX_CONSTANT_NODES = 512
"""The maximum number of tensors that are examined to compare the samples of a constant."""
RESIZE_SIZES_INPUT = 3
"""The index of the input `sizes` of a Resize. Source: the ONNX operator Resize, since opset 11."""
SPLIT_COUNT_SINCE = 18
"""The first opset in which Split has the number of parts as an attribute. Source: the ONNX operator Split."""
RESIZE_AXES_SINCE = 18
"""The first opset in which Resize has the attribute `axes`. Source: the ONNX operator Resize, version 18."""


def find_resize_fix(
    node: Node, walk: WalkState, marks: Sequence[BatchMark], declared_batch: int
) -> tuple[NodeFix, IntTuple, LaneShapes] | None:
    """Return the fix of a Resize with constant sizes.

    The fix resizes only the axes that change, so that the batch keeps its size. `marks` are the batch marks of the
    data. Returns the fix, the old sizes and the fixed output shapes. Returns None for other operators and sizes, and
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


class ConstantSamples:
    """A comparison of the samples in tensors that do not depend on the batch.

    Such a tensor, called a *constant*, may contain one block of elements for each sample of the declared batch.
    """

    def __init__(
        self,
        walk: WalkState,
        marks_of: Callable[[int], Sequence[BatchMark] | None],
        producer_of: Callable[[int], Node | None],
        mark_output: Callable[[Node, Sequence[BatchMark]], BatchMark],
    ) -> None:
        """Create a comparison for the tensors of a walk.

        `marks_of` returns the batch marks of a tensor, and `producer_of` the node that computes the tensor.
        `mark_output` returns the batch mark of a node's output at the declared batch size, given the batch marks of its
        inputs.
        """
        self.walk, self.marks_of = walk, marks_of
        self._producer_of, self._mark_output = producer_of, mark_output
        self._indices: set[int] | None = None
        self._input_tensors: set[int] | None = None
        self.batch = walk.choice.reference_batch
        """The declared batch size, or, for a free batch dim, 1 or a size at which the model runs."""

    def is_index_tensor(self, number: int) -> bool:
        """Return whether a tensor contains indices for a Gather or GatherND.

        Other nodes may transform the indices before the Gather or GatherND reads them (see `INDEX_OPERATORS`).
        """
        if self._indices is None:
            nodes = iter_nodes((self.walk.model.graph,))
            queue = [node.inputs[1] for node in nodes if node.op in ("Gather", "GatherND") and len(node.inputs) > 1]
            self._indices = {*queue}
            for tensor in queue:  # the loop appends to the queue
                maker = self._producer_of(tensor)
                new = maker.inputs if maker and maker.op in INDEX_OPERATORS else ()
                queue += [source for source in new if source not in self._indices]
                self._indices.update(new)
        return number in self._indices

    def has_equal_samples(self, number: int, axis: int) -> bool:
        """Return whether the samples of a tensor along an axis are equal.

        If the elements of the tensor are unknown, its upstream tensors are examined, at most `MAX_CONSTANT_NODES` of
        them. A constant with a batch of 1 has equal samples. Returns False for a tensor that depends on the elements of
        a model input, because another sample may have other elements.
        """
        if self._depends_on_input(number):
            return False
        queue, known = [(number, axis)], {(number, axis)}
        for at in queue if self.batch > 1 else ():  # the loop appends to the queue
            has_equal_samples = self._has_equal_elements(*at)
            sources = self._list_source_axes(*at) if has_equal_samples is None else []
            if has_equal_samples is False or sources is None or len(known) > MAX_CONSTANT_NODES:
                return False
            queue += [source for source in dict.fromkeys(sources) if source not in known]
            known.update(sources)
        return True

    def _depends_on_input(self, number: int) -> bool:
        """Return whether the elements of a tensor depend on those of a model input, or are random."""
        if self._input_tensors is None:
            self._input_tensors = {value.tensor for value in self.walk.model.inputs}
            self._add_dependent_tensors(self.walk.model.graph, self._input_tensors)
        return number in self._input_tensors

    def _add_dependent_tensors(self, graph: NodeGraph, known: set[int]) -> None:
        """Add the tensors of a graph that depend on the elements of known tensors."""
        for node in graph.nodes:
            read = node.inputs if node.bodies else node.inputs[: find_operator(node).element_inputs]
            for body in node.bodies:
                known.update(body.inputs if not known.isdisjoint(read) else ())
                self._add_dependent_tensors(body, known)
                if not known.isdisjoint(body.outputs):  # the next iteration of a loop reads them
                    known.update(body.inputs)
                    self._add_dependent_tensors(body, known)
            produced = [*read, *[tensor for body in node.bodies for tensor in body.outputs]]
            if node.op in RANDOM_OPERATORS or not known.isdisjoint(produced):
                known.update(node.outputs)
        known.discard(ABSENT)

    def _has_equal_elements(self, number: int, axis: int) -> bool | None:
        """Return whether all samples along an axis have equal elements, or None if unknown."""
        array = self._load_constant(number)
        if array is None:
            return None
        first, *others = np.split(array, self.batch, axis)
        return all(np.array_equal(first, other) for other in others)

    def has_equal_positions(self, number: int, axis: int) -> bool:
        """Return whether a constant has equal elements at all positions along an axis."""
        array = self._load_constant(number)
        return array is not None and bool((array == array.take([0], axis)).all())

    def _load_constant(self, number: int) -> Any:
        """Return the elements of a constant of any size, or None if unknown."""
        known = self.walk.elements_of(number)
        if known and known[0] is not None:
            return known[0]
        node = self._producer_of(number)
        initializer = self.walk.initializers.get(number)
        proto = initializer.proto if initializer else node and node.op == "Constant" and node.attributes.get("value")
        return load_elements(self.walk.model, proto) if proto else None

    def step_between_samples(self, number: int, axis: int) -> int | None:
        """Return the constant difference between consecutive samples, or None if there is none.

        The difference is a nonzero integer, and equal for all elements of the samples.
        """
        array = self._load_constant(number)
        if self.batch == 1 or array is None or array.dtype.kind != "i":
            return None
        samples = np.stack(np.split(array.astype(np.int64), self.batch, axis))
        step: int = (samples[1] - samples[0]).ravel()[0].item()
        return step if step and (np.diff(samples, axis=0) == step).all() else None

    def _list_source_axes(self, number: int, axis: int) -> list[tuple[int, int]] | None:
        """Return the tensors and axes that determine an axis of a computed tensor.

        The tensors are inputs of the node that computes the tensor. Returns an empty list if the node repeats one
        sample, and None if it is unknown which inputs determine the axis.
        """
        node = self._producer_of(number)
        if node is None or node.op in RANDOM_OPERATORS or node.bodies or not node.inputs:
            return None
        shape = self.walk.shapes_of(number)[0] or ()
        if self._is_repeated(node, axis, shape):
            return []
        sources = [*self._iter_source_axes(node, BatchAxis(axis, shape[axis] // self.batch))]
        return [source for source in sources if not self._has_sample_offsets(node, *source)] or None

    def _is_repeated(self, node: Node, axis: int, shape: IntTuple) -> bool:
        """Return whether a node repeats its input for each sample along an output axis.

        `axis` is this output axis, and `shape` is the output shape.
        """
        if node.op == "ConstantOfShape":
            return True
        before = self.walk.shapes_of(node.inputs[0])[0]
        if before is None or node.op not in ("Expand", "Tile") or node.domain:
            return False
        place = axis - len(shape) + len(before)
        return shape[axis] // self.batch % (before[place] if place >= 0 else 1) == 0

    def _has_sample_offsets(self, node: Node, number: int, axis: int) -> bool:
        """Return whether a tensor is the index input of a Gather, with one offset per sample.

        The data of the Gather contains the samples one after another. The indices read equal positions in all samples.
        """
        if node.op != "Gather" or number != node.inputs[1]:
            return False
        data = self.walk.shapes_of(node.inputs[0])[0] or ()
        size = data[node.attributes.get("axis", 0)] if data else 0
        return size % self.batch == 0 and self.step_between_samples(number, axis) == size // self.batch

    def _iter_source_axes(self, node: Node, mark: BatchAxis) -> Iterator[tuple[int, int]]:
        """Yield the inputs of a node, with their axes, that determine an output axis.

        `mark` describes the output axis.
        """
        for index, number in enumerate(node.inputs[: find_operator(node).element_inputs]):
            for axis, size in enumerate(self.walk.shapes_of(number)[0] or ()):
                if size % self.batch == 0 and size:
                    marks: list[BatchMark] = [None] * len(node.inputs)
                    marks[index] = BatchAxis(axis, size // self.batch)
                    if self._mark_output(node, marks) == mark:
                        yield number, axis


def find_repeat_fix(node: Node, constants: ConstantSamples) -> NodeFix | None:
    """Return a fix that extends constant inputs of a node to the batch size, or None.

    An input with equal samples is repeated for each sample. If the output contains indices, multiples of the sample
    number are added to an input with a constant step between samples.
    """
    repeats = [
        (index, axis, inner)
        for index, axis, inner in _iter_batch_constants(node, constants)
        if constants.has_equal_samples(node.inputs[index], axis)
    ]
    if repeats:
        return build_repeat_fix(*repeats)
    for index, axis, inner in (
        _iter_batch_constants(node, constants) if constants.is_index_tensor(node.outputs[0]) else ()
    ):
        if step := constants.step_between_samples(node.inputs[index], axis):
            return _build_offsets_fix(SampleOffsets(index, axis, inner, (step,)))
    return None


def iter_repeatable_states(node: Node, constants: ConstantSamples, states: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yield the constant initial states of a Loop or Scan that have the declared batch size on an axis.

    The samples of a state must be equal. Each mapping contains all such states for one axis, with this axis.
    """
    if node.domain or node.opset < INSERTED_SINCE or "/@" in node.path:
        return
    unmarked = [number for number in states if number != ABSENT and not constants.marks_of(number)]
    shapes = {number: constants.walk.shapes_of(number) for number in unmarked}
    known = {number: lanes[0] for number, lanes in shapes.items() if lanes[0] is not None and {*lanes} == {lanes[0]}}
    for axis in range(max(map(len, known.values()), default=0)):
        counting = [number for number, shape in known.items() if shape[axis : axis + 1] == (constants.batch,)]
        if repeatable := [number for number in counting if constants.has_equal_samples(number, axis)]:
            yield dict.fromkeys(repeatable, axis)


def build_repeat_fix(*repeats: tuple[int, int, int]) -> NodeFix:
    """Return the fix that repeats inputs for each sample.

    Each repeat consists of the input index, the axis, and the size of one sample on the axis.
    """
    return NodeFix(None, None, "", "repeats a constant", (*BATCH_NODES, "Tile"), repeats=repeats)


def _build_offsets_fix(offsets: SampleOffsets) -> NodeFix:
    return NodeFix(None, None, "", "counts the batch", (*BATCH_NODES, "Range"), offsets=offsets)


def find_differing_constant(node: Node, constants: ConstantSamples) -> str | None:
    """Return the name of a constant input with unequal samples, or None.

    Such an input cannot be repeated for each sample.
    """
    for index, axis, _ in _iter_batch_constants(node, constants):
        number = node.inputs[index]
        if constants.walk.is_constant(number) and not constants.has_equal_samples(number, axis):
            return constants.walk.model.names[number]
    return None


def _iter_batch_constants(node: Node, constants: ConstantSamples) -> Iterator[tuple[int, int, int]]:
    """Yield the constant inputs that have the declared batch size on the batch axis.

    The batch axis is that of another input. For each constant input, the input index, the axis, and the size of one
    sample on the axis are yielded.
    """
    walk, marks_of, declared_batch = constants.walk, constants.marks_of, constants.batch
    operator = f"{node.domain}.{node.op}" if node.domain else node.op
    if (
        (node.domain and operator not in REPEATABLE_INPUTS)
        or constants.walk.model.opset.get("ai.onnx", 0) < INSERTED_SINCE
        or "/@" in node.path
    ):
        return
    yield from _iter_indexed_constants(node, constants)
    allowed = REPEATABLE_INPUTS.get(operator, () if not find_operator(node).is_pointwise else None)
    marked = next(
        (
            (position, mark, shapes[0])
            for position, number in enumerate(node.inputs)
            if (mark := first_batch_axis(marks_of(number)) or _find_growing_axis(walk, number))
            and (shapes := walk.shapes_of(number))[0] is not None
        ),
        None,
    )
    if marked is None:
        return
    marked_index, mark, shape = marked
    for index, number in enumerate(node.inputs):
        lanes = [walk.shapes_of(number)[lane] for lane in walk.judged_lanes]
        own = lanes[0]
        if number == ABSENT or marks_of(number) or own is None or lanes.count(own) < len(lanes):
            continue
        # operators of ONNX Runtime have the batch on the same axis of each input
        axis = mark.axis if node.domain else mark.axis - len(shape or ()) + len(own)
        if node.op == "Einsum":
            axis = _find_axis_with_letter(node, marked_index, mark.axis, index)
        if (
            not 0 <= axis < len(own)
            or own[axis] != declared_batch * mark.inner
            or (allowed is not None and index not in allowed)
        ):
            continue
        yield index, axis, mark.inner


def _find_axis_with_letter(node: Node, marked_index: int, marked_axis: int, index: int) -> int:
    """Return the axis of an Einsum input that has the same letter as an axis of another input.

    Returns -1 if there is none.
    """
    equation: str = node.attributes.get("equation", b"").decode(errors="replace").replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    if max(index, marked_index) >= len(terms) or "." in terms[index] + terms[marked_index]:
        return -1
    return terms[index].find(terms[marked_index][marked_axis : marked_axis + 1] or "?")


def _find_growing_axis(walk: WalkState, number: int) -> BatchAxis | None:
    """Return the only axis of a tensor whose size grows with the batch, or None.

    Unlike `first_batch_axis`, this also finds the axis of a constant that is repeated to the batch size.
    """
    shapes = [walk.shapes_of(number)[lane] for lane in walk.judged_lanes]
    known = [shape for shape in shapes if shape is not None]
    if number == ABSENT or len(known) < len(shapes) or len({*known}) == 1 or len({len(shape) for shape in known}) > 1:
        return None
    axes = [axis for axis, sizes in enumerate(zip(*known, strict=True)) if len({*sizes}) > 1]
    batches = [walk.lanes[lane].batch for lane in walk.judged_lanes]
    inner = known[0][axes[0]] // (batches[0] or 1)
    if len(axes) > 1 or [shape[axes[0]] for shape in known] != [batch * inner for batch in batches]:
        return None
    return BatchAxis(axes[0], inner)


def _iter_indexed_constants(node: Node, constants: ConstantSamples) -> Iterator[tuple[int, int, int]]:
    """Yield the constant data input of a Gather or GatherND if the indices read every sample.

    The input is described as in `_iter_batch_constants`.
    """
    walk, batch = constants.walk, constants.batch
    if node.op not in ("Gather", "GatherND") or node.attributes.get("batch_dims", 0):
        return
    data, indices = node.inputs[:2]
    shape, values = walk.shapes_of(data)[0], walk.elements_of(indices)
    is_constant = not constants.marks_of(data) and len({*walk.shapes_of(data)}) == 1
    if not shape or values is None or is_same_in_all_lanes(values) or not is_constant:
        return
    axis = node.attributes.get("axis", 0) % len(shape)
    inner, is_nd = shape[axis] // batch, node.op.endswith("ND")
    lanes = [(walk.lanes[lane].batch, values[lane]) for lane in walk.judged_lanes]
    if inner and shape[axis] % batch == 0 and all(_has_index_of_each_sample(*lane, inner, is_nd) for lane in lanes):
        yield 0, axis, inner


def _has_index_of_each_sample(batch: int, indices: Any, inner: int, is_nd: bool) -> bool:
    """Return whether indices read the samples in order along some axis.

    `inner` is the size of one sample. If `is_nd` is True, the last axis contains coordinates, and the first coordinate
    is the index.
    """
    samples = np.asarray(indices)[..., 0] // inner if is_nd else np.asarray(indices) // inner
    axes = [axis for axis, size in enumerate(samples.shape) if size == batch]
    return any((np.moveaxis(samples, axis, -1) == np.arange(batch)).all() for axis in axes)


def first_batch_axis(marks: Sequence[BatchMark] | None) -> BatchAxis | None:
    """Return the first `BatchAxis` among batch marks, or None."""
    return next((mark for mark in marks or () if isinstance(mark, BatchAxis)), None)


def find_index_fix(
    node: Node, constants: ConstantSamples, mark: BatchAxis
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a Gather or GatherND with hard-coded sample indices.

    `mark` is the batch mark of the data. Along one axis of the indices, consecutive indices must differ by the size of
    one sample. Returns the fix, the output shapes and the batch mark of the output. Returns None for other indices and
    operators.
    """
    walk, declared_batch = constants.walk, constants.batch
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
    if axis is None or any(_is_known_and_different(value, array) for value in values):
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
    fix = _build_offsets_fix(SampleOffsets(1, axis, 1, steps))
    return fix, tuple(output), BatchAxis(axis if is_nd else first + axis, 1)


def find_shared_index_fix(
    node: Node, constants: ConstantSamples, mark: BatchAxis
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a Gather that reads only the first sample for all samples.

    The fix adds sample offsets to the indices, because a file with a declared batch of 1 contains none. The indices are
    computed and have a batch axis of their own. `mark` is the batch mark of the data. The result is like that of
    `find_index_fix`.
    """
    walk = constants.walk
    own = first_batch_axis(constants.marks_of(node.inputs[1]))
    lane = walk.judged_lanes[-1]
    shapes, indices = walk.shapes_of(node.inputs[0]), walk.shapes_of(node.inputs[1])
    data, index_shape, axis = shapes[lane], indices[lane], node.attributes.get("axis", 0)
    if node.op != "Gather" or node.domain or constants.batch != 1 or own is None or data is None or index_shape is None:
        return None
    batch, axis = walk.lanes[lane].batch, axis % len(data)
    whole = (data[axis], index_shape[own.axis]) == (batch * mark.inner, batch * own.inner)
    if not whole or axis != mark.axis or node.opset < INSERTED_SINCE or "/@" in node.path:
        return None
    fix = _build_offsets_fix(SampleOffsets(1, own.axis, own.inner, (mark.inner,), is_constant=False))
    return fix, walk.shapes_of(node.outputs[0]), BatchAxis(axis + own.axis, own.inner)


def find_expand_fix(
    node: Node, constants: ConstantSamples, targets: Sequence[IntTuple | None]
) -> tuple[NodeFix, LaneShapes, BatchAxis | None] | None:
    """Return the fix of an Expand of a constant to the declared batch size.

    `targets` contains the target for each size assignment; it grows with the batch. The result is like that of
    `find_index_fix`, but without a batch mark if all positions along the axis are equal.
    """
    walk = constants.walk
    shapes, known = walk.shapes_of(node.inputs[0]), [targets[lane] or () for lane in walk.judged_lanes]
    first, batches = shapes[0], [walk.lanes[lane].batch for lane in walk.judged_lanes]
    if node.op != "Expand" or not first or {*shapes} != {first} or () in known or "/@" in node.path:
        return None
    if constants.marks_of(node.inputs[0]) or node.opset < INSERTED_SINCE:
        return None
    for axis, size in enumerate(first):
        place, inner = axis + len(known[0]) - len(first), size // constants.batch
        if constants.batch == 1 and (size == 1 or not constants.has_equal_positions(node.inputs[0], axis)):
            continue
        sizes = [target[place] if place >= 0 else 0 for target in known]
        if not inner or sizes != [batch * inner for batch in batches]:
            continue
        if size == inner * constants.batch and constants.has_equal_samples(node.inputs[0], axis):
            inputs = [(*first[:axis], inner * lane.batch, *first[axis + 1 :]) for lane in walk.lanes]
            outputs = [
                target and broadcast_shapes((shape, target)) for shape, target in zip(inputs, targets, strict=True)
            ]
            fixed = tuple([output if isinstance(output, tuple) else None for output in outputs])
            fix = build_repeat_fix((0, axis, inner))
            # equal positions cannot be assigned to samples
            mark = BatchAxis(place, inner) if constants.batch > 1 else None
            return None if walk.has_unknown_value(fixed) else (fix, fixed, mark)
    return None


def is_constant_divided(node: Node, constants: ConstantSamples, targets: Sequence[IntTuple | None]) -> bool:
    """Return whether a Reshape divides the elements of a constant among the samples.

    `targets` contains the target for each size assignment. The first entry of such a target grows with the batch, and
    the input does not.
    """
    walk = constants.walk
    shapes, known = walk.shapes_of(node.inputs[0]), [targets[lane] for lane in walk.judged_lanes]
    if node.op != "Reshape" or constants.marks_of(node.inputs[0]) or shapes[0] is None or {*shapes} != {shapes[0]}:
        return False
    sizes = [target[0] if target else 0 for target in known]
    inner = sizes[0] // (walk.lanes[0].batch or 1)
    return inner > 0 and sizes == [walk.lanes[lane].batch * inner for lane in walk.judged_lanes]


def find_divided_constant_fix(
    node: Node, constants: ConstantSamples, output: IntTuple | None
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a Reshape that divides a constant among the samples.

    The Reshape satisfies `is_constant_divided`. `output` is the output shape at the declared batch size. The result is
    like that of `find_index_fix`.
    """
    first, batch = constants.walk.shapes_of(node.inputs[0])[0], constants.batch
    if not output or not first or first[0] % batch or output[0] % batch or "/@" in node.path:
        return None
    if node.opset < INSERTED_SINCE or not constants.has_equal_samples(node.inputs[0], 0):
        return None
    fix = build_repeat_fix((0, 0, first[0] // batch))
    inner = output[0] // batch
    outputs = [(inner * lane.batch, *output[1:]) for lane in constants.walk.lanes]
    return fix, tuple(outputs), BatchAxis(0, inner)


def find_elements_fix(
    node: Node, constants: ConstantSamples, mark: BatchAxis
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a GatherElements with constant indices of the declared batch size.

    The fix repeats the indices for each sample. `mark` is the batch mark of the data. The result is like that of
    `find_index_fix`.
    """
    walk = constants.walk
    shapes, along = walk.shapes_of(node.inputs[1]), node.attributes.get("axis", 0)
    first = shapes[0]
    if node.op != "GatherElements" or node.domain or first is None or {*shapes} != {first} or "/@" in node.path:
        return None
    is_other_axis = mark.axis != along % len(first) and first[mark.axis] == constants.batch * mark.inner
    if not is_other_axis or constants.marks_of(node.inputs[1]) or node.opset < INSERTED_SINCE:
        return None
    if not constants.has_equal_samples(node.inputs[1], mark.axis):
        return None
    fix = build_repeat_fix((1, mark.axis, mark.inner))
    output = [(*first[: mark.axis], mark.inner * lane.batch, *first[mark.axis + 1 :]) for lane in walk.lanes]
    return fix, tuple(output), mark


def find_split_fix(
    node: Node, constants: ConstantSamples, mark: BatchAxis
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of a Split into equal parts of constant size, each with every sample.

    `mark` is the batch mark of the data. The result is like that of `find_index_fix`, and applies to each output.
    """
    walk, count = constants.walk, len(node.outputs)
    shapes = [shape or () for shape in walk.shapes_of(node.inputs[0])]
    values = walk.elements_of(node.inputs[1]) if len(node.inputs) > 1 else None
    declared = next(index for index, lane in enumerate(walk.lanes) if lane.batch == constants.batch)
    if node.op != "Split" or node.domain or "/@" in node.path or () in shapes or values is None:
        return None
    axis, sizes = node.attributes.get("axis", 0) % len(shapes[0]), values[0].ravel().tolist()
    part = shapes[declared][axis] // count
    if axis != mark.axis or sizes != [part] * count or part % (constants.batch * mark.inner):
        return None
    if not is_same_in_all_lanes(values) or any(shape[axis] % count for shape in shapes):
        return None
    output = tuple([(*shape[:axis], shape[axis] // count, *shape[axis + 1 :]) for shape in shapes])
    return NodeFix(None, None, "", "splits into equal parts", equal_parts=True), output, mark


def find_grid_fix(
    node: Node, constants: ConstantSamples, mark: BatchAxis
) -> tuple[NodeFix, LaneShapes, BatchAxis] | None:
    """Return the fix of an AffineGrid with constant sizes that contain the number of matrices.

    `mark` is the batch mark of the matrices. The result is like that of `find_index_fix`. Source: the ONNX operator
    AffineGrid (sizes N, C, H, W or N, C, D, H, W).
    """
    walk = constants.walk
    values, shapes = walk.elements_of(node.inputs[1]), [shape or () for shape in walk.shapes_of(node.inputs[0])]
    if node.op != "AffineGrid" or node.domain or values is None or not is_same_in_all_lanes(values):
        return None
    sizes = values[0].ravel().tolist()
    declared = [shape[:1] for shape, lane in zip(shapes, walk.lanes, strict=True) if lane.batch == constants.batch]
    if mark.axis or "/@" in node.path or () in shapes or tuple(sizes[:1]) not in declared:
        return None
    output = tuple([(shape[0], *sizes[2:], len(sizes) - 2) for shape in shapes])
    return build_insertion_fix(walk.batch, 0, source=(0, 0)), output, mark


def _is_known_and_different(value: Any, other: Any) -> bool:
    return value is not None and not np.array_equal(value, other)
