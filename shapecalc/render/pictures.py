"""The pictures of steps, and the table that selects the picture of a step.

The element budget of a reshape compares element counts: that of the input, that of the known dims, and their quotient,
which replaces -1. Small counts are drawn as bars of blocks. Symbolic sizes, zeros and large counts are drawn as factors
that cancel.

Rulers show the block boundaries of the input axes above those of the output axes, over the same row of elements. The
stage diagram connects each input dim to its output dim, with the reason on the right. If a 0 copies only the size of an
axis, the axis is named beside the line.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import gcd

from rich.style import Style
from rich.text import Text

from shapecalc.core import rules
from shapecalc.core.answers import Chain, StageKind, Step, Trace
from shapecalc.core.dims import Dim, is_concrete, product, quotient
from shapecalc.core.origins import split_mixed_groups
from shapecalc.core.record import Record, replace
from shapecalc.core.text import dim_text, join_with_and, truncate
from shapecalc.render.canvas import (
    UNICODE,
    Canvas,
    GlyphSet,
    choose_row_pitch,
    clip_line,
    clip_text,
    make_style,
    rows_around,
    stack_texts,
    wrap_lines,
)
from shapecalc.render.flow import NO_PLACEHOLDERS, Placeholders, column_placeholders, draw_flow, draw_token
from shapecalc.render.operands import draw_operand_table, draw_windows, is_first_step_with_parameters
from shapecalc.render.rulers import SPACIOUS_HEIGHT, can_draw_rulers, draw_rulers, is_regrouping_step
from shapecalc.render.stage_layout import (
    COMBINING_KINDS,
    INFER_RULES,
    DimCell,
    StageLayout,
    cell_mark_text,
    hide_dims,
    is_window_step,
    layout_index,
    mark_colour,
    mark_text,
    size_only_note,
    stage_layouts,
    stage_operands,
    unresolved_dims,
    unresolved_trace,
)
from shapecalc.render.styles import BAR_COLOUR, BOLD_ERROR
from shapecalc.render.wires import draw_wires, route_wires

InformativeSteps = dict[int, tuple[StageLayout, Step | None]]
"""The steps with informative pictures, keyed by step index.

A value consists of the layout of the stage and the step, which is None for a refusal.
"""
TIMES = " * "
HIDDEN_DIM_LINE_LENGTH = 3
"""The length of the line before a hidden dim, in cells."""
NO_ROOM_NOTE = "no room for lines"
MAX_PICTURES = 4
"""The maximum number of pictures of an answer."""
COUNT_RULES = (rules.INDIVISIBLE, rules.INFER_LIMIT, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
"""The rules that refuse a request because of its element counts."""


class ElementBudget(Record):
    """The dims of a reshape whose element counts are compared.

    They are the input dims and the known dims; the known dims are the requested dims except -1.
    """

    input_dims: tuple[Dim, ...]
    known_dims: tuple[Dim, ...]
    inferred_index: int | None
    """The index of the -1, or None if the request has no -1."""
    excluded_indices: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The indices of the dims that are excluded from the element counts.

    The first tuple is for the input dims, the second for the known dims.
    """

    @property
    def element_counts(self) -> tuple[Dim, Dim]:
        """The products of the input dims and of the known dims, without excluded dims."""
        have, known = self.excluded_indices
        return _product_without(self.input_dims, have), _product_without(self.known_dims, known)


def _product_without(dims: tuple[Dim, ...], indices: Collection[int]) -> Dim:
    return product([dim for place, dim in enumerate(dims) if place not in indices])


class PictureKind(Record):
    """A kind of picture: the function that draws it, and the conditions for its use."""

    draw: Callable[..., Text]
    """The function that draws the picture of a step.

    Its parameters are those of `draw_stage_diagram`.
    """
    applies_to: Callable[[StageLayout, Step | None], bool]
    """A function that returns whether a step can be drawn in this way; the step is None for a refusal."""
    adds_to_flow: Callable[[Trace | Chain, StageLayout, Step | None, int], bool]
    """A function that returns whether the picture of a step shows more than the flow diagram."""
    has_heading: bool = False
    """Whether the heading of the stage is drawn above the picture if there is space for it."""
    gains_from_width: bool = False
    """Whether a wider picture shows more."""


def division_notes(all_layouts: Sequence[StageLayout]) -> Iterator[str]:
    """Yield a note with the division that infers each -1.

    >>> import shapecalc as sc
    >>> from shapecalc.render.stage_layout import stage_layouts
    >>> [*division_notes(stage_layouts(sc.reshape((2, 8, 3), (0, -1, 6))))]
    ['-1 = 48 / (2*6) = 4']
    """
    for layout in all_layouts:
        outs = {out for out, dim in enumerate(layout.stage.requested if layout.is_regrouping else ()) if dim == -1}
        settling = (step for step in layout.stage.steps if step.out in outs)
        yield from (f"-1 = {division_text(layout, step)} = {dim_text(step.dim)}" for step in settling)


def division_text(layout: StageLayout, step: Step) -> str:
    """Format the division that infers a -1.

    The dividend is the element count of the tensor, or the size of the axis that is split.

    >>> import shapecalc as sc
    >>> from shapecalc.render.stage_layout import stage_layouts
    >>> answer = sc.reshape(("N", 12, "H"), (0, -1))
    >>> division_text(stage_layouts(answer)[0], answer.steps[1])
    'N*12*H / N'
    """
    infers = step.rule in INFER_RULES
    link = next((link for link in layout.links if step.out in link.outputs), None)
    sources = range(len(layout.cells_before)) if infers or link is None else link.sources
    outs = range(len(layout.cells)) if infers or link is None else link.outputs
    have = [layout.stage.before[axis] for axis in sources]
    known = [layout.cells[out].dim or 0 for out in outs if out != step.out]
    if step.rule in INFER_RULES and (product(have), product(known)) != (step.facts["have"], step.facts["known"]):
        have, known = [step.facts["have"]], [step.facts["known"]]
    total = dim_text(product(have)) if is_concrete(have) else truncate(_product_text(have))
    divisor = truncate(_product_text(known))
    return f"{total} / {f'({divisor})' if '*' in divisor else divisor}"


def _product_text(dims: Sequence[Dim]) -> str:
    return "*".join(map(str, dims)) or "1"


def make_element_budget(layout: StageLayout) -> ElementBudget | None:
    """Return the element budget of a reshape.

    Returns None if a dim other than the -1 is unresolved.
    """
    negative_outs = (out for out, cell in enumerate(layout.cells) if cell.token.startswith("-"))
    inferred = next(
        (out for out in negative_outs if layout.cells[out].dim is None or layout.cells[out].token == "-1"), None
    )
    dims = [cell.dim for out, cell in enumerate(layout.cells) if out != inferred]
    empty = next((step for step in layout.stage.steps if step.rule == rules.INFERRED_EMPTY), None)
    known = tuple(dim for dim in dims if dim is not None)
    left_out = _excluded_indices(layout, inferred, empty)
    return ElementBudget(layout.stage.before, known, inferred, left_out) if len(known) == len(dims) else None


def _excluded_indices(
    layout: StageLayout, inferred_index: int | None, empty: Step | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indices of dims that are excluded from element counts.

    The first tuple is for the input dims, the second for the known dims. Some dialects exclude dims of size 0 before
    they infer -1.
    """
    if empty is None:
        return (), ()
    others = [out for out in range(len(layout.cells)) if out != inferred_index]
    if empty.facts["left_out"] is rules.ExcludedDims.ZEROS:
        zeros = tuple(axis for axis, cell in enumerate(layout.cells_before) if cell.dim == 0)
        return zeros, tuple(index for index, out in enumerate(others) if layout.cells[out].dim == 0)
    copied = [out for out in others if layout.cells[out].token == "0"]
    return tuple(copied), tuple(index for index, out in enumerate(others) if out in copied)


def draw_element_counts(
    _answer: Trace | Chain, layout: StageLayout, _step_index: int, *, width: int, height: int = 12, glyphs: GlyphSet
) -> Text:
    """Draw the element counts of a reshape as bars, or as factors that cancel.

    If `height` is at least `SPACIOUS_HEIGHT` lines, the bars are wider, and their elements are separated.

    >>> import shapecalc as sc
    >>> from shapecalc.render.stage_layout import stage_layouts
    >>> from shapecalc.render.canvas import ASCII
    >>> answer = sc.reshape((2, 3), (3, -1))
    >>> print(draw_element_counts(answer, stage_layouts(answer)[0], 1, width=60, glyphs=ASCII))
    have   2 * 3 = 6  ###|###
    known  3     = 3  ###
    -1     6 / 3 = 2  3 fits 2 times, nothing left over
    2 and 3 mix into 3 and 2
    """
    if layout.is_unresolved:
        return _draw_unresolved_budget(layout, width, height, glyphs)
    stage_budget = make_element_budget(layout)
    if stage_budget is None:
        return Text("the element counts are not known yet", end="", no_wrap=True)
    have, known = stage_budget.element_counts
    lines = None
    if (
        isinstance(have, int)
        and isinstance(known, int)
        and have > 0
        and known > 0
        and stage_budget.excluded_indices == ((), ())
    ):
        lines = _bar_lines(stage_budget, have, known, (width, height), glyphs)
    lines = lines or _factor_lines(stage_budget, layout, width)
    for step in layout.stage.steps:
        if step.rule in (*INFER_RULES, rules.REGROUPED):
            lines += [
                Text(f"holds when {condition.phrase}; otherwise refused", "bold") for condition in step.conditions
            ]
    summary = _regrouping_summary(layout)
    if summary and len(lines) < height:
        lines.append(Text(summary, "dim"))
    return stack_texts(wrap_lines(lines, width))


def _draw_unresolved_budget(layout: StageLayout, width: int, height: int, glyphs: GlyphSet) -> Text:
    """Draw the element counts of a reshape before its -1 is inferred.

    A placeholder replaces the bar of the -1.
    """
    inferred = next((cell for cell in layout.cells if cell.token == "-1"), None)
    others = [cell for cell in layout.cells if cell is not inferred]
    have, known = layout.stage.before, tuple([cell.dim for cell in others if cell.dim is not None])
    texts = (_factors_text(have, glyphs), TIMES.join(cell.placeholder or str(cell.dim) for cell in others) or "1")
    rows = zip(("have", "known", "-1"), (*texts, inferred.placeholder if inferred else ""), strict=True)
    lines = [f"{word.ljust(5)}  {clip_text(text, 26, glyphs)}" for word, text in rows]
    label_width, bars = max(map(len, lines)) + 2, list[Text]()
    counts = [count for side in (have, known) if isinstance(count := product(side), int) and count > 0]
    if (
        len(counts) == 2
        and len(known) == len(others)
        and (unit := _smallest_unit(counts[0], counts[1], width - label_width, 0))
    ):
        cells = min(6, (width - label_width) // (max(counts) // unit)) if height >= SPACIOUS_HEIGHT else 1
        whole = [Text().append(glyphs.block * (count // unit), BAR_COLOUR) for count in counts]
        bars = [_widen_bar(bar, cells, glyphs) for bar in whole]
    drawn = [Text(line.ljust(label_width)) for line in lines]
    for line, bar in zip(drawn, bars, strict=False):
        line.append_text(bar)
    return stack_texts([clip_line(line, width, glyphs) for line in drawn])


def _regrouping_summary(layout: StageLayout) -> str:
    """Describe which dims are kept, merged, split or mixed.

    Returns an empty string if the origin of some dim is unknown.
    """
    shape, new_shape = layout.stage.before, layout.stage.after
    if new_shape is None or {out for link in layout.links for out in link.outputs} != {*range(len(new_shape))}:
        return ""
    texts = []
    for group in split_mixed_groups(layout.links, layout.wires, layout.mixing_dims):
        before = join_with_and([dim_text(shape[axis]) for axis in group.sources])
        after = join_with_and([dim_text(new_shape[out]) for out in group.outputs])
        if group.is_partial:
            texts.append(f"{'a part' if len(group.sources) == 1 else 'parts'} of {before} becomes {after}")
        else:
            verb = group.verb
            texts.append(f"{before or after} {verb}" + (f" {after}" if verb.endswith("into") else ""))
    return "; ".join(texts)


def _factors_text(dims: Sequence[Dim], glyphs: GlyphSet) -> str:
    """Format dims as a product of at most 26 characters."""
    return clip_text(TIMES.join(map(str, dims)) or "1", 26, glyphs)


def _bar_lines(
    budget: ElementBudget, have: int, known: int, size: tuple[int, int], glyphs: GlyphSet
) -> list[Text] | None:
    """Draw an element budget as bars, or return None if the bars do not fit.

    `have` and `known` are the element counts of the input dims and of the known dims. `size` is the available width in
    cells and height in lines. A block of a bar represents one element. If the bars are then too long, a block
    represents several elements; their number is the smallest common divisor of both counts with which the bars fit.
    """
    width, height = size
    word = "known" if budget.inferred_index is not None else "want"
    rows = [
        ("have", _factors_text(budget.input_dims, glyphs), str(have)),
        (word, _factors_text(budget.known_dims, glyphs), str(known)),
    ]
    if budget.inferred_index is not None:
        rows.append(("-1", f"{have} / {known}", "?" if have % known else str(have // known)))
    head, factors, counts = (max(len(row[column]) for row in rows) for column in range(3))
    texts = [f"{row[0].ljust(max(head, 5))}  {row[1].ljust(factors)} = {row[2].rjust(counts)}" for row in rows]
    room = width - max(map(len, texts)) - 2
    is_divided = budget.inferred_index is not None
    unit = _smallest_unit(have, known, room, 0)
    if room < 12 or unit is None:
        return None
    separator_count = unit == _smallest_unit(have, known, room, -(-have // known) - 1)
    is_shaded = is_divided and known > 1 and not (separator_count and known > unit)
    have, known = have // unit, known // unit
    bars = _draw_bars(have, known, glyphs, is_divided=is_divided, is_shaded=is_shaded)
    if height >= SPACIOUS_HEIGHT and unit == 1:
        bars = [_widen_bar(bar, min(6, room // max(map(len, bars))), glyphs) for bar in bars]
    lines = [Text(f"{text}  ").append_text(bar) for text, bar in zip(texts, bars, strict=False)]
    lines += [Text(text) for text in texts[len(bars) :]]
    if height >= SPACIOUS_HEIGHT:
        lines = [spaced for line in lines for spaced in (line, Text())][:-1]
    words = _division_result_text(budget, have * unit, known * unit)
    if len(lines[-1]) + 2 + len(words) <= width:
        lines[-1].append(f"  {words}")
    else:
        indent = len(texts[0]) + 2
        lines.append(Text(" " * (indent if indent + len(words) <= width else 0) + words))
    return lines if unit == 1 else [*lines, Text(f"each {glyphs.block} is {unit} elements", "dim")]


def _smallest_unit(have: int, known: int, width: int, separator_count: int) -> int | None:
    """Return the smallest number of elements per block with which the bars fit.

    `have` and `known` are the element counts of the two bars. `separator_count` is the number of vertical lines between
    the pieces of the first bar. Returns None if the bars do not fit.

    >>> _smallest_unit(24, 6, 30, 3), _smallest_unit(96, 24, 40, 3), _smallest_unit(97, 24, 40, 4)
    (1, 3, None)
    """
    longest, common = max(have, known), gcd(have, known)
    for blocks in range(min(width, longest), 0, -1):
        unit = longest // blocks
        if longest % blocks == 0 and common % unit == 0 and blocks + separator_count * (known > unit) <= width:
            return unit
    return None


def _draw_bars(have: int, known: int, glyphs: GlyphSet, *, is_divided: bool, is_shaded: bool) -> list[Text]:
    """Draw two element counts as bars of blocks.

    If `is_divided` is True, the first bar is divided into pieces as long as the second bar. The pieces are separated by
    lines or, if `is_shaded` is True, have alternating shades. The remainder or the difference is marked.
    """
    pieces, rest = divmod(have, known) if is_divided else (1, abs(have - known))
    wall = glyphs.vertical if is_divided and known > 1 and not is_shaded else ""
    same = glyphs.block * (known if is_divided else min(have, known))
    other = glyphs.second_block * len(same) if is_shaded else same
    whole = Text().append(wall.join((same, other)[index % 2] for index in range(pieces)), BAR_COLOUR)
    over = Text(glyphs.excess * rest, BOLD_ERROR)
    if is_divided:
        return [whole.append(wall * bool(pieces and rest)).append_text(over), Text().append(same, BAR_COLOUR)]
    return [
        Text().append(same, BAR_COLOUR).append_text(over if more else Text()) for more in (have > known, known > have)
    ]


def _widen_bar(bar: Text, cells_per_element: int, glyphs: GlyphSet) -> Text:
    """Widen each block of a bar to several cells.

    If a block has at least three cells, its last cell is blank.
    """
    result, gap = Text(), " " * (cells_per_element > 2)
    for char in bar.divide(range(1, len(bar))):
        width = 1 if char.plain == glyphs.vertical else cells_per_element - len(gap)
        # if the bar has one block, its spans can include empty spans
        styles = [span.style for span in char.spans if span]
        result.append_text(Text(char.plain * width + gap, *styles))
    return result


def _division_result_text(budget: ElementBudget, have: int, known: int) -> str:
    """Describe the quotient and remainder of the element counts, or their difference."""
    if budget.inferred_index is not None:
        times = "once" if have // known == 1 else f"{dim_text(have // known)} times"
        remainder = f"{dim_text(have % known)} left over: refused" if have % known else "nothing left over"
        return f"{known} fits {times}, {remainder}"
    if have != known:
        return f"{abs(have - known)} {'too many' if known > have else 'left over'}: refused"
    return "as many as there are"


def _factor_lines(budget: ElementBudget, layout: StageLayout, width: int) -> list[Text]:
    """Draw an element budget as lines of factors, with equal factors aligned."""
    have, known = budget.element_counts
    below, extra = _match_dims(budget)
    cells = []
    for index, dim in enumerate(budget.input_dims):
        top, skipped = str(dim), index in budget.excluded_indices[0]
        cancelled = below[index] is not None
        bottom = str(budget.known_dims[below[index] or 0]) if cancelled else ""
        cells.append((f"({top})" if skipped else top, bottom, "" if cancelled or skipped else top))
    for index in extra:
        skipped, dim = index in budget.excluded_indices[1], budget.known_dims[index]
        cells.append(("", f"({dim})" if skipped else str(dim), "" if skipped or dim == 1 else f"/ {dim}"))
    widths = [max(map(len, column)) for column in cells]
    words = ("have", "known", "-1") if budget.inferred_index is not None else ("have", "want", "left")
    lines = []
    for row, word in enumerate(words):
        line, first = Text(f"{word.ljust(5)}  "), True
        for index, (column, size) in enumerate(zip(cells, widths, strict=True)):
            style = mark_colour(layout.cells_before[index].mark) if index < len(budget.input_dims) and row != 1 else ""
            cancelled = row < 2 and column[2] == ""
            times = column[row] and not first and not column[row].startswith("/")
            line.append(TIMES if times else "   " if index else "")
            line.append(column[row].rjust(size), "dim" if cancelled else style)
            first = first and not column[row]
        lines.append(line.append("   "))
    total = _inferred_dim_text(budget, have, known)
    lines[2].append(f"= {total}" if total else "", "bold")
    if max(len(line.plain.rstrip()) for line in lines) > width:
        counts = [Text(f"have   {dim_text(have)}"), Text(f"{words[1].ljust(5)}  {dim_text(known)}")]
        return [*counts, *([Text(f"-1     {total}")] if total else [])]
    cancelled_dims = dict.fromkeys(
        dim_text(budget.input_dims[index]) for index, bottom in enumerate(below) if bottom is not None
    )
    note = (
        f"   {join_with_and([*cancelled_dims])} {'cancels' if len(cancelled_dims) == 1 else 'cancel'}"
        if cancelled_dims
        else ""
    )
    if len(lines[2]) + len(note) <= width:
        lines[2].append(note, "dim")
    return lines


def _inferred_dim_text(budget: ElementBudget, have: Dim, known: Dim) -> str:
    """Format the dim that replaces -1, or the reason why there is none.

    If the request has no -1, the text is empty.
    """
    if budget.inferred_index is None:
        return ""
    if known == 0:
        return "?  refused"
    if isinstance(have, int) and isinstance(known, int) and have % known:
        return f"?  {_division_result_text(budget, have, known)}"
    return str(quotient(have, known))


def _match_dims(budget: ElementBudget) -> tuple[list[int | None], list[int]]:
    """Match each input dim with an equal known dim.

    For each input dim, the first list contains the index of the matching known dim, or None. The second list contains
    the indices of the unmatched known dims. Zeros are not matched, because 0 / 0 is undefined.
    """
    remaining = [index for index in range(len(budget.known_dims)) if index not in budget.excluded_indices[1]]
    below: list[int | None] = []
    for index, dim in enumerate(budget.input_dims):
        cancels = dim != 0 and index not in budget.excluded_indices[0]
        equal = next((other for other in remaining if budget.known_dims[other] == dim), None) if cancels else None
        if equal is not None:
            remaining.remove(equal)
        below.append(equal)
    return below, [*remaining, *budget.excluded_indices[1]]


def draw_stage_diagram(
    answer: Trace | Chain, layout: StageLayout, step_index: int, *, width: int, height: int, glyphs: GlyphSet
) -> Text:
    """Draw the dims of a stage, their wires, and the reasons for the output dims.

    The reasons of steps after `step_index` are omitted. `width` and `height` are in character cells. If not all dims
    fit, those around the step are drawn.
    """
    rows = max(1, len(layout.cells_before), len(layout.cells))
    notes = _size_only_notes(layout, step_index, glyphs)
    pitch, room = choose_row_pitch(rows, height, 1 + len(notes)), height - 1 - len(notes)
    canvas, lines = _draw_stage_canvas(answer, layout, step_index, (width, room), pitch, glyphs)
    visible_rows = range(lines)
    if lines > room:
        here = next((out for out, cell in enumerate(layout.cells) if cell.step_index >= step_index), 0)
        visible_rows = rows_around(here, lines, room - 1)
        notes.append(f"{glyphs.ellipsis} dims {visible_rows[0]} to {visible_rows[-1]} of {lines}")
    lane_text = canvas.render(width, [0, *(1 + row for row in visible_rows)])
    return stack_texts([lane_text, *(clip_line(Text(note, "dim"), width, glyphs) for note in notes)])


def _draw_stage_canvas(
    answer: Trace | Chain, layout: StageLayout, step_index: int, size: tuple[int, int], pitch: int, glyphs: GlyphSet
) -> tuple[Canvas, int]:
    """Draw the dims, wires and reasons of a stage on a new canvas.

    `size` is the available width in cells and height in lines; `pitch` is the distance between dims in lines. Returns
    the canvas and the height of the wires.
    """
    is_vector, rows = layout.stage.kind is StageKind.SHAPE, max(1, len(layout.cells_before), len(layout.cells))
    shown_step = None if layout.is_unresolved else step_index
    before, after = (
        _format_dims(layout.cells_before, glyphs),
        _format_dims(layout.cells, glyphs, shown_step, sizes_only=is_vector),
    )
    token_texts = [_requested_value_text(layout, out, glyphs) for out in range(len(layout.cells))]
    tokens, left = max(map(len, token_texts), default=0), 4 + max(map(len, before), default=2)
    room = size[0] - left - max(map(len, after), default=2) - len("dim out")
    wires = route_wires(layout, pitch, (room, size[1]), room - 36, glyphs)
    lines = max(1 + pitch * (rows - 1), wires.height)
    canvas = Canvas(glyphs, 1 + lines)
    right = left + max(wires.width, 5 * pitch) + (tokens + 3 if tokens else 0)
    canvas.write_text(0, 0, "dim in", "dim")
    canvas.write_text(right + 1, 0, heading := "in the vector" if is_vector else "dim out", "dim")
    draw_wires(canvas, wires, (left, right), lambda axes, outs: _wire_style(layout, axes, outs, step_index))
    if is_vector:
        canvas.dash_lines(left, right)
    end = (glyphs.copied_size_line if is_vector else glyphs.horizontal) * HIDDEN_DIM_LINE_LENGTH
    for row in (row for row, cell in enumerate(layout.cells) if cell.placeholder):
        canvas.write_text(right - HIDDEN_DIM_LINE_LENGTH, 1 + pitch * row, end, "dim")
    for row, (text, cell) in enumerate(zip(before, layout.cells_before, strict=True)):
        canvas.write_text(0, 1 + pitch * row, f"{row}", "dim")
        canvas.write_text(3, 1 + pitch * row, text, mark_colour(cell.mark))
    for row, (text, cell) in enumerate(zip(after, layout.cells, strict=True)):
        draw_token(canvas, cell, token_texts[row], step_index, (right, 1 + pitch * row))
        canvas.write_text(right + 1, 1 + pitch * row, f"{row}", "dim")
        canvas.write_text(
            right + 4, 1 + pitch * row, text, make_style(mark_colour(cell.mark), bold=cell.step_index == step_index)
        )
    reasons = max(right + 5 + max(map(len, after), default=2), right + 1 + len(heading)) + 2
    canvas.write_text(reasons, 0, layout.title, "dim")
    for row, (reason, style) in _dim_reasons(answer, layout, step_index).items():
        if len(reason) > size[0] - reasons:  # the reason is in the row of its output dim, which it need not name
            reason = reason.removeprefix(f"dim {row} ")
        canvas.write_text(reasons, 1 + pitch * row, reason, style)
    if wires.is_unroutable:
        canvas.write_text(left, 0, NO_ROOM_NOTE, "dim")
    return canvas, lines


def _requested_value_text(layout: StageLayout, out_dim: int, glyphs: GlyphSet) -> str:
    """Format the requested value of an output dim, such as 0 or -1.

    If the dim copies only the size of an axis, the mark of this axis follows the value.
    """
    size = (
        f"{glyphs.copied_size_line}{mark_text(layout.cells_before[out_dim].mark, glyphs)}"
        if out_dim in layout.size_only_dims
        else ""
    )
    return f"{layout.cells[out_dim].token}{size}"


def _size_only_notes(layout: StageLayout, step_index: int, glyphs: GlyphSet) -> list[str]:
    """Return notes on dims that copy the size of an axis, but not its elements."""
    if layout.stage.kind is StageKind.SHAPE:
        return [f"{glyphs.copied_size_line} copies a size; no element moves"]
    if not layout.size_only_dims:
        return []
    out = next(
        (out for out in layout.size_only_dims if layout.cells[out].step_index == step_index), min(layout.size_only_dims)
    )
    return [f"{glyphs.copied_size_line} {size_only_note(layout, out, glyphs)}"]


def _format_dims(
    cells: tuple[DimCell, ...], glyphs: GlyphSet, step_index: int | None = None, *, sizes_only: bool = False
) -> list[str]:
    """Format dims and their marks in two aligned columns.

    Hidden dims, and dims that are determined after step `step_index`, have placeholders. If `sizes_only` is True, marks
    are omitted.
    """
    rows = []
    for cell in cells:
        hidden = cell.dim is None or (step_index is not None and cell.step_index > step_index)
        dim = cell.placeholder or glyphs.placeholder if hidden else clip_text(str(cell.dim), 12, glyphs)
        rows.append(("" if sizes_only else cell_mark_text(cell, glyphs), dim))
    mark_width, dim_width = (max((len(row[at]) for row in rows), default=0) for at in range(2))
    return [
        f"{mark.ljust(mark_width)} {dim.rjust(dim_width)}" if mark_width else dim.rjust(dim_width) for mark, dim in rows
    ]


def _wire_style(layout: StageLayout, axes: Collection[int], out_dims: Collection[int], step_index: int) -> Style | None:
    """Return the style of the wires from some axes to some output dims.

    Returns None if the wires lead to hidden dims, because they are not drawn.
    """
    if out_dims and all(layout.cells[out].placeholder for out in out_dims):
        return None
    hue = "".join([mark_colour(layout.cells_before[axis].mark) for axis in axes if len(axes) == 1])
    return make_style(hue, dim=any(layout.cells[out].step_index > step_index for out in out_dims))


def _dim_reasons(answer: Trace | Chain, layout: StageLayout, step_index: int) -> Mapping[int, tuple[str, str]]:
    """Return the reason for each output dim that is determined up to a step.

    The reasons are keyed by row, and each has a style. The reason for a dropped axis is in the row of this axis.
    """
    reasons, steps, hidden = {}, answer.steps, {out for out, cell in enumerate(layout.cells) if cell.placeholder}
    for number in layout.step_range:
        if number > step_index:
            break
        step = steps[number]
        row = step.out
        if row is None and step.rule in (rules.DROPPED_ONE, *rules.KEPT_DIM_RULES):
            row = step.sources[0]
        if row is not None and not (hidden and step.out in (None, *hidden)):
            reasons[row] = step.why, "bold" if number == step_index else "dim"
    if layout.problem and layout.refused_dim is not None and step_index >= layout.step_range.stop:
        reasons[layout.refused_dim] = f"{layout.problem.rule}", BOLD_ERROR
    return reasons


def _is_count_step(layout: StageLayout, step: Step | None) -> bool:
    """Return whether a step infers a -1 or is refused for its element count."""
    if step is not None:
        return layout.is_regrouping and step.rule in INFER_RULES
    if layout.is_unresolved:
        return layout.is_regrouping and any(cell.token == "-1" for cell in layout.cells)
    problem = layout.problem if layout.is_regrouping else None
    if problem is None or not (layout.cells or problem.rule == rules.VOLUME_MISMATCH):
        return False
    return problem.rule in COUNT_RULES and make_element_budget(layout) is not None


def _is_ruler_step(layout: StageLayout, step: Step | None) -> bool:
    """Return whether rulers can show a step.

    The step must regroup or merge axes. For a reshape that is not resolved yet, `step` is None, and the request must
    not contain a 0.
    """
    if step is None:
        return layout.is_unresolved and layout.is_regrouping and all(cell.token != "0" for cell in layout.cells)
    return layout.is_regrouping and step.rule in (rules.REGROUPED, rules.MERGED)


def _is_last_size_copy(_answer: Trace | Chain, layout: StageLayout, step: Step | None, _width: int) -> bool:
    """Return whether a step is the last of its stage that resolves a 0.

    Returns False if each 0 of the stage copies an axis with its elements.
    """
    copies = [other for other in layout.stage.steps if other.rule == rules.COPIED_ZERO]
    return bool(layout.size_only_dims) and step is copies[-1]


def _is_operand_step(layout: StageLayout, step: Step | None) -> bool:
    """Return whether a step involves several operands but no windows."""
    several = layout.stage.kind in COMBINING_KINDS and len(stage_operands(layout)) > 1
    return several and not is_window_step(layout, step)


def _is_last_operand_step(_answer: Trace | Chain, layout: StageLayout, step: Step | None, _width: int) -> bool:
    """Return whether a step is a refusal, or the last operand step of its stage.

    Returns False for a pool, because the picture of its windows shows all dims.
    """
    operand_steps = [other for other in layout.stage.steps if not is_window_step(layout, other)]
    return step is None or (
        step is operand_steps[-1] and not layout.problem and "kernel" not in layout.request.arguments
    )


PICTURE_KINDS = (
    PictureKind(draw_element_counts, _is_count_step, lambda *_: True, has_heading=True),
    PictureKind(draw_rulers, _is_ruler_step, can_draw_rulers, has_heading=True, gains_from_width=True),
    PictureKind(draw_windows, is_window_step, is_first_step_with_parameters, gains_from_width=True),
    PictureKind(draw_operand_table, _is_operand_step, _is_last_operand_step),
    PictureKind(draw_stage_diagram, lambda _layout, _step: True, _is_last_size_copy),
)
"""All kinds of pictures.

A step is drawn as the first kind that applies to it. `--explain=all` draws each step whose picture shows more than the
flow diagram.
"""


def _picture_kind(layout: StageLayout, step: Step | None) -> PictureKind:
    return next(kind for kind in PICTURE_KINDS if kind.applies_to(layout, step))


def has_own_picture(answer: Trace | Chain, step_index: int) -> bool:
    """Return whether the picture of a step shows more than dims and wires."""
    kind = _step_picture_kind(answer, step_index)
    return kind is not None and kind.draw is not draw_stage_diagram


def gains_from_width(answer: Trace | Chain, step_index: int) -> bool:
    """Return whether a wider picture of a step shows more.

    >>> import shapecalc as sc
    >>> gains_from_width(sc.reshape((4, 6), (3, 8)), 2), gains_from_width(sc.transpose((2, 3)), 1)
    (True, False)
    """
    kind = _step_picture_kind(answer, step_index)
    return kind is not None and kind.gains_from_width


def _step_picture_kind(answer: Trace | Chain, step_index: int) -> PictureKind | None:
    all_layouts, steps = stage_layouts(answer), answer.steps
    if not all_layouts:
        return None
    layout = all_layouts[drawn_layout_index(all_layouts, step_index)]
    return _picture_kind(layout, steps[step_index] if step_index < len(steps) else None)


def drawn_layout_index(all_layouts: Sequence[StageLayout], step_index: int) -> int:
    """Return the index of the stage in the picture of a step.

    If the request is not resolved yet, this is the first stage.
    """
    return layout_index(all_layouts, step_index) if all_layouts[0].stage.move or all_layouts[0].problem else 0


def draw_picture(
    answer: Trace | Chain,
    step_index: int,
    *,
    width: int = 78,
    height: int = 12,
    glyphs: GlyphSet = UNICODE,
    placeholders: Placeholders = NO_PLACEHOLDERS,
    with_heading: bool = True,
) -> Text:
    """Draw the picture of a step.

    An index after the last step selects the refusal. `placeholders` maps the positions of hidden dims, as column and
    index, to their placeholders.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_picture(sc.reshape((2, 3), (0, -1)), 0, glyphs=ASCII, placeholders={(1, 1): "_"}))
    dim in            dim out  reshape 0,-1
    0  a 2       0  > 0  2     0 copies dim 0, which is 2
    1  b 3      -1 -- 1  _
    """
    all_layouts, steps = stage_layouts(answer), answer.steps
    if not all_layouts:
        return stack_texts([clip_line(Text("nothing is asked for: the tensor stays"), width, glyphs)])
    index = drawn_layout_index(all_layouts, step_index)
    layout = hide_dims(all_layouts[index], column_placeholders(placeholders, index + 1))
    kind = _picture_kind(layout, steps[step_index] if step_index < len(steps) else None)
    text = kind.draw(answer, layout, step_index, width=width, height=height, glyphs=glyphs)
    if not (with_heading and kind.has_heading and text.plain.count("\n") + 1 < height):
        return text
    return stack_texts([clip_line(Text(layout.heading, "bold"), width, glyphs), text])


def draw_request(
    answer: Trace | Chain, *, width: int = 78, height: int = 16, placeholder: str = UNICODE.placeholder
) -> Text:
    """Draw a request, with placeholders for the output dims.

    A request with several operands is drawn as a table, and any other request as a flow diagram without wires. Dims
    that are part of the request have no placeholders.

    >>> import shapecalc as sc
    >>> print(draw_request(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), height=4, placeholder="[  ]"))
    input transpose 1,0   reshape 0,-1
    a   2       1    [  ]       0    [  ]
    b   3       0    [  ]      -1    [  ]
    """
    request = Chain(answer.input, tuple([unresolved_trace(trace) for trace in answer.traces]))
    if any(layout.stage.kind in COMBINING_KINDS for layout in stage_layouts(request)[:1]):
        return draw_picture(request, 0, width=width, height=height, glyphs=replace(UNICODE, placeholder=placeholder))
    drawn_answer = request if unresolved_dims(request, len(request.steps)) else answer
    placeholders = dict.fromkeys(unresolved_dims(drawn_answer, len(request.steps)), placeholder)
    return draw_flow(drawn_answer, width=width, height=height, placeholders=placeholders, hides_refusal=True)


def draw_explanation(answer: Trace | Chain, *, width: int = 78, glyphs: GlyphSet = UNICODE) -> Text:
    """Draw the flow diagram of an answer and its most informative pictures.

    At most `MAX_PICTURES` pictures are drawn.
    """
    parts = [draw_flow(answer, width=width, glyphs=glyphs)]
    for at in [*_informative_steps(answer, width)][:MAX_PICTURES]:
        parts += [Text(""), draw_picture(answer, at, width=width, glyphs=glyphs)]
    return stack_texts(parts)


def steps_to_draw(answer: Trace | Chain, width: int) -> list[int]:
    """Return the indices of the steps with the most informative pictures, best first.

    Pictures that show no more than the flow diagram are excluded.
    """
    shown = _informative_steps(answer, width)
    return sorted(shown, key=lambda at: _picture_rank(*shown[at]))[:MAX_PICTURES]


def most_informative_step(answer: Trace | Chain, width: int) -> int:
    """Return the index of the step with the most informative picture.

    For a refusal, this is the index after the last step.

    >>> import shapecalc as sc
    >>> most_informative_step(sc.reshape((2, 3, 4), (0, -1)), 78), most_informative_step(sc.transpose((2, 3)), 78)
    (1, 2)
    """
    last = len(answer.steps) - (answer.problem is None)
    return next(iter(steps_to_draw(answer, width)), max(0, last))


def _picture_rank(layout: StageLayout, step: Step | None) -> int:
    """Return the rank of a picture; rank 0 is the most informative.

    Refusals come first, then steps that mix axes, then steps that infer a -1 or apply windows, then all other steps.
    """
    if step is None:
        return 0
    if layout.mixing_dims and is_regrouping_step(step):
        return 1
    return 2 if step.rule in INFER_RULES or is_window_step(layout, step) else 3


def _informative_steps(answer: Trace | Chain, width: int) -> InformativeSteps:
    """Return the steps whose pictures show more than the flow diagram."""
    result: InformativeSteps = {}
    for layout in stage_layouts(answer):
        is_drawn = layout.is_regrouping or layout.stage.kind in COMBINING_KINDS
        steps = dict[int, Step | None](zip(layout.step_range, layout.stage.steps, strict=False) if is_drawn else ())
        if is_drawn and layout.problem is not None:
            steps[len(answer.steps)] = None
        for step_index, step in steps.items():
            if _picture_kind(layout, step).adds_to_flow(answer, layout, step, width):
                result[step_index] = layout, step
    return result
