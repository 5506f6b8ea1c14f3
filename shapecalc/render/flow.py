"""The flow diagram: a column of dims per stage, connected by wires.

Column 0 is the input shape, and column n is the output shape of stage n. Row i of a column is dim i, so the wire of an
axis that keeps its index is a straight line. A token is the requested value of a dim, such as 0 or -1; it is drawn on
the wire that leads to the dim. A placeholder replaces a dim that the user must predict. A map is a compact flow
diagram. The module also draws two single lines: the names of the stages, and the shapes after the stages.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.origins import group_axes, split_mixed_groups
from shapecalc.core.record import Record, replace
from shapecalc.core.text import format_count, join_with_and, shape_text
from shapecalc.render.canvas import (
    UNICODE,
    Canvas,
    GlyphSet,
    choose_row_pitch,
    clip_line,
    clip_text,
    make_style,
    pack_notes,
    rows_around,
)
from shapecalc.render.stage_layout import (
    DimCell,
    StageLayout,
    cell_mark_text,
    hide_dims,
    lay_out_answer,
    layout_index,
    mark_colour,
    mark_text,
    stage_layouts,
    stage_operands,
)
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.render.wires import Wiring, draw_wires, is_partially_connected, route_wires

Placeholders = Mapping[tuple[int, int], str]
"""The placeholder of each hidden dim, keyed by the column and the index of the dim."""
NO_PLACEHOLDERS: Placeholders = {}
"""The empty mapping, for drawings in which all dims are visible."""
SCALAR_TEXT = "[]"
OUTPUT_HEADING = "output"
"""The heading of the last column of a map; all headings of a map are short."""
MAX_DIM_WIDTH = 14
MAX_SPACED_AXES = 5
"""The maximum number of axes with a blank line between their rows.

The blank lines are drawn only if no height is specified and some wires have labels.
"""
MAX_MIXING_NOTES = 4
"""The maximum number of notes on mixed axes per stage.

One general note replaces a larger number of notes.
"""
LABELLED_KINDS = (StageKind.BROADCAST, StageKind.PRODUCT, StageKind.WINDOW)
"""The kinds of stages that sum or repeat axes; the wires of these axes end at a label."""
LABEL_SPACE = 4
"""The width of the space around the label of a wire, in cells."""
SPACINGS = ((2, 16), (2, 11), (2, 7), (2, 3), (1, 3), (1, 1))
"""The possible distances between rows, in lines, each with a minimum length of wires, in cells.

The first item that fits is used.
"""


MAX_STRAIGHT_END_LENGTH = 1
"""The maximum length of the horizontal end of a straight wire, in cells."""
MAP_SPACING_COUNT = 2
"""The number of items at the start of `SPACINGS` that only maps use."""


def column_placeholders(placeholders: Placeholders, column: int) -> Mapping[int, str]:
    """Return the placeholders of a column, keyed by the index of the dim."""
    return {row: text for (blank_column, row), text in placeholders.items() if blank_column == column}


class Column(Record):
    """A column of the flow diagram: dims, and their marks and sizes as text."""

    cells: tuple[DimCell, ...]
    marks: tuple[str, ...]
    dims: tuple[str, ...]
    is_scalar: bool
    min_width: int = 0

    @property
    def mark_width(self) -> int:
        """The width of the widest mark."""
        return max(map(len, self.marks), default=0)

    @property
    def width(self) -> int:
        """The width of the column: a mark, a space and a dim, or the minimum width."""
        dims = max(map(len, self.dims), default=len(SCALAR_TEXT) * self.is_scalar)
        return max(self.mark_width + bool(self.mark_width) + dims, self.min_width)


class ColumnGap(Record):
    """The gap between two columns of the flow diagram: wires, title and tokens."""

    wiring: Wiring
    title: str
    tokens: tuple[str, ...]
    """The token on the wire to each output dim; empty for a dim without a token."""
    min_wire_width: int
    is_beside_heading: bool = False
    """Whether the next column has a heading, over which the title must not extend."""
    label_width: int = 0
    """The width, in cells, that the labels of wires need in the gap."""

    def width(self, column_width: int) -> int:
        """Return the width that the wires, tokens and title of the gap need.

        The title can extend over the next column, whose width is `column_width`.
        """
        tokens = max(map(len, self.tokens), default=0)
        column_width *= not self.is_beside_heading
        lines = self.wiring.width + self.min_wire_width + (tokens + 2 if tokens else 0)
        return max(lines, len(self.title) + 1 - column_width, self.min_wire_width + 2, self.label_width)


class FlowLayout(Record):
    """The columns and gaps of a flow diagram, and the range of visible columns."""

    columns: tuple[Column, ...]
    gaps: tuple[ColumnGap, ...]
    visible_columns: tuple[int, int]
    """The indices of the first and the last visible column, both inclusive."""
    pitch: int
    """The distance between two rows, in lines."""

    @property
    def height(self) -> int:
        """The height of the visible columns in lines, without the heading."""
        first, last = self.visible_columns
        dims = max([1, *(len(column.cells) for column in self.columns[first : last + 1])])
        return max([1 + self.pitch * (dims - 1), *(gap.wiring.height for gap in self.gaps[first:last])])


def draw_token(canvas: Canvas, cell: DimCell, token: str, step_index: int, position: tuple[int, int]) -> None:
    """Draw the requested value of a dim on its wire.

    A pointer is added if step `step_index` determines the dim. `position` is the column and row of the canvas at which
    the wire ends.
    """
    right, y = position
    if token:
        canvas.write_text(right - len(token) - 4, y, f" {token} ", "bold")
    if cell.step_index == step_index and cell.dim is not None:
        canvas.write_text(right - 1, y, canvas.glyphs.pointer, "bold")


def make_column(
    cells: tuple[DimCell, ...], glyphs: GlyphSet, layout: StageLayout | None = None, *, min_width: int = 0
) -> Column:
    """Return the column of a stage's output dims, or of the input dims.

    The output of the op `shape` is a vector, so its column has indices instead of marks.
    """
    finished = layout is None or (layout.problem is None and layout.stage.is_finished)
    sizes = [glyphs.unknown if cell.dim is None else clip_text(str(cell.dim), MAX_DIM_WIDTH, glyphs) for cell in cells]
    dims = tuple([cell.placeholder or dim for cell, dim in zip(cells, sizes, strict=True)])
    if layout is not None and layout.stage.kind is StageKind.SHAPE:
        return Column(cells, tuple(f"[{index}]" for index in range(len(cells))), dims, is_scalar=finished and not cells)
    marks = tuple("" if cell.placeholder else cell_mark_text(cell, glyphs) for cell in cells)
    return Column(cells, marks, dims, finished and not cells, min_width)


def _make_gap(
    layout: StageLayout,
    input_column: Column,
    output_column: Column,
    size: tuple[int, int],
    spacing: tuple[int, int],
    glyphs: GlyphSet,
    *,
    is_only: bool = False,
) -> ColumnGap:
    """Return the gap of a stage, between its input and its output column.

    `size` is the available width in cells and height in lines; `spacing` is an item of `SPACINGS`.
    """
    tokens = _wire_tokens(layout, glyphs)
    for out in layout.size_only_dims:
        tokens[out] += f"{glyphs.copied_size_line}{mark_text(layout.cells_before[out].mark, glyphs)}"
    title, (pitch, room), (width, height) = clip_text(layout.title, 24, glyphs), spacing, size
    least, free = (
        input_column.width + output_column.width + SPACINGS[-1][1],
        len(title) + 1 - output_column.width - SPACINGS[-1][1],
    )
    wires = route_wires(layout, pitch, (width - least - 2, height), free, glyphs, is_only=is_only)
    return ColumnGap(wires, title, tuple(tokens), min(room, MAX_STRAIGHT_END_LENGTH) if wires.straight_width else room)


def _wire_tokens(layout: StageLayout, glyphs: GlyphSet) -> list[str]:
    """Return the token on the wire to each output dim of a stage.

    A token is the requested value of a dim, such as 0 or -1. If a reshape contains such a value, the sizes of its other
    dims are tokens too.
    """
    tokens, asked = [cell.token for cell in layout.cells], layout.stage.requested
    if layout.is_regrouping and len(asked) == len(tokens) and layout.stage.after not in (None, asked):
        tokens = [token or str(dim) for token, dim in zip(tokens, asked, strict=True)]
    joined = layout.request.arguments.get("axis") if layout.stage.kind is StageKind.JOIN else None
    if tokens and isinstance(joined, int) and layout.problem is None and len(layout.cells) == len(layout.cells_before):
        tokens[joined % len(tokens)] = _join_token(layout, joined % len(tokens))
    return [clip_text(token, MAX_DIM_WIDTH, glyphs) for token in tokens]


def _join_token(layout: StageLayout, axis: int) -> str:
    """Return the text on the wire of the axis along which operands are joined.

    For one operand, the text is its name and dim; for several operands, it is their names or their number.
    """
    operands = [*zip(layout.operand_names, stage_operands(layout)[1:], strict=False)]
    if any(axis >= len(operand.shape) for _, operand in operands):
        return ""
    if len(operands) == 1:
        name, operand = operands[0]
        return f"+ {name}{axis} {operand.shape[axis]}"
    names = f"+ {' '.join(f'{name}{axis}' for name, _ in operands)}"
    return names if len(names) <= MAX_DIM_WIDTH else f"+ {len(operands)} operands"


def _wire_end_labels(layout: StageLayout) -> dict[int, str]:
    """Return the labels of wires that end inside a stage, keyed by axis.

    A label states whether the axis is summed or repeated.

    >>> import shapecalc as sc
    >>> _wire_end_labels(stage_layouts(sc.broadcast((8, 1, 6), (7, 1)))[0])
    {1: 'repeated'}
    """
    if layout.stage.kind not in LABELLED_KINDS:
        return {}
    summed = {axis for step in layout.stage.steps if step.out is None for axis in step.sources[:1]}
    kept = {axis for axes in layout.wires for axis in axes}
    axes = (axis for axis in range(len(layout.cells_before)) if axis not in kept)
    is_window = layout.stage.kind is StageKind.WINDOW
    return {axis: "summed" if is_window or axis in summed else "repeated" for axis in axes}


def _operand_dim_labels(layout: StageLayout, glyphs: GlyphSet) -> dict[int, str]:
    """Return the labels of output dims that come only from another operand.

    A label is the name of the dim in that operand. The labels are keyed by output dim.
    """
    if layout.stage.kind not in LABELLED_KINDS:
        return {}
    return {
        out: cell_mark_text(cell, glyphs)
        for out, cell in enumerate(layout.cells)
        if not layout.wires[out] and cell_mark_text(cell, glyphs)[-1:].isdigit()
    }


def _label_width(layout: StageLayout, glyphs: GlyphSet) -> int:
    """Return the minimum width of a gap for the labels at both ends of a wire.

    The width is 0 if the stage has no labels.
    """
    ends = max(map(len, _wire_end_labels(layout).values()), default=-LABEL_SPACE)
    names = max(map(len, _operand_dim_labels(layout, glyphs).values()), default=-LABEL_SPACE)
    return ends + names + 2 * LABEL_SPACE if max(ends, names) > 0 else 0


def _fit_columns(widths: Sequence[int], gaps: tuple[ColumnGap, ...], index: int, width: int) -> tuple[int, int]:
    """Return the first and the last of the columns that fit a width.

    The columns before and after the stage at `index` are always included.
    """
    widths_with_gap = [gap.width(after) + after for gap, after in zip(gaps, widths[1:], strict=True)]
    first, last = max(0, index), max(0, index + 1)
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


def draw_flow(
    answer: Trace | Chain,
    step_index: int | None = None,
    *,
    width: int = 78,
    height: int | None = None,
    glyphs: GlyphSet = UNICODE,
    selected_dim: tuple[int, int] | None = None,
    placeholders: Placeholders = NO_PLACEHOLDERS,
    hides_refusal: bool = False,
    is_map: bool = False,
) -> Text:
    r"""Draw the flow diagram of an answer at a step, by default after all steps.

    `width` and `height` are in character cells. If not all axes fit, those around the current step are drawn.
    `selected_dim` is the column and the index of a dim; this dim and the dims that it depends on are highlighted. The
    style of each dim has the position of the dim as the metadata `dim`. `placeholders` maps the positions of hidden
    dims to their placeholders; hidden dims have no wires. If `hides_refusal` is True, neither the refused dim nor the
    problem is shown. If `is_map` is True, headings are short, and only dims that are determined up to the current step
    are shown.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_flow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), glyphs=ASCII))
    input transpose 1,0,2   reshape 0,-1
    a   2 -\/---------- b 3 ----- 0 -- b  3
    b   3 -/\---------- a 2 -+-- -1 -- ac 8
    c   4 ------------- c 4 -'
    """
    hidden, (cells, all_layouts) = partial(column_placeholders, placeholders), lay_out_answer(answer)
    all_layouts = tuple([hide_dims(layout, hidden(column)) for column, layout in enumerate(all_layouts, 1)])
    if hides_refusal:
        all_layouts = tuple(replace(layout, problem=None, refused_dim=None) for layout in all_layouts)
    if is_map:
        all_layouts = tuple([replace(layout, title=layout.name) for layout in all_layouts])
    current, room = layout_index(all_layouts, step_index), 16 if height is None else height - 1
    flow_layout = _lay_out_columns(cells, all_layouts, current, (width, room), height, glyphs, is_map=is_map)
    shown_step = step_index if is_map and not placeholders else None
    make_notes = partial(_flow_notes, all_layouts, with_explanations=not placeholders, is_map=is_map)
    notes = make_notes(flow_layout, glyphs, shown_step)
    room -= 0 if height is None else len(pack_notes(notes, width))
    if flow_layout.height > room and any(gap.wiring.named_wires for gap in flow_layout.gaps):
        flow_layout = _lay_out_columns(cells, all_layouts, current, (width, room - 1), height, glyphs, is_map=is_map)
        notes = make_notes(flow_layout, glyphs, shown_step)
    lines = flow_layout.height
    rows = range(lines)
    if lines > room:
        rows = rows_around(_focused_row(answer, step_index, selected_dim), lines, room - (height is not None))
        notes.insert(0, Text(f"{glyphs.ellipsis} axes {rows[0]} to {rows[-1]} of {lines}", "dim"))
    lit = _dim_ancestors(all_layouts, None if selected_dim in placeholders else selected_dim)
    current_step = len(answer.steps) if step_index is None else step_index
    drawing = _FlowDrawing(
        Canvas(glyphs, 1 + rows.stop), flow_layout.pitch, current_step, lit, placeholders, selected_dim, shown_step
    )
    drawing.draw(all_layouts, flow_layout)
    text = drawing.canvas.render(width, [0, *(1 + row for row in rows)])
    for note in pack_notes(notes, width):
        text.append("\n").append_text(note)
    return text


def _lay_out_columns(
    cells: tuple[DimCell, ...],
    all_layouts: tuple[StageLayout, ...],
    index: int,
    size: tuple[int, int],
    height: int | None,
    glyphs: GlyphSet,
    *,
    is_map: bool,
) -> FlowLayout:
    """Return the layout of the flow diagram with the largest possible spacing.

    `size` is the available width in cells and height in lines. If not all stages fit, those around the stage at `index`
    are visible.
    """
    input_column = make_column(cells, glyphs, min_width=len("input"))
    columns = (input_column, *(make_column(layout.cells, glyphs, layout) for layout in all_layouts))
    label_width = _label_width(all_layouts[0], glyphs) if is_map and len(all_layouts) == 1 else 0
    if is_map and all_layouts:
        columns = (*columns[:-1], replace(columns[-1], min_width=len(OUTPUT_HEADING)))
    axes = max([1, *(len(column.cells) for column in columns)])
    has_knots = any(is_partially_connected(layout, link) for layout in all_layouts for link in layout.links)
    reserved, most = (2, 20) if is_map and is_long_permutation(all_layouts) else (4, 16)
    pitch = 1 + (has_knots and axes <= MAX_SPACED_AXES)
    pitch = pitch if height is None else choose_row_pitch(axes, height, reserved, most)
    for lines, room in SPACINGS if is_map else SPACINGS[MAP_SPACING_COUNT:]:
        if lines > pitch:
            continue
        stages = zip(all_layouts, columns, columns[1:], strict=False)
        gaps = tuple(
            [
                _make_gap(*stage, size, (lines, room), glyphs, is_only=is_map and len(all_layouts) == 1)
                for stage in stages
            ]
        )
        if is_map and gaps:
            gaps = (*gaps[:-1], replace(gaps[-1], is_beside_heading=True, label_width=label_width))
        widths = [column.width for column in columns]
        window = _fit_columns(widths, gaps, index, size[0])
        gap_widths = [gap.width(after) + 2 for gap, after in zip(gaps, widths[1:], strict=True)]
        if window == (0, len(all_layouts)) and sum(widths) + sum(gap_widths) <= size[0]:
            break
    return FlowLayout(columns, gaps, window, lines)


def is_long_permutation(all_layouts: Sequence[StageLayout]) -> bool:
    """Return whether the only stage permutes many axes.

    Its wires are hard to follow if there are no blank lines between the rows.
    """
    is_permutation = len(all_layouts) == 1 and all_layouts[0].stage.kind is StageKind.PERMUTE
    return is_permutation and len(all_layouts[0].cells) > MAX_SPACED_AXES


def _focused_row(answer: Trace | Chain, step_index: int | None, selected_dim: tuple[int, int] | None) -> int:
    """Return the row of the selected dim, or of the dim that a step determines."""
    if selected_dim is not None:
        return selected_dim[1]
    step = answer.steps[step_index] if step_index is not None and step_index < len(answer.steps) else None
    if step is None:
        return 0
    return step.out if step.out is not None else min(step.sources, default=0)


def _flow_notes(
    all_layouts: tuple[StageLayout, ...],
    flow_layout: FlowLayout,
    glyphs: GlyphSet,
    shown_step: int | None,
    *,
    with_explanations: bool,
    is_map: bool,
) -> list[Text]:
    """Return the notes below the flow diagram.

    Notes on copied sizes, operands and mixed axes require `with_explanations`; notes on omitted stages and on the
    refusal do not. The notes on a stage appear after the step `shown_step` has completed it.
    """
    notes, (first, last) = list[str](), flow_layout.visible_columns
    shown_layouts = all_layouts[first:last]
    is_done = [shown_step is None or layout.step_range.stop <= shown_step + 1 for layout in shown_layouts]
    shown_layouts = tuple([layout for layout, done in zip(shown_layouts, is_done, strict=True) if done])
    for layout, gap in zip(shown_layouts, flow_layout.gaps[first:last], strict=False):
        if layout.stage.kind is StageKind.SHAPE and layout.stage.is_finished:
            sizes = format_count(len(layout.cells), "size", "sizes")
            notes.append(f"{glyphs.copied_size_line} copies a size: the answer is a vector of {sizes}")
        for out in sorted(layout.size_only_dims)[:1]:
            line = glyphs.horizontal
            mark = mark_text(layout.cells_before[out].mark, glyphs)
            notes.append(f"{gap.tokens[out]} copies only the size of {mark}; elements come by {line}")
        if gap.wiring.is_unroutable:
            notes.append("no room for lines: follow the letters")
    notes += _operand_notes(shown_layouts)
    notes += [note for layout in shown_layouts if layout.newly_marked_dims for note in _mixing_notes(layout, glyphs)]
    notes = notes if with_explanations else []
    if flow_layout.visible_columns != (0, len(all_layouts)):
        notes.append(f"{glyphs.ellipsis} stages {first + 1} to {last} of {len(all_layouts)}")
    texts = [Text(note, "dim") for note in dict.fromkeys(notes)]
    if shown_layouts and not is_map and (problem := shown_layouts[-1].problem):
        texts.append(Text(f"{glyphs.fail} stopped at {shown_layouts[-1].name}: {problem.rule}", BOLD_ERROR))
    return texts


def _operand_notes(shown_layouts: Sequence[StageLayout]) -> list[str]:
    """Return notes such as `w: 64,3,7,7` on the operands of visible stages."""
    return [
        f"{layout.operand_names[operand.number - 1]}: {shape_text(operand.shape)}"
        for layout in shown_layouts
        if not {"kernel", "target"} & {*layout.request.arguments}
        for operand in stage_operands(layout)
        if 0 < operand.number <= len(layout.operand_names)
    ]


def _mixing_notes(layout: StageLayout, glyphs: GlyphSet) -> list[str]:
    """Return notes on dims that mix several axes, as in `~x and ~y mix a and b`."""
    notes = list[str]()
    for group in split_mixed_groups(
        group_axes(len(layout.cells_before), layout.wires, layout.newly_marked_dims),
        layout.wires,
        layout.newly_marked_dims,
    ):
        outs = [mark_text(layout.cells[out].mark, glyphs) for out in group.outputs if out in layout.newly_marked_dims]
        axes = [mark_text(layout.cells_before[axis].mark, glyphs) for axis in group.sources]
        if outs:
            notes.append(f"{join_with_and(outs)} {'mixes' if len(outs) == 1 else 'mix'} {join_with_and(axes)}")
    return notes if len(notes) <= MAX_MIXING_NOTES else ["~ mixes axes of the input"]


def _dim_ancestors(
    all_layouts: tuple[StageLayout, ...], selected_dim: tuple[int, int] | None
) -> frozenset[tuple[int, int]]:
    """Return the positions of the selected dim and of its ancestors.

    The ancestors of a dim are all dims that it depends on. A position is the column and the index of a dim.
    """
    if selected_dim is None:
        return frozenset()
    column, lit = selected_dim[0], {selected_dim[1]}
    result = {selected_dim}
    while column > 0:
        wires = all_layouts[column - 1].wires
        column, lit = column - 1, {axis for out in lit for axis in wires[out]}
        result |= {(column, axis) for axis in lit}
    return frozenset(result)


class _FlowDrawing(Record):
    """A drawing of a flow diagram, made from left to right on a canvas."""

    canvas: Canvas
    pitch: int
    step_index: int
    highlighted: frozenset[tuple[int, int]]
    """The positions of the selected dim, and of all dims on which it depends."""
    placeholders: Placeholders
    selected_dim: tuple[int, int] | None
    shown_step: int | None
    """The index of the last step whose wires are drawn, or None for all steps."""

    def draw(self, all_layouts: tuple[StageLayout, ...], flow_layout: FlowLayout) -> None:
        """Draw the visible columns and the wires between them."""
        first, last = flow_layout.visible_columns
        x = self.draw_column(flow_layout.columns[first], first, 0)
        strokes = self.canvas.glyphs
        title = f"{strokes.ellipsis}{all_layouts[first - 1].title}" if first else "input"
        title = (
            title
            if len(title) < x
            else strokes.ellipsis
            if self.shown_step is not None
            else clip_text(title, x - 1, strokes)
        )
        self.canvas.write_text(0, 0, title, "bold")
        for place in range(first, last):
            x = self.draw_stage(
                all_layouts[place], flow_layout.gaps[place], flow_layout.columns[place + 1], place + 1, x
            )

    def draw_column(self, column: Column, column_index: int, x: int) -> int:
        """Draw the dims of a column, and return the x coordinate after them."""
        widest = column.mark_width
        width = column.width - (widest + 1 if widest else 0)
        for row, (cell, mark, dim) in enumerate(zip(column.cells, column.marks, column.dims, strict=True)):
            if self.shown_step is not None and cell.step_index > self.shown_step and not cell.placeholder:
                mark, dim = "", self.canvas.glyphs.placeholder
            marked = f"{mark.ljust(widest)} " if widest else ""
            self.canvas.write_text(
                x, self._canvas_line(row), f"{marked}{dim.rjust(width)}", self._dim_style(cell, (column_index, row))
            )
        if column.is_scalar:
            self.canvas.write_text(x, 1, SCALAR_TEXT)
        return x + column.width + 1

    def draw_stage(self, layout: StageLayout, gap: ColumnGap, output_column: Column, column_index: int, x: int) -> int:
        """Draw a stage and its output column.

        Returns the x coordinate after the column.
        """
        right = x + gap.width(output_column.width)
        self.canvas.write_text(x, 0, gap.title, "bold" if layout.problem is None else BOLD_ERROR)
        draw_wires(
            self.canvas, gap.wiring, (x, right), lambda axes, outs: self._line_style(layout, outs, axes, column_index)
        )
        if layout.stage.kind is StageKind.SHAPE:
            self.canvas.dash_lines(x, right)
        if gap.label_width:
            self.draw_labels(layout, column_index, (x, right))
        for row, cell in enumerate(layout.cells):
            token = gap.tokens[row]
            if (column_index, row) in self.placeholders:
                token = clip_text(cell.token, MAX_DIM_WIDTH, self.canvas.glyphs)
            draw_token(self.canvas, cell, token, self.step_index, (right, self._canvas_line(row)))
            if layout.refused_dim == row:
                self.canvas.write_text(right - 1, self._canvas_line(row), self.canvas.glyphs.fail, BOLD_ERROR)
        if gap.is_beside_heading:
            self.canvas.write_text(right + 1, 0, OUTPUT_HEADING, "bold")
        return self.draw_column(output_column, column_index, right + 1)

    def draw_labels(self, layout: StageLayout, column_index: int, edges: tuple[int, int]) -> None:
        """Label the wires that end or begin inside a gap.

        A wire begins there if it comes from another operand. `edges` are the x coordinates of the left and the right
        end of the gap. A label that overlaps another wire is omitted.
        """
        (left, right), strokes = edges, self.canvas.glyphs
        for axis, label in _wire_end_labels(layout).items():
            text, style = f"{strokes.pointer} {label}", self._line_style(layout, (), (axis,), column_index)
            if self.canvas.is_blank(left + 2, self._canvas_line(axis), len(text)):
                self.canvas.write_text(left + 1, self._canvas_line(axis), text, style)
        for out, name in _operand_dim_labels(layout, strokes).items():
            text, style = f"{name} {strokes.horizontal}", self._line_style(layout, (out,), (), column_index)
            if self.canvas.is_blank(right - len(text) - 1, self._canvas_line(out), len(text) + 1):
                self.canvas.write_text(right - len(text), self._canvas_line(out), text, style)

    def _canvas_line(self, row: int) -> int:
        """Return the canvas row on which the dims with index `row` are drawn."""
        return 1 + self.pitch * row

    def _line_style(
        self, layout: StageLayout, out_dims: Collection[int], axes: Collection[int], column_index: int
    ) -> Style | None:
        """Return the style of the wires from some axes to some output dims.

        Hidden wires have the style None.
        """
        hue = "".join([mark_colour(layout.cells_before[axis].mark) for axis in axes if len(axes) == 1])
        if self.shown_step is not None and _first_step(layout, out_dims, axes) > self.shown_step:
            return None
        is_later = (
            out_dims and all(layout.cells[out].step_index > self.step_index for out in out_dims)
        ) or layout.step_range.start > self.step_index
        is_dimmed = is_later or (
            self.highlighted and not any((column_index, out) in self.highlighted for out in out_dims)
        )
        return make_style(hue, dim=bool(is_dimmed))

    def _dim_style(self, cell: DimCell, position: tuple[int, int]) -> Style:
        """Return the style of the dim at a position."""
        if position in self.placeholders:
            return make_style("", bold=True, reverse=position == self.selected_dim, meta_item=("dim", position))
        is_dimmed = cell.step_index > self.step_index or (self.highlighted and position not in self.highlighted)
        is_current, is_lit = cell.step_index == self.step_index, position in self.highlighted
        return make_style(
            mark_colour(cell.mark), dim=bool(is_dimmed), bold=is_current, reverse=is_lit, meta_item=("dim", position)
        )


def _first_step(layout: StageLayout, out_dims: Collection[int], axes: Collection[int]) -> int:
    """Return the index of the first step that determines a dim or drops an axis.

    Only the output dims in `out_dims` and the input axes in `axes` are considered.
    """
    if out_dims:
        return min(layout.cells[out].step_index for out in out_dims)
    steps = zip(layout.step_range, layout.stage.steps, strict=False)
    return next(
        (index for index, step in steps if step.out is None and {*axes} & {*step.sources}), layout.step_range.start
    )


def draw_stage_line(
    answer: Trace | Chain, step_index: int | None = None, *, width: int = 78, glyphs: GlyphSet = UNICODE
) -> Text:
    """Draw a line with the names of the stages and the current step.

    The style of a name has the index of the stage's first step as the metadata `step`. The style of the current step
    has the index of this step.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_stage_line(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, glyphs=ASCII))
    input > transpose > reshape [6 of 7: solve -1] > output
    """
    all_layouts = stage_layouts(answer)
    current = layout_index(all_layouts, step_index)
    line = Text(no_wrap=True, end="").append("input", _step_style(0))
    for place, layout in enumerate(all_layouts):
        line.append(f" {glyphs.pointer} ", "dim")
        first = min(layout.step_range.start, len(answer.steps))
        line.append(layout.name, _step_style(first, step_index is not None and place == current))
        if step_index is not None and place == current:
            line.append_text(_current_step_text(answer, step_index, glyphs))
    if answer.output is not None:
        line.append(f" {glyphs.pointer} ", "dim")
        line.append("output", _step_style(max(0, len(answer.steps) - 1)))
    return clip_line(line, width, glyphs)


def _current_step_text(answer: Trace | Chain, step_index: int, glyphs: GlyphSet) -> Text:
    """Format the number and the name of the current step.

    After the last step, return `done`, or the name of the rule that refuses the request.
    """
    if step_index < len(answer.steps):
        return Text(
            f" [{step_index + 1} of {len(answer.steps)}: {answer.steps[step_index].name}]",
            _step_style(step_index, True),
        )
    return Text(f" [{glyphs.fail} {answer.problem.rule}]", BOLD_ERROR) if answer.problem else Text(" [done]")


@lru_cache(maxsize=256)
def _step_style(step_index: int, bold: bool | None = None) -> Style:
    """Return the style of a text on which a click opens a step."""
    return Style(bold=bold, meta={"step": step_index})


def draw_shape_line(
    answer: Trace | Chain, step_index: int | None = None, *, width: int = 78, glyphs: GlyphSet = UNICODE
) -> Text:
    """Draw a line with the input shape and the shape after each stage.

    Dims that are determined by step `step_index` or later have placeholders. The output of the op `shape` is in
    brackets.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_shape_line(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, glyphs=ASCII))
    2,3,4 -> 3,2,4 -> 3,_
    """
    current_step = len(answer.steps) if step_index is None else step_index
    shapes = [",".join(map(str, answer.input)) or "[]"]
    shapes += [_shape_text_before(layout, current_step, glyphs) for layout in stage_layouts(answer)]
    line = Text(f" {glyphs.maps_to} ".join(clip_text(text, 30, glyphs) for text in shapes), no_wrap=True, end="")
    return clip_line(line, width, glyphs)


def _shape_text_before(layout: StageLayout, step_index: int, glyphs: GlyphSet) -> str:
    """Format the output shape of a stage before a step.

    Dims that are determined by the step or later have placeholders.
    """
    if layout.step_range.start > step_index or (not layout.cells and layout.problem):
        return glyphs.unknown
    dims = ",".join(str(cell.dim) if cell.step_index < step_index else glyphs.placeholder for cell in layout.cells)
    return f"[{dims}]" if layout.stage.kind is StageKind.SHAPE or not dims else dims
