"""Which picture shows a step, and which pictures an answer has."""

from __future__ import annotations

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.rules import INDIVISIBLE, INFER_LIMIT, VOLUME_MISMATCH, ZERO_VOLUME_INFER, CopiedZero, Merged
from shapecalc.view.budget import budget, budget_of
from shapecalc.view.canvas import clip_line, stack
from shapecalc.view.flow import flow
from shapecalc.view.lanes import lanes
from shapecalc.view.layout import INFERS, Layout, layouts, place_of, regroups, settled_by
from shapecalc.view.rulers import is_worth_drawing, rulers
from shapecalc.view.strokes import UNICODE, Strokes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Draw: TypeAlias = Callable[[Trace | Chain, Layout, int, int, int, Strokes], Text]

COUNTED = (INDIVISIBLE, INFER_LIMIT, VOLUME_MISMATCH, ZERO_VOLUME_INFER)
"""The rules of refusals about element counts."""
MOST_PICTURES = 4
"""The most pictures of an answer under the flow."""


def picture(
    answer: Trace | Chain,
    at: int,
    *,
    width: int = 78,
    height: int = 12,
    strokes: Strokes = UNICODE,
    hides_late: bool = False,
) -> Text:
    """Return the picture of step `at`, or of the refusal if `at` is past the last step.

    If it `hides_late`, it tells nothing of the dims that later steps settle.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(picture(sc.reshape((2, 3), (0, -1)), 0, strokes=ASCII))
    dim in            dim out  reshape 0,-1
    0  a 2 ::::: 0 :> 0  2     0 copies dim 0, which is 2
    1  b 3      -1    1  _
    """
    made = layouts(answer)
    if not made:
        return stack([clip_line(Text("nothing is asked for: the tensor stays"), width, strokes)])
    layout = made[place_of(made, at)]
    layout = settled_by(layout, at) if hides_late else layout
    return _drawing(answer, layout, at)(answer, layout, at, width, height, strokes)


def _drawing(answer: Trace | Chain, layout: Layout, at: int) -> Draw:
    """Return the function that draws a step: as counts, as cuts, or as lanes."""
    if not layout.cuts:
        return _lanes
    if at >= len(answer.steps):
        return _budget if _is_about_counts(layout) else _lanes
    step = answer.steps[at]
    if isinstance(step.facts, INFERS):
        return _budget
    return _rulers if regroups(step) or isinstance(step.facts, Merged) else _lanes


def _lanes(answer: Trace | Chain, layout: Layout, at: int, width: int, height: int, strokes: Strokes) -> Text:
    return lanes(answer, layout, at, width=width, height=height, strokes=strokes)


def _budget(_answer: Trace | Chain, layout: Layout, _at: int, width: int, height: int, strokes: Strokes) -> Text:
    return budget(layout, width=width, height=height, strokes=strokes)


def _rulers(answer: Trace | Chain, layout: Layout, _at: int, width: int, height: int, strokes: Strokes) -> Text:
    return rulers(answer, layout, width=width, height=height, strokes=strokes)


def explain(answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the flow of an answer, and the pictures of the steps that the flow does not show."""
    parts = [flow(answer, width=width, strokes=strokes)]
    for each in _drawn(answer, _steps_to_show(answer, width), width, strokes):
        parts += [Text(""), each]
    return stack(parts)


def pictures(answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE) -> list[Text]:
    """Return the pictures of the steps that the flow does not show, the one that shows most first."""
    return _drawn(answer, _most_first(answer, width), width, strokes)


def main_step(answer: Trace | Chain, width: int) -> int:
    """Return the step whose picture shows most, beside the flow; of a refusal, the one past the last.

    >>> import shapecalc as sc
    >>> main_step(sc.reshape((2, 3, 4), (0, -1)), 78), main_step(sc.transpose((2, 3)), 78)
    (1, 2)
    """
    last = len(answer.steps) - (answer.problem is None)
    return next(iter(_most_first(answer, width)), max(0, last))


def _most_first(answer: Trace | Chain, width: int) -> list[int]:
    return sorted(_steps_to_show(answer, width), key=lambda at: _weight(answer, at))


def _weight(answer: Trace | Chain, at: int) -> int:
    """Return how late a picture comes: a refusal is first, then axes that mix, a -1, and all others."""
    if at >= len(answer.steps):
        return 0
    made = layouts(answer)
    if regroups(answer.steps[at]) and made[place_of(made, at)].mixed:
        return 1
    return 2 if infers(answer, at) else 3


def infers(answer: Trace | Chain, at: int) -> bool:
    """Say whether a step settles a -1."""
    return at < len(answer.steps) and isinstance(answer.steps[at].facts, INFERS)


def _drawn(answer: Trace | Chain, numbers: list[int], width: int, strokes: Strokes) -> list[Text]:
    drawn = (picture(answer, at, width=width, strokes=strokes) for at in numbers[:MOST_PICTURES])
    return [each for each in drawn if each.plain]


def _steps_to_show(answer: Trace | Chain, width: int) -> list[int]:
    """Return the steps whose pictures show more than the flow.

    These are a -1, cuts that merge, split or mix axes, and a refusal about counts. A 0 is one of them if its dim
    is not made of the axis whose size it copies.
    """
    numbers = []
    for layout in layouts(answer):
        if not layout.cuts:
            continue
        steps = list(zip(layout.numbers, layout.stage.steps, strict=False))
        copies = [number for number, step in steps if isinstance(step.facts, CopiedZero)]
        if layout.parted:
            numbers.append(copies[-1])
        numbers += [number for number, step in steps if isinstance(step.facts, INFERS)]
        numbers += [number for number, step in steps if regroups(step) and is_worth_drawing(layout, width)]
        if _is_about_counts(layout):
            numbers.append(len(answer.steps))
    return numbers


def _is_about_counts(layout: Layout) -> bool:
    """Say whether a stage was refused over element counts that are known but for one dim."""
    return layout.problem is not None and layout.problem.rule in COUNTED and budget_of(layout) is not None
