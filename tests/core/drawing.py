"""Chains of numbers and parts of rows, drawn by a seed."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from random import Random

import shapecalc as sc
from shapecalc.core.text import shape_text

MOVES = ("transpose", "reshape", "reshape", "expand", "select", "slice", "split", "flip", "roll", "take")
"""The ops that are one move each."""
SIZES = (1, 2, 2, 3, 4, 6)


def factors(draw: Random, volume):
    """Return dims whose product is `volume`."""
    dims = []
    while volume > 1 and len(dims) < 3:
        dims.append(draw.choice([size for size in range(1, volume + 1) if volume % size == 0]))
        volume //= dims[-1]
    return draw.sample([*dims, volume], len(dims) + 1)


def cut(draw: Random, row, most=None):
    """Return the parts, `most` at most, of neighbours that a row is cut into."""
    count = draw.randint(0, len(row) - 1 if most is None else min(most, len(row)) - 1)
    return [row[start:end] for start, end in pairwise([0, *sorted(draw.sample(range(1, len(row)), count)), len(row)])]


def stage(draw: Random, shape, ops=MOVES):
    """Return the text of a stage for a shape of numbers that has dims, and an axis to draw from."""
    op, axis = draw.choice(ops), draw.randrange(len(shape))
    match op:
        case "transpose":
            return f"transpose {shape_text(draw.sample(range(len(shape)), len(shape)))}"
        case "reshape":
            return f"reshape {shape_text(factors(draw, prod(shape)))}"
        case "expand":
            return f"expand {shape_text([2 if size == 1 else size for size in shape])}"
        case "tile":
            return f"tile {shape_text([draw.choice((1, 1, 2, 3)) for _ in shape])}"
        case "swapaxes":
            return f"swapaxes {axis} {draw.randrange(len(shape))} -d numpy"
        case "unsqueeze":
            return f"unsqueeze {axis}"
    return along_an_axis(draw, op, axis, shape[axis])


def along_an_axis(draw, op, axis, dim):
    """Return the text of a stage that takes, turns or rolls positions of one axis."""
    match op:
        case "select":
            return f"select {axis} {draw.randrange(-dim, dim)}"
        case "slice":
            start, step = draw.randrange(-dim, dim), draw.choice([1, 2, -1, -2])
            return f"slice {':,' * axis}{start}::{step}"
        case "split":
            parts = draw.choice([size for size in range(1, dim + 1) if dim % size == 0])
            return f"split {axis} {parts} --part {draw.randrange(parts)}"
        case "take":
            return f"take {axis} {shape_text([draw.randrange(-dim, dim) for _ in range(draw.randint(1, 4))])}"
    return f"flip {axis}" if op == "flip" else f"roll {draw.randint(-4, 4)} {axis}"


def drawn_chain(draw: Random, shape=None, ops=MOVES):
    """Return the answer to a chain of a few stages, on a shape of its own if none is given."""
    shape = shape or [draw.choice(SIZES) for _ in range(draw.randint(1, 3))]
    texts = ["roll 0 0"]
    for _ in range(draw.randint(1, 4)):
        now = sc.chain(shape_text(shape), *texts).output
        if now and prod(now) < 300:
            texts.append(stage(draw, now, ops))
    return sc.chain(shape_text(shape), *texts)
