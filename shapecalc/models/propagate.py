"""Track the batch through a model: propagate marks and judge listed nodes.

A failing node is fixed at once, so that the nodes below it are judged as if it were right.
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
"""The marks of a tensor by lane."""
BOUNDED = {"ArgMax": (0, 0), "ArgMin": (0, 0), "TopK": (1, -1)}
"""The operators that return indices along an axis: which output holds them, and the default axis."""
RESHAPED = ("Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze")
FOLLOWED: dict[str, Any] = {
    **dict.fromkeys(RESHAPED, lambda _, shape, data, *_others: data.reshape(shape)),
    "Add": lambda _, _shape, a, b: a + b,
    "Concat": lambda attributes, _, *parts: np.concatenate(parts, attributes.get("axis", 0)),
}
"""The evaluators of operators that map indices to indices; applied to bounds they return bounds."""
ANY = 1 << 40
"""A bound beyond any index."""
FARTHEST = 64
"""The largest number of nodes searched above a failure, or above indices."""
SILENT = (Verdict.SWALLOWS, Verdict.SCRAMBLES)
"""The verdicts on failing nodes that raise no error."""


class Stop(Record):
    """An unlisted node that fails even after all listed nodes above it are fixed."""

    node: Node
    why: str
    cause: str | None
    """The path of the listed node that causes the failure; None if unknown."""
    silent: bool = False
    """Whether the node runs, but uses one sample for all others."""


class NodeVerdict(Record):
    """The verdict on a listed node."""

    verdict: Verdict
    why: str
    """A sentence without a full stop."""
    outputs: Shapes
    """The output shapes after the best fix, which the walk continues with."""
    marks: Marks
    """The marks of the output after the best fix."""
    fixes: tuple[Fix, ...]
    """The fixes, the best first; empty if none is needed or known."""
    runs: Mapping[int, str]
    """`ok`, `fails` or `blocked` by judged batch size."""
    empty: str | None
    """The outcome at a batch of 0: `ok` or `refused`; None if unknown."""
    batch_in: tuple[int, str] | None
    """The input axis that holds the batch, and the part: `whole`, `major` or `minor`; None without one."""
    batch_out: tuple[int, str] | None
    blocked_by: str | None
    """The path of the first failing node above that must be fixed first; None without one."""


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
    """Return the mark of an output by the axis rule of its operator."""
    if row.route is None:
        return Lost(f"the batch is not followed through {node.op}")
    marks: list[Mark] = []
    for index, mark in enumerate(node.marks[: row.takes]):
        if isinstance(mark, BatchAxis):
            axis = row.route(node, index, mark.axis, to)
            if axis is None or not _same_size(node.inputs[index], mark.axis, node.outputs[to], axis):
                return Lost(f"{node.op} may read several samples at once")
            marks.append(mark if axis == mark.axis else BatchAxis(axis, mark.inner))
    return together(marks)


def _same_size(before: Sizes | None, axis: int, after: Sizes | None, to: int) -> bool:
    return before is not None and after is not None and 0 <= to < len(after) and before[axis] == after[to]


def _cut(node: Node, mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of one slice of a Scan input, which lacks one axis."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None or axis % len(shape) == mark.axis:
        return Lost("no shape" if shape is None else f"{node.op} takes the samples one by one")
    return BatchAxis(mark.axis - (axis % len(shape) < mark.axis), mark.inner)


def _stacked(mark: Mark, shape: Sizes | None, axis: int) -> Mark:
    """Return the mark of a loop output that is collected along a new axis."""
    if not isinstance(mark, BatchAxis):
        return mark
    if shape is None:
        return Lost("no shape")
    return BatchAxis(mark.axis + (axis % (len(shape) + 1) <= mark.axis), mark.inner)


class Judge:
    """The tracker of the batch along a walk.

    It propagates marks, judges and fixes the listed nodes, and records which failure is above each tensor.
    """

    noted = ("_marks", "stops", "judged", "offenders", "fixes_above", "_above")
    """The attributes that change during a walk; a trial copies them."""

    def __init__(self) -> None:
        """Create a tracker; `start_walk` binds it to a walk."""
        self._marks: dict[int, Marks] = {}
        """The marks of the tensors that depend on the batch."""
        self.core = CoreCalls()
        self.stops: list[Stop] = []
        self.judged: list[tuple[Visit, NodeVerdict]] = []
        """The listed nodes with their verdicts, in the order of the walk."""
        self.offenders: dict[str, tuple[Node, NodeVerdict]] = {}
        """The failing listed nodes by path."""
        self.fixes_above: dict[str, tuple[Node, Fix]] = {}
        """The listed causes of unlisted failures and their fixes, by path."""
        self._makers: dict[int, Node] | None = None
        self._taken: set[int] | None = None
        self._known: dict[object, NodeVerdict] = {}
        self._above: dict[int, tuple[int, str]] = {}
        """The order and the path of the first failure above a tensor."""

    def start(self, walk: Walk) -> None:
        """Bind a walk, and mark the inputs that have the batch as a dim."""
        self._walk = walk
        self._batches = tuple([lane.batch for lane in walk.lanes])
        self._followed = tuple([lane.judged and lane.batch > 1 for lane in walk.lanes])
        """Whether a lane has samples to track; verdicts are based on these lanes."""
        self._nowhere: Marks = (None,) * len(walk.lanes)
        self._empty_lane = next((index for index, lane in enumerate(walk.lanes) if lane.batch == 0), None)
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
        """Propagate marks through an unlisted node that runs.

        Its bodies must have been walked before.
        """
        self._carry_above(node)
        if node.bodies:
            self._carry_out(node)
            return
        reached = [(marks, self._walk.shapes[tensor]) for tensor in node.inputs if (marks := self.marks(tensor))]
        if not reached or not node.outputs:
            return
        own = reached[0][0], self._walk.shapes[node.outputs[0]]
        if operator_of(node).pointwise and own[1] and None not in own[1] and all(pair == own for pair in reached):
            self._keep(node.outputs[0], own[0])
        else:
            lanes = list(self._at_sizes(node))
            for to, tensor in enumerate(node.outputs):
                self._keep(tensor, self._told(node, [mark_after(lane, to) if lane else None for lane in lanes]))

    def marks(self, tensor: int) -> Marks | None:
        """Return the marks of a tensor in all lanes; None if it has no batch."""
        return self._marks.get(tensor)

    def lost_tensors(self) -> int:
        """Return the number of tensors whose samples are lost."""
        return sum(any(isinstance(mark, Lost) for mark in marks) for marks in self._marks.values())

    def spoil(self, node: Node, why: str) -> None:
        """Mark the outputs of a node as lost."""
        for tensor in node.outputs:
            self._keep(tensor, self._lost(why))
        self._carry_above(node)

    def trial(self) -> Self:
        """Return a copy that can walk a body without a change to this tracker."""
        trial = copy(self)
        for name in self.noted:
            setattr(trial, name, getattr(self, name).copy())
        return trial

    def carried(self, tensors: Sequence[int]) -> list[Marks]:
        """Return the marks of the tensors that a loop carries."""
        return [self.marks(tensor) or self._nowhere for tensor in tensors]

    def lost(self, count: int) -> list[Marks]:
        """Return lost marks for a number of tensors."""
        return [self._lost("a loop above moves the batch")] * count

    def enter(self, tensors: Sequence[int], marks: Sequence[Marks]) -> None:
        """Set the marks of the inputs of a body."""
        for tensor, tensor_marks in zip(tensors, marks, strict=True):
            self._marks.pop(tensor, None)
            self._keep(tensor, tensor_marks)

    def slice(self, node: Node, tensor: int, inner: int, axis: int) -> None:
        """Mark a body input that is a slice of an outer tensor along an axis."""
        shapes, marks = self._walk.shapes_of(tensor), self.marks(tensor) or self._nowhere
        self.enter([inner], [tuple([_cut(node, mark, shape, axis) for mark, shape in zip(marks, shapes, strict=True)])])

    def joined(self, marks: Sequence[Marks], tensors: Sequence[int]) -> list[Marks]:
        """Return marks merged with those of some tensors."""
        after = self.carried(tensors)
        return [tuple(map(together, zip(*both, strict=True))) for both in zip(marks, after, strict=True)]

    def _lost(self, why: str) -> Marks:
        return tuple([Lost(why) if followed else None for followed in self._followed])

    def _carry_out(self, node: Node) -> None:
        """Propagate marks from the bodies of a node to its outputs."""
        graphs = graphs_of(node)
        if node.calls or graphs is Graphs.IF:
            lists: list[list[Marks | None]] = [
                [self.marks(body.outputs[index]) for body in node.bodies if index < len(body.outputs)]
                for index in range(len(node.outputs))
            ]
            deciding = node.inputs[:1] if graphs is Graphs.IF else ()
        elif graphs is not None:
            body, outer = node.bodies[0], 2 if graphs is Graphs.LOOP else 0
            lists = [*self._out_of_turns(node, body, node.inputs[outer:], body.outputs[outer // 2 :])]
            deciding = (*node.inputs[:outer], *body.outputs[: outer // 2])
        else:
            inner = [tensor for inner_node in nodes_in(node.bodies) for tensor in inner_node.inputs]
            lists, deciding = [[] for _ in node.outputs], (*node.inputs, *inner)
        decided = any(map(self.marks, deciding))
        for tensor, sources in zip(node.outputs, lists, strict=False):
            if decided:
                self._keep(tensor, self._lost(f"elements decide what {node.op} runs"))
            elif known := [marks for marks in sources if marks]:
                self._keep(tensor, [together(marks) for marks in zip(*known, strict=True)])

    def _out_of_turns(
        self, node: Node, body: Body, first: Sequence[int], results: Sequence[int]
    ) -> Iterator[list[Marks | None]]:
        """Yield the marks to merge for each output of a loop.

        Carried values come first, then collected ones.
        """
        count = len(first) - node.attributes.get("num_scan_inputs", 0)
        along = node.attributes.get("scan_output_axes") or (0,) * len(results)
        for index, result in enumerate(results):
            marks = self.marks(result)
            if index < count:
                yield [self.marks(first[index]), marks]
            elif marks is None or index - count >= len(along):
                yield [marks]
            else:
                lanes = zip(marks, self._walk.shapes_of(result), strict=True)
                yield [tuple([_stacked(mark, shape, along[index - count]) for mark, shape in lanes])]

    def _at_sizes(self, node: Node, outputs: Shapes | None = None) -> Iterator[NodeAtSize | None]:
        """Yield the node in each lane; None in lanes without samples to track."""
        unknown = self._nowhere
        absent = tuple([index for index, tensor in enumerate(node.inputs) if tensor == ABSENT])
        marks = [self.marks(tensor) or unknown for tensor in node.inputs]
        inputs = [self._walk.shapes_of(tensor) for tensor in node.inputs]
        results = [self._walk.shapes_of(tensor) for tensor in node.outputs] if outputs is None else [outputs]
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
                [lanes[lane] for lanes in results],
                partial(self._elements, node, lane),
                absent,
                partial(self._between, node, lane),
            )

    def _elements(self, node: Node, lane: int, at: int) -> Any:
        """Return the elements of a small integer input in a lane; None if unknown."""
        tensor = node.inputs[at] if at < len(node.inputs) else ABSENT
        is_integer = self._walk.dtypes[tensor] in (INT32, INT64)
        values = self._walk.known(tensor) if is_integer else self._walk.values.get(tensor)
        return None if values is None else values[lane]

    def _between(self, node: Node, lane: int, at: int) -> Any:
        """Return the bounds of the indices of a node in a lane."""
        return self._bounds(node.inputs[at], lane, FARTHEST)

    def _bounds(self, tensor: int, lane: int, left: int) -> Any:
        """Return lower and upper bounds of an integer tensor; None if unknown.

        They are computed from the nodes above it.

        `node_budget` is the number of nodes that may still be searched.
        """
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
        inner = [self._bounds(operand, lane, (left - 1) // len(above)) for operand in above]
        if maker and inner and None not in inner:
            return tuple([FOLLOWED[op](maker.attributes, shape, *operands) for operands in zip(*inner, strict=True)])
        return np.full(shape, -ANY), np.full(shape, ANY)

    def _told(self, node: Node, found: Sequence[Mark]) -> Sequence[Mark]:
        """Return marks in which shared samples are replaced by the intended marks.

        If the node shares one sample in every lane, it is recorded as a silent failure.
        """
        shared = [mark for mark in found if isinstance(mark, OneForAll)]
        if not shared or len(shared) < sum(self._followed):
            return found
        if self._is_taken(node.outputs[0]):
            self.stops.append(Stop(node, shared[0].why, None, silent=True))
        return [mark.goes_on if isinstance(mark, OneForAll) else mark for mark in found]

    def _is_taken(self, tensor: int) -> bool:
        """Return whether some node reads elements of a tensor, not only its shape."""
        if self._taken is None:
            graph = self._walk.model.graph
            self._taken = {*graph.outputs}
            for node in nodes_in((graph,)):
                self._taken.update(node.reads if node.bodies else node.inputs[: operator_of(node).takes])
        return tensor in self._taken

    def _keep(self, tensor: int, marks: Iterable[Mark]) -> None:
        by_lane = tuple(marks)
        if tensor != ABSENT and any(by_lane):
            self._marks[tensor] = by_lane

    def judge(self, visit: Visit) -> Shapes:
        """Judge a listed node, mark its fixed output, and return the fixed output shapes."""
        return self._judged(visit).outputs

    def _judged(self, visit: Visit) -> NodeVerdict:
        """Return and record the verdict on a listed node."""
        node = visit.node
        before = self.marks(node.inputs[0]) if node.inputs else None
        reached = len(node.inputs) > 1 and any(map(self.marks, node.inputs[1:]))
        key = (visit.answers, before, reached, visit.unknown, visit.problems)
        verdict = self._known.get(key)
        if verdict is None:
            verdict = self._known[key] = self._verdict(visit, before or self._nowhere)
        self._keep(node.outputs[0], verdict.marks)
        is_failing = verdict.verdict in OFFENCES
        if is_failing:
            self.offenders[node.path] = node, verdict
        blocked_by = self._carry_above(node, offends=is_failing)
        if blocked_by is not None:
            verdict = replace(verdict, blocked_by=blocked_by)
        self.judged.append((visit, verdict))
        return verdict

    def _verdict(self, visit: Visit, before: Marks) -> NodeVerdict:
        """Return the verdict on a listed node from its shapes and input marks alone."""
        lanes = self._at_sizes(visit.node, visit.outputs)
        after = tuple([None if lane is None else mark_after(lane) for lane in lanes])
        runs = self._runs(visit, before, after)
        verdict, why = verdicts.verdict_of(runs, self.declared, self._walk.batch)
        if visit.unknown:
            lost = next((mark.why for mark in before if isinstance(mark, Lost)), "")
            verdict, why = Verdict.UNKNOWN, visit.unknown if lost in ("", NO_SHAPE) else lost
        fixes = self._fixes(visit, before) if verdict in OFFENCES else []
        outputs = fixes[0].outputs if fixes else visit.outputs
        marks = tuple(map(verdicts.fixed_mark, before, visit.input, outputs, self._batches)) if fixes else after
        batch_in, batch_out = next(((run.here, run.there) for run in runs[::-1] if run.batch > 1), (None, None))
        return NodeVerdict(
            verdict=verdict,
            why=why,
            outputs=outputs,
            marks=marks,
            fixes=tuple([fixed.fix for fixed in fixes]),
            runs={run.batch: run.outcome for run in runs},
            empty=self._empty(visit),
            batch_in=batch_in,
            batch_out=batch_out,
            blocked_by=None,
        )

    def _fixes(self, visit: Visit, before: Marks) -> list[verdicts.FixedOutputs]:
        """Return the fixes of a failing node, the best first."""
        argument, walk = visit.call.arguments[0], self._walk
        judged = tuple([lane.judged for lane in walk.lanes])
        offender = verdicts.Offender(
            visit.input,
            visit.named_argument(argument.name),
            visit.switch,
            visit.outputs,
            self._batches,
            judged,
            before,
            self.declared,
            walk.batch,
        )

        def answer(tried: tuple[Any, ...], switch: bool | None) -> Shapes:
            arguments = [None if target is None else FrozenDict({argument.name: target}) for target in tried]
            return self.core.ask(visit.node, switch, visit.input, arguments).outputs

        return verdicts.fixes(offender, visit.call.fixes, answer)

    def stop(self, node: Node, failures: Failures) -> None:
        """Record an unlisted node that fails; the batch is lost below it."""
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
        """Return the node that produces a tensor.

        None for inputs, initializers and absent tensors.
        """
        if self._makers is None:
            self._makers = {output: node for node in nodes_in((self._walk.model.graph,)) for output in node.outputs}
        return self._makers.get(tensor) if tensor != ABSENT else None

    def above(self, nodes: Iterable[Node], passed: Callable[[int], bool] = bool) -> Iterator[Node]:
        """Yield nodes and the producers of what they read, breadth first.

        `should_follow` decides which tensors are followed.
        """
        queue, visited = [*nodes], set()
        for node in queue:  # the queue grows during the loop
            if node.path not in visited:
                visited.add(node.path)
                yield node
                makers = [self.maker(tensor) for tensor in node.reads if passed(tensor)]
                queue += [maker for maker in makers if maker is not None]

    def _runs(self, visit: Visit, before: Marks, after: Marks) -> list[verdicts.Run]:
        """Return the outcome of a node at each judged size."""
        problems = [problem.message if problem else "" for problem in visit.problems]
        outputs = [None if shape is None else output for shape, output in zip(visit.input, visit.outputs, strict=True)]
        lanes = zip(self._batches, visit.input, outputs, before, after, problems, strict=True)
        return [verdicts.Run(*values) for values, lane in zip(lanes, self._walk.lanes, strict=True) if lane.judged]

    def _empty(self, visit: Visit) -> str | None:
        """Return the outcome of a node at a batch of 0; None if unknown."""
        lane = self._empty_lane
        if lane is None or (visit.outputs[lane] is None and not visit.problems[lane]):
            return None
        return "refused" if visit.problems[lane] else "ok"

    def _carry_above(self, node: Node, *, offends: bool = False) -> str | None:
        """Propagate the first failure above a node to its outputs, and return its path.

        `is_failing` says whether the node itself fails.
        """
        if not self._above and not offends:
            return None
        first = min([self._above[tensor] for tensor in node.reads if tensor in self._above], default=None)
        failure = first or ((len(self._above), node.path) if offends else None)
        if failure:
            self._above |= dict.fromkeys(node.outputs, failure)
        return first and first[1]

    def _cause_of(self, node: Node) -> tuple[Node, Fix] | None:
        """Return the nearest node above that expands a constant to the declared batch.

        The fix of that node is returned with it. None if there is no such node.
        """
        rank_and_axis = self._whole_axis(node)
        if rank_and_axis is None:
            return None
        rank, axis = rank_and_axis
        for above in islice(self.above([node], lambda tensor: not self.marks(tensor)), FARTHEST):
            if not above.domain and above.op in LISTED and LISTED[above.op].repeats:
                shapes = self._walk.shapes[above.outputs[0]]
                repeated = axis - rank + len(shapes[0]) if shapes and shapes[0] is not None else -1
                if repeated >= 0 and shapes and {shape[repeated] for shape in shapes if shape} == {self.declared}:
                    return above, verdicts.from_input(self._walk.batch, repeated)
        return None

    def _whole_axis(self, node: Node) -> tuple[int, int] | None:
        """Return the rank and the axis of an input whose whole axis is the batch."""
        for tensor in node.inputs:
            shapes = self._walk.shapes[tensor]
            mark = next((mark for mark in self.marks(tensor) or () if mark), None)
            if isinstance(mark, BatchAxis) and mark.inner == 1 and shapes and shapes[0] is not None:
                return len(shapes[0]), mark.axis
        return None


class LeftAlone(Judge):
    """A tracker that leaves one node and all nodes below it unfixed.

    It records the first of them that fails.

    Other nodes that fail without an error stay unfixed too, because they may fail for the same reason.
    """

    def __init__(self, path: str) -> None:
        """Create a tracker that leaves the node at this path unfixed."""
        super().__init__()
        self.first: Node | None = None
        """The first node below it that fails."""
        self.certain = True
        """Whether the shapes of all nodes below it are known, up to the first failure."""
        self._path = path
        self._below: set[int] = set()

    def judge(self, visit: Visit) -> Shapes:
        """Judge a listed node, and fix it unless it is the node or below it."""
        verdict = self._judged(visit)
        if visit.node.path != self._path and not self._lies_below(visit.node):
            return visit.outputs if verdict.verdict in SILENT else verdict.outputs
        judged = len(self._walk.judged)
        self._note(visit.node, visit.outputs[:judged], fails=any(visit.problems[:judged]))
        return visit.outputs

    def carry(self, node: Node) -> None:
        """Propagate marks through an unlisted node that runs."""
        super().carry(node)
        if self._lies_below(node):
            for tensor in node.outputs:
                self._note(node, self._walk.shapes_of(tensor)[: len(self._walk.judged)])

    def stop(self, node: Node, failures: Failures) -> None:
        """Record an unlisted node that fails."""
        if self._lies_below(node):
            self._note(node, (), fails=True)
        super().stop(node, failures)

    def _lies_below(self, node: Node) -> bool:
        return not self._below.isdisjoint(node.reads)

    def _note(self, node: Node, outputs: Iterable[object], *, fails: bool = False) -> None:
        """Record a node below, with its output shapes in the judged lanes."""
        self._below.update(node.outputs)
        if self.first is None and fails:
            self.first = node
        elif self.first is None and None in outputs:
            self.certain = False
