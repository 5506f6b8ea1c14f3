"""Dialogs for the settings of a question and for the comparison of dialects.

A switch is a boolean option of a dialect, such as `allowzero`.
"""

from __future__ import annotations

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widgets import DataTable, Input, OptionList, Static
from textual.widgets.option_list import Option

from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.text import escape_unprintable
from shapecalc.render.canvas import UNICODE, clip_text
from shapecalc.render.report import setting_text
from shapecalc.render.styles import BOLD_ERROR, ERROR_COLOUR
from shapecalc.tui.explore_text import title_text
from shapecalc.tui.question import (
    QUESTION_OPS,
    SETTING_DESCRIPTIONS,
    SWITCH_DESCRIPTIONS,
    DialectRow,
    Question,
    resolve_question,
)
from shapecalc.tui.widgets import ChoiceList, Dialog, Field, FieldRow, KeyHelp, SearchableList

COLUMN_HEADINGS = ("dialect", "setting", "answer")
"""The headings of all columns but the first, which marks differing answers."""
MIN_SETTING_WIDTH, MIN_ANSWER_WIDTH = 8, 14
"""The minimum widths, in cells, of the setting column and the answer column."""


class SettingsDialog(Dialog[Question | None]):
    """Lists of operators and dialects, and the settings of the dialect."""

    box_title = "Operation and framework"
    BINDINGS = [Binding("escape", "dismiss", "close"), Binding("f2", "accept", "take")]

    def __init__(self, question: Question, setting: str = "", hidden_text: str = "") -> None:
        """Create the dialog, with the focus on the field of `setting`.

        If `hidden_text` is not empty, it is displayed instead of the answer.
        """
        super().__init__()
        self.question = question
        self.setting = setting
        self.hidden_text = hidden_text

    def compose_contents(self) -> ComposeResult:
        """Compose the lists above the settings and the answer."""
        with Horizontal(id="lists"):
            yield ChoiceList(*(Option(name, id=name) for name in QUESTION_OPS), id="op")
            yield ChoiceList(id="dialect")
            yield ChoiceList(*map(Option, SWITCH_DESCRIPTIONS.values()), id="switch")
        yield FieldRow(*(Field(name, str(self.question.settings.get(name, ""))) for name in SETTING_DESCRIPTIONS))
        yield Static("", id="about", markup=False)
        yield Static("", id="preview", markup=False)
        yield KeyHelp("tab goes on, enter takes it, escape changes nothing")

    def on_mount(self) -> None:
        """Highlight the op, the dialect and the switch value of the question."""
        ops = self.query_one("#op", ChoiceList)
        with self.prevent(OptionList.OptionHighlighted):
            ops.highlighted = QUESTION_OPS.index(self.question.op)
        self._list_dialects()
        (self.query_one(f"#field-{self.setting}") if self.setting else ops).focus()
        self.call_after_refresh(self._show_preview)

    @on(OptionList.OptionHighlighted)
    def apply_choice(self, event: OptionList.OptionHighlighted) -> None:
        """Apply the highlighted op, dialect or switch value to the question."""
        choices, chosen, switch = event.option_list, str(event.option_id), self.question.switch
        if choices.highlighted != event.option_index:
            return  # a repeated key has already moved the highlight further
        if choices.id == "op" and chosen != self.question.op:
            self.question = self.question.with_op(chosen)
            self._list_dialects()
        elif choices.id == "dialect" and chosen != self.question.dialect:
            self.question = self.question.with_setting("dialect", chosen)
            self._list_switch()
        elif choices.id == "switch" and switch is not None:
            self.question = self.question.with_setting(switch, [*SWITCH_DESCRIPTIONS][event.option_index])
        self._show_preview()

    @on(Input.Changed)
    def apply_setting(self, event: Input.Changed) -> None:
        """Apply the typed value of a setting to the question."""
        name = str(event.input.id).removeprefix("field-")
        self.question = self.question.with_setting(name, event.value.strip() or None)
        self._show_preview()

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def action_accept(self) -> None:
        """Close the dialog, and return the changed question."""
        self.dismiss(self.question)

    def _list_dialects(self) -> None:
        op = self.question.op
        dialects = [row.name for row in supporting_dialects(OPS[op])] if op in OPS else []
        choices = self.query_one("#dialect", ChoiceList)
        with self.prevent(OptionList.OptionHighlighted):
            choices.clear_options().add_options([Option(name, id=name) for name in dialects])
            if self.question.dialect in dialects:
                choices.highlighted = dialects.index(self.question.dialect)
        choices.disabled = not dialects
        self._list_switch()

    def _list_switch(self) -> None:
        name, choices = self.question.switch, self.query_one("#switch", ChoiceList)
        choices.disabled = name is None
        choices.border_title = name or "no switch"
        chosen = None if name is None else self.question.settings.get(name)
        with self.prevent(OptionList.OptionHighlighted):
            choices.highlighted = [*SWITCH_DESCRIPTIONS].index(chosen)  # type: ignore[arg-type]

    def _show_preview(self) -> None:
        op = self.question.op
        self.query_one("#about", Static).update(OPS[op].summary if op in OPS else "Several ops in a row.")
        result = resolve_question(self.question)
        text = title_text(self.question, result, max(20, self.query_one("#preview").size.width), self.hidden_text)
        if result.problem:
            text = Text.assemble(text, "\n", (escape_unprintable(result.problem.message), ERROR_COLOUR))
        self.query_one("#preview", Static).update(text)


def dialect_rows(question: Question) -> list[DialectRow]:
    """Return a row for each dialect that has the op, and each value of its switch.

    The question of a row does not contain the default value of the switch.

    >>> from shapecalc.tui.question import question_from_words
    >>> for row in dialect_rows(question_from_words(["reshape", "0,3", "0,-1"]))[:2]:
    ...     print(row.question.dialect, row.setting, row.answer_text, dict(row.question.settings))
    onnx allowzero off refused: zero-volume-infer {}
    onnx allowzero on refused: zero-beside-infer {'allowzero': True}
    """
    result = []
    for dialect in supporting_dialects(OPS[question.op]):
        dialect_question = question.with_setting("dialect", dialect.name)
        switch = dialect.switch if dialect_question.switch else None
        for value in dialect.switch_settings() if switch else (None,):
            setting = f"{switch.name} {setting_text(value)}" if switch else ""
            row_question = (
                dialect_question.with_setting(switch.name, None if value is switch.default else value)
                if switch
                else dialect_question
            )
            result.append(DialectRow(row_question, setting, resolve_question(row_question)))
    return result


def sort_by_answer(rows: list[DialectRow]) -> list[DialectRow]:
    """Sort rows by answer, with the most common answer first."""
    texts = [row.answer_text for row in rows]
    return sorted(rows, key=lambda row: (-texts.count(row.answer_text), texts.index(row.answer_text)))


def matching_row_index(rows: list[DialectRow], current: DialectRow) -> int:
    """Return the index of the row that corresponds to `current`.

    This is the row with the same dialect and options, or else the first row with the same dialect.
    """
    candidates = [index for index, row in enumerate(rows) if row.question.dialect == current.question.dialect]
    return next((index for index in candidates if rows[index].options == current.options), candidates[0])


LINES_BESIDE_TABLE = 8
"""The number of lines on the screen that are not rows of the answer table."""


class AnswerTable(DataTable[Text], SearchableList):
    """A table of answers in which the slash key starts a search."""

    def entries(self) -> list[str]:
        """Return the text of each row."""
        return [" ".join(cell.plain for cell in self.get_row(key)) for key in self.rows]

    def select_entry(self, index: int) -> None:
        """Move the cursor to a row."""
        self.move_cursor(row=index)


class CompareDialog(Dialog[Question | None]):
    """A dialog with a table of the answers of all dialects."""

    box_title = "Compare"
    BINDINGS = [Binding("escape", "dismiss", "close")]

    def __init__(self, question: Question) -> None:
        """Create the dialog, and resolve the question in each dialect."""
        super().__init__()
        self.question = question
        self.rows = sort_by_answer(dialect_rows(question))
        self.box_title = f"Compare · {len(self.rows)} settings"

    def compose_contents(self) -> ComposeResult:
        """Compose the table and a line of keys."""
        yield AnswerTable(cursor_type="row", zebra_stripes=True)
        yield Static("", id="row", markup=False)
        yield KeyHelp("enter opens a row, at the step where the two differ; esc closes")

    def on_mount(self) -> None:
        """Fill the table, and mark the answers that differ from the current one."""
        table: DataTable[Text] = self.query_one(DataTable)
        table.add_columns("", *COLUMN_HEADINGS)
        current = DialectRow(self.question, "", resolve_question(self.question))
        current_row = self.rows[matching_row_index(self.rows, current)]
        for row in self.rows:
            differs = row.answer_text != current.answer_text
            *texts, answer = map(Text, row.cell_texts)
            answer.style = "bold" if differs else ""
            is_current = row.question == current_row.question
            mark = Text("≠", BOLD_ERROR) if differs else Text(UNICODE.pointer if is_current else "", "bold")
            table.add_row(mark, *texts, answer)
        table.move_cursor(row=matching_row_index(self.rows, current))
        table.focus()

    def on_resize(self) -> None:
        """Adjust the height and the columns to the new size."""
        for table in self.query(DataTable):
            table.styles.height = max(3, min(len(self.rows) + 1, self.app.size.height - LINES_BESIDE_TABLE))
            self.call_after_refresh(self._fit_columns, table)

    def _fit_columns(self, table: DataTable[Text]) -> None:
        """Set the widths of the columns, and truncate texts that do not fit."""
        _, _, setting, answer = (column.key for column in table.ordered_columns)
        longest = [
            max(map(len, column))
            for column in zip(COLUMN_HEADINGS, *(row.cell_texts for row in self.rows), strict=True)
        ]
        available = table.scrollable_content_region.width - 1 - 2 * table.cell_padding * len(table.columns) - longest[0]
        setting_width = min(longest[1], max(MIN_SETTING_WIDTH, available - min(longest[2], MIN_ANSWER_WIDTH)))
        for key, row in zip([*table.rows], self.rows, strict=True):
            for column, text, width in (
                (setting, row.cell_texts[1], setting_width),
                (answer, row.cell_texts[2], available - setting_width),
            ):
                cell = Text(clip_text(text, width, UNICODE), table.get_cell(key, column).style)
                table.update_cell(key, column, cell, update_width=True)

    @on(DataTable.RowHighlighted)
    def show_row(self, event: DataTable.RowHighlighted) -> None:
        """Show the complete texts of the highlighted row."""
        dialect, setting, answer = self.rows[event.cursor_row].cell_texts
        self.query_one("#row", Static).update(f"{', '.join(filter(None, (dialect, setting)))}: {answer}")

    @on(DataTable.RowSelected)
    def accept_row(self, event: DataTable.RowSelected) -> None:
        """Close the dialog, and return the question of the selected row."""
        self.dismiss(self.rows[event.cursor_row].question)
