"""Base classes of screens, and widgets for keys, text, lists and fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from inspect import cleandoc
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.problem import usage_error
from shapecalc.core.record import Record, replace
from shapecalc.core.text import escape_unprintable, suggest_name
from shapecalc.render.canvas import UNICODE
from shapecalc.tui.themes import THEMES

if TYPE_CHECKING:
    from shapecalc.diagnosis.report import Diagnosis

TextRenderer = Callable[[int, int], Text]
"""A function that renders a text for a width and a height in cells."""


class Key(Record):
    """A key of a screen, with its label, its action and its help."""

    name: str
    """Textual's name of the key."""
    display: str
    label: str
    action: str
    help: str
    priority: int
    """The position in the line of keys; the last positions are omitted first."""


KEYS = (
    Key("right", "→", "step", "step(1)", "Go to the next step", 0),
    Key("left", "←", "back", "step(-1)", "Go to the previous step", 1),
    Key("up", "↑", "dim up", "dim('up')", "Light the dim above, and what it comes from", 17),
    Key("down", "↓", "dim down", "dim('down')", "Light the dim below, and what it comes from", 18),
    Key("f", "f", "fix", "fix", "Apply the fix that is suggested", 2),
    Key("e", "e", "edit", "edit", "Edit the fields", 4),
    Key("g", "g", "elements", "elements", "Follow an element with the arrow keys", 5),
    Key("c", "c", "compare", "compare", "Compare all frameworks", 7),
    Key("l", "l", "learn", "mode", "Predict before anything is shown, or see everything (kept)", 6),
    Key("question_mark", "?", "keys", "app.help", "Explain the keys and the signs", 10),
    Key("slash", "/", "all", "app.command_palette", "Find a command by its name", 8),
    Key("s", "s", "copy", "app.save_screen('text')", "Copy the screen as text, and save it", 13),
    Key("t", "t", "tint", "tint", "Colour the elements by the next axis", 14),
    Key("p", "p", "picture", "save_picture", "Save a picture of the step (SVG, PNG, HTML)", 19),
    Key("q", "q", "quit", "app.quit", "Quit and print nothing", 12),
    Key("home", "Home", "first", "go(0)", "Go to the first step", 15),
    Key("end", "End", "last", "go(-1)", "Go past the last step", 16),
)
"""The keys that work while no field and no panel has the focus; the most useful is first."""
GLOBAL_KEYS = (
    Key("pagedown", "PgDn", "next", "step(1)", "Go to the next step", 20),
    Key("pageup", "PgUp", "back", "step(-1)", "Go to the previous step", 21),
    Key("f10", "F10", "done", "done", "Quit and print the answer", 22),
    Key("ctrl+g", "^G", "learn", "mode", "Predict before anything is shown, or see everything (kept)", 23),
    Key("ctrl+z", "^Z", "undo", "undo", "Undo the last change of the question", 24),
    Key("ctrl+p", "^P", "all", "app.command_palette", "Find a command by its name", 25),
    Key("ctrl+q", "^Q", "quit", "app.quit", "Quit and print nothing", 26),
    Key("f1", "F1", "keys", "app.help", "Explain the keys and the signs", 27),
)
"""The keys that work everywhere on the main screen."""
COMMANDS = (
    Key("", "", "", "choose", "Choose the operation and the framework", 0),
    Key("", "", "", "home", "Go to the start screen (home)", 0),
    Key("", "", "", "lessons", "Open the lessons", 0),
    Key("", "", "", "course", "Take the ten-minute course", 0),
    Key("", "", "", "code", "Show equivalent code", 0),
    Key("", "", "", "copy", "Copy the command line", 0),
    Key("", "", "", "film", "Play the request as a film", 0),
    Key("", "", "", "simplify", "Shorten the chain", 0),
    Key("", "", "", "cut", "Cut the tape of the elements (reshape by hand)", 0),
    Key("", "", "", "files", "Open an array of a file as the input", 0),
    Key("", "", "", "redo", "Redo the last undone change", 0),
    Key("", "", "", "theme", "Switch to the next theme", 0),
    Key("", "", "", "app.save_screen('svg')", "Save the whole screen as a picture (SVG)", 0),
)
"""The commands of the main screen that have no key."""
FIELD_KEYS = (
    Key("", "enter", "next field", "", "", 0),
    Key("", "esc", "leave the field", "leave_field", "", 1),
    Key("", "PgDn", "step", "step(1)", "", 2),
    Key("", "F1", "keys", "app.help", "", 3),
    Key("", "^P", "all", "app.command_palette", "", 4),
)
"""The keys in the line of keys while a field has the focus."""
YES_NO_KEY = Key("", "y n", "answer", "", "answer whether the request works", -1)
HINT_KEYS = (
    Key("", "enter", "hint, go on", "", "give a hint, or go on once it is right", 0),
    Key("", "↑↓", "place", "", "choose a blank to type into", 1),
)
LEARNING_KEYS = (
    Key("", "PgDn", "show", "step(1)", "", 2),
    Key("", "esc", "leave the blank", "leave_field", "", 3),
    Key("", "^G", "stop asking", "mode", "", 4),
    Key("", "F1", "keys", "app.help", "", 5),
    Key("", "^P", "all", "app.command_palette", "", 6),
)
"""The keys in the line of keys while a dim must be predicted."""
STEP_KEY, DIM_STEP_KEY = Key("", "←→", "step", "step(1)", "", 0), Key("", "↑↓", "dim", "dim('down')", "", 11)
"""Two items of the line of keys that each stand for a pair of arrow keys."""
LESSON_KEY = Key("", "esc", "lesson", "lessons", "", 1)
SOURCE_KEY = Key("", "esc", "code", "source", "", 1)
HOME_KEY = Key("", "esc", "start", "home", "", 9)
"""The keys that return to the screen from which a question was opened."""
KEPT_ACTIONS = ("app.help", "app.quit", "home", "lessons", "source")
"""The actions whose keys are omitted last if a line of keys does not fit."""
DIM_KEYS = "←→↑↓ dims · esc"
FOLLOW_KEYS = "←→↑↓ follow · 0,1 goes there · esc"
"""The keys in the titles of focused panels."""
DIM_KEY = Key("", "←→↑↓", "dims", "", "Light a dim and what it comes from", 0)
FOLLOW_KEY = Key("", "←→↑↓", "follow", "", "Follow another element; an index such as 0,1 goes there", 0)
PANEL_KEYS = (
    Key("", "esc", "leave", "leave_field", "", 3),
    Key("", "PgDn", "step", "step(1)", "", 4),
    Key("", "?", "keys", "app.help", "", 5),
    Key("", "/", "all", "app.command_palette", "", 6),
)
"""The keys in the line of keys while a panel has the focus."""
MISTAKE_KEY_NAME = "m"
MISTAKE_KEY = Key("", MISTAKE_KEY_NAME, "mistake", "mistake", "draw a mistake with the same sizes beside it", 1)
"""The key that compares the elements with those of a mistake of the same shape."""
MIN_LIST_WIDTH = 4
"""The minimum width, in cells, at which the height of a list is computed."""
KEY_NAME_PATTERN = re.compile(r"\b(enter|esc|escape|tab|F[0-9]{1,2})\b")
"""The pattern of a key name in a sentence."""
ASSIGNABLE_KEY_PATTERN = re.compile(r"(?![0-9\[-])[!-~]|ctrl\+[a-z]|f([2-9]|1[0-2])")
"""The pattern of the keys that the user's configuration can assign."""
EDIT_ACTIONS = {binding.key: binding.action for binding in Binding.make_bindings(Input.BINDINGS)}
"""The action of each key that edits or submits an input field."""
COMMON_KEYS = (
    ("F1 ?", "explain this"),
    ("/", "find an entry of a list"),
    ("q", "leave, as escape does; in a field ?, / and q are text, and enter moves on"),
)
"""The keys of all screens, with their effects."""
SILENT_KEYS = ("escape", "tab", "shift+tab", "ctrl+c", "ctrl+@")
"""The keys that may have no effect without a notification, because they only leave or move."""
IDLE_KEY_SECONDS = 3
"""The time, in seconds, for which the reason of a key without an effect is visible."""
COPY_TITLE = "sent to the terminal's clipboard"
"""The title of the notification about a copied text.

The settings of the terminal determine whether it accepts the text.
"""


@dataclass
class MetadataClicked(Message):
    """Posted after a click on text with metadata, such as a dim."""

    kind: str
    """The kind of the metadata, such as `dim` or `key`."""
    value: object


class ClickableText(Widget):
    """A text widget that posts a message after a click on its text.

    Lines are not wrapped, and their text cannot be selected. In Textual's own text widgets, wrapping and selection take
    as long as all other work after a key press.
    """

    METADATA_KINDS = ("dim", "step", "key", "cell")
    ALLOW_SELECT = False
    virtual_size = Reactive(Size(0, 0))
    """The size of the text, as in Textual; its change does not cause a second layout."""

    def __init__(self, widget_id: str, action: str = "") -> None:
        """Create an empty widget.

        A click on text without metadata runs `action`.
        """
        super().__init__(id=widget_id)
        self.text = Text()
        self.action = action
        self._lines: list[list[Segment]] = []

    def set_text(self, text: Text) -> None:
        """Replace the text.

        The layout is updated only if the number of lines changes.
        """
        if text == self.text and text.style == self.text.style:
            return
        before, self.text = len(self._lines), text
        self._lines = list(Segment.split_lines(text.render(self.app.console, end="\n"))) if text else []
        self.refresh(layout=before != len(self._lines) and self.styles.auto_dimensions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines of the text."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """Render a line, truncated with an ellipsis to the width of the widget."""
        width, base = self.size.width, self.visual_style.rich_style
        line = Strip(Segment.apply_style(self._lines[y] if y < len(self._lines) else (), base))
        if line.cell_length > width:
            line = Strip.join([line.crop(0, width - 1), Strip([Segment(UNICODE.ellipsis, base)])])
        return line.adjust_cell_length(width, base)

    def on_click(self, event: events.Click) -> None:
        """Post the metadata of the clicked text, or run the action of the widget."""
        for kind in self.METADATA_KINDS:
            if kind in event.style.meta:
                self.post_message(MetadataClicked(kind, event.style.meta[kind]))
                return
        if self.action and self.text:
            self.post_message(MetadataClicked("key", self.action))


class FocusableText(ClickableText, can_focus=True):
    """A clickable text that can have the focus."""


class Pane(FocusableText):
    """A text widget that renders its text again whenever its size changes."""

    renderer: TextRenderer | None = None

    def set_renderer(self, renderer: TextRenderer) -> None:
        """Set the function that renders the text, and redraw."""
        self.renderer = renderer
        self.redraw()

    def redraw(self) -> None:
        """Redraw for the current size."""
        if self.renderer and self.display and self.size.width and self.size.height:
            self.set_text(self.renderer(self.size.width, self.size.height))

    def on_resize(self) -> None:
        """Redraw for the new size."""
        self.redraw()


class SizeNotice(Widget):
    """The message shown instead of a screen if the terminal is too small."""

    MIN_SIZE = Size(60, 18)

    def render(self) -> str:
        """Return a message with the required and the current terminal size.

        In an app served to a browser, the message contains the address of the static page instead.
        """
        (width, height), least = self.app.size, f"{self.MIN_SIZE.width}x{self.MIN_SIZE.height}"
        if hint := getattr(self.app, "small_screen_hint", ""):
            return f"this screen is {width}x{height}, and {least} are needed: {hint}"
        return f"enlarge the terminal to {least}; it is {width}x{height}"

    @classmethod
    def is_needed(cls, size: Size) -> bool:
        """Return whether a terminal of this size is too small."""
        return size.width < cls.MIN_SIZE.width or size.height < cls.MIN_SIZE.height


class ScreenWithHelp(Screen[ScreenResultType]):
    """A base class of screens with help.

    F1 opens the help, and so does `?` outside of input fields.
    """

    KEYS: tuple[Key, ...] = ()
    """The keys that the help lists."""
    _idle_key: tuple[str, float] = ("", 0.0)
    """The last key without an effect, and the time of its notification."""
    BINDINGS = [Binding("question_mark", "app.help", show=False, id="main.keys")]

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return the description of the screen and the help for its keys."""
        about = cleandoc(type(self).__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        words = (f"{words.sentence}." for words in self.query(KeyHelp))
        return " ".join([about, *words]), [
            *((key.display, key.help) for key in self.with_user_keys(self.KEYS) if key.help),
            *COMMON_KEYS,
        ]

    def on_key(self, event: events.Key) -> None:
        """Notify the user if a key has no effect on this screen.

        A subclass that handles a key prevents this default.
        """
        if event.key not in SILENT_KEYS and not self.has_class("-small") and event.key not in self.active_bindings:
            shown, listing = format_key_name(event), "F1" if isinstance(self.focused, Input) else "? or F1"
            self.notify_idle_key(shown, self.idle_reason(event.key) or f"{listing} lists the keys of this screen")

    def notify_idle_key(self, display: str, reason: str) -> None:
        """Notify the user why a key has no effect, unless the notification is still visible."""
        (last, time), now = self._idle_key, monotonic()
        if display != last or now - time > IDLE_KEY_SECONDS:
            self._idle_key = display, now
            title = f"{escape_unprintable(display)} does nothing here"
            self.app.clear_notifications()
            self.notify(escape_unprintable(reason), title=title, markup=False, timeout=IDLE_KEY_SECONDS)

    def idle_reason(self, key: str) -> str:
        """Return why a key has no effect on this screen, or "" if it is not one of its keys."""
        return ""

    def with_user_keys(self, keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """Return keys of this screen, with the names that the user has assigned to them."""
        return apply_user_keys(keys, getattr(self.app, "user_keys", KEYS))


class Dialog(ModalScreen[ScreenResultType], ScreenWithHelp[ScreenResultType]):
    """A modal box on top of another screen."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("q", "leave", show=False, id="main.quit")]
    box_title = ""
    """The title in the border of the box; empty for a screen without a box."""

    def action_leave(self) -> None:
        """Close the dialog; this is the action of Esc."""
        self.app.simulate_key("escape")

    def compose(self) -> ComposeResult:
        """Compose the box with the contents of the dialog."""
        with Vertical(classes="dialog") as box:
            box.border_title = Content(f"{self.box_title} · esc") if self.box_title else None
            yield from self.compose_contents()

    def compose_contents(self) -> ComposeResult:
        """Yield the widgets in the box; subclasses override this method."""
        yield from ()

    @on(MetadataClicked)
    async def handle_click(self, event: MetadataClicked) -> None:
        """Run the action of a clicked key."""
        if event.kind == "key":
            await self.run_action(str(event.value))


class SearchableList(Widget):
    """A list in which a slash starts a search.

    The text typed after the slash selects the first entry that contains it.
    """

    search_text: str | None = None
    """The text typed after the slash; None if there is no search."""

    def entries(self) -> list[str]:
        """Return the text of each entry, in order."""
        raise TypeError(f"{type(self).__name__} has no entries")

    def select_entry(self, index: int) -> None:
        """Select the entry at an index."""
        raise TypeError(f"{type(self).__name__} has no entries")

    def on_key(self, event: events.Key) -> None:
        """Edit the search text and select the first match, or end the search."""
        before, self.search_text = self.search_text, None
        if before is None:
            self.search_text = "" if event.key == "slash" else None
        elif event.is_printable or event.key == "backspace":
            self.search_text = before + str(event.character) if event.is_printable else before[:-1]
        self.border_subtitle = None if self.search_text is None else Content(escape_unprintable(f"/{self.search_text}"))
        if self.search_text is not None or (before is not None and event.key in ("enter", "escape")):
            event.prevent_default().stop()
        text = (self.search_text or "").casefold()
        matches = (index for index, entry in enumerate(self.entries()) if text and text in entry.casefold())
        if (index := next(matches, None)) is not None:
            self.select_entry(index)


class ChoiceList(OptionList, SearchableList):
    """A list of options that accepts keys before its first layout.

    Textual's `OptionList` raises `KeyError` for a page key before the first layout, or if the list has no width.
    """

    def __init__(self, *options: Option, id: str) -> None:
        """Create a list of options whose texts contain no markup."""
        super().__init__(*options, id=id, markup=False)

    def entries(self) -> list[str]:
        """Return the text of each option."""
        return [str(option.prompt) for option in self.options]

    def select_entry(self, index: int) -> None:
        """Highlight the option at an index."""
        self.highlighted = index

    def render_line(self, y: int) -> Strip:
        """Render a line, with a pointer in the padding before the highlighted option."""
        strip, line = super().render_line(y), self.scroll_offset.y + y
        is_highlighted = line < len(self._lines) and self._lines[line] == (self.highlighted, 0)
        if not is_highlighted or not strip.text.startswith(" "):
            return strip
        pointer = Strip([Segment(UNICODE.pointer, next(iter(strip)).style)])
        return Strip.join([pointer, strip.crop(1)])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of all options, in lines."""
        return super().get_content_height(container, viewport, max(MIN_LIST_WIDTH, width))

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        with suppress(KeyError):
            super()._move_page(direction)


class KeyHelp(Static):
    """A sentence about the keys of a dialog, in which the names of keys are clickable."""

    def __init__(self, sentence: str, *, id: str | None = None) -> None:
        """Create the widget; it has a margin unless it has an id."""
        super().__init__(make_keys_clickable(sentence), id=id, classes=None if id else "words", markup=False)
        self.sentence = sentence

    def on_click(self, event: events.Click) -> None:
        """Simulate a press of the clicked key."""
        if key := event.style.meta.get("press"):
            event.stop()
            self.app.simulate_key(key)


class TextField(Input):
    """An input field that escapes control characters."""

    virtual_size = Reactive(Size(0, 0))
    """The size of the text, as in Textual; its change does not update the layout."""

    def __init__(self, value: str = "", *, select_on_focus: bool = False, **options: Any) -> None:
        """Create a field.

        If `select_on_focus` is True, the text is selected when the field gets the focus; the first key press then
        replaces it.
        """
        super().__init__(value, compact=True, select_on_focus=select_on_focus, **options)
        self.cursor_blink = False

    def validate(self, value: str) -> None:
        """Do nothing; the text is validated when the question is resolved."""

    @dataclass
    class ErrorPasted(Message):
        """Posted after the user pastes an error message of a runtime."""

        diagnosis: Diagnosis

    @dataclass
    class CodePasted(Message):
        """Posted after the user pastes a line of code."""

        text: str

    def validate_value(self, value: str) -> str:
        """Return the value with control characters escaped."""
        return escape_unprintable(value)

    def on_paste(self, event: events.Paste) -> None:
        """Post a message for a pasted error message or line of code; insert other text."""
        if self.screen.is_modal:
            return
        # imported here, because it takes a tenth of the app's start time
        from shapecalc.diagnosis.report import diagnose
        from shapecalc.reading.code import is_code

        report = diagnose(event.text) if " " in event.text.strip() else None
        if report is not None and report.entries:
            event.prevent_default().stop()
            self.post_message(self.ErrorPasted(report))
        elif is_code(event.text):
            event.prevent_default().stop()
            self.post_message(self.CodePasted(event.text))

    def render_line(self, y: int) -> Strip:
        """Render the text.

        If it does not fit and the field does not have the focus, an ellipsis ends it.
        """
        line, width = super().render_line(y), self.content_size.width
        if self.has_focus or cell_len(self.value) - self.scroll_offset.x <= width:
            return line
        last = [*line.crop(width - 1, width)]
        dots = Segment(UNICODE.ellipsis, last[0].style if last else None)
        return Strip.join([line.crop(0, width - 1), Strip([dots]), line.crop(width)])

    def on_focus(self) -> None:
        """Scroll to the cursor.

        Textual does not scroll if the value is set before the first layout.
        """
        position, self.cursor_position = self.cursor_position, 0
        self.cursor_position = position


class AnswerField(TextField):
    """A field that handles keys in the order in which they are pressed.

    In Textual's `Input`, the action of an editing key can run after characters that were typed later.
    """

    take_key: Callable[[str], bool] | None = None
    """A function that handles a key and returns whether it did; otherwise, the field handles the key.

    If there is such a function, the field ignores printable keys.
    """

    async def on_key(self, event: events.Key) -> None:
        """Run the action of an editing key or of Enter at once."""
        if self.take_key is not None and (self.take_key(event.key) or event.is_printable):
            event.prevent_default().stop()
            return
        if action := EDIT_ACTIONS.get(event.key):
            event.prevent_default().stop()
            await self.run_action(action)


for _sequence in ("\x1bb", "\x1bf"):  # Textual parses Alt+b and Alt+f as Ctrl+Left and Ctrl+Right
    cast(dict[str, object], ANSI_SEQUENCES_KEYS).pop(_sequence, None)


class Field(TextField):
    """An input field for an argument or a setting of the question."""

    @dataclass
    class LetterPressed(Message):
        """Posted after Alt and a letter, or after Esc and then a letter."""

        letter: str

    def on_key(self, event: events.Key) -> None:
        """Post a message if Alt and a letter are pressed."""
        if event.key.startswith("alt+"):
            event.prevent_default().stop()
            self.post_message(self.LetterPressed(event.key.removeprefix("alt+")))

    def __init__(self, name: str, value: str = "") -> None:
        """Create a field with a name and an initial text."""
        super().__init__(value, id=f"field-{name}", classes=f"-{name}")
        self.field_name = name
        self.input_name = name
        """The name of the input; in source code, it can be an expression."""


class FieldRow(Horizontal):
    """A row of labelled fields."""

    def __init__(self, *fields: Field) -> None:
        """Create a row of fields, each after its label."""
        super().__init__(*label_fields(fields))


@lru_cache(maxsize=16)
def format_key_line(
    active_actions: frozenset[str], width: int, keys: tuple[Key, ...] = KEYS, focused: tuple[Key, ...] = ()
) -> Text:
    """Format the keys of the focused widget and of the available actions.

    If not all keys fit the width, those of `KEPT_ACTIONS` are omitted last. The style of a key has its action as the
    metadata `key`.

    >>> format_key_line(frozenset({"step(1)", "step(-1)", "help"}), 24).plain
    '→ step  ← back'
    >>> format_key_line(frozenset({"step(1)", "step(-1)"}), 20, focused=(FOLLOW_KEY,)).plain
    '←→↑↓ follow  → step'
    """
    shown = [*focused]
    active = (key for key in keys if key.action in active_actions)
    for key in sorted(active, key=lambda key: (key.action not in KEPT_ACTIONS, key.priority)):
        if sum(_key_width(shown_key) + 2 for shown_key in [*shown, key]) - 2 <= width:
            shown.append(key)
    line = Text(no_wrap=True, end="")
    for key in sorted(shown, key=lambda key: key.priority):
        line.append("  " if line else "")
        meta = {"key": key.action} if key.action else {}
        line.append(key.display, Style(bold=True, meta=meta)).append(f" {key.label}", Style(meta=meta))
    return line


def format_key_name(event: events.Key) -> str:
    """Return the name of a pressed key as the line of keys writes it.

    >>> [format_key_name(events.Key(key, char)) for key, char in (("x", "x"), ("f10", None), ("ctrl+r", None))]
    ['x', 'F10', '^R']
    """
    if event.is_printable and event.character and not event.character.isspace():
        return event.character
    named = next((key.display for key in (*KEYS, *GLOBAL_KEYS) if key.name == event.key), "")
    return named or re.sub(r"^ctrl\+(.)$|^f(\d+)$", lambda match: _short_key_name(*match.groups()), event.key)


def _short_key_name(letter: str | None, number: str | None) -> str:
    return f"^{letter.upper()}" if letter else f"F{number}"


def key_binding_id(key: Key) -> str:
    """Return the binding id of a key.

    Keys with the same name and action have the same id on all screens, so that one setting of the user applies to all
    of them.

    >>> key_binding_id(KEYS[5]), key_binding_id(Key("e", "e", "inputs", "edit", "", 0))
    ('main.edit', 'main.edit')
    """
    label = next((main.label for main in KEYS if (main.name, main.action) == (key.name, key.action)), "")
    return f"main.{label}" if label else f"other.{key.action}.{key.name}"


def apply_user_keys(keys: tuple[Key, ...], user_keys: Sequence[Key]) -> tuple[Key, ...]:
    """Return the keys of a screen, with the names that `user_keys` assign to them."""
    changed = {key_binding_id(main): key for main, key in zip(KEYS, user_keys, strict=True) if main != key}

    def rename(key: Key) -> Key:
        user_key = changed.get(key_binding_id(key))
        return replace(key, name=user_key.name, display=user_key.display) if user_key else key

    return tuple([rename(key) for key in keys])


def parse_settings(values: Mapping[str, object], source: str) -> dict[str, Any]:
    """Parse the theme and the keys of a configuration file.

    Returns the arguments `theme` and `keys` of the app. The table `keys` maps labels to keys, as in fix = "x".

    Raises `ShapeError` (usage) if a theme, label or key is unknown, or if a key has two labels. The message contains
    `source`, the name of the file.

    >>> parse_settings({"theme": "light", "keys": {"fix": "ctrl+k"}}, "config.toml")["keys"][4].display
    '^K'
    """
    result: dict[str, Any] = {}
    if "theme" in values:
        result["theme"] = theme = str(values["theme"])
        if theme not in THEMES:
            raise usage_error(f"{source}: there is no theme {theme!r}", suggest_name(theme, THEMES), argument="theme")
    table = values.get("keys", {})
    if not isinstance(table, Mapping):
        raise usage_error(f"{source}: keys is not a table", 'write fix = "x" below [keys]', argument="keys")
    for label in table:
        if label not in (labels := [key.label for key in KEYS]):
            raise usage_error(f"{source}: no key is called {label!r}", suggest_name(label, labels), argument="keys")
    result["keys"] = keys = tuple([_rebind_key(key, table.get(key.label, key.name), source) for key in KEYS])
    for key in table and keys:
        others = [other.label for other in (*keys, *GLOBAL_KEYS) if other.name == key.name and other is not key]
        if others:
            raise usage_error(f"{source}: {key.display} is {key.label} and {others[0]}", argument="keys")
    return result


def _rebind_key(key: Key, name: object, source: str) -> Key:
    """Return a copy of a key with another name.

    Raises `ShapeError` (usage) if the name is invalid.
    """
    if name == key.name:
        return key
    if not isinstance(name, str) or not ASSIGNABLE_KEY_PATTERN.fullmatch(name):
        raise usage_error(f"{source}: {name!r} is not a key", "write a character, ctrl+k or f5", argument="keys")
    display = f"^{name[5:].upper()}" if name.startswith("ctrl+") else name if len(name) == 1 else name.upper()
    return replace(key, name=next(iter(Binding.make_bindings([(name, "", "")]))).key, display=display)


def _key_width(key: Key) -> int:
    return len(key.display) + 1 + len(key.label)


def make_bindings(keys: tuple[Key, ...]) -> list[BindingType]:
    """Return the Textual bindings of keys.

    Enter is not bound, because fields handle it. The page keys have priority over those of lists.
    """
    return [
        Binding(key.name, key.action, key.label, show=False, tooltip=key.help, priority=key.name.startswith("page"))
        for key in keys
        if key.name != "enter"
    ]


def make_keys_clickable(sentence: str) -> Text:
    """Make each key name in a sentence clickable.

    The style of a key name has the key as the metadata `press`.

    >>> [span.style.meta for span in make_keys_clickable("F7 copies, escape closes").spans]
    [{'press': 'f7'}, {'press': 'escape'}]
    """
    text = Text(sentence)
    for match in KEY_NAME_PATTERN.finditer(sentence):
        key = match[0].lower().replace("escape", "esc").replace("esc", "escape")
        text.stylize(Style(bold=True, meta={"press": key}), *match.span())
    return text


def label_fields(fields: Sequence[Field]) -> list[Widget]:
    """Return the fields, each after its label."""
    labels = [Label(f"{field.field_name.replace('_', '-')} ", markup=False) for field in fields]
    return [widget for pair in zip(labels, fields, strict=True) for widget in pair]


def copy_text(screen: Screen[Any], text: str) -> None:
    """Copy a text to the terminal's clipboard, and notify the user."""
    screen.app.copy_to_clipboard(text)
    screen.notify(escape_unprintable(text), title=COPY_TITLE, markup=False, timeout=3)
