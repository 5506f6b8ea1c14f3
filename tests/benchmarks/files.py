"""How fast and in how little memory a file is carried out, against `cp` and `sync` of the same file in the same run.

Run it from a checkout: `python tests/benchmarks/files.py [FOLDER] [GIB]`. It needs room for three such files there.
"""

from __future__ import annotations

import statistics
from functools import partial

import numpy as np

from tests.benchmarks.harness import ASK, in_turns, scratch, seconds_and_memory

TURNS = 3
SIDE = 1 << 14


def main(folder, gib):
    source, copy = folder / "x.npy", folder / "copy.npy"
    columns = (gib << 30) // 4 // SIDE
    data = np.lib.format.open_memmap(source, "w+", np.float32, (SIDE, columns))
    for start in range(0, SIDE, 256):
        data[start : start + 256] = np.arange(start, start + 256)[:, None]
    del data
    more = ["-o", str(folder / "y.npy"), "--force", "--quiet"]
    commands = {
        "cp and sync": ["sh", "-c", f"cp '{source}' '{copy}' && sync '{copy}'"],
        "reshape": [*ASK, "reshape", str(source), "-1,64", *more],
        "transpose": [*ASK, "transpose", str(source), "1,0", *more],
    }
    found = in_turns(TURNS, {name: partial(seconds_and_memory, each, "RssAnon") for name, each in commands.items()})
    base = statistics.median(seconds for seconds, _ in found["cp and sync"])
    print(f"{gib} GiB".ljust(14) + "seconds   to cp and sync   private MiB, at most")
    for name, runs in found.items():
        seconds = statistics.median(seconds for seconds, _ in runs)
        print(f"{name:<14}{seconds:7.1f}{seconds / base:12.2f}{max(peak for _, peak in runs):16.0f}")


if __name__ == "__main__":
    with scratch() as (folder, asked):
        main(folder, int(asked[0]) if asked else 4)
