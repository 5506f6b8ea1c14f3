"""A batch that is written into a requested shape as a number, and what is right for every batch instead."""

from __future__ import annotations

from math import prod

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


def batch_moved(before: Shape, after: Shape) -> str:
    """Return where a reshape takes a batch that was the first dim, if 1 stands there afterwards; empty if it stays.

    >>> batch_moved((4, 197, 768), (1, 788, 12, 64)), batch_moved((4, 6), (1, 3, 8)), batch_moved((4, 6), (4, 3, 2))
    ('takes the batch into axis 1', 'mixes the samples of the batch', '')
    """
    sizes = [dim for dim in (*before, *after) if isinstance(dim, int) and dim > 0]
    if len(sizes) < len(before) + len(after) or len(before) < 2 or before[0] == 1 or after[:1] != (1,):
        return ""
    unit, below = prod(sizes[1 : len(before)]), 1
    for axis in range(len(after) - 1, 0, -1):
        above = below * sizes[len(before) + axis]
        if unit % below == 0 and above % (unit * sizes[0]) == 0:
            return "" if after[axis] == sizes[0] else f"takes the batch into axis {axis}"
        below = above
    return "mixes the samples of the batch"


def kept_first(before: Shape, after: Shape, target: Shape, value: Shape) -> Iterator[tuple[Shape, str]]:
    """Yield targets that keep the batch first, each with what it assumes, in place of one that says how large it is.

    `value` is what a refused `target` may become, and `after` the shape that it gives.

    >>> [value for value, _ in kept_first((4, 6), (1, 24), (1, 9), (1, 24))]
    [(0, -1), (-1, 6)]
    >>> [value for value, _ in kept_first((4, 6), (4, 6), (4, 9), (4, 6))]
    [(0, 6)]
    """
    if len(before) < 2 or value[:1] != after[:1]:
        return
    batch = before[0]
    if not isinstance(batch, int) or batch < 2:
        return
    if batch == after[0] and product(before[1:]) == product(after[1:]):
        yield (0, *value[1:]), COPIED
    changed = [at for at, (old, new) in enumerate(zip(target, value, strict=False)) if old != new]
    place = value.index(-1) if -1 in value else changed[0] if len(changed) == 1 else 0
    if not place or len(value) != len(target) or not batch_moved(before, after):
        return
    size = after[place]
    yield (0, *value[1:place], -1, *value[place + 1 :]), COPIED
    if isinstance(size, int) and size % batch == 0:
        yield (-1, *value[1:place], size // batch, *value[place + 1 :]), INFERRED
