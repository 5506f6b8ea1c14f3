"""The panel of a step: its picture, or the reasons for the dims of its stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Step, Trace
from shapecalc.core.text import escape_unprintable, shape_text
from shapecalc.render.canvas import UNICODE, GlyphSet, stack_texts, wrap_line
from shapecalc.render.flow import NO_PLACEHOLDERS, Placeholders, column_placeholders
from shapecalc.render.pictures import draw_picture, drawn_layout_index, has_own_picture
from shapecalc.render.stage_layout import (
    INFER_RULES,
    StageLayout,
    layout_index,
    mark_colour,
    mark_text,
    stage_layouts,
)
from shapecalc.render.styles import BOLD_ERROR

ARROW = "─▸"
"""The arrow of the answer line."""
UNCONNECTED_GAP = 21
"""The distance, in cells, between the input dims and the requested dims in `draw_unconnected_dims`."""
MIN_REASON_WIDTH = 24
"""The minimum width of a reason, in cells; longer reasons are wrapped."""
MAX_CARD_DIMS = 8
"""The maximum number of output dims whose reasons are shown."""


def step_title(answer: Trace | Chain, step_index: int) -> str:
    """Return the title of the panel of a step.

    An index past the last step selects the answer or the refusal.

    >>> import shapecalc as sc
    >>> step_title(sc.reshape((2, 3, 4), (0, -1)), 1)
    'Step 2 of 3 · solve -1'
    >>> step_title(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), 0)
    'Step 1 of 6 · dim 0'
    """
    steps = answer.steps
    if not stage_layouts(answer):
        return "Step"
    if step_index >= len(steps):
        return "Step · refused" if answer.problem else "Step · done"
    return f"Step {step_index + 1} of {len(steps)} · {_step_name(steps[step_index])}"


def reason_title(answer: Trace | Chain, step_index: int) -> str:
    """Return the title of the panel that explains the answer by one of its steps.

    >>> import shapecalc as sc
    >>> reason_title(sc.reshape((2, 3, 4), (0, -1)), 1)
    'Why · solve -1'
    >>> reason_title(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), 4)
    'Why · stage 2 of 2 · solve -1'
    """
    all_layouts = stage_layouts(answer)
    number = layout_index(all_layouts, step_index) + 1 if all_layouts else 1
    stage = f"stage {number} of {len(all_layouts)}" if len(all_layouts) > 1 else ""
    name = _step_name(answer.steps[step_index]) if step_index < len(answer.steps) else ""
    return " · ".join(filter(None, ("Why", stage, name)))


def _step_name(step: Step) -> str:
    return f"dim {step.out}" if step.out is not None and step.rule not in INFER_RULES else step.name


def draw_step(
    answer: Trace | Chain,
    step_index: int,
    *,
    width: int,
    height: int,
    glyphs: GlyphSet = UNICODE,
    placeholders: Placeholders = NO_PLACEHOLDERS,
) -> Text:
    """Draw the picture of a step, or the reasons for the dims of its stage.

    The wires of the dims are omitted, because the map beside the panel contains them.
    """
    all_layouts = stage_layouts(answer)
    if not all_layouts or has_own_picture(answer, step_index):
        return draw_picture(
            answer, step_index, width=width, height=height, glyphs=glyphs, placeholders=placeholders, with_heading=False
        )
    index = drawn_layout_index(all_layouts, step_index)
    layout, hidden = all_layouts[index], column_placeholders(placeholders, index + 1)
    if hidden and layout.stage.kind is StageKind.PERMUTE:
        return draw_permutation(layout, hidden, width=width, height=height, glyphs=glyphs)
    lines = _reason_lines(answer, layout, step_index, width, hidden)
    return stack_texts(lines[max(0, len(lines) - height) :])


def draw_permutation(
    layout: StageLayout, hidden: Mapping[int, str], *, width: int, height: int, glyphs: GlyphSet = UNICODE
) -> Text:
    """Draw a permutation as a list of output positions, each with its input dim.

    `hidden` maps the indices of hidden output dims to their placeholders.

    >>> import shapecalc as sc
    >>> (layout,) = stage_layouts(sc.transpose((2, 3, 4), (1, 2, 0)))
    >>> print(draw_permutation(layout, {1: "[    ]", 2: "_"}, width=60, height=9))
    input   a 2     b 3     c 4
            dim 0   dim 1   dim 2
    <BLANKLINE>
    place 0 fetches dim 1   b 3
    place 1 fetches dim 2   [    ]
    place 2 fetches dim 0   _
    """
    marked = [f"{mark_text(cell.mark, glyphs)} {cell.dim}" for cell in layout.cells_before]
    cells = [max(len(text), len(f"dim {axis}")) + 3 for axis, text in enumerate(marked)]
    lines = list[Text]()
    if len("input   ") + sum(cells) <= width:
        lines.append(Text("input   "))
        for cell, text, size in zip(layout.cells_before, marked, cells, strict=True):
            lines[0].append(text.ljust(size), mark_colour(cell.mark))
        dims = "".join(f"dim {axis}".ljust(size) for axis, size in enumerate(cells))
        lines += [Text(f"        {dims}", "dim"), Text()]
    for out, axis in enumerate(layout.stage.requested or [axes[0] for axes in layout.wires]):
        text = hidden.get(out) or marked[int(str(axis))]
        lines.append(Text(f"place {out} fetches dim {axis}   ").append(text, "bold" if out in hidden else ""))
    for line in lines:
        line.rstrip()
    return stack_texts(lines if len(lines) <= height else lines[-height:])


def draw_unconnected_dims(answer: Trace | Chain, blank: str, glyphs: GlyphSet = UNICODE) -> Text | None:
    """Draw the input dims of a reshape or a transpose opposite the request, without wires.

    The user draws the wires by hand, so the drawing does not depend on the answer. Returns None for several stages and
    for other ops.

    >>> import shapecalc as sc
    >>> print(draw_unconnected_dims(sc.transpose((2, 3, 4), (1, 2, 0)), "[    ]"))
    dim 0  a 2 •            • place 0 fetches dim 1  [    ]
    dim 1  b 3 •            • place 1 fetches dim 2  [    ]
    dim 2  c 4 •            • place 2 fetches dim 0  [    ]
    >>> print(draw_unconnected_dims(sc.reshape((2, 3, 4), (0, -1)), "[    ]"))
    dim 0  a 2 •            • place 0:  0  [    ]
    dim 1  b 3 •            • place 1: -1  [    ]
    dim 2  c 4 •
    """
    all_layouts = stage_layouts(answer)
    requested = all_layouts[0].stage.requested if len(all_layouts) == 1 else None
    is_permutation = bool(all_layouts) and all_layouts[0].stage.kind is StageKind.PERMUTE
    if not requested or not (is_permutation or all_layouts[0].is_regrouping):
        return None
    dims = [f"{mark_text(cell.mark, glyphs)} {cell.dim}" for cell in all_layouts[0].cells_before]
    tokens = [str(token) for token in requested]
    width, token_width = max(map(len, dims), default=0), max(map(len, tokens))
    lines = list[Text]()
    for row in range(max(len(dims), len(tokens))):
        line = Text(f"dim {row}  {dims[row].rjust(width)} {glyphs.junction}" if row < len(dims) else "")
        if row < len(tokens):
            middle = " fetches dim " if is_permutation else ": "
            line.append(" " * (width + UNCONNECTED_GAP - len(line)))
            line.append(f"{glyphs.junction} place {row}{middle}{tokens[row].rjust(token_width)}  {blank}")
        lines.append(line)
    return stack_texts(lines)


def _reason_lines(
    answer: Trace | Chain, layout: StageLayout, step_index: int, width: int, hidden: Collection[int]
) -> list[Text]:
    """Return the reasons of the steps of a stage up to `step_index`.

    The last reason is bold. The reasons for hidden dims are omitted.
    """
    lines = list[Text]()
    for number in layout.step_range:
        if number > step_index:
            break
        step = answer.steps[number]
        if hidden and (step.out is None or step.out in hidden):
            continue
        style = "bold" if number == min(step_index, layout.step_range.stop - 1) else "dim"
        lines += wrap_line(Text(escape_unprintable(step.why), style), width)
    if layout.problem and step_index >= layout.step_range.stop:
        lines += wrap_line(Text(f"refused: {layout.problem.rule}", BOLD_ERROR), width)
    return lines


def dim_reason_lines(answer: Trace | Chain, indent: int, width: int, step_index: int | None = None) -> list[Text]:
    """Return lines with the reason for each output dim, below the answer.

    In the line of the answer, the output starts at column `indent` and has spaces around its commas. No lines are
    returned if the width leaves less than `MIN_REASON_WIDTH` for a reason, or if there are several stages, because the
    reasons of the last stage refer to the dims of the stage before it.

    >>> import shapecalc as sc
    >>> for line in dim_reason_lines(sc.reshape((2, 3, 4), (0, -1)), 0, 78):
    ...     print(line)
    │   └ -1 is 24 elements (2*3*4) / 2 known = 12
    └ 0 copies dim 0, which is 2
    """
    all_layouts = stage_layouts(answer)
    if answer.output is None or len(all_layouts) != 1 or all_layouts[-1].stage.kind is StageKind.SHAPE:
        return []
    cells = all_layouts[-1].cells
    if not 0 < len(cells) <= MAX_CARD_DIMS or any(cell.step_index >= len(answer.steps) for cell in cells):
        return []
    starts, x = list[int](), indent
    for cell in cells:
        starts.append(x)
        x += len(str(cell.dim)) + 3
    lines = list[Text]()
    for out in reversed(range(len(cells))):
        step = answer.steps[cells[out].step_index]
        if step.out != out:
            return []
        mark = "   (this step)" if cells[out].step_index == step_index else ""
        bars = "".join("│".ljust(after - start) for start, after in pairwise(starts[: out + 1]))
        before, after = f"{' ' * indent}{bars}└ ", f"{' ' * indent}{bars}  "
        if width - len(before) < MIN_REASON_WIDTH:
            return []
        reason = Text(escape_unprintable(step.why) + mark, "" if mark else "dim")
        for part in wrap_line(reason, width - len(before)):
            lines.append(Text(before).append_text(part))
            before = after
    return lines


def format_spaced_shape(answer: Trace | Chain) -> str:
    """Format the output of an answer with spaces around the commas."""
    return " , ".join(shape_text((dim,)) for dim in answer.output or ()) or "[]"
