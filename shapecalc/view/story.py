"""What is told of answers in words: every step, reports and tables, and the story of an answer on one screen."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from shapecalc.core.answers import Chain, Step, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, operators_of
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import USAGE, Problem
from shapecalc.core.text import number_text, shape_text, visible
from shapecalc.view.canvas import UNICODE, Strokes, stack
from shapecalc.view.flow import flow
from shapecalc.view.hints import shown_name, verdict_text
from shapecalc.view.pictures import explain, picture, steps_to_draw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.table import Table

    from shapecalc.core.compare import Compared, Comparison

WIDEST_ARGUMENT = 30
"""The most characters of an argument that are shown around its token."""


def steps_text(answer: Trace | Chain) -> Text:
    """Return every step of an answer, stage by stage, then its conditions and the sources of its rules.

    >>> import shapecalc as sc
    >>> print(steps_text(sc.reshape((2, 3, 4), (0, -1))))
    onnx Reshape 25, allowzero off
    reshape  dim 0  from 0    2     0 copies dim 0, which is 2  [copy-zero]
    reshape  dim 1  from 1,2  12    -1 is 24 elements (2*3*4) / 2 known = 12  [infer]
    reshape         all       2,12  24 elements in and out: axis 0 stays; axes 1,2 merge into axis 1  [regroup]
    source: ONNX operator documents; each rule: shapecalc why RULE
    """
    text = Text()
    for trace in answer.traces:
        text.append(f"{operator(trace)}\n", "bold")
        labelled = [("input", step) for step in trace.given]
        labelled += [(stage.label, step) for stage in trace.stages for step in stage.steps]
        rows = [_cells(label, step) for label, step in labelled]
        widths = [max((len(row[at]) for row in rows if len(row[at]) <= 60), default=0) for at in range(4)]
        for (_, step), row in zip(labelled, rows, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            text.append(f"{cells}  {visible(step.why)}")
            text.append(f"  [{step.rule}]\n", "dim")
    limits = list(answer.limits)
    if limits:
        from shapecalc.core.fixing import lasting_hint  # most answers have no conditions

        limits += filter(None, [visible(lasting_hint(answer))])
    for limit in limits:
        text.append(f"{limit}\n", "yellow")
    if answer.assumes:
        verb = "is" if len(answer.assumes) == 1 else "are"
        text.append(f"assumes that {' and '.join(map(shown_name, answer.assumes))} {verb} not 0\n", "dim")
    for dialect in dict.fromkeys(trace.dialect for trace in answer.traces):
        text.append(f"source: {DIALECTS[dialect].source}; each rule: shapecalc why RULE\n", "dim")
    text.rstrip()
    return text


def operator(trace: Trace) -> str:
    """Return the dialect and its operator, the operator's version, and the settings in force."""
    named = operator_of(OPS[trace.op], DIALECTS[trace.dialect])
    name = f"{trace.dialect} {named.name if named else trace.op}"
    version = "" if trace.version is None else f" {trace.version}"
    settings = [f"{option} {setting_text(value)}" for option, value in trace.options.items()]
    return ", ".join([f"{name}{version}", *settings])


def setting_text(value: object) -> str:
    """Return the text of a setting: `on` or `off` for a switch."""
    return {True: "on", False: "off", None: "left out"}[value] if isinstance(value, bool | None) else str(value)


def _cells(label: str, step: Step) -> tuple[str, str, str, str]:
    """Return the stage, the output dim, where it comes from, and its value."""
    whole = isinstance(step.value, tuple)
    sources = f"from {','.join(map(str, step.sources))}" if step.sources else ""
    value = shape_text(step.value) if isinstance(step.value, tuple) else str(step.value)
    return label, "" if step.out is None else f"dim {step.out}", "all" if whole else sources, value


LEAST_FLOW = 6
"""The fewest lines that a flow is cut to for the sake of the steps under it; more steps fit no screen anyhow."""


def story(
    answer: Trace | Chain, *, width: int = 78, strokes: Strokes = UNICODE, below: int = 0, more: str = ""
) -> Text:
    """Return the flow of an answer, a picture and every step: what a screen has room for, with `below` lines under it.

    `width` is in character cells. Steps are never left out. `more` is how every picture is asked for, which is said if
    there are others; without it, all are drawn.

    >>> import shapecalc as sc
    >>> answer = sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3))
    >>> len(str(story(answer, more="--explain=all")).splitlines())
    19
    """
    steps = steps_text(answer)
    if not more:
        return stack([explain(answer, width=width, strokes=strokes), Text(""), steps])
    room = 24 - below - _height(steps, width) - 1
    drawn = flow(answer, width=width, strokes=strokes)
    if _height(drawn, width) > room >= LEAST_FLOW:
        drawn = flow(answer, width=width, height=room, strokes=strokes)
    steps_drawn = steps_to_draw(answer, width)
    room -= _height(drawn, width) + 1 + (len(steps_drawn) > 1)
    each_drawn = (picture(answer, at, width=width, strokes=strokes) for at in steps_drawn)
    shown = next((each for each in each_drawn if _height(each, width) <= room), None)
    others = len(steps_drawn) - (shown is not None)
    note = Text(f"{number_text(others, 'more picture', 'more pictures')}: {more}", "dim")
    middle = [] if shown is None else [Text(""), shown]
    return stack([drawn, *middle, *([note] if others else []), Text(""), steps])


def _height(text: Text, width: int) -> int:
    """Return how many lines of a terminal a text takes."""
    return sum(max(1, -(-line.cell_len // width)) for line in text.split("\n", allow_blank=True))


def caret_report(problem: Problem, pieces: list[tuple[str | None, str]]) -> Group:
    """Return the report of a problem: its message, the command line with a caret under the token, and its hint.

    `pieces` are the words of the command line, each with the name of its argument.

    >>> from rich import print
    >>> problem = Problem("indivisible", "24 elements cannot be divided by 5", "try 4,-1", "target", 1, (2, 4))
    >>> print(caret_report(problem, [(None, "reshape"), ("input", "2,3,4"), ("target", "5,-1")]))
    shapecalc: indivisible: 24 elements cannot be divided by 5
    <BLANKLINE>
      reshape 2,3,4 5,-1
                      ^^
      hint  try 4,-1
      rule  shapecalc why indivisible
    """
    parts = [Text.assemble("shapecalc: ", (problem.rule, "bold red"), f": {visible(problem.message)}"), Text("")]
    parts.append(_request(problem, pieces))
    if problem.hint:
        parts.append(Text(f"  hint  {visible(problem.hint)}"))
    if problem.rule != USAGE:
        parts.append(Text(f"  rule  shapecalc why {problem.rule}", "dim"))
    return Group(*parts)


def _request(problem: Problem, pieces: list[tuple[str | None, str]]) -> Text:
    """Return the command line, and the caret under its token. Neither is ever wrapped."""
    line, caret = Text("  ", no_wrap=True, overflow="ignore"), None
    for argument, text in pieces:
        at_fault = argument is not None and argument == problem.argument
        shown, place = _window(text, (problem.span or (0, len(text))) if at_fault else None)
        if place:
            caret = (len(line) + place[0], len(line) + place[1])
        line.append(f"{shown} ")
    line.rstrip()
    if caret:
        line.append("\n" + " " * caret[0])
        line.append("^" * max(1, caret[1] - caret[0]), "bold red")
    return line


def _window(text: str, span: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """Return the part of an argument that is shown, and the span of its token in it."""
    if span is None:
        shown = text if len(text) <= WIDEST_ARGUMENT else f"{text[:WIDEST_ARGUMENT]}..."
        return visible(shown) or "''", None
    start, end = span[0], min(span[1], span[0] + WIDEST_ARGUMENT)
    first = max(0, start - WIDEST_ARGUMENT // 2) if len(text) > WIDEST_ARGUMENT else 0
    last = min(len(text), max(end, first + WIDEST_ARGUMENT))
    before, token, after = (visible(part) for part in (text[first:start], text[start:end], text[end:last]))
    left, right = "..." if first else "", "..." if last < len(text) else ""
    place = len(left) + len(before)
    return f"{left}{before}{token}{after}{right}" or "''", (place, place + len(token))


def comparison_table(comparison: Comparison) -> Table:
    """Return a row for every dialect and setting: its answer, or the rule that refuses.

    `*` marks the rows that differ from the most common answer.
    """
    answers = [row.verdict for row in comparison.rows if row.default]
    common = max(dict.fromkeys(answers), key=answers.count)
    table = _table("", "dialect", "setting", "answer")
    for row in comparison.rows:
        odd = row.verdict != common
        table.add_row(
            "*" if odd else "", row.dialect, _setting(row), Text(verdict_text(row.trace)), style="yellow" if odd else ""
        )
    return table


def _setting(row: Compared) -> str:
    setting = ", ".join(f"{name} {setting_text(value)}" for name, value in row.options.items() if name != "dtype")
    switch, given = DIALECTS[row.dialect].switch, row.trace.traces[-1].request.switch
    if not setting and switch and given is not None:
        setting = f"{switch.name} {setting_text(given)}"
    return f"{setting} (default)" if setting and row.default and switch and switch.default is not None else setting


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
        operators = dict.fromkeys(operator.name for operator in operators_of(row).values())
        table.add_row(row.name, ", ".join(operators), "; ".join(filter(None, (row.source, row.note))))
    return table


def versions_table() -> Table:
    """Return a row for every ONNX operator: its versions."""
    table = _table("ONNX operator", "versions")
    for operator in operators_of(DIALECTS["onnx"]).values():
        table.add_row(operator.name, " ".join(map(str, operator.versions)))
    return table


def _table(*columns: str) -> Table:
    from rich.table import Table  # only a comparison and the tables of dialects need it

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column)
    return table
