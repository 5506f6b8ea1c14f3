"""^L: the chain and its short form side by side, with what each takes; enter takes the short form."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import chain_text
from shapecalc.core.problem import ShapeError
from shapecalc.core.simplify import Goal, Simplification, simplify
from shapecalc.core.text import visible
from shapecalc.tui.choices import Choices
from shapecalc.tui.clipboard import copy
from shapecalc.tui.key_words import KeyWords
from shapecalc.tui.short_form import LABELS, chains_text, conclusion_text, count_line, simplify_line
from shapecalc.tui.story import problem_text

GOALS = (*Goal,)


class Simplify(ModalScreen[str | None]):
    """Two chains, what there is to be the fewest of with the counts, and whether the short form is proved."""

    CSS_PATH = "dialogs.tcss"
    BINDINGS = [
        Binding("escape,ctrl+l", "dismiss", "close"),
        Binding("f7", "copy", "copy"),
        Binding("pagedown", "scroll(1)", "down", priority=True),
        Binding("pageup", "scroll(-1)", "up", priority=True),
    ]

    def __init__(self, answer: Trace | Chain) -> None:
        """Look for the short form of an answer."""
        super().__init__()
        self.answer = answer
        self.goal = GOALS[0]
        self.found: Simplification | None = None

    def compose(self) -> ComposeResult:
        """Put the counts under the chains."""
        with Vertical(classes="dialog"):
            with VerticalScroll(id="chains", can_focus=False):
                yield Static("", id="pair", markup=False)
            yield Choices(*(Option(LABELS[goal], id=goal.value) for goal in GOALS), id="goals")
            yield Static("", id="conclusion", markup=False)
            yield Static("", id="line", markup=False)
            yield KeyWords("up and down choose, enter takes it, F7 copies, escape closes", id="words")

    def on_mount(self) -> None:
        """Begin at the first goal."""
        goals = self.query_one(Choices)
        goals.highlighted = 0
        goals.focus()

    @on(OptionList.OptionHighlighted)
    def look(self, event: OptionList.OptionHighlighted) -> None:
        """Look for the chain that has the fewest of what the cursor is at."""
        self.goal = GOALS[event.option_index]
        self.show()

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.show)

    def show(self) -> None:
        """Draw the chains and their counts, or why there is no short form."""
        pair, conclusion = self.query_one("#pair", Static), self.query_one("#conclusion", Static)
        width = max(1, pair.size.width)
        self.query_one("#line", Static).update(visible(f"$ {simplify_line(self.answer, self.goal)}"))
        try:
            self.found = found = simplify(self.answer, self.goal)
        except ShapeError as error:
            self.query_one(Choices).display = False
            pair.update(problem_text(error.problem, width))
            return
        pair.update(chains_text(self.answer, found, width))
        goals = self.query_one(Choices)
        for goal in GOALS:
            goals.replace_option_prompt(goal.value, count_line(goal, found.before, found.after))
        conclusion.update(conclusion_text(found, width))

    @on(OptionList.OptionSelected)
    def take(self) -> None:
        """Close with the short form, if there is one."""
        if self.found and self.found.shorter:
            self.dismiss(chain_text(self.found.chain))

    def action_copy(self) -> None:
        """Copy the command line that looks for the short form."""
        copy(self, simplify_line(self.answer, self.goal))

    def action_scroll(self, by: int) -> None:
        """Scroll the chains."""
        chains = self.query_one("#chains", VerticalScroll)
        (chains.scroll_page_down if by > 0 else chains.scroll_page_up)(animate=False)
