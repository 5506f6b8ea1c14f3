"""How long `simplify` takes beside a plain answer to the chain, measured in one run.

Run it from a checkout: `python tests/benchmarks/simplify.py`. It may take twenty times as long as a plain chain.
"""

from __future__ import annotations

import shapecalc as sc
from tests.benchmarks.equiv import PAIRS, ROUNDS, seconds

CHAINS = {name: first for name, (first, _) in PAIRS.items()} | {
    "two that cancel": "N,C,H | transpose 2,0,1 | transpose 1,2,0",
    "four to one": "N,C,H,W | transpose 0,2,3,1 | transpose 0,3,1,2 | reshape N,C,H*W | transpose 0,2,1",
}
GOALS = ("transposes", "shuffles", "bytes")


def times(text: str) -> list[float]:
    """Return the least times of the plain chain and for each goal, measured in turns: others may use the machine."""
    shape, *stages = text.split("|")
    calls = [lambda: sc.chain(shape.strip(), *stages), *(lambda goal=goal: sc.simplify(text, goal) for goal in GOALS)]
    rounds = [[seconds(call) for call in calls] for _ in range(ROUNDS)]
    return [min(taken) for taken in zip(*rounds, strict=True)]


if __name__ == "__main__":
    print(" " * 32, *(goal.rjust(10) for goal in GOALS))
    for name, text in CHAINS.items():
        plain, *taken = times(text)
        print(f"{name.ljust(22)} {plain * 1e6:7.0f} us", *(f"{each / plain:10.1f}" for each in taken))
