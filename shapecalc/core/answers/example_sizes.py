"""The smallest sizes that can stand for the names of an answer, so that its elements can be shown."""

from __future__ import annotations

from itertools import chain

from shapecalc.core.sizes.conditions import Conditions, holds
from shapecalc.core.sizes.dims import Shape, monomial, names, substitute
from shapecalc.core.sizes.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapecalc.core.answers.trace import Chain, Trace

SMALLEST = 2
"""What is tried first: a dim of 1 shows nothing."""
MOST_TRIED = 600


def example_sizes(answer: Trace | Chain) -> Mapping[str, int]:
    """Return the smallest sizes under which the answer holds, 2 where anything will do.

    Raises `ShapeError` (usage) where no small ones are found.

    >>> import shapecalc as sc
    >>> example_sizes(sc.reshape("N,C,H,W", "0,-1,12"))
    {'N': 2, 'C': 2, 'H': 2, 'W': 3}
    """
    dims = _dims(answer)
    known = names([*dims, *(side for each in answer.conditions for side in (each.left, each.right))])
    for found in chain(_ascending(known, SMALLEST), _ascending(known, 1), [_multiplied(known, answer.conditions)]):
        if holds(answer.conditions, found) and all(isinstance(substitute(dim, found), int) for dim in dims):
            return found
    raise misuse("no small sizes meet the conditions", "give the sizes with --where")


def _dims(answer: Trace | Chain) -> Shape:
    """Return the dims of the tensor at every point of its way."""
    shapes = [answer.input, *(stage.after or () for stage in answer.stages)]
    return tuple(dict.fromkeys(dim for shape in shapes for dim in shape))


def _ascending(known: tuple[str, ...], start: int) -> Iterator[Mapping[str, int]]:
    """Yield sizes from `start` up, those of the smallest sum first and the last name growing first; so many of them."""
    waiting, seen = [tuple(start for _ in known)], set[tuple[int, ...]]()
    for sizes in waiting:
        yield dict(zip(known, sizes, strict=True))
        for place in reversed(range(len(known))):
            larger = (*sizes[:place], sizes[place] + 1, *sizes[place + 1 :])
            if larger not in seen and len(waiting) < MOST_TRIED:
                seen.add(larger)
                waiting.append(larger)


def _multiplied(known: tuple[str, ...], conditions: Conditions) -> Mapping[str, int]:
    """Return sizes that are made to meet one condition after the other: what divides is multiplied in."""
    found = dict.fromkeys(known, 1)
    for condition in conditions:
        first = names((condition.left,))[:1]
        right = monomial(condition.right)
        if first and not right.powers and right.denominator == 1:
            found[first[0]] = right.numerator if condition.relation == "==" else found[first[0]] * right.numerator
    return found
