"""Tables: a comparison of dialects, and the dialects themselves."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from shapecalc.core.compare import Compared, Comparison
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.ops import operators_of
from shapecalc.core.text import shape_text
from shapecalc.view.steps import setting_text


def comparison_table(comparison: Comparison) -> Table:
    """Return a row for every dialect and setting: its answer, or the rule that refuses.

    `*` marks the rows that differ from the most common answer.
    """
    table = _table("", "dialect", "setting", "answer")
    answers = [row.verdict for row in comparison.rows if row.default]
    common = max(dict.fromkeys(answers), key=answers.count)
    for row in comparison.rows:
        odd = row.verdict != common
        table.add_row("*" if odd else "", row.dialect, _setting(row), _answer(row), style="yellow" if odd else "")
    return table


def _setting(row: Compared) -> str:
    setting = ", ".join(f"{name} {setting_text(value)}" for name, value in row.options.items() if name != "dtype")
    switch, given = DIALECTS[row.dialect].switch, row.trace.traces[-1].request.switch
    if not setting and switch and given is not None:
        setting = f"{switch.name} {setting_text(given)}"
    return f"{setting} (default)" if setting and row.default and switch and switch.default is not None else setting


def _answer(row: Compared) -> Text:
    trace = row.trace
    if trace.problem:
        return Text(f"refused: {trace.problem.rule}")
    conditions = " and ".join(condition.words for condition in trace.conditions)
    return Text(shape_text(trace.output or ()) + (f" when {conditions}" if conditions else ""))


def dialects_table() -> Table:
    """Return a row for every dialect and setting: the four questions of reshape, and the rank limit."""
    table = _table("dialect", "switch", "0", "infers", "0 and -1", "-1 of none", "dims")
    for row in DIALECTS.values():
        for on in row.settings():
            reading, default = row.readings[on], row.switch is not None and row.switch.default is on
            switch = f"{row.switch.name} {setting_text(on)}{'*' * default}" if row.switch else "-"
            answers = (reading.zero, reading.infers, reading.zero_beside, reading.empty)
            table.add_row(row.name, switch, *(answer.value for answer in answers), str(row.max_rank or "any"))
    return table


def operators_table() -> Table:
    """Return a row for every dialect: its operators, the source of its rules, and a note."""
    table = _table("dialect", "operators", "source")
    for row in DIALECTS.values():
        source = row.source + (f"; {row.note}" if row.note else "")
        operators = dict.fromkeys(operator.name for operator in operators_of(row).values())
        table.add_row(row.name, ", ".join(operators), source)
    return table


def versions_table() -> Table:
    """Return a row for every ONNX operator: its versions."""
    table = _table("ONNX operator", "versions")
    for operator in operators_of(ONNX).values():
        table.add_row(operator.name, " ".join(map(str, operator.versions)))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table
