"""Measure `shapecalc match` of 200 arrays, against a loop that reads 4 KiB of 200 files.

    python -m tests.benchmarks.match [FOLDER]

For each format there are 200 files with one array each, and one file with 200. Loop and match are measured in turns in
one process, without the start of the program, in CPU time. The ratio is that of the medians.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path

import numpy as np
import zarr
from safetensors.numpy import save_file

from shapecalc.cli.match import run_match
from shapecalc.cli.output import OutputOptions
from tests.benchmarks.harness import cpu_seconds, in_turns, medians, scratch

ARRAYS, TURNS = 200, 101
OPENED = 4096
ARRAY = np.zeros((2, 3, 32, 32), np.float32)


def write_npy(path: Path, _: int) -> Path:
    np.save(path, ARRAY)
    return path


def write_npz(path: Path, count: int) -> Path:
    np.savez(path, *[ARRAY] * count)
    return path


def write_safetensors(path: Path, count: int) -> Path:
    save_file({f"w{number}": ARRAY for number in range(count)}, path)
    return path


def write_zarr(path: Path, count: int) -> Path:
    options = {"shape": ARRAY.shape, "chunks": ARRAY.shape, "dtype": ARRAY.dtype, "fill_value": 0}
    if count == 1:
        zarr.create_array(path, **options)
    else:
        group = zarr.create_group(path)
        for number in range(count):
            group.create_array(f"a{number}", **options)
    return path / "zarr.json"


WRITERS = {"npy": write_npy, "npz": write_npz, "safetensors": write_safetensors, "zarr": write_zarr}


def bare_loop(paths: list[str]) -> None:
    for path in paths:
        with open(path, "rb") as file:
            file.read(OPENED)


def match_all(paths: list[str]) -> None:
    with redirect_stderr(io.StringIO()):
        assert run_match("float32[N,3,H,W]", paths, OutputOptions(), junit=None) == 0


def compare(title: str, opened: list[str], paths: list[str]) -> None:
    """Print the times of the loop and of match."""
    calls = {"loop": partial(bare_loop, opened), "match": partial(match_all, paths)}
    base, ours = medians(in_turns(TURNS, {name: partial(cpu_seconds, call) for name, call in calls.items()})).values()
    print(f"{title:>24}: {base * 1e3:.2f} ms for the loop, {ours * 1e3:.2f} ms for match: {ours / base:.2f}")


def main(folder: Path) -> None:
    for kind, write in WRITERS.items():
        paths = [folder / f"{number}.{kind}" for number in range(ARRAYS)]
        opened = [str(write(path, 1)) for path in paths]
        compare(f"{ARRAYS} .{kind}", opened, [*map(str, paths)])
        if kind != "npy":
            write(folder / f"all.{kind}", ARRAYS)
            compare(f"{ARRAYS} in one .{kind}", opened, [str(folder / f"all.{kind}")])


if __name__ == "__main__":
    with scratch() as (folder, _):
        main(folder)
