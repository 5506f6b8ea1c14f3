"""The heights of the map panel and the step panel, shared by a question's steps.

If each step had its own heights, most steps would change the layout of the screen. Such a change takes as long as all
other work after a key press.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.record import Record, replace
from shapecalc.render.canvas import UNICODE
from shapecalc.render.flow import is_long_permutation
from shapecalc.render.pictures import gains_from_width
from shapecalc.render.stage_layout import layout_index, stage_layouts
from shapecalc.tui import explore_text
from shapecalc.tui.panels import BORDER_LINES, MIN_BESIDE_WIDTH, MIN_PANEL_LINES, is_truncated
from shapecalc.tui.state import ExploreState

MAX_MEASURED_STEPS = 40
"""The maximum number of steps that are drawn to find the shared heights of a question."""
MAX_KEPT_STRUCTURES = 8
"""The maximum number of answer structures with cached heights.

Several are needed, because the structure alternates while the user types.
"""
MIN_FULL_WIDTH_LINES, RESERVED_LINES = 28, 12
"""The minimum height, in lines, of a step below the map at the full width, and the height reserved for other panels."""
MIN_SPREAD_WIDTH = 100
"""The minimum width, in cells, of a map beside the step if it has the wires of many permuted axes."""
WIDE_WIDTH = 124
"""The terminal width, in cells, at which every picture fits half of the screen."""
BAR_CHARACTER = UNICODE.block
"""The character of bars for element counts; a refusal with such bars is drawn at the full width."""


class PictureHeights(Record):
    """The heights of the map panel and the step panel, and whether they are adjacent.

    Heights are in lines, with borders.
    """

    map: int
    step: int
    is_beside: bool
    answer: int = 1
    """The height of the answer with its sentence, in lines."""
    card: int = 0
    """The height of the answer with its sentence and the reasons for its dims, in lines."""

    def shorten(self, lines: int) -> dict[str, Any]:
        """Return the fields of `RequiredHeights` with a step that is shorter by `lines`.

        If the step is beside the map, the higher of the two is shortened.

        >>> PictureHeights(12, 9, is_beside=False).shorten(1), PictureHeights(8, 9, is_beside=True).shorten(1)["map"]
        ({'map': 12, 'step': 8, 'is_beside': False}, 8)
        """
        highest = max(self.map, self.step) - lines
        map_lines = min(self.map, highest) if self.is_beside else self.map
        step_lines = min(self.step, highest) if self.is_beside else self.step - lines
        return {"map": map_lines, "step": step_lines, "is_beside": self.is_beside}


MapLines = dict[tuple[object, ...], tuple[int, bool]]
"""A cache of map heights: the height in lines, and whether the map is truncated.

A key contains the size of the panel, the index of the stage, and whether the stage is complete.
"""


def measure_pictures(
    state: ExploreState, width: int, height: int, *, maps: MapLines | None = None, is_beside: bool | None = None
) -> PictureHeights:
    """Return the heights of the map panel and the step panel at the current step.

    They are side by side if both fit, unless `is_beside` is False. `width` and `height` are the size of the screen
    without the other panels. `maps` is a cache; most steps of a stage have the same map.
    """
    half, inner, content = width // 2 - 3, width - 2, height - BORDER_LINES
    maps = {} if maps is None else maps
    if is_beside is not False and width >= (MIN_SPREAD_WIDTH if _is_long_permutation(state) else MIN_BESIDE_WIDTH):
        map_lines, is_map_truncated = _measure_map(state, half, content, maps)
        if not is_map_truncated:
            step = explore_text.step_text(state, inner - half - 4, content)
            is_refused = state.answer is not None and state.answer.problem is not None
            hides_bars = is_refused and BAR_CHARACTER not in step.plain
            hides_bars = hides_bars and BAR_CHARACTER in explore_text.step_text(state, inner, content).plain
            if not (is_truncated(step, inner - half - 4) or hides_bars):
                beside = PictureHeights(map_lines, _panel_lines(step), is_beside=True)
                return _full_width_heights(state, (inner, content), beside, maps) or beside
    map_lines, _ = _measure_map(state, inner, content, maps)
    return PictureHeights(map_lines, _panel_lines(explore_text.step_text(state, inner, content)), is_beside=False)


def _is_long_permutation(state: ExploreState) -> bool:
    """Return whether the map shows the crossing wires of many axes.

    On a narrow screen, such a map needs the full width.
    """
    answer = state.visible_answer
    return answer is not None and answer.problem is None and is_long_permutation(stage_layouts(answer))


def _full_width_heights(
    state: ExploreState, size: tuple[int, int], beside: PictureHeights, maps: MapLines
) -> PictureHeights | None:
    """Return the heights of the map above the step, or None if this shows no more.

    `size` is the width and the height of each picture, and `beside` contains the heights of the pictures side by side.
    Rulers and windows show more at the full width, as does a map that then has blank lines between its dims.
    """
    width, height = size
    answer = state.visible_answer
    if answer is None or state.is_learning:
        return None
    is_ruler = gains_from_width(answer, explore_text.step_to_draw(state))
    is_window = is_ruler and explore_text.is_window_picture(state)
    is_ruler = is_window or (is_ruler and len(stage_layouts(answer)) > 1)
    if width >= WIDE_WIDTH and not is_window:
        return None
    if not (is_window or height >= MIN_FULL_WIDTH_LINES):
        return None
    map_lines, _ = _measure_map(state, width, height, maps)
    if not (is_ruler or map_lines > beside.map):
        return None
    step_lines = _panel_lines(explore_text.step_text(state, width, height))
    room = height + BORDER_LINES - (0 if is_window else RESERVED_LINES)
    if is_window and map_lines + step_lines > room:
        map_lines, _ = _measure_map(state, width, max(1, room - step_lines - BORDER_LINES), maps)
    return PictureHeights(map_lines, step_lines, is_beside=False) if map_lines + step_lines <= room else None


def _measure_map(state: ExploreState, width: int, height: int, maps: MapLines) -> tuple[int, bool]:
    """Return the height of the map with its border, and whether it is truncated."""
    key: tuple[object, ...] = (width, height)
    if state.answer is not None and not state.answer.problem:
        all_layouts = stage_layouts(state.answer)
        index = layout_index(all_layouts, None if state.is_complete else state.current_step)
        key = (*key, index, state.is_complete or state.current_step + 1 == all_layouts[index].step_range.stop)
    if key not in maps:
        drawn = explore_text.map_text(state, width, height)
        maps[key] = _panel_lines(drawn), is_truncated(drawn, width)
    return maps[key]


def _panel_lines(text: Text) -> int:
    return text.plain.count("\n") + 1 + BORDER_LINES


Structure = tuple[object, ...]
"""The properties of an answer on which its picture heights depend, without the digits of its sizes."""


class SharedHeights:
    """A cache of the shared heights of recent questions.

    The heights do not change while the user changes only sizes.
    """

    def __init__(self) -> None:
        """Create an empty cache."""
        self._kept: dict[Structure, tuple[Trace | Chain, PictureHeights, list[PictureHeights]]] = {}
        self._last_answer: Trace | Chain | None = None
        """The last answer for which heights were requested."""

    def find(self, state: ExploreState, width: int, height: int) -> tuple[PictureHeights, PictureHeights] | None:
        """Return the heights shared by all steps, and those of the current step.

        `width` and `height` are the size of the map, the step and the answer together. Returns None for a refusal, in
        learning mode, and if there are too many steps, because each step then has its own heights.
        """
        answer = state.answer
        if answer is None or answer.problem or state.is_learning or state.result.answer is None:
            return None
        key = (width, height, *_structure(answer))
        kept, is_new = self._kept.get(key), answer is not self._last_answer
        self._last_answer = answer
        if kept is None or not (is_new or answer is kept[0]):
            kept = answer, *_measure_steps(state, answer, width, height)
            self._kept = {**dict([*self._kept.items()][1 - MAX_KEPT_STRUCTURES :]), key: kept}
        if not kept[2]:
            return None
        return kept[1], kept[2][min(state.current_step, len(kept[2]) - 1)]


def _structure(answer: Trace | Chain) -> Structure:
    return tuple(
        [
            (
                layout.stage.kind,
                layout.name,
                len(layout.cells_before),
                layout.wires,
                layout.mixing_dims,
                layout.step_range,
            )
            for layout in stage_layouts(answer)
        ]
    )


def _measure_steps(
    state: ExploreState, answer: Trace | Chain, width: int, height: int
) -> tuple[PictureHeights, list[PictureHeights]]:
    """Return the shared heights, and the heights of each step.

    The last item is for the position after the last step. The list is empty if there are too many steps. If some step
    does not fit beside the map, the shared heights are for steps below the map.
    """
    if len(answer.steps) > MAX_MEASURED_STEPS:
        return PictureHeights(0, 0, is_beside=False), []
    probe, maps = copy(state), MapLines()
    card = explore_text.reason_lines(probe, width)

    def measure(step: int, *, is_beside: bool | None = None) -> PictureHeights:
        probe.go_to_step(step)
        answer_lines = len(explore_text.answer_lines(probe, width, omits_repetition=True))
        card_lines = len(explore_text.answer_lines(probe, width, card=card, omits_repetition=True))
        lines = max(MIN_PANEL_LINES, height - answer_lines)
        measured = measure_pictures(probe, width, lines, maps=maps, is_beside=is_beside)
        return replace(measured, answer=answer_lines, card=card_lines)

    heights = [measure(step) for step in range(len(answer.steps) + 1)]
    if all(row.is_beside for row in heights):
        return _max_heights(heights), heights
    below = [measure(step, is_beside=False) if row.is_beside else row for step, row in enumerate(heights)]
    return _max_heights(below), heights


def _max_heights(rows: Sequence[PictureHeights]) -> PictureHeights:
    """Return the maximum of each height over all steps.

    The heights of the answer after the last step are ignored.
    """
    return PictureHeights(
        max([row.map for row in rows]),
        max([row.step for row in rows]),
        is_beside=all(row.is_beside for row in rows),
        answer=max([row.answer for row in rows[:-1]], default=1),
        card=max([row.card for row in rows[:-1]], default=0),
    )
