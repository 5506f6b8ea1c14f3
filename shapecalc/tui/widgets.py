"""The widgets of the main screen: fields, and panes that draw what `view` makes at the size they have."""

from __future__ import annotations

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Label, Static

from shapecalc.core.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Drawing = Callable[[int, int], Text]


def nothing(_width: int, _height: int) -> Text:
    """Draw nothing."""
    return Text()


class Marked(Message):
    """Something that carries meta data was clicked: a dim of the flow, a step of the rail, a key."""

    def __init__(self, kind: str, value: object) -> None:
        """Keep the name of the meta data, and its value."""
        super().__init__()
        self.kind = kind
        self.value = value


SENT = "sent to the terminal's clipboard"
"""What is said of a copy: whether the terminal takes it is the terminal's own setting."""


class Drawn(Static):
    """A text of as many lines as it has, in which marked places can be clicked."""

    KINDS = ("dim", "step", "key")

    def __init__(self, name: str) -> None:
        """Make an empty text; what is shown is never markup."""
        super().__init__("", id=name, markup=False)
        self.text = Text()

    def put(self, text: Text) -> None:
        """Show a text, where it is another than the one that is shown; lay the screen out anew if its height is."""
        before, self.text = self.text, text
        if text != before or text.style != before.style:
            self.update(text, layout=_height(text) != _height(before))

    def on_click(self, event: events.Click) -> None:
        """Tell what was clicked, where it carries meta data."""
        for kind in self.KINDS:
            if kind in event.style.meta:
                self.post_message(Marked(kind, event.style.meta[kind]))


def _height(text: Text) -> int:
    return text.plain.count("\n") + 1 if text else 0


class Pane(Drawn, can_focus=True):
    """A picture drawn anew for whatever room there is."""

    drawing: Drawing = staticmethod(nothing)

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


class Entry(Input):
    """A line to type in, in which no control character reaches the terminal: it shows escaped."""

    def __init__(self, value: str = "", **options: Any) -> None:
        """Make a line that does not select its text when it gets the focus: the first key must not wipe it."""
        super().__init__(value, compact=True, select_on_focus=False, **options)
        self.cursor_blink = False

    class Scrolled(Message):
        """Other characters than before are in view."""

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Tell that the text has scrolled."""
        super().watch_scroll_x(old_value, new_value)
        self.post_message(self.Scrolled())

    def validate_value(self, value: str) -> str:
        """Return what is typed, escaped where it has to be."""
        return visible(value)

    def on_focus(self) -> None:
        """Bring the cursor into view: a text that came before there was any width is not scrolled."""
        at, self.cursor_position = self.cursor_position, 0
        self.cursor_position = at


class Field(Horizontal):
    """One input of the question with its name before it."""

    def __init__(self, name: str, value: str) -> None:
        """Make a field of that name."""
        super().__init__(classes=f"-{name}")
        self.entry = Entry(value, id=f"field-{name}")
        self.named = name

    def compose(self) -> ComposeResult:
        """Put the name before the input."""
        yield Label(f"{self.named.replace('_', '-')} ", markup=False)
        yield self.entry


class Enlarge(Widget):
    """What is shown where the terminal is too small for anything else."""

    LEAST = (60, 18)

    def render(self) -> str:
        """Say how large the terminal is, and has to be."""
        width, height = self.app.size
        return f"enlarge the terminal to {self.LEAST[0]}x{self.LEAST[1]}; it is {width}x{height}"
