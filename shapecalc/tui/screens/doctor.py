"""A pasted error message: what it means, and its request as the question."""

from __future__ import annotations

from shlex import split

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from shapecalc.doctor.report import Diagnosis
from shapecalc.tui.key_words import KeyWords
from shapecalc.tui.question import Question, question_of


class DoctorScreen(ModalScreen[Question | None]):
    """What a runtime's message says; enter asks the request that it tells of."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape", "dismiss", "close"), Binding("enter", "ask", "ask")]

    def __init__(self, found: Diagnosis) -> None:
        """Show what was found in a text."""
        super().__init__()
        self.found = found
        self.commands = [advised.command for _, advised in found.found if advised.command]

    def compose(self) -> ComposeResult:
        """Put the lines into a box that scrolls."""
        with Vertical(classes="dialog"):
            with VerticalScroll():
                yield Static("\n".join(self.found.lines()), markup=False)
            asks = "enter asks it, " if self.commands else ""
            yield KeyWords(f"{asks}escape closes")

    def action_ask(self) -> None:
        """Close, and ask the first request that the text tells of."""
        self.dismiss(question_of(split(self.commands[0])[1:]) if self.commands else None)
