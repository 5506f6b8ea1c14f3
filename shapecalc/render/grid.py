"""The grid: tables of the elements of the input and of each stage's output.

The last axis of a tensor is horizontal, and the other axes are vertical; rows and columns are labelled with their
indices. Lines separate blocks of rows. One input element is highlighted in all tables. If a tensor is too large, only
the part around this element is drawn, with a note on the visible rows and columns. A `TensorPath` gives the index of an
input element in each tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod
from operator import contains
from typing import Any

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import is_concrete
from shapecalc.core.layout import MoveChain
from shapecalc.core.moves import (
    Combine,
    Index,
    Move,
    Pad,
    ShapeVector,
    index_after_move,
    index_before_move,
    ravel,
    unravel,
)
from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.results import sizes_with_results
from shapecalc.core.text import escape_unprintable, shape_text
from shapecalc.reasoning.equiv import (
    Counterexample,  # imported where it is used, because the app starts without it
    check_equivalence,
)
from shapecalc.reasoning.examples import example_sizes, index_text
from shapecalc.render.canvas import (
    UNICODE,
    GlyphSet,
    clip_line,
    clip_text,
    make_style,
    pack_notes,
    rows_around,
    stack_texts,
)
from shapecalc.render.hints import sizes_text
from shapecalc.render.pictures import division_notes
from shapecalc.render.stage_layout import DimMark, input_cells, mark_text, stage_layouts

MIN_TABLE_WIDTH = 23
"""The minimum width of a table, in character cells."""
HEADING_LINES = 3
"""The number of lines above the elements, not counting the line below the column indices."""
TABLE_GAP = 4
"""The number of spaces between two tables."""
MAX_VALUE_WIDTH = 8
TINTS = ("#F4B6A0", "#F7DC8C", "#B9E3A4", "#9ADBD3", "#A5C8F4", "#C9B6F0", "#F2B3D6", "#D3CDC0")
"""The background colours of elements.

The index of an element along the tinted axis, modulo the number of colours, is the index of its colour.
"""
TINT_INK = "#000000"
"""The text colour of elements on the backgrounds `TINTS`."""
MAX_COMPARED_ELEMENTS = 4096
"""The number of elements that are compared, in C order, to find the first difference.

The second element along each axis is also compared, because larger tensors may differ only there.
"""


class ElementCell(Record):
    """A table cell: the text of an element, with the index of the element in the input."""

    text: str
    input_index: Index | None
    """The index in the input tensor, or None for an element that a pad adds."""
    is_highlighted: bool


class ElementTable(Record):
    """The table of a tensor's elements, with titles and labels."""

    title: str
    long_title: str
    """The title with the arguments of the stage; empty for the input.

    It replaces the title if there is space for the long titles of all tables.
    """
    position_text: str
    """A line such as `3 is at [1,0]`; empty if no element is highlighted."""
    shape: tuple[int, ...]
    marks: tuple[str, ...]
    """The mark of each axis: the names of the input axes that it consists of."""
    focus: tuple[int, ...]
    """The index of the element around which the table is drawn."""
    element_width: int
    """The maximum width of an element, in character cells."""
    element_at: Callable[[Index], ElementCell]
    tinted_axis: int | None = None
    """The input axis whose index determines the background colour of an element, or None for no colours."""

    @property
    def columns(self) -> int:
        """The number of columns: the size of the last axis."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """The number of rows: the product of all sizes but the last."""
        return prod(self.shape[:-1])

    @property
    def block_rows(self) -> int:
        """The number of rows per block.

        The last axis is horizontal. Of the other axes, the innermost axis with a size above 1 has this number of rows;
        if there is no such axis, a block has one row.
        """
        return next((size for size in reversed(self.shape[:-1]) if size > 1), 1)

    @property
    def index_widths(self) -> tuple[int, ...]:
        """The width of the index column of each axis.

        The mark of the axis and each of its indices fit this width.
        """
        return tuple(max(len(mark), len(str(size - 1))) for mark, size in zip(self.marks, self.shape, strict=True))

    @property
    def label_width(self) -> int:
        """The width of the label of a row.

        The label consists of indices, a vertical line, and the mark of the last axis.
        """
        return (
            sum(self.index_widths[:-1]) + max(0, len(self.shape) - 2) + 2 * (len(self.shape) > 1) + self.last_mark_width
        )

    @property
    def last_mark_width(self) -> int:
        """The width of the mark of the last axis, and of the space after indices."""
        return len(self.marks[-1]) + (len(self.shape) > 1) if self.marks else 0

    @property
    def cell_width(self) -> int:
        """The width of a column of elements, including brackets."""
        return max(self.element_width, len(str(self.columns - 1))) + 2

    @property
    def height(self) -> int:
        """The height of the complete table in lines."""
        return HEADING_LINES + self.rows + (self.rows - 1) // self.block_rows

    def width(self, height: int) -> int:
        """Return the width of the table if all columns are drawn.

        If not all rows fit `height`, the width includes the note on omitted rows.
        """
        note = MIN_TABLE_WIDTH if self.rows + self.rows // self.block_rows + HEADING_LINES > height else 0
        return max(self.label_width + self.columns * self.cell_width, len(self.title), len(self.position_text), note)


class PathTensor(Record):
    """The input of an answer, or the output of a stage, as a tensor of a `TensorPath`."""

    name: str
    title: str
    """The name and the arguments of the stage; empty for the input."""
    shape: tuple[int, ...]
    marks: tuple[DimMark | None, ...]


class TensorPath(Record):
    """The index of each element in all tensors of an answer.

    The path consists of the tensors from the input to the output, the moves between consecutive tensors, and the sizes
    of named dims.
    """

    tensors: tuple[PathTensor, ...]
    moves: tuple[Move, ...]
    sizes: Mapping[str, int]

    def source_index(self, tensor_index: int, index: Index) -> Index | float:
        """Return the input index of the element at an index of a later tensor.

        If a pad added the element, its value is returned instead.
        """
        for earlier in range(tensor_index - 1, -1, -1):
            shape, move = self.tensors[earlier].shape, self.moves[earlier]
            index = index_before_move(index, shape, move)
            if isinstance(move, Pad) and not all(map(contains, map(range, shape), index)):
                return move.fill
        return index

    def indices_of(self, input_index: Index) -> list[Index | None]:
        """Return the index of an input element in each tensor.

        If the element is repeated, this is the index of its first copy; if it is dropped, the index is None.
        """
        indices: list[Index | None] = [input_index]
        for number, move in enumerate(self.moves):
            index = indices[-1]
            indices.append(None if index is None else index_after_move(index, self.tensors[number].shape, move))
        return indices


def format_values(elements: Any, gaps: Sequence[int | None]) -> str:
    """Format nested lists in aligned columns.

    For each axis, `gaps` contains the index before which an ellipsis is inserted, or None.

    >>> print(format_values([[0, 1], [2, 13]], (None, 1)))
    [[ 0 ...  1]
     [ 2 ... 13]]
    """
    width = max((len(escape_unprintable(str(leaf))) for leaf in _flatten_nested(elements, len(gaps))), default=0)
    return _format_nested(elements, gaps, width, indent=1)


def _format_nested(elements: Any, gaps: Sequence[int | None], width: int, indent: int) -> str:
    if not gaps:
        return escape_unprintable(str(elements)).rjust(width)
    parts = [_format_nested(element, gaps[1:], width, indent + 1) for element in elements]
    if gaps[0] is not None:
        parts.insert(gaps[0], "...")
    separator = " " if len(gaps) == 1 else "\n" * (len(gaps) - 1) + " " * indent
    return f"[{separator.join(parts)}]"


def _flatten_nested(elements: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [elements]
    return [leaf for element in elements for leaf in _flatten_nested(element, depth - 1)]


def _visible_table_count(count: int, width: int) -> int:
    """Return how many of `count` tables fit a width side by side."""
    return max(1, min(count, (width + TABLE_GAP) // (MIN_TABLE_WIDTH + TABLE_GAP)))


def first_table_index(count: int, width: int, first: int) -> int:
    """Return the index of the first table to draw.

    This is `first`, or the earliest table from which all later tables fit the width.

    >>> first_table_index(4, 78, 3), first_table_index(4, 400, 3)
    (1, 0)
    """
    return min(first, count - _visible_table_count(count, width))


def arrange_tables(
    tables: Sequence[ElementTable],
    width: int,
    height: int,
    glyphs: GlyphSet,
    first: int = 0,
    more_keys: tuple[str, str] = ("", ""),
) -> list[Text]:
    """Arrange tables side by side, starting with the table at index `first`.

    If tables are omitted, a note names them. `more_keys` are the keys for earlier and for later tables in this note.
    """
    count = len(tables)
    shown, first = _visible_table_count(count, width), first_table_index(count, width, first)
    numbers = f"shape {first + 1}" if shown == 1 else f"shapes {first + 1} to {first + shown}"
    keys = [
        key for key, has_more in zip(more_keys, (first > 0, first + shown < count), strict=True) if key and has_more
    ]
    note = Text(" · ".join([f"{glyphs.ellipsis} {numbers} of {count}", *keys]), "dim")
    notes = [clip_line(note, width, glyphs)] if shown < count else []
    tables = tables[first : first + shown]
    height -= len(notes)
    min_widths = [table.width(height) for table in tables[:shown]]
    titled_widths = [max(needed, len(table.long_title)) for needed, table in zip(min_widths, tables, strict=False)]
    total = width - TABLE_GAP * (shown - 1)
    widths = titled_widths if sum(titled_widths) <= total else _table_widths(min_widths, total)
    ruled = all(table.height < height for table in tables[:shown])
    blocks = [
        _table_lines(table, (cells, height), glyphs, is_ruled=ruled)
        for table, cells in zip(tables, widths, strict=False)
    ]
    lines = []
    for row in range(max(map(len, blocks))):
        line = Text()
        for block, cells in zip(blocks, widths, strict=True):
            part = block[row].copy() if row < len(block) else Text()
            part.pad_right(cells + TABLE_GAP - len(part))
            line.append_text(part)
        lines.append(clip_line(line, width, glyphs))
    return [*lines, *notes]


def _table_widths(widths: list[int], width: int) -> list[int]:
    """Reduce the widths of the widest tables until all tables fit a total width.

    The reduced tables have the same width, up to rounding.

    >>> _table_widths([10, 50, 60], 100), _table_widths([10, 20], 100)
    ([10, 45, 45], [10, 20])
    """
    result, remaining = [0] * len(widths), width
    for done, index in enumerate(sorted(range(len(widths)), key=widths.__getitem__)):
        result[index] = min(widths[index], remaining // (len(widths) - done))
        remaining -= result[index]
    return result


def _table_lines(table: ElementTable, size: tuple[int, int], glyphs: GlyphSet, *, is_ruled: bool) -> list[Text]:
    """Return the lines of a table: title, position, column indices and rows.

    If `is_ruled` is True, a line is drawn below the column indices.
    """
    width, height = size
    title = table.long_title if 0 < len(table.long_title) <= width else table.title
    head = [Text(clip_text(title, width, glyphs), "bold")]
    head += [Text(clip_text(table.position_text, width, glyphs))] if table.position_text else []
    head += [Text()] * (1 + is_ruled) if table.shape else []
    row, column = divmod(ravel(table.focus, table.shape), table.columns)
    label = min(table.label_width, max(width // 2, width - table.columns * table.cell_width))
    columns = rows_around(column, table.columns, (width - label) // table.cell_width)
    rows = _visible_rows(table, row, height - len(head))
    notes = _omission_notes(table, rows, columns, width)
    if notes and len(rows) > 1:
        rows = _visible_rows(table, row, height - len(head) - len(notes))
        notes = _omission_notes(table, rows, columns, width)
    if table.shape:
        head[-1] = _separator_line(table, label, len(columns), glyphs)
        head[-1 - is_ruled] = _column_heading(table, columns, label, glyphs)
    lines = _table_rows(table, rows, columns, label, glyphs)
    return [*head, *lines, *(Text(clip_text(f"{glyphs.ellipsis} {note}", width, glyphs), "dim") for note in notes)]


def _visible_rows(table: ElementTable, focus: int, height: int) -> range:
    """Return the rows around `focus` that fit a height, including the ruled lines."""
    rows = rows_around(focus, table.rows, height)
    while len(rows) > 1 and len(rows) + sum(_is_block_start(table, row) for row in rows[1:]) > height:
        rows = rows[1:] if focus - rows[0] > rows[-1] - focus else rows[:-1]
    return rows


def _is_block_start(table: ElementTable, row: int) -> bool:
    return table.block_rows < table.rows and row % table.block_rows == 0


def _omission_notes(table: ElementTable, rows: range, columns: range, width: int) -> list[str]:
    """Return notes on the visible rows and columns, or [] if all are visible."""
    sides = ("row", rows, table.rows), ("column", columns, table.columns)
    parts = [f"{_range_text(word, shown)} of {count}" for word, shown, count in sides if len(shown) < count]
    line = ", ".join(parts)
    return [line] if parts and len(line) + 4 <= width else parts


def _range_text(noun: str, indices: range) -> str:
    """Format a range of row or column indices.

    >>> _range_text("row", range(1, 2)), _range_text("column", range(4))
    ('row 1', 'columns 0-3')
    """
    return f"{noun} {indices[0]}" if len(indices) == 1 else f"{noun}s {indices[0]}-{indices[-1]}"


def _column_heading(table: ElementTable, columns: range, label_width: int, glyphs: GlyphSet) -> Text:
    """Format a line with the marks of the axes and the column indices."""
    marks = [mark.rjust(wide) for mark, wide in zip(table.marks[:-1], table.index_widths, strict=False)]
    line = Text(_row_label(table, " ".join(marks), label_width, table.marks[-1], glyphs), "dim")
    for column in columns:
        line.append(f"{column} ".rjust(table.cell_width), "dim")
    return line


def _row_label(table: ElementTable, index_text: str, label_width: int, mark: str, glyphs: GlyphSet) -> str:
    """Format the label of a row.

    The label consists of indices, a vertical line, and the mark of the last axis.
    """
    if len(table.shape) < 2:
        return clip_text(mark, label_width, glyphs).rjust(min(table.last_mark_width, label_width))
    room = label_width - table.last_mark_width - 2
    if room < 1:
        return " " * label_width
    line = glyphs.vertical
    index_text = (
        index_text if len(index_text) <= room else f"{glyphs.ellipsis[0]}{index_text[len(index_text) - room + 1 :]}"
    )
    return f"{index_text.rjust(room)} {line}{mark.rjust(table.last_mark_width)}"


def _table_rows(table: ElementTable, rows: range, columns: range, label_width: int, glyphs: GlyphSet) -> list[Text]:
    """Format the rows of a table with their labels.

    An index is omitted if it equals the index in the row above.
    """
    lines, previous = list[Text](), None
    for row in rows:
        index = unravel(row * table.columns, table.shape)
        if row != rows[0] and _is_block_start(table, row):
            lines.append(_separator_line(table, label_width, len(columns), glyphs))
            previous = None
        texts = [
            (" " if previous is not None and index[: axis + 1] == previous[: axis + 1] else str(index[axis])).rjust(
                wide
            )
            for axis, wide in enumerate(table.index_widths[:-1])
        ]
        previous = index
        line = Text(_row_label(table, " ".join(texts), label_width, "", glyphs), "dim")
        for column in columns:
            is_last = column == columns[-1]
            line.append_text(_element_text(table, (*index[:-1], column) if index else (), is_last=is_last))
        lines.append(line)
    return lines


def _element_text(table: ElementTable, index: Index, *, is_last: bool) -> Text:
    """Format an element, in brackets if it is highlighted.

    The style has the input index of the element as the metadata `cell`. Elements that a pad added have no such
    metadata.
    """
    element = table.element_at(index)
    text = element.text.rjust(table.cell_width - 2)
    meta_item = None if element.input_index is None else ("cell", element.input_index)
    if table.tinted_axis is not None and element.input_index:
        style = tint_style(
            element.input_index[table.tinted_axis], is_marked=element.is_highlighted, meta_item=meta_item
        )
    else:
        style = make_style(bold=element.is_highlighted, reverse=element.is_highlighted, meta_item=meta_item)
    if element.is_highlighted:
        return Text(f"[{text}]", style)
    end = "" if is_last else " "  # the blank after the last column has no colour, because it is stripped in some rows
    return Text(f" {text}{end}", style)


def tint_style(index: int, *, is_marked: bool = False, meta_item: tuple[str, object] | None = None) -> Style:
    """Return the style of an element with a given index along the tinted axis.

    A marked element is drawn in reverse video.
    """
    tint, ink = TINTS[index % len(TINTS)], TINT_INK
    return make_style(
        tint if is_marked else ink, bold=is_marked, background=ink if is_marked else tint, meta_item=meta_item
    )


def _separator_line(table: ElementTable, label_width: int, column_count: int, glyphs: GlyphSet) -> Text:
    line, crossing = glyphs.horizontal, glyphs.box_lines[-1]
    if len(table.shape) < 2:
        return Text(line * (label_width + column_count * table.cell_width), "dim")
    left = label_width - table.last_mark_width - 1
    return Text(f"{line * left}{crossing}{line * (table.last_mark_width + column_count * table.cell_width)}", "dim")


def build_tensor_path(
    answer: Trace | Chain, named_sizes: Mapping[str, int] | None = None, *, complete: bool = True
) -> TensorPath:
    """Build the path of elements through an answer.

    `named_sizes` contains the sizes of named dims; by default, these are the smallest sizes that meet the conditions.
    If `complete` is False, the path ends before the first stage with several operands, windows or padding.

    Raises `ShapeError` (usage) if no small sizes meet the conditions, or if `named_sizes` omits a named dim. If
    `complete` is True, the error is also raised for a refused request, for the op `shape`, and for several operands or
    windows.
    """
    if complete and answer.output is None:
        raise usage_error("the request is refused, so no element moves")
    all_layouts = stage_layouts(answer)
    followed = (Pad,) if complete else ()
    computing = (
        index
        for index, layout in enumerate(all_layouts)
        if isinstance(layout.stage.move, Combine) and not isinstance(layout.stage.move, followed)
    )
    end = next(computing, len(all_layouts))
    if complete and end < len(all_layouts):
        raise usage_error("elements of several operands, or of windows, cannot be followed")
    all_layouts = all_layouts[:end]
    has_names = not is_concrete((*answer.input, *[dim for layout in all_layouts for dim in layout.stage.after or ()]))
    sizes = named_sizes if named_sizes is not None else example_sizes(answer) if has_names else {}
    if complete and any(isinstance(layout.stage.move, ShapeVector) for layout in all_layouts):
        raise usage_error("shape returns dims, so there is no element to follow")
    moving = [layout for layout in all_layouts if not isinstance(layout.stage.move, ShapeVector | None)]
    moves = MoveChain(answer.input, tuple([layout.stage.move for layout in moving if layout.stage.move]))
    moves = moves.substitute(sizes_with_results(answer.results, sizes))
    labels = [("input", "", input_cells(answer)), *[(layout.name, layout.title, layout.cells) for layout in moving]]
    if not is_concrete([dim for shape in moves.shapes for dim in shape]):
        raise usage_error("a named dim has no size, so no element can be followed")
    points = [
        PathTensor(name, title, tuple([int(str(dim)) for dim in shape]), tuple([cell.mark for cell in cells]))
        for (name, title, cells), shape in zip(labels, moves.shapes, strict=True)
    ]
    return TensorPath(tuple(points), moves.moves, sizes)


def draw_grid(
    answer: Trace | Chain,
    cursor: Index | None = None,
    *,
    width: int = 78,
    height: int = 12,
    glyphs: GlyphSet = UNICODE,
    value: Callable[[Index], object] | None = None,
    tinted_axis: int | None = None,
    first: int = 0,
    more_keys: tuple[str, str] = ("", ""),
    last: int | None = None,
    with_divisions: bool = True,
) -> Text:
    """Draw the elements of the input and of each stage's output.

    `cursor` is the input index of the element to highlight in all tables. `value` returns the input element at an
    index; by default, elements are numbered from 0. Elements are coloured by their index along the axis `tinted_axis`
    of the input. `width` and `height` are in character cells. If not all tensors fit the width, those from index
    `first` on are drawn, and a note names the keys `more_keys` for earlier and later tensors. Tensors after the index
    `last` are not drawn. If a tensor is too large, the part around the highlighted element is drawn. If
    `with_divisions` is True, notes contain the division that infers each -1.

    Raises `ShapeError` (usage) if the elements cannot be traced to the output, or if there are none.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_grid(sc.transpose((2, 3)), (1, 0), glyphs=ASCII))
    input 2,3         transpose -> 3,2
    3 is at [1,0]     3 is at [0,1]
    a | b 0  1  2     b | a 0  1
    --+-----------    --+--------
    0 |   0  1  2     0 |   0 [3]
    1 |  [3] 4  5     1 |   1  4
                      2 |   2  5
    """
    journey = build_tensor_path(answer)
    if any(0 in point.shape for point in journey.tensors):
        raise usage_error("there are no elements to show")
    cursor = (0,) * len(answer.input) if cursor is None else cursor
    tables = [
        replace(
            _tensor_table(journey, number, index, lambda _, source: source == cursor, value, glyphs),
            tinted_axis=tinted_axis,
        )
        for number, index in enumerate(journey.indices_of(cursor))
    ][: None if last is None else last + 1]
    lines = arrange_tables(tables, width, height - bool(journey.sizes), glyphs, first, more_keys)
    note_texts = [
        *([f"with {sizes_text(journey.sizes)}"] if journey.sizes else []),
        *(division_notes(stage_layouts(answer)) if with_divisions else ()),
    ]
    notes = pack_notes([Text(note, "dim") for note in note_texts], width)
    return stack_texts([*lines, *notes[: max(bool(journey.sizes), height - len(lines))]])


def draw_question_grid(
    answer: Trace | Chain,
    cursor: Index | None = None,
    *,
    table_count: int = 2,
    width: int = 78,
    height: int = 12,
    glyphs: GlyphSet = UNICODE,
) -> Text:
    """Draw the elements of the input and the output of an answer.

    If `table_count` is 1, only the input is drawn. If `cursor` is given, the input element at this index is
    highlighted, and all output elements are hidden. Raises `ShapeError` (usage) like `draw_grid`.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_question_grid(sc.transpose((2, 3)), (0, 1), glyphs=ASCII))
    input 2,3         output 3,2
    1 is at [0,1]       |  0  1
    a | b 0  1  2     --+-------
    --+-----------    0 |  _  _
    0 |   0 [1] 2     1 |  _  _
    1 |   3  4  5     2 |  _  _
    """
    journey = build_tensor_path(answer)
    if any(0 in point.shape for point in journey.tensors):
        raise usage_error("there are no elements to show")
    input_table = _tensor_table(journey, 0, cursor, lambda _, source: source == cursor, None, glyphs)
    output_table = _tensor_table(journey, len(journey.tensors) - 1, None, lambda *_: False, None, glyphs)
    outer = enumerate(input_table.shape[:-1])
    input_table = replace(input_table, tinted_axis=next((axis for axis, size in outer if size > 1), None))
    marks = ("",) * len(output_table.shape)
    output_table = replace(
        output_table, title=f"output {shape_text(output_table.shape)}", long_title="", position_text="", marks=marks
    )
    if cursor is None:
        input_table = replace(input_table, position_text="")
    else:
        output_table = replace(output_table, element_at=lambda _: ElementCell(glyphs.placeholder, (), False))
    return stack_texts(arrange_tables([input_table, output_table][:table_count], width, height, glyphs))


def draw_output_grids(
    answers: tuple[Trace | Chain, Trace | Chain],
    counterexample: Counterexample,
    *,
    index: Index | None = None,
    tinted_axis: int | None = None,
    width: int = 78,
    height: int = 12,
    glyphs: GlyphSet = UNICODE,
) -> Text:
    """Draw the outputs of two answers side by side.

    The parts around `index` are drawn, by default those around the first difference. Elements are coloured by their
    index along the axis `tinted_axis` of the input. Raises `ShapeError` (usage) if there are no elements.

    >>> import shapecalc as sc
    >>> pair = sc.chain("2,3", "transpose 1,0"), sc.chain("2,3", "reshape 3,2")
    >>> draw_output_grids(pair, sc.equiv(*pair).counterexample).plain.splitlines()[:2]
    ['first 3,2        second 3,2', '3 is at [0,1]    1 is at [0,1]']
    """
    journeys = [build_tensor_path(answer, counterexample.sizes) for answer in answers]
    marked = counterexample.index if index is None else index
    tables = _output_tables(journeys, ("first", "second"), marked, glyphs)
    tinted = [replace(table, tinted_axis=tinted_axis) for table in tables]
    return stack_texts(arrange_tables(tinted, width, height, glyphs))


def _output_tables(
    paths: Iterable[TensorPath], names: tuple[str, str], index: Index | None, glyphs: GlyphSet
) -> list[ElementTable]:
    """Return the tables of two outputs, with one element highlighted."""
    tables = []
    for name, journey in zip(names, paths, strict=True):
        last = len(journey.tensors) - 1
        if 0 in journey.tensors[last].shape:
            raise usage_error("there are no elements to show")
        table = _tensor_table(journey, last, index, lambda at, _: at == index, None, glyphs)
        title, at = f"{name} {shape_text(table.shape)}", "" if index is None else table.position_text
        tables.append(replace(table, title=title, long_title="", position_text=at))
    return tables


def _tensor_table(
    path: TensorPath,
    tensor_index: int,
    index: Index | None,
    is_highlighted: Callable[[Index, Index | float], bool],
    value: Callable[[Index], object] | None,
    glyphs: GlyphSet,
) -> ElementTable:
    """Return the table of a tensor, centred on an element.

    If `index` is None, the table starts at the first element. `is_highlighted` is called with the index of an element
    in the tensor, and with its index in the input. `value` returns the input element at an index; by default, elements
    are numbered from 0, and elements that were added by a pad are shaded.
    """
    point = path.tensors[tensor_index]
    focus = (0,) * len(point.shape) if index is None else index

    def make_element(element_index: Index) -> ElementCell:
        source = path.source_index(tensor_index, element_index)
        if not isinstance(source, tuple):
            text = glyphs.shade if value is None else clip_text(str(source), MAX_VALUE_WIDTH, glyphs)
            return ElementCell(text, None, is_highlighted(element_index, source))
        shown = ravel(source, path.tensors[0].shape) if value is None else value(source)
        return ElementCell(
            clip_text(escape_unprintable(str(shown)), MAX_VALUE_WIDTH, glyphs),
            source,
            is_highlighted(element_index, source),
        )

    separator, last_number = f" {glyphs.maps_to} " if tensor_index else " ", str(prod(path.tensors[0].shape) - 1)
    fills = [str(move.fill) for move in path.moves[:tensor_index] if isinstance(move, Pad) and value is not None]
    return ElementTable(
        f"{point.name}{separator}{shape_text(point.shape)}",
        f"{point.title}{separator}{shape_text(point.shape)}" if tensor_index else "",
        f"{make_element(focus).text} is at {index_text(index)}" if index is not None else index_text(index),
        point.shape,
        tuple(mark_text(mark, glyphs) for mark in point.marks),
        focus,
        min(MAX_VALUE_WIDTH, max(map(len, (make_element(focus).text, last_number, *fills)))),
        make_element,
    )


def draw_mistake_grids(
    answer: Trace | Chain, mistake: Trace | Chain, *, width: int = 78, height: int = 12, glyphs: GlyphSet = UNICODE
) -> Text:
    """Draw the outputs of an answer and of a mistake side by side.

    `mistake` is the answer to a request that was mistaken for the right one.

    The tables are centred on the first difference. Raises `ShapeError` (usage) if a request is refused, if there are no
    elements, or if no small sizes meet the conditions of both answers.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_mistake_grids(sc.transpose((2, 3), (1, 0)), sc.reshape((2, 3), (3, 2)), glyphs=ASCII))
    asked 3,2        mistaken 3,2
    3 is at [0,1]    1 is at [0,1]
    b | a 0  1       ~x | ~y 0  1
    --+--------      ---+---------
    0 |   0 [3]       0 |    0 [1]
    1 |   1  4        1 |    2  3
    2 |   2  5        2 |    4  5
    """
    sizes = _common_sizes(answer, mistake)
    ours, theirs = build_tensor_path(answer, sizes), build_tensor_path(mistake, sizes)
    tables = _output_tables((ours, theirs), ("asked", "mistaken"), _first_difference(ours, theirs), glyphs)
    return stack_texts(arrange_tables(tables, width, height, glyphs))


def _common_sizes(answer: Trace | Chain, mistake: Trace | Chain) -> Mapping[str, int]:
    """Return sizes of named dims that meet the conditions of both answers.

    The result is empty if all dims are numbers or the answers are equivalent.
    """
    if answer.is_concrete and mistake.is_concrete:
        return {}
    counterexample = check_equivalence(answer, mistake).counterexample
    return {} if counterexample is None else counterexample.sizes


def _first_difference(first: TensorPath, second: TensorPath) -> Index | None:
    """Return the first index at which two outputs differ.

    Returns None if they are equal at all indices of `_indices_to_compare`.
    """
    last_points = len(first.tensors) - 1, len(second.tensors) - 1
    common = [*map(min, first.tensors[-1].shape, second.tensors[-1].shape)]
    if 0 in common or len(first.tensors[-1].shape) != len(second.tensors[-1].shape):
        return None
    for index in _indices_to_compare(common):
        if first.source_index(last_points[0], index) != second.source_index(last_points[1], index):
            return index
    return None


def _indices_to_compare(shape: list[int]) -> Iterator[Index]:
    """Yield the indices at which two outputs of a shape are compared.

    These are the first `MAX_COMPARED_ELEMENTS` indices in C order, and then the second index along each axis, beginning
    with the last axis.
    """
    yield from islice(product(*map(range, shape)), MAX_COMPARED_ELEMENTS)
    for axis in reversed(range(len(shape))):
        if shape[axis] > 1:
            yield tuple(int(other == axis) for other in range(len(shape)))
