"""The grid: the elements at every stage, as tables. One of them is followed from the input to the output.

The last axis of a tensor goes across, the others go down, each row and column with its index. A line parts one block of
rows from the next. Of a tensor that is too large, the part around one element is shown, and what is left out is counted
under it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from typing import Any

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import all_known
from shapecalc.core.examples import example_sizes, index_text
from shapecalc.core.layout import Moves
from shapecalc.core.moves import Combine, Dims, Index, Move, index_after, index_before, ravel, unravel
from shapecalc.core.problem import misuse
from shapecalc.core.record import Record, replace
from shapecalc.core.results import settled
from shapecalc.core.text import shape_text, visible
from shapecalc.view.canvas import UNICODE, Strokes, clip, clip_line, ink, packed, rows_around, stack
from shapecalc.view.hints import sizes_text
from shapecalc.view.layout import Mark, input_cells, layouts, mark_text
from shapecalc.view.pictures import sums

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.equiv import Counterexample  # the app opens without it

LEAST_BLOCK = 23
"""The fewest cells of a table."""
HEAD = 3
"""The lines over the elements, without the line under the indices."""
BETWEEN = 4
"""The blanks between two tables."""
LONGEST_VALUE = 8
MOST_COMPARED = 4096
"""The most elements that are compared in their order; past them, those one step along each axis are."""


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


class Point(Record):
    """The tensor at one point: the input, or after a stage."""

    name: str
    title: str
    """The stage with its arguments; empty for the input."""
    shape: tuple[int, ...]
    marks: tuple[Mark | None, ...]


class Journey(Record):
    """The tensor at each point in numbers, the moves between the points, and the sizes that stand for names."""

    points: tuple[Point, ...]
    moves: tuple[Move, ...]
    sizes: Mapping[str, int]

    def source(self, point: int, index: Index) -> Index:
        """Return the input index of the element at `index` of a point."""
        for place in range(point, 0, -1):
            index = index_before(index, self.points[place - 1].shape, self.moves[place - 1])
        return index

    def places(self, cursor: Index) -> list[Index | None]:
        """Return the index at each point of the input element at `cursor`; of repeats, the first.

        It is None from the point on at which the element is left out.
        """
        indices: list[Index | None] = [cursor]
        for place, move in enumerate(self.moves):
            index = indices[-1]
            indices.append(None if index is None else index_after(index, self.points[place].shape, move))
        return indices


def values_text(elements: Any, gaps: Sequence[int | None]) -> str:
    """Return nested lists as text, in columns. `gaps` says at which position of each axis others are left out.

    >>> print(values_text([[0, 1], [2, 13]], (None, 1)))
    [[ 0 ...  1]
     [ 2 ... 13]]
    """
    width = max((len(visible(str(leaf))) for leaf in _leaves(elements, len(gaps))), default=0)
    return _nested(elements, gaps, width, indent=1)


def _nested(elements: Any, gaps: Sequence[int | None], width: int, indent: int) -> str:
    if not gaps:
        return visible(str(elements)).rjust(width)
    parts = [_nested(element, gaps[1:], width, indent + 1) for element in elements]
    if gaps[0] is not None:
        parts.insert(gaps[0], "...")
    between = " " if len(gaps) == 1 else "\n" * (len(gaps) - 1) + " " * indent
    return f"[{between.join(parts)}]"


def _leaves(elements: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [elements]
    return [leaf for element in elements for leaf in _leaves(element, depth - 1)]


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
    blocks = [
        _table_lines(table, (room, height), strokes, ruled=ruled) for table, room in zip(tables, rooms, strict=False)
    ]
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


def _table_lines(table: Table, room: tuple[int, int], strokes: Strokes, *, ruled: bool) -> list[Text]:
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
    lines = _table_rows(table, down, across, label, strokes)
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
    sides = ("row", down, table.rows), ("column", across, table.columns)
    parts = [f"{_shown_text(word, shown)} of {count}" for word, shown, count in sides if len(shown) < count]
    joined = ", ".join(parts)
    return [joined] if parts and len(joined) + 4 <= width else parts


def _shown_text(word: str, shown: range) -> str:
    """Return which rows or columns are shown.

    >>> _shown_text("row", range(1, 2)), _shown_text("column", range(4))
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
        return clip(mark, label, strokes).rjust(min(table.gutter, label))
    room = label - table.gutter - 2
    if room < 1:
        return " " * label
    wall = strokes.upright
    texts = texts if len(texts) <= room else f"{strokes.dots[0]}{texts[len(texts) - room + 1 :]}"
    return f"{texts.rjust(room)} {wall}{mark.rjust(table.gutter)}"


def _table_rows(table: Table, down: range, across: range, label: int, strokes: Strokes) -> list[Text]:
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
    across, cross = strokes.level, strokes.lines[-1]
    if len(table.shape) < 2:
        return Text(across * (label + columns * table.cell), "dim")
    left = label - table.gutter - 1
    return Text(f"{across * left}{cross}{across * (table.gutter + columns * table.cell)}", "dim")


def journey_of(answer: Trace | Chain, given: Mapping[str, int] | None = None, *, whole: bool = True) -> Journey:
    """Return the journey of an answer's tensor. Names get sizes: those given, or the smallest that meet the conditions.

    Raises `ShapeError` (usage) if no small sizes meet the conditions, and if the request is refused and for op `shape`;
    unless it need not be the `whole` journey: then it ends there.
    """
    if whole and answer.output is None:
        raise misuse("the request is refused, so no element moves")
    made = layouts(answer)
    computed = next((place for place, each in enumerate(made) if isinstance(each.stage.move, Combine)), len(made))
    if whole and computed < len(made):
        raise misuse("elements of several operands, or of windows, cannot be followed")
    made = made[:computed]
    named = not all_known((*answer.input, *[dim for layout in made for dim in layout.stage.after or ()]))
    sizes = given if given is not None else example_sizes(answer) if named else {}
    if whole and any(isinstance(layout.stage.move, Dims) for layout in made):
        raise misuse("shape returns dims, so there is no element to follow")
    moving = [layout for layout in made if not isinstance(layout.stage.move, Dims | None)]
    moves = Moves(answer.input, tuple([layout.stage.move for layout in moving if layout.stage.move]))
    moves = moves.rewritten(settled(answer.results, sizes))
    labels = [("input", "", input_cells(answer)), *[(layout.name, layout.title, layout.cells) for layout in moving]]
    points = [
        Point(name, title, tuple([int(str(dim)) for dim in shape]), tuple([cell.mark for cell in cells]))
        for (name, title, cells), shape in zip(labels, moves.shapes, strict=True)
    ]
    return Journey(tuple(points), moves.moves, sizes)


def grid(
    answer: Trace | Chain,
    cursor: Index | None = None,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    value: Callable[[Index], object] | None = None,
) -> Text:
    """Return the elements at each point, with the input's element at `cursor` marked at each of them.

    `value` returns the input's element at an index; without it the elements are 0, 1, 2 ... If a tensor is large,
    the part around the cursor is shown. `width` and `height` are in character cells. Raises `ShapeError` (usage)
    as `journey_of` does, and if there are no elements.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(grid(sc.transpose((2, 3)), (1, 0), strokes=ASCII))
    input 2,3         transpose -> 3,2
    3 is at [1,0]     3 is at [0,1]
    a | b 0  1  2     b | a 0  1
    --+-----------    --+--------
    0 |   0  1  2     0 |   0 [3]
    1 |  [3] 4  5     1 |   1  4
                      2 |   2  5
    """
    journey = journey_of(answer)
    if any(0 in point.shape for point in journey.points):
        raise misuse("there are no elements to show")
    cursor = (0,) * len(answer.input) if cursor is None else cursor
    tables = [
        _table_at(journey, place, index, lambda _, source: source == cursor, value, strokes)
        for place, index in enumerate(journey.places(cursor))
    ]
    lines = side_by_side(tables, width, height - bool(journey.sizes), strokes)
    told = [*([f"with {sizes_text(journey.sizes)}"] if journey.sizes else []), *sums(layouts(answer))]
    notes = packed([Text(note, "dim") for note in told], width, strokes)
    return stack([*lines, *notes[: max(bool(journey.sizes), height - len(lines))]])


def asked_grid(
    answer: Trace | Chain,
    cursor: Index | None = None,
    *,
    ends: int = 2,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
) -> Text:
    """Return the elements of the input, and if both `ends` are asked for those of the output, not the way between them.

    If there is a `cursor`, it is marked in the input, and the elements of the output are holes. Raises `ShapeError`
    (usage) as `grid` does.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(asked_grid(sc.transpose((2, 3)), (0, 1), strokes=ASCII))
    input 2,3         output 3,2
    1 is at [0,1]       |  0  1
    a | b 0  1  2     --+-------
    --+-----------    0 |  _  _
    0 |   0 [1] 2     1 |  _  _
    1 |   3  4  5     2 |  _  _
    """
    journey = journey_of(answer)
    if any(0 in point.shape for point in journey.points):
        raise misuse("there are no elements to show")
    given = _table_at(journey, 0, cursor, lambda _, source: source == cursor, None, strokes)
    made = _table_at(journey, len(journey.points) - 1, None, lambda *_: False, None, strokes)
    marks = ("",) * len(made.shape)
    made = replace(made, title=f"output {shape_text(made.shape)}", whole_title="", at="", marks=marks)
    if cursor is None:
        given = replace(given, at="")
    else:
        made = replace(made, element=lambda _: Element(strokes.hole, (), False))
    return stack(side_by_side([given, made][:ends], width, height, strokes))


def output_grids(
    answers: tuple[Trace | Chain, Trace | Chain],
    found: Counterexample,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
) -> Text:
    """Return the outputs of two answers where they differ, side by side, the first element that does marked in each.

    Raises `ShapeError` (usage) if there are no elements.

    >>> import shapecalc as sc
    >>> pair = sc.chain("2,3", "transpose 1,0"), sc.chain("2,3", "reshape 3,2")
    >>> output_grids(pair, sc.equiv(*pair).counterexample).plain.splitlines()[:2]
    ['first 3,2        second 3,2', '3 is at [0,1]    1 is at [0,1]']
    """
    journeys = [journey_of(answer, found.sizes) for answer in answers]
    return stack(side_by_side(_outputs(journeys, ("first", "second"), found.index, strokes), width, height, strokes))


def _outputs(journeys: Iterable[Journey], names: tuple[str, str], index: Index | None, strokes: Strokes) -> list[Table]:
    """Return the last points of journeys as tables with names, the element at an index marked in each."""
    tables = []
    for name, journey in zip(names, journeys, strict=True):
        last = len(journey.points) - 1
        if 0 in journey.points[last].shape:
            raise misuse("there are no elements to show")
        table = _table_at(journey, last, index, lambda at, _: at == index, None, strokes)
        title, at = f"{name} {shape_text(table.shape)}", "" if index is None else table.at
        tables.append(replace(table, title=title, whole_title="", at=at))
    return tables


def _table_at(
    journey: Journey,
    place: int,
    index: Index | None,
    is_lit: Callable[[Index, Index], bool],
    value: Callable[[Index], object] | None,
    strokes: Strokes,
) -> Table:
    """Return the elements of one point with the one at `index` in view, the first if it is None.

    `is_lit` says of an index and of that element's index in the input whether the element is marked.
    """
    point = journey.points[place]
    focus = (0,) * len(point.shape) if index is None else index

    def element(at: Index) -> Element:
        source = journey.source(place, at)
        shown = ravel(source, journey.points[0].shape) if value is None else value(source)
        return Element(clip(visible(str(shown)), LONGEST_VALUE, strokes), source, is_lit(at, source))

    after = f" {strokes.to} " if place else " "
    return Table(
        f"{point.name}{after}{shape_text(point.shape)}",
        f"{point.title}{after}{shape_text(point.shape)}" if place else "",
        f"{element(focus).text} is at {index_text(index)}" if index is not None else index_text(index),
        point.shape,
        tuple(mark_text(mark, strokes) for mark in point.marks),
        focus,
        min(LONGEST_VALUE, max(len(element(focus).text), len(str(prod(journey.points[0].shape) - 1)))),
        element,
    )


def beside(
    asked: Trace | Chain, mistaken: Trace | Chain, *, width: int = 78, height: int = 12, strokes: Strokes = UNICODE
) -> Text:
    """Return the outputs of two answers side by side, the first element that differs lit in each.

    Raises `ShapeError` (usage) if one is refused, if there are no elements, and if no small sizes show both.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(beside(sc.transpose((2, 3), (1, 0)), sc.reshape((2, 3), (3, 2)), strokes=ASCII))
    asked 3,2        mistaken 3,2
    3 is at [0,1]    1 is at [0,1]
    b | a 0  1       ~x | ~y 0  1
    --+--------      ---+---------
    0 |   0 [3]       0 |    0 [1]
    1 |   1  4        1 |    2  3
    2 |   2  5        2 |    4  5
    """
    sizes = _common_sizes(asked, mistaken)
    ours, theirs = journey_of(asked, sizes), journey_of(mistaken, sizes)
    tables = _outputs((ours, theirs), ("asked", "mistaken"), _first_difference(ours, theirs), strokes)
    return stack(side_by_side(tables, width, height, strokes))


def _common_sizes(asked: Trace | Chain, mistaken: Trace | Chain) -> Mapping[str, int]:
    """Return sizes for which both answers hold; none if no dim is named."""
    if asked.concrete and mistaken.concrete:
        return {}
    from shapecalc.core.equiv import equivalence  # numbers need none

    found = equivalence(asked, mistaken).counterexample
    return {} if found is None else found.sizes


def _first_difference(ours: Journey, theirs: Journey) -> Index | None:
    """Return the first index at which two outputs hold other elements of the input; None if none is found."""
    places = len(ours.points) - 1, len(theirs.points) - 1
    common = [*map(min, ours.points[-1].shape, theirs.points[-1].shape)]
    if 0 in common or len(ours.points[-1].shape) != len(theirs.points[-1].shape):
        return None
    for index in _indices(common):
        if ours.source(places[0], index) != theirs.source(places[1], index):
            return index
    return None


def _indices(shape: list[int]) -> Iterator[Index]:
    """Yield the first indices of a shape in their order, then those that are one step along an axis, the last first."""
    yield from islice(product(*map(range, shape)), MOST_COMPARED)
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            yield tuple(int(each == axis) for each in range(len(shape)))
