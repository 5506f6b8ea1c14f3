"""Lines to type in: those of a question, with their names before them, and those of an answer."""

from __future__ import annotations

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input

from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.doctor.report import Diagnosis

EDITING = {binding.key: binding.action for binding in Binding.make_bindings(Input.BINDINGS)}
"""The actions of the keys that a line to type in takes beside letters."""
BETWEEN_FIELDS = 2
"""The blanks before the name of a field."""


class TextField(Input):
    """A line to type in. A control character is shown escaped, so that it never reaches the terminal."""

    virtual_size = Reactive(Size(0, 0))
    """The size of its text. The line has a width of its own, so a key does not lay out the screen."""

    def __init__(self, value: str = "", **options: Any) -> None:
        """Make a line that does not select its text when it gets the focus: the first key must not wipe it."""
        super().__init__(value, compact=True, select_on_focus=False, **options)
        self.cursor_blink = False

    def validate(self, value: str) -> None:
        """Check nothing: what is typed is judged as a question, and styles that tell so are for no use."""

    class Diagnosed(Message):
        """A runtime's error message was pasted."""

        def __init__(self, found: Diagnosis) -> None:
            """Keep what the doctor reads in it."""
            super().__init__()
            self.found = found

    class CodePasted(Message):
        """A line of code was pasted."""

        def __init__(self, text: str) -> None:
            """Keep the line."""
            super().__init__()
            self.text = text

    def validate_value(self, value: str) -> str:
        """Return what is typed, with what cannot be seen escaped."""
        return visible(value)

    def on_paste(self, event: events.Paste) -> None:
        """Tell of a pasted error message or line of code in place of typing it; anything else is typed."""
        if self.screen.is_modal:
            return
        from shapecalc.core.code import is_code  # only who pastes needs them
        from shapecalc.doctor.report import diagnosis

        found = diagnosis(event.text) if " " in event.text.strip() else None
        if found is not None and found.found:
            event.prevent_default().stop()
            self.post_message(self.Diagnosed(found))
        elif is_code(event.text):
            event.prevent_default().stop()
            self.post_message(self.CodePasted(event.text))

    def on_focus(self) -> None:
        """Bring the cursor into view: a text that was set before there was any width is not scrolled."""
        at, self.cursor_position = self.cursor_position, 0
        self.cursor_position = at


class AnswerField(TextField):
    """A line for an answer, which takes all its keys in their order, however fast they come.

    On Textual's own way, over the app, those that edit and submit are overtaken by later letters.
    """

    async def on_key(self, event: events.Key) -> None:
        """Take a key that edits or submits."""
        if action := EDITING.get(event.key):
            event.prevent_default().stop()
            await self.run_action(action)


class Field(TextField):
    """One input of a question, with room for its name before it."""

    def __init__(self, name: str, value: str = "") -> None:
        """Make a field of that name."""
        super().__init__(value, id=f"field-{name}", classes=f"-{name}")
        self.field_name = name
        self.label = name.replace("_", "-")

    def on_resize(self) -> None:
        """Have its name drawn where it is now."""
        if isinstance(self.parent, Fields):
            self.parent.refresh()


class Fields(Horizontal):
    """Fields in a row. It draws the name of each before it, so that no name is a widget of its own."""

    def __init__(self, *fields: Field) -> None:
        """Make a row of fields."""
        super().__init__(*_spaced(fields))

    async def show_others(self, fields: Sequence[Field]) -> None:
        """Show other fields in place of those."""
        await self.remove_children()
        await self.mount(*_spaced(fields))

    def render_line(self, y: int) -> Strip:
        """Return the names, each before its field."""
        style, line, width = self.visual_style.rich_style, "", self.size.width
        for field in self.query_children(Field) if y == 0 else ():
            line = line.ljust(field.region.x - self.region.x - len(field.label) - 1) + field.label
        return Strip([Segment(line.ljust(width), style)]).adjust_cell_length(width, style)


def _spaced(fields: Sequence[Field]) -> Sequence[Field]:
    """Return fields with room for their names, and between them."""
    for place, field in enumerate(fields):
        field.styles.margin = 0, 0, 0, len(field.label) + 1 + BETWEEN_FIELDS * bool(place)
    return fields
