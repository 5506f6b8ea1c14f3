"""The flow: a column for each stage and a line for each axis. It shows the whole mapping at once.

Row i is axis i on both sides of a stage, so an axis that keeps its place is a straight line. Beside it are the rail,
which has the stages in a row, and the strip, which has their shapes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.origins import linked, told
from shapecalc.core.record import Record, replace
from shapecalc.core.text import and_text, number_text, shape_text
from shapecalc.view.canvas import UNICODE, Canvas, Strokes, clip, clip_line, ink, packed, pitch_for, rows_around
from shapecalc.view.layout import (
    Cell,
    Layout,
    colour,
    input_cells,
    label,
    layouts,
    mark_text,
    operands_of,
    place_of,
    with_holes,
)
from shapecalc.view.wires import Wiring, draw_wires, is_knot, wiring

Holes = Mapping[tuple[int, int], str]
NO_HOLES: Holes = {}
"""The dims that are hidden, by column and index, with what stands there."""
SCALAR = "[]"
LONGEST_DIM = 14
MOST_APART = 5
"""The most axes that stand apart without being asked to, where the parts of axes have wires of their own."""
MOST_NOTES = 4
"""The most notes on what a stage mixes; of more, one says that it does."""
ROOMS = ((3, 11), (3, 3), (2, 7), (2, 3), (1, 3), (1, 1))
"""How many lines apart the axes stand, and how many cells a line has after its bracket, the most spacious first."""


def rows_of(holes: Holes, column: int) -> Mapping[int, str]:
    """Return the holes of one column, by index."""
    return {row: text for (place, row), text in holes.items() if place == column}


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

    def width(self, after: int) -> int:
        """Return how many cells the lines, the tokens and the title need before a column of `after` cells."""
        tokens = max(map(len, self.tokens), default=0)
        lines = self.wired.width + self.room + (tokens + 2 if tokens else 0)
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
        dims = max([1, *(len(column.cells) for column in self.columns[first : last + 1])])
        return max([1 + self.pitch * (dims - 1), *(gap.wired.height for gap in self.gaps[first:last])])


def put_arrival(canvas: Canvas, cell: Cell, token: str, at: int, place: tuple[int, int]) -> None:
    """Write what was asked for on the line into a dim, and an arrow if step `at` settles it."""
    right, y = place
    if token:
        canvas.put(right - len(token) - 4, y, f" {token} ", "bold")
    if cell.step == at and cell.dim is not None:
        canvas.put(right - 1, y, canvas.strokes.arrow, "bold")


def column_of(cells: tuple[Cell, ...], strokes: Strokes, layout: Layout | None = None) -> Column:
    """Return the column of the dims after a stage, or of the input. The sizes in a vector are numbered."""
    finished = layout is None or (layout.problem is None and layout.stage.finished)
    known = [strokes.unknown if cell.dim is None else clip(str(cell.dim), LONGEST_DIM, strokes) for cell in cells]
    dims = tuple([cell.hole or dim for cell, dim in zip(cells, known, strict=True)])
    if layout is not None and layout.stage.kind is Kind.SHAPE:
        return Column(cells, tuple(f"[{place}]" for place in range(len(cells))), dims, scalar=finished and not cells)
    marks = tuple("" if cell.hole else label(cell, strokes) for cell in cells)
    return Column(cells, marks, dims, scalar=finished and not cells)


def _gap(
    layout: Layout, before: Column, after: Column, size: tuple[int, int], spaced: tuple[int, int], strokes: Strokes
) -> Gap:
    """Return the gap between two columns, whose dims stand so many lines apart, with so many cells for each line."""
    tokens = _tokens(layout, strokes)
    for out in layout.parted:
        tokens[out] += f"{strokes.size}{mark_text(layout.before[out].mark, strokes)}"
    title, (pitch, room), (width, height) = clip(layout.title, 24, strokes), spaced, size
    least, free = before.width + after.width + ROOMS[-1][1], len(title) + 1 - after.width - ROOMS[-1][1]
    wired = wiring(layout, pitch, (width - least - 2, height), free, strokes)
    return Gap(wired, title, tuple(tokens), room)


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


def flow(
    answer: Trace | Chain,
    at: int | None = None,
    *,
    width: int = 78,
    height: int | None = None,
    strokes: Strokes = UNICODE,
    chosen: tuple[int, int] | None = None,
    holes: Holes = NO_HOLES,
    hides_refusal: bool = False,
) -> Text:
    r"""Return the flow of an answer at step `at`; after all steps if none is given.

    `width` and `height` are in character cells. Axes that have no room are left out, not those around the step at
    hand. `chosen` is a dim by column and index. It is lit up with all dims that it comes from. The cells of a dim
    carry their place as the meta data `dim` of their style. `holes` are the dims that are hidden, by column and index,
    with what stands there; no line leads into them. If it `hides_refusal`, it does not tell where that is.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(flow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), strokes=ASCII))
    input transpose 1,0,2   reshape 0,-1
    a   2 -\/---------- b 3 ----- 0 -- b  3
    b   3 -/\---------- a 2 -+-- -1 -- ac 8
    c   4 ------------- c 4 -'
    """
    made = tuple([with_holes(layout, rows_of(holes, column)) for column, layout in enumerate(layouts(answer), 1)])
    if hides_refusal:
        made = tuple(replace(layout, problem=None, fault=None) for layout in made)
    here, room = place_of(made, at), 16 if height is None else height - 1
    placed = _placed(answer, made, here, (width, room), height, strokes)
    notes = _notes(made, placed, strokes, explained=not holes)
    room -= 0 if height is None else len(packed(notes, width, strokes))
    if placed.lines > room and any(gap.wired.parts for gap in placed.gaps):
        placed = _placed(answer, made, here, (width, room - 1), height, strokes)
        notes = _notes(made, placed, strokes, explained=not holes)
    lines = placed.lines
    shown = range(lines)
    if lines > room:
        shown = rows_around(_row_at(answer, at, chosen), lines, room - (height is not None))
        notes.insert(0, Text(f"{strokes.dots} axes {shown[0]} to {shown[-1]} of {lines}", "dim"))
    lit = _sources_of(made, None if chosen in holes else chosen)
    now = len(answer.steps) if at is None else at
    drawing = _Drawing(Canvas(strokes, 1 + shown.stop), placed.pitch, now, lit, holes, chosen)
    drawing.draw(made, placed)
    text = drawing.canvas.text(width, [0, *(1 + row for row in shown)])
    for note in packed(notes, width, strokes):
        text.append("\n").append_text(note)
    return text


def _placed(
    answer: Trace | Chain,
    made: tuple[Layout, ...],
    place: int,
    size: tuple[int, int],
    height: int | None,
    strokes: Strokes,
) -> Spread:
    """Return the columns of an answer, as far apart as a size and a height allow.

    If not all stages fit, those around the one at `place` are shown.
    """
    head = replace(column_of(input_cells(answer), strokes), least=len("input") if made else 0)
    columns = (head, *(column_of(layout.cells, strokes, layout) for layout in made))
    axes = max([1, *(len(column.cells) for column in columns)])
    has_knots = any(is_knot(layout, link) for layout in made for link in layout.links)
    pitch = 1 + (has_knots and axes <= MOST_APART) if height is None else pitch_for(axes, height, 4, 16)
    for lines, room in ROOMS:
        if lines > pitch:
            continue
        stages = zip(made, columns, columns[1:], strict=False)
        gaps = tuple([_gap(*stage, size, (lines, room), strokes) for stage in stages])
        window = _window([column.width for column in columns], gaps, place, size[0])
        if window == (0, len(made)):
            break
    return Spread(columns, gaps, window, lines)


def _row_at(answer: Trace | Chain, at: int | None, chosen: tuple[int, int] | None) -> int:
    """Return the axis that is looked at: the chosen one, or the one that the step at hand settles."""
    if chosen is not None:
        return chosen[1]
    step = answer.steps[at] if at is not None and at < len(answer.steps) else None
    if step is None:
        return 0
    return step.out if step.out is not None else min(step.sources, default=0)


def _notes(made: tuple[Layout, ...], placed: Spread, strokes: Strokes, *, explained: bool) -> list[Text]:
    """Return the notes under the lines: what is left out, where it was refused; if `explained`, what strokes mean."""
    notes, (first, last) = list[str](), placed.window
    shown = made[first:last]
    for layout, gap in zip(shown, placed.gaps[first:last], strict=True):
        if layout.stage.kind is Kind.SHAPE and layout.stage.finished:
            sizes = number_text(len(layout.cells), "size", "sizes")
            notes.append(f"{strokes.size} copies a size: the answer is a vector of {sizes}")
        for out in sorted(layout.parted)[:1]:
            line = strokes.level
            mark = mark_text(layout.before[out].mark, strokes)
            notes.append(f"{gap.tokens[out]} copies only the size of {mark}; elements come by {line}")
        if gap.wired.knot:
            notes.append("no room for lines: follow the letters")
    notes += _operand_notes(made, first, last)
    notes += [note for layout in shown if layout.fresh for note in _mixing_notes(layout, strokes)]
    notes = notes if explained else []
    if placed.window != (0, len(made)):
        notes.append(f"{strokes.dots} stages {first + 1} to {last} of {len(made)}")
    texts = [Text(note, "dim") for note in dict.fromkeys(notes)]
    if shown and (problem := shown[-1].problem):
        texts.append(Text(f"{strokes.fail} stopped at {shown[-1].name}: {problem.rule}", "bold red"))
    return texts


def _operand_notes(made: tuple[Layout, ...], first: int, last: int) -> list[str]:
    """Return the notes that give the operands of some stages their numbers, which count on through all stages."""
    having = [(at, each) for at, each in enumerate(made) if not {"kernel", "target"} & {*each.request.arguments}]
    others = [(place, each) for place, layout in having for each in operands_of(layout) if each.number]
    numbered = [(place, f"operand {at}: {shape_text(each.shape)}") for at, (place, each) in enumerate(others, 1)]
    return [note for place, note in numbered if first <= place < last]


def _mixing_notes(layout: Layout, strokes: Strokes) -> list[str]:
    """Return the notes that say which dims mix which axes."""
    notes = list[str]()
    for group in told(linked(len(layout.before), layout.wires, layout.fresh), layout.wires, layout.fresh):
        outs = [mark_text(layout.cells[out].mark, strokes) for out in group.outs if out in layout.fresh]
        axes = [mark_text(layout.before[axis].mark, strokes) for axis in group.sources]
        if outs:
            notes.append(f"{and_text(outs)} {'mixes' if len(outs) == 1 else 'mix'} {and_text(axes)}")
    return notes if len(notes) <= MOST_NOTES else ["~ mixes axes of the input"]


def _sources_of(made: tuple[Layout, ...], chosen: tuple[int, int] | None) -> frozenset[tuple[int, int]]:
    """Return the chosen dim and all dims that it comes from, each by column and index."""
    if chosen is None:
        return frozenset()
    column, lit = chosen[0], {chosen[1]}
    reached = {chosen}
    while column > 0:
        wires = made[column - 1].wires
        column, lit = column - 1, {axis for out in lit for axis in wires[out]}
        reached |= {(column, axis) for axis in lit}
    return frozenset(reached)


class _Drawing(Record):
    """A flow while it is drawn, from left to right."""

    canvas: Canvas
    pitch: int
    at: int
    lit: frozenset[tuple[int, int]]
    """The chosen dim, and the dims that it comes from."""
    holes: Holes
    chosen: tuple[int, int] | None

    def draw(self, made: tuple[Layout, ...], placed: Spread) -> None:
        """Draw the columns that are shown, and the lines between them."""
        first, last = placed.window
        x = self.draw_column(placed.columns[first], first, 0)
        strokes = self.canvas.strokes
        title = "input" if first == 0 else clip(f"{strokes.dots}{made[first - 1].title}", x - 1, strokes)
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
        draw_wires(self.canvas, gap.wired, (x, right), lambda axes, outs: self._line_style(layout, outs, axes, number))
        if layout.stage.kind is Kind.SHAPE:
            self.canvas.dash(x, right)
        for row, cell in enumerate(layout.cells):
            token = gap.tokens[row]
            if (number, row) in self.holes:
                token = clip(cell.token, LONGEST_DIM, self.canvas.strokes)
            put_arrival(self.canvas, cell, token, self.at, (right, self._line(row)))
            if layout.fault == row:
                self.canvas.put(right - 1, self._line(row), self.canvas.strokes.fail, "bold red")
        return self.draw_column(after, number, right + 1)

    def _line(self, row: int) -> int:
        return 1 + self.pitch * row

    def _line_style(self, layout: Layout, outs: Collection[int], sources: Collection[int], number: int) -> Style:
        """Return the style of wires into some dims from some axes."""
        hue = "".join([colour(layout.before[axis].mark) for axis in sources if len(sources) == 1])
        late = (outs and all(layout.cells[out].step > self.at for out in outs)) or layout.numbers.start > self.at
        faint = late or (self.lit and not any((number, out) in self.lit for out in outs))
        return ink(hue, dim=bool(faint))

    def _dim_style(self, cell: Cell, place: tuple[int, int]) -> Style:
        if place in self.holes:
            return ink("", bold=True, reverse=place == self.chosen, mark=("dim", place))
        faint = cell.step > self.at or (self.lit and place not in self.lit)
        settled, lit = cell.step == self.at, place in self.lit
        return ink(colour(cell.mark), dim=bool(faint), bold=settled, reverse=lit, mark=("dim", place))


def rail(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the stages in a row, with the number and the name of the step at hand.

    Each stage carries the number of its first step as the meta data `step` of its style. The step at hand carries
    its own number.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(rail(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    input > transpose > reshape [6 of 7: solve -1] > output
    """
    made = layouts(answer)
    here = place_of(made, at)
    line = Text(no_wrap=True, end="").append("input", _step_style(0))
    for place, layout in enumerate(made):
        line.append(f" {strokes.arrow} ", "dim")
        first = min(layout.numbers.start, len(answer.steps))
        line.append(layout.name, _step_style(first, at is not None and place == here))
        if at is not None and place == here:
            line.append_text(_current_step(answer, at, strokes))
    if answer.output is not None:
        line.append(f" {strokes.arrow} ", "dim")
        line.append("output", _step_style(max(0, len(answer.steps) - 1)))
    return clip_line(line, width, strokes)


def _current_step(answer: Trace | Chain, at: int, strokes: Strokes) -> Text:
    """Return the number and the name of step `at`; past the last step, the rule that refused or `done`."""
    if at < len(answer.steps):
        return Text(f" [{at + 1} of {len(answer.steps)}: {answer.steps[at].name}]", _step_style(at, True))
    return Text(f" [{strokes.fail} {answer.problem.rule}]", "bold red") if answer.problem else Text(" [done]")


@lru_cache(maxsize=256)
def _step_style(step: int, bold: bool | None = None) -> Style:
    """Return the style of what leads to a step when it is clicked."""
    return Style(bold=bold, meta={"step": step})


def strip(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the shape after each stage. A dim that is not known at step `at` is a hole; a vector is in brackets.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(strip(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    2,3,4 -> 3,2,4 -> 3,_
    """
    now = len(answer.steps) if at is None else at
    shown = [",".join(map(str, answer.input)) or "[]"]
    shown += [_known_shape(layout, now, strokes) for layout in layouts(answer)]
    line = Text(f" {strokes.to} ".join(clip(text, 30, strokes) for text in shown), no_wrap=True, end="")
    return clip_line(line, width, strokes)


def _known_shape(layout: Layout, now: int, strokes: Strokes) -> str:
    """Return the dims of a stage that are settled before step `now`. A stage that has not begun is unknown."""
    if layout.numbers.start > now or (not layout.cells and layout.problem):
        return strokes.unknown
    dims = ",".join(str(cell.dim) if cell.step < now else strokes.hole for cell in layout.cells)
    return f"[{dims}]" if layout.stage.kind is Kind.SHAPE or not dims else dims
