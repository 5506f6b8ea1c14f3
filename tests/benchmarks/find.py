"""How long `find` takes beside plain answers to the chains that it lists, measured in one run.

Run it from a checkout: `python tests/benchmarks/find.py`. It may take twenty times as long as they do.
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
        base, taken = least(ROUNDS, lambda: [each() for each in answers], lambda: sc.find(*shapes), number=NUMBER)
        print(f"{name.ljust(22)} {base * 1e6:7.0f} us {taken * 1e6:7.0f} us  {taken / base:5.1f}")
