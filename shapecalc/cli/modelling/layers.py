"""The runs of a model as TensorRT's layers: the fewest Shuffles that do what the mended nodes do."""

from __future__ import annotations

from shapecalc.cli.modelling.screens import printable
from shapecalc.core.commands import texts_of
from shapecalc.core.fixing import answer_chain
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import number_text, shape_text
from shapecalc.models.questions import request_of
from shapecalc.models.telling import name_of, offends
from shapecalc.view.code import writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.answers import Request
    from shapecalc.models.report import Judged, Report


LONGEST_RUN = 32
"""The most nodes in a row of which the fewest layers are looked for."""


class Layers(Record):
    """A run of nodes, and the code of its layers."""

    nodes: tuple[Judged, ...]
    code: str
    """Empty if there is none."""
    notes: tuple[str, ...]
    """What limits the code, or why there is none."""

    def as_json(self) -> dict[str, object]:
        """Return the JSON object of the run."""
        return {
            "nodes": [judged.node.path for judged in self.nodes],
            "code": self.code or None,
            "notes": [*self.notes],
        }

    def lines(self) -> list[str]:
        """Return the run as lines to read."""
        names = " ".join(name_of(judged.node) for judged in self.nodes)
        count = f"{number_text(self.code.count('add_shuffle'), 'Shuffle', 'Shuffles')}" if self.code else "no layers"
        lines = [f"{names}: {count}", *[f"  {line}" for line in self.code.splitlines()]]
        return [printable(line) for line in [*lines, *[f"  {note}" for note in self.notes]]]


def layers_of(run: Sequence[Judged], report: Report, dialect: str) -> Layers:
    """Return the layers of a run, with its offenders mended by their best fixes."""
    nodes = tuple(run)
    if len(nodes) > LONGEST_RUN:
        return Layers(nodes[:LONGEST_RUN], "", (f"{len(nodes)} nodes in a row are more than {LONGEST_RUN}",))
    requests = [_request(judged, report) for judged in run]
    known = [request for request in requests if request is not None]
    if len(known) < len(requests):
        return Layers(nodes, "", ("a shape or a target is not known",))
    stages = [(request.op, _options(request)) for request in known]
    try:
        chain = answer_chain(shape_text(known[0].input), stages, {})
        if chain.problem:
            raise ShapeError(chain.problem)
        code = writer(dialect)(chain)
    except ShapeError as error:
        return Layers(nodes, "", (error.problem.message,))
    holds = tuple(f"holds when {condition.words}" for condition in chain.conditions)
    return Layers(nodes, code.text, (*holds, *code.warnings))


def _request(judged: Judged, report: Report) -> Request | None:
    """Return the request of a node as it stands, or of an offender with its best fix; None if it is not known."""
    if not offends(judged):
        return request_of(judged, report)
    target = judged.fixes[0].target if judged.fixes else None
    return None if target is None else request_of(judged, report, target)


def _options(request: Request) -> dict[str, object]:
    options = {**texts_of(replace(request, written={})), "input": None}
    return {name: value for name, value in options.items() if value is not None}
