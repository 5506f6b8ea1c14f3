"""Measure the time and memory of writing a reshaped or transposed file, against `cp` and `sync` of it, in one run.

Run it from a checkout: `python -m tests.benchmarks.files [FOLDER] [GIB]`. It needs space for three such files.
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
    results = in_turns(
        TURNS, {name: partial(seconds_and_memory, command, "RssAnon") for name, command in commands.items()}
    )
    base = statistics.median(seconds for seconds, _ in results["cp and sync"])
    print(f"{gib} GiB".ljust(14) + "seconds   to cp and sync   private MiB, at most")
    for name, runs in results.items():
        seconds = statistics.median(seconds for seconds, _ in runs)
        print(f"{name:<14}{seconds:7.1f}{seconds / base:12.2f}{max(peak for _, peak in runs):16.0f}")


if __name__ == "__main__":
    with scratch() as (folder, arguments):
        main(folder, int(arguments[0]) if arguments else 4)
