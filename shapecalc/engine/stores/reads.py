"""What is read for boxes of the output: the source chunks that are decoded, counted without reading any."""

from __future__ import annotations

from itertools import product as every
from math import prod

from shapecalc.engine.stores.boxes import demands_of, pieces_of
from shapecalc.engine.stores.filling import cuts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.engine.stores.boxes import Box
    from shapecalc.engine.stores.lines import Lines, Sizes


def count_elements(lines: Lines, box: Box, chunks: Sizes) -> int:
    """Return how many elements of the source are decoded to fill a box: those of each chunk that holds one of them.

    >>> from shapecalc.engine.stores.lines import lines_of
    >>> count_elements(lines_of((4, 6), []), ((0, 2), (1, 3)), (2, 2))
    8
    """
    demands = demands_of(lines, pieces_of(lines, box))
    axes = [
        [{(cut.stretch[0] - lines.rolls[axis]) % lines.source[axis] // step for cut in cuts_of(lines, axis, step, [demand.parts[axis]])}
         for demand in demands]
        for axis, step in enumerate(chunks)
    ]  # fmt: skip

    def length(axis: int, place: int) -> int:
        return min(chunks[axis], lines.source[axis] - place * chunks[axis])

    if len(demands) == 1:
        return prod(sum(length(axis, place) for place in own[0]) for axis, own in enumerate(axes))
    touched = {places for number in range(len(demands)) for places in every(*[own[number] for own in axes])}
    return sum(prod(length(axis, place) for axis, place in enumerate(places)) for places in touched)


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
