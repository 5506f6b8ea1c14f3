"""Around a node that somebody names: what fails below if it is left as it is, and what offends above it."""

from __future__ import annotations

from itertools import islice

from shapecalc.core.problem import ShapeError
from shapecalc.core.record import FrozenDict, replace
from shapecalc.models.following import Following
from shapecalc.models.model import nodes_in
from shapecalc.models.report import Verdict
from shapecalc.models.telling import found_node, name_of
from shapecalc.models.walking import walked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.models.judging import Outcome
    from shapecalc.models.model import Node
    from shapecalc.models.report import Judged, Report
    from shapecalc.models.walk import Judgement, Shapes, Visit

SILENT = (Verdict.SWALLOWS, Verdict.SCRAMBLES)
"""The verdicts on nodes that do not fail themselves."""


class LeftAlone(Following):
    """Follows the batch, and leaves one node and all below it as they are, until one of them fails.

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

    def judge(self, visit: Visit) -> Judgement:
        """Return the judgement of a listed node; one below the node is not mended."""
        found = super().judge(visit)
        if visit.node.path != self._path and not self._lies_below(visit.node):
            return replace(found, outputs=visit.outputs) if found.verdict in SILENT else found
        problems = visit.problems[: len(found.runs)]
        self._note(visit.node, visit.outputs[: len(found.runs)], fails=any(problems))
        return replace(found, outputs=visit.outputs)

    def carry(self, node: Node) -> None:
        """Carry the marks through a node that is not listed and that nothing refused."""
        super().carry(node)
        if self._lies_below(node):
            for tensor in node.outputs:
                self._note(node, (self.shapes(tensor) or (None,))[: len(self._fine)])

    def stop(self, node: Node, refused: tuple[str | None, ...]) -> Shapes | None:
        """Note a node that is not listed and fails."""
        if self._lies_below(node):
            self._note(node, (), fails=True)
        return super().stop(node, refused)

    def _lies_below(self, node: Node) -> bool:
        return not self._below.isdisjoint(node.reads)

    def _note(self, node: Node, outputs: Iterable[object], *, fails: bool = False) -> None:
        """Note a node below, with its shapes at the judged sizes."""
        self._below.update(node.outputs)
        if self.first is None and fails:
            self.first = node
        elif self.first is None and None in outputs:
            self.certain = False


def near(outcome: Outcome, report: Report, names: Iterable[str]) -> Report:
    """Return a report that also says what fails below the named nodes, if they go wrong without an error.

    Of those that are not listed it says which offender is next above them.
    """
    told: dict[str, Judged] = {}
    above: dict[str, str] = {}
    for name in names:
        try:
            judged = found_node(report, name)
        except ShapeError:
            path = _offender_above(outcome, name)
            if path is None:
                continue
            above[name] = path
            judged = found_node(report, f"#{path}")
        if judged.verdict in SILENT and (said := _said(outcome, judged.node.path)):
            told[judged.node.path] = replace(judged, why=f"{judged.why}, {said}")
    nodes = tuple([told.get(each.node.path, each) for each in report.nodes]) if told else report.nodes
    return replace(report, nodes=nodes, above=FrozenDict(above))


def _offender_above(outcome: Outcome, name: str) -> str | None:
    """Return the path of the offender next above the node of a name; None if there is none."""
    every = nodes_in((outcome.walk.model.graph,))
    named = (node for node in every if name and name in (node.name, node.path, f"#{node.path}"))
    left = [*islice(named, 1)]
    seen = {node.path for node in left}
    for node in left:  # grows meanwhile
        if node.path in outcome.kept.offenders:
            return node.path
        makers = [maker for tensor in node.reads if (maker := outcome.kept.maker(tensor)) is not None]
        left += [maker for maker in makers if maker.path not in seen]
        seen.update(maker.path for maker in makers)
    return None


def _said(outcome: Outcome, path: str) -> str:
    """Return what fails if the node of a path stays as it is; empty if nobody can say."""
    choice, follower = outcome.choice, LeftAlone(path)
    walked(outcome.walk.model, choice.lanes, choice.taken, choice.batch, choice.declared, follower)
    if not follower.certain:
        return ""
    return "and nothing fails" if follower.first is None else f"and nothing fails before {name_of(follower.first)}"
