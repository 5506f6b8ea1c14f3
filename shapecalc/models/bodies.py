"""Graphs inside nodes, on a walk: the branches of an If, the body of a Loop or Scan, and called functions."""

from __future__ import annotations

from shapecalc.models.element_kinds import BOOL, INT64
from shapecalc.models.model import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from shapecalc.models.model import Body, Node
    from shapecalc.models.state import State
    from shapecalc.models.walk import Shapes, Sizes

    Carried = tuple[int, int, int]
    """What a loop carries: the tensor that it begins with, the input of the body, and what comes out of a turn."""

MOST_DRY = 3
"""How deep loops are walked again, to learn what changes in them; deeper ones change all that they carry."""
MOST_TRIALS = 6
"""How often a body is walked to learn what changes in it."""
CHANGED = "a loop above changes it"


class Bodies:
    """Passes the nodes that hold graphs."""

    def __init__(self, state: State, pass_body: Callable[[Body], None]) -> None:
        """Keep what passes the nodes of a graph."""
        self._state, self._pass = state, pass_body

    def pass_node(self, node: Node) -> None:
        """Walk the graphs of a node, and put down its outputs."""
        if node.bodies[0].name.startswith("@"):
            self._call(node)
        elif node.op == "If":
            self._branch(node)
        elif node.op == "Loop":
            self._loop(node)
        elif node.op == "Scan":
            self._scan(node)
        else:
            for number in node.outputs:
                self._state.put(number, None, 0, f"operator {node.op}, whose graph is not followed")
        self._state.carry(node)

    def _call(self, node: Node) -> None:
        """Walk a function; its outputs are the node's."""
        body = node.bodies[0]
        self._pass(body)
        for number, inner in zip(node.outputs, body.outputs, strict=False):
            self._copy(number, inner)

    def _copy(self, number: int, inner: int) -> None:
        """Put down for one tensor what is known of another."""
        state = self._state
        state.put(number, state.shapes[inner], state.dtypes[inner], state.whys.get(inner, ""))
        if inner in state.others:
            state.others[number] = state.others[inner]
        if (known := state.known(inner)) and number:
            state.values[number] = known
            if inner in state.walk.origins:
                state.walk.origins[number] = state.walk.origins[inner]

    def _branch(self, node: Node) -> None:
        """Walk both branches of an If, each in the lanes where it may be taken; put down what comes out."""
        state, outside = self._state, self._state.live
        known = state.known(node.inputs[0]) or state.nobody
        chosen = [None if each is None or each.size != 1 else bool(each.item()) for each in known]
        bodies = {body.name: body for body in node.bodies}
        branches = [(True, bodies.get("then_branch")), (False, bodies.get("else_branch"))]
        for taken, body in branches:
            if body is not None:
                here = [each in (None, taken) for each in chosen]
                if not all(here) or outside is not None:
                    state.live = tuple([a and b for a, b in zip(here, outside or here, strict=True)])
                self._pass(body)
                state.live = outside
        for place, number in enumerate(node.outputs):
            inner = [body.outputs[place] for _, body in branches if body is not None and place < len(body.outputs)]
            self._join(number, inner, chosen)

    def _join(self, number: int, inner: Sequence[int], chosen: Sequence[bool | None]) -> None:
        """Put down the output of an If: in each lane that of the branch taken, or what both have in common."""
        state = self._state
        if len(inner) != 2:
            state.put(number, None, 0, "an If that lacks a branch")
            return
        then, other = inner
        if all(chosen) or not any(each in (None, True) for each in chosen):
            self._copy(number, then if all(chosen) else other)
            return
        pairs = zip(state.shapes_of(then), state.shapes_of(other), chosen, strict=True)
        shapes: Shapes = tuple(
            [(a if a == b else None) if which is None else (a if which else b) for a, b, which in pairs]
        )
        state.put(number, shapes, state.dtypes[then] or state.dtypes[other], "the branches of an If above differ")
        values = [state.known(each) or state.nobody for each in inner]
        picked = [None if which is None else values[0 if which else 1][lane] for lane, which in enumerate(chosen)]
        if any(each is not None for each in picked):
            state.values[number] = tuple(picked)

    def _loop(self, node: Node) -> None:
        """Walk the body of a Loop with what it carries, where that keeps its shape; in it its condition is true."""
        import numpy as np

        state, body = self._state, node.bodies[0]
        carried = node.inputs[2:]
        conditional = len(node.inputs) > 1 and node.inputs[1] != ABSENT
        for number, dtype in zip(body.inputs[:2], (INT64, BOOL), strict=False):
            state.put(number, ((),) * len(state.lanes), dtype)
        if conditional and len(body.inputs) > 1:
            state.put_values(body.inputs[1], (np.array(True),) * len(state.lanes), BOOL)
        inner, after = body.inputs[2:], body.outputs[1 : 1 + len(carried)]
        self._settle(body, [*zip(carried, inner, after, strict=False)])
        for number, result in zip(node.outputs, after, strict=False):
            self._leave(number, result)
        turns = self._turns(node, body, conditional=conditional)
        for number, result in zip(node.outputs[len(carried) :], body.outputs[1 + len(carried) :], strict=False):
            self._stack(number, result, turns, 0)

    def _turns(self, node: Node, body: Body, *, conditional: bool) -> Sequence[int | None]:
        """Return how often a Loop runs its body in each lane; None where data may end it."""
        state = self._state
        counts = (state.known(node.inputs[0]) if node.inputs and node.inputs[0] else None) or state.nobody
        if not conditional:
            return [None if count is None else max(int(count.item()), 0) for count in counts]
        first = state.known(node.inputs[1]) or state.nobody
        after = state.known(body.outputs[0]) or state.nobody
        return [
            max(int(count.item()), 0) if count is not None and _is_true(begins) and _is_true(goes_on) else None
            for count, begins, goes_on in zip(counts, first, after, strict=True)
        ]

    def _scan(self, node: Node) -> None:
        """Walk the body of a Scan with its states, and with its other inputs cut along the axis that it goes over."""
        state, body = self._state, node.bodies[0]
        count = node.attributes.get("num_scan_inputs", 0)
        states = len(node.inputs) - count
        axes = node.attributes.get("scan_input_axes") or (0,) * min(count, len(node.inputs))
        if node.opset < 9 or not 0 < count <= len(node.inputs) or len(axes) != count:
            for number in node.outputs:
                state.put(number, None, 0, "a Scan of an old kind")
            return
        turns: list[int | None] = [None] * len(state.lanes)
        sliced = [*zip(node.inputs[states:], body.inputs[states:], axes, strict=False)]
        for number, inner, axis in sliced:
            shapes = state.shapes_of(number)
            turns = [_size(shape, axis) if turn is None else turn for turn, shape in zip(turns, shapes, strict=True)]
            state.put(inner, tuple([_without(shape, axis) for shape in shapes]), state.dtypes[number])
            state.follower.slice(node, number, inner, axis)
        self._settle(body, [*zip(node.inputs[:states], body.inputs, body.outputs, strict=False)])
        for number, result in zip(node.outputs[:states], body.outputs, strict=False):
            self._leave(number, result)
        along = node.attributes.get("scan_output_axes") or (0,) * len(node.outputs)
        for number, result, axis in zip(node.outputs[states:], body.outputs[states:], along, strict=False):
            self._stack(number, result, turns, axis)

    def _settle(self, body: Body, carried: Sequence[Carried]) -> None:
        """Walk a body with what it carries around: the shapes and the marks that stay so from turn to turn."""
        state, first = self._state, [outside for outside, _, _ in carried]
        shapes, marks = [state.shapes_of(number) for number in first], state.follower.carried(first)
        for _ in range(MOST_TRIALS if state.dry < MOST_DRY else 0):
            found = self._tried(body, carried, shapes, marks)
            if found == (shapes, marks):
                break
            shapes, marks = found
        else:
            shapes, marks = [state.nobody] * len(first), state.follower.lost(len(first))
        self._enter(body, carried, shapes, marks)

    def _tried(
        self, body: Body, carried: Sequence[Carried], shapes: list[Shapes], marks: list[Any]
    ) -> tuple[list[Shapes], list[Any]]:
        """Return what is true of the shapes and the marks both before and after a turn."""
        state, outside, held = self._state, self._state.follower, len(self._state.values)
        state.follower = trial = outside.trial()
        state.dry += 1
        self._enter(body, carried, shapes, marks)
        state.dry -= 1
        state.follower = outside
        for number in [*state.values][held:]:
            del state.values[number]
        after = [result for _, _, result in carried]
        both = [
            tuple([a if a == b else None for a, b in zip(before, state.shapes_of(result), strict=True)])
            for before, result in zip(shapes, after, strict=True)
        ]
        return both, trial.joined(marks, after)

    def _enter(self, body: Body, carried: Sequence[Carried], shapes: Sequence[Shapes], marks: Sequence[Any]) -> None:
        """Walk a body with these shapes and marks."""
        state = self._state
        for (outside, inner, _), each in zip(carried, shapes, strict=True):
            state.put(inner, each, state.dtypes[outside], CHANGED)
        state.follower.enter([inner for _, inner, _ in carried], marks)
        self._pass(body)

    def _leave(self, number: int, result: int) -> None:
        """Put down what a loop carried out."""
        state = self._state
        state.put(number, state.shapes[result], state.dtypes[result], CHANGED)

    def _stack(self, number: int, result: int, turns: Sequence[int | None], axis: int) -> None:
        """Put down what a loop collected: an axis as long as there were turns."""
        state = self._state
        shapes = []
        for shape, count in zip(state.shapes_of(result), turns, strict=True):
            place = axis if shape is None or axis >= 0 else axis + len(shape) + 1
            shapes.append(None if shape is None or count is None else (*shape[:place], count, *shape[place:]))
        state.put(number, tuple(shapes), state.dtypes[result], "data decides how often a loop above runs")


def _is_true(array: Any) -> bool:
    return array is not None and array.size == 1 and bool(array.item())


def _size(shape: Sizes | None, axis: int) -> int | None:
    return None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis]


def _without(shape: Sizes | None, axis: int) -> Sizes | None:
    """Return a shape without one axis."""
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    kept = list(shape)
    del kept[axis]
    return tuple(kept)
