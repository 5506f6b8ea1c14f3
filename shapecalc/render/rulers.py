"""Rulers of the block boundaries of axes before and after a reshape.

A ruler is a line over all elements in C order, with a tick at each multiple of the stride of an axis. The boundaries of
an input axis and an output axis are misaligned if neither stride divides the other; the reshape then mixes axes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import lcm, prod
from operator import mul

from rich.text import Text

from shapecalc.core import rules
from shapecalc.core.answers import Chain, Step, Trace
from shapecalc.core.dims import dim_names, is_concrete, substitute
from shapecalc.core.origins import AxisChange
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, lazy, replace
from shapecalc.core.text import format_count, join_with_and, shape_text
from shapecalc.reasoning.examples import example_sizes
from shapecalc.render.canvas import (
    DOWN,
    LEFT,
    RIGHT,
    UNICODE,
    UP,
    Canvas,
    GlyphSet,
    clip_text,
    pack_notes,
    stack_texts,
    wrap_line,
)
from shapecalc.render.hints import sizes_text
from shapecalc.render.stage_layout import (
    DimCell,
    StageLayout,
    mark_colour,
    mark_text,
)
from shapecalc.render.styles import BOLD_ERROR

RULER_LABEL_WIDTH = 14
"""The width of the labels to the left of the rulers, in cells."""
MAX_SIZE_WIDTH = 9
"""The maximum width of a size in a label."""
SPACIOUS_HEIGHT = 14
"""The minimum height, in lines, of pictures with wide bars, or with index labels on rulers."""


class Ruler(Record):
    """One axis, drawn as a line with ticks at the multiples of its stride."""

    label: lazy[str]
    colour: lazy[str]
    size: int
    stride: int


class BlockRulers(Record):
    """The rulers of a block of elements, for its axes before and after a reshape."""

    before: tuple[Ruler, ...]
    after: tuple[Ruler, ...]
    volume: int
    mixed_note: str
    """The note on output dims that mix axes; empty if there are none.

    If sizes are symbolic, dims can mix axes although the boundaries are aligned for the example sizes.
    """

    @property
    def height(self) -> int:
        """The height of the rulers with their scale and summary, in lines.

        Misaligned boundaries are marked in an additional line.
        """
        return len(self.before) + len(self.after) + 2 + bool(self.misaligned_strides)

    @property
    def misaligned_strides(self) -> tuple[int, int] | None:
        """The strides of the first misaligned axes, or None.

        The pair contains the stride of an input axis and that of an output axis. The strides of input axes divide each
        other, so each output stride is compared only with the two nearest input strides.
        """
        steps = sorted(old.stride for old in self.before)
        for new in self.after:
            position = bisect_left(steps, new.stride)
            if any(_is_misaligned(step, new.stride) for step in steps[max(position - 1, 0) : position + 1]):
                return next((old.stride, new.stride) for old in self.before if _is_misaligned(old.stride, new.stride))
        return None

    @property
    def period(self) -> int:
        """The number of elements after which misaligned boundaries repeat."""
        pairs = [
            (old.stride, new.stride)
            for old in self.before
            for new in self.after
            if _is_misaligned(old.stride, new.stride)
        ]
        return max([lcm(*pair) for pair in pairs], default=self.volume)


def can_draw_rulers(answer: Trace | Chain, layout: StageLayout, step: Step | None, width: int) -> bool:
    """Return whether the rulers of a step fit a width.

    The step must regroup axes. If sizes are symbolic, small sizes must meet the conditions. If all sizes are numbers,
    the width must suffice for one cell per element, or for three cells per boundary within a period of misaligned
    boundaries.
    """
    groups, room = _find_regrouped_axes(layout), width - RULER_LABEL_WIDTH
    if not is_regrouping_step(step) or not groups:
        return False
    if sizes := _find_small_sizes(answer, layout):
        return True
    if sizes is None:
        return False
    block = _make_rulers(layout, groups[0], {}, UNICODE)
    if block.volume <= room:
        return block.volume > 0
    return block.misaligned_strides is not None and block.period // min(block.misaligned_strides) <= room // 3


def _find_regrouped_axes(layout: StageLayout) -> list[AxisChange]:
    """Return the groups of merged, split or mixed axes; mixed groups come first."""
    groups = [link for link in layout.links if len(link.sources) > 1 or len(link.outputs) > 1]
    return sorted(groups, key=lambda link: not link.is_mixed)


def _is_misaligned(old: int, new: int) -> bool:
    """Return whether neither of two strides divides the other."""
    return bool(new % old and old % new)


def draw_rulers(
    answer: Trace | Chain, layout: StageLayout, _step_index: int, *, width: int, height: int, glyphs: GlyphSet
) -> Text:
    """Draw the rulers of a stage that regroups elements.

    If the tensor is too large, only one regrouped block is drawn. `width` and `height` are in character cells.

    >>> import shapecalc as sc
    >>> from shapecalc.render.stage_layout import stage_layouts
    >>> from shapecalc.render.canvas import ASCII
    >>> answer = sc.reshape((2, 3), (3, 2))
    >>> print(draw_rulers(answer, stage_layouts(answer)[0], 2, width=78, height=9, glyphs=ASCII))
               0           3           6
    before a 2 +-----------+-----------+
           b 3 +---+---+---+---+---+---+
                       !       !
    after ~x 3 +-------+-------+-------+
          ~y 2 +---+---+---+---+---+---+
               ! splits an old row of 3: ~x and ~y mix axes (order is kept)
    """
    sizes = _find_small_sizes(answer, layout)
    if sizes is None:
        return Text("", end="")
    if layout.is_unresolved:
        return _draw_unresolved_rulers(layout, sizes, (width, height), glyphs)
    all_axes = AxisChange(tuple(range(len(layout.cells_before))), tuple(range(len(layout.cells))))
    block, notes = _make_rulers(layout, all_axes, sizes, glyphs), _size_notes(layout, all_axes, sizes)
    if block.volume < 2:
        return _too_few_elements_text(block.volume)
    if block.volume > width - RULER_LABEL_WIDTH or block.height + len(notes) > height:
        groups = _find_regrouped_axes(layout)
        if not groups:
            return Text("every axis stays as it is", end="")
        block = _make_rulers(layout, groups[0], sizes, glyphs)
        notes = [*_size_notes(layout, groups[0], sizes), *_block_notes(len(groups), layout, groups[0])]
        cuts = block.volume // min(block.misaligned_strides or (block.volume,))
        if cuts > (width - RULER_LABEL_WIDTH) // 3 and block.period < block.volume:
            notes.append(f"the block that repeats: {block.period} of {block.volume} elements")
            first = replace(block, volume=block.period)
            block = _remove_rulers(
                first, [ruler for ruler in (*block.before, *block.after) if ruler.stride >= first.volume]
            )
    if _has_dense_boundaries(block, width):
        lines = _draw_blocks(block, width, glyphs)
        return stack_texts([*lines, *pack_notes([Text(note, "dim") for note in notes], width)][:height])
    return _draw_fitting_rulers(block, notes, (width, height), glyphs)


def _has_dense_boundaries(rulers: BlockRulers, width: int) -> bool:
    """Return whether the block boundaries are too dense to be drawn to scale.

    The boundaries of misaligned axes are considered or, if there are none, those of all axes except the innermost.
    """
    long = width - RULER_LABEL_WIDTH
    all_strides = [ruler.stride for ruler in (*rulers.before, *rulers.after)]
    strides = rulers.misaligned_strides or [stride for stride in all_strides if stride > 1]
    return rulers.volume > long and rulers.volume // min(strides, default=rulers.volume) > long // 3


def _draw_blocks(rulers: BlockRulers, width: int, glyphs: GlyphSet) -> list[Text]:
    """Draw the blocks of each axis with their lengths, but not to scale.

    The last line is a summary.

    >>> cut = (Ruler("c 1080", "", 1080, 1920), Ruler("d 1920", "", 1920, 1))
    >>> block = BlockRulers(cut, (Ruler("cd 2073600", "", 2073600, 1),), 2073600, "")
    >>> for line in _draw_blocks(block, 60, UNICODE):
    ...     print(line)
       before c 1080 ├1920┼1920┼1920┼ … ┼1920┤ 1080 rows
    after cd 2073600 ├──────────────── 2073600 ────────────────┤
    all 1079 inner cuts are gone: nothing mixes
    """
    rows, counts = list[tuple[str, Ruler, int, int]](), list[int]()
    for side, axes in (("before", rulers.before), ("after", rulers.after)):
        cut = [ruler for ruler in axes if ruler.stride > 1]
        for index, ruler in enumerate(cut or axes[:1]):
            count, length = (rulers.volume // ruler.stride, ruler.stride) if cut else (1, rulers.volume)
            rows.append((f"{side if not index else ''} {ruler.label}", ruler, count, length))
        counts.append(max((rulers.volume // ruler.stride for ruler in cut), default=1))
    label_width = max(len(label) for label, *_ in rows)
    lines = list[Text]()
    for label, ruler, count, length in rows:
        ending = f" {count} rows" if count > 1 else ""
        room = min(width - label_width - 1 - len(ending), 44)
        line = Text(f"{label.rjust(label_width)} ", ruler.colour)
        lines.append(line.append(_format_blocks(count, length, room, glyphs)).append(ending, "dim"))
    return [*lines, *wrap_line(Text(_blocks_summary(rulers, *counts), "bold" if rulers.mixed_note else "dim"), width)]


def _format_blocks(count: int, length: int, room: int, glyphs: GlyphSet) -> str:
    """Format `count` blocks of equal length, or only the first and last that fit."""
    first, last, wall = (glyphs.box_lines[index] for index in (LEFT | UP | DOWN, RIGHT | UP | DOWN, 15))
    if count == 1:
        return f"{last}{f' {length} '.center(max(0, room - 2), glyphs.horizontal)}{first}"
    whole = f"{last}{wall.join([str(length)] * count)}{first}" if count <= room else ""
    if whole and len(whole) <= room:
        return whole
    shown = max(1, min(3, (room - len(str(length)) - 6) // (len(str(length)) + 1)))
    return f"{last}{f'{length}{wall}' * shown} {glyphs.ellipsis} {wall}{length}{first}"


def _blocks_summary(rulers: BlockRulers, before: int, after: int) -> str:
    """Return a sentence on mixed axes, or on removed or added boundaries.

    `before` and `after` are the numbers of blocks before and after the reshape.
    """
    if rulers.misaligned_strides is not None or rulers.mixed_note:
        return _ruler_summary(rulers, is_to_scale=False).replace("! splits", "a new cut splits")
    if after < before:
        gone = f"all {before - 1}" if after == 1 else f"{before - after} of {before - 1}"
        return f"{gone} inner cuts are gone: nothing mixes"
    return f"{after - before} new cuts, none of them moves an old one: nothing mixes"


def _too_few_elements_text(volume: int) -> Text:
    return Text(f"{'one element' if volume else 'no elements'}: there is nothing to cut", end="")


def _draw_unresolved_rulers(
    layout: StageLayout, sizes: Mapping[str, int], size: tuple[int, int], glyphs: GlyphSet
) -> Text:
    """Draw the rulers of the input axes, and empty rulers for the request."""
    before = _shape_rulers(layout.cells_before, sizes, glyphs)
    volume = prod(ruler.size for ruler in before)
    after = tuple(Ruler(f"  {cell.placeholder or cell.dim}", "dim", 1, volume) for cell in layout.cells)
    if volume < 2:
        return _too_few_elements_text(volume)
    text = _render_rulers(BlockRulers(before, after, volume, ""), size[0], 1, glyphs, has_scale=False)
    return stack_texts(text.split("\n")[:-1][: size[1] - 1])


def _find_small_sizes(answer: Trace | Chain, layout: StageLayout) -> Mapping[str, int] | None:
    """Return small values of a stage's symbolic sizes that meet the conditions.

    Returns None if there are no such values.
    """
    if is_concrete([cell.dim or 0 for cell in (*layout.cells_before, *layout.cells)]):
        return {}
    try:
        return example_sizes(answer)
    except ShapeError:
        return None


def _draw_fitting_rulers(rulers: BlockRulers, notes: list[str], size: tuple[int, int], glyphs: GlyphSet) -> Text:
    """Draw rulers and notes within `size`, a width in cells and a height in lines.

    If the rulers exceed the height, the axes with the finest boundaries are omitted. If the height suffices, blocks are
    labelled with their indices.
    """
    width, height = size
    removable = _omittable_rulers(rulers)

    def make_notes(omitted_count: int) -> list[Text]:
        left_out = (
            [f"{glyphs.ellipsis} {format_count(omitted_count, 'axis', 'axes')} left out"] if omitted_count else []
        )
        return pack_notes([Text(note, "dim") for note in (*notes, *left_out)], width)

    def fits(omitted_count: int) -> bool:
        remaining = _remove_rulers(rulers, removable[:omitted_count])
        summary = wrap_line(Text(_ruler_summary(remaining, is_to_scale=True)), width)
        return remaining.height + len(summary) - 1 + len(make_notes(omitted_count)) <= height

    omitted_count = bisect_left(range(len(removable)), True, key=fits)
    remaining, lines = _remove_rulers(rulers, removable[:omitted_count]), make_notes(omitted_count)
    pitch = (
        2
        if remaining.height + len(remaining.before) + len(remaining.after) + len(lines) <= height >= SPACIOUS_HEIGHT
        else 1
    )
    return stack_texts(
        [_render_rulers(remaining, width, pitch, glyphs, has_scale=remaining.height + len(lines) <= height), *lines]
    )


def _omittable_rulers(rulers: BlockRulers) -> list[Ruler]:
    """Return the rulers that can be omitted, in order of omission."""
    clashing = rulers.misaligned_strides or tuple(side[0].stride for side in (rulers.before, rulers.after) if side)
    outermost = {id(ruler) for ruler in (*rulers.before[:1], *rulers.after[:1])}
    others = [ruler for ruler in (*rulers.before, *rulers.after) if ruler.stride not in clashing]
    return sorted(others, key=lambda ruler: (id(ruler) in outermost, ruler.stride))


def _remove_rulers(rulers: BlockRulers, omitted: list[Ruler]) -> BlockRulers:
    """Return a copy of `rulers` without the rulers in `omitted`."""
    removed = {id(ruler) for ruler in omitted}
    before, after = (
        tuple([ruler for ruler in side if id(ruler) not in removed]) for side in (rulers.before, rulers.after)
    )
    return replace(rulers, before=before, after=after)


def _size_notes(layout: StageLayout, block: AxisChange, sizes: Mapping[str, int]) -> list[str]:
    """Return a note on the symbolic sizes in a block, or [] if there are none."""
    before = [layout.stage.before[axis] for axis in block.sources]
    known = dim_names(before + [layout.cells[out].dim or 0 for out in block.outputs])
    return [f"with {sizes_text({name: sizes[name] for name in known})}"] if known else []


def _block_notes(group_count: int, layout: StageLayout, block: AxisChange) -> list[str]:
    """Return a note on the visible block, or [] if the whole tensor is visible.

    `group_count` is the number of groups of connected axes that the reshape regroups.
    """
    if all(cell.dim == 1 for axis, cell in enumerate(layout.cells_before) if axis not in block.sources):
        return []
    before = shape_text(layout.stage.before[axis] for axis in block.sources)
    after = shape_text(layout.cells[out].dim or 0 for out in block.outputs)
    more = "" if group_count == 1 else f", and {format_count(group_count - 1, 'more group', 'more groups')} of axes"
    return [f"one of several equal blocks: {before} becomes {after}{more}"]


def _make_rulers(layout: StageLayout, block: AxisChange, sizes: Mapping[str, int], glyphs: GlyphSet) -> BlockRulers:
    """Return the rulers of the axes of a block.

    `sizes` contains the sizes of named dims.
    """
    before = _shape_rulers([layout.cells_before[axis] for axis in block.sources], sizes, glyphs)
    after = _shape_rulers([layout.cells[out] for out in block.outputs], sizes, glyphs)
    marks = [mark_text(layout.cells[out].mark, glyphs) for out in block.outputs if out in layout.mixing_dims]
    mixed = f"{join_with_and(marks)} {'mixes' if len(marks) == 1 else 'mix'} axes" if marks else ""
    return BlockRulers(before, after, prod(ruler.size for ruler in before), mixed)


def _shape_rulers(cells: Sequence[DimCell], sizes: Mapping[str, int], glyphs: GlyphSet) -> tuple[Ruler, ...]:
    """Return the rulers of a shape, outermost first.

    Axes of size 1 have no ruler.
    """
    dims = [int(str(substitute(cell.dim or 0, sizes))) for cell in cells]
    strides = list(accumulate(reversed(dims), mul, initial=1))[-2::-1]
    size_width = min(MAX_SIZE_WIDTH, max([len(str(dim)) for dim in dims], default=0))

    def make_ruler(cell: DimCell, size: int, stride: int) -> Ruler:
        def label(_: Ruler) -> str:
            return f"{mark_text(cell.mark, glyphs)} {clip_text(str(size), MAX_SIZE_WIDTH, glyphs).rjust(size_width)}"

        return Ruler(label, lambda _: mark_colour(cell.mark), size, stride)

    return tuple([make_ruler(*row) for row in zip(cells, dims, strides, strict=True) if row[1] != 1])


def _render_rulers(rulers: BlockRulers, width: int, pitch: int, glyphs: GlyphSet, *, has_scale: bool) -> Text:
    """Draw the rulers of a block, marks at misaligned boundaries, and a summary."""
    labels = [f"before {ruler.label}" for ruler in rulers.before[:1]] + [ruler.label for ruler in rulers.before[1:]]
    labels += [f"after {ruler.label}" for ruler in rulers.after[:1]] + [ruler.label for ruler in rulers.after[1:]]
    label_width = max(map(len, labels), default=0) + 1
    room, widest = max(8, width - label_width - 1), 8 if pitch > 1 else 4
    length = min(widest, room // rulers.volume) * rulers.volume if rulers.volume <= room else room
    misaligned = rulers.misaligned_strides
    canvas, y = Canvas(glyphs, pitch * len(labels) + 2 + bool(misaligned)), 1
    _write_scale(canvas, rulers, label_width, length)
    for index, (ruler, text) in enumerate(zip((*rulers.before, *rulers.after), labels, strict=True)):
        if index == len(rulers.before) and misaligned:
            _mark_misaligned_boundaries(canvas, rulers, misaligned, (label_width, length, y))
            y += 1
        canvas.write_text(label_width - 1 - len(text), y, text, ruler.colour)
        _draw_ruler(canvas, ruler, rulers.volume, (label_width, length, y), glyphs)
        if pitch > 1:
            _write_block_indices(canvas, ruler, rulers.volume, (label_width, length, y + 1))
        y += pitch
    summary, order_note = _ruler_summary(rulers, is_to_scale=rulers.volume > length), " (order is kept)"
    summary += order_note if misaligned and label_width + len(summary + order_note) <= width else ""
    indent = label_width if label_width + len(summary) <= width else 0
    lines = wrap_line(Text(" " * indent + summary, "bold" if misaligned else "dim"), width)
    return stack_texts([canvas.render(width, range(0 if has_scale else 1, y)), *lines])


def _write_block_indices(canvas: Canvas, ruler: Ruler, volume: int, area: tuple[int, int, int]) -> None:
    """Write the index of each block into a ruler, if all indices fit.

    `volume` is the element count. `area` contains the left column, the length and the row of the ruler.
    """
    left, long, y = area
    parts = volume // ruler.stride
    if long // parts <= len(str(ruler.size - 1)) + 1:
        return
    ends = [left + part * long // parts for part in range(parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        index = str(part % ruler.size)
        canvas.write_text((start + end + 1 - len(index)) // 2, y, index, "dim")


def _write_scale(canvas: Canvas, rulers: BlockRulers, left: int, length: int) -> None:
    """Write the flat indices at the ticks of the first ruler that has ticks.

    Indices that do not fit are omitted.
    """
    all_rulers, end = (*rulers.before, *rulers.after), str(rulers.volume)
    ticked = (ruler.stride for ruler in all_rulers if _has_ticks(ruler, rulers.volume, length))
    step = next(ticked, rulers.before[0].stride if rulers.before else rulers.volume)
    canvas.write_text(left + length + 1 - len(end), 0, end, "dim")
    stride = step * -(-(len(end) + 2) * rulers.volume // (length * step))
    for cut in range(0, rulers.volume, stride):
        x = left + cut * length // rulers.volume
        if x + len(str(cut)) <= left + length - len(end):
            canvas.write_text(x, 0, str(cut), "dim")


def _has_ticks(ruler: Ruler, volume: int, length: int) -> bool:
    """Return whether the boundaries of a ruler are far enough apart for ticks, in `length` cells."""
    return volume // ruler.stride <= (length if volume <= length else length // 3)


def _draw_ruler(canvas: Canvas, ruler: Ruler, volume: int, area: tuple[int, int, int], glyphs: GlyphSet) -> None:
    """Draw a ruler with a tick at each boundary.

    If the boundaries are too dense, a shaded bar is drawn instead. `volume` is the element count. `area` contains the
    left column, the length and the row of the ruler.
    """
    left, long, y = area
    cuts = volume // ruler.stride
    if not _has_ticks(ruler, volume, long):
        canvas.write_text(left, y, glyphs.shade * (long + 1), ruler.colour)
        return
    canvas.draw_ruler(y, [left + cut * long // cuts for cut in range(cuts + 1)], ruler.colour)


def _mark_misaligned_boundaries(
    canvas: Canvas, rulers: BlockRulers, misaligned: tuple[int, int], area: tuple[int, int, int]
) -> None:
    """Mark the boundaries of an output axis that are inside blocks of an input axis.

    `misaligned` contains the strides of the input axis and the output axis. `area` contains the left column, the length
    and the row of the ruler. Nothing is marked if several boundaries would be in one cell.
    """
    old, new = misaligned
    left, long, y = area
    for cut in range(new, rulers.volume, new) if rulers.volume // new <= long else ():
        if cut % old:
            canvas.write_text(left + cut * long // rulers.volume, y, "!", BOLD_ERROR)


def _ruler_summary(rulers: BlockRulers, *, is_to_scale: bool) -> str:
    """Return a sentence on whether axes mix, and why."""
    scale_note = "to scale; " if is_to_scale else ""
    if rulers.misaligned_strides is not None:
        old, _ = rulers.misaligned_strides
        return f"{scale_note}! splits an old row of {old}: {rulers.mixed_note or 'axes mix'}"
    if rulers.mixed_note:
        return f"{scale_note}no new cut falls inside an old row here; at most sizes {rulers.mixed_note}"
    return f"{scale_note}no new cut falls inside an old row: nothing mixes"


def is_regrouping_step(step: Step | None) -> bool:
    """Return whether a step describes how a reshape regroups axes."""
    return step is not None and step.rule == rules.REGROUPED
