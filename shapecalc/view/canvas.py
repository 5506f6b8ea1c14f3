"""The canvas of all pictures: character cells, glyphs, styles and text helpers."""

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
"""A character cell: its character, its style and the sum of its line directions."""
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""The directions in which a line leaves a cell.

Their sum is an index into `GlyphSet.box_lines`.
"""
WORD = 16
"""The flag of a cell that holds text. It replaces the line directions."""
BLANK: Place = (" ", "", 0)
NOTE_GAP = 3
"""The number of blanks between two notes on one line."""


class Strokes(Record):
    """The characters of a picture, named by meaning: Unicode or ASCII."""

    lines: str = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
    """The 16 box-drawing characters, indexed by the sum of their directions."""
    size: str = "┄"
    """The dotted line of a copied size, along which no element moves."""
    falling: str = "╲"
    """The line of an axis that moves down."""
    rising: str = "╱"  # noqa: RUF001
    """The line of an axis that moves up."""
    crossing: str = "╳"  # noqa: RUF001
    """The cell in which a falling and a rising line cross."""
    joint: str = "•"
    """The cell in which wires meet from all four sides."""
    arrow: str = "▸"
    wall: str = "┤"
    """The end of the wire of a dropped axis."""
    block: str = "█"
    shade: str = "░"
    """The fill of a ruler whose cuts are too close together to be drawn."""
    over: str = "▒"
    """The block of an element that is left over or missing."""
    hole: str = "_"
    unknown: str = "?"
    fail: str = "✗"
    to: str = "→"
    none: str = "·"
    """The mark of an output dim that comes from no input axis."""
    dots: str = "…"

    @property
    def level(self) -> str:
        """The horizontal line."""
        return self.lines[LEFT | RIGHT]

    @property
    def upright(self) -> str:
        """The vertical line."""
        return self.lines[UP | DOWN]


UNICODE = Strokes()
ASCII = Strokes(" '.|-'.+-'.+-+++", ":", "\\", "/", "X", "*", ">", "|", "#", "=", "!", "_", "?", "x", "->", ".", "...")
"""The glyphs of terminals without Unicode."""


def strokes_for(encoding: str | None) -> Strokes:
    """Return the glyphs that an output stream with this encoding can show.

    >>> strokes_for("utf-8") is UNICODE, strokes_for("ascii") is ASCII, strokes_for(None) is ASCII
    (True, True, True)
    """
    try:
        repr(UNICODE).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


def clip(text: str, room: int, strokes: Strokes) -> str:
    """Return `text`, truncated to `width` characters with an ellipsis at the end.

    >>> clip("C*H*W/64", 6, ASCII), clip("12", 6, ASCII)
    ('C*H...', '12')
    """
    if len(text) <= room:
        return text
    length = max(0, room - len(strokes.dots))
    return (text[:length] + strokes.dots)[: max(0, room)]


@lru_cache(maxsize=1024)
def ink(
    colour: str = "",
    *,
    dim: bool = False,
    bold: bool = False,
    reverse: bool = False,
    mark: tuple[str, object] | None = None,
) -> Style:
    """Return a cached style.

    An empty colour is the default colour of the terminal. `meta_item` is one entry of the style's metadata.

    >>> ink("#D55E00", bold=True) is ink("#D55E00", bold=True)
    True
    """
    return Style(color=colour or None, dim=dim, bold=bold, reverse=reverse, meta=dict([mark]) if mark else None)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21. Source: WCAG 2.1.

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
    """A grid of styled character cells, addressed by column `x` and row `y`.

    Lines can be drawn in any order and join where they meet. Text covers lines. A style of None draws nothing.
    """

    def __init__(self, strokes: Strokes, rows: int) -> None:
        """Create empty rows. Drawing below the last row has no effect."""
        self.strokes = strokes
        self._rows: list[dict[int, Place]] = [{} for _ in range(rows)]

    def draw_across(self, y: int, left: int, right: int, style: Style | str | None = "") -> None:
        """Draw a horizontal line on row `y`.

        It runs from the left edge of cell `left` to the left edge of cell `right`.
        """
        for x in range(left, right if y < len(self._rows) else left):
            self.join(x, y, LEFT | RIGHT, style)

    def join(self, x: int, y: int, directions: int, style: Style | str | None = "") -> None:
        """Add line directions to a cell, unless it holds text.

        `directions` is a sum of `UP`, `DOWN`, `LEFT` and `RIGHT`.
        """
        if y < len(self._rows) and style is not None:
            old_directions = self._rows[y].get(x, BLANK)[2]
            if old_directions != WORD:
                self._rows[y][x] = self.strokes.lines[old_directions | directions], style, old_directions | directions

    def draw_into(self, y: int, left: int, middle: int, style: Style | str | None = "") -> None:
        """Draw a horizontal line on row `y`.

        It runs from the left edge of cell `left` to the centre of cell `middle`.
        """
        self.draw_across(y, left, middle, style)
        self.join(middle, y, LEFT, style)

    def draw_down(self, x: int, top: int, bottom: int, style: Style | str | None = "") -> None:
        """Draw a vertical line in column `x`.

        It runs from the centre of row `top` to the centre of row `bottom`.
        """
        for y in range(top, bottom + 1):
            self.join(x, y, (UP if y > top else 0) | (DOWN if y < bottom else 0), style)

    def draw_ruler(self, y: int, cuts: Sequence[int], style: Style | str | None = "") -> None:
        """Draw a horizontal line from the first cut to the last, with a tick at each cut."""
        first, *between, last = cuts
        self.draw_across(y, first + 1, last, style)
        self.join(first, y, RIGHT | UP | DOWN, style)
        self.join(last, y, LEFT | UP | DOWN, style)
        for x in between:
            self.join(x, y, UP | DOWN, style)

    def put(self, x: int, y: int, text: str, style: Style | str | None = "") -> None:
        """Write text from cell `x` of row `y`, one character per cell."""
        if style is not None:
            self.put_cells(x, y, text, [style] * len(text))

    def put_cells(self, x: int, y: int, text: str, styles: Sequence[Style | str]) -> None:
        """Write text from cell `x` of row `y`, with one style per character."""
        if y < len(self._rows):
            self._rows[y] |= {
                at: (char, style, WORD) for at, (char, style) in enumerate(zip(text, styles, strict=True), x)
            }

    def dash(self, left: int, right: int) -> None:
        """Replace the horizontal lines between two columns by size lines."""
        for row in self._rows:
            for x, (_, style, ways) in row.items():
                if left <= x < right and ways == LEFT | RIGHT:
                    row[x] = self.strokes.size, style, WORD

    def text(self, width: int, kept: Sequence[int] | None = None) -> Text:
        """Return the given rows as text, all of them if `rows` is None.

        A row that is wider than `width` ends with an ellipsis.
        """
        indices = range(len(self._rows)) if kept is None else kept
        return Text("\n", no_wrap=True, overflow="ignore", end="").join([self._line(y, width) for y in indices])

    def _line(self, y: int, width: int) -> Text:
        """Return one row as text.

        A blank takes the style of the cell before it, unless it is reversed.
        """
        row, line, cells = self._rows[y], Text(), list[tuple[Style | str, str]]()
        style: Style | str = ""
        for x in range(max(row, default=-1) + 1):
            char, cell_style, _ = row.get(x, BLANK)
            style = cell_style if char != " " or (isinstance(style, Style) and style.reverse) else style
            cells.append((style, char))
        for style, run in groupby(cells, itemgetter(0)):
            line.append("".join([char for _, char in run]), style)
        return clip_line(line, width, self.strokes)


def clip_line(line: Text, width: int, strokes: Strokes) -> Text:
    """Strip trailing blanks from a line, and truncate it to `width` with an ellipsis."""
    line.rstrip()
    if len(line) > width:
        dots = clip(strokes.dots, width, strokes)
        line.truncate(width - len(dots))
        line.append(dots)
    return line


def rows_around(here: int, count: int, room: int) -> range:
    """Return the range of at most `limit` of `row_count` rows around row `focus`.

    >>> rows_around(6, 8, 4), rows_around(0, 3, 9)
    (range(4, 8), range(0, 3))
    """
    room = max(1, room)
    first = max(0, min(here - room // 2, count - room))
    return range(first, min(count, first + room))


def pitch_for(rows: int, height: int, spare: int, tallest: int = 20) -> int:
    """Return the distance in lines between rows, from 1 to 3, that fits a height.

    The rows and `other_lines` further lines together take at most `height` lines.

    >>> [pitch_for(3, height, 2) for height in (7, 14, 30)]
    [1, 2, 3]
    """
    largest = (min(height, tallest) - spare - 1) // max(1, rows - 1)
    return max(1, min(3, largest, height // 7))  # a larger pitch is slower to draw and no clearer


def packed(notes: list[Text], width: int, strokes: Strokes) -> list[Text]:
    """Return the notes joined into as few lines as fit `width`."""
    lines = list[Text]()
    for note in notes:
        if lines and len(lines[-1]) + NOTE_GAP + len(note) <= width:
            lines[-1] = Text.assemble(lines[-1], " " * NOTE_GAP, note)
        else:
            lines.append(note)
    return [clip_line(line, width, strokes) for line in lines]


def stack(parts: list[Text]) -> Text:
    """Join texts with line breaks. A single text without an end is returned as is."""
    if len(parts) == 1 and not parts[0].end:
        return parts[0]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(parts)
