"""The report of a model as the JSON object that the command line documents."""

from __future__ import annotations

from shapecalc.core.dims import Monomial
from shapecalc.models.named import Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.models.named import NamedShape
    from shapecalc.models.report import Fix, Fixed, Input, Judged, Report

    Plain = dict[str, object]


def report_object(report: Report, nodes: Iterable[Judged]) -> Plain:
    """Return the object of a model, with those of its nodes that are to be shown."""
    return {
        "model": report.model,
        "opset": dict(report.opset),
        "batch": report.batch,
        "declared_batch": report.declared_batch,
        "sizes": [*report.sizes],
        "assumed": dict(report.assumed),
        "names": dict(report.names),
        "inputs": [_input_object(each) for each in report.inputs],
        "nodes": [node_object(judged) for judged in nodes],
        "stops": [
            {"path": stop.node.path, "op": stop.node.op, "why": stop.why, "cause": stop.cause} for stop in report.stops
        ],
        "summary": summary_of(report),
        "fixed": report.fixed and _fixed_object(report.fixed),
    }


def node_object(judged: Judged) -> Plain:
    """Return the object of one node."""
    node, (read, made) = judged.node, judged.tensors
    axes = {"in": _listed(judged.batch_in), "out": _listed(judged.batch_out)}
    return {
        "path": node.path,
        "name": node.name,
        "op": node.op,
        "version": judged.version,
        "tensors": {"in": [*read], "out": [*made]},
        "input": _dims(judged.input),
        "target": _dims(judged.target),
        "target_from": judged.target_from,
        "output": _dims(judged.output),
        "value": _dims(judged.value),
        "conditions": [*judged.conditions],
        "verdict": judged.verdict.value,
        "runs": {str(size): ran for size, ran in judged.runs.items()},
        "empty": judged.empty,
        "blocked_by": judged.blocked_by,
        "batch_axis": axes,
        "why": judged.why,
        "fixes": [_fix_object(fix) for fix in judged.fixes],
    }


def summary_of(report: Report) -> dict[str, int]:
    """Return how many nodes have each verdict, and how many others stop."""
    counts: dict[str, int] = {}
    for judged in report.nodes:
        counts[judged.verdict.value] = counts.get(judged.verdict.value, 0) + 1
    return counts | ({"stops": len(report.stops)} if report.stops else {})


def _fix_object(fix: Fix) -> Plain:
    """Return the object of a fix; of one that inserts operators, with these."""
    plain: Plain = {"target": _listed(fix.target), "allowzero": fix.allowzero, "assumes": fix.assumes}
    return plain | ({"inserts": [*fix.inserts]} if fix.inserts else {})


def _fixed_object(fixed: Fixed) -> Plain:
    mended = [
        {"path": judged.node.path, "from": _dims(judged.target), **_fix_object(fix)} for judged, fix in fixed.mended
    ]
    left = [judged.node.path for judged in fixed.left]
    freed = [_input_object(each) for each in fixed.freed]
    done = {"path": fixed.path, "mended": mended, "freed": freed, "left": left}
    return done | {"proved": fixed.proved, "why": fixed.why}


def _input_object(input: Input) -> Plain:
    return {"name": input.name, "declared": _listed(input.declared), "taken": _listed(input.taken)}


def _listed(values: Iterable[object] | None) -> list[object] | None:
    return None if values is None else [*values]


def _dims(shape: NamedShape | None) -> list[object] | None:
    """Return a shape: numbers as they are, names and sums as texts, None where nobody knows."""
    return None if shape is None else [str(dim) if isinstance(dim, Monomial | Sum) else dim for dim in shape]
