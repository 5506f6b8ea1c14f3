"""The nodes that messages name, as a model has them: here the doctor and the models meet."""

from __future__ import annotations

from shapecalc.cli.modelling.objects import node_object
from shapecalc.cli.modelling.opened import report_of
from shapecalc.cli.modelling.screens import node_lines, printable
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.record import Record
from shapecalc.models.report import Asked
from shapecalc.models.telling import found_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.models.report import Report


class NamedNodes(Record):
    """What a model tells of the nodes that messages name."""

    lines: tuple[str, ...]
    """The nodes in full, each once and after an empty line."""
    objects: tuple[dict[str, object] | None, ...]
    """The object of each message's node; None if it names none, or none that is listed."""


def named_nodes(names: Sequence[str | None], file: str) -> NamedNodes:
    """Return what a model tells of the nodes that messages name; raise `ShapeError` (file) if it cannot be used."""
    report = report_of(file, Asked(), [name for name in names if name is not None])
    lines: dict[str, None] = {}
    objects: list[dict[str, object] | None] = []
    for name in names:
        told, found = _told(report, name)
        lines[told] = None
        objects.append(found)
    return NamedNodes(tuple(lines), tuple(objects))


def _told(report: Report, name: str | None) -> tuple[str, dict[str, object] | None]:
    """Return the node as text, after an empty line, and its object."""
    if name is None:
        return "\n" + printable(f"{report.model}: the message names no node"), None
    try:
        judged = found_node(report, name)
    except ShapeError as error:
        return "\n" + printable(f"{report.model}: {error.problem.message}"), None
    return "\n".join(["", *node_lines(report, judged)]), node_object(judged)
