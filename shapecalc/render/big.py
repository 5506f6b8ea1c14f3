"""Large text for projectors, in characters that are several terminal lines high.

A large drawing shows one stage of an answer: its input dims, its output dims, and the wires between them.
"""

from __future__ import annotations

from enum import Enum

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.record import Record
from shapecalc.render.canvas import UNICODE, Canvas, stack_texts
from shapecalc.render.flow import NO_HOLES, Holes, column_holes
from shapecalc.render.stage_layout import (
    INFER_RULES,
    Cell,
    StageLayout,
    cell_mark_text,
    hide_dims,
    layout_index,
    mark_hue,
    stage_layouts,
)

HolePosition = tuple[int, int]
"""The position of a dim: the column of the flow diagram, and the index in it."""
FONT_ROWS = (
    "075557 126227 271747 371717 455711 574717 674757 771111 875757 975717 A25755 B65656 C34443 D65556 E74647 F74644 "
    "G34553 H55755 I72227 J11152 K55655 L44447 M57755 N65555 O25552 P65644 Q25573 R65655 S34216 T72222 U55557 V55552 "
    "W55775 X55255 Y55222 Z71247 -00700 _00007 *05250 /11244 ?71302 ,00024 [64446 ]31113 ~01740 =07070 +02720 ▸46764 "
    "✗55255 …00005 ·00200 .00002"
)
"""The bitmap font: each character is followed by five octal digits, one per row.

The three bits of a digit are the pixels of the row, from left to right.
"""
GLYPH_ROWS = {" ": "00000"} | {glyph[0]: glyph[1:] for glyph in FONT_ROWS.split()}
BOLD = Style(bold=True)
COLUMN_GAP = 2
BrailleCells = dict[tuple[int, int], tuple[int, Style]]
"""A braille drawing: the dot bits and the style of each (x, y) cell."""
DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by row and column."""


class Scale(Enum):
    """The size of a large character, in cells."""

    LARGE = 5, 8, 2
    """A pixel is two cells wide and one cell high."""
    MEDIUM = 3, 4, 1
    """A pixel is one cell wide and half a cell high."""

    def __init__(self, rows: int, columns: int, gap: int) -> None:
        """Set the height, the width including the gap, and the gap after the character."""
        self.rows, self.columns, self.gap = rows, columns, gap


class LargeTextColumn(Record):
    """A column of strings to draw as large text, and the style of each string."""

    texts: tuple[str, ...]
    styles: tuple[Style, ...]

    def width(self, scale: Scale) -> int:
        """Return the width of the widest string, in cells."""
        return max((large_text_width(text, scale) for text in self.texts), default=0)


def render_large_text(text: str, scale: Scale) -> list[str]:
    r"""Return the lines of large text, in upper case and of equal width.

    >>> print("\n".join(render_large_text("24", Scale.MEDIUM)))
    ▀▀█ █ █
    █▀▀ ▀▀█
    ▀▀▀   ▀
    """
    glyphs = [[int(row) for row in GLYPH_ROWS.get(char.upper(), "77777")] for char in text]
    if scale is Scale.LARGE:
        pixels = (("".join("██" if row & bit else "  " for bit in (4, 2, 1)) for row in glyph) for glyph in glyphs)
        return ["  ".join(row) for row in zip(*pixels, strict=True)] or [""] * scale.rows
    return [" ".join(_half_block_row(glyph, 2 * row) for glyph in glyphs) for row in range(scale.rows)]


def _half_block_row(pixel_rows: list[int], row: int) -> str:
    """Return the half-block characters for the pixel rows `row` and `row + 1`."""
    lower = pixel_rows[row + 1] if row + 1 < len(pixel_rows) else 0
    return "".join(" ▀▄█"[bool(pixel_rows[row] & bit) + 2 * bool(lower & bit)] for bit in (4, 2, 1))


def large_text_width(text: str, scale: Scale) -> int:
    """Return the width of a string as large text, in cells.

    >>> large_text_width("24", Scale.LARGE), len(render_large_text("24", Scale.LARGE)[0])
    (14, 14)
    """
    return max(0, len(text) * scale.columns - scale.gap)


def draw_large_stage(
    answer: Trace | Chain,
    step_index: int,
    *,
    width: int,
    height: int,
    holes: Holes = NO_HOLES,
    selected_dim: HolePosition | None = None,
) -> Text | None:
    """Draw the stage that contains a step, as the largest text that fits.

    `holes` maps the (column, index) position of each hidden dim to its placeholder; column n is the shape after stage
    n. A pointer marks the dim at the position `selected_dim`. Returns None if the stage does not fit at any scale.
    """
    all_layouts = stage_layouts(answer)
    holes = {hole: text.replace(" ", "").replace("[]", "[ ]") for hole, text in holes.items()}
    if not all_layouts:
        return None
    index = layout_index(all_layouts, step_index) if all_layouts[0].stage.move or all_layouts[0].problem else 0
    layout = hide_dims(all_layouts[index], column_holes(holes, index + 1))
    before = _dim_column(layout.cells_before, index, holes, selected_dim)
    tokens = LargeTextColumn(tuple(cell.token for cell in layout.cells), (BOLD,) * len(layout.cells))
    after = _dim_column(layout.cells, index + 1, holes, selected_dim)
    for scale in Scale:
        picture = _draw_columns(layout, (before, tokens, after), scale)
        if all(len(line) <= width for line in picture) and len(picture) <= height:
            heading, division = (
                _medium_lines(layout.title, width),
                _medium_lines(_division_text(answer, step_index, holes), width),
            )
            picture = [*heading, *picture] if len(heading) + len(picture) <= height else picture
            return stack_texts([*picture, *division] if len(picture) + len(division) <= height else picture)
    return None


def _dim_column(
    cells: tuple[Cell, ...], column_index: int, holes: Holes, selected_dim: HolePosition | None
) -> LargeTextColumn:
    """Return dims and their marks as large text, with placeholders for hidden dims."""
    texts, styles = [], []
    for row, cell in enumerate(cells):
        hole = holes.get((column_index, row))
        marked_dim = f"{cell_mark_text(cell, UNICODE)} {UNICODE.unknown if cell.dim is None else cell.dim}".lstrip()
        indent = " " if selected_dim is not None and selected_dim[0] == column_index else ""
        prefix = UNICODE.pointer if selected_dim == (column_index, row) else indent
        texts.append(prefix + (marked_dim if hole is None else hole))
        hue = mark_hue(cell.mark) if hole is None else ""
        styles.append(Style(bold=True, color=hue or None))
    return LargeTextColumn(tuple(texts), tuple(styles))


def _medium_lines(text: str, width: int) -> list[Text]:
    """Render one line of medium-sized text, followed by a blank line.

    Returns an empty list if the text is empty or wider than `width`.
    """
    if not text or large_text_width(text, Scale.MEDIUM) > width:
        return []
    return [*(Text(line, BOLD) for line in render_large_text(text, Scale.MEDIUM)), Text("")]


def _division_text(answer: Trace | Chain, step_index: int, holes: Holes) -> str:
    """Format the division that infers a -1; empty if the step does not infer a -1."""
    step = answer.steps[step_index] if step_index < len(answer.steps) else None
    if step is None or step.rule not in INFER_RULES:
        return ""
    return f"{step.facts['have']}/{step.facts['known']}={UNICODE.unknown if holes else step.value}"


def _draw_columns(
    layout: StageLayout, columns: tuple[LargeTextColumn, LargeTextColumn, LargeTextColumn], scale: Scale
) -> list[Text]:
    """Draw a stage: its input dims, wires, requested values and output dims.

    The three columns contain the input dims, the requested values and the output dims.
    """
    before, tokens, after = columns
    rows, pitch, centre = max(1, *(len(side.texts) for side in columns)), scale.rows + 1, scale.rows // 2
    canvas, lines = Canvas(UNICODE, rows * pitch), BrailleCells()
    left = before.width(scale) + COLUMN_GAP
    right = left + 16
    size_wires = [(out, out) for out in layout.size_only_dims] if layout.is_regrouping else []
    element_wires = [(axis, out) for out, axes in enumerate(layout.wires) for axis in axes]
    for axis, out in [*size_wires, *element_wires]:
        hue = mark_hue(layout.cells_before[axis].mark) or None
        ends = (left, axis * pitch + centre), (right - COLUMN_GAP, out * pitch + centre)
        _draw_line(lines, *ends, Style(color=hue), dotted=(axis, out) in size_wires and axis not in layout.wires[out])
    for (x, y), (bits, style) in lines.items():
        canvas.write(x, y, chr(0x2800 + bits), style)
    _draw_large_column(canvas, before, 0, scale)
    _draw_large_column(canvas, tokens, right, scale)
    _draw_large_column(canvas, after, right + (tokens.width(scale) + COLUMN_GAP if any(tokens.texts) else 0), scale)
    return [*canvas.render(1000).split("\n", allow_blank=True)]


def _draw_large_column(canvas: Canvas, column: LargeTextColumn, x: int, scale: Scale) -> None:
    """Draw a column of strings as large text, starting in cell `x`."""
    for row, (text, style) in enumerate(zip(column.texts, column.styles, strict=True)):
        for offset, line in enumerate(render_large_text(text, scale) if text else ()):
            canvas.write(x, row * (scale.rows + 1) + offset, line, style)


def _draw_line(
    cells: BrailleCells, start: tuple[int, int], end: tuple[int, int], style: Style, *, dotted: bool
) -> None:
    """Add a straight line between two cells to a braille drawing, two dots thick.

    A dotted line means that only the size of a dim is copied, not its elements.
    """
    (x, y), (to_x, to_y) = start, end
    columns = max(1, 2 * (to_x - x))
    for step in range(columns):
        if dotted and step % 4 > 1:
            continue
        dot = 4 * y + 2 + round(4 * (to_y - y) * step / columns)
        for row in (dot, dot + 1):
            cell = x + step // 2, row // 4
            bits = cells.get(cell, (0, style))[0]
            cells[cell] = bits | DOT_BITS[row % 4][step % 2], style
