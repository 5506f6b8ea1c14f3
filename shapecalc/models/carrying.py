"""The batch's marks carried through a model, node by node, and in and out of the bodies of loops."""

from __future__ import annotations

from copy import copy

from shapecalc.models.batch import mark_after
from shapecalc.models.element_kinds import INT32, INT64
from shapecalc.models.marks import Apart, Lost, together
from shapecalc.models.model import ABSENT, nodes_in
from shapecalc.models.routes import POINTWISE
from shapecalc.models.seen import Seen
from shapecalc.models.values import elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from shapecalc.models.marks import Mark
    from shapecalc.models.model import Body, Node
    from shapecalc.models.walk import Shapes, Sizes, Values, Walk

    Marks = tuple[Mark, ...]
    """The marks of a tensor, by lane."""


class Carrying:
    """Keeps the marks of all tensors that the batch reaches, while a model is walked."""

    noted: tuple[str, ...] = ("_marks",)
    """What is written down while the model is walked."""

    def __init__(self) -> None:
        """Begin without a walk; `start` brings it."""
        self._marks: dict[int, Marks] = {}

    def start(self, walk: Walk) -> None:
        """Mark the inputs that have the batch among their dims."""
        self._walk = walk
        self._batches = tuple([lane.batch for lane in walk.lanes])
        self._followed = tuple([lane.judged and lane.batch > 1 for lane in walk.lanes])
        """In which lanes there are samples to follow: verdicts look at no others."""
        self._seen_lanes = [(at, lane.batch) for at, lane in enumerate(walk.lanes) if lane.judged]
        self._nowhere: Marks = (None,) * len(walk.lanes)
        for declared, taken in zip(walk.model.inputs, walk.taken, strict=True):
            if taken is None:
                mark: Mark = Lost("an input has no shape")
            elif walk.batch not in taken:
                continue
            elif taken.count(walk.batch) > 1:
                mark = Lost("an input has the batch twice")
            else:
                mark = Apart(taken.index(walk.batch), 1)
            self._keep(declared.tensor, [mark if followed else None for followed in self._followed])
        bodies = [walk.model.graph, *[body for node in nodes_in((walk.model.graph,)) for body in node.bodies]]
        self._constants = {each.tensor: each for body in bodies for each in body.constants}

    def carry(self, node: Node) -> None:
        """Carry the marks through a node that is not listed and that nothing refused."""
        if node.bodies:
            self._carry_out(node)
            return
        reached = [marks for marks in map(self.marks, node.inputs) if marks]
        if not reached:
            return
        if node.op in POINTWISE and not node.domain and node.outputs and self._alike(node, reached):
            self._keep(node.outputs[0], reached[0])
        else:
            self._carry_marks(node)

    def marks(self, tensor: int) -> Marks | None:
        """Return the marks of a tensor in all lanes; None if the batch does not reach it."""
        return self._marks.get(tensor)

    def shapes(self, tensor: int) -> Shapes | None:
        """Return the shape of a tensor in all lanes; None if none is known in any."""
        return self._walk.shapes[tensor]

    def spoil(self, node: Node, why: str) -> None:
        """Mark the outputs of a node of which nobody can say where the batch is in them."""
        for tensor in node.outputs:
            self._keep(tensor, self._lost(why))

    def trial(self) -> Self:
        """Return a follower that knows the same, and whose notes do not count: for a body that is walked again."""
        made = copy(self)
        for name in self.noted:
            setattr(made, name, getattr(self, name).copy())
        return made

    def carried(self, tensors: Sequence[int]) -> list[Marks]:
        """Return the marks of tensors that a loop carries."""
        return [self.marks(tensor) or self._nowhere for tensor in tensors]

    def lost(self, count: int) -> list[Marks]:
        """Return the marks of so many tensors of which nobody can say where the batch is."""
        return [self._lost("a loop above moves the batch")] * count

    def enter(self, tensors: Sequence[int], marks: Sequence[Marks]) -> None:
        """Mark the inputs of a body."""
        for tensor, each in zip(tensors, marks, strict=True):
            self._marks.pop(tensor, None)
            self._keep(tensor, each)

    def slice(self, node: Node, tensor: int, inner: int, axis: int) -> None:
        """Mark an input of a body that is a tensor outside, cut along an axis."""
        shapes, marks = self._sizes(tensor), self.marks(tensor) or self._nowhere
        self.enter([inner], [tuple([_cut(node, mark, shape, axis) for mark, shape in zip(marks, shapes, strict=True)])])

    def joined(self, marks: Sequence[Marks], tensors: Sequence[int]) -> list[Marks]:
        """Return what is true of marks and of those of tensors."""
        after = self.carried(tensors)
        return [tuple(map(together, zip(*both, strict=True))) for both in zip(marks, after, strict=True)]

    def _sizes(self, tensor: int) -> Shapes:
        return self.shapes(tensor) or (None,) * len(self._batches)

    def _lost(self, why: str) -> Marks:
        return tuple([Lost(why) if followed else None for followed in self._followed])

    def _carry_out(self, node: Node) -> None:
        """Carry the marks out of bodies: of a function, of the branches of an If, of a loop."""
        if node.bodies[0].name.startswith("@") or node.op == "If":
            lists: list[list[Marks | None]] = [
                [self.marks(body.outputs[at]) for body in node.bodies if at < len(body.outputs)]
                for at in range(len(node.outputs))
            ]
            deciding = node.inputs[:1] if node.op == "If" and not node.domain else ()
        elif node.op in ("Loop", "Scan"):
            body, outer = node.bodies[0], 2 if node.op == "Loop" else 0
            lists = [*self._out_of_turns(node, body, node.inputs[outer:], body.outputs[outer // 2 :])]
            deciding = (*node.inputs[:outer], *body.outputs[: outer // 2])
        else:
            inner = [tensor for each in nodes_in(node.bodies) for tensor in each.inputs]
            lists, deciding = [[] for _ in node.outputs], (*node.inputs, *inner)
        decided = any(map(self.marks, deciding))
        for tensor, found in zip(node.outputs, lists, strict=False):
            if decided:
                self._keep(tensor, self._lost(f"elements decide what {node.op} runs"))
            elif known := [marks for marks in found if marks]:
                self._keep(tensor, [together(marks) for marks in zip(*known, strict=True)])

    def _out_of_turns(
        self, node: Node, body: Body, first: Sequence[int], results: Sequence[int]
    ) -> Iterator[list[Marks | None]]:
        """Yield the marks of which each output of a loop is made: carried values, and then those that are collected."""
        count = len(first) - node.attributes.get("num_scan_inputs", 0)
        along = node.attributes.get("scan_output_axes") or (0,) * len(results)
        for at, result in enumerate(results):
            marks = self.marks(result)
            if at < count:
                yield [self.marks(first[at]), marks]
            elif marks is None or at - count >= len(along):
                yield [marks]
            else:
                each = zip(marks, self._sizes(result), strict=True)
                yield [tuple([_stacked(mark, shape, along[at - count]) for mark, shape in each])]

    def _seen(self, node: Node, outputs: Sequence[Shapes | None] | None = None) -> Iterator[Seen | None]:
        """Yield a node as it is in each lane; None for those in which no verdict tells samples apart."""
        if not node.inputs:
            yield from [None] * len(self._batches)
            return
        shapes, nobody = self._walk.shapes, self._nowhere
        absent = [at for at, tensor in enumerate(node.inputs) if tensor == ABSENT]
        in_lanes = zip(
            self._followed,
            self._batches,
            zip(*[self.marks(tensor) or nobody for tensor in node.inputs], strict=True),
            zip(*[shapes[tensor] or nobody for tensor in node.inputs], strict=True),
            zip(*[each or nobody for each in outputs or [shapes[tensor] for tensor in node.outputs]], strict=True),
            zip(*[self._elements(tensor) or nobody for tensor in node.inputs], strict=True),
            strict=True,
        )
        for followed, batch, marks, inputs, made, held in in_lanes:
            yield (
                Seen(node.op, node.domain, node.opset, node.attributes, batch, marks, inputs, made, held, absent)
                if followed
                else None
            )

    def _elements(self, tensor: int) -> Values | None:
        """Return the elements of a small integer tensor in all lanes; the walk has read those it asked for."""
        found = self._walk.values.get(tensor)
        if found is not None or self._walk.dtypes[tensor] not in (INT32, INT64) or tensor not in self._constants:
            return found
        constant = self._constants[tensor]
        made = None if constant.external else elements(constant.proto)
        return None if made is None else (made,) * len(self._batches)

    def _alike(self, node: Node, reached: Sequence[Marks]) -> bool:
        """Say whether all inputs that the batch reaches have the same marks and the rank of the output."""
        first, output = reached[0], self._walk.shapes[node.outputs[0]]
        if output is None or output[0] is None or not all(marks is first or marks == first for marks in reached):
            return False
        if None in output[: len(self._seen_lanes)]:
            return False
        shapes = [self._walk.shapes[tensor] for tensor in node.inputs if self._marks.get(tensor)]
        rank = len(output[0])
        return all(shape is not None and shape[0] is not None and len(shape[0]) == rank for shape in shapes)

    def _carry_marks(self, node: Node) -> None:
        if not node.outputs:
            return
        every = list(self._seen(node))
        for to, tensor in enumerate(node.outputs):
            self._keep(tensor, [None if seen is None else mark_after(seen, to) for seen in every])

    def _keep(self, tensor: int, marks: Iterable[Mark]) -> None:
        kept = tuple(marks)
        if tensor != ABSENT and any(kept):
            self._marks[tensor] = kept


def _cut(node: Node, mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of what a Scan hands to a turn: a tensor without one axis."""
    if not isinstance(mark, Apart):
        return mark
    if shape is None or axis % len(shape) == mark.axis:
        return Lost("no shape" if shape is None else f"{node.op} takes the samples one by one")
    return Apart(mark.axis - (axis % len(shape) < mark.axis), mark.inner)


def _stacked(mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of what a loop collects along a new axis."""
    if not isinstance(mark, Apart):
        return mark
    if shape is None:
        return Lost("no shape")
    return Apart(mark.axis + (axis % (len(shape) + 1) <= mark.axis), mark.inner)
