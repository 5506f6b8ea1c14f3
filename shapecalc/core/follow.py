"""The path of one element: its index after each move, forwards and back. It is computed for tensors of any size."""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Shape
from shapecalc.core.moves import Dims, Index, Move, index_after, index_before
from shapecalc.core.problem import misuse
from shapecalc.core.text import shape_text


def waypoints(answer: Trace | Chain) -> tuple[tuple[str, Shape, Move], ...]:
    """Return the label, the input shape and the move of each stage of an answer that moves elements.

    Raises `ShapeError` (usage) if the request is refused, if names have no size, and for op `shape`.
    """
    if answer.output is None:
        raise misuse("the request is refused, so no element moves")
    if not answer.concrete:
        raise misuse("names have no size, so no element has an index", "give the sizes with --where")
    path = []
    for stage in answer.stages:
        if stage.move is None or isinstance(stage.move, Dims):
            raise misuse("shape returns dims, so there is no element to follow")
        path.append((stage.label, stage.before, stage.move))
    return tuple(path)


def follow(answer: Trace | Chain, index: Index) -> list[tuple[str, Index | None]]:
    """Return the index of the input element at `index` after each stage; of repeats, the first.

    It is None after the stage that leaves the element out, and the path ends there.

    Raises `ShapeError` (usage) as `waypoints` does, and if the input has no such element.

    >>> import shapecalc as sc
    >>> follow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (1, 0, 0))
    [('input', (1, 0, 0)), ('first', (0, 1, 0)), ('to', (0, 1, 1))]
    """
    stages = waypoints(answer)
    place: Index | None = _check_index(index, answer.input)
    path = [("input", place)]
    for stage, shape, move in stages:
        if place is None:
            break
        place = index_after(place, shape, move)
        path.append((stage, place))
    return path


def follow_back(answer: Trace | Chain, index: Index) -> list[tuple[str, Index]]:
    """Return the index of the output element at `index` after each stage, from the last back to the input.

    Raises `ShapeError` (usage) as `waypoints` does, and if the output has no such element.

    >>> import shapecalc as sc
    >>> follow_back(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (0, 1, 1))
    [('to', (0, 1, 1)), ('first', (0, 1, 0)), ('input', (1, 0, 0))]
    """
    stages = waypoints(answer)
    place = _check_index(index, answer.output or ())
    path = []
    for stage, shape, move in reversed(stages):
        path.append((stage, place))
        place = index_before(place, shape, move)
    return [*path, ("input", place)]


def _check_index(index: Index, shape: Shape) -> Index:
    """Return `index` with negative positions counted from 0; raise `ShapeError` (usage) if there is no such element."""
    if len(index) != len(shape):
        raise misuse(f"an element of {shape_text(shape)} has {len(shape)} indices, not {len(index)}", argument="follow")
    for place, (at, size) in enumerate(zip(index, shape, strict=True)):
        if isinstance(size, int) and not -size <= at < size:
            message = f"index {at} is outside of dim {place}, which is {size}"
            raise misuse(message, argument="follow", index=place)
    return tuple(at % size if isinstance(size, int) else at for at, size in zip(index, shape, strict=True))


def index_text(index: Sequence[int] | None) -> str:
    """Return an index as a path shows it.

    >>> index_text((0, 2)), index_text(None)
    ('[0,2]', 'left out')
    """
    return "left out" if index is None else f"[{','.join(map(str, index))}]"
