"""What the screens are made of: their keys, texts to click, panes, lists, and lines to type in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.record import Record, replace
from shapecalc.core.text import visible
from shapecalc.view.canvas import UNICODE


class Key(Record):
    """One key of the main screen."""

    key: str
    """As Textual names it."""
    shown: str
    label: str
    action: str
    help: str
    rank: int
    """Its place in the line of keys: what comes last is left out first."""


KEYS = (
    Key("f1", "F1", "help", "app.help", "explain what has the focus, and every key; so does ?", 2),
    Key("f2", "F2", "op", "choose", "choose the operator, the dialect and its settings", 3),
    Key("f3", "F3", "grid", "grid", "show the elements, and follow one with the arrow keys", 6),
    Key("f4", "F4", "compare", "compare", "ask the same under every dialect", 7),
    Key("f5", "F5", "lessons", "lessons", "take a lesson: predict, then look", 8),
    Key("f6", "F6", "fix", "fix", "apply the fix that is suggested", 5),
    Key("f7", "F7", "copy", "copy", "copy the command line", 10),
    Key("f8", "F8", "code", "code", "show code that does the same, to copy", 11),
    Key("f9", "F9", "svg", "app.save_screen('svg')", "save a picture of the screen as SVG", 12),
    Key("f10", "F10", "done", "done", "quit and print the answer on standard output", 9),
    Key("ctrl+g", "^G", "learn", "mode", "be asked before anything is shown, or see everything; it is remembered", 4),
    Key("ctrl+b", "^B", "big", "big", "draw the step in large figures, for a room, and hide the rest", 14),
    Key("ctrl+z", "^Z", "undo", "undo", "undo the last change of the question", 15),
    Key("ctrl+y", "^Y", "redo", "redo", "redo it", 16),
    Key("pagedown", "PgDn", "next", "step(1)", "go one step on", 0),
    Key("pageup", "PgUp", "back", "step(-1)", "go one step back", 1),
    Key("ctrl+l", "^L", "short", "simplify", "show the shortest chain that does the same", 13),
    Key("ctrl+home", "^Home", "first", "go(0)", "go to the first step", 17),
    Key("ctrl+end", "^End", "last", "go(-1)", "go past the last step, to the output", 18),
    Key("ctrl+t", "^T", "theme", "theme", "go on to the next theme: ours, dark, light, without colour", 19),
    Key("ctrl+p", "^P", "find", "app.command_palette", "find a command by name; so does /", 20),
    Key("ctrl+q", "^Q", "quit", "app.quit", "quit and print nothing", 21),
    Key("ctrl+o", "^O", "files", "files", "choose an array of a file as the input", 22),
    Key("ctrl+s", "^S", "text", "app.save_screen('text')", "copy the screen as text, and save it", 23),
    Key("ctrl+r", "^R", "film", "film", "play the request as a film, which asks for what is hidden", 24),
)
"""Every key of the main screen, in the order of the help."""


WHETHER = Key("", "y n", "answer", "", "say whether the request works", -1)
HINTS = (
    Key("", "enter", "hint", "", "give a hint, or go on once it is right", -2),
    Key("", "←→↑↓", "choose", "", "choose a hole to type into", -1),
)
OF_LEARNING = {
    **{key.action: key.label for key in KEYS if key.key in ("pagedown", "pageup", "f1", "f2", "f5", "f10", "ctrl+p")},
    "mode": "work",
}
LEARNING = (*(replace(key, label=OF_LEARNING[key.action]) for key in KEYS if key.action in OF_LEARNING), *HINTS)
"""The ten keys that are told of while the app asks."""
FOLLOWING = Key("", "←→↑↓", "follow", "", "follow another element", -1)
"""The keys of the grid, while it has the focus."""
BESIDE = "m"
COMPARING = Key("", BESIDE, "mistake", "", "draw the mistake that gives the same sizes beside it", -1)
"""The key of the grid that draws a reshape beside a transpose, and the other way round."""


def bindings_of(keys: tuple[Key, ...]) -> list[BindingType]:
    """Return what Textual binds for some keys; enter is a field's own, and no list pages itself."""
    return [
        Binding(key.key, key.action, key.label, show=False, tooltip=key.help, priority=key.key.startswith("page"))
        for key in keys
        if key.key != "enter"
    ]


@lru_cache(maxsize=16)
def keys_line(working: frozenset[str], width: int, keys: tuple[Key, ...] = KEYS, focused: tuple[Key, ...] = ()) -> Text:
    """Return the keys of what has the focus and those of a screen whose actions are `working`, as many as fit.

    Each that has an action carries it as the meta data `key`.

    >>> keys_line(frozenset({"step(1)", "step(-1)", "help"}), 24).plain
    'PgDn next  PgUp back'
    >>> keys_line(frozenset({"step(1)", "step(-1)"}), 24, focused=(FOLLOWING,)).plain
    '←→↑↓ follow  PgDn next'
    """
    kept = [*focused]
    for key in sorted((key for key in keys if key.action in working), key=lambda key: key.rank):
        if sum(_width(each) + 2 for each in [*kept, key]) - 2 <= width:
            kept.append(key)
    line = Text(no_wrap=True, end="")
    for key in sorted(kept, key=lambda key: key.rank):
        line.append("  " if line else "")
        meta = {"key": key.action} if key.action else {}
        line.append(key.shown, Style(bold=True, meta=meta)).append(f" {key.label}", Style(meta=meta))
    return line


def _width(key: Key) -> int:
    return len(key.shown) + 1 + len(key.label)


# Texts, panes, lists and fields


if TYPE_CHECKING:
    from shapecalc.doctor.report import Diagnosis

Drawing = Callable[[int, int], Text]

LEAST_WIDTH = 4
"""The cells that the height of a list is reckoned for at least."""
NAMED = re.compile(r"\b(enter|escape|tab|F[0-9]{1,2})\b")
"""The names of keys, as sentences have them."""
EDITING = {binding.key: binding.action for binding in Binding.make_bindings(Input.BINDINGS)}
"""The actions of the keys that a line to type in takes beside letters."""
BETWEEN_FIELDS = 2
"""The blanks before the name of a field."""
EVERYWHERE = (
    ("F1 ?", "explain this"),
    ("/", "find an entry of a list"),
    ("q", "leave, as escape does; in a field ?, / and q are text, and enter moves on"),
)
"""What some keys mean in every room."""
SENT = "sent to the terminal's clipboard"
"""What is said of a copy. Whether the terminal takes it is the terminal's own setting."""


@dataclass
class MarkClicked(Message):
    """Something that carries meta data was clicked: a dim of the flow, a step of the rail, a key, an element."""

    kind: str
    """The name of the meta data."""
    value: object


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

    def put(self, text: Text) -> None:
        """Show a text; lay the screen out only if it has more lines than before, or fewer."""
        if text == self.text and text.style == self.text.style:
            return
        before, self.text = len(self._lines), text
        self._lines = list(Segment.split_lines(text.render(self.app.console)))
        self.refresh(layout=before != len(self._lines) and self.styles.auto_dimensions)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """Return one line; one that is too long ends with dots."""
        width, base = self.size.width, self.visual_style.rich_style
        line = Strip(Segment.apply_style(self._lines[y] if y < len(self._lines) else (), base))
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


class FocusableText(ClickableText, can_focus=True):
    """A text that keys act on."""


class Pane(FocusableText):
    """A picture drawn anew for whatever room there is."""

    drawing: Drawing | None = None

    def draw(self, drawing: Drawing) -> None:
        """Show a drawing from now on."""
        self.drawing = drawing
        self.redraw()

    def redraw(self) -> None:
        """Draw for the room there is."""
        if self.drawing and self.size.width and self.size.height:
            self.put(self.drawing(self.size.width, self.size.height))

    def on_resize(self) -> None:
        """Draw for the new room."""
        self.redraw()


class Enlarge(Widget):
    """What is shown if the terminal is too small for anything else."""

    LEAST = Size(60, 18)

    def render(self) -> str:
        """Say how large the terminal is, and has to be."""
        width, height = self.app.size
        return f"enlarge the terminal to {self.LEAST.width}x{self.LEAST.height}; it is {width}x{height}"

    @classmethod
    def is_needed(cls, size: Size) -> bool:
        """Say whether a terminal of a size is too small."""
        return size.width < cls.LEAST.width or size.height < cls.LEAST.height


class Room(Screen[ScreenResultType]):
    """A screen, which F1 explains, and outside of its fields a question mark."""

    KEYS: tuple[Key, ...] = ()
    """The keys that its help tells of."""
    BINDINGS = [Binding("question_mark", "app.help", show=False)]

    def help(self) -> tuple[str, list[tuple[str, str]]]:
        """Return what is said of it, and its keys, with what each does."""
        about = cleandoc(type(self).__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        words = (f"{words.sentence}." for words in self.query(KeyWords))
        return " ".join([about, *words]), [*((key.shown, key.help) for key in self.KEYS), *EVERYWHERE]


class Dialog(ModalScreen[ScreenResultType], Room[ScreenResultType]):
    """A screen over the main one. Its contents stand in a box; its styles lie beside the file of its class."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("q", "leave_room", show=False)]

    def action_leave_room(self) -> None:
        """Leave it as escape does."""
        self.app.simulate_key("escape")

    def compose(self) -> ComposeResult:
        """Put the contents into a box."""
        with Vertical(classes="dialog"):
            yield from self.contents()

    def contents(self) -> ComposeResult:
        """Return what stands in the box: nothing, unless its class says more."""
        yield from ()

    @on(MarkClicked)
    async def follow_click(self, event: MarkClicked) -> None:
        """Do what a key does that was clicked."""
        if event.kind == "key":
            await self.run_action(str(event.value))


class Finding(Widget):
    """A list in which a slash finds: what is typed then goes to the first entry that has it."""

    sought: str | None = None
    """What is sought; None if nothing is."""

    def entries(self) -> list[str]:
        """Return the texts of the entries."""
        raise TypeError(f"{type(self).__name__} has no entries")

    def go_to(self, place: int) -> None:
        """Go to an entry."""
        raise TypeError(f"{type(self).__name__} has no entries")

    def on_key(self, event: events.Key) -> None:
        """Take a slash, and what is typed after it up to enter, escape or a key that goes elsewhere."""
        before, self.sought = self.sought, None
        if before is None:
            self.sought = "" if event.key == "slash" else None
        elif event.is_printable or event.key == "backspace":
            self.sought = before + str(event.character) if event.is_printable else before[:-1]
        self.border_subtitle = None if self.sought is None else visible(f"/{self.sought}")
        if self.sought is not None or (before is not None and event.key in ("enter", "escape")):
            event.prevent_default().stop()
        text = (self.sought or "").casefold()
        found = (at for at, entry in enumerate(self.entries()) if text and text in entry.casefold())
        if (place := next(found, None)) is not None:
            self.go_to(place)


class Choices(OptionList, Finding):
    """A list that can be paged through before it is laid out, and has no width at times. Textual's own then raises."""

    def __init__(self, *options: Option, id: str) -> None:
        """Make a list of some options. Their texts may be a file's, so they are never read as markup."""
        super().__init__(*options, id=id, markup=False)

    def entries(self) -> list[str]:
        """Return the texts of the options."""
        return [str(option.prompt) for option in self.options]

    def go_to(self, place: int) -> None:
        """Go to an option."""
        self.highlighted = place

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines that the options take."""
        return super().get_content_height(container, viewport, max(LEAST_WIDTH, width))

    def _move_page(self, direction: Literal[-1, 1]) -> None:
        with suppress(KeyError):
            super()._move_page(direction)


class KeyWords(Static):
    """What the keys of a dialog do, in words."""

    def __init__(self, sentence: str, *, id: str | None = None) -> None:
        """Show a sentence, with the keys that it names as places to click; without an id it stands apart."""
        super().__init__(text_with_keys(sentence), id=id, classes=None if id else "words", markup=False)
        self.sentence = sentence

    def on_click(self, event: events.Click) -> None:
        """Press the key that was clicked."""
        if key := event.style.meta.get("press"):
            event.stop()
            self.app.simulate_key(key)


def text_with_keys(sentence: str) -> Text:
    """Return a sentence in which the names of keys carry the key as meta data.

    >>> [span.style.meta for span in text_with_keys("F7 copies, escape closes").spans]
    [{'press': 'f7'}, {'press': 'escape'}]
    """
    text = Text(sentence)
    for found in NAMED.finditer(sentence):
        text.stylize(Style(bold=True, meta={"press": found[0].lower()}), *found.span())
    return text


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

    @dataclass
    class Diagnosed(Message):
        """A runtime's error message was pasted."""

        diagnosis: Diagnosis

    @dataclass
    class CodePasted(Message):
        """A line of code was pasted."""

        text: str

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
    """One input of a question."""

    def __init__(self, name: str, value: str = "") -> None:
        """Make a field of that name."""
        super().__init__(value, id=f"field-{name}", classes=f"-{name}")
        self.field_name = name


class Fields(Horizontal):
    """Fields in a row, each with its name before it."""

    def __init__(self, *fields: Field) -> None:
        """Make a row of fields."""
        super().__init__(*_with_names(fields))

    async def show_others(self, fields: Sequence[Field]) -> None:
        """Show other fields in place of those."""
        await self.remove_children()
        await self.mount(*_with_names(fields))


def _with_names(fields: Sequence[Field]) -> list[Widget]:
    """Return fields with their names before them, and room between them."""
    names = [" " * BETWEEN_FIELDS * bool(place) + field.field_name for place, field in enumerate(fields)]
    labels = [Label(f"{name.replace('_', '-')} ", markup=False) for name in names]
    return [widget for pair in zip(labels, fields, strict=True) for widget in pair]


def copy(screen: Screen[Any], text: str) -> None:
    """Send a text to the terminal's clipboard and tell so."""
    screen.app.copy_to_clipboard(text)
    screen.notify(visible(text), title=SENT, markup=False, timeout=3)
