"""How fast cases are checked, as ratios of `json.loads` over the same lines, measured in one run.

Run it from a checkout: `python tests/benchmarks/check.py [COUNT]`, by default a million distinct cases. What
is compared is a whole process of ours with the bare loop over lines that are in memory already; the rows are
interleaved and the medians taken, since machines are noisy.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import timeit
from math import prod
from pathlib import Path
from time import perf_counter, sleep

ROOT = Path(__file__).parents[2]
ROUNDS = 3
LOADS = """
import json, sys
from time import perf_counter
lines = open(sys.argv[1]).read().splitlines()
start = perf_counter()
for line in lines:
    json.loads(line)
print(perf_counter() - start)
"""


def cases(count):
    """Yield distinct cases as JSON Lines: five ops, four dialects, one in twenty to be refused."""
    draw, seen = random.Random(0), set()
    while len(seen) < count:
        shape = [draw.randint(1, 64) for _ in range(draw.randint(2, 5))]
        line = json.dumps(case(draw, shape))
        if line not in seen:
            seen.add(line)
            yield line + "\n"


def case(draw, shape):
    """Return one case on an input shape."""
    first, rest = shape[0], prod(shape[1:])
    perm = draw.sample(range(len(shape)), len(shape))
    made = [
        {"op": "reshape", "target": [0, -1], "allowzero": 0, "expect": [first, rest]},
        {"op": "reshape", "dialect": "onednn", "special_zero": 1, "target": [-1, first], "expect": [rest, first]},
        {"op": "reshape", "dialect": "numpy", "target": [rest, first, 1], "expect": [rest, first, 1]},
        {"op": "transpose", "perm": perm, "expect": [shape[axis] for axis in perm]},
        {"op": "shuffle", "dialect": "tensorrt", "first": perm, "to": [0, -1]},
        {"op": "flatten", "axis": 1, "expect": [first, rest]},
        {"op": "unsqueeze", "axes": [0], "expect": [1, *shape]},
    ]
    chosen = draw.choice(made)
    if chosen["op"] == "shuffle":
        chosen["expect"] = [shape[perm[0]], prod(shape) // shape[perm[0]]]
    if draw.randrange(20) == 0:
        chosen = {"op": "reshape", "target": [first * 67, -1], "expect": {"error": "indivisible"}}
    versioned = {"opset": draw.randint(14, 25)} if "dialect" not in chosen else {}
    return {"id": draw.randrange(10**9), **chosen, "input": shape, **versioned}


def seconds(command):
    """Return the wall time of a process of ours, and what it printed."""
    start = perf_counter()
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return perf_counter() - start, ran.stdout, ran.stderr


def onnx_seconds():
    """Return the median time of building a one-node ONNX model and inferring its shapes."""
    import onnx
    from onnx import TensorProto, helper

    def inferred():
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "g", [x], [y], [helper.make_tensor("s", TensorProto.INT64, [2], [0, -1])])
        return onnx.shape_inference.infer_shapes(helper.make_model(graph))

    return statistics.median(timeit.timeit(inferred, number=500) / 500 for _ in range(9))


def peak_mib(command):
    """Return the largest resident memory of a process and of those it starts, all together, in MiB."""
    running, most = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT), 0
    while running.poll() is None:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        pids = [running.pid, *children.read_text().split()] if children.exists() else [running.pid]
        most = max(most, sum(_resident(pid) for pid in pids))
        sleep(0.05)
    return most


def _resident(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        with path.open("w") as file:
            file.writelines(cases(count))
        checking = [sys.executable, "-m", "shapecalc", "check", str(path)]
        rows = {
            "check, one core": [*checking, "--jobs", "1"],
            f"check, {len(os.sched_getaffinity(0))} cores": checking,
            "check --json": [*checking, "--json"],
        }
        loads, times = [], {name: [] for name in rows}
        for _ in range(ROUNDS):
            loads.append(float(seconds([sys.executable, "-c", LOADS, str(path)])[1]))
            for name, command in rows.items():
                taken, _, told = seconds(command)
                assert told == f"shapecalc: {count:,} passed\n", told
                times[name].append(taken)
        base, inferred = statistics.median(loads), onnx_seconds()
        print(f"{'json.loads'.ljust(28)} {base / count * 1e6:6.2f} us a case  ratio  1.00")
        for name, taken in times.items():
            each = statistics.median(taken) / count
            ratio = statistics.median(ours / theirs for ours, theirs in zip(taken, loads, strict=True))
            print(f"{name.ljust(28)} {each * 1e6:6.2f} us a case  ratio {ratio:5.2f}  {inferred / each:5.0f} x ONNX")
        print(f"peak memory, {len(os.sched_getaffinity(0))} cores: {peak_mib(checking):.0f} MiB for all processes")


if __name__ == "__main__":
    main()
