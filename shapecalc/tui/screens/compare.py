"""F4: the same question under every dialect; choosing a row switches to it."""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from shapecalc.core.record import Record
from shapecalc.core.rules import DIALECTS
from shapecalc.core.text import shape_text
from shapecalc.core.wording import visible
from shapecalc.tui.question import Question, Reply, replied, switch_of
from shapecalc.view.steps import setting_text


class Row(Record):
    """One dialect with one setting of its switch, and what it says."""

    question: Question
    setting: str
    reply: Reply

    @property
    def said(self) -> str:
        """The answer in a word: the output shape with its conditions, or the rule that refuses."""
        answer = self.reply.answer
        if answer is not None and answer.output is not None:
            conditions = " and ".join(condition.words for condition in answer.conditions)
            return shape_text(answer.output) + (f" when {conditions}" if conditions else "")
        return f"refused: {self.reply.problem.rule}" if self.reply.problem else "refused"


def rows(question: Question) -> list[Row]:
    """Return the question under every dialect that has its op, and under both settings where there is a switch.

    >>> from shapecalc.tui.question import asked
    >>> [(row.question.dialect, row.setting, row.said) for row in rows(asked(["reshape", "0,3", "0,-1"]))][:2]
    [('onnx', 'allowzero off', 'refused: zero-volume-infer'), ('onnx', 'allowzero on', 'refused: zero-beside-infer')]
    """
    found = []
    for dialect in (row for row in DIALECTS.values() if question.op in row.operators):
        asked = question.with_setting("dialect", dialect.name)
        name = switch_of(asked)
        for on_ in (None,) if name is None else dialect.settings():
            given = asked if name is None else asked.with_setting(name, on_)
            setting = "" if name is None else f"{name} {setting_text(on_)}"
            found.append(Row(given, setting, replied(given)))
    return found


class Compare(ModalScreen[Question | None]):
    """A table of answers."""

    BINDINGS = [Binding("escape,f4", "dismiss", "close")]

    def __init__(self, question: Question) -> None:
        """Ask the question everywhere."""
        super().__init__()
        self.question = question
        self.rows = rows(question)

    def compose(self) -> ComposeResult:
        """Put the table under a line that says what to do with it."""
        with Vertical(classes="dialog"):
            yield Static("enter goes to a row, at the step where the two part; escape closes", classes="words")
            yield DataTable(cursor_type="row", zebra_stripes=True)

    def on_mount(self) -> None:
        """Fill the table; answers other than the present one are marked."""
        table = self.query_one(DataTable)
        table.add_columns("", "dialect", "setting", "answer")
        here = Row(self.question, "", replied(self.question))
        for row in self.rows:
            differs = row.said != here.said
            style = "bold" if differs else ""
            mark = Text("≠" if differs else "", "bold red")
            table.add_row(mark, row.question.dialect, row.setting, Text(visible(row.said), style))
        at = [place for place, row in enumerate(self.rows) if row.reply.answer == here.reply.answer]
        table.move_cursor(row=at[0] if at else 0)
        table.focus()

    @on(DataTable.RowSelected)
    def switch(self, event: DataTable.RowSelected) -> None:
        """Close with the question of the row."""
        self.dismiss(self.rows[event.cursor_row].question)
