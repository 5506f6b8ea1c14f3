"""The pictures of the steps, and the table that says which one a step has.

A budget shows how many elements there are, how many the known dims use, and what is left for -1: small counts as bars;
names, zeros and huge counts as factors that cancel. Rulers show what a reshape does: the old cuts above the new cuts of
the same row of elements. Lanes are lines from each dim to the dim that it becomes, with the reason at the right; for a
0 that copies only a size, that size beside the line of the elements.
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
"""Steps by number, each with its layout; None for a refusal."""
TIMES = " * "
OPEN_END = 3
"""The cells of a lane that leads into a dim that is hidden."""
LEAST_LABEL = 14
"""The cells that the labels need at the left of the rulers."""
SPACIOUS = 14
"""The lines from which on bars are drawn large, and the parts of a ruler are numbered under it."""
NO_ROOM = "no room for lines"
MOST_DRAWN = 4
"""The most pictures of an answer."""
COUNTED = (rules.INDIVISIBLE, rules.INFER_LIMIT, rules.VOLUME_MISMATCH, rules.ZERO_VOLUME_INFER)
"""The rules of refusals about element counts."""


class Budget(Record):
    """The two sides of a reshape: the dims of the input, and the requested dims without the -1."""

    have: tuple[Dim, ...]
    known: tuple[Dim, ...]
    hole: int | None
    """The place of the -1; None if every dim is given."""
    left_out: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The places in `have` and in `known` that are not counted."""

    @property
    def counts(self) -> tuple[Dim, Dim]:
        """The two element counts."""
        have, known = self.left_out
        return _product_without(self.have, have), _product_without(self.known, known)


def _product_without(dims: tuple[Dim, ...], places: Collection[int]) -> Dim:
    return product([dim for place, dim in enumerate(dims) if place not in places])


class Ruler(Record):
    """One axis: its cuts are at the multiples of its step, in elements."""

    label: str
    colour: str
    size: int
    step: int


class Rulers(Record):
    """The axes of a block before and after, on the same elements."""

    before: tuple[Ruler, ...]
    after: tuple[Ruler, ...]
    volume: int
    mixed: str
    """Which dims mix axes at most sizes of the names. At the sizes that are drawn, the cuts may still line up."""

    @property
    def lines(self) -> int:
        """How many lines they take: one each, the numbers over them, the marks of a clash, and the conclusion."""
        return len(self.before) + len(self.after) + 2 + bool(self.clash)

    @property
    def clash(self) -> tuple[int, int] | None:
        """The steps of the first old and new axis whose cuts do not line up; None if all cuts line up.

        An old step divides all larger ones, so those next to a new step tell of all.
        """
        steps = sorted(old.step for old in self.before)
        for new in self.after:
            place = bisect_left(steps, new.step)
            if any(_cross(step, new.step) for step in steps[max(place - 1, 0) : place + 1]):
                return next((old.step, new.step) for old in self.before if _cross(old.step, new.step))
        return None

    @property
    def period(self) -> int:
        """After how many elements the cuts that do not line up come in the same way again."""
        pairs = [(old.step, new.step) for old in self.before for new in self.after if _cross(old.step, new.step)]
        return max([lcm(*pair) for pair in pairs], default=self.volume)


class Picture(Record):
    """A kind of picture: whose steps it shows, and what it shows that the flow does not."""

    draw: Callable[..., Text]
    """Draws the picture of a step: from the answer, the layout and the step's number, in a room, with strokes."""
    is_of: Callable[[Layout, Step | None], bool]
    """Says whether a step of a layout, or the refusal if it is None, is drawn so."""
    tells_more: Callable[[Trace | Chain, Layout, Step | None, int], bool]
    """Says of an answer whether the picture of such a step shows more, in so many cells, than the flow."""


def sums(made: Sequence[Layout]) -> Iterator[str]:
    """Yield the division of each -1 that is settled.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> [*sums(layouts(sc.reshape((2, 8, 3), (0, -1, 6))))]
    ['-1 = 48 / (2*6) = 4']
    """
    for layout in made:
        places = {out for out, dim in enumerate(layout.stage.asked if layout.cuts else ()) if dim == -1}
        settling = (step for step in layout.stage.steps if step.out in places)
        yield from (f"-1 = {division(layout, step)} = {dim_text(step.dim)}" for step in settling)


def division(layout: Layout, step: Step) -> str:
    """Return what is divided for a -1: all elements, or those of the axis that is split.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> answer = sc.reshape(("N", 12, "H"), (0, -1))
    >>> division(layouts(answer)[0], answer.steps[1])
    'N*12*H / N'
    """
    whole = step.rule in INFERS
    link = next((link for link in layout.links if step.out in link.outs), None)
    sources = range(len(layout.before)) if whole or link is None else link.sources
    outs = range(len(layout.cells)) if whole or link is None else link.outs
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
    """Return the budget of a reshape; None if a dim beside the -1 was not settled."""
    negative = (out for out, cell in enumerate(layout.cells) if cell.token.startswith("-"))
    hole = next((out for out in negative if layout.cells[out].dim is None or layout.cells[out].token == "-1"), None)
    dims = [cell.dim for out, cell in enumerate(layout.cells) if out != hole]
    empty = next((step for step in layout.stage.steps if step.rule == rules.INFERRED_EMPTY), None)
    known = tuple(dim for dim in dims if dim is not None)
    left_out = _places_left_out(layout, hole, empty)
    return Budget(layout.stage.before, known, hole, left_out) if len(known) == len(dims) else None


def _places_left_out(layout: Layout, hole: int | None, empty: Step | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places that a dialect leaves out of its counts if a known dim is 0."""
    if empty is None:
        return (), ()
    others = [out for out in range(len(layout.cells)) if out != hole]
    if empty.facts["left_out"] is rules.LeftOut.ZEROS:
        zeros = tuple(axis for axis, cell in enumerate(layout.before) if cell.dim == 0)
        return zeros, tuple(place for place, out in enumerate(others) if layout.cells[out].dim == 0)
    copied = [out for out in others if layout.cells[out].token == "0"]
    return tuple(copied), tuple(place for place, out in enumerate(others) if out in copied)


def budget(_answer: Trace | Chain, layout: Layout, _at: int, *, width: int, height: int = 12, strokes: Strokes) -> Text:
    """Return the budget of a stage, as bars or as factors that cancel. With room, each element is seen in the bars.

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
    asked = budget_of(layout)
    if asked is None:
        return Text("the element counts are not known yet", end="", no_wrap=True)
    have, known = asked.counts
    lines = None
    if isinstance(have, int) and isinstance(known, int) and have > 0 and known > 0 and asked.left_out == ((), ()):
        lines = _bar_lines(asked, have, known, (width, height), strokes)
    lines = lines or _factor_lines(asked, layout, width)
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
    """Return the budget of a -1 that is hidden: a bar of what there is, one of what is known, and the hole."""
    hole = next((cell for cell in layout.cells if cell.token == "-1"), None)
    others = [cell for cell in layout.cells if cell is not hole]
    have, known = layout.stage.before, tuple([cell.dim for cell in others if cell.dim is not None])
    texts = (_factors_text(have, strokes), TIMES.join(cell.hole or str(cell.dim) for cell in others) or "1")
    rows = zip(("have", "known", "-1"), (*texts, hole.hole if hole else ""), strict=True)
    lines = [f"{word.ljust(5)}  {clip(text, 26, strokes)}" for word, text in rows]
    left, bars = max(map(len, lines)) + 2, list[Text]()
    counts = [count for side in (have, known) if isinstance(count := product(side), int) and count > 0]
    if len(counts) == 2 and len(known) == len(others) and (unit := _least_unit(counts[0], counts[1], width - left, 0)):
        wide = min(6, (width - left) // (max(counts) // unit)) if height >= SPACIOUS else 1
        bars = [_widened(Text(strokes.block * (count // unit)), wide, strokes) for count in counts]
    drawn = [Text(line.ljust(left)) for line in lines]
    for line, bar in zip(drawn, bars, strict=False):
        line.append_text(bar)
    return stack([clip_line(line, width, strokes) for line in (Text(layout.head, "bold"), *drawn)])


def _what_becomes_of_axes(layout: Layout) -> str:
    """Return which sizes stay, merge, split or mix; an empty text if that is not known of all dims."""
    shape, made = layout.stage.before, layout.stage.after
    if made is None or {out for link in layout.links for out in link.outs} != {*range(len(made))}:
        return ""
    texts = []
    for group in told(layout.links, layout.wires, layout.mixed):
        before = and_text([dim_text(shape[axis]) for axis in group.sources])
        after = and_text([dim_text(made[out]) for out in group.outs])
        if group.part:
            texts.append(f"{'a part' if len(group.sources) == 1 else 'parts'} of {before} becomes {after}")
        else:
            texts.append(f"{before or after} {group.verb}" + (f" {after}" if group.verb.endswith("into") else ""))
    return "; ".join(texts)


def _factors_text(dims: Sequence[Dim], strokes: Strokes) -> str:
    return clip(TIMES.join(map(str, dims)) or "1", 26, strokes)


def _bar_lines(asked: Budget, have: int, known: int, size: tuple[int, int], strokes: Strokes) -> list[Text] | None:
    """Return the bars of two counts; None if they are too long for `width`.

    A block is one element, or the fewest that divide both counts and leave the bars room.
    """
    width, height = size
    word = "known" if asked.hole is not None else "want"
    rows = [
        ("have", _factors_text(asked.have, strokes), str(have)),
        (word, _factors_text(asked.known, strokes), str(known)),
    ]
    if asked.hole is not None:
        rows.append(("-1", f"{have} / {known}", "?" if have % known else str(have // known)))
    head, factors, counts = (max(len(row[place]) for row in rows) for place in range(3))
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
        lines = [line for each in lines for line in (each, Text())][:-1]
    words = _division_words(asked, have * unit, known * unit)
    if len(lines[-1]) + 2 + len(words) <= width:
        lines[-1].append(f"  {words}")
    else:
        lines.append(Text(" " * (len(texts[0]) + 2) + words))
    return lines if unit == 1 else [*lines, Text(f"each {strokes.block} is {unit} elements", "dim")]


def _least_unit(have: int, known: int, room: int, walls: int) -> int | None:
    """Return the fewest elements that a block can be, with so many walls between pieces; None if no number fits.

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
    """Return the bars of two counts: the first `divided` into pieces of the second, or marked where they differ."""
    runs, rest = divmod(have, known) if divided else (1, abs(have - known))
    wall = strokes.upright if divided and known > 1 else ""
    same = strokes.block * (known if divided else min(have, known))
    whole, over = Text(wall.join([same] * runs)), Text(strokes.over * rest, "bold red")
    if divided:
        return [whole.append(wall * bool(runs and rest)).append_text(over), Text(same)]
    return [Text(same).append_text(over if more else Text()) for more in (have > known, known > have)]


def _widened(bar: Text, cells: int, strokes: Strokes) -> Text:
    """Return a bar whose elements have several cells each, with a blank between them if there are three or more."""
    made, gap = Text(), " " * (cells > 2)
    for char in bar.divide(range(1, len(bar))):
        wide = 1 if char.plain == strokes.upright else cells - len(gap)
        made.append_text(Text(char.plain * wide + gap, *[span.style for span in char.spans]))
    return made


def _division_words(asked: Budget, have: int, known: int) -> str:
    if asked.hole is not None:
        times = "once" if have // known == 1 else f"{dim_text(have // known)} times"
        left = f"{dim_text(have % known)} left over: refused" if have % known else "nothing left over"
        return f"{known} fits {times}, {left}"
    if have != known:
        return f"{abs(have - known)} {'too many' if known > have else 'left over'}: refused"
    return "as many as there are"


def _factor_lines(asked: Budget, layout: Layout, width: int) -> list[Text]:
    """Return both sides as factors, with equal ones under each other, and the factors that are left."""
    have, known = asked.counts
    below, extra = _pair_dims(asked)
    cells = []
    for place, dim in enumerate(asked.have):
        top, skipped = str(dim), place in asked.left_out[0]
        cancelled = below[place] is not None
        low = str(asked.known[below[place] or 0]) if cancelled else ""
        cells.append((f"({top})" if skipped else top, low, "" if cancelled or skipped else top))
    for place in extra:
        skipped, dim = place in asked.left_out[1], asked.known[place]
        cells.append(("", f"({dim})" if skipped else str(dim), "" if skipped or dim == 1 else f"/ {dim}"))
    widths = [max(map(len, column)) for column in cells]
    words = ("have", "known", "-1") if asked.hole is not None else ("have", "want", "left")
    lines = []
    for row, word in enumerate(words):
        line, first = Text(f"{word.ljust(5)}  "), True
        for place, (column, size) in enumerate(zip(cells, widths, strict=True)):
            style = colour(layout.before[place].mark) if place < len(asked.have) and row != 1 else ""
            cancelled = row < 2 and column[2] == ""
            times = column[row] and not first and not column[row].startswith("/")
            line.append(TIMES if times else "   " if place else "")
            line.append(column[row].rjust(size), "dim" if cancelled else style)
            first = first and not column[row]
        lines.append(line.append("   "))
    total = _inferred_dim(asked, have, known)
    lines[2].append(f"= {total}" if total else "", "bold")
    if max(len(line.plain.rstrip()) for line in lines) > width:
        counts = [Text(f"have   {dim_text(have)}"), Text(f"{words[1].ljust(5)}  {dim_text(known)}")]
        return [*counts, *([Text(f"-1     {total}")] if total else [])]
    gone = dict.fromkeys(dim_text(asked.have[place]) for place, low in enumerate(below) if low is not None)
    note = f"   {and_text([*gone])} {'cancels' if len(gone) == 1 else 'cancel'}" if gone else ""
    if len(lines[2]) + len(note) <= width:
        lines[2].append(note, "dim")
    return lines


def _inferred_dim(asked: Budget, have: Dim, known: Dim) -> str:
    """Return the text of the dim that -1 becomes, or why it becomes none; an empty text if all dims are given."""
    if asked.hole is None:
        return ""
    if known == 0:
        return "?  refused"
    if isinstance(have, int) and isinstance(known, int) and have % known:
        return f"?  {_division_words(asked, have, known)}"
    return str(quotient(have, known))


def _pair_dims(asked: Budget) -> tuple[list[int | None], list[int]]:
    """Return the place of an equal known dim for each dim of the input, and the places of the other known dims.

    Zeros are no factors that cancel: nothing can be told from 0 / 0.
    """
    left = [place for place in range(len(asked.known)) if place not in asked.left_out[1]]
    below: list[int | None] = []
    for place, dim in enumerate(asked.have):
        cancels = dim != 0 and place not in asked.left_out[0]
        equal = next((each for each in left if asked.known[each] == dim), None) if cancels else None
        if equal is not None:
            left.remove(equal)
        below.append(equal)
    return below, [*left, *asked.left_out[1]]


def lanes(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the lanes of one stage at step `at`: the dims that are settled by then, each with its reason.

    `width` and `height` are in character cells. Dims that have no room are left out, not those around the step.
    """
    rows = max(1, len(layout.before), len(layout.cells))
    notes = _lane_notes(layout, at, strokes)
    pitch, room = pitch_for(rows, height, 1 + len(notes)), height - 1 - len(notes)
    canvas, lines = _lanes_drawn(answer, layout, at, (width, room), pitch, strokes)
    shown = range(lines)
    if lines > room:
        here = next((out for out, cell in enumerate(layout.cells) if cell.step >= at), 0)
        shown = rows_around(here, lines, room - 1)
        notes.append(f"{strokes.dots} dims {shown[0]} to {shown[-1]} of {lines}")
    drawn = canvas.text(width, [0, *(1 + row for row in shown)])
    return stack([drawn, *(clip_line(Text(note, "dim"), width, strokes) for note in notes)])


def _lanes_drawn(
    answer: Trace | Chain, layout: Layout, at: int, size: tuple[int, int], pitch: int, strokes: Strokes
) -> tuple[Canvas, int]:
    """Return the lanes on a canvas, and how many lines they take.

    They are the dims of both sides, the lines between them, and the reasons.
    """
    vector, rows = layout.stage.kind is Kind.SHAPE, max(1, len(layout.before), len(layout.cells))
    now = None if layout.is_open else at
    before, after = _lane_texts(layout.before, strokes), _lane_texts(layout.cells, strokes, now, sizes_only=vector)
    asked = [_lane_token(layout, out, strokes) for out in range(len(layout.cells))]
    tokens, left = max(map(len, asked), default=0), 4 + max(map(len, before), default=2)
    room = size[0] - left - max(map(len, after), default=2) - len("dim out")
    wired = wiring(layout, pitch, (room, size[1]), room - 36, strokes)
    lines = max(1 + pitch * (rows - 1), wired.height)
    canvas = Canvas(strokes, 1 + lines)
    right = left + max(wired.width, 5 * pitch) + (tokens + 3 if tokens else 0)
    canvas.put(0, 0, "dim in", "dim")
    canvas.put(right + 1, 0, heading := "in the vector" if vector else "dim out", "dim")
    draw_wires(canvas, wired, (left, right), lambda axes, outs: _lane_style(layout, axes, outs, at))
    if vector:
        canvas.dash(left, right)
    end = (strokes.size if vector else strokes.level) * OPEN_END
    for row in (row for row, cell in enumerate(layout.cells) if cell.hole):
        canvas.put(right - OPEN_END, 1 + pitch * row, end, "dim")
    for row, (text, cell) in enumerate(zip(before, layout.before, strict=True)):
        canvas.put(0, 1 + pitch * row, f"{row}", "dim")
        canvas.put(3, 1 + pitch * row, text, colour(cell.mark))
    for row, (text, cell) in enumerate(zip(after, layout.cells, strict=True)):
        put_arrival(canvas, cell, asked[row], at, (right, 1 + pitch * row))
        canvas.put(right + 1, 1 + pitch * row, f"{row}", "dim")
        canvas.put(right + 4, 1 + pitch * row, text, ink(colour(cell.mark), bold=cell.step == at))
    reasons = max(right + 5 + max(map(len, after), default=2), right + 1 + len(heading)) + 2
    canvas.put(reasons, 0, layout.title, "dim")
    for row, (reason, style) in _lane_reasons(answer, layout, at).items():
        canvas.put(reasons, 1 + pitch * row, reason, style)
    if wired.knot:
        canvas.put(left, 0, NO_ROOM, "dim")
    return canvas, lines


def _lane_token(layout: Layout, out: int, strokes: Strokes) -> str:
    """Return what is written on the line into a dim, with the axis whose size it copies if its elements are others."""
    size = f"{strokes.size}{mark_text(layout.before[out].mark, strokes)}" if out in layout.parted else ""
    return f"{layout.cells[out].token}{size}"


def _lane_notes(layout: Layout, at: int, strokes: Strokes) -> list[str]:
    """Return the note that says what the lines mean if elements do not go along them, or not along all."""
    if layout.stage.kind is Kind.SHAPE:
        return [f"{strokes.size} copies a size; no element moves"]
    if not layout.parted:
        return []
    out = next((out for out in layout.parted if layout.cells[out].step == at), min(layout.parted))
    return [f"{strokes.size} {size_alone(layout, out, strokes)}"]


def _lane_texts(
    cells: tuple[Cell, ...], strokes: Strokes, now: int | None = None, *, sizes_only: bool = False
) -> list[str]:
    """Return dims with their marks, in columns. A dim that is not settled by step `now` is a hole."""
    rows = []
    for cell in cells:
        hidden = cell.dim is None or (now is not None and cell.step > now)
        dim = cell.hole or strokes.hole if hidden else clip(str(cell.dim), 12, strokes)
        rows.append(("" if sizes_only else label(cell, strokes), dim))
    marked, wide = (max((len(row[at]) for row in rows), default=0) for at in range(2))
    return [f"{mark.ljust(marked)} {dim.rjust(wide)}" if marked else dim.rjust(wide) for mark, dim in rows]


def _lane_style(layout: Layout, axes: Collection[int], outs: Collection[int], at: int) -> Style:
    hue = "".join([colour(layout.before[axis].mark) for axis in axes if len(axes) == 1])
    return ink(hue, dim=any(layout.cells[out].step > at for out in outs))


def _lane_reasons(answer: Trace | Chain, layout: Layout, at: int) -> Mapping[int, tuple[str, str]]:
    """Return the reason of each dim and its style, by row, for the steps up to `at`."""
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
    """Say whether rulers show more than shades: a step cuts axes anew, and each element or each cut gets a cell.

    Names get small sizes, if there are any that meet the conditions.
    """
    anew, room = _cut_anew(layout), width - LEAST_LABEL
    if not regroups(step) or not anew:
        return False
    if sizes := _sizes_of(answer, layout):
        return True
    if sizes is None:
        return False
    made = _rulers_of(layout, anew[0], {}, UNICODE)
    if made.volume <= room:
        return made.volume > 0
    return made.clash is not None and made.period // min(made.clash) <= room // 3


def _cut_anew(layout: Layout) -> list[Group]:
    """Return the links whose axes are cut anew, first those whose axes mix."""
    anew = [link for link in layout.links if len(link.sources) > 1 or len(link.outs) > 1]
    return sorted(anew, key=lambda link: not link.mixes)


def _cross(old: int, new: int) -> bool:
    return bool(new % old and old % new)


def rulers(answer: Trace | Chain, layout: Layout, _at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the rulers of a stage that cuts the elements anew. Large tensors show one block that is cut anew.

    `width` and `height` are in character cells.

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
    whole = Group(tuple(range(len(layout.before))), tuple(range(len(layout.cells))))
    made, notes = _rulers_of(layout, whole, sizes, strokes), _size_notes(layout, whole, sizes)
    if made.volume < 2:
        return _nothing_to_cut(made.volume)
    if made.volume > width - LEAST_LABEL or made.lines + len(notes) > height:
        anew = _cut_anew(layout)
        if not anew:
            return Text("every axis stays as it is", end="")
        made = _rulers_of(layout, anew[0], sizes, strokes)
        notes = [*_size_notes(layout, anew[0], sizes), *_block_note(len(anew), layout, anew[0])]
        cuts = made.volume // min(made.clash or (made.volume,))
        if cuts > (width - LEAST_LABEL) // 3 and made.period < made.volume:
            notes.append(f"the block that repeats: {made.period} of {made.volume} elements")
            first = replace(made, volume=made.period)
            made = _without(first, [each for each in (*made.before, *made.after) if each.step >= first.volume])
    drawn = _fitted_rulers(made, notes, (width, height), strokes)
    if drawn.plain.count("\n") + 1 >= height:
        return drawn
    return stack([clip_line(Text(layout.head, "bold"), width, strokes), drawn])


def _nothing_to_cut(volume: int) -> Text:
    return Text(f"{'one element' if volume else 'no elements'}: there is nothing to cut", end="")


def _empty_rulers(layout: Layout, sizes: Mapping[str, int], size: tuple[int, int], strokes: Strokes) -> Text:
    """Return the cuts that there are, over a line without cuts for each dim that they may become."""
    before = _side_rulers(layout.before, sizes, strokes)
    volume = prod(ruler.size for ruler in before)
    after = tuple(Ruler(f"  {cell.hole or cell.dim}", "dim", 1, volume) for cell in layout.cells)
    if volume < 2:
        return _nothing_to_cut(volume)
    drawn = _draw_rulers(Rulers(before, after, volume, ""), size[0], 1, strokes, scale=False)
    lines = drawn.split("\n")[:-1][: size[1] - 1]
    return stack([clip_line(Text(layout.head, "bold"), size[0], strokes), *lines])


def _sizes_of(answer: Trace | Chain, layout: Layout) -> Mapping[str, int] | None:
    """Return sizes for the names of a stage; None if no small ones meet the conditions."""
    if all_known([cell.dim or 0 for cell in (*layout.before, *layout.cells)]):
        return {}
    from shapecalc.core.examples import example_sizes  # numbers need none

    try:
        return example_sizes(answer)
    except ShapeError:
        return None


def _fitted_rulers(made: Rulers, notes: list[str], size: tuple[int, int], strokes: Strokes) -> Text:
    """Return rulers with their notes, in the lines there are: without the finest cuts, or with numbered parts."""
    width, height = size
    finest = _finest_first(made)

    def noted(gone: int) -> list[Text]:
        left_out = [f"{strokes.dots} {number_text(gone, 'axis', 'axes')} left out"] if gone else []
        return packed([Text(note, "dim") for note in (*notes, *left_out)], width, strokes)

    def fits(gone: int) -> bool:
        return _without(made, finest[:gone]).lines + len(noted(gone)) <= height

    gone = bisect_left(range(len(finest)), True, key=fits)
    kept, lines = _without(made, finest[:gone]), noted(gone)
    pitch = 2 if kept.lines + len(kept.before) + len(kept.after) + len(lines) <= height >= SPACIOUS else 1
    return stack([_draw_rulers(kept, width, pitch, strokes, scale=kept.lines + len(lines) <= height), *lines])


def _finest_first(made: Rulers) -> list[Ruler]:
    """Return the rulers that may be left out, in that order: the outermost last, and never what clashes."""
    kept = made.clash or tuple(side[0].step for side in (made.before, made.after) if side)
    outermost = {id(ruler) for ruler in (*made.before[:1], *made.after[:1])}
    others = [ruler for ruler in (*made.before, *made.after) if ruler.step not in kept]
    return sorted(others, key=lambda ruler: (id(ruler) in outermost, ruler.step))


def _without(made: Rulers, gone: list[Ruler]) -> Rulers:
    """Return rulers without some of them."""
    left = {id(ruler) for ruler in gone}
    before, after = (tuple([ruler for ruler in side if id(ruler) not in left]) for side in (made.before, made.after))
    return replace(made, before=before, after=after)


def _size_notes(layout: Layout, block: Group, sizes: Mapping[str, int]) -> list[str]:
    """Return the note that says which sizes stand for the names of a block, if it has names."""
    before = [layout.stage.before[axis] for axis in block.sources]
    known = names(before + [layout.cells[out].dim or 0 for out in block.outs])
    return [f"with {sizes_text({name: sizes[name] for name in known})}"] if known else []


def _block_note(count: int, layout: Layout, block: Group) -> list[str]:
    """Return the note that says which part of the tensor is shown, if it is a part. `count` groups are cut anew."""
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
    """Return the axes of one side, the outermost first. Axes of 1 have no cuts, so they are left out."""
    dims = [int(str(substitute(cell.dim or 0, sizes))) for cell in cells]
    texts = [clip(str(dim), 9, strokes) for dim in dims]
    steps = list(accumulate(reversed(dims), mul, initial=1))[-2::-1]
    wide = max(map(len, texts), default=0)
    return tuple(
        Ruler(f"{mark_text(cell.mark, strokes)} {text.rjust(wide)}", colour(cell.mark), dim, step)
        for cell, dim, text, step in zip(cells, dims, texts, steps, strict=True)
        if dim != 1
    )


def _draw_rulers(made: Rulers, width: int, pitch: int, strokes: Strokes, *, scale: bool) -> Text:
    """Return the picture: the old rulers, the new cuts inside old blocks, the new rulers, and the conclusion.

    Without `scale`, the places of the cuts are not written over them.
    """
    labels = [f"before {ruler.label}" for ruler in made.before[:1]] + [ruler.label for ruler in made.before[1:]]
    labels += [f"after {ruler.label}" for ruler in made.after[:1]] + [ruler.label for ruler in made.after[1:]]
    left = max(map(len, labels), default=0) + 1
    room, widest = max(8, width - left - 1), 8 if pitch > 1 else 4
    long = min(widest, room // made.volume) * made.volume if made.volume <= room else room
    clash = made.clash
    canvas, y = Canvas(strokes, pitch * len(labels) + 2 + bool(clash)), 1
    _write_numbers(canvas, made, left, long)
    for place, (ruler, text) in enumerate(zip((*made.before, *made.after), labels, strict=True)):
        if place == len(made.before) and clash:
            _mark_clashes(canvas, made, clash, (left, long, y))
            y += 1
        canvas.put(left - 1 - len(text), y, text, ruler.colour)
        _draw_ruler(canvas, ruler, made.volume, (left, long, y), strokes)
        if pitch > 1:
            _number_parts(canvas, ruler, made.volume, (left, long, y + 1))
        y += pitch
    words, order = _cuts_words(made, to_scale=made.volume > long), " (order is kept)"
    words += order if clash and left + len(words + order) <= width else ""
    canvas.put(left, y, words, "bold" if clash else "dim")
    return canvas.text(width, range(0 if scale else 1, y + 1))


def _number_parts(canvas: Canvas, ruler: Ruler, volume: int, place: tuple[int, int, int]) -> None:
    """Write the index on its axis into each part of a ruler, if the parts have room for it."""
    left, long, y = place
    parts = volume // ruler.step
    if long // parts <= len(str(ruler.size - 1)) + 1:
        return
    ends = [left + part * long // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        index = str(part % ruler.size)
        canvas.put((start + end + 1 - len(index)) // 2, y, index, "dim")


def _write_numbers(canvas: Canvas, made: Rulers, left: int, long: int) -> None:
    """Write the places of the outermost old cuts, as many as there is room for."""
    step, end = made.before[0].step if made.before else made.volume, str(made.volume)
    canvas.put(left + long + 1 - len(end), 0, end, "dim")
    stride = step * -(-(len(end) + 2) * made.volume // (long * step))
    for cut in range(0, made.volume, stride):
        x = left + cut * long // made.volume
        if x + len(str(cut)) <= left + long - len(end):
            canvas.put(x, 0, str(cut), "dim")


def _draw_ruler(canvas: Canvas, ruler: Ruler, volume: int, place: tuple[int, int, int], strokes: Strokes) -> None:
    """Draw one axis: a line with a tick at each cut. If the cuts are too close to each other, it is shaded."""
    left, long, y = place
    cuts = volume // ruler.step
    if cuts > (long if volume <= long else long // 3):
        canvas.put(left, y, strokes.shade * (long + 1), ruler.colour)
        return
    canvas.draw_ruler(y, [left + cut * long // cuts for cut in range(cuts + 1)], ruler.colour)


def _mark_clashes(canvas: Canvas, made: Rulers, clash: tuple[int, int], place: tuple[int, int, int]) -> None:
    """Mark the new cuts that lie inside old blocks, if each new cut has a cell."""
    old, new = clash
    left, long, y = place
    for cut in range(new, made.volume, new) if made.volume // new <= long else ():
        if cut % old:
            canvas.put(left + cut * long // made.volume, y, "!", "bold red")


def _cuts_words(made: Rulers, *, to_scale: bool) -> str:
    """Say which dims mix axes, and why."""
    exact = "to scale; " if to_scale else ""
    if made.clash is not None:
        old, new = made.clash
        cut = f"only some old blocks of {old}" if new > old else f"old blocks of {old} at different places"
        return f"{exact}! cuts {cut}: {made.mixed or 'axes mix'}"
    if made.mixed:
        return f"{exact}old blocks are cut alike by chance: at most sizes {made.mixed}"
    return f"{exact}every old block is cut alike: nothing mixes"


def regroups(step: Step | None) -> bool:
    """Say whether a step explains the cuts of a whole reshape."""
    return step is not None and step.rule == rules.REGROUPED


def _is_about_counts(layout: Layout, step: Step | None) -> bool:
    """Say whether a step infers a -1, or a refusal is about counts that are known but for one dim."""
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
    """Say whether a step is the last 0 of a stage in which a dim has the size of an axis that it is not made of."""
    copies = [each for each in layout.stage.steps if each.rule == rules.COPIED_ZERO]
    return bool(layout.parted) and step is copies[-1]


def _is_of_operands(layout: Layout, step: Step | None) -> bool:
    """Say whether a step is about several operands, and not about one axis that windows slide over."""
    several = layout.stage.kind in COMBINING and len(operands_of(layout)) > 1
    return several and not is_about_windows(layout, step)


def _is_last_of_operands(_answer: Trace | Chain, layout: Layout, step: Step | None, _width: int) -> bool:
    """Say whether a step is the last about several operands, or a refusal; of a pool the windows tell all."""
    own = [each for each in layout.stage.steps if not is_about_windows(layout, each)]
    return step is None or (step is own[-1] and not layout.problem and "kernel" not in layout.request.arguments)


PICTURES = (
    Picture(budget, _is_about_counts, lambda *_: True),
    Picture(rulers, _is_about_cuts, _needs_rulers),
    Picture(windows, is_about_windows, begins_alike),
    Picture(table, _is_of_operands, _is_last_of_operands),
    Picture(lanes, lambda _layout, _step: True, _copies_from_elsewhere),
)
"""All kinds of pictures. A step is drawn as the first that is for it, and `--explain=all` shows whatever tells more."""


def _picture_of(layout: Layout, step: Step | None) -> Picture:
    return next(each for each in PICTURES if each.is_of(layout, step))


def picture(
    answer: Trace | Chain,
    at: int,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    holes: Holes = NO_HOLES,
) -> Text:
    """Return the picture of step `at`, or of the refusal if `at` is past the last step.

    `holes` are the dims that are hidden, by column and index, with what stands there: nothing is told of them.

    >>> import shapecalc as sc
    >>> from shapecalc.view.canvas import ASCII
    >>> print(picture(sc.reshape((2, 3), (0, -1)), 0, strokes=ASCII, holes={(1, 1): "_"}))
    dim in            dim out  reshape 0,-1
    0  a 2       0  > 0  2     0 copies dim 0, which is 2
    1  b 3      -1 -- 1  _
    """
    made, steps = layouts(answer), answer.steps
    if not made:
        return stack([clip_line(Text("nothing is asked for: the tensor stays"), width, strokes)])
    place = place_of(made, at) if made[0].stage.move or made[0].problem else 0
    layout = with_holes(made[place], rows_of(holes, place + 1))
    drawn = _picture_of(layout, steps[at] if at < len(steps) else None)
    return drawn.draw(answer, layout, at, width=width, height=height, strokes=strokes)


def asked_picture(answer: Trace | Chain, *, width: int = 78, height: int = 16, hole: str = UNICODE.hole) -> Text:
    """Return what is asked for, with a hole for each dim that it does not name: of several operands as a table.

    All else is the flow, in which no line is drawn yet. An op that names no dims has a hole for each that it makes.

    >>> import shapecalc as sc
    >>> print(asked_picture(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), height=4, hole="[  ]"))
    input transpose 1,0   reshape 0,-1
    a   2       1    [  ]       0    [  ]
    b   3       0    [  ]      -1    [  ]
    """
    asked = Chain(answer.input, tuple([opened(trace) for trace in answer.traces]))
    if any(layout.stage.kind in COMBINING for layout in layouts(asked)[:1]):
        return picture(asked, 0, width=width, height=height, strokes=replace(UNICODE, hole=hole))
    shown = asked if unsettled(asked, len(asked.steps)) else answer
    holes = dict.fromkeys(unsettled(shown, len(asked.steps)), hole)
    return flow(shown, width=width, height=height, holes=holes, hides_refusal=True)


def explain(answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the flow of an answer, and the pictures of the steps that the flow does not show."""
    parts = [flow(answer, width=width, strokes=strokes)]
    for at in [*_steps_to_show(answer, width)][:MOST_DRAWN]:
        parts += [Text(""), picture(answer, at, width=width, strokes=strokes)]
    return stack(parts)


def steps_to_draw(answer: Trace | Chain, width: int) -> list[int]:
    """Return the steps whose pictures show more than the flow, the one that shows most first."""
    shown = _steps_to_show(answer, width)
    return sorted(shown, key=lambda at: _weight(*shown[at]))[:MOST_DRAWN]


def main_step(answer: Trace | Chain, width: int) -> int:
    """Return the step whose picture shows most, beside the flow; of a refusal, the one past the last.

    >>> import shapecalc as sc
    >>> main_step(sc.reshape((2, 3, 4), (0, -1)), 78), main_step(sc.transpose((2, 3)), 78)
    (1, 2)
    """
    last = len(answer.steps) - (answer.problem is None)
    return next(iter(steps_to_draw(answer, width)), max(0, last))


def _weight(layout: Layout, step: Step | None) -> int:
    """Return how late a picture comes: a refusal is first, then axes that mix, a -1, and all others."""
    if step is None:
        return 0
    if layout.mixed and regroups(step):
        return 1
    return 2 if step.rule in INFERS or is_about_windows(layout, step) else 3


def _steps_to_show(answer: Trace | Chain, width: int) -> Shown:
    """Return the steps of reshapes and merges whose pictures show more than the flow, by number, with their layouts."""
    found: Shown = {}
    for layout in layouts(answer):
        drawn = layout.cuts or layout.stage.kind in COMBINING
        steps = dict[int, Step | None](zip(layout.numbers, layout.stage.steps, strict=False) if drawn else ())
        if drawn and layout.problem is not None:
            steps[len(answer.steps)] = None
        worth = {
            at: step for at, step in steps.items() if _picture_of(layout, step).tells_more(answer, layout, step, width)
        }
        found |= {at: (layout, step) for at, step in worth.items()}
    return found
