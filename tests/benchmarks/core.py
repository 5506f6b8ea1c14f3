"""How fast a question is answered, as ratios of what people use today, measured in one run.

Run it from a checkout: `python tests/benchmarks/core.py`. Whole processes are compared with NumPy's
one-liner in the same environment, answers in a process with building and inferring a one-node ONNX model.
The rows are interleaved and the medians taken, since machines are noisy.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import timeit
from pathlib import Path
from time import perf_counter

ROUNDS = 31
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""What a user has: with PYTHONDONTWRITEBYTECODE, say, every start would compile everything again."""
NUMPY = "import numpy as np; print(np.empty((2,3,4)).reshape(2,-1).shape)"
SHAPECALC = str(Path(sys.executable).with_name("shapecalc"))
PROCESSES = {
    "NumPy one-liner": [sys.executable, "-c", NUMPY],
    "python -c pass": [sys.executable, "-c", "pass"],
    "shapecalc reshape 2,3,4 0,-1": [SHAPECALC, "reshape", "2,3,4", "0,-1"],
    "shapecalc transpose 2,3,4 1,0,2": [SHAPECALC, "transpose", "2,3,4", "1,0,2"],
    "shapecalc shuffle 2,3,4 --to 0,-1": [SHAPECALC, "shuffle", "2,3,4", "--to", "0,-1"],
    "shapecalc reshape 2,3,4 0,-1 --json": [SHAPECALC, "reshape", "2,3,4", "0,-1", "--json"],
    "shapecalc reshape 2,3,4 0,-1 --expect 2,12 -q": [SHAPECALC, "reshape", "2,3,4", "0,-1", "--expect", "2,12", "-q"],
    "shapecalc flatten N,C,H --where N=8 -d torch": [SHAPECALC, "flatten", "N,C,H", "--where", "N=8", "-d", "torch"],
    "shapecalc reshape 2,3,4 5,-1 (refused)": [SHAPECALC, "reshape", "2,3,4", "5,-1"],
    "shapecalc reshape 2,3,4 0,-1 --as numpy": [SHAPECALC, "reshape", "2,3,4", "0,-1", "--as", "numpy"],
    "shapecalc chain '2,3,4 | transpose' (Typer)": [SHAPECALC, "chain", "2,3,4 | transpose"],
}


def process_seconds() -> dict[str, float]:
    """Return the median wall time of each process, run in turns."""
    times: dict[str, list[float]] = {name: [] for name in PROCESSES}
    for _ in range(ROUNDS):
        for name, command in PROCESSES.items():
            start = perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=ENVIRONMENT)
            times[name].append(perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def answer_seconds() -> dict[str, float]:
    """Return the median time of one answer in this process, measured in turns."""
    import onnx
    from onnx import TensorProto, helper

    import shapecalc as sc

    def inferred():
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "g", [x], [y], [helper.make_tensor("s", TensorProto.INT64, [2], [0, -1])])
        return onnx.shape_inference.infer_shapes(helper.make_model(graph))

    calls = {
        "ONNX: build a model of one node, infer": inferred,
        "sc.reshape((2,3,4), (0,-1))": lambda: sc.reshape((2, 3, 4), (0, -1)),
        "sc.shuffle((2,3,4), first=(1,0,2), to=(2,-1,3))": lambda: sc.shuffle(
            (2, 3, 4), first=(1, 0, 2), to=(2, -1, 3)
        ),
        'sc.reshape(("N","C","H","W"), (0,-1,64))': lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)),
        "the same with what it assumes": lambda: sc.reshape(("N", "C", "H", "W"), (0, -1, 64)).assumes,
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(timeit.timeit(call, number=500) / 500)
    return {name: statistics.median(taken) for name, taken in times.items()}


def table(seconds: dict[str, float], unit: float, symbol: str) -> None:
    """Print each median and its ratio to the first row's."""
    base = next(iter(seconds.values()))
    for name, taken in seconds.items():
        print(f"{name.ljust(50)} {taken / unit:8.1f} {symbol}  {taken / base:5.2f}")


if __name__ == "__main__":
    print("whole processes".ljust(50) + "     median   ratio")
    table(process_seconds(), 1e-3, "ms")
    print("\nin one process".ljust(51) + "     median   ratio")
    table(answer_seconds(), 1e-6, "us")
