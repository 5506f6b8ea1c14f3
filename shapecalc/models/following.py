"""The batch followed through a model while it is walked: it judges the listed nodes, and mends those that offend."""

from __future__ import annotations

from copy import copy

from shapecalc.core.sizes.record import Record, replace
from shapecalc.models.answering import answer_of
from shapecalc.models.batch import MOVING, mark_after, mark_moved
from shapecalc.models.element_kinds import INT32, INT64
from shapecalc.models.fixes import Broken, fixes, mended_mark
from shapecalc.models.marks import Apart, Lost, place, together
from shapecalc.models.model import ABSENT
from shapecalc.models.report import OFFENCES, Stop, Verdict
from shapecalc.models.routes import POINTWISE, Seen
from shapecalc.models.state import NO_SHAPE
from shapecalc.models.stops import cause_of
from shapecalc.models.values import elements
from shapecalc.models.verdicts import Run, verdict_of
from shapecalc.models.walk import Judgement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from shapecalc.models.marks import Mark
    from shapecalc.models.model import Body, Node
    from shapecalc.models.report import Fix
    from shapecalc.models.walk import Shapes, Sizes, Values, Visit, Walk

    Marks = tuple[Mark, ...]
    """The marks of a tensor, by lane."""
    Above = tuple[int, str]
    """When an offender or a stop was met, and its path."""


NOTED = ("stops", "offenders", "verdicts", "remedies", "_marks", "_above")
"""What a follower writes down while it follows."""


class Told(Record):
    """What is said of a listed node, and the marks of its output once it is mended."""

    judgement: Judgement
    marks: Marks


class Following:
    """A follower: it keeps the marks of all tensors that the batch reaches, and what offends above each tensor."""

    def __init__(self) -> None:
        """Begin without a walk; `start` brings it."""
        self.stops: list[Stop] = []
        self.offenders: dict[str, tuple[Node, tuple[Fix, ...]]] = {}
        """The listed nodes that offend and what mends them, by path."""
        self.verdicts: dict[str, Verdict] = {}
        """How they offend, by path."""
        self.remedies: dict[str, tuple[Node, Fix]] = {}
        """The causes of stops and what mends them, by path."""
        self._makers: dict[int, Node] | None = None
        self._known: dict[object, Told] = {}
        self._marks: dict[int, Marks] = {}
        self._above: dict[int, Above] = {}

    def start(self, walk: Walk) -> None:
        """Mark the inputs that have the batch among their dims."""
        self._walk = walk
        self._batches = tuple([lane.batch for lane in walk.lanes])
        self._judged = tuple([lane.judged for lane in walk.lanes])
        self._followed = tuple([lane.judged and lane.batch > 1 for lane in walk.lanes])
        """In which lanes there are samples to follow: verdicts look at no others."""
        self._empty_lane = next((at for at, lane in enumerate(walk.lanes) if lane.batch == 0), None)
        self._seen_lanes = [(at, lane.batch) for at, lane in enumerate(walk.lanes) if lane.judged]
        self._fine = ("ok",) * len(self._seen_lanes)
        self.batch = walk.batch
        self._nowhere: Marks = (None,) * len(walk.lanes)
        self.declared = walk.declared_batch or 1
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
        self._carry_above(node)
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

    def judge(self, visit: Visit) -> Judgement:
        """Return the judgement of a listed node, and mark its output as it is once it is mended."""
        node = visit.node
        before = self.marks(node.inputs[0]) if node.inputs else None
        reached = len(node.inputs) > 1 and any(map(self.marks, node.inputs[1:]))
        told = self._kept(visit, before) if before and not reached else None
        if told is None:
            key = (visit.question, before, reached, visit.unknown, visit.problems)
            told = self._known.get(key)
            if told is None:
                told = self._known[key] = self._told(visit, before or self._nowhere, reached=reached)
        self._keep(node.outputs[0], told.marks)
        judgement = told.judgement
        offends = judgement.verdict in OFFENCES
        if offends:
            self.offenders[node.path], self.verdicts[node.path] = (node, judgement.fixes), judgement.verdict
        blocked_by = self._carry_above(node, offends=offends)
        return judgement if blocked_by is None else replace(judgement, blocked_by=blocked_by)

    def _kept(self, visit: Visit, before: Marks) -> Told | None:
        """Return what is said of a node that keeps the axis of the batch and all in front of it; None of any other."""
        input, outputs, (last, _) = visit.input, visit.outputs, self._seen_lanes[-1]
        mark, shape = before[last], input[last]
        if type(mark) is not Apart or shape is None or visit.unknown or visit.op not in MOVING:
            return None
        end = mark.axis + 1
        perm = (visit.arguments[last] or {}).get("perm", ()) if visit.op == "transpose" else None
        if perm is not None and perm[:end] != tuple(range(end)):
            return None
        for at, batch in self._seen_lanes:
            old, new = input[at], outputs[at]
            if old is None or new is None or old[:end] != new[:end]:
                return None
            if batch > 1 and (before[at] != mark or place(mark, old, batch) is None):
                return None
        here = place(mark, shape, self._batches[last])
        return Told(Judgement(Verdict.SAFE, outputs, "", (), None, self._fine, self._empty(visit), here, here), before)

    def _told(self, visit: Visit, before: Marks, *, reached: bool) -> Told:
        """Return what is said of a listed node whose input has these marks, wherever it stands.

        `reached` says if the batch reaches its other inputs.
        """
        after = self._marks_after(visit, before, reached=reached)
        runs = self._runs(visit, before, after)
        verdict, why = verdict_of(runs, self.declared, self.batch)
        if visit.unknown:
            lost = _lost(before)
            verdict, why = Verdict.UNKNOWN, visit.unknown if lost in ("", NO_SHAPE) else lost
        found = fixes(self._broken(visit, before), answer_of(visit)) if verdict in OFFENCES else []
        outputs = found[0].outputs if found else visit.outputs
        marks = tuple(map(mended_mark, before, visit.input, outputs, self._batches)) if found else tuple(after)
        here, there = next(((run.here, run.there) for run in runs[::-1] if run.batch > 1), (None, None))
        outcomes, offered = tuple([run.outcome for run in runs]), tuple([mended.fix for mended in found])
        judgement = Judgement(verdict, outputs, why, offered, None, outcomes, self._empty(visit), here, there)
        return Told(judgement, marks)

    def _marks_after(self, visit: Visit, before: Marks, *, reached: bool) -> list[Mark]:
        """Return the marks of a listed node's output."""
        if reached or visit.op not in MOVING:
            return [None if seen is None else mark_after(seen) for seen in self._seen(visit.node, (visit.outputs,))]
        return [
            mark_moved(visit.op, asked or {}, mark, shape, output, batch) if mark else None
            for asked, mark, shape, output, batch in zip(
                visit.arguments, before, visit.input, visit.outputs, self._batches, strict=True
            )
        ]

    def stop(self, node: Node, refused: tuple[str | None, ...]) -> Shapes | None:
        """Note a node that is not listed and fails; nobody can say what lies below it."""
        why = next((reason for reason in refused if reason), "it fails")
        cause = cause_of(node, self)
        self.stops.append(Stop(node, why, cause.node.path if cause else None))
        if cause:
            self.remedies[cause.node.path] = cause.node, cause.fix
        lost = Lost(f"{node.name or node.path} ({node.op}) fails above it")
        for tensor in node.outputs:
            self._keep(tensor, [lost for _ in self._batches])
        self._carry_above(node, offends=True)
        return None

    def marks(self, tensor: int) -> Marks | None:
        """Return the marks of a tensor in all lanes; None if the batch does not reach it."""
        return self._marks.get(tensor)

    def maker(self, tensor: int) -> Node | None:
        """Return the node that makes a tensor; None for inputs and constants."""
        if self._makers is None:
            self._makers = {made: node for node in nodes_in((self._walk.model.graph,)) for made in node.outputs}
        return self._makers.get(tensor)

    def shapes(self, tensor: int) -> Shapes | None:
        """Return the shape of a tensor in all lanes; None if none is known in any."""
        return self._walk.shapes[tensor]

    def _runs(self, visit: Visit, before: Sequence[Mark], after: Sequence[Mark]) -> list[Run]:
        return [
            Run(
                self._batches[at],
                visit.input[at],
                visit.outputs[at],
                before[at],
                after[at],
                problem.message if problem else "",
            )
            for at, problem in enumerate(visit.problems)
            if self._judged[at]
        ]

    def _empty(self, visit: Visit) -> str | None:
        """Return what the node does at a batch of 0."""
        at = self._empty_lane
        if at is None or (visit.outputs[at] is None and not visit.problems[at]):
            return None
        return "refused" if visit.problems[at] else "ok"

    def _broken(self, visit: Visit, before: Marks) -> Broken:
        return Broken(visit, self._batches, self._judged, before, self.declared, self.batch)

    def spoil(self, node: Node, why: str) -> None:
        """Mark the outputs of a node of which nobody can say where the batch is in them."""
        for tensor in node.outputs:
            self._keep(tensor, self._lost(why))
        self._carry_above(node)

    def trial(self) -> Self:
        """Return a follower that knows the same, and whose notes do not count: for a body that is walked again."""
        made = copy(self)
        for name in NOTED:
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

    def _carry_above(self, node: Node, *, offends: bool = False) -> str | None:
        """Carry on what offends above a node, or the node itself; return the path of the first one above."""
        if not self._above and not offends:
            return None
        read = [*node.inputs, *[tensor for body in node.bodies for tensor in body.outputs]]
        found = [self._above[tensor] for tensor in read if tensor in self._above]
        first = min(found, default=None)
        carried = first or ((len(self._above), node.path) if offends else None)
        if carried:
            self._above |= dict.fromkeys(node.outputs, carried)
        return first and first[1]


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


def nodes_in(bodies: Iterable[Body]) -> Iterator[Node]:
    """Yield all nodes of bodies, and of the bodies in them."""
    left = [*bodies]
    while left:
        for node in left.pop().nodes:
            yield node
            left += node.bodies


def _lost(marks: Marks) -> str:
    return next((mark.why for mark in marks if isinstance(mark, Lost)), "")
