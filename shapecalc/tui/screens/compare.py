"""F4: the same question under every dialect; choosing a row switches to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import DataTable, Static

from shapecalc.core.answers import Trace
from shapecalc.core.dims import Shape
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.text import shape_text, visible
from shapecalc.tui.explore_text import HIDDEN
from shapecalc.tui.question import Question, Result, answer_question
from shapecalc.tui.widgets import Dialog, KeyWords
from shapecalc.view.canvas import UNICODE, clip
from shapecalc.view.story import setting_text

HEADS = ("dialect", "setting", "answer")
"""The heads of the columns, after that of the mark."""
LEAST_SETTING, LEAST_ANSWER = 8, 14
"""The cells that these columns keep where there is little room."""


@dataclass(frozen=True, slots=True)
class Row:
    """One dialect with one setting of its switch, and what it says."""

    question: Question
    setting: str
    result: Result
    covered: bool = False
    """Whether its answer is not to be seen."""

    @property
    def options(self) -> Mapping[str, object]:
        """The settings in force; empty if the question could not be read."""
        return self.result.answer.options if isinstance(self.result.answer, Trace) else {}

    @property
    def texts(self) -> tuple[str, str, str]:
        """What its columns show."""
        return self.question.dialect, self.setting, HIDDEN if self.covered else visible(self.answer_text)

    @property
    def answer_text(self) -> str:
        """The answer in a word: the output shape with its conditions, or the rule that refuses."""
        answer = self.result.answer
        if answer is not None and answer.output is not None:
            conditions = " and ".join(condition.words for condition in answer.conditions)
            return shape_text(answer.output) + (f" when {conditions}" if conditions else "")
        return f"refused: {self.result.problem.rule}" if self.result.problem else "refused"


def rows(question: Question) -> list[Row]:
    """Return the question under every dialect that has its op, and under both settings if there is a switch.

    A setting that is the default is left out of the question.

    >>> from shapecalc.tui.question import question_of
    >>> for row in rows(question_of(["reshape", "0,3", "0,-1"]))[:2]:
    ...     print(row.question.dialect, row.setting, row.answer_text, dict(row.question.settings))
    onnx allowzero off refused: zero-volume-infer {}
    onnx allowzero on refused: zero-beside-infer {'allowzero': True}
    """
    found = []
    for dialect in dialects_with(OPS[question.op]):
        asking = question.with_setting("dialect", dialect.name)
        switch = dialect.switch if asking.switch else None
        for on_ in dialect.settings() if switch else (None,):
            setting = f"{switch.name} {setting_text(on_)}" if switch else ""
            given = asking.with_setting(switch.name, None if on_ is switch.default else on_) if switch else asking
            found.append(Row(given, setting, answer_question(given)))
    return found


def output_of(result: Result) -> Shape | None:
    """Return the output shape; None if the question is refused."""
    return result.answer.output if result.answer is not None else None


def nearest(rows: list[Row], here: Row) -> int:
    """Return the place of the row with the dialect and the settings of `here`; if there is none, with the dialect."""
    places = [place for place, row in enumerate(rows) if row.question.dialect == here.question.dialect]
    return next((place for place in places if rows[place].options == here.options), places[0])


class Compare(Dialog[Question | None]):
    """A table of answers."""

    BINDINGS = [Binding("escape,f4", "dismiss", "close")]

    def __init__(self, question: Question, *, hides: bool = False) -> None:
        """Ask the question everywhere. If it `hides`, what is answered here is not shown where it is the same."""
        super().__init__()
        self.question = question
        self.rows = rows(question)
        if hides:
            here = output_of(answer_question(question))
            self.rows = [replace(row, covered=output_of(row.result) == here) for row in self.rows]

    def compose(self) -> ComposeResult:
        """Put the table under a line that says what to do with it."""
        with Vertical(classes="dialog"):
            yield KeyWords("enter opens a row, at the step where the two differ; escape closes")
            yield DataTable(cursor_type="row", zebra_stripes=True)
            yield Static("", id="row", markup=False)

    def on_mount(self) -> None:
        """Fill the table, with the answers marked that differ from the present one."""
        table: DataTable[Text] = self.query_one(DataTable)
        table.add_columns("", *HEADS)
        here = Row(self.question, "", answer_question(self.question))
        for row in self.rows:
            differs = row.answer_text != here.answer_text
            *texts, answer = map(Text, row.texts)
            answer.style = "bold" if differs else ""
            table.add_row(Text("≠" if differs else "", "bold red"), *texts, answer)
        table.move_cursor(row=nearest(self.rows, here))
        table.focus()

    def on_resize(self) -> None:
        """Fit the table into the room that it will have."""
        for table in self.query(DataTable):
            self.call_after_refresh(self._fit, table)

    def _fit(self, table: DataTable[Text]) -> None:
        """End with dots what has no room in its column."""
        _, _, setting, answer = (column.key for column in table.ordered_columns)
        longest = [max(map(len, column)) for column in zip(HEADS, *(row.texts for row in self.rows), strict=True)]
        room = table.scrollable_content_region.width - 1 - 2 * table.cell_padding * len(table.columns) - longest[0]
        shown = min(longest[1], max(LEAST_SETTING, room - min(longest[2], LEAST_ANSWER)))
        for key, row in zip([*table.rows], self.rows, strict=True):
            for column, text, cells in ((setting, row.texts[1], shown), (answer, row.texts[2], room - shown)):
                cell = Text(clip(text, cells, UNICODE), table.get_cell(key, column).style)
                table.update_cell(key, column, cell, update_width=True)

    @on(DataTable.RowHighlighted)
    def tell_row(self, event: DataTable.RowHighlighted) -> None:
        """Write the row under the cursor out, which may have no room in the table."""
        dialect, setting, answer = self.rows[event.cursor_row].texts
        self.query_one("#row", Static).update(f"{', '.join(filter(None, (dialect, setting)))}: {answer}")

    @on(DataTable.RowSelected)
    def take_row(self, event: DataTable.RowSelected) -> None:
        """Close with the question of the row."""
        self.dismiss(self.rows[event.cursor_row].question)
