"""Fill regions of the output with elements of the source.

A region is a tuple of half-open ranges, one per axis, or one per sub-axis of an axis or group (see `axis_map`). A range
of flat indices is equivalent to a few regions of sub-axes. For example, the range 2 to 9 of an axis with sub-axes of
sizes 3 and 4 consists of row 0 from column 2, row 1, and column 0 of row 2. A block is a group of adjacent source
chunks that are read together, once per task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from itertools import product as every
from math import inf, prod
from typing import Any

import numpy as np

from shapecalc.core.dims import IntTuple
from shapecalc.core.record import Record
from shapecalc.engine.copying import SMALL_COPY_BYTES, choose_copy_function, copy_into
from shapecalc.engine.stores.axis_map import AxisMap, SubAxis

AxisRange = tuple[int, int]
"""A half-open range of indices: the start, and the exclusive stop."""
Region = tuple[AxisRange, ...]
SplitRange = tuple[AxisRange, Region]
"""A range of an axis, and the equivalent region of the sub-axes of the axis."""

MAX_COPY_BYTES = 1 << 22
"""The maximum number of bytes that are copied at once, unless one row is larger.

A copy of this size uses a single thread, because a worker has one core.
"""


class FillTarget(Record):
    """A part of an output region that is a contiguous range in each group of sub-axes."""

    ranges: Region
    """The ranges of the target on the output axes, relative to the output region."""
    sub_axis_ranges: dict[SubAxis, AxisRange]
    """For each output sub-axis, its range in the target."""
    filled_ranges: dict[SubAxis, AxisRange]
    """For each output sub-axis, the range that is copied.

    Along repeated sub-axes, the copy is broadcast to the range of the target.
    """
    group_ranges: Region
    """For each group, its range in the target."""


class SourceRegion(Record):
    """A region of the source, and the window of the fill target to which it is copied."""

    target_number: int
    """The index of the fill target in its list."""
    window: Region
    """For each group, the range that the region fills, relative to the start of the target."""
    sub_axis_regions: tuple[Region, ...]
    """For each source axis, the region of its sub-axes."""


class AxisRead(Record):
    """A range of a source axis to read, with the regions of sub-axes that it contains."""

    span: AxisRange
    regions: dict[int, list[Region]]
    """For each source region, by its index, the regions of sub-axes in the range."""


def iter_grid_cells(shape: Sequence[int], steps: Sequence[int]) -> Iterator[Region]:
    """Yield the cells of a grid over an array, in C order.

    `steps` is the shape of a cell. Cells at the end of an axis may be smaller.

    >>> [*iter_grid_cells((3, 2), (2, 2))]
    [((0, 2), (0, 2)), ((2, 3), (0, 2))]
    """
    axes = zip(shape, steps, strict=True)
    yield from every(*[[(start, min(start + step, size)) for start in range(0, size, step)] for size, step in axes])


def grid_cell_at(number: int, shape: Sequence[int], steps: Sequence[int]) -> Region:
    """Return the cell of a grid at a flat index in C order.

    `steps` is the shape of a cell.

    >>> grid_cell_at(1, (3, 2), (2, 2))
    ((2, 3), (0, 2))
    """
    ranges = list[AxisRange]()
    for size, step in zip(reversed(shape), reversed(steps), strict=True):
        number, index = divmod(number, -(-size // step))
        ranges.append((index * step, min((index + 1) * step, size)))
    return tuple(ranges[::-1])


def count_grid_cells(shape: Sequence[int], steps: Sequence[int]) -> int:
    """Return the number of cells of a grid over an array.

    `steps` is the shape of a cell.

    >>> count_grid_cells((3, 2), (2, 2)), count_grid_cells((3, 0), (2, 1))
    (2, 0)
    """
    return prod(-(-size // step) for size, step in zip(shape, steps, strict=True))


def split_range(start: int, stop: int, sizes: Sequence[int]) -> list[SplitRange]:
    """Split a range of flat indices into regions of sub-axes.

    `sizes` are the sizes of the n sub-axes, the outermost first; there are at most 2n - 1 regions. Source: mixed radix
    numbers.

    >>> split_range(2, 9, (3, 4))
    [((2, 4), ((0, 1), (2, 4))), ((4, 8), ((1, 2), (0, 4))), ((8, 9), ((2, 3), (0, 1)))]
    """
    if start >= stop or not sizes:
        return [((start, stop), ())] if start < stop else []
    inner, result = prod(sizes[1:]), []
    whole = range(-(-start // inner), stop // inner)
    edges = sorted({start, stop, *([whole.start * inner, whole.stop * inner] if whole else [])})
    for first, last in pairwise(edges):
        if whole and first == whole.start * inner:
            result.append(((first, last), ((whole.start, whole.stop), *[(0, size) for size in sizes[1:]])))
            continue
        for index in range(first // inner, (last - 1) // inner + 1):
            begin, end = max(first, index * inner), min(last, (index + 1) * inner)
            rest = split_range(begin - index * inner, end - index * inner, sizes[1:])
            result += [
                ((a + index * inner, b + index * inner), ((index, index + 1), *region)) for (a, b), region in rest
            ]
    return result


def _split_by_sub_axes(span: AxisRange, parts: Sequence[SubAxis]) -> list[SplitRange]:
    """Split a range of an axis, or of a group, into regions of its sub-axes."""
    return split_range(*span, [atom.size for atom in parts])


def split_into_fill_targets(axis_map: AxisMap, region: Region) -> list[FillTarget]:
    """Split an output region into fill targets.

    A fill target is a contiguous range in each group of sub-axes.
    """
    axes = axis_map.output_sub_axes
    atoms = [atom for axis in axes for atom in axis]
    targets: list[FillTarget] = []
    for chosen in every(*[_split_by_sub_axes(positions, axis) for positions, axis in zip(region, axes, strict=True)]):
        whole = dict(zip(atoms, [part for _, parts in chosen for part in parts], strict=True))
        ranges = tuple([(a - start, b - start) for ((a, b), _), (start, _) in zip(chosen, region, strict=True)])
        loose = _find_sub_axes_to_split(axis_map, whole)
        for indices in every(*[range(*whole[atom]) for atom in loose]):
            fixed = whole | {atom: (index, index + 1) for atom, index in zip(loose, indices, strict=True)}
            runs = tuple(
                [_flatten_region([fixed[atom] for atom in run.outputs], run.outputs) for run in axis_map.groups]
            )
            targets.append(FillTarget(ranges, whole, fixed, runs))
    return targets


def estimate_target_count(axis_map: AxisMap, region: Region) -> int:
    """Estimate the number of fill targets of an output region."""
    count = 1
    whole: dict[SubAxis, AxisRange] = {}
    for positions, atoms in zip(region, axis_map.output_sub_axes, strict=True):
        splits = _split_by_sub_axes(positions, atoms)
        count *= len(splits)
        widest = max(splits, key=lambda split: _range_length(split[0]))[1]
        whole |= dict(zip(atoms, widest, strict=True))
    return count * prod(_range_length(whole[atom]) for atom in _find_sub_axes_to_split(axis_map, whole))


def _find_sub_axes_to_split(axis_map: AxisMap, ranges: dict[SubAxis, AxisRange]) -> list[SubAxis]:
    """Return the output sub-axes along which a region is split into single indices.

    In each group, these are the sub-axes outside the innermost sub-axis with an incomplete range. For a single index of
    each of them, the elements of the group are one contiguous range.
    """
    fixed = []
    for run in axis_map.groups:
        partial = [number for number, atom in enumerate(run.outputs) if ranges[atom] != (0, atom.size)]
        fixed += [atom for atom in run.outputs[: max(partial, default=0)] if _range_length(ranges[atom]) > 1]
    return fixed


def _flatten_region(ranges: Sequence[AxisRange], parts: Sequence[SubAxis]) -> AxisRange:
    """Convert a region of the sub-axes of a group to a range of flat indices."""
    first = last = 0
    for (start, stop), atom in zip(ranges, parts, strict=True):
        first, last = first * atom.size + start, last * atom.size + stop - 1
    return first, last + 1


def find_source_regions(axis_map: AxisMap, targets: Sequence[FillTarget]) -> list[SourceRegion]:
    """Return the source regions from which the fill targets are copied."""
    result = []
    atoms = [atom for run in axis_map.groups for atom in run.sources]
    for number, target in enumerate(targets):
        pairs = zip(target.group_ranges, axis_map.groups, strict=True)
        for chosen in every(*[_split_by_sub_axes(positions, run.sources) for positions, run in pairs]):
            ranges = dict(zip(atoms, [part for _, parts in chosen for part in parts], strict=True))
            window = [
                (a - first, b - first) for ((a, b), _), (first, _) in zip(chosen, target.group_ranges, strict=True)
            ]
            parts = tuple([tuple([ranges[atom] for atom in axis]) for axis in axis_map.source_sub_axes])
            result.append(SourceRegion(number, tuple(window), parts))
    return result


def intersect_span(span: AxisRange, start: int, parts: Sequence[SubAxis], region: Region) -> list[Region]:
    """Intersect a region of sub-axes with the range `span` of their axis.

    Returns the intersection as a list of regions of the sub-axes. `start` is the index of the first element on the
    axis.

    >>> intersect_span((3, 9), 0, [SubAxis(0, 3, 4), SubAxis(0, 4, 1)], ((0, 3), (1, 4)))
    [((0, 1), (3, 4)), ((1, 2), (1, 4))]
    >>> intersect_span((3, 9), 11, [SubAxis(0, 12, -1)], ((0, 6),))
    [((3, 6),)]
    """
    if not parts:
        return [()] if span[0] <= start < span[1] else []
    step, (first, last) = parts[0].stride, region[0]
    inner = enclosing_range(start, parts[1:], region[1:])
    inside = span[0] - inner[0], span[1] - inner[1]
    touched = span[0] - inner[1] + 1, span[1] - inner[0] - 1
    if step < 0:
        inside, touched = (-inside[1], -inside[0]), (-touched[1], -touched[0])
    begin, end = max(first, -(-touched[0] // abs(step))), min(last, touched[1] // abs(step) + 1)
    whole = max(begin, -(-inside[0] // abs(step))), min(end, inside[1] // abs(step) + 1)
    if whole[0] >= whole[1]:
        whole = end, end

    def split_positions(positions: range) -> list[Region]:
        """Return the intersections at some indices of the outermost sub-axis."""
        return [
            ((position, position + 1), *inner_region)
            for position in positions
            for inner_region in intersect_span(span, start + position * step, parts[1:], region[1:])
        ]

    middle: list[Region] = [(whole, *region[1:])] if whole[0] < whole[1] else []
    return split_positions(range(begin, whole[0])) + middle + split_positions(range(whole[1], end))


def enclosing_range(start: int, parts: Sequence[SubAxis], region: Region) -> AxisRange:
    """Return the smallest range of an axis that contains a region of its sub-axes.

    The region has one range of indices for each sub-axis of the axis.
    """
    first = last = start
    for (begin, end), atom in zip(region, parts, strict=True):
        ends = begin * atom.stride, (end - 1) * atom.stride
        first, last = first + min(ends), last + max(ends)
    return first, last + 1


def count_decoded_elements(axis_map: AxisMap, region: Region, chunks: IntTuple, max_chunks: float = inf) -> int:
    """Return the number of source elements that are decoded to fill a region.

    A chunk is always decoded as a whole. It is counted once or, if there are more than `max_chunks` chunks, once for
    each source region that overlaps it.

    >>> from shapecalc.engine.stores.axis_map import build_axis_map
    >>> count_decoded_elements(build_axis_map((4, 6), []), ((0, 2), (1, 3)), (2, 2))
    8
    """
    source_regions = find_source_regions(axis_map, split_into_fill_targets(axis_map, region))
    by_axis = [
        [
            _find_chunks_of_region(axis_map, axis, step, source_region.sub_axis_regions[axis])
            for axis, step in enumerate(chunks)
        ]
        for source_region in source_regions
    ]
    axes = [*zip(axis_map.source_shape, chunks, strict=True)]
    if len(source_regions) == 1 or sum(prod(map(len, indices)) for indices in by_axis) > max_chunks:
        return sum(
            prod(_total_chunk_size(own, *axis) for own, axis in zip(indices, axes, strict=True)) for indices in by_axis
        )
    chunks_read = {chunk for indices in by_axis for chunk in every(*indices)}
    return sum(
        prod(min(step, size - index * step) for index, (size, step) in zip(chunk, axes, strict=True))
        for chunk in chunks_read
    )


def _find_chunks_of_region(axis_map: AxisMap, axis: int, step: int, region: Region) -> Collection[int]:
    """Return the indices of the chunks that a region overlaps on a source axis.

    `step` is the size of a chunk on this axis.
    """
    atoms, start = axis_map.source_sub_axes[axis], axis_map.starts[axis]
    if not axis_map.rolls[axis]:
        return _find_chunks_of_sub_axes(start, atoms, region, step)
    roll, size = axis_map.rolls[axis], axis_map.source_shape[axis]
    return {(axis_read.span[0] - roll) % size // step for axis_read in find_axis_reads(axis_map, axis, step, [region])}


def _find_chunks_of_sub_axes(start: int, parts: Sequence[SubAxis], region: Region, step: int) -> Collection[int]:
    """Return the indices of the chunks that a region overlaps on an unrolled axis.

    `step` is the size of a chunk on this axis.
    """
    first, last = enclosing_range(start, parts, region)
    wide = [abs(atom.stride) for atom, part in zip(parts, region, strict=True) if _range_length(part) > 1]
    if max(wide, default=0) <= step or last - first == prod(map(_range_length, region)):
        return range(first // step, (last - 1) // step + 1)
    first_positions = [start + position * parts[0].stride for position in range(*region[0])]
    return {
        chunk
        for first_position in first_positions
        for chunk in _find_chunks_of_sub_axes(first_position, parts[1:], region[1:], step)
    }


def _total_chunk_size(chunks: Collection[int], size: int, step: int) -> int:
    """Return the total number of indices in some chunks of an axis.

    `size` is the size of the axis, and `step` that of a chunk.
    """
    return len(chunks) * step - (-(-size // step) * step - size if size // step in chunks else 0)


def fill_regions(axis_map: AxisMap, regions: Sequence[Region], source: Any, block: Sequence[int]) -> list[Any]:
    """Compute regions of the output from slices of `source`.

    Each slice is within one block of shape `block`, and each block is read only once.
    """
    outputs = [np.empty([*map(_range_length, region)], source.dtype) for region in regions]
    targets = [
        (output, target)
        for output, region in zip(outputs, regions, strict=True)
        for target in split_into_fill_targets(axis_map, region)
    ]
    buffers = [
        np.empty([*map(_range_length, target.group_ranges)], output.dtype)
        if axis_map.is_mixed
        else _target_view(axis_map, target, output)
        for output, target in targets
    ]
    source_regions = find_source_regions(axis_map, [target for _, target in targets])
    views = [
        _source_view(axis_map, source_region, buffers[source_region.target_number]) for source_region in source_regions
    ]
    for crop, hits in iter_blocks(axis_map, source_regions, block):
        axes = zip(crop, axis_map.rolls, axis_map.source_shape, strict=True)
        unrolled = [slice((a - roll) % size, (a - roll) % size + b - a) for (a, b), roll, size in axes]
        data = np.asarray(source[tuple(unrolled)])
        for number, hits_by_axis in hits.items():
            for choice in every(*hits_by_axis):
                _copy_block(axis_map, views[number], data, crop, source_regions[number], choice)
    if axis_map.is_mixed:
        for (output, target), buffer in zip(targets, buffers, strict=True):
            sizes = [[_range_length(target.filled_ranges[atom]) for atom in run.outputs] for run in axis_map.groups]
            _target_view(axis_map, target, output)[...] = _split_axes(buffer, sizes)
    return outputs


def find_axis_reads(axis_map: AxisMap, axis: int, step: int, regions: Sequence[Region]) -> list[AxisRead]:
    """Return the ranges of a source axis to read for some regions, one range per block.

    `step` is the size of a block on this axis.
    """
    atoms, start = axis_map.source_sub_axes[axis], axis_map.starts[axis]
    extents = [enclosing_range(start, atoms, region) for region in regions]
    first, last = min(extent[0] for extent in extents), max(extent[1] for extent in extents)
    reads = []
    for span in _iter_block_ranges(axis_map.source_shape[axis], axis_map.rolls[axis], step, first, last):
        hits = {
            number: hits_here
            for number, region in enumerate(regions)
            if (hits_here := intersect_span(span, start, atoms, region))
        }
        inside = [enclosing_range(start, atoms, region) for hits_here in hits.values() for region in hits_here]
        if inside:
            reads.append(AxisRead((min(a for a, _ in inside), max(b for _, b in inside)), hits))
    return reads


def _iter_block_ranges(size: int, roll: int, step: int, first: int, last: int) -> Iterator[AxisRange]:
    """Split a range of a rolled axis at block boundaries.

    The range is from `first` to `last`. The blocks have the size `step`, and begin at multiples of it before the roll.
    """
    for begin, end, on in ((0, roll, size - roll), (roll, size, -roll)):
        low, high = max(first, begin), min(last, end)
        if low < high:
            for at in range(low + on - (low + on) % step, high + on, step):
                yield max(low, at - on), min(high, at - on + step)


def iter_blocks(
    axis_map: AxisMap, source_regions: Sequence[SourceRegion], block: Sequence[int]
) -> Iterator[tuple[Region, dict[int, list[list[Region]]]]]:
    """Yield the range of each source block to read, with the regions in it.

    The second item maps the index of a source region to its regions of sub-axes along each axis.
    """
    axes = [
        find_axis_reads(
            axis_map, axis, step, [source_region.sub_axis_regions[axis] for source_region in source_regions]
        )
        for axis, step in enumerate(block)
    ]
    for chosen in every(*axes):
        numbers = set(range(len(source_regions))).intersection(*[axis_read.regions for axis_read in chosen])
        if numbers:
            hits = {number: [axis_read.regions[number] for axis_read in chosen] for number in sorted(numbers)}
            yield tuple([axis_read.span for axis_read in chosen]), hits


def _split_axes(view: Any, sizes: Sequence[Sequence[int]]) -> Any:
    """Split each axis of a view into several axes of the given sizes."""
    shape, strides = list[int](), list[int]()
    for axis, parts in enumerate(sizes):
        shape += parts
        strides += [view.strides[axis] * prod(parts[number + 1 :]) for number in range(len(parts))]
    return np.lib.stride_tricks.as_strided(view, shape, strides)


def _target_view(axis_map: AxisMap, target: FillTarget, output: Any) -> Any:
    """Return the part of `output` that a fill target covers, by sub-axis.

    The axes of repeated sub-axes come first.
    """
    axes = axis_map.output_sub_axes
    atoms = [atom for axis in axes for atom in axis]
    view = output[(*[slice(*span) for span in target.ranges], ...)]
    view = _split_axes(view, [[_range_length(target.sub_axis_ranges[atom]) for atom in axis] for axis in axes])
    view = view[(*[_slice_within(target.filled_ranges[atom], target.sub_axis_ranges[atom]) for atom in atoms], ...)]
    order = [*axis_map.repeated_sub_axes, *[atom for run in axis_map.groups for atom in run.outputs]]
    return view.transpose([atoms.index(atom) for atom in order])


def _range_length(positions: AxisRange) -> int:
    return positions[1] - positions[0]


def _slice_within(part: AxisRange, whole: AxisRange) -> slice:
    """Return the slice that selects one range inside another."""
    return slice(part[0] - whole[0], part[1] - whole[0])


def _source_view(axis_map: AxisMap, source_region: SourceRegion, buffer: Any) -> Any:
    """Return the part of `buffer` to which a source region is copied.

    The view has one axis per source sub-axis, after the axes of repeated sub-axes.
    """
    repeats = buffer.ndim - len(axis_map.groups)
    view = buffer[(slice(None),) * repeats + (*[slice(*span) for span in source_region.window], ...)]
    ordered = [atom for axis in axis_map.source_sub_axes for atom in axis]
    lengths = dict(
        zip(ordered, [_range_length(part) for parts in source_region.sub_axis_regions for part in parts], strict=True)
    )
    sizes = [[lengths[atom] for atom in run.sources] for run in axis_map.groups]
    view = _split_axes(view, [[size] for size in view.shape[:repeats]] + sizes)
    atoms = [atom for run in axis_map.groups for atom in run.sources]
    return view.transpose([*range(repeats), *[repeats + atoms.index(atom) for atom in ordered]])


def _copy_block(
    axis_map: AxisMap, view: Any, block: Any, crop: Region, source_region: SourceRegion, regions: Sequence[Region]
) -> None:
    """Copy elements of a source block to `view`, the destination of a source region.

    `crop` is the region of the source that `block` contains.
    """
    shape, strides, first, targets = list[int](), list[int](), list[slice](), list[slice]()
    for axis, (region, atoms, (begin, _)) in enumerate(zip(regions, axis_map.source_sub_axes, crop, strict=True)):
        shape += [*map(_range_length, region)]
        strides += [atom.stride * block.strides[axis] for atom in atoms]
        pairs = zip(region, atoms, strict=True)
        first.append(slice(axis_map.starts[axis] + sum(part[0] * atom.stride for part, atom in pairs) - begin, None))
        targets += [
            _slice_within(part, wanted)
            for part, wanted in zip(region, source_region.sub_axis_regions[axis], strict=True)
        ]
    _copy_elements(view[(..., *targets)], np.lib.stride_tricks.as_strided(block[(*first, ...)], shape, strides))


def _copy_elements(target: Any, source: Any) -> None:
    """Copy elements in the memory order of the target, `MAX_COPY_BYTES` at a time.

    If the target has more axes than the source, the source is broadcast. If tiles are the fastest method, a target that
    is not contiguous is filled through a contiguous buffer.
    """
    if target.ndim != source.ndim or source.nbytes < SMALL_COPY_BYTES:
        target[...] = source
        return
    order = sorted(range(target.ndim), key=lambda axis: -target.strides[axis])
    target, source = target.transpose(order), source.transpose(order)
    rows = max(1, MAX_COPY_BYTES // max(1, target[:1].nbytes))
    for start in range(0, len(target), rows):
        part, rows_of_source = target[start : start + rows], source[start : start + rows]
        if part.flags.c_contiguous:
            copy_into(part, rows_of_source)
        elif part.nbytes > MAX_COPY_BYTES or choose_copy_function(rows_of_source) is np.copyto:
            part[...] = rows_of_source
        else:
            whole = np.empty(part.shape, part.dtype)
            copy_into(whole, rows_of_source)
            part[...] = whole
