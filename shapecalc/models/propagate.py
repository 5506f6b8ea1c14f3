"""The batch followed through a model while it is walked: its marks are carried, and the listed nodes are judged.

A node that offends is fixed on the way, so that those below it are judged as they are then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import islice
from math import prod
from typing import Any, Self

import numpy as np

from shapecalc.core.record import FrozenDict, Record, replace
from shapecalc.models import verdicts
from shapecalc.models.answers import CoreCalls, Visit
from shapecalc.models.batch_axis import BatchAxis, Lost, Mark, NodeAtSize, OneForAll, Shapes, Sizes, together
from shapecalc.models.file import ABSENT, INT32, INT64, MOST_ELEMENTS, UNFIT, Body, Node, nodes_in
from shapecalc.models.lanes import NO_SHAPE, Failures, Walk
from shapecalc.models.operators import LISTED, Graphs, Operator, graphs_of, operator_of
from shapecalc.models.verdicts import OFFENCES, Fix, Verdict

Marks = tuple[Mark, ...]
"""The marks of a tensor, by lane."""
BOUNDED = {"ArgMax": (0, 0), "ArgMin": (0, 0), "TopK": (1, -1)}
"""What gives places along an axis: as which output, and the axis if none is named."""
RESHAPED = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
FOLLOWED: dict[str, Any] = {
    **dict.fromkeys(RESHAPED, lambda _, shape, data, *_given: data.reshape(shape)),
    "Add": lambda _, _shape, a, b: a + b,
    "Concat": lambda given, _, *parts: np.concatenate(parts, given.get("axis", 0)),
}
"""What makes indices of others, as it makes their bounds."""
ANY = 1 << 40
"""What no index reaches."""
FARTHEST = 64
"""How many nodes above a stop, or above indices, are looked at."""
SILENT = (Verdict.SWALLOWS, Verdict.SCRAMBLES)
"""The verdicts on nodes that do not fail themselves."""


def mark_after(node: NodeAtSize, to: int = 0) -> Mark:
    """Return the mark of an output of a node."""
    row = operator_of(node)
    reached = [mark for mark in node.marks[: row.takes] if mark]
    if not reached:
        return None
    if lost := next((mark for mark in reached if isinstance(mark, Lost)), None):
        return lost
    unknown = [mark for mark, shape in zip(node.marks, node.inputs, strict=True) if mark and shape is None]
    if node.outputs[to] is None or unknown:
        return Lost("no shape")
    try:
        return row.move(node, to) if row.move else _routed(node, row, to)
    except UNFIT:
        return Lost(f"{node.op} is not written as ONNX describes it")


def _routed(node: NodeAtSize, row: Operator, to: int) -> Mark:
    """Return the mark of an output whose elements are made of those at one place along the marked axes."""
    if row.route is None:
        return Lost(f"the batch is not followed through {node.op}")
    found: list[Mark] = []
    for at, mark in enumerate(node.marks[: row.takes]):
        if isinstance(mark, BatchAxis):
            axis = row.route(node, at, mark.axis, to)
            if axis is None or not _same_size(node.inputs[at], mark.axis, node.outputs[to], axis):
                return Lost(f"{node.op} may read several samples at once")
            found.append(mark if axis == mark.axis else BatchAxis(axis, mark.inner))
    return together(found)


def _same_size(before: Sizes | None, axis: int, after: Sizes | None, to: int) -> bool:
    return before is not None and after is not None and 0 <= to < len(after) and before[axis] == after[to]


def _cut(node: Node, mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of what a Scan hands to a turn: a tensor without one axis."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None or axis % len(shape) == mark.axis:
        return Lost("no shape" if shape is None else f"{node.op} takes the samples one by one")
    return BatchAxis(mark.axis - (axis % len(shape) < mark.axis), mark.inner)


def _stacked(mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of what a loop collects along a new axis."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None:
        return Lost("no shape")
    return BatchAxis(mark.axis + (axis % (len(shape) + 1) <= mark.axis), mark.inner)


class Stop(Record):
    """A node that is not listed and goes wrong with every earlier offender fixed."""

    node: Node
    why: str
    cause: str | None
    """The path of the listed node that it comes from; None if none is known."""
    silent: bool = False
    """Whether it runs: it takes one sample for all."""


class NodeVerdict(Record):
    """What is said of a listed node."""

    verdict: Verdict
    why: str
    """One sentence, without a full stop."""
    outputs: Shapes
    """Its output once it is fixed, with which the walk goes on; `Visit.outputs` if there is nothing to fix."""
    marks: Marks
    """The marks of its output once it is fixed."""
    fixes: tuple[Fix, ...]
    """The best first; empty if there is nothing to mend or nobody knows how."""
    runs: Mapping[int, str]
    """By judged size: `ok`, `fails` or `blocked`."""
    empty: str | None
    """What happens at N = 0: `ok` or `refused`; None if nobody knows."""
    batch_in: tuple[int, str] | None
    """The axis of the input that carries the batch, and how: `whole`, `major` or `minor`; None if none does."""
    batch_out: tuple[int, str] | None
    blocked_by: str | None
    """The path of the first offender or stop above it whose fixing it needs; None if there is none."""


class Judge:
    """Carries the marks, judges the listed nodes, fixes those that offend, and keeps what offends above each tensor."""

    noted = ("_marks", "stops", "judged", "offenders", "fixes_above", "_above")
    """What is written down while the model is walked."""

    def __init__(self) -> None:
        """Begin without a walk; `start` brings it."""
        self._marks: dict[int, Marks] = {}
        """The marks of the tensors that the batch reaches."""
        self.core = CoreCalls()
        self.stops: list[Stop] = []
        self.judged: list[tuple[Visit, NodeVerdict]] = []
        """The listed nodes in the order of the walk."""
        self.offenders: dict[str, tuple[Node, NodeVerdict]] = {}
        """Those that offend, by path."""
        self.fixes_above: dict[str, tuple[Node, Fix]] = {}
        """The causes of stops and what fixes them, by path."""
        self._makers: dict[int, Node] | None = None
        self._taken: set[int] | None = None
        self._known: dict[object, NodeVerdict] = {}
        self._above: dict[int, tuple[int, str]] = {}
        """When an offender or a stop above a tensor was met, and its path."""

    def start(self, walk: Walk) -> None:
        """Mark the inputs that have the batch among their dims."""
        self._walk = walk
        self._batches = tuple([lane.batch for lane in walk.lanes])
        self._followed = tuple([lane.judged and lane.batch > 1 for lane in walk.lanes])
        """In which lanes there are samples to follow: verdicts look at no others."""
        self._nowhere: Marks = (None,) * len(walk.lanes)
        self._empty_lane = next((at for at, lane in enumerate(walk.lanes) if lane.batch == 0), None)
        self.declared = walk.declared_batch or 1
        for declared, dims in zip(walk.model.inputs, walk.inputs, strict=True):
            if dims is None:
                mark: Mark = Lost("an input has no shape")
            elif walk.batch not in dims:
                continue
            elif dims.count(walk.batch) > 1:
                mark = Lost("an input has the batch twice")
            else:
                mark = BatchAxis(dims.index(walk.batch), 1)
            self._keep(declared.tensor, [mark if followed else None for followed in self._followed])

    def carry(self, node: Node) -> None:
        """Carry the marks through a node that is not listed and does not fail; called after its bodies."""
        self._carry_above(node)
        if node.bodies:
            self._carry_out(node)
            return
        reached = [(marks, self._walk.shapes[each]) for each in node.inputs if (marks := self.marks(each))]
        if not reached or not node.outputs:
            return
        own = reached[0][0], self._walk.shapes[node.outputs[0]]
        if operator_of(node).pointwise and own[1] and None not in own[1] and all(each == own for each in reached):
            self._keep(node.outputs[0], own[0])
        else:
            lanes = list(self._at_sizes(node))
            for to, tensor in enumerate(node.outputs):
                self._keep(tensor, self._told(node, [mark_after(each, to) if each else None for each in lanes]))

    def marks(self, tensor: int) -> Marks | None:
        """Return the marks of a tensor in all lanes; None if the batch does not reach it."""
        return self._marks.get(tensor)

    def lost_tensors(self) -> int:
        """Return in how many tensors the samples are lost from sight."""
        return sum(any(isinstance(mark, Lost) for mark in marks) for marks in self._marks.values())

    def spoil(self, node: Node, why: str) -> None:
        """Mark the outputs of a node of which nobody can say where the batch is in them."""
        for tensor in node.outputs:
            self._keep(tensor, self._lost(why))
        self._carry_above(node)

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
        shapes, marks = self._walk.shapes_of(tensor), self.marks(tensor) or self._nowhere
        self.enter([inner], [tuple([_cut(node, mark, shape, axis) for mark, shape in zip(marks, shapes, strict=True)])])

    def joined(self, marks: Sequence[Marks], tensors: Sequence[int]) -> list[Marks]:
        """Return what is true of marks and of those of tensors."""
        after = self.carried(tensors)
        return [tuple(map(together, zip(*both, strict=True))) for both in zip(marks, after, strict=True)]

    def _lost(self, why: str) -> Marks:
        return tuple([Lost(why) if followed else None for followed in self._followed])

    def _carry_out(self, node: Node) -> None:
        """Carry the marks out of bodies: of a function, of the branches of an If, of a loop."""
        graphs = graphs_of(node)
        if node.calls or graphs is Graphs.IF:
            lists: list[list[Marks | None]] = [
                [self.marks(body.outputs[at]) for body in node.bodies if at < len(body.outputs)]
                for at in range(len(node.outputs))
            ]
            deciding = node.inputs[:1] if graphs is Graphs.IF else ()
        elif graphs is not None:
            body, outer = node.bodies[0], 2 if graphs is Graphs.LOOP else 0
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
                each = zip(marks, self._walk.shapes_of(result), strict=True)
                yield [tuple([_stacked(mark, shape, along[at - count]) for mark, shape in each])]

    def _at_sizes(self, node: Node, outputs: Shapes | None = None) -> Iterator[NodeAtSize | None]:
        """Yield a node as it is in each lane; None for those in which no verdict tells samples apart."""
        unknown = self._nowhere
        absent = tuple([at for at, tensor in enumerate(node.inputs) if tensor == ABSENT])
        marks = [self.marks(tensor) or unknown for tensor in node.inputs]
        inputs = [self._walk.shapes_of(tensor) for tensor in node.inputs]
        made = [self._walk.shapes_of(tensor) for tensor in node.outputs] if outputs is None else [outputs]
        for lane, batch in enumerate(self._batches):
            if not self._followed[lane]:
                yield None
                continue
            yield NodeAtSize(
                node.op,
                node.domain,
                node.opset,
                node.attributes,
                batch,
                [lanes[lane] for lanes in marks],
                [lanes[lane] for lanes in inputs],
                [lanes[lane] for lanes in made],
                partial(self._elements, node, lane),
                absent,
                partial(self._between, node, lane),
            )

    def _elements(self, node: Node, lane: int, at: int) -> Any:
        """Return the elements of an input of a node in a lane, if it is a small tensor of whole numbers."""
        tensor = node.inputs[at] if at < len(node.inputs) else ABSENT
        is_whole = self._walk.dtypes[tensor] in (INT32, INT64)
        found = self._walk.known(tensor) if is_whole else self._walk.values.get(tensor)
        return None if found is None else found[lane]

    def _between(self, node: Node, lane: int, at: int) -> Any:
        """Return the least and the greatest that the indices of a node may be."""
        return self._bounds(node.inputs[at], lane, FARTHEST)

    def _bounds(self, tensor: int, lane: int, left: int) -> Any:
        """Return the least and the greatest that whole numbers may be, by the nodes that make them; None if unknown."""
        known, shape = (self._walk.known(tensor) or self._walk.unknown)[lane], self._walk.shapes_of(tensor)[lane]
        if known is not None:
            return known, known
        if shape is None or prod(shape) > MOST_ELEMENTS:
            return None
        maker = self.maker(tensor)
        op = maker.op if maker and left and not maker.domain else ""
        if maker and op in BOUNDED:
            size, (output, along) = self._walk.shapes_of(maker.inputs[0])[lane], BOUNDED[op]
            if size is not None and maker.outputs.index(tensor) == output:
                return np.zeros(shape, np.int64), np.full(shape, size[maker.attributes.get("axis", along)] - 1)
        above = maker.inputs if maker and op in FOLLOWED else ()
        inner = [self._bounds(each, lane, (left - 1) // len(above)) for each in above]
        if maker and inner and None not in inner:
            return tuple([FOLLOWED[op](maker.attributes, shape, *each) for each in zip(*inner, strict=True)])
        return np.full(shape, -ANY), np.full(shape, ANY)

    def _told(self, node: Node, found: Sequence[Mark]) -> Sequence[Mark]:
        """Return marks; note a node that takes one sample for all in every lane, and go on as if it were so meant."""
        faults = [mark for mark in found if isinstance(mark, OneForAll)]
        if not faults or len(faults) < sum(self._followed):
            return found
        if self._is_taken(node.outputs[0]):
            self.stops.append(Stop(node, faults[0].why, None, silent=True))
        return [mark.goes_on if isinstance(mark, OneForAll) else mark for mark in found]

    def _is_taken(self, tensor: int) -> bool:
        """Say whether anything takes elements of a tensor, and not its sizes alone."""
        if self._taken is None:
            graph = self._walk.model.graph
            self._taken = {*graph.outputs}
            for node in nodes_in((graph,)):
                self._taken.update(node.reads if node.bodies else node.inputs[: operator_of(node).takes])
        return tensor in self._taken

    def _keep(self, tensor: int, marks: Iterable[Mark]) -> None:
        kept = tuple(marks)
        if tensor != ABSENT and any(kept):
            self._marks[tensor] = kept

    def judge(self, visit: Visit) -> Shapes:
        """Judge a listed node, mark its output as it is once it is fixed, and return its shapes then."""
        return self._judged(visit).outputs

    def _judged(self, visit: Visit) -> NodeVerdict:
        """Return the verdict on a listed node, and keep it."""
        node = visit.node
        before = self.marks(node.inputs[0]) if node.inputs else None
        reached = len(node.inputs) > 1 and any(map(self.marks, node.inputs[1:]))
        key = (visit.answers, before, reached, visit.unknown, visit.problems)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._verdict(visit, before or self._nowhere)
        self._keep(node.outputs[0], found.marks)
        offends = found.verdict in OFFENCES
        if offends:
            self.offenders[node.path] = node, found
        blocked_by = self._carry_above(node, offends=offends)
        if blocked_by is not None:
            found = replace(found, blocked_by=blocked_by)
        self.judged.append((visit, found))
        return found

    def _verdict(self, visit: Visit, before: Marks) -> NodeVerdict:
        """Return what is said of a listed node whose input has these marks, wherever it stands."""
        lanes = self._at_sizes(visit.node, visit.outputs)
        after = tuple([None if each is None else mark_after(each) for each in lanes])
        runs = self._runs(visit, before, after)
        verdict, why = verdicts.verdict_of(runs, self.declared, self._walk.batch)
        if visit.unknown:
            lost = next((mark.why for mark in before if isinstance(mark, Lost)), "")
            verdict, why = Verdict.UNKNOWN, visit.unknown if lost in ("", NO_SHAPE) else lost
        found = self._fixes(visit, before) if verdict in OFFENCES else []
        outputs = found[0].outputs if found else visit.outputs
        marks = tuple(map(verdicts.fixed_mark, before, visit.input, outputs, self._batches)) if found else after
        here, there = next(((run.here, run.there) for run in runs[::-1] if run.batch > 1), (None, None))
        return NodeVerdict(
            verdict=verdict,
            why=why,
            outputs=outputs,
            marks=marks,
            fixes=tuple([each.fix for each in found]),
            runs={run.batch: run.outcome for run in runs},
            empty=self._empty(visit),
            batch_in=here,
            batch_out=there,
            blocked_by=None,
        )

    def _fixes(self, visit: Visit, before: Marks) -> list[verdicts.FixedOutputs]:
        """Return what fixes an offender, the best first."""
        argument, walk = visit.call.arguments[0], self._walk
        judged = tuple([lane.judged for lane in walk.lanes])
        asked = visit.input, visit.named_argument(argument.name), visit.switch, visit.outputs
        offender = verdicts.Offender(*asked, self._batches, judged, before, self.declared, walk.batch)

        def answer(tried: tuple[Any, ...], switch: bool | None) -> Shapes:
            arguments = [None if target is None else FrozenDict({argument.name: target}) for target in tried]
            return self.core.ask(visit.node, switch, visit.input, arguments).outputs

        return verdicts.fixes(offender, visit.call.fixes, answer)

    def stop(self, node: Node, failures: Failures) -> None:
        """Note a node that is not listed and fails; nobody can say what lies below it."""
        why = next((reason for reason in failures if reason), "it fails")
        cause = self._cause_of(node)
        self.stops.append(Stop(node, why, cause[0].path if cause else None))
        if cause:
            self.fixes_above[cause[0].path] = cause
        lost = Lost(f"{node.name or node.path} ({node.op}) fails above it")
        for tensor in node.outputs:
            self._keep(tensor, [lost for _ in self._batches])
        self._carry_above(node, offends=True)

    def maker(self, tensor: int) -> Node | None:
        """Return the node that makes a tensor; None for inputs, constants, and one that is left out."""
        if self._makers is None:
            self._makers = {made: node for node in nodes_in((self._walk.model.graph,)) for made in node.outputs}
        return self._makers.get(tensor) if tensor != ABSENT else None

    def above(self, nodes: Iterable[Node], passed: Callable[[int], bool] = bool) -> Iterator[Node]:
        """Yield nodes and those that make what they read, the nearest first, where tensors may be passed."""
        left, met = [*nodes], set()
        for node in left:  # grows meanwhile
            if node.path not in met:
                met.add(node.path)
                yield node
                makers = [self.maker(tensor) for tensor in node.reads if passed(tensor)]
                left += [maker for maker in makers if maker is not None]

    def _runs(self, visit: Visit, before: Marks, after: Marks) -> list[verdicts.Run]:
        """Return what a node does at each judged size."""
        problems = [problem.message if problem else "" for problem in visit.problems]
        outputs = [None if shape is None else each for shape, each in zip(visit.input, visit.outputs, strict=True)]
        lanes = zip(self._batches, visit.input, outputs, before, after, problems, strict=True)
        return [verdicts.Run(*each) for each, lane in zip(lanes, self._walk.lanes, strict=True) if lane.judged]

    def _empty(self, visit: Visit) -> str | None:
        """Return what the node does at a batch of 0."""
        at = self._empty_lane
        if at is None or (visit.outputs[at] is None and not visit.problems[at]):
            return None
        return "refused" if visit.problems[at] else "ok"

    def _carry_above(self, node: Node, *, offends: bool = False) -> str | None:
        """Carry on what offends above a node, or the node itself; return the path of the first one above."""
        if not self._above and not offends:
            return None
        first = min([self._above[tensor] for tensor in node.reads if tensor in self._above], default=None)
        carried = first or ((len(self._above), node.path) if offends else None)
        if carried:
            self._above |= dict.fromkeys(node.outputs, carried)
        return first and first[1]

    def _cause_of(self, node: Node) -> tuple[Node, Fix] | None:
        """Return the nearest node above a stop that repeats a constant as often as the declared batch, and its fix."""
        rank_and_axis = self._whole_axis(node)
        if rank_and_axis is None:
            return None
        rank, axis = rank_and_axis
        for above in islice(self.above([node], lambda tensor: not self.marks(tensor)), FARTHEST):
            if not above.domain and above.op in LISTED and LISTED[above.op].repeats:
                shapes = self._walk.shapes[above.outputs[0]]
                place = axis - rank + len(shapes[0]) if shapes and shapes[0] is not None else -1
                if place >= 0 and shapes and {shape[place] for shape in shapes if shape} == {self.declared}:
                    return above, verdicts.from_input(self._walk.batch, place)
        return None

    def _whole_axis(self, node: Node) -> tuple[int, int] | None:
        """Return the rank of an input that the batch reaches as a whole axis, and this axis."""
        for tensor in node.inputs:
            shapes = self._walk.shapes[tensor]
            mark = next((mark for mark in self.marks(tensor) or () if mark), None)
            if isinstance(mark, BatchAxis) and mark.inner == 1 and shapes and shapes[0] is not None:
                return len(shapes[0]), mark.axis
        return None


class LeftAlone(Judge):
    """A judge that leaves one node and all below it as they are, until one of them fails.

    Others that go wrong without an error stay as they are, too: they may go wrong in the same way.
    """

    def __init__(self, path: str) -> None:
        """Leave the node of this path."""
        super().__init__()
        self.first: Node | None = None
        """The first node that fails below it."""
        self.certain = True
        """Whether the shapes of all nodes below it are known, up to the first that fails."""
        self._path = path
        self._below: set[int] = set()

    def judge(self, visit: Visit) -> Shapes:
        """Judge a listed node; one below the node is not fixed."""
        found = self._judged(visit)
        if visit.node.path != self._path and not self._lies_below(visit.node):
            return visit.outputs if found.verdict in SILENT else found.outputs
        judged = len(self._walk.judged)
        self._note(visit.node, visit.outputs[:judged], fails=any(visit.problems[:judged]))
        return visit.outputs

    def carry(self, node: Node) -> None:
        """Carry the marks through a node that is not listed and does not fail."""
        super().carry(node)
        if self._lies_below(node):
            for tensor in node.outputs:
                self._note(node, self._walk.shapes_of(tensor)[: len(self._walk.judged)])

    def stop(self, node: Node, failures: Failures) -> None:
        """Note a node that is not listed and fails."""
        if self._lies_below(node):
            self._note(node, (), fails=True)
        super().stop(node, failures)

    def _lies_below(self, node: Node) -> bool:
        return not self._below.isdisjoint(node.reads)

    def _note(self, node: Node, outputs: Iterable[object], *, fails: bool = False) -> None:
        """Note a node below, with its shapes at the judged sizes."""
        self._below.update(node.outputs)
        if self.first is None and fails:
            self.first = node
        elif self.first is None and None in outputs:
            self.certain = False
