"""The shapecalc command line of an answer."""

from __future__ import annotations

from shapecalc.core.commands import command_line
from shapecalc.view.code import Code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Chain, Trace


def command(answer: Trace | Chain) -> Code:
    """Return the command line that gives `answer`."""
    return Code(command_line(answer))
