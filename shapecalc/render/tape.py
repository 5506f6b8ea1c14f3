"""Tapes: the elements of a tensor in a row, in C order.

Separators between the elements show where the blocks of each axis begin. Two tapes, one below the other, show the
elements before and after a stage. The background colour of an element depends on its index along one axis of the input,
so that elements that stay together can be recognized. If a tape is longer than the line, the tape is wrapped at its
outermost separators.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod

from rich.style import StyleType
from rich.text import Text

from shapecalc.core.answers import Chain, StageKind, Trace
from shapecalc.core.dims import product
from shapecalc.core.moves import Index, ShapeVector, ravel, unravel
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import shape_text
from shapecalc.render.canvas import UNICODE, GlyphSet, stack_texts
from shapecalc.render.grid import TensorPath, build_tensor_path, tint_style
from shapecalc.render.stage_layout import layout_index, stage_layouts, stage_operands
from shapecalc.render.styles import BOLD_ERROR

MAX_TAPE_ELEMENTS = 96
"""The maximum number of elements of a tensor that is drawn as a tape."""
MAX_UNEVEN_ROWS = 12
"""The maximum number of rows in `draw_uneven_rows`."""
LABEL_GAP = 2
"""The number of spaces between the label of a tape and its first element."""


def tensor_index_before(answer: Trace | Chain, step_index: int | None) -> int:
    """Return the index of the tensor that the stage of a step reads.

    Tensor 0 is the input, and tensor n is the output of stage n. If `step_index` is None, the last stage is considered.

    >>> import shapecalc as sc
    >>> answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1))
    >>> tensor_index_before(answer, 0), tensor_index_before(answer, None)
    (0, 1)
    """
    all_layouts = stage_layouts(answer)
    moving = [not isinstance(layout.stage.move, ShapeVector | None) for layout in all_layouts]
    return min(sum(moving[: layout_index(all_layouts, step_index)]), max(0, sum(moving) - 1))


def tape_path(answer: Trace | Chain) -> TensorPath | None:
    """Return the path of elements through an answer that can be drawn as tapes.

    Returns None if there are no elements, more than `MAX_TAPE_ELEMENTS` elements, or only one tensor.
    """
    volumes = (product(shape) for shape in (answer.input, answer.output or ()))
    if any(isinstance(volume, int) and volume > MAX_TAPE_ELEMENTS for volume in volumes):
        return None
    try:
        path = build_tensor_path(answer)
    except ShapeError:
        return None
    counts = [prod(tensor.shape) for tensor in path.tensors]
    return path if len(counts) > 1 and min(counts) > 0 and max(counts) <= MAX_TAPE_ELEMENTS else None


def draw_tapes(
    path: TensorPath,
    number: int,
    cursor: Index | None = None,
    *,
    tinted_axis: int = 0,
    width: int = 78,
    is_spaced: bool = False,
    glyphs: GlyphSet = UNICODE,
) -> Text:
    """Draw the tapes of two consecutive tensors on a path.

    `number` is the index of the first tensor. `cursor` is the input index of the element to mark. Elements are numbered
    from 0, and coloured by their index along the axis `tinted_axis` of the input.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_tapes(build_tensor_path(sc.transpose((2, 3), (1, 0))), 0, (0, 1), glyphs=ASCII))
    before 2,3  [0 1 2|3 4 5|
    after  3,2  [0 3|1 4|2 5|
    """
    labels = [f"{word} {shape_text(path.tensors[number + index].shape)}" for index, word in enumerate(TAPE_WORDS)]
    indent = max(map(len, labels)) + LABEL_GAP
    lines = list[Text]()
    for index, label in enumerate(labels):
        tape = tape_lines(path, number + index, cursor, tinted_axis=tinted_axis, width=width - indent, glyphs=glyphs)
        lines += [Text(end="")] if index and is_spaced and len(tape) > 1 else []
        lines += [Text((label if row == 0 else "").ljust(indent)).append_text(line) for row, line in enumerate(tape)]
    return stack_texts(lines)


TAPE_WORDS = ("before", "after ")


def tape_lines(
    path: TensorPath, number: int, cursor: Index | None, *, tinted_axis: int, width: int, glyphs: GlyphSet
) -> list[Text]:
    """Return the lines of the tape of a tensor.

    A line contains complete blocks of the outermost axes.
    """
    shape, first = path.tensors[number].shape, path.tensors[0].shape
    count, digits = prod(shape), len(str(prod(first) - 1))
    cells = list[TapeCell]()
    for position in range(count):
        text, source = _element_text(path, number, position, digits, glyphs)
        tint = source[tinted_axis] if source and tinted_axis < len(source) else 0
        style = tint_style(tint, is_marked=source is not None and source == cursor) if source is not None else ""
        cells.append((text, style, tint_style(tint) if source is not None else ""))
    return _wrap_tape(cells, shape, width, glyphs)


TapeCell = tuple[str, StyleType, StyleType]
"""The text of an element, its style, and the style of the space before it."""


def _wrap_tape(cells: Sequence[TapeCell], shape: Sequence[int], width: int, glyphs: GlyphSet) -> list[Text]:
    """Return lines of elements with the separators of a shape.

    A line contains complete blocks of the outermost axes.
    """
    room = max(1, (width - 1) // (len(cells[0][0]) + 1))
    blocks = [prod(shape[axis:]) for axis in range(len(shape) + 1)]
    block = next((size for size in blocks if size <= room), 1)
    per_line = room // block * block
    lines = list[Text]()
    for start in range(0, len(cells), per_line):
        line = Text()
        for position, (text, style, before) in enumerate(cells[start : start + per_line], start):
            cut = glyphs.separators[0] if position == start else separator_before(shape, position, glyphs)
            line.append(cut, before if cut == " " else "dim").append(text, style)
        lines.append(line.append(glyphs.separators[1], "dim"))
    return lines


def draw_join_tapes(answer: Trace | Chain, width: int = 78, glyphs: GlyphSet = UNICODE) -> Text | None:
    """Draw the tapes of the operands and of the output of a concatenation.

    The elements of all operands are numbered consecutively, and each operand has its own colour. Returns None for other
    ops, and if there are too many elements.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_join_tapes(sc.concat((2, 1), (2, 2), axis=1), glyphs=ASCII))
    input  2,1  [0|1|
    B      2,2  [2 3|4 5|
    output 2,3  [0 2 3|1 4 5|
    """
    all_layouts = stage_layouts(answer)
    if len(all_layouts) != 1 or all_layouts[0].stage.kind is not StageKind.JOIN or answer.output is None:
        return None
    layout, axis = all_layouts[0], all_layouts[0].request.arguments.get("axis")
    shapes = [[dim for dim in operand.shape if isinstance(dim, int)] for operand in stage_operands(layout)]
    after = [dim for dim in answer.output if isinstance(dim, int)]
    ranks = {len(shape) for shape in (*shapes, after, answer.output)}
    if not (isinstance(axis, int) and len(ranks) == 1 and 0 < prod(after) <= MAX_TAPE_ELEMENTS):
        return None
    axis, starts = axis % len(after), [*accumulate(map(prod, shapes), initial=0)]
    digits, names = len(str(prod(after) - 1)), ["input", *layout.operand_names, "output"]
    rows = [[(number, tint) for number in range(*ends)] for tint, ends in enumerate(pairwise(starts))]
    blocks, output = [prod(shape[axis:]) for shape in shapes], list[tuple[int, int]]()
    for place in range(prod(after[:axis])):
        parts = [row[place * size :][:size] for row, size in zip(rows, blocks, strict=True)]
        output += [cell for part in parts for cell in part]
    rows.append(output)
    shapes.append(after)
    lines, indent = list[Text](), max(map(len, names))
    labels = [f"{name.ljust(indent)} {shape_text(shape)}" for name, shape in zip(names, shapes, strict=True)]
    room = max(map(len, labels)) + LABEL_GAP
    for label, row, shape in zip(labels, rows, shapes, strict=True):
        cells = [(str(number).rjust(digits), tint_style(tint), tint_style(tint)) for number, tint in row]
        tape = _wrap_tape(cells, shape, width - room, glyphs) if cells else [Text()]
        lines += [Text((label if not place else "").ljust(room)).append_text(line) for place, line in enumerate(tape)]
    return stack_texts(lines)


def draw_uneven_rows(count: int, length: int, width: int, glyphs: GlyphSet = UNICODE) -> Text | None:
    """Draw elements in rows of a length that does not divide the element count.

    The last row contains the remaining elements; its empty cells are marked. Returns None if there are too many
    elements or rows, or if a row does not fit the width.

    >>> from shapecalc.render.canvas import ASCII
    >>> print(draw_uneven_rows(7, 3, 40, ASCII))
    row 0  [0 1 2|
    row 1  [3 4 5|
    row 2  [6 x x|  1 left over
    """
    rows, digits = -(-count // length), len(str(count - 1))
    if count > MAX_TAPE_ELEMENTS or rows > MAX_UNEVEN_ROWS or (digits + 1) * length + LABEL_GAP + 24 > width:
        return None
    lines = list[Text]()
    for row in range(rows):
        line = Text(f"row {row}".ljust(len(f"row {rows - 1}") + LABEL_GAP)).append(glyphs.separators[0], "dim")
        present = range(row * length, min(count, (row + 1) * length))
        line.append(" ".join(str(number).rjust(digits) for number in present), tint_style(row))
        missing = length - len(present)
        line.append("".join(f" {glyphs.fail.rjust(digits)}" for _ in range(missing)), BOLD_ERROR)
        line.append(glyphs.separators[1], "dim").append(f"  {len(present)} left over" if missing else "", BOLD_ERROR)
        lines.append(line)
    return stack_texts(lines)


OUTPUT_LABELS = ("first ", "second")
"""The labels of the tapes of two outputs; both have the same width."""


def draw_output_tapes(
    paths: tuple[TensorPath, TensorPath],
    position: int,
    *,
    tinted_axis: int = 0,
    width: int = 78,
    glyphs: GlyphSet = UNICODE,
) -> Text:
    """Draw the outputs of two paths as tapes, and mark the elements that differ.

    The outputs have equal shapes and few elements. The element at the flat index `position` is highlighted in both.

    >>> import shapecalc as sc
    >>> from shapecalc.render.canvas import ASCII
    >>> pair = [build_tensor_path(sc.chain("2,3", op)) for op in ("reshape 3,2", "transpose 1,0")]
    >>> for line in draw_output_tapes(tuple(pair), 1, glyphs=ASCII).plain.splitlines():
    ...     print(line.rstrip())
    first   0 [1] 2  3  4  5
    second  0 [3] 1  4  2  5
               x  x  x  x
    """
    count, digits = prod(paths[0].tensors[-1].shape), len(str(prod(paths[0].tensors[0].shape) - 1))
    cells = [
        [_element_text(path, len(path.tensors) - 1, place, digits, glyphs) for place in range(count)] for path in paths
    ]
    indent, step = len(OUTPUT_LABELS[0]) + LABEL_GAP - 1, digits + 2
    per_line = max(1, (width - indent) // step)
    lines = list[Text]()
    for start in range(0, count, per_line):
        places = range(start, min(count, start + per_line))
        for word, row in zip(OUTPUT_LABELS, cells, strict=True):
            line = Text(word.ljust(indent))
            for place in places:
                text, source = row[place]
                is_marked = place == position
                tint = source[tinted_axis] if source and tinted_axis < len(source) else 0
                style = tint_style(tint, is_marked=is_marked) if source is not None else ""
                line.append(f"[{text}]" if is_marked else f" {text} ", style)
            lines.append(line)
        marks = "".join(
            (glyphs.fail if cells[0][place][0] != cells[1][place][0] else "").rjust(digits + 1).ljust(step)
            for place in places
        )
        lines.append(Text(" " * indent).append(marks.rstrip(), BOLD_ERROR))
    return stack_texts(lines)


def separator_before(shape: Sequence[int], position: int, glyphs: GlyphSet = UNICODE) -> str:
    """Return the separator before an element.

    This is a space if no block of an axis begins at the element.

    >>> [separator_before((2, 3, 4), position) for position in (12, 4, 5)]
    ['▏', '╎', ' ']
    """
    strides = [prod(shape[axis + 1 :]) for axis, size in enumerate(shape[:-1]) if size > 1]
    cuts = [stride for stride in strides if position % stride == 0]
    return glyphs.separators[1 + (cuts[0] != strides[0])] if cuts else " "


def _element_text(
    path: TensorPath, number: int, position: int, digits: int, glyphs: GlyphSet
) -> tuple[str, Index | None]:
    """Return the text of an element and its input index.

    The index is None for an element that was added by a pad.
    """
    source = path.source_index(number, unravel(position, path.tensors[number].shape))
    if not isinstance(source, tuple):
        return (glyphs.shade * digits).rjust(digits), None
    return str(ravel(source, path.tensors[0].shape)).rjust(digits), source


def element_equation(path: TensorPath, cursor: Index, number: int | None = None) -> str:
    """Format the equation of an input element and the same element of a later tensor.

    `number` is the index of the later tensor on the path, by default the last. The equation is a NumPy expression, in
    which each element of the input x is its flat index. The tensor after the first move is called t1, the last tensor
    y.

    >>> import shapecalc as sc
    >>> path = build_tensor_path(sc.shuffle((2, 3), first=(1, 0), to=(6,)))
    >>> element_equation(path, (0, 1)), element_equation(path, (0, 1), 1)
    ('x[0,1] == y[2] == 1', 'x[0,1] == t1[1,0] == 1')
    """
    last = len(path.tensors) - 1
    number = last if number is None else number
    after = "y" if number == last else f"t{number}"
    target, value = path.indices_of(cursor)[number], ravel(cursor, path.tensors[0].shape)
    parts = [
        f"{name}[{','.join(map(str, index)) or '()'}]"
        for name, index in (("x", cursor), (after, target))
        if index is not None
    ]
    return " == ".join([*parts, str(value)]) + ("" if target is not None else f", left out of {after}")
