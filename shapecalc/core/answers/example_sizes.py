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
"""The size that is tried first. A dim of 1 would show nothing."""
MOST_TRIED = 600
"""The most choices of sizes that are tried from one start."""


def example_sizes(answer: Trace | Chain, *, smallest: bool = True) -> Mapping[str, int]:
    """Return the smallest sizes for which the answer holds, or some that are found sooner.

    A name that may have any size gets 2.

    Raises `ShapeError` (usage) if no small sizes meet the conditions.

    >>> import shapecalc as sc
    >>> example_sizes(sc.reshape("N,C,H,W", "0,-1,12"))
    {'N': 2, 'C': 2, 'H': 2, 'W': 3}
    """
    dims = _dims(answer)
    known = names([*dims, *(side for each in answer.conditions for side in (each.left, each.right))])
    least = multiplied_sizes(known, answer.conditions)
    first = [] if smallest else [{name: SMALLEST * size for name, size in least.items()}]
    for sizes in chain(first, ascending_sizes(known, SMALLEST), ascending_sizes(known, 1), [least]):
        if holds(answer.conditions, sizes) and all(isinstance(substitute(dim, sizes), int) for dim in dims):
            return sizes
    raise misuse("no small sizes meet the conditions", "give the sizes with --where")


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
