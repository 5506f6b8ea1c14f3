"""The benchmark cases of the engine, drawn by a seed, and the timing of pairs of calls.

A case is a transpose of an array: its name, the bytes of an element, the shape, and the permutation.
"""

from __future__ import annotations

import random
import re
import statistics
from math import prod
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

KIB, MIB = 1 << 10, 1 << 20
WIDTHS = (1, 2, 4, 8, 16)
"""The bytes of an element."""
SIZES = (64 * KIB, 512 * KIB, 2 * MIB, 8 * MIB, 64 * MIB, 512 * MIB)
"""The approximate bytes of an array: all but the largest are multiplied by a random factor between 1 and 2."""
SIDES = (2, 3, 4, 5, 7, 8, 12, 16, 20, 32, 56, 64, 100, 224, 512, 1000)
"""The dims of random transposes."""
TYPES = {1: "u1", 2: "f2", 4: "f4", 8: "f8", 16: "c16"}
PAIRS = 9
"""The minimum number of timed pairs of a case."""


def _drawn_layout(name, draw, count):
    """Return the shape and the permutation of a layout of about `count` elements."""
    first, *turns = LAYOUTS[name]
    names = {"count": count, "within": lambda least, size, most: min(most, max(least, size))}
    for definition in first.split("; "):
        size, _, numbers = definition.partition(" = ")
        names[size] = eval(numbers, names.copy()) if "(" in numbers else draw.choice([*map(int, numbers.split())])
    shape, perm = draw.choice(turns).split(" -> ")
    return tuple([eval(dim, names.copy()) for dim in shape.split()]), tuple(map(int, perm.split()))


ROWS = re.findall(r"^(\w.*?): (.*)\n((?: .*\n)+)", Path(__file__).with_name("layouts.txt").read_text(), re.M)
LAYOUTS = {name: [drawn, *turns.strip().split("\n")] for name, drawn, turns in ROWS}


def layouts(seed, widths=WIDTHS, sizes=SIZES):
    """Yield a case of each layout, width and size; the batch is chosen to fit the size."""
    for size in sizes:
        for name in LAYOUTS:
            for width in widths:
                draw = random.Random(f"{seed} {name} {width} {size}")
                count = size // width if size == max(SIZES) else int(size * draw.uniform(1, 2)) // width
                shape, perm = _drawn_layout(name, draw, count)
                yield name, width, (max(1, count // prod(shape)), *shape[1:]), perm


def random_transposes(seed, count, most=32 * MIB):
    """Return `count` random transposes of 2 to 6 axes and 64 KiB to `most` bytes."""
    draw, cases = random.Random(seed), []
    while len(cases) < count:
        width, rank = draw.choice(WIDTHS), draw.randint(2, 6)
        shape = tuple(draw.choice(SIDES) for _ in range(rank))
        perm = tuple(draw.sample(range(rank), rank))
        if 64 * KIB <= prod(shape) * width <= most and perm != tuple(range(rank)):
            cases.append(("drawn", width, shape, perm))
    return cases


def numbers(shape, width):
    """Return an array of `shape` with elements of `width` nonzero bytes."""
    lines = np.resize(np.arange(1, 252, dtype=np.uint8), prod(shape) * width)
    return lines.view(TYPES[width]).reshape(shape)


def paired(ours, theirs, budget, least=PAIRS):
    """Return medians of interleaved pairs: our CPU time, their CPU time, and their ratios to ours in CPU and wall time.

    The order within a pair alternates. Each is called once before, so that neither is the first to touch its memory.
    """
    ours(), theirs()
    rows, start = [], perf_counter()
    while perf_counter() - start < budget or len(rows) < least:
        order = (ours, theirs) if len(rows) % 2 else (theirs, ours)
        seconds = {call: both_seconds(call) for call in order}
        (own, own_wall), (other, other_wall) = seconds[ours], seconds[theirs]
        if own:  # the clock may stand still
            rows.append((own, other, other / own, other_wall / own_wall))
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def both_seconds(call):
    """Return the CPU time and the wall time of a call."""
    begin, wall = process_time(), perf_counter()
    call()
    return process_time() - begin, perf_counter() - wall
