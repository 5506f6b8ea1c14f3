"""Hints computed from the request that failed: the nearest target that works, and what would divide."""

from __future__ import annotations

from shapecalc.core.dims import Dim, Shape, product, quotient
from shapecalc.core.text import shape_text
from shapecalc.core.wording import brief

SEARCHED = 20_000
"""How far from a number its nearest divisor is looked for."""


def nearest_target(volume: Dim, target: Shape, settled: Shape, hole: int | None) -> str:
    """Return the hint that changes one literal of `target` so that it holds `volume` elements, or nothing.

    `settled` is `target` with its zeros resolved and 1 in place of -1.

    >>> nearest_target(24, (5, -1), (5, 1), 1)
    '4 and 6 would divide: try 4,-1'
    >>> nearest_target(24, (2, 5), (2, 5), None)
    'try 2,12'
    """
    best: tuple[int, int, list[int]] | None = None
    whole = product(settled)
    if whole == 0:
        return ""
    for index, dim in enumerate(target):
        if index == hole or not isinstance(dim, int) or dim <= 0:
            continue
        room = _room(volume, whole, dim)
        fits = [] if room is None else [room] if hole is None else divisors_near(room, dim)
        if fits and (best is None or _gap(fits, dim) < best[0]):
            best = _gap(fits, dim), index, fits
            if best[0] == 1:
                break
    return "" if best is None else _suggested(target, *best[1:], hole)


def _gap(fits: list[int], dim: int) -> int:
    return min(abs(size - dim) for size in fits)


def _suggested(target: Shape, index: int, fits: list[int], hole: int | None) -> str:
    """Return the hint that puts the nearest fitting size in place of one literal."""
    dim = target[index]
    fit = min(fits, key=lambda size: abs(size - dim)) if isinstance(dim, int) else fits[0]
    whole = shape_text((*target[:index], fit, *target[index + 1 :]))
    action = f"try {whole}" if whole == brief(whole) else f"write {fit} in place of the {dim} at index {index}"
    return action if hole is None else f"{' and '.join(map(str, fits))} would divide: {action}"


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


def _room(volume: Dim, settled: Dim, dim: int) -> int | None:
    """Return the size that a dim would need for the others to fit, where that is a number of at least 1."""
    room = quotient(product((volume, dim)), settled)
    return room if isinstance(room, int) and room > 0 else None
