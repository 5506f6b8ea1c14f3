"""Layers: stages in runs that one Shuffle of TensorRT can do, and how many Shuffles a row of stages takes.

A Shuffle transposes, reshapes and transposes; each of the three may be left out. Source: TensorRT's operator document.
"""

from __future__ import annotations

from shapecalc.core.answers.moves import Expand, Permute, Pick, Reshape, Roll, Slice
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from shapecalc.core.answers.moves import Move
    from shapecalc.core.sizes.dims import Shape

    Item = TypeVar("Item")

ONE_SHUFFLE = frozenset({"p", "r", "pr", "rp", "prp"})
"""What one Shuffle does: transposes (p) and a reshape (r)."""

MOST_DIMS = DIALECTS["tensorrt"].max_rank or 0
"""The most dims of a tensor that goes through a Shuffle."""


class Placed(Record):
    """A move, and the shape of the tensor that it is made of."""

    before: Shape
    move: Move


def runs(items: Iterable[Item], move_of: Callable[[Item], Move | None]) -> list[list[Item]]:
    """Return the items in runs: each is what one Shuffle can do, or a single item of another kind.

    >>> rows = runs([Permute((1, 0)), Reshape((6,)), Permute((0,)), Reshape((2, 3))], lambda move: move)
    >>> [len(row) for row in rows]
    [3, 1]
    """
    made: list[list[Item]] = []
    letters = ""
    for item in items:
        letters += _letter(move_of(item))
        if letters in ONE_SHUFFLE and len(letters) > 1:
            made[-1].append(item)
        else:
            made.append([item])
            letters = letters[-1]
    return made


def _letter(move: Move | None) -> str:
    return "p" if isinstance(move, Permute) else "r" if isinstance(move, Reshape) else "-"


def shuffles(shape: Shape, moves: Iterable[Move]) -> int:
    """Return how many Shuffles a tensor of `shape` takes on its way through the moves.

    New dims before an expand take one, and so do axes of which one position is left.

    >>> shuffles((2, 3), [Permute((1, 0)), Permute((1, 0))]), shuffles((2, 3), [Permute((1, 0)), Reshape((6,))])
    (0, 1)
    """
    return sum(_takes_shuffle(run[0]) for run in runs(_folded(shape, moves), lambda placed: placed.move))


def _takes_shuffle(placed: Placed) -> bool:
    move = placed.move
    if isinstance(move, Pick):
        return None in move.sizes
    if isinstance(move, Expand):
        return len(move.shape) > len(placed.before)
    return not isinstance(move, (Roll, Slice))


def _folded(shape: Shape, moves: Iterable[Move]) -> list[Placed]:
    """Return the moves with neighbours of one kind as one, and without those that change nothing."""
    made: list[Placed] = []
    for move in moves:
        placed, shape = Placed(shape, move), move.after(shape)
        both = _both(made[-1], placed) if made else None
        if both:
            made.pop()
        if not _is_idle(both or placed):
            made.append(both or placed)
    return made


def _both(first: Placed, second: Placed) -> Placed | None:
    """Return two moves as one; None if they are not of one kind, or a reshape of a tensor that holds nothing."""
    one, two = first.move, second.move
    if isinstance(one, Permute) and isinstance(two, Permute):
        return Placed(first.before, Permute(tuple([one.axes[axis] for axis in two.axes])))
    if isinstance(one, Reshape) and isinstance(two, Reshape) and 0 not in first.before:
        return Placed(first.before, two)
    return None


def _is_idle(placed: Placed) -> bool:
    """Say whether a move changes nothing."""
    before, move = placed.before, placed.move
    if isinstance(move, Permute):
        return move.axes == tuple(range(len(before)))
    if isinstance(move, Pick):
        return move.sizes == before and all(step == 1 for step in move.steps)
    return isinstance(move, (Reshape, Expand)) and move.shape == before
