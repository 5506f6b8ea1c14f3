"""One pass over the data, or two with a store between: whichever reads and writes fewer bytes.

The store between has an axis for each line, in the order of the output, and chunks that are a part of what one task of
the first pass holds, and of what one task of the second does.
"""

from __future__ import annotations

from math import prod

from shapecalc.core.sizes.record import Record
from shapecalc.engine.stores.boxes import factors_of, spans
from shapecalc.engine.stores.lines import Factor, Line, Lines
from shapecalc.engine.stores.plan import Pass, PlanError, plan_pass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.engine.stores.lines import Sizes


class Plan(Record):
    """The passes over the data, each from the array that the one before wrote."""

    passes: tuple[Pass, ...]

    @property
    def tasks(self) -> int:
        """How many tasks all passes have."""
        return sum(each.tasks for each in self.passes)

    @property
    def read(self) -> int:
        """The bytes that all passes decode."""
        return sum(each.read for each in self.passes)

    @property
    def written(self) -> int:
        """The bytes that all passes write, before they are encoded."""
        return sum(each.written for each in self.passes)

    @property
    def memory(self) -> int:
        """The bytes that a task holds at most."""
        return max(each.memory for each in self.passes)

    @property
    def exact(self) -> bool:
        """Whether what is read was counted task by task."""
        return all(each.exact for each in self.passes)


def plan_store(
    rows: Sequence[Lines], itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None = None
) -> Plan:
    """Return the plan for lines after lines within `memory` bytes a task; with `chunks`, the output has those.

    Raises `PlanError` if the smallest task needs more.
    """
    passes: tuple[Pass, ...] = ()
    for number, lines in enumerate(rows, 1):
        before = passes[-1].chunks if passes else source_chunks
        passes += _plan_lines(lines, itemsize, before, memory, chunks if number == len(rows) else None)
    return Plan(passes)


def _plan_lines(
    lines: Lines, itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None
) -> tuple[Pass, ...]:
    """Return one pass, or two with a store between where that moves less."""
    alone = Plan((plan_pass(lines, itemsize, source_chunks, memory, chunks),))
    if alone.read <= 2 * alone.written or lines.repeated or any(line.mixed for line in lines.lines):
        return alone.passes
    between = _between(alone.passes[0], memory)
    first, second = _halves(lines)
    try:
        to = plan_pass(first, itemsize, source_chunks, memory, between)
        back = plan_pass(second, itemsize, between, memory, alone.passes[0].chunks)
    except PlanError:
        return alone.passes
    both = Plan((to, back))
    return min(alone, both, key=lambda plan: plan.read + plan.written).passes


def _halves(lines: Lines) -> tuple[Lines, Lines]:
    """Return the lines to the store between, and those from there."""
    sizes = tuple([line.size for line in lines.lines])
    axes = [Factor(axis, size, 1) for axis, size in enumerate(sizes)]
    pairs = [*zip(lines.lines, axes, strict=True)]
    first = tuple([Line(line.sources, (axis,)) for line, axis in pairs])
    second = tuple([Line((axis,), line.outputs) for line, axis in pairs])
    none = (0,) * len(sizes)
    return Lines(lines.source, sizes, first, lines.starts, lines.rolls), Lines(sizes, lines.output, second, none, none)


def _between(plan: Pass, memory: int) -> Sizes:
    """Return the chunks of the store between."""
    lines = plan.lines
    held: dict[Factor, int] = {}
    for steps, axes in zip((plan.source_chunks, plan.task), factors_of(lines), strict=True):
        for step, factors in zip(steps, axes, strict=True):
            whole = prod(factor.size for factor in factors)
            stretches = spans(0, min(step, whole), [factor.size for factor in factors])
            widest = max(stretches, key=lambda each: each[0][1] - each[0][0], default=((0, 0), ()))[1]
            held |= {factor: stop - start for factor, (start, stop) in zip(factors, widest, strict=True)}
    before = [held[line.sources[0]] for line in lines.lines]
    after = [held[line.outputs[0]] for line in lines.lines]
    room = max(1, memory // (4 * prod(before) * plan.itemsize))
    for axis in sorted(range(len(before)), key=lambda axis: before[axis] / after[axis]):
        more = max(1, min(room, after[axis] // before[axis]))
        before[axis] *= more
        room //= more
    chunks = [*map(min, before, after)]
    while prod(chunks) * plan.itemsize > memory // 8:
        axis = chunks.index(max(chunks))
        chunks[axis] = -(-chunks[axis] // 2)
    return tuple(chunks)
