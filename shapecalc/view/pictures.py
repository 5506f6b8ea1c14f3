"""The pictures of steps, and the table that assigns a picture to each step.

A budget has the element count, the product of the known dims, and the quotient for -1: small counts as bars; names,
zeros and huge counts as factors that cancel. Rulers show a reshape: the old cuts above the new cuts of the same row of
elements. Lanes are lines from each dim to the dim that it becomes, with the reason at the right; for a 0 that copies
only a size, that size is beside the line of the elements.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import gcd, lcm, prod
from operator import mul

from rich.style import Style
from rich.text import Text

from shapecalc.core import rules
from shapecalc.core.answers import Chain, Kind, Step, Trace
from shapecalc.core.dims import Dim, all_known, names, product, quotient, substitute
from shapecalc.core.origins import Group, told
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import and_text, brief, dim_text, number_text, shape_text
from shapecalc.view.canvas import UNICODE, Canvas, Strokes, clip, clip_line, ink, packed, pitch_for, rows_around, stack
from shapecalc.view.flow import NO_HOLES, Holes, flow, put_arrival, rows_of
from shapecalc.view.hints import sizes_text
from shapecalc.view.layout import (
    COMBINING,
    INFERS,
    Cell,
    Layout,
    colour,
    label,
    layouts,
    mark_text,
    opened,
    operands_of,
    place_of,
    size_alone,
    unsettled,
    with_holes,
)
from shapecalc.view.operands import begins_alike, is_about_windows, table, windows
from shapecalc.view.wires import draw_wires, wiring

Shown = dict[int, tuple[Layout, Step | None]]
"""Steps by index, each with its layout. The step is None for a refusal."""
TIMES = " * "
OPEN_END = 3
"""The length of the line into a hidden dim."""
LEAST_LABEL = 14
"""The width of the labels at the left of the rulers."""
SPACIOUS = 14
"""The minimum height for large bars and for rulers with numbered parts."""
NO_ROOM = "no room for lines"
MOST_DRAWN = 4
"""The most pictures of an answer."""
COUNTED = (rules.INDIVISIBLE, rules.INFER_LIMIT, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
"""The rules of refusals about element counts."""


class Budget(Record):
    """The two sides of a reshape: the input dims, and the requested dims except -1."""

    have: tuple[Dim, ...]
    known: tuple[Dim, ...]
    hole: int | None
    """The index of the -1. None if all dims are requested."""
    left_out: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The indices of the dims of each side that are not counted."""

    @property
    def counts(self) -> tuple[Dim, Dim]:
        """The two element counts."""
        have, known = self.left_out
        return _product_without(self.have, have), _product_without(self.known, known)


def _product_without(dims: tuple[Dim, ...], places: Collection[int]) -> Dim:
    return product([dim for place, dim in enumerate(dims) if place not in places])


class Ruler(Record):
    """One axis, with cuts at the multiples of its stride in elements."""

    label: str
    colour: str
    size: int
    step: int


class Rulers(Record):
    """The axes of a block before and after a reshape, on the same elements."""

    before: tuple[Ruler, ...]
    after: tuple[Ruler, ...]
    volume: int
    mixed: str
    """The dims that mix axes for most sizes of the names.

    For the sizes that are drawn, the cuts may be aligned nevertheless.
    """

    @property
    def lines(self) -> int:
        """The height: axes, numbers, marks of a clash, and the conclusion."""
        return len(self.before) + len(self.after) + 2 + bool(self.clash)

    @property
    def clash(self) -> tuple[int, int] | None:
        """The strides of the first old and new axis whose cuts are not aligned, if any.

        Old strides divide each other, so only the neighbours of a new stride have to be compared.
        """
        steps = sorted(old.step for old in self.before)
        for new in self.after:
            position = bisect_left(steps, new.step)
            if any(_cross(step, new.step) for step in steps[max(position - 1, 0) : position + 1]):
                return next((old.step, new.step) for old in self.before if _cross(old.step, new.step))
        return None

    @property
    def period(self) -> int:
        """The number of elements after which the misaligned cuts repeat."""
        pairs = [(old.step, new.step) for old in self.before for new in self.after if _cross(old.step, new.step)]
        return max([lcm(*pair) for pair in pairs], default=self.volume)


class Picture(Record):
    """A kind of picture, the steps that it is for, and when it is worth drawing."""

    draw: Callable[..., Text]
    """Draws a step from the answer, its layout, the step index, size and glyphs."""
    is_of: Callable[[Layout, Step | None], bool]
    """Returns whether it is for a step of a layout. A step of None is the refusal."""
    tells_more: Callable[[Trace | Chain, Layout, Step | None, int], bool]
    """Returns whether it shows more of a step than the flow, in a width."""


def sums(made: Sequence[Layout]) -> Iterator[str]:
    """Yield the division of each settled -1.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> [*sums(layouts(sc.reshape((2, 8, 3), (0, -1, 6))))]
    ['-1 = 48 / (2*6) = 4']
    """
    for layout in made:
        outs = {out for out, dim in enumerate(layout.stage.asked if layout.cuts else ()) if dim == -1}
        settling = (step for step in layout.stage.steps if step.out in outs)
        yield from (f"-1 = {division(layout, step)} = {dim_text(step.dim)}" for step in settling)


def division(layout: Layout, step: Step) -> str:
    """Return the division of a -1: all elements, or those of the axis that is split.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> answer = sc.reshape(("N", 12, "H"), (0, -1))
    >>> division(layouts(answer)[0], answer.steps[1])
    'N*12*H / N'
    """
    infers = step.rule in INFERS
    link = next((link for link in layout.links if step.out in link.outs), None)
    sources = range(len(layout.before)) if infers or link is None else link.sources
    outs = range(len(layout.cells)) if infers or link is None else link.outs
    have = [layout.stage.before[axis] for axis in sources]
    known = [layout.cells[out].dim or 0 for out in outs if out != step.out]
    if step.rule in INFERS and (product(have), product(known)) != (step.facts["have"], step.facts["known"]):
        have, known = [step.facts["have"]], [step.facts["known"]]
    total = dim_text(product(have)) if all_known(have) else brief(_product_text(have))
    divisor = brief(_product_text(known))
    return f"{total} / {f'({divisor})' if '*' in divisor else divisor}"


def _product_text(dims: Sequence[Dim]) -> str:
    return "*".join(map(str, dims)) or "1"


def budget_of(layout: Layout) -> Budget | None:
    """Return the budget of a reshape; None if a dim besides the -1 is not settled."""
    negative_outs = (out for out, cell in enumerate(layout.cells) if cell.token.startswith("-"))
    hole = next(
        (out for out in negative_outs if layout.cells[out].dim is None or layout.cells[out].token == "-1"), None
    )
    dims = [cell.dim for out, cell in enumerate(layout.cells) if out != hole]
    empty = next((step for step in layout.stage.steps if step.rule == rules.INFERRED_EMPTY), None)
    known = tuple(dim for dim in dims if dim is not None)
    left_out = _places_left_out(layout, hole, empty)
    return Budget(layout.stage.before, known, hole, left_out) if len(known) == len(dims) else None


def _places_left_out(layout: Layout, hole: int | None, empty: Step | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the indices that a dialect does not count if a known dim is 0."""
    if empty is None:
        return (), ()
    others = [out for out in range(len(layout.cells)) if out != hole]
    if empty.facts["left_out"] is rules.LeftOut.ZEROS:
        zeros = tuple(axis for axis, cell in enumerate(layout.before) if cell.dim == 0)
        return zeros, tuple(index for index, out in enumerate(others) if layout.cells[out].dim == 0)
    copied = [out for out in others if layout.cells[out].token == "0"]
    return tuple(copied), tuple(index for index, out in enumerate(others) if out in copied)


def budget(_answer: Trace | Chain, layout: Layout, _at: int, *, width: int, height: int = 12, strokes: Strokes) -> Text:
    """Return the budget of a stage, as bars or as factors that cancel.

    If the height allows, the bars separate single elements.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> from shapecalc.view.canvas import ASCII
    >>> answer = sc.reshape((2, 3), (3, -1))
    >>> print(budget(answer, layouts(answer)[0], 1, width=60, strokes=ASCII))
    reshape 2,3 to 3,-1
    have   2 * 3 = 6  ###|###
    known  3     = 3  ###
    -1     6 / 3 = 2  3 fits 2 times, nothing left over
    2 and 3 mix into 3 and 2
    """
    if layout.is_open:
        return _open_budget(layout, width, height, strokes)
    stage_budget = budget_of(layout)
    if stage_budget is None:
        return Text("the element counts are not known yet", end="", no_wrap=True)
    have, known = stage_budget.counts
    lines = None
    if (
        isinstance(have, int)
        and isinstance(known, int)
        and have > 0
        and known > 0
        and stage_budget.left_out == ((), ())
    ):
        lines = _bar_lines(stage_budget, have, known, (width, height), strokes)
    lines = lines or _factor_lines(stage_budget, layout, width)
    for step in layout.stage.steps:
        if step.rule in INFERS or regroups(step):
            lines += [
                Text(f"holds when {condition.words}; otherwise refused", "yellow") for condition in step.conditions
            ]
    if len(lines) < height:
        lines = [Text(layout.head, "bold"), *lines]
    summary = _what_becomes_of_axes(layout)
    if summary and len(lines) < height and len(summary) <= width:
        lines.append(Text(summary, "dim"))
    return stack([clip_line(line, width, strokes) for line in lines])


def _open_budget(layout: Layout, width: int, height: int, strokes: Strokes) -> Text:
    """Return the budget of a hidden -1: the bars of both counts, and the hole."""
    hole = next((cell for cell in layout.cells if cell.token == "-1"), None)
    others = [cell for cell in layout.cells if cell is not hole]
    have, known = layout.stage.before, tuple([cell.dim for cell in others if cell.dim is not None])
    texts = (_factors_text(have, strokes), TIMES.join(cell.hole or str(cell.dim) for cell in others) or "1")
    rows = zip(("have", "known", "-1"), (*texts, hole.hole if hole else ""), strict=True)
    lines = [f"{word.ljust(5)}  {clip(text, 26, strokes)}" for word, text in rows]
    label_width, bars = max(map(len, lines)) + 2, list[Text]()
    counts = [count for side in (have, known) if isinstance(count := product(side), int) and count > 0]
    if (
        len(counts) == 2
        and len(known) == len(others)
        and (unit := _least_unit(counts[0], counts[1], width - label_width, 0))
    ):
        cells = min(6, (width - label_width) // (max(counts) // unit)) if height >= SPACIOUS else 1
        bars = [_widened(Text(strokes.block * (count // unit)), cells, strokes) for count in counts]
    drawn = [Text(line.ljust(label_width)) for line in lines]
    for line, bar in zip(drawn, bars, strict=False):
        line.append_text(bar)
    return stack([clip_line(line, width, strokes) for line in (Text(layout.head, "bold"), *drawn)])


def _what_becomes_of_axes(layout: Layout) -> str:
    """Return the sizes that stay, merge, split or mix, in words.

    Returns an empty text if this is not known of all dims.
    """
    shape, new_shape = layout.stage.before, layout.stage.after
    if new_shape is None or {out for link in layout.links for out in link.outs} != {*range(len(new_shape))}:
        return ""
    texts = []
    for group in told(layout.links, layout.wires, layout.mixed):
        before = and_text([dim_text(shape[axis]) for axis in group.sources])
        after = and_text([dim_text(new_shape[out]) for out in group.outs])
        if group.part:
            texts.append(f"{'a part' if len(group.sources) == 1 else 'parts'} of {before} becomes {after}")
        else:
            texts.append(f"{before or after} {group.verb}" + (f" {after}" if group.verb.endswith("into") else ""))
    return "; ".join(texts)


def _factors_text(dims: Sequence[Dim], strokes: Strokes) -> str:
    return clip(TIMES.join(map(str, dims)) or "1", 26, strokes)


def _bar_lines(asked: Budget, have: int, known: int, size: tuple[int, int], strokes: Strokes) -> list[Text] | None:
    """Return the bars of two counts; None if they do not fit.

    A block is one element, or the smallest common divisor of the counts that makes the bars fit.
    """
    width, height = size
    word = "known" if asked.hole is not None else "want"
    rows = [
        ("have", _factors_text(asked.have, strokes), str(have)),
        (word, _factors_text(asked.known, strokes), str(known)),
    ]
    if asked.hole is not None:
        rows.append(("-1", f"{have} / {known}", "?" if have % known else str(have // known)))
    head, factors, counts = (max(len(row[column]) for row in rows) for column in range(3))
    texts = [f"{row[0].ljust(max(head, 5))}  {row[1].ljust(factors)} = {row[2].rjust(counts)}" for row in rows]
    room = width - max(map(len, texts)) - 2
    walls = 0 if asked.hole is None else -(-have // known) - 1
    unit = _least_unit(have, known, room, walls)
    if room < 12 or unit is None:
        return None
    have, known = have // unit, known // unit
    bars = _bars(have, known, strokes, divided=asked.hole is not None)
    if height >= SPACIOUS:
        bars = [_widened(bar, min(6, room // max(map(len, bars))), strokes) for bar in bars]
    lines = [Text(f"{text}  ").append_text(bar) for text, bar in zip(texts, bars, strict=False)]
    lines += [Text(text) for text in texts[len(bars) :]]
    if height >= SPACIOUS:
        lines = [spaced for line in lines for spaced in (line, Text())][:-1]
    words = _division_words(asked, have * unit, known * unit)
    if len(lines[-1]) + 2 + len(words) <= width:
        lines[-1].append(f"  {words}")
    else:
        lines.append(Text(" " * (len(texts[0]) + 2) + words))
    return lines if unit == 1 else [*lines, Text(f"each {strokes.block} is {unit} elements", "dim")]


def _least_unit(have: int, known: int, room: int, walls: int) -> int | None:
    """Return the elements per block that fit a width; None if no number fits.

    `walls` is the number of lines between the pieces.

    >>> _least_unit(24, 6, 30, 3), _least_unit(96, 24, 40, 3), _least_unit(97, 24, 40, 4)
    (1, 3, None)
    """
    longest, common = max(have, known), gcd(have, known)
    for blocks in range(min(room, longest), 0, -1):
        unit = longest // blocks
        if longest % blocks == 0 and common % unit == 0 and blocks + walls * (known > unit) <= room:
            return unit
    return None


def _bars(have: int, known: int, strokes: Strokes, *, divided: bool) -> list[Text]:
    """Return the bars of two counts.

    If `divided`, the first consists of pieces of the size of the second. Otherwise the difference is marked.
    """
    pieces, rest = divmod(have, known) if divided else (1, abs(have - known))
    wall = strokes.upright if divided and known > 1 else ""
    same = strokes.block * (known if divided else min(have, known))
    whole, over = Text(wall.join([same] * pieces)), Text(strokes.over * rest, "bold red")
    if divided:
        return [whole.append(wall * bool(pieces and rest)).append_text(over), Text(same)]
    return [Text(same).append_text(over if more else Text()) for more in (have > known, known > have)]


def _widened(bar: Text, cells: int, strokes: Strokes) -> Text:
    """Return a bar with several cells per element, separated by a blank from 3 on."""
    result, gap = Text(), " " * (cells > 2)
    for char in bar.divide(range(1, len(bar))):
        width = 1 if char.plain == strokes.upright else cells - len(gap)
        result.append_text(Text(char.plain * width + gap, *[span.style for span in char.spans]))
    return result


def _division_words(asked: Budget, have: int, known: int) -> str:
    if asked.hole is not None:
        times = "once" if have // known == 1 else f"{dim_text(have // known)} times"
        remainder = f"{dim_text(have % known)} left over: refused" if have % known else "nothing left over"
        return f"{known} fits {times}, {remainder}"
    if have != known:
        return f"{abs(have - known)} {'too many' if known > have else 'left over'}: refused"
    return "as many as there are"


def _factor_lines(asked: Budget, layout: Layout, width: int) -> list[Text]:
    """Return both sides as factors, equal ones below each other, and the remainder."""
    have, known = asked.counts
    below, extra = _pair_dims(asked)
    cells = []
    for index, dim in enumerate(asked.have):
        top, skipped = str(dim), index in asked.left_out[0]
        cancelled = below[index] is not None
        bottom = str(asked.known[below[index] or 0]) if cancelled else ""
        cells.append((f"({top})" if skipped else top, bottom, "" if cancelled or skipped else top))
    for index in extra:
        skipped, dim = index in asked.left_out[1], asked.known[index]
        cells.append(("", f"({dim})" if skipped else str(dim), "" if skipped or dim == 1 else f"/ {dim}"))
    widths = [max(map(len, column)) for column in cells]
    words = ("have", "known", "-1") if asked.hole is not None else ("have", "want", "left")
    lines = []
    for row, word in enumerate(words):
        line, first = Text(f"{word.ljust(5)}  "), True
        for index, (column, size) in enumerate(zip(cells, widths, strict=True)):
            style = colour(layout.before[index].mark) if index < len(asked.have) and row != 1 else ""
            cancelled = row < 2 and column[2] == ""
            times = column[row] and not first and not column[row].startswith("/")
            line.append(TIMES if times else "   " if index else "")
            line.append(column[row].rjust(size), "dim" if cancelled else style)
            first = first and not column[row]
        lines.append(line.append("   "))
    total = _inferred_dim(asked, have, known)
    lines[2].append(f"= {total}" if total else "", "bold")
    if max(len(line.plain.rstrip()) for line in lines) > width:
        counts = [Text(f"have   {dim_text(have)}"), Text(f"{words[1].ljust(5)}  {dim_text(known)}")]
        return [*counts, *([Text(f"-1     {total}")] if total else [])]
    cancelled_dims = dict.fromkeys(
        dim_text(asked.have[index]) for index, bottom in enumerate(below) if bottom is not None
    )
    note = (
        f"   {and_text([*cancelled_dims])} {'cancels' if len(cancelled_dims) == 1 else 'cancel'}"
        if cancelled_dims
        else ""
    )
    if len(lines[2]) + len(note) <= width:
        lines[2].append(note, "dim")
    return lines


def _inferred_dim(asked: Budget, have: Dim, known: Dim) -> str:
    """Return the dim that -1 becomes, or the reason why it has no value.

    Returns an empty text if all dims are requested.
    """
    if asked.hole is None:
        return ""
    if known == 0:
        return "?  refused"
    if isinstance(have, int) and isinstance(known, int) and have % known:
        return f"?  {_division_words(asked, have, known)}"
    return str(quotient(have, known))


def _pair_dims(asked: Budget) -> tuple[list[int | None], list[int]]:
    """Return the matching known dim of each input dim, and the other known dims.

    All are indices; None if no known dim is equal. Zeros do not cancel: 0 / 0 is undefined.
    """
    remaining = [index for index in range(len(asked.known)) if index not in asked.left_out[1]]
    below: list[int | None] = []
    for index, dim in enumerate(asked.have):
        cancels = dim != 0 and index not in asked.left_out[0]
        equal = next((other for other in remaining if asked.known[other] == dim), None) if cancels else None
        if equal is not None:
            remaining.remove(equal)
        below.append(equal)
    return below, [*remaining, *asked.left_out[1]]


def lanes(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the lanes of a stage: the dims settled at a step, with their reasons.

    `width` and `height` are in character cells. Dims that do not fit are left out, but never those around the step.
    """
    rows = max(1, len(layout.before), len(layout.cells))
    notes = _lane_notes(layout, at, strokes)
    pitch, room = pitch_for(rows, height, 1 + len(notes)), height - 1 - len(notes)
    canvas, lines = _lanes_drawn(answer, layout, at, (width, room), pitch, strokes)
    visible_rows = range(lines)
    if lines > room:
        here = next((out for out, cell in enumerate(layout.cells) if cell.step >= at), 0)
        visible_rows = rows_around(here, lines, room - 1)
        notes.append(f"{strokes.dots} dims {visible_rows[0]} to {visible_rows[-1]} of {lines}")
    lane_text = canvas.text(width, [0, *(1 + row for row in visible_rows)])
    return stack([lane_text, *(clip_line(Text(note, "dim"), width, strokes) for note in notes)])


def _lanes_drawn(
    answer: Trace | Chain, layout: Layout, at: int, size: tuple[int, int], pitch: int, strokes: Strokes
) -> tuple[Canvas, int]:
    """Return a canvas with dims, lanes and reasons, and the height of the lanes."""
    is_vector, rows = layout.stage.kind is Kind.SHAPE, max(1, len(layout.before), len(layout.cells))
    shown_step = None if layout.is_open else at
    before, after = (
        _lane_texts(layout.before, strokes),
        _lane_texts(layout.cells, strokes, shown_step, sizes_only=is_vector),
    )
    token_texts = [_lane_token(layout, out, strokes) for out in range(len(layout.cells))]
    tokens, left = max(map(len, token_texts), default=0), 4 + max(map(len, before), default=2)
    room = size[0] - left - max(map(len, after), default=2) - len("dim out")
    wires = wiring(layout, pitch, (room, size[1]), room - 36, strokes)
    lines = max(1 + pitch * (rows - 1), wires.height)
    canvas = Canvas(strokes, 1 + lines)
    right = left + max(wires.width, 5 * pitch) + (tokens + 3 if tokens else 0)
    canvas.put(0, 0, "dim in", "dim")
    canvas.put(right + 1, 0, heading := "in the vector" if is_vector else "dim out", "dim")
    draw_wires(canvas, wires, (left, right), lambda axes, outs: _lane_style(layout, axes, outs, at))
    if is_vector:
        canvas.dash(left, right)
    end = (strokes.size if is_vector else strokes.level) * OPEN_END
    for row in (row for row, cell in enumerate(layout.cells) if cell.hole):
        canvas.put(right - OPEN_END, 1 + pitch * row, end, "dim")
    for row, (text, cell) in enumerate(zip(before, layout.before, strict=True)):
        canvas.put(0, 1 + pitch * row, f"{row}", "dim")
        canvas.put(3, 1 + pitch * row, text, colour(cell.mark))
    for row, (text, cell) in enumerate(zip(after, layout.cells, strict=True)):
        put_arrival(canvas, cell, token_texts[row], at, (right, 1 + pitch * row))
        canvas.put(right + 1, 1 + pitch * row, f"{row}", "dim")
        canvas.put(right + 4, 1 + pitch * row, text, ink(colour(cell.mark), bold=cell.step == at))
    reasons = max(right + 5 + max(map(len, after), default=2), right + 1 + len(heading)) + 2
    canvas.put(reasons, 0, layout.title, "dim")
    for row, (reason, style) in _lane_reasons(answer, layout, at).items():
        canvas.put(reasons, 1 + pitch * row, reason, style)
    if wires.knot:
        canvas.put(left, 0, NO_ROOM, "dim")
    return canvas, lines


def _lane_token(layout: Layout, out: int, strokes: Strokes) -> str:
    """Return the token on the line into a dim, and the axis of a copied size."""
    size = f"{strokes.size}{mark_text(layout.before[out].mark, strokes)}" if out in layout.parted else ""
    return f"{layout.cells[out].token}{size}"


def _lane_notes(layout: Layout, at: int, strokes: Strokes) -> list[str]:
    """Return the note on lines along which sizes are copied but no elements move."""
    if layout.stage.kind is Kind.SHAPE:
        return [f"{strokes.size} copies a size; no element moves"]
    if not layout.parted:
        return []
    out = next((out for out in layout.parted if layout.cells[out].step == at), min(layout.parted))
    return [f"{strokes.size} {size_alone(layout, out, strokes)}"]


def _lane_texts(
    cells: tuple[Cell, ...], strokes: Strokes, now: int | None = None, *, sizes_only: bool = False
) -> list[str]:
    """Return dims with their marks in columns. A dim that is not settled is a hole."""
    rows = []
    for cell in cells:
        hidden = cell.dim is None or (now is not None and cell.step > now)
        dim = cell.hole or strokes.hole if hidden else clip(str(cell.dim), 12, strokes)
        rows.append(("" if sizes_only else label(cell, strokes), dim))
    mark_width, dim_width = (max((len(row[at]) for row in rows), default=0) for at in range(2))
    return [
        f"{mark.ljust(mark_width)} {dim.rjust(dim_width)}" if mark_width else dim.rjust(dim_width) for mark, dim in rows
    ]


def _lane_style(layout: Layout, axes: Collection[int], outs: Collection[int], at: int) -> Style:
    hue = "".join([colour(layout.before[axis].mark) for axis in axes if len(axes) == 1])
    return ink(hue, dim=any(layout.cells[out].step > at for out in outs))


def _lane_reasons(answer: Trace | Chain, layout: Layout, at: int) -> Mapping[int, tuple[str, str]]:
    """Return the reason of each dim and its style, by row, up to a step."""
    reasons, steps, hidden = {}, answer.steps, {out for out, cell in enumerate(layout.cells) if cell.hole}
    for number in layout.numbers:
        if number > at:
            break
        step = steps[number]
        row = step.out
        if row is None and step.rule in (rules.DROPPED_ONE, *rules.KEEPS):
            row = step.sources[0]
        if row is not None and not (hidden and step.out in (None, *hidden)):
            reasons[row] = step.why, "bold" if number == at else "dim"
    if layout.problem and layout.fault is not None and at >= layout.numbers.stop:
        reasons[layout.fault] = f"{layout.problem.rule}", "bold red"
    return reasons


def _needs_rulers(answer: Trace | Chain, layout: Layout, step: Step | None, width: int) -> bool:
    """Return whether rulers show more than shading.

    The step has to regroup axes, and each element or each cut needs a cell. Names get small sizes, if there are any
    that meet the conditions.
    """
    groups, room = _cut_anew(layout), width - LEAST_LABEL
    if not regroups(step) or not groups:
        return False
    if sizes := _sizes_of(answer, layout):
        return True
    if sizes is None:
        return False
    block = _rulers_of(layout, groups[0], {}, UNICODE)
    if block.volume <= room:
        return block.volume > 0
    return block.clash is not None and block.period // min(block.clash) <= room // 3


def _cut_anew(layout: Layout) -> list[Group]:
    """Return the groups of axes that are regrouped, those whose axes mix first."""
    groups = [link for link in layout.links if len(link.sources) > 1 or len(link.outs) > 1]
    return sorted(groups, key=lambda link: not link.mixes)


def _cross(old: int, new: int) -> bool:
    return bool(new % old and old % new)


def rulers(answer: Trace | Chain, layout: Layout, _at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the rulers of a stage that regroups elements.

    A large tensor shows one block that is regrouped. `width` and `height` are in character cells.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> from shapecalc.view.canvas import ASCII
    >>> answer = sc.reshape((2, 3), (3, 2))
    >>> print(rulers(answer, layouts(answer)[0], 2, width=78, height=9, strokes=ASCII))
    reshape 2,3 to 3,2
               0           3           6
    before a 2 +-----------+-----------+
           b 3 +---+---+---+---+---+---+
                       !       !
    after ~x 3 +-------+-------+-------+
          ~y 2 +---+---+---+---+---+---+
               ! cuts old blocks of 3 at different places: ~x and ~y mix axes
    """
    sizes = _sizes_of(answer, layout)
    if sizes is None:
        return Text("", end="")
    if layout.is_open:
        return _empty_rulers(layout, sizes, (width, height), strokes)
    all_axes = Group(tuple(range(len(layout.before))), tuple(range(len(layout.cells))))
    block, notes = _rulers_of(layout, all_axes, sizes, strokes), _size_notes(layout, all_axes, sizes)
    if block.volume < 2:
        return _nothing_to_cut(block.volume)
    if block.volume > width - LEAST_LABEL or block.lines + len(notes) > height:
        groups = _cut_anew(layout)
        if not groups:
            return Text("every axis stays as it is", end="")
        block = _rulers_of(layout, groups[0], sizes, strokes)
        notes = [*_size_notes(layout, groups[0], sizes), *_block_note(len(groups), layout, groups[0])]
        cuts = block.volume // min(block.clash or (block.volume,))
        if cuts > (width - LEAST_LABEL) // 3 and block.period < block.volume:
            notes.append(f"the block that repeats: {block.period} of {block.volume} elements")
            first = replace(block, volume=block.period)
            block = _without(first, [ruler for ruler in (*block.before, *block.after) if ruler.step >= first.volume])
    text = _fitted_rulers(block, notes, (width, height), strokes)
    if text.plain.count("\n") + 1 >= height:
        return text
    return stack([clip_line(Text(layout.head, "bold"), width, strokes), text])


def _nothing_to_cut(volume: int) -> Text:
    return Text(f"{'one element' if volume else 'no elements'}: there is nothing to cut", end="")


def _empty_rulers(layout: Layout, sizes: Mapping[str, int], size: tuple[int, int], strokes: Strokes) -> Text:
    """Return the old cuts, above a line without cuts for each requested dim."""
    before = _side_rulers(layout.before, sizes, strokes)
    volume = prod(ruler.size for ruler in before)
    after = tuple(Ruler(f"  {cell.hole or cell.dim}", "dim", 1, volume) for cell in layout.cells)
    if volume < 2:
        return _nothing_to_cut(volume)
    text = _draw_rulers(Rulers(before, after, volume, ""), size[0], 1, strokes, scale=False)
    lines = text.split("\n")[:-1][: size[1] - 1]
    return stack([clip_line(Text(layout.head, "bold"), size[0], strokes), *lines])


def _sizes_of(answer: Trace | Chain, layout: Layout) -> Mapping[str, int] | None:
    """Return sizes for the names of a stage; None if none meet the conditions."""
    if all_known([cell.dim or 0 for cell in (*layout.before, *layout.cells)]):
        return {}
    from shapecalc.core.examples import example_sizes  # integer shapes do not need it

    try:
        return example_sizes(answer)
    except ShapeError:
        return None


def _fitted_rulers(made: Rulers, notes: list[str], size: tuple[int, int], strokes: Strokes) -> Text:
    """Return rulers with their notes.

    If they exceed the height, the axes with the finest cuts are omitted. If there is enough height, parts are
    numbered.
    """
    width, height = size
    removable = _finest_first(made)

    def noted(omitted_count: int) -> list[Text]:
        left_out = [f"{strokes.dots} {number_text(omitted_count, 'axis', 'axes')} left out"] if omitted_count else []
        return packed([Text(note, "dim") for note in (*notes, *left_out)], width, strokes)

    def fits(omitted_count: int) -> bool:
        return _without(made, removable[:omitted_count]).lines + len(noted(omitted_count)) <= height

    omitted_count = bisect_left(range(len(removable)), True, key=fits)
    remaining, lines = _without(made, removable[:omitted_count]), noted(omitted_count)
    pitch = (
        2 if remaining.lines + len(remaining.before) + len(remaining.after) + len(lines) <= height >= SPACIOUS else 1
    )
    return stack([_draw_rulers(remaining, width, pitch, strokes, scale=remaining.lines + len(lines) <= height), *lines])


def _finest_first(made: Rulers) -> list[Ruler]:
    """Return the rulers that may be omitted, in that order, the outermost ones last."""
    clashing = made.clash or tuple(side[0].step for side in (made.before, made.after) if side)
    outermost = {id(ruler) for ruler in (*made.before[:1], *made.after[:1])}
    others = [ruler for ruler in (*made.before, *made.after) if ruler.step not in clashing]
    return sorted(others, key=lambda ruler: (id(ruler) in outermost, ruler.step))


def _without(made: Rulers, gone: list[Ruler]) -> Rulers:
    """Return rulers without some of them."""
    removed = {id(ruler) for ruler in gone}
    before, after = (tuple([ruler for ruler in side if id(ruler) not in removed]) for side in (made.before, made.after))
    return replace(made, before=before, after=after)


def _size_notes(layout: Layout, block: Group, sizes: Mapping[str, int]) -> list[str]:
    """Return the note on the sizes of the names of a block, if it has names."""
    before = [layout.stage.before[axis] for axis in block.sources]
    known = names(before + [layout.cells[out].dim or 0 for out in block.outs])
    return [f"with {sizes_text({name: sizes[name] for name in known})}"] if known else []


def _block_note(count: int, layout: Layout, block: Group) -> list[str]:
    """Return the note on the part of the tensor that is shown, if it is a part.

    `group_count` is the number of groups of axes that are regrouped.
    """
    if all(cell.dim == 1 for axis, cell in enumerate(layout.before) if axis not in block.sources):
        return []
    before = shape_text(layout.stage.before[axis] for axis in block.sources)
    after = shape_text(layout.cells[out].dim or 0 for out in block.outs)
    more = "" if count == 1 else f"; {count - 1} more {'group' if count == 2 else 'groups'} of axes cut anew"
    return [f"one block, the others alike: {before} becomes {after}{more}"]


def _rulers_of(layout: Layout, block: Group, sizes: Mapping[str, int], strokes: Strokes) -> Rulers:
    before = _side_rulers([layout.before[axis] for axis in block.sources], sizes, strokes)
    after = _side_rulers([layout.cells[out] for out in block.outs], sizes, strokes)
    marks = [mark_text(layout.cells[out].mark, strokes) for out in block.outs if out in layout.mixed]
    mixed = f"{and_text(marks)} {'mixes' if len(marks) == 1 else 'mix'} axes" if marks else ""
    return Rulers(before, after, prod(ruler.size for ruler in before), mixed)


def _side_rulers(cells: Sequence[Cell], sizes: Mapping[str, int], strokes: Strokes) -> tuple[Ruler, ...]:
    """Return the axes of one side, the outermost first. Axes of size 1 have no ruler."""
    dims = [int(str(substitute(cell.dim or 0, sizes))) for cell in cells]
    texts = [clip(str(dim), 9, strokes) for dim in dims]
    steps = list(accumulate(reversed(dims), mul, initial=1))[-2::-1]
    size_width = max(map(len, texts), default=0)
    return tuple(
        Ruler(f"{mark_text(cell.mark, strokes)} {text.rjust(size_width)}", colour(cell.mark), dim, step)
        for cell, dim, text, step in zip(cells, dims, texts, steps, strict=True)
        if dim != 1
    )


def _draw_rulers(made: Rulers, width: int, pitch: int, strokes: Strokes, *, scale: bool) -> Text:
    """Return the old rulers, the clashing cuts, the new rulers and the conclusion."""
    labels = [f"before {ruler.label}" for ruler in made.before[:1]] + [ruler.label for ruler in made.before[1:]]
    labels += [f"after {ruler.label}" for ruler in made.after[:1]] + [ruler.label for ruler in made.after[1:]]
    label_width = max(map(len, labels), default=0) + 1
    room, widest = max(8, width - label_width - 1), 8 if pitch > 1 else 4
    length = min(widest, room // made.volume) * made.volume if made.volume <= room else room
    clash = made.clash
    canvas, y = Canvas(strokes, pitch * len(labels) + 2 + bool(clash)), 1
    _write_numbers(canvas, made, label_width, length)
    for index, (ruler, text) in enumerate(zip((*made.before, *made.after), labels, strict=True)):
        if index == len(made.before) and clash:
            _mark_clashes(canvas, made, clash, (label_width, length, y))
            y += 1
        canvas.put(label_width - 1 - len(text), y, text, ruler.colour)
        _draw_ruler(canvas, ruler, made.volume, (label_width, length, y), strokes)
        if pitch > 1:
            _number_parts(canvas, ruler, made.volume, (label_width, length, y + 1))
        y += pitch
    conclusion, order_note = _cuts_words(made, to_scale=made.volume > length), " (order is kept)"
    conclusion += order_note if clash and label_width + len(conclusion + order_note) <= width else ""
    canvas.put(label_width, y, conclusion, "bold" if clash else "dim")
    return canvas.text(width, range(0 if scale else 1, y + 1))


def _number_parts(canvas: Canvas, ruler: Ruler, volume: int, place: tuple[int, int, int]) -> None:
    """Write the index on its axis into each part of a ruler, if it fits."""
    left, long, y = place
    parts = volume // ruler.step
    if long // parts <= len(str(ruler.size - 1)) + 1:
        return
    ends = [left + part * long // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        index = str(part % ruler.size)
        canvas.put((start + end + 1 - len(index)) // 2, y, index, "dim")


def _write_numbers(canvas: Canvas, made: Rulers, left: int, long: int) -> None:
    """Write the positions of the outermost old cuts, as many as fit."""
    step, end = made.before[0].step if made.before else made.volume, str(made.volume)
    canvas.put(left + long + 1 - len(end), 0, end, "dim")
    stride = step * -(-(len(end) + 2) * made.volume // (long * step))
    for cut in range(0, made.volume, stride):
        x = left + cut * long // made.volume
        if x + len(str(cut)) <= left + long - len(end):
            canvas.put(x, 0, str(cut), "dim")


def _draw_ruler(canvas: Canvas, ruler: Ruler, volume: int, place: tuple[int, int, int], strokes: Strokes) -> None:
    """Draw one axis, with a tick at each cut, or shaded if the cuts are too close."""
    left, long, y = place
    cuts = volume // ruler.step
    if cuts > (long if volume <= long else long // 3):
        canvas.put(left, y, strokes.shade * (long + 1), ruler.colour)
        return
    canvas.draw_ruler(y, [left + cut * long // cuts for cut in range(cuts + 1)], ruler.colour)


def _mark_clashes(canvas: Canvas, made: Rulers, clash: tuple[int, int], place: tuple[int, int, int]) -> None:
    """Mark the new cuts inside old blocks, if each new cut has a cell."""
    old, new = clash
    left, long, y = place
    for cut in range(new, made.volume, new) if made.volume // new <= long else ():
        if cut % old:
            canvas.put(left + cut * long // made.volume, y, "!", "bold red")


def _cuts_words(made: Rulers, *, to_scale: bool) -> str:
    """Return the conclusion: the dims that mix axes, and why."""
    scale_note = "to scale; " if to_scale else ""
    if made.clash is not None:
        old, new = made.clash
        cut = f"only some old blocks of {old}" if new > old else f"old blocks of {old} at different places"
        return f"{scale_note}! cuts {cut}: {made.mixed or 'axes mix'}"
    if made.mixed:
        return f"{scale_note}old blocks are cut alike by chance: at most sizes {made.mixed}"
    return f"{scale_note}every old block is cut alike: nothing mixes"


def regroups(step: Step | None) -> bool:
    """Return whether a step explains the cuts of a whole reshape."""
    return step is not None and step.rule == rules.REGROUPED


def _is_about_counts(layout: Layout, step: Step | None) -> bool:
    """Return whether a step infers a -1, or is a refusal about known element counts."""
    if step is not None:
        return layout.cuts and step.rule in INFERS
    if layout.is_open:
        return layout.cuts and any(cell.token == "-1" for cell in layout.cells)
    problem = layout.problem if layout.cuts else None
    if problem is None or not (layout.cells or problem.rule == rules.VOLUME_MISMATCH):
        return False
    return problem.rule in COUNTED and budget_of(layout) is not None


def _is_about_cuts(layout: Layout, step: Step | None) -> bool:
    if step is None:
        return layout.is_open and layout.cuts and all(cell.token != "0" for cell in layout.cells)
    return layout.cuts and step.rule in (rules.REGROUPED, rules.MERGED)


def _copies_from_elsewhere(_answer: Trace | Chain, layout: Layout, step: Step | None, _width: int) -> bool:
    """Return whether a step is the last copied 0 of a stage with size-only dims."""
    copies = [other for other in layout.stage.steps if other.rule == rules.COPIED_ZERO]
    return bool(layout.parted) and step is copies[-1]


def _is_of_operands(layout: Layout, step: Step | None) -> bool:
    """Return whether a step is about several operands, not about one axis of windows."""
    several = layout.stage.kind in COMBINING and len(operands_of(layout)) > 1
    return several and not is_about_windows(layout, step)


def _is_last_of_operands(_answer: Trace | Chain, layout: Layout, step: Step | None, _width: int) -> bool:
    """Return whether a step is the last one about several operands, or a refusal.

    It is not for a pool, which the windows explain completely.
    """
    operand_steps = [other for other in layout.stage.steps if not is_about_windows(layout, other)]
    return step is None or (
        step is operand_steps[-1] and not layout.problem and "kernel" not in layout.request.arguments
    )


PICTURES = (
    Picture(budget, _is_about_counts, lambda *_: True),
    Picture(rulers, _is_about_cuts, _needs_rulers),
    Picture(windows, is_about_windows, begins_alike),
    Picture(table, _is_of_operands, _is_last_of_operands),
    Picture(lanes, lambda _layout, _step: True, _copies_from_elsewhere),
)
"""All kinds of pictures.

A step has the first picture that is for it. `--explain=all` shows every picture that shows more than the flow.
"""


def _picture_of(layout: Layout, step: Step | None) -> Picture:
    return next(kind for kind in PICTURES if kind.is_of(layout, step))


def picture(
    answer: Trace | Chain,
    at: int,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    holes: Holes = NO_HOLES,
) -> Text:
    """Return the picture of a step, or of the refusal past the last step.

    `holes` are the placeholders of hidden dims, by column and index.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(picture(sc.reshape((2, 3), (0, -1)), 0, strokes=ASCII, holes={(1, 1): "_"}))
    dim in            dim out  reshape 0,-1
    0  a 2       0  > 0  2     0 copies dim 0, which is 2
    1  b 3      -1 -- 1  _
    """
    all_layouts, steps = layouts(answer), answer.steps
    if not all_layouts:
        return stack([clip_line(Text("nothing is asked for: the tensor stays"), width, strokes)])
    index = place_of(all_layouts, at) if all_layouts[0].stage.move or all_layouts[0].problem else 0
    layout = with_holes(all_layouts[index], rows_of(holes, index + 1))
    kind = _picture_of(layout, steps[at] if at < len(steps) else None)
    return kind.draw(answer, layout, at, width=width, height=height, strokes=strokes)


def asked_picture(answer: Trace | Chain, *, width: int = 78, height: int = 16, hole: str = UNICODE.hole) -> Text:
    """Return the request, with a hole for each dim that it does not name.

    Several operands are drawn as a table, other requests as a flow without wires. An op that names no dims has a
    hole for each output dim.

    >>> import shapecalc as sc
    >>> print(asked_picture(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), height=4, hole="[  ]"))
    input transpose 1,0   reshape 0,-1
    a   2       1    [  ]       0    [  ]
    b   3       0    [  ]      -1    [  ]
    """
    request = Chain(answer.input, tuple([opened(trace) for trace in answer.traces]))
    if any(layout.stage.kind in COMBINING for layout in layouts(request)[:1]):
        return picture(request, 0, width=width, height=height, strokes=replace(UNICODE, hole=hole))
    drawn_answer = request if unsettled(request, len(request.steps)) else answer
    holes = dict.fromkeys(unsettled(drawn_answer, len(request.steps)), hole)
    return flow(drawn_answer, width=width, height=height, holes=holes, hides_refusal=True)


def explain(answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the flow of an answer, and the pictures that show more than the flow."""
    parts = [flow(answer, width=width, strokes=strokes)]
    for at in [*_steps_to_show(answer, width)][:MOST_DRAWN]:
        parts += [Text(""), picture(answer, at, width=width, strokes=strokes)]
    return stack(parts)


def steps_to_draw(answer: Trace | Chain, width: int) -> list[int]:
    """Return the steps whose pictures show more than the flow, the main one first."""
    shown = _steps_to_show(answer, width)
    return sorted(shown, key=lambda at: _weight(*shown[at]))[:MOST_DRAWN]


def main_step(answer: Trace | Chain, width: int) -> int:
    """Return the step with the most informative picture; past the last for a refusal.

    >>> import shapecalc as sc
    >>> main_step(sc.reshape((2, 3, 4), (0, -1)), 78), main_step(sc.transpose((2, 3)), 78)
    (1, 2)
    """
    last = len(answer.steps) - (answer.problem is None)
    return next(iter(steps_to_draw(answer, width)), max(0, last))


def _weight(layout: Layout, step: Step | None) -> int:
    """Return the rank of a picture in an answer.

    A refusal is first, then mixed axes, then a -1 or windows, then all others.
    """
    if step is None:
        return 0
    if layout.mixed and regroups(step):
        return 1
    return 2 if step.rule in INFERS or is_about_windows(layout, step) else 3


def _steps_to_show(answer: Trace | Chain, width: int) -> Shown:
    """Return the steps whose pictures show more than the flow, with their layouts."""
    result: Shown = {}
    for layout in layouts(answer):
        is_drawn = layout.cuts or layout.stage.kind in COMBINING
        steps = dict[int, Step | None](zip(layout.numbers, layout.stage.steps, strict=False) if is_drawn else ())
        if is_drawn and layout.problem is not None:
            steps[len(answer.steps)] = None
        for step_index, step in steps.items():
            if _picture_of(layout, step).tells_more(answer, layout, step, width):
                result[step_index] = layout, step
    return result
