"""The plan for a store: the chunks of the output, the boxes of chunks that one task fills, and what that takes.

A task begins as what one chunk of the source becomes, closed so that it is a box of the output: where it holds more
than one position of an outer part, it holds the inner parts whole. Then it is made smaller until it fits the memory.
"""

from __future__ import annotations

from bisect import bisect_left
from math import inf, prod

from shapecalc.core.record import Record
from shapecalc.engine.stores.boxes import count_pieces, factors_of
from shapecalc.engine.stores.reads import box_at, count_boxes, count_elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shapecalc.engine.stores.boxes import Box
    from shapecalc.engine.stores.lines import Factor, Lines, Sizes

READ = 1 << 22
"""The bytes that are read at once where a library reads several chunks, unless one chunk holds more."""
LARGEST = 1 << 26
"""The most bytes of a chunk that is written, unless it is asked for."""
SMALLEST = 1 << 20
"""The bytes that a chunk that is written has at least, if the array has them, however small those of the source are."""
TASK = 1 << 25
"""The bytes of output from which on a task does not grow unless that saves reading."""
PIECES = 64
"""Of how many pieces a task's box is made at most, unless there is no other."""
COUNTED = 256
"""Up to so many tasks, what they read is counted one by one; of more, this many are, spread evenly."""
SHARED = 10_000
"""Up to so many chunks, those that parts of a task share are counted once while its size is looked for."""
TRIED = 8
"""For how many tasks it is counted what a size of theirs would read."""


class PlanError(ValueError):
    """A plan that cannot be made within the memory."""

    def __init__(self, needed: int) -> None:
        """Take the bytes that the smallest task needs."""
        super().__init__(f"a task needs {needed} bytes")
        self.needed = needed


class Pass(Record):
    """How an array is carried from chunks to chunks."""

    lines: Lines
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
        return count_boxes(self.lines.output, self.task)

    @property
    def written(self) -> int:
        """The bytes of the output."""
        return prod(self.lines.output) * self.itemsize

    @property
    def memory(self) -> int:
        """The bytes that one task holds at most."""
        return _memory(self.lines, self.itemsize, self.source_chunks, self.chunks, self.task)

    def box(self, number: int) -> Box:
        """Return the box of the output that a task fills."""
        return box_at(number, self.lines.output, self.task)


def plan_pass(
    lines: Lines, itemsize: int, source_chunks: Sizes, memory: int, chunks: Sizes | None = None, around: int = 0
) -> Pass:
    """Return the plan within `memory` bytes a task; with `chunks`, the output has those.

    Else they have `around` so many bytes, or as many as those of the source.

    Raises `PlanError` if the smallest task needs more.
    """
    search = _Search(lines, itemsize, source_chunks, memory)
    found = [chunks] if chunks else [search.chunks_in(start, around) for start in search.starts()]
    ways = [(each, search.grown(each)) for each in found]
    chunks, task = min(ways, key=lambda way: (search.cost(way[1]), -prod(way[1])))
    if _memory(lines, itemsize, source_chunks, chunks, task) > memory and 0 not in lines.output:
        least = _memory(lines, itemsize, source_chunks, chunks, chunks)
        raise PlanError(least)
    plan = Pass(lines, itemsize, source_chunks, chunks, task)
    step = max(1, -(-plan.tasks // max(1, COUNTED // count_pieces(lines, plan.box(0)))))
    numbers = range(0, plan.tasks, step)
    decoded = sum(
        count_elements(lines, plan.box(number), source_chunks, inf if step == 1 else SHARED) for number in numbers
    )
    filled = sum(prod(stop - start for start, stop in plan.box(number)) for number in numbers)
    read = decoded * plan.written // max(1, filled)
    return Pass(lines, itemsize, source_chunks, chunks, task, read, step == 1)


def _memory(lines: Lines, itemsize: int, source_chunks: Sizes, chunks: Sizes, task: Sizes) -> int:
    """Return the bytes that a task holds: its output, what is read at once, and a chunk while it is encoded."""
    held = prod(task) * itemsize * (2 if any(line.mixed for line in lines.lines) else 1)
    return held + 2 * max(READ, prod(source_chunks) * itemsize) + 2 * prod(chunks) * itemsize


class _Search:
    """The sizes that tasks and chunks may have, and what they would read."""

    def __init__(self, lines: Lines, itemsize: int, source_chunks: Sizes, memory: int) -> None:
        self.lines, self.itemsize, self.source_chunks, self.memory = lines, itemsize, source_chunks, memory
        self.axes = factors_of(lines)[1]
        taken = _chunk_parts(lines, source_chunks)
        self.ladders = [_ladder(factors, taken) for factors in self.axes]
        self.known: dict[Sizes, float] = {}

    def starts(self) -> Iterator[Sizes]:
        """Yield the tasks that the search begins with: a closed chunk of the source, and whole rows of the output."""
        for steps in (self.closed(), tuple([ladder[-1] for ladder in self.ladders])):
            yield self.shrunk(steps, self.memory, keeping=1)

    def chunks_in(self, task: Sizes, around: int) -> Sizes:
        """Return the chunks for a task: they have about so many bytes, or those of the source."""
        around = max(SMALLEST, min(around or prod(self.source_chunks) * self.itemsize, LARGEST))
        return self.shrunk(task, around, keeping=0)

    def closed(self) -> Sizes:
        """Return what one chunk of the source becomes, closed so that it is a box of the output."""
        taken = _chunk_parts(self.lines, self.source_chunks)
        steps = []
        for factors, ladder in zip(self.axes, self.ladders, strict=True):
            wide = next((factor for factor in factors if taken.get(factor, 1) > 1), None)
            step = 1 if wide is None else taken[wide] * wide.step
            steps.append(ladder[min(bisect_left(ladder, step), len(ladder) - 1)])
        return tuple(steps)

    def cost(self, steps: Sizes) -> float:
        """Return how many elements are decoded for each that is written, for boxes of these steps."""
        if steps not in self.known:
            shape = self.lines.output
            count = count_boxes(shape, steps)
            boxes = [box_at(number, shape, steps) for number in range(0, count, max(1, count // TRIED))]
            written = sum(prod(stop - start for start, stop in box) for box in boxes)
            many = any(count_pieces(self.lines, box) > PIECES for box in boxes)
            decoded = 0 if many else sum(count_elements(self.lines, box, self.source_chunks, SHARED) for box in boxes)
            self.known[steps] = inf if many else decoded / written
        return self.known[steps]

    def shrunk(self, steps: Sizes, room: int, *, keeping: int) -> Sizes:
        """Return smaller steps whose boxes have at most so many bytes; if `keeping`, all that a task holds."""
        while self._bytes(steps, keeping) > room:
            lower = [*self._lower(steps)]
            if not lower:
                return steps
            steps = min(lower, key=lambda each: (self.cost(each), -prod(each)))
        return steps

    def _bytes(self, steps: Sizes, keeping: int) -> int:
        if not keeping:
            return prod(steps) * self.itemsize
        least = tuple([1] * len(steps))
        chunk = min(prod(steps) * self.itemsize, max(SMALLEST, min(LARGEST, prod(self.source_chunks) * self.itemsize)))
        return _memory(self.lines, self.itemsize, self.source_chunks, least, steps) + 2 * chunk

    def _lower(self, steps: Sizes) -> Iterator[Sizes]:
        for axis, (step, ladder) in enumerate(zip(steps, self.ladders, strict=True)):
            if step > 1:
                lower = ladder[max(0, bisect_left(ladder, step // 2 + 1) - 1)]
                yield (*steps[:axis], lower, *steps[axis + 1 :])

    def grown(self, chunks: Sizes) -> Sizes:
        """Return a task of these chunks: of those that fit the memory the one that reads least, and no tiny one."""
        best = steps = chunks
        while 0 not in self.lines.output:
            more = [
                each
                for each in self._higher(steps, chunks)
                if _memory(self.lines, self.itemsize, self.source_chunks, chunks, each) <= self.memory
            ]
            if not more:
                break
            steps = min(more, key=lambda each: (self.cost(each), prod(each)))
            if self.cost(steps) < self.cost(best) or prod(best) * self.itemsize < TASK:
                best = steps
        return best

    def _higher(self, steps: Sizes, chunks: Sizes) -> Iterator[Sizes]:
        for axis, (step, size, ladder) in enumerate(zip(steps, self.lines.output, self.ladders, strict=True)):
            if step < size:
                chunk = chunks[axis]
                above = ladder[bisect_left(ladder, 2 * step) :]
                higher = next((each for each in above if each % chunk == 0 and each <= 4 * step), 2 * step)
                yield (*steps[:axis], min(higher, -(-size // chunk) * chunk), *steps[axis + 1 :])


def _chunk_parts(lines: Lines, chunks: Sizes) -> dict[Factor, int]:
    """Return how much of each part of the output a chunk of the source holds."""
    within: dict[Factor, int] = {}
    for factors, chunk in zip(factors_of(lines)[0], chunks, strict=True):
        within |= {factor: max(1, min(factor.size, chunk // abs(factor.step))) for factor in factors}
    taken: dict[Factor, int] = {}
    for line in lines.lines:
        run = prod(within[factor] for factor in line.sources)
        for factor in reversed(line.outputs):
            taken[factor] = min(run, factor.size)
            run = -(-run // factor.size)
    return taken


def _ladder(factors: Sequence[Factor], taken: Mapping[Factor, int]) -> list[int]:
    """Return the steps along an axis whose boxes are boxes of its parts, or few: divisors of those, and powers of two.

    Of the outermost part's, there are the whole, the powers of two, and those times what one source chunk holds.
    """
    steps = {1}
    for place, factor in enumerate(factors):
        powers = [1 << power for power in range(factor.size.bit_length())]
        sizes = _divisors(factor.size) | {*powers}
        if place == 0:
            held = taken.get(factor, 1)
            sizes = {size for power in powers for size in (power, power * held) if size < factor.size}
            sizes |= {held // power for power in powers if held % power == 0} | {factor.size}
        steps |= {size * factor.step for size in sizes}
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
