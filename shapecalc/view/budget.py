"""The budget: how many elements there are, how many the known dims use, and what is left for -1.

Small counts are drawn as bars. Names, zeros and huge counts are written as factors that cancel.
"""

from __future__ import annotations

from math import gcd

from rich.text import Text

from shapecalc.core.dims import Dim, product, quotient
from shapecalc.core.record import Record
from shapecalc.core.rules import InferredEmpty, LeftOut
from shapecalc.core.text import and_text, dim_text
from shapecalc.view.canvas import clip_line, stack
from shapecalc.view.layout import INFERS, Cell, Layout, regroups
from shapecalc.view.marks import colour
from shapecalc.view.strokes import DOWN, UP, Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TIMES = " * "
LONGEST_FACTORS = 26
LEAST_BAR = 12
WIDEST_ELEMENT = 6
"""The most cells of an element."""
SPACIOUS = 14
"""The lines from which on bars are drawn large."""


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
        have, known = (
            product(dim for place, dim in enumerate(dims) if place not in skipped)
            for dims, skipped in zip((self.have, self.known), self.left_out, strict=True)
        )
        return have, known


def budget_of(layout: Layout) -> Budget | None:
    """Return the budget of a reshape; None if a dim beside the -1 was not settled."""
    hole = next((out for out, cell in enumerate(layout.cells) if cell.token == "-1" or _is_negative(cell)), None)
    dims = [cell.dim for out, cell in enumerate(layout.cells) if out != hole]
    have = [cell.dim for cell in layout.before]
    if None in dims:
        return None
    facts = next((step.facts for step in layout.stage.steps if isinstance(step.facts, InferredEmpty)), None)
    return Budget(
        tuple(map(_dim_or_one, have)), tuple(map(_dim_or_one, dims)), hole, _places_left_out(layout, hole, facts)
    )


def _dim_or_one(dim: Dim | None) -> Dim:
    return 1 if dim is None else dim


def _is_negative(cell: Cell) -> bool:
    return cell.dim is None and cell.token.startswith("-")


def _places_left_out(
    layout: Layout, hole: int | None, facts: InferredEmpty | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the places that a dialect leaves out of its counts if a known dim is 0."""
    if facts is None:
        return (), ()
    others = [out for out in range(len(layout.cells)) if out != hole]
    if facts.left_out is LeftOut.ZEROS:
        zeros = tuple(axis for axis, cell in enumerate(layout.before) if cell.dim == 0)
        return zeros, tuple(place for place, out in enumerate(others) if layout.cells[out].dim == 0)
    copied = [out for out in others if layout.cells[out].token == "0"]
    return tuple(copied), tuple(place for place, out in enumerate(others) if out in copied)


def budget(layout: Layout, *, width: int, height: int = 12, strokes: Strokes) -> Text:
    """Return the budget of a stage, as bars or as factors that cancel. With room, each element is seen in the bars.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> from shapecalc.view.strokes import ASCII
    >>> print(budget(layouts(sc.reshape((2, 3), (3, -1)))[0], width=60, strokes=ASCII))
    reshape 2,3 to 3,-1
    have   2 * 3 = 6  ###|###
    known  3     = 3  ###
    -1     6 / 3 = 2  3 fits 2 times, nothing left over
    2 and 3 mix into 3 and 2
    """
    asked = budget_of(layout)
    if asked is None:
        return Text("the element counts are not known yet", end="", no_wrap=True)
    have, known = asked.counts
    lines = None
    if isinstance(have, int) and isinstance(known, int) and have > 0 and known > 0 and asked.left_out == ((), ()):
        lines = _bar_lines(asked, have, known, (width, height), strokes)
    lines = lines or _factor_lines(asked, layout, width)
    for step in layout.stage.steps:
        if isinstance(step.facts, INFERS) or regroups(step):
            lines += [
                Text(f"holds when {condition.words}; otherwise refused", "yellow") for condition in step.conditions
            ]
    if len(lines) < height:
        lines = [Text(layout.head, "bold"), *lines]
    told = _what_becomes_of_axes(layout)
    if told and len(lines) < height and len(told) <= width:
        lines.append(Text(told, "dim"))
    return stack([clip_line(line, width, strokes) for line in lines])


def _what_becomes_of_axes(layout: Layout) -> str:
    """Return which sizes stay, merge, split or mix; an empty text if that is not known of all dims."""
    if {out for link in layout.links for out in link.outs} != {*range(len(layout.cells))} or not layout.stage.finished:
        return ""
    texts = []
    for link in layout.links:
        before = and_text([dim_text(_dim_or_one(layout.before[axis].dim)) for axis in link.sources])
        after = and_text([dim_text(_dim_or_one(layout.cells[out].dim)) for out in link.outs])
        texts.append(f"{before or after} {link.verb}" + (f" {after}" if link.verb.endswith("into") else ""))
    return "; ".join(texts)


def _factors(dims: Sequence[Dim], strokes: Strokes) -> str:
    return clip(TIMES.join(map(str, dims)) or "1", LONGEST_FACTORS, strokes)


def _bar_lines(asked: Budget, have: int, known: int, size: tuple[int, int], strokes: Strokes) -> list[Text] | None:
    """Return the bars of two counts; None if they are too long for `width`.

    A block is one element, or the fewest that divide both counts and leave the bars room.
    """
    width, height = size
    word = "known" if asked.hole is not None else "want"
    rows = [("have", _factors(asked.have, strokes), str(have)), (word, _factors(asked.known, strokes), str(known))]
    if asked.hole is not None:
        rows.append(("-1", f"{have} / {known}", "?" if have % known else str(have // known)))
    texts = [_align(rows, row) for row in rows]
    room = width - max(map(len, texts)) - 2
    walls = 0 if asked.hole is None else -(-have // known) - 1
    unit = _least_unit(have, known, room, walls)
    if room < LEAST_BAR or unit is None:
        return None
    have, known = have // unit, known // unit
    bars = _bars(have, known, strokes, divided=asked.hole is not None)
    if height >= SPACIOUS:
        bars = [_widened(bar, min(WIDEST_ELEMENT, room // max(map(len, bars))), strokes) for bar in bars]
    lines = [Text(f"{text}  ").append_text(bar) for text, bar in zip(texts, bars, strict=False)]
    lines += [Text(text) for text in texts[len(bars) :]]
    if height >= SPACIOUS:
        lines = [line for each in lines for line in (each, Text())][:-1]
    lines = _add_words(lines, _conclusion(asked, have * unit, known * unit), width, texts)
    return lines if unit == 1 else [*lines, Text(f"each {strokes.block} is {unit} elements", "dim")]


def _least_unit(have: int, known: int, room: int, walls: int) -> int | None:
    """Return the fewest elements that a block can be, with so many walls between pieces; None if no number fits.

    >>> _least_unit(24, 6, 30, 3), _least_unit(96, 24, 40, 3), _least_unit(97, 24, 40, 4)
    (1, 3, None)
    """
    longest, common = max(have, known), gcd(have, known)
    least = -(-longest // room) if room > 0 else common + 1

    def fits(unit: int) -> bool:
        return common % unit == 0 and longest // unit + walls * (known > unit) <= room

    return next(filter(fits, range(least, min(common, longest) + 1)), None)


def _bars(have: int, known: int, strokes: Strokes, *, divided: bool) -> list[Text]:
    """Return the bars of two counts: the first `divided` into pieces of the second, or marked where they differ."""
    runs, rest = divmod(have, known) if divided else (1, abs(have - known))
    wall = strokes.lines[UP | DOWN] if divided and known > 1 else ""
    same = strokes.block * (known if divided else min(have, known))
    whole, over = Text(wall.join([same] * runs)), Text(strokes.over * rest, "bold red")
    if divided:
        return [whole.append(wall * bool(runs and rest)).append_text(over), Text(same)]
    return [Text(same).append_text(over if more else Text()) for more in (have > known, known > have)]


def _widened(bar: Text, cells: int, strokes: Strokes) -> Text:
    """Return a bar whose elements have several cells each, with a blank between them if there are three or more."""
    made, gap = Text(), " " * (cells > 2)
    for char in bar.divide(range(1, len(bar))):
        wide = 1 if char.plain == strokes.lines[UP | DOWN] else cells - len(gap)
        made.append_text(Text(char.plain * wide + gap, *[span.style for span in char.spans]))
    return made


def _align(rows: Sequence[tuple[str, str, str]], row: tuple[str, str, str]) -> str:
    words, factors, counts = (max(len(other[place]) for other in rows) for place in range(3))
    return f"{row[0].ljust(max(words, 5))}  {row[1].ljust(factors)} = {row[2].rjust(counts)}"


def _conclusion(asked: Budget, have: int, known: int) -> str:
    if asked.hole is not None:
        times = "once" if have // known == 1 else f"{dim_text(have // known)} times"
        left = f"{dim_text(have % known)} left over: refused" if have % known else "nothing left over"
        return f"{known} fits {times}, {left}"
    if have != known:
        return f"{abs(have - known)} {'too many' if known > have else 'left over'}: refused"
    return "as many as there are"


def _add_words(lines: list[Text], words: str, width: int, texts: list[str]) -> list[Text]:
    """Return the bars with their conclusion beside the last bar, or under it if there is no room."""
    if len(lines[-1]) + 2 + len(words) <= width:
        lines[-1].append(f"  {words}")
    else:
        lines.append(Text(" " * (len(texts[0]) + 2) + words))
    return lines


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
        return _count_lines(asked, have, known, total)
    gone = dict.fromkeys(dim_text(asked.have[place]) for place, low in enumerate(below) if low is not None)
    told = f"   {and_text([*gone])} {'cancels' if len(gone) == 1 else 'cancel'}" if gone else ""
    if len(lines[2]) + len(told) <= width:
        lines[2].append(told, "dim")
    return lines


def _inferred_dim(asked: Budget, have: Dim, known: Dim) -> str:
    """Return the text of the dim that -1 becomes, or why it becomes none; an empty text if all dims are given."""
    if asked.hole is None:
        return ""
    if known == 0:
        return "?  refused"
    if isinstance(have, int) and isinstance(known, int) and have % known:
        return f"?  {_conclusion(asked, have, known)}"
    return str(quotient(have, known))


def _count_lines(asked: Budget, have: Dim, known: Dim, total: str) -> list[Text]:
    """Return the two counts alone, if there is no room for their factors."""
    lines = [
        Text(f"have   {dim_text(have)}"),
        Text(f"{'known' if asked.hole is not None else 'want '}  {dim_text(known)}"),
    ]
    return [*lines, Text(f"-1     {total}")] if total else lines


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
