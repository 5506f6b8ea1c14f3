"""Judging: a model's report, put together from a walk on which the batch was followed."""

from __future__ import annotations

import gc
from contextlib import contextmanager

from shapecalc.models.asking import reads_argument
from shapecalc.models.following import Following
from shapecalc.models.holding import Held, never_asks
from shapecalc.models.naming import Namer
from shapecalc.models.reading import read_model
from shapecalc.models.report import Asked, Input, Judged, Report
from shapecalc.models.state import once
from shapecalc.models.taking import choices
from shapecalc.models.walking import walked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any, Self

    from shapecalc.models.model import Model, Node
    from shapecalc.models.named import NamedShape
    from shapecalc.models.taking import Choice
    from shapecalc.models.walk import Judgement, Shapes, Visit, Walk

PLAIN = Asked()
MAIN = {
    "reshape": "target",
    "transpose": "perm",
    "squeeze": "axes",
    "unsqueeze": "axes",
    "expand": "target",
    "tile": "repeats",
}
"""The argument that is a node's target, by op."""


def report_of(path: str | Path, asked: Asked = PLAIN) -> Report:
    """Return what is told of the model in a file.

    Raises `ShapeError`: file, for a file that cannot be used; usage, for options that do not fit the model.
    """
    with uncollected():
        return judged_model(read_model(path), asked).report(str(path))


class Kept(Following):
    """Follows the batch, and keeps what was said of each listed node."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        super().__init__()
        self.said: list[tuple[Visit, Judgement]] = []

    def trial(self) -> Self:
        """Return a follower that knows the same, and keeps nothing of what it says."""
        made = super().trial()
        made.said = []
        return made

    def judge(self, visit: Visit) -> Judgement:
        """Return the judgement of a listed node, and keep it."""
        judgement = super().judge(visit)
        self.said.append((visit, judgement))
        return judgement


class Outcome:
    """A model that was walked and judged, by the first choice of sizes at which it resolves."""

    def __init__(self, choice: Choice, walk: Walk, kept: Kept) -> None:
        """Keep what was found."""
        self.choice, self.walk, self.kept = choice, walk, kept

    def resolves(self) -> bool:
        """Say whether nothing fails at the declared batch, and nothing that is not listed fails at any."""
        first = self.choice.declared or 1
        place = next(at for at, lane in enumerate(self.choice.lanes) if lane.batch == first)
        return not self.kept.stops and all(visit.problems[place] is None for visit, _ in self.kept.said)

    def report(self, name: str) -> Report:
        """Return the report; `name` is the path as it was given."""
        choice, model = self.choice, self.walk.model
        tell = _Teller(self.walk)
        nodes = [tell.judged(visit, judgement) for visit, judgement in self.kept.said]
        inputs = [Input(each.name, each.dims, taken) for each, taken in zip(model.inputs, choice.taken, strict=True)]
        return Report(
            name,
            model.opset,
            len(model.graph.nodes),
            choice.batch,
            choice.declared,
            tuple([lane.batch for lane in choice.lanes if lane.judged]),
            choice.assumed,
            choice.names,
            tuple(inputs),
            tuple(nodes),
            tuple(self.kept.stops),
        )


def judged_model(model: Model, asked: Asked = PLAIN) -> Outcome:
    """Return a model walked and judged; raise `ShapeError` (usage) for options that do not fit it."""
    others = choices(model, asked)
    first = _walked(model, next(others))
    if first.resolves():
        return first
    return next((found for choice in others if (found := _walked(model, choice)).resolves()), first)


def _walked(model: Model, choice: Choice) -> Outcome:
    kept = Kept()
    return Outcome(choice, walked(model, choice.lanes, choice.taken, choice.batch, choice.declared, kept), kept)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of circles off: a report is of many values and no circles, and is done with soon."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class _Teller:
    """Tells of listed nodes in names what the walk found in numbers."""

    def __init__(self, walk: Walk) -> None:
        self._walk, self._names = walk, walk.model.names
        self._namer, self._held = Namer(walk.lanes, walk.batch), Held(walk)
        self._judged = [lane.batch for lane in walk.lanes if lane.judged]
        self._runs: dict[tuple[str, ...], Mapping[int, str]] = {}

    def judged(self, visit: Visit, judgement: Judgement) -> Judged:
        """Return what is told of a node."""
        node, namer, names = visit.node, self._namer, self._names
        input = namer.shape(visit.input)
        arguments = self._arguments(visit)
        output, conditions = self._answer(visit, input, arguments)
        if judgement.runs not in self._runs:
            self._runs[judgement.runs] = dict(zip(self._judged, judgement.runs, strict=False))
        return Judged(
            node=node,
            version=visit.version,
            tensors=(tuple([names[each] for each in node.inputs]), tuple([names[each] for each in node.outputs])),
            input=input,
            target=None if arguments is None else arguments.get(MAIN.get(visit.op, "")),
            target_from=self._source(node),
            output=output,
            value=self._value(node) if visit.op == "shape" else None,
            conditions=conditions,
            verdict=judgement.verdict,
            runs=self._runs[judgement.runs],
            empty=judgement.empty,
            blocked_by=judgement.blocked_by,
            batch_in=judgement.batch_in,
            batch_out=judgement.batch_out,
            why=judgement.why,
            fixes=judgement.fixes,
        )

    def _answer(
        self, visit: Visit, input: NamedShape | None, arguments: Mapping[str, Any] | None
    ) -> tuple[NamedShape | None, tuple[str, ...]]:
        """Return the named output of a node as it stands, and the conditions under which it holds."""
        output = self._namer.shape(visit.outputs)
        fails = any(visit.problems)
        if not fails and never_asks(visit.op, input, output):
            return output, ()
        trace = self._held.trace(visit, input, arguments)
        if trace is None:
            return output, ()
        return (trace.output if fails and visit.op != "shape" else output), tuple(map(str, trace.conditions))

    def _arguments(self, visit: Visit) -> Mapping[str, Any] | None:
        """Return core's arguments with names; None if they are not known."""
        lanes = visit.arguments
        if once(lanes):
            return lanes[0]
        first = next((each for each in lanes if each is not None), None)
        if first is None:
            return None
        named = dict(first)
        for name, value in first.items():
            if isinstance(value, tuple):
                found = self._namer.shape(tuple([None if each is None else each.get(name) for each in lanes]))
                if found is None:
                    return None
                named[name] = found
        return named

    def _value(self, node: Node) -> NamedShape | None:
        """Return what a Shape returns."""
        arrays = self._walk.values.get(node.outputs[0])
        if arrays is None:
            return None
        shapes: Shapes = tuple([None if each is None else tuple(each.tolist()) for each in arrays])
        return self._namer.shape(shapes)

    def _source(self, node: Node) -> str:
        """Return where the target of a node comes from."""
        if not reads_argument(node):
            return "attribute" if node.attributes else "none"
        if len(node.inputs) < 2 or not node.inputs[1]:
            return "none"
        return self._walk.origins.get(node.inputs[1], "computed")
