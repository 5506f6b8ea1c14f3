"""Check whether each node of a model works at other batch sizes.

Sizes are chosen for the inputs, all shapes are computed (a *walk*), and the result is a report. The nodes that the
package `core` can resolve are *listed* in the report, each with a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shapecalc.core.conditions import Condition, can_hold, substitute_condition
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import FrozenDict, Record, fields, replace
from shapecalc.models.all_nodes import describe_all_nodes
from shapecalc.models.batch_axis import LaneShapes
from shapecalc.models.file import Model, Node, iter_nodes, read_model
from shapecalc.models.free_dims import BatchOptions, DimFitter, InputChoice, InputGuess, SymbolicShape, guess_inputs
from shapecalc.models.operators import LISTED_OPERATORS
from shapecalc.models.propagate import SILENT_VERDICTS, BatchTracker, NodeVerdict, UnfixedNodeTracker
from shapecalc.models.queries import CoreOpCache, NodeVisit, has_equal_element_count, has_target_input
from shapecalc.models.report import FixedBatchInput, JudgedNode, ModelInput, Report, find_node, node_name
from shapecalc.models.size_limits import SizeLimits, find_size_limits
from shapecalc.models.verdicts import BatchVerdict
from shapecalc.models.walk import walk_model
from shapecalc.models.walk_state import WalkState, is_same_in_all_lanes

DEFAULT_OPTIONS = BatchOptions()
MAX_NODE_VISITS = 100_000
"""The maximum number of node visits in the walks that compare choices of input shapes."""
MAX_FREED_TRIALS = 3
"""The maximum number of inputs whose fixed batch dim is freed in a trial walk."""
MAX_CONDITION_ROUNDS = 3
"""The maximum number of rounds to choose sizes that satisfy the conditions of failing nodes."""


class _NodeReporter:
    """A builder of the report entries of nodes, with symbolic shapes."""

    def __init__(self, walk: WalkState, core: CoreOpCache) -> None:
        self._walk, self._tensor_names, self._core = walk, walk.model.names, core
        self._fitter = DimFitter(walk.lanes, walk.batch)
        self._shared_values: dict[int, tuple[Any, ...]] = {}
        """The results of `_build_shared_values`, by the identity of the verdict."""

    def build_entry(self, visit: NodeVisit, verdict: NodeVerdict) -> JudgedNode:
        """Build the report entry of a node with a core op."""
        node, names = visit.node, self._tensor_names
        shared = self._shared_values.get(id(verdict))
        if shared is None:
            shared = self._shared_values[id(verdict)] = self._build_shared_values(visit, verdict)
        verdict_values, version, input, target, output, conditions = shared
        values = (
            *verdict_values,
            node,
            version,
            (tuple([names[tensor] for tensor in node.inputs]), tuple([names[tensor] for tensor in node.outputs])),
            input,
            target,
            self._target_source(node),
            output,
            self._shape_node_output(node) if visit.core_op.returns_shape else None,
            conditions,
        )
        return JudgedNode(*values)

    def _build_shared_values(self, visit: NodeVisit, verdict: NodeVerdict) -> tuple[Any, ...]:
        """Return the values that the report entries of all nodes with the same verdict object share.

        They are the fields of the verdict, the version, the input, the target, the output and the conditions.
        """
        target, arguments = visit.core_op.target, self._symbolic_arguments(visit)
        output, conditions = self.symbolic_output(visit)
        return (
            fields(verdict).values(),
            visit.answers.version,
            self._fitter.fit_shape(visit.input),
            None if arguments is None or target is None else arguments.get(target.name),
            output,
            tuple(map(str, conditions)),
        )

    def symbolic_output(self, visit: NodeVisit) -> tuple[SymbolicShape | None, tuple[Condition, ...]]:
        """Return the symbolic output shape of a node, and the conditions on sizes for it.

        Fixes of the node are not applied.
        """
        input, arguments = self._fitter.fit_shape(visit.input), self._symbolic_arguments(visit)
        output = self._fitter.fit_shape(visit.outputs)
        fails = any(visit.problems)
        if not fails and has_equal_element_count(input, output):
            return output, ()
        answer = self._core.run_core_op_symbolically(visit, input, arguments, self._walk.lanes)
        if answer is None:
            return output, ()
        return (answer[0] if fails and not visit.core_op.returns_shape else output), answer[1]

    def _symbolic_arguments(self, visit: NodeVisit) -> Mapping[str, Any] | None:
        """Return the symbolic arguments of a node's core op, or None if unknown."""
        lanes = visit.arguments
        first = next((arguments for arguments in lanes if arguments is not None), None)
        if first is None or is_same_in_all_lanes(lanes):
            return first
        symbolic = dict(first)
        for name, value in first.items():
            if isinstance(value, tuple):
                shape = self._fitter.fit_shape(visit.argument_values(name))
                if shape is None:
                    return None
                symbolic[name] = shape
        return symbolic

    def _shape_node_output(self, node: Node) -> SymbolicShape | None:
        """Return the shape that a Shape node outputs, with symbolic dims, or None if unknown."""
        arrays = self._walk.values.get(node.outputs[0])
        if arrays is None:
            return None
        shapes: LaneShapes = tuple([None if array is None else tuple(array.tolist()) for array in arrays])
        return self._fitter.fit_shape(shapes)

    def _target_source(self, node: Node) -> str:
        """Return the source of a node's target (see `JudgedNode.target_from`)."""
        if not has_target_input(node):
            return "attribute" if node.attributes else "none"
        if len(node.inputs) < 2 or not node.inputs[1]:
            return "none"
        return self._walk.origins.get(node.inputs[1], "computed")


class JudgedModel(Record):
    """A model with the verdicts of one walk over its nodes."""

    walk: WalkState
    """The state after the walk."""
    tracker: BatchTracker
    limits: SizeLimits = SizeLimits()
    """The conditions on the free dims under which the model runs."""

    def can_run_as_declared(self) -> bool:
        """Return whether the model runs without an error at the declared batch size.

        Nodes with a core op must run at the declared batch size, all other nodes at every checked batch size.
        """
        declared = next(
            index for index, lane in enumerate(self.walk.lanes) if lane.batch == self.tracker.declared_batch
        )
        errors = [stop for stop in self.tracker.stops if not (stop.silent or stop.fix)]
        return not errors and all(visit.problems[declared] is None for visit, _ in self.tracker.judged_nodes)

    @property
    def ranking_key(self) -> tuple[bool, int, int]:
        """The sort key of a choice of input shapes.

        The best choice has the smallest key. The key consists of three values: whether the model fails at the declared
        batch size, the number of tensors with a lost batch, and the number of inputs with a doubtful batch axis.
        """
        if not self.can_run_as_declared():
            return True, 0, 0
        lost = self.tracker.lost_tensor_count()
        return False, lost, self.walk.choice.uncertain_count if lost else 0

    def required_conditions(self) -> list[Condition]:
        """Return the conditions on sizes under which failing nodes run.

        The batch size in the conditions is replaced by the declared batch size.
        """
        walk, declared = self.walk, {self.walk.batch: self.tracker.declared_batch}
        names = _NodeReporter(walk, self.tracker.core_cache)
        failing = [visit for visit, _ in self.tracker.judged_nodes if any(visit.problems)]
        conditions = [condition for visit in failing for condition in names.symbolic_output(visit)[1]]
        possible = [condition for condition in conditions if can_hold([condition], declared)]
        return [remainder for condition in possible for remainder in substitute_condition(condition, declared)]

    def depends_on_declared_sizes(self) -> bool:
        """Return whether the shape of a model output is known only at the chosen sizes.

        It is then unknown for all size assignments with perturbed sizes.
        """
        outputs = [self.walk.shapes_of(output.tensor) for output in self.walk.model.outputs]
        moved = [index for index, lane in enumerate(self.walk.lanes) if lane.perturbed]
        return any(shapes[0] is not None and all(shapes[lane] is None for lane in moved) for shapes in outputs if moved)

    def build_report(self, model_path: str) -> Report:
        """Build the report on the model.

        `model_path` is the path of the model in the report.
        """
        sizes, model = self.walk.choice, self.walk.model
        names = _NodeReporter(self.walk, self.tracker.core_cache)
        nodes = [names.build_entry(visit, verdict) for visit, verdict in self.tracker.judged_nodes]
        inputs, unknown = self._inputs(), any(node.verdict is BatchVerdict.UNKNOWN for node in nodes)
        return Report(
            model_path,
            model.opset,
            len(model.graph.nodes),
            sizes.batch,
            sizes.declared_batch,
            tuple([lane.batch for lane in sizes.lanes if lane.judged]),
            sizes.assumed,
            sizes.names,
            tuple(inputs),
            tuple(nodes),
            tuple(self.tracker.stops),
            sizes.reference_batch,
            tuple(self._find_fixed_batch_inputs(inputs)),
            limits=self.limits,
            unchecked=() if unknown else tuple(self.tracker.lost_nodes.values()),
        )

    def _inputs(self) -> list[ModelInput]:
        """Return the inputs with their declared shapes and the shapes that the walk used."""
        pairs = zip(self.walk.model.inputs, self.walk.choice.inputs, strict=True)
        return [ModelInput(declared.name, declared.dims, taken) for declared, taken in pairs]

    def _find_fixed_batch_inputs(self, inputs: Sequence[ModelInput]) -> Iterator[FixedBatchInput]:
        """Yield the inputs with a dim that is still fixed to the declared batch size.

        Each input is yielded with the failure that occurs if the dim is symbolic. This failure is found by a walk of
        the model, for the first `MAX_FREED_TRIALS` of these inputs only.
        """
        choice = self.walk.choice
        axis_of_batch = next((e.taken.index(choice.batch) for e in inputs if e.taken and choice.batch in e.taken), None)
        trials = MAX_FREED_TRIALS
        for index, input in enumerate(inputs):
            taken = choice.inputs[index]
            if axis_of_batch is None or not input.declared or not taken or choice.batch in taken:
                continue
            axes = [axis for axis, size in enumerate(input.declared) if size == (choice.declared_batch or 1)]
            if not axes or input.name in choice.user_inputs:
                continue
            axis = min(axes, key=lambda axis: axis != axis_of_batch)
            freed = (*taken[:axis], choice.batch, *taken[axis + 1 :])
            why = ""
            if trials:
                trials -= 1
                shapes = (*choice.inputs[:index], freed, *choice.inputs[index + 1 :])
                why = self._describe_new_failure(_judge_choice(self.walk.model, replace(choice, inputs=shapes)))
            yield FixedBatchInput(input.name, input.declared, input.taken, axis, why)

    def _describe_new_failure(self, other: JudgedModel) -> str:
        """Describe the first node that fails in another walk but not in this walk.

        Nodes with a fix are ignored.
        """
        known = {*self.tracker.failing_nodes, *[stop.node.path for stop in self.tracker.stops]}
        failing = [(node, verdict.why) for node, verdict in other.tracker.failing_nodes.values() if not verdict.fixes]
        failing += [(stop.node, stop.why) for stop in other.tracker.stops if not (stop.fix or stop.cause)]
        order = {node.path: index for index, node in enumerate(iter_nodes((self.walk.model.graph,)))}
        new = sorted([pair for pair in failing if pair[0].path not in known], key=lambda pair: order[pair[0].path])
        return next((f"{node_name(node)} fails: {why}" for node, why in new), "nothing fails")


def report_model(
    file: str | Path, options: BatchOptions = DEFAULT_OPTIONS, names: Iterable[str] = (), *, include_all: bool = False
) -> Report:
    """Check the model in a file, and return the report.

    The report contains an explanation for each node in `names` (see `add_node_explanations`). If `include_all` is True,
    the report describes all nodes, otherwise only the nodes with core ops.

    Raises `ShapeError` (file) if the file cannot be used, and `ShapeError` (usage) for invalid options.
    """
    judged = judge_model(read_model(file), options)
    report = judged.build_report(str(file))
    if include_all:
        report = replace(report, all_nodes=describe_all_nodes(judged.walk, judged.tracker))
    return add_node_explanations(judged, report, names)


def judge_model(model: Model, options: BatchOptions = DEFAULT_OPTIONS) -> JudgedModel:
    """Check a model with the best choice of input shapes.

    The best choice has the smallest `JudgedModel.ranking_key`. The search ends early if the model runs with a choice
    and all batch axes are known. Raises `ShapeError` (usage) if the options do not fit the model.
    """
    most = max(2, MAX_NODE_VISITS // (len(model.graph.nodes) + 1))
    first, *others = guess_inputs(model, options)
    outcomes = [(_judge_at_working_sizes(model, first, most), first)]
    for guess in [*others[: most - 2], *others[most - 2 :][-1:]]:
        if not any(outcomes[-1][0].ranking_key):
            break
        outcomes.append((_judge_at_working_sizes(model, guess, most), guess))
    best, guess = min(outcomes, key=lambda outcome: outcome[0].ranking_key) if others else outcomes[0]
    return _accept_merged_batches(_add_size_limits(best, guess))


def _accept_merged_batches(judged: JudgedModel) -> JudgedModel:
    """Check a model again if nodes merge the batch with another axis.

    These nodes are safe if later nodes split the merged axis, and no other node fails.
    """
    tracker = judged.tracker
    if any(verdict.verdict is BatchVerdict.SWALLOWS for _, verdict in tracker.failing_nodes.values()):
        other = _judge_choice(judged.walk.model, judged.walk.choice, BatchTracker(accepts_merged_batches=True))
        if other.tracker.splits_merged_batches():
            return replace(other, limits=judged.limits)
    return judged


def _add_size_limits(judged: JudgedModel, guess: InputGuess) -> JudgedModel:
    """Find the size limits of a checked model, and check it again at sizes within them."""
    choice, tracker = judged.walk.choice, judged.tracker
    limits = find_size_limits(judged.walk.model, choice, has_failures=tracker.has_failures)
    reference = next(lane.sizes for lane in choice.lanes if lane.batch == choice.reference_batch)
    if limits.tried and any(reference[name] != size for name, size in limits.tried.items()):
        judged = _judge_choice(judged.walk.model, guess.choose_sizes(tried=limits.tried, probes=limits.probes))
    return replace(judged, limits=limits)


def _judge_at_working_sizes(model: Model, guess: InputGuess, max_tries: int) -> JudgedModel:
    """Check a model at the first sizes at which it runs.

    The first sizes satisfy the conditions of failing nodes. Then at most `max_tries` fallback choices of sizes are
    tried.
    """
    first = outcome = _judge_choice(model, guess.choose_sizes())
    conditions: dict[Condition, None] = {}
    for _ in range(MAX_CONDITION_ROUNDS if guess.unsized_dims else 0):
        known = len(conditions)
        if not outcome.can_run_as_declared() or outcome.depends_on_declared_sizes():
            conditions |= dict.fromkeys(outcome.required_conditions())
        if len(conditions) == known:
            break
        outcome = _judge_choice(model, guess.choose_sizes((*conditions,)))
    if not outcome.can_run_as_declared():
        others = (_judge_choice(model, choice) for choice in islice(guess.iter_fallback_choices(), max_tries))
        return next((other for other in others if other.can_run_as_declared()), first)
    if outcome.depends_on_declared_sizes():
        others = (
            _judge_choice(model, choice) for choice in islice(guess.iter_related_dim_choices((*conditions,)), max_tries)
        )
        return next(
            (other for other in others if other.can_run_as_declared() and not other.depends_on_declared_sizes()),
            outcome,
        )
    return outcome


def _judge_choice(model: Model, choice: InputChoice, tracker: BatchTracker | None = None) -> JudgedModel:
    """Check a model with one choice of input shapes and sizes."""
    tracker = tracker or BatchTracker()
    return JudgedModel(walk_model(model, choice, tracker), tracker)


def add_node_explanations(model: JudgedModel, report: Report, names: Iterable[str]) -> Report:
    """Add explanations of the named nodes to a report.

    For a node that fails without an error, the explanation names the first downstream node that fails if the node is
    not fixed. For a node without a core op, the path of the nearest failing upstream node is added to
    `Report.failing_above`.
    """
    changed: dict[str, JudgedNode] = {}
    above: dict[str, str] = {}
    for name in names:
        try:
            judged = find_node(report, name)
        except ShapeError:
            path = _find_failing_upstream_path(model, name)
            if path is None:
                continue
            above[name] = path
            judged = find_node(report, f"#{path}")
        if judged.verdict in SILENT_VERDICTS and (below := _describe_downstream_failure(model, judged.node.path)):
            changed[judged.node.path] = replace(judged, why=f"{judged.why}, {below}")
    nodes = tuple([changed.get(judged.node.path, judged) for judged in report.nodes]) if changed else report.nodes
    return replace(report, nodes=nodes, failing_above=FrozenDict(above))


def _find_failing_upstream_path(model: JudgedModel, name: str) -> str | None:
    """Return the path of the nearest failing node upstream of a node.

    `name` is the name or the path of the node. Returns None if no upstream node fails.
    """
    every = iter_nodes((model.walk.model.graph,))
    named = (node for node in every if name and name in (node.name, node.path, f"#{node.path}"))
    above = model.tracker.iter_upstream([*islice(named, 1)])
    return next((node.path for node in above if node.path in model.tracker.failing_nodes), None)


def _describe_downstream_failure(model: JudgedModel, path: str) -> str:
    """Describe the first downstream failure that occurs if one node is not fixed.

    `path` is the path of this node. Returns an empty string if the first failure is unknown.
    """
    judge = UnfixedNodeTracker(path)
    _judge_choice(model.walk.model, model.walk.choice, judge)
    if not judge.is_certain:
        return ""
    return (
        "and nothing fails"
        if judge.first_failure is None
        else f"and nothing fails before {node_name(judge.first_failure)}"
    )


def find_movement_chains(model: Model, nodes: Iterable[JudgedNode]) -> list[list[JudgedNode]]:
    """Return the chains of consecutive nodes with core ops that only move elements.

    Each node of a chain except the first is the only consumer of the previous node's output. A chain has at least two
    nodes. The chains are in file order.
    """
    uses = Counter(chain(model.graph.outputs, *[node.used_tensors for node in iter_nodes((model.graph,))]))
    open_runs: dict[int, list[JudgedNode]] = {}
    runs: list[list[JudgedNode]] = []
    for judged in nodes:
        node = judged.node
        if not LISTED_OPERATORS[node.op].only_moves_elements or not node.inputs or not node.outputs:
            continue
        run = open_runs.pop(node.inputs[0], None) if uses[node.inputs[0]] == 1 else None
        if run is None:
            run = []
            runs.append(run)
        run.append(judged)
        open_runs[node.outputs[0]] = run
    return [run for run in runs if len(run) > 1]
