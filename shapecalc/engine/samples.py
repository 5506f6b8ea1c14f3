"""The elements of a shape that are worth showing, before and after a row of moves.

Nothing larger than what is shown is ever made: the elements are found by arithmetic on their indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shapecalc.core.answers.element_path import before, ravelled, unravelled, waypoints
from shapecalc.core.answers.trace import Chain, Trace
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.record import Record

MOST_SHOWN = 1000
"""Elements up to which all are shown, as NumPy does."""
EDGE = 3
"""Positions shown at each end of an axis that is too long."""


class Sample(Record):
    """Some elements of a tensor, as nested lists, and at which position of each axis others are left out."""

    shape: Shape
    elements: Any
    gaps: tuple[int | None, ...]


def samples(answer: Trace | Chain, data: Any = None) -> tuple[Sample, Sample]:
    """Return elements of the input and of the output: 0, 1, 2 ... or those of `data`.

    Raises `ShapeError` (usage) where there is no answer or names have no size.

    >>> import shapecalc as sc
    >>> [sample.elements for sample in samples(sc.transpose((2, 3)))]
    [[[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]]]
    """
    way = waypoints(answer)
    output = answer.output or ()
    index = _index(output)
    for _, shape, move in reversed(way):
        index = before(index, shape, move)
    return _sample(answer.input, _index(answer.input), answer.input, data), _sample(answer.input, index, output, data)


def _sample(source: Shape, index: tuple[Any, ...], shape: Shape, data: Any) -> Sample:
    """Return the elements of the input at `index`, arrays of the form in which `shape` is shown."""
    flat = np.broadcast_to(np.asarray(ravelled(index, source), dtype=np.int64), [len(shown) for shown in _shown(shape)])
    elements = flat if data is None else data[tuple(np.asarray(at) for at in unravelled(flat, source))]
    gaps = tuple(EDGE if len(shown) < size else None for shown, size in zip(_shown(shape), shape, strict=True))  # type: ignore[operator]
    return Sample(shape, np.asarray(elements).tolist(), gaps)


def _shown(shape: Any) -> list[list[int]]:
    """Return the positions shown along each axis: all, or the first and last few."""
    volume = int(np.prod(np.array(shape, dtype=object))) if shape else 1
    if volume <= MOST_SHOWN:
        return [list(range(size)) for size in shape]
    found, room = [], MOST_SHOWN
    for size in reversed(shape):
        edge = EDGE if room >= 2 * EDGE else 0
        found.append(
            list(range(size)) if size <= 2 * edge else [*range(edge), *range(size - edge, size)] if edge else [0]
        )
        room //= len(found[-1])
    return found[::-1]


def _index(shape: Any) -> tuple[Any, ...]:
    """Return the indices of the elements shown, one array an axis, open to broadcasting."""
    shown = _shown(shape)
    return np.ix_(*(np.array(positions, dtype=np.int64) for positions in shown)) if shown else ()
