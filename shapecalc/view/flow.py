"""The flow: a column for each stage and a line for each axis. It shows the whole mapping at once."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.sizes.record import Record, replace
from shapecalc.view.canvas import Canvas, clip_line, stack
from shapecalc.view.layout import Cell, Layout, input_cells, layouts, place_of
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.strokes import UNICODE, Strokes, clip
from shapecalc.view.wires import Wiring, draw, wiring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SCALAR = "[]"
LONGEST_DIM = 14
LONGEST_TITLE = 24
MOST_ROWS = 16
"""The most axes that are drawn if no height is given."""
MIXED = "~ is no axis of the input: its cuts fall elsewhere"
ROOMS = (3, 1)
"""How many cells a line has after its bracket. The second is tried if the columns do not fit with the first."""


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
    tokens: int
    """The cells of the widest token on a line."""
    room: int

    def width(self, after: Column) -> int:
        """Return how many cells the lines, the tokens and the title need."""
        lines = self.wired.width + self.room + (self.tokens + 2 if self.tokens else 0)
        return max(lines, len(self.title) + 1 - after.width, self.room + 2)


def flow(
    answer: Trace | Chain,
    at: int | None = None,
    *,
    width: int = 78,
    height: int | None = None,
    strokes: Strokes = UNICODE,
    chosen: tuple[int, int] | None = None,
    holes: Mapping[tuple[int, int], str] | None = None,
) -> Text:
    r"""Return the flow of an answer at step `at`; after all steps if none is given.

    `width` and `height` are in character cells. `chosen` is a dim by column and index. It is lit up with all
    dims that it comes from. The cells of a dim carry their place as the meta data `dim` of their style. `holes` are
    the dims that are hidden, by column and index, with what stands there; no line leads into them.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(flow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), strokes=ASCII))
    input first 1,0,2   to 0,-1
    a   2 -\/------ b 3 ----- 0 -- b  3
    b   3 -/\------ a 2 -+-- -1 -- ac 8
    c   4 --------- c 4 -'
    """
    made, holes = layouts(answer), holes or {}
    columns = [_column(input_cells(answer), strokes), *(_column(layout.cells, strokes, layout) for layout in made)]
    columns = [_with_holes(column, place, holes) for place, column in enumerate(columns)] if holes else columns
    columns[0] = replace(columns[0], least=len("input") if made else 0)
    gaps, window = _gaps(made, columns, place_of(made, at), width, strokes)
    rows = max([1, *(len(column.cells) for column in columns[window[0] : window[1] + 1])])
    shown = min(rows, MOST_ROWS if height is None else max(1, height - 1))
    picture = _Flow(answer, at, strokes, _sources_of(made, None if chosen in holes else chosen), shown)
    picture.holes, picture.chosen = holes, chosen
    picture.draw(made, columns, gaps, window)
    notes = _notes(made, window, rows - shown, strokes, width)
    return stack([picture.canvas.text(width), *[note for note in notes if not holes or MIXED not in note]])


def _gaps(
    made: tuple[Layout, ...], columns: list[Column], place: int, width: int, strokes: Strokes
) -> tuple[list[Gap], tuple[int, int]]:
    """Return the gaps between columns, as wide as there is room for, and the first and last column that are shown."""
    for room in ROOMS:
        gaps = [_gap(layout, strokes, room) for layout in made]
        window = _window(columns, gaps, place, width)
        if window == (0, len(made)):
            break
    return gaps, window


def _notes(made: tuple[Layout, ...], window: tuple[int, int], more: int, strokes: Strokes, width: int) -> list[Text]:
    """Return the notes under the lines: what is left out, and where the request was refused."""
    notes = []
    if any(layout.mixed for layout in made[window[0] : window[1]]):
        notes.append(Text(MIXED, "dim"))
    if more:
        notes.append(Text(f"{strokes.dots} {more} more {'axis' if more == 1 else 'axes'}", "dim"))
    if window != (0, len(made)):
        first, last = window
        notes.append(Text(f"{strokes.dots} stages {first + 1} to {last} of {len(made)}", "dim"))
    if made and made[-1].problem:
        problem = made[-1].problem
        notes.append(Text(f"{strokes.fail} stopped at {made[-1].stage.label}: {problem.rule}", "bold red"))
    return [clip_line(note, width, strokes) for note in notes]


def _column(cells: tuple[Cell, ...], strokes: Strokes, layout: Layout | None = None) -> Column:
    finished = layout is None or layout.problem is None
    marks = tuple(mark_text(cell.mark, strokes) if cell.mark or finished else "" for cell in cells)
    dims = tuple(strokes.unknown if cell.dim is None else clip(str(cell.dim), LONGEST_DIM, strokes) for cell in cells)
    return Column(cells, marks, dims, scalar=finished and not cells)


def _with_holes(column: Column, place: int, holes: Mapping[tuple[int, int], str]) -> Column:
    """Return a column with what stands in its holes, and without their marks."""
    here = [holes.get((place, row)) for row in range(len(column.cells))]
    marks = tuple(mark if hole is None else "" for mark, hole in zip(column.marks, here, strict=True))
    dims = tuple(dim if hole is None else hole for dim, hole in zip(column.dims, here, strict=True))
    return replace(column, marks=marks, dims=dims)


def _gap(layout: Layout, strokes: Strokes, room: int) -> Gap:
    tokens = max((len(_token(cell, strokes)) for cell in layout.cells), default=0)
    return Gap(wiring(layout.links), clip(layout.title, LONGEST_TITLE, strokes), tokens, room)


def _token(cell: Cell, strokes: Strokes) -> str:
    return clip(cell.token, LONGEST_DIM, strokes)


def _window(columns: list[Column], gaps: list[Gap], place: int, width: int) -> tuple[int, int]:
    """Return the first and last column that are shown: as many as fit, around the stage at `place`."""
    room = [gap.width(after) + after.width for gap, after in zip(gaps, columns[1:], strict=True)]
    first, last = max(0, place), max(0, place + 1)
    if not gaps:
        return 0, 0

    def fits(first: int, last: int) -> bool:
        return columns[first].width + sum(room[first:last]) + 2 * (last - first) <= width

    while True:
        if last < len(gaps) and fits(first, last + 1):
            last += 1
        elif first > 0 and fits(first - 1, last):
            first -= 1
        else:
            return first, last


def _sources_of(made: tuple[Layout, ...], chosen: tuple[int, int] | None) -> frozenset[tuple[int, int]]:
    """Return the chosen dim and all dims that it comes from, each by column and index."""
    if chosen is None:
        return frozenset()
    column, lit = chosen[0], {chosen[1]}
    reached = {chosen}
    while column > 0:
        links = [link for link in made[column - 1].links if lit & {*link.outs}]
        column, lit = column - 1, {axis for link in links for axis in link.sources}
        reached |= {(column, axis) for axis in lit}
    return frozenset(reached)


class _Flow:
    """A flow while it is drawn, from left to right."""

    def __init__(
        self, answer: Trace | Chain, at: int | None, strokes: Strokes, lit: frozenset[tuple[int, int]], rows: int
    ) -> None:
        self.canvas = Canvas(strokes, rows + 1)
        self.at = len(answer.steps) if at is None else at
        self.strokes, self.lit, self.rows = strokes, lit, rows
        self.holes: Collection[tuple[int, int]] = ()
        self.chosen: tuple[int, int] | None = None

    def draw(self, made: tuple[Layout, ...], columns: list[Column], gaps: list[Gap], window: tuple[int, int]) -> None:
        """Draw the columns of a window, and the lines between them."""
        first, last = window
        x = self.draw_column(columns[first], first, 0)
        dots = self.strokes.dots
        title = "input" if first == 0 else clip(f"{dots}{made[first - 1].title}", x - 1, self.strokes)
        self.canvas.put(0, 0, title, "bold")
        for place in range(first, last):
            x = self.draw_stage(made[place], gaps[place], columns[place + 1], place + 1, x)

    def draw_column(self, column: Column, number: int, x: int) -> int:
        """Write the dims of a column at cell `x`; return the cell at which the lines after it start."""
        width = column.width - (column.mark_width + 1 if column.mark_width else 0)
        for row, (cell, mark, dim) in enumerate(zip(column.cells, column.marks, column.dims, strict=True)):
            if row == self.rows:
                break
            marked = f"{mark.ljust(column.mark_width)} " if column.mark_width else ""
            self.canvas.put(x, 1 + row, f"{marked}{dim.rjust(width)}", self._dim_style(cell, (number, row)))
        if column.scalar:
            self.canvas.put(x, 1, SCALAR)
        return x + column.width + 1

    def draw_stage(self, layout: Layout, gap: Gap, after: Column, number: int, x: int) -> int:
        """Draw the dims of a layout and the lines into them; return the cell at which the lines after them start."""
        right = x + gap.width(after)
        self.canvas.put(x, 0, gap.title, "bold" if layout.problem is None else "bold red")
        draw(
            self.canvas,
            gap.wired,
            x,
            right,
            1,
            [self._line_style(layout, link.outs, link.sources, number) for link in gap.wired.links],
        )
        for row, cell in enumerate(layout.cells):
            self._draw_arrival(layout, row, cell, right)
        return self.draw_column(after, number, right + 1)

    def _draw_arrival(self, layout: Layout, row: int, cell: Cell, right: int) -> None:
        """Write what was asked for on the line into a dim.

        An arrow shows the dim that the step at hand settles, and a cross the dim that was refused.
        """
        token = _token(cell, self.strokes)
        if token:
            self.canvas.put(right - len(token) - 4, 1 + row, f" {token} ", "bold")
        if cell.step == self.at and cell.dim is not None:
            self.canvas.put(right - 1, 1 + row, self.strokes.arrow, "bold")
        if layout.fault == row:
            self.canvas.put(right - 1, 1 + row, self.strokes.fail, "bold red")

    def _line_style(self, layout: Layout, outs: tuple[int, ...], sources: tuple[int, ...], number: int) -> Style | None:
        if any((number, out) in self.holes for out in outs):
            return None
        mark = layout.before[sources[0]].mark if len(sources) == 1 else ()
        late = any(layout.cells[out].step > self.at for out in outs) or layout.numbers.start > self.at
        faint = late or (self.lit and not any((number, out) in self.lit for out in outs))
        return Style(color=colour(mark) or None, dim=bool(faint))

    def _dim_style(self, cell: Cell, place: tuple[int, int]) -> Style:
        if place in self.holes:
            return Style(bold=True, reverse=place == self.chosen, meta={"dim": place})
        faint = cell.step > self.at or (self.lit and place not in self.lit)
        return Style(
            color=colour(cell.mark) or None,
            dim=bool(faint),
            bold=cell.step == self.at,
            reverse=place in self.lit,
            meta={"dim": place},
        )
