"""Measure `find` as a ratio to plain answers to the chains that it lists, in one run.

Run it from a checkout: `python -m tests.benchmarks.find`. The limit of the ratio is 20.
"""

from __future__ import annotations

import shapecalc as sc
from tests.benchmarks.equiv import NUMBER, ROUNDS, plain
from tests.benchmarks.harness import least

SHAPES = {
    "attention": ("B,S,H*D", "B,H,S,D"),
    "channels last": ("B,H*W,C", "B,C,H,W"),
    "window partition": ("N,C,H,W", "N*H/7*W/7,49,C"),
    "pixel shuffle": ("B,C*r*r,H,W", "B,C,H*r,W*r"),
    "nothing moves": ("N,C,H,W", "N,C*H*W"),
    "numbers": ("2,3,4", "6,4"),
    "many ways": ("4,6,8", "8,6,4"),
}

if __name__ == "__main__":
    for name, shapes in SHAPES.items():
        answers = [plain(way.chain) for way in sc.find(*shapes).ways]
        base, seconds = least(ROUNDS, lambda: [answer() for answer in answers], lambda: sc.find(*shapes), number=NUMBER)
        print(f"{name.ljust(22)} {base * 1e6:7.0f} us {seconds * 1e6:7.0f} us  {seconds / base:5.1f}")
