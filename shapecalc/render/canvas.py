"""A canvas of character cells for pictures, with glyphs, styles and text helpers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.style import Style
from rich.text import Span, Text

from shapecalc.core.record import Record

Colour = tuple[int, int, int]
CanvasCell = tuple[str, Style | str, int]
"""A character cell: its character, its style and the sum of its line directions."""
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
"""Bit flags for the directions in which a line leaves a cell.

Their sum is an index into `GlyphSet.box_lines`.
"""
TEXT_FLAG = 16
"""The value of a cell with text, which has no sum of line directions."""
BLANK: CanvasCell = (" ", "", 0)
NOTE_GAP = 3
"""The number of spaces between two notes on one line."""


class GlyphSet(Record):
    """The characters from which pictures are drawn."""

    box_lines: str = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"
    """The 16 box-drawing characters, indexed by the sum of their line directions."""
    copied_size_line: str = "┄"
    """The line to an output dim that copies the size of an input dim, but not its elements."""
    falling_line: str = "╲"
    """The line of an axis that moves to a higher index."""
    rising_line: str = "╱"  # noqa: RUF001
    """The line of an axis that moves to a lower index."""
    crossing: str = "╳"  # noqa: RUF001
    """The crossing of a falling and a rising line."""
    junction: str = "•"
    """The junction of lines from all four sides."""
    pointer: str = "▸"
    line_end: str = "┤"
    """The end of the line of a dropped or summed axis."""
    block: str = "█"
    shade: str = "░"
    """The fill of padding cells, and of axes that are too finely divided to be drawn."""
    excess: str = "▒"
    """The fill for surplus and missing elements."""
    placeholder: str = "_"
    """The placeholder of a dim that is hidden or not determined yet."""
    unknown: str = "?"
    fail: str = "✗"
    maps_to: str = "→"
    no_axis: str = "·"
    """The label of an output dim without an input axis."""
    ellipsis: str = "…"
    separators: str = "▕▏╎"
    """The separators in a row of elements: at its start, between blocks of the outermost axis, and between other
    blocks.
    """
    second_block: str = "▓"
    """The fill of every second piece of a bar, where there is no space for separators."""
    first_dots: str = ""
    """The empty braille character, or "" if straight wires are drawn without braille dots.

    The offset of a braille character from the empty one has a bit for each of its dots.
    """

    @property
    def horizontal(self) -> str:
        """The horizontal box-drawing character."""
        return self.box_lines[LEFT | RIGHT]

    @property
    def vertical(self) -> str:
        """The vertical box-drawing character."""
        return self.box_lines[UP | DOWN]


UNICODE = GlyphSet()
DOTTED = GlyphSet(first_dots="\u2800")
"""The Unicode glyphs for terminals, with braille, because terminal fonts contain it."""
ASCII = GlyphSet(
    " '.|-'.+-'.+-+++", ":", "\\", "/", "X", "*", ">", "|", "#", "=", "!", "_", "?", "x", "->", ".", "...", "[|:", "%"
)
"""The glyphs for terminals without Unicode."""


def glyphs_for_encoding(encoding: str | None) -> GlyphSet:
    """Return `UNICODE` if an encoding can represent all its glyphs, otherwise `ASCII`.

    >>> glyphs_for_encoding("utf-8") is UNICODE
    True
    >>> glyphs_for_encoding("ascii") is ASCII, glyphs_for_encoding(None) is ASCII
    (True, True)
    """
    try:
        repr(UNICODE).encode(encoding or "ascii")
    except (UnicodeError, LookupError):
        return ASCII
    return UNICODE


def clip_text(text: str, width: int, glyphs: GlyphSet) -> str:
    """Truncate a string to `width` characters, with an ellipsis at the end.

    >>> clip_text("C*H*W/64", 6, ASCII), clip_text("12", 6, ASCII)
    ('C*H...', '12')
    """
    if len(text) <= width:
        return text
    length = max(0, width - len(glyphs.ellipsis))
    return (text[:length] + glyphs.ellipsis)[: max(0, width)]


@lru_cache(maxsize=1024)
def make_style(
    colour: str = "",
    *,
    dim: bool = False,
    bold: bool = False,
    reverse: bool = False,
    background: str = "",
    meta_item: tuple[str, object] | None = None,
) -> Style:
    """Return a cached Rich style.

    An empty colour is the default colour of the terminal. `meta_item` is a key and a value of the style's metadata.

    >>> make_style("#D55E00", bold=True) is make_style("#D55E00", bold=True)
    True
    """
    return Style(
        color=colour or None,
        bgcolor=background or None,
        dim=dim,
        bold=bold,
        reverse=reverse,
        meta=dict([meta_item]) if meta_item else None,
    )


def contrast_ratio(first: Colour, second: Colour) -> float:
    """Return the contrast ratio of two colours, from 1 to 21.

    Source: WCAG 2.1.

    >>> contrast_ratio((0, 0, 0), (255, 255, 255))
    21.0
    """
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


class Canvas:
    """A grid of styled character cells; column `x` and row `y` address a cell.

    Lines can be drawn in any order, and are joined where they meet. Text is drawn over lines. With the style None,
    nothing is drawn.
    """

    def __init__(self, glyphs: GlyphSet, row_count: int) -> None:
        """Create a canvas of `row_count` empty rows.

        Drawing below the last row has no effect.
        """
        self.glyphs = glyphs
        self._rows: list[dict[int, CanvasCell]] = [{} for _ in range(row_count)]

    def draw_horizontal(self, y: int, left: int, right: int, style: Style | str | None = "") -> None:
        """Draw a horizontal line on row `y`.

        The line extends from the left edge of cell `left` to the left edge of cell `right`.
        """
        for x in range(left, right if y < len(self._rows) else left):
            self.draw_segments(x, y, LEFT | RIGHT, style)

    def draw_segments(self, x: int, y: int, directions: int, style: Style | str | None = "") -> None:
        """Draw line segments from the centre of a cell to some of its edges.

        `directions` is a sum of `UP`, `DOWN`, `LEFT` and `RIGHT`. A cell with text is not changed.
        """
        if y < len(self._rows) and style is not None:
            old_directions = self._rows[y].get(x, BLANK)[2]
            if old_directions != TEXT_FLAG:
                self._rows[y][x] = (
                    self.glyphs.box_lines[old_directions | directions],
                    style,
                    old_directions | directions,
                )

    def draw_horizontal_to_centre(self, y: int, left: int, middle: int, style: Style | str | None = "") -> None:
        """Draw a horizontal line on row `y` that ends in the centre of a cell.

        The line extends from the left edge of cell `left` to the centre of cell `middle`.
        """
        self.draw_horizontal(y, left, middle, style)
        self.draw_segments(middle, y, LEFT, style)

    def draw_vertical(self, x: int, top: int, bottom: int, style: Style | str | None = "") -> None:
        """Draw a vertical line in column `x`.

        The line extends from the centre of row `top` to the centre of row `bottom`.
        """
        for y in range(top, bottom + 1):
            self.draw_segments(x, y, (UP if y > top else 0) | (DOWN if y < bottom else 0), style)

    def draw_ruler(self, y: int, tick_columns: Sequence[int], style: Style | str | None = "") -> None:
        """Draw a horizontal line with ticks at the columns in `tick_columns`.

        The line extends from the first tick to the last.
        """
        first, *between, last = tick_columns
        self.draw_horizontal(y, first + 1, last, style)
        self.draw_segments(first, y, RIGHT | UP | DOWN, style)
        self.draw_segments(last, y, LEFT | UP | DOWN, style)
        for x in between:
            self.draw_segments(x, y, UP | DOWN, style)

    def write_text(self, x: int, y: int, text: str, style: Style | str | None = "") -> None:
        """Write text into row `y`, starting at cell `x`, with one character per cell."""
        if style is not None and y < len(self._rows):
            row = self._rows[y]
            for at, char in enumerate(text, x):
                row[at] = char, style, TEXT_FLAG

    def write_styled_text(self, x: int, y: int, text: str, styles: Sequence[Style | str]) -> None:
        """Write text into row `y`, starting at cell `x`, with one style per character."""
        if y < len(self._rows):
            self._rows[y] |= {
                at: (char, style, TEXT_FLAG) for at, (char, style) in enumerate(zip(text, styles, strict=True), x)
            }

    def is_blank(self, x: int, y: int, width: int) -> bool:
        """Return whether `width` cells of row `y`, starting at cell `x`, are blank."""
        return y >= len(self._rows) or all(self._rows[y].get(x + at, BLANK)[0] == " " for at in range(width))

    def dash_lines(self, left: int, right: int) -> None:
        """Dash the horizontal lines in the columns from `left` to `right`, exclusive."""
        for row in self._rows:
            for x, (_, style, ways) in row.items():
                if left <= x < right and ways == LEFT | RIGHT:
                    row[x] = self.glyphs.copied_size_line, style, TEXT_FLAG

    def render(self, width: int, rows: Sequence[int] | None = None) -> Text:
        """Render the given rows as text, by default all rows.

        A row wider than `width` is truncated with an ellipsis.
        """
        indices = range(len(self._rows)) if rows is None else rows
        return Text("\n", no_wrap=True, overflow="ignore", end="").join([self._render_row(y, width) for y in indices])

    def _render_row(self, y: int, width: int) -> Text:
        row, spans, chars = self._rows[y], list[Span](), list[str]()
        style: Style | str = ""
        start = 0
        for x in range(max(row, default=-1) + 1):
            char, cell_style, _ = row.get(x, BLANK)
            chars.append(char)
            if cell_style is style or (char == " " and not (isinstance(style, Style) and style.reverse)):
                continue  # a space keeps the style of the preceding cell, so that the row has fewer spans
            if cell_style != style:
                spans += [Span(start, x, style)] if style else []
                style, start = cell_style, x
        spans += [Span(start, len(chars), style)] if style else []
        return clip_line(Text("".join(chars), spans=spans), width, self.glyphs)


def clip_line(line: Text, width: int, glyphs: GlyphSet) -> Text:
    """Strip trailing spaces from a line, and truncate it to `width` characters."""
    line.rstrip()
    if len(line) > width:
        dots = clip_text(glyphs.ellipsis, width, glyphs)
        line.truncate(width - len(dots))
        line.append(dots)
    return line


def wrap_line(line: Text, width: int) -> list[Text]:
    """Wrap a styled line to `width` characters.

    The line is wrapped at spaces; longer words are broken.

    >>> [part.plain for part in wrap_line(Text("nothing is left over"), 12)]
    ['nothing is', 'left over']
    """
    result, width = list[Text](), max(1, width)
    while len(line) > width:
        end = line.plain.rfind(" ", 1, width + 1)
        end = end if line.plain[:end].strip() and end > 0 else width
        head, line = line.divide([end])
        head.rstrip()
        result.append(head)
        line = line[len(line.plain) - len(line.plain.lstrip()) :]
    line.rstrip()
    return [*result, line]


def wrap_lines(lines: Iterable[Text], width: int) -> list[Text]:
    """Wrap each line at spaces to `width` characters."""
    return [part for line in lines for part in wrap_line(line, width)]


def rows_around(focus: int, row_count: int, limit: int) -> range:
    """Return a range of at most `limit` rows that contains the row `focus`.

    >>> rows_around(6, 8, 4), rows_around(0, 3, 9)
    (range(4, 8), range(0, 3))
    """
    limit = max(1, limit)
    first = max(0, min(focus - limit // 2, row_count - limit))
    return range(first, min(row_count, first + limit))


def choose_row_pitch(row_count: int, height: int, reserved_lines: int, max_height: int = 20) -> int:
    """Return the largest distance between rows, 1 or 2 lines, that fits a height.

    `height` includes `reserved_lines` lines for other text. At most `max_height` lines are used.

    >>> [choose_row_pitch(3, height, 2) for height in (7, 14, 30)]
    [1, 2, 2]
    """
    largest = (min(height, max_height) - reserved_lines - 1) // max(1, row_count - 1)
    return max(1, min(2, largest, height // 7))  # more than one blank line between rows is hard to read


def pack_notes(notes: list[Text], width: int) -> list[Text]:
    """Join notes into as few lines as possible, each of at most `width` characters.

    Longer notes are wrapped.
    """
    lines = list[Text]()
    for note in notes:
        if lines and len(lines[-1]) + NOTE_GAP + len(note) <= width:
            lines[-1] = Text.assemble(lines[-1], " " * NOTE_GAP, note)
        else:
            lines.append(note)
    return wrap_lines(lines, width)


def stack_texts(texts: list[Text]) -> Text:
    """Join texts with line breaks."""
    if len(texts) == 1 and not texts[0].end:
        return texts[0]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(texts)
