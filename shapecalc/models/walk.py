"""Walk a model: visit its nodes, and compute all shapes for all size assignments.

A *size assignment* (`Lane`) gives a size to each free dim of the model. A node has a *core op* if the package `core`
has an equivalent op for its operator. `core` computes the output shapes of these nodes; ONNX shape inference and the
operator table compute the output shapes of all other nodes. A subgraph is walked when its node is visited. A tracker
checks the nodes with core ops and fixes the failing nodes, and the walk continues with the fixed shapes.

The *carried values* of a loop are the tensors that one iteration passes to the next iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.text import truncate
from shapecalc.models import operators
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import (
    ABSENT,
    BOOL,
    DTYPE_NUMBERS,
    INT64,
    MALFORMED_ERRORS,
    MAX_ELEMENTS,
    Model,
    Node,
    NodeGraph,
)
from shapecalc.models.free_dims import InputChoice
from shapecalc.models.operators import LISTED_OPERATORS, ControlFlow, FirstInputShapeRule, OperatorSpec
from shapecalc.models.propagate import BatchTracker
from shapecalc.models.queries import (
    CoreArguments,
    CoreResults,
    NodeSignature,
    NodeVisit,
    ShapeInference,
    has_target_input,
    read_allowzero,
    read_arguments,
)
from shapecalc.models.walk_state import (
    NO_SHAPE,
    SIZE_FROM_DATA,
    LaneFailures,
    LaneValues,
    WalkState,
    broadcast_shapes,
    is_same_in_all_lanes,
)

StateAxes = dict[int, int]
"""The axis of the samples in each constant initial state of a loop, by tensor number."""
LoopValue = tuple[int, int, int]
"""The tensor numbers of a carried value: the initial value, the input of the body, and the output of the body."""
MAX_TRIAL_DEPTH = 3
"""The maximum nesting depth of trial walks of loop bodies.

The carried shapes of deeper loops are unknown.
"""
MAX_TRIALS = 6
"""The maximum number of trial walks of a loop body.

The trials end when an iteration no longer changes the carried shapes and batch marks.
"""
CHANGED_BY_LOOP = "a loop above changes it"
REPEATED_BY_DATA = "data decides how often a loop above runs"


class Walker:
    """A walk over the nodes of a model.

    Each node is passed to the visitor for its kind of node.
    """

    def __init__(self, walk: WalkState, tracker: BatchTracker) -> None:
        """Create the visitors of a walk.

        The results are stored in `walk` and `tracker`.
        """
        self.walk, self.tracker = walk, tracker
        self.trial_depth = 0
        """The number of enclosing loops whose bodies are currently walked as a trial."""
        self._tried_outputs: list[tuple[Sequence[LaneShapes | None], Sequence[int], LaneFailures | None]] | None = None
        """The outputs of a node that is only tried, each entry with the arguments of a `record_outputs` call.

        It is None while outputs are recorded.
        """
        self._listed, self._others, self._bodies = (
            CoreNodeVisitor(self),
            InferredNodeVisitor(self),
            ControlFlowVisitor(self),
        )

    def visit_graph(self, graph: NodeGraph) -> None:
        """Visit the nodes of a graph or subgraph."""
        walk = self.walk
        if graph is not walk.model.graph:
            walk.add_initializers(graph.initializers)
        for node in graph.nodes:
            before = walk.running_lanes, self.trial_depth, self.tracker
            is_listed = not node.bodies and not node.domain and node.op in LISTED_OPERATORS
            try:
                (self._listed if is_listed else self._bodies if node.bodies else self._others).visit_node(node)
            except MALFORMED_ERRORS:
                walk.running_lanes, self.trial_depth, self.tracker = before
                self._visit_malformed_node(node, is_listed=is_listed)

    def _visit_malformed_node(self, node: Node, *, is_listed: bool) -> None:
        """Record the outputs of a node that violates its ONNX schema as unknown."""
        why = f"{node.op} {node.name or node.path} violates its ONNX schema"
        self.walk.set_outputs_unknown(node, why)
        self.tracker.mark_outputs_lost(node, why)
        if is_listed and node.outputs:
            self._listed.record_malformed_node(node, why)
            self.walk.set_shape(node.outputs[0], None, 0, why)

    def record_outputs(
        self, node: Node, outputs: Sequence[LaneShapes | None], dtypes: Sequence[int], failures: LaneFailures | None
    ) -> None:
        """Record the output shapes and dtypes of a node without a core op.

        `failures` contains the error message for each size assignment, or is None if the node does not fail. The
        outputs are recorded as unknown if the node fails for a checked size assignment.
        """
        walk, why = self.walk, ""
        if self._tried_outputs is not None:
            self._tried_outputs.append((outputs, dtypes, failures))
            return
        if failures is not None:
            failures = walk.mask_skipped_lanes(failures)
            self.tracker.record_lane_failures(failures)
        fails = failures is not None and any(failures[lane] for lane in walk.judged_lanes)
        if fails and failures is not None:
            if self._record_repaired_outputs(node, failures):
                return
            self.tracker.record_failure(node, failures)
            why = f"{NO_SHAPE}: {node.op} {node.name or node.path} above it fails"
        for number, shapes, dtype in zip(node.outputs, outputs, dtypes, strict=False):
            if not why and (shapes is None or walk.has_unknown_value(shapes)):
                why = walk.unknown_reason(node)
            walk.set_shape(number, shapes, dtype, why)
        if not fails:
            self.tracker.propagate_marks(node)

    def _record_repaired_outputs(self, node: Node, failures: LaneFailures) -> bool:
        """Record the outputs of a failing node after its fix.

        The fix repeats the node's constant inputs for each sample, or replaces its indices. Returns whether the node
        has a fix.
        """
        walk, repeats = self.walk, self.tracker.find_repeat_fixes(node)
        if repeats is None:
            fixed = self.tracker.record_index_fix(node, failures)
            for number in node.outputs if fixed is not None else ():
                walk.set_shape(number, fixed, walk.dtypes[node.inputs[0]])
            return fixed is not None
        fix, cause = repeats
        saved = {
            node.inputs[index]: (walk.shapes[node.inputs[index]], walk.values.get(node.inputs[index]))
            for index, _, _ in fix.batch_inputs
        }
        for index, axis, block in fix.batch_inputs:
            lanes = zip(walk.shapes_of(node.inputs[index]), walk.lanes, strict=True)
            walk.shapes[node.inputs[index]] = tuple(
                [shape and (*shape[:axis], block * lane.batch, *shape[axis + 1 :]) for shape, lane in lanes]
            )
            walk.values[node.inputs[index]] = walk.all_unknown
        self._tried_outputs = []
        self._others.record_shapes(node)
        (outputs, dtypes, problems), self._tried_outputs = self._tried_outputs[0], None
        outputs = outputs[: len(node.outputs)]
        judged = [(shapes or walk.all_unknown)[lane] for shapes in outputs for lane in walk.judged_lanes]
        works = not any((problems or walk.all_unknown)[lane] for lane in walk.judged_lanes) and None not in judged
        if works:
            for number, shapes, dtype in zip(node.outputs, outputs, dtypes, strict=False):
                walk.set_shape(number, shapes, dtype)
            self.tracker.record_repeat_fix(node, failures, fix, cause)
        for number, (old_shapes, values) in saved.items():
            walk.shapes[number] = old_shapes
            walk.values.pop(number)
            walk.values |= {} if values is None else {number: values}
        return works


class CoreNodeVisitor:
    """The visitor of nodes that `core` resolves."""

    def __init__(self, walker: Walker) -> None:
        """Create a visitor that shares the state of `walker`."""
        self._walker, self._walk, self._core = walker, walker.walk, walker.tracker.core_cache
        self._arguments: dict[object, tuple[CoreArguments | None, ...]] = {}
        """The arguments of nodes without attributes, by operator and elements of the target."""

    def visit_node(self, node: Node) -> None:
        """Check a node with a core op, and record its output after the best fix."""
        walk, call = self._walk, LISTED_OPERATORS[node.op]
        shapes = walk.shapes_of(node.inputs[0] if node.inputs else 0)
        arguments = self._core_arguments(node)
        switch = read_allowzero(node) if node.attributes else None
        answers = self._core.run_core_op(node, switch, shapes, arguments)
        problems = walk.mask_skipped_lanes(answers.problems)
        if problems.count(None) < len(problems):
            self._walker.tracker.record_lane_failures(problems)
        outputs = answers.outputs
        if call.returns_shape:
            outputs = tuple([None if sizes is None else (len(sizes),) for sizes in outputs])
        if node.outputs:
            unknown = self._unknown_reason(node, shapes, arguments)
            visit = NodeVisit(node, call, shapes, arguments, switch, outputs, problems, unknown, answers)
            self._record_output(visit, self._walker.tracker.visit_core_node(visit))

    def record_malformed_node(self, node: Node, reason: str) -> None:
        """Record the verdict "unknown" on a core node that violates its ONNX schema."""
        unknown = self._walk.all_unknown
        answers = CoreResults(None, unknown, unknown, ())
        self._walker.tracker.visit_core_node(
            NodeVisit(node, LISTED_OPERATORS[node.op], unknown, unknown, None, unknown, unknown, reason, answers)
        )

    def _core_arguments(self, node: Node) -> tuple[CoreArguments | None, ...]:
        """Return the arguments of a node's core op for each size assignment.

        Unknown arguments are None.
        """
        walk = self._walk
        number = node.inputs[1] if len(node.inputs) > 1 and has_target_input(node) else ABSENT
        values = walk.elements_of(number) or walk.all_unknown
        if values is walk.all_unknown or is_same_in_all_lanes(values):
            array = values[0]
            key = (
                None
                if node.attributes or array is None
                else (node.op, node.opset, array.dtype.char, array.shape, array.tobytes())
            )
            known = self._arguments.get(key)
            if known is None:
                known = (read_arguments(node, lambda _: operators.integer_tuple(array)),) * len(walk.lanes)
                if key is not None:
                    self._arguments[key] = known
            return known
        return tuple([read_arguments(node, lambda _, array=array: operators.integer_tuple(array)) for array in values])  # type: ignore[misc]

    def _unknown_reason(self, node: Node, shapes: LaneShapes, arguments: Sequence[CoreArguments | None]) -> str:
        """Return the reason why a node cannot be checked.

        Returns an empty string if it can be checked.
        """
        walk = self._walk
        if walk.running_lanes is not None and not any(walk.running_lanes[lane] for lane in walk.judged_lanes):
            return "it never runs: the If around it takes the other branch"
        if walk.has_unknown_value(shapes):
            return walk.unknown_reasons.get(node.inputs[0] if node.inputs else 0, NO_SHAPE)
        if walk.has_unknown_value(arguments):
            return "external target" if walk.origins.get(node.inputs[1]) == "external" else SIZE_FROM_DATA
        return ""

    def _record_output(self, visit: NodeVisit, fixed_shapes: LaneShapes) -> None:
        """Record the output shape of a node with a core op, and its elements if known."""
        walk, node, call = self._walk, visit.node, visit.core_op
        output, first = node.outputs[0], node.inputs[0] if node.inputs else 0
        is_unfixed = fixed_shapes == visit.outputs
        if call.returns_shape:
            sizes = visit.answers.outputs
            if is_unfixed and sizes != walk.all_unknown:
                walk.set_elements(
                    output, [None if shape is None else np.array(shape, np.int64) for shape in sizes], INT64
                )
            else:
                walk.set_shape(output, fixed_shapes, INT64, walk.unknown_reasons.get(first, NO_SHAPE))
            return
        if is_unfixed and (first in walk.values or first in walk.initializers) and (known := walk.elements_of(first)):
            lanes = zip(known, fixed_shapes, visit.arguments, strict=True)
            arrays = [_output_elements(visit, array, shape, arguments) for array, shape, arguments in lanes]
            if any(array is not None for array in arrays):
                if walk.is_constant(first) and is_same_in_all_lanes(known):
                    walk.origins[output] = "folded"
                walk.set_elements(output, arrays, walk.dtypes[first], fixed_shapes)
                return
        walk.set_shape(
            output,
            fixed_shapes,
            walk.dtypes[first],
            walk.unknown_reasons.get(first, SIZE_FROM_DATA) if None in fixed_shapes else "",
        )


class InferredNodeVisitor:
    """The visitor of nodes that have no core op and no subgraphs.

    The outputs are computed with the operator table or with ONNX shape inference.
    """

    def __init__(self, walker: Walker) -> None:
        """Create a visitor that shares the state of `walker`, with empty caches."""
        self._walker, self._walk = walker, walker.walk
        self._broadcasts: dict[object, tuple[LaneShapes, LaneFailures | None]] = {}
        self._inference: ShapeInference | None = None

    def visit_node(self, node: Node) -> None:
        """Record the output elements of a node if known, and the shapes otherwise."""
        row, walk = operators.find_operator(node), self._walk
        if row.evaluate is not None:
            first = node.inputs[0] if node.inputs else ABSENT
            known = (
                not first
                or first in walk.values
                or first in walk.initializers
                or row.evaluate is operators.element_count
            )
            if known and self._record_elements(node, row):
                self._walker.tracker.propagate_marks(node)
                return
        self.record_shapes(node)

    def record_shapes(self, node: Node) -> None:
        """Record the output shapes of a node according to the shape rule of its operator."""
        spec = operators.find_operator(node)
        walk, inputs, rule = self._walk, node.inputs, spec.shape_rule
        if not inputs:
            self._record_inferred_outputs(node, spec)
        elif isinstance(rule, FirstInputShapeRule):
            self._walker.record_outputs(node, [walk.shapes_of(inputs[0])], [walk.dtypes[inputs[0]]], None)
        elif isinstance(rule, operators.BroadcastShapeRule) and node.opset >= rule.first_opset:
            self._record_broadcast_output(node, rule)
        elif isinstance(rule, operators.ComputedShapeRule):
            lanes = zip(*map(walk.shapes_of, inputs), strict=True)
            outputs = [*zip(*[rule.compute(node.attributes, shapes) for shapes in lanes], strict=True)]
            is_known = None not in outputs[0] and walk.dtypes[inputs[0]] != 0
            if rule.is_shortcut and (not is_known or self._has_invalid_index(node, spec)):
                self._record_inferred_outputs(node, spec)
                return
            failures = None if rule.is_shortcut else self._size_failures(node, spec)
            if failures is not None:
                outputs = [_mask_failing_lanes(shapes, failures) for shapes in outputs]
            dtypes = [walk.dtypes[inputs[rule.typed_input]]] * len(outputs)
            self._walker.record_outputs(node, outputs, dtypes, failures)
        elif not (
            isinstance(rule, operators.InferredShapeRule)
            and rule.compute
            and self._record_constant_shape(node, rule.compute)
        ):
            self._record_inferred_outputs(node, spec)

    def _record_constant_shape(self, node: Node, compute: operators.ConstantShape) -> bool:
        """Record the output shape of a node whose integer inputs are known.

        Returns whether it was recorded.
        """
        walk, data = self._walk, node.inputs[0]
        shapes, dtype = walk.shapes_of(data), walk.dtypes[data]
        if node.opset < operators.FIRST_OPSET_OF_INPUTS or dtype not in operators.PLAIN_DTYPES:
            return False
        arguments: list[IntTuple | None] = []
        for number in node.inputs[1:]:
            kind, values = walk.dtypes[number], walk.elements_of(number) if number else None
            if number and kind == INT64 and values is not None and is_same_in_all_lanes(values) and values[0].ndim == 1:
                arguments.append(tuple(values[0].tolist()))
            elif not number or kind == dtype != INT64:
                arguments.append(None)
            else:
                return False
        if not (arguments and shapes[0] and len(node.outputs) == 1):
            return False
        outputs = [shape and compute(node.attributes, shape, arguments) for shape in shapes]
        if outputs.count(None) != shapes.count(None):
            return False
        self._walker.record_outputs(node, [tuple(outputs)], [dtype], None)
        return True

    def _size_failures(self, node: Node, spec: OperatorSpec) -> LaneFailures | None:
        """Return the error message of the size check for each size assignment.

        Returns None if the node does not fail.
        """
        if spec.size_check is None:
            return None
        walk = self._walk
        lanes = enumerate(zip(*map(walk.shapes_of, node.inputs), strict=True))
        failures = tuple(
            [
                spec.size_check(node, shapes, walk.initializers, partial(self._index_range, node, lane))
                for lane, shapes in lanes
            ]
        )
        return failures if any(failures) else None

    def _has_invalid_index(self, node: Node, spec: OperatorSpec) -> bool:
        """Return whether a Gather has an invalid index for some size assignment."""
        if spec.size_check is not operators.check_indices:
            return False
        walk = self._walk
        lanes = enumerate(zip(*map(walk.shapes_of, node.inputs), strict=True))
        return any(
            operators.check_indices(node, shapes, walk.initializers, partial(self._index_range, node, lane))
            for lane, shapes in lanes
        )

    def _record_elements(self, node: Node, spec: OperatorSpec) -> bool:
        """Evaluate a node and record its outputs.

        Returns whether outputs were recorded.
        """
        walk = self._walk
        if spec.evaluate is operators.constant_elements:
            return self._record_constant(node)
        if spec.evaluate is operators.element_count:
            counts = [
                None if shape is None else np.array(np.prod(shape, dtype=np.int64))
                for shape in walk.shapes_of(node.inputs[0])
            ]
            walk.set_elements(node.outputs[0], counts, INT64)
            return True
        for number in node.inputs:
            if number and number not in walk.values and number not in walk.initializers:
                return False
        inputs = [walk.elements_of(number) if number else () for number in node.inputs]
        if any(lanes is None for lanes in inputs):
            return False
        outputs, failures = self._evaluate_in_lanes(node, spec, [lanes or None for lanes in inputs])
        if failures is not None:
            dtype = walk.dtypes[node.inputs[0]]
            self._walker.record_outputs(
                node, [walk.all_unknown] * len(node.outputs), [dtype] * len(node.outputs), failures
            )
            return True
        if all(arrays is None for arrays in outputs):
            return False
        self._record_output_arrays(node, outputs)
        return True

    def _record_constant(self, node: Node) -> bool:
        """Record the elements of a small Constant, or the shape of a large one.

        Returns whether the output was recorded.
        """
        walk, array = self._walk, operators.constant_elements(node.attributes)
        if array is not None:
            walk.set_elements(node.outputs[0], (array,) * len(walk.lanes), DTYPE_NUMBERS[array.dtype.name])
            walk.origins[node.outputs[0]] = "Constant"
            return True
        proto = node.attributes.get("value")
        if proto is None:
            return False
        walk.set_shape(node.outputs[0], (tuple(proto.dims),) * len(walk.lanes), proto.data_type)
        return True

    def _evaluate_in_lanes(
        self, node: Node, spec: OperatorSpec, inputs: Sequence[LaneValues | None]
    ) -> tuple[list[Any], LaneFailures | None]:
        """Evaluate a node for each size assignment.

        Returns the outputs and the error messages. Unknown outputs are None. The error messages are None if the node
        fails for no size assignment.
        """
        times = 1 if all(lanes is None or is_same_in_all_lanes(lanes) for lanes in inputs) else len(self._walk.lanes)
        outputs: list[Any] = []
        failures: list[str | None] = []
        for lane in range(times):
            arrays = [None if values is None else values[lane] for values in inputs]
            is_unknown = any(array is None and values is not None for array, values in zip(arrays, inputs, strict=True))
            try:
                outputs.append(None if is_unknown else operators.evaluate_node(spec, node.attributes, arrays))
                failures.append(None)
            except IndexError as error:
                outputs.append(None)
                failures.append(str(error))
        copies = len(self._walk.lanes) // times
        return outputs * copies, tuple(failures * copies) if any(failures) else None

    def _record_output_arrays(self, node: Node, outputs: Sequence[Any]) -> None:
        """Record output elements, or output shapes if the elements are unknown."""
        walk = self._walk
        folded = all(walk.is_constant(number) for number in node.inputs if number)
        if any(lane is None for lane in outputs):
            self.record_shapes(node)
        for index, number in enumerate(node.outputs):
            arrays = [None if lane is None or index >= len(lane) else lane[index] for lane in outputs]
            dtype = next((DTYPE_NUMBERS.get(array.dtype.name, 0) for array in arrays if array is not None), 0)
            walk.set_elements(number, arrays, dtype, walk.shapes[number])
            if folded:
                walk.origins[number] = "folded"

    def _record_broadcast_output(self, node: Node, rule: operators.BroadcastShapeRule) -> None:
        """Record the output of an operator that broadcasts its inputs."""
        walk = self._walk
        key = tuple([walk.shapes_of(number) for number in node.inputs])
        result = self._broadcasts.get(key)
        if result is None:
            lanes = [None if None in shapes else broadcast_shapes(shapes) for shapes in zip(*key, strict=True)]
            errors = tuple([lane if isinstance(lane, str) else None for lane in lanes])
            shapes = tuple([None if isinstance(lane, str) else lane for lane in lanes])
            result = self._broadcasts[key] = shapes, errors if any(errors) else None
        output, failures = result
        dtype = BOOL if rule.is_comparison else walk.dtypes[node.inputs[rule.typed_input]]
        self._walker.record_outputs(node, (output,), (dtype,), failures)

    def _record_inferred_outputs(self, node: Node, spec: OperatorSpec) -> None:
        """Record the output shapes from ONNX shape inference.

        Inference is run once for all size assignments if possible, otherwise once per size assignment.
        """
        walk = self._walk
        if self._inference is None:
            self._inference = ShapeInference()
        form = self._inference.find_signature(node)
        if form is None:
            walk.set_outputs_unknown(node, f"custom operator {node.op}")
            self._walker.tracker.propagate_marks(node)
            return
        values = [walk.elements_of(number) if number else None for number in node.inputs]
        outputs: tuple[Sequence[LaneShapes], Sequence[int]] | None = None
        hands_on = isinstance(spec.shape_rule, operators.InferredShapeRule) and spec.shape_rule.copies_dims
        if hands_on and all(lanes is None or is_same_in_all_lanes(lanes) for lanes in values):
            kinds = [(walk.dtypes[number], walk.shapes_of(number)) if number else None for number in node.inputs]
            outputs = self._inference.infer_all_lanes(
                node, form, kinds, tuple([lanes and lanes[0] for lanes in values])
            )
        if outputs is None:
            self._walker.record_outputs(node, *self._infer_each_lane(self._inference, node, spec, form, values))
        else:
            self._walker.record_outputs(node, *outputs, None)

    def _infer_each_lane(
        self,
        inference: ShapeInference,
        node: Node,
        spec: OperatorSpec,
        signature: NodeSignature,
        values: Sequence[LaneValues | None],
    ) -> tuple[Sequence[LaneShapes], Sequence[int], LaneFailures | None]:
        """Run ONNX shape inference once per size assignment.

        Returns the shapes of the outputs, their element types, and the error messages, or None if the node fails for no
        size assignment.
        """
        walk = self._walk
        lanes = []
        for lane in range(len(walk.lanes)):
            kinds = tuple([self._type_in_lane(number, lane) if number else None for number in node.inputs])
            arrays = tuple([None if by_lane is None else by_lane[lane] for by_lane in values])
            sizes = [walk.shapes_of(number)[lane] if number else None for number in node.inputs]
            extremes = partial(self._index_range, node, lane)
            failure = spec.size_check(node, sizes, walk.initializers, extremes) if spec.size_check else None
            lanes.append(failure or inference.infer_lane(node, signature, kinds, arrays))
        shapes, dtypes = [], []
        for index, number in enumerate(node.outputs):
            types = [None if isinstance(kinds, str) else kinds[index] for kinds in lanes]
            shapes.append(tuple([kind[1] if type(kind) is tuple else None for kind in types]))
            dtypes.append(next((kind[0] for kind in types if type(kind) is tuple and kind[0]), 0))
            if any(type(kind) is bytes for kind in types):
                walk.non_tensor_types[number] = tuple([kind if type(kind) is bytes else None for kind in types])
        failures = tuple([kinds if isinstance(kinds, str) else None for kinds in lanes])
        return shapes, dtypes, failures if any(failures) else None  # type: ignore[return-value]  # shapes from inference are integers

    def _index_range(self, node: Node, lane: int, by_columns: bool) -> Sequence[tuple[int, int]]:
        """Return the minimum and maximum of the indices of a node.

        The indices are the second input. Returns one pair for all indices, or, if `by_columns` is True, one pair per
        column of the index tensor. Returns an empty list if the indices are unknown.
        """
        array = (self._walk.elements_of(node.inputs[1]) or self._walk.all_unknown)[lane]
        if array is None or not array.size:
            return ()
        columns = array.reshape(-1, array.shape[-1] if by_columns else 1)
        return [*zip(columns.min(0).tolist(), columns.max(0).tolist(), strict=True)]

    def _type_in_lane(self, number: int, lane: int) -> Any:
        """Return the `TensorType` of a tensor for one size assignment."""
        other = self._walk.non_tensor_types.get(number)
        if other is not None and other[lane] is not None:
            return other[lane]
        return (self._walk.dtypes[number], self._walk.shapes_of(number)[lane])


def _mask_failing_lanes(shapes: LaneShapes, failures: LaneFailures) -> LaneShapes:
    """Replace the shapes by None for the size assignments for which a node fails."""
    return tuple([None if failure else shape for shape, failure in zip(shapes, failures, strict=True)])


class ControlFlowVisitor:
    """The visitor of If, Loop, Scan, and function calls."""

    def __init__(self, walker: Walker) -> None:
        """Create a visitor that shares the state of `walker`."""
        self._walker, self._walk, self._visit_graph = walker, walker.walk, walker.visit_graph
        self._handlers: dict[ControlFlow, Callable[[Node], None]] = {
            ControlFlow.IF: self._walk_if,
            ControlFlow.LOOP: self._walk_loop,
            ControlFlow.SCAN: self._walk_scan,
        }

    def visit_node(self, node: Node) -> None:
        """Walk the subgraphs of a node, and record the outputs of the node."""
        graphs = operators.find_control_flow(node)
        if node.is_function_call:
            body = node.bodies[0]
            self._visit_graph(body)
            for number, inner in zip(node.outputs, body.outputs, strict=False):
                self._copy_tensor(number, inner)
        elif graphs is not None:
            self._handlers[graphs](node)
            if self._has_failed(node):
                return
        else:
            self._walk.set_outputs_unknown(node, f"the subgraphs of operator {node.op} are not walked")
        self._walker.tracker.propagate_marks(node)

    def _has_failed(self, node: Node) -> bool:
        """Return whether the node was just recorded as failing without a fix."""
        return any(stop.node is node and stop.fix is None for stop in self._walker.tracker.stops[-1:])

    def _copy_tensor(self, number: int, inner: int) -> None:
        """Copy the shape, type and elements of the tensor `inner` to the tensor `number`."""
        walk = self._walk
        walk.set_shape(number, walk.shapes[inner], walk.dtypes[inner], walk.unknown_reasons.get(inner, ""))
        if inner in walk.non_tensor_types:
            walk.non_tensor_types[number] = walk.non_tensor_types[inner]
        if (known := walk.elements_of(inner)) and number:
            walk.values[number] = known
            if inner in walk.origins:
                walk.origins[number] = walk.origins[inner]

    def _walk_if(self, node: Node) -> None:
        """Walk the branches of an If, and record its outputs.

        Each branch is walked for the size assignments for which it may run.
        """
        walk, outer_live = self._walk, self._walk.running_lanes
        known = walk.elements_of(node.inputs[0]) or walk.all_unknown
        chosen = [None if array is None or array.size != 1 else bool(array.item()) for array in known]
        bodies = {body.name: body for body in node.bodies}
        branches = [(True, bodies.get("then_branch")), (False, bodies.get("else_branch"))]
        for taken, body in branches:
            if body is not None:
                may_run = [condition in (None, taken) for condition in chosen]
                if not all(may_run) or outer_live is not None:
                    walk.running_lanes = tuple([a and b for a, b in zip(may_run, outer_live or may_run, strict=True)])
                self._visit_graph(body)
                walk.running_lanes = outer_live
        for index, number in enumerate(node.outputs):
            inner = [body.outputs[index] for _, body in branches if body is not None and index < len(body.outputs)]
            self._merge_branches(number, inner, chosen)

    def _merge_branches(self, number: int, inner: Sequence[int], conditions: Sequence[bool | None]) -> None:
        """Record an output of an If from the outputs of its branches.

        For a size assignment with a known condition, the output is the output of the branch that runs. For other size
        assignments, the shape is known only if it is equal in both branches.
        """
        walk = self._walk
        if len(inner) != 2:
            walk.set_shape(number, None, 0, "an If has only one branch")
            return
        then, other = inner
        if all(conditions) or not any(condition in (None, True) for condition in conditions):
            self._copy_tensor(number, then if all(conditions) else other)
            return
        pairs = zip(walk.shapes_of(then), walk.shapes_of(other), conditions, strict=True)
        shapes: LaneShapes = tuple(
            [(a if a == b else None) if taken is None else (a if taken else b) for a, b, taken in pairs]
        )
        walk.set_shape(number, shapes, walk.dtypes[then] or walk.dtypes[other], "the branches of an If above differ")
        values = [walk.elements_of(tensor) or walk.all_unknown for tensor in inner]
        arrays = [None if taken is None else values[0 if taken else 1][lane] for lane, taken in enumerate(conditions)]
        if any(array is not None for array in arrays):
            walk.values[number] = tuple(arrays)

    def _walk_loop(self, node: Node) -> None:
        """Walk the body of a Loop, and record its outputs.

        Inside the body, the loop condition is true.
        """
        walk, body = self._walk, node.bodies[0]
        carried = node.inputs[2:]
        conditional = len(node.inputs) > 1 and node.inputs[1] != ABSENT
        for number, dtype in zip(body.inputs[:2], (INT64, BOOL), strict=False):
            walk.set_shape(number, ((),) * len(walk.lanes), dtype)
        if conditional and len(body.inputs) > 1:
            walk.set_elements(body.inputs[1], (np.array(True),) * len(walk.lanes), BOOL)
        inner, after = body.inputs[2:], body.outputs[1 : 1 + len(carried)]
        at_start = self._iteration_counts(node, body, has_condition=conditional)
        self._walk_to_fixed_point(node, [*zip(carried, inner, after, strict=False)], at_start)
        for number, result in zip(node.outputs, after, strict=False):
            walk.set_shape(number, walk.shapes[result], walk.dtypes[result], CHANGED_BY_LOOP)
        turns = self._iteration_counts(node, body, has_condition=conditional)
        for number, result in zip(node.outputs[len(carried) :], body.outputs[1 + len(carried) :], strict=False):
            self._record_scan_output(number, result, turns, 0)

    def _iteration_counts(self, node: Node, body: NodeGraph, *, has_condition: bool) -> Sequence[int | None]:
        """Return the number of iterations of a Loop for each size assignment.

        An unknown number is None.
        """
        walk = self._walk
        counts = (walk.elements_of(node.inputs[0]) if node.inputs and node.inputs[0] else None) or walk.all_unknown
        if not has_condition or not any(count is None or count.item() > 0 for count in counts):
            return [None if count is None else max(int(count.item()), 0) for count in counts]
        first = walk.elements_of(node.inputs[1]) or walk.all_unknown
        after = walk.elements_of(body.outputs[0]) or walk.all_unknown
        return [
            max(int(count.item()), 0) if count is not None and _is_true(begins) and _is_true(goes_on) else None
            for count, begins, goes_on in zip(counts, first, after, strict=True)
        ]

    def _walk_scan(self, node: Node) -> None:
        """Walk the body of a Scan, and record its outputs.

        The body is walked with one slice of each scan input.
        """
        walk, body = self._walk, node.bodies[0]
        cut = node.attributes.get("num_scan_inputs", 0)
        states = len(node.inputs) - cut
        axes = node.attributes.get("scan_input_axes") or (0,) * min(cut, len(node.inputs))
        if node.opset < 9 or not 0 < cut <= len(node.inputs) or len(axes) != cut:
            walk.set_outputs_unknown(node, "a Scan of an old kind")
            return
        turns: list[int | None] = [None] * len(walk.lanes)
        for number, inner, axis in zip(node.inputs[states:], body.inputs[states:], axes, strict=False):
            shapes = walk.shapes_of(number)
            cuts = [_remove_axis(shape, axis) for shape in shapes]
            turns = [size if turn is None else turn for turn, (size, _) in zip(turns, cuts, strict=True)]
            walk.set_shape(inner, tuple([shape for _, shape in cuts]), walk.dtypes[number])
            self._walker.tracker.mark_scan_input(node, number, inner, axis)
        self._walk_to_fixed_point(node, [*zip(node.inputs[:states], body.inputs, body.outputs, strict=False)], turns)
        if self._has_failed(node):
            return
        for number, result in zip(node.outputs[:states], body.outputs, strict=False):
            walk.set_shape(number, walk.shapes[result], walk.dtypes[result], CHANGED_BY_LOOP)
        along = node.attributes.get("scan_output_axes") or (0,) * len(node.outputs)
        for number, result, axis in zip(node.outputs[states:], body.outputs[states:], along, strict=False):
            self._record_scan_output(number, result, turns, axis)

    def _walk_to_fixed_point(
        self, node: Node, loop_values: Sequence[LoopValue], iteration_counts: Sequence[int | None]
    ) -> None:
        """Walk the body of a loop until its carried shapes and marks hold in every iteration.

        The body is walked in trials. After each trial, a carried shape that the body changed becomes unknown, and the
        marks before and after the body are merged. The trials end when a trial changes nothing. The failures of the
        first iteration are kept, unless `iteration_counts` are all 0.
        """
        walk, walker, first = self._walk, self._walker, [outer for outer, _, _ in loop_values]
        body, (shapes, marks) = node.bodies[0], self._repair_states(node, loop_values)
        first_iteration: BatchTracker | None = None
        for _ in range(MAX_TRIALS if walker.trial_depth < MAX_TRIAL_DEPTH else 0):
            *stable, trial = self._walk_trial(body, loop_values, shapes, marks)
            if first_iteration is None and self._record_changed_states(node, loop_values, shapes):
                return
            first_iteration = first_iteration or trial
            if stable == [shapes, marks]:
                break
            shapes, marks = stable
        else:
            shapes, marks = [walk.all_unknown] * len(first), walker.tracker.lost_marks(len(first))
        known_stops, known_nodes = len(walker.tracker.stops), len(walker.tracker.judged_nodes)
        self._walk_body(body, loop_values, shapes, marks)
        if first_iteration is not None and any(count != 0 for count in iteration_counts):
            walker.tracker.keep_first_failures(first_iteration, known_stops, known_nodes)

    def _record_changed_states(
        self, node: Node, loop_values: Sequence[LoopValue], shapes: Sequence[LaneShapes]
    ) -> bool:
        """Record a failure of a Scan whose first iteration changes the shape of a state.

        `shapes` are the shapes before the iteration. Returns whether a checked size assignment fails. Source: ONNX
        Runtime, which rejects such a state in a Scan but not in a Loop.
        """
        walk = self._walk
        failures = self._find_changed_states(node, loop_values, shapes)
        if not any(failures):
            return False
        failures = walk.mask_skipped_lanes(failures)
        self._walker.tracker.record_lane_failures(failures)
        if not any(failures[lane] for lane in walk.judged_lanes):
            return False
        walk.set_outputs_unknown(node, f"{NO_SHAPE}: {node.op} {node.name or node.path} above it fails")
        self._walker.tracker.record_failure(node, failures)
        return True

    def _find_changed_states(
        self, node: Node, loop_values: Sequence[LoopValue], shapes: Sequence[LaneShapes]
    ) -> LaneFailures:
        """Return the error message for each size assignment in which an iteration changes a state's shape.

        The message is None for other size assignments. `shapes` are the shapes before the current iteration of a Scan.
        """
        failures: list[str | None] = [None] * len(self._walk.lanes)
        for (_, inner, result), before in zip(loop_values, shapes, strict=True):
            for lane, (old, new) in enumerate(zip(before, self._walk.shapes_of(result), strict=True)):
                if old is not None and new is not None and old != new and node.op == "Scan":
                    name, sizes = truncate(self._walk.model.names[inner]), [",".join(map(str, s)) for s in (old, new)]
                    failures[lane] = failures[lane] or f"the state {name} is {sizes[0]}, and becomes {sizes[1]}"
        return tuple(failures)

    def _repair_states(self, node: Node, loop_values: Sequence[LoopValue]) -> tuple[list[LaneShapes], list[Any]]:
        """Return the initial shapes and marks of carried values after a fix.

        The fix repeats constant states with the declared batch size for each sample. It is applied if the first
        iteration fails otherwise, and if the iteration then keeps the shapes and marks and does not fail. States that
        need no repetition are not repeated. The loop is recorded as a failing node with this fix.
        """
        tracker, first = self._walker.tracker, [outer for outer, _, _ in loop_values]
        shapes, marks = [self._walk.shapes_of(number) for number in first], tracker.loop_marks(first)
        choices = [*tracker.iter_repeatable_states(node, first)] if self._walker.trial_depth < MAX_TRIAL_DEPTH else []
        known = len(tracker.stops)
        trial = self._walk_trial(node.bodies[0], loop_values, shapes, marks)[2] if choices else None
        reasons = [stop.why for stop in trial.stops[known:] if not stop.silent] if trial else []
        reasons += filter(None, self._find_changed_states(node, loop_values, shapes) if trial else ())

        def repeat_states(states: StateAxes) -> tuple[list[LaneShapes], list[Any]] | None:
            """Return the shapes and marks with repeated states.

            Returns None if an iteration fails or changes them.
            """
            repeated = (
                [self._repeat_shape(number, states.get(number)) for number in first],
                [
                    tracker.repeated_marks(states[number]) if number in states else own
                    for number, own in zip(first, marks, strict=True)
                ],
            )
            *stable, trial = self._walk_trial(node.bodies[0], loop_values, *repeated)
            return repeated if stable == [*repeated] and len(trial.stops) == known else None

        for states in choices if reasons else ():
            repaired = repeat_states(states)
            for number in list(states) if repaired and len(states) > 1 else ():
                others = {state: axis for state, axis in states.items() if state != number}
                if others and (fewer := repeat_states(others)):
                    states, repaired = others, fewer
            if repaired:
                tracker.record_state_fix(node, reasons[0], states)
                return repaired
        return shapes, marks

    def _repeat_shape(self, number: int, axis: int | None) -> LaneShapes:
        """Return the shape of a tensor after its axis `axis` is given the batch size.

        The shape is unchanged if `axis` is None.
        """
        lanes = zip(self._walk.shapes_of(number), self._walk.lanes, strict=True)
        return tuple(
            [
                shape if shape is None or axis is None else (*shape[:axis], lane.batch, *shape[axis + 1 :])
                for shape, lane in lanes
            ]
        )

    def _walk_trial(
        self, body: NodeGraph, loop_values: Sequence[LoopValue], shapes: list[LaneShapes], marks: list[Any]
    ) -> tuple[list[LaneShapes], list[Any], BatchTracker]:
        """Walk a loop body as a trial, which does not change the tracker.

        Returns the carried shapes and batch marks for the next trial, and the tracker of the trial. A carried shape
        that the body changes becomes unknown. The batch marks before and after the body are merged.
        """
        walk, walker, judge, count = self._walk, self._walker, self._walker.tracker, len(self._walk.values)
        walker.tracker = trial = judge.copy_for_trial()
        walker.trial_depth += 1
        self._walk_body(body, loop_values, shapes, marks)
        walker.trial_depth -= 1
        walker.tracker = judge
        for number in [*walk.values][count:]:
            del walk.values[number]
        after = [result for _, _, result in loop_values]
        common = [
            tuple([a if a == b else None for a, b in zip(before, walk.shapes_of(result), strict=True)])
            for before, result in zip(shapes, after, strict=True)
        ]
        return common, trial.merge_loop_marks(marks, after), trial

    def _walk_body(
        self, body: NodeGraph, loop_values: Sequence[LoopValue], shapes: Sequence[LaneShapes], marks: Sequence[Any]
    ) -> None:
        """Walk a loop body with the given shapes and batch marks of carried values."""
        walk = self._walk
        for (outer, inner, _), inner_shapes in zip(loop_values, shapes, strict=True):
            walk.set_shape(inner, inner_shapes, walk.dtypes[outer], CHANGED_BY_LOOP)
        self._walker.tracker.mark_body_inputs([inner for _, inner, _ in loop_values], marks)
        self._visit_graph(body)

    def _record_scan_output(self, number: int, result: int, counts: Sequence[int | None], axis: int) -> None:
        """Record a scan output of a loop.

        The output stacks the results of the iterations. `result` is the output of the body, `axis` the new axis, and
        `counts` the number of iterations for each size assignment.
        """
        walk = self._walk
        shapes = []
        for shape, turn in zip(walk.shapes_of(result), counts, strict=True):
            index = axis if shape is None or axis >= 0 else axis + len(shape) + 1
            shapes.append(None if shape is None or turn is None else (*shape[:index], turn, *shape[index:]))
        is_unknown = walk.has_unknown_value(walk.shapes_of(result))
        reason = walk.unknown_reasons.get(result, CHANGED_BY_LOOP) if is_unknown else REPEATED_BY_DATA
        walk.set_shape(number, tuple(shapes), walk.dtypes[result], reason)


def walk_model(model: Model, choice: InputChoice, tracker: BatchTracker) -> WalkState:
    """Walk a model with the chosen input shapes and size assignments.

    During the walk, `tracker` checks and fixes the nodes with core ops.
    """
    walk = WalkState(model, choice)
    tracker.start_walk(walk)
    Walker(walk, tracker).visit_graph(model.graph)
    tracker.check_outputs()
    return walk


def _output_elements(visit: NodeVisit, array: Any, shape: IntTuple | None, arguments: CoreArguments | None) -> Any:
    """Compute the output elements of a node with a core op.

    `array` contains the elements of the input, and `shape` is the output shape. Returns None if the elements are
    unknown or too many.
    """
    if array is None or shape is None or arguments is None or visit.core_op.elements is None:
        return None
    if np.prod(shape, dtype=object) > MAX_ELEMENTS:
        return None
    return visit.core_op.elements(array, shape, arguments)


def _is_true(array: Any) -> bool:
    """Return whether an array has exactly one element, which is true."""
    return array is not None and array.size == 1 and bool(array.item())


def _remove_axis(shape: IntTuple | None, axis: int) -> tuple[int | None, IntTuple | None]:
    """Remove an axis from a shape.

    Returns the size of the axis and the new shape.
    """
    if shape is None or not -len(shape) <= axis < len(shape):
        return None, None
    return shape[axis], (*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :])
