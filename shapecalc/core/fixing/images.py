"""A requested shape that holds another image than the input's: where, and the sizes that fit there."""

from __future__ import annotations

from itertools import accumulate
from math import isqrt

from shapecalc.core.sizes.dims import Dim, Shape, product, quotient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def other_image(shape: Shape, target: Shape) -> Iterator[tuple[int, Shape]]:
    """Yield the places at which a target has another image than `shape`, each with the dims to write there.

    The image has other sides in the same ratio, is one dim with its pixels, or is another square.

    >>> [*other_image((1, 27, 120, 120), (1, 3, 9, 30, 30))], [*other_image((1, 4, 256, 256), (1, 4, 1, 4096))]
    ([(3, (120, 120))], [(3, (-1,))])
    >>> [*other_image((8921088,), (16, 34, 34, 512))]
    [(1, (33, 33))]
    """
    if product(shape) == 0 or product(target) == 0:
        return
    place, ours, theirs = differing(shape, target)
    if product(ours) == product(shape):
        yield from _other_square(shape, target, place, len(theirs))
    elif len(ours) == len(theirs) > 1 and len({*map(quotient, ours, theirs)}) == 1:
        yield place, ours
    else:
        large = [at for at, dim in enumerate(theirs) if dim != 1]
        if len(large) == 1 and (len(ours) == 1 < len(theirs) or _are_squares(ours, theirs[large[0]])):
            yield place + large[0], (-1,)


def _other_square(shape: Shape, target: Shape, place: int, count: int) -> Iterator[tuple[int, Shape]]:
    """Yield the squares that fit in place of those among some dims of a target."""
    for at in range(place, place + count - 1):
        side = target[at]
        room = quotient(product((*shape, side, side)), product(target))
        if side == target[at + 1] != 1 and isinstance(room, int) and isqrt(room) ** 2 == room > 0:
            yield at, (isqrt(room), isqrt(room))


def _are_squares(sides: Shape, pixels: Dim) -> bool:
    """Say whether two sides are equal, and a number of pixels is that of a square."""
    return len(sides) == 2 and sides[0] == sides[1] and isinstance(pixels, int) and isqrt(pixels) ** 2 == pixels


def differing(shape: Shape, target: Shape) -> tuple[int, Shape, Shape]:
    """Return where two shapes begin to differ in the second, and the dims of both that differ.

    In front of these and behind them both hold as many elements.

    >>> differing((1, 27, 120, 120), (1, 3, 9, 30, 30))
    (3, (120, 120), (30, 30))
    """
    i, j = _agreeing(shape, target)
    ours, theirs = shape[i:], target[j:]
    behind, last = _agreeing(ours[::-1], theirs[::-1])
    return j, ours[: len(ours) - behind], theirs[: len(theirs) - last]


def _agreeing(shape: Shape, target: Shape) -> tuple[int, int]:
    """Return how many dims of two shapes, from the left, hold as many elements."""
    ends = {volume: at for at, volume in enumerate(_volumes(shape), 1)}
    found = [(ends[volume], at) for at, volume in enumerate(_volumes(target), 1) if volume in ends]
    return found[-1] if found else (0, 0)


def _volumes(shape: Shape) -> Iterator[Dim]:
    return accumulate(shape, lambda volume, dim: product((volume, dim)))
