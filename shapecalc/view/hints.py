"""What a stage is called and what its steps ask, in words alone, with helps that do not give the answer away."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from shapecalc.core import rules
from shapecalc.core.answers import Answer, Kind, Request, Stage, Step, shapes_in
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text

GIVEN = "the request gives a {} there"
"""What is said of a dim that is asked for as it is, in place of the arithmetic that it has none of."""
CARET = "^"


class Hint(Record):
    """What a step asks, and the helps in their order. No help says the dim itself."""

    asks: str
    """The question, as one sentence."""
    rule: str
    """The first help: the rule that settles the dim."""
    where: str
    """The second: where to look, the indices counted out under the shape, on several lines."""
    arithmetic: str
    """The third: all but the last number."""

    @property
    def rungs(self) -> tuple[str, str, str]:
        """The helps in the order in which they are given."""
        return self.rule, self.where, self.arithmetic


def stage_name(stage: Stage) -> str:
    """Return what everybody calls a stage. Its label may be an argument's name, or what an op does with it.

    >>> import shapecalc as sc
    >>> [stage_name(stage) for stage in sc.shuffle((2, 3), first=(1, 0), to=(6,)).stages]
    ['transpose', 'reshape']
    """
    if stage.kind is Kind.PERMUTE and stage.label in (stage.argument, "move"):
        return "transpose"
    return "reshape" if stage.kind is Kind.RESHAPE and stage.label == stage.argument else stage.label


def shown_name(name: str) -> str:
    """Return a name as it is printed: `?` for a dim that nobody knows."""
    return "?" if name.startswith("?") else name


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Return the sizes that stand for names."""
    return ", ".join(f"{shown_name(name)}={size}" for name, size in sizes.items())


def conditions_text(answer: Answer, lead: str) -> str:
    """Return when an answer holds, behind some words; nothing if it always does."""
    return f"{lead}{' and '.join(each.words for each in answer.conditions)}" if answer.conditions else ""


def verdict_text(answer: Answer) -> str:
    """Return the output shape of an answer with its conditions, or the rule that refuses it."""
    if answer.problem:
        return f"refused: {answer.problem.rule}"
    return f"{shape_text(answer.output or ())}{conditions_text(answer, ' when ')}"


def stage_title(request: Request, stage: Stage) -> str:
    """Return a stage with its arguments. An argument is named if its place does not tell which one it is."""
    arguments = request.arguments
    if stage.label != request.op:
        given = arguments.get(stage.argument, "")
        asked = stage.asked or ("" if isinstance(given, str) else given)  # a pattern names every axis
        return f"{stage_name(stage)} {_argument_text(asked)}".rstrip()
    texts, op = [stage.label], OPS[request.op]
    operator = operator_of(op, DIALECTS[request.dialect])
    for param in (*op.params, *(operator.params if operator else ())):
        value = arguments.get(param.name)
        if isinstance(value, bool):
            texts.append(param.name if value else f"no {param.name}")
        elif value is not None:
            text = _argument_text(value)
            texts.append(text if param.positional or op.params == (param,) else f"{param.name} {text}")
    return " ".join(texts)


def _argument_text(value: object) -> str:
    if shapes_in(value) not in ((), (value,)):
        return " ".join([each if isinstance(each, str) else shape_text(each) for each in value])  # type: ignore[attr-defined]
    return shape_text(value) if isinstance(value, tuple) else str(value)


def hint_of(stage: Stage, step: Step, out: int | None = None, *, name: str = "input") -> Hint:
    """Return what a step asks about dim `out` of its stage, and the helps. `name` is what the stage begins with.

    >>> import shapecalc as sc
    >>> (stage,) = sc.reshape((2, 2, 3, 2), (-1, 0, 0)).stages
    >>> hint = hint_of(stage, stage.steps[0])
    >>> hint.asks, hint.arithmetic
    ('what does the 0 at index 1 copy?', '0 copies dim 1, counted from the left, which is ?')
    >>> print(hint.where)
    the 0 is at index 1:
    index   0   1   2   3
    input   2   2   3   2
                ^ count from the left
    """
    out = step.out if out is None else out
    rows = {name: [str(dim) for dim in stage.before]}
    asked = {"asked": [str(dim) for dim in stage.asked]}
    marked: Collection[int | None] = step.sources
    asks, note = f"how large is dim {out} after {stage_name(stage)}?", ""
    match step.rule:
        case rules.COPIED_ZERO:
            asks, heading = f"what does the 0 at index {out} copy?", f"the 0 is at index {out}:"
            note = "count from the left"
        case rules.INFERRED | rules.INFERRED_EMPTY:
            asks = f"what must the -1 at index {out} be?"
            heading = f"all elements of the {name}, divided by every dim that is known:"
            rows, marked = rows | asked, ()
        case _ if stage.kind is Kind.PERMUTE and stage.asked and step.out is not None:
            perm = ",".join(asked["asked"])
            asks = f"how large is dim {out} after {stage_name(stage)} {perm}?"
            heading, note = f"index {out} of {perm} says which dim to take:", "this one"
        case rules.GIVEN:
            asks, heading = f"what is asked for at index {out}?", f"index {out} of what is asked for:"
            rows, marked, note = asked, (out,), "it stands for itself"
        case rule:
            asks = f"how large is dim {out}, which merges axes?" if rule == rules.MERGED else asks
            heading = f"dim {out} is made of:" if step.sources else f"no dim of the {name} becomes dim {out}:"
    where = "\n".join([heading, *_index_table(rows, marked, note)])
    return Hint(asks, f"{step.rule.sentence}  [{step.rule}]", where, arithmetic(step))


def is_worth_asking(stage: Stage, step: Step, out: int, dim: Dim) -> bool:
    """Say whether dim `out` after a stage is to be found out: not if it stays, or if the request names its size there.

    >>> import shapecalc as sc
    >>> (stage,) = sc.reshape((2, 3, 4), (0, 4, -1)).stages
    >>> [is_worth_asking(stage, step, step.out, step.value) for step in stage.steps[:3]]
    [True, False, True]
    """
    if step.rule in (rules.COPIED_ZERO, rules.INFERRED, rules.INFERRED_EMPTY):
        return True
    stays = step.sources == (out,) and str(stage.before[out]) == str(dim)
    return not stays and not is_said(stage, out, dim)


def is_said(stage: Stage, out: int, dim: Dim) -> bool:
    """Say whether a request names the size of dim `out` after a stage there."""
    sized = stage.kind in (Kind.RESHAPE, Kind.VIEW, Kind.EXPAND)
    return sized and out < len(stage.asked) and str(stage.asked[out]) == str(dim)


def _index_table(rows: dict[str, list[str]], marked: Collection[int | None], note: str) -> list[str]:
    """Return the indices, the rows of dims under them, and carets under the marked indices."""
    count = max(map(len, rows.values()))
    widths = [
        max(len(str(index)), *(len(row[index]) for row in rows.values() if index < len(row))) for index in range(count)
    ]
    head = max(map(len, ("index", *rows)))
    lines = [_index_row("index", [str(index) for index in range(count)], widths, head)]
    lines += [_index_row(name, row, widths, head) for name, row in rows.items()]
    if marked:
        carets = [CARET if index in marked else " " for index in range(count)]
        lines.append(f"{_index_row('', carets, widths, head).rstrip()} {note}".rstrip())
    return lines


def _index_row(name: str, cells: Sequence[str], widths: Sequence[int], head: int) -> str:
    dims = (cell.rjust(min(12, width)) for cell, width in zip(cells, widths, strict=False))
    return name.ljust(head) + "".join(f"   {dim}" for dim in dims)


def arithmetic(step: Step, hole: str = "?") -> str:
    """Return the step's sentence with a hole in place of its dim; of several such numbers, the last one is it.

    >>> import shapecalc as sc
    >>> arithmetic(sc.reshape((2, 3, 4), (2, -1)).steps[1])
    '-1 is 24 elements (2*3*4) / 2 known = ?'
    """
    if step.rule == rules.GIVEN:
        return GIVEN.format("number" if isinstance(step.value, int) else "name")
    sentence = step.why
    found = [*re.finditer(rf"(?<![\w*/.-]){re.escape(str(step.value))}(?![\w*/])", sentence)]
    if not found:
        return sentence
    start, end = found[-1].span()
    return f"{sentence[:start]}{hole}{sentence[end:]}"
