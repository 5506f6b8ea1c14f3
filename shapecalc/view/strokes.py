"""The characters that pictures are drawn with: one set for terminals that know UTF-8, one in ASCII."""

from __future__ import annotations

from shapecalc.core.sizes.record import Record, fields

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""The directions in which a line leaves a character cell; their sum is its place in `Strokes.lines`."""


class Strokes(Record):
    """A set of characters, each by what it means."""

    lines: str
    """Sixteen characters, by the directions in which lines leave them."""
    falling: str
    """The two diagonals: an axis on its way down, and one on its way up."""
    rising: str
    arrow: str
    wall: str
    """Where the line of an axis ends that goes no further."""
    block: str
    shade: str
    """Blocks of every second run, so that the runs can be counted."""
    over: str
    """What sticks out."""
    hole: str
    unknown: str
    fail: str
    here: str
    to: str
    times: str
    none: str
    """The letter of a dim that no input axis went into."""
    dots: str


UNICODE = Strokes(
    lines=" ╵╷│╴╯╮┤╶╰╭├─┴┬┼",
    falling="╲",
    rising="╱",  # noqa: RUF001
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
    times="×",  # noqa: RUF001
    none="·",
    dots="…",
)
ASCII = Strokes(
    lines=" '.|-'.+-'.+-+++",
    falling="\\",
    rising="/",
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
    times="x",
    none=".",
    dots="...",
)


def strokes_for(encoding: str | None) -> Strokes:
    """Return the strokes that a stream of that encoding can show.

    >>> strokes_for("utf-8") is UNICODE, strokes_for("ascii") is ASCII, strokes_for(None) is ASCII
    (True, True, True)
    """
    try:
        "".join(fields(UNICODE).values()).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


def clipped(text: str, room: int, strokes: Strokes) -> str:
    """Return `text`, with dots at its end where it is longer than `room`.

    >>> clipped("C*H*W/64", 6, ASCII), clipped("12", 6, ASCII)
    ('C*H...', '12')
    """
    if len(text) <= room:
        return text
    kept = max(0, room - len(strokes.dots))
    return (text[:kept] + strokes.dots)[: max(0, room)]
