"""Looking a name up in a table. An unknown name is an error with the name that was probably meant."""

from __future__ import annotations

from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.quoting import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeVar

    Value = TypeVar("Value")

MOST_LISTED = 16
"""The most names that a hint lists."""
LONGEST_COMPARED = 80
"""The most characters of a name that are compared with the known names."""


def lookup(name: str, table: Mapping[str, Value], kind: str) -> Value:
    """Return `table[name]`. `kind` says in the message what the table holds.

    Raises `ShapeError` (usage) with the nearest known name if the table does not have `name`.
    """
    if name in table:
        return table[name]
    raise misuse(f"there is no {kind} '{visible(brief(name))}'", suggestion(name, table), argument=kind)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the hint that names what was probably meant, or lists all names.

    >>> suggestion("reshap", ["reshape", "shape"]), suggestion("zzz", ["a", "b"])
    ('did you mean reshape?', 'there are a, b')
    """
    from difflib import get_close_matches

    known = list(known)
    close = get_close_matches(name[:LONGEST_COMPARED], known, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(known)}" if len(known) <= MOST_LISTED else ""
