"""Plans for stores: the passes over the data, and the chunks and tasks of a pass.

A task fills one rectangular region of the output. The search for the shape of this region begins with the smallest
region that contains the elements of one source chunk. The region is then shrunk until the task fits in memory.

An axis map (see `axis_map`) is executed in one pass over the data, or in two passes with an intermediate store,
whichever transfers fewer bytes. The intermediate store has one axis per source sub-axis, so that the first pass only
reorders axes. A chunk of the intermediate store is written by one task of the first pass and read by one task of the
second pass. Two shapes are tried for the tasks of the second pass: the output chunks of a single pass, and rows of the
output.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import inf, prod

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record, replace
from shapecalc.engine.copying import c_order_tile
from shapecalc.engine.stores.axis_map import AxisMap, SubAxis, SubAxisGroup
from shapecalc.engine.stores.regions import (
    Region,
    count_decoded_elements,
    count_grid_cells,
    estimate_target_count,
    grid_cell_at,
)

READ_BLOCK_BYTES = 1 << 22
"""The maximum number of bytes that are read at once, unless a single chunk is larger."""
MAX_CHUNK_BYTES = 1 << 26
"""The maximum size of an output chunk in bytes, unless the user specifies the chunks."""
MIN_CHUNK_BYTES = 1 << 20
"""The minimum size of an output chunk in bytes, even if the source chunks are smaller."""
MIN_TASK_BYTES = 1 << 25
"""The output size of a task, in bytes, below which the task is enlarged even if this saves no reads."""
MAX_FILL_TARGETS = 64
"""The maximum number of fill targets of a task; more targets make the cost of a task shape infinite."""
MAX_COUNTED_TASKS = 256
"""The maximum number of tasks whose reads are counted exactly; among more tasks, a sample is counted."""
MAX_DEDUPLICATED_CHUNKS = 10_000
"""The maximum number of source chunks of a task that are counted without duplicates."""
SAMPLED_TASKS = 8
"""The number of tasks from which the cost of a task shape is estimated."""
ROW_CHUNK_BYTES = 1 << 23
"""The size, in bytes, of the rows that are treated as a chunk of an unchunked array."""
MIN_INTERMEDIATE_BYTES = 1 << 22
"""The minimum size of a chunk of an intermediate store, in bytes, if the memory suffices."""


class InsufficientMemoryError(ValueError):
    """Raised if the smallest task of a pass does not fit in memory."""

    def __init__(self, required_bytes: int) -> None:
        """Create the error for a task that requires `required_bytes`."""
        super().__init__(f"a task needs {required_bytes} bytes")
        self.required_bytes = required_bytes


class Pass(Record):
    """One pass over the data, from source chunks to output chunks."""

    axis_map: AxisMap
    itemsize: int
    source_chunks: IntTuple
    chunks: IntTuple
    """The chunk shape of the output."""
    task_shape: IntTuple
    """The shape of the output region of a task, a multiple of the chunk shape."""
    bytes_read: int = 0
    """The total size, in bytes, of the source chunks that the tasks decode."""
    is_exact: bool = True
    """Whether `bytes_read` is the sum over all tasks, not an estimate."""

    @property
    def task_count(self) -> int:
        """The number of tasks of the pass."""
        return count_grid_cells(self.axis_map.output_shape, self.task_shape)

    @property
    def bytes_written(self) -> int:
        """The size of the output in bytes, before encoding."""
        return prod(self.axis_map.output_shape) * self.itemsize

    @property
    def task_memory(self) -> int:
        """The maximum memory of a task in bytes.

        It consists of the output region, the source blocks that are read, and an encoded chunk.
        """
        output = prod(self.task_shape) * self.itemsize * (2 if self.axis_map.is_mixed else 1)
        return (
            output
            + 2 * max(READ_BLOCK_BYTES, prod(self.source_chunks) * self.itemsize)
            + 2 * prod(self.chunks) * self.itemsize
        )

    def task_region(self, number: int) -> Region:
        """Return the region of the output that a task fills."""
        return grid_cell_at(number, self.axis_map.output_shape, self.task_shape)


class StorePlan(Record):
    """A sequence of passes; each pass reads the output of the previous one."""

    passes: tuple[Pass, ...]

    @property
    def task_count(self) -> int:
        """The total number of tasks."""
        return sum(store_pass.task_count for store_pass in self.passes)

    @property
    def bytes_read(self) -> int:
        """The total number of bytes that the passes decode."""
        return sum(store_pass.bytes_read for store_pass in self.passes)

    @property
    def bytes_written(self) -> int:
        """The total number of bytes that the passes write, before encoding."""
        return sum(store_pass.bytes_written for store_pass in self.passes)

    @property
    def peak_disk(self) -> int:
        """The peak disk usage in bytes, before encoding.

        An intermediate store is removed after the pass that reads it.
        """
        written = [0, *[store_pass.bytes_written for store_pass in self.passes]]
        return max(before + after for before, after in pairwise(written))

    @property
    def task_memory(self) -> int:
        """The maximum memory of one task in bytes."""
        return max(store_pass.task_memory for store_pass in self.passes)

    @property
    def is_exact(self) -> bool:
        """Whether `bytes_read` is the sum over all tasks, not an estimate."""
        return all(store_pass.is_exact for store_pass in self.passes)


class _TaskShapeSearch:
    """A search for the task shape and the chunk shape with the fewest decoded bytes."""

    def __init__(self, axis_map: AxisMap, itemsize: int, source_chunks: IntTuple, memory: int) -> None:
        self.axis_map, self.itemsize, self.source_chunks, self.memory = axis_map, itemsize, source_chunks, memory
        self.output_sub_axes = axis_map.output_sub_axes
        in_chunk = _count_outputs_in_chunk(axis_map, source_chunks)
        self.extents = [_candidate_extents(atoms, in_chunk) for atoms in self.output_sub_axes]
        self.costs: dict[IntTuple, float] = {}

    def iter_initial_tasks(self) -> Iterator[IntTuple]:
        """Yield the two task shapes from which the search starts.

        The first covers the elements of one source chunk, the second the complete output. Both are shrunk to fit in
        memory.
        """
        for steps in (self.enclosing_region_shape(), tuple([ladder[-1] for ladder in self.extents])):
            yield self.shrink_task(steps, self.memory, counts_all_memory=True)

    def choose_chunks(self, task: IntTuple, chunk_bytes: int) -> IntTuple:
        """Return a chunk shape for a task shape.

        A chunk has about `chunk_bytes` bytes. If `chunk_bytes` is 0, a chunk has about as many bytes as a source chunk.
        """
        chunk_bytes = max(
            MIN_CHUNK_BYTES, min(chunk_bytes or prod(self.source_chunks) * self.itemsize, MAX_CHUNK_BYTES)
        )
        return self.shrink_task(task, chunk_bytes, counts_all_memory=False)

    def enclosing_region_shape(self) -> IntTuple:
        """Return the shape of an output region that contains a complete source chunk."""
        in_chunk = _count_outputs_in_chunk(self.axis_map, self.source_chunks)
        steps = []
        for atoms, ladder in zip(self.output_sub_axes, self.extents, strict=True):
            wide = next((atom for atom in atoms if in_chunk.get(atom, 1) > 1), None)
            step = 1 if wide is None else in_chunk[wide] * wide.stride
            steps.append(ladder[min(bisect_left(ladder, step), len(ladder) - 1)])
        return tuple(steps)

    def cost(self, task_shape: IntTuple) -> float:
        """Return the number of decoded elements per written element for a task shape.

        The number is infinite if a task has more than `MAX_FILL_TARGETS` fill targets.
        """
        if task_shape not in self.costs:
            shape = self.axis_map.output_shape
            count = count_grid_cells(shape, task_shape)
            regions = [
                grid_cell_at(number, shape, task_shape) for number in range(0, count, max(1, count // SAMPLED_TASKS))
            ]
            written = sum(prod(stop - start for start, stop in region) for region in regions)
            many = any(estimate_target_count(self.axis_map, region) > MAX_FILL_TARGETS for region in regions)
            decoded = [
                count_decoded_elements(self.axis_map, region, self.source_chunks, MAX_DEDUPLICATED_CHUNKS)
                for region in regions
                if not many
            ]
            self.costs[task_shape] = inf if many else sum(decoded) / written
        return self.costs[task_shape]

    def shrink_task(self, task_shape: IntTuple, max_bytes: int, *, counts_all_memory: bool) -> IntTuple:
        """Shrink a task shape until a task needs at most `max_bytes`.

        If `counts_all_memory`, all memory of the task is counted; otherwise, only the output region is.
        """
        while self._task_bytes(task_shape, counts_all_memory) > max_bytes:
            smaller = [*self._iter_smaller_tasks(task_shape)]
            if not smaller:
                return task_shape
            task_shape = min(smaller, key=lambda task: (self.cost(task), -prod(task)))
        return task_shape

    def _task_bytes(self, task_shape: IntTuple, counts_all_memory: bool) -> int:
        if not counts_all_memory:
            return prod(task_shape) * self.itemsize
        chunk = min(
            prod(task_shape) * self.itemsize,
            max(MIN_CHUNK_BYTES, min(MAX_CHUNK_BYTES, prod(self.source_chunks) * self.itemsize)),
        )
        return self._task_memory((1,) * len(task_shape), task_shape) + 2 * chunk

    def _task_memory(self, chunks: IntTuple, task_shape: IntTuple) -> int:
        return Pass(self.axis_map, self.itemsize, self.source_chunks, chunks, task_shape).task_memory

    def _iter_smaller_tasks(self, task_shape: IntTuple) -> Iterator[IntTuple]:
        """Yield the task shapes with one axis reduced to at most half its size."""
        for axis, (step, ladder) in enumerate(zip(task_shape, self.extents, strict=True)):
            if step > 1:
                smaller = ladder[max(0, bisect_left(ladder, step // 2 + 1) - 1)]
                yield (*task_shape[:axis], smaller, *task_shape[axis + 1 :])

    def enlarge_chunks(self, chunks: IntTuple) -> IntTuple:
        """Enlarge a chunk shape to the task shape with the lowest cost that fits in memory.

        The task shape is a multiple of the chunk shape. A task of fewer than `MIN_TASK_BYTES` is enlarged even if that
        saves no reads.
        """
        best = steps = chunks
        while 0 not in self.axis_map.output_shape:
            larger = [
                task
                for task in self._iter_larger_tasks(steps, chunks)
                if self._task_memory(chunks, task) <= self.memory
            ]
            if not larger:
                break
            steps = min(larger, key=lambda task: (self.cost(task), prod(task)))
            if self.cost(steps) < self.cost(best) or prod(best) * self.itemsize < MIN_TASK_BYTES:
                best = steps
        return best

    def _iter_larger_tasks(self, task_shape: IntTuple, chunks: IntTuple) -> Iterator[IntTuple]:
        """Yield the task shapes with one axis enlarged to at most four times its size."""
        for axis, (step, size, ladder) in enumerate(
            zip(task_shape, self.axis_map.output_shape, self.extents, strict=True)
        ):
            if step < size:
                chunk = chunks[axis]
                larger_steps = ladder[bisect_left(ladder, 2 * step) :]
                larger = next(
                    (extent for extent in larger_steps if extent % chunk == 0 and extent <= 4 * step), 2 * step
                )
                yield (*task_shape[:axis], min(larger, -(-size // chunk) * chunk), *task_shape[axis + 1 :])


def plan_store(
    maps: Sequence[AxisMap], itemsize: int, source_chunks: IntTuple, memory: int, chunks: IntTuple | None = None
) -> StorePlan:
    """Plan a sequence of axis maps, with at most `memory` bytes per task.

    `chunks` is the chunk shape of the final output; if it is None, a chunk shape is chosen. Raises
    `InsufficientMemoryError` if the smallest task needs more memory.
    """
    passes: tuple[Pass, ...] = ()
    for number, axis_map in enumerate(maps, 1):
        before = passes[-1].chunks if passes else source_chunks
        passes += _plan_axis_map(axis_map, itemsize, before, memory, chunks if number == len(maps) else None)
    return StorePlan(passes)


def _plan_axis_map(
    axis_map: AxisMap, itemsize: int, source_chunks: IntTuple, memory: int, chunks: IntTuple | None
) -> tuple[Pass, ...]:
    """Plan one pass, or two passes if they transfer fewer bytes."""
    alone = StorePlan((plan_pass(axis_map, itemsize, source_chunks, memory, chunks),))
    if alone.bytes_read <= 2 * alone.bytes_written:
        return alone.passes
    first, second = _split_axis_map(axis_map)
    plans = [alone]
    for region in (alone.passes[0].chunks, choose_row_chunks(axis_map.output_shape, itemsize)):
        intermediate = _choose_intermediate_chunks(alone.passes[0], region, memory)
        with suppress(InsufficientMemoryError):
            first_pass = plan_pass(first, itemsize, source_chunks, memory, intermediate)
            second_pass = plan_pass(second, itemsize, intermediate, memory, chunks, prod(source_chunks) * itemsize)
            plans.append(StorePlan((first_pass, second_pass)))
    return min(plans, key=lambda plan: plan.bytes_read + plan.bytes_written).passes


def _split_axis_map(axis_map: AxisMap) -> tuple[AxisMap, AxisMap]:
    """Split an axis map into two, with an intermediate store between them.

    The intermediate store has one axis for each source sub-axis.
    """
    parts = [atom for run in axis_map.groups for atom in run.sources]
    sizes = tuple([atom.size for atom in parts])
    axes = {atom: SubAxis(axis, atom.size, 1) for axis, atom in enumerate(parts)}
    first = tuple([SubAxisGroup((atom,), (axis,)) for atom, axis in axes.items()])
    second = tuple([SubAxisGroup(tuple([axes[atom] for atom in run.sources]), run.outputs) for run in axis_map.groups])
    zeros = (0,) * len(sizes)
    return (
        AxisMap(axis_map.source_shape, sizes, first, axis_map.starts, axis_map.rolls),
        AxisMap(sizes, axis_map.output_shape, second, zeros, zeros, axis_map.repeated_sub_axes),
    )


def _choose_intermediate_chunks(single_pass: Pass, region: IntTuple, memory: int) -> IntTuple:
    """Return the chunk shape of the intermediate store.

    `region` is the shape of a task of the second pass. Along each sub-axis, a chunk initially has the size of a source
    chunk or that of `region`, whichever is smaller. Each chunk is therefore read only once. A small chunk is then
    enlarged to `MIN_INTERMEDIATE_BYTES`, as far as the tasks of both passes fit in memory.
    """
    axis_map, room = single_pass.axis_map, max(1, memory // (4 * single_pass.itemsize))
    parts = [atom for run in axis_map.groups for atom in run.sources]
    before = _count_in_chunk(single_pass.source_chunks, axis_map.source_sub_axes, upper_bound=True)
    in_region = _count_in_chunk(region, axis_map.output_sub_axes, upper_bound=True)
    after = _propagate_counts(in_region, [(run.outputs, run.sources) for run in axis_map.groups])
    chunks = {atom: min(before[atom], after[atom]) for atom in parts}

    rows = _group_source_sub_axes(axis_map)

    def larger_task_size(sizes: Mapping[SubAxis, int]) -> int:
        """Return the element count of a task of the first or the second pass, whichever is larger."""
        first, second = ({atom: max(sizes[atom], limits[atom]) for atom in parts} for limits in (before, after))
        return max(prod(first.values()), prod(_smallest_region_size(row, second) for row in rows))

    while prod(chunks.values()) * single_pass.itemsize < MIN_INTERMEDIATE_BYTES:
        candidates = [chunks | {atom: min(2 * chunks[atom], atom.size)} for atom in parts if chunks[atom] < atom.size]
        affordable = [
            candidate for candidate in candidates if larger_task_size(candidate) <= max(room, larger_task_size(chunks))
        ]
        if not affordable:
            break
        chunks = min(affordable, key=lambda candidate: (larger_task_size(candidate), -prod(candidate.values())))
    return tuple(chunks.values())


def _group_source_sub_axes(axis_map: AxisMap) -> list[list[SubAxis]]:
    """Group the source sub-axes by the output axis to which they are mapped.

    The source sub-axes of each mixed group form a list of their own at the end.
    """
    clean = {run.outputs[0]: run.sources[0] for run in axis_map.groups if not run.is_mixed}
    rows = [[clean[atom] for atom in atoms if atom in clean] for atoms in axis_map.output_sub_axes]
    return rows + [[*run.sources] for run in axis_map.groups if run.is_mixed]


def _smallest_region_size(row: Sequence[SubAxis], counts: Mapping[SubAxis, int]) -> int:
    """Return the element count of the smallest region with given index counts.

    `counts` are the numbers of indices along each sub-axis in `row`. A region is a range of flat indices, so it
    contains all indices of the sub-axes after the first one with several indices.
    """
    wide = next((place for place, atom in enumerate(row) if counts[atom] > 1), len(row) - 1)
    return prod(counts[atom] if place <= wide else atom.size for place, atom in enumerate(row))


def _count_in_chunk(chunk: IntTuple, axes: Sequence[Sequence[SubAxis]], *, upper_bound: bool) -> dict[SubAxis, int]:
    """Return the number of indices of each sub-axis that a chunk covers.

    With `upper_bound`, the number is the maximum over all chunks. Otherwise, it is the number in a chunk that begins at
    a multiple of the sub-axis's stride.
    """
    counts: dict[SubAxis, int] = {}
    for size, atoms in zip(chunk, axes, strict=True):
        for atom in atoms:
            step = abs(atom.stride)
            counts[atom] = max(1, min(atom.size, (size + step - 1 if upper_bound else size) // step))
    return counts


def _propagate_counts(
    counts: Mapping[SubAxis, int], groups: Iterable[tuple[Sequence[SubAxis], Sequence[SubAxis]]]
) -> dict[SubAxis, int]:
    """Convert index counts of some sub-axes to those of the corresponding sub-axes.

    Each of `groups` is a pair: the sub-axes with known counts, and the sub-axes of the result. One side is in the
    source, the other in the output.
    """
    result: dict[SubAxis, int] = {}
    for before, after in groups:
        count = prod(counts[atom] for atom in before)
        for atom in reversed(after):
            result[atom] = min(count, atom.size)
            count = -(-count // atom.size)
    return result


def _count_outputs_in_chunk(axis_map: AxisMap, chunk: IntTuple) -> dict[SubAxis, int]:
    """Return how many indices of each output sub-axis a source chunk contains."""
    in_chunk = _count_in_chunk(chunk, axis_map.source_sub_axes, upper_bound=False)
    return _propagate_counts(in_chunk, [(run.sources, run.outputs) for run in axis_map.groups])


def choose_row_chunks(shape: IntTuple, itemsize: int) -> IntTuple:
    """Return a chunk shape for an unchunked array: rows of about `ROW_CHUNK_BYTES`.

    >>> choose_row_chunks((100, 1024, 1024), 4)
    (2, 1024, 1024)
    """
    return c_order_tile(shape, max(1, ROW_CHUNK_BYTES // itemsize))


def plan_pass(
    axis_map: AxisMap,
    itemsize: int,
    source_chunks: IntTuple,
    memory: int,
    chunks: IntTuple | None = None,
    chunk_bytes: int = 0,
) -> Pass:
    """Plan one pass over the data, with at most `memory` bytes per task.

    If `chunks` is None, the output chunks have about `chunk_bytes` bytes, or the size of the source chunks if
    `chunk_bytes` is 0. Raises `InsufficientMemoryError` if the smallest task needs more memory.
    """
    search = _TaskShapeSearch(axis_map, itemsize, source_chunks, memory)
    candidates = (
        [chunks] if chunks else [search.choose_chunks(start, chunk_bytes) for start in search.iter_initial_tasks()]
    )
    choices = [(candidate, search.enlarge_chunks(candidate)) for candidate in candidates]
    chunks, task = min(choices, key=lambda choice: (search.cost(choice[1]), -prod(choice[1])))
    plan = Pass(axis_map, itemsize, source_chunks, chunks, task)
    if plan.task_memory > memory and 0 not in axis_map.output_shape:
        raise InsufficientMemoryError(replace(plan, task_shape=chunks).task_memory)
    step = max(
        1, -(-plan.task_count // max(1, MAX_COUNTED_TASKS // estimate_target_count(axis_map, plan.task_region(0))))
    )
    numbers = range(0, plan.task_count, step)
    decoded = sum(
        count_decoded_elements(
            axis_map, plan.task_region(number), source_chunks, inf if step == 1 else MAX_DEDUPLICATED_CHUNKS
        )
        for number in numbers
    )
    filled = sum(prod(stop - start for start, stop in plan.task_region(number)) for number in numbers)
    read = decoded * plan.bytes_written // max(1, filled)
    return replace(plan, bytes_read=read, is_exact=step == 1)


def _candidate_extents(parts: Sequence[SubAxis], in_chunk: Mapping[SubAxis, int]) -> list[int]:
    """Return candidates for the size of a task along an axis, in ascending order.

    A candidate is the stride of a sub-axis times an index count: a divisor of the size of the sub-axis, or a power of
    two. For the outermost sub-axis, the index count is the size of the sub-axis, a power of two, or the index count in
    a source chunk (`in_chunk`), multiplied or divided by a power of two.
    """
    steps = {1}
    for place, atom in enumerate(parts):
        powers = [1 << power for power in range(atom.size.bit_length())]
        sizes = _find_divisors(atom.size) | {*powers}
        if place == 0:
            in_part = in_chunk.get(atom, 1)
            sizes = {size for power in powers for size in (power, power * in_part) if size < atom.size}
            sizes |= {in_part // power for power in powers if in_part % power == 0} | {atom.size}
        steps |= {size * atom.stride for size in sizes}
    return sorted(steps)


def _find_divisors(number: int) -> set[int]:
    divisors, factor = {1}, 2
    while factor * factor <= number:
        while number % factor == 0:
            divisors |= {divisor * factor for divisor in divisors}
            number //= factor
        factor += 1
    return divisors | {divisor * number for divisor in divisors}
