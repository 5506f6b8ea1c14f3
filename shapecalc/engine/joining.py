"""Data of several operands: what broadcast, concat and stack make of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from shapecalc.core.answers import Chain, Kind, Trace
from shapecalc.core.dims import all_known
from shapecalc.core.moves import Combine
from shapecalc.core.ops.operands import in_order
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief

MOST_COUNTED = 1 << 20
"""The most elements that are counted off where there are no arrays."""


def combines(answer: Trace | Chain) -> bool:
    """Say whether an answer is about several operands, or computes elements."""
    return any(isinstance(move, Combine) for move in answer.moves)


def joining_move(answer: Trace | Chain) -> Combine:
    """Return the one move of an answer that lays operands end to end, or broadcasts the first.

    Raises `ShapeError` (usage) for an answer that computes elements, and for a chain.
    """
    if len(answer.stages) != 1:
        raise misuse("in a chain, data of several operands are not carried out", "carry out one stage after the other")
    stage, move = answer.stages[0], answer.stages[0].move
    if not isinstance(move, Combine) or stage.kind not in (Kind.JOIN, Kind.BROADCAST):
        raise misuse(f"{stage.label} computes elements, and only the shape is known", "ask for the shape alone")
    if not answer.concrete or not all_known([dim for shape in move.operands for dim in shape]):
        raise misuse("data have sizes, and this answer has names", "give the sizes with --where")
    return move


def pieces(answer: Trace | Chain, arrays: Sequence[Any]) -> Iterator[tuple[tuple[slice | int, ...], Any]]:
    """Yield the parts of the output, each with the array that fills it; the input is the first array.

    Raises `ShapeError` (usage) as `joining_move` does.
    """
    move = joining_move(answer)
    if move.joined is None:
        yield (), np.broadcast_to(arrays[0], tuple(answer.output or ()))  # type: ignore[arg-type]
        return
    start = 0
    for operand in in_order(answer.input, answer.traces[0].request.arguments.get("operands", ())):
        array = arrays[operand.number]
        before = (slice(None),) * move.joined
        if array.ndim < len(move.shape):
            stacked = not move.places[move.joined]
            if stacked:
                yield (*before, start), array
            start += stacked
        else:
            stop = start + array.shape[move.joined]
            yield (*before, slice(start, stop)), array
            start = stop


def joined(answer: Trace | Chain, arrays: Sequence[Any] | None = None) -> Any:
    """Return the array that an answer makes of arrays; without them, of 0, 1, 2 ... counted on through all operands.

    Raises `ShapeError` (usage) as `joining_move` does, and if there is too much to count.

    >>> import shapecalc as sc
    >>> joined(sc.concat((2, 1), (2, 2), axis=1)).tolist()
    [[0, 2, 3], [1, 4, 5]]
    """
    move = joining_move(answer)
    shapes: Any = move.operands
    if arrays is None:
        sizes = [prod(shape) for shape in shapes]
        count = sum(sizes) + prod(move.shape)  # type: ignore[arg-type]  # all are numbers
        if count > MOST_COUNTED:
            raise misuse(f"elements of at most {MOST_COUNTED} are counted off, and there are {brief(str(count))}")
        starts = [sum(sizes[:place]) for place in range(len(sizes))]
        each = zip(starts, sizes, shapes, strict=True)
        arrays = [np.arange(start, start + size).reshape(shape) for start, size, shape in each]
    output: Any = answer.output
    made = np.empty(output, np.result_type(*arrays))
    for place, array in pieces(answer, arrays):
        made[place] = array
    return made
