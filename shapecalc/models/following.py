"""The batch followed through a model while it is walked: it judges the listed nodes, and mends those that offend."""

from __future__ import annotations

from shapecalc.core.record import Record, replace
from shapecalc.models.answering import answer_of
from shapecalc.models.batch import MOVING, mark_after, mark_moved
from shapecalc.models.carrying import Carrying
from shapecalc.models.fixes import Broken, fixes, mended_mark
from shapecalc.models.marks import Apart, Lost, place
from shapecalc.models.model import ABSENT, nodes_in
from shapecalc.models.report import OFFENCES, Stop, Verdict
from shapecalc.models.state import NO_SHAPE
from shapecalc.models.stops import cause_of
from shapecalc.models.verdicts import Run, verdict_of
from shapecalc.models.walk import Judgement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.models.carrying import Marks
    from shapecalc.models.marks import Mark
    from shapecalc.models.model import Node
    from shapecalc.models.report import Fix
    from shapecalc.models.walk import Shapes, Visit, Walk

    Above = tuple[int, str]
    """When an offender or a stop was met, and its path."""


class Told(Record):
    """What is said of a listed node, and the marks of its output once it is mended."""

    judgement: Judgement
    marks: Marks


class Following(Carrying):
    """A follower: it carries the marks, and keeps what offends above each tensor."""

    noted = (*Carrying.noted, "stops", "offenders", "verdicts", "remedies", "_above")

    def __init__(self) -> None:
        """Begin without a walk; `start` brings it."""
        super().__init__()
        self.stops: list[Stop] = []
        self.offenders: dict[str, tuple[Node, tuple[Fix, ...]]] = {}
        """The listed nodes that offend and what mends them, by path."""
        self.verdicts: dict[str, Verdict] = {}
        """How they offend, by path."""
        self.remedies: dict[str, tuple[Node, Fix]] = {}
        """The causes of stops and what mends them, by path."""
        self._makers: dict[int, Node] | None = None
        self._known: dict[object, Told] = {}
        self._above: dict[int, Above] = {}

    def start(self, walk: Walk) -> None:
        """Mark the inputs that have the batch among their dims."""
        super().start(walk)
        self._judged = tuple([lane.judged for lane in walk.lanes])
        self._empty_lane = next((at for at, lane in enumerate(walk.lanes) if lane.batch == 0), None)
        self._fine = ("ok",) * len(self._seen_lanes)
        self.batch = walk.batch
        self.declared = walk.declared_batch or 1

    def carry(self, node: Node) -> None:
        """Carry the marks through a node that is not listed and that nothing refused."""
        self._carry_above(node)
        super().carry(node)

    def spoil(self, node: Node, why: str) -> None:
        """Mark the outputs of a node of which nobody can say where the batch is in them."""
        super().spoil(node, why)
        self._carry_above(node)

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

    def maker(self, tensor: int) -> Node | None:
        """Return the node that makes a tensor; None for inputs, constants, and one that is left out."""
        if self._makers is None:
            self._makers = {made: node for node in nodes_in((self._walk.model.graph,)) for made in node.outputs}
        return self._makers.get(tensor) if tensor != ABSENT else None

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

    def _carry_above(self, node: Node, *, offends: bool = False) -> str | None:
        """Carry on what offends above a node, or the node itself; return the path of the first one above."""
        if not self._above and not offends:
            return None
        found = [self._above[tensor] for tensor in node.reads if tensor in self._above]
        first = min(found, default=None)
        carried = first or ((len(self._above), node.path) if offends else None)
        if carried:
            self._above |= dict.fromkeys(node.outputs, carried)
        return first and first[1]


def _lost(marks: Marks) -> str:
    return next((mark.why for mark in marks if isinstance(mark, Lost)), "")
