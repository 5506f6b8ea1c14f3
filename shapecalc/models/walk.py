"""Walk a model: visit its nodes in order, and compute every shape in all lanes.

Core resolves the listed nodes; ONNX shape inference and the table of operators give the others. Subgraphs are walked
where they run. A tracker judges the listed nodes and fixes the failing ones, so the walk continues with the fixed
shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from shapecalc.models import operators
from shapecalc.models.answers import Answers, Arguments, Form, Inference, Visit, arguments_of, reads_argument, switch_of
from shapecalc.models.batch_axis import Shapes, Sizes
from shapecalc.models.file import ABSENT, BOOL, INT64, MOST_ELEMENTS, NUMBERS, UNFIT, Body, Model, Node
from shapecalc.models.free_dims import InputChoice
from shapecalc.models.lanes import FROM_DATA, NO_SHAPE, Failures, Values, Walk, broadcast, same_in_all
from shapecalc.models.operators import LISTED, AsFirst, Graphs, Operator
from shapecalc.models.propagate import Judge

Carried = tuple[int, int, int]
"""A loop-carried value: its initial tensor, the body's input, and the body's output."""
MOST_DRY = 3
"""The deepest loop whose body is walked in trials; deeper loops are assumed to change all they carry."""
MOST_TRIALS = 6
"""The largest number of trials until the carried values of a loop are stable."""
CHANGED = "a loop above changes it"


class Walker:
    """A walk in progress, with the tracker that follows it."""

    def __init__(self, walk: Walk, judge: Judge) -> None:
        """Start before the first node."""
        self.walk, self.judge = walk, judge
        self.dry = 0
        """How many enclosing loops are walked as a trial."""
        self._listed, self._others, self._bodies = ListedNodes(self), OtherNodes(self), Bodies(self)

    def pass_body(self, body: Body) -> None:
        """Visit the nodes of a graph."""
        walk = self.walk
        if body is not walk.model.graph:
            walk.fill(body.constants)
        for node in body.nodes:
            before = walk.live, self.dry, self.judge
            is_listed = not node.bodies and not node.domain and node.op in LISTED
            try:
                (self._listed if is_listed else self._bodies if node.bodies else self._others).pass_node(node)
            except UNFIT:
                walk.live, self.dry, self.judge = before
                self._pass_unfit(node, is_listed=is_listed)

    def _pass_unfit(self, node: Node, *, is_listed: bool) -> None:
        """Record a node that violates its ONNX schema; its outputs are unknown."""
        why = f"{node.op} {node.name or node.path} is not written as ONNX describes it"
        self.walk.put_unknown(node, why)
        self.judge.spoil(node, why)
        if is_listed and node.outputs:
            self._listed.judge_unfit(node, why)
            self.walk.put(node.outputs[0], None, 0, why)

    def settle(
        self, node: Node, outputs: Sequence[Shapes | None], dtypes: Sequence[int], failures: Failures | None
    ) -> None:
        """Record the outputs of an unlisted node; unknown if it fails in a judged lane."""
        walk, why = self.walk, ""
        if failures is not None:
            failures = walk.alive(failures)
        fails = failures is not None and any(failures[lane] for lane in walk.judged)
        if fails and failures is not None:
            self.judge.stop(node, failures)
            why = f"{NO_SHAPE}: {node.op} {node.name or node.path} above it fails"
        for number, shapes, dtype in zip(node.outputs, outputs, dtypes, strict=False):
            if not why and (shapes is None or walk.lacks(shapes)):
                why = walk.why_unknown(node)
            walk.put(number, shapes, dtype, why)
        if not fails:
            self.judge.carry(node)


class ListedNodes:
    """The visitor of listed nodes, which core resolves."""

    def __init__(self, walker: Walker) -> None:
        """Share the state and the core queries of a walker."""
        self._walker, self._walk, self._core = walker, walker.walk, walker.judge.core

    def pass_node(self, node: Node) -> None:
        """Judge a node, and record its output after the best fix."""
        walk, call = self._walk, LISTED[node.op]
        shapes = walk.shapes_of(node.inputs[0] if node.inputs else 0)
        arguments = self._arguments_in_all(node)
        switch = switch_of(node) if node.attributes else None
        answers = self._core.ask(node, switch, shapes, arguments)
        problems = walk.alive(answers.problems)
        outputs = answers.outputs
        if call.gives_sizes:
            outputs = tuple([None if sizes is None else (len(sizes),) for sizes in outputs])
        if node.outputs:
            unknown = self._why_unknown(node, shapes, arguments)
            visit = Visit(node, call, shapes, arguments, switch, outputs, problems, unknown, answers)
            self._put(visit, self._walker.judge.judge(visit))

    def judge_unfit(self, node: Node, why: str) -> None:
        """Judge a node whose arguments are malformed."""
        unknown = self._walk.unknown
        answers = Answers(None, unknown, unknown, ())
        self._walker.judge.judge(Visit(node, LISTED[node.op], unknown, unknown, None, unknown, unknown, why, answers))

    def _arguments_in_all(self, node: Node) -> tuple[Arguments | None, ...]:
        """Return core's arguments in each lane."""
        walk = self._walk
        number = node.inputs[1] if len(node.inputs) > 1 and reads_argument(node) else ABSENT
        values = walk.known(number) or walk.unknown
        if values is walk.unknown or same_in_all(values):
            return (arguments_of(node, lambda _: operators.vector(values[0])),) * len(walk.lanes)
        return tuple([arguments_of(node, lambda _, array=array: operators.vector(array)) for array in values])  # type: ignore[misc]

    def _why_unknown(self, node: Node, shapes: Shapes, arguments: Sequence[Arguments | None]) -> str:
        """Return why a node cannot be judged; empty if it can."""
        walk = self._walk
        if walk.live is not None and not any(walk.live[lane] for lane in walk.judged):
            return "it never runs: the If around it takes the other branch"
        if walk.lacks(shapes):
            return walk.whys.get(node.inputs[0] if node.inputs else 0, NO_SHAPE)
        if walk.lacks(arguments):
            return "external target" if walk.origins.get(node.inputs[1]) == "external" else FROM_DATA
        return ""

    def _put(self, visit: Visit, fixed: Shapes) -> None:
        """Record the output, with its elements if those of the input are known."""
        walk, node, call = self._walk, visit.node, visit.call
        output, first = node.outputs[0], node.inputs[0] if node.inputs else 0
        is_unfixed = fixed == visit.outputs
        if call.gives_sizes:
            sizes = visit.answers.outputs
            if is_unfixed and sizes != walk.unknown:
                walk.put_values(
                    output, [None if shape is None else np.array(shape, np.int64) for shape in sizes], INT64
                )
            else:
                walk.put(output, fixed, INT64, walk.whys.get(first, NO_SHAPE))
            return
        if is_unfixed and (first in walk.values or first in walk.constants) and (known := walk.known(first)):
            lanes = zip(known, fixed, visit.arguments, strict=True)
            arrays = [_elements(visit, array, shape, arguments) for array, shape, arguments in lanes]
            if any(array is not None for array in arrays):
                if walk.is_written(first) and same_in_all(known):
                    walk.origins[output] = "folded"
                walk.put_values(output, arrays, walk.dtypes[first], fixed)
                return
        walk.put(output, fixed, walk.dtypes[first], walk.whys.get(first, FROM_DATA) if None in fixed else "")


class OtherNodes:
    """The visitor of unlisted nodes without subgraphs."""

    def __init__(self, walker: Walker) -> None:
        """Share the state of a walker; the caches are empty."""
        self._walker, self._walk = walker, walker.walk
        self._broadcasts: dict[object, tuple[Shapes, Failures | None]] = {}
        self._inference: Inference | None = None

    def pass_node(self, node: Node) -> None:
        """Record the outputs of a node."""
        row, walk = operators.operator_of(node), self._walk
        if row.value is not None:
            first = node.inputs[0] if node.inputs else ABSENT
            known = not first or first in walk.values or first in walk.constants or row.value is operators.count
            if known and self._put_elements(node, row):
                self._walker.judge.carry(node)
                return
        self._put_shapes(node, row)

    def _put_shapes(self, node: Node, row: Operator) -> None:
        """Record the output shapes of a node."""
        walk, inputs, rule = self._walk, node.inputs, row.shape
        if not inputs:
            self._infer(node, row)
        elif isinstance(rule, AsFirst):
            self._walker.settle(node, [walk.shapes_of(inputs[0])], [walk.dtypes[inputs[0]]], None)
        elif isinstance(rule, operators.Broadcast) and node.opset >= rule.since:
            self._broadcast(node, rule)
        elif isinstance(rule, operators.Given):
            lanes = zip(*map(walk.shapes_of, inputs), strict=True)
            outputs = [*zip(*[rule.shapes(node.attributes, shapes) for shapes in lanes], strict=True)]
            self._walker.settle(node, outputs, [walk.dtypes[inputs[0]]] * len(outputs), None)
        else:
            self._infer(node, row)

    def _put_elements(self, node: Node, row: Operator) -> bool:
        """Record the output elements of a node; return whether any are known."""
        walk = self._walk
        if row.value is operators.constant:
            return self._put_constant(node)
        if row.value is operators.count:
            counts = [
                None if shape is None else np.array(np.prod(shape, dtype=np.int64))
                for shape in walk.shapes_of(node.inputs[0])
            ]
            walk.put_values(node.outputs[0], counts, INT64)
            return True
        for number in node.inputs:
            if number and number not in walk.values and number not in walk.constants:
                return False
        inputs = [walk.known(number) if number else () for number in node.inputs]
        if any(lanes is None for lanes in inputs):
            return False
        outputs, failures = self._computed(node, row, [lanes or None for lanes in inputs])
        if failures is not None:
            dtype = walk.dtypes[node.inputs[0]]
            self._walker.settle(node, [walk.unknown] * len(node.outputs), [dtype] * len(node.outputs), failures)
            return True
        if all(arrays is None for arrays in outputs):
            return False
        self._put_arrays(node, row, outputs)
        return True

    def _put_constant(self, node: Node) -> bool:
        """Record a Constant: its elements if they are few, otherwise its shape and type."""
        walk, array = self._walk, operators.constant(node.attributes)
        if array is not None:
            walk.put_values(node.outputs[0], (array,) * len(walk.lanes), NUMBERS[array.dtype.name])
            walk.origins[node.outputs[0]] = "Constant"
            return True
        proto = node.attributes.get("value")
        if proto is None:
            return False
        walk.put(node.outputs[0], (tuple(proto.dims),) * len(walk.lanes), proto.data_type)
        return True

    def _computed(
        self, node: Node, row: Operator, inputs: Sequence[Values | None]
    ) -> tuple[list[Any], Failures | None]:
        """Return the outputs in each lane (None if unknown), and the failures if any."""
        times = 1 if all(lanes is None or same_in_all(lanes) for lanes in inputs) else len(self._walk.lanes)
        outputs: list[Any] = []
        failures: list[str | None] = []
        for lane in range(times):
            arrays = [None if values is None else values[lane] for values in inputs]
            is_unknown = any(array is None and values is not None for array, values in zip(arrays, inputs, strict=True))
            try:
                outputs.append(None if is_unknown else operators.value_of(row, node.attributes, arrays))
                failures.append(None)
            except IndexError as error:
                outputs.append(None)
                failures.append(str(error))
        copies = len(self._walk.lanes) // times
        return outputs * copies, tuple(failures * copies) if any(failures) else None

    def _put_arrays(self, node: Node, row: Operator, outputs: Sequence[Any]) -> None:
        """Record output elements, and output shapes for lanes without elements."""
        walk = self._walk
        folded = all(walk.is_written(number) for number in node.inputs if number)
        if any(lane is None for lane in outputs):
            self._put_shapes(node, row)
        for index, number in enumerate(node.outputs):
            arrays = [None if lane is None or index >= len(lane) else lane[index] for lane in outputs]
            dtype = next((NUMBERS.get(array.dtype.name, 0) for array in arrays if array is not None), 0)
            walk.put_values(number, arrays, dtype, walk.shapes[number])
            if folded:
                walk.origins[number] = "folded"

    def _broadcast(self, node: Node, rule: operators.Broadcast) -> None:
        """Record the output of an operator that broadcasts its inputs."""
        walk = self._walk
        key = tuple([walk.shapes_of(number) for number in node.inputs])
        result = self._broadcasts.get(key)
        if result is None:
            lanes = [None if None in shapes else broadcast(shapes) for shapes in zip(*key, strict=True)]
            errors = tuple([lane if isinstance(lane, str) else None for lane in lanes])
            shapes = tuple([None if isinstance(lane, str) else lane for lane in lanes])
            result = self._broadcasts[key] = shapes, errors if any(errors) else None
        output, failures = result
        dtype = BOOL if rule.compares else walk.dtypes[node.inputs[-1]]
        self._walker.settle(node, (output,), (dtype,), failures)

    def _infer(self, node: Node, row: Operator) -> None:
        """Record the outputs that ONNX infers.

        It is queried once for all lanes if possible, otherwise once per lane.
        """
        walk = self._walk
        if self._inference is None:
            self._inference = Inference()
        form = self._inference.form(node)
        if form is None:
            walk.put_unknown(node, f"custom operator {node.op}")
            self._walker.judge.carry(node)
            return
        values = [walk.known(number) if number else None for number in node.inputs]
        outputs: tuple[Sequence[Shapes], Sequence[int]] | None = None
        hands_on = isinstance(row.shape, operators.Inferred) and row.shape.hands_on
        if hands_on and all(lanes is None or same_in_all(lanes) for lanes in values):
            kinds = [(walk.dtypes[number], walk.shapes_of(number)) if number else None for number in node.inputs]
            outputs = self._inference.in_all(node, form, kinds, tuple([lanes and lanes[0] for lanes in values]))
        if outputs is None:
            self._walker.settle(node, *self._in_each(self._inference, node, row, form, values))
        else:
            self._walker.settle(node, *outputs, None)

    def _in_each(
        self, inference: Inference, node: Node, row: Operator, form: Form, values: Sequence[Values | None]
    ) -> tuple[Sequence[Shapes], Sequence[int], Failures | None]:
        """Return the outputs that ONNX infers with one query per lane."""
        walk = self._walk
        lanes = []
        for lane in range(len(walk.lanes)):
            kinds = tuple([self._kind(number, lane) if number else None for number in node.inputs])
            arrays = tuple([None if by_lane is None else by_lane[lane] for by_lane in values])
            sizes = [walk.shapes_of(number)[lane] if number else None for number in node.inputs]
            extremes = partial(self._extremes, node, lane)
            failure = row.alike(node, sizes, walk.constants, extremes) if row.alike else None
            lanes.append(failure or inference.outputs(node, form, kinds, arrays))
        shapes, dtypes = [], []
        for index, number in enumerate(node.outputs):
            types = [None if isinstance(kinds, str) else kinds[index] for kinds in lanes]
            shapes.append(tuple([kind[1] if type(kind) is tuple else None for kind in types]))
            dtypes.append(next((kind[0] for kind in types if type(kind) is tuple and kind[0]), 0))
            if any(type(kind) is bytes for kind in types):
                walk.others[number] = tuple([kind if type(kind) is bytes else None for kind in types])
        failures = tuple([kinds if isinstance(kinds, str) else None for kinds in lanes])
        return shapes, dtypes, failures if any(failures) else None  # type: ignore[return-value]  # shapes from inference are integers

    def _extremes(self, node: Node, lane: int, by_columns: bool) -> Sequence[tuple[int, int]]:
        """Return the minimum and maximum of a node's indices in a lane; empty if unknown."""
        array = (self._walk.known(node.inputs[1]) or self._walk.unknown)[lane]
        if array is None or not array.size:
            return ()
        columns = array.reshape(-1, array.shape[-1] if by_columns else 1)
        return [*zip(columns.min(0).tolist(), columns.max(0).tolist(), strict=True)]

    def _kind(self, number: int, lane: int) -> Any:
        """Return the type of a tensor in a lane."""
        other = self._walk.others.get(number)
        if other is not None and other[lane] is not None:
            return other[lane]
        return (self._walk.dtypes[number], self._walk.shapes_of(number)[lane])


class Bodies:
    """The visitor of nodes with subgraphs and of function calls."""

    def __init__(self, walker: Walker) -> None:
        """Share the state of a walker."""
        self._walker, self._walk, self._pass = walker, walker.walk, walker.pass_body
        self._passes: dict[Graphs, Callable[[Node], None]] = {
            Graphs.IF: self._branch,
            Graphs.LOOP: self._loop,
            Graphs.SCAN: self._scan,
        }

    def pass_node(self, node: Node) -> None:
        """Walk the bodies of a node, and record its outputs."""
        graphs = operators.graphs_of(node)
        if node.calls:
            body = node.bodies[0]
            self._pass(body)
            for number, inner in zip(node.outputs, body.outputs, strict=False):
                self._copy(number, inner)
        elif graphs is not None:
            self._passes[graphs](node)
        else:
            self._walk.put_unknown(node, f"operator {node.op}, whose graph is not followed")
        self._walker.judge.carry(node)

    def _copy(self, number: int, inner: int) -> None:
        """Record one tensor as equal to another."""
        walk = self._walk
        walk.put(number, walk.shapes[inner], walk.dtypes[inner], walk.whys.get(inner, ""))
        if inner in walk.others:
            walk.others[number] = walk.others[inner]
        if (known := walk.known(inner)) and number:
            walk.values[number] = known
            if inner in walk.origins:
                walk.origins[number] = walk.origins[inner]

    def _branch(self, node: Node) -> None:
        """Walk the branches of an If, and record its outputs.

        Each branch is walked in the lanes that may take it.
        """
        walk, outer_live = self._walk, self._walk.live
        known = walk.known(node.inputs[0]) or walk.unknown
        chosen = [None if array is None or array.size != 1 else bool(array.item()) for array in known]
        bodies = {body.name: body for body in node.bodies}
        branches = [(True, bodies.get("then_branch")), (False, bodies.get("else_branch"))]
        for taken, body in branches:
            if body is not None:
                may_run = [condition in (None, taken) for condition in chosen]
                if not all(may_run) or outer_live is not None:
                    walk.live = tuple([a and b for a, b in zip(may_run, outer_live or may_run, strict=True)])
                self._pass(body)
                walk.live = outer_live
        for index, number in enumerate(node.outputs):
            inner = [body.outputs[index] for _, body in branches if body is not None and index < len(body.outputs)]
            self._join(number, inner, chosen)

    def _join(self, number: int, inner: Sequence[int], chosen: Sequence[bool | None]) -> None:
        """Record an output of an If.

        In a lane with a known condition it is the output of that branch, otherwise the dims on which both agree.
        """
        walk = self._walk
        if len(inner) != 2:
            walk.put(number, None, 0, "an If that lacks a branch")
            return
        then, other = inner
        if all(chosen) or not any(condition in (None, True) for condition in chosen):
            self._copy(number, then if all(chosen) else other)
            return
        pairs = zip(walk.shapes_of(then), walk.shapes_of(other), chosen, strict=True)
        shapes: Shapes = tuple(
            [(a if a == b else None) if taken is None else (a if taken else b) for a, b, taken in pairs]
        )
        walk.put(number, shapes, walk.dtypes[then] or walk.dtypes[other], "the branches of an If above differ")
        values = [walk.known(tensor) or walk.unknown for tensor in inner]
        arrays = [None if taken is None else values[0 if taken else 1][lane] for lane, taken in enumerate(chosen)]
        if any(array is not None for array in arrays):
            walk.values[number] = tuple(arrays)

    def _loop(self, node: Node) -> None:
        """Walk the body of a Loop with stable carried shapes, and record its outputs.

        Inside the body the loop condition is true.
        """
        walk, body = self._walk, node.bodies[0]
        carried = node.inputs[2:]
        conditional = len(node.inputs) > 1 and node.inputs[1] != ABSENT
        for number, dtype in zip(body.inputs[:2], (INT64, BOOL), strict=False):
            walk.put(number, ((),) * len(walk.lanes), dtype)
        if conditional and len(body.inputs) > 1:
            walk.put_values(body.inputs[1], (np.array(True),) * len(walk.lanes), BOOL)
        inner, after = body.inputs[2:], body.outputs[1 : 1 + len(carried)]
        self._settle(body, [*zip(carried, inner, after, strict=False)])
        for number, result in zip(node.outputs, after, strict=False):
            walk.put(number, walk.shapes[result], walk.dtypes[result], CHANGED)
        turns = self._turns(node, body, conditional=conditional)
        for number, result in zip(node.outputs[len(carried) :], body.outputs[1 + len(carried) :], strict=False):
            self._stack(number, result, turns, 0)

    def _turns(self, node: Node, body: Body, *, conditional: bool) -> Sequence[int | None]:
        """Return the number of iterations in each lane; None if data may stop the loop."""
        walk = self._walk
        counts = (walk.known(node.inputs[0]) if node.inputs and node.inputs[0] else None) or walk.unknown
        if not conditional:
            return [None if count is None else max(int(count.item()), 0) for count in counts]
        first = walk.known(node.inputs[1]) or walk.unknown
        after = walk.known(body.outputs[0]) or walk.unknown
        return [
            max(int(count.item()), 0) if count is not None and _is_true(begins) and _is_true(goes_on) else None
            for count, begins, goes_on in zip(counts, first, after, strict=True)
        ]

    def _scan(self, node: Node) -> None:
        """Walk the body of a Scan with its states and a slice of each scanned input."""
        walk, body = self._walk, node.bodies[0]
        cut = node.attributes.get("num_scan_inputs", 0)
        states = len(node.inputs) - cut
        axes = node.attributes.get("scan_input_axes") or (0,) * min(cut, len(node.inputs))
        if node.opset < 9 or not 0 < cut <= len(node.inputs) or len(axes) != cut:
            walk.put_unknown(node, "a Scan of an old kind")
            return
        turns: list[int | None] = [None] * len(walk.lanes)
        for number, inner, axis in zip(node.inputs[states:], body.inputs[states:], axes, strict=False):
            shapes = walk.shapes_of(number)
            cuts = [_without(shape, axis) for shape in shapes]
            turns = [size if turn is None else turn for turn, (size, _) in zip(turns, cuts, strict=True)]
            walk.put(inner, tuple([shape for _, shape in cuts]), walk.dtypes[number])
            self._walker.judge.slice(node, number, inner, axis)
        self._settle(body, [*zip(node.inputs[:states], body.inputs, body.outputs, strict=False)])
        for number, result in zip(node.outputs[:states], body.outputs, strict=False):
            walk.put(number, walk.shapes[result], walk.dtypes[result], CHANGED)
        along = node.attributes.get("scan_output_axes") or (0,) * len(node.outputs)
        for number, result, axis in zip(node.outputs[states:], body.outputs[states:], along, strict=False):
            self._stack(number, result, turns, axis)

    def _settle(self, body: Body, carried: Sequence[Carried]) -> None:
        """Walk a body with carried shapes and marks that hold in every iteration."""
        walk, walker, first = self._walk, self._walker, [outer for outer, _, _ in carried]
        shapes, marks = [walk.shapes_of(number) for number in first], walker.judge.carried(first)
        for _ in range(MOST_TRIALS if walker.dry < MOST_DRY else 0):
            stable = self._tried(body, carried, shapes, marks)
            if stable == (shapes, marks):
                break
            shapes, marks = stable
        else:
            shapes, marks = [walk.unknown] * len(first), walker.judge.lost(len(first))
        self._enter(body, carried, shapes, marks)

    def _tried(
        self, body: Body, carried: Sequence[Carried], shapes: list[Shapes], marks: list[Any]
    ) -> tuple[list[Shapes], list[Any]]:
        """Return the shapes and marks on which a body's inputs and outputs agree."""
        walk, walker, judge, count = self._walk, self._walker, self._walker.judge, len(self._walk.values)
        walker.judge = trial = judge.trial()
        walker.dry += 1
        self._enter(body, carried, shapes, marks)
        walker.dry -= 1
        walker.judge = judge
        for number in [*walk.values][count:]:
            del walk.values[number]
        after = [result for _, _, result in carried]
        common = [
            tuple([a if a == b else None for a, b in zip(before, walk.shapes_of(result), strict=True)])
            for before, result in zip(shapes, after, strict=True)
        ]
        return common, trial.joined(marks, after)

    def _enter(self, body: Body, carried: Sequence[Carried], shapes: Sequence[Shapes], marks: Sequence[Any]) -> None:
        """Walk a body with these carried shapes and marks."""
        walk = self._walk
        for (outer, inner, _), inner_shapes in zip(carried, shapes, strict=True):
            walk.put(inner, inner_shapes, walk.dtypes[outer], CHANGED)
        self._walker.judge.enter([inner for _, inner, _ in carried], marks)
        self._pass(body)

    def _stack(self, number: int, result: int, turns: Sequence[int | None], axis: int) -> None:
        """Record a collected loop output, with a new axis of the number of iterations."""
        walk = self._walk
        shapes = []
        for shape, turn in zip(walk.shapes_of(result), turns, strict=True):
            index = axis if shape is None or axis >= 0 else axis + len(shape) + 1
            shapes.append(None if shape is None or turn is None else (*shape[:index], turn, *shape[index:]))
        walk.put(number, tuple(shapes), walk.dtypes[result], "data decides how often a loop above runs")


def walked(model: Model, choice: InputChoice, judge: Judge) -> Walk:
    """Walk a model with these inputs, followed by a tracker; return the state."""
    walk = Walk(model, choice)
    judge.start(walk)
    Walker(walk, judge).pass_body(model.graph)
    return walk


def _elements(visit: Visit, array: Any, shape: Sizes | None, arguments: Arguments | None) -> Any:
    """Return the output elements of a listed node; None if many or unknown."""
    if array is None or shape is None or arguments is None or visit.call.elements is None:
        return None
    if np.prod(shape, dtype=object) > MOST_ELEMENTS:
        return None
    return visit.call.elements(array, shape, arguments)


def _is_true(array: Any) -> bool:
    return array is not None and array.size == 1 and bool(array.item())


def _without(shape: Sizes | None, axis: int) -> tuple[int | None, Sizes | None]:
    """Return the size of an axis, and the shape without it."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None, None
    return shape[axis], (*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :])
