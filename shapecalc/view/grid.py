"""The grid: the elements at every stage, as tables that follow one element.

The last axis of a tensor is horizontal, the others are vertical, and each row and column has its index. A line
separates blocks of rows. A tensor that is too large is shown in part, around one element, with a note on the omitted
rows and columns.
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
    from shapecalc.core.equiv import Counterexample  # the app starts without it

LEAST_BLOCK = 23
"""The minimum width of a table."""
HEAD = 3
"""The number of lines above the elements, without the rule below the indices."""
BETWEEN = 4
"""The number of blanks between two tables."""
LONGEST_VALUE = 8
MOST_COMPARED = 4096
"""The most elements that are compared in C order.

In larger tensors, one more element along each axis is compared.
"""


class Element(Record):
    """One element: its text, its index in the input, and whether it is highlighted."""

    text: str
    source: tuple[int, ...]
    lit: bool


class Table(Record):
    """The elements of one tensor, with a title and labels."""

    title: str
    whole_title: str
    """The longer title, if all tables have room for theirs. Empty if there is none."""
    at: str
    """The position of the highlighted element. Empty if there is none."""
    shape: tuple[int, ...]
    marks: tuple[str, ...]
    """The mark of each axis."""
    focus: tuple[int, ...]
    """The index of the element that is always shown."""
    wide: int
    """The width of an element in cells."""
    element: Callable[[Index], Element]

    @property
    def columns(self) -> int:
        """The number of elements in a row."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """The number of rows."""
        return prod(self.shape[:-1])

    @property
    def block(self) -> int:
        """The number of rows in a block: the size of the innermost row axis above 1."""
        return next((size for size in reversed(self.shape[:-1]) if size > 1), 1)

    @property
    def index_widths(self) -> tuple[int, ...]:
        """The width of the index on each axis: of its mark or its largest index."""
        return tuple(max(len(mark), len(str(size - 1))) for mark, size in zip(self.marks, self.shape, strict=True))

    @property
    def label(self) -> int:
        """The width at the left of the elements: row indices, line and last mark."""
        return sum(self.index_widths[:-1]) + max(0, len(self.shape) - 2) + 2 * (len(self.shape) > 1) + self.gutter

    @property
    def gutter(self) -> int:
        """The width of the mark of the last axis."""
        return len(self.marks[-1]) + (len(self.shape) > 1) if self.marks else 0

    @property
    def cell(self) -> int:
        """The width of an element with brackets, or of the largest column index."""
        return max(self.wide, len(str(self.columns - 1))) + 2

    @property
    def lines(self) -> int:
        """The height of the whole table."""
        return HEAD + self.rows + (self.rows - 1) // self.block

    def width(self, height: int) -> int:
        """Return the width of the whole table, with the note that `height` may require."""
        note = LEAST_BLOCK if self.rows + self.rows // self.block + HEAD > height else 0
        return max(self.label + self.columns * self.cell, len(self.title), len(self.at), note)


class Point(Record):
    """The tensor at one point of a journey: the input, or the output of a stage."""

    name: str
    title: str
    """The stage with its arguments. Empty for the input."""
    shape: tuple[int, ...]
    marks: tuple[Mark | None, ...]


class Journey(Record):
    """The tensor at each point in integers, the moves between points, and the sizes."""

    points: tuple[Point, ...]
    moves: tuple[Move, ...]
    sizes: Mapping[str, int]

    def source(self, point: int, index: Index) -> Index:
        """Return the input index of the element at `index` of a point."""
        for earlier in range(point, 0, -1):
            index = index_before(index, self.points[earlier - 1].shape, self.moves[earlier - 1])
        return index

    def places(self, cursor: Index) -> list[Index | None]:
        """Return the index of an input element at each point.

        A repeated element has its first index. The index is None from the point on at which the element is
        dropped.
        """
        indices: list[Index | None] = [cursor]
        for number, move in enumerate(self.moves):
            index = indices[-1]
            indices.append(None if index is None else index_after(index, self.points[number].shape, move))
        return indices


def values_text(elements: Any, gaps: Sequence[int | None]) -> str:
    """Return nested lists as text in columns, with dots at the gap of each axis.

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
    separator = " " if len(gaps) == 1 else "\n" * (len(gaps) - 1) + " " * indent
    return f"[{separator.join(parts)}]"


def _leaves(elements: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [elements]
    return [leaf for element in elements for leaf in _leaves(element, depth - 1)]


def side_by_side(tables: Sequence[Table], width: int, height: int, strokes: Strokes) -> list[Text]:
    """Return the lines of tables side by side, and the number of omitted tables."""
    shown = max(1, min(len(tables), (width + BETWEEN) // (LEAST_BLOCK + BETWEEN)))
    hidden = len(tables) - shown
    height -= bool(hidden)
    min_widths = [table.width(height) for table in tables[:shown]]
    titled_widths = [max(needed, len(table.whole_title)) for needed, table in zip(min_widths, tables, strict=False)]
    total = width - BETWEEN * (shown - 1)
    widths = titled_widths if sum(titled_widths) <= total else _rooms(min_widths, total)
    ruled = all(table.lines < height for table in tables[:shown])
    blocks = [
        _table_lines(table, (cells, height), strokes, ruled=ruled) for table, cells in zip(tables, widths, strict=False)
    ]
    lines = []
    for row in range(max(map(len, blocks))):
        line = Text()
        for block, cells in zip(blocks, widths, strict=True):
            part = block[row].copy() if row < len(block) else Text()
            part.pad_right(cells + BETWEEN - len(part))
            line.append_text(part)
        lines.append(clip_line(line, width, strokes))
    return [
        *lines,
        *([clip_line(Text(f"{strokes.dots} {hidden} more after these", "dim"), width, strokes)] * bool(hidden)),
    ]


def _rooms(widths: list[int], width: int) -> list[int]:
    """Return the widths of the tables.

    Each gets the width that it needs. If that exceeds `width`, the wider ones share the remainder equally.

    >>> _rooms([10, 50, 60], 100), _rooms([10, 20], 100)
    ([10, 45, 45], [10, 20])
    """
    result, remaining = [0] * len(widths), width
    for done, index in enumerate(sorted(range(len(widths)), key=widths.__getitem__)):
        result[index] = min(widths[index], remaining // (len(widths) - done))
        remaining -= result[index]
    return result


def _table_lines(table: Table, room: tuple[int, int], strokes: Strokes, *, ruled: bool) -> list[Text]:
    """Return the lines of a table: title, position, column indices and rows.

    If it is `ruled`, a rule separates the column indices from the rows.
    """
    width, height = room
    title = table.whole_title if 0 < len(table.whole_title) <= width else table.title
    head = [Text(clip(title, width, strokes), "bold")]
    head += [Text(clip(table.at, width, strokes))] if table.at else []
    head += [Text()] * (1 + ruled) if table.shape else []
    row, column = divmod(ravel(table.focus, table.shape), table.columns)
    label = min(table.label, max(width // 2, width - table.columns * table.cell))
    columns = rows_around(column, table.columns, (width - label) // table.cell)
    rows = _rows_shown(table, row, height - len(head))
    notes = _left_out(table, rows, columns, width)
    if notes and len(rows) > 1:
        rows = _rows_shown(table, row, height - len(head) - len(notes))
        notes = _left_out(table, rows, columns, width)
    if table.shape:
        head[-1] = _parting_line(table, label, len(columns), strokes)
        head[-1 - ruled] = _column_labels(table, columns, label, strokes)
    lines = _table_rows(table, rows, columns, label, strokes)
    return [*head, *lines, *(Text(clip(f"{strokes.dots} {note}", width, strokes), "dim") for note in notes)]


def _rows_shown(table: Table, here: int, room: int) -> range:
    """Return the rows around a row that fit `height`, with the lines between blocks."""
    rows = rows_around(here, table.rows, room)
    while len(rows) > 1 and len(rows) + sum(_starts_block(table, row) for row in rows[1:]) > room:
        rows = rows[1:] if here - rows[0] > rows[-1] - here else rows[:-1]
    return rows


def _starts_block(table: Table, row: int) -> bool:
    return table.block < table.rows and row % table.block == 0


def _left_out(table: Table, down: range, across: range, width: int) -> list[str]:
    """Return the notes on the shown rows and columns. Empty if all are shown."""
    sides = ("row", down, table.rows), ("column", across, table.columns)
    parts = [f"{_shown_text(word, shown)} of {count}" for word, shown, count in sides if len(shown) < count]
    line = ", ".join(parts)
    return [line] if parts and len(line) + 4 <= width else parts


def _shown_text(word: str, shown: range) -> str:
    """Return a range of rows or columns in words.

    >>> _shown_text("row", range(1, 2)), _shown_text("column", range(4))
    ('row 1', 'columns 0-3')
    """
    return f"{word} {shown[0]}" if len(shown) == 1 else f"{word}s {shown[0]}-{shown[-1]}"


def _column_labels(table: Table, across: range, label: int, strokes: Strokes) -> Text:
    """Return the line with the marks of the axes and the column indices."""
    marks = [mark.rjust(wide) for mark, wide in zip(table.marks[:-1], table.index_widths, strict=False)]
    line = Text(_fitted(table, " ".join(marks), label, table.marks[-1], strokes), "dim")
    for column in across:
        line.append(f"{column} ".rjust(table.cell), "dim")
    return line


def _fitted(table: Table, texts: str, label: int, mark: str, strokes: Strokes) -> str:
    """Return the text at the left of a row: its indices, a line and the last mark."""
    if len(table.shape) < 2:
        return clip(mark, label, strokes).rjust(min(table.gutter, label))
    room = label - table.gutter - 2
    if room < 1:
        return " " * label
    line = strokes.upright
    texts = texts if len(texts) <= room else f"{strokes.dots[0]}{texts[len(texts) - room + 1 :]}"
    return f"{texts.rjust(room)} {line}{mark.rjust(table.gutter)}"


def _table_rows(table: Table, down: range, across: range, label: int, strokes: Strokes) -> list[Text]:
    """Return rows with their indices. An index equal to the one above is left blank."""
    lines, previous = list[Text](), None
    for row in down:
        index = unravel(row * table.columns, table.shape)
        if row != down[0] and _starts_block(table, row):
            lines.append(_parting_line(table, label, len(across), strokes))
            previous = None
        texts = [
            (" " if previous is not None and index[: axis + 1] == previous[: axis + 1] else str(index[axis])).rjust(
                wide
            )
            for axis, wide in enumerate(table.index_widths[:-1])
        ]
        previous = index
        line = Text(_fitted(table, " ".join(texts), label, "", strokes), "dim")
        for column in across:
            line.append_text(_element_text(table, (*index[:-1], column) if index else ()))
        lines.append(line)
    return lines


def _element_text(table: Table, index: Index) -> Text:
    """Return one element, in brackets if it is highlighted.

    Its style has the index in the input as the metadata `cell`.
    """
    element = table.element(index)
    text = element.text.rjust(table.cell - 2)
    style = ink(bold=element.lit, reverse=element.lit, mark=("cell", element.source))
    return Text(f"[{text}]" if element.lit else f" {text} ", style)


def _parting_line(table: Table, label: int, columns: int, strokes: Strokes) -> Text:
    line, crossing = strokes.level, strokes.lines[-1]
    if len(table.shape) < 2:
        return Text(line * (label + columns * table.cell), "dim")
    left = label - table.gutter - 1
    return Text(f"{line * left}{crossing}{line * (table.gutter + columns * table.cell)}", "dim")


def journey_of(answer: Trace | Chain, given: Mapping[str, int] | None = None, *, whole: bool = True) -> Journey:
    """Return the journey of an answer's tensor.

    Names take the given sizes, or the smallest sizes that meet the conditions. An incomplete journey ends where its
    elements cannot be followed. Raises `ShapeError` (usage) if no small sizes meet the conditions. If the journey
    has to be `complete`, it also raises for a refused request, for op `shape`, and for several operands or windows.
    """
    if whole and answer.output is None:
        raise misuse("the request is refused, so no element moves")
    all_layouts = layouts(answer)
    computing = (index for index, layout in enumerate(all_layouts) if isinstance(layout.stage.move, Combine))
    end = next(computing, len(all_layouts))
    if whole and end < len(all_layouts):
        raise misuse("elements of several operands, or of windows, cannot be followed")
    all_layouts = all_layouts[:end]
    has_names = not all_known((*answer.input, *[dim for layout in all_layouts for dim in layout.stage.after or ()]))
    sizes = given if given is not None else example_sizes(answer) if has_names else {}
    if whole and any(isinstance(layout.stage.move, Dims) for layout in all_layouts):
        raise misuse("shape returns dims, so there is no element to follow")
    moving = [layout for layout in all_layouts if not isinstance(layout.stage.move, Dims | None)]
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
    """Return the elements at each point, with one input element highlighted.

    `cursor` is the index of that element. `value` returns the input element at an index; by default the elements
    are 0, 1, 2 ... A large tensor is shown in part, around the cursor. `width` and `height` are in character cells.
    Raises `ShapeError` (usage) as `journey_of` does, and if there are no elements.

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
        _table_at(journey, number, index, lambda _, source: source == cursor, value, strokes)
        for number, index in enumerate(journey.places(cursor))
    ]
    lines = side_by_side(tables, width, height - bool(journey.sizes), strokes)
    note_texts = [*([f"with {sizes_text(journey.sizes)}"] if journey.sizes else []), *sums(layouts(answer))]
    notes = packed([Text(note, "dim") for note in note_texts], width, strokes)
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
    """Return the elements of the input and of the output, without those between.

    With `table_count` 1 only the input is shown. With a `cursor`, that element is highlighted in the input, and the
    output elements are holes. Raises `ShapeError` (usage) as `draw_grid` does.

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
    input_table = _table_at(journey, 0, cursor, lambda _, source: source == cursor, None, strokes)
    output_table = _table_at(journey, len(journey.points) - 1, None, lambda *_: False, None, strokes)
    marks = ("",) * len(output_table.shape)
    output_table = replace(
        output_table, title=f"output {shape_text(output_table.shape)}", whole_title="", at="", marks=marks
    )
    if cursor is None:
        input_table = replace(input_table, at="")
    else:
        output_table = replace(output_table, element=lambda _: Element(strokes.hole, (), False))
    return stack(side_by_side([input_table, output_table][:ends], width, height, strokes))


def output_grids(
    answers: tuple[Trace | Chain, Trace | Chain],
    found: Counterexample,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
) -> Text:
    """Return the outputs of two answers side by side, at the first difference.

    Raises `ShapeError` (usage) if there are no elements.

    >>> import shapecalc as sc
    >>> pair = sc.chain("2,3", "transpose 1,0"), sc.chain("2,3", "reshape 3,2")
    >>> output_grids(pair, sc.equiv(*pair).counterexample).plain.splitlines()[:2]
    ['first 3,2        second 3,2', '3 is at [0,1]    1 is at [0,1]']
    """
    journeys = [journey_of(answer, found.sizes) for answer in answers]
    return stack(side_by_side(_outputs(journeys, ("first", "second"), found.index, strokes), width, height, strokes))


def _outputs(journeys: Iterable[Journey], names: tuple[str, str], index: Index | None, strokes: Strokes) -> list[Table]:
    """Return the last points of journeys as tables, with one element highlighted."""
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
    """Return the table of one point around the element at `index`, or the first one.

    `is_lit` returns whether an element is highlighted, from its index and its index in the input.
    """
    point = journey.points[place]
    focus = (0,) * len(point.shape) if index is None else index

    def element(at: Index) -> Element:
        source = journey.source(place, at)
        shown = ravel(source, journey.points[0].shape) if value is None else value(source)
        return Element(clip(visible(str(shown)), LONGEST_VALUE, strokes), source, is_lit(at, source))

    separator = f" {strokes.to} " if place else " "
    return Table(
        f"{point.name}{separator}{shape_text(point.shape)}",
        f"{point.title}{separator}{shape_text(point.shape)}" if place else "",
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
    """Return the outputs of an answer and of a mistake, at the first difference.

    Raises `ShapeError` (usage) if one is refused, if there are no elements, or if no small sizes show both.

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
    """Return sizes for which both answers hold. Empty if no dim is named."""
    if asked.concrete and mistaken.concrete:
        return {}
    from shapecalc.core.equiv import equivalence  # integer shapes do not need it

    counterexample = equivalence(asked, mistaken).counterexample
    return {} if counterexample is None else counterexample.sizes


def _first_difference(ours: Journey, theirs: Journey) -> Index | None:
    """Return the first index at which two outputs have different elements, if any."""
    last_points = len(ours.points) - 1, len(theirs.points) - 1
    common = [*map(min, ours.points[-1].shape, theirs.points[-1].shape)]
    if 0 in common or len(ours.points[-1].shape) != len(theirs.points[-1].shape):
        return None
    for index in _indices(common):
        if ours.source(last_points[0], index) != theirs.source(last_points[1], index):
            return index
    return None


def _indices(shape: list[int]) -> Iterator[Index]:
    """Yield the indices to compare.

    They are the first ones of a shape in C order, then those one step along each axis, the last axis first.
    """
    yield from islice(product(*map(range, shape)), MOST_COMPARED)
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            yield tuple(int(other == axis) for other in range(len(shape)))
