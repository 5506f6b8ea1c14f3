"""How slices are written: `[:, ::2, 1:3]`, one `start:stop:step` for each axis. What is left out is None.

slices = "[" parts "]" | parts       parts = part {"," part}       part = [number] ":" [number] [":" [number]]
"""

from __future__ import annotations

from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.python_values import describe, whole_number
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.tokens import MOST_DIMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Ends = tuple[int | None, int | None, int | None]

MOST_ENDS = 3
"""Start, stop and step."""


def read_slices(value: object, argument: str) -> str:
    """Return slices as shapecalc writes them, from a text, a Python slice or several.

    Raises `ShapeError` (usage) for anything else.

    >>> read_slices("[:, ::2, 1:3]", "slices"), read_slices((slice(None), slice(-1, None)), "slices")
    (':,::2,1:3', ':,-1:')
    """
    if isinstance(value, slice):
        value = (value,)
    if isinstance(value, (tuple, list)) and all(isinstance(part, slice) for part in value):
        return ",".join(_written((part.start, part.stop, part.step), argument) for part in value) or "[]"
    if not isinstance(value, str):
        raise misuse(f"{argument} is a text such as '[:, ::2]', not {describe(value)}", argument=argument)
    parts = [_read(part, argument, index) for index, (part, _) in enumerate(_parts(value))]
    if len(parts) > MOST_DIMS:
        raise misuse(f"{len(parts)} slices, and no shape has more than {MOST_DIMS} dims", argument=argument)
    return ",".join(_written(part, argument) for part in parts) or "[]"


def slices_of(text: str) -> list[Ends]:
    """Return the start, the stop and the step of each axis that a text slices.

    >>> slices_of(":,::2")
    [(None, None, None), (None, None, 2)]
    """
    return [_read(part, "slices", index) for index, (part, _) in enumerate(_parts(text))]


def slice_span(text: str, index: int) -> tuple[int, int]:
    """Return the place of one slice in a text: its first character, and the one after its last.

    >>> slice_span("[:, ::2]", 1)
    (4, 7)
    """
    part, start = list(_parts(text))[index]
    return start, start + len(part)


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is written for each axis, with the place of its first character."""
    body = text.strip()
    bracketed = body[:1] == "[" and body[-1:] == "]"
    start = text.index(body) + bracketed
    body = body[1:-1] if bracketed else body
    for part in body.split(",") if body.strip() or not bracketed else ():
        yield part.strip(), start + len(part) - len(part.lstrip())
        start += len(part) + 1


def _read(part: str, argument: str, index: int) -> Ends:
    ends = part.split(":")
    try:
        numbers = [whole_number(end, argument) if end.strip() else None for end in ends]
    except ShapeError:
        numbers = []
    if not 1 < len(numbers) <= MOST_ENDS:
        hint = "an index is for select" if part.removeprefix("-").isdigit() else ""
        message = f"a slice is start:stop or start:stop:step, in whole numbers, not '{visible(brief(part))}'"
        raise misuse(message, hint, argument=argument, index=index)
    return numbers[0], numbers[1], numbers[2] if len(numbers) == MOST_ENDS else None


def _written(ends: Iterable[object], argument: str) -> str:
    first, last, each = ("" if end is None else str(whole_number(end, argument)) for end in ends)
    return f"{first}:{last}" + (f":{each}" if each else "")
