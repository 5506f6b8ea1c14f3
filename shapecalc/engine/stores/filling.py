"""Filling a box of the output from the source: each block of source chunks that it needs is read once."""

from __future__ import annotations

from itertools import product as every
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.record import Record
from shapecalc.engine.copying import TINY, copy_into, fill_for
from shapecalc.engine.stores.boxes import Demand, demands_of, extent_of, factors_of, hits_in, pieces_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.engine.stores.boxes import Box, Piece, Range
    from shapecalc.engine.stores.lines import Lines

ONCE = 1 << 22
"""The most bytes that are moved at once, unless one row has more: too few for threads, as a worker has one core."""


def filled(lines: Lines, boxes: Sequence[Box], source: Any, block: Sequence[int]) -> list[Any]:
    """Return boxes of the output as arrays; `source` is read by slices, each within one `block`, and once."""
    outs = [np.empty([stop - start for start, stop in box], source.dtype) for box in boxes]
    pieces = [(out, piece) for out, box in zip(outs, boxes, strict=True) for piece in pieces_of(lines, box)]
    buffers = [_buffer(lines, piece, out) for out, piece in pieces]
    demands = demands_of(lines, [piece for _, piece in pieces])
    views = [_by_source(lines, demand, buffers[demand.piece]) for demand in demands]
    for crop, hits in blocks(lines, demands, block):
        held = np.asarray(source[tuple([slice(*each) for each in unrolled(lines, crop)])])
        for number, own in hits.items():
            for chosen in every(*own):
                _place(lines, views[number], held, crop, demands[number], chosen)
    for (out, piece), buffer in zip(pieces, buffers, strict=True):
        if _is_mixed(lines):
            _unmix(lines, piece, buffer, out)
    return outs


class Cut(Record):
    """A stretch of a source axis that is read, and what it holds of each demand."""

    stretch: Range
    hits: dict[int, list[Box]]
    """By the number of the demand; others have nothing there."""


def cuts_of(lines: Lines, axis: int, step: int, wanted: Sequence[Box]) -> list[Cut]:
    """Return the stretches of a source axis, within steps, that hold what demands want of it."""
    factors, start = factors_of(lines)[0][axis], lines.starts[axis]
    extents = [extent_of(start, factors, box) for box in wanted]
    first, last = min(each[0] for each in extents), max(each[1] for each in extents)
    found = []
    for stretch in _stretches(lines.source[axis], lines.rolls[axis], step, first, last):
        hits = {number: own for number, box in enumerate(wanted) if (own := hits_in(stretch, start, factors, box))}
        inside = [extent_of(start, factors, box) for own in hits.values() for box in own]
        if inside:
            found.append(Cut((min(a for a, _ in inside), max(b for _, b in inside)), hits))
    return found


def _stretches(size: int, roll: int, step: int, first: int, last: int) -> Iterator[Range]:
    """Yield the stretches of an axis between two positions that lie in one step of it; both are after the roll."""
    for begin, end, on in ((0, roll, size - roll), (roll, size, -roll)):
        low, high = max(first, begin), min(last, end)
        if low < high:
            for at in range(low + on - (low + on) % step, high + on, step):
                yield max(low, at - on), min(high, at - on + step)


def unrolled(lines: Lines, crop: Box) -> Box:
    """Return where a box of the source lies before its axes are rolled."""
    moved = zip(crop, lines.rolls, lines.source, strict=True)
    return tuple([((a - roll) % size, (a - roll) % size + b - a) for (a, b), roll, size in moved])


def blocks(
    lines: Lines, demands: Sequence[Demand], block: Sequence[int]
) -> Iterator[tuple[Box, dict[int, list[list[Box]]]]]:
    """Yield each box of the source that is read, and what it holds of each demand, by axis."""
    axes = [cuts_of(lines, axis, step, [each.parts[axis] for each in demands]) for axis, step in enumerate(block)]
    for chosen in every(*axes):
        numbers = set(range(len(demands))).intersection(*[cut.hits for cut in chosen])
        if numbers:
            held = {number: [cut.hits[number] for cut in chosen] for number in sorted(numbers)}
            yield tuple([cut.stretch for cut in chosen]), held


def _is_mixed(lines: Lines) -> bool:
    return any(line.mixed for line in lines.lines)


def _split(view: Any, sizes: Sequence[Sequence[int]]) -> Any:
    """Return a view with each axis split into sizes, by strides alone."""
    shape, strides = list[int](), list[int]()
    for axis, parts in enumerate(sizes):
        shape += parts
        strides += [view.strides[axis] * prod(parts[place + 1 :]) for place in range(len(parts))]
    return np.lib.stride_tricks.as_strided(view, shape, strides)


def _by_parts(lines: Lines, piece: Piece, out: Any) -> Any:
    """Return the view of a piece of a box, an axis for each part: the repeated, then those of the lines."""
    axes = factors_of(lines)[1]
    view = out[(*[slice(*each) for each in piece.place], ...)]
    view = _split(view, [[_length(piece.whole[factor]) for factor in axis] for axis in axes])
    view = view[(*[_within(piece.parts[factor], piece.whole[factor]) for axis in axes for factor in axis], ...)]
    places = {factor: place for place, factor in enumerate([factor for axis in axes for factor in axis])}
    order = [*lines.repeated, *[factor for line in lines.lines for factor in line.outputs]]
    return view.transpose([places[factor] for factor in order])


def _length(span: Range) -> int:
    return span[1] - span[0]


def _within(part: Range, whole: Range) -> slice:
    """Return where a range is in another one."""
    return slice(part[0] - whole[0], part[1] - whole[0])


def _buffer(lines: Lines, piece: Piece, out: Any) -> Any:
    """Return what a piece is filled in, an axis for each line: a view of the box; if lines mix, an own array."""
    if _is_mixed(lines):
        return np.empty([_length(run) for run in piece.runs], out.dtype)
    return _by_parts(lines, piece, out)


def _unmix(lines: Lines, piece: Piece, buffer: Any, out: Any) -> None:
    """Put a piece that was filled by lines into its box."""
    _by_parts(lines, piece, out)[...] = _split(
        buffer, [[_length(piece.parts[factor]) for factor in line.outputs] for line in lines.lines]
    )


def _by_source(lines: Lines, demand: Demand, buffer: Any) -> Any:
    """Return the view that a demand fills, an axis for each part of the source; repeated axes come first."""
    repeated = buffer.ndim - len(lines.lines)
    view = buffer[(slice(None),) * repeated + (*[slice(*each) for each in demand.window], ...)]
    axes = factors_of(lines)[0]
    lengths = {
        factor: _length(part)
        for parts, factors in zip(demand.parts, axes, strict=True)
        for factor, part in zip(factors, parts, strict=True)
    }
    sizes = [[lengths[factor] for factor in line.sources] for line in lines.lines]
    view = _split(view, [[size] for size in view.shape[:repeated]] + sizes)
    places = {factor: at for at, factor in enumerate([each for line in lines.lines for each in line.sources], repeated)}
    return view.transpose([*range(repeated), *[places[factor] for axis in axes for factor in axis]])


def _place(lines: Lines, view: Any, held: Any, crop: Box, demand: Demand, chosen: Sequence[Box]) -> None:
    """Put what a block holds of a demand where it goes."""
    shape, strides, first, into = list[int](), list[int](), list[slice](), list[slice]()
    for axis, (box, factors, (begin, _)) in enumerate(zip(chosen, factors_of(lines)[0], crop, strict=True)):
        shape += [_length(part) for part in box]
        strides += [factor.step * held.strides[axis] for factor in factors]
        own = zip(box, factors, strict=True)
        first.append(slice(lines.starts[axis] + sum(part[0] * factor.step for part, factor in own) - begin, None))
        into += [_within(part, wanted) for part, wanted in zip(box, demand.parts[axis], strict=True)]
    _move(view[(..., *into)], np.lib.stride_tricks.as_strided(held[(*first, ...)], shape, strides))


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
        into, taken = target[start : start + rows], source[start : start + rows]
        if into.flags.c_contiguous:
            copy_into(into, taken)
        elif into.nbytes > ONCE or fill_for(taken) is np.copyto:
            into[...] = taken
        else:
            whole = np.empty(into.shape, into.dtype)
            copy_into(whole, taken)
            into[...] = whole
