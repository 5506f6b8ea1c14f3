"""Random chains of stages that move, drop and repeat elements, and often undo each other."""

from __future__ import annotations

from functools import cache
from math import isqrt, prod
from random import Random

from hypothesis import strategies as st

import shapecalc as sc

seeds = st.integers(0, 1 << 32).map(Random)
LARGEST = 1 << 20
"""The largest element count of an array."""


@cache
def divisors(number):
    """Return the divisors of a positive integer."""
    small = [size for size in range(1, isqrt(number) + 1) if number % size == 0]
    return sorted({*small, *[number // size for size in small]})


def factors(draw, number):
    """Return dims whose product is `number`."""
    dims = []
    while number > 1 and len(dims) < 3:
        dims.append(draw.choice(divisors(number)[1:]))
        number //= dims[-1]
    return tuple(draw.sample([*dims, number], len(dims) + 1))


def part_of(draw, size):
    """Return a slice that keeps all positions of an axis or a few, with a step of either sign."""
    start, step = draw.randrange(size), draw.choice((1, 1, -1, 2, -2, 3))
    room = (size - 1 - start if step > 0 else start) // abs(step) + 1
    stop = start + draw.randint(1, room) * step
    written = f"{start - draw.choice((0, size))}:{stop if stop >= 0 else ''}:{step}"
    return draw.choice((":", ":", "::-1", "::2", written, written))


def text_of(numbers):
    return ",".join(map(str, numbers)) or "[]"


def draw_chain(draw, shape, most=5, without=()):
    """Return the answer to a chain of stages for a tensor of a shape, without some ops.

    Without what is scattered, positions that are taken have one step; without what is empty, some are kept.
    """
    stages, shapes = [], [shape]
    for _ in range(draw.randint(1, most)):
        shape, rank = shapes[-1], len(shapes[-1])
        axis = draw.randrange(max(1, rank))
        size = shape[axis] if shape else 0
        earlier = [each for each in shapes if prod(each) == prod(shape)]
        parts = [part_of(draw, dim) if dim else ":" for dim in shape]
        if shape and "empty" not in without and draw.random() < 0.05:
            parts[axis] = ":0"
        regular = range(size)[:: draw.choice((1, 2, -1))]
        scattered = size and "scattered" not in without and draw.random() < 0.5
        places = draw.choices(range(-size, size), k=3) if scattered else regular
        grown = (2, *[draw.choice((1, 3)) if dim == 1 else dim for dim in shape])
        makers = {
            f"transpose {text_of(draw.sample(range(rank), rank))}": 5,
            f"reshape {text_of(draw.choice(earlier))}": 4,
            f"reshape {text_of(factors(draw, prod(shape)) if prod(shape) else shape)} ": 4,
            f"flip {axis}": 2 * bool(shape),
            f"roll {draw.randint(-3, 3)} {axis}": 3 * bool(shape),
            f"slice [{','.join(parts)}]": 3,
            f"take {axis} {text_of(places)}": bool(size),
            f"select {axis} {draw.randrange(-size, size or 1)}": bool(size),
            f"expand {text_of(grown)}": prod(grown) < LARGEST and rank < 8,
        }
        often = [text for text, weight in makers.items() if text.split()[0] not in without for _ in range(weight)]
        stages.append(draw.choice(often).strip() + " --dialect numpy")
        shapes.append(sc.chain(shape, stages[-1]).output)
    return sc.chain(shapes[0], *stages)
