"""The cells that pictures are drawn on: their characters, their styles, and the canvas that lines are drawn on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rich.style import Style
from rich.text import Text

from shapecalc.core.record import Record

Colour = tuple[int, int, int]
Place = tuple[str, Style | str, int]
"""A cell: its character, its style, and the directions in which lines leave it."""
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""The directions in which a line leaves a character cell; their sum is its place in `Strokes.lines`."""
WORD = 16
"""What stands among the directions of lines for a cell of a word."""
BLANK: Place = (" ", "", 0)
NOTE_GAP = 3
"""The blanks between two notes on one line."""


class Strokes(Record):
    """A set of characters, each named by what it means: those of Unicode, or others in their place."""

    lines: str = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
    """Sixteen characters: the index is the sum of the directions in which lines leave the cell."""
    size: str = "┄"
    """The line along which a size is copied, but no element moves."""
    falling: str = "╲"
    """The line of an axis that goes down."""
    rising: str = "╱"  # noqa: RUF001
    """The line of an axis that goes up."""
    crossing: str = "╳"  # noqa: RUF001
    """The cell in which both meet."""
    joint: str = "•"
    """The cell in which ways of axes meet from all four sides."""
    arrow: str = "▸"
    wall: str = "┤"
    """The end of the line of an axis that is dropped."""
    block: str = "█"
    shade: str = "░"
    """What stands for cuts that are too close to each other to be drawn."""
    over: str = "▒"
    """The block of elements that are left over or too many."""
    hole: str = "_"
    unknown: str = "?"
    fail: str = "✗"
    to: str = "→"
    none: str = "·"
    """The mark of a dim that no input axis became."""
    dots: str = "…"

    @property
    def level(self) -> str:
        """The line from left to right."""
        return self.lines[LEFT | RIGHT]

    @property
    def upright(self) -> str:
        """The line from top to bottom."""
        return self.lines[UP | DOWN]


UNICODE = Strokes()
ASCII = Strokes(" '.|-'.+-'.+-+++", ":", "\\", "/", "X", "*", ">", "|", "#", "=", "!", "_", "?", "x", "->", ".", "...")
"""The same signs, in the same order."""


def strokes_for(encoding: str | None) -> Strokes:
    """Return the strokes that a stream of `encoding` can show.

    >>> strokes_for("utf-8") is UNICODE, strokes_for("ascii") is ASCII, strokes_for(None) is ASCII
    (True, True, True)
    """
    try:
        repr(UNICODE).encode(encoding or "ascii")
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


@lru_cache(maxsize=1024)
def ink(
    colour: str = "",
    *,
    dim: bool = False,
    bold: bool = False,
    reverse: bool = False,
    mark: tuple[str, object] | None = None,
) -> Style:
    """Return a style in a colour, in that of the terminal if it is empty; `mark` is one item of meta data.

    >>> ink("#D55E00", bold=True) is ink("#D55E00", bold=True)
    True
    """
    return Style(color=colour or None, dim=dim, bold=bold, reverse=reverse, meta=dict([mark]) if mark else None)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours, from 1 to 21. Source: WCAG 2.1, contrast ratio.

    >>> contrast((0, 0, 0), (255, 255, 255))
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


class Canvas:
    """Character cells by column and row. Lines are drawn in any order; words stand over lines. None as style hides."""

    def __init__(self, strokes: Strokes, rows: int) -> None:
        """Start with `rows` empty rows. What is drawn below the last row is lost."""
        self.strokes = strokes
        self._rows: list[dict[int, Place]] = [{} for _ in range(rows)]

    def draw_across(self, y: int, left: int, right: int, style: Style | str | None = "") -> None:
        """Draw a line on row `y` from the left edge of cell `left` to the left edge of cell `right`."""
        for x in range(left, right if y < len(self._rows) else left):
            self.join(x, y, LEFT | RIGHT, style)

    def join(self, x: int, y: int, directions: int, style: Style | str | None = "") -> None:
        """Add directions in which lines leave a cell: a sum of `UP`, `DOWN`, `LEFT` and `RIGHT`."""
        if y < len(self._rows) and style is not None:
            ways = self._rows[y].get(x, BLANK)[2]
            if ways != WORD:
                self._rows[y][x] = self.strokes.lines[ways | directions], style, ways | directions

    def draw_into(self, y: int, left: int, middle: int, style: Style | str | None = "") -> None:
        """Draw a line on row `y` from the left edge of cell `left` to the middle of cell `middle`."""
        self.draw_across(y, left, middle, style)
        self.join(middle, y, LEFT, style)

    def draw_down(self, x: int, top: int, bottom: int, style: Style | str | None = "") -> None:
        """Draw a line in column `x` from the middle of row `top` to the middle of row `bottom`."""
        for y in range(top, bottom + 1):
            self.join(x, y, (UP if y > top else 0) | (DOWN if y < bottom else 0), style)

    def draw_ruler(self, y: int, cuts: Sequence[int], style: Style | str | None = "") -> None:
        """Draw a line on row `y` from the first of some cells to the last, with a tick at each of them."""
        first, *between, last = cuts
        self.draw_across(y, first + 1, last, style)
        self.join(first, y, RIGHT | UP | DOWN, style)
        self.join(last, y, LEFT | UP | DOWN, style)
        for x in between:
            self.join(x, y, UP | DOWN, style)

    def put(self, x: int, y: int, text: str, style: Style | str | None = "") -> None:
        """Write words to the right from cell `x` of row `y`, one character in each cell."""
        if style is not None:
            self.put_cells(x, y, text, [style] * len(text))

    def put_cells(self, x: int, y: int, text: str, styles: Sequence[Style | str]) -> None:
        """Write characters to the right from cell `x` of row `y`, each in a style of its own."""
        if y < len(self._rows):
            self._rows[y] |= {
                at: (char, style, WORD) for at, (char, style) in enumerate(zip(text, styles, strict=True), x)
            }

    def dash(self, left: int, right: int) -> None:
        """Turn the level lines from cell `left` to cell `right` into lines along which sizes are copied."""
        for row in self._rows:
            for x, (_, style, ways) in row.items():
                if left <= x < right and ways == LEFT | RIGHT:
                    row[x] = self.strokes.size, style, WORD

    def text(self, width: int, kept: Sequence[int] | None = None) -> Text:
        """Return the rows that are `kept`, all if it is None. A row that is wider than `width` ends with dots."""
        shown = range(len(self._rows)) if kept is None else kept
        return Text("\n", no_wrap=True, overflow="ignore", end="").join([self._line(y, width) for y in shown])

    def _line(self, y: int, width: int) -> Text:
        """Return one row. Blanks have the style of what is before them, if that is not lit."""
        row, line, cells = self._rows[y], Text(), list[tuple[Style | str, str]]()
        style: Style | str = ""
        for x in range(max(row, default=-1) + 1):
            char, own, _ = row.get(x, BLANK)
            style = own if char != " " or (isinstance(style, Style) and style.reverse) else style
            cells.append((style, char))
        for style, run in groupby(cells, itemgetter(0)):
            line.append("".join([char for _, char in run]), style)
        return clip_line(line, width, self.strokes)


def clip_line(line: Text, width: int, strokes: Strokes) -> Text:
    """Return a line without blanks at its end. A line that is wider than `width` ends with dots."""
    line.rstrip()
    if len(line) > width:
        dots = clip(strokes.dots, width, strokes)
        line.truncate(width - len(dots))
        line.append(dots)
    return line


def rows_around(here: int, count: int, room: int) -> range:
    """Return which of `count` rows are shown: as many as there is room for, around the row `here`.

    >>> rows_around(6, 8, 4), rows_around(0, 3, 9)
    (range(4, 8), range(0, 3))
    """
    room = max(1, room)
    first = max(0, min(here - room // 2, count - room))
    return range(first, min(count, first + room))


def pitch_for(rows: int, height: int, spare: int, tallest: int = 20) -> int:
    """Return how many lines apart `rows` stand, so that they and `spare` lines take `height` lines at most.

    >>> [pitch_for(3, height, 2) for height in (7, 14, 30)]
    [1, 2, 3]
    """
    fitting = (min(height, tallest) - spare - 1) // max(1, rows - 1)
    return max(1, min(3, fitting, height // 7))  # rows further apart are slower to draw, and no clearer


def packed(notes: list[Text], width: int, strokes: Strokes) -> list[Text]:
    """Return notes on as few lines as they fit on, each line as `clip_line` does."""
    lines = list[Text]()
    for note in notes:
        if lines and len(lines[-1]) + NOTE_GAP + len(note) <= width:
            lines[-1] = Text.assemble(lines[-1], " " * NOTE_GAP, note)
        else:
            lines.append(note)
    return [clip_line(line, width, strokes) for line in lines]


def stack(parts: list[Text]) -> Text:
    """Return texts one under another; one that has no line's end is returned itself."""
    if len(parts) == 1 and not parts[0].end:
        return parts[0]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(parts)
