"""A tensor as a table: its last axis goes across, the others go down, each row and column with its index.

A line parts one block of rows from the next. Of a tensor that is too large, the part around one element is shown,
and what is left out is counted under it.
"""

from __future__ import annotations

from math import prod

from rich.text import Text

from shapecalc.core.moves import ravel, unravel
from shapecalc.core.record import Record
from shapecalc.view.canvas import clip_line, rows_around
from shapecalc.view.ink import ink
from shapecalc.view.strokes import DOWN, LEFT, RIGHT, UP, Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Index = tuple[int, ...]

LEAST_BLOCK = 23
"""The fewest cells of a table."""
HEAD = 3
"""The lines over the elements, without the line under the indices."""
BETWEEN = 4
"""The blanks between two tables."""


class Element(Record):
    """One element: its text, its index in the input, and whether it is marked."""

    text: str
    source: tuple[int, ...]
    lit: bool


class Table(Record):
    """One tensor: what is written over it, and its elements."""

    title: str
    whole_title: str
    """The title with more in it, where there is room for that of all tables; empty if there is no more."""
    at: str
    """Where the marked element is; empty if there is none."""
    shape: tuple[int, ...]
    marks: tuple[str, ...]
    """The mark of each axis."""
    focus: tuple[int, ...]
    """The index of the element that is always shown."""
    wide: int
    """The cells of an element."""
    element: Callable[[Index], Element]

    @property
    def columns(self) -> int:
        """How many elements one row has."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return prod(self.shape[:-1])

    @property
    def block(self) -> int:
        """How many rows go together: those of the innermost axis that has several."""
        return next((size for size in reversed(self.shape[:-1]) if size > 1), 1)

    @property
    def index_widths(self) -> tuple[int, ...]:
        """The cells of the index on each axis: of its mark, or of its largest position."""
        return tuple(max(len(mark), len(str(size - 1))) for mark, size in zip(self.marks, self.shape, strict=True))

    @property
    def label(self) -> int:
        """The cells at the left of the elements: the indices of a row, a line, and the mark of the last axis."""
        return sum(self.index_widths[:-1]) + max(0, len(self.shape) - 2) + 2 * (len(self.shape) > 1) + self.gutter

    @property
    def gutter(self) -> int:
        """The cells of the mark of the last axis."""
        return len(self.marks[-1]) + (len(self.shape) > 1) if self.marks else 0

    @property
    def cell(self) -> int:
        """The cells of an element with the brackets around it, or of the largest index over it."""
        return max(self.wide, len(str(self.columns - 1))) + 2

    @property
    def lines(self) -> int:
        """The lines of the whole table."""
        return HEAD + self.rows + (self.rows - 1) // self.block

    def width(self, height: int) -> int:
        """Return the cells of the whole table, with what counts the rows that `height` lines have no room for."""
        note = LEAST_BLOCK if self.rows + self.rows // self.block + HEAD > height else 0
        return max(self.label + self.columns * self.cell, len(self.title), len(self.at), note)


def side_by_side(tables: Sequence[Table], width: int, height: int, strokes: Strokes) -> list[Text]:
    """Return tables beside each other, as many as fit, and a line that counts the others."""
    fits = max(1, min(len(tables), (width + BETWEEN) // (LEAST_BLOCK + BETWEEN)))
    more = len(tables) - fits
    height -= bool(more)
    least = [table.width(height) for table in tables[:fits]]
    titled = [max(room, len(table.whole_title)) for room, table in zip(least, tables, strict=False)]
    room = width - BETWEEN * (fits - 1)
    rooms = titled if sum(titled) <= room else _rooms(least, room)
    ruled = all(table.lines < height for table in tables[:fits])
    blocks = [_lines(table, (room, height), strokes, ruled=ruled) for table, room in zip(tables, rooms, strict=False)]
    lines = []
    for row in range(max(map(len, blocks))):
        line = Text()
        for block, room in zip(blocks, rooms, strict=True):
            part = block[row].copy() if row < len(block) else Text()
            part.pad_right(room + BETWEEN - len(part))
            line.append_text(part)
        lines.append(clip_line(line, width, strokes))
    return [*lines, *([clip_line(Text(f"{strokes.dots} {more} more after these", "dim"), width, strokes)] * bool(more))]


def _rooms(widths: list[int], width: int) -> list[int]:
    """Return the room of each table: what it needs, and of `width` an equal part of the rest if that is too much.

    >>> _rooms([10, 50, 60], 100), _rooms([10, 20], 100)
    ([10, 45, 45], [10, 20])
    """
    rooms, left = [0] * len(widths), width
    for done, place in enumerate(sorted(range(len(widths)), key=widths.__getitem__)):
        rooms[place] = min(widths[place], left // (len(widths) - done))
        left -= rooms[place]
    return rooms


def _lines(table: Table, room: tuple[int, int], strokes: Strokes, *, ruled: bool) -> list[Text]:
    """Return a table: its title, the place of the marked element, the indices of the columns, the rows.

    If it is `ruled`, a line parts the indices of the columns from the rows.
    """
    width, height = room
    title = table.whole_title if 0 < len(table.whole_title) <= width else table.title
    head = [Text(clip(title, width, strokes), "bold")]
    head += [Text(clip(table.at, width, strokes))] if table.at else []
    head += [Text()] * (1 + ruled) if table.shape else []
    row, column = divmod(ravel(table.focus, table.shape), table.columns)
    label = min(table.label, max(width // 2, width - table.columns * table.cell))
    across = rows_around(column, table.columns, (width - label) // table.cell)
    down = _rows_shown(table, row, height - len(head))
    notes = _left_out(table, down, across, width)
    if notes and len(down) > 1:
        down = _rows_shown(table, row, height - len(head) - len(notes))
        notes = _left_out(table, down, across, width)
    if table.shape:
        head[-1] = _parting_line(table, label, len(across), strokes)
        head[-1 - ruled] = _column_labels(table, across, label, strokes)
    lines = _rows(table, down, across, label, strokes)
    return [*head, *lines, *(Text(clip(f"{strokes.dots} {note}", width, strokes), "dim") for note in notes)]


def _rows_shown(table: Table, here: int, room: int) -> range:
    """Return the rows around row `here` that have room, with the lines between blocks."""
    shown = rows_around(here, table.rows, room)
    while len(shown) > 1 and len(shown) + sum(_starts_block(table, row) for row in shown[1:]) > room:
        shown = shown[1:] if here - shown[0] > shown[-1] - here else shown[:-1]
    return shown


def _starts_block(table: Table, row: int) -> bool:
    return table.block < table.rows and row % table.block == 0


def _left_out(table: Table, down: range, across: range, width: int) -> list[str]:
    """Return the lines that say which rows and columns are shown: one if it fits, none if all are shown."""
    parts = []
    if len(down) < table.rows:
        parts.append(f"{_numbers('row', down)} of {table.rows}")
    if len(across) < table.columns:
        parts.append(f"{_numbers('column', across)} of {table.columns}")
    joined = ", ".join(parts)
    return [joined] if parts and len(joined) + 4 <= width else parts


def _numbers(word: str, shown: range) -> str:
    """Return which rows or columns are shown.

    >>> _numbers("row", range(1, 2)), _numbers("column", range(4))
    ('row 1', 'columns 0-3')
    """
    return f"{word} {shown[0]}" if len(shown) == 1 else f"{word}s {shown[0]}-{shown[-1]}"


def _column_labels(table: Table, across: range, label: int, strokes: Strokes) -> Text:
    """Return the marks of the axes, and the index of each column."""
    marks = [mark.rjust(wide) for mark, wide in zip(table.marks[:-1], table.index_widths, strict=False)]
    line = Text(_fitted(table, " ".join(marks), label, table.marks[-1], strokes), "dim")
    for column in across:
        line.append(f"{column} ".rjust(table.cell), "dim")
    return line


def _fitted(table: Table, texts: str, label: int, mark: str, strokes: Strokes) -> str:
    """Return what stands at the left of a row: its indices, a line, and the mark of the last axis."""
    if len(table.shape) < 2:
        return mark[:label].rjust(min(table.gutter, label))
    room = label - table.gutter - 2
    if room < 1:
        return " " * label
    wall = strokes.lines[UP | DOWN]
    texts = texts if len(texts) <= room else f"{strokes.dots[0]}{texts[len(texts) - room + 1 :]}"
    return f"{texts.rjust(room)} {wall}{mark.rjust(table.gutter)}"


def _rows(table: Table, down: range, across: range, label: int, strokes: Strokes) -> list[Text]:
    """Return rows with their indices. An index that is the one above is not written again."""
    lines, before = list[Text](), None
    for row in down:
        first = unravel(row * table.columns, table.shape)
        if row != down[0] and _starts_block(table, row):
            lines.append(_parting_line(table, label, len(across), strokes))
            before = None
        texts = [
            (" " if before is not None and first[: axis + 1] == before[: axis + 1] else str(first[axis])).rjust(wide)
            for axis, wide in enumerate(table.index_widths[:-1])
        ]
        before = first
        line = Text(_fitted(table, " ".join(texts), label, "", strokes), "dim")
        for column in across:
            line.append_text(_element_text(table, (*first[:-1], column) if first else ()))
        lines.append(line)
    return lines


def _element_text(table: Table, index: Index) -> Text:
    """Return one element, in brackets if it is marked. It carries its index in the input as the meta data `cell`."""
    element = table.element(index)
    text = element.text.rjust(table.cell - 2)
    style = ink(bold=element.lit, reverse=element.lit, mark=("cell", element.source))
    return Text(f"[{text}]" if element.lit else f" {text} ", style)


def _parting_line(table: Table, label: int, columns: int, strokes: Strokes) -> Text:
    across, cross = strokes.lines[LEFT | RIGHT], strokes.lines[UP | DOWN | LEFT | RIGHT]
    if len(table.shape) < 2:
        return Text(across * (label + columns * table.cell), "dim")
    left = label - table.gutter - 1
    return Text(f"{across * left}{cross}{across * (table.gutter + columns * table.cell)}", "dim")
