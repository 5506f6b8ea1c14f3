"""One pass over the data, or two with a store between: whichever reads and writes fewer bytes.

The store between has an axis for each part of the source, in the order of the output, so that the first pass reorders
parts alone. Its chunks are a part of what one task of the first pass holds, and of what one task of the second does:
one that fills the chunks that a single pass would, or one that fills whole rows, whichever moves less.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from math import prod

from shapecalc.core.record import Record
from shapecalc.engine.stores.boxes import factors_of
from shapecalc.engine.stores.lines import Factor, Line, Lines
from shapecalc.engine.stores.plan import Pass, PlanError, plan_pass
from shapecalc.engine.stores.stores import rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shapecalc.engine.stores.lines import Sizes

BETWEEN = 1 << 22
"""The bytes that a chunk of a store between has at least, if that costs nothing."""


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
    def disk(self) -> int:
        """The bytes that lie on the disk at most, before they are encoded: what a pass reads is removed after it."""
        written = [0, *[each.written for each in self.passes]]
        return max(before + after for before, after in pairwise(written))

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
    if alone.read <= 2 * alone.written:
        return alone.passes
    first, second = _halves(lines)
    ways = [alone]
    for after in (alone.passes[0].chunks, rows_of(lines.output, itemsize)):
        between = _between(alone.passes[0], after, memory)
        with suppress(PlanError):
            to = plan_pass(first, itemsize, source_chunks, memory, between)
            back = plan_pass(second, itemsize, between, memory, chunks, prod(source_chunks) * itemsize)
            ways.append(Plan((to, back)))
    return min(ways, key=lambda plan: plan.read + plan.written).passes


def _halves(lines: Lines) -> tuple[Lines, Lines]:
    """Return the lines to the store between, which has an axis for each part of the source, and those from there."""
    parts = [factor for line in lines.lines for factor in line.sources]
    sizes = tuple([factor.size for factor in parts])
    axes = {factor: Factor(axis, factor.size, 1) for axis, factor in enumerate(parts)}
    first = tuple([Line((factor,), (axis,)) for factor, axis in axes.items()])
    second = tuple([Line(tuple([axes[factor] for factor in line.sources]), line.outputs) for line in lines.lines])
    none = (0,) * len(sizes)
    return (
        Lines(lines.source, sizes, first, lines.starts, lines.rolls),
        Lines(sizes, lines.output, second, none, none, lines.repeated),
    )


def _between(plan: Pass, taken: Sizes, memory: int) -> Sizes:
    """Return the chunks of the store between, where the output is written in boxes of `taken`.

    Where they hold no more of any part than a chunk of the source and such a box do, each is read once. They grow from
    there while both passes keep whole what they read.
    """
    lines, room = plan.lines, max(1, memory // (4 * plan.itemsize))
    parts = [factor for line in lines.lines for factor in line.sources]
    before, after = _held(plan.source_chunks, lines), _taken(taken, lines)
    chunks = {factor: min(before[factor], after[factor]) for factor in parts}

    rows = _rows(lines)

    def volume(sizes: Mapping[Factor, int]) -> int:
        one, other = ({factor: max(sizes[factor], own[factor]) for factor in parts} for own in (before, after))
        return max(prod(one.values()), prod(_closed(row, other) for row in rows))

    while prod(chunks.values()) * plan.itemsize < BETWEEN:
        higher = [
            chunks | {factor: min(2 * chunks[factor], factor.size)} for factor in parts if chunks[factor] < factor.size
        ]
        more = [each for each in higher if volume(each) <= max(room, volume(chunks))]
        if not more:
            break
        chunks = min(more, key=lambda each: (volume(each), -prod(each.values())))
    return tuple(chunks.values())


def _rows(lines: Lines) -> list[list[Factor]]:
    """Return the parts of the source that follow each other on axes of the output, and those that mix."""
    clean = {line.outputs[0]: line.sources[0] for line in lines.lines if not line.mixed}
    rows = [[clean[factor] for factor in factors if factor in clean] for factors in factors_of(lines)[1]]
    return rows + [[*line.sources] for line in lines.lines if line.mixed]


def _closed(row: Sequence[Factor], held: Mapping[Factor, int]) -> int:
    """Return how many positions a row of parts has where one that is wider than one has its inner parts whole."""
    wide = next((place for place, factor in enumerate(row) if held[factor] > 1), len(row) - 1)
    return prod(held[factor] if place <= wide else factor.size for place, factor in enumerate(row))


def _held(chunks: Sizes, lines: Lines) -> dict[Factor, int]:
    """Return how much of each part of the source a chunk of it holds at most."""
    held: dict[Factor, int] = {}
    for chunk, factors in zip(chunks, factors_of(lines)[0], strict=True):
        held |= {factor: max(1, min(factor.size, -(-chunk // abs(factor.step)))) for factor in factors}
    return held


def _taken(chunks: Sizes, lines: Lines) -> dict[Factor, int]:
    """Return how much of each part of the source a chunk of the output takes at most."""
    held: dict[Factor, int] = {}
    for chunk, factors in zip(chunks, factors_of(lines)[1], strict=True):
        held |= {factor: max(1, min(factor.size, -(-chunk // factor.step))) for factor in factors}
    taken = {}
    for line in lines.lines:
        run = prod(held[factor] for factor in line.outputs)
        for factor in reversed(line.sources):
            taken[factor] = min(run, factor.size)
            run = -(-run // factor.size)
    return taken
