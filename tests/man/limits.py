"""The page man/shapecalc-limits.7, made of the limits; `python -m tests.renew man` writes it."""

from __future__ import annotations

from pathlib import Path

from shapecalc.core.limits import LIMITS
from tests.man.dialects import entry

PAGE = Path(__file__).parents[2] / "man" / "shapecalc-limits.7"
HEAD = r"""
.Dd November 23, 2026
.Dt SHAPECALC-LIMITS 7
.Os
.Sh NAME
.Nm shapecalc-limits
.Nd what one question to shapecalc may take
.Sh DESCRIPTION
Limits count work and never time, so that every machine has the same.
They are set so that one question takes no more than a few seconds.
What is beyond a limit is refused in a line that names the limit.
Words then end with exit code 2, and files with 4;
.Ic check
goes on with the next line.
Some limits refuse nothing: beyond them less is said.
.Sh LIMITS
.Bl -tag -width Ds
"""
TAIL = r"""
.El
.Pp
The cases that
.Ic check
reads, the nodes of a model and the elements of data have one limit: memory.
.Sh SEE ALSO
.Nm shapecalc Ns Pq 1
"""


def page():
    """Return the whole page."""
    rows = [
        line
        for limit in LIMITS.values()
        for line in entry(limit.name, f"{int(limit)} {limit.counts}. Beyond: {limit.beyond}.")
    ]
    return "\n".join([HEAD.strip(), *rows, TAIL.strip(), ""])
