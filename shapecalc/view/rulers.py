"""Rulers: what a reshape does. They show the old cuts above the new cuts of the same row of elements."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from math import prod
from operator import mul

from rich.text import Text

from shapecalc.core.dims import Shape, all_known, names, product, substitute
from shapecalc.core.examples import example_sizes
from shapecalc.core.layout import Group
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, replace
from shapecalc.core.text import number_text, shape_text
from shapecalc.view.canvas import Canvas, clip_line, packed, stack
from shapecalc.view.layout import Cell, Layout
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.steps import shown_name
from shapecalc.view.strokes import DOWN, LEFT, RIGHT, UP, Strokes, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers import Chain, Trace

LONGEST_DIM = 9
LEAST_LABEL = 14
"""The cells that the labels need at the left of the rulers."""
WIDEST_ELEMENT = 8
"""The most cells of an element."""
USUAL_ELEMENT = 4
"""The most cells of an element where the rulers have one line each."""
SPACIOUS = 14
"""The lines from which on the parts of a ruler are numbered under it."""


def is_worth_drawing(layout: Layout, width: int) -> bool:
    """Say whether rulers show more than shades: axes are cut anew, and each element gets a cell."""
    anew = _cut_anew(layout)
    dims = [layout.before[axis].dim for link in anew[:1] for axis in link.sources]
    volume = product(dim or 0 for dim in dims)
    return bool(anew) and not (isinstance(volume, int) and not 0 < volume <= width - LEAST_LABEL)


def _cut_anew(layout: Layout) -> list[Group]:
    """Return the links whose axes are cut anew, first those whose axes mix."""
    anew = [link for link in layout.links if len(link.sources) > 1 or len(link.outs) > 1]
    return sorted(anew, key=lambda link: not link.mixes)


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
    mixes: bool
    """Whether axes mix at most sizes of the names. At the sizes that are drawn, the cuts may still line up."""

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


def _cross(old: int, new: int) -> bool:
    return bool(new % old and old % new)


def rulers(answer: Trace | Chain, layout: Layout, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the rulers of a stage that cuts the elements anew. Large tensors show one block that is cut anew.

    `width` and `height` are in character cells.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> from shapecalc.view.strokes import ASCII
    >>> answer = sc.reshape((2, 3), (3, 2))
    >>> print(rulers(answer, layouts(answer)[0], width=78, height=9, strokes=ASCII))
    reshape 2,3 to 3,2
               0           3           6
    before a 2 +-----------+-----------+
           b 3 +---+---+---+---+---+---+
                       !       !
    after ~x 3 +-------+-------+-------+
          ~y 2 +---+---+---+---+---+---+
               ! cuts old blocks of 3 at different places: axes mix (order is k...
    """
    try:
        sizes = example_sizes(answer) if not all_known(_dims(layout)) else {}
    except ShapeError:
        return Text("", end="")
    whole = Group(
        tuple(range(len(layout.before))), tuple(range(len(layout.cells))), any(link.mixes for link in layout.links)
    )
    made, notes = _rulers(layout, whole, sizes, strokes), _size_notes(layout, whole, sizes)
    if made.volume < 2:
        return Text(f"{'one element' if made.volume else 'no elements'}: there is nothing to cut", end="")
    if made.volume > width - LEAST_LABEL or made.lines + len(notes) > height:
        anew = _cut_anew(layout)
        if not anew:
            return Text("every axis stays as it is", end="")
        made = _rulers(layout, anew[0], sizes, strokes)
        notes = [*_size_notes(layout, anew[0], sizes), *_block_note(len(anew), layout, anew[0])]
    drawn = _fitted(made, notes, (width, height), strokes)
    if drawn.plain.count("\n") + 1 >= height:
        return drawn
    return stack([clip_line(Text(layout.head, "bold"), width, strokes), drawn])


def _fitted(made: Rulers, notes: list[str], size: tuple[int, int], strokes: Strokes) -> Text:
    """Return rulers with their notes, in the lines there are: without the finest cuts, or with numbered parts."""
    width, height = size
    finest = _finest_first(made)

    def noted(gone: int) -> list[Text]:
        left_out = [f"{strokes.dots} {number_text(gone, 'finer axis', 'finer axes')} left out"] if gone else []
        return packed([Text(note, "dim") for note in (*notes, *left_out)], width, strokes)

    def fits(gone: int) -> bool:
        return _without(made, finest[:gone]).lines + len(noted(gone)) <= height

    gone = bisect_left(range(len(finest)), True, key=fits)
    kept, lines = _without(made, finest[:gone]), noted(gone)
    pitch = 2 if kept.lines + len(kept.before) + len(kept.after) + len(lines) <= height >= SPACIOUS else 1
    return stack([_draw(kept, width, pitch, strokes, scale=kept.lines + len(lines) <= height), *lines])


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
    before = [layout.before[axis].dim or 0 for axis in block.sources]
    known = names(before + [layout.cells[out].dim or 0 for out in block.outs])
    return ["with " + ", ".join(f"{shown_name(name)}={sizes[name]}" for name in known)] if known else []


def _block_note(count: int, layout: Layout, block: Group) -> list[str]:
    """Return the note that says which part of the tensor is shown, if it is a part. `count` groups are cut anew."""
    if all(cell.dim == 1 for axis, cell in enumerate(layout.before) if axis not in block.sources):
        return []
    before = shape_text(layout.before[axis].dim or 0 for axis in block.sources)
    after = shape_text(layout.cells[out].dim or 0 for out in block.outs)
    more = "" if count == 1 else f"; {count - 1} more {'group' if count == 2 else 'groups'} of axes cut anew"
    return [f"one block, the others alike: {before} becomes {after}{more}"]


def _dims(layout: Layout) -> Shape:
    return tuple(cell.dim or 0 for cell in (*layout.before, *layout.cells))


def _rulers(layout: Layout, block: Group, sizes: Mapping[str, int], strokes: Strokes) -> Rulers:
    before = _side([layout.before[axis] for axis in block.sources], sizes, strokes)
    after = _side([layout.cells[out] for out in block.outs], sizes, strokes)
    return Rulers(before, after, prod(ruler.size for ruler in before), block.mixes)


def _side(cells: Sequence[Cell], sizes: Mapping[str, int], strokes: Strokes) -> tuple[Ruler, ...]:
    """Return the axes of one side, the outermost first. Axes of 1 have no cuts, so they are left out."""
    dims = [int(str(substitute(cell.dim or 0, sizes))) for cell in cells]
    texts = [clip(str(dim), LONGEST_DIM, strokes) for dim in dims]
    steps = list(accumulate(reversed(dims), mul, initial=1))[-2::-1]
    wide = max(map(len, texts), default=0)
    return tuple(
        Ruler(f"{mark_text(cell.mark, strokes)} {text.rjust(wide)}", colour(cell.mark), dim, step)
        for cell, dim, text, step in zip(cells, dims, texts, steps, strict=True)
        if dim != 1
    )


def _draw(made: Rulers, width: int, pitch: int, strokes: Strokes, *, scale: bool) -> Text:
    """Return the picture: the old rulers, the new cuts inside old blocks, the new rulers, and the conclusion.

    Without `scale`, the places of the cuts are not written over them.
    """
    labels = [f"before {ruler.label}" for ruler in made.before[:1]] + [ruler.label for ruler in made.before[1:]]
    labels += [f"after {ruler.label}" for ruler in made.after[:1]] + [ruler.label for ruler in made.after[1:]]
    left = max(map(len, labels), default=0) + 1
    room, widest = max(8, width - left - 1), WIDEST_ELEMENT if pitch > 1 else USUAL_ELEMENT
    long = min(widest, room // made.volume) * made.volume if made.volume <= room else room
    clash = made.clash
    canvas, y = Canvas(strokes, pitch * len(labels) + 2 + bool(clash)), 1
    _write_numbers(canvas, made, left, long)
    for place, (ruler, label) in enumerate(zip((*made.before, *made.after), labels, strict=True)):
        if place == len(made.before) and clash:
            _mark_clashes(canvas, made, clash, (left, long, y))
            y += 1
        canvas.put(left - 1 - len(label), y, label, ruler.colour)
        _draw_ruler(canvas, ruler, made.volume, (left, long, y), strokes)
        if pitch > 1:
            _number_parts(canvas, ruler, made.volume, (left, long, y + 1))
        y += pitch
    canvas.put(left, y, _conclusion(made, to_scale=made.volume > long), "bold" if clash else "dim")
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
    apart = step * -(-(len(end) + 2) * made.volume // (long * step))
    for cut in range(0, made.volume, apart):
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
    canvas.draw_across(y, left + 1, left + long, ruler.colour)
    canvas.join(left, y, RIGHT | UP | DOWN, ruler.colour)
    canvas.join(left + long, y, LEFT | UP | DOWN, ruler.colour)
    for cut in range(1, cuts):
        canvas.join(left + cut * long // cuts, y, UP | DOWN, ruler.colour)


def _mark_clashes(canvas: Canvas, made: Rulers, clash: tuple[int, int], place: tuple[int, int, int]) -> None:
    """Mark the new cuts that lie inside old blocks, if each new cut has a cell."""
    old, new = clash
    left, long, y = place
    for cut in range(new, made.volume, new) if made.volume // new <= long else ():
        if cut % old:
            canvas.put(left + cut * long // made.volume, y, "!", "bold red")


def _conclusion(made: Rulers, *, to_scale: bool) -> str:
    """Say whether axes mix, and why."""
    exact = "to scale; " if to_scale else ""
    if made.clash is not None:
        old, new = made.clash
        cut = f"only some old blocks of {old}" if new > old else f"old blocks of {old} at different places"
        return f"{exact}! cuts {cut}: axes mix (order is kept)"
    if made.mixes:
        return f"{exact}old blocks are cut alike by chance: at most sizes axes mix"
    return f"{exact}every old block is cut alike: nothing mixes"
