"""Chains of numbers, drawn by a seed, and what NumPy makes of them."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np

import shapecalc as sc
from shapecalc.core.text import shape_text
from tests.core.test_views import carried_out

STAGES = ("transpose", "reshape", "reshape", "expand", "select", "slice", "split", "flip", "roll", "take")
SIZES = (1, 2, 2, 3, 4, 6)


def factors(draw: Random, volume):
    """Return dims whose product is `volume`."""
    dims = []
    while volume > 1 and len(dims) < 3:
        dims.append(draw.choice([size for size in range(1, volume + 1) if volume % size == 0]))
        volume //= dims[-1]
    return draw.sample([*dims, volume], len(dims) + 1)


def stage(draw: Random, shape):
    """Return the text of a stage for a shape of numbers that has dims, and an axis to draw from."""
    op, axis = draw.choice(STAGES), draw.randrange(len(shape))
    dim = shape[axis]
    match op:
        case "transpose":
            return f"transpose {shape_text(draw.sample(range(len(shape)), len(shape)))}"
        case "reshape":
            return f"reshape {shape_text(factors(draw, prod(shape)))}"
        case "expand":
            return f"expand {shape_text([2 if size == 1 else size for size in shape])}"
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


def drawn_chain(draw: Random, shape=None):
    """Return the answer to a chain of a few stages, on a shape of its own if none is given."""
    shape = shape or [draw.choice(SIZES) for _ in range(draw.randint(1, 3))]
    texts = ["roll 0 0"]
    for _ in range(draw.randint(1, 4)):
        now = sc.chain(shape_text(shape), *texts).output
        if now and prod(now) < 300:
            texts.append(stage(draw, now))
    return sc.chain(shape_text(shape), *texts)


def positions_of(answer):
    """Return where in the input each element of the output stands, as NumPy finds it."""
    array = np.arange(prod(answer.input)).reshape(answer.input)
    for move in answer.moves:
        array = carried_out(array, move)
    return array
