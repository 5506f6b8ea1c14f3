"""F2: the operator, the dialect and its settings, with the answer they would give."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.text import visible
from shapecalc.tui.explore_text import title
from shapecalc.tui.question import ASKABLE, SETTINGS, SWITCH_WORDS, Question, answer_question
from shapecalc.tui.widgets import Choices, Dialog, Field, Fields, KeyWords

CHAIN_SUMMARY = "Several ops in a row."


class Choose(Dialog[Question | None]):
    """Lists of operators and dialects, and the settings of the dialect."""

    BINDINGS = [Binding("escape", "dismiss", "close"), Binding("f2", "take", "take")]

    def __init__(self, question: Question, setting: str = "", hidden: str = "") -> None:
        """Start from a question, in the field of a setting if one is named.

        `hidden` is what stands in place of the answer, if that is not to be seen.
        """
        super().__init__()
        self.question = question
        self.setting = setting
        self.hidden = hidden

    def compose(self) -> ComposeResult:
        """Put the lists side by side, the settings and the answer under them."""
        with Vertical(classes="dialog"):
            with Horizontal(id="lists"):
                yield Choices(*(Option(name, id=name) for name in ASKABLE), id="op")
                yield Choices(id="dialect")
                yield Choices(*map(Option, SWITCH_WORDS.values()), id="switch")
            yield Fields(*(Field(name, str(self.question.settings.get(name, ""))) for name in SETTINGS))
            yield Static("", id="about", markup=False)
            yield Static("", id="preview", markup=False)
            yield KeyWords("tab goes on, enter takes it, escape changes nothing")

    def on_mount(self) -> None:
        """Start at what is chosen now."""
        ops = self.query_one("#op", Choices)
        with self.prevent(OptionList.OptionHighlighted):
            ops.highlighted = ASKABLE.index(self.question.op)
        self._list_dialects()
        (self.query_one(f"#field-{self.setting}") if self.setting else ops).focus()
        self.call_after_refresh(self._preview)

    @on(OptionList.OptionHighlighted, "#op")
    def take_op(self, event: OptionList.OptionHighlighted) -> None:
        """Take another operator, with the dialects that have it."""
        if _is_past(event):
            return
        if str(event.option_id) != self.question.op:
            self.question = self.question.with_op(str(event.option_id))
            self._list_dialects()
        self._preview()

    @on(OptionList.OptionHighlighted, "#dialect")
    def take_dialect(self, event: OptionList.OptionHighlighted) -> None:
        """Take another dialect."""
        name = str(event.option_id)
        if _is_past(event):
            return
        if name != self.question.dialect:
            self.question = self.question.with_setting("dialect", name)
        self._list_switch()
        self._preview()

    @on(OptionList.OptionHighlighted, "#switch")
    def take_switch(self, event: OptionList.OptionHighlighted) -> None:
        """Set the dialect's switch."""
        name = self.question.switch
        if name is not None and not _is_past(event):
            self.question = self.question.with_setting(name, [*SWITCH_WORDS][event.option_index])
        self._preview()

    @on(Input.Changed)
    def take_setting(self, event: Input.Changed) -> None:
        """Take a typed setting."""
        name = str(event.input.id).removeprefix("field-")
        self.question = self.question.with_setting(name, event.value.strip() or None)
        self._preview()

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def action_take(self) -> None:
        """Close with the question as it is now."""
        self.dismiss(self.question)

    def _list_dialects(self) -> None:
        op = self.question.op
        having = [row.name for row in dialects_with(OPS[op])] if op in OPS else []
        listed = self.query_one("#dialect", Choices)
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options().add_options([Option(name, id=name) for name in having])
            if self.question.dialect in having:
                listed.highlighted = having.index(self.question.dialect)
        listed.disabled = not having
        self._list_switch()

    def _list_switch(self) -> None:
        name, listed = self.question.switch, self.query_one("#switch", Choices)
        listed.disabled = name is None
        listed.border_title = name or "no switch"
        chosen = None if name is None else self.question.settings.get(name)
        with self.prevent(OptionList.OptionHighlighted):
            listed.highlighted = [*SWITCH_WORDS].index(chosen)  # type: ignore[arg-type]

    def _preview(self) -> None:
        op = self.question.op
        self.query_one("#about", Static).update(OPS[op].summary if op in OPS else CHAIN_SUMMARY)
        result = answer_question(self.question)
        text = title(self.question, result, max(20, self.query_one("#preview").size.width), self.hidden)
        if result.problem:
            text = Text.assemble(text, "\n", (visible(result.problem.message), "red"))
        self.query_one("#preview", Static).update(text)


def _is_past(event: OptionList.OptionHighlighted) -> bool:
    """Say whether the cursor has moved on since: a list is at its first option before it is moved to another."""
    return event.option_list.highlighted != event.option_index
