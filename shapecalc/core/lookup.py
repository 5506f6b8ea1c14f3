"""Values by name, and looking a name up. An unknown name is an error with the name that was probably meant."""

from __future__ import annotations

from _collections_abc import Mapping  # `collections.abc` has it from there, and takes longer to import

from shapecalc.core.problem import misuse
from shapecalc.core.text import brief, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    Value = TypeVar("Value")

MOST_LISTED = 16
"""The most names that a hint lists."""
LONGEST_COMPARED = 80
"""The most characters of a name that are compared with the known names."""


class Table(Mapping[str, "Value"]):
    """The values of a room by name. Each stands in the file of its name, which is imported when it is first asked for.

    A question asks for one op and one dialect, and to import the others takes longer than to answer it.

    >>> table = Table("shapecalc.core.ops", "reshape", "squeeze")
    >>> list(table), list(table.found), table["squeeze"].name, list(table.found)
    (['reshape', 'squeeze'], [], 'squeeze', ['squeeze'])
    """

    def __init__(self, room: str, *names: str) -> None:
        """Keep the name of the room's package, and the names of its values in order."""
        self.room = room
        self.names = dict.fromkeys(names)
        self.found: dict[str, Value] = {}
        """The values that were asked for."""

    def __getitem__(self, name: str) -> Value:
        if name not in self.found:
            if name not in self.names:
                raise KeyError(name)
            # `importlib.import_module` would do, but to import it takes half a millisecond.
            file = __import__(f"{self.room}.{name}", fromlist=[name])
            self.found[name] = getattr(file, name.upper())
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names


def lookup(name: str, table: Mapping[str, Value], kind: str, *, others: Iterable[str] = (), all_by: str = "") -> Value:
    """Return `table[name]`. `kind` says in the message what the table holds.

    `others` are names that may also be meant. The command `all_by` is named if no known name is near.

    Raises `ShapeError` (usage) with the nearest known name if the table does not have `name`.
    """
    if name in table:
        return table[name]
    hint = suggestion(name, [*table, *others]) or (f"{all_by} lists them" if all_by else "")
    raise misuse(f"there is no {kind} '{visible(brief(name))}'", hint, argument=kind)


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
