"""A tally: how many in a room predict which shape, as bars under the predictions."""

from __future__ import annotations

from rich.text import Text

from shapecalc.core.record import Record
from shapecalc.view.canvas import stack
from shapecalc.view.figures import Scale, figures, figures_width
from shapecalc.view.strokes import UNICODE, clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
LEAST_BAR = 20
"""The cells that the longest bar takes in large figures; if there is less room, all is written small."""


class Bar(Record):
    """One prediction, and how many made it; None if nobody has been counted."""

    text: str
    count: int | None = None


def bars(predictions: Sequence[Bar], *, width: int, height: int) -> Text:
    """Return predictions with their letters, and under each a bar for its count, in large figures if there is room.

    >>> print(bars([Bar("4,2,3", 12), Bar("4,3,2", 3)], width=30, height=4))
    A 4,2,3
      ████████████████████████ 12
    B 4,3,2
      ██████ 3
    """
    names = [f"{chr(ord('A') + place)} {bar.text}" for place, bar in enumerate(predictions)]
    most = max([1, *(bar.count or 0 for bar in predictions)])
    scale = Scale.MEDIUM
    large = (2 * scale.rows + 1) * len(names) <= height
    large = large and max([LEAST_BAR, *(figures_width(name, scale) for name in names)]) <= width
    parts = []
    for name, bar in zip(names, predictions, strict=True):
        if large:
            number = figures("" if bar.count is None else str(bar.count), scale)
            room = width - figures_width(str(most), scale) - 2 * GAP
            parts += [Text(line, "bold") for line in figures(name, scale)]
            parts += [_bar(bar, most, room, line) for line in number] + [Text("")]
        else:
            parts.append(Text(clip(name, width, UNICODE), "bold"))
            parts.append(_bar(bar, most, width - len(str(most)) - 2 * GAP, "" if bar.count is None else str(bar.count)))
    return stack(parts)


def _bar(bar: Bar, most: int, room: int, number: str) -> Text:
    return Text(" " * GAP + UNICODE.block * round(max(0, room) * (bar.count or 0) / most)).append(f" {number}", "bold")
