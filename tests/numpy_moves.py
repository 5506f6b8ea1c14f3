"""Moves applied with NumPy's functions, as the reference for the engine and the stores."""

from __future__ import annotations

from math import prod

import numpy as np

from shapecalc.core.moves import Expand, Permute, Reshape, Roll, StridedSlice, Take


def apply_with_numpy(array, moves):
    """Apply moves to an array one after the other, and return a view or a copy, as NumPy does."""
    for move in moves:
        match move:
            case Permute():
                array = array.transpose(move.axes)
            case Reshape():
                array = array.reshape(move.shape)
            case Expand():
                array = np.broadcast_to(array, move.shape)
            case StridedSlice():
                array = array[numpy_index(move, array.shape)]
            case Roll():
                array = np.roll(array, move.shift, move.axis)
            case Take():
                array = array.take(np.array(move.positions, int), move.axis)
    return array


def flat_input_indices(answer):
    """Return the flat input index of each output element of a chain with numeric sizes."""
    return apply_with_numpy(np.arange(prod(answer.input)).reshape(answer.input), answer.moves)


def numpy_index(move, shape):
    """Return the NumPy index of a strided slice of an array of `shape`."""
    indices = []
    for (start, step, size), dim in zip(move.axis_ranges, shape, strict=True):
        first = start if size == 0 else start % dim
        stop = 0 if size is None else first + step * size
        indices.append(first if size is None else slice(first, stop if stop >= 0 else None, step))
    return (*indices, ...)
