"""The rail and the strip: the stages with the step at hand, and the shapes as far as they are known."""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.view.canvas import clip_line
from shapecalc.view.layout import Layout, layouts, place_of
from shapecalc.view.strokes import UNICODE, Strokes, clip

LONGEST_SHAPE = 30


def rail(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the stages in a row, with the number and the name of the step at hand.

    Each stage carries the number of its first step as the meta data `step` of its style. The step at hand carries
    its own number.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(rail(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    input > transpose > reshape [6 of 7: solve -1] > output
    """
    made = layouts(answer)
    here = place_of(made, at)
    line = Text(no_wrap=True, end="").append("input", _style(0))
    for place, layout in enumerate(made):
        line.append(f" {strokes.arrow} ", "dim")
        first = min(layout.numbers.start, len(answer.steps))
        line.append(layout.name, _style(first, at is not None and place == here))
        if at is not None and place == here:
            line.append_text(_current_step(answer, at, strokes))
    if answer.output is not None:
        line.append(f" {strokes.arrow} ", "dim")
        line.append("output", _style(max(0, len(answer.steps) - 1)))
    return clip_line(line, width, strokes)


def _current_step(answer: Trace | Chain, at: int, strokes: Strokes) -> Text:
    """Return the number and the name of step `at`; past the last step, the rule that refused or `done`."""
    if at >= len(answer.steps):
        rule = answer.problem.rule if answer.problem else "done"
        return Text(
            f" [{strokes.fail} {rule}]" if answer.problem else f" [{rule}]", "bold red" if answer.problem else ""
        )
    text = f" [{at + 1} of {len(answer.steps)}: {answer.steps[at].name}]"
    return Text(text, _style(at, True))


@lru_cache(maxsize=256)
def _style(step: int, bold: bool | None = None) -> Style:
    """Return the style of what leads to a step when it is clicked."""
    return Style(bold=bold, meta={"step": step})


def strip(answer: Trace | Chain, at: int | None = None, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the shape after each stage. A dim that is not known at step `at` is a hole; a vector is in brackets.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(strip(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(0, -1)), 5, strokes=ASCII))
    2,3,4 -> 3,2,4 -> 3,_
    """
    now = len(answer.steps) if at is None else at
    shown = [",".join(map(str, answer.input)) or "[]"]
    shown += [_known_shape(layout, now, strokes) for layout in layouts(answer)]
    line = Text(f" {strokes.to} ".join(clip(text, LONGEST_SHAPE, strokes) for text in shown), no_wrap=True, end="")
    return clip_line(line, width, strokes)


def _known_shape(layout: Layout, now: int, strokes: Strokes) -> str:
    """Return the dims of a stage that are settled before step `now`. A stage that has not begun is unknown."""
    if layout.numbers.start > now or (not layout.cells and layout.problem):
        return strokes.unknown
    dims = ",".join(str(cell.dim) if cell.step < now else strokes.hole for cell in layout.cells)
    return f"[{dims}]" if layout.stage.kind is Kind.SHAPE or not dims else dims
