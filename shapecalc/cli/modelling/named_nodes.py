"""The nodes that messages name, as a model has them: here the doctor and the models meet."""

from __future__ import annotations

from shapecalc.cli.modelling.objects import node_object
from shapecalc.cli.modelling.opened import report_of
from shapecalc.cli.modelling.screens import node_lines, printable
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.models.report import LISTED, Asked
from shapecalc.models.telling import found_node, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.doctor.reading import Reading
    from shapecalc.models.report import Judged, Report


class NamedNodes(Record):
    """What a model tells of the nodes that messages name."""

    lines: tuple[str, ...]
    """The nodes in full, each once and after an empty line."""
    objects: tuple[dict[str, object] | None, ...]
    """The object of each message's node; None if it names none, or none that is listed."""


def named_nodes(messages: Sequence[Reading], file: str) -> NamedNodes:
    """Return what a model tells of the nodes that messages name; raise `ShapeError` (file) if it cannot be used.

    A message without a name is about the node that has its shapes, if there is one alone.
    """
    report = report_of(file, Asked(), [read.node for read in messages if read.node is not None])
    lines: dict[str, None] = {}
    objects: list[dict[str, object] | None] = []
    for read in messages:
        said, judged = _told(report, read)
        shown = node_lines(report, judged) if judged else []
        lines["\n".join(["", *([printable(f"{report.model}: {said}")] if said else []), *shown])] = None
        objects.append(None if judged is None else node_object(judged))
    return NamedNodes(tuple(lines), tuple(objects))


def _told(report: Report, read: Reading) -> tuple[str, Judged | None]:
    """Return what is to be said of the node of a message, and the node to show."""
    if read.node is None:
        alike = [judged for judged in report.nodes if _fits(judged, read)]
        if len(alike) != 1:
            return "the message names no node", None
        return f"the message names no node, and {name_of(alike[0].node)} alone has its shapes", alike[0]
    try:
        return "", found_node(report, read.node)
    except ShapeError as error:
        path = report.above.get(read.node)
        return error.problem.message, next((each for each in report.nodes if each.node.path == path), None)


def _fits(judged: Judged, read: Reading) -> bool:
    """Say whether a node has the shapes of a message, in which zeros may be replaced by what they copy."""
    input, target = judged.input, judged.target
    if LISTED[judged.node.op] != read.op or not read.target or not read.input or input is None or target is None:
        return False
    if len(input) != len(read.input) or len(target) != len(read.target):
        return False
    copied = [size if size != 0 or at >= len(read.input) else read.input[at] for at, size in enumerate(target)]
    same_input = [dim == size for dim, size in zip(input, read.input, strict=True) if isinstance(dim, int)]
    return all(same_input) and copied == [*read.target]
