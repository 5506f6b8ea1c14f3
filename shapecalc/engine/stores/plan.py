"""The plan for a store: the passes over the data, the chunks of the output, what one task fills, and what that takes.

A task begins as what one chunk of the source becomes, closed so that it is a region of the output: where it holds more
than one position of an outer part, it holds the inner parts whole. Then it is made smaller until it fits the memory.

There is one pass over the data, or two with a store between: whichever reads and writes fewer bytes. The store between
has an axis for each part of the source, in the order of the output, so that the first pass reorders parts alone. Its
chunks are a part of what one task of the first pass holds, and of what one task of the second does: one that fills the
chunks that a single pass would, or one that fills whole rows, whichever moves less.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import inf, prod

from shapecalc.core.record import Record, replace
from shapecalc.engine.copying import tile_in_order
from shapecalc.engine.stores.axis_map import AxisAtom, AxisMap, Run, Sizes
from shapecalc.engine.stores.regions import Region, count_elements, count_regions, count_targets, region_at

READ = 1 << 22
"""The bytes that are read at once where a library reads several chunks, unless one chunk holds more."""
LARGEST = 1 << 26
"""The most bytes of a chunk that is written, unless it is asked for."""
SMALLEST = 1 << 20
"""The bytes that a chunk that is written has at least, if the array has them, however small those of the source are."""
TASK = 1 << 25
"""The bytes of output from which on a task does not grow unless that saves reading."""
TARGETS = 64
"""Of how many targets a task's region is made at most, unless there is no other."""
COUNTED = 256
"""Up to so many tasks, what they read is counted one by one; of more, this many are, spread evenly."""
SHARED = 10_000
"""Up to so many chunks, those that parts of a task share are counted once while its size is looked for."""
TRIED = 8
"""For how many tasks it is counted what a size of theirs would read."""
ROWS = 1 << 23
"""How many bytes of an array that lies in one piece are taken for a chunk."""
BETWEEN = 1 << 22
"""The bytes that a chunk of a store between has at least, if that costs nothing."""


class PlanError(ValueError):
    """A plan that cannot be made within the memory."""

    def __init__(self, needed: int) -> None:
        """Take the bytes that the smallest task needs."""
        super().__init__(f"a task needs {needed} bytes")
        self.needed = needed


class Pass(Record):
    """How an array is carried from chunks to chunks."""

    axis_map: AxisMap
    itemsize: int
    source_chunks: Sizes
    chunks: Sizes
    """The chunks of the output."""
    task: Sizes
    """How much of each axis of the output a task fills: whole chunks."""
    read: int = 0
    """The bytes of source chunks that are decoded, all tasks together."""
    exact: bool = True
    """Whether every task was counted."""

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return count_regions(self.axis_map.output, self.task)

    @property
    def written(self) -> int:
        """The bytes of the output."""
        return prod(self.axis_map.output) * self.itemsize

    @property
    def memory(self) -> int:
        """The bytes that one task holds at most: its output, what is read at once, and a chunk while it is encoded."""
        output = prod(self.task) * self.itemsize * (2 if self.axis_map.mixes else 1)
        return output + 2 * max(READ, prod(self.source_chunks) * self.itemsize) + 2 * prod(self.chunks) * self.itemsize

    def region(self, number: int) -> Region:
        """Return the region of the output that a task fills."""
        return region_at(number, self.axis_map.output, self.task)


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
    maps: Sequence[AxisMap], itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None = None
) -> Plan:
    """Return the plan for map after map within `memory` bytes a task; with `chunks`, the output has those.

    Raises `PlanError` if the smallest task needs more.
    """
    passes: tuple[Pass, ...] = ()
    for number, axis_map in enumerate(maps, 1):
        before = passes[-1].chunks if passes else source_chunks
        passes += _plan_map(axis_map, itemsize, before, memory, chunks if number == len(maps) else None)
    return Plan(passes)


def _plan_map(
    axis_map: AxisMap, itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None
) -> tuple[Pass, ...]:
    """Return one pass, or two with a store between where that moves less."""
    alone = Plan((plan_pass(axis_map, itemsize, source_chunks, memory, chunks),))
    if alone.read <= 2 * alone.written:
        return alone.passes
    first, second = _halves(axis_map)
    ways = [alone]
    for after in (alone.passes[0].chunks, rows_of(axis_map.output, itemsize)):
        between = _between(alone.passes[0], after, memory)
        with suppress(PlanError):
            to = plan_pass(first, itemsize, source_chunks, memory, between)
            back = plan_pass(second, itemsize, between, memory, chunks, prod(source_chunks) * itemsize)
            ways.append(Plan((to, back)))
    return min(ways, key=lambda plan: plan.read + plan.written).passes


def _halves(axis_map: AxisMap) -> tuple[AxisMap, AxisMap]:
    """Return the map to the store between, which has an axis for each part of the source, and the one from there."""
    parts = [atom for run in axis_map.runs for atom in run.sources]
    sizes = tuple([atom.size for atom in parts])
    axes = {atom: AxisAtom(axis, atom.size, 1) for axis, atom in enumerate(parts)}
    first = tuple([Run((atom,), (axis,)) for atom, axis in axes.items()])
    second = tuple([Run(tuple([axes[atom] for atom in run.sources]), run.outputs) for run in axis_map.runs])
    none = (0,) * len(sizes)
    return (
        AxisMap(axis_map.source, sizes, first, axis_map.starts, axis_map.rolls),
        AxisMap(sizes, axis_map.output, second, none, none, axis_map.repeated),
    )


def _between(plan: Pass, written: Sizes, memory: int) -> Sizes:
    """Return the chunks of the store between, where the output is written in regions of `written`.

    Where they hold no more of any part than a chunk of the source and such a region do, each is read once. They grow
    from there while both passes keep whole what they read.
    """
    axis_map, room = plan.axis_map, max(1, memory // (4 * plan.itemsize))
    parts = [atom for run in axis_map.runs for atom in run.sources]
    before = _in_chunk(plan.source_chunks, axis_map.by_source_axis, at_most=True)
    within = _in_chunk(written, axis_map.by_output_axis, at_most=True)
    after = _carried(within, [(run.outputs, run.sources) for run in axis_map.runs])
    chunks = {atom: min(before[atom], after[atom]) for atom in parts}

    rows = _rows(axis_map)

    def volume(sizes: Mapping[AxisAtom, int]) -> int:
        one, other = ({atom: max(sizes[atom], own[atom]) for atom in parts} for own in (before, after))
        return max(prod(one.values()), prod(_closed(row, other) for row in rows))

    while prod(chunks.values()) * plan.itemsize < BETWEEN:
        higher = [chunks | {atom: min(2 * chunks[atom], atom.size)} for atom in parts if chunks[atom] < atom.size]
        more = [each for each in higher if volume(each) <= max(room, volume(chunks))]
        if not more:
            break
        chunks = min(more, key=lambda each: (volume(each), -prod(each.values())))
    return tuple(chunks.values())


def _rows(axis_map: AxisMap) -> list[list[AxisAtom]]:
    """Return the parts of the source that follow each other on axes of the output, and those that mix."""
    clean = {run.outputs[0]: run.sources[0] for run in axis_map.runs if not run.mixes}
    rows = [[clean[atom] for atom in atoms if atom in clean] for atoms in axis_map.by_output_axis]
    return rows + [[*run.sources] for run in axis_map.runs if run.mixes]


def _closed(row: Sequence[AxisAtom], counts: Mapping[AxisAtom, int]) -> int:
    """Return how many positions a row of parts has where one that is wider than one has its inner parts whole."""
    wide = next((place for place, atom in enumerate(row) if counts[atom] > 1), len(row) - 1)
    return prod(counts[atom] if place <= wide else atom.size for place, atom in enumerate(row))


def _in_chunk(chunk: Sizes, axes: Sequence[Sequence[AxisAtom]], *, at_most: bool) -> dict[AxisAtom, int]:
    """Return how much of each part of some axes a chunk of them holds, at most or where it begins with whole parts."""
    found: dict[AxisAtom, int] = {}
    for size, atoms in zip(chunk, axes, strict=True):
        for atom in atoms:
            step = abs(atom.step)
            found[atom] = max(1, min(atom.size, (size + step - 1 if at_most else size) // step))
    return found


def _carried(
    counts: Mapping[AxisAtom, int], runs: Iterable[tuple[Sequence[AxisAtom], Sequence[AxisAtom]]]
) -> dict[AxisAtom, int]:
    """Return how much of each part at the other end of runs so much of each part at one end comes to."""
    found: dict[AxisAtom, int] = {}
    for before, after in runs:
        count = prod(counts[atom] for atom in before)
        for atom in reversed(after):
            found[atom] = min(count, atom.size)
            count = -(-count // atom.size)
    return found


def _outputs_of_chunk(axis_map: AxisMap, chunk: Sizes) -> dict[AxisAtom, int]:
    """Return how much of each part of the output a chunk of the source holds."""
    within = _in_chunk(chunk, axis_map.by_source_axis, at_most=False)
    return _carried(within, [(run.sources, run.outputs) for run in axis_map.runs])


def rows_of(shape: Sizes, itemsize: int) -> Sizes:
    """Return what is taken for a chunk of an array in C order that has none: whole rows, up to `ROWS` bytes.

    >>> rows_of((100, 1024, 1024), 4)
    (2, 1024, 1024)
    """
    return tile_in_order(shape, max(1, ROWS // itemsize))


def plan_pass(
    axis_map: AxisMap,
    itemsize: int,
    source_chunks: Sizes,
    memory: int,
    chunks: Sizes | None = None,
    chunk_bytes: int = 0,
) -> Pass:
    """Return the plan within `memory` bytes a task; with `chunks`, the output has those.

    Else they have about `chunk_bytes` bytes, or as many as those of the source.

    Raises `PlanError` if the smallest task needs more.
    """
    search = _Search(axis_map, itemsize, source_chunks, memory)
    found = [chunks] if chunks else [search.chunks_in(start, chunk_bytes) for start in search.starts()]
    ways = [(each, search.grown(each)) for each in found]
    chunks, task = min(ways, key=lambda way: (search.cost(way[1]), -prod(way[1])))
    plan = Pass(axis_map, itemsize, source_chunks, chunks, task)
    if plan.memory > memory and 0 not in axis_map.output:
        raise PlanError(replace(plan, task=chunks).memory)
    step = max(1, -(-plan.tasks // max(1, COUNTED // count_targets(axis_map, plan.region(0)))))
    numbers = range(0, plan.tasks, step)
    decoded = sum(
        count_elements(axis_map, plan.region(number), source_chunks, inf if step == 1 else SHARED) for number in numbers
    )
    filled = sum(prod(stop - start for start, stop in plan.region(number)) for number in numbers)
    read = decoded * plan.written // max(1, filled)
    return replace(plan, read=read, exact=step == 1)


class _Search:
    """The sizes that tasks and chunks may have, and what they would read."""

    def __init__(self, axis_map: AxisMap, itemsize: int, source_chunks: Sizes, memory: int) -> None:
        self.axis_map, self.itemsize, self.source_chunks, self.memory = axis_map, itemsize, source_chunks, memory
        self.axes = axis_map.by_output_axis
        in_chunk = _outputs_of_chunk(axis_map, source_chunks)
        self.ladders = [_ladder(atoms, in_chunk) for atoms in self.axes]
        self.known: dict[Sizes, float] = {}

    def starts(self) -> Iterator[Sizes]:
        """Yield the tasks that the search begins with: a closed chunk of the source, and whole rows of the output."""
        for steps in (self.closed(), tuple([ladder[-1] for ladder in self.ladders])):
            yield self.shrunk(steps, self.memory, keeping=1)

    def chunks_in(self, task: Sizes, chunk_bytes: int) -> Sizes:
        """Return the chunks for a task: they have about so many bytes, or those of the source."""
        chunk_bytes = max(SMALLEST, min(chunk_bytes or prod(self.source_chunks) * self.itemsize, LARGEST))
        return self.shrunk(task, chunk_bytes, keeping=0)

    def closed(self) -> Sizes:
        """Return what one chunk of the source becomes, closed so that it is a region of the output."""
        in_chunk = _outputs_of_chunk(self.axis_map, self.source_chunks)
        steps = []
        for atoms, ladder in zip(self.axes, self.ladders, strict=True):
            wide = next((atom for atom in atoms if in_chunk.get(atom, 1) > 1), None)
            step = 1 if wide is None else in_chunk[wide] * wide.step
            steps.append(ladder[min(bisect_left(ladder, step), len(ladder) - 1)])
        return tuple(steps)

    def cost(self, steps: Sizes) -> float:
        """Return how many elements are decoded for each that is written, for regions of these steps."""
        if steps not in self.known:
            shape = self.axis_map.output
            count = count_regions(shape, steps)
            regions = [region_at(number, shape, steps) for number in range(0, count, max(1, count // TRIED))]
            written = sum(prod(stop - start for start, stop in region) for region in regions)
            many = any(count_targets(self.axis_map, region) > TARGETS for region in regions)
            decoded = [count_elements(self.axis_map, each, self.source_chunks, SHARED) for each in regions if not many]
            self.known[steps] = inf if many else sum(decoded) / written
        return self.known[steps]

    def shrunk(self, steps: Sizes, room: int, *, keeping: int) -> Sizes:
        """Return smaller steps whose regions have at most so many bytes; if `keeping`, all that a task holds."""
        while self._bytes(steps, keeping) > room:
            lower = [*self._lower(steps)]
            if not lower:
                return steps
            steps = min(lower, key=lambda each: (self.cost(each), -prod(each)))
        return steps

    def _bytes(self, steps: Sizes, keeping: int) -> int:
        if not keeping:
            return prod(steps) * self.itemsize
        chunk = min(prod(steps) * self.itemsize, max(SMALLEST, min(LARGEST, prod(self.source_chunks) * self.itemsize)))
        return self._memory((1,) * len(steps), steps) + 2 * chunk

    def _memory(self, chunks: Sizes, task: Sizes) -> int:
        return Pass(self.axis_map, self.itemsize, self.source_chunks, chunks, task).memory

    def _lower(self, steps: Sizes) -> Iterator[Sizes]:
        for axis, (step, ladder) in enumerate(zip(steps, self.ladders, strict=True)):
            if step > 1:
                lower = ladder[max(0, bisect_left(ladder, step // 2 + 1) - 1)]
                yield (*steps[:axis], lower, *steps[axis + 1 :])

    def grown(self, chunks: Sizes) -> Sizes:
        """Return a task of these chunks: of those that fit the memory the one that reads least, and no tiny one."""
        best = steps = chunks
        while 0 not in self.axis_map.output:
            more = [each for each in self._higher(steps, chunks) if self._memory(chunks, each) <= self.memory]
            if not more:
                break
            steps = min(more, key=lambda each: (self.cost(each), prod(each)))
            if self.cost(steps) < self.cost(best) or prod(best) * self.itemsize < TASK:
                best = steps
        return best

    def _higher(self, steps: Sizes, chunks: Sizes) -> Iterator[Sizes]:
        for axis, (step, size, ladder) in enumerate(zip(steps, self.axis_map.output, self.ladders, strict=True)):
            if step < size:
                chunk = chunks[axis]
                above = ladder[bisect_left(ladder, 2 * step) :]
                higher = next((each for each in above if each % chunk == 0 and each <= 4 * step), 2 * step)
                yield (*steps[:axis], min(higher, -(-size // chunk) * chunk), *steps[axis + 1 :])


def _ladder(atoms: Sequence[AxisAtom], in_chunk: Mapping[AxisAtom, int]) -> list[int]:
    """Return the steps along an axis whose regions are those of its parts, or few: their divisors, and powers of two.

    Of the outermost part's, there are the whole, the powers of two, and those times what one source chunk holds.
    """
    steps = {1}
    for place, atom in enumerate(atoms):
        powers = [1 << power for power in range(atom.size.bit_length())]
        sizes = _divisors(atom.size) | {*powers}
        if place == 0:
            own = in_chunk.get(atom, 1)
            sizes = {size for power in powers for size in (power, power * own) if size < atom.size}
            sizes |= {own // power for power in powers if own % power == 0} | {atom.size}
        steps |= {size * atom.step for size in sizes}
    return sorted(steps)


def _divisors(number: int) -> set[int]:
    """Return the divisors of a number."""
    found, least = {1}, 2
    while least * least <= number:
        while number % least == 0:
            found |= {each * least for each in found}
            number //= least
        least += 1
    return found | {each * number for each in found}
