"""How long `equiv` takes for what it proves, beside plain answers to one of the chains, measured in one run.

Run it from a checkout: `python tests/benchmarks/equiv.py`. A proof may take twenty times as long as a plain chain.
"""

from __future__ import annotations

import timeit
from time import process_time

import shapecalc as sc

ROUNDS = 15
PAIRS = {
    "channels last": (
        "B,H*W,C | reshape B,H,W,C | transpose 0,3,1,2 -d torch",
        "| transpose 0,2,1 | reshape B,C,H,W",
    ),
    "window partition": (
        "N,C,H,W | reshape N,C,H/7,7,W/7,7 | transpose 0,2,4,3,5,1 | reshape -1,49,C",
        "| transpose 0,2,3,1 | reshape N,H/7,7,W/7,7,C | transpose 0,1,3,2,4,5 | reshape -1,49,C",
    ),
    "pixel shuffle": (
        "B,C*r*r,H,W | depth_to_space 2 -d torch",
        "| reshape B,C*r*r/4,2,2,H,W | transpose 0,1,4,2,5,3 | reshape B,C*r*r/4,2*H,2*W",
    ),
    "numbers": ("2,3,4 | transpose 1,0,2 | reshape 2,-1,3", "| transpose 1,0,2 | reshape 24 | reshape 2,4,3"),
    "flips and parts": (
        "N,C,H | flip 0 | slice ::2 | split 1 2 --part 1 | select -1 0",
        "| reshape N/2,2,C,H | select 1 1 | flip 0 | slice :,:,:1 | split 1 2 --part 1 | reshape N/2,C/2",
    ),
    "rolls": (
        "N,H,W,C | roll -3 1 | roll -3 2 | reshape N,H/7,7,W/7,7,C | transpose 0,1,3,2,4,5 | reshape -1,49,C",
        "| roll -3 2 | roll -2 1 | roll -1 1 | reshape N,H/7,7,W/7,7,C | transpose 0,1,3,2,4,5 | reshape -1,7,7,C | "
        "reshape -1,49,C",
    ),
    "parts of numbers": (
        "8,6,4 | slice 1:5,::2 | roll 1 0 | flip 2 | split 0 2 --part 1",
        "| roll 5 1 | roll -5 1 | slice 2:4 | slice :,::2,::-1",
    ),
    "axes that mix": ("12,10 | transpose 1,0 | reshape 8,15 | flatten", "| transpose 1,0 | reshape 8,15 | flatten"),
    "sizes that divide each other": (
        "N,6,C | reshape N,6,H,C/H | reshape N,6,C,H/C,C/H | transpose 0,1,3,2,4",
        "| reshape N,6,H,C/H | reshape N,6,H/C,C,C/H",
    ),
    "same when 2 divides C": ("C,H | reshape C/2,2,H | reshape -1", "| reshape -1 | reshape C*H"),
}


def seconds(call) -> float:
    """Return the time of one call in the process: others may use the machine."""
    return timeit.timeit(call, number=20, timer=process_time) / 20


def ratios() -> dict[str, tuple[float, float]]:
    """Return the least times of the plain chain and of the proof, measured in turns."""
    found = {}
    for name, (first, second) in PAIRS.items():
        shape, *stages = first.split("|")
        plain, proof = [], []
        for _ in range(ROUNDS):
            plain.append(seconds(lambda shape=shape, stages=stages: sc.chain(shape.strip(), *stages)))
            proof.append(seconds(lambda first=first, second=second: sc.equiv(first, second)))
        found[name] = min(plain), min(proof)
    return found


if __name__ == "__main__":
    for name, (plain, proof) in ratios().items():
        print(f"{name.ljust(30)} {plain * 1e6:7.0f} us {proof * 1e6:7.0f} us  {proof / plain:5.1f}")
