"""Measure `equiv` as a ratio to the plain answer to the first chain, in one run.

Run it from a checkout: `python -m tests.benchmarks.equiv`. The limit of the ratio is 20.
"""

from __future__ import annotations

from pathlib import Path

import shapecalc as sc
from tests.benchmarks.harness import least

ROUNDS, NUMBER = 15, 20
LINES = [line.split(": ", 1) for line in Path(__file__).with_name("chains.txt").read_text().splitlines()[1:]]
CHAINS = {name: line.split(" == ") for name, line in LINES}


def plain(text):
    """Return a function that answers a chain."""
    shape, *stages = text.split("|")
    return lambda: sc.chain(shape.strip(), *stages)


if __name__ == "__main__":
    for name, (first, *others) in CHAINS.items():
        for second in others:
            base, proof = least(ROUNDS, plain(first), lambda: sc.equiv(first, second), number=NUMBER)
            print(f"{name.ljust(30)} {base * 1e6:7.0f} us {proof * 1e6:7.0f} us  {proof / base:5.1f}")
