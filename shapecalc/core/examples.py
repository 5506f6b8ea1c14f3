"""Elements of an answer: the smallest sizes for its names that show what happens, and the path of one element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from shapecalc.core.answers import Chain, Kind, Trace, moves_of
from shapecalc.core.conditions import Conditions, holds
from shapecalc.core.dims import Shape, monomial, names, substitute
from shapecalc.core.moves import Index, Move, index_after, index_before
from shapecalc.core.origins import mixing, reshaped
from shapecalc.core.problem import misuse
from shapecalc.core.results import settled
from shapecalc.core.text import shape_text

SMALLEST = 2
"""The size that is tried first. A dim of 1 would show nothing."""
MOST_TRIED = 600
"""The most choices of sizes that are tried from one start."""
MOST_COMPARED = 60
"""The most choices that hold of which one that shows more is looked for."""


@lru_cache(maxsize=1)
def example_sizes(answer: Trace | Chain, *, smallest: bool = True) -> Mapping[str, int]:
    """Return the smallest sizes that show what happens, for which the answer holds, or some that are found sooner.

    They show it if they turn no dim into 1, and mix axes where axes mix. A name that may have any size gets 2.

    Raises `ShapeError` (usage) if no small sizes meet the conditions.

    >>> import shapecalc as sc
    >>> example_sizes(sc.reshape("N,C,H,W", "0,-1,12"))
    {'N': 2, 'C': 3, 'H': 2, 'W': 4}
    """
    dims, conditions = _dims(answer), _conditions(answer)
    bare = [*dims, *(side for each in conditions for side in (each.left, each.right))]
    known = tuple([name for name in names(bare) if name not in answer.results])
    least = multiplied_sizes(known, conditions)
    twice = {name: SMALLEST * size for name, size in least.items()}
    first = [] if smallest else [twice]
    bound, freely = _bound_sizes(conditions, known), (ascending_sizes(known, start) for start in (SMALLEST, 1))
    tried = chain(first, bound, *freely, [least, twice])
    all_sizes = (settled(answer.results, sizes) for sizes in tried) if answer.results else tried
    meeting = (sizes for sizes in all_sizes if holds(conditions, sizes) and _have_sizes(dims, sizes))
    best = next(meeting, None)
    if best is None:
        raise misuse("no small sizes meet the conditions", "give the sizes with --where")
    if smallest and not _shows(answer, best):
        best = next((sizes for sizes in islice(meeting, MOST_COMPARED) if _shows(answer, sizes)), best)
    return best


def _conditions(answer: Trace | Chain) -> Conditions:
    """Return when an answer holds; of one that is refused, when what it got to does."""
    if answer.problem is None:
        return answer.conditions
    return tuple([each for trace in answer.traces for step in trace.steps for each in step.conditions])


def _have_sizes(dims: Shape, sizes: Mapping[str, int]) -> bool:
    return all(isinstance(substitute(dim, sizes), int) for dim in dims)


def _shows(answer: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    """Say whether sizes show what happens: no dim becomes 1, and axes mix where they do at most sizes."""
    for stage in answer.stages:
        if stage.after is None or stage.kind not in (Kind.RESHAPE, Kind.MERGE, Kind.VIEW):
            continue
        before, after = (tuple(substitute(dim, sizes) for dim in dims) for dims in (stage.before, stage.after))
        if any(now == 1 != dim for dim, now in zip(stage.after, after, strict=True)):
            return False
        if mixing(reshaped(stage.before, stage.after)) and not mixing(reshaped(before, after)):
            return False
    return True


def _bound_sizes(conditions: Conditions, known: tuple[str, ...]) -> Iterator[Mapping[str, int]]:
    """Yield sizes from 2 up for the names that are in conditions, and 2 for the others."""
    sides = names([side for each in conditions for side in (each.left, each.right)])
    bound = tuple([name for name in sides if name in known])
    for sizes in ascending_sizes(bound, SMALLEST) if 0 < len(bound) < len(known) else ():
        yield {name: sizes.get(name, SMALLEST) for name in known}


def _dims(answer: Trace | Chain) -> Shape:
    """Return the dims of the input and of every stage's output, each once."""
    shapes = [answer.input, *(stage.after or () for stage in answer.stages)]
    return tuple(dict.fromkeys(dim for shape in shapes for dim in shape))


def ascending_sizes(known: tuple[str, ...], start: int) -> Iterator[Mapping[str, int]]:
    """Yield sizes from `start` up, at most `MOST_TRIED` of them.

    Sizes with a small sum come first. Of equal sums, those whose last name grew come first.
    """
    waiting, seen = [tuple(start for _ in known)], set[tuple[int, ...]]()
    for sizes in waiting:
        yield dict(zip(known, sizes, strict=True))
        for place in reversed(range(len(known))):
            larger = (*sizes[:place], sizes[place] + 1, *sizes[place + 1 :])
            if larger not in seen and len(waiting) < MOST_TRIED:
                seen.add(larger)
                waiting.append(larger)


def multiplied_sizes(known: tuple[str, ...], conditions: Conditions) -> Mapping[str, int]:
    """Return sizes made to meet each condition in turn. A number that divides is multiplied into its first name."""
    sizes = dict.fromkeys(known, 1)
    for condition in conditions:
        first = [name for name in names((condition.left,)) if name in sizes][:1]
        right = monomial(condition.right)
        if first and not right.powers and right.denominator == 1:
            sizes[first[0]] = right.numerator if condition.relation == "==" else sizes[first[0]] * right.numerator
    return sizes


# The path of one element: its index after each move, forwards and back, for tensors of any size.


def moving_stages(answer: Trace | Chain) -> tuple[tuple[str, Shape, Move], ...]:
    """Return the label, the input shape and the move of each stage of an answer that moves elements.

    Raises `ShapeError` (usage) if the request is refused, if names have no size, and for op `shape`.
    """
    if answer.output is None:
        raise misuse("the request is refused, so no element moves")
    if not answer.concrete:
        raise misuse("names have no size, so no element has an index", "give the sizes with --where")
    moves = moves_of(answer).moves
    return tuple([(stage.label, stage.before, move) for stage, move in zip(answer.stages, moves, strict=True)])


def follow(answer: Trace | Chain, index: Index) -> list[tuple[str, Index | None]]:
    """Return the index of the input element at `index` after each stage; of repeats, the first.

    It is None after the stage that leaves the element out, and the path ends there.

    Raises `ShapeError` (usage) as `moving_stages` does, and if the input has no such element.

    >>> import shapecalc as sc
    >>> follow(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (1, 0, 0))
    [('input', (1, 0, 0)), ('first', (0, 1, 0)), ('to', (0, 1, 1))]
    """
    stages = moving_stages(answer)
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

    Raises `ShapeError` (usage) as `moving_stages` does, and if the output has no such element.

    >>> import shapecalc as sc
    >>> follow_back(sc.shuffle((2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)), (0, 1, 1))
    [('to', (0, 1, 1)), ('first', (0, 1, 0)), ('input', (1, 0, 0))]
    """
    stages = moving_stages(answer)
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
