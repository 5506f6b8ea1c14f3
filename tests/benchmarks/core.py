"""How fast a question is answered, as ratios of what people use today, measured in one run.

Run it from a checkout: `python tests/benchmarks/core.py`. Whole processes are compared with NumPy's
one-liner in the same environment, answers in a process with building and inferring a one-node ONNX model.
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
"""The last but two is refused, and the last is read by Typer."""
PROCESSES = {
    "NumPy one-liner": [sys.executable, "-c", NUMPY],
    "python -c pass": [sys.executable, "-c", "pass"],
    **{f"shapecalc {words}": [SHAPECALC, *shlex.split(words)] for words in COMMANDS.strip().splitlines()},
}


def answers():
    """Return calls that answer in this process, after what they are compared with."""
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
    for name, taken in seconds.items():
        print(f"{name.ljust(50)} {taken / unit:8.1f} {symbol}  {taken / base:5.2f}")


if __name__ == "__main__":
    table("whole processes", {name: partial(wall_seconds, words) for name, words in PROCESSES.items()}, 1e-3, "ms")
    print()
    timed = {name: lambda call=call: timeit.timeit(call, number=500) / 500 for name, call in answers().items()}
    table("in one process", timed, 1e-6, "us")
