"""The story of an answer: its flow, the picture that shows most and the steps on one screen; or every picture."""

from __future__ import annotations

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.text import number_text
from shapecalc.view.canvas import stack
from shapecalc.view.flow import flow
from shapecalc.view.pictures import explain, pictures
from shapecalc.view.steps import steps_text
from shapecalc.view.strokes import UNICODE, Strokes

SCREEN = 24
"""The lines of a screen, as terminals open."""
LEAST_FLOW = 6
"""The fewest lines of the flow, if the steps leave less."""


def story(
    answer: Trace | Chain,
    *,
    width: int = 78,
    strokes: Strokes = UNICODE,
    below: int = 0,
    more: str = "",
) -> Text:
    """Return the flow of an answer, a picture and every step: what a screen has room for, with `below` lines under it.

    `width` is in character cells. Steps are never left out. `more` is how every picture is asked for, which is said if
    there are others; without it, all are drawn.

    >>> import shapecalc as sc
    >>> answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3))
    >>> len(str(story(answer, more="--explain=all")).splitlines())
    17
    """
    steps = steps_text(answer)
    if not more:
        return stack([explain(answer, width=width, strokes=strokes), Text(""), steps])
    room = SCREEN - below - _lines(steps, width) - 1
    drawn = flow(answer, width=width, strokes=strokes)
    if _lines(drawn, width) > room:
        drawn = flow(answer, width=width, height=max(room, LEAST_FLOW), strokes=strokes)
    told = pictures(answer, width=width, strokes=strokes)
    room -= _lines(drawn, width) + 1 + (len(told) > 1)
    shown = next((each for each in told if _lines(each, width) <= room), None)
    others = len(told) - (shown is not None)
    note = Text(f"{number_text(others, 'more picture', 'more pictures')}: {more}", "dim")
    middle = [] if shown is None else [Text(""), shown]
    return stack([drawn, *middle, *([note] if others else []), Text(""), steps])


def _lines(text: Text, width: int) -> int:
    """Return how many lines of a terminal a text takes."""
    return sum(max(1, -(-line.cell_len // width)) for line in text.split("\n", allow_blank=True))
