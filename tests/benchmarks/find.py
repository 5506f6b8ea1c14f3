"""How long `find` takes beside plain answers to the chains that it lists, measured in one run.

Run it from a checkout: `python tests/benchmarks/find.py`. It may take twenty times as long as they do.
"""

from __future__ import annotations

import shapecalc as sc
from tests.benchmarks.equiv import ROUNDS, seconds

SHAPES = {
    "attention": ("B,S,H*D", "B,H,S,D"),
    "channels last": ("B,H*W,C", "B,C,H,W"),
    "window partition": ("N,C,H,W", "N*H/7*W/7,49,C"),
    "pixel shuffle": ("B,C*r*r,H,W", "B,C,H*r,W*r"),
    "nothing moves": ("N,C,H,W", "N,C*H*W"),
    "numbers": ("2,3,4", "6,4"),
    "many ways": ("4,6,8", "8,6,4"),
}


def times(before: str, after: str) -> tuple[float, float]:
    """Return the least times of the plain chains and of the search, measured in turns: others may use the machine."""
    chains = [way.chain.split(" | ") for way in sc.find(before, after).ways]
    calls = lambda: [sc.chain(*each) for each in chains], lambda: sc.find(before, after)
    rounds = [[seconds(call) for call in calls] for _ in range(ROUNDS)]
    plain, taken = map(min, zip(*rounds, strict=True))
    return plain, taken


if __name__ == "__main__":
    for name, shapes in SHAPES.items():
        plain, taken = times(*shapes)
        print(f"{name.ljust(22)} {plain * 1e6:7.0f} us {taken * 1e6:7.0f} us  {taken / plain:5.1f}")
