"""The flow: a column for each stage and a line for each axis. It shows the whole mapping at once."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.record import replace
from shapecalc.core.text import and_text, number_text
from shapecalc.view.canvas import Canvas, packed, pitch_for, rows_around
from shapecalc.view.columns import LONGEST_DIM, SCALAR, Column, Gap, Spread, column_of, spread
from shapecalc.view.ink import ink
from shapecalc.view.layout import Cell, Layout, input_cells, layouts, place_of
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.strokes import LEFT, RIGHT, UNICODE, Strokes, clip
from shapecalc.view.wires import draw, write_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Holes = Mapping[tuple[int, int], str]
    """The dims that are hidden, by column and index, with what stands there."""

MOST_ROWS = 16
"""The most axes that are drawn if no height is given."""
TALLEST = 16
"""The most lines that it grows to. The picture under it needs the rest more."""
MOST_NAMED = 4
"""The most axes, and the most dims, that a note names."""
NOTES = 3
"""The lines that are kept for notes."""


def flow(
    answer: Trace | Chain,
    at: int | None = None,
    *,
    width: int = 78,
    height: int | None = None,
    strokes: Strokes = UNICODE,
    chosen: tuple[int, int] | None = None,
    holes: Holes | None = None,
    hides_refusal: bool = False,
) -> Text:
    r"""Return the flow of an answer at step `at`; after all steps if none is given.

    `width` and `height` are in character cells. Axes that have no room are left out, not those around the step at
    hand. `chosen` is a dim by column and index. It is lit up with all dims that it comes from. The cells of a dim
    carry their place as the meta data `dim` of their style. `holes` are the dims that are hidden, by column and index,
    with what stands there; no line leads into them. If it `hides_refusal`, it does not tell where that is.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(flow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), strokes=ASCII))
    input transpose 1,0,2   reshape 0,-1
    a   2 -\/---------- b 3 ----- 0 -- b  3
    b   3 -/\---------- a 2 -+-- -1 -- ac 8
    c   4 ------------- c 4 -'
    """
    made, holes = _without_refusal(layouts(answer)) if hides_refusal else layouts(answer), holes or {}
    placed = _with_holes(_placed(answer, made, place_of(made, at), (width, height), strokes), holes)
    notes, lines = _notes(made[slice(*placed.window)], placed, len(made), strokes, not holes), placed.lines
    room = MOST_ROWS if height is None else height - 1 - len(packed(notes, width, strokes))
    shown = range(lines)
    if lines > room:
        shown = rows_around(_row_at(answer, at, chosen), lines, room - (height is not None))
        notes.insert(0, Text(f"{strokes.dots} axes {shown[0]} to {shown[-1]} of {lines}", "dim"))
    lit = _sources_of(made, None if chosen in holes else chosen)
    picture = _Flow(answer, at, strokes, lit, shown.stop, placed.pitch)
    picture.holes, picture.chosen = holes, chosen
    picture.draw(made, placed)
    return _noted(picture.canvas.text(width, [0, *(1 + row for row in shown)]), packed(notes, width, strokes))


def _noted(text: Text, notes: list[Text]) -> Text:
    """Return a text with notes added under it."""
    for note in notes:
        text.append("\n").append_text(note)
    return text


def _without_refusal(made: tuple[Layout, ...]) -> tuple[Layout, ...]:
    """Return layouts that do not tell where the request was refused."""
    return tuple(replace(layout, problem=None, fault=None) for layout in made)


def _placed(
    answer: Trace | Chain, made: tuple[Layout, ...], place: int, size: tuple[int, int | None], strokes: Strokes
) -> Spread:
    """Return the columns of an answer, those around the stage at `place`, as spacious as a size allows."""
    width, height = size
    head = replace(column_of(input_cells(answer), strokes), least=len("input") if made else 0)
    columns = (head, *(column_of(layout.cells, strokes, layout) for layout in made))
    axes = max([1, *(len(column.cells) for column in columns)])
    pitch = 1 if height is None else pitch_for(axes, height, 1 + NOTES, TALLEST)
    return spread(made, columns, place, width, pitch, strokes)


def _row_at(answer: Trace | Chain, at: int | None, chosen: tuple[int, int] | None) -> int:
    """Return the axis that is looked at: the chosen one, or the one that the step at hand settles."""
    if chosen is not None:
        return chosen[1]
    step = answer.steps[at] if at is not None and at < len(answer.steps) else None
    if step is None:
        return 0
    return step.out if step.out is not None else min(step.sources, default=0)


def _with_holes(placed: Spread, holes: Holes) -> Spread:
    """Return the columns with what stands in their holes, and without the marks of these."""
    if not holes:
        return placed
    columns = []
    for place, column in enumerate(placed.columns):
        here = [holes.get((place, row)) for row in range(len(column.cells))]
        marks = tuple([mark if hole is None else "" for mark, hole in zip(column.marks, here, strict=True)])
        dims = tuple([dim if hole is None else hole for dim, hole in zip(column.dims, here, strict=True)])
        columns.append(replace(column, marks=marks, dims=dims))
    return replace(placed, columns=tuple(columns))


def _notes(shown: tuple[Layout, ...], placed: Spread, stages: int, strokes: Strokes, explained: bool) -> list[Text]:
    """Return the notes under the lines: what is left out, where it was refused; if `explained`, what strokes mean."""
    notes, (first, last) = list[str](), placed.window
    for layout, gap in zip(shown, placed.gaps[first:last], strict=True):
        if layout.stage.kind is Kind.SHAPE and layout.stage.finished:
            sizes = number_text(len(layout.cells), "size", "sizes")
            notes.append(f"{strokes.size} copies a size: the answer is a vector of {sizes}")
        for out in sorted(layout.parted)[:1]:
            line = strokes.lines[LEFT | RIGHT]
            mark = mark_text(layout.before[out].mark, strokes)
            notes.append(f"{gap.tokens[out]} takes only the size of {mark}; elements move along {line}")
        if gap.wired.knot:
            notes.append("no room for lines: follow the letters")
    notes += [_mixing_note(layout, strokes) for layout in shown if layout.mixed]
    notes = notes if explained else []
    if placed.window != (0, stages):
        notes.append(f"{strokes.dots} stages {first + 1} to {last} of {stages}")
    texts = [Text(note, "dim") for note in dict.fromkeys(notes)]
    if shown and (problem := shown[-1].problem):
        texts.append(Text(f"{strokes.fail} stopped at {shown[-1].name}: {problem.rule}", "bold red"))
    return texts


def _mixing_note(layout: Layout, strokes: Strokes) -> str:
    """Return the note that says which axes of the input are mixed, and into which dims."""
    links = [layout.links[place] for place in layout.mixed]
    axes = [layout.before[axis].mark for axis in links[0].sources]
    outs = [layout.cells[out].mark for out in links[0].outs]
    if len(links) > 1 or max(len(axes), len(outs)) > MOST_NAMED or any(colour(mark) == "" for mark in axes):
        return "~ mixes axes of the input"
    before, after = ([mark_text(mark, strokes) for mark in side] for side in (axes, outs))
    return f"{and_text(after)} mix {and_text(before)}"


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
        self,
        answer: Trace | Chain,
        at: int | None,
        strokes: Strokes,
        lit: frozenset[tuple[int, int]],
        lines: int,
        pitch: int,
    ) -> None:
        self.canvas = Canvas(strokes, 1 + lines)
        self.at = len(answer.steps) if at is None else at
        self.strokes, self.lit, self.pitch = strokes, lit, pitch
        self.holes: Holes = {}
        self.chosen: tuple[int, int] | None = None

    def draw(self, made: tuple[Layout, ...], placed: Spread) -> None:
        """Draw the columns that are shown, and the lines between them."""
        first, last = placed.window
        x = self.draw_column(placed.columns[first], first, 0)
        dots = self.strokes.dots
        title = "input" if first == 0 else clip(f"{dots}{made[first - 1].title}", x - 1, self.strokes)
        self.canvas.put(0, 0, title, "bold")
        for place in range(first, last):
            x = self.draw_stage(made[place], placed.gaps[place], placed.columns[place + 1], place + 1, x)

    def draw_column(self, column: Column, number: int, x: int) -> int:
        """Write the dims of a column at cell `x`; return the cell at which the lines after it start."""
        widest = column.mark_width
        width = column.width - (widest + 1 if widest else 0)
        for row, (cell, mark, dim) in enumerate(zip(column.cells, column.marks, column.dims, strict=True)):
            marked = f"{mark.ljust(widest)} " if widest else ""
            self.canvas.put(x, self._line(row), f"{marked}{dim.rjust(width)}", self._dim_style(cell, (number, row)))
        if column.scalar:
            self.canvas.put(x, 1, SCALAR)
        return x + column.width + 1

    def draw_stage(self, layout: Layout, gap: Gap, after: Column, number: int, x: int) -> int:
        """Draw the dims of a layout and the lines into them; return the cell at which the lines after them start."""
        right = x + gap.width(after.width)
        self.canvas.put(x, 0, gap.title, "bold" if layout.problem is None else "bold red")
        styles = [self._line_style(layout, link.outs, link.sources, number) for link in gap.wired.links]
        draw(self.canvas, gap.wired, (x, right), styles, self.pitch)
        if layout.stage.kind is Kind.SHAPE:
            self.canvas.dash(x, right)
        for row, cell in enumerate(layout.cells):
            token = clip(cell.token, LONGEST_DIM, self.strokes) if (number, row) in self.holes else gap.tokens[row]
            self._draw_arrival(layout, row, cell, token, right)
        return self.draw_column(after, number, right + 1)

    def _line(self, row: int) -> int:
        return 1 + self.pitch * row

    def _draw_arrival(self, layout: Layout, row: int, cell: Cell, token: str, right: int) -> None:
        """Write what was asked for on the line into a dim.

        An arrow shows the dim that the step at hand settles, and a cross the dim that was refused.
        """
        if token:
            write_token(self.canvas, right, self._line(row), token)
        if cell.step == self.at and cell.dim is not None:
            self.canvas.put(right - 1, self._line(row), self.strokes.arrow, "bold")
        if layout.fault == row:
            self.canvas.put(right - 1, self._line(row), self.strokes.fail, "bold red")

    def _line_style(self, layout: Layout, outs: tuple[int, ...], sources: tuple[int, ...], number: int) -> Style | None:
        if any((number, out) in self.holes for out in outs):
            return None
        mark = layout.before[sources[0]].mark if len(sources) == 1 else ()
        late = any(layout.cells[out].step > self.at for out in outs) or layout.numbers.start > self.at
        faint = late or (self.lit and not any((number, out) in self.lit for out in outs))
        return ink(colour(mark), dim=bool(faint))

    def _dim_style(self, cell: Cell, place: tuple[int, int]) -> Style:
        if place in self.holes:
            return ink("", bold=True, reverse=place == self.chosen, mark=("dim", place))
        faint = cell.step > self.at or (self.lit and place not in self.lit)
        settled, lit = cell.step == self.at, place in self.lit
        return ink(colour(cell.mark), dim=bool(faint), bold=settled, reverse=lit, mark=("dim", place))
