"""The pictures of several operands and of windows.

A table has a row for each operand and one for the answer. Each column holds dims that belong together: aligned at the
right if operands broadcast, summed by a product, or of the same axis if operands are concatenated. For concatenated
operands, a bar beside each row is as long as its size along the axis. A ruler has the positions of one axis, and below
them the windows that slide over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Step, Trace
from shapecalc.core.conditions import Never, equal
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, all_known
from shapecalc.core.ops.operands import DIMS_DIFFER, INNER_DIFFERS, LABEL_DIFFERS, Operand, broadcast
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record
from shapecalc.core.rules import NOT_BROADCASTABLE
from shapecalc.core.text import and_text, number_text
from shapecalc.core.values import ELLIPSIS, read_subscripts
from shapecalc.view.canvas import Strokes, clip, clip_line, packed, stack
from shapecalc.view.hints import arithmetic
from shapecalc.view.layout import HUES, Layout, operands_of

Row = tuple[str, Callable[[int], str]]
"""The label of a row, and a function that returns its text at a position."""
Labels = list[str]
"""The labels of the columns of a shape, in order of its dims."""
SUMMED, ALONG = "sum", " +"
"""The label of a summed axis, and the suffix of the label of a concatenated axis."""
ALONE = {"kernel": 1, "stride": 1, "begin": 0, "end": 0, "dilation": 1}
"""The default numbers of a window."""
CLASHES = (NOT_BROADCASTABLE, INNER_DIFFERS, DIMS_DIFFER, LABEL_DIFFERS)
"""The rules of refusals that are about dims in one column."""
WIDEST_DIM, LEAST_BAR, WIDEST_UNIT, WIDEST_NAMED = 12, 8, 4, 10
BETWEEN = "   "


class Slot(Record):
    """A column of the table: matching dims by operand, and their output dim, if any."""

    head: str
    dims: Mapping[int, Dim]
    out: int | None
    clashes: bool
    """Whether its dims are the reason of the refusal."""


def _labels(layout: Layout, every: Sequence[Operand]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand and of the answer."""
    arguments, ranks = layout.request.arguments, [len(operand.shape) for operand in every]
    max_rank, kind = max(ranks), layout.stage.kind
    if kind is Kind.BROADCAST:
        return [_from_right(rank) for rank in ranks], _from_right(max_rank)
    if kind is Kind.PRODUCT and "pattern" in arguments:
        return _pattern_labels(str(arguments["pattern"]), ranks)
    if kind is Kind.PRODUCT and len(every) == 2:
        return _matrix_labels(*ranks) if "operands" in arguments else _layer_labels(layout, *ranks)
    if kind is Kind.WINDOW and len(every) == 2:
        return _window_labels(layout, *ranks)
    axis, stacks = int(arguments.get("axis") or 0), layout.request.op == "stack"
    joined_axis = axis % max_rank if kind is Kind.JOIN and max_rank and not stacks else None
    labels = [f"axis {index}{ALONG * (index == joined_axis)}" for index in range(max_rank)]
    new = axis % (max_rank + 1)
    return [labels[:rank] for rank in ranks], [*labels[:new], f"new{ALONG}", *labels[new:]] if stacks else labels


def _from_right(rank: int, kept: int = 0) -> Labels:
    return [str(-distance) for distance in range(rank, kept, -1)]


def _matrix_labels(left: int, right: int) -> tuple[list[Labels], Labels]:
    """Return the labels of two operands of a matrix product, and of the product.

    A vector has no row, or no column.
    """
    ends = ["row"] * (left > 1), ["column"] * (right > 1)
    operands = [[*_from_right(left, 2), *ends[0], SUMMED], [*_from_right(right, 2), SUMMED, *ends[1]]]
    return operands, [*_from_right(max(left, right), 2), *ends[0], *ends[1]]


def _layer_labels(layout: Layout, rank: int, other: int) -> tuple[list[Labels], Labels]:
    """Return the labels of a linear layer: input, weight and answer.

    The weight is OUT,IN, or IN,OUT, or IN.
    """
    rows, out = _from_right(rank)[:-1], ["out"] * (other > 1)
    kept = [step.facts["axis"] for step in layout.stage.steps if step.facts.get("operand") == 1]
    is_last = (layout.problem.index == 0 if layout.problem else 1 in kept) and "weight" in layout.request.arguments
    return [[*rows, SUMMED], [SUMMED, *out] if is_last else [*out, SUMMED]], [*rows, *out]


def _window_labels(layout: Layout, rank: int, other: int) -> tuple[list[Labels], Labels]:
    """Return the labels of an input, of a weight or kernel, and of the answer."""
    arguments, rules = layout.request.arguments, DIALECTS[layout.request.dialect].windows
    pools, is_last = "kernel" in arguments, arguments.get("layout", rules.layout) == "nhwc"
    count = other if pools else max(0, other - 2)
    batch, channels = ["batch"] * max(0, rank - count - 1), "channels" if pools else SUMMED
    spatial = [f"dim {axis}" for axis in range(len(batch) + (not is_last), rank - is_last)]
    ends = ["out", channels] if bool(arguments.get("transposed")) == rules.filters_last else [channels, "out"]
    weight = spatial if pools else [*spatial, *ends] if rules.filters_last else [*ends, *spatial]
    channel_labels = [channels, channels if pools else "out"]
    before, after = ([*batch, *spatial, label] if is_last else [*batch, label, *spatial] for label in channel_labels)
    return [before, weight], after


def _pattern_labels(pattern: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of a pattern such as `bij,bjk->bik`.

    The dims of an ellipsis are numbered from the right.

    >>> _pattern_labels("...i,ij", (3, 2))
    ([['-2', '-1', 'i'], ['i', 'j']], ['-2', '-1', 'j'])
    """
    subscripts = read_subscripts(pattern)
    counts = [rank - len(term) + 1 for term, rank in zip(subscripts.terms, ranks, strict=False)]
    ellipsis_counts = [count for term, count in zip(subscripts.terms, counts, strict=False) if ELLIPSIS in term]

    def filled(term: Iterable[str], count: int) -> Labels:
        return [part for label in term for part in (_from_right(count) if label == ELLIPSIS else [label])]

    labels = [filled(term, count) for term, count in zip(subscripts.terms, counts, strict=False)]
    return labels, filled(subscripts.output, max(ellipsis_counts, default=0))


def slots_of(layout: Layout, every: Sequence[Operand]) -> list[Slot]:
    """Return the columns of a stage.

    The columns of the answer are in order. A summed column follows its left neighbour.
    """
    labels, answer = _labels(layout, every)
    order = [*answer]
    for operand_labels in labels:
        for index, label in enumerate(operand_labels):
            if label not in order:
                order.insert(order.index(operand_labels[index - 1]) + 1 if index else 0, label)
    pairs = [
        (operand.number, dict(zip(operand_labels, operand.shape, strict=False)))
        for operand, operand_labels in zip(every, labels, strict=False)
    ]
    slots = list[Slot]()
    for label in order:
        dims_by_operand = {number: dims[label] for number, dims in pairs if label in dims}
        out = answer.index(label) if label in answer else None
        slots.append(Slot(label, dims_by_operand, out, _clashes(layout, label, dims_by_operand, out)))
    return slots


def _clashes(layout: Layout, label: str, dims: Mapping[int, Dim], out: int | None) -> bool:
    """Return whether the dims of a column are the reason of the refusal."""
    problem, kind = layout.problem, layout.stage.kind
    if problem is not None and kind is Kind.WINDOW:
        return out is None if problem.argument == "weight" else label == f"dim {problem.index}"
    if problem is None or problem.rule not in CLASHES or label.endswith(ALONG):
        return False
    try:
        for dim in dims.values() if kind is Kind.JOIN or out is None else ():
            equal(next(iter(dims.values())), dim)
        if kind is not Kind.JOIN and out is not None:
            broadcast([((number, 0), dim) for number, dim in dims.items()], "")
    except (Never, ShapeError):
        return True
    return False


def _answer_text(layout: Layout, slot: Slot, at: int, strokes: Strokes) -> str:
    """Return the text of the answer in a column.

    It is a hole if the dim is not settled or is hidden, and a wall if it is summed.
    """
    cell = layout.cells[slot.out] if slot.out is not None and slot.out < len(layout.cells) else None
    if slot.out is None:
        return strokes.wall
    if cell is None or cell.dim is None or cell.step > at:
        return cell.hole or strokes.hole if cell else strokes.hole
    return clip(str(cell.dim), WIDEST_DIM, strokes)


def _dim_text(layout: Layout, slot: Slot, number: int, answer: str, strokes: Strokes) -> str:
    """Return an operand's dim in a column, with a mark if it is repeated or refused."""
    text = clip(str(slot.dims.get(number, "")), WIDEST_DIM, strokes)
    repeats = layout.stage.kind in (Kind.BROADCAST, Kind.PRODUCT) and slot.out is not None and not layout.problem
    if repeats and text == "1" and answer not in ("1", strokes.hole) and answer[:1] != "[":
        return f"{strokes.arrow}{text}"
    return f"{strokes.fail}{text}" if slot.clashes and text else text


def _style(layout: Layout, slot: Slot, at: int) -> str:
    """Return the style of a column. The one of the current step is bold."""
    step = layout.stage.steps[at - layout.numbers.start] if at in layout.numbers else None
    is_current = step is not None and step.out == slot.out
    return "bold red" if slot.clashes else "bold" if is_current else ""


def table(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int = 12, strokes: Strokes) -> Text:
    """Return the table of a stage at a step, with bars if operands are concatenated.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> from shapecalc.view.layout import layouts
    >>> made = sc.chain("8,1,6", "broadcast 7,1")
    >>> print(table(made, layouts(made)[0], 3, width=60, strokes=ASCII))
    broadcast   -3   -2   -1
    input        8   >1    6
    operand 1         7   >1
    ------------------------
    answer       8    7    6
    > a 1 is repeated
    """
    operands, at = operands_of(layout), layout.numbers.stop if layout.stage.kind is Kind.WINDOW else at
    slots, names = slots_of(layout, operands), layout.request.arguments
    other = "operand {}" if "operands" in names else "kernel" if "kernel" in names else "weight"
    other = layout.stage.argument if layout.stage.argument == "target" else other
    heads = [other.format(operand.number) if operand.number else "input" for operand in operands]
    answer_texts = [_answer_text(layout, slot, at, strokes) for slot in slots]
    pairs = [*zip(slots, answer_texts, strict=True)]
    rows = [[_dim_text(layout, slot, operand.number, end, strokes) for slot, end in pairs] for operand in operands]
    notes = [*dict.fromkeys(_notes(answer, layout, slots, at, rows, strokes))]
    lines_of_notes = packed([Text(note, style) for note, style in notes], width, strokes)
    if len(rows) > height - 3 + 2 * bool(layout.problem):
        row_count = max(1, height - 4)
        lines_of_notes = [
            Text(f"{strokes.dots} {number_text(len(rows) - row_count, 'more operand', 'more operands')}", "dim")
        ]
        rows, heads = rows[:row_count], heads[:row_count]
    columns = zip([slot.head for slot in slots], answer_texts, *rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    label_width = max(map(len, (layout.name, *heads, "answer")))

    def line(head: str, texts: Sequence[str], style: str = "") -> Text:
        result = Text(head.ljust(label_width), style)
        for slot, text, column_width in zip(slots, texts, widths, strict=True):
            result.append(BETWEEN).append(text.rjust(column_width), style or _style(layout, slot, at))
        return result

    lines = [line(layout.name, [slot.head for slot in slots], "dim"), *map(line, heads, rows)]
    lines += [] if layout.problem else [Text(strokes.level * len(lines[0]), "dim"), line("answer", answer_texts)]
    bars = _bars(layout, slots, operands, width - len(lines[0]) - 3, strokes, is_known=strokes.hole not in answer_texts)
    for place, bar in [*enumerate(bars[: len(rows)], 1), *[(-1, bar) for bar in bars[-1:]]]:
        lines[place].append(BETWEEN).append_text(bar)
    lines = [clip_line(row, width, strokes) for row in lines]
    return stack([*lines, *lines_of_notes][:height])


def _notes(
    answer: Trace | Chain, layout: Layout, slots: list[Slot], at: int, rows: list[list[str]], strokes: Strokes
) -> Iterator[tuple[str, str]]:
    """Yield the notes on the marks of a table and on its conditions, with styles."""
    if any(text.startswith(strokes.arrow) for row in rows for text in row):
        yield f"{strokes.arrow} a 1 is repeated", "dim"
    summed = [slot.head for slot in slots if slot.out is None]
    if summed and not layout.problem:
        yield f"{strokes.wall} {and_text(summed)} {'goes' if len(summed) == 1 else 'go'}: summed along it", "dim"
    joined = [dim for slot in slots if slot.head.endswith(ALONG) for dim in slot.dims.values()]
    if not all_known(joined):
        yield "bars are not to scale: sizes have names", "dim"
    for number, step in zip(layout.numbers, layout.stage.steps, strict=False):
        if number <= at and not any(cell.hole for cell in layout.cells):
            yield from ((f"holds when {condition.words}", "yellow") for condition in step.conditions)
            others = [condition for condition in step.alternatives if condition in answer.alternatives]
            yield from ((f"another answer when {condition.words}", "yellow") for condition in others)
    if layout.problem:
        yield f"{strokes.fail} {layout.problem.rule}", "bold red"


def _bars(
    layout: Layout, slots: list[Slot], every: Sequence[Operand], room: int, strokes: Strokes, *, is_known: bool
) -> list[Text]:
    """Return a bar for each concatenated operand, and one for the answer.

    A bar is at the offset of its operand. Returns no bars if there is not enough room.
    """
    slot = next((slot for slot in slots if slot.head.endswith(ALONG)), None)
    if slot is None or layout.problem or room < LEAST_BAR:
        return []
    dims = [slot.dims.get(operand.number, 0 if slot.dims else 1) for operand in every]
    sizes = [dim if isinstance(dim, int) and all_known(dims) else 1 for dim in dims]
    total, unit = sum(sizes), WIDEST_UNIT if all_known(dims) else WIDEST_NAMED
    length = min(unit, room // total) * total if 0 < total <= room else room
    edges = [end * length // max(1, total) for end in accumulate(sizes, initial=0)]
    parts = [
        Text((strokes.over if index % 2 else strokes.block) * (end - start), HUES[index % len(HUES)])
        for index, (start, end) in enumerate(pairwise(edges))
    ]
    offset_bars = [Text(" " * start).append_text(part) for start, part in zip(edges, parts, strict=False)]
    return [*offset_bars, Text().join(parts) if is_known and not any(cell.hole for cell in layout.cells) else Text()]


def is_about_windows(layout: Layout, step: Step | None) -> bool:
    """Return whether a step is about one axis of windows or padding."""
    return step is not None and layout.stage.kind in (Kind.WINDOW, Kind.LENGTHEN) and "dim" in step.facts


def _numbers_of(step: Step) -> dict[str, Any]:
    """Return the size of an axis, and the numbers of its windows or of its padding."""
    window = step.facts.get("window")
    numbers = step.facts if window is None else {name: getattr(window, name) for name in ALONE}
    return {**ALONE, **numbers, "size": step.facts["dim"]}


def begins_alike(_answer: Trace | Chain, layout: Layout, step: Step | None, _width: int) -> bool:
    """Return whether a step is the first with its window numbers."""
    window_steps = [other for other in layout.stage.steps if is_about_windows(layout, other)]
    return step is next((other for other in window_steps if step and _numbers_of(other) == _numbers_of(step)), None)


def windows(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the ruler of the axis of a step: its padding, windows and remainder.

    If sizes are named, the formula replaces the ruler.
    """
    step, request = answer.steps[at], layout.request.arguments
    cell, numbers = layout.cells[step.out or 0], _numbers_of(step)
    why = step.why if cell.dim is not None else arithmetic(step, cell.hole or strokes.hole)
    window_steps = [other for other in layout.stage.steps if is_about_windows(layout, other)]
    equal_dims = [str(other.out) for other in window_steps if _numbers_of(other) == numbers]
    subject = f"dim {step.out}" if len(equal_dims) < 2 else f"dims {and_text(equal_dims)}"
    lines = [Text(f"{layout.name}  {subject}: {why}", "bold")]
    size, count = (cell.dim, numbers["size"]) if request.get("transposed") else (numbers["size"], cell.dim)
    is_known = all_known([numbers[name] for name in ALONE])
    if isinstance(size, int) and isinstance(count, int) and size and is_known:
        if layout.stage.kind is Kind.WINDOW or count == size + numbers["begin"] + numbers["end"]:
            lines += _ruler((size, count), layout, numbers, width, strokes)
        else:
            rows: list[Row] = [("answer", str), ("input", lambda position: str(position * size // count))]
            lines += _lines(rows, range(count), len(str(count)), width, strokes)
    if cell.dim is not None:
        lines += [Text(f"holds when {condition.words}", "yellow") for condition in step.conditions]
    return stack([clip_line(line, width, strokes) for line in lines[:height]])


def _ruler(
    sizes: tuple[int, int], layout: Layout, numbers: Mapping[str, Any], width: int, strokes: Strokes
) -> list[Text]:
    """Return the positions, and below them the first two windows and the last."""
    kernel, stride, begin, end, dilation = (numbers[name] for name in ALONE)
    (size, count), is_transposed = sizes, bool(layout.request.arguments.get("transposed"))
    span, padding_mode = dilation * (kernel - 1) + 1, str(layout.request.arguments.get("padding"))
    if padding_mode.startswith("same"):
        padded = max(0, (count - 1) * stride + span - size)
        begin, end = (
            (padded - padded // 2, padded // 2) if padding_mode == "same-lower" else (padded // 2, padded - padded // 2)
        )
    has_windows, cell_width = layout.stage.kind is Kind.WINDOW, len(str(size - 1))
    padded_end = begin + size + end
    last = (count - 1) * stride + span if has_windows else padded_end
    spans = [
        (f"window {window}", strokes.block, [range(window * stride, window * stride + span, dilation)])
        for window in dict.fromkeys((0, 1, count - 1))
        if has_windows and 0 <= window < count
    ]
    spans += [
        ("added" if is_transposed else "left over", strokes.over, [range(last, padded_end)]),
        ("past the end", strokes.over, [range(padded_end, last)]),
        ("cut off", strokes.over, [range(begin, 0), range(padded_end, begin + size)]),
    ]
    padding = _where(strokes.shade * cell_width, [range(padded_end)])
    rows: list[Row] = [
        ("positions", lambda index: str(index - begin) if index - begin in range(size) else padding(index))
    ]
    rows += [(head, _where(sign * cell_width, places)) for head, sign, places in spans if any(places)]
    notes = [f"{strokes.shade} {'cut off' if is_transposed else 'padding'}"] * (begin > 0 or end > 0)
    if has_windows:
        remainder = "" if is_transposed or last > padded_end else f"; {padded_end - last or 'nothing'} left over"
        notes.append(f"{number_text(count, 'window', 'windows')} of {kernel}, {stride} apart{remainder}")
    lines = _lines(rows, range(min(0, begin), max(last, padded_end, begin + size)), cell_width, width, strokes)
    return [*lines, *packed([Text(note, "dim") for note in notes], width, strokes)]


def _where(text: str, places: Sequence[range]) -> Callable[[int], str]:
    """Return a function that maps these positions to a text, others to an empty one."""
    return lambda position: text if any(position in span for span in places) else ""


def _lines(rows: Sequence[Row], places: range, wide: int, width: int, strokes: Strokes) -> list[Text]:
    """Return rows of texts by position. Middle positions are omitted if needed."""
    label_width = max(len(head) for head, _ in rows) + 2
    position_count, lines = max(3, (width - label_width) // (wide + 1)), []
    count = places.stop - places.start  # `len(places)` overflows for a dim that is refused for its size
    cut = position_count // 2 if count > position_count else count
    for head, text in rows:
        cells = [text(place).rjust(wide) for place in places[:cut]]
        if cut < count:
            cells.append((strokes.dots[:wide] if text(places[cut]) else "").center(wide))
            cells += [text(place).rjust(wide) for place in places[cut - position_count + 1 :]]
        lines.append(Text(head.ljust(label_width)).append(" ".join(cells)))
    return lines
