"""Hints computed from the request that failed: the nearest target that works, and what would divide."""

from __future__ import annotations

from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.text import brief, shape_text

SEARCHED = 20_000
"""How far from a number its nearest divisor is looked for."""


def nearest_target(volume: Dim, target: Shape, settled: Shape, hole: int | None) -> str:
    """Return the hint that changes one literal of `target` so that it holds `volume` elements, or nothing.

    `settled` is `target` with its zeros resolved and 1 in place of -1.

    >>> nearest_target(24, (5, -1), (5, 1), 1)
    '24 divides by 4 and 6: try 4,-1'
    >>> nearest_target(24, (2, 5), (2, 5), None)
    'try 2,12'
    """
    best: tuple[int, str] | None = None
    for index, dim in enumerate(target):
        room = _room(volume, settled, index) if isinstance(dim, int) and dim > 0 and index != hole else None
        if room is None or not isinstance(dim, int):
            continue
        fits = [room] if hole is None else divisors_near(room, dim)
        if not fits:
            continue
        fit = min(fits, key=lambda size: abs(size - dim))
        reason = f"{room} divides by {' and '.join(map(str, fits))}: " if hole is not None else ""
        whole = shape_text((*target[:index], fit, *target[index + 1 :]))
        hint = reason + (
            f"try {whole}" if whole == brief(whole) else f"write {fit} in place of the {dim} at index {index}"
        )
        if best is None or abs(fit - dim) < best[0]:
            best = abs(fit - dim), hint
    return best[1] if best else ""


def divisors_near(number: int, wanted: int) -> list[int]:
    """Return the nearest divisors of `number` below and above `wanted`, where there are any close by.

    >>> divisors_near(24, 5), divisors_near(7, 3)
    ([4, 6], [1, 7])
    """
    below = next(
        (size for size in range(min(wanted - 1, number), max(0, wanted - SEARCHED), -1) if number % size == 0), None
    )
    above = next((size for size in range(wanted + 1, min(number, wanted + SEARCHED) + 1) if number % size == 0), None)
    return [size for size in (below, above) if size]


def _room(volume: Dim, settled: Shape, index: int) -> int | None:
    """Return the size that dim `index` would need for the others to fit, where that is a number of at least 1."""
    rest = product((*settled[:index], *settled[index + 1 :]))
    if rest == 0:
        return None
    room = quotient(volume, rest)
    return room if isinstance(room, int) and room > 0 else None
