"""Draw random chains of numeric shapes, and parts of sequences, from a seed."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from random import Random

import shapecalc as sc
from shapecalc.core.text import shape_text

MOVES = ("transpose", "reshape", "reshape", "expand", "select", "slice", "split", "flip", "roll", "take")
"""The ops that compile to one move each."""
SIZES = (1, 2, 2, 3, 4, 6)


def draw_factors(draw: Random, volume):
    """Draw dims whose product is `volume`."""
    dims = []
    while volume > 1 and len(dims) < 3:
        dims.append(draw.choice([size for size in range(1, volume + 1) if volume % size == 0]))
        volume //= dims[-1]
    return draw.sample([*dims, volume], len(dims) + 1)


def cut_row(draw: Random, row, most=None):
    """Cut a sequence into contiguous parts, at most `most`."""
    count = draw.randint(0, len(row) - 1 if most is None else min(most, len(row)) - 1)
    return [row[start:end] for start, end in pairwise([0, *sorted(draw.sample(range(1, len(row)), count)), len(row)])]


def draw_stage(draw: Random, shape, ops=MOVES):
    """Draw the text of a stage for a numeric shape with at least one axis."""
    op, axis = draw.choice(ops), draw.randrange(len(shape))
    match op:
        case "transpose":
            return f"transpose {shape_text(draw.sample(range(len(shape)), len(shape)))}"
        case "reshape":
            return f"reshape {shape_text(draw_factors(draw, prod(shape)))}"
        case "expand":
            return f"expand {shape_text([2 if size == 1 else size for size in shape])}"
        case "tile":
            return f"tile {shape_text([draw.choice((1, 1, 2, 3)) for _ in shape])}"
        case "repeat_interleave":
            return f"repeat_interleave {draw.choice((1, 2, 3))} {axis} -d numpy"
        case "swapaxes":
            return f"swapaxes {axis} {draw.randrange(len(shape))} -d numpy"
        case "unsqueeze":
            return f"unsqueeze {axis}"
    return draw_axis_stage(draw, op, axis, shape[axis])


def draw_axis_stage(draw, op, axis, dim):
    """Draw the text of a stage that selects, flips or rolls along one axis."""
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


def draw_chain(draw: Random, shape=None, ops=MOVES):
    """Draw a chain of a few stages and return its answer; draw the shape too if none is given."""
    shape = shape or [draw.choice(SIZES) for _ in range(draw.randint(1, 3))]
    texts = ["roll 0 0"]
    for _ in range(draw.randint(1, 4)):
        output = sc.chain(shape_text(shape), *texts).output
        if output and prod(output) < 300:
            texts.append(draw_stage(draw, output, ops))
    return sc.chain(shape_text(shape), *texts)
