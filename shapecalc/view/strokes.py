"""The characters that pictures are drawn with: one set for terminals that show UTF-8, and one in ASCII."""

from __future__ import annotations

from shapecalc.core.record import Record, fields

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""The directions in which a line leaves a character cell; their sum is its place in `Strokes.lines`."""


class Strokes(Record):
    """A set of characters, each named by what it means."""

    lines: str
    """Sixteen characters: the index is the sum of the directions in which lines leave the cell."""
    size: str
    """The line along which a size is copied, but no element moves."""
    falling: str
    """The line of an axis that goes down."""
    rising: str
    """The line of an axis that goes up."""
    crossing: str
    """The cell in which both meet."""
    joint: str
    """The cell in which ways of axes meet from all four sides."""
    arrow: str
    wall: str
    """The end of the line of an axis that is dropped."""
    block: str
    shade: str
    """What stands for cuts that are too close to each other to be drawn."""
    over: str
    """The block of elements that are left over or too many."""
    hole: str
    unknown: str
    fail: str
    here: str
    to: str
    none: str
    """The mark of a dim that no input axis became."""
    dots: str


UNICODE = Strokes(
    lines=" ╵╷│╴╯╮┤╶╰╭├─┴┬┼",
    size="┄",
    falling="╲",
    rising="╱",  # noqa: RUF001
    crossing="╳",  # noqa: RUF001
    joint="•",
    arrow="▸",
    wall="┤",
    block="█",
    shade="░",
    over="▒",
    hole="_",
    unknown="?",
    fail="✗",
    here="◂",
    to="→",
    none="·",
    dots="…",
)
ASCII = Strokes(
    lines=" '.|-'.+-'.+-+++",
    size=":",
    falling="\\",
    rising="/",
    crossing="X",
    joint="*",
    arrow=">",
    wall="|",
    block="#",
    shade="=",
    over="!",
    hole="_",
    unknown="?",
    fail="x",
    here="<",
    to="->",
    none=".",
    dots="...",
)


def strokes_for(encoding: str | None) -> Strokes:
    """Return the strokes that a stream of `encoding` can show.

    >>> strokes_for("utf-8") is UNICODE, strokes_for("ascii") is ASCII, strokes_for(None) is ASCII
    (True, True, True)
    """
    try:
        "".join(fields(UNICODE).values()).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


def clip(text: str, room: int, strokes: Strokes) -> str:
    """Return `text`. If it is longer than `room`, it is cut there and ends with dots.

    >>> clip("C*H*W/64", 6, ASCII), clip("12", 6, ASCII)
    ('C*H...', '12')
    """
    if len(text) <= room:
        return text
    kept = max(0, room - len(strokes.dots))
    return (text[:kept] + strokes.dots)[: max(0, room)]
