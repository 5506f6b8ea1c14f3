"""Reading headers: how long `shapecalc match` takes over 200 files, against a loop that opens each and reads 4 KiB.

    python tests/benchmarks/match.py [FOLDER]

Both are measured in one process, in turns, so that the start of the program counts for neither. The times are those of
the CPU, which a busy machine does not stretch; the ratio is that of their medians.
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path
from time import process_time

import numpy as np

from shapecalc.cli.match import run_match
from shapecalc.cli.output import Output

FILES, TURNS = 200, 101
OPENED = 4096


def bare_loop(paths: list[str]) -> None:
    for path in paths:
        with open(path, "rb") as file:
            file.read(OPENED)


def matched(paths: list[str]) -> None:
    with redirect_stderr(io.StringIO()):
        assert run_match("float32[N,3,H,W]", paths, Output(), junit=None) == 0


def taken(run, paths: list[str]) -> float:
    begin = process_time()
    run(paths)
    return process_time() - begin


def main(folder: Path) -> None:
    paths = [str(folder / f"image{number}.npy") for number in range(FILES)]
    for path in paths:
        np.save(path, np.zeros((2, 3, 32, 32), np.float32))
    times = {run: [] for run in (bare_loop, matched)}
    for _ in range(TURNS):
        for run, found in times.items():
            found.append(taken(run, paths))
    base, ours = (statistics.median(found) for found in times.values())
    print(f"{FILES} headers: {base * 1e3:.2f} ms for the loop, {ours * 1e3:.2f} ms for match: {ours / base:.2f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        main(Path(scratch))
