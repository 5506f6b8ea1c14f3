"""Texts whose places can be clicked, and panes that draw what `view` makes for the room there is."""

from __future__ import annotations

from functools import lru_cache
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Span, Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from shapecalc.view.canvas import UNICODE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from rich.console import Console
    from rich.style import Style
    from textual.color import Color
    from textual.filter import LineFilter

    Drawing = Callable[[int, int], Text]


def draw_nothing(_width: int, _height: int) -> Text:
    """Return a picture of nothing."""
    return Text()


class MarkClicked(Message):
    """Something that carries meta data was clicked: a dim of the flow, a step of the rail, a key, an element."""

    def __init__(self, kind: str, value: object) -> None:
        """Keep the name of the meta data, and its value."""
        super().__init__()
        self.kind = kind
        self.value = value


class ClickableText(Widget):
    """A text as high as it has lines, in which the places that carry meta data can be clicked.

    Its lines go to the screen as they are. Textual's own texts wrap them and give each run of characters a style of
    its own, so that the mouse can select it: that took as long as all the rest of a key stroke.
    """

    KINDS = ("dim", "step", "key", "cell")
    ALLOW_SELECT = False

    def __init__(self, name: str, action: str = "") -> None:
        """Make an empty text, never of markup; a click where there is no meta data is that of the key of an action."""
        super().__init__(id=name)
        self.text = Text()
        self.action = action
        self._lines: list[list[Segment]] = []
        self._region = Region()
        self._strips: dict[int, Strip] = {}
        """The lines of that region as they go to the screen, as far as they have not changed since."""

    def put(self, text: Text) -> None:
        """Show the lines that are others than those there now; lay the screen out only if there are more or fewer."""
        if text == self.text and text.style == self.text.style:
            return
        lines = _segment_lines(text, self.app.console)
        before, self._lines, self.text = self._lines, lines, text
        if len(before) != len(lines) and self.styles.auto_dimensions:
            self.refresh(layout=True)
            return
        changed = [y for y, (old, new) in enumerate(zip_longest(before, lines)) if old != new]
        starts = [y for y in changed if y - 1 not in changed]
        ends = [y for y in changed if y + 1 not in changed]
        if changed:
            width = self.outer_size.width
            self.refresh(*(Region(0, y, width, end + 1 - y) for y, end in zip(starts, ends, strict=True)))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def refresh(self, *regions: Region, **options: bool) -> Self:
        """Have some lines drawn anew, or everything."""
        for y in (y for region in regions for y in region.line_range):
            self._strips.pop(y, None)
        if not regions:
            self._strips.clear()
        return super().refresh(*regions, **options)

    def notify_style_update(self) -> None:
        """Have everything drawn in the new style."""
        self._strips.clear()
        super().notify_style_update()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of a region. At each key the screen asks for all, and few have changed."""
        if crop != self._region:
            self._region = crop
            self._strips.clear()
        top, *others = self.styles.gutter
        if any(others) or crop.width != self.outer_size.width or self.opacity < 1:
            return super().render_lines(crop)
        lines = range(crop.y - top, crop.bottom - top)
        if missing := [y for y in lines if y not in self._strips]:
            filters, background = tuple(self.get_line_filters()), self.background_colors[1]
            shown = _shown_over(self.visual_style.rich_style, background, filters)
            for y in missing:
                self._strips[y] = (
                    self._line(y, crop.width, shown) if y >= 0 else super().render_lines(crop)[y - lines[0]]
                )
        return [self._strips[y] for y in lines]

    def _line(self, y: int, width: int, shown: Callable[[Segment], Segment]) -> Strip:
        segments = self._lines[y] if y < len(self._lines) else []
        taken = cell_len("".join([segment.text for segment in segments]))
        if taken > width:
            segments = [*self.render_line(y)]
        elif taken < width:
            segments = [*segments, Segment(" " * (width - taken))]
        return Strip([*map(shown, segments)], width)

    def render_line(self, y: int) -> Strip:
        """Return one line; one that is too long ends with dots."""
        width, base = self.size.width, self.visual_style.rich_style
        if y >= len(self._lines):
            return Strip.blank(width, base)
        line = Strip(Segment.apply_style(self._lines[y], base))
        if line.cell_length > width:
            line = Strip.join([line.crop(0, width - 1), Strip([Segment(UNICODE.dots, base)])])
        return line.adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        """Tell what was clicked, if it carries meta data."""
        for kind in self.KINDS:
            if kind in event.style.meta:
                self.post_message(MarkClicked(kind, event.style.meta[kind]))
                return
        if self.action and self.text:
            self.post_message(MarkClicked("key", self.action))


@lru_cache(maxsize=16)
def _shown_over(base: Style, background: Color, filters: tuple[LineFilter, ...]) -> Callable[[Segment], Segment]:
    """Return what puts a segment over a style, as filters leave it. It keeps segments, as few are new at a key."""

    @lru_cache(maxsize=4096)
    def shown(segment: Segment) -> Segment:
        segments = [Segment(segment.text, base + segment.style if segment.style else base)]
        for each in filters:
            segments = each.apply(segments, background)
        return segments[0]

    return shown


def _segment_lines(text: Text, console: Console) -> list[list[Segment]]:
    """Return the lines of a text as Rich's `Text.render` does, but sooner if no span of it lies over another."""
    plain, at, lines = text.plain, 0, list[list[Segment]]([[]] if text else [])
    for start, end, style in (*text.spans, Span(len(text), len(text), "")):
        if text.style or start < at:
            return list(Segment.split_lines(text.render(console)))
        known = console.get_style(style) if isinstance(style, str) else style
        if start > at:
            _add_lines(lines, plain[at:start], None)
        if "\n" in (run := plain[start:end]):
            _add_lines(lines, run, known)
        elif run:
            lines[-1].append(Segment(run, known))
        at = end
    return lines


def _add_lines(lines: list[list[Segment]], run: str, style: Style | None) -> None:
    """Add a run of characters to the last of some lines, and to new ones."""
    for number, part in enumerate(run.split("\n")):
        if number:
            lines.append([])
        if part:
            lines[-1].append(Segment(part, style))


class FocusableText(ClickableText, can_focus=True):
    """A text that keys act on."""


class Pane(FocusableText):
    """A picture drawn anew for whatever room there is."""

    drawing: Drawing = staticmethod(draw_nothing)

    def draw(self, drawing: Drawing) -> None:
        """Show a drawing from now on."""
        self.drawing = drawing
        self.redraw()

    def redraw(self) -> None:
        """Draw for the room there is."""
        if self.size.width and self.size.height:
            self.put(self.drawing(self.size.width, self.size.height))

    def on_resize(self) -> None:
        """Draw for the new room."""
        self.redraw()


class Enlarge(Widget):
    """What is shown if the terminal is too small for anything else."""

    LEAST = (60, 18)

    def render(self) -> str:
        """Say how large the terminal is, and has to be."""
        width, height = self.app.size
        return f"enlarge the terminal to {self.LEAST[0]}x{self.LEAST[1]}; it is {width}x{height}"
