"""The flow picture: one column per stage and one wire per axis.

Row i is axis i on both sides of a stage, so an axis that keeps its position is a straight line. The module also draws
the rail, which lists the stages, and the strip, which lists their shapes.
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
"""An empty map of hidden dims: by column and index, to their placeholders."""
SCALAR = "[]"
LONGEST_DIM = 14
MOST_APART = 5
"""The maximum number of axes that are drawn two lines apart by default.

Axes are spread only if their parts have named wires.
"""
MOST_NOTES = 4
"""The most notes on mixed axes of a stage. More are replaced by a single note."""
ROOMS = ((3, 11), (3, 3), (2, 7), (2, 3), (1, 3), (1, 1))
"""The pitch of axes and the minimum length of a wire, in decreasing order.

Both are in character cells.
"""


def rows_of(holes: Holes, column: int) -> Mapping[int, str]:
    """Return the placeholders of the hidden dims of a column, by index."""
    return {row: text for (hole_column, row), text in holes.items() if hole_column == column}


class Column(Record):
    """A column of dims and their texts."""

    cells: tuple[Cell, ...]
    marks: tuple[str, ...]
    dims: tuple[str, ...]
    scalar: bool
    least: int = 0

    @property
    def mark_width(self) -> int:
        """The width of its widest mark."""
        return max(map(len, self.marks), default=0)

    @property
    def width(self) -> int:
        """The width of a row: a mark, a blank and a dim."""
        dims = max(map(len, self.dims), default=len(SCALAR) * self.scalar)
        return max(self.mark_width + bool(self.mark_width) + dims, self.least)


class Gap(Record):
    """The space between two columns, with the wires that cross it."""

    wired: Wiring
    title: str
    tokens: tuple[str, ...]
    """The token on the wire into each dim."""
    room: int

    def width(self, after: int) -> int:
        """Return the width that wires, tokens and title need before a column."""
        tokens = max(map(len, self.tokens), default=0)
        lines = self.wired.width + self.room + (tokens + 2 if tokens else 0)
        return max(lines, len(self.title) + 1 - after, self.room + 2)


class Spread(Record):
    """All columns and gaps of a flow, and the range of columns that is shown."""

    columns: tuple[Column, ...]
    gaps: tuple[Gap, ...]
    window: tuple[int, int]
    """The first and the last column that are shown."""
    pitch: int
    """The distance in lines between two axes."""

    @property
    def lines(self) -> int:
        """The height of the shown columns, without the heading."""
        first, last = self.window
        dims = max([1, *(len(column.cells) for column in self.columns[first : last + 1])])
        return max([1 + self.pitch * (dims - 1), *(gap.wired.height for gap in self.gaps[first:last])])


def put_arrival(canvas: Canvas, cell: Cell, token: str, at: int, place: tuple[int, int]) -> None:
    """Write the token before a dim, and a pointer if this step settles the dim."""
    right, y = place
    if token:
        canvas.put(right - len(token) - 4, y, f" {token} ", "bold")
    if cell.step == at and cell.dim is not None:
        canvas.put(right - 1, y, canvas.strokes.arrow, "bold")


def column_of(cells: tuple[Cell, ...], strokes: Strokes, layout: Layout | None = None) -> Column:
    """Return the column of the dims after a stage, or of the input.

    The sizes in a vector are numbered instead of marked.
    """
    finished = layout is None or (layout.problem is None and layout.stage.finished)
    sizes = [strokes.unknown if cell.dim is None else clip(str(cell.dim), LONGEST_DIM, strokes) for cell in cells]
    dims = tuple([cell.hole or dim for cell, dim in zip(cells, sizes, strict=True)])
    if layout is not None and layout.stage.kind is Kind.SHAPE:
        return Column(cells, tuple(f"[{index}]" for index in range(len(cells))), dims, scalar=finished and not cells)
    marks = tuple("" if cell.hole else label(cell, strokes) for cell in cells)
    return Column(cells, marks, dims, scalar=finished and not cells)


def _gap(
    layout: Layout, before: Column, after: Column, size: tuple[int, int], spaced: tuple[int, int], strokes: Strokes
) -> Gap:
    """Return the gap between two columns for a pitch and a least width of wires."""
    tokens = _tokens(layout, strokes)
    for out in layout.parted:
        tokens[out] += f"{strokes.size}{mark_text(layout.before[out].mark, strokes)}"
    title, (pitch, room), (width, height) = clip(layout.title, 24, strokes), spaced, size
    least, free = before.width + after.width + ROOMS[-1][1], len(title) + 1 - after.width - ROOMS[-1][1]
    wires = wiring(layout, pitch, (width - least - 2, height), free, strokes)
    return Gap(wires, title, tuple(tokens), room)


def _tokens(layout: Layout, strokes: Strokes) -> list[str]:
    """Return the tokens on the wires into the dims.

    They are the requested values, unless these equal the dims throughout.
    """
    tokens, asked = [cell.token for cell in layout.cells], layout.stage.asked
    if layout.cuts and len(asked) == len(tokens) and layout.stage.after not in (None, asked):
        tokens = [token or str(dim) for token, dim in zip(tokens, asked, strict=True)]
    return [clip(token, LONGEST_DIM, strokes) for token in tokens]


def _window(widths: Sequence[int], gaps: tuple[Gap, ...], place: int, width: int) -> tuple[int, int]:
    """Return the first and last column that fit `width`, around the stage at `index`."""
    widths_with_gap = [gap.width(after) + after for gap, after in zip(gaps, widths[1:], strict=True)]
    first, last = max(0, place), max(0, place + 1)
    if not gaps:
        return 0, 0

    def fits(first: int, last: int) -> bool:
        return widths[first] + sum(widths_with_gap[first:last]) + 2 * (last - first) <= width

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
    r"""Return the flow of an answer at a step, or after all steps if it is None.

    `width` and `height` are in character cells. Axes that do not fit are left out, but never those around the
    current step. `selected_dim` is a dim by column and index; it is highlighted together with all dims that it
    comes from. The style of a dim has its column and index as the metadata `dim`. `holes` are the placeholders of
    hidden dims, by column and index; no wire leads into them. `hides_refusal` leaves out the refused dim and the
    problem.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(flow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), strokes=ASCII))
    input transpose 1,0,2   reshape 0,-1
    a   2 -\/---------- b 3 ----- 0 -- b  3
    b   3 -/\---------- a 2 -+-- -1 -- ac 8
    c   4 ------------- c 4 -'
    """
    all_layouts = tuple(
        [with_holes(layout, rows_of(holes, column)) for column, layout in enumerate(layouts(answer), 1)]
    )
    if hides_refusal:
        all_layouts = tuple(replace(layout, problem=None, fault=None) for layout in all_layouts)
    current, room = place_of(all_layouts, at), 16 if height is None else height - 1
    flow_layout = _placed(answer, all_layouts, current, (width, room), height, strokes)
    notes = _notes(all_layouts, flow_layout, strokes, explained=not holes)
    room -= 0 if height is None else len(packed(notes, width, strokes))
    if flow_layout.lines > room and any(gap.wired.parts for gap in flow_layout.gaps):
        flow_layout = _placed(answer, all_layouts, current, (width, room - 1), height, strokes)
        notes = _notes(all_layouts, flow_layout, strokes, explained=not holes)
    lines = flow_layout.lines
    rows = range(lines)
    if lines > room:
        rows = rows_around(_row_at(answer, at, chosen), lines, room - (height is not None))
        notes.insert(0, Text(f"{strokes.dots} axes {rows[0]} to {rows[-1]} of {lines}", "dim"))
    lit = _sources_of(all_layouts, None if chosen in holes else chosen)
    current_step = len(answer.steps) if at is None else at
    drawing = _Drawing(Canvas(strokes, 1 + rows.stop), flow_layout.pitch, current_step, lit, holes, chosen)
    drawing.draw(all_layouts, flow_layout)
    text = drawing.canvas.text(width, [0, *(1 + row for row in rows)])
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
    """Return the columns of an answer, as spacious as the size allows.

    If not all stages fit, those around the stage at `index` are shown.
    """
    input_column = replace(column_of(input_cells(answer), strokes), least=len("input") if made else 0)
    columns = (input_column, *(column_of(layout.cells, strokes, layout) for layout in made))
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
    """Return the selected axis, or the axis that the current step settles."""
    if chosen is not None:
        return chosen[1]
    step = answer.steps[at] if at is not None and at < len(answer.steps) else None
    if step is None:
        return 0
    return step.out if step.out is not None else min(step.sources, default=0)


def _notes(made: tuple[Layout, ...], placed: Spread, strokes: Strokes, *, explained: bool) -> list[Text]:
    """Return the notes below the wires: omitted stages, the refusal and explanations."""
    notes, (first, last) = list[str](), placed.window
    shown_layouts = made[first:last]
    for layout, gap in zip(shown_layouts, placed.gaps[first:last], strict=True):
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
    notes += [note for layout in shown_layouts if layout.fresh for note in _mixing_notes(layout, strokes)]
    notes = notes if explained else []
    if placed.window != (0, len(made)):
        notes.append(f"{strokes.dots} stages {first + 1} to {last} of {len(made)}")
    texts = [Text(note, "dim") for note in dict.fromkeys(notes)]
    if shown_layouts and (problem := shown_layouts[-1].problem):
        texts.append(Text(f"{strokes.fail} stopped at {shown_layouts[-1].name}: {problem.rule}", "bold red"))
    return texts


def _operand_notes(made: tuple[Layout, ...], first: int, last: int) -> list[str]:
    """Return a note with the shape of each operand, numbered across all stages."""
    numbered = [
        (index, operand)
        for index, layout in enumerate(made)
        if not {"kernel", "target"} & {*layout.request.arguments}
        for operand in operands_of(layout)
        if operand.number
    ]
    notes = [(index, f"operand {count}: {shape_text(each.shape)}") for count, (index, each) in enumerate(numbered, 1)]
    return [note for index, note in notes if first <= index < last]


def _mixing_notes(layout: Layout, strokes: Strokes) -> list[str]:
    """Return the notes on the dims that mix axes."""
    notes = list[str]()
    for group in told(linked(len(layout.before), layout.wires, layout.fresh), layout.wires, layout.fresh):
        outs = [mark_text(layout.cells[out].mark, strokes) for out in group.outs if out in layout.fresh]
        axes = [mark_text(layout.before[axis].mark, strokes) for axis in group.sources]
        if outs:
            notes.append(f"{and_text(outs)} {'mixes' if len(outs) == 1 else 'mix'} {and_text(axes)}")
    return notes if len(notes) <= MOST_NOTES else ["~ mixes axes of the input"]


def _sources_of(made: tuple[Layout, ...], chosen: tuple[int, int] | None) -> frozenset[tuple[int, int]]:
    """Return the selected dim and all dims that it comes from, by column and index."""
    if chosen is None:
        return frozenset()
    column, lit = chosen[0], {chosen[1]}
    result = {chosen}
    while column > 0:
        wires = made[column - 1].wires
        column, lit = column - 1, {axis for out in lit for axis in wires[out]}
        result |= {(column, axis) for axis in lit}
    return frozenset(result)


class _Drawing(Record):
    """A canvas with the state of a flow that is drawn from left to right."""

    canvas: Canvas
    pitch: int
    at: int
    lit: frozenset[tuple[int, int]]
    """The selected dim, and the dims that it comes from."""
    holes: Holes
    chosen: tuple[int, int] | None

    def draw(self, made: tuple[Layout, ...], placed: Spread) -> None:
        """Draw the shown columns and the wires between them."""
        first, last = placed.window
        x = self.draw_column(placed.columns[first], first, 0)
        strokes = self.canvas.strokes
        title = "input" if first == 0 else clip(f"{strokes.dots}{made[first - 1].title}", x - 1, strokes)
        self.canvas.put(0, 0, title, "bold")
        for place in range(first, last):
            x = self.draw_stage(made[place], placed.gaps[place], placed.columns[place + 1], place + 1, x)

    def draw_column(self, column: Column, number: int, x: int) -> int:
        """Draw the dims of a column, and return where the wires after it start."""
        widest = column.mark_width
        width = column.width - (widest + 1 if widest else 0)
        for row, (cell, mark, dim) in enumerate(zip(column.cells, column.marks, column.dims, strict=True)):
            marked = f"{mark.ljust(widest)} " if widest else ""
            self.canvas.put(x, self._line(row), f"{marked}{dim.rjust(width)}", self._dim_style(cell, (number, row)))
        if column.scalar:
            self.canvas.put(x, 1, SCALAR)
        return x + column.width + 1

    def draw_stage(self, layout: Layout, gap: Gap, after: Column, number: int, x: int) -> int:
        """Draw a stage and its output column, and return where the next wires start."""
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
        """Return the style of the wires from some axes into some dims."""
        hue = "".join([colour(layout.before[axis].mark) for axis in sources if len(sources) == 1])
        is_later = (outs and all(layout.cells[out].step > self.at for out in outs)) or layout.numbers.start > self.at
        is_dimmed = is_later or (self.lit and not any((number, out) in self.lit for out in outs))
        return ink(hue, dim=bool(is_dimmed))

    def _dim_style(self, cell: Cell, place: tuple[int, int]) -> Style:
        if place in self.holes:
            return ink("", bold=True, reverse=place == self.chosen, mark=("dim", place))
        is_dimmed = cell.step > self.at or (self.lit and place not in self.lit)
        is_current, is_lit = cell.step == self.at, place in self.lit
        return ink(colour(cell.mark), dim=bool(is_dimmed), bold=is_current, reverse=is_lit, mark=("dim", place))


def rail(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the names of the stages in a row, with the current step.

    The style of a stage has the index of its first step as the metadata `step`, that of the current step its own
    index.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(rail(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    input > transpose > reshape [6 of 7: solve -1] > output
    """
    all_layouts = layouts(answer)
    current = place_of(all_layouts, at)
    line = Text(no_wrap=True, end="").append("input", _step_style(0))
    for place, layout in enumerate(all_layouts):
        line.append(f" {strokes.arrow} ", "dim")
        first = min(layout.numbers.start, len(answer.steps))
        line.append(layout.name, _step_style(first, at is not None and place == current))
        if at is not None and place == current:
            line.append_text(_current_step(answer, at, strokes))
    if answer.output is not None:
        line.append(f" {strokes.arrow} ", "dim")
        line.append("output", _step_style(max(0, len(answer.steps) - 1)))
    return clip_line(line, width, strokes)


def _current_step(answer: Trace | Chain, at: int, strokes: Strokes) -> Text:
    """Return the number and the name of a step.

    Past the last step it is the rule of the refusal, or `done`.
    """
    if at < len(answer.steps):
        return Text(f" [{at + 1} of {len(answer.steps)}: {answer.steps[at].name}]", _step_style(at, True))
    return Text(f" [{strokes.fail} {answer.problem.rule}]", "bold red") if answer.problem else Text(" [done]")


@lru_cache(maxsize=256)
def _step_style(step: int, bold: bool | None = None) -> Style:
    """Return a style with a step as metadata, so that a click opens the step."""
    return Style(bold=bold, meta={"step": step})


def strip(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the shape after each stage.

    A dim that is not settled before the step is a hole. A vector is in brackets.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(strip(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    2,3,4 -> 3,2,4 -> 3,_
    """
    current_step = len(answer.steps) if at is None else at
    shapes = [",".join(map(str, answer.input)) or "[]"]
    shapes += [_known_shape(layout, current_step, strokes) for layout in layouts(answer)]
    line = Text(f" {strokes.to} ".join(clip(text, 30, strokes) for text in shapes), no_wrap=True, end="")
    return clip_line(line, width, strokes)


def _known_shape(layout: Layout, now: int, strokes: Strokes) -> str:
    """Return the dims of a stage that are settled before a step.

    A stage that has not started is unknown.
    """
    if layout.numbers.start > now or (not layout.cells and layout.problem):
        return strokes.unknown
    dims = ",".join(str(cell.dim) if cell.step < now else strokes.hole for cell in layout.cells)
    return f"[{dims}]" if layout.stage.kind is Kind.SHAPE or not dims else dims
