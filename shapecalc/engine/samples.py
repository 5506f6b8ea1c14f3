"""The elements of a tensor that are shown before and after a row of moves.

Only the elements that are shown are made. Arithmetic on their indices says which they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Shape
from shapecalc.core.follow import waypoints
from shapecalc.core.moves import index_before, ravel, unravel
from shapecalc.core.problem import misuse
from shapecalc.engine.arrays import Source, elements_at

MOST_SHOWN = 1000
"""Up to this many elements, all are shown, as NumPy does."""
EDGE = 3
"""How many positions are shown at each end of a long axis."""
MOST_DIMS = 32
"""The most dims of a tensor whose elements are shown. NumPy before version 2 has no arrays of more."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some elements of a tensor, as nested lists. `gaps` says at which position of each axis others are left out."""

    shape: Shape
    elements: Any
    gaps: tuple[int | None, ...]


def samples(answer: Trace | Chain, data: Source | None = None) -> tuple[Sample, Sample]:
    """Return elements of the input and of the output. They are those of `data`, or 0, 1, 2 ... without it.

    `data` has the answer's input shape. Raises `ShapeError` (usage) if the request is refused, if names have no size,
    or if there are more than `MOST_DIMS` dims; `FileError` if the file of `data` does not hold them any more.

    >>> import shapecalc as sc
    >>> [sample.elements for sample in samples(sc.transpose((2, 3)))]
    [[[0, 1, 2], [3, 4, 5]], [[0, 3], [1, 4], [2, 5]]]
    """
    way = waypoints(answer)
    output = answer.output or ()
    rank = max(len(answer.input), len(output))
    if rank > MOST_DIMS:
        raise misuse(f"the elements of at most {MOST_DIMS} dims are shown, and there are {rank}", argument="values")
    index = _index(output)
    for _, shape, move in reversed(way if 0 not in output else ()):
        index = index_before(index, shape, move)
    return _sample(answer.input, _index(answer.input), answer.input, data), _sample(answer.input, index, output, data)


def _sample(source: Shape, index: tuple[Any, ...], shape: Shape, data: Source | None) -> Sample:
    """Return the elements of the input at `index`, as a sample of a tensor of `shape`."""
    positions = _shown_positions(shape)
    counts = list(map(len, positions))
    if 0 in shape:
        elements: Any = np.empty(counts)
    else:
        flat = np.broadcast_to(np.asarray(ravel(index, source), dtype=np.int64), counts)
        elements = flat if data is None else elements_at(data, unravel(flat, source))
    gaps = tuple(EDGE if len(shown) < size else None for shown, size in zip(positions, shape, strict=True))  # type: ignore[operator]
    return Sample(shape, np.asarray(elements).tolist(), gaps)


def _shown_positions(shape: Any) -> list[list[int]]:
    """Return the positions shown along each axis: all, or the first and last few. An axis of 0 hides none."""
    if prod(size or 1 for size in shape) <= MOST_SHOWN:
        return [list(range(size)) for size in shape]
    axes, room = [], MOST_SHOWN
    for size in reversed(shape):
        edge = EDGE if room >= 2 * EDGE else 0
        axes.append(
            list(range(size)) if size <= 2 * edge else [*range(edge), *range(size - edge, size)] if edge else [0]
        )
        room //= len(axes[-1]) or 1
    return axes[::-1]


def _index(shape: Any) -> tuple[Any, ...]:
    """Return the indices of the elements that are shown: one array for each axis, which broadcast together."""
    shown = _shown_positions(shape)
    return np.ix_(*(np.array(positions, dtype=np.int64) for positions in shown)) if shown else ()
