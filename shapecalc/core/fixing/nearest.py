"""The sizes nearest to a number of a requested shape with which the element counts agree."""

from __future__ import annotations

from shapecalc.core.sizes.dims import Dim, Shape, product, quotient

SEARCHED = 20_000
"""How far from a number its nearest divisor is looked for."""


def nearest_sizes(volume: Dim, target: Shape, settled: Shape, hole: int | None) -> tuple[int, list[int]]:
    """Return the literal of `target` that is nearest to a fitting size: its index, and what fits, nearest first.

    `settled` is `target` with its zeros resolved and 1 in place of -1; nothing fits where the sizes are empty.

    >>> nearest_sizes(24, (5, -1), (5, 1), 1), nearest_sizes(7, (0,), (2,), None)
    ((0, [4, 6]), (0, []))
    """
    best: tuple[int, int, list[int]] = (0, 0, [])
    whole = product(settled)
    if whole == 0:
        return 0, []
    for index, dim in enumerate(target):
        if index == hole or not isinstance(dim, int) or dim <= 0:
            continue
        room = _room(volume, whole, dim)
        fits = [] if room is None else [room] if hole is None else divisors_near(room, dim)
        gaps = sorted((abs(size - dim), size) for size in fits)
        if gaps and (not best[2] or gaps[0][0] < best[0]):
            best = gaps[0][0], index, [size for _, size in gaps]
            if best[0] == 1:
                break
    return best[1:]


def divisors_near(number: int, wanted: int) -> list[int]:
    """Return the nearest divisors of `number` below and above `wanted`, if there are any close by.

    >>> divisors_near(24, 5), divisors_near(7, 3)
    ([4, 6], [1, 7])
    """
    below = next(
        (size for size in range(min(wanted - 1, number), max(0, wanted - SEARCHED), -1) if number % size == 0), None
    )
    above = next((size for size in range(wanted + 1, min(number, wanted + SEARCHED) + 1) if number % size == 0), None)
    return [size for size in (below, above) if size]


def _room(volume: Dim, settled: Dim, dim: int) -> int | None:
    """Return the size that a dim would need for the others to fit; None if that is no number of at least 1."""
    room = quotient(product((volume, dim)), settled)
    return room if isinstance(room, int) and room > 0 else None
