"""Judge a model: choose the sizes of its inputs, walk it, and build its report."""

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
"""The largest number of node visits spent on the choice of inputs."""
MOST_ROUNDS = 3
"""How often sizes are derived from conditions."""


class _Names:
    """The builder of report entries, which have symbolic dims."""

    def __init__(self, walk: Walk, core: CoreCalls) -> None:
        self._walk, self._names, self._core = walk, walk.model.names, core
        self._namer = Namer(walk.lanes, walk.batch)

    def judged(self, visit: Visit, found: NodeVerdict) -> Judged:
        """Return the report entry of a node."""
        node, namer, names = visit.node, self._namer, self._names
        input, target = namer.shape(visit.input), visit.call.target
        arguments = self._arguments(visit)
        output, conditions = self.answer(visit)
        return Judged(
            node=node,
            version=visit.answers.version,
            tensors=(
                tuple([names[tensor] for tensor in node.inputs]),
                tuple([names[tensor] for tensor in node.outputs]),
            ),
            input=input,
            target=None if arguments is None or target is None else arguments.get(target.name),
            target_from=self._source(node),
            output=output,
            value=self._value(node) if visit.call.gives_sizes else None,
            conditions=tuple(map(str, conditions)),
            **fields(found),
        )

    def answer(self, visit: Visit) -> tuple[NamedShape | None, tuple[Condition, ...]]:
        """Return the symbolic output of an unfixed node and the conditions for it."""
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
        """Return core's arguments in symbolic dims; None if they are unknown."""
        lanes = visit.arguments
        first = next((arguments for arguments in lanes if arguments is not None), None)
        if first is None or same_in_all(lanes):
            return first
        symbolic = dict(first)
        for name, value in first.items():
            if isinstance(value, tuple):
                shape = self._namer.shape(visit.named_argument(name))
                if shape is None:
                    return None
                symbolic[name] = shape
        return symbolic

    def _value(self, node: Node) -> NamedShape | None:
        """Return the symbolic output value of a Shape node."""
        arrays = self._walk.values.get(node.outputs[0])
        if arrays is None:
            return None
        shapes: Shapes = tuple([None if array is None else tuple(array.tolist()) for array in arrays])
        return self._namer.shape(shapes)

    def _source(self, node: Node) -> str:
        """Return where the target of a node comes from."""
        if not reads_argument(node):
            return "attribute" if node.attributes else "none"
        if len(node.inputs) < 2 or not node.inputs[1]:
            return "none"
        return self._walk.origins.get(node.inputs[1], "computed")


class Outcome(Record):
    """A model that was walked and judged."""

    walk: Walk
    """The walk with the best choice of inputs."""
    judge: Judge

    def resolves(self) -> bool:
        """Return whether the model runs at the declared batch.

        Unlisted nodes must run at every batch.
        """
        declared = next(index for index, lane in enumerate(self.walk.lanes) if lane.batch == self.judge.declared)
        errors = [stop for stop in self.judge.stops if not stop.silent]
        return not errors and all(visit.problems[declared] is None for visit, _ in self.judge.judged)

    @property
    def loss(self) -> tuple[bool, int, int]:
        """The sort key of a choice of inputs, the best first.

        A choice is worse if the model does not run as declared, then if the samples of more tensors are lost, then if
        more inputs were freed with doubt.
        """
        if not self.resolves():
            return True, 0, 0
        lost = self.judge.lost_tensors()
        return False, lost, self.walk.choice.doubtful if lost else 0

    def conditions(self) -> list[Condition]:
        """Return the conditions under which failing nodes run at the declared batch."""
        walk, declared = self.walk, {self.walk.batch: self.judge.declared}
        names = _Names(walk, self.judge.core)
        failing = [visit for visit, _ in self.judge.judged if any(visit.problems)]
        conditions = [condition for visit in failing for condition in names.answer(visit)[1]]
        possible = [condition for condition in conditions if holds([condition], declared)]
        return [remainder for condition in possible for remainder in put_sizes_in(condition, declared)]

    def stays_put(self) -> bool:
        """Return whether some output has a known shape, but none in the perturbed lanes."""
        outputs = [self.walk.shapes_of(output.tensor) for output in self.walk.model.outputs]
        moved = [index for index, lane in enumerate(self.walk.lanes) if lane.moved]
        return any(shapes[0] is not None and all(shapes[lane] is None for lane in moved) for shapes in outputs if moved)

    def report(self, name: str) -> Report:
        """Return the report; `name` is the path as the user wrote it."""
        sizes, model = self.walk.choice, self.walk.model
        names = _Names(self.walk, self.judge.core)
        nodes = [names.judged(visit, verdict) for visit, verdict in self.judge.judged]
        pairs = zip(model.inputs, sizes.inputs, strict=True)
        inputs = [Input(declared.name, declared.dims, taken) for declared, taken in pairs]
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


def report_of(
    file: str | Path, options: SizeOptions = PLAIN, names: Iterable[str] = (), *, every: bool = False
) -> Report:
    """Return the report of the model in a file.

    For each node in `names` the report adds what fails below it. If `include_all`, the report has all nodes, otherwise
    only the listed ones.

    Raises `ShapeError`: file if the file cannot be used, usage if the options do not fit the model.
    """
    judged = judged_model(read_model(file), options)
    report = judged.report(str(file))
    if every:
        from shapecalc.models.every import every_node

        report = replace(report, every=every_node(judged.walk, judged.judge))
    return near(judged, report, names)


def judged_model(model: Model, options: SizeOptions = PLAIN) -> Outcome:
    """Return a model walked and judged with the best choice of inputs.

    The likeliest choice is taken unless it loses samples; then the one with the least loss.

    Raises `ShapeError` (usage) if the options do not fit the model.
    """
    most = max(2, MOST_PASSED // (len(model.graph.nodes) + 1))
    first, *others = guesses(model, options)
    outcomes = [_with_sizes(model, first, most)]
    for guess in [*others[: most - 2], *others[most - 2 :][-1:]]:
        if not any(outcomes[-1].loss):
            break
        outcomes.append(_with_sizes(model, guess, most))
    return min(outcomes, key=lambda outcome: outcome.loss) if others else outcomes[0]


def _with_sizes(model: Model, guess: Guess, most: int) -> Outcome:
    """Return a model judged at the first sizes at which it runs.

    Sizes that satisfy the conditions of failing nodes come first, then at most `max_tries` others.
    """
    first = outcome = _walked(model, guess.choice())
    conditions: dict[Condition, None] = {}
    for _ in range(MOST_ROUNDS if guess.open else 0):
        known = len(conditions)
        if not outcome.resolves() or outcome.stays_put():
            conditions |= dict.fromkeys(outcome.conditions())
        if len(conditions) == known:
            break
        outcome = _walked(model, guess.choice((*conditions,)))
    if not outcome.resolves():
        others = (_walked(model, choice) for choice in islice(guess.other_sizes(), most))
        return next((other for other in others if other.resolves()), first)
    if outcome.stays_put():
        others = (_walked(model, choice) for choice in islice(guess.related((*conditions,)), most))
        return next((other for other in others if other.resolves() and not other.stays_put()), outcome)
    return outcome


def _walked(model: Model, choice: InputChoice, judge: Judge | None = None) -> Outcome:
    judge = judge or Judge()
    return Outcome(walked(model, choice, judge), judge)


def near(outcome: Outcome, report: Report, names: Iterable[str]) -> Report:
    """Return a report with more about the named nodes.

    A failing node that raises no error gets what fails below it. For an unlisted node, the path of the nearest failing
    node above it is added.
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
    nodes = tuple([changed.get(judged.node.path, judged) for judged in report.nodes]) if changed else report.nodes
    return replace(report, nodes=nodes, above=FrozenDict(above))


def _offender_above(outcome: Outcome, name: str) -> str | None:
    """Return the path of the nearest failing node above a named node."""
    every = nodes_in((outcome.walk.model.graph,))
    named = (node for node in every if name and name in (node.name, node.path, f"#{node.path}"))
    above = outcome.judge.above([*islice(named, 1)])
    return next((node.path for node in above if node.path in outcome.judge.offenders), None)


def _what_fails_below(outcome: Outcome, path: str) -> str:
    """Return which node fails first if the node at a path stays unfixed.

    Empty if that is unknown.
    """
    judge = LeftAlone(path)
    _walked(outcome.walk.model, outcome.walk.choice, judge)
    if not judge.certain:
        return ""
    return "and nothing fails" if judge.first is None else f"and nothing fails before {name_of(judge.first)}"


def runs_of(model: Model, nodes: Iterable[Judged]) -> list[list[Judged]]:
    """Return the runs of consecutive nodes that only move elements.

    A run has two nodes or more; runs are in file order.
    """
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
