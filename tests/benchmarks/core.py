"""Measure answers as ratios to common alternatives, in one run.

Run it from a checkout: `python -m tests.benchmarks.core`. Whole processes are compared with a NumPy one-liner, calls in
one process with building a one-node ONNX model and inferring its shapes.
"""

from __future__ import annotations

import shlex
import sys
import timeit
from functools import partial
from pathlib import Path

import shapecalc as sc
from tests.benchmarks.harness import in_turns, inference, medians, wall_seconds

ROUNDS = 31
NUMPY = "import numpy as np; print(np.empty((2,3,4)).reshape(2,-1).shape)"
SHAPECALC = str(Path(sys.executable).with_name("shapecalc"))
COMMANDS = """
reshape 2,3,4 0,-1
transpose 2,3,4 1,0,2
shuffle 2,3,4 --to 0,-1
reshape 2,3,4 0,-1 --json
reshape 2,3,4 0,-1 --expect 2,12 -q
flatten N,C,H --where N=8 -d torch
reshape 2,3,4 5,-1
reshape 2,3,4 0,-1 --as numpy
chain '2,3,4 | transpose'
"""
"""The third from last is refused."""
PROCESSES = {
    "NumPy one-liner": [sys.executable, "-c", NUMPY],
    "python -c pass": [sys.executable, "-c", "pass"],
    **{f"shapecalc {words}": [SHAPECALC, *shlex.split(words)] for words in COMMANDS.strip().splitlines()},
}


def answers():
    """Return the baseline and calls that answer in this process."""
    return {
        "ONNX: build a model of one node, infer": inference(),
        "sc.reshape((2,3,4), (0,-1))": lambda: sc.reshape((2, 3, 4), (0, -1)),
        "sc.shuffle((2,3,4), first=(1,0,2), to=(2,-1,3))": lambda: sc.shuffle(
            (2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)
        ),
        'sc.reshape(("N","C","H","W"), (0,-1,64))': lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)),
        "the same with what it assumes": lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)).assumes,
    }


def table(title, measured, unit, symbol):
    """Print each median and its ratio to the first row's."""
    print(f"{title:<50}     median   ratio")
    seconds = medians(in_turns(ROUNDS, measured))
    base = next(iter(seconds.values()))
    for name, median in seconds.items():
        print(f"{name.ljust(50)} {median / unit:8.1f} {symbol}  {median / base:5.2f}")


if __name__ == "__main__":
    table("whole processes", {name: partial(wall_seconds, words) for name, words in PROCESSES.items()}, 1e-3, "ms")
    print()
    timed = {name: lambda call=call: timeit.timeit(call, number=500) / 500 for name, call in answers().items()}
    table("in one process", timed, 1e-6, "us")
