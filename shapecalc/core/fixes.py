"""What would make a refused request resolve."""

from __future__ import annotations

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.request import Request
    from shapecalc.core.trace import Trace


class Fix(Record):
    """A change."""

    name: str
    value: object
    said: str

    def applied(self, request: Request) -> Request:
        """Return the request with the change."""
        return request


def fixes(trace: Trace) -> tuple[Fix, ...]:
    """Return the changes."""
    return () if trace.problem else ()
