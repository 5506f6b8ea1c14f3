"""Measure `simplify` as a ratio to the plain answer to the chain, in one run.

Run it from a checkout: `python -m tests.benchmarks.simplify`. The limit of the ratio is 20.
"""

from __future__ import annotations

from functools import partial

import shapecalc as sc
from tests.benchmarks.equiv import CHAINS, NUMBER, ROUNDS, plain
from tests.benchmarks.harness import least

GOALS = ("transposes", "shuffles", "bytes")

if __name__ == "__main__":
    print(" " * 32, *(goal.rjust(10) for goal in GOALS))
    for name, (text, *_) in CHAINS.items():
        calls = [partial(sc.simplify, text, goal) for goal in GOALS]
        base, *seconds = least(ROUNDS, plain(text), *calls, number=NUMBER)
        print(f"{name.ljust(22)} {base * 1e6:7.0f} us", *(f"{time / base:10.1f}" for time in seconds))
