"""^O: the arrays in folders and files; enter takes one as the input."""

from __future__ import annotations

from os.path import relpath
from pathlib import Path

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.text import visible
from shapecalc.tui.arrays import MOST, Place, about, places_in
from shapecalc.tui.choices import Choices
from shapecalc.tui.key_words import KeyWords


class Files(ModalScreen[str | None]):
    """A list of folders and arrays, and what the one under the cursor holds."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape,ctrl+o", "dismiss", "close"), Binding("backspace", "leave", "up")]

    def __init__(self, path: str) -> None:
        """Open at a folder."""
        super().__init__()
        self.path = path
        self.places: list[Place] = []

    def compose(self) -> ComposeResult:
        """Put the list under the folder's name, and what is said of its lines under it."""
        with Vertical(classes="dialog"):
            yield Static("", id="folder", markup=False)
            yield Choices(id="places")
            yield Static("", id="about", markup=False)
            yield KeyWords("enter takes an array or opens a folder, escape closes")

    def on_mount(self) -> None:
        """List the folder."""
        self.show(self.path)
        self.query_one(Choices).focus()

    def show(self, path: str) -> None:
        """List a folder or a file; where it cannot be read, say why and stay."""
        try:
            places = places_in(path)
        except OSError as error:
            self.query_one("#about", Static).update(visible(f"{path}: {error.strerror}"))
            return
        self.path, self.places = path, places
        first = f"the first {MOST} of " if len(places) == MOST else ""
        self.query_one("#folder", Static).update(visible(f"{first}{Path(path).resolve()}"))
        listed = self.query_one(Choices)
        listed.clear_options().add_options([Option(visible(place.name)) for place in places])
        listed.highlighted = 0 if places else None

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Say what is under the cursor."""
        self.query_one("#about", Static).update(visible(about(self.places[event.option_index])))

    @on(OptionList.OptionSelected)
    def take(self, event: OptionList.OptionSelected) -> None:
        """Open what holds something, or close with the name of an array."""
        place = self.places[event.option_index]
        self.show(place.path) if place.opens else self.dismiss(_shortest(place.path))

    def action_leave(self) -> None:
        """Go to the folder above."""
        self.show(str(Path(self.path).resolve().parent))


def _shortest(path: str) -> str:
    """Return the shortest name of a file from the folder one is in."""
    return min(path, relpath(path), key=len)
