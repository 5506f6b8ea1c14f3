"""Runs: nodes that only turn and cut a tensor, each of which is read by the next one alone."""

from __future__ import annotations

from collections import Counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shapecalc.models.model import Body, Model
    from shapecalc.models.report import Judged

TURNS_OR_CUTS = frozenset(("Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze"))


def runs_of(model: Model, nodes: Iterable[Judged]) -> list[list[Judged]]:
    """Return the runs of two or more of some nodes, in file order."""
    uses = Counter(_reads(model.graph))
    open_runs: dict[int, list[Judged]] = {}
    runs: list[list[Judged]] = []
    for judged in nodes:
        node = judged.node
        if node.op not in TURNS_OR_CUTS or not node.inputs or not node.outputs:
            continue
        run = open_runs.pop(node.inputs[0], None) if uses[node.inputs[0]] == 1 else None
        if run is None:
            run = []
            runs.append(run)
        run.append(judged)
        open_runs[node.outputs[0]] = run
    return [run for run in runs if len(run) > 1]


def _reads(graph: Body) -> Iterator[int]:
    """Yield the number of a tensor each time that a node reads it or that a graph gives it out."""
    waiting = [graph]
    while waiting:
        body = waiting.pop()
        yield from body.outputs
        for node in body.nodes:
            yield from node.inputs
            waiting += node.bodies
