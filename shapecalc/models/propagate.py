"""Track the batch axis through a model, and check and fix its nodes.

A batch mark states which axis of a tensor separates the samples (see `batch_axis`). Batch marks are propagated through
all nodes. A node with a core op, which the package `core` can resolve, is also checked. A failing node is fixed
immediately, so that downstream nodes are checked with correct input shapes. A size assignment (`Lane`) gives a size to
each free dim of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import islice
from math import prod
from typing import Any, Self

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.core.text import truncate
from shapecalc.models import mark_rules, repairs, verdicts
from shapecalc.models.axis_rules import MIXES
from shapecalc.models.batch_axis import (
    PAIRS_SAMPLES,
    BatchAxis,
    BatchMark,
    LaneNode,
    LaneShapes,
    LostBatch,
    MixedSamples,
    PaddedBatch,
    SharedSample,
    merge_marks,
    sample_numbers_along_axis,
)
from shapecalc.models.constant_parts import ConstantParts
from shapecalc.models.file import ABSENT, INT32, INT64, MALFORMED_ERRORS, MAX_ELEMENTS, Node, iter_nodes
from shapecalc.models.operators import LISTED_OPERATORS, ControlFlow, OperatorSpec, find_control_flow, find_operator
from shapecalc.models.queries import CoreOpCache, NodeVisit
from shapecalc.models.verdicts import FAILING_VERDICTS, BatchVerdict, NodeFix
from shapecalc.models.walk_state import NO_SHAPE, LaneFailures, WalkState, is_same_in_all_lanes

LaneMarks = tuple[BatchMark, ...]
"""The batch mark of a tensor for each size assignment."""
INDEX_OUTPUTS = {"ArgMax": (0, 0), "ArgMin": (0, 0), "TopK": (1, -1)}
"""The operators that output indices along an axis, each with the index of this output and the default axis."""
ORDER_PRESERVING_OPERATORS = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
INDEX_EVALUATORS: dict[str, Any] = {
    **dict.fromkeys(ORDER_PRESERVING_OPERATORS, lambda _, shape, data, *_others: data.reshape(shape)),
    "Add": lambda _, _shape, a, b: a + b,
    "Concat": lambda attributes, _, *parts: np.concatenate(parts, attributes.get("axis", 0)),
}
"""The evaluators of operators that are monotonic in their inputs.

They are applied to the bounds of index tensors: lower bounds give lower bounds, and upper bounds give upper bounds.
"""
POSITION_RULES = (mark_rules.pad_mark_rule, mark_rules.slice_mark_rule, mark_rules.split_mark_rule)
"""The mark rules that accept a `PaddedBatch` mark."""
UNBOUNDED = 1 << 40
"""A bound that is larger than any index."""
MAX_UPSTREAM_NODES = 64
"""The maximum number of upstream nodes to search for the cause of a failure, or for bounds of indices."""
SILENT_VERDICTS = (BatchVerdict.SWALLOWS, BatchVerdict.SCRAMBLES)
"""The verdicts on nodes that run without an error and give wrong results."""


class NonCoreFailure(Record):
    """A failing node without a core op."""

    node: Node
    why: str
    """The error message, or the reason for a failure without an error."""
    cause: str | None
    """The path of the upstream node with a core op that causes the failure, or None if unknown."""
    silent: bool = False
    """Whether the node runs without an error, but uses one sample for the whole batch, or mixes the samples."""
    mixes: bool = False
    """Whether the node runs without an error, but no axis of its output separates the samples."""
    target: IntTuple | None = None
    """The constant sizes of a Resize that contain the declared batch size, or None for other nodes."""
    fix: NodeFix | None = None
    """The fix of the node.

    It is None if no fix is known, or if the upstream cause is fixed instead.
    """


class NodeVerdict(Record):
    """The verdict on a node with a core op."""

    verdict: BatchVerdict
    is_failing: bool
    """Whether the node fails.

    It fails if the verdict is one of `FAILING_VERDICTS`, or SOMETIMES in a model that declares its batch size.
    """
    why: str
    """The reason for the verdict, without a final full stop."""
    outputs: LaneShapes
    """The output shape for each size assignment after the best fix; the walk continues with this shape."""
    marks: LaneMarks
    """The batch mark of the output for each size assignment after the best fix."""
    fixes: tuple[NodeFix, ...]
    """The possible fixes, the best first; empty if the node is safe or no fix is known."""
    runs: Mapping[int, str]
    """The outcome (`ok`, `fails` or `blocked`) at each checked batch size."""
    empty: str | None
    """The outcome at a batch size of 0: `ok` or `refused`, or None if unknown."""
    batch_in: tuple[int, str] | None
    """The batch axis of the input, as returned by `locate_batch`, or None if unknown."""
    batch_out: tuple[int, str] | None
    """The batch axis of the output, as returned by `locate_batch`, or None if unknown."""
    blocked_by: str | None
    """The path of the first failing upstream node, which must be fixed before this node, or None if there is none."""


def output_mark(node: LaneNode, output_index: int = 0, spec: OperatorSpec | None = None) -> BatchMark:
    """Return the batch mark of one output of a node for one size assignment.

    `spec` is the operator table entry of the node, or None to find it.
    """
    row = spec or find_operator(node)
    reached = [mark for mark in node.marks[: row.element_inputs] if mark]
    if not reached:
        return None
    if lost := next((mark for mark in reached if isinstance(mark, LostBatch)), None):
        return _mark_of_padded_batch(node, row, output_index) if isinstance(lost, PaddedBatch) else lost
    unknown = [mark for mark, shape in zip(node.marks, node.inputs, strict=True) if mark and shape is None]
    if unknown or (node.outputs[output_index] is None and not row.marks_unknown_shapes):
        return LostBatch("no shape")
    try:
        return row.mark_rule(node, output_index) if row.mark_rule else _apply_axis_rule(node, row, output_index)
    except MALFORMED_ERRORS:
        return LostBatch(f"{node.op} violates its ONNX schema")


def _mark_of_padded_batch(node: LaneNode, spec: OperatorSpec, output_index: int) -> BatchMark:
    """Return the batch mark of an output if an input has a `PaddedBatch` mark.

    Operators that select positions, and operators that are pointwise along the padded axis, keep the position of each
    sample. Other operators lose the batch.
    """
    mark, shape, output = node.marks[0], node.inputs[0], node.outputs[output_index]
    lost = next(LostBatch(mark.why) for mark in node.marks if isinstance(mark, PaddedBatch))
    if not isinstance(mark, PaddedBatch) or any(node.marks[1:]) or shape is None or output is None:
        return lost
    try:
        if spec.mark_rule:
            return spec.mark_rule(node, output_index) if spec.mark_rule in POSITION_RULES else lost
        axis = spec.axis_rule(node, 0, mark.axis, output_index) if spec.axis_rule else None
    except MALFORMED_ERRORS:
        return lost
    if axis == MIXES:
        return MixedSamples("mixes the samples", intended=BatchAxis(mark.axis, 1))
    return replace(mark, axis=axis) if _axis_step(shape, mark.axis, output, axis) == 1 else lost


def _apply_axis_rule(node: LaneNode, spec: OperatorSpec, output_index: int) -> BatchMark:
    """Return the batch mark of an output according to the axis rule of the operator."""
    if spec.axis_rule is None:
        return LostBatch(f"the batch cannot be tracked through {node.op}")
    marks: list[BatchMark] = []
    for index, mark in enumerate(node.marks[: spec.element_inputs]):
        if isinstance(mark, BatchAxis):
            axis = spec.axis_rule(node, index, mark.axis, output_index)
            if axis == MIXES:
                return MixedSamples("mixes the samples", intended=_intended_mark(node, index, output_index))
            step = _axis_step(node.inputs[index], mark.axis, node.outputs[output_index], axis)
            if axis is None or not step or mark.inner % step or (step > 1 and not spec.has_windows):
                return LostBatch(f"{node.op} may read several samples at once")
            marks.append(mark if (axis, step) == (mark.axis, 1) else BatchAxis(axis, mark.inner // step))
    if any(mark != marks[0] for mark in marks[1:]):
        return MixedSamples(PAIRS_SAMPLES, intended=marks[0])
    return marks[0] if marks else None


def _intended_mark(node: LaneNode, input_index: int, output_index: int) -> BatchMark:
    """Return the batch mark of an input if the output has the same shape, or None."""
    return node.marks[input_index] if node.inputs[input_index] == node.outputs[output_index] else None


def _axis_step(input_shape: IntTuple | None, axis: int, output_shape: IntTuple | None, output_axis: int | None) -> int:
    """Return the number of positions of an input axis for each position of an output axis.

    Returns 0 if the number is unknown or not an integer.
    """
    if input_shape is None or output_shape is None or output_axis is None or not 0 <= output_axis < len(output_shape):
        return 0
    size, output_size = input_shape[axis], output_shape[output_axis]
    return 1 if size == output_size else size // output_size if output_size and size % output_size == 0 else 0


def _mark_without_axis(node: Node, mark: BatchMark, shape: IntTuple | None, axis: int) -> BatchMark:
    """Return the batch mark of a slice of a Scan input, which has no axis `axis`."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None or axis % len(shape) == mark.axis:
        return LostBatch("no shape" if shape is None else f"{node.op} reads the samples one by one")
    return BatchAxis(mark.axis - (axis % len(shape) < mark.axis), mark.inner)


def _mark_with_new_axis(mark: BatchMark, shape: IntTuple | None, axis: int) -> BatchMark:
    """Return the batch mark of a loop output stacked along a new axis."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None:
        return LostBatch("no shape")
    return BatchAxis(mark.axis + (axis % (len(shape) + 1) <= mark.axis), mark.inner)


def _iter_samples(array: Any, mark: BatchAxis, batch: int, shape: IntTuple | None) -> Iterator[Any]:
    """Yield the elements of each sample of an array.

    The array broadcasts to `shape`, the shape of a tensor with the batch mark `mark`. If `shape` is None, the mark
    refers to the array itself.
    """
    axis = mark.axis - len(shape or ()) + array.ndim
    if axis < 0 or array.shape[axis] == 1:
        yield array
        return
    samples = sample_numbers_along_axis(mark, array.shape[axis], batch)
    yield from (array.compress(samples == sample, axis) for sample in range(batch))


def _is_certainly_lost(mark: BatchMark) -> bool:
    return isinstance(mark, LostBatch) and (mark.certain or isinstance(mark, SharedSample))


def _are_equal(arrays: Sequence[Any]) -> bool:
    return all(np.array_equal(array, arrays[0]) for array in arrays)


class BatchTracker:
    """The batch marks and verdicts of a walk.

    During the walk, the tracker propagates batch marks, checks and fixes the nodes with a core op, and records the
    first failing node upstream of each tensor.
    """

    trial_attributes: tuple[str, ...] = (
        "_marks",
        "stops",
        "judged_nodes",
        "failing_nodes",
        "cause_fixes",
        "moved_nodes",
        "_size_dependent_nodes",
        "_failures_above",
    )
    """The names of the attributes that change during a walk; `copy_for_trial` copies these attributes."""

    def __init__(self, *, accepts_merged_batches: bool = False) -> None:
        """Create an empty tracker.

        If `accepts_merged_batches` is True, a node that merges the batch with another axis is safe. `start_walk` must
        be called before the walk.
        """
        self.accepts_merged_batches = accepts_merged_batches
        self._marks: dict[int, LaneMarks] = {}
        """The batch marks by tensor number; tensors that do not depend on the batch have no entry."""
        self.core_cache = CoreOpCache()
        self.stops: list[NonCoreFailure] = []
        """The failing nodes without core ops, in the order of the walk."""
        self.judged_nodes: list[tuple[NodeVisit, NodeVerdict]] = []
        """The nodes with core ops and their verdicts, in the order of the walk."""
        self.failing_nodes: dict[str, tuple[Node, NodeVerdict]] = {}
        """The failing nodes with a core op and their verdicts, by path."""
        self.cause_fixes: dict[str, tuple[Node, NodeFix]] = {}
        """The nodes that cause the failures in `stops`, and their fixes, by path."""
        self.moved_nodes: set[str] = set()
        """The paths of the nodes that move the batch to another axis, so that a downstream node fails."""
        self.lost_nodes: dict[str, tuple[Node, str]] = {}
        """The nodes at which the samples can no longer be tracked, with the reason, by path."""
        self._size_dependent_nodes: dict[str, tuple[Node, str]] = {}
        """The If and Loop nodes whose branch or count depends on the batch size, with the reason, by path."""
        self.has_failures = False
        """Whether some node fails for some size assignment."""
        self._producers: dict[int, Node] | None = None
        self._read_tensors: set[int] | None = None
        self._verdict_cache: dict[object, NodeVerdict] = {}
        self._failures_above: dict[int, tuple[int, str]] = {}
        """The first failing node upstream of each tensor, by tensor number.

        The node is given by its sequence number and its path.
        """

    def start_walk(self, walk: WalkState) -> None:
        """Attach the tracker to a walk, and set the batch marks of the model inputs."""
        self._walk = walk
        self._batches = tuple([lane.batch for lane in walk.lanes])
        self._tracked_lanes = tuple([lane.judged and lane.batch > 1 for lane in walk.lanes])
        """For each size assignment, whether it is judged and has a batch size of at least 2."""
        self._no_marks: LaneMarks = (None,) * len(walk.lanes)
        self._empty_lane = next((index for index, lane in enumerate(walk.lanes) if lane.batch == 0), None)
        self.declared_batch = walk.choice.reference_batch
        self._other_lanes = [
            lane for lane, size in enumerate(self._batches) if self._tracked_lanes[lane] and size != self.declared_batch
        ]
        """The indices of the tracked size assignments whose batch size is not the declared one."""
        self._constant_parts = ConstantParts(walk, self.marks_of, self.producer_of)
        self._constants = repairs.ConstantSamples(walk, self.marks_of, self.producer_of, self._mark_at_declared_batch)
        for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True):
            if dims is None:
                mark: BatchMark = LostBatch("an input has no shape")
            elif walk.batch not in dims:
                continue
            elif dims.count(walk.batch) > 1:
                mark = LostBatch("an input has the batch twice")
            else:
                mark = BatchAxis(dims.index(walk.batch), 1)
            self._store_marks(declared.tensor, [mark if followed else None for followed in self._tracked_lanes])

    def propagate_marks(self, node: Node) -> None:
        """Propagate batch marks through a node that has no core op and does not fail.

        The subgraphs of the node must already have been walked.
        """
        self._propagate_failure(node)
        if node.bodies:
            self._propagate_bodies(node)
            return
        all_shapes, all_marks = self._walk.shapes, self._marks
        reached = [(all_marks[tensor], all_shapes[tensor]) for tensor in node.inputs if tensor in all_marks]
        if not reached or not node.outputs:
            return
        spec, own = find_operator(node), (reached[0][0], all_shapes[node.outputs[0]])
        is_equal = own[1] and None not in own[1] and all(pair == own for pair in reached)
        is_pointwise = spec.is_pointwise
        if is_pointwise and is_equal and not self._varying_operands(node):
            self._store_marks(node.outputs[0], own[0])
        else:
            lanes = list(self._iter_lane_nodes(node))
            for to, tensor in enumerate(node.outputs):
                after = [output_mark(lane, to, spec) if lane else None for lane in lanes]
                if is_pointwise:
                    after = self._find_dependence_on_batch_size(node, after) or after
                elif self._other_lanes and not any(isinstance(mark, LostBatch) for mark in after):
                    self._store_marks(tensor, after)
                    continue
                if any(map(_is_certainly_lost, after)) and self._constant_parts.is_constant_part_read(node):
                    continue
                if self._has_constant_size(node, tensor, after):
                    self._store_marks(tensor, self._record_constant_size(node, tensor))
                else:
                    self._store_marks(tensor, self._replace_shared_samples(node, self._confirm_loss(node, after)))

    def check_outputs(self) -> None:
        """Record the outputs of the model whose samples depend on the batch size or cannot be tracked.

        The model must have no failing node, because the outputs of other models are not final.
        """
        if self.failing_nodes or self.stops or not self._walk.batch:
            return
        self.lost_nodes |= self._size_dependent_nodes
        for number in self._walk.model.graph.outputs:
            node, marks = self.producer_of(number), self.marks_of(number) or self._no_marks
            if node is None or any(stop.node is node for stop in self.stops):
                continue
            if lost := next((mark for mark in marks if isinstance(mark, LostBatch)), None):
                node = self._find_losing_node(node)
                if isinstance(lost, PaddedBatch):
                    self.stops.append(NonCoreFailure(node, lost.why, None, silent=True, mixes=True))
                elif node.domain or node.op not in LISTED_OPERATORS:  # listed operators have a verdict
                    self.lost_nodes.setdefault(node.path, (node, lost.why))
            elif not self._has_equal_samples(number, marks):
                why = "has an output that depends on the batch size"
                self.stops.append(NonCoreFailure(node, why, None, silent=True, mixes=True))

    def has_unchecked_branch(self) -> bool:
        """Return whether the samples are lost in a branch of an If whose condition is unknown."""
        walk = self._walk
        for node in iter_nodes((walk.model.graph,)):
            if find_control_flow(node) is not ControlFlow.IF:
                continue
            conditions = (walk.elements_of(node.inputs[0]) if node.inputs else None) or walk.all_unknown
            if all(conditions[lane] is not None for lane in walk.judged_lanes):
                continue
            for number in [number for inner in iter_nodes(node.bodies) for number in inner.outputs if number]:
                is_lost = any(isinstance(mark, LostBatch) for mark in self.marks_of(number) or ())
                if is_lost or any(walk.shapes_of(number)[lane] is None for lane in walk.judged_lanes):
                    return True
        return False

    def has_merged_output(self) -> bool:
        """Return whether the batch is a part of an axis of an output whose axis 0 keeps the declared batch size.

        In the original model, axis 0 of such an output may be the batch.
        """
        walk = self._walk
        for number in walk.model.graph.outputs if walk.declared_batch is not None else ():
            lanes = [
                (mark, shape, batch)
                for mark, shape, batch in zip(
                    self.marks_of(number) or self._no_marks, walk.shapes_of(number), self._batches, strict=True
                )
                if isinstance(mark, BatchAxis) and shape and batch != self.declared_batch
            ]
            if lanes and all(
                mark.axis and shape[mark.axis] != batch and shape[0] == self.declared_batch
                for mark, shape, batch in lanes
            ):
                return True
        return False

    def splits_merged_batches(self) -> bool:
        """Return whether the model has no failing node, and a whole axis of each output is the batch."""
        outputs = self._walk.model.graph.outputs
        lanes = [
            (mark, shape, batch)
            for number in outputs
            for mark, shape, batch in zip(
                self.marks_of(number) or self._no_marks, self._walk.shapes_of(number), self._batches, strict=True
            )
            if mark is not None
        ]
        return not (self.failing_nodes or self.stops or self.lost_nodes) and all(
            isinstance(mark, BatchAxis) and shape and shape[mark.axis] == batch for mark, shape, batch in lanes
        )

    def _find_losing_node(self, node: Node) -> Node:
        """Return the first node upstream of a node that loses the batch."""
        while True:
            lost = [
                above
                for tensor in node.used_tensors
                if any(isinstance(mark, LostBatch) for mark in self.marks_of(tensor) or ())
                and (above := self.producer_of(tensor)) is not None
            ]
            if not lost:
                return node
            node = lost[0]

    def _has_equal_samples(self, number: int, marks: LaneMarks) -> bool:
        """Return whether each sample of a tensor is the same at every checked batch size.

        The shapes of the samples are compared. The elements of a tensor without a batch mark are also compared if they
        are known.
        """
        walk, lanes = self._walk, [lane for lane in self._walk.judged_lanes if self._batches[lane]]
        shapes, arrays = [walk.shapes_of(number)[lane] for lane in lanes], walk.values.get(number, walk.all_unknown)
        known, is_unknown = (
            [shape for shape in shapes if shape is not None],
            any(arrays[lane] is None for lane in lanes),
        )
        if len(known) < len(shapes) or len({*map(len, known)}) > 1:
            return True
        mark = next(filter(None, marks), None)
        if mark is None:
            axes = [axis for axis, sizes in enumerate(zip(*known, strict=True)) if len({*sizes}) > 1]
            mark = BatchAxis(axes[0], known[0][axes[0]] // self._batches[lanes[0]]) if axes else None
        if not isinstance(mark, BatchAxis):
            pieces = [arrays[lane] for lane in lanes]
            return is_unknown or _are_equal(pieces)
        samples = {
            (*shape[: mark.axis], shape[mark.axis] / self._batches[lane], *shape[mark.axis + 1 :])
            for lane, shape in zip(lanes, known, strict=True)
        }
        if len(samples) > 1 or len({*filter(None, marks)}) > 1:
            return False
        return is_unknown or _are_equal(
            [
                piece
                for lane, shape in zip(lanes, known, strict=True)
                for piece in _iter_samples(arrays[lane], mark, self._batches[lane], shape)
            ]
        )

    def marks_of(self, tensor: int) -> LaneMarks | None:
        """Return the batch mark of a tensor for each size assignment.

        Returns None if the tensor does not depend on the batch.
        """
        return self._marks.get(tensor)

    def lost_tensor_count(self) -> int:
        """Return the number of tensors with a `LostBatch` mark for some size assignment."""
        return sum(any(isinstance(mark, LostBatch) for mark in marks) for marks in self._marks.values())

    def record_lane_failures(self, failures: Sequence[object]) -> None:
        """Record the size assignments for which a node fails.

        `failures` contains the error for each size assignment, or None.
        """
        self.has_failures = True

    def mark_outputs_lost(self, node: Node, reason: str) -> None:
        """Record the batch as lost in all outputs of a node."""
        for tensor in node.outputs:
            self._store_marks(tensor, self._lost_mark_per_lane(reason))
        self._propagate_failure(node)

    def copy_for_trial(self) -> Self:
        """Return a copy for a trial walk.

        The trial does not change this tracker.
        """
        trial = copy(self)
        for name in self.trial_attributes:
            setattr(trial, name, getattr(self, name).copy())
        return trial

    def keep_first_failures(self, trial: BatchTracker, first_stop: int, first_node: int) -> None:
        """Add the failures that occur only in the first iteration of a loop.

        `trial` is the tracker of the first iteration. The entries of this tracker from the indices `first_stop` and
        `first_node` on are those for all iterations. The added failures have no fix, because a fix for the first
        iteration may not fit later iterations.
        """
        known = {stop.node.path for stop in self.stops[first_stop:]}
        failing = [stop for stop in trial.stops[first_stop:] if stop.node.path not in known and not stop.silent]
        self.stops += [replace(stop, cause=None, fix=None) for stop in failing]
        found = {visit.node.path: verdict for visit, verdict in trial.judged_nodes[first_node:]}
        for index, (visit, verdict) in enumerate(self.judged_nodes[first_node:], first_node):
            first = found.get(visit.node.path, verdict)
            if verdict.verdict is BatchVerdict.UNKNOWN and first.is_failing:
                kept = replace(first, fixes=())
                self.judged_nodes[index] = visit, kept
                self.failing_nodes[visit.node.path] = visit.node, kept

    def loop_marks(self, tensors: Sequence[int]) -> list[LaneMarks]:
        """Return the batch marks of loop-carried tensors."""
        return [self.marks_of(tensor) or self._no_marks for tensor in tensors]

    def lost_marks(self, count: int) -> list[LaneMarks]:
        """Return the marks of `count` tensors with a lost batch, one mark per size assignment."""
        return [self._lost_mark_per_lane("a loop above moves the batch")] * count

    def mark_body_inputs(self, tensors: Sequence[int], marks: Sequence[LaneMarks]) -> None:
        """Set the batch marks of the inputs of a subgraph."""
        for tensor, tensor_marks in zip(tensors, marks, strict=True):
            self._marks.pop(tensor, None)
            self._store_marks(tensor, tensor_marks)

    def mark_scan_input(self, node: Node, tensor: int, inner: int, axis: int) -> None:
        """Set the batch mark of a Scan body input.

        In each iteration, the body input `inner` is a slice of the outer tensor `tensor` along `axis`.
        """
        shapes, marks = self._walk.shapes_of(tensor), self.marks_of(tensor) or self._no_marks
        self.mark_body_inputs(
            [inner],
            [tuple([_mark_without_axis(node, mark, shape, axis) for mark, shape in zip(marks, shapes, strict=True)])],
        )

    def merge_loop_marks(self, marks: Sequence[LaneMarks], tensors: Sequence[int]) -> list[LaneMarks]:
        """Merge the marks of loop-carried tensors with their marks after an iteration."""
        after = self.loop_marks(tensors)
        return [tuple(map(merge_marks, zip(*both, strict=True))) for both in zip(marks, after, strict=True)]

    def iter_repeatable_states(self, node: Node, states: Sequence[int]) -> Iterator[dict[int, int]]:
        """Yield the constant initial states of a loop that can be repeated for each sample.

        Each mapping gives the axis of the samples for each state.
        """
        if self._walk.declared_batch is not None:
            yield from repairs.iter_repeatable_states(node, self._constants, states)

    def repeated_marks(self, axis: int) -> LaneMarks:
        """Return the batch marks of a constant that is repeated for each sample along `axis`."""
        return tuple([BatchAxis(axis, 1) if followed else None for followed in self._tracked_lanes])

    def record_state_fix(self, node: Node, why: str, states: Mapping[int, int]) -> None:
        """Record that a loop fails for the reason `why`, with a fix that repeats its constant initial states.

        `states` contains the axis of the samples in each state.
        """
        inputs = enumerate(node.inputs)
        fix = repairs.build_repeat_fix(*[(index, states[number], 1) for index, number in inputs if number in states])
        self.stops.append(NonCoreFailure(node, why, None, fix=fix))
        self.cause_fixes[node.path] = node, fix

    def _lost_mark_per_lane(self, why: str) -> LaneMarks:
        """Return a `LostBatch` mark for each tracked size assignment."""
        return tuple([LostBatch(why) if followed else None for followed in self._tracked_lanes])

    def _propagate_bodies(self, node: Node) -> None:
        """Set the batch marks of a node's outputs from the outputs of its subgraphs."""
        graphs = find_control_flow(node)
        if node.is_function_call or graphs is ControlFlow.IF:
            lists: list[list[LaneMarks | None]] = [
                [self.marks_of(body.outputs[index]) for body in node.bodies if index < len(body.outputs)]
                for index in range(len(node.outputs))
            ]
            deciding = node.inputs[:1] if graphs is ControlFlow.IF else ()
        elif graphs is not None:
            body, outer = node.bodies[0], 2 if graphs is ControlFlow.LOOP else 0
            lists = [*self._loop_output_marks(node, node.inputs[outer:], body.outputs[outer // 2 :])]
            deciding = (*node.inputs[:outer], *body.outputs[: outer // 2])
        else:
            inner = [tensor for inner_node in iter_nodes(node.bodies) for tensor in inner_node.inputs]
            lists, deciding = [[] for _ in node.outputs], (*node.inputs, *inner)
        decided = any(map(self.marks_of, deciding))
        branches = self._taken_branches(node) if graphs is ControlFlow.IF else None
        for tensor, sources in zip(node.outputs, lists, strict=False):
            if decided:
                self._store_marks(tensor, self._lost_mark_per_lane(f"elements determine what {node.op} runs"))
            elif branches is not None and len(sources) == len(node.bodies):
                by_branch = [marks or self._no_marks for marks in sources]
                self._store_marks(tensor, [by_branch[branch][lane] for lane, branch in enumerate(branches)])
            elif known := [marks for marks in sources if marks]:
                self._store_marks(tensor, [merge_marks(marks) for marks in zip(*known, strict=True)])
        counts = self._walk.values.get(node.inputs[0]) if graphs is ControlFlow.LOOP else branches
        carried = node.outputs[: len(node.inputs) - 2] if graphs is ControlFlow.LOOP else node.outputs
        if counts is not None and not decided and any(map(self.marks_of, carried)):
            self._record_size_dependence(node, counts)

    def _record_size_dependence(self, node: Node, values: Sequence[Any]) -> None:
        """Record a node if the batch size determines the branch or the number of iterations.

        `values` contains the branch or the number of iterations for each size assignment. The samples of the output may
        then depend on the batch size.
        """
        lanes = [lane for lane in self._walk.judged_lanes if self._batches[lane]]
        known = {None if values[lane] is None else int(values[lane]) for lane in lanes}
        if len(known) > 1 and None not in known:
            why = "how often it runs" if find_control_flow(node) is ControlFlow.LOOP else "which branch runs"
            self._size_dependent_nodes[node.path] = node, f"the batch size determines {why}"

    def _taken_branches(self, node: Node) -> list[int] | None:
        """Return the index of the body that an If runs for each size assignment, or None if it is unknown."""
        conditions, names = self._walk.elements_of(node.inputs[0]), [body.name for body in node.bodies]
        if conditions is None or {*names} != {"then_branch", "else_branch"}:
            return None
        if any(condition is None or condition.size != 1 for condition in conditions):
            return None
        return [names.index("then_branch" if condition.item() else "else_branch") for condition in conditions]

    def _loop_output_marks(
        self, node: Node, initial_values: Sequence[int], results: Sequence[int]
    ) -> Iterator[list[LaneMarks | None]]:
        """Yield the batch marks to merge for each output of a loop.

        Loop-carried outputs precede scan outputs.
        """
        count = len(initial_values) - node.attributes.get("num_scan_inputs", 0)
        along = node.attributes.get("scan_output_axes") or (0,) * len(results)
        for index, result in enumerate(results):
            marks = self.marks_of(result)
            if index < count:
                yield [self.marks_of(initial_values[index]), marks]
            elif marks is None or index - count >= len(along):
                yield [marks]
            else:
                lanes = zip(marks, self._walk.shapes_of(result), strict=True)
                yield [tuple([_mark_with_new_axis(mark, shape, along[index - count]) for mark, shape in lanes])]

    def _iter_lane_nodes(self, node: Node, outputs: LaneShapes | None = None) -> Iterator[LaneNode | None]:
        """Yield a `LaneNode` for each size assignment, or None for one that is not tracked.

        `outputs` contains the shape of the only output for each size assignment; None means the shapes that the walk
        computed.
        """
        marks = [self.marks_of(tensor) or self._no_marks for tensor in node.inputs]
        results = [self._walk.shapes_of(tensor) for tensor in node.outputs] if outputs is None else [outputs]
        for lane, is_tracked in enumerate(self._tracked_lanes):
            if is_tracked:
                own = [lanes[lane] for lanes in marks]
                yield self._build_lane_node(node, lane, own, [lanes[lane] for lanes in results])
            else:
                yield None

    def _build_lane_node(
        self, node: Node, lane: int, marks: Sequence[BatchMark], outputs: Sequence[IntTuple | None]
    ) -> LaneNode:
        """Build the `LaneNode` of a node for one size assignment.

        `marks` are the batch marks of its inputs, and `outputs` are its output shapes.
        """
        shapes, unknown, inputs = self._walk.shapes, self._walk.all_unknown, node.inputs
        return LaneNode(
            node.op,
            node.domain,
            node.opset,
            node.attributes,
            self._batches[lane],
            marks,
            [(shapes[tensor] or unknown)[lane] for tensor in inputs],
            outputs,
            partial(self._elements, node, lane),
            tuple([index for index, tensor in enumerate(inputs) if tensor == ABSENT]) if ABSENT in inputs else (),
            partial(self._index_bounds, node, lane),
        )

    def _mark_at_declared_batch(self, node: Node, marks: Sequence[BatchMark]) -> BatchMark:
        """Return the batch mark of a node's first output at the declared batch size.

        `marks` are the batch marks of the node's inputs.
        """
        lane = self._batches.index(self.declared_batch)
        outputs = [self._walk.shapes_of(tensor)[lane] for tensor in node.outputs]
        return output_mark(self._build_lane_node(node, lane, marks, outputs))

    def _elements(self, node: Node, lane: int, input_index: int) -> Any:
        """Return the elements of a node input for one size assignment, or None if unknown."""
        tensor = node.inputs[input_index] if input_index < len(node.inputs) else ABSENT
        is_integer = self._walk.dtypes[tensor] in (INT32, INT64)
        values = self._walk.elements_of(tensor) if is_integer else self._walk.values.get(tensor)
        return None if values is None else values[lane]

    def _index_bounds(self, node: Node, lane: int, input_index: int) -> Any:
        """Return elementwise lower and upper bounds of an integer input, or None if unknown.

        The bounds apply to the size assignment with the index `lane`.
        """
        return self._compute_bounds(node.inputs[input_index], lane, MAX_UPSTREAM_NODES)

    def _compute_bounds(self, tensor: int, lane: int, node_budget: int) -> Any:
        """Return elementwise lower and upper bounds of an integer tensor.

        The bounds are computed from at most `node_budget` upstream nodes, for the size assignment with the index
        `lane`. Returns None if the shape is unknown or large.
        """
        known, shape = (
            (self._walk.elements_of(tensor) or self._walk.all_unknown)[lane],
            self._walk.shapes_of(tensor)[lane],
        )
        if known is not None:
            return known, known
        if shape is None or prod(shape) > MAX_ELEMENTS:
            return None
        maker = self.producer_of(tensor)
        op = maker.op if maker and node_budget and not maker.domain else ""
        if maker and op in INDEX_OUTPUTS:
            size, (output, along) = self._walk.shapes_of(maker.inputs[0])[lane], INDEX_OUTPUTS[op]
            if size is not None and maker.outputs.index(tensor) == output:
                return np.zeros(shape, np.int64), np.full(shape, size[maker.attributes.get("axis", along)] - 1)
        above = maker.inputs if maker and op in INDEX_EVALUATORS else ()
        inner = [self._compute_bounds(operand, lane, (node_budget - 1) // len(above)) for operand in above]
        if maker and inner and None not in inner:
            # bounds at the declared batch size may not broadcast with bounds of fixed operands
            with suppress(ValueError):
                return tuple(
                    [INDEX_EVALUATORS[op](maker.attributes, shape, *operands) for operands in zip(*inner, strict=True)]
                )
        return np.full(shape, -UNBOUNDED), np.full(shape, UNBOUNDED)

    def _has_constant_size(self, node: Node, tensor: int, marks: Sequence[BatchMark]) -> bool:
        """Return whether a batch-dependent output has the same size at every batch size.

        `marks` are the batch marks of the output. The result is False if a mark at a batch size other than the declared
        one is not a `LostBatch`, or is a `SharedSample`. It is False in a loop, which may read the samples one by one.
        """
        if "/body/" in node.path:
            return False
        is_lost = [
            isinstance(marks[lane], LostBatch) and not isinstance(marks[lane], SharedSample)
            for lane in self._other_lanes
        ]
        if not all(is_lost):
            return False
        if not any(isinstance(mark, BatchAxis) for number in node.inputs for mark in self.marks_of(number) or ()):
            return False
        shapes = [self._walk.shapes_of(tensor)[lane] for lane in self._walk.judged_lanes]
        return None not in shapes and len({prod(shape or ()) for shape in shapes}) == 1

    def _confirm_loss(self, node: Node, marks: Sequence[BatchMark]) -> Sequence[BatchMark]:
        """Return marks of `MixedSamples` if a node certainly loses the batch at some batch size.

        Other marks are returned unchanged. `marks` are the batch marks of an output of the node.
        """
        if any(isinstance(mark, LostBatch) for number in node.inputs for mark in self.marks_of(number) or ()):
            return marks
        others = [
            mark
            for mark, size, followed in zip(marks, self._batches, self._tracked_lanes, strict=True)
            if followed and size != self.declared_batch
        ]
        lost = [mark for mark in others if isinstance(mark, LostBatch) and mark.certain]
        if not lost or any(isinstance(mark, SharedSample) for mark in others):
            return marks
        mixed = MixedSamples(lost[0].why)
        return [mixed if followed else None for followed in self._tracked_lanes]

    def _find_dependence_on_batch_size(self, node: Node, marks: Sequence[BatchMark]) -> list[BatchMark] | None:
        """Return marks of `MixedSamples` for an elementwise op with an operand that depends on the batch size.

        `marks` are the batch marks of the output. The operand does not depend on the samples, and its elements for a
        sample are not the same at every batch size. Returns None for other operands. Integer outputs,
        such as indices with an offset for each sample, may depend on the batch size.
        """
        walk, output = self._walk, node.outputs[0]
        places = [(lane, mark) for lane, mark in enumerate(marks) if isinstance(mark, BatchAxis)]
        if not places or walk.dtypes[output] in (INT32, INT64):
            return None
        if self.declared_batch == 1:
            places.append((self._batches.index(1), places[0][1]))
        for number in self._varying_operands(node):
            pieces = [
                piece
                for lane, mark in places
                for piece in _iter_samples(
                    walk.values[number][lane], mark, self._batches[lane], walk.shapes_of(output)[lane]
                )
            ]
            if not _are_equal(pieces):
                return [
                    MixedSamples("depends on the batch size", intended=mark) if isinstance(mark, BatchAxis) else mark
                    for mark in marks
                ]
        return None

    def _varying_operands(self, node: Node) -> list[int]:
        """Return the inputs without a batch mark whose elements are known and may depend on the batch size."""
        values = self._walk.values
        return [
            number
            for number in node.inputs
            if number in values
            and not self.marks_of(number)
            and not is_same_in_all_lanes(values[number])
            and all(values[number][lane] is not None for lane in self._walk.judged_lanes)
        ]

    def _record_constant_size(self, node: Node, tensor: int) -> Sequence[BatchMark]:
        """Record a failure for an output of constant size, and return its batch marks.

        The failure of a Resize includes a fix, and the output shape is then that of the fixed node.
        """
        walk, marks = self._walk, self.marks_of(node.inputs[0]) or self._no_marks
        resize = repairs.find_resize_fix(node, walk, marks, self.declared_batch)
        if resize is None:
            mixed = MixedSamples("has an output of the same size at every batch")
            return self._replace_shared_samples(node, [mixed if followed else None for followed in self._tracked_lanes])
        fix, sizes, shapes = resize
        why = f"keeps the sizes {','.join(map(str, sizes))} at every batch"
        self.stops.append(NonCoreFailure(node, why, None, silent=True, target=sizes, fix=fix))
        self.cause_fixes[node.path] = node, fix
        walk.set_shape(tensor, shapes, walk.dtypes[tensor])
        return marks

    def _replace_shared_samples(self, node: Node, marks: Sequence[BatchMark]) -> Sequence[BatchMark]:
        """Replace `SharedSample` marks by the intended marks, and record a failure.

        Marks are replaced only if the node shares or mixes samples in every tracked size assignment. The failure is
        recorded only if elements of an output are used.
        """
        shared = [mark for mark in marks if isinstance(mark, SharedSample)]
        if not shared or len(shared) < sum(self._tracked_lanes):
            return marks
        is_recorded = bool(self.stops) and self.stops[-1].node is node
        if not is_recorded and any(map(self._are_elements_used, filter(None, node.outputs))):
            if fixed := self._repair_indices(node):
                self.stops.append(NonCoreFailure(node, shared[0].why, None, True, fix=fixed[0]))
                self._walk.set_shape(node.outputs[0], fixed[1], self._walk.dtypes[node.outputs[0]])
                return fixed[2]
            # a model with a free batch dim that runs at every size may pair the samples on purpose
            is_moved = shared[0].why == PAIRS_SAMPLES and self._walk.declared_batch is not None
            causes = [*self._iter_moved_batches(node)] if is_moved else []
            self._record_moved_batches(causes)
            cause = causes[0][0].path if causes else None
            self.stops.append(NonCoreFailure(node, shared[0].why, cause, True, isinstance(shared[0], MixedSamples)))
        return [mark.intended if isinstance(mark, SharedSample) else mark for mark in marks]

    def _repair_indices(self, node: Node) -> tuple[NodeFix, LaneShapes, LaneMarks] | None:
        """Return the fix of a node with hard-coded sample indices or batch sizes, or None.

        Returns the fix, and the output shapes and batch marks of the fixed node.
        """
        mark = repairs.first_batch_axis(self.marks_of(node.inputs[0])) if len(node.inputs) > 1 else None
        if mark is None or self._walk.declared_batch is None:
            return None
        finders = (
            repairs.find_index_fix,
            repairs.find_grid_fix,
            repairs.find_split_fix,
            repairs.find_elements_fix,
            repairs.find_shared_index_fix,
        )
        found = next(filter(None, (find(node, self._constants, mark) for find in finders)), None)
        if found is None:
            return None
        fix, shapes, after = found
        self.cause_fixes[node.path] = node, fix
        return fix, shapes, tuple([after if followed else None for followed in self._tracked_lanes])

    def _are_elements_used(self, tensor: int) -> bool:
        """Return whether some node or model output uses the elements of a tensor.

        A node such as Shape uses only the shape of its input.
        """
        if self._read_tensors is None:
            graph = self._walk.model.graph
            self._read_tensors = {*graph.outputs}
            for node in iter_nodes((graph,)):
                self._read_tensors.update(
                    node.used_tensors if node.bodies else node.inputs[: find_operator(node).element_inputs]
                )
        return tensor in self._read_tensors

    def _store_marks(self, tensor: int, marks: Iterable[BatchMark]) -> None:
        """Store the batch marks of a tensor, one per size assignment.

        Nothing is stored if all marks are None.
        """
        by_lane = tuple(marks)
        if tensor != ABSENT and any(by_lane):
            self._marks[tensor] = by_lane

    def visit_core_node(self, visit: NodeVisit) -> LaneShapes:
        """Check a node with a core op, and return its output shapes after the best fix."""
        return self._record_verdict(visit).outputs

    def _record_verdict(self, visit: NodeVisit) -> NodeVerdict:
        """Check a node with a core op, and record its marks, verdict and failure."""
        node = visit.node
        before = self.marks_of(node.inputs[0]) if node.inputs else None
        reached = len(node.inputs) > 1 and any(map(self.marks_of, node.inputs[1:]))
        key = (visit.answers, before, reached, visit.unknown_reason, visit.problems)
        verdict = self._verdict_cache.get(key)
        if verdict is None:
            verdict = self._verdict_cache[key] = self._build_verdict(visit, before or self._no_marks)
        if node.op in ("Expand", "Reshape") and before is None and not (verdict.fixes or visit.unknown_reason):
            verdict = self._judge_constant_input(visit, verdict)
        self._store_marks(node.outputs[0], verdict.marks)
        is_failing = verdict.is_failing
        if is_failing:
            self.failing_nodes[node.path] = node, verdict
        blocked_by = self._propagate_failure(node, is_failing=is_failing)
        if blocked_by is not None:
            verdict = replace(verdict, blocked_by=blocked_by)
        self.judged_nodes.append((visit, verdict))
        return verdict

    def _judge_constant_input(self, visit: NodeVisit, verdict: NodeVerdict) -> NodeVerdict:
        """Return the verdict on an Expand or Reshape of a constant.

        A failing verdict includes a fix if one is known. A Reshape fails if it divides the constant among the samples.
        """
        node, targets = visit.node, visit.argument_values(visit.core_op.arguments[0].name)
        found = repairs.find_expand_fix(node, self._constants, targets) if verdict.is_failing else None
        if repairs.is_constant_divided(node, self._constants, targets):
            if not verdict.is_failing:
                why = "each sample gets another part of a constant"
                verdict = replace(verdict, verdict=BatchVerdict.SCRAMBLES, is_failing=True, why=why)
            output = visit.outputs[self._batches.index(self.declared_batch)]
            found = repairs.find_divided_constant_fix(node, self._constants, output)
        if found is None:
            return verdict
        fix, outputs, mark = found
        marks = tuple([mark if followed else None for followed in self._tracked_lanes])
        return replace(verdict, fixes=(fix,), outputs=outputs, marks=marks)

    def _build_verdict(self, visit: NodeVisit, input_marks: LaneMarks) -> NodeVerdict:
        """Build the verdict on a node with a core op.

        The verdict depends only on the shapes and the batch marks of the node, so it can be cached, and `blocked_by` is
        not set.
        """
        lanes = self._iter_lane_nodes(visit.node, visit.outputs)
        after = tuple([None if lane is None else output_mark(lane) for lane in lanes])
        runs = self._build_batch_runs(visit, input_marks, after)
        verdict, why = verdicts.judge_runs(runs, self.declared_batch, self._walk.batch)
        if visit.unknown_reason:
            lost = next((mark.why for mark in input_marks if isinstance(mark, LostBatch)), "")
            verdict, why = BatchVerdict.UNKNOWN, visit.unknown_reason if lost in ("", NO_SHAPE) else lost
        is_declared = self._walk.declared_batch is not None
        if verdict is BatchVerdict.SWALLOWS and self.accepts_merged_batches:
            verdict, why = BatchVerdict.SAFE, ""
        is_failing = verdict in FAILING_VERDICTS or (is_declared and verdict is BatchVerdict.SOMETIMES)
        fixes = self._find_fixes(visit, input_marks) if is_failing else []
        outputs = fixes[0].outputs if fixes else visit.outputs
        marks = (
            tuple(map(verdicts.mark_after_fix, input_marks, visit.input, outputs, self._batches)) if fixes else after
        )
        batch_in, batch_out = next(((run.batch_in, run.batch_out) for run in runs[::-1] if run.batch > 1), (None, None))
        return NodeVerdict(
            verdict=verdict,
            is_failing=is_failing,
            why=why,
            outputs=outputs,
            marks=marks,
            fixes=tuple([fixed.fix for fixed in fixes]),
            runs={run.batch: run.outcome for run in runs},
            empty=self._empty_batch_outcome(visit),
            batch_in=batch_in,
            batch_out=batch_out,
            blocked_by=None,
        )

    def _find_fixes(self, visit: NodeVisit, input_marks: LaneMarks) -> list[verdicts.FixWithOutputs]:
        """Return the possible fixes of a failing node with a core op, the best first."""
        argument, walk = visit.core_op.arguments[0], self._walk
        judged = tuple([lane.judged for lane in walk.lanes])
        failure = verdicts.BatchFailure(
            visit.input,
            visit.argument_values(argument.name),
            visit.switch,
            visit.outputs,
            self._batches,
            judged,
            input_marks,
            self.declared_batch,
            walk.batch,
        )

        def evaluate_targets(targets: tuple[Any, ...], switch: bool | None) -> LaneShapes:
            """Return the output shape for each size assignment if the target is `targets`."""
            arguments = [None if target is None else FrozenDict({argument.name: target}) for target in targets]
            return self.core_cache.run_core_op(visit.node, switch, visit.input, arguments).outputs

        return verdicts.find_fixes(failure, visit.core_op.fix_candidates, evaluate_targets)

    def find_repeat_fixes(self, node: Node) -> tuple[NodeFix, tuple[Node, NodeFix] | None] | None:
        """Return a fix that extends constant inputs of a node to the batch size.

        The second element of the result is None, or the upstream Expand or Tile that is fixed instead, with its fix.
        Returns None if no fix is known.
        """
        fix = repairs.find_repeat_fix(node, self._constants)
        return None if fix is None else (fix, next(self._iter_causes(node), None))

    def record_repeat_fix(
        self, node: Node, failures: LaneFailures, fix: NodeFix, cause: tuple[Node, NodeFix] | None
    ) -> None:
        """Record a failing node with the fix from `find_repeat_fixes`.

        The batch is propagated as if the fix were applied. If `cause` is not None, the upstream node in it is fixed
        instead.
        """
        why = next((reason for reason in failures if reason), "it fails")
        self.stops.append(NonCoreFailure(node, why, cause and cause[0].path, fix=None if cause else fix))
        self.cause_fixes[cause[0].path if cause else node.path] = cause or (node, fix)
        repeated = {node.inputs[index]: BatchAxis(axis, block) for index, axis, block in fix.batch_inputs}
        for number, mark in repeated.items():
            self._store_marks(number, [mark if followed else None for followed in self._tracked_lanes])
        self.propagate_marks(node)
        for number in repeated:
            del self._marks[number]

    def record_index_fix(self, node: Node, failures: LaneFailures) -> LaneShapes | None:
        """Record a failing node with hard-coded sample indices or batch sizes.

        Returns the output shapes of the fixed node, or None if no fix is known.
        """
        fixed = self._repair_indices(node)
        if fixed is None:
            return None
        why = next((reason for reason in failures if reason), "it fails")
        self.stops.append(NonCoreFailure(node, why, None, fix=fixed[0]))
        for tensor in node.outputs:
            self._store_marks(tensor, fixed[2])
        return fixed[1]

    def record_failure(self, node: Node, failures: LaneFailures) -> None:
        """Record a failing node without a core op, and its cause.

        The outputs of the node are marked as `LostBatch`.
        """
        why = next((reason for reason in failures if reason), "it fails")
        causes = [*self._iter_causes(node)]
        if not causes:
            causes = [*self._iter_moved_batches(node)]
            self._record_moved_batches(causes)
        differing = repairs.find_differing_constant(node, self._constants)
        if differing is not None and self.declared_batch > 1:
            why += f"; the samples in the constant {truncate(differing)} differ"
        self.stops.append(NonCoreFailure(node, why, causes[0][0].path if causes else None))
        self.cause_fixes.update((cause[0].path, cause) for cause in causes)
        lost = LostBatch(f"{node.name or node.path} ({node.op}) fails above it")
        for tensor in node.outputs:
            self._store_marks(tensor, [lost for _ in self._batches])
        self._propagate_failure(node, is_failing=True)

    def producer_of(self, tensor: int) -> Node | None:
        """Return the node that produces a tensor.

        Returns None for inputs, initializers and absent tensors.
        """
        if self._producers is None:
            self._producers = {
                output: node for node in iter_nodes((self._walk.model.graph,)) for output in node.outputs
            }
        return self._producers.get(tensor) if tensor != ABSENT else None

    def iter_upstream(self, nodes: Iterable[Node], should_follow: Callable[[int], bool] = bool) -> Iterator[Node]:
        """Yield nodes and all their upstream nodes, in breadth-first order.

        `should_follow` takes a tensor number, and returns whether to visit the node that produces the tensor.
        """
        queue, visited = [*nodes], set()
        for node in queue:  # the loop appends to the queue
            if node.path not in visited:
                visited.add(node.path)
                yield node
                makers = [self.producer_of(tensor) for tensor in node.used_tensors if should_follow(tensor)]
                queue += [maker for maker in makers if maker is not None]

    def _build_batch_runs(
        self, visit: NodeVisit, input_marks: LaneMarks, output_marks: LaneMarks
    ) -> list[verdicts.BatchRun]:
        """Return the outcome of a node with a core op at each checked batch size."""
        problems = [problem.message if problem else "" for problem in visit.problems]
        outputs = [None if shape is None else output for shape, output in zip(visit.input, visit.outputs, strict=True)]
        lanes = zip(self._batches, visit.input, outputs, input_marks, output_marks, problems, strict=True)
        return [verdicts.BatchRun(*values) for values, lane in zip(lanes, self._walk.lanes, strict=True) if lane.judged]

    def _empty_batch_outcome(self, visit: NodeVisit) -> str | None:
        """Return the outcome of a node at a batch size of 0, or None if unknown."""
        lane = self._empty_lane
        if lane is None or (visit.outputs[lane] is None and not visit.problems[lane]):
            return None
        return "refused" if visit.problems[lane] else "ok"

    def _propagate_failure(self, node: Node, *, is_failing: bool = False) -> str | None:
        """Propagate the first failing upstream node to the outputs of a node.

        If no upstream node fails and `is_failing` is True, the node itself is propagated. Returns the path of the first
        failing upstream node, or None.
        """
        if not self._failures_above and not is_failing:
            return None
        first = min(
            [self._failures_above[tensor] for tensor in node.used_tensors if tensor in self._failures_above],
            default=None,
        )
        failure = first or ((len(self._failures_above), node.path) if is_failing else None)
        if failure:
            self._failures_above |= dict.fromkeys(node.outputs, failure)
        return first and first[1]

    def _record_moved_batches(self, causes: Iterable[tuple[Node, NodeFix]]) -> None:
        """Record upstream nodes that move the batch, with their fixes."""
        for node, fix in causes:
            self.cause_fixes[node.path] = node, fix
            self.moved_nodes.add(node.path)

    def nodes_below_moved_batches(self) -> set[str]:
        """Return the paths of the nodes downstream of `moved_nodes`.

        The walk did not check them with fixed input shapes.
        """
        tensors, paths = set[int](), set[str]()
        for node in iter_nodes((self._walk.model.graph,)) if self.moved_nodes else ():
            if not tensors.isdisjoint(node.used_tensors):
                paths.add(node.path)
                tensors.update(node.outputs)
            elif node.path in self.moved_nodes:
                tensors.update(node.outputs)
        return paths - self.moved_nodes

    def _iter_moved_batches(self, node: Node) -> Iterator[tuple[Node, NodeFix]]:
        """Yield upstream Reshape nodes that move the batch from axis 0, with their fixes.

        The nearest node is first. The target of such a node begins with a constant 1, and contains a -1 that infers the
        batch.
        """
        judged = {
            visit.node.path: visit for visit, verdict in self.judged_nodes if verdict.verdict is BatchVerdict.SAFE
        }
        above = self.iter_upstream([node], lambda tensor: bool(self.marks_of(tensor)))
        for upstream in islice(above, MAX_UPSTREAM_NODES):
            visit = judged.get(upstream.path)
            before = self.marks_of(upstream.inputs[0]) if visit and upstream.op == "Reshape" else None
            if visit is None or before is None:
                continue
            after = repairs.first_batch_axis(self.marks_of(upstream.outputs[0]))
            target = visit.argument_values(visit.core_op.arguments[0].name)[0]
            if (
                after
                and after.axis
                and target
                and target[0] == 1
                and -1 in target
                and is_same_in_all_lanes(visit.arguments)
            ):
                fixes = self._find_fixes(visit, before)
                yield from (
                    (visit.node, fixed.fix) for fixed in fixes[:1] if self._keeps_batch_first(visit, before, fixed)
                )

    def _keeps_batch_first(self, visit: NodeVisit, marks: LaneMarks, fixed: verdicts.FixWithOutputs) -> bool:
        """Return whether a fix keeps the batch on axis 0.

        Size assignments without a batch axis are ignored.
        """
        after = map(verdicts.mark_after_fix, marks, visit.input, fixed.outputs, self._batches)
        return all(mark is None or mark == BatchAxis(0, 1) for mark in after)

    def _iter_causes(self, node: Node) -> Iterator[tuple[Node, NodeFix]]:
        """Yield the nearest upstream node with a hard-coded batch size, and its fix.

        The node is an Expand or Tile of a tensor that does not depend on the batch. Yields nothing if there is no such
        node.
        """
        rank_and_axis = self._find_unmerged_batch_axis(node)
        if rank_and_axis is None:
            return
        rank, axis = rank_and_axis
        for above in islice(self.iter_upstream([node], lambda tensor: not self.marks_of(tensor)), MAX_UPSTREAM_NODES):
            if not above.domain and above.op in LISTED_OPERATORS and LISTED_OPERATORS[above.op].repeats_elements:
                shapes = self._walk.shapes[above.outputs[0]]
                repeated = axis - rank + len(shapes[0]) if shapes and shapes[0] is not None else -1
                is_declared = shapes and {shape[repeated] for shape in shapes if shape} == {self.declared_batch}
                if repeated >= 0 and is_declared and not self._copies_declared_batch(above, repeated):
                    yield above, verdicts.build_insertion_fix(self._walk.batch, repeated)
                    return

    def _copies_declared_batch(self, node: Node, axis: int) -> bool:
        """Return whether an Expand or Tile copies a dim of the declared batch size.

        `axis` is the axis of this dim in the output.
        """
        before, after = (self._walk.shapes_of(number)[0] or () for number in (node.inputs[0], node.outputs[0]))
        place = axis - len(after) + len(before)
        return self.declared_batch > 1 and place >= 0 and before[place] == self.declared_batch

    def _find_unmerged_batch_axis(self, node: Node) -> tuple[int, int] | None:
        """Return the rank and the batch axis of the first input with a batch axis.

        Inputs whose batch is merged with a faster varying factor are skipped. Returns None if no input remains.
        """
        for tensor in node.inputs:
            shapes = self._walk.shapes[tensor]
            mark = next((mark for mark in self.marks_of(tensor) or () if mark), None)
            if isinstance(mark, BatchAxis) and mark.inner == 1 and shapes and shapes[0] is not None:
                return len(shapes[0]), mark.axis
        return None


class UnfixedNodeTracker(BatchTracker):
    """A tracker that leaves one node and its downstream nodes unfixed.

    The tracker records the first of these nodes that fails with an error. It fixes another node only if this node fails
    with an error, because a node that fails without an error may fail for the same reason as the unfixed node.
    """

    def __init__(self, path: str) -> None:
        """Create a tracker that leaves the node with the path `path` unfixed."""
        super().__init__()
        self.first_failure: Node | None = None
        """The first node that fails with an error: the unfixed node, or a node downstream of it."""
        self.is_certain = True
        """Whether all output shapes between the unfixed node and the first failing node are known."""
        self._path = path
        self._downstream_tensors: set[int] = set()

    def visit_core_node(self, visit: NodeVisit) -> LaneShapes:
        """Check a node with a core op, and return its output shapes.

        The best fix is applied, unless the node must stay unfixed.
        """
        verdict = self._record_verdict(visit)
        if visit.node.path != self._path and not self._is_downstream(visit.node):
            return visit.outputs if verdict.verdict in SILENT_VERDICTS else verdict.outputs
        judged = len(self._walk.judged_lanes)
        self._record_if_downstream(visit.node, visit.outputs[:judged], fails=any(visit.problems[:judged]))
        return visit.outputs

    def propagate_marks(self, node: Node) -> None:
        """Propagate batch marks through a node that has no core op and does not fail."""
        super().propagate_marks(node)
        if self._is_downstream(node):
            for tensor in node.outputs:
                self._record_if_downstream(node, self._walk.shapes_of(tensor)[: len(self._walk.judged_lanes)])

    def record_failure(self, node: Node, failures: LaneFailures) -> None:
        """Record a failing node without a core op, and its cause."""
        if self._is_downstream(node):
            self._record_if_downstream(node, (), fails=True)
        super().record_failure(node, failures)

    def _is_downstream(self, node: Node) -> bool:
        """Return whether a node depends on the unfixed node."""
        return not self._downstream_tensors.isdisjoint(node.used_tensors)

    def _record_if_downstream(self, node: Node, outputs: Iterable[object], *, fails: bool = False) -> None:
        """Record a node if it is downstream of the unfixed node."""
        self._downstream_tensors.update(node.outputs)
        if self.first_failure is None and fails:
            self.first_failure = node
        elif self.first_failure is None and None in outputs:
            self.is_certain = False
