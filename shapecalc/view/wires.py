"""The lines between two columns of dims: axes that cross, merge, split, mix, come and go.

Row i is axis i on both sides, so an axis that keeps its place is a straight line. Permuted axes cross in pairs,
one crossing after another, so that the eye can follow each. Other axes keep their order and meet at brackets.
"""

from __future__ import annotations

from shapecalc.core.answers.regrouping import Group
from shapecalc.core.sizes.record import Record
from shapecalc.view.canvas import Canvas
from shapecalc.view.strokes import LEFT, RIGHT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

MOST_CROSSING = 10
"""The most axes that are drawn as crossing lines. More axes are a knot."""


class Wiring(Record):
    """The paths of the lines between two columns."""

    links: tuple[Group, ...]
    layers: tuple[tuple[int, ...], ...] = ()
    """For axes that cross: the upper row of each pair, for the pairs that cross at the same time."""
    tracks: tuple[int, ...] = ()
    """For axes that keep their order: the place of each link's bracket."""
    knot: bool = False
    """Whether so many axes cross that nobody could follow the lines."""

    @property
    def width(self) -> int:
        """How many cells the lines need."""
        if self.knot:
            return 4
        if self.layers:
            return 3 * len(self.layers) + 1
        return 2 * max(self.tracks, default=0) + 3 + self.walls

    @property
    def walls(self) -> int:
        """How many cells the ends of dropped axes need before the brackets."""
        return 2 * any(not link.outs for link in self.links)


def wiring(links: tuple[Group, ...]) -> Wiring:
    """Return the paths of the lines for these links.

    >>> wiring((Group((1,), (0,)), Group((2,), (1,)), Group((0,), (2,)))).layers
    ((0,), (1,))
    """
    pairs = sorted((link.sources[0], link.outs[0]) for link in links if link.sources and link.outs)
    outs = [out for _, out in pairs]
    if outs == sorted(outs):
        return Wiring(links, tracks=_tracks(links))
    if len(outs) > MOST_CROSSING:
        return Wiring(links, knot=True)
    return Wiring(links, layers=_layers(outs))


def _layers(order: list[int]) -> tuple[tuple[int, ...], ...]:
    """Return the neighbours that change places, layer by layer, until `order` is in order."""
    order, layers = list(order), []
    while order != sorted(order):
        layer, row = [], 0
        while row < len(order) - 1:
            if order[row] > order[row + 1]:
                order[row], order[row + 1] = order[row + 1], order[row]
                layer.append(row)
                row += 1
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


def draw(canvas: Canvas, wired: Wiring, left: int, right: int, top: int, styles: Sequence[Style | str | None]) -> None:
    """Draw the lines between cell `left` and cell `right`, with row 0 at `top`, each link in its style if any."""
    if wired.knot:
        for link, style in zip(wired.links, styles, strict=True):
            for row in link.sources:
                canvas.put(left, top + row, canvas.strokes.dots[:1] * (right - left), style)
    elif wired.layers:
        _braid(canvas, wired, left, right, top, styles)
    else:
        walls = wired.walls
        for link, track, style in zip(wired.links, wired.tracks, styles, strict=True):
            _bracket(canvas, link, (left, left + 1 + walls + 2 * track, right), top, style)


def _braid(
    canvas: Canvas, wired: Wiring, left: int, right: int, top: int, styles: Sequence[Style | str | None]
) -> None:
    by_source = {link.sources[0]: style for link, style in zip(wired.links, styles, strict=True)}
    lanes = [by_source[axis] for axis in sorted(by_source)]
    x = left
    for layer in wired.layers:
        for row, style in enumerate(lanes):
            canvas.draw_across(top + row, x, x + 1, style)
            if row not in layer and row - 1 not in layer:
                canvas.draw_across(top + row, x + 1, x + 3, style)
        for row in layer:
            _cross(canvas, x + 1, top + row, lanes[row], lanes[row + 1])
            lanes[row], lanes[row + 1] = lanes[row + 1], lanes[row]
        x += 3
    for row, style in enumerate(lanes):
        canvas.draw_across(top + row, x, right, style)


def _cross(canvas: Canvas, x: int, y: int, upper: Style | str | None, lower: Style | str | None) -> None:
    falling, rising = canvas.strokes.falling, canvas.strokes.rising
    canvas.put(x, y, falling, upper)
    canvas.put(x + 1, y + 1, falling, upper)
    canvas.put(x + 1, y, rising, lower)
    canvas.put(x, y + 1, rising, lower)


def _bracket(canvas: Canvas, link: Group, xs: tuple[int, int, int], top: int, style: Style | str | None) -> None:
    """Draw one link: a straight line, or a bracket between its sources and its dims. A dropped axis ends in a wall."""
    left, bar, right = xs
    if len(link.sources) == 1 and link.sources == link.outs:
        canvas.draw_across(top + link.outs[0], left, right, style)
        return
    if not link.outs:
        for row in link.sources:
            canvas.draw_across(top + row, left, left + 1, style)
            canvas.put(left + 1, top + row, canvas.strokes.wall, style)
        return
    if not link.sources:
        return
    rows = [*link.sources, *link.outs]
    canvas.draw_down(bar, top + min(rows), top + max(rows), style)
    for row in link.sources:
        canvas.draw_across(top + row, left, bar, style)
        canvas.join(bar, top + row, LEFT, style)
    for row in link.outs:
        canvas.join(bar, top + row, RIGHT, style)
        canvas.draw_across(top + row, bar + 1, right, style)
