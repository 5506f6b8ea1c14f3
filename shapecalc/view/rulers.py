"""Rulers: what a reshape does. The old cuts over the new ones, on the same elements in the same order."""

from __future__ import annotations

from math import prod

from rich.text import Text

from shapecalc.core.answers.example_sizes import example_sizes
from shapecalc.core.answers.regrouping import Group
from shapecalc.core.sizes.dims import Shape, all_known, names, product, substitute
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.record import Record, replace
from shapecalc.core.sizes.text import shape_text
from shapecalc.view.canvas import Canvas, clipped_text, stacked
from shapecalc.view.layout import Cell, Layout
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.steps import shown_name
from shapecalc.view.strokes import DOWN, LEFT, RIGHT, UP, Strokes, clipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.core.answers.trace import Chain, Trace

LONGEST_DIM = 9
LEAST_LABEL = 14
"""The cells that labels need at the left of the rulers."""
WIDEST_ELEMENT = 4
"""How many cells an element has at most."""


def worth_drawing(layout: Layout, width: int) -> bool:
    """Say whether rulers would show more than shades: axes are cut anew, and the elements can be told apart."""
    anew = [link for link in layout.links if len(link.sources) > 1 or len(link.outs) > 1]
    dims = [layout.before[axis].dim for link in anew[:1] for axis in link.sources]
    volume = product(dim or 0 for dim in dims)
    return bool(anew) and not (isinstance(volume, int) and not 0 < volume <= width - LEAST_LABEL)


class Ruler(Record):
    """One axis on the ruler: its cuts are at the multiples of its step."""

    label: str
    colour: str
    size: int
    step: int


class Rulers(Record):
    """The axes of a block before and after, on the same elements."""

    before: tuple[Ruler, ...]
    after: tuple[Ruler, ...]
    volume: int
    mixes: bool = False
    """Whether axes mix at most sizes of the names, whatever the ones that are drawn do."""

    @property
    def clash(self) -> tuple[int, int] | None:
        """The steps of the first old and new cuts of which neither lie on the other; None where all line up."""
        for new in self.after:
            for old in self.before:
                if new.step % old.step and old.step % new.step:
                    return old.step, new.step
        return None


def rulers(answer: Trace | Chain, layout: Layout, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the rulers of a stage that cuts the elements anew; of many axes, one block that is cut otherwise.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> from shapecalc.view.strokes import ASCII
    >>> answer = sc.reshape((2, 3), (3, 2))
    >>> print(rulers(answer, layouts(answer)[0], width=60, height=9, strokes=ASCII))
               0           3           6
    before a 2 +-----------+-----------+
           b 3 +---+---+---+---+---+---+
                       !       !
    after ~1 3 +-------+-------+-------+
          ~2 2 +---+---+---+---+---+---+
               ! 2 lies inside an old block of 3: axes mix
    """
    try:
        sizes = example_sizes(answer) if not all_known(_dims(layout)) else {}
    except ShapeError:
        return Text("", end="")
    whole = Group(tuple(range(len(layout.before))), tuple(range(len(layout.cells))))
    made = _rulers(layout, whole, sizes, strokes)
    if made.volume == 0:
        return Text("no elements: there is nothing to cut", end="")
    block, notes = whole, list[str]()
    lines = len(made.before) + len(made.after) + 3 + bool(sizes)
    if made.volume > width - LEAST_LABEL or lines > height:
        anew = [link for link in layout.links if len(link.sources) > 1 or len(link.outs) > 1]
        if not anew:
            return Text("every axis stays as it is", end="")
        block = anew[0]
        made = _rulers(layout, block, sizes, strokes)
        notes.append(_one_of(len(anew), layout, block))
    notes += _sizes_taken(layout, block, sizes)
    made = replace(made, mixes=bool(sizes and layout.mixed))
    return stacked([_drawn(made, width, strokes), *(clipped_text(Text(note, "dim"), width, strokes) for note in notes)])


def _sizes_taken(layout: Layout, block: Group, sizes: Mapping[str, int]) -> list[str]:
    """Say which sizes stand for the names of a block, if there are any."""
    before = [layout.before[axis].dim or 0 for axis in block.sources]
    known = names(before + [layout.cells[out].dim or 0 for out in block.outs])
    return ["with " + ", ".join(f"{shown_name(name)}={sizes[name]}" for name in known)] if known else []


def _one_of(count: int, layout: Layout, block: Group) -> str:
    """Say which part of the tensor is shown."""
    before = shape_text(layout.before[axis].dim or 0 for axis in block.sources)
    after = shape_text(layout.cells[out].dim or 0 for out in block.outs)
    more = "" if count == 1 else f"; {count - 1} more {'group' if count == 2 else 'groups'} of axes cut anew"
    return f"one block, the others alike: {before} becomes {after}{more}"


def _dims(layout: Layout) -> Shape:
    return tuple(cell.dim or 0 for cell in (*layout.before, *layout.cells))


def _rulers(layout: Layout, block: Group, sizes: Mapping[str, int], strokes: Strokes) -> Rulers:
    before = _side([layout.before[axis] for axis in block.sources], sizes, strokes)
    after = _side([layout.cells[out] for out in block.outs], sizes, strokes)
    return Rulers(before, after, prod(ruler.size for ruler in before))


def _side(cells: Sequence[Cell], sizes: Mapping[str, int], strokes: Strokes) -> tuple[Ruler, ...]:
    """Return the axes of one side, outermost first; those of 1 have no cuts and are left out."""
    dims = [int(str(substitute(cell.dim or 0, sizes))) for cell in cells]
    texts = [clipped(str(dim), LONGEST_DIM, strokes) for dim in dims]
    wide = max(map(len, texts), default=0)
    return tuple(
        Ruler(f"{mark_text(cell.mark, strokes)} {text.rjust(wide)}", colour(cell.mark), dim, prod(dims[place + 1 :]))
        for place, (cell, dim, text) in enumerate(zip(cells, dims, texts, strict=True))
        if dim != 1
    )


def _drawn(made: Rulers, width: int, strokes: Strokes) -> Text:
    """Return the old rulers, the new cuts that lie inside old blocks, the new rulers, and what that means."""
    labels = [f"before {ruler.label}" for ruler in made.before[:1]] + [ruler.label for ruler in made.before[1:]]
    labels += [f"after {ruler.label}" for ruler in made.after[:1]] + [ruler.label for ruler in made.after[1:]]
    left = max(map(len, labels), default=0) + 1
    room = max(8, width - left - 1)
    long = min(WIDEST_ELEMENT, room // made.volume) * made.volume if made.volume <= room else room
    canvas, y = Canvas(strokes, len(labels) + 2 + bool(made.clash)), 1
    _numbers(canvas, made, left, long)
    for place, (ruler, label) in enumerate(zip((*made.before, *made.after), labels, strict=True)):
        if place == len(made.before) and made.clash:
            _clashes(canvas, made, made.clash, (left, long, y))
            y += 1
        canvas.put(left - 1 - len(label), y, label, ruler.colour)
        _ruler(canvas, ruler, made.volume, (left, long, y), strokes)
        y += 1
    canvas.put(left, y, _verdict(made, to_scale=made.volume > long), "bold" if made.clash else "dim")
    return canvas.text(width)


def _numbers(canvas: Canvas, made: Rulers, left: int, long: int) -> None:
    """Write where the outermost old cuts are, as many as there is room for."""
    step, end = made.before[0].step if made.before else made.volume, str(made.volume)
    canvas.put(left + long + 1 - len(end), 0, end, "dim")
    apart = step * -(-(len(end) + 2) * made.volume // (long * step))
    for cut in range(0, made.volume, apart):
        x = left + cut * long // made.volume
        if x + len(str(cut)) <= left + long - len(end):
            canvas.put(x, 0, str(cut), "dim")


def _ruler(canvas: Canvas, ruler: Ruler, volume: int, place: tuple[int, int, int], strokes: Strokes) -> None:
    """Draw one axis: a line with a tick at each cut; shaded where the cuts are too close to be told apart."""
    left, long, y = place
    cuts = volume // ruler.step
    if cuts > (long if volume <= long else long // 3):
        canvas.put(left, y, strokes.shade * (long + 1), ruler.colour)
        return
    canvas.across(y, left + 1, left + long, ruler.colour)
    canvas.join(left, y, RIGHT | UP | DOWN, ruler.colour)
    canvas.join(left + long, y, LEFT | UP | DOWN, ruler.colour)
    for cut in range(1, cuts):
        canvas.join(left + cut * long // cuts, y, UP | DOWN, ruler.colour)


def _clashes(canvas: Canvas, made: Rulers, clash: tuple[int, int], place: tuple[int, int, int]) -> None:
    """Mark the new cuts that lie inside old blocks, where they can be told apart."""
    old, new = clash
    left, long, y = place
    for cut in range(new, made.volume, new) if made.volume // new <= long else ():
        if cut % old:
            canvas.put(left + cut * long // made.volume, y, "!", "bold red")


def _verdict(made: Rulers, *, to_scale: bool) -> str:
    """Say whether axes mix, and why."""
    exact = "to scale: " if to_scale else ""
    if made.clash is None:
        happen = "happen to line up at these sizes: mostly axes mix" if made.mixes else "line up"
        return f"{exact}old and new cuts {happen}"
    old, new = made.clash
    first = next(cut for cut in range(new, made.volume, new) if cut % old)
    return f"{exact}! {first} lies inside an old block of {old}: axes mix"
