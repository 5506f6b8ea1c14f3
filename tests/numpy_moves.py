"""What NumPy's own functions make of moves, one by one: what the engine and the stores are held to."""

from __future__ import annotations

from math import prod

import numpy as np

from shapecalc.core.moves import Expand, Permute, Reshape, Roll, StridedSlice, Take


def moved_by_numpy(array, moves):
    """Return an array after the moves; a view of it where NumPy finds one."""
    for move in moves:
        match move:
            case Permute():
                array = array.transpose(move.axes)
            case Reshape():
                array = array.reshape(move.shape)
            case Expand():
                array = np.broadcast_to(array, move.shape)
            case StridedSlice():
                array = array[index_of(move, array.shape)]
            case Roll():
                array = np.roll(array, move.shift, move.axis)
            case Take():
                array = array.take(np.array(move.positions, int), move.axis)
    return array


def positions_of(answer):
    """Return where in the input each element of the output of a chain of numbers stands, as NumPy finds it."""
    return moved_by_numpy(np.arange(prod(answer.input)).reshape(answer.input), answer.moves)


def index_of(move, shape):
    """Return the index that reads what a move keeps of an array of `shape`."""
    places = []
    for (start, step, size), dim in zip(move.axes, shape, strict=True):
        first = start if size == 0 else start % dim
        stop = 0 if size is None else first + step * size
        places.append(first if size is None else slice(first, stop if stop >= 0 else None, step))
    return (*places, ...)
