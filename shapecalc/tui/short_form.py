"""A chain beside its short form, as texts of a given width."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap

from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import chain_text, stage_line
from shapecalc.core.simplify import Cost, Goal, Simplification
from shapecalc.core.text import number_text, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

APART = 4
"""The blanks between two columns."""
SHORTEST = "It is as short as shapecalc can make it."
PROVED = "Proved to be the same, wherever the chain is defined."
UNPROVED = "Not proved to be the same."
LABELS = {Goal.TRANSPOSES: "transposes", Goal.SHUFFLES: "Shuffle layers", Goal.BYTES: "bytes moved"}
"""What the counts are called."""


def chains_text(answer: Trace | Chain, found: Simplification, width: int) -> Text:
    """Return a chain beside its short form if there is one, a line for every stage.

    Where they are too wide the shapes after the stages go, and then the short form stands over the chain.

    >>> import shapecalc as sc
    >>> from shapecalc.core.simplify import simplify
    >>> chain = sc.chain("2,3,4", "transpose 2,0,1", "transpose 1,2,0")
    >>> print(chains_text(chain, simplify(chain), 60))
    as it is, 2 stages          short form, 1 stage
    2,3,4                       2,3,4
    transpose 2,0,1  → 4,2,3    reshape 2,3,4  → 2,3,4
    transpose 1,2,0  → 2,3,4
    """
    if not found.shorter:
        return Text("\n").join(_column("as it is", answer))
    for with_shapes in (True, False):
        left, right = _column("as it is", answer, with_shapes), _column("short form", found.chain, with_shapes)
        wide = max(map(len, left)) + APART
        if wide + max(map(len, right)) <= width:
            return Text("\n").join(_beside(left, right, wide))
    return Text("\n").join([*_column("short form", found.chain), Text(), *_column("as it is", answer)])


def _column(title: str, answer: Trace | Chain, with_shapes: bool = True) -> list[Text]:
    """Return the lines of a chain under its title."""
    stages = [visible(stage_line(trace.request)) for trace in answer.traces]
    wide = max(map(len, stages))
    lines = [Text(f"{title}, {number_text(len(stages), 'stage', 'stages')}", "bold"), Text(shape_text(answer.input))]
    for stage, trace in zip(stages, answer.traces, strict=True):
        after = f"  → {shape_text(trace.output or ())}" if with_shapes else ""
        lines.append(Text(stage.ljust(wide) if after else stage).append(after, "dim"))
    return lines


def _beside(left: list[Text], right: list[Text], wide: int) -> Iterator[Text]:
    """Yield the lines of two columns, of which the left is `wide`."""
    for mine, yours in zip_longest(left, right, fillvalue=Text()):
        line = mine.copy()
        line.pad_right(wide - len(mine) if yours else 0)
        yield line.append_text(yours)


def count_line(goal: Goal, before: Cost, after: Cost) -> Text:
    """Return what there is of one thing in a chain and in its short form."""
    have, left = (str(getattr(cost, goal.value)) for cost in (before, after))
    line = Text(f"{LABELS[goal].ljust(max(map(len, LABELS.values())))}  {have}")
    return line.append(f" → {left}", "bold") if have != left else line


def conclusion_text(found: Simplification, width: int) -> Text:
    """Return in words whether there is a shorter chain, and whether it is proved to be the same."""
    said = SHORTEST if not found.shorter else PROVED if found.proved else UNPROVED
    return Text("\n".join(wrap(said, width)), "bold")


def simplify_line(answer: Trace | Chain, goal: Goal) -> str:
    """Return the command line that looks for the short form.

    >>> import shapecalc as sc
    >>> simplify_line(sc.transpose("2,3", "1,0"), Goal.BYTES)
    "shapecalc simplify '2,3 | transpose 1,0' --for bytes"
    """
    from shlex import join

    return join(["shapecalc", "simplify", chain_text(answer), "--for", goal.value])
