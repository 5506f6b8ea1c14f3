"""A model judged: the sizes at which it resolves, its report in names, and what goes wrong around one of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shapecalc.core.conditions import Condition, holds, put_sizes_in
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import FrozenDict, Record, fields, replace
from shapecalc.models.answers import CoreCalls, Visit, keeps_elements, reads_argument
from shapecalc.models.batch_axis import Shapes
from shapecalc.models.file import Model, Node, nodes_in, read_model
from shapecalc.models.free_dims import Guess, InputChoice, NamedShape, Namer, SizeOptions, guesses
from shapecalc.models.lanes import Walk, same_in_all
from shapecalc.models.operators import LISTED
from shapecalc.models.propagate import SILENT, Judge, LeftAlone, NodeVerdict
from shapecalc.models.report import Input, Judged, Report, found_node, name_of
from shapecalc.models.walk import walked

PLAIN = SizeOptions()
MOST_PASSED = 100_000
"""How many nodes are passed to learn how inputs are best taken."""
MOST_ROUNDS = 3
"""How often sizes are taken from conditions."""


def report_of(
    file: str | Path, options: SizeOptions = PLAIN, names: Iterable[str] = (), *, every: bool = False
) -> Report:
    """Return what is told of the model in a file, and of the named nodes also what fails below them.

    If `every`, all nodes are told, and not the listed ones alone.

    Raises `ShapeError`: file, for a file that cannot be used; usage, for what does not fit the model.
    """
    found = judged_model(read_model(file), options)
    report = found.report(str(file))
    if every:
        from shapecalc.models.every import every_node

        report = replace(report, every=every_node(found.walk, found.judge))
    return near(found, report, names)


class Outcome(Record):
    """A model that was walked and judged."""

    walk: Walk
    """The walk with the first choice of sizes at which it resolves."""
    judge: Judge

    def resolves(self) -> bool:
        """Say whether nothing fails at the declared batch, and nothing that is not listed fails at any."""
        place = next(at for at, lane in enumerate(self.walk.lanes) if lane.batch == self.judge.declared)
        stops = [stop for stop in self.judge.stops if not stop.silent]
        return not stops and all(visit.problems[place] is None for visit, _ in self.judge.judged)

    @property
    def loss(self) -> tuple[bool, int, int]:
        """What speaks against taking the inputs so: it does not resolve, or samples are lost; then doubts."""
        if not self.resolves():
            return True, 0, 0
        lost = self.judge.lost_tensors()
        return False, lost, self.walk.choice.doubtful if lost else 0

    def conditions(self) -> list[Condition]:
        """Return under which conditions nodes that fail somewhere run at the declared batch."""
        walk, home = self.walk, {self.walk.batch: self.judge.declared}
        names = _Names(walk, self.judge.core)
        found = [each for visit, _ in self.judge.judged if any(visit.problems) for each in names.answer(visit)[1]]
        return [left for each in found if holds([each], home) for left in put_sizes_in(each, home)]

    def stays_put(self) -> bool:
        """Say whether the shape of an output is known, but not where other free dims are moved."""
        shapes = [self.walk.shapes_of(each.tensor) for each in self.walk.model.outputs]
        moved = [at for at, lane in enumerate(self.walk.lanes) if lane.moved]
        return any(each[0] is not None and all(each[lane] is None for lane in moved) for each in shapes if moved)

    def report(self, name: str) -> Report:
        """Return the report; `name` is the path as it was given."""
        sizes, model = self.walk.choice, self.walk.model
        names = _Names(self.walk, self.judge.core)
        nodes = [names.judged(*each) for each in self.judge.judged]
        inputs = [Input(each.name, each.dims, taken) for each, taken in zip(model.inputs, sizes.inputs, strict=True)]
        return Report(
            name,
            model.opset,
            len(model.graph.nodes),
            sizes.batch,
            sizes.declared,
            tuple([lane.batch for lane in sizes.lanes if lane.judged]),
            sizes.assumed,
            sizes.names,
            tuple(inputs),
            tuple(nodes),
            tuple(self.judge.stops),
        )


def judged_model(model: Model, options: SizeOptions = PLAIN) -> Outcome:
    """Return a model walked and judged; raise `ShapeError` (usage) for options that do not fit it.

    The inputs are taken as they are likeliest, but where that loses samples from sight: then as it loses the fewest.
    """
    most = max(2, MOST_PASSED // (len(model.graph.nodes) + 1))
    first, *others = guesses(model, options)
    found = [_with_sizes(model, first, most)]
    for guess in [*others[: most - 2], *others[most - 2 :][-1:]]:
        if not any(found[-1].loss):
            break
        found.append(_with_sizes(model, guess, most))
    return min(found, key=lambda each: each.loss) if others else found[0]


def _with_sizes(model: Model, guess: Guess, most: int) -> Outcome:
    """Return a model walked with its inputs taken so, at the first sizes at which it resolves; few others are tried."""
    first = found = _walked(model, guess.choice())
    conditions: dict[Condition, None] = {}
    for _ in range(MOST_ROUNDS if guess.open else 0):
        known = len(conditions)
        if not found.resolves() or found.stays_put():
            conditions |= dict.fromkeys(found.conditions())
        if len(conditions) == known:
            break
        found = _walked(model, guess.choice((*conditions,)))
    if not found.resolves():
        others = (_walked(model, choice) for choice in islice(guess.other_sizes(), most))
        return next((each for each in others if each.resolves()), first)
    if found.stays_put():
        others = (_walked(model, choice) for choice in islice(guess.related((*conditions,)), most))
        return next((each for each in others if each.resolves() and not each.stays_put()), found)
    return found


def _walked(model: Model, choice: InputChoice, judge: Judge | None = None) -> Outcome:
    judge = judge or Judge()
    return Outcome(walked(model, choice, judge), judge)


class _Names:
    """Says of listed nodes in names what the walk found in numbers."""

    def __init__(self, walk: Walk, core: CoreCalls) -> None:
        self._walk, self._names, self._core = walk, walk.model.names, core
        self._namer = Namer(walk.lanes, walk.batch)

    def judged(self, visit: Visit, found: NodeVerdict) -> Judged:
        """Return what is told of a node."""
        node, namer, names = visit.node, self._namer, self._names
        input, target = namer.shape(visit.input), visit.call.target
        arguments = self._arguments(visit)
        output, conditions = self.answer(visit)
        return Judged(
            node=node,
            version=visit.answers.version,
            tensors=(tuple([names[each] for each in node.inputs]), tuple([names[each] for each in node.outputs])),
            input=input,
            target=None if arguments is None or target is None else arguments.get(target.name),
            target_from=self._source(node),
            output=output,
            value=self._value(node) if visit.call.gives_sizes else None,
            conditions=tuple(map(str, conditions)),
            **fields(found),
        )

    def answer(self, visit: Visit) -> tuple[NamedShape | None, tuple[Condition, ...]]:
        """Return the named output of a node as it stands, and the conditions under which it holds."""
        input, arguments = self._namer.shape(visit.input), self._arguments(visit)
        output = self._namer.shape(visit.outputs)
        fails = any(visit.problems)
        if not fails and keeps_elements(input, output):
            return output, ()
        answer = self._core.named(visit, input, arguments, self._walk.lanes)
        if answer is None:
            return output, ()
        return (answer[0] if fails and not visit.call.gives_sizes else output), answer[1]

    def _arguments(self, visit: Visit) -> Mapping[str, Any] | None:
        """Return core's arguments with names; None if they are not known."""
        lanes = visit.arguments
        first = next((each for each in lanes if each is not None), None)
        if first is None or same_in_all(lanes):
            return first
        named = dict(first)
        for name, value in first.items():
            if isinstance(value, tuple):
                shape = self._namer.shape(visit.named_argument(name))
                if shape is None:
                    return None
                named[name] = shape
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


def near(outcome: Outcome, report: Report, names: Iterable[str]) -> Report:
    """Return a report that also says what fails below the named nodes, if they go wrong without an error.

    Of those that are not listed it says which offender is next above them.
    """
    changed: dict[str, Judged] = {}
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
        if judged.verdict in SILENT and (below := _what_fails_below(outcome, judged.node.path)):
            changed[judged.node.path] = replace(judged, why=f"{judged.why}, {below}")
    nodes = tuple([changed.get(each.node.path, each) for each in report.nodes]) if changed else report.nodes
    return replace(report, nodes=nodes, above=FrozenDict(above))


def _offender_above(outcome: Outcome, name: str) -> str | None:
    """Return the path of the offender next above the node of a name; None if there is none."""
    every = nodes_in((outcome.walk.model.graph,))
    named = (node for node in every if name and name in (node.name, node.path, f"#{node.path}"))
    above = outcome.judge.above([*islice(named, 1)])
    return next((node.path for node in above if node.path in outcome.judge.offenders), None)


def _what_fails_below(outcome: Outcome, path: str) -> str:
    """Return what fails if the node of a path stays as it is; empty if nobody can say."""
    judge = LeftAlone(path)
    _walked(outcome.walk.model, outcome.walk.choice, judge)
    if not judge.certain:
        return ""
    return "and nothing fails" if judge.first is None else f"and nothing fails before {name_of(judge.first)}"


def runs_of(model: Model, nodes: Iterable[Judged]) -> list[list[Judged]]:
    """Return the runs of two or more of some nodes, in file order."""
    uses = Counter(chain(model.graph.outputs, *[node.reads for node in nodes_in((model.graph,))]))
    open_runs: dict[int, list[Judged]] = {}
    runs: list[list[Judged]] = []
    for judged in nodes:
        node = judged.node
        if not LISTED[node.op].only_moves or not node.inputs or not node.outputs:
            continue
        run = open_runs.pop(node.inputs[0], None) if uses[node.inputs[0]] == 1 else None
        if run is None:
            run = []
            runs.append(run)
        run.append(judged)
        open_runs[node.outputs[0]] = run
    return [run for run in runs if len(run) > 1]
