"""How fast and in how little memory a file is carried out, against `cp` and `sync` of the same file in the same run.

Run it from a checkout: `python tests/benchmarks/files.py [FOLDER] [GIB]`. It needs room for three such files there.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

TURNS = 3
SIDE = 1 << 14


def private_memory(process):
    """Return the private memory that a process and its children hold, in KiB; what children share counts twice."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) + sum(
        map(private_memory, children)
    )


def taken(command):
    """Return the seconds that a command takes, and the most private memory it and its children hold, in MiB."""
    begin, peak = perf_counter(), 0
    with subprocess.Popen(command) as running:
        while running.poll() is None:
            peak = max(peak, private_memory(running.pid))
            sleep(0.01)
    if running.returncode:
        raise SystemExit(f"{command} ended with {running.returncode}")
    return perf_counter() - begin, peak / 1024


def main(folder: Path, gib: int) -> None:
    source, target = folder / "x.npy", folder / "y.npy"
    columns = (gib << 30) // 4 // SIDE
    data = np.lib.format.open_memmap(source, "w+", np.float32, (SIDE, columns))
    for start in range(0, SIDE, 256):
        data[start : start + 256] = np.arange(start, start + 256)[:, None]
    del data
    ask = [sys.executable, "-m", "shapecalc"]
    commands = {
        "cp and sync": ["sh", "-c", f"cp '{source}' '{folder / 'copy.npy'}' && sync '{folder / 'copy.npy'}'"],
        "reshape": [*ask, "reshape", str(source), "-1,64", "-o", str(target), "--force", "--quiet"],
        "transpose": [*ask, "transpose", str(source), "1,0", "-o", str(target), "--force", "--quiet"],
    }
    found = {name: [] for name in commands}
    for _ in range(TURNS):
        for name, command in commands.items():
            found[name].append(taken(command))
    base = statistics.median(seconds for seconds, _ in found["cp and sync"])
    print(f"{gib} GiB".ljust(14) + "seconds   to cp and sync   private MiB, at most")
    for name, runs in found.items():
        seconds = statistics.median(seconds for seconds, _ in runs)
        print(f"{name:<14}{seconds:7.1f}{seconds / base:12.2f}{max(peak for _, peak in runs):16.0f}")


if __name__ == "__main__":
    asked = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=asked[0] if asked else None) as scratch:
        main(Path(scratch), int(asked[1]) if len(asked) > 1 else 4)
