"""The smallest sizes that can stand for the names of an answer, so that its elements can be shown."""

from __future__ import annotations

from shapecalc.core.conditions import Conditions, holds
from shapecalc.core.dims import Monomial, monomial, names, substitute
from shapecalc.core.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.trace import Chain, Trace

SMALLEST = 2
"""What is tried first: a dim of 1 shows nothing."""
MOST_TRIED = 2000


def example_sizes(answer: Trace | Chain) -> Mapping[str, int]:
    """Return the smallest sizes under which the answer holds, 2 where anything will do.

    Raises `ShapeError` (usage) where no small ones are found.

    >>> import shapecalc as sc
    >>> example_sizes(sc.reshape("N,C,H,W", "0,-1,12"))
    {'N': 2, 'C': 2, 'H': 2, 'W': 3}
    """
    dims = [dim for trace in answer.stages for dim in (*trace.input, *(trace.output or ()))]
    known = names([*dims, *(side for each in answer.conditions for side in (each.left, each.right))])
    for start in (SMALLEST, 1):
        found = _smallest(known, answer.conditions, start)
        if found is not None and all(_whole(dim, found) for dim in dims):
            return found
    found = _multiplied(known, answer.conditions)
    if found is None:
        raise misuse("no small sizes meet the conditions", "give the sizes with --where")
    return found


def _smallest(known: tuple[str, ...], conditions: Conditions, start: int) -> dict[str, int] | None:
    """Return the sizes of the smallest sum from `start` up that meet the conditions, after so many tries."""
    tried, waiting = 0, [tuple(start for _ in known)]
    seen = set(waiting)
    while waiting and tried < MOST_TRIED:
        following = []
        for sizes in waiting:
            tried += 1
            found = dict(zip(known, sizes, strict=True))
            if _meets(conditions, found):
                return found
            for place in reversed(range(len(known))):
                larger = (*sizes[:place], sizes[place] + 1, *sizes[place + 1 :])
                if larger not in seen:
                    seen.add(larger)
                    following.append(larger)
        waiting = following
    return None


def _multiplied(known: tuple[str, ...], conditions: Conditions) -> dict[str, int] | None:
    """Return sizes that are made to meet one condition after the other: what divides is multiplied in."""
    found = dict.fromkeys(known, 1)
    for condition in conditions:
        first = names((condition.left,))[:1]
        right = monomial(condition.right)
        if first and not right.powers and right.denominator == 1:
            found[first[0]] = right.numerator if condition.relation == "==" else found[first[0]] * right.numerator
    return found if _meets(conditions, found) else None


def _meets(conditions: Conditions, sizes: Mapping[str, int]) -> bool:
    return holds(conditions, sizes)


def _whole(dim: int | Monomial, sizes: Mapping[str, int]) -> bool:
    return isinstance(substitute(dim, sizes), int)
