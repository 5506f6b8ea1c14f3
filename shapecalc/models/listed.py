"""Listed nodes on a walk: core answers in each lane, the follower judges, and what it mended goes on."""

from __future__ import annotations

from shapecalc.models.asking import EXTERNAL, FROM_DATA, NO_SHAPE, Answers, arguments_of, reads_argument, switch_of
from shapecalc.models.element_kinds import INT64
from shapecalc.models.report import LISTED
from shapecalc.models.state import once
from shapecalc.models.values import MOST_ELEMENTS, vector
from shapecalc.models.walk import Visit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from shapecalc.core.problem import Problem
    from shapecalc.models.asking import Arguments
    from shapecalc.models.model import Node
    from shapecalc.models.state import State
    from shapecalc.models.walk import Shapes

    Asked = tuple[tuple[Arguments | None, ...], tuple[Mapping[str, Any] | None, ...]]
    """What a node asks for in each lane, twice: as pairs to look it up, and by name."""
    Told = tuple[int, Shapes, tuple[Problem | None, ...]]
    """The number of a question, and core's answers to it in each lane."""


class ListedNodes:
    """Passes the nodes that are listed."""

    def __init__(self, state: State) -> None:
        """Begin with no answers."""
        self._state, self._answers = state, Answers()
        self._asked: dict[object, Asked] = {}
        self._told: dict[object, Told] = {}
        self._versions: dict[tuple[str, int], int | None] = {}

    def pass_node(self, node: Node) -> None:
        """Judge a node and put down its output, as it is once it is mended."""
        state = self._state
        shapes = state.shapes_of(node.inputs[0] if node.inputs else 0)
        pairs, arguments = self._asked_of(node)
        question, outputs, problems = self._answers_in(node, shapes, pairs, arguments)
        if state.live is not None:
            problems = tuple([each if live else None for each, live in zip(problems, state.live, strict=True)])
        as_told = self._tensor_shapes(node, outputs)
        if not node.outputs:
            mended = as_told
        else:
            switch = switch_of(node) if node.attributes else None
            unknown = self._unknown(node, shapes, pairs)
            visit = Visit(
                node,
                LISTED[node.op],
                self._version(node),
                shapes,
                arguments,
                switch,
                as_told,
                problems,
                unknown,
                question,
            )
            mended = state.follower.judge(visit).outputs
        self._put(node, as_told, mended, outputs, arguments)

    def pass_unfit(self, node: Node) -> None:
        """Judge a node that is not written as ONNX describes it; nothing is known of its output."""
        state = self._state
        nobody = state.nobody
        why = state.spoil(node)
        if node.outputs:
            visit = Visit(node, LISTED[node.op], None, nobody, nobody, None, nobody, nobody, why, -1)
            state.follower.judge(visit)
            state.put(node.outputs[0], None, 0, why)

    def _asked_of(self, node: Node) -> Asked:
        """Return what a node asks for in each lane."""
        state = self._state
        key: object = node.inputs[1] if reads_argument(node) and len(node.inputs) > 1 else None
        if not key:
            pairs = arguments_of(node, lambda _: None)
            key = (node.op, pairs)
            if key not in self._asked:
                self._asked[key] = self._in_all(pairs)
            return self._asked[key]
        if (node.op, key) not in self._asked:
            if key in state.constants:
                found = self._asked[node.op, key] = self._in_all(arguments_of(node, state.whole_numbers))
                return found
            values = state.known(key) or state.nobody  # type: ignore[arg-type]  # it is a tensor's number
            if values is state.nobody or once(values):
                return self._in_all(arguments_of(node, lambda _: vector(values[0])))
            each = [arguments_of(node, lambda _, array=array: vector(array)) for array in values]  # type: ignore[misc]
            return tuple(each), tuple([None if pairs is None else dict(pairs) for pairs in each])
        return self._asked[node.op, key]

    def _in_all(self, pairs: Arguments | None) -> Asked:
        """Return what a node asks for if it asks for the same in every lane."""
        count = len(self._state.lanes)
        return (pairs,) * count, (None if pairs is None else dict(pairs),) * count

    def _answers_in(
        self,
        node: Node,
        shapes: Shapes,
        pairs: tuple[Arguments | None, ...],
        arguments: tuple[Mapping[str, Any] | None, ...],
    ) -> Told:
        """Return core's answers in each lane."""
        allowzero = node.attributes.get("allowzero") if node.attributes else None
        key = (node.op, node.opset, allowzero, shapes, pairs[:1] if once(pairs) else pairs)
        found = self._told.get(key)
        if found is None:
            answers = self._answers.answers(node, shapes, arguments)
            outputs, problems = zip(*answers, strict=True)
            found = self._told[key] = len(self._told), outputs, problems
        return found

    def _version(self, node: Node) -> int | None:
        key = (node.op, node.opset)
        if key not in self._versions:
            self._versions[key] = self._answers.version(node)
        return self._versions[key]

    def _tensor_shapes(self, node: Node, outputs: Shapes) -> Shapes:
        """Return the shapes of a node's output tensor; core's answer to Shape is what the tensor holds."""
        if node.op != "Shape":
            return outputs
        return tuple([None if dims is None else (len(dims),) for dims in outputs])

    def _unknown(self, node: Node, shapes: Shapes, pairs: tuple[Arguments | None, ...]) -> str:
        """Return why a node cannot be judged; empty if it can."""
        state = self._state
        if state.lacks(shapes):
            return state.whys.get(node.inputs[0] if node.inputs else 0, NO_SHAPE)
        if state.lacks(pairs):
            return EXTERNAL if state.walk.origins.get(node.inputs[1]) == "external" else FROM_DATA
        if state.live is not None and not any(state.live[lane] for lane in state.judged):
            return "it never runs: the If around it takes the other branch"
        return ""

    def _put(
        self, node: Node, as_told: Shapes, mended: Shapes, core: Shapes, arguments: tuple[Mapping[str, Any] | None, ...]
    ) -> None:
        """Put down the output, and its elements if it is small and the input's are known."""
        state = self._state
        if not node.outputs:
            return
        out, first = node.outputs[0], node.inputs[0] if node.inputs else 0
        if node.op == "Shape":
            import numpy as np

            if mended == as_told and core != state.nobody:
                arrays = [None if dims is None else np.array(dims, np.int64) for dims in core]
                state.put_values(out, arrays, INT64)
                return
            state.put(out, mended, INT64, state.whys.get(first, NO_SHAPE))
            return
        if mended == as_told and (first in state.values or first in state.constants) and (known := state.known(first)):
            made = [_moved(node.op, *each) for each in zip(known, as_told, arguments, strict=True)]
            if any(each is not None for each in made):
                if state.walk.origins.get(first) in ("initializer", "Constant", "folded") and once(known):
                    state.walk.origins[out] = "folded"
                state.put_values(out, made, state.dtypes[first], mended)
                return
        state.put(out, mended, state.dtypes[first], state.whys.get(first, FROM_DATA) if None in mended else "")


def _moved(op: str, array: Any, shape: tuple[int, ...] | None, arguments: Mapping[str, Any] | None) -> Any:
    """Return the elements of a small tensor after a listed operator; None if they are not known."""
    import numpy as np

    if array is None or shape is None or arguments is None or np.prod(shape, dtype=object) > MOST_ELEMENTS:
        return None
    if op == "Transpose":
        return np.transpose(array, arguments.get("perm"))
    if op == "Expand":
        return np.broadcast_to(array, shape)
    if op == "Tile":
        return np.tile(array, arguments["repeats"])
    return None if op in ("DepthToSpace", "SpaceToDepth") else array.reshape(shape)
