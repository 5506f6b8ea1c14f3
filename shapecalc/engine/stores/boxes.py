"""Boxes: which boxes of the source a box of the output is made of, and where their elements go in it.

Positions of an axis, or of a line, are a box of its parts only if the outer parts are at one place and the inner ones
are whole. Any others are a few such boxes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from itertools import product as every
from math import prod

from shapecalc.core.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shapecalc.engine.stores.lines import Factor, Lines

    Range = tuple[int, int]
    """The first position and the one after the last."""
    Box = tuple[Range, ...]
    Span = tuple[Range, Box]
    """Positions of an axis, and the box of its parts that they are."""


def spans(start: int, stop: int, sizes: Sequence[int]) -> list[Span]:
    """Return positions from `start` to `stop` as boxes of parts: at most one fewer than twice as many as parts.

    Source: mixed radix numbers.

    >>> spans(2, 9, (3, 4))
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
            rest = spans(begin - at * inner, end - at * inner, sizes[1:])
            found += [((a + at * inner, b + at * inner), ((at, at + 1), *box)) for (a, b), box in rest]
    return found


class Piece(Record):
    """A part of a box of the output: a box of the parts of its axes."""

    place: Box
    """A stretch of each axis of the box, which is a box of parts."""
    whole: dict[Factor, Range]
    """That box of parts."""
    parts: dict[Factor, Range]
    """The part of it that this piece is."""
    runs: Box
    """The positions of each line."""


class Demand(Record):
    """A box of the parts of the source, by axis, and where of a piece its elements go."""

    piece: int
    window: Box
    """The positions of each line in the piece."""
    parts: tuple[Box, ...]


@lru_cache(maxsize=64)
def factors_of(lines: Lines) -> tuple[tuple[tuple[Factor, ...], ...], tuple[tuple[Factor, ...], ...]]:
    """Return the parts of each axis, the outermost first: those of the source, and those of the output."""
    sources = [factor for line in lines.lines for factor in line.sources]
    outputs = [factor for line in lines.lines for factor in line.outputs] + [*lines.repeated]
    return _by_axis(sources, len(lines.source)), _by_axis(outputs, len(lines.output))


def _by_axis(factors: Iterable[Factor], rank: int) -> tuple[tuple[Factor, ...], ...]:
    ordered = sorted(factors, key=lambda factor: -abs(factor.step))
    return tuple([tuple([each for each in ordered if each.axis == axis]) for axis in range(rank)])


def pieces_of(lines: Lines, box: Box) -> list[Piece]:
    """Return the pieces of a box of the output."""
    factors = factors_of(lines)[1]
    axes = [spans(*span, [each.size for each in parts]) for span, parts in zip(box, factors, strict=True)]
    names = [factor for parts in factors for factor in parts]
    made: list[Piece] = []
    for chosen in every(*axes):
        ranges = dict(zip(names, [part for _, parts in chosen for part in parts], strict=True))
        place = [(a - start, b - start) for ((a, b), _), (start, _) in zip(chosen, box, strict=True)]
        made += _runs_in(lines, tuple(place), ranges)
    return made


def _runs_in(lines: Lines, place: Box, whole: dict[Factor, Range]) -> Iterator[Piece]:
    """Yield the pieces of a box of parts in which every line is one run: outer parts at one place, inner ones whole."""
    loose = [factor for line in lines.lines for factor in _outside_run(line.outputs, whole)]
    for at in every(*[range(*whole[factor]) for factor in loose]):
        own = whole | {factor: (index, index + 1) for factor, index in zip(loose, at, strict=True)}
        runs = [_run_of([own[each] for each in line.outputs], line.outputs) for line in lines.lines]
        yield Piece(place, whole, own, tuple(runs))


def count_pieces(lines: Lines, box: Box) -> int:
    """Return about how many pieces a box of the output has, without making them: those of its widest stretch."""
    factors = factors_of(lines)[1]
    count = 1
    whole: dict[Factor, Range] = {}
    for span, parts in zip(box, factors, strict=True):
        stretches = spans(*span, [each.size for each in parts])
        count *= len(stretches)
        widest = max(stretches, key=lambda each: each[0][1] - each[0][0])[1]
        whole |= dict(zip(parts, widest, strict=True))
    loose = [factor for line in lines.lines for factor in _outside_run(line.outputs, whole)]
    return count * prod(whole[factor][1] - whole[factor][0] for factor in loose)


def _outside_run(outputs: Sequence[Factor], ranges: dict[Factor, Range]) -> list[Factor]:
    """Return the parts of a line that have to be at one place so that it is a run: those outside a cut one."""
    partial = [place for place, each in enumerate(outputs) if ranges[each] != (0, each.size)]
    return [each for each in outputs[: max(partial, default=0)] if ranges[each][1] - ranges[each][0] > 1]


def _run_of(ranges: Sequence[Range], factors: Sequence[Factor]) -> Range:
    """Return the positions of a line that a box of its parts is."""
    first = last = 0
    for (start, stop), factor in zip(ranges, factors, strict=True):
        first, last = first * factor.size + start, last * factor.size + stop - 1
    return first, last + 1


def demands_of(lines: Lines, pieces: Sequence[Piece]) -> list[Demand]:
    """Return the boxes of the parts of the source that pieces are made of."""
    axes = factors_of(lines)[0]
    made = []
    for number, piece in enumerate(pieces):
        cuts = [
            spans(*run, [each.size for each in line.sources]) for run, line in zip(piece.runs, lines.lines, strict=True)
        ]
        for chosen in every(*cuts):
            ranges = {
                factor: part
                for (_, parts), line in zip(chosen, lines.lines, strict=True)
                for factor, part in zip(line.sources, parts, strict=True)
            }
            window = [(a - run[0], b - run[0]) for ((a, b), _), run in zip(chosen, piece.runs, strict=True)]
            parts = tuple([tuple([ranges[factor] for factor in axis]) for axis in axes])
            made.append(Demand(number, tuple(window), parts))
    return made


def hits_in(stretch: Range, start: int, factors: Sequence[Factor], wanted: Box) -> list[Box]:
    """Return the boxes of parts, of those wanted of a source axis, whose positions lie in a stretch of the axis.

    >>> from shapecalc.engine.stores.lines import Factor
    >>> hits_in((3, 9), 0, [Factor(0, 3, 4), Factor(0, 4, 1)], ((0, 3), (1, 4)))
    [((0, 1), (3, 4)), ((1, 2), (1, 4))]
    >>> hits_in((3, 9), 11, [Factor(0, 12, -1)], ((0, 6),))
    [((3, 6),)]
    """
    if not factors:
        return [()] if stretch[0] <= start < stretch[1] else []
    step, (first, last) = factors[0].step, wanted[0]
    inner = extent_of(start, factors[1:], wanted[1:])
    inside = stretch[0] - inner[0], stretch[1] - inner[1]
    touched = stretch[0] - inner[1] + 1, stretch[1] - inner[0] - 1
    if step < 0:
        inside, touched = (-inside[1], -inside[0]), (-touched[1], -touched[0])
    begin, end = max(first, -(-touched[0] // abs(step))), min(last, touched[1] // abs(step) + 1)
    whole = max(begin, -(-inside[0] // abs(step))), min(end, inside[1] // abs(step) + 1)
    if whole[0] >= whole[1]:
        whole = end, end

    def cut(places: range) -> list[Box]:
        return [
            ((at, at + 1), *box)
            for at in places
            for box in hits_in(stretch, start + at * step, factors[1:], wanted[1:])
        ]

    middle: list[Box] = [(whole, *wanted[1:])] if whole[0] < whole[1] else []
    return cut(range(begin, whole[0])) + middle + cut(range(whole[1], end))


def extent_of(start: int, factors: Sequence[Factor], wanted: Box) -> Range:
    """Return the positions of an axis, from the first to the last, that a box of its parts holds."""
    first = last = start
    for (begin, end), factor in zip(wanted, factors, strict=True):
        ends = begin * factor.step, (end - 1) * factor.step
        first, last = first + min(ends), last + max(ends)
    return first, last + 1
