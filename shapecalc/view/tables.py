"""Tables: a comparison of dialects, and the dialects themselves."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from shapecalc.core.dtypes import ONNX
from shapecalc.core.resolve import Compared, Comparison
from shapecalc.core.rules import DIALECTS, Dialect
from shapecalc.core.text import shape_text
from shapecalc.view.steps import setting_text


def comparison_table(comparison: Comparison) -> Table:
    """Return a row for every dialect and setting: its answer, or the rule that refuses; `*` marks the odd ones."""
    table = _table("", "dialect", "setting", "answer")
    answers = [row.verdict for row in comparison.rows if row.default]
    common = max(dict.fromkeys(answers), key=answers.count)
    for row in comparison.rows:
        odd = row.verdict != common
        table.add_row("*" if odd else "", row.trace.dialect, _setting(row), _answer(row), style="yellow" if odd else "")
    return table


def _setting(row: Compared) -> str:
    said = ", ".join(f"{name} {setting_text(value)}" for name, value in row.trace.options.items() if name != "dtype")
    switch = DIALECTS[row.trace.dialect].switch
    if not said and switch and row.trace.request.switch is not None:
        said = f"{switch.name} {setting_text(row.trace.request.switch)}"
    return f"{said} (default)" if said and row.default and switch and switch.default is not None else said


def _answer(row: Compared) -> Text:
    trace = row.trace
    if trace.problem:
        return Text(f"refused: {trace.problem.rule}")
    conditions = " and ".join(map(str, trace.conditions))
    return Text(shape_text(trace.output or ()) + (f" when {conditions}" if conditions else ""))


def dialects_table() -> Table:
    """Return a row for every dialect and setting: the four questions of reshape, and the limits."""
    table = _table("dialect", "switch", "0", "infers", "0 beside -1", "-1 of nothing", "dims", "source")
    for row in DIALECTS.values():
        for on in row.settings():
            rules = row.rules[on]
            switch = f"{row.switch.name} {setting_text(on)}{_default(row, on)}" if row.switch else "-"
            rank = str(row.max_rank or "any")
            table.add_row(
                row.name,
                switch,
                rules.zero.value,
                rules.infers.value,
                rules.zero_beside.value,
                rules.empty.value,
                rank,
                row.source,
            )
    return table


def _default(row: Dialect, on: bool | None) -> str:
    if row.switch is None or row.switch.default is None:
        return " (required)"
    return " (default)" if row.switch.default is on else ""


def operators_table() -> Table:
    """Return a row for every op: what each dialect calls it, and ONNX's versions."""
    table = _table("op", *DIALECTS, "ONNX versions")
    for op in dict.fromkeys(op for row in DIALECTS.values() for op in row.operators):
        names = [row.operators.get(op, "-") for row in DIALECTS.values()]
        table.add_row(op, *names, " ".join(map(str, ONNX.get(op, ()))))
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
