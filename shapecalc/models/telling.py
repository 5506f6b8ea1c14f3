"""What is said of a model's nodes in a few words, the same in every front end."""

from __future__ import annotations

from shapecalc.core.lookup import suggestion
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, visible
from shapecalc.models.report import OFFENCES, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapecalc.models.model import Node
    from shapecalc.models.named import NamedShape
    from shapecalc.models.report import Fix, Judged, Report, Stop

UNKNOWN = "?"
MOST_COMPARED = 1000
"""How many names are compared with one that no node has."""
MOST_PATHS = 8
"""Of how many nodes of one name the paths are listed."""


def shape_words(shape: NamedShape | None) -> str:
    """Return a shape as text, with `?` for what nobody knows.

    >>> shape_words((1, None)), shape_words(()), shape_words(None)
    ('1,?', '[]', '?')
    """
    if shape is None:
        return UNKNOWN
    return ",".join([UNKNOWN if dim is None else str(dim) for dim in shape]) or "[]"


def name_of(node: Node) -> str:
    """Return the name of a node, or its path as `--node` takes it."""
    return node.name or f"#{node.path}"


def offends(judged: Judged, *, strict: bool = False) -> bool:
    """Say whether a node stands in the way of another batch size; if `strict`, an unknown one does, too."""
    return judged.verdict in OFFENCES or (strict and judged.verdict is Verdict.UNKNOWN)


def worst_first(nodes: Iterable[Judged], *, strict: bool = False) -> list[Judged]:
    """Return the offenders, worst first, those that are as bad in file order."""
    order = [*OFFENCES, Verdict.UNKNOWN]
    found = [judged for judged in nodes if offends(judged, strict=strict)]
    return sorted(found, key=lambda judged: order.index(judged.verdict))


def verdict_words(judged: Judged, report: Report) -> str:
    """Return the verdict; of a node that runs at one size only, with that size."""
    if judged.verdict is Verdict.ONLY:
        return f"only {report.batch}={only_size(report)}"
    return str(judged.verdict.value)


def only_size(report: Report) -> int:
    """Return the size of the batch that the file declares; 1 where it is free."""
    return report.declared_batch or 1


def fix_words(fix: Fix) -> str:
    """Return the target that mends a node, or which operators are inserted."""
    return shape_words(fix.target) if fix.target is not None else f"insert {', '.join(fix.inserts)}"


def assumed_words(fix: Fix) -> str:
    """Return what must stay so for a fix to be right; empty if nothing must.

    >>> from shapecalc.models.report import Fix
    >>> assumed_words(Fix((0, -1), None, "the batch stays first")), assumed_words(Fix((-1, 12), None, "3*4 stays 12"))
    ('assumes that the batch stays first', 'assumes 3*4 stays 12')
    """
    if not fix.assumes:
        return ""
    return f"assumes {'that ' if fix.assumes.startswith(('the ', 'no ')) else ''}{fix.assumes}"


def stop_lines(report: Report, stops: Iterable[Stop]) -> list[str]:
    """Return what each of some nodes that are not listed stops at, and the listed node that it comes from."""
    stops = list(stops)
    names = {judged.node.path: name_of(judged.node) for judged in report.nodes} if stops else {}
    causes = ["" if stop.cause is None else f", because of {names.get(stop.cause, f'#{stop.cause}')}" for stop in stops]
    return [
        f"{name_of(stop.node)}: {stop.node.op} fails: {stop.why}{cause}"
        for stop, cause in zip(stops, causes, strict=True)
    ]


def found_node(report: Report, text: str) -> Judged:
    """Return the listed node of a name, or of a path such as `18`, `7/body/3` and `#18`; an exact name wins.

    Raises `ShapeError` (usage) if there is none, and with their paths if there are several.
    """
    named = [judged for judged in report.nodes if text and judged.node.name == text]
    found = named or [judged for judged in report.nodes if judged.node.path == text.removeprefix("#")]
    shown = visible(brief(text))
    stopping = [stop for stop in report.stops if text.removeprefix("#") in (stop.node.path, stop.node.name)]
    if not found and stopping:
        raise misuse(visible(f"{stop_lines(report, stopping)[0]}; such nodes are not listed"), argument="node")
    if not found and text in report.above:
        offender = next(judged for judged in report.nodes if judged.node.path == report.above[text])
        said = f"'{shown}' is not among the listed nodes; next above it {visible(name_of(offender.node))} offends"
        raise misuse(said, argument="node")
    if not found:
        names = dict.fromkeys(judged.node.name for judged in report.nodes[:MOST_COMPARED] if judged.node.name)
        near = suggestion(text, [*names])
        raise misuse(f"no listed node is called '{shown}' or has that path", visible(near), argument="node")
    if len(found) > 1:
        paths = " ".join(f"'#{judged.node.path}'" for judged in found[:MOST_PATHS])
        more = f" and {len(found) - MOST_PATHS} more" if len(found) > MOST_PATHS else ""
        raise misuse(
            f"{len(found)} nodes are called '{shown}'", visible(f"write one of {paths}{more}"), argument="node"
        )
    return found[0]
