"""How long `equiv` takes for what it proves, beside plain answers to one of the chains, measured in one run.

Run it from a checkout: `python tests/benchmarks/equiv.py`. A proof may take twenty times as long as a plain chain.
"""

from __future__ import annotations

import timeit

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
    "axes that mix": ("12,10 | transpose 1,0 | reshape 8,15 | flatten", "| transpose 1,0 | reshape 8,15 | flatten"),
    "same when 2 divides C": ("C,H | reshape C/2,2,H | reshape -1", "| reshape -1 | reshape C*H"),
}


def seconds(call) -> float:
    """Return the time of one call."""
    return timeit.timeit(call, number=20) / 20


def ratios() -> dict[str, tuple[float, float]]:
    """Return the least times of the plain chain and of the proof, measured in turns: others may use the machine."""
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
        print(f"{name.ljust(24)} {plain * 1e6:7.0f} us {proof * 1e6:7.0f} us  {proof / plain:5.1f}")
