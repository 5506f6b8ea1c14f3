"""Answers as terminal text: steps, error messages, tables, and the report.

The report contains the flow diagram, the most informative picture and all steps of an answer, on one screen if
possible.
"""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from shapecalc.core.answers import Chain, Step, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import USAGE, Problem, ShapeError
from shapecalc.core.requests import select_rules
from shapecalc.core.text import escape_unprintable, format_count, shape_text, wrap_offsets
from shapecalc.reasoning.answers import batch_hint
from shapecalc.render.canvas import UNICODE, GlyphSet, stack_texts
from shapecalc.render.flow import draw_flow
from shapecalc.render.hints import display_name, verdict_text
from shapecalc.render.pictures import draw_explanation, draw_picture, steps_to_draw
from shapecalc.render.styles import BOLD_ERROR

TYPE_CHECKING = False  # Rich's tables are imported where they are used, because they take 4 of the 75 ms of --explain
if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from shapecalc.core.dialects.base import Dialect
    from shapecalc.reasoning.compare import Comparison, ComparisonRow

MIN_FLOW_HEIGHT = 6
"""The minimum height, in lines, to which the flow diagram is reduced to fit the screen.

If there is no space for this height, the diagram is drawn in full, and the report exceeds the screen.
"""
MAX_ARGUMENT_WIDTH = 30
"""The maximum number of characters of an argument in an error report."""


def steps_text(answer: Trace | Chain, width: int | None = None) -> Text:
    """Format the steps of an answer, its conditions, and the sources of its rules.

    If `width` is given, lines are wrapped to `width` characters, and the reasons form a column.

    >>> import shapecalc as sc
    >>> print(steps_text(sc.reshape((2, 3, 4), (0, -1))))
    onnx Reshape 25, allowzero off
    reshape  dim 0  from 0    2     0 copies dim 0, which is 2  [copy-zero]
    reshape  dim 1  from 1,2  12    -1 is 24 elements (2*3*4) / 2 known = 12  [infer]
    reshape         all       2,12  24 elements in and out: axis 0 stays; axes 1,2 merge into axis 1  [regroup]
    source: ONNX operator documents; each rule: shapecalc why RULE
    """
    text, traces = Text(), answer.traces
    for trace in traces:
        text.append(f"{operator_text(trace)}\n", "bold")
        labelled_steps = [("input", step) for step in trace.input_steps]
        labelled_steps += [(stage.label, step) for stage in trace.stages for step in stage.steps]
        rows = [_step_columns(label, step) for label, step in labelled_steps]
        widths = [max((len(row[at]) for row in rows if len(row[at]) <= 60), default=0) for at in range(4)]
        for (_, step), row in zip(labelled_steps, rows, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            reason = Text(f"{cells}  {escape_unprintable(step.why)}").append(f"  [{step.rule}]", "dim")
            text.append_text(wrap_text(reason, width, len(cells) + 2)).append("\n")
    conditions = list(answer.caveats)
    if conditions:
        conditions += filter(None, [escape_unprintable(batch_hint(answer))])
    for condition in conditions:
        text.append_text(wrap_text(Text(condition, "bold"), width)).append("\n")
    if answer.assumes:
        verb = "is" if len(answer.assumes) == 1 else "are"
        text.append(f"assumes that {' and '.join(map(display_name, answer.assumes))} {verb} not 0\n", "dim")
    for dialect in dict.fromkeys(trace.dialect for trace in traces):
        source = Text(f"source: {DIALECTS[dialect].source}; each rule: shapecalc why RULE", "dim")
        text.append_text(wrap_text(source, width)).append("\n")
    text.rstrip()
    return text


def wrap_text(line: Text, width: int | None, indent: int = 4) -> Text:
    """Wrap a line with a hanging indent, unless `width` is None.

    The indent is reduced if the text would have less than half of the width.
    """
    if width is None or line.cell_len <= width:
        return line
    indent = indent if indent <= width // 2 else 4
    parts = list(line.divide(wrap_offsets(line.plain, width, indent)))
    for part in parts:
        part.rstrip()
    return Text(f"\n{' ' * indent}", no_wrap=True, overflow="ignore").join(parts)


def operator_text(trace: Trace) -> str:
    """Format the dialect, the operator, its version and its settings.

    >>> import shapecalc as sc
    >>> operator_text(sc.pool((1, 3, 8, 8), 2, kind="average"))
    'onnx AveragePool 22'
    """
    dialect, operator = trace.dialect, _operator_name(trace)
    version = "" if trace.version is None else f" {trace.version}"
    settings = [f"{option} {setting_text(value)}" for option, value in trace.options.items()]
    return ", ".join([f"{dialect} {operator}{version}", *settings])


def _operator_name(trace: Trace) -> str:
    try:
        return select_rules(trace.request).operator.name
    except ShapeError:  # the operator does not exist in this version, or the request lacks a required switch
        operator = operator_of(OPS[trace.op], DIALECTS[trace.dialect])
        return operator.name if operator else trace.op


def setting_text(value: object) -> str:
    """Format the value of a setting; a switch is `on` or `off`."""
    return {True: "on", False: "off", None: "left out"}[value] if isinstance(value, bool | None) else str(value)


def _step_columns(label: str, step: Step) -> tuple[str, str, str, str]:
    """Format the columns of a step: stage, output dim, sources and value."""
    is_shape = isinstance(step.value, tuple)
    sources = f"from {','.join(map(str, step.sources))}" if step.sources else ""
    value = shape_text(step.value) if isinstance(step.value, tuple) else str(step.value)
    return label, "" if step.out is None else f"dim {step.out}", "all" if is_shape else sources, value


def draw_report(
    answer: Trace | Chain,
    *,
    width: int = 78,
    glyphs: GlyphSet = UNICODE,
    lines_below: int = 0,
    more_command: str = "",
    wraps_steps: bool = False,
) -> Text:
    """Draw the flow diagram, a picture and all steps, in 24 lines if possible.

    `width` is in character cells. `lines_below` of the 24 lines are reserved for other output. Steps are never omitted.
    `more_command` is the option that draws all pictures; a note mentions it if pictures are omitted. If it is empty,
    all pictures are drawn. If `wraps_steps` is True, steps are wrapped to `width`.

    >>> import shapecalc as sc
    >>> answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3))
    >>> len(str(draw_report(answer, more_command="--explain=all")).splitlines())
    19
    """
    steps = steps_text(answer, width if wraps_steps else None)
    if not more_command:
        return stack_texts([draw_explanation(answer, width=width, glyphs=glyphs), Text(""), steps])
    free_lines = 24 - lines_below - _terminal_line_count(steps, width) - 1
    flow_text = draw_flow(answer, width=width, glyphs=glyphs)
    if _terminal_line_count(flow_text, width) > free_lines >= MIN_FLOW_HEIGHT:
        flow_text = draw_flow(answer, width=width, height=free_lines, glyphs=glyphs)
    steps_drawn = steps_to_draw(answer, width)
    free_lines -= _terminal_line_count(flow_text, width) + 1 + (len(steps_drawn) > 1)
    shown = None
    for step in steps_drawn:
        shown = _fit_picture(draw_picture(answer, step, width=width, glyphs=glyphs), width, free_lines, glyphs)
        if shown is not None:
            break
    omitted = len(steps_drawn) - (shown is not None)
    note = Text(f"{format_count(omitted, 'more picture', 'more pictures')}: {more_command}", "dim")
    picture_lines = [] if shown is None else [Text(""), shown]
    return stack_texts([flow_text, *picture_lines, *([note] if omitted else []), Text(""), steps])


def _fit_picture(picture: Text, width: int, height: int, glyphs: GlyphSet) -> Text | None:
    """Return a picture of at most `height` lines, or None if the picture is too high.

    If a picture is too high, its lines that contain only an ellipsis are omitted. Such a line separates the first
    windows from the last window, whose numbers already show the omission.
    """
    if _terminal_line_count(picture, width) <= height:
        return picture
    lines = [line for line in picture.split("\n", allow_blank=True) if line.plain.strip() != glyphs.ellipsis]
    shortened = stack_texts(lines)
    return shortened if _terminal_line_count(shortened, width) <= height else None


def _terminal_line_count(text: Text, width: int) -> int:
    """Return the number of terminal lines that a text occupies."""
    return sum(max(1, -(-line.cell_len // width)) for line in text.split("\n", allow_blank=True))


def format_problem(problem: Problem, pieces: list[tuple[str | None, str]], width: int | None = None) -> Group:
    """Format a problem: its message, the command line with carets, and its hint.

    The carets are below the faulty token. `pieces` are pairs of an argument name, or None, and a word of the command
    line. The message and the hint are wrapped to `width` characters, unless it is None.

    >>> from rich import print
    >>> problem = Problem("indivisible", "24 elements cannot be divided by 5", "try 4,-1", "target", 1, (2, 4))
    >>> print(format_problem(problem, [(None, "reshape"), ("input", "2,3,4"), ("target", "5,-1")]))
    shapecalc: indivisible: 24 elements cannot be divided by 5
    <BLANKLINE>
      reshape 2,3,4 5,-1
                      ^^
      hint  try 4,-1
      rule  shapecalc why indivisible
    """
    message = Text.assemble("shapecalc: ", (problem.rule, BOLD_ERROR), f": {escape_unprintable(problem.message)}")
    parts = [wrap_text(message, width, 2), Text("")]
    parts.append(_command_with_caret(problem, pieces))
    if problem.hint:
        parts.append(wrap_text(Text(f"  hint  {escape_unprintable(problem.hint)}"), width, 8))
    if problem.rule != USAGE:
        parts.append(Text(f"  rule  shapecalc why {problem.rule}", "dim"))
    return Group(*parts)


def _command_with_caret(problem: Problem, pieces: list[tuple[str | None, str]]) -> Text:
    """Format the command line with carets below the faulty token."""
    line, caret = Text("  ", no_wrap=True, overflow="ignore"), None
    for argument, text in pieces:
        at_fault = argument is not None and argument == problem.argument
        visible_text, visible_span = _truncate_around(text, (problem.span or (0, len(text))) if at_fault else None)
        if visible_span:
            caret = (len(line) + visible_span[0], len(line) + visible_span[1])
        line.append(f"{visible_text} ")
    line.rstrip()
    if caret:
        line.append("\n" + " " * caret[0])
        line.append("^" * max(1, caret[1] - caret[0]), BOLD_ERROR)
    return line


def _truncate_around(text: str, span: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """Truncate an argument to the part around a token.

    Returns the truncated argument, and the span of the token in it.
    """
    if span is None:
        shortened = text if len(text) <= MAX_ARGUMENT_WIDTH else f"{text[:MAX_ARGUMENT_WIDTH]}..."
        return escape_unprintable(shortened) or "''", None
    start, end = span[0], min(span[1], span[0] + MAX_ARGUMENT_WIDTH)
    first = max(0, start - MAX_ARGUMENT_WIDTH // 2) if len(text) > MAX_ARGUMENT_WIDTH else 0
    last = min(len(text), max(end, first + MAX_ARGUMENT_WIDTH))
    before, token, after = (escape_unprintable(part) for part in (text[first:start], text[start:end], text[end:last]))
    left, right = "..." if first else "", "..." if last < len(text) else ""
    offset = len(left) + len(before)
    return f"{left}{before}{token}{after}{right}" or "''", (offset, offset + len(token))


def comparison_table(comparison: Comparison) -> Table:
    """Return a table with the answer of each dialect and setting.

    An asterisk marks each answer that differs from the most common one.
    """
    answers = [row.verdict for row in comparison.rows if row.default]
    common = max(dict.fromkeys(answers), key=answers.count)
    table = _plain_table("", "dialect", "setting", "answer")
    for row in comparison.rows:
        differs = row.verdict != common
        table.add_row(
            "*" if differs else "",
            row.dialect,
            _format_row_setting(row),
            Text(verdict_text(row.trace)),
            style="bold" if differs else "",
        )
    return table


def _format_row_setting(row: ComparisonRow) -> str:
    """Format the setting of a comparison row, and mark the default."""
    setting = ", ".join(f"{name} {setting_text(value)}" for name, value in row.options.items() if name != "dtype")
    switch, switch_value = DIALECTS[row.dialect].switch, row.trace.traces[-1].request.switch
    if not setting and switch and switch_value is not None:
        setting = f"{switch.name} {setting_text(switch_value)}"
    return f"{setting} (default)" if setting and row.default and switch and switch.default is not None else setting


def dialects_table(dialects: Iterable[Dialect]) -> Table:
    """Return a table of the dialects' rules for 0 and -1, and their maximum ranks.

    There is a row for each dialect and setting.
    """
    table = _plain_table("dialect", "switch", "0", "infers", "0 and -1", "-1 of none", "dims")
    for row in dialects:
        for value in row.switch_settings():
            reading, default = row.reshape_semantics[value], row.switch is not None and row.switch.default is value
            switch = f"{row.switch.name} {setting_text(value)}{'*' * default}" if row.switch else "-"
            answers = (reading.zero, reading.infers, reading.zero_beside, reading.empty)
            table.add_row(row.name, switch, *(answer.value for answer in answers), str(row.max_rank or "any"))
    return table


def operators_table(dialects: Iterable[Dialect]) -> Table:
    """Return a table of the operators and sources of each dialect."""
    table = _plain_table("dialect", "operators", "source")
    for row in dialects:
        operators = dict.fromkeys(operator.name for operator in operators_of(row).values())
        table.add_row(row.name, ", ".join(operators), ". ".join(filter(None, (row.source, row.note))))
    return table


def versions_table() -> Table:
    """Return a table of the versions of each ONNX operator."""
    table = _plain_table("ONNX operator", "versions")
    for operator in operators_of(DIALECTS["onnx"]).values():
        table.add_row(operator.name, " ".join(map(str, operator.versions)))
    return table


def _plain_table(*columns: str) -> Table:
    from rich.table import Table  # imported here, because it takes 4 ms, and few commands print tables

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table
