"""The listed nodes of a model as one goes through them: those that are shown, the marked one, the fix looked at."""

from __future__ import annotations

from shapecalc.core.fixing import answer
from shapecalc.core.problem import ShapeError
from shapecalc.models.report import name_of, offends, request_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Trace
    from shapecalc.models.report import Judged, Report
    from shapecalc.models.verdicts import Fix


class ModelList:
    """A report, and the place in it."""

    def __init__(self, report: Report, at: int = 0) -> None:
        """Mark the listed node of a number."""
        self.report = report
        self.at = at
        """The place of the marked node among those that are shown."""
        self.wanted = ""
        """What the names that are shown hold."""
        self.offending = False
        """Whether offenders alone are shown."""
        self.fixed = 0
        """Which fix of the marked node is looked at, from 1; 0 if the node is seen as it is."""
        self.shown: tuple[Judged, ...] = report.nodes

    @property
    def marked(self) -> Judged | None:
        """The marked node; None if none is shown."""
        return self.shown[self.at] if self.shown else None

    @property
    def fix(self) -> Fix | None:
        """The fix that is looked at."""
        return self.marked.fixes[self.fixed - 1] if self.marked and self.fixed else None

    def move(self, by: int) -> None:
        """Mark another node, as far as there are some."""
        self._mark(max(0, min(self.at + by, len(self.shown) - 1)))

    def go_to_offender(self) -> None:
        """Mark the next offender; after the last one the first."""
        after = [at for at, judged in enumerate(self.shown) if offends(judged)]
        self._mark(next((at for at in after if at > self.at), after[0] if after else self.at))

    def look_at_fix(self) -> None:
        """Look at the next fix of the marked node; after the last one at the node as it is."""
        self.fixed = (self.fixed + 1) % (len(self.marked.fixes) + 1) if self.marked else 0

    def narrow(self, wanted: str, *, offending: bool) -> None:
        """Show only nodes whose names hold a text, or only offenders; the marked node stays if it is shown."""
        before, self.wanted, self.offending = self.marked, wanted, offending
        self.shown = tuple(
            judged
            for judged in self.report.nodes
            if wanted.lower() in name_of(judged.node).lower() and (not offending or offends(judged))
        )
        self._mark(next((at for at, judged in enumerate(self.shown) if judged is before), 0))

    def trace(self) -> Trace | None:
        """Return core's answer to the marked node, as it is or with the fix; None if core cannot be asked."""
        if self.marked is None or (self.fix is not None and self.fix.target is None):
            return None
        request = request_of(self.marked, self.report, self.fix.target if self.fix else None)
        try:
            return answer(request) if request else None
        except ShapeError:
            return None

    def _mark(self, at: int) -> None:
        if at != self.at or (self.fixed and not (self.marked and self.fixed <= len(self.marked.fixes))):
            self.fixed = 0
        self.at = at
