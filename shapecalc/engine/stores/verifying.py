"""Verifying an output: where each element comes from is computed by its coordinates alone, and both are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.follow import waypoints
from shapecalc.core.moves import index_before
from shapecalc.engine.stores.regions import grid
from shapecalc.engine.stores.stores import Store, open_store, read_region

Index = tuple[Any, ...]

POINTS = 1 << 19
"""The most elements that are compared at once."""
SAMPLED = 64
"""How many elements a sample has, besides the first and the last."""
KEPT = 1 << 27
"""The bytes of decoded chunks that are kept."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An element of the output that is not the source's."""

    index: tuple[int, ...]
    found: str
    expected: str


def first_difference(
    answer: Trace | Chain, source: str, output: str, how: str, tick: Callable[[int], object]
) -> Difference | None:
    """Return the first difference of an output from what the answer makes of the source; None if there is none.

    `how` is `all`, or `sample` for a few elements. An output of another shape or type differs at its first element.
    Raises `FileError` if one of them cannot be opened, and what its library raises for a damaged chunk.
    """
    before, after = open_store(source), open_store(output)
    if after.array.shape != answer.output or after.array.dtype != before.array.dtype:
        return Difference((), f"{after.array.shape} {after.array.dtype}", f"{answer.output} {before.array.dtype}")
    theirs, ours = _Reader(before), _Reader(after)
    for index, count in _every(after) if how == "all" else _sample(after):
        origin: Any = index
        for _, shape, move in reversed(waypoints(answer)):
            origin = index_before(origin, shape, move)
        expected, found = theirs.elements(origin, count), ours.elements(index, count)
        wrong = (_bytes(expected) != _bytes(found)).any(axis=1)
        if wrong.any():
            place = int(np.argmax(wrong))
            return Difference(tuple([int(at[place]) for at in index]), str(found[place]), str(expected[place]))
        tick(len(found) * found.itemsize)
    return None


def _bytes(elements: Any) -> Any:
    return np.ascontiguousarray(elements).view(np.uint8).reshape(len(elements), -1)


def _every(store: Store) -> Iterator[tuple[Index, int]]:
    """Yield the indices of all elements, a chunk or a part of one at a time, and how many they are."""
    shape = store.array.shape
    steps, room = list(shape), POINTS
    for axis in reversed(range(len(shape))):
        steps[axis] = max(1, min(shape[axis], store.chunks[axis], room))
        room //= steps[axis]
    for region in grid(shape, steps) if prod(shape) else ():
        counts = [stop - start for start, stop in region]
        places = np.indices(counts).reshape(len(counts), prod(counts))
        yield tuple([own + start for own, (start, _) in zip(places, region, strict=True)]), prod(counts)


def _sample(store: Store) -> Iterator[tuple[Index, int]]:
    """Yield the indices of a few elements, drawn evenly, with the first and the last, and how many they are."""
    shape, draw = store.array.shape, np.random.default_rng()
    if prod(shape):
        drawn = [np.concatenate(([0, size - 1], draw.integers(0, size, SAMPLED))) for size in shape]
        yield tuple(drawn), SAMPLED + 2


class _Reader:
    """Reads elements at indices by whole chunks, and keeps the last ones."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.kept: dict[int, Any] = {}

    def elements(self, index: Index, count: int) -> Any:
        """Return the elements at so many indices."""
        array, chunks = self.store.array, self.store.chunks
        if not array.shape:
            return np.asarray(array[...], array.dtype).reshape(1).repeat(count)
        index = tuple([np.broadcast_to(at, count) for at in index])
        grid = [-(-size // step) for size, step in zip(array.shape, chunks, strict=True)]
        numbers = np.ravel_multi_index([at // step for at, step in zip(index, chunks, strict=True)], grid)
        found = np.empty(len(numbers), array.dtype)
        for number in np.unique(numbers):
            here = numbers == number
            corner = [place * step for place, step in zip(np.unravel_index(number, grid), chunks, strict=True)]
            chunk = self._chunk(int(number), corner)
            found[here] = chunk[tuple([at[here] - start for at, start in zip(index, corner, strict=True)])]
        return found

    def _chunk(self, number: int, corner: list[Any]) -> Any:
        if number not in self.kept:
            array, chunks = self.store.array, self.store.chunks
            if self.kept and (len(self.kept) + 1) * prod(chunks) * array.dtype.itemsize > KEPT:
                self.kept.pop(next(iter(self.kept)))
            ends = [min(start + step, size) for start, step, size in zip(corner, chunks, array.shape, strict=True)]
            self.kept[number] = read_region(array, [*zip(corner, ends, strict=True)])
        return self.kept[number]
