"""The columns of the flow and the gaps between them: the texts that stand in them, and how wide they are."""

from __future__ import annotations

from shapecalc.core.answers import Kind
from shapecalc.core.record import Record, replace
from shapecalc.view.layout import Cell, Layout
from shapecalc.view.marks import mark_text
from shapecalc.view.strokes import Strokes, clip
from shapecalc.view.wires import Wiring, wiring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SCALAR = "[]"
LONGEST_DIM = 14
LONGEST_TITLE = 24
ROOMS = ((3, 11), (3, 3), (2, 7), (2, 3), (1, 3), (1, 1))
"""How many lines apart the axes stand, and how many cells a line has after its bracket, the most spacious first."""


class Column(Record):
    """A column of dims, with the texts that stand in it."""

    cells: tuple[Cell, ...]
    marks: tuple[str, ...]
    dims: tuple[str, ...]
    scalar: bool
    least: int = 0

    @property
    def mark_width(self) -> int:
        """The cells of its widest mark."""
        return max(map(len, self.marks), default=0)

    @property
    def width(self) -> int:
        """The cells of one of its rows: a mark, a blank, a dim."""
        dims = max(map(len, self.dims), default=len(SCALAR) * self.scalar)
        return max(self.mark_width + bool(self.mark_width) + dims, self.least)


class Gap(Record):
    """The room between two columns."""

    wired: Wiring
    title: str
    tokens: tuple[str, ...]
    """What is written on the line into each dim."""
    room: int
    pitch: int

    def width(self, after: int) -> int:
        """Return how many cells the lines, the tokens and the title need before a column of `after` cells."""
        tokens = max(map(len, self.tokens), default=0)
        lines = self.wired.width(self.pitch) + self.room + (tokens + 2 if tokens else 0)
        return max(lines, len(self.title) + 1 - after, self.room + 2)


class Spread(Record):
    """The columns with the gaps between them, and which of them are shown."""

    columns: tuple[Column, ...]
    gaps: tuple[Gap, ...]
    window: tuple[int, int]
    """The first and the last column that are shown."""
    pitch: int
    """How many lines apart the axes stand."""

    @property
    def lines(self) -> int:
        """The lines of the axes that are shown, without the head."""
        first, last = self.window
        return 1 + self.pitch * (max([1, *(len(column.cells) for column in self.columns[first : last + 1])]) - 1)


def column_of(cells: tuple[Cell, ...], strokes: Strokes, layout: Layout | None = None) -> Column:
    """Return the column of the dims after a stage, or of the input. The sizes in a vector are numbered."""
    finished = layout is None or layout.problem is None
    dims = tuple(strokes.unknown if cell.dim is None else clip(str(cell.dim), LONGEST_DIM, strokes) for cell in cells)
    if layout is not None and layout.stage.kind is Kind.SHAPE:
        return Column(cells, tuple(f"[{place}]" for place in range(len(cells))), dims, scalar=finished and not cells)
    marks = tuple(mark_text(cell.mark, strokes) if cell.mark or finished else "" for cell in cells)
    return Column(cells, marks, dims, scalar=finished and not cells)


def spread(
    made: tuple[Layout, ...], columns: tuple[Column, ...], place: int, width: int, pitch: int, strokes: Strokes
) -> Spread:
    """Return the columns as far apart as `width` allows, with axes at most `pitch` lines apart.

    If not all stages fit, those around the one at `place` are shown.
    """
    close = [
        _gap(layout, before, after, width, strokes)
        for layout, before, after in zip(made, columns, columns[1:], strict=False)
    ]
    widths = [column.width for column in columns]
    for lines, room in ROOMS:
        if lines > pitch:
            continue
        gaps = tuple([replace(gap, room=room, pitch=lines) for gap in close])
        window = _window(widths, gaps, place, width)
        if window == (0, len(made)):
            break
    return Spread(columns, gaps, window, lines)


def _gap(layout: Layout, before: Column, after: Column, width: int, strokes: Strokes) -> Gap:
    """Return the gap between two columns, as narrow as it can be."""
    lines, room = ROOMS[-1]
    parted = layout.parted
    tokens = tuple(
        [
            f"{token}{strokes.size}{mark_text(layout.before[out].mark, strokes)}" if out in parted else token
            for out, token in enumerate(_tokens(layout, strokes))
        ]
    )
    title = clip(layout.title, LONGEST_TITLE, strokes)
    wired = wiring(layout.links, width - before.width - after.width - room - 2, len(title) + 1 - after.width - room)
    return Gap(wired, title, tokens, room, lines)


def _tokens(layout: Layout, strokes: Strokes) -> list[str]:
    """Return what is written on the line into each dim: what was asked for, if that is not the dim itself for all."""
    tokens, asked = [cell.token for cell in layout.cells], layout.stage.asked
    if layout.cuts and len(asked) == len(tokens) and layout.stage.after not in (None, asked):
        tokens = [token or str(dim) for token, dim in zip(tokens, asked, strict=True)]
    return [clip(token, LONGEST_DIM, strokes) for token in tokens]


def _window(widths: Sequence[int], gaps: tuple[Gap, ...], place: int, width: int) -> tuple[int, int]:
    """Return the first and last column that are shown: as many as fit, around the stage at `place`."""
    room = [gap.width(after) + after for gap, after in zip(gaps, widths[1:], strict=True)]
    first, last = max(0, place), max(0, place + 1)
    if not gaps:
        return 0, 0

    def fits(first: int, last: int) -> bool:
        return widths[first] + sum(room[first:last]) + 2 * (last - first) <= width

    while True:
        if last < len(gaps) and fits(first, last + 1):
            last += 1
        elif first > 0 and fits(first - 1, last):
            first -= 1
        else:
            return first, last
