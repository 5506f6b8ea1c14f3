"""A batch that is written into a requested shape as a number, and what is right for every batch instead."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Shape, product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COPIED, INFERRED = "since 0 copies the input's first dim", "as long as the other sizes stay"


def batch_differs(shape: Shape, target: Shape) -> bool:
    """Say whether two shapes hold as many elements but for their first dims, and differ in these.

    >>> batch_differs((8, 255, 52), (1, 3, 85, 52)), batch_differs((8, 255), (1, 3, 80)), batch_differs((8,), (1,))
    (True, False, False)
    """
    if len(shape) < 2 or len(target) < 2 or shape[0] == target[0]:
        return False
    rest = product(shape[1:])
    return rest not in (0, 1) and rest == product(target[1:])


def for_every_batch(shape: Shape, target: Shape, settled: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that do not say how large the batch is, each with what it assumes, if `target` says another size.

    `settled` is `target` with its zeros resolved.

    >>> [value for value, _ in for_every_batch((8, 6), (1, 2, 3), (1, 2, 3))]
    [(0, 2, 3), (-1, 2, 3)]
    """
    if any(isinstance(dim, int) and dim < 0 for dim in target) or not isinstance(target[:1] and target[0], int):
        return
    if batch_differs(shape, settled):
        yield (0, *target[1:]), COPIED
        yield (-1, *target[1:]), INFERRED
