"""Chains that a seed draws: stages that move, keep and repeat elements, and often put back what others moved."""

from __future__ import annotations

from functools import cache
from math import isqrt, prod

import shapecalc as sc

PARTS = (":", ":", "::-1", "::2", "1:", ":1")
LARGEST = 1 << 20
"""Elements of the largest array that is made."""


@cache
def divisors(number):
    """Return the divisors of a number above 0."""
    small = [size for size in range(1, isqrt(number) + 1) if number % size == 0]
    return sorted({*small, *[number // size for size in small]})


def factors(draw, number):
    """Return dims whose product is `number`."""
    dims = []
    while number > 1 and len(dims) < 3:
        dims.append(draw.choice(divisors(number)[1:]))
        number //= dims[-1]
    return tuple(draw.sample([*dims, number], len(dims) + 1))


def text_of(numbers):
    return ",".join(map(str, numbers)) or "[]"


def drawn_chain(draw, shape, most=5, without=()):
    """Return the answer to a chain of some stages for a tensor without empty dims, without some ops.

    Without what is scattered, positions that are taken have one step.
    """
    stages, shapes = [], [shape]
    for _ in range(draw.randint(1, most)):
        shape, rank = shapes[-1], len(shapes[-1])
        axis = draw.randrange(max(1, rank))
        earlier = [each for each in shapes if prod(each) == prod(shape)]
        parts = [part if size > 1 else ":" for part, size in zip(draw.choices(PARTS, k=rank), shape, strict=True)]
        size = shape[axis] if shape else 1
        regular = range(size)[:: draw.choice((1, 2, -1))]
        places = regular if "scattered" in without or draw.random() < 0.5 else draw.choices(range(size), k=3)
        makers = {
            f"transpose {text_of(draw.sample(range(rank), rank))}": 5,
            f"reshape {text_of(draw.choice(earlier))}": 4,
            f"reshape {text_of(factors(draw, prod(shape)))} ": 4,
            f"flip {axis}": 2 if rank else 0,
            f"roll {draw.randint(-3, 3)} {axis}": 3 if rank else 0,
            f"slice [{','.join(parts)}]": 2,
            f"take {axis} {text_of(places)}": 1 if rank else 0,
            f"select {axis} {draw.randrange(size)}": 1 if rank else 0,
            f"expand {text_of((2, *shape))}": 1 if prod(shape) < LARGEST and rank < 8 else 0,
        }
        weights = [0 if text.split()[0] in without else weight for text, weight in makers.items()]
        stages.append(draw.choices([*makers], weights)[0].strip() + " --dialect numpy")
        shapes.append(sc.chain(shape, stages[-1]).output)
    return sc.chain(shapes[0], *stages)
