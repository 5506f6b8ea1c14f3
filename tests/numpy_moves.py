"""What NumPy's own functions make of moves, one by one: what the engine and the stores are held to."""

from __future__ import annotations

import numpy as np

from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll, Take


def moved_by_numpy(array, moves):
    """Return an array after the moves."""
    for move in moves:
        if isinstance(move, Permute):
            array = array.transpose(move.axes)
        elif isinstance(move, Reshape):
            array = array.reshape(move.shape)
        elif isinstance(move, Expand):
            array = np.broadcast_to(array, move.shape)
        elif isinstance(move, Pick):
            array = array[index_of(move, array.shape)]
        elif isinstance(move, Roll):
            array = np.roll(array, move.shift, move.axis)
        elif isinstance(move, Take):
            array = array.take(np.array(move.places, int), move.axis)
    return array


def index_of(move, shape):
    """Return the index that reads what a move keeps of an array of `shape`."""
    places = []
    for (start, step, size), dim in zip(move.axes, shape, strict=True):
        first = start if size == 0 else start % dim
        stop = 0 if size is None else first + step * size
        places.append(first if size is None else slice(first, stop if stop >= 0 else None, step))
    return (*places, ...)
