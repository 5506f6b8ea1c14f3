"""The stage at hand in large figures, for a room with a projector: the dims before, the lines, the dims after."""

from __future__ import annotations

from itertools import product

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.layout import Group
from shapecalc.core.record import Record, replace
from shapecalc.core.rules import CopiedZero, Inferred, InferredEmpty
from shapecalc.view.canvas import Canvas, stack
from shapecalc.view.figures import Scale, figures, figures_width
from shapecalc.view.layout import NO_MARK, Cell, Layout, layouts, place_of
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.strokes import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Hole = tuple[int, int]

BOLD = Style(bold=True)
WIDEST = 1000
LINES_WIDTH = 16
"""The cells between the two columns of dims."""
GAP = 2
DOTS = 0x2800
"""The first of the characters with two by four dots."""
DOT_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a character, by row and column."""


class Side(Record):
    """One column of dims: the texts, and what they look like."""

    texts: tuple[str, ...]
    styles: tuple[Style, ...]

    def width(self, scale: Scale) -> int:
        """Return the cells of its widest text."""
        return max((figures_width(text, scale) for text in self.texts), default=0)


def big(
    answer: Trace | Chain,
    at: int,
    *,
    width: int,
    height: int,
    holes: Mapping[Hole, str] | None = None,
    chosen: Hole | None = None,
) -> Text | None:
    """Return the stage of step `at` in the largest figures that there is room for; None if there is room for none.

    `holes` are the dims that are hidden, by column and index, with what stands there; an arrow points to the
    one that is `chosen`.
    """
    made, holes = layouts(answer), {hole: _narrow(text) for hole, text in (holes or {}).items()}
    if not made:
        return None
    place = place_of(made, at)
    layout = _copying(made[place], at)
    before = _side(layout.before, place, holes, chosen)
    tokens = Side(tuple(cell.token for cell in layout.cells), (BOLD,) * len(layout.cells))
    after = _side(layout.cells, place + 1, holes, chosen)
    hidden = {row for column, row in holes if column == place + 1}
    for scale in Scale:
        picture = _columns(layout, (before, tokens, after), hidden, scale)
        if all(len(line) <= width for line in picture) and len(picture) <= height:
            head, sum_ = _line(layout.title, width), _line(_sum_text(answer, at, holes), width)
            picture = [*head, *picture] if len(head) + len(picture) <= height else picture
            return stack([*picture, *sum_] if len(picture) + len(sum_) <= height else picture)
    return None


def _copying(layout: Layout, at: int) -> Layout:
    """Return a layout whose links are the sizes that 0s copy, if the step at hand copies one: elements go elsewhere."""
    steps = dict(zip(layout.numbers, layout.stage.steps, strict=False))
    if at not in steps or not isinstance(steps[at].facts, CopiedZero):
        return layout
    copied = {step.out for step in steps.values() if isinstance(step.facts, CopiedZero) and step.out is not None}
    cells = tuple(replace(cell, mark=NO_MARK) for cell in layout.cells)
    return replace(layout, cells=cells, links=tuple(Group((out,), (out,)) for out in sorted(copied)))


def _side(cells: tuple[Cell, ...], column: int, holes: Mapping[Hole, str], chosen: Hole | None) -> Side:
    """Return a column of dims with their letters; of holes, what stands there."""
    texts, styles = [], []
    for row, cell in enumerate(cells):
        hole = holes.get((column, row))
        marked = f"{mark_text(cell.mark, UNICODE)} {UNICODE.unknown if cell.dim is None else cell.dim}".lstrip()
        beside = " " if chosen is not None and chosen[0] == column else ""
        here = UNICODE.arrow if chosen == (column, row) else beside
        texts.append(here + (marked if hole is None else hole))
        hue = colour(cell.mark) if hole is None else ""
        styles.append(Style(bold=True, color=hue or None))
    return Side(tuple(texts), tuple(styles))


def _narrow(hole: str) -> str:
    """Return what stands in a hole without the blanks around it."""
    return hole.replace(" ", "").replace("[]", "[ ]")


def _line(text: str, width: int) -> list[Text]:
    """Return a text in medium figures, with an empty line after it; nothing if it is empty or too wide."""
    if not text or figures_width(text, Scale.MEDIUM) > width:
        return []
    return [*(Text(line, BOLD) for line in figures(text, Scale.MEDIUM)), Text("")]


def _sum_text(answer: Trace | Chain, at: int, holes: Mapping[Hole, str]) -> str:
    """Return the division of a -1 at step `at`; empty for other steps."""
    facts = answer.steps[at].facts if at < len(answer.steps) else None
    if not isinstance(facts, (Inferred, InferredEmpty)):
        return ""
    return f"{facts.have}/{facts.known}={UNICODE.unknown if holes else answer.steps[at].value}"


def _columns(layout: Layout, sides: tuple[Side, Side, Side], hidden: set[int], scale: Scale) -> list[Text]:
    """Return the lines of the dims before, the tokens and the dims after, with the lines into the dims not hidden."""
    before, tokens, after = sides
    rows, pitch, middle = max(1, *(len(side.texts) for side in sides)), scale.rows + 1, scale.rows // 2
    canvas, lines = Canvas(UNICODE, rows * pitch), _Lines()
    left = before.width(scale) + GAP
    right = left + LINES_WIDTH
    for link in layout.links:
        for axis, out in product(link.sources, link.outs):
            if out not in hidden:
                hue = colour(layout.before[axis].mark) or None
                lines.draw((left, axis * pitch + middle), (right - GAP, out * pitch + middle), Style(color=hue))
    for x, y, char, style in lines.cells():
        canvas.put(x, y, char, style)
    _put(canvas, before, 0, scale)
    _put(canvas, tokens, right, scale)
    _put(canvas, after, right + (tokens.width(scale) + GAP if any(tokens.texts) else 0), scale)
    return [*canvas.text(WIDEST).split("\n", allow_blank=True)]


def _put(canvas: Canvas, side: Side, x: int, scale: Scale) -> None:
    """Write a column of texts from cell `x`."""
    for row, (text, style) in enumerate(zip(side.texts, side.styles, strict=True)):
        for place, line in enumerate(figures(text, scale) if text else ()):
            canvas.put(x, row * (scale.rows + 1) + place, line, style)


class _Lines:
    """Straight lines made of dots, of which a cell has two by four."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], tuple[int, Style]] = {}

    def draw(self, start: tuple[int, int], end: tuple[int, int], style: Style) -> None:
        """Draw a line from one cell to another, two dots thick."""
        (x, y), (to_x, to_y) = start, end
        columns = max(1, 2 * (to_x - x))
        for step in range(columns):
            dot = 4 * y + 2 + round(4 * (to_y - y) * step / columns)
            for thick in range(2):
                self._add(2 * x + step, dot + thick, style)

    def _add(self, x: int, y: int, style: Style) -> None:
        cell = x // 2, y // 4
        bits = self._cells.get(cell, (0, style))[0]
        self._cells[cell] = bits | DOT_BITS[y % 4][x % 2], style

    def cells(self) -> Iterator[tuple[int, int, str, Style]]:
        """Yield each cell that a line runs through: its column and row, its character, and its style."""
        for (x, y), (bits, style) in self._cells.items():
            yield x, y, chr(DOTS + bits), style
