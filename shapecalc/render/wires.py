"""The routes of a stage's wires between two columns of dims.

If axes are permuted, the wires of neighbouring rows cross in pairs, so that each axis is easy to follow. Crossings at
the same horizontal position form a layer. The wires of many permuted axes are straight dotted lines instead, because
each wire would bend in several layers.

Axes that merge into the same dims, or split into them, meet at a vertical line, called a trunk. If the dims of a group
depend on different axes, a trunk would join unrelated wires. Each part of an axis then has its own labelled wire to its
dims.

Lines that cross without a connection are drawn as a plain cross; a dot connects lines from four sides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from math import inf
from operator import itemgetter

from rich.style import Style

from shapecalc.core.origins import AxisChange
from shapecalc.core.record import Record, replace
from shapecalc.render.canvas import RIGHT, UNICODE, Canvas, GlyphSet
from shapecalc.render.stage_layout import StageLayout, wire_label

MIN_STRAIGHT_AXES = 5
"""The minimum number of permuted axes whose wires are straight dotted lines."""
STRAIGHT_WIDTHS = (6, 24)
"""The minimum and the maximum width of straight wires, in cells."""
DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot in a braille character, indexed by row and column."""
Styles = Sequence[Style | str]
WireStyleFunction = Callable[[Collection[int], Collection[int]], Style | None]
"""A function that returns the style of the wires from some input axes to some output dims.

Wires with the style None are hidden.
"""


class Trunk(Record):
    """A vertical line with the wires that meet at it.

    Each left end of the trunk is connected to each right end.
    """

    left_lines: tuple[int, ...]
    """The lines of the left ends, relative to the line of dim 0."""
    right_lines: tuple[int, ...]
    """The lines of the right ends, relative to the line of dim 0; empty for a dropped axis."""
    axes: tuple[int, ...]
    """The input dims at the left ends."""
    dims: tuple[tuple[int, ...], ...]
    """The output dims of each right end."""
    track: int = 0
    """The index of the trunk, from the left, among adjacent trunks."""

    @property
    def span(self) -> range:
        """The range of lines that the trunk occupies."""
        ends = (*self.left_lines, *self.right_lines)
        return range(min(ends), max(ends) + 1)

    @property
    def is_straight(self) -> bool:
        """Whether the trunk has no vertical line."""
        return not self.right_lines or (len(self.span) == 1)


class NamedWire(Record):
    """A horizontal wire for a part of one or more axes, which can have a label."""

    line: int
    text: str
    """The names of the parts, as the label of the wire; empty if the wire needs no label."""
    axes: tuple[int, ...]
    dims: tuple[int, ...]


class Wiring(Record):
    """The routes of all wires between two columns of dims."""

    pitch: int = 1
    """The distance between neighbouring dims, in lines."""
    left_trunks: tuple[Trunk, ...] = ()
    named_wires: tuple[NamedWire, ...] = ()
    """The named wires to the right of the trunks."""
    right_trunks: tuple[Trunk, ...] = ()
    """The trunks to the right of the named wires."""
    permuted_dims: tuple[int, ...] = ()
    """The output dim of each axis, if axes are permuted; otherwise empty."""
    layers: tuple[tuple[int, ...], ...] = ()
    """For each layer of crossings, the upper row of each pair of crossing wires."""
    straight_width: int = 0
    """The width of straight wires of permuted axes, in cells, or 0 for other wires."""
    is_unroutable: bool = False
    """Whether the available size is too small for the wires."""

    @property
    def width(self) -> int:
        """The width of the wires in cells."""
        if self.is_unroutable:
            return 4
        if self.straight_width:
            return self.straight_width
        if self.layers:
            return (self.pitch + 2) * len(self.layers) + 1
        return _trunks_width(self.left_trunks) + (
            self.labels_width + _trunks_width(self.right_trunks) if self.named_wires else 0
        )

    @property
    def labels_width(self) -> int:
        """The width of the labels of named wires, including spaces."""
        return 2 + max((len(part.text) for part in self.named_wires), default=0)

    @property
    def height(self) -> int:
        """The number of lines that the named wires need."""
        return 1 + max((part.line for part in self.named_wires), default=0)


def _trunks_width(trunks: Iterable[Trunk]) -> int:
    return 2 * max((trunk.track for trunk in trunks), default=0) + 3 + _dropped_axes_width(trunks)


def _dropped_axes_width(trunks: Iterable[Trunk]) -> int:
    """Return the width, in cells, that the ends of dropped axes need."""
    return 2 * any(not trunk.right_lines for trunk in trunks)


def route_wires(
    layout: StageLayout,
    pitch: int = 1,
    size: tuple[int, int] = (78, 16),
    free_width: int = 0,
    glyphs: GlyphSet = UNICODE,
    *,
    is_only: bool = False,
) -> Wiring:
    """Route the wires of a stage.

    `size` is the available width in cells and height in lines. If `is_only` is True, no other stage needs the width;
    straight wires are then longer, so that crossing wires are farther apart. Adjacent crossings in one layer look like
    a diamond; they are in different layers if `free_width` cells suffice for these layers.
    """
    links, (width, lines) = [link for link in layout.links if link.sources], size
    outs = _complete_permutation(links, len(layout.cells_before), len(layout.cells)) or tuple(
        [axes.outputs[0] for axes in links if axes.outputs]
    )
    if outs != tuple(sorted(outs)) and len(outs) == len(layout.cells_before) == len(layout.cells):
        if len(outs) >= MIN_STRAIGHT_AXES and glyphs.first_dots and width >= STRAIGHT_WIDTHS[0]:
            straight_width = min(width, 6 * len(outs) if is_only else min(STRAIGHT_WIDTHS[1], 3 * len(outs)))
            return Wiring(pitch, permuted_dims=outs, straight_width=straight_width)
        layers = _swap_layers(outs, (free_width - 1) // 3, 3) or _swap_layers(outs, (width - 1) // 3, 2)
        return Wiring(pitch, permuted_dims=outs, layers=layers or (), is_unroutable=layers is None)
    if not any(is_partially_connected(layout, link) for link in links):
        link_trunks = [_make_trunk(link.sources, link.outputs, pitch) for link in links]
        trunks = _assign_tracks(link_trunks)
        return Wiring(pitch, trunks or (), is_unroutable=trunks is None)
    wires = _route_named_wires(layout, pitch, glyphs)
    fits = wires is not None and wires.width <= width and wires.height <= lines
    return wires if wires and fits else Wiring(pitch, is_unroutable=True)


def _complete_permutation(links: Sequence[AxisChange], axis_count: int, dim_count: int) -> tuple[int, ...]:
    """Return the output dim of each axis of a permutation with unknown links.

    The axes without a link are assigned to the remaining dims in order; their wires are not drawn. Returns an empty
    tuple if the links are not part of a permutation.
    """
    known = {link.sources[0]: link.outputs[0] for link in links if len(link.sources) == len(link.outputs) == 1}
    if len(known) != len(links) or axis_count != dim_count or not known:
        return ()
    remaining = iter(sorted({*range(dim_count)} - {*known.values()}))
    return tuple([known[axis] if axis in known else next(remaining) for axis in range(axis_count)])


def _make_trunk(axes: tuple[int, ...], out_dims: tuple[int, ...], pitch: int) -> Trunk:
    sources, lines = (tuple([pitch * row for row in rows]) for rows in (axes, out_dims))
    return Trunk(sources, lines, axes, tuple([(out,) for out in out_dims]))


def is_partially_connected(layout: StageLayout, link: AxisChange) -> bool:
    """Return whether some output dim of a group depends on only some of its axes."""
    return any(layout.wires[out] != link.sources for out in link.outputs)


def _route_named_wires(layout: StageLayout, pitch: int, glyphs: GlyphSet) -> Wiring | None:
    """Route each part of an axis as a wire with a label.

    Returns None if wires of different trunks would overlap.
    """
    wires = list[NamedWire]()
    for link in layout.links:
        reached = {axis: tuple([out for out in link.outputs if axis in layout.wires[out]]) for axis in link.sources}
        for axes in dict.fromkeys(layout.wires[out] for out in link.outputs if link.sources):
            outs = tuple([out for out in link.outputs if layout.wires[out] == axes])
            dim_groups = dict.fromkeys(reached[axis] for axis in axes)
            for dims_of_axis in dim_groups:
                group = tuple([axis for axis in axes if reached[axis] == dims_of_axis])
                row = outs[0] if len(dim_groups) == 1 else group[0] if dims_of_axis == outs else 0
                text = wire_label(layout, group, outs, glyphs) if is_partially_connected(layout, link) else ""
                wires.append(NamedWire(pitch * row, text, group, outs))
    parts = list[NamedWire]()
    for part in sorted(wires, key=lambda part: part.dims):
        parts.append(replace(part, line=max(part.line, parts[-1].line + 1 if parts else 0)))
    trunks = [_make_trunk(link.sources, (), pitch) for link in layout.links if not link.outputs]
    for axes in dict.fromkeys(part.axes for part in parts):
        own_parts = [part for part in parts if part.axes == axes]
        lines, dims = tuple([part.line for part in own_parts]), tuple([part.dims for part in own_parts])
        trunks.append(replace(_make_trunk(axes, (), pitch), right_lines=lines, dims=dims))
    joins = list[Trunk]()
    for outs in dict.fromkeys(part.dims for part in parts):
        lines = tuple([part.line for part in parts if part.dims == outs])
        joins.append(replace(_make_trunk(layout.wires[outs[0]], outs, pitch), left_lines=lines))
    left, right = _assign_tracks(trunks), _assign_tracks(joins)
    return None if left is None or right is None else Wiring(pitch, left, tuple(parts), right)


def _assign_tracks(trunks: Sequence[Trunk]) -> tuple[Trunk, ...] | None:
    """Assign a column to each trunk so that few wires cross.

    Returns None if wires of different trunks would overlap.
    """
    upright = sorted([trunk for trunk in trunks if not trunk.is_straight], key=lambda trunk: trunk.span.start)
    before: dict[int, list[int]] = {place: [] for place in range(len(upright))}
    """For each trunk, the trunks that must be to the left of it."""
    overlapping = list[int]()
    for place, trunk in enumerate(upright):
        overlapping = [other for other in overlapping if upright[other].span.stop > trunk.span.start]
        for other in overlapping:
            as_right, as_left = _crossing_count(trunk, upright[other]), _crossing_count(upright[other], trunk)
            first, last = (other, place) if as_left < as_right else (place, other)
            before[last].append(first)
            if as_right == as_left == inf:
                return None
        overlapping.append(place)
    tracks: dict[int, int] = {}
    try:
        for place in TopologicalSorter(before).static_order():
            tracks[place] = max([tracks[other] + 1 for other in before[place]], default=0)
    except CycleError:
        return None
    track_of = {id(trunk): tracks[place] for place, trunk in enumerate(upright)}
    return tuple([replace(trunk, track=track_of[id(trunk)]) if id(trunk) in track_of else trunk for trunk in trunks])


def _crossing_count(left: Trunk, right: Trunk) -> float:
    """Return the number of crossings between the wires of two trunks side by side.

    The number is infinite if wires would overlap on a line.
    """
    if {*left.right_lines} & {*right.left_lines}:
        return inf
    return sum(line in right.span for line in left.right_lines) + sum(line in left.span for line in right.left_lines)


@lru_cache(maxsize=32)
def _swap_layers(order: tuple[int, ...], max_layers: int, min_distance: int) -> tuple[tuple[int, ...], ...] | None:
    """Sort a permutation with swaps of adjacent rows, and return the layers of swaps.

    A swap is represented by its upper row. Swaps in the same layer are at least `min_distance` rows apart. Returns None
    if more than `max_layers` layers are required.

    >>> _swap_layers((2, 0, 1), 9, 2)
    ((0,), (1,))
    """
    current, layers = list(order), list[tuple[int, ...]]()
    while current != sorted(current):
        if len(layers) >= max_layers:
            return None
        layer, row = list[int](), 0
        while row < len(current) - 1:
            if current[row] > current[row + 1]:
                current[row], current[row + 1] = current[row + 1], current[row]
                layer.append(row)
                row += min_distance - 1
            row += 1
        layers.append(tuple(layer))
    return tuple(layers)


def draw_wires(canvas: Canvas, wiring: Wiring, ends: tuple[int, int], style_of: WireStyleFunction) -> None:
    """Draw wires between two columns of the canvas, below the heading.

    `ends` are the first and the last x coordinate of the wires. Nothing is drawn if the wires do not fit; only the
    marks then show how the dims are related.
    """
    left, right = ends
    if wiring.straight_width:
        _draw_straight_wires(canvas, wiring, left, right, style_of)
    elif wiring.layers:
        _draw_crossing_wires(canvas, wiring, left, right, style_of)
    elif wiring.named_wires:
        middle = left + _trunks_width(wiring.left_trunks)
        _draw_trunks(canvas, wiring.left_trunks, left, middle, style_of)
        _draw_trunks(canvas, wiring.right_trunks, middle + wiring.labels_width, right, style_of)
        for part in wiring.named_wires:
            style = style_of(part.axes, part.dims)
            name = f" {part.text} " if part.text else ""
            canvas.write_text(middle, 1 + part.line, name, style)
            canvas.draw_horizontal(1 + part.line, middle + len(name), middle + wiring.labels_width, style)
    elif not wiring.is_unroutable:
        _draw_trunks(canvas, wiring.left_trunks, left, right, style_of)


def _draw_trunks(canvas: Canvas, trunks: Iterable[Trunk], left: int, right: int, style_of: WireStyleFunction) -> None:
    """Draw trunks, and the ends of dropped axes, between two x coordinates."""
    first = left + 1 + _dropped_axes_width(trunks)
    for trunk in trunks:
        dims = [out for outs in trunk.dims for out in outs]
        style = style_of(trunk.axes, dims)
        if not trunk.right_lines:
            for line in trunk.left_lines:
                canvas.draw_horizontal(1 + line, left, left + 1, style)
                canvas.write_text(left + 1, 1 + line, canvas.glyphs.line_end, style)
            continue
        if trunk.is_straight:
            canvas.draw_horizontal(1 + trunk.span.start, left, right, style)
            continue
        styles = [style_of(trunk.axes, outs) for outs in trunk.dims]
        _draw_trunk(canvas, trunk, (left, first + 2 * trunk.track, right), style, styles)


def _draw_trunk(
    canvas: Canvas, trunk: Trunk, xs: tuple[int, int, int], style: Style | None, styles: Sequence[Style | None]
) -> None:
    """Draw the vertical line of a trunk and its visible ends.

    `xs` are the columns of the left ends, the vertical line and the right ends. `styles` contains the style of each
    right end, or None for a hidden end.
    """
    left, bar, right = xs
    outs = {line: out_style for line, out_style in zip(trunk.right_lines, styles, strict=True) if out_style is not None}
    if not outs:
        return
    rows = [*trunk.left_lines, *outs]
    canvas.draw_vertical(bar, 1 + min(rows), 1 + max(rows), style)
    for line in trunk.left_lines:
        canvas.draw_horizontal_to_centre(1 + line, left, bar, style)
    for line, out_style in outs.items():
        canvas.draw_segments(bar, 1 + line, RIGHT, style)
        canvas.draw_horizontal(1 + line, bar + 1, right, out_style)
    for line in {*trunk.left_lines} & {*outs} - {min(rows), max(rows)}:
        canvas.write_text(bar, 1 + line, canvas.glyphs.junction, style)


def _draw_crossing_wires(canvas: Canvas, wiring: Wiring, left: int, right: int, style_of: WireStyleFunction) -> None:
    """Draw the wires of permuted axes, which cross in pairs."""
    lane_styles = [style_of((axis,), (out,)) for axis, out in enumerate(wiring.permuted_dims)]
    pitch, strokes = wiring.pitch, canvas.glyphs
    hidden = frozenset(axis for axis, style in enumerate(lane_styles) if style is None)
    styles: list[Style | str] = [*(style or "" for style in lane_styles), ""]
    line_glyphs = strokes.horizontal, strokes.rising_line, strokes.falling_line, strokes.crossing
    axes, lines = _crossing_lines(wiring.layers, len(lane_styles), pitch, line_glyphs, hidden)
    for y, (text, styles_of) in enumerate(lines, 1):
        canvas.write_styled_text(left, y, text, styles_of(styles))
    for row, axis in enumerate(axes):
        canvas.draw_horizontal(1 + pitch * row, left + (pitch + 2) * len(wiring.layers), right, lane_styles[axis])


def _draw_straight_wires(canvas: Canvas, wiring: Wiring, left: int, right: int, style_of: WireStyleFunction) -> None:
    """Draw the wires of permuted axes as straight lines of braille dots."""
    width, styles = wiring.straight_width - 2, list[Style | None]()
    for axis, out in enumerate(wiring.permuted_dims):
        styles.append(style := style_of((axis,), (out,)))
        canvas.draw_horizontal(1 + wiring.pitch * axis, left, left + 1, style)
        canvas.draw_horizontal(1 + wiring.pitch * out, left + 1 + width, right, style)
    hidden = frozenset([axis for axis, style in enumerate(styles) if style is None])
    for (x, y), (bits, axis) in _straight_dots(wiring.permuted_dims, wiring.pitch, width, hidden).items():
        canvas.write_text(left + 1 + x, y, chr(ord(canvas.glyphs.first_dots) + bits), styles[axis])


@lru_cache(maxsize=32)
def _straight_dots(
    permuted_dims: tuple[int, ...], pitch: int, width: int, hidden: frozenset[int]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the braille dots of straight wires in each cell, with an axis.

    The dots are a sum of `DOT_BITS`; the axis is that of the last wire through the cell. The result does not depend on
    sizes; it is cached, so that it is not computed again while the user types sizes.
    """
    cells = dict[tuple[int, int], tuple[int, int]]()
    for axis, out in enumerate(permuted_dims):
        start, end = (4 * (1 + pitch * row) + 1 for row in (axis, out))
        for step in range(0 if axis in hidden else 2 * width):
            row = start + round((end - start) * step / (2 * width - 1))
            cell = step // 2, row // 4
            cells[cell] = cells.get(cell, (0, axis))[0] | DOT_BITS[row % 4][step % 2], axis
    return cells


@lru_cache(maxsize=32)
def _crossing_lines(
    layers: tuple[tuple[int, ...], ...],
    axis_count: int,
    pitch: int,
    glyphs: tuple[str, str, str, str],
    hidden: frozenset[int],
) -> tuple[list[int], list[tuple[str, Callable[[Styles], Styles]]]]:
    """Return the final order of the axes, and the characters of each line.

    The styles of the axes and the style of spaces form a list; for each line, a function selects the styles of its
    characters from this list. The result does not depend on sizes; it is cached, so that it is not computed again while
    the user types sizes.
    """
    level, rising, falling, crossing = glyphs
    axes, lines = [*range(axis_count)], [dict[int, tuple[str, int]]() for _ in range(1 + pitch * (axis_count - 1))]
    for place, layer in enumerate(layers):
        x = place * (pitch + 2)
        for row, axis in enumerate(axes):
            if axis not in hidden:
                end = x + 1 if row in layer or row - 1 in layer else x + pitch + 2
                lines[pitch * row] |= dict.fromkeys(range(x, end), (level, axis))
        for row in layer:
            upper, lower = axes[row : row + 2]
            for offset in range(pitch + 1):
                line = lines[pitch * row + offset]
                if lower not in hidden:
                    line[x + 1 + pitch - offset] = rising, lower
                if upper not in hidden:
                    line[x + 1 + offset] = crossing if 2 * offset == pitch else falling, upper
            axes[row : row + 2] = lower, upper
    cells = [[line.get(x, (" ", -1)) for x in range((pitch + 2) * len(layers))] for line in lines]
    return axes, [("".join(char for char, _ in row), itemgetter(*(axis for _, axis in row))) for row in cells]
