"""Plans for stores: passes over the data, output chunks, and regions per task.

The search for a task begins with the output region of one source chunk, extended where it is not a region of the
output: where it has more than one position of an outer part, it gets all positions of the inner parts. The region is
then shrunk until it fits the memory.

A map takes one pass over the data, or two passes with an intermediate store, whichever reads and writes fewer bytes.
The intermediate store has an axis for each source part, in the order of the output, so that the first pass only
reorders parts. Its chunks lie in the region of one task of the first pass, and of one task of the second. A task of the
second pass fills either the chunks that a single pass would write, or whole rows, whichever moves less.
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
"""The bytes that are read at once, unless a single chunk has more."""
LARGEST = 1 << 26
"""The largest output chunk in bytes, unless the user gives the chunks."""
SMALLEST = 1 << 20
"""The smallest output chunk in bytes, however small the source chunks are."""
TASK = 1 << 25
"""The output bytes of a task from which on it grows only if that saves reading."""
TARGETS = 64
"""The most targets of a task's region, unless every region has more."""
COUNTED = 256
"""The most tasks whose reading is counted exactly; of more, so many are sampled."""
SHARED = 10_000
"""The most chunks for which chunks shared by parts of a task are counted once."""
TRIED = 8
"""The number of tasks that are sampled to estimate the cost of a task size."""
ROWS = 1 << 23
"""The bytes of an unchunked array that are treated as a chunk."""
BETWEEN = 1 << 22
"""The smallest chunk of an intermediate store, in bytes, if that costs nothing."""


class PlanError(ValueError):
    """A plan that does not fit the memory."""

    def __init__(self, needed: int) -> None:
        """Set the bytes that the smallest task needs."""
        super().__init__(f"a task needs {needed} bytes")
        self.needed = needed


class Pass(Record):
    """One pass over the data, from the chunks of an array to those of another."""

    axis_map: AxisMap
    itemsize: int
    source_chunks: Sizes
    chunks: Sizes
    """The chunks of the output."""
    task: Sizes
    """The extent of a task on each output axis, in whole chunks."""
    read: int = 0
    """The bytes of source chunks that all tasks decode."""
    exact: bool = True
    """Whether every task was counted, not a sample."""

    @property
    def tasks(self) -> int:
        """The number of tasks."""
        return count_regions(self.axis_map.output, self.task)

    @property
    def written(self) -> int:
        """The bytes of the output."""
        return prod(self.axis_map.output) * self.itemsize

    @property
    def memory(self) -> int:
        """The most bytes of one task: its output, its input blocks, and a chunk to encode."""
        output = prod(self.task) * self.itemsize * (2 if self.axis_map.mixes else 1)
        return output + 2 * max(READ, prod(self.source_chunks) * self.itemsize) + 2 * prod(self.chunks) * self.itemsize

    def region(self, number: int) -> Region:
        """Return the region of the output that a task fills."""
        return region_at(number, self.axis_map.output, self.task)


class Plan(Record):
    """The passes over the data, each of which reads the output of the previous one."""

    passes: tuple[Pass, ...]

    @property
    def tasks(self) -> int:
        """The number of tasks of all passes."""
        return sum(store_pass.tasks for store_pass in self.passes)

    @property
    def read(self) -> int:
        """The bytes that all passes decode."""
        return sum(store_pass.read for store_pass in self.passes)

    @property
    def written(self) -> int:
        """The bytes that all passes write, before encoding."""
        return sum(store_pass.written for store_pass in self.passes)

    @property
    def disk(self) -> int:
        """The peak disk usage in bytes, before encoding.

        The input of a pass is removed after it, if it is an intermediate store.
        """
        written = [0, *[store_pass.written for store_pass in self.passes]]
        return max(before + after for before, after in pairwise(written))

    @property
    def memory(self) -> int:
        """The most bytes of one task."""
        return max(store_pass.memory for store_pass in self.passes)

    @property
    def exact(self) -> bool:
        """Whether `bytes_read` was counted task by task."""
        return all(store_pass.exact for store_pass in self.passes)


class _Search:
    """A search for the shapes of tasks and chunks that read the least."""

    def __init__(self, axis_map: AxisMap, itemsize: int, source_chunks: Sizes, memory: int) -> None:
        self.axis_map, self.itemsize, self.source_chunks, self.memory = axis_map, itemsize, source_chunks, memory
        self.axes = axis_map.by_output_axis
        in_chunk = _outputs_of_chunk(axis_map, source_chunks)
        self.ladders = [_ladder(atoms, in_chunk) for atoms in self.axes]
        self.known: dict[Sizes, float] = {}

    def starts(self) -> Iterator[Sizes]:
        """Yield the initial tasks: a closed source chunk, and whole rows of the output."""
        for steps in (self.closed(), tuple([ladder[-1] for ladder in self.ladders])):
            yield self.shrunk(steps, self.memory, keeping=1)

    def chunks_in(self, task: Sizes, chunk_bytes: int) -> Sizes:
        """Return the chunks of a task, of about `chunk_bytes` bytes.

        If `chunk_bytes` is 0, they have as many bytes as the source chunks.
        """
        chunk_bytes = max(SMALLEST, min(chunk_bytes or prod(self.source_chunks) * self.itemsize, LARGEST))
        return self.shrunk(task, chunk_bytes, keeping=0)

    def closed(self) -> Sizes:
        """Return the extent of the output region that contains a source chunk."""
        in_chunk = _outputs_of_chunk(self.axis_map, self.source_chunks)
        steps = []
        for atoms, ladder in zip(self.axes, self.ladders, strict=True):
            wide = next((atom for atom in atoms if in_chunk.get(atom, 1) > 1), None)
            step = 1 if wide is None else in_chunk[wide] * wide.step
            steps.append(ladder[min(bisect_left(ladder, step), len(ladder) - 1)])
        return tuple(steps)

    def cost(self, steps: Sizes) -> float:
        """Return the decoded elements per written element, for regions of a shape."""
        if steps not in self.known:
            shape = self.axis_map.output
            count = count_regions(shape, steps)
            regions = [region_at(number, shape, steps) for number in range(0, count, max(1, count // TRIED))]
            written = sum(prod(stop - start for start, stop in region) for region in regions)
            many = any(count_targets(self.axis_map, region) > TARGETS for region in regions)
            decoded = [
                count_elements(self.axis_map, region, self.source_chunks, SHARED) for region in regions if not many
            ]
            self.known[steps] = inf if many else sum(decoded) / written
        return self.known[steps]

    def shrunk(self, steps: Sizes, room: int, *, keeping: int) -> Sizes:
        """Shrink a task until it fits `max_bytes`.

        The bytes are those of its region, or with `whole_task` all that a task allocates.
        """
        while self._bytes(steps, keeping) > room:
            smaller = [*self._lower(steps)]
            if not smaller:
                return steps
            steps = min(smaller, key=lambda task: (self.cost(task), -prod(task)))
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
                smaller = ladder[max(0, bisect_left(ladder, step // 2 + 1) - 1)]
                yield (*steps[:axis], smaller, *steps[axis + 1 :])

    def grown(self, chunks: Sizes) -> Sizes:
        """Return the task of these chunks that reads the least within the memory.

        A task of fewer than `MIN_TASK_BYTES` grows even if that saves nothing.
        """
        best = steps = chunks
        while 0 not in self.axis_map.output:
            larger = [task for task in self._higher(steps, chunks) if self._memory(chunks, task) <= self.memory]
            if not larger:
                break
            steps = min(larger, key=lambda task: (self.cost(task), prod(task)))
            if self.cost(steps) < self.cost(best) or prod(best) * self.itemsize < TASK:
                best = steps
        return best

    def _higher(self, steps: Sizes, chunks: Sizes) -> Iterator[Sizes]:
        for axis, (step, size, ladder) in enumerate(zip(steps, self.axis_map.output, self.ladders, strict=True)):
            if step < size:
                chunk = chunks[axis]
                larger_steps = ladder[bisect_left(ladder, 2 * step) :]
                larger = next(
                    (extent for extent in larger_steps if extent % chunk == 0 and extent <= 4 * step), 2 * step
                )
                yield (*steps[:axis], min(larger, -(-size // chunk) * chunk), *steps[axis + 1 :])


def plan_store(
    maps: Sequence[AxisMap], itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None = None
) -> Plan:
    """Return the plan of consecutive maps, with at most `memory` bytes per task.

    `chunks`, if given, are those of the last output. Raises `PlanError` if the smallest task needs more memory.
    """
    passes: tuple[Pass, ...] = ()
    for number, axis_map in enumerate(maps, 1):
        before = passes[-1].chunks if passes else source_chunks
        passes += _plan_map(axis_map, itemsize, before, memory, chunks if number == len(maps) else None)
    return Plan(passes)


def _plan_map(
    axis_map: AxisMap, itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None
) -> tuple[Pass, ...]:
    """Return one pass, or two with an intermediate store if that moves less."""
    alone = Plan((plan_pass(axis_map, itemsize, source_chunks, memory, chunks),))
    if alone.read <= 2 * alone.written:
        return alone.passes
    first, second = _halves(axis_map)
    plans = [alone]
    for region in (alone.passes[0].chunks, rows_of(axis_map.output, itemsize)):
        intermediate = _between(alone.passes[0], region, memory)
        with suppress(PlanError):
            first_pass = plan_pass(first, itemsize, source_chunks, memory, intermediate)
            second_pass = plan_pass(second, itemsize, intermediate, memory, chunks, prod(source_chunks) * itemsize)
            plans.append(Plan((first_pass, second_pass)))
    return min(plans, key=lambda plan: plan.read + plan.written).passes


def _halves(axis_map: AxisMap) -> tuple[AxisMap, AxisMap]:
    """Return the map to the intermediate store, and the map from it.

    The intermediate store has an axis for each source part.
    """
    parts = [atom for run in axis_map.runs for atom in run.sources]
    sizes = tuple([atom.size for atom in parts])
    axes = {atom: AxisAtom(axis, atom.size, 1) for axis, atom in enumerate(parts)}
    first = tuple([Run((atom,), (axis,)) for atom, axis in axes.items()])
    second = tuple([Run(tuple([axes[atom] for atom in run.sources]), run.outputs) for run in axis_map.runs])
    zeros = (0,) * len(sizes)
    return (
        AxisMap(axis_map.source, sizes, first, axis_map.starts, axis_map.rolls),
        AxisMap(sizes, axis_map.output, second, zeros, zeros, axis_map.repeated),
    )


def _between(plan: Pass, written: Sizes, memory: int) -> Sizes:
    """Return the chunks of the intermediate store.

    `region` is the extent in which the output is written. A chunk that holds no more of any part than a source chunk
    and such a region do is read once. The chunks grow from there while no task of the two passes needs more memory.
    """
    axis_map, room = plan.axis_map, max(1, memory // (4 * plan.itemsize))
    parts = [atom for run in axis_map.runs for atom in run.sources]
    before = _in_chunk(plan.source_chunks, axis_map.by_source_axis, at_most=True)
    in_region = _in_chunk(written, axis_map.by_output_axis, at_most=True)
    after = _carried(in_region, [(run.outputs, run.sources) for run in axis_map.runs])
    chunks = {atom: min(before[atom], after[atom]) for atom in parts}

    rows = _rows(axis_map)

    def volume(sizes: Mapping[AxisAtom, int]) -> int:
        first, second = ({atom: max(sizes[atom], limits[atom]) for atom in parts} for limits in (before, after))
        return max(prod(first.values()), prod(_closed(row, second) for row in rows))

    while prod(chunks.values()) * plan.itemsize < BETWEEN:
        candidates = [chunks | {atom: min(2 * chunks[atom], atom.size)} for atom in parts if chunks[atom] < atom.size]
        affordable = [candidate for candidate in candidates if volume(candidate) <= max(room, volume(chunks))]
        if not affordable:
            break
        chunks = min(affordable, key=lambda candidate: (volume(candidate), -prod(candidate.values())))
    return tuple(chunks.values())


def _rows(axis_map: AxisMap) -> list[list[AxisAtom]]:
    """Return the source parts that are adjacent on an output axis, and those that mix."""
    clean = {run.outputs[0]: run.sources[0] for run in axis_map.runs if not run.mixes}
    rows = [[clean[atom] for atom in atoms if atom in clean] for atoms in axis_map.by_output_axis]
    return rows + [[*run.sources] for run in axis_map.runs if run.mixes]


def _closed(row: Sequence[AxisAtom], counts: Mapping[AxisAtom, int]) -> int:
    """Return the size of a row of parts in which inner parts of a wide part are whole.

    A part is wide if it has more than one position.
    """
    wide = next((place for place, atom in enumerate(row) if counts[atom] > 1), len(row) - 1)
    return prod(counts[atom] if place <= wide else atom.size for place, atom in enumerate(row))


def _in_chunk(chunk: Sizes, axes: Sequence[Sequence[AxisAtom]], *, at_most: bool) -> dict[AxisAtom, int]:
    """Return the number of positions of each part in a chunk.

    With `upper_bound`, that is the maximum over all chunks; otherwise the chunk begins with whole parts.
    """
    counts: dict[AxisAtom, int] = {}
    for size, atoms in zip(chunk, axes, strict=True):
        for atom in atoms:
            step = abs(atom.step)
            counts[atom] = max(1, min(atom.size, (size + step - 1 if at_most else size) // step))
    return counts


def _carried(
    counts: Mapping[AxisAtom, int], runs: Iterable[tuple[Sequence[AxisAtom], Sequence[AxisAtom]]]
) -> dict[AxisAtom, int]:
    """Convert counts per part at one side of groups to counts per part at the other."""
    result: dict[AxisAtom, int] = {}
    for before, after in runs:
        count = prod(counts[atom] for atom in before)
        for atom in reversed(after):
            result[atom] = min(count, atom.size)
            count = -(-count // atom.size)
    return result


def _outputs_of_chunk(axis_map: AxisMap, chunk: Sizes) -> dict[AxisAtom, int]:
    """Return the number of positions of each output part in a source chunk."""
    in_chunk = _in_chunk(chunk, axis_map.by_source_axis, at_most=False)
    return _carried(in_chunk, [(run.sources, run.outputs) for run in axis_map.runs])


def rows_of(shape: Sizes, itemsize: int) -> Sizes:
    """Return the chunks of an unchunked array: whole rows of up to `ROW_CHUNK_BYTES`.

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
    """Return the plan of one pass, with at most `memory` bytes per task.

    Unless `chunks` are given, the output chunks have about `chunk_bytes` bytes, or as many as the source chunks. Raises
    `PlanError` if the smallest task needs more memory.
    """
    search = _Search(axis_map, itemsize, source_chunks, memory)
    candidates = [chunks] if chunks else [search.chunks_in(start, chunk_bytes) for start in search.starts()]
    choices = [(candidate, search.grown(candidate)) for candidate in candidates]
    chunks, task = min(choices, key=lambda choice: (search.cost(choice[1]), -prod(choice[1])))
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


def _ladder(atoms: Sequence[AxisAtom], in_chunk: Mapping[AxisAtom, int]) -> list[int]:
    """Return the extents along an axis whose regions are few regions of parts.

    These are divisors of the parts and powers of two. For the outermost part, they are the whole, powers of two, and
    powers of two times the positions in a source chunk.
    """
    steps = {1}
    for place, atom in enumerate(atoms):
        powers = [1 << power for power in range(atom.size.bit_length())]
        sizes = _divisors(atom.size) | {*powers}
        if place == 0:
            in_part = in_chunk.get(atom, 1)
            sizes = {size for power in powers for size in (power, power * in_part) if size < atom.size}
            sizes |= {in_part // power for power in powers if in_part % power == 0} | {atom.size}
        steps |= {size * atom.step for size in sizes}
    return sorted(steps)


def _divisors(number: int) -> set[int]:
    divisors, factor = {1}, 2
    while factor * factor <= number:
        while number % factor == 0:
            divisors |= {divisor * factor for divisor in divisors}
            number //= factor
        factor += 1
    return divisors | {divisor * number for divisor in divisors}
