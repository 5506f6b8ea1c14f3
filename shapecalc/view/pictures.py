"""Which picture shows a step, and which pictures `--explain` prints."""

from __future__ import annotations

from rich.text import Text

from shapecalc.core.trace import Chain, Trace
from shapecalc.view.budget import budget
from shapecalc.view.canvas import clipped_text, stacked
from shapecalc.view.flow import flow
from shapecalc.view.lanes import lanes
from shapecalc.view.rulers import rulers, worth_drawing
from shapecalc.view.stages import CUTTING, INFERS, Stage, place_of, stages
from shapecalc.view.strokes import UNICODE, Strokes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Draw: TypeAlias = Callable[[Trace | Chain, Stage, int, int, int, Strokes], Text]

COUNTED = ("indivisible", "infer-limit", "volume-mismatch", "zero-volume-infer")
"""The refusals that are about element counts."""
MOST_PICTURES = 4
"""How many pictures `--explain` prints under the flow."""


def picture(answer: Trace | Chain, at: int, *, width: int = 78, height: int = 12, strokes: Strokes = UNICODE) -> Text:
    """Return the picture of step `at`; past the last step, of what failed.

    >>> import shapecalc as sc
    >>> from shapecalc.view.strokes import ASCII
    >>> print(picture(sc.reshape((2, 3), (0, -1)), 0, strokes=ASCII))
    dim in            dim out
    0  a 2 ----- 0 -> 0  2     0 copies dim 0, which is 2
    1  b 3      -1    1  _
    """
    found = stages(answer)
    if not found:
        return stacked([clipped_text(Text("nothing is asked for: the tensor stays"), width, strokes)])
    stage = found[place_of(found, at)]
    return _drawing(answer, stage, at)(answer, stage, at, width, height, strokes)


def _drawing(answer: Trace | Chain, stage: Stage, at: int) -> Draw:
    """Return how a step is drawn: as counts, as cuts, or as lanes."""
    if stage.name not in CUTTING:
        return _lanes
    if at >= len(answer.steps):
        return _budget if stage.problem and stage.problem.rule in COUNTED else _lanes
    rule = answer.steps[at].rule
    return _budget if rule in INFERS else _rulers if rule in ("regroup", "merge") else _lanes


def _lanes(answer: Trace | Chain, stage: Stage, at: int, width: int, height: int, strokes: Strokes) -> Text:
    return lanes(answer, stage, at, width=width, height=height, strokes=strokes)


def _budget(answer: Trace | Chain, stage: Stage, _at: int, width: int, _height: int, strokes: Strokes) -> Text:
    return budget(answer, stage, width=width, strokes=strokes)


def _rulers(answer: Trace | Chain, stage: Stage, _at: int, width: int, height: int, strokes: Strokes) -> Text:
    return rulers(answer, stage, width=width, height=height, strokes=strokes)


def explained(answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE) -> Text:
    """Return the flow of an answer, and the pictures of those of its steps that the flow does not show."""
    parts = [flow(answer, width=width, strokes=strokes)]
    for at in _telling(answer, width)[:MOST_PICTURES]:
        drawn = picture(answer, at, width=width, strokes=strokes)
        if drawn.plain:
            parts += [Text(""), drawn]
    return stacked(parts)


def _telling(answer: Trace | Chain, width: int) -> list[int]:
    """Return the steps whose pictures tell more than the flow: -1, cuts that merge, split or mix, and a refusal.

    A 0 is among them where its dim is made of other axes than the one that it copies the size of.
    """
    found = []
    for stage in stages(answer):
        if stage.name not in CUTTING:
            continue
        rules = {number: answer.steps[number].rule for number in stage.numbers}
        copies = [number for number, rule in rules.items() if rule == "copy-zero"]
        if any(_copies_elsewhere(answer, stage, number) for number in copies):
            found.append(copies[-1])
        found += [number for number, rule in rules.items() if rule in INFERS]
        found += [number for number, rule in rules.items() if rule == "regroup" and worth_drawing(stage, width)]
        if stage.problem and stage.problem.rule in COUNTED:
            found.append(len(answer.steps))
    return found


def _copies_elsewhere(answer: Trace | Chain, stage: Stage, number: int) -> bool:
    """Say whether a step copies the size of an axis that does not become the dim."""
    step = answer.steps[number]
    if not stage.move or step.value == 0:
        return False
    return not any(step.out in link.outs and step.out in link.sources for link in stage.links)
