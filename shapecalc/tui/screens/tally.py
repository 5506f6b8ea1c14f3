"""The tally of a class: how many predict what, as bars, and then the commonest mistake beside the truth."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.mistakes import Mistake
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import visible
from shapecalc.tui.fields import Field, Fields
from shapecalc.tui.tally import commonest_mistake, predictions_of, read_counts
from shapecalc.tui.texts import Pane
from shapecalc.view.tally import Bar, bars

WORDS = "type how many predict each, enter shows the commonest mistake, escape closes"
NO_OTHER = "no known mistake gives another shape here"


class Tally(ModalScreen[Mistake | None]):
    """The predictions with their bars, and a line for the counts."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, answer: Trace | Chain) -> None:
        """Count predictions of an answer."""
        super().__init__()
        self.predictions = predictions_of(answer)
        self.counts: tuple[int, ...] = ()

    def compose(self) -> ComposeResult:
        """Put the bars over the line of counts."""
        with Vertical(classes="dialog"):
            yield Pane("bars")
            yield Fields(Field("counts"))
            yield Static(self._words, id="words", markup=False)

    @property
    def _words(self) -> str:
        return WORDS if len(self.predictions) > 1 else NO_OTHER

    def on_mount(self) -> None:
        """Begin in the line of counts."""
        pane = self.query_one(Pane)
        pane.can_focus = False
        pane.draw(self._bars)
        self.query_one(Input).focus()

    @on(Input.Changed)
    def count(self, event: Input.Changed) -> None:
        """Draw the bars for the counts, or say what is wrong with them."""
        try:
            self.counts = read_counts(event.value, len(self.predictions))
        except ShapeError as error:
            said = Text(visible(error.problem.message), "red")
        else:
            said = Text(self._words)
        self.query_one("#words", Static).update(said)
        self.query_one(Pane).redraw()

    @on(Input.Submitted)
    def open_commonest(self) -> None:
        """Close with the commonest mistake, if anybody made one."""
        if mistake := commonest_mistake(self.predictions, self.counts):
            self.dismiss(mistake)

    def _bars(self, width: int, height: int) -> Text:
        counts = [*self.counts, *[None] * len(self.predictions)]
        counted = [Bar(each.text, count) for each, count in zip(self.predictions, counts, strict=False)]
        return bars(counted, width=width, height=height)
