"""The lines between two columns of dims: axes that cross, merge, split, mix, come and go.

Row i is axis i on both sides, so an axis that keeps its place is a straight line. Permuted axes cross in pairs,
one crossing after another, so that the eye can follow each. Other axes keep their order and meet at brackets.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter

from shapecalc.core.layout import Group
from shapecalc.core.record import Record
from shapecalc.view.canvas import Canvas
from shapecalc.view.strokes import LEFT, RIGHT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from rich.style import Style

    Styles: TypeAlias = Sequence[Style | str]

ARRIVAL = 2
"""The cells of the line between what was asked for and the dim."""
KNOT = 4
"""The cells that stand for lines that have no room to cross."""


class Wiring(Record):
    """The paths of the lines between two columns."""

    links: tuple[Group, ...]
    layers: tuple[tuple[int, ...], ...] = ()
    """For axes that cross: the upper row of each pair, for the pairs that cross at the same time."""
    tracks: tuple[int, ...] = ()
    """For axes that keep their order: the place of each link's bracket."""
    knot: bool = False
    """Whether so many axes cross that their lines have no room."""

    def width(self, pitch: int = 1) -> int:
        """Return how many cells the lines need if the axes stand `pitch` lines apart."""
        if self.knot:
            return KNOT
        if self.layers:
            return (pitch + 2) * len(self.layers) + 1
        return 2 * max(self.tracks, default=0) + 3 + self.walls

    @property
    def walls(self) -> int:
        """How many cells the ends of dropped axes need before the brackets."""
        return 2 * any(not link.outs for link in self.links)


def wiring(links: tuple[Group, ...], room: int = 78, free: int = 0) -> Wiring:
    """Return the paths of the lines for these links, of which those that cross have `room` cells.

    Two crossings one right above the other look like a diamond. If `free` cells are enough, none stand so.

    >>> wiring((Group((1,), (0,)), Group((2,), (1,)), Group((0,), (2,)))).layers
    ((0,), (1,))
    """
    pairs = sorted((link.sources[0], link.outs[0]) for link in links if link.sources and link.outs)
    outs = [out for _, out in pairs]
    if outs == sorted(outs):
        return Wiring(links, tracks=_tracks(links))
    layers = _layers(tuple(outs), (free - 1) // 3, 3) or _layers(tuple(outs), (room - 1) // 3, 2)
    return Wiring(links, knot=True) if layers is None else Wiring(links, layers=layers)


@lru_cache(maxsize=32)
def _layers(start: tuple[int, ...], most: int, apart: int) -> tuple[tuple[int, ...], ...] | None:
    """Return the neighbours that change places, layer by layer, until all are in order; None after `most` layers.

    The pairs of a layer are at least so many rows `apart`.
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
                row += apart - 1
            row += 1
        layers.append(tuple(layer))
    return tuple(layers)


def _tracks(links: Sequence[Group]) -> tuple[int, ...]:
    """Return the place of each link's bracket, so that no line runs through a bracket of another.

    If a link's dims move up past the source rows of the link above it, its bracket is further to the right than
    that link's. If they move down, it is further to the left.
    """
    tracks, above = list[int](), None
    for link in links:
        track = tracks[-1] if tracks else 0
        if link.sources and link.outs:
            if above and link.outs[0] <= above.sources[-1]:
                track += 1
            elif above and link.sources[0] <= above.outs[-1]:
                track -= 1
            above = link
        tracks.append(track)
    least = min(tracks, default=0)
    return tuple(track - least for track in tracks)


def draw(
    canvas: Canvas,
    wired: Wiring,
    ends: tuple[int, int],
    styles: Sequence[Style | str | None],
    pitch: int = 1,
) -> None:
    """Draw the lines between two cells, each link in its style if any, with row 0 under the heading of the canvas.

    Rows stand `pitch` lines apart. A knot is not drawn: the marks at both sides tell what became of each axis.
    """
    left, right = ends
    if wired.layers:
        _braid(canvas, wired, left, right, styles, pitch)
    elif not wired.knot:
        walls = wired.walls
        for link, track, style in zip(wired.links, wired.tracks, styles, strict=True):
            _bracket(canvas, link, (left, left + 1 + walls + 2 * track, right), pitch, style)


def write_token(canvas: Canvas, right: int, y: int, token: str) -> None:
    """Write what was asked for before the dim at cell `right`, on the line into it."""
    canvas.put(right - len(token) - 2 - ARRIVAL, y, f" {token} ", "bold")


def _braid(
    canvas: Canvas, wired: Wiring, left: int, right: int, styles: Sequence[Style | str | None], pitch: int
) -> None:
    lanes = [style for _, style in sorted(zip(wired.links, styles, strict=True), key=lambda lane: lane[0].sources)]
    hidden = frozenset(axis for axis, style in enumerate(lanes) if style is None)
    shown, strokes = [*(style or "" for style in lanes), ""], canvas.strokes
    glyphs = strokes.lines[LEFT | RIGHT], strokes.rising, strokes.falling, strokes.crossing
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


def _bracket(canvas: Canvas, link: Group, xs: tuple[int, int, int], pitch: int, style: Style | str | None) -> None:
    """Draw one link: a straight line, or a bracket between its sources and its dims. A dropped axis ends in a wall."""
    left, bar, right = xs
    if len(link.sources) == 1 and link.sources == link.outs:
        canvas.draw_across(1 + pitch * link.outs[0], left, right, style)
        return
    if not link.outs:
        for row in link.sources:
            canvas.draw_across(1 + pitch * row, left, left + 1, style)
            canvas.put(left + 1, 1 + pitch * row, canvas.strokes.wall, style)
        return
    if not link.sources:
        return
    rows = [*link.sources, *link.outs]
    canvas.draw_down(bar, 1 + pitch * min(rows), 1 + pitch * max(rows), style)
    for row in link.sources:
        canvas.draw_across(1 + pitch * row, left, bar, style)
        canvas.join(bar, 1 + pitch * row, LEFT, style)
    for row in link.outs:
        canvas.join(bar, 1 + pitch * row, RIGHT, style)
        canvas.draw_across(1 + pitch * row, bar + 1, right, style)
    for row in {*link.sources} & {*link.outs} - {min(rows), max(rows)}:
        canvas.put(bar, 1 + pitch * row, canvas.strokes.joint, style)
