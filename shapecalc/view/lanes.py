"""Lanes: a line from each dim to the dim that it becomes, with the reason at the right.

A reshape gets the lines along which it copies sizes. What its elements do is for the flow and the rulers.
"""

from __future__ import annotations

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.layout import Group
from shapecalc.core.rules import DroppedOne, KeptDim
from shapecalc.view.canvas import Canvas, clip_line, pitch_for, rows_around, stack
from shapecalc.view.ink import ink
from shapecalc.view.layout import Cell, Layout
from shapecalc.view.marks import colour, mark_text
from shapecalc.view.strokes import Strokes, clip
from shapecalc.view.wires import draw, wiring, write_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_DIM = 12
LINE = 5
"""The fewest cells of a line."""
REASON = 36
"""The cells of most reasons."""
IN_PLACE = (DroppedOne, KeptDim)
"""The facts of steps that are written on the row of their input axis."""


def lanes(answer: Trace | Chain, layout: Layout, at: int, *, width: int, height: int, strokes: Strokes) -> Text:
    """Return the lanes of one stage at step `at`: the dims that are settled by then, each with its reason.

    `width` and `height` are in character cells. Dims that have no room are left out, not those around the step.
    """
    rows = max(1, len(layout.before), len(layout.cells))
    notes = _notes(layout, at, strokes)
    pitch = pitch_for(rows, height, 1 + len(notes))
    lines, room = 1 + pitch * (rows - 1), height - 1 - len(notes)
    shown = range(lines)
    if lines > room:
        here = next((out for out, cell in enumerate(layout.cells) if cell.step >= at), 0)
        shown = rows_around(here, lines, room - 1)
        notes.append(f"{strokes.dots} dims {shown[0]} to {shown[-1]} of {lines}")
    drawn = _drawn(answer, layout, at, width, pitch, strokes).text(width, [0, *(1 + row for row in shown)])
    return stack([drawn, *(clip_line(Text(note, "dim"), width, strokes) for note in notes)])


def _drawn(answer: Trace | Chain, layout: Layout, at: int, width: int, pitch: int, strokes: Strokes) -> Canvas:
    """Return the lanes on a canvas: the dims of both sides, the lines between them, and the reasons."""
    canvas = Canvas(strokes, 1 + pitch * max(1, len(layout.before), len(layout.cells)))
    vector = layout.stage.kind is Kind.SHAPE
    before, after = _texts(layout.before, strokes), _texts(layout.cells, strokes, at, sizes_only=copies_sizes(layout))
    tokens = max((len(cell.token) for cell in layout.cells), default=0)
    left, links = 4 + max(map(len, before), default=2), _links(layout)
    room = width - left - max(map(len, after), default=2) - len("dim out")
    wired = wiring(links, room, room - REASON)
    right = left + max(wired.width(pitch), LINE * pitch) + (tokens + 3 if tokens else 0)
    canvas.put(0, 0, "dim in", "dim")
    canvas.put(right + 1, 0, heading := "in the vector" if vector else "dim out", "dim")
    draw(canvas, wired, (left, right), [_style(layout, link, at) for link in links], pitch)
    if copies_sizes(layout):
        canvas.dash(left, right)
    for row, (text, cell) in enumerate(zip(before, layout.before, strict=True)):
        canvas.put(0, 1 + pitch * row, f"{row}", "dim")
        canvas.put(3, 1 + pitch * row, text, colour(cell.mark))
    for row, (text, cell) in enumerate(zip(after, layout.cells, strict=True)):
        _put_arrival(canvas, cell, at, (right, 1 + pitch * row))
        canvas.put(right + 1, 1 + pitch * row, f"{row}", "dim")
        canvas.put(right + 4, 1 + pitch * row, text, ink(colour(cell.mark), bold=cell.step == at))
    reasons = max(right + 5 + max(map(len, after), default=2), right + 1 + len(heading)) + 2
    canvas.put(reasons, 0, layout.title, "dim")
    for row, (reason, style) in _reasons(answer, layout, at).items():
        canvas.put(reasons, 1 + pitch * row, reason, style)
    return canvas


def _put_arrival(canvas: Canvas, cell: Cell, at: int, place: tuple[int, int]) -> None:
    """Write what was asked for on the line into a dim, and an arrow if step `at` settles it."""
    right, y = place
    if cell.token:
        write_token(canvas, right, y, cell.token)
    if cell.step == at and cell.dim is not None:
        canvas.put(right - 1, y, canvas.strokes.arrow, "bold")


def copies_sizes(layout: Layout) -> bool:
    """Say whether the lanes of a stage are the ways of sizes. Elements take others, or none."""
    return layout.cuts or layout.stage.kind is Kind.SHAPE


def _notes(layout: Layout, at: int, strokes: Strokes) -> list[str]:
    """Return the note that says what the lines mean if elements do not go along them."""
    if layout.stage.kind is Kind.SHAPE:
        return [f"{strokes.size} copies a size; no element moves"]
    if not layout.parted:
        return []
    out = next((out for out in layout.parted if layout.cells[out].step == at), min(layout.parted))
    link = next(link for link in layout.links if out in link.outs)
    axes = " ".join(mark_text(layout.before[axis].mark, strokes) for axis in link.sources)
    return [f"{strokes.size} copies a size; the elements of dim {out} are of {axes}"]


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
    return ink(colour(mark), dim=any(layout.cells[out].step > at for out in link.outs))


def _reasons(answer: Trace | Chain, layout: Layout, at: int) -> Mapping[int, tuple[str, str]]:
    """Return the reason of each dim and its style, by row, for the steps up to `at`."""
    reasons, steps = {}, answer.steps
    for number in layout.numbers:
        if number > at:
            break
        step = steps[number]
        row = step.out if step.out is not None else step.sources[0] if isinstance(step.facts, IN_PLACE) else None
        if row is not None:
            reasons[row] = step.why, "bold" if number == at else "dim"
    if layout.problem and layout.fault is not None and at >= layout.numbers.stop:
        reasons[layout.fault] = f"{layout.problem.rule}", "bold red"
    return reasons
