"""The offenders of a model, one line each: for editors and scripts, and as annotations of GitHub Actions."""

from __future__ import annotations

from shapecalc.cli.checking import annotation, brief_end
from shapecalc.cli.modelling.screens import printable
from shapecalc.models.fixes import NO_TURN
from shapecalc.models.report import Verdict
from shapecalc.models.telling import name_of, only_size, shape_words, stop_lines, worst_first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.models.named import NamedShape
    from shapecalc.models.report import Judged, Report, Stop

WRITTEN = ("initializer", "Constant", "attribute", "folded")
"""Where a target comes from that is the same at every size."""


def lint_lines(
    report: Report, nodes: Iterable[Judged], stops: Iterable[Stop], *, strict: bool, github: bool
) -> list[str]:
    """Return a line for each offender, worst first, then for each node that stops and is not listed."""
    told = [f"{name_of(judged.node)}: {_offence(judged, report)}" for judged in worst_first(nodes, strict=strict)]
    told += stop_lines(report, stops)
    if github:
        return [annotation(report.model, line) for line in told]
    return [printable(f"{report.model}: {line}") for line in told]


def _offence(judged: Judged, report: Report) -> str:
    """Return what a node does, and what to write in place of its target."""
    way = f"{_said(judged.input)} to {_said(judged.output)}"
    match judged.verdict:
        case Verdict.SWALLOWS:
            said = f"swallows the batch: {way}"
        case Verdict.SCRAMBLES:
            said = f"scrambles the batch: {way}"
        case Verdict.ONLY if judged.target is not None and judged.target_from in WRITTEN:
            said = f"only {report.batch} = {only_size(report)}: {_said(judged.target)} is constant"
        case Verdict.ONLY:
            said = f"only {report.batch} = {only_size(report)}: {judged.why}"
        case _:
            said = f"{judged.verdict.value}: {judged.why}"
    for fix in judged.fixes[:1]:
        inserted = f"--fix inserts {', '.join(fix.inserts)}"
        said += f"; {inserted if fix.target is None else f'write {_said(fix.target)}'}"
        said += f", if {fix.assumes}" if fix.assumes.startswith(NO_TURN) else ""
    return said


def _said(shape: NamedShape | None) -> str:
    return brief_end(shape_words(shape))
