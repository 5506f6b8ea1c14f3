"""Lanes: a line from each dim to the dim that it becomes, with the reason at the right. Many dims get a table."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers.regrouping import Group
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.rules.steps import DroppedOne, KeptDim
from shapecalc.view.canvas import Canvas, clip_line, stack
from shapecalc.view.layout import Cell, Layout
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.strokes import Strokes, clip
from shapecalc.view.wires import draw, wiring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LANES = 5
LONGEST_DIM = 12
LINE = 5
"""The fewest cells of a line."""
IN_PLACE = (DroppedOne, KeptDim)
"""The facts of steps that are written on the row of their input axis."""


def lanes(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the lanes of one stage at step `at`: the dims that are settled by then, each with its reason.

    `width` and `height` are in character cells.
    """
    rows = max(len(layout.before), len(layout.cells))
    if rows > MOST_LANES or rows >= height:
        return _table(answer, layout, at, width, height, strokes)
    links = _links(layout)
    wired = wiring(links)
    canvas = Canvas(strokes, max(1, rows) + 1)
    before, after = (
        _texts(layout.before, strokes),
        _texts(layout.cells, strokes, now=at, sizes_only=layout.cuts),
    )
    tokens = max((len(cell.token) for cell in layout.cells), default=0)
    left = 4 + max(map(len, before), default=2)
    right = left + max(wired.width, LINE) + (tokens + 3 if tokens else 0)
    reasons = right + 5 + max(map(len, after), default=2)
    canvas.put(0, 0, "dim in", "dim")
    canvas.put(right + 1, 0, "dim out", "dim")
    draw(canvas, wired, left, right, 1, [_style(layout, link, at) for link in links])
    for row, (text, cell) in enumerate(zip(before, layout.before, strict=True)):
        canvas.put(0, 1 + row, f"{row}", "dim")
        canvas.put(3, 1 + row, text, colour(cell.mark))
    for row, (text, cell) in enumerate(zip(after, layout.cells, strict=True)):
        if cell.token:
            canvas.put(right - len(cell.token) - 4, 1 + row, f" {cell.token} ", "bold")
        if cell.step == at and cell.dim is not None:
            canvas.put(right - 1, 1 + row, strokes.arrow, "bold")
        canvas.put(right + 1, 1 + row, f"{row}", "dim")
        canvas.put(right + 4, 1 + row, text, Style(color=colour(cell.mark) or None, bold=cell.step == at))
    for row, (reason, style) in _reasons(answer, layout, at).items():
        canvas.put(max(reasons, len("dim out") + right + 1) + 2, 1 + row, reason, style)
    return canvas.text(width)


def _links(layout: Layout) -> tuple[Group, ...]:
    """Return what the lines stand for. If a stage cuts the elements anew, they show only the sizes that a 0 copies."""
    if not layout.cuts:
        return layout.links
    both = enumerate(layout.cells[: len(layout.before)])
    return tuple(Group((out,), (out,)) for out, cell in both if cell.token == "0")


def _texts(cells: tuple[Cell, ...], strokes: Strokes, now: int | None = None, *, sizes_only: bool = False) -> list[str]:
    """Return dims with their marks, in columns. A dim that is not settled by step `now` is a hole."""
    marks = ["" if sizes_only else mark_text(cell.mark, strokes) for cell in cells]
    late = [cell.dim is None or (now is not None and cell.step > now) for cell in cells]
    dims = [
        strokes.hole if hidden else clip(str(cell.dim), LONGEST_DIM, strokes)
        for cell, hidden in zip(cells, late, strict=True)
    ]
    marked, wide = max(map(len, marks), default=0), max(map(len, dims), default=0)
    return [
        f"{mark.ljust(marked)} {dim.rjust(wide)}" if marked else dim.rjust(wide)
        for mark, dim in zip(marks, dims, strict=True)
    ]


def _style(layout: Layout, link: Group, at: int) -> Style:
    mark = layout.before[link.sources[0]].mark if link.sources else ()
    return Style(color=colour(mark) or None, dim=any(layout.cells[out].step > at for out in link.outs))


def _reasons(answer: Trace | Chain, layout: Layout, at: int) -> Mapping[int, tuple[str, str]]:
    """Return the reason of each dim and its style, by row, for the steps up to `at`."""
    reasons = {}
    for number in layout.numbers:
        if number > at:
            break
        step = answer.steps[number]
        row = step.out if step.out is not None else step.sources[0] if isinstance(step.facts, IN_PLACE) else None
        if row is not None:
            reasons[row] = step.why, "bold" if number == at else "dim"
    if layout.problem and layout.fault is not None and at >= layout.numbers.stop:
        reasons[layout.fault] = f"{layout.problem.rule}", "bold red"
    return reasons


def _table(answer: Trace | Chain, layout: Layout, at: int, width: int, height: int, strokes: Strokes) -> Text:
    """Return a row for each dim of the output around step `at`: what it is, and why."""
    texts, reasons = _texts(layout.cells, strokes, at, sizes_only=layout.cuts), _reasons(answer, layout, at)
    here = next((out for out, cell in enumerate(layout.cells) if cell.step >= at), 0)
    room = max(1, height - 3)
    first = max(0, min(here - room // 2, len(texts) - room))
    lines = [Text("dim  is" + " " * max(0, max(map(len, texts), default=0) - 2) + "  why", "dim")]
    for out in range(first, min(len(texts), first + room)):
        cell, (why, style) = layout.cells[out], reasons.get(out, ("", ""))
        line = Text(f"{out:>3}  ")
        line.append(texts[out], Style(color=colour(cell.mark) or None, bold=cell.step == at))
        line.append(f" {strokes.here} " if cell.step == at else "   ", "bold").append(why, style)
        lines.append(line)
    if len(texts) > room:
        lines.append(Text(f"{strokes.dots} dims {first} to {min(len(texts), first + room) - 1} of {len(texts)}", "dim"))
    return stack([clip_line(line, width, strokes) for line in lines])
