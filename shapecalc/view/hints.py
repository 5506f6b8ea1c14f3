"""Hints: what a step asks of who predicts its dim, and three helps that do not give the dim away."""

from __future__ import annotations

import re

from shapecalc.core.answers import Stage, Step
from shapecalc.core.ops.transpose import TakenAxis
from shapecalc.core.problem import Rule
from shapecalc.core.record import Record
from shapecalc.core.rules import CopiedZero, Given, Inferred, InferredEmpty, Merged
from shapecalc.view.titles import stage_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

UNKNOWN = "?"
"""What stands for the dim that is asked for in the arithmetic."""
GIVEN = "the request gives a {} there"
"""What is said of a dim that is asked for as it is, in place of the arithmetic that it has none of."""
CARET = "^"
WIDEST = 12
"""The most characters of a dim in a table of indices."""


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
    return Hint(_question(stage, step, out), _rule_text(step.rule), _place(stage, step, out, name), _arithmetic(step))


def _rule_text(rule: Rule) -> str:
    return f"{rule.sentence}  [{rule}]"


def _question(stage: Stage, step: Step, out: int | None) -> str:
    match step.facts:
        case CopiedZero():
            return f"what does the 0 at index {out} copy?"
        case Inferred() | InferredEmpty():
            return f"what must the -1 at index {out} be?"
        case TakenAxis() if stage.asked:
            return f"how large is dim {out} after {stage_name(stage)} {','.join(map(str, stage.asked))}?"
        case Given():
            return f"what is asked for at index {out}?"
        case Merged():
            return f"how large is dim {out}, which merges axes?"
    return f"how large is dim {out} after {stage_name(stage)}?"


def _place(stage: Stage, step: Step, out: int | None, name: str) -> str:
    """Return where to look: the dims with their indices, and carets under those that the step reads."""
    rows = {name: [str(dim) for dim in stage.before]}
    asked = {"asked": [str(dim) for dim in stage.asked]}
    marked: Collection[int | None] = step.sources
    note = ""
    match step.facts:
        case CopiedZero():
            said, note = f"the 0 is at index {out}:", "count from the left"
        case Inferred() | InferredEmpty():
            said, rows, marked = f"all elements of the {name}, divided by every dim that is known:", rows | asked, ()
        case TakenAxis() if stage.asked:
            said, note = f"index {out} of {','.join(asked['asked'])} says which dim to take:", "this one"
        case Given():
            said, rows, marked, note = f"index {out} of what is asked for:", asked, (out,), "it stands for itself"
        case _:
            said = f"dim {out} is made of:" if step.sources else f"no dim of the {name} becomes dim {out}:"
    return "\n".join([said, *_table(rows, marked, note)])


def _table(rows: dict[str, list[str]], marked: Collection[int | None], note: str) -> list[str]:
    """Return the indices, the rows of dims under them, and carets under the marked indices."""
    count = max(map(len, rows.values()))
    widths = [
        max(len(str(index)), *(len(row[index]) for row in rows.values() if index < len(row))) for index in range(count)
    ]
    head = max(map(len, ("index", *rows)))
    lines = [_row("index", [str(index) for index in range(count)], widths, head)]
    lines += [_row(name, row, widths, head) for name, row in rows.items()]
    if marked:
        carets = [CARET if index in marked else " " for index in range(count)]
        lines.append(f"{_row('', carets, widths, head).rstrip()} {note}".rstrip())
    return lines


def _row(name: str, cells: Sequence[str], widths: Sequence[int], head: int) -> str:
    dims = (cell.rjust(min(WIDEST, width)) for cell, width in zip(cells, widths, strict=False))
    return name.ljust(head) + "".join(f"   {dim}" for dim in dims)


def _arithmetic(step: Step) -> str:
    """Return the step's sentence with `?` in place of its dim; of several such numbers, the last one is it.

    >>> import shapecalc as sc
    >>> _arithmetic(sc.reshape((2, 3, 4), (2, -1)).steps[1])
    '-1 is 24 elements (2*3*4) / 2 known = ?'
    """
    if isinstance(step.facts, Given):
        return GIVEN.format("number" if isinstance(step.value, int) else "name")
    said = step.why
    found = [*re.finditer(rf"(?<![\w*/.-]){re.escape(str(step.value))}(?![\w*/])", said)]
    if not found:
        return said
    start, end = found[-1].span()
    return f"{said[:start]}{UNKNOWN}{said[end:]}"
