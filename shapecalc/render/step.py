"""The panel of a step: its picture, or the reasons for the dims of the stage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate, pairwise

from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Step, Trace
from shapecalc.core.dims import Dim, Shape, product
from shapecalc.core.moves import OperandAxis
from shapecalc.core.origins import (
    AxisAtom,
    ComputedAtom,
    ConcatAtom,
    MixedAtom,
    OriginAtom,
    RepeatAtom,
    list_operand_axes,
)
from shapecalc.core.text import dim_text, escape_unprintable, join_with_and, shape_text
from shapecalc.render.canvas import UNICODE, GlyphSet, make_style, stack_texts, wrap_line
from shapecalc.render.flow import NO_PLACEHOLDERS, Placeholders, column_placeholders
from shapecalc.render.operands import draw_operand_table, format_drawn_dims
from shapecalc.render.pictures import draw_picture, drawn_layout_index, has_own_picture
from shapecalc.render.stage_layout import (
    INFER_RULES,
    StageLayout,
    layout_index,
    mark_colour,
    mark_text,
    stage_layouts,
)
from shapecalc.render.styles import BOLD_ERROR, ERROR_COLOUR

ARROW = "─▸"
"""The arrow in the line with the answer."""
UNCONNECTED_GAP = 21
"""The number of cells between the input dims and the requested dims in `draw_unconnected_dims`."""
READING_WIDTH = 22
"""The width of the inverse reading of a permutation beside the correct one, in cells."""
MIN_REASON_WIDTH = 24
"""The minimum width of a reason, in cells; longer reasons are wrapped."""
MAX_LISTED_DIMS = 5
"""The maximum number of dims of a permutation whose reasons are listed.

A longer permutation is shown only in the map.
"""
MAX_DIMS_WITH_REASONS = 8
"""The maximum number of output dims whose reasons are shown."""


def step_title(answer: Trace | Chain, step_index: int) -> str:
    """Return the title of the panel of a step.

    After the last step, the title is that of the answer or the refusal.

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
    """Return the title of the panel that explains an answer by one step.

    >>> import shapecalc as sc
    >>> reason_title(sc.reshape((2, 3, 4), (0, -1)), 1)
    'Why · solve -1'
    >>> reason_title(sc.shuffle((2, 3), first=(1, 0), to=(0, -1)), 4)
    'Why · stage 2 of 2 · solve -1'
    >>> reason_title(sc.conv((1, 3, 8, 8), (4, 3, 2, 2)), 3), reason_title(sc.concat((2, 3), (2, 5), axis=1), 1)
    ('Why · dims 2 and 3', 'Why · axis 1')
    """
    all_layouts = stage_layouts(answer)
    number = layout_index(all_layouts, step_index) + 1 if all_layouts else 1
    stage = f"stage {number} of {len(all_layouts)}" if len(all_layouts) > 1 else ""
    step = answer.steps[step_index] if step_index < len(answer.steps) else None
    name = (all_layouts and step and format_drawn_dims(all_layouts[number - 1], step)) or (
        _step_name(step) if step else ""
    )
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
    is_complete: bool = False,
) -> Text:
    """Draw the picture of a step, or the reasons for the dims of its stage.

    The wires are omitted, because the map beside the panel contains them. If `is_complete` is True, the picture
    explains the whole answer, so the axis of a join is bold instead of the dim of the step.
    """
    all_layouts = stage_layouts(answer)
    layout = all_layouts[drawn_layout_index(all_layouts, step_index)] if all_layouts else None
    if is_complete and layout and layout.stage.kind is StageKind.JOIN and not layout.problem:
        end = layout.step_range.stop
        return draw_operand_table(answer, layout, end, width=width, height=height, glyphs=glyphs)
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
    layout: StageLayout,
    hidden: Mapping[int, str],
    *,
    width: int,
    height: int,
    glyphs: GlyphSet = UNICODE,
    column: int | None = None,
    selected: int | None = None,
) -> Text:
    """Draw a permutation as a list of output dims and the input dims they fetch.

    `hidden` maps the indices of hidden output dims to their placeholders. If `column` is given, the style of a
    placeholder has the column and the index as the metadata `dim`. The placeholder of the dim `selected` is
    highlighted.

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
        meta_item = None if column is None else ("dim", (column, out))
        style = make_style(bold=out in hidden, reverse=out in hidden and out == selected, meta_item=meta_item)
        lines.append(Text(f"place {out} fetches dim {axis}   ").append(text, style))
    for line in lines:
        line.rstrip()
    return stack_texts(lines if len(lines) <= height else lines[-height:])


def draw_inverse_reading(layout: StageLayout, width: int = 78, glyphs: GlyphSet = UNICODE) -> Text:
    """Draw the inverse reading of a permutation beside the correct one.

    In the inverse reading, the permutation gives the destination of each input dim. If the width does not suffice, the
    inverse reading is above the correct one.

    >>> import shapecalc as sc
    >>> (layout,) = stage_layouts(sc.transpose((2, 3, 4), (1, 2, 0)))
    >>> print(draw_inverse_reading(layout))
    you sent              asked
    dim 0 ┄┄▸ place 1     place 0 fetches dim 1: b 3
    dim 1 ┄┄▸ place 2     place 1 fetches dim 2: c 4
    dim 2 ┄┄▸ place 0     place 2 fetches dim 0: a 2
    """
    sent, asked = [Text("you sent", BOLD_ERROR)], [Text("asked", "bold")]
    dots = glyphs.copied_size_line * 2
    for place, (axis,) in enumerate(axes[:1] for axes in layout.wires):
        cell = layout.cells_before[axis]
        sent.append(Text(f"dim {place} {dots}{glyphs.pointer} place {axis}", ERROR_COLOUR))
        dim = f"{mark_text(cell.mark, glyphs)} {cell.dim}"
        asked.append(Text(f"place {place} fetches dim {axis}: ").append(dim, mark_colour(cell.mark) or "default"))
    if READING_WIDTH + max(map(len, asked)) > width:
        return stack_texts([*sent, *asked])
    pairs = zip(sent, asked, strict=True)
    return stack_texts([Text.assemble(left, " " * (READING_WIDTH - len(left)), right) for left, right in pairs])


def draw_unconnected_dims(answer: Trace | Chain, blank: str, glyphs: GlyphSet = UNICODE) -> Text | None:
    """Draw the input dims of a reshape or a transpose opposite the request.

    Wires and answer are omitted, so that the user can draw the wires by hand. Returns None for other ops, and for an
    answer with several stages.

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
    """Return the reasons of a stage's steps up to `step_index`, the last one in bold.

    The reasons for hidden dims are omitted, as are all but the last reason of a long permutation.
    """
    lines = list[Text]()
    is_long = layout.stage.kind is StageKind.PERMUTE and len(layout.cells) > MAX_LISTED_DIMS
    is_long = is_long and len(stage_layouts(answer)) == 1
    for number in layout.step_range:
        if number > step_index:
            break
        if is_long and number < min(step_index, layout.step_range.stop - 1):
            continue
        step = answer.steps[number]
        if hidden and (step.out is None or step.out in hidden):
            continue
        style = "bold" if number == min(step_index, layout.step_range.stop - 1) else "dim"
        lines += wrap_line(Text(escape_unprintable(step.why), style), width)
    if layout.problem and step_index >= layout.step_range.stop:
        lines += wrap_line(Text(f"refused: {layout.problem.rule}", BOLD_ERROR), width)
    return lines


def dim_reason_lines(answer: Trace | Chain, indent: int, width: int, step_index: int | None = None) -> list[Text]:
    """Return lines that connect each output dim in the answer's line to its reason.

    The output shape starts at column `indent` of the line above, and has spaces around its commas. If there are several
    stages, a reason names the input dims from which the dim comes. Returns [] if a reason would have less than
    `MIN_REASON_WIDTH` cells.

    >>> import shapecalc as sc
    >>> for line in dim_reason_lines(sc.reshape((2, 3, 4), (0, -1)), 0, 78):
    ...     print(line)
    │   └ -1 is 24 elements (2*3*4) / 2 known = 12
    └ 0 copies dim 0, which is 2
    >>> for line in dim_reason_lines(sc.chain("8,128,768", "reshape 0,0,12,64", "transpose 0,2,1,3"), 0, 78):
    ...     print(line)
    │   │    │     └ 64 is the inner part of input dim 2, 768
    │   │    └ 128 is input dim 1
    │   └ 12 is the outer part of input dim 2, 768
    └ 8 is input dim 0
    """
    all_layouts = stage_layouts(answer)
    if answer.output is None or not all_layouts or any(row.stage.kind is StageKind.SHAPE for row in all_layouts):
        return []
    cells = all_layouts[-1].cells
    if not 0 < len(cells) <= MAX_DIMS_WITH_REASONS:
        return []
    if len(all_layouts) == 1:
        reasons = _step_reasons(answer, all_layouts[0], step_index)
    else:
        reasons = [Text(reason, "dim") for reason in origin_reasons(answer)]
    starts = [*accumulate((len(str(cell.dim)) + 3 for cell in cells), initial=indent)]
    lines = list[Text]()
    for out, reason in reversed([*enumerate(reasons)]):
        bars = "".join("│".ljust(after - start) for start, after in pairwise(starts[: out + 1]))
        before, after = f"{' ' * indent}{bars}└ ", f"{' ' * indent}{bars}  "
        if width - len(before) < MIN_REASON_WIDTH:
            return []
        for part in wrap_line(reason, width - len(before)):
            lines.append(Text(before).append_text(part))
            before = after
    return lines


def _step_reasons(answer: Trace | Chain, layout: StageLayout, step_index: int | None) -> list[Text]:
    """Return the reason for each dim of a stage.

    Returns an empty list if some dim is not determined by a step of its own.
    """
    reasons = list[Text]()
    for out, cell in enumerate(layout.cells):
        if cell.step_index >= len(answer.steps) or answer.steps[cell.step_index].out != out:
            return []
        mark = "   (this step)" if cell.step_index == step_index else ""
        reasons.append(Text(escape_unprintable(answer.steps[cell.step_index].why) + mark, "" if mark else "dim"))
    return reasons


def origin_reasons(answer: Trace | Chain) -> list[str]:
    """Return a sentence on the origin of each output dim in the input.

    The origin is traced through all stages.

    >>> import shapecalc as sc
    >>> origin_reasons(sc.chain("8,128,768", "reshape 0,0,12,64", "transpose 0,2,1,3", "reshape -1,128,64"))[0]
    '96 is 8 (input dim 0) * 12 (the outer part of input dim 2, 768)'
    >>> origin_reasons(sc.chain("4,6", "reshape 3,8", "unsqueeze 0"))[:2]
    ['1 is new', '3 mixes input dims 0 and 1']
    """
    origins = [origin or () for origin in answer.origins or ()]
    sizes = dict[int, Dim]()
    for atom in (atom for origin in origins for atom in origin if isinstance(atom, AxisAtom) and not atom.operand):
        sizes[atom.axis] = product((sizes.get(atom.axis, 1), atom.size))
    split_axes = frozenset([axis for axis, size in sizes.items() if size == answer.input[axis]])
    reasons = list[str]()
    for dim, origin in zip(answer.output or (), origins, strict=True):
        parts = [_describe_atom(atom, answer.input, split_axes) for atom in origin]
        factors = [dim_text(atom.size) for atom in origin if isinstance(atom, (AxisAtom, RepeatAtom))]
        if 1 < len(parts) == len(factors):
            texts = [f"{size} ({part.removeprefix('is ')})" for size, part in zip(factors, parts, strict=True)]
            parts = [f"is {' * '.join(texts)}"]
        reasons.append(f"{dim_text(dim)} {' and '.join(parts) or 'is new'}")
    return reasons


def _describe_atom(atom: OriginAtom, shape: Shape, split_axes: Collection[int]) -> str:
    """Describe the origin of a part of an output dim, as in `is repeated`.

    `split_axes` are the axes that are split into mixed-radix digits. The part of any other axis can be a subset of its
    indices.
    """
    match atom:
        case AxisAtom() if atom.operand == 0:
            return f"is {_describe_axis_part(atom, shape[atom.axis], is_digit=atom.axis in split_axes)}"
        case AxisAtom():
            return f"is dim {atom.axis} of operand {atom.operand}"
        case RepeatAtom():
            return "is repeated"
        case MixedAtom():
            return f"mixes input dims {join_with_and([str(axis) for axis in atom.axes])}"
        case ComputedAtom():
            texts = _operand_axis_texts(atom.operand_axes)
            return f"{'combines' if len(texts) > 1 else 'is computed along'} {join_with_and(texts)}"
        case ConcatAtom():
            axes = [axis for part in atom.parts for axis in list_operand_axes(part)]
            return f"joins {join_with_and(_operand_axis_texts(axes))}" if axes else "is stacked"


def _describe_axis_part(atom: AxisAtom, dim: Dim, *, is_digit: bool) -> str:
    """Describe the part of an input dim from which an output dim comes.

    If `is_digit` is True, the part is a mixed-radix digit of the index along the axis; otherwise, it is a subset of the
    indices.
    """
    axis = f"input dim {atom.axis}"
    if atom.size == dim:
        return f"{axis} in reverse" if atom.stride == -1 else f"{axis}, rolled" if atom.start else axis
    part = "some positions"
    if is_digit:
        is_outer = product((atom.size, atom.stride)) == dim
        part = "the inner part" if atom.stride == 1 else "the outer part" if is_outer else "a middle part"
    return f"{part} of {axis}, {dim_text(dim)}"


def _operand_axis_texts(axes: Iterable[OperandAxis]) -> list[str]:
    texts = (f"dim {axis} of operand {operand}" if operand else f"input dim {axis}" for operand, axis in axes)
    return [*dict.fromkeys(texts)]


def format_spaced_shape(answer: Trace | Chain) -> str:
    """Format the output of an answer with spaces around the commas."""
    return " , ".join(shape_text((dim,)) for dim in answer.output or ()) or "[]"
