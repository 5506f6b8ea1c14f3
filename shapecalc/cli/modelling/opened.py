"""Models as they are asked for: read, judged and mended."""

from __future__ import annotations

from pathlib import Path

from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.text import visible
from shapecalc.models import judging
from shapecalc.models.around import near
from shapecalc.models.judging import judged_model
from shapecalc.models.reading import read_model
from shapecalc.models.report import Fix
from shapecalc.models.telling import found_node, name_of, offends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shapecalc.models.report import Asked, Judged, Report, Stop


def report_of(file: str, asked: Asked, names: Iterable[str] = ()) -> Report:
    """Return the report of a model, which says of the named nodes also what fails below them.

    Raises `ShapeError`: file if it cannot be used, usage for what it does not have.
    """
    with judging.uncollected():
        found = judged_model(read_model(file), asked)
        return near(found, found.report(file), names)


def report_with_runs(file: str, asked: Asked) -> tuple[Report, list[list[Judged]]]:
    """Return the report of a model, and its runs of nodes that only turn and cut; raise `ShapeError`: file, usage."""
    from shapecalc.models.runs import runs_of

    found = judged_model(read_model(file), asked)
    report = found.report(file)
    return report, runs_of(found.walk.model, report.nodes)


def stops_left(report: Report, asked: Asked) -> tuple[Stop, ...]:
    """Return the nodes that are not listed and stop in what was written of a model; raise `ShapeError` (file).

    A proof shows that there are none.
    """
    if not report.stops or report.fixed is None or report.fixed.proved:
        return ()
    return report.stops if report.fixed.path is None else report_of(report.fixed.path, asked).stops


def mended_report(
    file: str, asked: Asked, out: str, targets: Mapping[str, tuple[int, ...]], *, force: bool, prove: bool
) -> Report:
    """Write a model mended and return its report; `targets` go before the best fixes of the nodes that they name.

    Raises `ShapeError`: file if a file cannot be used, usage for a node that there is not or that does not offend.
    """
    found = judged_model(read_model(file), asked)
    report = found.report(file)
    chosen: dict[str, Fix] = {}
    for text, target in targets.items():
        judged = found_node(report, text)
        if not offends(judged):
            raise misuse(f"{visible(name_of(judged.node))} does not offend, so it stays as it is", argument="fix_as")
        chosen[judged.node.path] = Fix(target, None, "")
    from shapecalc.models.writing import written

    try:
        return written(found, report, Path(out), chosen, force=force, prove=prove)
    except FileExistsError:
        reason = "it exists; --force writes over it"
    except OSError as error:
        reason = error.strerror or str(error)
    raise ShapeError(Problem(FILE, f"{out}: {reason[:1].lower()}{reason[1:]}", argument="out"))
