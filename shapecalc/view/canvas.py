"""A canvas of character cells. Lines join where they meet, words stand over lines, and the result is a `Text`."""

from __future__ import annotations

from itertools import compress, count
from operator import is_not

from rich.style import Style
from rich.text import Span, Text

from shapecalc.view.strokes import DOWN, LEFT, RIGHT, UP, Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Row: TypeAlias = tuple[list[str], list[Style | str], list[int]]
    """The cells of a row: their characters, their styles, and the directions in which lines leave each."""

WORD = 16
"""What stands among the directions of lines for a cell of a word."""
SPARE = 80
"""The blank cells by which a row grows beyond what is drawn in it, so that it grows seldom."""
APART = 3
"""The blanks between two notes on one line."""
WIDEST_PITCH = 3
"""The most lines from one axis to the next."""
TALLEST = 20
"""The most lines that a picture grows to. A taller one would be slow to draw, and no clearer."""
LINES_FOR_PITCH = 7
"""The lines that a picture needs for each line from one axis to the next."""


class Canvas:
    """Character cells by column and row. Lines are drawn in any order; words stand over lines. None as style hides.

    A picture has thousands of cells and is drawn at every key, so they are set and read many at a time.
    """

    def __init__(self, strokes: Strokes, rows: int) -> None:
        """Start with `rows` empty rows. What is drawn below the last row is lost."""
        self.strokes = strokes
        self._rows: list[Row] = [([], [], []) for _ in range(rows)]

    def draw_across(self, y: int, left: int, right: int, style: Style | str | None = "") -> None:
        """Draw a line on row `y` from the left edge of cell `left` to the left edge of cell `right`."""
        if y < len(self._rows) and style is not None and left < right:
            chars, styles, ways = self._row_up_to(y, right)
            if any(ways[left:right]):
                for x in range(left, right):
                    self.join(x, y, LEFT | RIGHT, style)
                return
            cells = right - left
            chars[left:right] = self.strokes.lines[LEFT | RIGHT] * cells
            styles[left:right], ways[left:right] = [style] * cells, [LEFT | RIGHT] * cells

    def join(self, x: int, y: int, directions: int, style: Style | str | None = "") -> None:
        """Add directions in which lines leave a cell: a sum of `UP`, `DOWN`, `LEFT` and `RIGHT`."""
        if y < len(self._rows) and style is not None:
            chars, styles, ways = self._row_up_to(y, x + 1)
            if ways[x] != WORD:
                ways[x] |= directions
                chars[x], styles[x] = self.strokes.lines[ways[x]], style

    def draw_down(self, x: int, top: int, bottom: int, style: Style | str | None = "") -> None:
        """Draw a line in column `x` from the middle of row `top` to the middle of row `bottom`."""
        for y in range(top, bottom + 1):
            self.join(x, y, (UP if y > top else 0) | (DOWN if y < bottom else 0), style)

    def put(self, x: int, y: int, text: str, style: Style | str | None = "") -> None:
        """Write words to the right from cell `x` of row `y`, one character in each cell."""
        if style is not None:
            self.put_cells(x, y, text, [style] * len(text))

    def put_cells(self, x: int, y: int, text: str, styles: Sequence[Style | str]) -> None:
        """Write characters to the right from cell `x` of row `y`, each in a style of its own."""
        if y >= len(self._rows):
            return
        if x < 0:
            x, text, styles = 0, text[-x:], styles[-x:]
        end = x + len(text)
        row = self._row_up_to(y, end)
        row[0][x:end], row[1][x:end], row[2][x:end] = text, styles, [WORD] * len(text)

    def dash(self, left: int, right: int) -> None:
        """Turn the level lines from cell `left` to cell `right` into lines along which sizes are copied."""
        for chars, _, ways in self._rows:
            for x, directions in enumerate(ways[left:right], left):
                if directions == LEFT | RIGHT:
                    chars[x], ways[x] = self.strokes.size, WORD

    def _row_up_to(self, y: int, right: int) -> Row:
        """Return a row that has all cells before cell `right`."""
        chars, styles, ways = row = self._rows[y]
        if right > len(chars):
            more = right - len(chars) + SPARE
            chars += " " * more
            styles += [""] * more
            ways += [0] * more
        return row

    def text(self, width: int, kept: Sequence[int] | None = None) -> Text:
        """Return the rows that are `kept`, all if it is None. A row that is wider than `width` ends with dots."""
        rows, spans, start = list[str](), list[Span](), 0
        for y in range(len(self._rows)) if kept is None else kept:
            row, runs = self._text_of_row(y, width)
            rows.append(row)
            spans += [Span(start + left, start + right, style) for left, right, style in runs]
            start += len(row) + 1
        return Text("\n".join(rows), spans=spans, no_wrap=True, overflow="ignore", end="")

    def _text_of_row(self, y: int, width: int) -> tuple[str, list[tuple[int, int, Style | str]]]:
        """Return one row, and the runs of its cells that have one style, blanks between them as well if none is lit."""
        chars, styles, _ = self._rows[y]
        row, runs, start = "".join(chars).rstrip(" "), list[tuple[int, int, Style | str]](), 0
        style: Style | str = ""
        for x in (0, *compress(count(1), map(is_not, styles[1 : len(row)], styles))) if row else ():
            if row[x] == " " and not (isinstance(style, Style) and style.reverse):
                x = len(row) - len(row[x:].lstrip(" "))
            if styles[x] is not style and x >= start:
                runs.append((start, x, style))
                start, style = x, styles[x]
        runs.append((start, len(row), style))
        if len(row) > width:
            dots = clip(self.strokes.dots, width, self.strokes)
            row, runs = row[: width - len(dots)] + dots, [(left, min(end, width), style) for left, end, style in runs]
        return row, [run for run in runs if run[2] and run[0] < run[1]]


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


def pitch_for(rows: int, height: int, spare: int, tallest: int = TALLEST) -> int:
    """Return how many lines apart `rows` stand, so that they and `spare` lines take `height` lines at most.

    >>> [pitch_for(3, height, 2) for height in (7, 14, 30)]
    [1, 2, 3]
    """
    fitting = (min(height, tallest) - spare - 1) // max(1, rows - 1)
    return max(1, min(WIDEST_PITCH, fitting, height // LINES_FOR_PITCH))


def packed(notes: list[Text], width: int, strokes: Strokes) -> list[Text]:
    """Return notes on as few lines as they fit on, each line as `clip_line` does."""
    lines = list[Text]()
    for note in notes:
        if lines and len(lines[-1]) + APART + len(note) <= width:
            lines[-1] = Text.assemble(lines[-1], " " * APART, note)
        else:
            lines.append(note)
    return [clip_line(line, width, strokes) for line in lines]


def stack(parts: list[Text]) -> Text:
    """Return texts one under another; one that has no line's end is returned itself."""
    if len(parts) == 1 and not parts[0].end:
        return parts[0]
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(parts)
