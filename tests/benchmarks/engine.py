"""How fast the engine copies, as ratios of NumPy's own copy of the same transpose, measured in one run.

Run it from a checkout: `python tests/benchmarks/engine.py`. Each case is timed in turns, medians are taken.
Where torch is installed its own copies are timed after that; where a device answers, CuPy's.
"""

from __future__ import annotations

import importlib.util
import random
import statistics
from math import prod
from time import perf_counter

import numpy as np

import shapecalc as sc
from shapecalc.engine import run
from shapecalc.engine.backends import BackendError
from shapecalc.engine.backends import cupy as cupy_or_reason

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
try:
    cupy = cupy_or_reason()
except BackendError:
    cupy = None

CASES = [
    ("4096,4096 by 1,0", (4096, 4096), ((1, 0),)),
    ("NCHW to NHWC, 64,3,512,512", (64, 3, 512, 512), ((0, 2, 3, 1),)),
    ("NHWC to NCHW, 64,512,512,3", (64, 512, 512, 3), ((0, 3, 1, 2),)),
    ("NCHW to NHWC, 32,128,56,56", (32, 128, 56, 56), ((0, 2, 3, 1),)),
    ("8,16,1024,64 by 0,2,1,3", (8, 16, 1024, 64), ((0, 2, 1, 3),)),
    ("256,256,256 by 2,1,0", (256, 256, 256), ((2, 1, 0),)),
    ("256,256,256 by 0,2,1", (256, 256, 256), ((0, 2, 1),)),
    ("16,32,64,16,8 by 4,2,0,3,1", (16, 32, 64, 16, 8), ((4, 2, 0, 3, 1),)),
    ("eight axes reversed", (8, 8, 8, 8, 8, 8, 8, 8), ((7, 6, 5, 4, 3, 2, 1, 0),)),
    ("Shuffle 64,256,256 first 1,0,2", (64, 256, 256), ((1, 0, 2), (256, 128, 128), (2, 0, 1))),
    ("small: 64,64 by 1,0", (64, 64), ((1, 0),)),
    ("small: 8,8,16 by 2,1,0", (8, 8, 16), ((2, 1, 0),)),
    ("small: Shuffle 16,16,16 first 1,0,2", (16, 16, 16), ((1, 0, 2), (64, 64), (1, 0))),
]
TYPES = ("float32", "uint8", "float16", "float64")
SMALL = 1 << 16
"""Bytes below which a case is a small one."""
BUDGET = 0.4
"""Seconds spent on one row."""
DRAWN = 300
"""How many transposes are drawn at random."""


def plain(x, first, to, second):
    """Return what NumPy (or CuPy) makes of the same moves: a contiguous copy after each transpose."""
    contiguous = (cupy if cupy and isinstance(x, cupy.ndarray) else np).ascontiguousarray
    y = contiguous(x.transpose(first))
    return y if to is None else contiguous(y.reshape(to).transpose(second))


def by_torch(tensor, first, to, second):
    """Return what torch makes of the same moves."""
    y = tensor.permute(first).contiguous()
    return y if to is None else y.reshape(to).permute(second).contiguous()


def medians(*calls, budget=BUDGET):
    """Return the median seconds of some calls, timed in turns."""
    taken, start = [[] for _ in calls], perf_counter()
    while perf_counter() - start < budget or len(taken[0]) < 5:
        for call, times in zip(calls, taken, strict=True):
            begin = perf_counter()
            call()
            times.append(perf_counter() - begin)
    return [statistics.median(times) for times in taken]


def numbers(shape, dtype):
    """Return an array of `shape` with small numbers."""
    return (np.arange(prod(shape), dtype=np.uint32) % 251).astype(dtype).reshape(shape)


def cases():
    """Yield each case in each type: its names, its trace, its array, and its moves."""
    for name, shape, moves in CASES:
        trace = sc.shuffle(shape, **dict(zip(("first", "to", "second"), moves, strict=False)))
        for dtype in TYPES:
            yield name.ljust(36) + dtype.ljust(10), trace, numbers(shape, dtype), (*moves, None, None)[:3]


def on_the_processor() -> None:
    """Print every case, then the means of the large ones and the least of each kind."""
    large, small, as_is = [], [], []
    print("case".ljust(36) + "type".ljust(10) + "  engine    NumPy   ratio")
    for name, trace, x, moves in cases():
        ours, theirs, run_itself = medians(
            lambda: run(trace, x, contiguous=True).array, lambda: plain(x, *moves), lambda: run(trace, x)
        )
        (small if x.nbytes < SMALL else large).append(theirs / ours)
        if x.nbytes < SMALL:
            as_is.append(theirs / run_itself)
        speed = 2 * x.nbytes / 1e9
        print(f"{name} {speed / ours:6.2f}   {speed / theirs:6.2f} GB/s  {theirs / ours:5.2f}", flush=True)
    print(f"large: geometric mean {statistics.geometric_mean(large):.2f}, least {min(large):.2f}")
    print(f"small: made contiguous {min(small):.2f} to {max(small):.2f}", end=", ")
    print(f"as run gives them {min(as_is):.2f} to {max(as_is):.2f}")


def drawn():
    """Yield transposes of 2 to 6 axes and 1 to 32 MiB, drawn at random: a trace, an array, and its permutation."""
    draw = random.Random(2026)
    while True:
        dtype, rank = draw.choice(TYPES), draw.randint(2, 6)
        shape = tuple(draw.choice((2, 3, 4, 5, 7, 8, 12, 16, 20, 32, 56, 64, 100, 224, 512, 1000)) for _ in range(rank))
        first = tuple(draw.sample(range(rank), rank))
        trace = sc.transpose(shape, first)
        if 1 << 20 <= prod(shape) * np.dtype(dtype).itemsize <= 1 << 25 and trace.output != shape:
            yield trace, numbers(shape, dtype), first


def on_whatever() -> None:
    """Print the same ratios, in short, for transposes that nobody chose."""
    ratios = []
    for (trace, x, first), _ in zip(drawn(), range(DRAWN), strict=False):
        pair = medians(lambda: run(trace, x, contiguous=True), lambda: plain(x, first, None, None), budget=BUDGET / 4)
        ratios.append(pair[1] / pair[0])
    mean, ahead = statistics.geometric_mean(ratios), sum(ratio >= 0.9 for ratio in ratios)
    print(f"{DRAWN} drawn at random: geometric mean {mean:.2f}, at least 0.9 in {ahead}, least {min(ratios):.2f}")


def by_torchs_own() -> None:
    """Print the same ratios of torch's own copies: in a round of their own, since its threads go on spinning."""
    ratios = []
    for _, _, x, moves in cases():
        if x.nbytes >= SMALL:
            tensor = torch.from_numpy(x)
            own, theirs = medians(lambda: by_torch(tensor, *moves), lambda: plain(x, *moves))
            ratios.append(theirs / own)
    mean, least = statistics.geometric_mean(ratios), min(ratios)
    print(f"torch {torch.__version__}, large: geometric mean {mean:.2f}, least {least:.2f}")


def on_the_device() -> None:
    """Print every large case with CuPy: as a ratio of CuPy's own copy, and of a copy from device to device."""

    def waited(call):
        def whole():
            call()
            cupy.cuda.Device().synchronize()

        return whole

    print("\ncase, with CuPy".ljust(37) + "type".ljust(10) + "  engine   to CuPy's own   to a plain copy")
    for name, trace, array, moves in cases():
        if array.nbytes < SMALL:
            continue
        x = cupy.asarray(array)
        ours, theirs, copy = medians(
            waited(lambda: run(trace, x, contiguous=True).array), waited(lambda: plain(x, *moves)), waited(x.copy)
        )
        print(f"{name} {2 * x.nbytes / 1e9 / ours:6.0f} GB/s  {theirs / ours:5.2f}  {copy / ours:5.2f}", flush=True)


if __name__ == "__main__":
    on_the_processor()
    on_whatever()
    if torch:
        by_torchs_own()
    if cupy:
        on_the_device()
