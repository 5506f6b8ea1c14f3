"""Filling a box of the output from the source: each block of source chunks that it needs is read once."""

from __future__ import annotations

from itertools import product as every
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.sizes.record import Record
from shapecalc.engine.stores.boxes import Demand, Hit, demands_of, extent_of, factors_of, hits_in, pieces_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.engine.stores.boxes import Box, Piece, Range
    from shapecalc.engine.stores.lines import Factor, Lines

READ = 1 << 22
"""The bytes that are read at once, unless one chunk holds more."""


def filled(lines: Lines, box: Box, source: Any, chunks: Sequence[int]) -> Any:
    """Return a box of the output as an array; `source` is read by slices, best by whole `chunks`."""
    out = np.empty([stop - start for start, stop in box], source.dtype)
    pieces = pieces_of(lines, box)
    buffers = [_buffer(lines, piece, out) for piece in pieces]
    demands = demands_of(lines, pieces)
    views = [_by_source(lines, demand, buffers[demand.piece]) for demand in demands]
    for crop, hits in blocks(lines, demands, block_of(chunks, lines.source, source.dtype.itemsize)):
        held = np.asarray(source[tuple([slice(*each) for each in crop])])
        for number, own in hits:
            for chosen in every(*own):
                _place(views[number], held, crop, demands[number], chosen)
    for piece, buffer in zip(pieces, buffers, strict=True):
        if _is_mixed(lines):
            _unmix(lines, piece, buffer, out)
    return out


def block_of(chunks: Sequence[int], shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return how much is read at once along each axis: whole chunks, up to `READ` bytes."""
    block = list(chunks)
    for axis in reversed(range(len(block))):
        room = READ // max(1, prod(block) * itemsize)
        block[axis] = min(block[axis] * max(1, room), -(-shape[axis] // block[axis]) * block[axis])
    return tuple(block)


class Cut(Record):
    """A stretch of a source axis that is read, and what it holds of each demand."""

    stretch: Range
    hits: tuple[tuple[Hit, ...], ...]


def cuts_of(step: int, size: int, factors: Sequence[Factor], wanted: Sequence[Box]) -> list[Cut]:
    """Return the stretches of a source axis, within steps, that hold what demands want of it."""
    extents = [extent_of(factors, box) for box in wanted]
    first, last = min(each[0] for each in extents), max(each[1] for each in extents)
    found = []
    for start in range(first - first % step, last, step):
        stretch = max(start, first), min(start + step, size, last)
        inside = [each.extent(factors) for box in wanted for each in hits_in(stretch, factors, box)]
        if inside:
            stretch = min(a for a, _ in inside), max(b for _, b in inside)
            found.append(Cut(stretch, tuple([tuple(hits_in(stretch, factors, box)) for box in wanted])))
    return found


def blocks(
    lines: Lines, demands: Sequence[Demand], block: Sequence[int]
) -> Iterator[tuple[Box, list[tuple[int, list[tuple[Hit, ...]]]]]]:
    """Yield each box of the source that is read, and what it holds of each demand, by axis."""
    axes = [
        cuts_of(step, size, factors, [demand.parts[axis] for demand in demands])
        for axis, (step, size, factors) in enumerate(zip(block, lines.source, factors_of(lines)[0], strict=True))
    ]
    for chosen in every(*axes):
        hits = [(number, [cut.hits[number] for cut in chosen]) for number in range(len(demands))]
        held = [(number, own) for number, own in hits if all(own)]
        if held:
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


def _place(view: Any, held: Any, crop: Box, demand: Demand, chosen: Sequence[Hit]) -> None:
    """Put what a block holds of a demand where it goes."""
    slices = [_within(hit.stretch, span) for hit, span in zip(chosen, crop, strict=True)]
    taken = _split(held[(*slices, ...)], [[_length(part) for part in hit.whole] for hit in chosen])
    inner, into = list[slice](), list[slice]()
    for hit, wanted in zip(chosen, demand.parts, strict=True):
        for part, whole, all_wanted in zip(hit.part, hit.whole, wanted, strict=True):
            inner.append(_within(part, whole))
            into.append(_within(part, all_wanted))
    view[(..., *into)] = taken[tuple(inner)]
