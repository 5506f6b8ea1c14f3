"""How fast the engine copies, as ratios of NumPy's own copy of the same transpose, measured in one run.

Run it from a checkout: `python tests/benchmarks/engine.py`. Each case is timed in turns, medians are taken.
"""

from __future__ import annotations

import statistics
from math import prod
from time import perf_counter

import numpy as np

import shapecalc as sc
from shapecalc.engine import run

CASES = [
    ("4096,4096 by 1,0", (4096, 4096), (1, 0), None, None),
    ("NCHW to NHWC, 64,3,512,512", (64, 3, 512, 512), (0, 2, 3, 1), None, None),
    ("NHWC to NCHW, 64,512,512,3", (64, 512, 512, 3), (0, 3, 1, 2), None, None),
    ("NCHW to NHWC, 32,128,56,56", (32, 128, 56, 56), (0, 2, 3, 1), None, None),
    ("8,16,1024,64 by 0,2,1,3", (8, 16, 1024, 64), (0, 2, 1, 3), None, None),
    ("256,256,256 by 2,1,0", (256, 256, 256), (2, 1, 0), None, None),
    ("256,256,256 by 0,2,1", (256, 256, 256), (0, 2, 1), None, None),
    ("16,32,64,16,8 by 4,2,0,3,1", (16, 32, 64, 16, 8), (4, 2, 0, 3, 1), None, None),
    ("eight axes reversed", (8, 8, 8, 8, 8, 8, 8, 8), (7, 6, 5, 4, 3, 2, 1, 0), None, None),
    ("Shuffle 64,256,256 first 1,0,2", (64, 256, 256), (1, 0, 2), (256, 128, 128), (2, 0, 1)),
    ("small: 64,64 by 1,0", (64, 64), (1, 0), None, None),
    ("small: 8,8,16 by 2,1,0", (8, 8, 16), (2, 1, 0), None, None),
]
TYPES = ("float32", "uint8", "float16", "float64")
BUDGET = 0.4
"""Seconds spent on one row."""


def plain(x, first, to, second):
    """Return what NumPy makes of the same moves: a contiguous copy after each transpose."""
    y = np.ascontiguousarray(x.transpose(first))
    return y if to is None else np.ascontiguousarray(y.reshape(to).transpose(second))


def medians(ours, theirs):
    """Return the median seconds of two calls, timed in turns."""
    taken, start = ([], []), perf_counter()
    while perf_counter() - start < BUDGET or len(taken[0]) < 5:
        for call, times in zip((ours, theirs), taken, strict=True):
            begin = perf_counter()
            call()
            times.append(perf_counter() - begin)
    return [statistics.median(times) for times in taken]


def main() -> None:
    ratios = []
    print("case".ljust(34) + "type".ljust(10) + "  engine    NumPy   ratio")
    for name, shape, first, to, second in CASES:
        trace = sc.shuffle(shape, first=first, to=to, second=second)
        for dtype in TYPES:
            x = (np.arange(prod(shape), dtype=np.uint32) % 251).astype(dtype).reshape(shape)
            ours, theirs = medians(lambda: run(trace, x, contiguous=True).array, lambda: plain(x, first, to, second))
            ratios.append(theirs / ours)
            speed = 2 * x.nbytes / 1e9
            print(
                name.ljust(34) + dtype.ljust(10),
                f"{speed / ours:6.2f}   {speed / theirs:6.2f} GB/s  {theirs / ours:5.2f}",
                flush=True,
            )
    small = 2 * len(TYPES)
    large = ratios[:-small]
    mean = statistics.geometric_mean(large)
    print(f"large: geometric mean {mean:.2f}, least {min(large):.2f}; small: least {min(ratios[-small:]):.2f}")


if __name__ == "__main__":
    main()
