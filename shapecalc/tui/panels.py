"""The panels of the app, their heights, and the layout of their fields.

The heights depend only on the heights that the panels need, so that every screen can use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.text import Text
from textual.containers import Container
from textual.content import Content
from textual.geometry import NULL_OFFSET, NULL_SIZE, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.reactive import Reactive
from textual.widget import Widget

from shapecalc.core.record import Record
from shapecalc.render.canvas import UNICODE
from shapecalc.tui import widgets

BORDER_LINES = 2
"""The number of border lines of a panel."""
MIN_PANEL_LINES = 5
"""The minimum height of a panel with scrollable contents, in lines with the border."""
MAX_SPARE_LINES = 3
"""The maximum number of spare lines that the map and the step use on a low screen.

Because of the spare lines, fewer steps change the heights of the panels.
"""
HIGH_LINES = 28
"""The total height of the panels, in lines, from which on the map and the step use at most one spare line."""
MIN_BESIDE_WIDTH = 76
"""The minimum width for two panels side by side, in cells."""
NO_ROOM_PREFIX = "no room"
"""The beginning of the note that the wires do not fit."""
FOCUS_SYMBOL = "▸"
"""The symbol in the title of the panel with the focus."""
FIELD_WIDTH_STEP = 6
"""The number of cells of which the width of a field is a multiple.

Most typed characters therefore do not change the layout.
"""
MIN_FIELD_WIDTH, FIELD_GAP = 6, 2
"""The minimum width of a field, and the gap between two fields, in cells."""


class RequiredHeights(Record):
    """The height that each panel needs, in lines with the border.

    A hidden panel has the height 0.
    """

    map: int
    step: int
    card: int = 0
    elements: int = 0
    command: int = 1
    compare: int = 0
    all_elements: int = 0
    """The height of the elements at every stage, which applies instead of `elements` if all panels fit."""
    whole_compare: int = 0
    """The height of the comparison with all dialects, which applies instead of `compare` if all panels fit."""
    listed_compare: int = 0
    """The height of the comparison with all dialects in columns, which applies instead of `whole_compare` if all panels
    fit.
    """
    is_beside: bool = True
    """Whether the step fits beside the map; otherwise it is below the map."""


class PanelHeights(Record):
    """The height of each panel in lines; 0 if the panel is hidden."""

    map: int
    step: int
    card: int
    elements: int
    command: int
    compare: int
    is_beside: bool
    spare: int = 0
    """The number of lines that no panel uses."""


def allocate_panel_heights(lines: int, needs: RequiredHeights) -> PanelHeights:
    """Distribute the lines of a screen among its panels.

    If there are too few lines, the comparison is reduced first, then the command line, the elements, the card with the
    reasons, the step, and the map.

    >>> needs = RequiredHeights(6, 8, card=2, elements=5, compare=4)
    >>> names = ("map", "step", "card", "elements", "command", "compare")
    >>> [getattr(allocate_panel_heights(30, needs), name) for name in names]
    [9, 9, 2, 5, 1, 4]
    >>> [getattr(allocate_panel_heights(11, needs), name) for name in names]
    [8, 8, 2, 0, 1, 0]
    """
    map_lines = min(lines, needs.map)
    if needs.is_beside:
        map_lines = step_lines = min(lines, max(needs.map, needs.step))
        free = lines - map_lines
    else:
        free = lines - map_lines
        step_lines = min(needs.step, free) if free >= min(needs.step, MIN_PANEL_LINES) else 0
        free -= step_lines
    others = list[int]()
    for need in (needs.card, needs.elements, needs.command, needs.compare):
        others.append(need if need <= free else 0)
        free -= others[-1]
    for index, need in ((1, needs.all_elements), (3, needs.whole_compare), (3, needs.listed_compare)):
        is_shown = others[index] or (index == 1 and not needs.elements)
        if need and is_shown and 0 <= need - others[index] <= free:
            free -= need - others[index]
            others[index] = need
    extra = min(free, MAX_SPARE_LINES if lines < HIGH_LINES else 1)
    grow_map, grow_step = (extra, extra) if needs.is_beside else (extra // 2, extra - extra // 2)
    card, elements, command, compare = others
    return PanelHeights(
        map_lines + grow_map,
        step_lines and step_lines + grow_step,
        card,
        elements,
        command,
        compare,
        needs.is_beside,
        free - extra,
    )


def has_smaller_panel(heights: PanelHeights, own: PanelHeights, needs: RequiredHeights) -> bool:
    """Return whether a needed panel is smaller with shared heights than with its own.

    `heights` are shared by all steps of a question, `own` are computed for the current step, and `needs` are the
    heights that the panels need at this step.

    >>> needs = RequiredHeights(6, 8, elements=5)
    >>> shared, own = (allocate_panel_heights(14, row) for row in (RequiredHeights(6, 12, elements=5), needs))
    >>> has_smaller_panel(shared, own, needs), has_smaller_panel(own, own, needs)
    (True, False)
    """
    for name in ("map", "step", "card", "command"):
        if getattr(heights, name) < min(getattr(own, name), getattr(needs, name)):
            return True
    return heights.elements < own.elements or heights.compare < own.compare


class Middle(Container):
    """The container of the map panel and the step panel."""

    virtual_size = Reactive(NULL_SIZE)
    """The size of the children, as in Textual; its change does not cause a second layout."""


class Bottom(Middle):
    """The container of the command and the keys."""


class Panel(widgets.Pane):
    """A focusable pane with a border and a title."""

    def __init__(self, widget_id: str) -> None:
        """Create an empty panel."""
        super().__init__(widget_id)
        self._shown_title = ""

    def set_title(self, title: str, keys: str = "") -> None:
        """Set the title; while the panel has the focus, it includes `keys`."""
        is_entered = self.screen.focused is self  # `has_focus` is updated only by a later event
        shown = f"{FOCUS_SYMBOL} {title.partition(' · ')[0]} · {keys}" if is_entered and keys else title
        if shown != self._shown_title:
            self._shown_title = shown
            self.border_title = Content(shown)

    def set_drawing(
        self, draw: widgets.TextRenderer, room: int, extend: Callable[[Text, int, int], Text] | None = None
    ) -> None:
        """Set the function that draws the contents of the panel.

        `draw` is called with a height of `room` lines, over which it spaces the rows. If the drawing does not fit the
        panel, it is called with the height of the panel. If lines remain, `extend` adds lines to the drawing.
        """

        def render(width: int, height: int) -> Text:
            drawing = draw(width, max(room, height))
            lines = drawing.plain.split("\n")
            if room > height and not (len(lines) <= height and max(map(len, lines)) <= width):
                drawing = draw(width, height)
            return drawing if extend is None else extend(drawing, width, height)

        self.set_renderer(render)

    def set_height(self, lines: int) -> None:
        """Set the height in lines with the border; 0 hides the panel."""
        set_widget_height(self, lines)


def set_widget_height(widget: Widget, lines: int) -> None:
    """Set the height of a widget in lines; 0 hides the widget."""
    if widget.display != bool(lines):
        widget.display = bool(lines)
    if lines and (widget.styles.height is None or widget.styles.height.value != lines):
        widget.styles.height = lines


class WrappingLayout(Layout):
    """A layout that wraps labelled fields into as few rows as possible.

    The children are pairs of a label and a field, followed by the carets. The carets are placed below the row of the
    invalid field.
    """

    name = "wrapping"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:
        """Return the placement of each child."""
        carets = [child for child in children if isinstance(child, Carets)]
        pairs = zip(*[iter(child for child in children if not isinstance(child, Carets))] * 2, strict=False)
        rows = arrange_rows([(label, field, label_width(field)) for label, field in pairs], size.width)
        placements, y = list[WidgetPlacement](), 0
        for row in rows:
            x = 0
            for label, field, name_width in row:
                width = max(1, min(size.width - x - name_width, required_width(field)))
                placements.append(_make_placement(label, Region(x, y, name_width, 1)))
                placements.append(_make_placement(field, Region(x + name_width, y, width, 1)))
                x += name_width + width + FIELD_GAP
            y += 1
            if carets and carets[0].field_name in [getattr(field, "field_name", "") for _, field, _ in row]:
                placements.append(_make_placement(carets[0], Region(0, y, size.width, 1)))
                y += 1
        return placements


LabelledField = tuple[Widget, Widget, int]
"""A label, the field after it, and the width of the label in cells."""


def arrange_rows(fields: Sequence[LabelledField], width: int) -> list[list[LabelledField]]:
    """Group labelled fields into as few rows as possible that fit a width."""
    rows, x = list[list[LabelledField]]([[]]), 0
    for label, field, name_width in fields:
        cells = name_width + required_width(field)
        if rows[-1] and x + cells > width:
            rows.append([])
            x = 0
        rows[-1].append((label, field, name_width))
        x += cells + FIELD_GAP
    return rows


def count_rows(fields: Iterable[Widget], width: int) -> int:
    """Return the number of rows that fields need at a width."""
    return len(arrange_rows([(field, field, label_width(field)) for field in fields], width))


def label_width(field: Widget) -> int:
    """Return the width of the label of a field, including the space after it."""
    return len(getattr(field, "field_name", "")) + 1


def is_truncated(text: Text, width: int) -> bool:
    """Return whether a drawing exceeds a width, or omits stages or axes."""
    return any(
        (len(line) >= width and line.endswith(UNICODE.ellipsis)) or line.startswith((UNICODE.ellipsis, NO_ROOM_PREFIX))
        for line in text.plain.split("\n")
    )


def _make_placement(widget: Widget, region: Region) -> WidgetPlacement:
    return WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, widget)


def required_width(field: Widget) -> int:
    """Return the width that a field needs for its text or placeholder.

    The width includes the cursor.
    """
    text = getattr(field, "value", "") or getattr(field, "placeholder", "")
    return max(MIN_FIELD_WIDTH, FIELD_WIDTH_STEP * -(-(len(text) + 2) // FIELD_WIDTH_STEP))


class Carets(widgets.ClickableText):
    """The carets below the invalid characters of a field."""

    def __init__(self) -> None:
        """Create hidden carets."""
        super().__init__("carets")
        self.field_name = ""
        self.display = False

    def move_to_field(self, field_name: str) -> bool:
        """Move the carets below the row of a field; an empty name hides them.

        Returns whether the carets moved.
        """
        if field_name == self.field_name and self.display == bool(field_name):
            return False
        self.field_name, self.display = field_name, bool(field_name)
        return True


class FieldPanel(Container):
    """The panel of the question, with labelled fields in rows."""

    def __init__(self, fields: Sequence[widgets.Field]) -> None:
        """Create the panel with the given fields."""
        super().__init__(*widgets.label_fields(fields), Carets(), id="question")
        self._wrapping_layout = WrappingLayout()
        self._shown_titles = ("", "")

    def set_titles(self, title: str, subtitle: str) -> None:
        """Set the title and the subtitle, if they are new.

        Setting the same title again would redraw all fields.
        """
        if (title, subtitle) != self._shown_titles:
            self._shown_titles = title, subtitle
            self.border_title, self.border_subtitle = Content(title), Content(subtitle)

    @property
    def layout(self) -> Layout:
        """The wrapping layout, which a style sheet cannot select."""
        return self._wrapping_layout

    def rearrange(self) -> None:
        """Arrange the fields again after a text has changed."""
        self._clear_arrangement_cache()
        self.refresh(layout=True)

    @property
    def carets(self) -> Carets:
        """The carets below the invalid characters."""
        return self.query_one(Carets)

    async def replace_fields(self, fields: Sequence[widgets.Field]) -> None:
        """Replace all fields."""
        carets = self.carets
        carets.move_to_field("")
        await self.remove_children("Label, Field")
        await self.mount(*widgets.label_fields(fields), before=carets)
