"""A walk: the model in numbers, in all lanes in step, node by node, so that a fixed node fixes all below it.

Each node is passed in all lanes before the next one: core answers those that are listed, ONNX and the table of
operators the others, and graphs in nodes are walked where they run. A judge follows.
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
"""What a loop carries: the tensor that it begins with, the input of the body, and what comes out of a turn."""
MOST_DRY = 3
"""How deep loops are walked again, to learn what changes in them; deeper ones change all that they carry."""
MOST_TRIALS = 6
"""How often a body is walked to learn what changes in it."""
CHANGED = "a loop above changes it"


def walked(model: Model, choice: InputChoice, judge: Judge) -> Walk:
    """Return the model walked with inputs taken so, with a judge that judges and fixes on the way."""
    walk = Walk(model, choice)
    judge.start(walk)
    Walker(walk, judge).pass_body(model.graph)
    return walk


class Walker:
    """A walk under way, and the judge that follows it."""

    def __init__(self, walk: Walk, judge: Judge) -> None:
        """Begin in front of the first node."""
        self.walk, self.judge = walk, judge
        self.dry = 0
        """How many loops around are walked only to learn what changes in them."""
        self._listed, self._others, self._bodies = ListedNodes(self), OtherNodes(self), Bodies(self)

    def pass_body(self, body: Body) -> None:
        """Pass the nodes of a graph."""
        walk = self.walk
        if body is not walk.model.graph:
            walk.fill(body.constants)
        for node in body.nodes:
            outside = walk.live, self.dry, self.judge
            is_listed = not node.bodies and not node.domain and node.op in LISTED
            try:
                (self._listed if is_listed else self._bodies if node.bodies else self._others).pass_node(node)
            except UNFIT:
                walk.live, self.dry, self.judge = outside
                self._pass_unfit(node, is_listed=is_listed)

    def _pass_unfit(self, node: Node, *, is_listed: bool) -> None:
        """Pass a node that is not written as ONNX describes it; nothing is known of its outputs."""
        why = f"{node.op} {node.name or node.path} is not written as ONNX describes it"
        self.walk.put_unknown(node, why)
        self.judge.spoil(node, why)
        if is_listed and node.outputs:
            self._listed.judge_unfit(node, why)
            self.walk.put(node.outputs[0], None, 0, why)

    def settle(
        self, node: Node, outputs: Sequence[Shapes | None], dtypes: Sequence[int], failures: Failures | None
    ) -> None:
        """Put down what a node that is not listed gives; nobody knows it if the node fails at a judged size."""
        walk, why = self.walk, ""
        if failures is not None:
            failures = walk.alive(failures)
        stops = failures is not None and any(failures[place] for place in walk.judged)
        if stops and failures is not None:
            self.judge.stop(node, failures)
            why = f"{NO_SHAPE}: {node.op} {node.name or node.path} above it fails"
        for number, shapes, dtype in zip(node.outputs, outputs, dtypes, strict=False):
            if not why and (shapes is None or walk.lacks(shapes)):
                why = walk.why_unknown(node)
            walk.put(number, shapes, dtype, why)
        if not stops:
            self.judge.carry(node)


class ListedNodes:
    """Passes the nodes that are listed: core answers, and what the judge fixed goes on."""

    def __init__(self, walker: Walker) -> None:
        """Begin with no answers."""
        self._walker, self._walk, self._core = walker, walker.walk, walker.judge.core

    def pass_node(self, node: Node) -> None:
        """Judge a node and put down its output, as it is once it is fixed."""
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
        """Judge a node of which nobody can say what it asks for."""
        unknown = self._walk.unknown
        answers = Answers(None, unknown, unknown, ())
        self._walker.judge.judge(Visit(node, LISTED[node.op], unknown, unknown, None, unknown, unknown, why, answers))

    def _arguments_in_all(self, node: Node) -> tuple[Arguments | None, ...]:
        """Return what a node asks for in each lane."""
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
        """Put down the output, and its elements if it is small and the input's are known."""
        walk, node, call = self._walk, visit.node, visit.call
        out, first = node.outputs[0], node.inputs[0] if node.inputs else 0
        as_it_stands = fixed == visit.outputs
        if call.gives_sizes:
            sizes = visit.answers.outputs
            if as_it_stands and sizes != walk.unknown:
                walk.put_values(out, [None if each is None else np.array(each, np.int64) for each in sizes], INT64)
            else:
                walk.put(out, fixed, INT64, walk.whys.get(first, NO_SHAPE))
            return
        if as_it_stands and (first in walk.values or first in walk.constants) and (known := walk.known(first)):
            lanes = zip(known, fixed, visit.arguments, strict=True)
            arrays = [_elements(visit, array, shape, arguments) for array, shape, arguments in lanes]
            if any(each is not None for each in arrays):
                if walk.is_written(first) and same_in_all(known):
                    walk.origins[out] = "folded"
                walk.put_values(out, arrays, walk.dtypes[first], fixed)
                return
        walk.put(out, fixed, walk.dtypes[first], walk.whys.get(first, FROM_DATA) if None in fixed else "")


def _elements(visit: Visit, array: Any, shape: Sizes | None, arguments: Arguments | None) -> Any:
    """Return the elements of a small tensor after a listed node; None if they are not known."""
    if array is None or shape is None or arguments is None or visit.call.elements is None:
        return None
    if np.prod(shape, dtype=object) > MOST_ELEMENTS:
        return None
    return visit.call.elements(array, shape, arguments)


class OtherNodes:
    """Passes the nodes that are not listed and hold no graphs."""

    def __init__(self, walker: Walker) -> None:
        """Begin with no answers."""
        self._walker, self._walk = walker, walker.walk
        self._broadcasts: dict[object, tuple[Shapes, Failures | None]] = {}
        self._inference: Inference | None = None

    def pass_node(self, node: Node) -> None:
        """Put down the outputs of a node."""
        row, walk = operators.operator_of(node), self._walk
        if row.value is not None:
            first = node.inputs[0] if node.inputs else ABSENT
            known = not first or first in walk.values or first in walk.constants or row.value is operators.count
            if known and self._put_elements(node, row):
                self._walker.judge.carry(node)
                return
        self._put_shapes(node, row)

    def _put_shapes(self, node: Node, row: Operator) -> None:
        """Put down the shapes of a node's outputs."""
        walk, inputs, rule = self._walk, node.inputs, row.shape
        if not inputs:
            self._infer(node, row)
        elif isinstance(rule, AsFirst):
            self._walker.settle(node, [walk.shapes_of(inputs[0])], [walk.dtypes[inputs[0]]], None)
        elif isinstance(rule, operators.Broadcast) and node.opset >= rule.since:
            self._broadcast(node, rule)
        elif isinstance(rule, operators.Given):
            lanes = zip(*map(walk.shapes_of, inputs), strict=True)
            made = [*zip(*[rule.shapes(node.attributes, shapes) for shapes in lanes], strict=True)]
            self._walker.settle(node, made, [walk.dtypes[inputs[0]]] * len(made), None)
        else:
            self._infer(node, row)

    def _put_elements(self, node: Node, row: Operator) -> bool:
        """Put down the elements of a node's outputs; say whether they are known in some lane."""
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
        if all(each is None for each in outputs):
            return False
        self._put_arrays(node, row, outputs)
        return True

    def _put_constant(self, node: Node) -> bool:
        """Put down a Constant: its elements if they are few, otherwise what its message says of it."""
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
        """Return a node's outputs in each lane, None where they are not known, and why it fails, if it does."""
        times = 1 if all(lanes is None or same_in_all(lanes) for lanes in inputs) else len(self._walk.lanes)
        outputs: list[Any] = []
        failures: list[str | None] = []
        for lane in range(times):
            arrays = [None if each is None else each[lane] for each in inputs]
            lacking = any(array is None and given is not None for array, given in zip(arrays, inputs, strict=True))
            try:
                outputs.append(None if lacking else operators.value_of(row, node.attributes, arrays))
                failures.append(None)
            except IndexError as error:
                outputs.append(None)
                failures.append(str(error))
        alike = len(self._walk.lanes) // times
        return outputs * alike, tuple(failures * alike) if any(failures) else None

    def _put_arrays(self, node: Node, row: Operator, outputs: Sequence[Any]) -> None:
        """Put down the elements of a node's outputs, and their shapes in the lanes in which they are not known."""
        walk = self._walk
        folded = all(walk.is_written(number) for number in node.inputs if number)
        if any(each is None for each in outputs):
            self._put_shapes(node, row)
        for place, number in enumerate(node.outputs):
            arrays = [None if each is None or place >= len(each) else each[place] for each in outputs]
            dtype = next((NUMBERS.get(each.dtype.name, 0) for each in arrays if each is not None), 0)
            walk.put_values(number, arrays, dtype, walk.shapes[number])
            if folded:
                walk.origins[number] = "folded"

    def _broadcast(self, node: Node, rule: operators.Broadcast) -> None:
        """Put down the output of an operator that broadcasts its inputs."""
        walk = self._walk
        key = tuple([walk.shapes_of(number) for number in node.inputs])
        found = self._broadcasts.get(key)
        if found is None:
            lanes = [None if None in shapes else broadcast(shapes) for shapes in zip(*key, strict=True)]
            failures = tuple([each if isinstance(each, str) else None for each in lanes])
            output = tuple([None if isinstance(each, str) else each for each in lanes])
            found = self._broadcasts[key] = output, failures if any(failures) else None
        dtype = BOOL if rule.compares else walk.dtypes[node.inputs[-1]]
        self._walker.settle(node, (found[0],), (dtype,), found[1])

    def _infer(self, node: Node, row: Operator) -> None:
        """Put down the outputs of a node as ONNX infers them: asked for all lanes in one go, or in each."""
        walk = self._walk
        if self._inference is None:
            self._inference = Inference()
        form = self._inference.form(node)
        if form is None:
            walk.put_unknown(node, f"custom operator {node.op}")
            self._walker.judge.carry(node)
            return
        values = [walk.known(number) if number else None for number in node.inputs]
        found: tuple[Sequence[Shapes], Sequence[int]] | None = None
        hands_on = isinstance(row.shape, operators.Inferred) and row.shape.hands_on
        if hands_on and all(each is None or same_in_all(each) for each in values):
            kinds = [(walk.dtypes[number], walk.shapes_of(number)) if number else None for number in node.inputs]
            found = self._inference.in_all(node, form, kinds, tuple([each and each[0] for each in values]))
        if found is None:
            self._walker.settle(node, *self._in_each(self._inference, node, row, form, values))
        else:
            self._walker.settle(node, *found, None)

    def _in_each(
        self, inference: Inference, node: Node, row: Operator, form: Form, values: Sequence[Values | None]
    ) -> tuple[Sequence[Shapes], Sequence[int], Failures | None]:
        """Return what ONNX infers of a node, asked in each lane."""
        walk = self._walk
        lanes = []
        for lane in range(len(walk.lanes)):
            kinds = tuple([self._kind(number, lane) if number else None for number in node.inputs])
            arrays = tuple([None if each is None else each[lane] for each in values])
            sizes = [walk.shapes_of(number)[lane] if number else None for number in node.inputs]
            extremes = partial(self._extremes, node, lane)
            failure = row.alike(node, sizes, walk.constants, extremes) if row.alike else None
            lanes.append(failure or inference.outputs(node, form, kinds, arrays))
        shapes, dtypes = [], []
        for place, number in enumerate(node.outputs):
            each = [None if isinstance(kinds, str) else kinds[place] for kinds in lanes]
            shapes.append(tuple([kind[1] if type(kind) is tuple else None for kind in each]))
            dtypes.append(next((kind[0] for kind in each if type(kind) is tuple and kind[0]), 0))
            if any(type(kind) is bytes for kind in each):
                walk.others[number] = tuple([kind if type(kind) is bytes else None for kind in each])
        failures = tuple([kinds if isinstance(kinds, str) else None for kinds in lanes])
        return shapes, dtypes, failures if any(failures) else None  # type: ignore[return-value]  # of whole numbers

    def _extremes(self, node: Node, lane: int, by_columns: bool) -> Sequence[tuple[int, int]]:
        """Return the least and the greatest of the indices of a node in a lane; none if they are not known."""
        array = (self._walk.known(node.inputs[1]) or self._walk.unknown)[lane]
        if array is None or not array.size:
            return ()
        columns = array.reshape(-1, array.shape[-1] if by_columns else 1)
        return [*zip(columns.min(0).tolist(), columns.max(0).tolist(), strict=True)]

    def _kind(self, number: int, lane: int) -> Any:
        """Return what is known of a tensor in a lane."""
        other = self._walk.others.get(number)
        if other is not None and other[lane] is not None:
            return other[lane]
        return (self._walk.dtypes[number], self._walk.shapes_of(number)[lane])


class Bodies:
    """Passes the nodes that hold graphs."""

    def __init__(self, walker: Walker) -> None:
        """Keep what passes the nodes of a graph."""
        self._walker, self._walk, self._pass = walker, walker.walk, walker.pass_body
        self._passes: dict[Graphs, Callable[[Node], None]] = {
            Graphs.IF: self._branch,
            Graphs.LOOP: self._loop,
            Graphs.SCAN: self._scan,
        }

    def pass_node(self, node: Node) -> None:
        """Walk the graphs of a node, and put down its outputs."""
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
        """Put down for one tensor what is known of another."""
        walk = self._walk
        walk.put(number, walk.shapes[inner], walk.dtypes[inner], walk.whys.get(inner, ""))
        if inner in walk.others:
            walk.others[number] = walk.others[inner]
        if (known := walk.known(inner)) and number:
            walk.values[number] = known
            if inner in walk.origins:
                walk.origins[number] = walk.origins[inner]

    def _branch(self, node: Node) -> None:
        """Walk both branches of an If, each in the lanes where it may be taken; put down what comes out."""
        walk, outside = self._walk, self._walk.live
        known = walk.known(node.inputs[0]) or walk.unknown
        chosen = [None if each is None or each.size != 1 else bool(each.item()) for each in known]
        bodies = {body.name: body for body in node.bodies}
        branches = [(True, bodies.get("then_branch")), (False, bodies.get("else_branch"))]
        for taken, body in branches:
            if body is not None:
                here = [each in (None, taken) for each in chosen]
                if not all(here) or outside is not None:
                    walk.live = tuple([a and b for a, b in zip(here, outside or here, strict=True)])
                self._pass(body)
                walk.live = outside
        for place, number in enumerate(node.outputs):
            inner = [body.outputs[place] for _, body in branches if body is not None and place < len(body.outputs)]
            self._join(number, inner, chosen)

    def _join(self, number: int, inner: Sequence[int], chosen: Sequence[bool | None]) -> None:
        """Put down the output of an If: in each lane that of the branch taken, or what both have in common."""
        walk = self._walk
        if len(inner) != 2:
            walk.put(number, None, 0, "an If that lacks a branch")
            return
        then, other = inner
        if all(chosen) or not any(each in (None, True) for each in chosen):
            self._copy(number, then if all(chosen) else other)
            return
        pairs = zip(walk.shapes_of(then), walk.shapes_of(other), chosen, strict=True)
        shapes: Shapes = tuple(
            [(a if a == b else None) if which is None else (a if which else b) for a, b, which in pairs]
        )
        walk.put(number, shapes, walk.dtypes[then] or walk.dtypes[other], "the branches of an If above differ")
        values = [walk.known(each) or walk.unknown for each in inner]
        picked = [None if which is None else values[0 if which else 1][lane] for lane, which in enumerate(chosen)]
        if any(each is not None for each in picked):
            walk.values[number] = tuple(picked)

    def _loop(self, node: Node) -> None:
        """Walk the body of a Loop with what it carries, where that keeps its shape; in it its condition is true."""
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
        """Return how often a Loop runs its body in each lane; None where data may end it."""
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
        """Walk the body of a Scan with its states, and with its other inputs cut along the axis that it goes over."""
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
            turns = [each[0] if turn is None else turn for turn, each in zip(turns, cuts, strict=True)]
            walk.put(inner, tuple([shape for _, shape in cuts]), walk.dtypes[number])
            self._walker.judge.slice(node, number, inner, axis)
        self._settle(body, [*zip(node.inputs[:states], body.inputs, body.outputs, strict=False)])
        for number, result in zip(node.outputs[:states], body.outputs, strict=False):
            walk.put(number, walk.shapes[result], walk.dtypes[result], CHANGED)
        along = node.attributes.get("scan_output_axes") or (0,) * len(node.outputs)
        for number, result, axis in zip(node.outputs[states:], body.outputs[states:], along, strict=False):
            self._stack(number, result, turns, axis)

    def _settle(self, body: Body, carried: Sequence[Carried]) -> None:
        """Walk a body with what it carries around: the shapes and the marks that stay so from turn to turn."""
        walk, walker, first = self._walk, self._walker, [outside for outside, _, _ in carried]
        shapes, marks = [walk.shapes_of(number) for number in first], walker.judge.carried(first)
        for _ in range(MOST_TRIALS if walker.dry < MOST_DRY else 0):
            found = self._tried(body, carried, shapes, marks)
            if found == (shapes, marks):
                break
            shapes, marks = found
        else:
            shapes, marks = [walk.unknown] * len(first), walker.judge.lost(len(first))
        self._enter(body, carried, shapes, marks)

    def _tried(
        self, body: Body, carried: Sequence[Carried], shapes: list[Shapes], marks: list[Any]
    ) -> tuple[list[Shapes], list[Any]]:
        """Return what is true of the shapes and the marks both before and after a turn."""
        walk, walker, outside, count = self._walk, self._walker, self._walker.judge, len(self._walk.values)
        walker.judge = trial = outside.trial()
        walker.dry += 1
        self._enter(body, carried, shapes, marks)
        walker.dry -= 1
        walker.judge = outside
        for number in [*walk.values][count:]:
            del walk.values[number]
        after = [result for _, _, result in carried]
        both = [
            tuple([a if a == b else None for a, b in zip(before, walk.shapes_of(result), strict=True)])
            for before, result in zip(shapes, after, strict=True)
        ]
        return both, trial.joined(marks, after)

    def _enter(self, body: Body, carried: Sequence[Carried], shapes: Sequence[Shapes], marks: Sequence[Any]) -> None:
        """Walk a body with these shapes and marks."""
        walk = self._walk
        for (outside, inner, _), each in zip(carried, shapes, strict=True):
            walk.put(inner, each, walk.dtypes[outside], CHANGED)
        self._walker.judge.enter([inner for _, inner, _ in carried], marks)
        self._pass(body)

    def _stack(self, number: int, result: int, turns: Sequence[int | None], axis: int) -> None:
        """Put down what a loop collected: an axis as long as there were turns."""
        walk = self._walk
        shapes = []
        for shape, turn in zip(walk.shapes_of(result), turns, strict=True):
            place = axis if shape is None or axis >= 0 else axis + len(shape) + 1
            shapes.append(None if shape is None or turn is None else (*shape[:place], turn, *shape[place:]))
        walk.put(number, tuple(shapes), walk.dtypes[result], "data decides how often a loop above runs")


def _is_true(array: Any) -> bool:
    return array is not None and array.size == 1 and bool(array.item())


def _without(shape: Sizes | None, axis: int) -> tuple[int | None, Sizes | None]:
    """Return the size of an axis, and the shape without it."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None, None
    return shape[axis], (*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :])
