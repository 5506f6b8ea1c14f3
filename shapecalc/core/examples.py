"""The smallest sizes that can stand for the names of an answer, so that its elements can be shown."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, islice

from shapecalc.core.answers import Kind
from shapecalc.core.conditions import Conditions, holds
from shapecalc.core.dims import Shape, monomial, names, substitute
from shapecalc.core.layout import groups
from shapecalc.core.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapecalc.core.answers import Chain, Trace

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
    dims = _dims(answer)
    known = names([*dims, *(side for each in answer.conditions for side in (each.left, each.right))])
    least = multiplied_sizes(known, answer.conditions)
    twice = {name: SMALLEST * size for name, size in least.items()}
    first = [] if smallest else [twice]
    bound, freely = _bound_sizes(answer, known), (ascending_sizes(known, start) for start in (SMALLEST, 1))
    tried = chain(first, bound, *freely, [least, twice])
    meeting = (sizes for sizes in tried if _holds(answer, dims, sizes))
    best = next(meeting, None)
    if best is None:
        raise misuse("no small sizes meet the conditions", "give the sizes with --where")
    if smallest and not _shows(answer, best):
        best = next((sizes for sizes in islice(meeting, MOST_COMPARED) if _shows(answer, sizes)), best)
    return best


def _holds(answer: Trace | Chain, dims: Shape, sizes: Mapping[str, int]) -> bool:
    return holds(answer.conditions, sizes) and all(isinstance(substitute(dim, sizes), int) for dim in dims)


def _shows(answer: Trace | Chain, sizes: Mapping[str, int]) -> bool:
    """Say whether sizes show what happens: no dim becomes 1, and axes mix where they do at most sizes."""
    for stage in answer.stages:
        if stage.after is None or stage.kind not in (Kind.RESHAPE, Kind.MERGE, Kind.VIEW):
            continue
        before, after = (tuple(substitute(dim, sizes) for dim in dims) for dims in (stage.before, stage.after))
        if any(now == 1 != dim for dim, now in zip(stage.after, after, strict=True)):
            return False
        if any(group.mixes for group in groups(stage.before, stage.after)) and not any(
            group.mixes for group in groups(before, after)
        ):
            return False
    return True


def _bound_sizes(answer: Trace | Chain, known: tuple[str, ...]) -> Iterator[Mapping[str, int]]:
    """Yield sizes from 2 up for the names that are in conditions, and 2 for the others."""
    bound = names([side for each in answer.conditions for side in (each.left, each.right)])
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
        first = names((condition.left,))[:1]
        right = monomial(condition.right)
        if first and not right.powers and right.denominator == 1:
            sizes[first[0]] = right.numerator if condition.relation == "==" else sizes[first[0]] * right.numerator
    return sizes
