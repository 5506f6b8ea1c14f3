"""The wires of a stage: how they run from the dims before it to the dims after it, and how they are drawn.

Permuted axes cross in pairs, one crossing after another, so that the eye can follow each. Other axes keep their order.
Axes that all become the same dims meet at one upright line. Where each dim depends on other axes, such a line would
join what does not belong together. Then each part of an axis has a wire of its own with its name on it: it comes from
the axis at the left of the name, and goes into dims at the right.

Where lines only cross, they do so in a plain cross. Where they meet from four sides, there is a dot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from math import inf
from operator import itemgetter

from rich.style import Style

from shapecalc.core.origins import Group
from shapecalc.core.record import Record, replace
from shapecalc.view.canvas import RIGHT, UNICODE, Canvas, Strokes
from shapecalc.view.layout import Layout, part_text

Styles = Sequence[Style | str]
StyleOf = Callable[[Collection[int], Collection[int]], Style | None]
"""Returns the style of the wires from some axes into some dims, both by their indices; None hides them."""


class Trunk(Record):
    """Wires that meet at one upright line: all its ends at the left lead to all its ends at the right."""

    sources: tuple[int, ...]
    """The lines at which they come in from the left, counted from the first dim."""
    outs: tuple[int, ...]
    """The lines at which they go out to the right; none if an axis is dropped."""
    axes: tuple[int, ...]
    """The dims that they come from."""
    dims: tuple[tuple[int, ...], ...]
    """The dims that each of `outs` leads to."""
    track: int = 0
    """Its place among those that have to stand beside each other."""

    @property
    def lines(self) -> range:
        """The lines that it reaches over."""
        ends = (*self.sources, *self.outs)
        return range(min(ends), max(ends) + 1)

    @property
    def is_straight(self) -> bool:
        """Whether it is a level line, or ends at once."""
        return not self.outs or (len(self.lines) == 1)


class Part(Record):
    """A wire of its own between an axis and a dim, with its name on it."""

    line: int
    text: str
    """Its name; empty for a wire that needs none."""
    axes: tuple[int, ...]
    dims: tuple[int, ...]


class Wiring(Record):
    """The paths of the lines between two columns."""

    pitch: int = 1
    """How many lines apart the dims stand."""
    trunks: tuple[Trunk, ...] = ()
    parts: tuple[Part, ...] = ()
    """The wires behind the trunks, if some have a name."""
    joins: tuple[Trunk, ...] = ()
    """The trunks behind these."""
    lanes: tuple[int, ...] = ()
    """For axes that cross: the dim that each of them becomes."""
    layers: tuple[tuple[int, ...], ...] = ()
    """The upper row of each pair, for the pairs that cross at the same time."""
    knot: bool = False
    """Whether the lines have no room."""

    @property
    def width(self) -> int:
        """How many cells the lines need."""
        if self.knot:
            return 4
        if self.layers:
            return (self.pitch + 2) * len(self.layers) + 1
        return _width(self.trunks) + (self.names_width + _width(self.joins) if self.parts else 0)

    @property
    def names_width(self) -> int:
        """How many cells the names of the parts need, with a blank at each side."""
        return 2 + max((len(part.text) for part in self.parts), default=0)

    @property
    def height(self) -> int:
        """How many lines the parts need."""
        return 1 + max((part.line for part in self.parts), default=0)


def _width(trunks: Iterable[Trunk]) -> int:
    return 2 * max((trunk.track for trunk in trunks), default=0) + 3 + _walls(trunks)


def _walls(trunks: Iterable[Trunk]) -> int:
    """Return how many cells the ends of dropped axes need before the trunks."""
    return 2 * any(not trunk.outs for trunk in trunks)


def wiring(
    layout: Layout, pitch: int = 1, size: tuple[int, int] = (78, 16), free: int = 0, strokes: Strokes = UNICODE
) -> Wiring:
    """Return the paths of the wires of a stage in so many cells and lines.

    Two crossings one right above the other look like a diamond. If `free` cells are enough, none stand so.
    """
    links, (room, lines) = [link for link in layout.links if link.sources], size
    outs = tuple([axes.outs[0] for axes in links if axes.outs])
    if outs != tuple(sorted(outs)) and len(outs) == len(layout.before) == len(layout.cells):
        layers = _layers(outs, (free - 1) // 3, 3) or _layers(outs, (room - 1) // 3, 2)
        return Wiring(pitch, lanes=outs, layers=layers or (), knot=layers is None)
    if not any(is_knot(layout, link) for link in links):
        made = [_trunk(link.sources, link.outs, pitch) for link in links]
        trunks = _beside_each_other(made)
        return Wiring(pitch, trunks or (), knot=trunks is None)
    found = _with_parts(layout, pitch, strokes)
    fits = found is not None and found.width <= room and found.height <= lines
    return found if found and fits else Wiring(pitch, knot=True)


def _trunk(axes: tuple[int, ...], outs: tuple[int, ...], pitch: int) -> Trunk:
    sources, lines = (tuple([pitch * row for row in rows]) for rows in (axes, outs))
    return Trunk(sources, lines, axes, tuple([(out,) for out in outs]))


def is_knot(layout: Layout, link: Group) -> bool:
    """Say whether dims of a link depend on some of its axes only."""
    return any(layout.wires[out] != link.sources for out in link.outs)


def _with_parts(layout: Layout, pitch: int, strokes: Strokes) -> Wiring | None:
    """Return the paths of wires of which those in knots have names; None if some would touch."""
    found = list[Part]()
    for link in layout.links:
        reached = {axis: tuple([out for out in link.outs if axis in layout.wires[out]]) for axis in link.sources}
        for axes in dict.fromkeys(layout.wires[out] for out in link.outs if link.sources):
            outs = tuple([out for out in link.outs if layout.wires[out] == axes])
            ways = dict.fromkeys(reached[axis] for axis in axes)
            for way in ways:
                group = tuple([axis for axis in axes if reached[axis] == way])
                row = outs[0] if len(ways) == 1 else group[0] if way == outs else 0
                text = part_text(layout, group, outs, strokes) if is_knot(layout, link) else ""
                found.append(Part(pitch * row, text, group, outs))
    parts = list[Part]()
    for part in sorted(found, key=lambda part: part.dims):
        parts.append(replace(part, line=max(part.line, parts[-1].line + 1 if parts else 0)))
    trunks = [_trunk(link.sources, (), pitch) for link in layout.links if not link.outs]
    for axes in dict.fromkeys(part.axes for part in parts):
        ends = [part for part in parts if part.axes == axes]
        lines, dims = tuple([part.line for part in ends]), tuple([part.dims for part in ends])
        trunks.append(replace(_trunk(axes, (), pitch), outs=lines, dims=dims))
    joins = list[Trunk]()
    for outs in dict.fromkeys(part.dims for part in parts):
        lines = tuple([part.line for part in parts if part.dims == outs])
        joins.append(replace(_trunk(layout.wires[outs[0]], outs, pitch), sources=lines))
    left, right = _beside_each_other(trunks), _beside_each_other(joins)
    return None if left is None or right is None else Wiring(pitch, left, tuple(parts), right)


def _beside_each_other(trunks: Sequence[Trunk]) -> tuple[Trunk, ...] | None:
    """Return trunks with their places beside each other, so that few lines cross; None if some would touch."""
    upright = sorted([trunk for trunk in trunks if not trunk.is_straight], key=lambda trunk: trunk.lines.start)
    before: dict[int, list[int]] = {place: [] for place in range(len(upright))}
    """For each, those that have to stand at its left."""
    near = list[int]()
    for place, trunk in enumerate(upright):
        near = [other for other in near if upright[other].lines.stop > trunk.lines.start]
        for other in near:
            here, there = _crossings(trunk, upright[other]), _crossings(upright[other], trunk)
            first, last = (other, place) if there < here else (place, other)
            before[last].append(first)
            if here == there == inf:
                return None
        near.append(place)
    tracks: dict[int, int] = {}
    try:
        for place in TopologicalSorter(before).static_order():
            tracks[place] = max([tracks[other] + 1 for other in before[place]], default=0)
    except CycleError:
        return None
    places = {id(trunk): tracks[place] for place, trunk in enumerate(upright)}
    return tuple([replace(trunk, track=places.get(id(trunk), 0)) for trunk in trunks])


def _crossings(left: Trunk, right: Trunk) -> float:
    """Return how often two trunks cross if one stands at the left of the other; no number if they would touch."""
    if {*left.outs} & {*right.sources}:
        return inf
    return sum(line in right.lines for line in left.outs) + sum(line in left.lines for line in right.sources)


@lru_cache(maxsize=32)
def _layers(start: tuple[int, ...], most: int, distance: int) -> tuple[tuple[int, ...], ...] | None:
    """Return the neighbours that change places, layer by layer, until all are in order; None after `most` layers.

    The pairs of a layer are at least so many rows `distance`.

    >>> _layers((2, 0, 1), 9, 2)
    ((0,), (1,))
    """
    order, layers = list(start), list[tuple[int, ...]]()
    while order != sorted(order):
        if len(layers) >= most:
            return None
        layer, row = list[int](), 0
        while row < len(order) - 1:
            if order[row] > order[row + 1]:
                order[row], order[row + 1] = order[row + 1], order[row]
                layer.append(row)
                row += distance - 1
            row += 1
        layers.append(tuple(layer))
    return tuple(layers)


def draw_wires(canvas: Canvas, wired: Wiring, ends: tuple[int, int], style_of: StyleOf) -> None:
    """Draw the wires between two cells, with line 0 under the heading of the canvas.

    A knot is not drawn: the marks at both sides tell what became of each axis.
    """
    left, right = ends
    if wired.layers:
        _braid(canvas, wired, left, right, style_of)
    elif wired.parts:
        middle = left + _width(wired.trunks)
        _draw_trunks(canvas, wired.trunks, left, middle, style_of)
        _draw_trunks(canvas, wired.joins, middle + wired.names_width, right, style_of)
        for part in wired.parts:
            style = style_of(part.axes, part.dims)
            named = f" {part.text} " if part.text else ""
            canvas.put(middle, 1 + part.line, named, style)
            canvas.draw_across(1 + part.line, middle + len(named), middle + wired.names_width, style)
    elif not wired.knot:
        _draw_trunks(canvas, wired.trunks, left, right, style_of)


def _draw_trunks(canvas: Canvas, trunks: Iterable[Trunk], left: int, right: int, style_of: StyleOf) -> None:
    """Draw trunks between two cells. A dropped axis ends in a wall."""
    first = left + 1 + _walls(trunks)
    for trunk in trunks:
        dims = [out for outs in trunk.dims for out in outs]
        style = style_of(trunk.axes, dims)
        if not trunk.outs:
            for line in trunk.sources:
                canvas.draw_across(1 + line, left, left + 1, style)
                canvas.put(left + 1, 1 + line, canvas.strokes.wall, style)
            continue
        if trunk.is_straight:
            canvas.draw_across(1 + trunk.lines.start, left, right, style)
            continue
        styles = [style_of(trunk.axes, outs) for outs in trunk.dims]
        _draw_trunk(canvas, trunk, (left, first + 2 * trunk.track, right), style, styles)


def _draw_trunk(
    canvas: Canvas, trunk: Trunk, xs: tuple[int, int, int], style: Style | None, styles: Sequence[Style | None]
) -> None:
    """Draw a trunk and what leads to it and away from it, but for ends that are hidden."""
    left, bar, right = xs
    outs = {line: each for line, each in zip(trunk.outs, styles, strict=True) if each is not None}
    if not outs:
        return
    rows = [*trunk.sources, *outs]
    canvas.draw_down(bar, 1 + min(rows), 1 + max(rows), style)
    for line in trunk.sources:
        canvas.draw_into(1 + line, left, bar, style)
    for line, each in outs.items():
        canvas.join(bar, 1 + line, RIGHT, style)
        canvas.draw_across(1 + line, bar + 1, right, each)
    for line in {*trunk.sources} & {*outs} - {min(rows), max(rows)}:
        canvas.put(bar, 1 + line, canvas.strokes.joint, style)


def _braid(canvas: Canvas, wired: Wiring, left: int, right: int, style_of: StyleOf) -> None:
    lanes = [style_of((axis,), (out,)) for axis, out in enumerate(wired.lanes)]
    pitch, strokes = wired.pitch, canvas.strokes
    hidden = frozenset(axis for axis, style in enumerate(lanes) if style is None)
    shown: list[Style | str] = [*(style or "" for style in lanes), ""]
    glyphs = strokes.level, strokes.rising, strokes.falling, strokes.crossing
    axes, lines = _braided(wired.layers, len(lanes), pitch, glyphs, hidden)
    for y, (text, styles_of) in enumerate(lines, 1):
        canvas.put_cells(left, y, text, styles_of(shown))
    for row, axis in enumerate(axes):
        canvas.draw_across(1 + pitch * row, left + (pitch + 2) * len(wired.layers), right, lanes[axis])


@lru_cache(maxsize=32)
def _braided(
    layers: tuple[tuple[int, ...], ...],
    count: int,
    pitch: int,
    glyphs: tuple[str, str, str, str],
    hidden: frozenset[int],
) -> tuple[list[int], list[tuple[str, Callable[[Styles], Styles]]]]:
    """Return the axis on each row after all crossings; and of each line, the characters, and what picks their styles.

    It picks them from the styles of the axes and, at the end, that of a blank. No size changes any of it, so it is the
    same while sizes are typed.
    """
    level, rising, falling, crossing = glyphs
    axes, lines = [*range(count)], [dict[int, tuple[str, int]]() for _ in range(1 + pitch * (count - 1))]
    for place, layer in enumerate(layers):
        x = place * (pitch + 2)
        for row, axis in enumerate(axes):
            if axis not in hidden:
                end = x + 1 if row in layer or row - 1 in layer else x + pitch + 2
                lines[pitch * row] |= dict.fromkeys(range(x, end), (level, axis))
        for row in layer:
            upper, lower = axes[row : row + 2]
            for down in range(pitch + 1):
                line = lines[pitch * row + down]
                if lower not in hidden:
                    line[x + 1 + pitch - down] = rising, lower
                if upper not in hidden:
                    line[x + 1 + down] = crossing if 2 * down == pitch else falling, upper
            axes[row : row + 2] = lower, upper
    cells = [[line.get(x, (" ", -1)) for x in range((pitch + 2) * len(layers))] for line in lines]
    return axes, [("".join(char for char, _ in row), itemgetter(*(axis for _, axis in row))) for row in cells]
