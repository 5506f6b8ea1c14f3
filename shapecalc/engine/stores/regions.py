"""Regions: which regions of the source a region of the output is made of, what is read for it, and how it is filled.

Positions of an axis, or of a run, are a region of its parts only if the outer parts are at one place and the inner ones
are whole. Any others are a few such regions. Each block of source chunks that a region needs is read once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from itertools import product as every
from math import inf, prod
from typing import Any

import numpy as np

from shapecalc.core.record import Record
from shapecalc.engine.copying import TINY, copy_into, fill_for
from shapecalc.engine.stores.axis_map import AxisAtom, AxisMap, Sizes

Range = tuple[int, int]
"""The first position and the one after the last."""
Region = tuple[Range, ...]
Stretch = tuple[Range, Region]
"""Positions of an axis, and the region of its parts that they are."""

ONCE = 1 << 22
"""The most bytes that are moved at once, unless one row has more: too few for threads, as a worker has one core."""


class Target(Record):
    """A part of a region of the output in which every run is a stretch: what is filled at once."""

    place: Region
    """The positions of each axis of the region that are a region of parts."""
    whole: dict[AxisAtom, Range]
    """That region of parts."""
    parts: dict[AxisAtom, Range]
    """The part of it that is filled."""
    runs: Region
    """The positions of each run."""


class Demand(Record):
    """A region of the parts of the source, by axis, and where its elements go."""

    target: int
    """The number of the target."""
    window: Region
    """The positions of each run in the target."""
    parts: tuple[Region, ...]


class Cut(Record):
    """A stretch of a source axis that is read, and what it holds of each demand."""

    stretch: Range
    hits: dict[int, list[Region]]
    """By the number of the demand; others have nothing there."""


def grid(shape: Sequence[int], steps: Sequence[int]) -> Iterator[Region]:
    """Yield the regions of a grid of `steps` in an array of `shape`, in C order.

    >>> [*grid((3, 2), (2, 2))]
    [((0, 2), (0, 2)), ((2, 3), (0, 2))]
    """
    axes = zip(shape, steps, strict=True)
    yield from every(*[[(start, min(start + step, size)) for start in range(0, size, step)] for size, step in axes])


def region_at(number: int, shape: Sequence[int], steps: Sequence[int]) -> Region:
    """Return one region of a grid by its number in C order.

    >>> region_at(1, (3, 2), (2, 2))
    ((2, 3), (0, 2))
    """
    found = list[Range]()
    for size, step in zip(reversed(shape), reversed(steps), strict=True):
        number, place = divmod(number, -(-size // step))
        found.append((place * step, min((place + 1) * step, size)))
    return tuple(found[::-1])


def count_regions(shape: Sequence[int], steps: Sequence[int]) -> int:
    """Return how many regions a grid has.

    >>> count_regions((3, 2), (2, 2)), count_regions((3, 0), (2, 1))
    (2, 0)
    """
    return prod(-(-size // step) for size, step in zip(shape, steps, strict=True))


def stretches(start: int, stop: int, sizes: Sequence[int]) -> list[Stretch]:
    """Return positions from `start` to `stop` as regions of parts: at most one fewer than twice as many as parts.

    Source: mixed radix numbers.

    >>> stretches(2, 9, (3, 4))
    [((2, 4), ((0, 1), (2, 4))), ((4, 8), ((1, 2), (0, 4))), ((8, 9), ((2, 3), (0, 1)))]
    """
    if start >= stop or not sizes:
        return [((start, stop), ())] if start < stop else []
    inner, found = prod(sizes[1:]), []
    whole = range(-(-start // inner), stop // inner)
    edges = sorted({start, stop, *([whole.start * inner, whole.stop * inner] if whole else [])})
    for first, last in pairwise(edges):
        if whole and first == whole.start * inner:
            found.append(((first, last), ((whole.start, whole.stop), *[(0, size) for size in sizes[1:]])))
            continue
        for at in range(first // inner, (last - 1) // inner + 1):
            begin, end = max(first, at * inner), min(last, (at + 1) * inner)
            rest = stretches(begin - at * inner, end - at * inner, sizes[1:])
            found += [((a + at * inner, b + at * inner), ((at, at + 1), *region)) for (a, b), region in rest]
    return found


def _stretches_of(positions: Range, atoms: Sequence[AxisAtom]) -> list[Stretch]:
    """Return positions of an axis, or of a run, as regions of its parts."""
    return stretches(*positions, [atom.size for atom in atoms])


def targets_of(axis_map: AxisMap, region: Region) -> list[Target]:
    """Return the targets of a region of the output."""
    axes = axis_map.by_output_axis
    atoms = [atom for axis in axes for atom in axis]
    made: list[Target] = []
    for chosen in every(*[_stretches_of(positions, axis) for positions, axis in zip(region, axes, strict=True)]):
        whole = dict(zip(atoms, [part for _, parts in chosen for part in parts], strict=True))
        place = tuple([(a - start, b - start) for ((a, b), _), (start, _) in zip(chosen, region, strict=True)])
        loose = _loose(axis_map, whole)
        for at in every(*[range(*whole[atom]) for atom in loose]):
            own = whole | {atom: (index, index + 1) for atom, index in zip(loose, at, strict=True)}
            runs = tuple([_run_of([own[atom] for atom in run.outputs], run.outputs) for run in axis_map.runs])
            made.append(Target(place, whole, own, runs))
    return made


def count_targets(axis_map: AxisMap, region: Region) -> int:
    """Return about how many targets a region of the output has, without making them: those of its widest stretch."""
    count = 1
    whole: dict[AxisAtom, Range] = {}
    for positions, atoms in zip(region, axis_map.by_output_axis, strict=True):
        found = _stretches_of(positions, atoms)
        count *= len(found)
        widest = max(found, key=lambda each: _length(each[0]))[1]
        whole |= dict(zip(atoms, widest, strict=True))
    return count * prod(_length(whole[atom]) for atom in _loose(axis_map, whole))


def _loose(axis_map: AxisMap, ranges: dict[AxisAtom, Range]) -> list[AxisAtom]:
    """Return the parts that have to be at one place so that each run is a stretch: those outside a cut one."""
    loose = []
    for run in axis_map.runs:
        partial = [place for place, atom in enumerate(run.outputs) if ranges[atom] != (0, atom.size)]
        loose += [atom for atom in run.outputs[: max(partial, default=0)] if _length(ranges[atom]) > 1]
    return loose


def _run_of(ranges: Sequence[Range], atoms: Sequence[AxisAtom]) -> Range:
    """Return the positions of a run that a region of its parts is."""
    first = last = 0
    for (start, stop), atom in zip(ranges, atoms, strict=True):
        first, last = first * atom.size + start, last * atom.size + stop - 1
    return first, last + 1


def demands_of(axis_map: AxisMap, targets: Sequence[Target]) -> list[Demand]:
    """Return the regions of the parts of the source that targets are made of."""
    made = []
    atoms = [atom for run in axis_map.runs for atom in run.sources]
    for number, target in enumerate(targets):
        pairs = zip(target.runs, axis_map.runs, strict=True)
        for chosen in every(*[_stretches_of(positions, run.sources) for positions, run in pairs]):
            ranges = dict(zip(atoms, [part for _, parts in chosen for part in parts], strict=True))
            window = [(a - first, b - first) for ((a, b), _), (first, _) in zip(chosen, target.runs, strict=True)]
            parts = tuple([tuple([ranges[atom] for atom in axis]) for axis in axis_map.by_source_axis])
            made.append(Demand(number, tuple(window), parts))
    return made


def hits_in(stretch: Range, start: int, atoms: Sequence[AxisAtom], wanted: Region) -> list[Region]:
    """Return the regions of parts, of those wanted of a source axis, whose positions lie in a stretch of the axis.

    >>> hits_in((3, 9), 0, [AxisAtom(0, 3, 4), AxisAtom(0, 4, 1)], ((0, 3), (1, 4)))
    [((0, 1), (3, 4)), ((1, 2), (1, 4))]
    >>> hits_in((3, 9), 11, [AxisAtom(0, 12, -1)], ((0, 6),))
    [((3, 6),)]
    """
    if not atoms:
        return [()] if stretch[0] <= start < stretch[1] else []
    step, (first, last) = atoms[0].step, wanted[0]
    inner = extent_of(start, atoms[1:], wanted[1:])
    inside = stretch[0] - inner[0], stretch[1] - inner[1]
    touched = stretch[0] - inner[1] + 1, stretch[1] - inner[0] - 1
    if step < 0:
        inside, touched = (-inside[1], -inside[0]), (-touched[1], -touched[0])
    begin, end = max(first, -(-touched[0] // abs(step))), min(last, touched[1] // abs(step) + 1)
    whole = max(begin, -(-inside[0] // abs(step))), min(end, inside[1] // abs(step) + 1)
    if whole[0] >= whole[1]:
        whole = end, end

    def cut(places: range) -> list[Region]:
        return [
            ((at, at + 1), *region)
            for at in places
            for region in hits_in(stretch, start + at * step, atoms[1:], wanted[1:])
        ]

    middle: list[Region] = [(whole, *wanted[1:])] if whole[0] < whole[1] else []
    return cut(range(begin, whole[0])) + middle + cut(range(whole[1], end))


def extent_of(start: int, atoms: Sequence[AxisAtom], wanted: Region) -> Range:
    """Return the positions of an axis, from the first to the last, that a region of its parts holds."""
    first = last = start
    for (begin, end), atom in zip(wanted, atoms, strict=True):
        ends = begin * atom.step, (end - 1) * atom.step
        first, last = first + min(ends), last + max(ends)
    return first, last + 1


def count_elements(axis_map: AxisMap, region: Region, chunks: Sizes, most: float = inf) -> int:
    """Return how many elements of the source are decoded to fill a region: those of each chunk that holds one of them.

    Of `most` chunks on, those that several parts of the region share are counted several times.

    >>> from shapecalc.engine.stores.axis_map import axis_map
    >>> count_elements(axis_map((4, 6), []), ((0, 2), (1, 3)), (2, 2))
    8
    """
    demands = demands_of(axis_map, targets_of(axis_map, region))
    touched = [
        [_touched(axis_map, axis, step, each.parts[axis]) for axis, step in enumerate(chunks)] for each in demands
    ]
    axes = [*zip(axis_map.source, chunks, strict=True)]
    if len(demands) == 1 or sum(prod(map(len, own)) for own in touched) > most:
        return sum(prod(_positions(own, *axis) for own, axis in zip(each, axes, strict=True)) for each in touched)
    places = {place for own in touched for place in every(*own)}
    return sum(
        prod(min(step, size - at * step) for at, (size, step) in zip(place, axes, strict=True)) for place in places
    )


def _touched(axis_map: AxisMap, axis: int, step: int, wanted: Region) -> Collection[int]:
    """Return which chunks of an axis hold one of the positions that a demand wants."""
    atoms, start = axis_map.by_source_axis[axis], axis_map.starts[axis]
    if not axis_map.rolls[axis]:
        return _places(start, atoms, wanted, step)
    roll, size = axis_map.rolls[axis], axis_map.source[axis]
    return {(cut.stretch[0] - roll) % size // step for cut in cuts_of(axis_map, axis, step, [wanted])}


def _places(start: int, atoms: Sequence[AxisAtom], wanted: Region, step: int) -> Collection[int]:
    first, last = extent_of(start, atoms, wanted)
    wide = [abs(atom.step) for atom, part in zip(atoms, wanted, strict=True) if _length(part) > 1]
    if max(wide, default=0) <= step or last - first == prod(map(_length, wanted)):
        return range(first // step, (last - 1) // step + 1)
    begins = [start + at * atoms[0].step for at in range(*wanted[0])]
    return {place for begin in begins for place in _places(begin, atoms[1:], wanted[1:], step)}


def _positions(places: Collection[int], size: int, step: int) -> int:
    """Return how many positions of an axis chunks have; the last one may be a part."""
    return len(places) * step - (-(-size // step) * step - size if size // step in places else 0)


def filled(axis_map: AxisMap, regions: Sequence[Region], source: Any, block: Sequence[int]) -> list[Any]:
    """Return regions of the output as arrays; `source` is read by slices, each within one `block`, and once."""
    outs = [np.empty([*map(_length, region)], source.dtype) for region in regions]
    targets = [(out, each) for out, region in zip(outs, regions, strict=True) for each in targets_of(axis_map, region)]
    buffers = [
        np.empty([*map(_length, target.runs)], out.dtype) if axis_map.mixes else _by_parts(axis_map, target, out)
        for out, target in targets
    ]
    demands = demands_of(axis_map, [target for _, target in targets])
    views = [_by_source(axis_map, demand, buffers[demand.target]) for demand in demands]
    for crop, hits in blocks(axis_map, demands, block):
        axes = zip(crop, axis_map.rolls, axis_map.source, strict=True)
        unrolled = [slice((a - roll) % size, (a - roll) % size + b - a) for (a, b), roll, size in axes]
        read = np.asarray(source[tuple(unrolled)])
        for number, own in hits.items():
            for chosen in every(*own):
                _place(axis_map, views[number], read, crop, demands[number], chosen)
    if axis_map.mixes:
        for (out, target), buffer in zip(targets, buffers, strict=True):
            sizes = [[_length(target.parts[atom]) for atom in run.outputs] for run in axis_map.runs]
            _by_parts(axis_map, target, out)[...] = _split(buffer, sizes)
    return outs


def cuts_of(axis_map: AxisMap, axis: int, step: int, wanted: Sequence[Region]) -> list[Cut]:
    """Return the stretches of a source axis, within steps, that hold what demands want of it."""
    atoms, start = axis_map.by_source_axis[axis], axis_map.starts[axis]
    extents = [extent_of(start, atoms, region) for region in wanted]
    first, last = min(each[0] for each in extents), max(each[1] for each in extents)
    found = []
    for stretch in _steps_between(axis_map.source[axis], axis_map.rolls[axis], step, first, last):
        hits = {number: own for number, region in enumerate(wanted) if (own := hits_in(stretch, start, atoms, region))}
        inside = [extent_of(start, atoms, region) for own in hits.values() for region in own]
        if inside:
            found.append(Cut((min(a for a, _ in inside), max(b for _, b in inside)), hits))
    return found


def _steps_between(size: int, roll: int, step: int, first: int, last: int) -> Iterator[Range]:
    """Yield the stretches of an axis between two positions that lie in one step of it; both are after the roll."""
    for begin, end, on in ((0, roll, size - roll), (roll, size, -roll)):
        low, high = max(first, begin), min(last, end)
        if low < high:
            for at in range(low + on - (low + on) % step, high + on, step):
                yield max(low, at - on), min(high, at - on + step)


def blocks(
    axis_map: AxisMap, demands: Sequence[Demand], block: Sequence[int]
) -> Iterator[tuple[Region, dict[int, list[list[Region]]]]]:
    """Yield each region of the source that is read, and what it holds of each demand, by axis."""
    axes = [cuts_of(axis_map, axis, step, [each.parts[axis] for each in demands]) for axis, step in enumerate(block)]
    for chosen in every(*axes):
        numbers = set(range(len(demands))).intersection(*[cut.hits for cut in chosen])
        if numbers:
            hits = {number: [cut.hits[number] for cut in chosen] for number in sorted(numbers)}
            yield tuple([cut.stretch for cut in chosen]), hits


def _split(view: Any, sizes: Sequence[Sequence[int]]) -> Any:
    """Return a view with each axis split into sizes, by strides alone."""
    shape, strides = list[int](), list[int]()
    for axis, parts in enumerate(sizes):
        shape += parts
        strides += [view.strides[axis] * prod(parts[place + 1 :]) for place in range(len(parts))]
    return np.lib.stride_tricks.as_strided(view, shape, strides)


def _by_parts(axis_map: AxisMap, target: Target, out: Any) -> Any:
    """Return the view of a target in its region, an axis for each part: the repeated, then those of the runs."""
    axes = axis_map.by_output_axis
    atoms = [atom for axis in axes for atom in axis]
    view = out[(*[slice(*each) for each in target.place], ...)]
    view = _split(view, [[_length(target.whole[atom]) for atom in axis] for axis in axes])
    view = view[(*[_within(target.parts[atom], target.whole[atom]) for atom in atoms], ...)]
    order = [*axis_map.repeated, *[atom for run in axis_map.runs for atom in run.outputs]]
    return view.transpose([atoms.index(atom) for atom in order])


def _length(positions: Range) -> int:
    return positions[1] - positions[0]


def _within(part: Range, whole: Range) -> slice:
    """Return where a range is in another one."""
    return slice(part[0] - whole[0], part[1] - whole[0])


def _by_source(axis_map: AxisMap, demand: Demand, buffer: Any) -> Any:
    """Return the view that a demand fills, an axis for each part of the source; repeated axes come first."""
    repeated = buffer.ndim - len(axis_map.runs)
    view = buffer[(slice(None),) * repeated + (*[slice(*each) for each in demand.window], ...)]
    ordered = [atom for axis in axis_map.by_source_axis for atom in axis]
    lengths = dict(zip(ordered, [_length(part) for parts in demand.parts for part in parts], strict=True))
    sizes = [[lengths[atom] for atom in run.sources] for run in axis_map.runs]
    view = _split(view, [[size] for size in view.shape[:repeated]] + sizes)
    atoms = [atom for run in axis_map.runs for atom in run.sources]
    return view.transpose([*range(repeated), *[repeated + atoms.index(atom) for atom in ordered]])


def _place(axis_map: AxisMap, view: Any, read: Any, crop: Region, demand: Demand, chosen: Sequence[Region]) -> None:
    """Put what a block holds of a demand where it goes."""
    shape, strides, first, into = list[int](), list[int](), list[slice](), list[slice]()
    for axis, (region, atoms, (begin, _)) in enumerate(zip(chosen, axis_map.by_source_axis, crop, strict=True)):
        shape += [*map(_length, region)]
        strides += [atom.step * read.strides[axis] for atom in atoms]
        own = zip(region, atoms, strict=True)
        first.append(slice(axis_map.starts[axis] + sum(part[0] * atom.step for part, atom in own) - begin, None))
        into += [_within(part, wanted) for part, wanted in zip(region, demand.parts[axis], strict=True)]
    _move(view[(..., *into)], np.lib.stride_tricks.as_strided(read[(*first, ...)], shape, strides))


def _move(target: Any, source: Any) -> None:
    """Fill a view in its own order, less than `ONCE` at a time; one with more axes than the source repeats it.

    Where a view is not in one piece and is best filled in tiles, at most `ONCE` of memory is filled, and the view from
    that.
    """
    if target.ndim != source.ndim or source.nbytes < TINY:
        target[...] = source
        return
    order = sorted(range(target.ndim), key=lambda axis: -target.strides[axis])
    target, source = target.transpose(order), source.transpose(order)
    rows = max(1, ONCE // max(1, target[:1].nbytes))
    for start in range(0, len(target), rows):
        into, rows_of_source = target[start : start + rows], source[start : start + rows]
        if into.flags.c_contiguous:
            copy_into(into, rows_of_source)
        elif into.nbytes > ONCE or fill_for(rows_of_source) is np.copyto:
            into[...] = rows_of_source
        else:
            whole = np.empty(into.shape, into.dtype)
            copy_into(whole, rows_of_source)
            into[...] = whole
