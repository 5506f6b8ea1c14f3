"""Measure `shapecalc check` as ratios to `json.loads` of the same lines, in one run.

Run it from a checkout: `python -m tests.benchmarks.check [COUNT]`, by default with 60,000 distinct cases. A whole
process of shapecalc is compared with the bare loop over lines in memory: by CPU time on one core, by the clock on all.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from math import prod
from operator import truediv
from pathlib import Path
from time import perf_counter

from tests.benchmarks.harness import ASK, ROOT, in_turns, inference, least, seconds_and_memory

ROUNDS = 3
LOADS = """
import json, sys
from time import perf_counter, process_time
lines = open(sys.argv[1]).read().splitlines()
start, cpu_start = perf_counter(), process_time()
for line in lines:
    json.loads(line)
print(perf_counter() - start, process_time() - cpu_start)
"""


def cases(count):
    """Yield distinct cases as JSON Lines: five ops, four dialects, one in twenty refused."""
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
    choices = [
        {"op": "reshape", "target": [0, -1], "allowzero": 0, "expect": [first, rest]},
        {"op": "reshape", "dialect": "onednn", "special_zero": 1, "target": [-1, first], "expect": [rest, first]},
        {"op": "reshape", "dialect": "numpy", "target": [rest, first, 1], "expect": [rest, first, 1]},
        {"op": "transpose", "perm": perm, "expect": [shape[axis] for axis in perm]},
        {"op": "shuffle", "dialect": "tensorrt", "first": perm, "to": [0, -1]},
        {"op": "flatten", "axis": 1, "expect": [first, rest]},
        {"op": "unsqueeze", "axes": [0], "expect": [1, *shape]},
    ]
    chosen = draw.choice(choices)
    if chosen["op"] == "shuffle":
        chosen["expect"] = [shape[perm[0]], prod(shape) // shape[perm[0]]]
    if draw.randrange(20) == 0:
        chosen = {"op": "reshape", "target": [first * 67, -1], "expect": {"error": "indivisible"}}
    versioned = {"opset": draw.randint(14, 25)} if "dialect" not in chosen else {}
    return {"id": draw.randrange(10**9), **chosen, "input": shape, **versioned}


def check_seconds(command, count):
    """Return the wall time and the CPU time of a `shapecalc check` that passes all cases."""
    start, used = perf_counter(), children_seconds()
    message = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stderr
    assert message == f"shapecalc: {count:,} passed\n", message
    return perf_counter() - start, children_seconds() - used


def loads_seconds(path):
    """Return the wall time and the CPU time of the bare loop of `json.loads`."""
    return tuple(map(float, subprocess.check_output([sys.executable, "-c", LOADS, path]).split()))


def columns(seconds):
    """Return the wall times, and the CPU times."""
    return list(zip(*seconds, strict=True))


def children_seconds():
    """Return the CPU time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(count):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        with path.open("w") as file:
            file.writelines(cases(count))
        checking, cores = [*ASK, "check", str(path)], f"{len(os.sched_getaffinity(0))} cores"
        rows = {"check, one core": ["--jobs", "1"], f"check, {cores}": [], "check --json": ["--json"]}
        calls = {name: partial(check_seconds, [*checking, *more], count) for name, more in rows.items()}
        times = in_turns(ROUNDS, {"json.loads": partial(loads_seconds, str(path)), **calls})
        (inferred,) = least(9, inference(), number=500)
        print(f"{'':28} {'by the clock':>20} {'CPU time':>20}")
        loads = columns(times["json.loads"])
        for name, seconds in times.items():
            cells, per_case = [], []
            for ours, base in zip(columns(seconds), loads, strict=True):
                ratio = statistics.median(map(truediv, ours, base))
                per_case.append(statistics.median(ours) / count)
                cells.append(f"{per_case[-1] * 1e6:6.2f} us x{ratio:5.2f}")
            onnx_ratio = f"  {inferred / per_case[-1]:.1f} x ONNX" * (name in rows)
            print(f"{name.ljust(28)} {cells[0]:>20} {cells[1]:>20}{onnx_ratio}")
        print(f"peak memory, {cores}: {seconds_and_memory(checking, 'VmRSS')[1]:.0f} MiB for all processes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
