"""The pictures of several operands and of windows.

A table has a row for each operand and one for the answer. Dims that belong together stand in one column: aligned at the
right where operands broadcast, those that a product sums, and those of one axis where operands are laid end to end.
Then a bar beside each row is as long as what it lays along the axis. A ruler has the positions of one axis, and under
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
"""The head of a row, and what stands in it at a place."""
Labels = list[str]
"""What the columns of a shape's dims are called, in order."""
SUMMED, ALONG = "sum", " +"
"""The label of an axis that is summed, and the end of that of an axis along which operands lie."""
ALONE = {"kernel": 1, "stride": 1, "begin": 0, "end": 0, "dilation": 1}
"""The numbers of a window, as they are if nothing is said of them."""
CLASHES = (NOT_BROADCASTABLE, INNER_DIFFERS, DIMS_DIFFER, LABEL_DIFFERS)
"""The rules of refusals that are about dims in one column."""
WIDEST_DIM, LEAST_BAR, WIDEST_UNIT, WIDEST_NAMED = 12, 8, 4, 10
BETWEEN = "   "


class Slot(Record):
    """A column of the table: the dims of operands that belong together, by operand; and that of the answer, if any."""

    head: str
    dims: Mapping[int, Dim]
    out: int | None
    clashes: bool
    """Whether its dims are why the stage is refused."""


def _labels(layout: Layout, every: Sequence[Operand]) -> tuple[list[Labels], Labels]:
    """Return the labels of each operand, and those of the answer."""
    arguments, ranks = layout.request.arguments, [len(each.shape) for each in every]
    most, kind = max(ranks), layout.stage.kind
    if kind is Kind.BROADCAST:
        return [_from_right(rank) for rank in ranks], _from_right(most)
    if kind is Kind.PRODUCT and "pattern" in arguments:
        return _pattern_labels(str(arguments["pattern"]), ranks)
    if kind is Kind.PRODUCT and len(every) == 2:
        return _matrix_labels(*ranks) if "operands" in arguments else _layer_labels(layout, *ranks)
    if kind is Kind.WINDOW and len(every) == 2:
        return _window_labels(layout, *ranks)
    axis, stacks = int(arguments.get("axis") or 0), layout.request.op == "stack"
    along = axis % most if kind is Kind.JOIN and most and not stacks else None
    labels = [f"axis {place}{ALONG * (place == along)}" for place in range(most)]
    new = axis % (most + 1)
    return [labels[:rank] for rank in ranks], [*labels[:new], f"new{ALONG}", *labels[new:]] if stacks else labels


def _from_right(rank: int, kept: int = 0) -> Labels:
    return [str(-distance) for distance in range(rank, kept, -1)]


def _matrix_labels(left: int, right: int) -> tuple[list[Labels], Labels]:
    """Return the labels of two operands of these ranks and of their product; a vector has no row, or no column."""
    ends = ["row"] * (left > 1), ["column"] * (right > 1)
    operands = [[*_from_right(left, 2), *ends[0], SUMMED], [*_from_right(right, 2), SUMMED, *ends[1]]]
    return operands, [*_from_right(max(left, right), 2), *ends[0], *ends[1]]


def _layer_labels(layout: Layout, rank: int, other: int) -> tuple[list[Labels], Labels]:
    """Return the labels of the input of a layer, of its weight OUT,IN, IN,OUT or IN, and of the answer."""
    rows, out = _from_right(rank)[:-1], ["out"] * (other > 1)
    kept = [step.facts["axis"] for step in layout.stage.steps if step.facts.get("operand") == 1]
    is_last = (layout.problem.index == 0 if layout.problem else 1 in kept) and "weight" in layout.request.arguments
    return [[*rows, SUMMED], [SUMMED, *out] if is_last else [*out, SUMMED]], [*rows, *out]


def _window_labels(layout: Layout, rank: int, other: int) -> tuple[list[Labels], Labels]:
    """Return the labels of an input and of a weight, or of a kernel, and of what windows make of them."""
    arguments, row = layout.request.arguments, DIALECTS[layout.request.dialect].windows
    pools, is_last = "kernel" in arguments, arguments.get("layout", row.layout) == "nhwc"
    count = other if pools else max(0, other - 2)
    batch, channels = ["batch"] * max(0, rank - count - 1), "channels" if pools else SUMMED
    spatial = [f"dim {axis}" for axis in range(len(batch) + (not is_last), rank - is_last)]
    ends = ["out", channels] if bool(arguments.get("transposed")) == row.filters_last else [channels, "out"]
    weight = spatial if pools else [*spatial, *ends] if row.filters_last else [*ends, *spatial]
    made = [channels, channels if pools else "out"]
    own, after = ([*batch, *spatial, each] if is_last else [*batch, each, *spatial] for each in made)
    return [own, weight], after


def _pattern_labels(pattern: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of a pattern such as `bij,bjk->bik`; dots stand for dims that are counted from the right.

    >>> _pattern_labels("...i,ij", (3, 2))
    ([['-2', '-1', 'i'], ['i', 'j']], ['-2', '-1', 'j'])
    """
    asked = read_subscripts(pattern)
    counts = [rank - len(term) + 1 for term, rank in zip(asked.terms, ranks, strict=False)]
    spread = [count for term, count in zip(asked.terms, counts, strict=False) if ELLIPSIS in term]

    def filled(term: Iterable[str], count: int) -> Labels:
        return [each for label in term for each in (_from_right(count) if label == ELLIPSIS else [label])]

    own = [filled(*each) for each in zip(asked.terms, counts, strict=False)]
    return own, filled(asked.output, max(spread, default=0))


def slots_of(layout: Layout, every: Sequence[Operand]) -> list[Slot]:
    """Return the columns of a stage: those of the answer in order, and each that is summed beside its neighbour."""
    labels, answer = _labels(layout, every)
    order = [*answer]
    for own in labels:
        for place, label in enumerate(own):
            if label not in order:
                order.insert(order.index(own[place - 1]) + 1 if place else 0, label)
    pairs = [(each.number, dict(zip(own, each.shape, strict=False))) for each, own in zip(every, labels, strict=False)]
    slots = list[Slot]()
    for label in order:
        found = {number: dims[label] for number, dims in pairs if label in dims}
        out = answer.index(label) if label in answer else None
        slots.append(Slot(label, found, out, _clashes(layout, label, found, out)))
    return slots


def _clashes(layout: Layout, label: str, dims: Mapping[int, Dim], out: int | None) -> bool:
    """Say whether the dims of a column are why a stage is refused."""
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
    """Return the answer in a column: a hole for what is not settled or is hidden, a wall for what is summed."""
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
    """Return the style of a column: that of the step at hand stands out."""
    step = layout.stage.steps[at - layout.numbers.start] if at in layout.numbers else None
    own = step is not None and step.out == slot.out
    return "bold red" if slot.clashes else "bold" if own else ""


def table(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int = 12, strokes: Strokes) -> Text:
    """Return the table of a stage at one of its steps, with bars if operands are laid end to end.

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
    every, at = operands_of(layout), layout.numbers.stop if layout.stage.kind is Kind.WINDOW else at
    slots, names = slots_of(layout, every), layout.request.arguments
    other = "operand {}" if "operands" in names else "kernel" if "kernel" in names else "weight"
    other = layout.stage.argument if layout.stage.argument == "target" else other
    heads = [other.format(each.number) if each.number else "input" for each in every]
    last = [_answer_text(layout, slot, at, strokes) for slot in slots]
    pairs = [*zip(slots, last, strict=True)]
    rows = [[_dim_text(layout, slot, each.number, end, strokes) for slot, end in pairs] for each in every]
    notes = [*dict.fromkeys(_notes(answer, layout, slots, at, rows, strokes))]
    lines_of_notes = packed([Text(note, style) for note, style in notes], width, strokes)
    if len(rows) > height - 3 + 2 * bool(layout.problem):
        kept = max(1, height - 4)
        lines_of_notes = [
            Text(f"{strokes.dots} {number_text(len(rows) - kept, 'more operand', 'more operands')}", "dim")
        ]
        rows, heads = rows[:kept], heads[:kept]
    columns = zip([slot.head for slot in slots], last, *rows, strict=True)
    widths = [max(map(len, column)) for column in columns]
    left = max(map(len, (layout.name, *heads, "answer")))

    def line(head: str, texts: Sequence[str], style: str = "") -> Text:
        made = Text(head.ljust(left), style)
        for slot, text, wide in zip(slots, texts, widths, strict=True):
            made.append(BETWEEN).append(text.rjust(wide), style or _style(layout, slot, at))
        return made

    lines = [line(layout.name, [slot.head for slot in slots], "dim"), *map(line, heads, rows)]
    lines += [] if layout.problem else [Text(strokes.level * len(lines[0]), "dim"), line("answer", last)]
    bars = _bars(layout, slots, every, width - len(lines[0]) - 3, strokes, is_known=strokes.hole not in last)
    for place, bar in [*enumerate(bars[: len(rows)], 1), *[(-1, bar) for bar in bars[-1:]]]:
        lines[place].append(BETWEEN).append_text(bar)
    lines = [clip_line(each, width, strokes) for each in lines]
    return stack([*lines, *lines_of_notes][:height])


def _notes(
    answer: Trace | Chain, layout: Layout, slots: list[Slot], at: int, rows: list[list[str]], strokes: Strokes
) -> Iterator[tuple[str, str]]:
    """Yield what the marks of a table mean, and when it holds."""
    if any(text.startswith(strokes.arrow) for row in rows for text in row):
        yield f"{strokes.arrow} a 1 is repeated", "dim"
    gone = [slot.head for slot in slots if slot.out is None]
    if gone and not layout.problem:
        yield f"{strokes.wall} {and_text(gone)} {'goes' if len(gone) == 1 else 'go'}: summed along it", "dim"
    joined = [dim for slot in slots if slot.head.endswith(ALONG) for dim in slot.dims.values()]
    if not all_known(joined):
        yield "bars are not to scale: sizes have names", "dim"
    for number, step in zip(layout.numbers, layout.stage.steps, strict=False):
        if number <= at and not any(cell.hole for cell in layout.cells):
            yield from ((f"holds when {each.words}", "yellow") for each in step.conditions)
            others = [each for each in step.alternatives if each in answer.alternatives]
            yield from ((f"another answer when {each.words}", "yellow") for each in others)
    if layout.problem:
        yield f"{strokes.fail} {layout.problem.rule}", "bold red"


def _bars(
    layout: Layout, slots: list[Slot], every: Sequence[Operand], room: int, strokes: Strokes, *, is_known: bool
) -> list[Text]:
    """Return a bar for each operand that is laid end to end, where it will lie, and one of all; none without room."""
    slot = next((slot for slot in slots if slot.head.endswith(ALONG)), None)
    if slot is None or layout.problem or room < LEAST_BAR:
        return []
    dims = [slot.dims.get(each.number, 0 if slot.dims else 1) for each in every]
    sizes = [dim if isinstance(dim, int) and all_known(dims) else 1 for dim in dims]
    total, unit = sum(sizes), WIDEST_UNIT if all_known(dims) else WIDEST_NAMED
    long = min(unit, room // total) * total if 0 < total <= room else room
    ends = [end * long // max(1, total) for end in accumulate(sizes, initial=0)]
    parts = [
        Text((strokes.over if place % 2 else strokes.block) * (end - start), HUES[place % len(HUES)])
        for place, (start, end) in enumerate(pairwise(ends))
    ]
    placed = [Text(" " * start).append_text(part) for start, part in zip(ends, parts, strict=False)]
    return [*placed, Text().join(parts) if is_known and not any(cell.hole for cell in layout.cells) else Text()]


def is_about_windows(layout: Layout, step: Step | None) -> bool:
    """Say whether a step is about one axis that windows slide over, or that becomes longer."""
    return step is not None and layout.stage.kind in (Kind.WINDOW, Kind.LENGTHEN) and "dim" in step.facts


def _numbers_of(step: Step) -> dict[str, Any]:
    """Return the size of an axis, and the numbers of its windows or of what is added to it."""
    window = step.facts.get("window")
    given = step.facts if window is None else {name: getattr(window, name) for name in ALONE}
    return {**ALONE, **given, "size": step.facts["dim"]}


def begins_alike(_answer: Trace | Chain, layout: Layout, step: Step | None, _width: int) -> bool:
    """Say whether a step is the first of those about windows that have the same numbers."""
    own = [each for each in layout.stage.steps if is_about_windows(layout, each)]
    return step is next((each for each in own if step and _numbers_of(each) == _numbers_of(step)), None)


def windows(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the ruler of the axis that a step is about: its padding, its first windows, its last, what is left over.

    If sizes have names there is no ruler, and the formula stands in its place.
    """
    step, request = answer.steps[at], layout.request.arguments
    cell, numbers = layout.cells[step.out or 0], _numbers_of(step)
    why = step.why if cell.dim is not None else arithmetic(step, cell.hole or strokes.hole)
    own = [each for each in layout.stage.steps if is_about_windows(layout, each)]
    alike = [str(each.out) for each in own if _numbers_of(each) == numbers]
    said = f"dim {step.out}" if len(alike) < 2 else f"dims {and_text(alike)}"
    lines = [Text(f"{layout.name}  {said}: {why}", "bold")]
    size, count = (cell.dim, numbers["size"]) if request.get("transposed") else (numbers["size"], cell.dim)
    known = all_known([numbers[name] for name in ALONE])
    if isinstance(size, int) and isinstance(count, int) and size and known:
        if layout.stage.kind is Kind.WINDOW or count == size + numbers["begin"] + numbers["end"]:
            lines += _ruler((size, count), layout, numbers, width, strokes)
        else:
            rows: list[Row] = [("answer", str), ("input", lambda place: str(place * size // count))]
            lines += _lines(rows, range(count), len(str(count)), width, strokes)
    if cell.dim is not None:
        lines += [Text(f"holds when {each.words}", "yellow") for each in step.conditions]
    return stack([clip_line(line, width, strokes) for line in lines[:height]])


def _ruler(
    sizes: tuple[int, int], layout: Layout, numbers: Mapping[str, Any], width: int, strokes: Strokes
) -> list[Text]:
    """Return the positions, and under them the first two windows, the last, and what is left over."""
    kernel, stride, begin, end, dilation = (numbers[name] for name in ALONE)
    (size, count), turned = sizes, bool(layout.request.arguments.get("transposed"))
    span, same = dilation * (kernel - 1) + 1, str(layout.request.arguments.get("padding"))
    if same.startswith("same"):
        both = max(0, (count - 1) * stride + span - size)
        begin, end = (both - both // 2, both // 2) if same == "same-lower" else (both // 2, both - both // 2)
    slides, wide = layout.stage.kind is Kind.WINDOW, len(str(size - 1))
    ends = begin + size + end
    last = (count - 1) * stride + span if slides else ends
    marked = [
        (f"window {window}", strokes.block, [range(window * stride, window * stride + span, dilation)])
        for window in dict.fromkeys((0, 1, count - 1))
        if slides and 0 <= window < count
    ]
    marked += [
        ("added" if turned else "left over", strokes.over, [range(last, ends)]),
        ("past the end", strokes.over, [range(ends, last)]),
        ("cut off", strokes.over, [range(begin, 0), range(ends, begin + size)]),
    ]
    padding = _where(strokes.shade * wide, [range(ends)])
    rows: list[Row] = [("positions", lambda at: str(at - begin) if at - begin in range(size) else padding(at))]
    rows += [(head, _where(sign * wide, places)) for head, sign, places in marked if any(places)]
    notes = [f"{strokes.shade} {'cut off' if turned else 'padding'}"] * (begin > 0 or end > 0)
    if slides:
        rest = "" if turned or last > ends else f"; {ends - last or 'nothing'} left over"
        notes.append(f"{number_text(count, 'window', 'windows')} of {kernel}, {stride} apart{rest}")
    lines = _lines(rows, range(min(0, begin), max(last, ends, begin + size)), wide, width, strokes)
    return [*lines, *packed([Text(note, "dim") for note in notes], width, strokes)]


def _where(text: str, places: Sequence[range]) -> Callable[[int], str]:
    """Return what gives a text at some places, and nothing at others."""
    return lambda place: text if any(place in each for each in places) else ""


def _lines(rows: Sequence[Row], places: range, wide: int, width: int, strokes: Strokes) -> list[Text]:
    """Return rows of what stands at each of some places; those in the middle are left out if there are too many."""
    left = max(len(head) for head, _ in rows) + 2
    room, lines = max(3, (width - left) // (wide + 1)), []
    count = places.stop - places.start  # more than Python's own `len` can tell, where a dim is refused for its size
    cut = room // 2 if count > room else count
    for head, text in rows:
        cells = [text(place).rjust(wide) for place in places[:cut]]
        if cut < count:
            cells.append((strokes.dots[:wide] if text(places[cut]) else "").center(wide))
            cells += [text(place).rjust(wide) for place in places[cut - room + 1 :]]
        lines.append(Text(head.ljust(left)).append(" ".join(cells)))
    return lines
