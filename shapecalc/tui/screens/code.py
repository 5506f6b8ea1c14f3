"""F8: the answer as code of a framework, to look at and to copy."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.choices import Choices
from shapecalc.tui.clipboard import copy
from shapecalc.tui.key_words import KeyWords
from shapecalc.tui.masking import WOULD_SHOW, masked
from shapecalc.view.code import TARGETS, code


class CodeScreen(ModalScreen[None]):
    """The frameworks at the left, the code at the right; enter copies it."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape,f8", "dismiss", "close")]

    def __init__(self, answer: Trace | Chain, *, hides: bool = False) -> None:
        """Show the code of an answer; if it `hides`, with holes for what the answer is."""
        super().__init__()
        self.answer, self.hides = answer, hides

    def compose(self) -> ComposeResult:
        """Put the list beside the code."""
        with Vertical(classes="dialog"):
            with Horizontal():
                yield Choices(*(Option(name, id=name) for name in TARGETS), id="targets")
                with VerticalScroll():
                    yield Static(self.code_text(next(iter(TARGETS))), id="code", markup=False)
            yield KeyWords("enter copies it, escape closes")

    @on(OptionList.OptionHighlighted)
    def show(self, event: OptionList.OptionHighlighted) -> None:
        """Show the code for the framework under the cursor."""
        self.query_one("#code", Static).update(self.code_text(str(event.option_id)))

    @on(OptionList.OptionSelected)
    def copy(self, event: OptionList.OptionSelected) -> None:
        """Copy the code for the framework, unless it tells what is hidden."""
        try:
            text = code(self.answer, str(event.option_id)).text
        except ShapeError as error:
            self.notify(visible(error.problem.message), severity="error", markup=False)
            return
        if self._shown(text) == text:
            copy(self, text)
        else:
            self.notify(WOULD_SHOW, markup=False)

    def code_text(self, target: str) -> Text:
        """Return the code, and under it what to know before it is used; or why there is none."""
        try:
            found = code(self.answer, target)
        except ShapeError as error:
            return Text(visible(error.problem.message), "red")
        text = Text(self._shown(found.text))
        for warning in found.warnings:
            text.append(f"\n\n! {self._shown(warning)}", "yellow")
        return text

    def _shown(self, text: str) -> str:
        return masked(text, self.answer) if self.hides else text
