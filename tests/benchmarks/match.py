"""Reading headers: how long `shapecalc match` takes over 200 arrays, against a loop that reads 4 KiB of 200 files.

    python tests/benchmarks/match.py [FOLDER]

Of each kind 200 files hold an array each, and one holds 200. Loop and match are measured in one process, in turns, so
that the start of the program counts for neither. The times are those of the CPU, which a busy machine does not
stretch; the ratio is that of their medians.
"""

from __future__ import annotations

import io
import json
import statistics
import struct
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path
from time import process_time

import numpy as np

from shapecalc.cli.check import run_match
from shapecalc.cli.output import Output

ARRAYS, TURNS = 200, 101
OPENED = 4096
ARRAY = np.zeros((2, 3, 32, 32), np.float32)
ZARR_ARRAY = {
    "shape": ARRAY.shape,
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": ARRAY.shape}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 0, "checksum": False}},
    ],
    "node_type": "array",
    "storage_transformers": [],
}
"""The metadata of an array as the Zarr library writes them."""


def write_npy(path: Path, _: int) -> Path:
    np.save(path, ARRAY)
    return path


def write_npz(path: Path, count: int) -> Path:
    np.savez(path, *[ARRAY] * count)
    return path


def write_safetensors(path: Path, count: int) -> Path:
    places = [(ARRAY.nbytes * number, ARRAY.nbytes * (number + 1)) for number in range(count)]
    header = {f"w{place[0]}": {"dtype": "F32", "shape": ARRAY.shape, "data_offsets": place} for place in places}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + ARRAY.tobytes() * count)
    return path


def write_zarr(path: Path, count: int) -> Path:
    path.mkdir()
    for number in range(count if count > 1 else 0):
        write_zarr(path / f"a{number}", 1)
    node = ZARR_ARRAY if count == 1 else {"node_type": "group"}
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "attributes": {}, **node}, indent=2))
    return path / "zarr.json"


WRITERS = {"npy": write_npy, "npz": write_npz, "safetensors": write_safetensors, "zarr": write_zarr}


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


def compare(title: str, opened: list[str], paths: list[str]) -> None:
    """Print what the loop and match take."""
    times = [(taken(bare_loop, opened), taken(matched, paths)) for _ in range(TURNS)]
    base, ours = (statistics.median(found) for found in zip(*times, strict=True))
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
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        main(Path(scratch))
