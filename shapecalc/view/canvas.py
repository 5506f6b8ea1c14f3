"""A canvas of character cells: lines that join where they meet, words over them, read off as a `Text`."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from shapecalc.view.strokes import DOWN, LEFT, RIGHT, UP, Strokes, clipped


class Canvas:
    """Character cells by column and row; lines are drawn in any order, words stand over lines."""

    def __init__(self, strokes: Strokes, rows: int) -> None:
        """Start empty; what is drawn past the last row is not kept."""
        self.strokes = strokes
        self._lines: list[dict[int, tuple[int, Style | str]]] = [{} for _ in range(rows)]
        self._chars: list[dict[int, tuple[str, Style | str]]] = [{} for _ in range(rows)]

    def across(self, y: int, left: int, right: int, style: Style | str = "") -> None:
        """Draw a line on row `y` from the left edge of cell `left` to the left edge of cell `right`."""
        for x in range(left, right):
            self._join(x, y, LEFT | RIGHT, style)

    def join(self, x: int, y: int, directions: int, style: Style | str = "") -> None:
        """Let lines leave a cell in more directions than those that were drawn already."""
        self._join(x, y, directions, style)

    def down(self, x: int, top: int, bottom: int, style: Style | str = "") -> None:
        """Draw a line in column `x` from the middle of row `top` to the middle of row `bottom`."""
        for y in range(top, bottom + 1):
            self._join(x, y, (UP if y > top else 0) | (DOWN if y < bottom else 0), style)

    def put(self, x: int, y: int, text: str, style: Style | str = "") -> None:
        """Write words, one character a cell."""
        if y < len(self._chars):
            for place, char in enumerate(text):
                self._chars[y][x + place] = char, style

    def text(self, width: int) -> Text:
        """Return the rows, each ended with dots where it is wider than `width`."""
        return stacked([self._row(y, width) for y in range(len(self._lines))])

    def _join(self, x: int, y: int, directions: int, style: Style | str) -> None:
        if y < len(self._lines):
            self._lines[y][x] = self._lines[y].get(x, (0, ""))[0] | directions, style

    def _row(self, y: int, width: int) -> Text:
        """Return one row, runs of one style together."""
        line, run = Text(), ""
        style: Style | str = ""
        for x in range(max((*self._lines[y], *self._chars[y]), default=-1) + 1):
            char, its = self._cell(x, y)
            if its != style:
                line.append(run, style)
                run, style = "", its
            run += char
        line.append(run, style)
        return clipped_text(line, width, self.strokes)

    def _cell(self, x: int, y: int) -> tuple[str, Style | str]:
        if x in self._chars[y]:
            return self._chars[y][x]
        directions, style = self._lines[y].get(x, (0, ""))
        return self.strokes.lines[directions], style


def clipped_text(line: Text, width: int, strokes: Strokes) -> Text:
    """Return a line without blanks at its end, ended with dots where it is wider than `width`."""
    line.rstrip()
    if len(line) > width:
        dots = clipped(strokes.dots, width, strokes)
        line.truncate(width - len(dots))
        line.append(dots)
    return line


def stacked(parts: list[Text]) -> Text:
    """Return texts one under the other."""
    return Text("\n", no_wrap=True, overflow="ignore", end="").join(parts)
