"""The flow: a column for each stage and a line for each axis. It shows the whole mapping at once.

Row i is axis i on both sides of a stage, so an axis that keeps its place is a straight line. Permuted axes cross in
pairs, one crossing after another, so that the eye can follow each. Other axes keep their order and meet at brackets.
Beside it are the rail, which has the stages in a row, and the strip, which has their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.layout import Group
from shapecalc.core.record import Record, replace
from shapecalc.core.text import and_text, number_text
from shapecalc.view.canvas import RIGHT, UNICODE, Canvas, Strokes, clip, clip_line, ink, packed, pitch_for, rows_around
from shapecalc.view.layout import NO_MARK, Cell, Layout, colour, input_cells, layouts, mark_text, place_of, with_holes

Styles = Sequence[Style | str]
Holes = Mapping[tuple[int, int], str]
"""The dims that are hidden, by column and index, with what stands there."""
SCALAR = "[]"
LONGEST_DIM = 14
ROOMS = ((3, 11), (3, 3), (2, 7), (2, 3), (1, 3), (1, 1))
"""How many lines apart the axes stand, and how many cells a line has after its bracket, the most spacious first."""


def rows_of(holes: Holes, column: int) -> Mapping[int, str]:
    """Return the holes of one column, by index."""
    return {row: text for (place, row), text in holes.items() if place == column}


class Wiring(Record):
    """The paths of the lines between two columns."""

    links: tuple[Group, ...]
    layers: tuple[tuple[int, ...], ...] = ()
    """For axes that cross: the upper row of each pair, for the pairs that cross at the same time."""
    tracks: tuple[int, ...] = ()
    """For axes that keep their order: the place of each link's bracket."""
    knot: bool = False
    """Whether so many axes cross that their lines have no room."""

    def width(self, pitch: int = 1) -> int:
        """Return how many cells the lines need if the axes stand `pitch` lines apart."""
        if self.knot:
            return 4
        if self.layers:
            return (pitch + 2) * len(self.layers) + 1
        return 2 * max(self.tracks, default=0) + 3 + self.walls

    @property
    def walls(self) -> int:
        """How many cells the ends of dropped axes need before the brackets."""
        return 2 * any(not link.outs for link in self.links)


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


def wiring(links: tuple[Group, ...], room: int = 78, free: int = 0) -> Wiring:
    """Return the paths of the lines for these links, of which those that cross have `room` cells.

    Two crossings one right above the other look like a diamond. If `free` cells are enough, none stand so.

    >>> wiring((Group((1,), (0,)), Group((2,), (1,)), Group((0,), (2,)))).layers
    ((0,), (1,))
    """
    pairs = sorted((link.sources[0], link.outs[0]) for link in links if link.sources and link.outs)
    outs = [out for _, out in pairs]
    if outs == sorted(outs):
        return Wiring(links, tracks=_tracks(links))
    layers = _layers(tuple(outs), (free - 1) // 3, 3) or _layers(tuple(outs), (room - 1) // 3, 2)
    return Wiring(links, knot=True) if layers is None else Wiring(links, layers=layers)


@lru_cache(maxsize=32)
def _layers(start: tuple[int, ...], most: int, distance: int) -> tuple[tuple[int, ...], ...] | None:
    """Return the neighbours that change places, layer by layer, until all are in order; None after `most` layers.

    The pairs of a layer are at least so many rows `distance`.
    """
    order, layers = list(start), list[tuple[int, ...]]()
    while order != sorted(order):
        if len(layers) >= most:
            return None
        layer, row = list[int](), 0
        while row < len(order) - 1:
            if order[row] > order[row + 1]:
                order[row], order[row + 1] = order[row + 1], order[row]
                layer.append(row)
                row += distance - 1
            row += 1
        layers.append(tuple(layer))
    return tuple(layers)


def _tracks(links: Sequence[Group]) -> tuple[int, ...]:
    """Return the place of each link's bracket, so that no line runs through a bracket of another.

    If a link's dims move up past the source rows of the link above it, its bracket is further to the right than
    that link's. If they move down, it is further to the left.
    """
    tracks, above = list[int](), None
    for link in links:
        track = tracks[-1] if tracks else 0
        if link.sources and link.outs:
            if above and link.outs[0] <= above.sources[-1]:
                track += 1
            elif above and link.sources[0] <= above.outs[-1]:
                track -= 1
            above = link
        tracks.append(track)
    least = min(tracks, default=0)
    return tuple(track - least for track in tracks)


def draw_wires(
    canvas: Canvas, wired: Wiring, ends: tuple[int, int], styles: Sequence[Style | str | None], pitch: int = 1
) -> None:
    """Draw the lines between two cells, each link in its style if any, with row 0 under the heading of the canvas.

    Rows stand `pitch` lines apart. A knot is not drawn: the marks at both sides tell what became of each axis.
    """
    left, right = ends
    if wired.layers:
        _braid(canvas, wired, left, right, styles, pitch)
    elif not wired.knot:
        walls = wired.walls
        for link, track, style in zip(wired.links, wired.tracks, styles, strict=True):
            _bracket(canvas, link, (left, left + 1 + walls + 2 * track, right), pitch, style)


def put_arrival(canvas: Canvas, cell: Cell, token: str, at: int, place: tuple[int, int]) -> None:
    """Write what was asked for on the line into a dim, and an arrow if step `at` settles it."""
    right, y = place
    if token:
        canvas.put(right - len(token) - 4, y, f" {token} ", "bold")
    if cell.step == at and cell.dim is not None:
        canvas.put(right - 1, y, canvas.strokes.arrow, "bold")


def _braid(
    canvas: Canvas, wired: Wiring, left: int, right: int, styles: Sequence[Style | str | None], pitch: int
) -> None:
    lanes = [style for _, style in sorted(zip(wired.links, styles, strict=True), key=lambda lane: lane[0].sources)]
    hidden = frozenset(axis for axis, style in enumerate(lanes) if style is None)
    shown, strokes = [*(style or "" for style in lanes), ""], canvas.strokes
    glyphs = strokes.level, strokes.rising, strokes.falling, strokes.crossing
    axes, lines = _braided(wired.layers, len(lanes), pitch, glyphs, hidden)
    for y, (text, styles_of) in enumerate(lines, 1):
        canvas.put_cells(left, y, text, styles_of(shown))
    for row, axis in enumerate(axes):
        canvas.draw_across(1 + pitch * row, left + (pitch + 2) * len(wired.layers), right, lanes[axis])


@lru_cache(maxsize=32)
def _braided(
    layers: tuple[tuple[int, ...], ...],
    count: int,
    pitch: int,
    glyphs: tuple[str, str, str, str],
    hidden: frozenset[int],
) -> tuple[list[int], list[tuple[str, Callable[[Styles], Styles]]]]:
    """Return the axis on each row after all crossings; and of each line, the characters, and what picks their styles.

    It picks them from the styles of the axes and, at the end, that of a blank. No size changes any of it, so it is the
    same while sizes are typed.
    """
    level, rising, falling, crossing = glyphs
    axes, lines = [*range(count)], [dict[int, tuple[str, int]]() for _ in range(1 + pitch * (count - 1))]
    for place, layer in enumerate(layers):
        x = place * (pitch + 2)
        for row, axis in enumerate(axes):
            if axis not in hidden:
                end = x + 1 if row in layer or row - 1 in layer else x + pitch + 2
                lines[pitch * row] |= dict.fromkeys(range(x, end), (level, axis))
        for row in layer:
            upper, lower = axes[row : row + 2]
            for down in range(pitch + 1):
                line = lines[pitch * row + down]
                if lower not in hidden:
                    line[x + 1 + pitch - down] = rising, lower
                if upper not in hidden:
                    line[x + 1 + down] = crossing if 2 * down == pitch else falling, upper
            axes[row : row + 2] = lower, upper
    cells = [[line.get(x, (" ", -1)) for x in range((pitch + 2) * len(layers))] for line in lines]
    return axes, [("".join(char for char, _ in row), itemgetter(*(axis for _, axis in row))) for row in cells]


def _bracket(canvas: Canvas, link: Group, xs: tuple[int, int, int], pitch: int, style: Style | str | None) -> None:
    """Draw one link: a straight line, or a bracket between its sources and its dims. A dropped axis ends in a wall."""
    left, bar, right = xs
    if len(link.sources) == 1 and link.sources == link.outs:
        canvas.draw_across(1 + pitch * link.outs[0], left, right, style)
        return
    if not link.outs:
        for row in link.sources:
            canvas.draw_across(1 + pitch * row, left, left + 1, style)
            canvas.put(left + 1, 1 + pitch * row, canvas.strokes.wall, style)
        return
    if not link.sources:
        return
    rows = [*link.sources, *link.outs]
    canvas.draw_down(bar, 1 + pitch * min(rows), 1 + pitch * max(rows), style)
    for row in link.sources:
        canvas.draw_into(1 + pitch * row, left, bar, style)
    for row in link.outs:
        canvas.join(bar, 1 + pitch * row, RIGHT, style)
        canvas.draw_across(1 + pitch * row, bar + 1, right, style)
    for row in {*link.sources} & {*link.outs} - {min(rows), max(rows)}:
        canvas.put(bar, 1 + pitch * row, canvas.strokes.joint, style)


def column_of(cells: tuple[Cell, ...], strokes: Strokes, layout: Layout | None = None) -> Column:
    """Return the column of the dims after a stage, or of the input. The sizes in a vector are numbered."""
    finished = layout is None or (layout.problem is None and layout.stage.finished)
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
    stages = zip(made, columns, columns[1:], strict=False)
    close = [_gap(layout, before, after, width, strokes) for layout, before, after in stages]
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
    tokens = _tokens(layout, strokes)
    for out in layout.parted:
        tokens[out] += f"{strokes.size}{mark_text(layout.before[out].mark, strokes)}"
    title = clip(layout.title, 24, strokes)
    wired = wiring(layout.links, width - before.width - after.width - room - 2, len(title) + 1 - after.width - room)
    return Gap(wired, title, tuple(tokens), room, lines)


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
    holes: Holes | None = None,
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
    holes = holes or {}
    made = tuple([with_holes(layout, rows_of(holes, column)) for column, layout in enumerate(layouts(answer), 1)])
    if hides_refusal:
        made = tuple(replace(layout, problem=None, fault=None) for layout in made)
    placed = _with_holes(_placed(answer, made, place_of(made, at), (width, height), strokes), holes)
    notes, lines = _notes(made, placed, strokes, explained=not holes), placed.lines
    room = 16 if height is None else height - 1 - len(packed(notes, width, strokes))
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
    answer: Trace | Chain, made: tuple[Layout, ...], place: int, size: tuple[int, int | None], strokes: Strokes
) -> Spread:
    """Return the columns of an answer, those around the stage at `place`, as spacious as a size allows."""
    width, height = size
    head = replace(column_of(input_cells(answer), strokes), least=len("input") if made else 0)
    columns = (head, *(column_of(layout.cells, strokes, layout) for layout in made))
    axes = max([1, *(len(column.cells) for column in columns)])
    pitch = 1 if height is None else pitch_for(axes, height, 4, 16)
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
            notes.append(f"{gap.tokens[out]} takes only the size of {mark}; elements move along {line}")
        if gap.wired.knot:
            notes.append("no room for lines: follow the letters")
    notes += [_mixing_note(layout, strokes) for layout in shown if layout.mixed]
    notes = notes if explained else []
    if placed.window != (0, len(made)):
        notes.append(f"{strokes.dots} stages {first + 1} to {last} of {len(made)}")
    texts = [Text(note, "dim") for note in dict.fromkeys(notes)]
    if shown and (problem := shown[-1].problem):
        texts.append(Text(f"{strokes.fail} stopped at {shown[-1].name}: {problem.rule}", "bold red"))
    return texts


def _mixing_note(layout: Layout, strokes: Strokes) -> str:
    """Return the note that says which axes of the input are mixed, and into which dims."""
    links = [layout.links[place] for place in layout.mixed]
    axes = [layout.before[axis].mark for axis in links[0].sources]
    outs = [layout.cells[out].mark for out in links[0].outs]
    if len(links) > 1 or max(len(axes), len(outs)) > 4 or any(colour(mark) == "" for mark in axes):
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
        styles = [self._line_style(layout, link.outs, link.sources, number) for link in gap.wired.links]
        draw_wires(self.canvas, gap.wired, (x, right), styles, self.pitch)
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

    def _line_style(self, layout: Layout, outs: tuple[int, ...], sources: tuple[int, ...], number: int) -> Style | None:
        if any(layout.cells[out].mark == NO_MARK for out in outs):
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
