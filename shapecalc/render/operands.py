"""Pictures of ops with several operands, and of windows.

The operand table has a row for each operand, and a row labelled `answer` for the output. A column contains
corresponding dims: dims that broadcast, dims over which a product sums, or dims along one axis of a concatenation. If
operands are concatenated, each row ends with a bar whose length is the size of the operand along the axis.

The picture of windows is a ruler with the indices of an axis, above the windows that slide along this axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Step, Trace
from shapecalc.core.conditions import Unsatisfiable, require_equal
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, is_concrete
from shapecalc.core.moves import CONSTANT, pad_source_index
from shapecalc.core.ops.operands import DIMS_DIFFER, INNER_DIFFERS, LABEL_DIFFERS, Operand, align_dims
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.rules import NOT_BROADCASTABLE
from shapecalc.core.text import format_count, join_with_and
from shapecalc.core.values import ELLIPSIS, parse_subscripts
from shapecalc.render.canvas import GlyphSet, clip_line, clip_text, pack_notes, stack_texts, wrap_line
from shapecalc.render.hints import arithmetic_with_placeholder
from shapecalc.render.stage_layout import StageLayout, is_window_step, mark_colour, stage_operands
from shapecalc.render.styles import BAR_COLOUR, BOLD_ERROR

RulerRow = tuple[str, Callable[[int], str]]
"""The label of a row, and a function that returns the text in the row at an index."""
AxisLabels = list[str]
"""The column label of each dim of a shape."""
SUM_LABEL, JOIN_SUFFIX = "sum", " +"
"""The label of a summed axis, and the suffix that marks a concatenated axis."""
WINDOWS_BEFORE_LAST, MAX_WINDOWS_BEFORE_LAST, HIGH_PICTURE_LINES = 2, 8, 44
"""The number of windows drawn before the last one, the larger number in high pictures, and their minimum height in
lines.
"""
WINDOW_DEFAULTS = {"kernel": 1, "stride": 1, "begin": 0, "end": 0, "dilation": 1}
"""The default value of each window parameter."""
COLUMN_RULES = (NOT_BROADCASTABLE, INNER_DIFFERS, DIMS_DIFFER, LABEL_DIFFERS)
"""The rules that the dims in a single column of the table can break."""
MAX_DIM_WIDTH, MIN_BAR_WIDTH, MAX_UNIT_WIDTH, MAX_NAMED_UNIT_WIDTH = 12, 8, 4, 10
"""Limits of the operand table, in cells.

The limits are the maximum width of a dim, the minimum total width of the bars, and the maximum widths of an element and
of a named size in a bar.
"""
COLUMN_GAP = "   "


class OperandColumn(Record):
    """A column of the operand table: corresponding dims and the output dim they form."""

    label: str
    dims_by_operand: Mapping[int, Dim]
    out_dim: int | None
    is_refused: bool
    """Whether the dims of the column cause the refusal."""


def _operand_labels(layout: StageLayout, operands: Sequence[Operand]) -> tuple[list[AxisLabels], AxisLabels]:
    """Return the column labels of the operands and of the output."""
    arguments, ranks = layout.request.arguments, [len(operand.shape) for operand in operands]
    max_rank, kind = max(ranks), layout.stage.kind
    if kind is StageKind.BROADCAST:
        return [_labels_from_right(rank) for rank in ranks], _labels_from_right(max_rank)
    if kind is StageKind.PRODUCT and "pattern" in arguments:
        return _pattern_labels(str(arguments["pattern"]), ranks)
    if kind is StageKind.PRODUCT and len(operands) == 2:
        return _matrix_labels(*ranks) if "operands" in arguments else _layer_labels(layout, *ranks)
    if kind is StageKind.WINDOW and len(operands) == 2:
        return _window_labels(layout, *ranks)
    if kind is StageKind.REDUCE:
        dropped = {step.sources[0] for step in layout.stage.steps if step.out is None}
        labels = [f"dim {index}" for index in range(max_rank)]
        return [labels], [label for index, label in enumerate(labels) if index not in dropped]
    axis, stacks = int(arguments.get("axis") or 0), layout.request.op == "stack"
    joined_axis = axis % max_rank if kind is StageKind.JOIN and max_rank and not stacks else None
    labels = [f"axis {index}{JOIN_SUFFIX * (index == joined_axis)}" for index in range(max_rank)]
    new = axis % (max_rank + 1)
    return [labels[:rank] for rank in ranks], [*labels[:new], f"new{JOIN_SUFFIX}", *labels[new:]] if stacks else labels


def _labels_from_right(rank: int, skipped: int = 0) -> AxisLabels:
    """Return labels that count axes from the right, as in -2, -1.

    The last `skipped` axes have no labels.
    """
    return [str(-distance) for distance in range(rank, skipped, -1)]


def _matrix_labels(left_rank: int, right_rank: int) -> tuple[list[AxisLabels], AxisLabels]:
    """Return the column labels of the operands and the output of a product.

    A vector on the left has no row label, and a vector on the right has no column label.
    """
    ends = ["row"] * (left_rank > 1), ["column"] * (right_rank > 1)
    operands = [
        [*_labels_from_right(left_rank, 2), *ends[0], SUM_LABEL],
        [*_labels_from_right(right_rank, 2), SUM_LABEL, *ends[1]],
    ]
    return operands, [*_labels_from_right(max(left_rank, right_rank), 2), *ends[0], *ends[1]]


def _layer_labels(layout: StageLayout, rank: int, weight_rank: int) -> tuple[list[AxisLabels], AxisLabels]:
    """Return the column labels of a linear layer's input, weight and output.

    The shape of the weight is (out, in), (in, out) or (in).
    """
    rows, out = _labels_from_right(rank)[:-1], ["out"] * (weight_rank > 1)
    kept = [step.facts["axis"] for step in layout.stage.steps if step.facts.get("operand") == 1]
    is_last = (layout.problem.index == 0 if layout.problem else 1 in kept) and "weight" in layout.request.arguments
    return [[*rows, SUM_LABEL], [SUM_LABEL, *out] if is_last else [*out, SUM_LABEL]], [*rows, *out]


def _window_labels(layout: StageLayout, rank: int, weight_rank: int) -> tuple[list[AxisLabels], AxisLabels]:
    """Return the column labels of a window op's input, weight and output.

    For a pool, the labels of the weight are those of its kernel.
    """
    # imported here, because every explanation loads this module, and few draw windows
    from shapecalc.core.ops.conv import CONV_SEMANTICS
    from shapecalc.core.ops.windows import WINDOW_SEMANTICS

    arguments, dialect = layout.request.arguments, DIALECTS[layout.request.dialect]
    default_layout, filters_last = (
        WINDOW_SEMANTICS.for_dialect(dialect).default_layout,
        CONV_SEMANTICS.for_dialect(dialect).filters_last,
    )
    pools, is_last = "kernel" in arguments, arguments.get("layout", default_layout) == "nhwc"
    count = weight_rank if pools else max(0, weight_rank - 2)
    batch, channels = ["batch"] * max(0, rank - count - 1), "channels" if pools else SUM_LABEL
    spatial = [f"dim {axis}" for axis in range(len(batch) + (not is_last), rank - is_last)]
    ends = ["out", channels] if bool(arguments.get("transposed")) == filters_last else [channels, "out"]
    weight = spatial if pools else [*spatial, *ends] if filters_last else [*ends, *spatial]
    channel_labels = [channels, channels if pools else "out"]
    before, after = ([*batch, *spatial, label] if is_last else [*batch, label, *spatial] for label in channel_labels)
    return [before, weight], after


def _pattern_labels(pattern: str, ranks: Sequence[int]) -> tuple[list[AxisLabels], AxisLabels]:
    """Return the column labels of an einsum's operands and output.

    The labels of an ellipsis count axes from the right.

    >>> _pattern_labels("...i,ij", (3, 2))
    ([['-2', '-1', 'i'], ['i', 'j']], ['-2', '-1', 'j'])
    """
    subscripts = parse_subscripts(pattern)
    counts = [rank - len(term) + 1 for term, rank in zip(subscripts.terms, ranks, strict=False)]
    ellipsis_counts = [count for term, count in zip(subscripts.terms, counts, strict=False) if ELLIPSIS in term]

    def expand_ellipsis(term: Iterable[str], count: int) -> AxisLabels:
        """Replace an ellipsis with `count` labels that count from the right."""
        return [part for label in term for part in (_labels_from_right(count) if label == ELLIPSIS else [label])]

    labels = [expand_ellipsis(term, count) for term, count in zip(subscripts.terms, counts, strict=False)]
    return labels, expand_ellipsis(subscripts.output, max(ellipsis_counts, default=0))


def operand_columns(layout: StageLayout, operands: Sequence[Operand]) -> list[OperandColumn]:
    """Return the columns of the operand table of a stage.

    The columns are in the order of the output dims. A summed dim has no output dim; its column follows that of the
    preceding dim of the same operand.
    """
    labels, answer = _operand_labels(layout, operands)
    order = [*answer]
    for operand_labels in labels:
        for index, label in enumerate(operand_labels):
            if label not in order:
                order.insert(order.index(operand_labels[index - 1]) + 1 if index else 0, label)
    pairs = [
        (operand.number, dict(zip(operand_labels, operand.shape, strict=False)))
        for operand, operand_labels in zip(operands, labels, strict=False)
    ]
    slots = list[OperandColumn]()
    for label in order:
        dims_by_operand = {number: dims[label] for number, dims in pairs if label in dims}
        out = answer.index(label) if label in answer else None
        slots.append(
            OperandColumn(label, dims_by_operand, out, _is_refused_column(layout, label, dims_by_operand, out))
        )
    return slots


def _is_refused_column(
    layout: StageLayout, label: str, dims_by_operand: Mapping[int, Dim], out_dim: int | None
) -> bool:
    problem, kind = layout.problem, layout.stage.kind
    if problem is not None and kind is StageKind.WINDOW:
        return out_dim is None if problem.argument == "weight" else label == f"dim {problem.index}"
    if problem is None or problem.rule not in COLUMN_RULES or label.endswith(JOIN_SUFFIX):
        return False
    try:
        for dim in dims_by_operand.values() if kind is StageKind.JOIN or out_dim is None else ():
            require_equal(next(iter(dims_by_operand.values())), dim)
        if kind is not StageKind.JOIN and out_dim is not None:
            align_dims([((number, 0), dim) for number, dim in dims_by_operand.items()], "")
    except (Unsatisfiable, ShapeError):
        return True
    return False


def _output_text(layout: StageLayout, column: OperandColumn, step_index: int, glyphs: GlyphSet) -> str:
    """Format the output dim of a column.

    A dim that is hidden or not determined yet has a placeholder. A summed dim has the symbol for the end of a wire.
    """
    cell = layout.cells[column.out_dim] if column.out_dim is not None and column.out_dim < len(layout.cells) else None
    if column.out_dim is None:
        return glyphs.line_end
    if cell is None or cell.dim is None or cell.step_index > step_index:
        return cell.placeholder or glyphs.placeholder if cell else glyphs.placeholder
    return clip_text(str(cell.dim), MAX_DIM_WIDTH, glyphs)


def _dim_text(layout: StageLayout, column: OperandColumn, operand: int, output_text: str, glyphs: GlyphSet) -> str:
    """Format the dim of an operand in a column.

    A symbol in front of the dim marks a cause of the refusal, or a 1 that is repeated.
    """
    text = clip_text(str(column.dims_by_operand.get(operand, "")), MAX_DIM_WIDTH, glyphs)
    repeats = (
        layout.stage.kind in (StageKind.BROADCAST, StageKind.PRODUCT)
        and column.out_dim is not None
        and not layout.problem
    )
    if repeats and text == "1" and output_text not in ("1", glyphs.placeholder) and output_text[:1] != "[":
        return f"{glyphs.pointer}{text}"
    return f"{glyphs.fail}{text}" if column.is_refused and text else text


def _column_style(layout: StageLayout, column: OperandColumn, step_index: int) -> str:
    """Return the style of a column.

    The column of the current step is bold, as is the joined axis in the picture of a whole answer.
    """
    step = layout.stage.steps[step_index - layout.step_range.start] if step_index in layout.step_range else None
    is_joined = not layout.problem and column.label.endswith(JOIN_SUFFIX)
    is_current = is_joined if step is None else step.out == column.out_dim
    return BOLD_ERROR if column.is_refused else "bold" if is_current else ""


def draw_operand_table(
    answer: Trace | Chain, layout: StageLayout, step_index: int, *, width: int, height: int = 12, glyphs: GlyphSet
) -> Text:
    """Draw the operand table of a stage at a step.

    If operands are concatenated, each row ends with a bar whose length is the size along the axis.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> from shapecalc.render.stage_layout import stage_layouts
    >>> made = sc.chain("8,1,6", "broadcast 7,1")
    >>> print(draw_operand_table(made, stage_layouts(made)[0], 3, width=60, glyphs=ASCII))
    broadcast   -3   -2   -1
    input        8   >1    6
    B                 7   >1
    ------------------------
    answer       8    7    6
    > a 1 is repeated
    """
    operands, step_index = (
        stage_operands(layout),
        layout.step_range.stop if layout.stage.kind is StageKind.WINDOW else step_index,
    )
    slots, heads = operand_columns(layout, operands), _operand_row_names(layout, operands)
    answer_texts = [_output_text(layout, slot, step_index, glyphs) for slot in slots]
    pairs = [*zip(slots, answer_texts, strict=True)]
    rows = [[_dim_text(layout, slot, operand.number, end, glyphs) for slot, end in pairs] for operand in operands]
    notes = [*dict.fromkeys(_table_notes(answer, layout, slots, step_index, rows, glyphs))]
    lines_of_notes = pack_notes([Text(note, style) for note, style in notes], width)
    if len(rows) > height - 3 + 2 * bool(layout.problem):
        row_count = max(1, height - 4)
        lines_of_notes = [
            Text(f"{glyphs.ellipsis} {format_count(len(rows) - row_count, 'more operand', 'more operands')}", "dim")
        ]
        rows, heads = rows[:row_count], heads[:row_count]
    columns = zip([slot.label for slot in slots], answer_texts, *rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    label_width = max(map(len, (layout.name, *heads, "answer")))

    def format_row(label: str, texts: Sequence[str], style: str = "") -> Text:
        result = Text(label.ljust(label_width), style)
        for slot, text, column_width in zip(slots, texts, widths, strict=True):
            result.append(COLUMN_GAP).append(text.rjust(column_width), style or _column_style(layout, slot, step_index))
        return result

    lines = [format_row(layout.name, [slot.label for slot in slots], "dim"), *map(format_row, heads, rows)]
    lines += (
        [] if layout.problem else [Text(glyphs.horizontal * len(lines[0]), "dim"), format_row("answer", answer_texts)]
    )
    is_known = glyphs.placeholder not in answer_texts
    bars = _operand_bars(layout, slots, operands, width - len(lines[0]) - 3, glyphs, is_output_known=is_known)
    for place, bar in [*enumerate(bars[: len(rows)], 1), *[(-1, bar) for bar in bars[-1:]]]:
        lines[place].append(COLUMN_GAP).append_text(bar)
    lines = [clip_line(row, width, glyphs) for row in lines]
    return stack_texts([*lines, *lines_of_notes][:height])


def _operand_row_names(layout: StageLayout, operands: Sequence[Operand]) -> list[str]:
    """Return the name of each operand, with which its row begins."""
    names, argument = layout.request.arguments, layout.stage.argument
    kind = "" if "operands" in names else "kernel" if "kernel" in names else "weight"
    kind = argument if argument == "target" else kind
    named = layout.operand_names if kind in ("", "weight") else ()
    return ["input" if not operand.number else named[operand.number - 1] if named else kind for operand in operands]


def _table_notes(
    answer: Trace | Chain,
    layout: StageLayout,
    columns: list[OperandColumn],
    step_index: int,
    rows: list[list[str]],
    glyphs: GlyphSet,
) -> Iterator[tuple[str, str]]:
    """Yield the notes below the operand table, each with its style.

    The notes explain the symbols in the rows, the conditions and the refusal.
    """
    if any(text.startswith(glyphs.pointer) for row in rows for text in row):
        yield f"{glyphs.pointer} a 1 is repeated", "dim"
    summed = [slot.label for slot in columns if slot.out_dim is None]
    if summed and not layout.problem:
        yield (
            f"{glyphs.line_end} {join_with_and(summed)} {'goes' if len(summed) == 1 else 'go'}: summed along it",
            "dim",
        )
    joined = [dim for slot in columns if slot.label.endswith(JOIN_SUFFIX) for dim in slot.dims_by_operand.values()]
    if not is_concrete(joined):
        yield "bars are not to scale: sizes have names", "dim"
    for number, step in zip(layout.step_range, layout.stage.steps, strict=False):
        if number <= step_index and not any(cell.placeholder for cell in layout.cells):
            yield from ((f"holds when {condition.phrase}", "bold") for condition in step.conditions)
            others = [condition for condition in step.alternatives if condition in answer.alternatives]
            yield from ((f"another answer when {condition.phrase}", "bold") for condition in others)
    if layout.problem:
        yield f"{glyphs.fail} {layout.problem.rule}", BOLD_ERROR


def _operand_bars(
    layout: StageLayout,
    columns: list[OperandColumn],
    operands: Sequence[Operand],
    width: int,
    glyphs: GlyphSet,
    *,
    is_output_known: bool,
) -> list[Text]:
    """Return a bar for each concatenated operand, and one for the output.

    The bar of an operand starts at its offset in the output. The bar of the output is empty while its size is hidden.
    Returns an empty list if operands are not concatenated, or if the bars do not fit.
    """
    slot = next((slot for slot in columns if slot.label.endswith(JOIN_SUFFIX)), None)
    if slot is None or layout.problem or width < MIN_BAR_WIDTH:
        return []
    dims = [slot.dims_by_operand.get(operand.number, 0 if slot.dims_by_operand else 1) for operand in operands]
    sizes = [dim if isinstance(dim, int) and is_concrete(dims) else 1 for dim in dims]
    total, unit = sum(sizes), MAX_UNIT_WIDTH if is_concrete(dims) else MAX_NAMED_UNIT_WIDTH
    length = min(unit, width // total) * total if 0 < total <= width else width
    edges = [end * length // max(1, total) for end in accumulate(sizes, initial=0)]
    joined = layout.cells[slot.out_dim : slot.out_dim + 1] if slot.out_dim is not None else ()
    hue = "".join(mark_colour(cell.mark) for cell in joined) or BAR_COLOUR
    parts = [
        Text((glyphs.second_block if index % 2 else glyphs.block) * (end - start), hue)
        for index, (start, end) in enumerate(pairwise(edges))
    ]
    offset_bars = [Text(" " * start).append_text(part) for start, part in zip(edges, parts, strict=False)]
    return [
        *offset_bars,
        Text().join(parts) if is_output_known and not any(cell.placeholder for cell in layout.cells) else Text(),
    ]


def _window_parameters(step: Step) -> dict[str, Any]:
    """Return the size of an axis, and the parameters of its window or padding.

    The size and the parameters are keyed by name.
    """
    window = step.facts.get("window")
    numbers = step.facts if window is None else {name: getattr(window, name) for name in WINDOW_DEFAULTS}
    return {**WINDOW_DEFAULTS, **numbers, "size": step.facts["dim"]}


def is_first_step_with_parameters(_answer: Trace | Chain, layout: StageLayout, step: Step | None, _width: int) -> bool:
    """Return whether no earlier step of the stage has the same window parameters."""
    window_steps = [other for other in layout.stage.steps if is_window_step(layout, other)]
    return step is next(
        (other for other in window_steps if step and _window_parameters(other) == _window_parameters(step)), None
    )


def format_drawn_dims(layout: StageLayout, step: Step) -> str:
    """Format the dims that the picture of a step shows.

    These are all dims with equal windows, or the joined axis. The text is empty for other pictures.
    """
    if is_window_step(layout, step):
        numbers = _window_parameters(step)
        window_steps = [other for other in layout.stage.steps if is_window_step(layout, other)]
        dims = [str(other.out) for other in window_steps if _window_parameters(other) == numbers]
        return f"dim {step.out}" if len(dims) < 2 else f"dims {join_with_and(dims)}"
    slots = operand_columns(layout, stage_operands(layout)) if layout.stage.kind is StageKind.JOIN else []
    return "".join(f"axis {slot.out_dim}" for slot in slots if slot.label.endswith(JOIN_SUFFIX))


def draw_windows(
    answer: Trace | Chain, layout: StageLayout, step_index: int, *, width: int, height: int, glyphs: GlyphSet
) -> Text:
    """Draw the windows of an axis below a ruler of its indices.

    The ruler includes the padding, and the elements that no window covers. If some size is symbolic, only the formula
    is drawn.
    """
    step, request = answer.steps[step_index], layout.request.arguments
    cell, numbers = layout.cells[step.out or 0], _window_parameters(step)
    why = (
        step.why if cell.dim is not None else arithmetic_with_placeholder(step, cell.placeholder or glyphs.placeholder)
    )
    lines = wrap_line(Text(f"{layout.name}  {format_drawn_dims(layout, step)}: {why}", "bold"), width)
    size, count = (cell.dim, numbers["size"]) if request.get("transposed") else (numbers["size"], cell.dim)
    is_known = is_concrete([numbers[name] for name in WINDOW_DEFAULTS])
    if isinstance(size, int) and isinstance(count, int) and size and is_known:
        if layout.stage.kind is StageKind.WINDOW or count == size + numbers["begin"] + numbers["end"]:
            first_count = MAX_WINDOWS_BEFORE_LAST if height >= HIGH_PICTURE_LINES else WINDOWS_BEFORE_LAST
            lines += _draw_window_ruler((size, count), layout, numbers, width, glyphs, first_count)
        else:
            rows: list[RulerRow] = [("answer", str), ("input", lambda position: str(position * size // count))]
            lines += _draw_index_rows(rows, {}, range(count), len(str(count)), width, glyphs)
    if cell.dim is not None:
        lines += [Text(f"holds when {condition.phrase}", "bold") for condition in step.conditions]
    return stack_texts([clip_line(line, width, glyphs) for line in lines[:height]])


def _draw_window_ruler(
    sizes: tuple[int, int],
    layout: StageLayout,
    numbers: Mapping[str, Any],
    width: int,
    glyphs: GlyphSet,
    first_count: int,
) -> list[Text]:
    """Draw the indices of an axis, and the first and the last windows.

    `sizes` contains the size of the axis and the number of windows, and `numbers` the parameters of the window or
    padding, keyed by name. `first_count` is the number of windows drawn before the last one.
    """
    kernel, stride, begin, end, dilation = (numbers[name] for name in WINDOW_DEFAULTS)
    (size, count), is_transposed = sizes, bool(layout.request.arguments.get("transposed"))
    span, padding_mode = dilation * (kernel - 1) + 1, str(layout.request.arguments.get("padding"))
    if padding_mode.startswith("same"):
        padded = max(0, (count - 1) * stride + span - size)
        begin, end = (
            (padded - padded // 2, padded // 2) if padding_mode == "same-lower" else (padded // 2, padded - padded // 2)
        )
    has_windows, cell_width = layout.stage.kind is StageKind.WINDOW, len(str(size - 1))
    padded_end = begin + size + end
    last = (count - 1) * stride + span if has_windows else padded_end
    spans = [
        (f"window {window}", glyphs.block, [range(window * stride, window * stride + span, dilation)])
        for window in dict.fromkeys((*range(first_count), count - 1))
        if has_windows and 0 <= window < count
    ]
    if has_windows and count - 1 > first_count:
        spans.insert(first_count, (glyphs.ellipsis, "", []))
    spans += [
        ("added" if is_transposed else "left over", glyphs.excess, [range(last, padded_end)]),
        ("past the end", glyphs.excess, [range(padded_end, last)]),
        ("cut off", glyphs.excess, [range(begin, 0), range(padded_end, begin + size)]),
    ]
    padding = _make_index_labeller(glyphs.shade * cell_width, [range(padded_end)])
    rows: list[RulerRow] = [
        ("positions", lambda index: str(index - begin) if index - begin in range(size) else padding(index))
    ]
    rows += [
        (head, _make_index_labeller(sign * cell_width, places))
        for head, sign, places in spans
        if any(places) or head == glyphs.ellipsis
    ]
    notes = []
    if begin > 0 or end > 0:
        mode, label = numbers.get("mode", CONSTANT), "cut off" if is_transposed else "padding"
        if "fill" in numbers:
            label = f"{label}: {numbers['fill'] if mode == CONSTANT else mode}"
        notes.append(f"{glyphs.shade} {label}")
        if mode != CONSTANT:
            rows.append(("reads", lambda position: str(pad_source_index(mode, position - begin, size))))
    if has_windows:
        remainder = "" if is_transposed or last > padded_end else f"; {padded_end - last or 'nothing'} left over"
        notes.append(f"{format_count(count, 'window', 'windows')} of {kernel}, {stride} apart{remainder}")
    positions, ranges = range(min(0, begin), max(last, padded_end, begin + size)), {name: row for name, _, row in spans}
    lines = _draw_index_rows(rows, ranges, positions, cell_width, width, glyphs)
    return [*lines, *pack_notes([Text(note, "dim") for note in notes], width)]


def _make_index_labeller(text: str, spans: Sequence[range]) -> Callable[[int], str]:
    """Return a function that maps the indices in `spans` to `text`.

    It maps all other indices to an empty string.
    """
    return lambda position: text if any(position in span for span in spans) else ""


def _overlaps(span: range, omitted: range) -> bool:
    """Return whether two ascending ranges have a common index.

    The step of the second range is 1.

    >>> _overlaps(range(0, 9, 4), range(5, 8)), _overlaps(range(0, 9, 4), range(5, 9))
    (False, True)
    """
    first = span.start + max(0, -((span.start - omitted.start) // span.step)) * span.step
    return first < min(span.stop, omitted.stop)


def _draw_index_rows(
    rows: Sequence[RulerRow],
    spans: Mapping[str, Sequence[range]],
    positions: range,
    cell_width: int,
    width: int,
    glyphs: GlyphSet,
) -> list[Text]:
    """Draw rows with one text per index.

    If `spans` contains the name of a row, only the indices in these ranges have a text in the row. If the rows are too
    wide, an ellipsis replaces indices in the middle.
    """
    label_width = max(len(head) for head, _ in rows) + 2
    position_count, lines = max(3, (width - label_width) // (cell_width + 1)), []
    count = positions.stop - positions.start  # `len(positions)` fails for sizes greater than 2**63 - 1
    cut = position_count // 2 if count > position_count else count
    for head, text in rows:
        cells = [text(place).rjust(cell_width) for place in positions[:cut]]
        if cut < count:
            omitted = positions[cut : cut - position_count + 1]
            has_text = head not in spans or any(_overlaps(span, omitted) for span in spans[head])
            cells.append((glyphs.ellipsis[:cell_width] if has_text else "").center(cell_width))
            cells += [text(place).rjust(cell_width) for place in positions[cut - position_count + 1 :]]
        hue = BAR_COLOUR if glyphs.block in "".join(cells) else ""
        lines.append(Text(head.ljust(label_width)).append(" ".join(cells), hue))
    return lines
