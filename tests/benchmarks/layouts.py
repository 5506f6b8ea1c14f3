"""The copies that the engine is measured on, drawn by a seed, and how a pair of calls is timed.

A case is a transpose of an array: its name, the bytes of an element, the shape, and the permutation.
"""

from __future__ import annotations

import random
import statistics
from itertools import islice
from math import prod
from time import perf_counter, process_time

import numpy as np

KIB, MIB = 1 << 10, 1 << 20
WIDTHS = (1, 2, 4, 8, 16)
"""The bytes of an element."""
SIZES = (64 * KIB, 512 * KIB, 2 * MIB, 8 * MIB, 64 * MIB, 512 * MIB)
"""The bytes of an array, about: a drawn factor between 1 and 2 is applied to all but the largest."""
SIDES = (2, 3, 4, 5, 7, 8, 12, 16, 20, 32, 56, 64, 100, 224, 512, 1000)
"""The dims of the transposes that nobody chose."""
TYPES = {1: "u1", 2: "f2", 4: "f4", 8: "f8", 16: "c16"}
PAIRS = 9
"""At least so many pairs of one case are timed."""


def attention(draw, count):
    """Heads beside positions, or the keys transposed: B,S,H,D to B,H,S,D or B,H,D,S."""
    heads, width = draw.choice((8, 12, 16, 32)), draw.choice((64, 80, 128))
    length = min(2048, max(8, count // (heads * width)))
    return (1, length, heads, width), draw.choice(((0, 2, 1, 3), (0, 2, 3, 1)))


def images(channels):
    """NCHW to NHWC or back, of square images."""

    def drawn(draw, count):
        side = min(draw.choice((32, 56, 64, 112, 224, 512)), max(4, int((count / channels) ** 0.5)))
        if draw.random() < 0.5:
            return (1, channels, side, side), (0, 2, 3, 1)
        return (1, side, side, channels), (0, 3, 1, 2)

    return drawn


def positions(count_of):
    """NCHW to NHWC or back, of few positions and many channels."""

    def drawn(draw, count):
        channels = min(draw.choice((256, 512, 1024, 2048)), max(16, count // prod(count_of)))
        if draw.random() < 0.5:
            return (1, channels, *count_of), (0, *range(2, 2 + len(count_of)), 1)
        return (1, *count_of, channels), (0, 1 + len(count_of), *range(1, 1 + len(count_of)))

    return drawn


def odd(draw, count):
    """A matrix, or rows of few elements, with sizes that no cache line divides."""
    rows = draw.choice((97, 333, 1000, 1001, 3001))
    if draw.random() < 0.5:
        return (1, rows, max(5, min(5003, count // rows) | 1)), (0, 2, 1)
    few = draw.choice((3, 5, 7, 11))
    return (1, rows, max(3, min(4999, count // rows // few) | 1), few), (0, 2, 1, 3)


def video(draw, count):
    """Frames beside channels: B,C,T,H,W to B,T,C,H,W or to B,T,H,W,C."""
    side = draw.choice((28, 56, 112))
    frames = min(32, max(2, count // (3 * side * side)))
    return (1, 3, frames, side, side), draw.choice(((0, 2, 1, 3, 4), (0, 2, 3, 4, 1)))


def volume(draw, count):
    """A volume with its axes in another order."""
    side = min(draw.choice((32, 48, 64, 100, 128, 256)), max(4, int(count ** (1 / 3))))
    return (1, side, side, side), draw.choice(((0, 3, 2, 1), (0, 1, 3, 2), (0, 3, 1, 2), (0, 2, 3, 1)))


def windows(draw, count):
    """Window partition: B,H/w,w,W/w,w,C to B,H/w,W/w,w,w,C."""
    window, channels = draw.choice((7, 8)), draw.choice((96, 128, 192))
    many = min(8, max(2, int((count / channels) ** 0.5) // window))
    return (1, many, window, many, window, channels), (0, 1, 3, 2, 4, 5)


def shuffled(draw, count):
    """Pixel shuffle: B,C,r,r,H,W to B,C,H,r,W,r."""
    factor = draw.choice((2, 3, 4))
    side = min(draw.choice((24, 48, 64, 128)), max(4, int((count / (3 * factor * factor)) ** 0.5)))
    return (1, 3, factor, factor, side, side), (0, 1, 4, 2, 5, 3)


LAYOUTS = {
    "attention": attention,
    "3 channels": images(3),
    "7x7 positions": positions((7, 7)),
    "49 positions": positions((49,)),
    "2048 channels": images(2048),
    "odd sizes": odd,
    "video": video,
    "volume": volume,
    "window partition": windows,
    "pixel shuffle": shuffled,
}


def layouts(seed, widths=WIDTHS, sizes=SIZES):
    """Yield a case of every layout, width and size. The batch makes it as large as it should be."""
    for size in sizes:
        for name, drawn in LAYOUTS.items():
            for width in widths:
                draw = random.Random(f"{seed} {name} {width} {size}")
                count = size // width if size == max(SIZES) else int(size * draw.uniform(1, 2)) // width
                shape, perm = drawn(draw, count)
                yield name, width, (max(1, count // prod(shape)), *shape[1:]), perm


def anyhow(seed, most=32 * MIB):
    """Yield transposes of 2 to 6 axes and 64 KiB to `most` bytes, without end."""
    draw = random.Random(seed)
    while True:
        width, rank = draw.choice(WIDTHS), draw.randint(2, 6)
        shape = tuple(draw.choice(SIDES) for _ in range(rank))
        perm = tuple(draw.sample(range(rank), rank))
        if 64 * KIB <= prod(shape) * width <= most and perm != tuple(range(rank)):
            yield "drawn", width, shape, perm


def drawn(seed, count):
    """Return `count` transposes that nobody chose."""
    return list(islice(anyhow(seed), count))


def numbers(shape, width):
    """Return an array of `shape` with elements of `width` bytes that are no zeros."""
    lines = np.resize(np.arange(1, 252, dtype=np.uint8), prod(shape) * width)
    return lines.view(TYPES[width]).reshape(shape)


def paired(ours, theirs, budget, least=PAIRS):
    """Return medians of interleaved pairs: ours and theirs in seconds of the processor, and the ratio, theirs to ours.

    A second ratio follows, that of times on the wall. The first of a pair is now the one and now the other. Each is
    called once before, so that neither meets memory that the system has yet to find.
    """
    ours(), theirs()
    rows, start = [], perf_counter()
    while perf_counter() - start < budget or len(rows) < least:
        order = (ours, theirs) if len(rows) % 2 else (theirs, ours)
        taken = {call: both_seconds(call) for call in order}
        (own, own_wall), (other, other_wall) = taken[ours], taken[theirs]
        rows.append((own, other, other / own, other_wall / own_wall))
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def both_seconds(call):
    """Return the seconds of one call: of the processor, and on the wall."""
    begin, wall = process_time(), perf_counter()
    call()
    return process_time() - begin, perf_counter() - wall


def seconds(call, clock):
    """Return the seconds of one call."""
    begin = clock()
    call()
    return clock() - begin
