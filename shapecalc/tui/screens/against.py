"""Whether another chain is the same function as the one on the screen, said while it is typed."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import chain_text
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.against import equiv_line, held_against, verdict_text
from shapecalc.tui.clipboard import copy
from shapecalc.tui.fields import Field, Fields
from shapecalc.tui.key_words import KeyWords
from shapecalc.tui.texts import Pane
from shapecalc.view.grid import output_grids


class Against(ModalScreen[str]):
    """The first chain, a field for the second, the verdict, and both outputs where they differ."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape", "leave", "close"), Binding("f7", "copy", "copy")]

    def __init__(self, answer: Trace | Chain, text: str) -> None:
        """Hold the chain that `text` writes against an answer."""
        super().__init__()
        self.answer, self.text = answer, text
        self.held = held_against(answer, text)

    def compose(self) -> ComposeResult:
        """Put the two chains over the verdict, and the outputs under it."""
        with Vertical(classes="dialog"):
            with Horizontal(id="first"):
                yield Label("first ")
                yield Static(visible(chain_text(self.answer)), markup=False)
            yield Fields(Field("second", self.text))
            yield Static("", id="verdict", markup=False)
            yield Pane("outputs")
            yield Static("", id="line", markup=False)
            yield KeyWords("F7 copies the command, escape closes", id="words")

    def on_mount(self) -> None:
        """Begin in the field."""
        self.query_one(Pane).can_focus = False
        self.query_one(Input).focus()

    @on(Input.Changed)
    def take_text(self, event: Input.Changed) -> None:
        """Hold what is typed against the first."""
        self.text = event.value
        self.held = held_against(self.answer, self.text)
        self.show()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the verdict and the outputs."""
        verdict = self.query_one("#verdict", Static)
        verdict.update(verdict_text(self.held, max(1, verdict.size.width)))
        self.query_one("#line", Static).update(visible(f"$ {equiv_line(self.held)}"))
        self.query_one(Pane).draw(self._outputs)

    def _outputs(self, width: int, height: int) -> Text:
        """Return both outputs where they differ."""
        held = self.held
        if held.second is None or held.found is None or held.found.counterexample is None:
            return Text()
        try:
            return output_grids((held.first, held.second), held.found.counterexample, width=width, height=height)
        except ShapeError as error:
            return Text(visible(error.problem.message), "dim")

    def action_copy(self) -> None:
        """Copy the command line that asks for the same verdict."""
        copy(self, equiv_line(self.held))

    def action_leave(self) -> None:
        """Close, and leave the text to be opened with again."""
        self.dismiss(self.text)
