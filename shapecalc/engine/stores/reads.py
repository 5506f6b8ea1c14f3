"""What is read for boxes of the output: the source chunks that are decoded, counted without reading any."""

from __future__ import annotations

from itertools import product as every
from math import inf, prod

from shapecalc.engine.stores.boxes import demands_of, extent_of, factors_of, pieces_of
from shapecalc.engine.stores.filling import cuts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from shapecalc.engine.stores.boxes import Box
    from shapecalc.engine.stores.lines import Factor, Lines, Sizes


def count_elements(lines: Lines, box: Box, chunks: Sizes, most: float = inf) -> int:
    """Return how many elements of the source are decoded to fill a box: those of each chunk that holds one of them.

    Of `most` chunks on, those that several parts of the box share are counted several times.

    >>> from shapecalc.engine.stores.building import lines_of
    >>> count_elements(lines_of((4, 6), []), ((0, 2), (1, 3)), (2, 2))
    8
    """
    demands = demands_of(lines, pieces_of(lines, box))
    axes = [[_touched(lines, axis, step, demand.parts[axis]) for demand in demands] for axis, step in enumerate(chunks)]
    if len(demands) == 1 or sum(prod(len(own[number]) for own in axes) for number in range(len(demands))) > most:
        shape = [*zip(axes, lines.source, chunks, strict=True)]
        return sum(prod(_length(own[number], *sizes) for own, *sizes in shape) for number in range(len(demands)))
    touched = {places for number in range(len(demands)) for places in every(*[own[number] for own in axes])}
    return sum(
        prod(
            min(step, size - place * step) for place, step, size in zip(places, chunks, lines.source, strict=True)
        ) for places in touched
    )  # fmt: skip


def _touched(lines: Lines, axis: int, step: int, wanted: Box) -> Collection[int]:
    """Return which chunks of an axis hold one of the positions that a demand wants."""
    factors, start = factors_of(lines)[0][axis], lines.starts[axis]
    if not lines.rolls[axis]:
        return _places(start, factors, wanted, step)
    roll, size = lines.rolls[axis], lines.source[axis]
    return {(cut.stretch[0] - roll) % size // step for cut in cuts_of(lines, axis, step, [wanted])}


def _places(start: int, factors: Sequence[Factor], wanted: Box, step: int) -> Collection[int]:
    first, last = extent_of(start, factors, wanted)
    wide = [abs(part.step) for part, (begin, end) in zip(factors, wanted, strict=True) if end - begin > 1]
    if max(wide, default=0) <= step or last - first == prod(end - begin for begin, end in wanted):
        return range(first // step, (last - 1) // step + 1)
    begins = [start + at * factors[0].step for at in range(*wanted[0])]
    return {place for begin in begins for place in _places(begin, factors[1:], wanted[1:], step)}


def _length(places: Collection[int], size: int, step: int) -> int:
    """Return how many positions of an axis chunks have; the last one may be a part."""
    return len(places) * step - (-(-size // step) * step - size if size // step in places else 0)


def boxes_of(shape: Sequence[int], steps: Sequence[int]) -> Iterator[Box]:
    """Yield the boxes of a grid of `steps` in an array of `shape`, in C order.

    >>> [*boxes_of((3, 2), (2, 2))]
    [((0, 2), (0, 2)), ((2, 3), (0, 2))]
    """
    yield from every(*[
        [(start, min(start + step, size)) for start in range(0, size, step)]
        for size, step in zip(shape, steps, strict=True)
    ])  # fmt: skip


def box_at(number: int, shape: Sequence[int], steps: Sequence[int]) -> Box:
    """Return one box of a grid by its number in C order.

    >>> box_at(1, (3, 2), (2, 2))
    ((2, 3), (0, 2))
    """
    found = list[tuple[int, int]]()
    for size, step in zip(reversed(shape), reversed(steps), strict=True):
        number, place = divmod(number, -(-size // step))
        found.append((place * step, min((place + 1) * step, size)))
    return tuple(found[::-1])


def count_boxes(shape: Sequence[int], steps: Sequence[int]) -> int:
    """Return how many boxes a grid has.

    >>> count_boxes((3, 2), (2, 2)), count_boxes((3, 0), (2, 1))
    (2, 0)
    """
    return prod(-(-size // step) for size, step in zip(shape, steps, strict=True))
