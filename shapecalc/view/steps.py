"""The steps of a trace as text: what each output dim is, where it comes from, and by which rule."""

from __future__ import annotations

from rich.text import Text

from shapecalc.core.answers import Chain, Step, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.fixing import lasting_hint
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.text import shape_text, visible

WIDEST = 60
"""The widest cell that the others of its column are filled up to."""


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
        widths = [max((len(row[at]) for row in rows if len(row[at]) <= WIDEST), default=0) for at in range(4)]
        for (_, step), row in zip(labelled, rows, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            text.append(f"{cells}  {visible(step.why)}")
            text.append(f"  [{step.rule}]\n", "dim")
    for condition in answer.conditions:
        text.append(f"holds when {condition.words}\n", "yellow")
    lasting = lasting_hint(answer)
    if lasting:
        text.append(f"{visible(lasting)}\n", "yellow")
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
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def shown_name(name: str) -> str:
    """Return a name as it is printed: `?` for a dim that nobody knows."""
    return "?" if name.startswith("?") else name


def _cells(label: str, step: Step) -> tuple[str, str, str, str]:
    """Return the stage, the output dim, where it comes from, and its value."""
    whole = isinstance(step.value, tuple)
    sources = f"from {','.join(map(str, step.sources))}" if step.sources else ""
    value = shape_text(step.value) if isinstance(step.value, tuple) else str(step.value)
    return label, "" if step.out is None else f"dim {step.out}", "all" if whole else sources, value
