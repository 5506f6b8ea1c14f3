"""One element's way: its index after each move, and back, by arithmetic alone, for any size."""

from __future__ import annotations

from math import prod

from shapecalc.core.answers.moves import Expand, Move, Permute, Reshape
from shapecalc.core.sizes.dims import Shape
from shapecalc.core.sizes.problem import misuse
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.core.answers.trace import Chain, Trace

    Index = tuple[int, ...]


def waypoints(answer: Trace | Chain) -> tuple[tuple[str, Shape, Move], ...]:
    """Return the stage, the input shape and the move of each stage of an answer that moves elements.

    Raises `ShapeError` (usage) where there is no answer, where names have no size, and for op `shape`.
    """
    if answer.output is None:
        raise misuse("what cannot be resolved moves no element")
    if not answer.concrete:
        raise misuse("names have no size, so no element has an index", "give the sizes with --where")
    path = []
    for stage in answer.stages:
        if not isinstance(stage.move, Permute | Reshape | Expand):
            raise misuse("shape returns dims, not elements, so there is none to follow")
        path.append((stage.label, stage.before, stage.move))
    return tuple(path)


def follow(answer: Trace | Chain, index: Index) -> list[tuple[str, Index]]:
    """Return where the input element at `index` is, after each stage; of repeats the first.

    >>> import shapecalc as sc
    >>> follow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (1, 0, 0))
    [('input', (1, 0, 0)), ('first', (0, 1, 0)), ('to', (0, 1, 1))]
    """
    way = waypoints(answer)
    found = [("input", _checked(index, answer.input))]
    for stage, shape, move in way:
        found.append((stage, after(found[-1][1], shape, move)))
    return found


def follow_back(answer: Trace | Chain, index: Index) -> list[tuple[str, Index]]:
    """Return where the output element at `index` came from, stage by stage back to the input.

    >>> import shapecalc as sc
    >>> follow_back(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (0, 1, 1))
    [('to', (0, 1, 1)), ('first', (0, 1, 0)), ('input', (1, 0, 0))]
    """
    way = waypoints(answer)
    place = _checked(index, answer.output or ())
    found = []
    for stage, shape, move in reversed(way):
        found.append((stage, place))
        place = before(place, shape, move)
    return [*found, ("input", place)]


def _checked(index: Index, shape: Shape) -> Index:
    """Return `index` counted from 0; raise `ShapeError` (usage) where `shape` has no such element."""
    if len(index) != len(shape):
        raise misuse(f"an element of {shape_text(shape)} has {len(shape)} indices, not {len(index)}", argument="follow")
    for place, (at, size) in enumerate(zip(index, shape, strict=True)):
        if isinstance(size, int) and not -size <= at < size:
            message = f"index {at} is outside of dim {place}, which is {size}"
            raise misuse(message, argument="follow", index=place)
    return tuple(at % size if isinstance(size, int) else at for at, size in zip(index, shape, strict=True))


def after(index: Index, shape: Shape, move: Move) -> Index:
    """Return the index after a move: `index` is before it, `shape` was the shape before it; of repeats the first."""
    if isinstance(move, Permute):
        return tuple(index[axis] for axis in move.axes)
    if isinstance(move, Expand):
        return (0,) * (len(move.shape) - len(index)) + index
    return unravelled(ravelled(index, shape), move.shape) if isinstance(move, Reshape) else index


def before(index: Any, shape: Shape, move: Move) -> Any:
    """Return the index before a move: `index` is after it, `shape` was the shape before it."""
    if isinstance(move, Permute):
        return tuple(index[move.axes.index(axis)] for axis in range(len(shape)))
    if isinstance(move, Expand):
        kept = index[len(move.shape) - len(shape) :]
        return tuple(at * (size != 1) for at, size in zip(kept, shape, strict=True))
    return unravelled(ravelled(index, move.shape), shape) if isinstance(move, Reshape) else index


def ravelled(index: Any, shape: Sequence[Any]) -> Any:
    """Return how many elements come before the one at `index`; numbers, or arrays of them.

    >>> ravelled((1, 0, 2), (2, 3, 4))
    14
    """
    return sum(at * prod(shape[axis + 1 :]) for axis, at in enumerate(index))


def unravelled(flat: Any, shape: Sequence[Any]) -> Any:
    """Return the index of the element that `flat` others come before.

    >>> unravelled(14, (2, 3, 4))
    (1, 0, 2)
    """
    found = []
    for size in reversed(shape):
        found.append(flat % size)
        flat = flat // size
    return tuple(reversed(found))
