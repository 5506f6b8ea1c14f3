"""The name of a file to save a film or a picture in."""

from __future__ import annotations

import asyncio

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.fields import TextField
from shapecalc.tui.saving import Saved


class Save(ModalScreen[None]):
    """A field for the name, and what is wrong with it."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, saved: Saved) -> None:
        """Ask for the name of the file of a film or a picture."""
        super().__init__()
        self.saved = saved
        self._writing = False

    def compose(self) -> ComposeResult:
        """Put what names may end in over the field."""
        with Vertical(classes="dialog"):
            yield Static(f"Save the {self.saved.kind} as a file that ends in {', '.join(self.saved.endings)}")
            yield TextField(f"shapecalc-{self.saved.kind}.svg", id="name")
            yield Static("enter saves it, escape closes", id="words", markup=False)

    def on_mount(self) -> None:
        """Begin in the field."""
        self.query_one(TextField).focus()

    @on(Input.Submitted)
    async def save(self, event: Input.Submitted) -> None:
        """Write the file and close, or say why not."""
        if self._writing:
            return
        name, words = event.value.strip(), self.query_one("#words", Static)
        self._writing = True
        words.update("writing ...")
        try:
            await asyncio.to_thread(self.saved.write, name)
        except ShapeError as error:
            words.update(visible(f"{error.problem.message}. {error.problem.hint}".strip()))
        except OSError as error:
            words.update(visible(str(error)))
        else:
            self.dismiss()
            self.app.notify(visible(name), title="saved", markup=False)
        self._writing = False
