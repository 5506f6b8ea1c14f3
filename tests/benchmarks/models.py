"""Measure `shapecalc model` against loading the model and inferring its shapes with onnx.

    python -m tests.benchmarks.models [FOLDER] [SEED]

Whole processes are measured in turns, in CPU time; the ratios are those of the medians. The models: 50,000 equal nodes,
50,000 nodes with different shapes and random operators, 1 GiB of weights, and 500 nodes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from functools import partial
from random import Random

import onnx

from tests.benchmarks.harness import in_turns, scratch
from tests.models.text import model

TURNS = 5
NODES = 50_000
MEASURED = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as status:  # the usage includes the memory of the parent process
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(used.ru_utime + used.ru_stime, peak)
"""
LOADED = f"import onnx, sys; model = onnx.load(sys.argv[1])\n{MEASURED}"
INFERRED = f"import onnx, sys; onnx.shape_inference.infer_shapes(onnx.load(sys.argv[1]))\n{MEASURED}"
JUDGED = f"""
import os, sys
from contextlib import redirect_stdout
from shapecalc.__main__ import main
sys.argv = ["shapecalc", "model", sys.argv[1]]
with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
    try:
        main()
    except SystemExit:
        pass
{MEASURED}
"""
RANDOM_OPERATORS = {"Pad": "[0,0,0,4]", "Slice": "[0] [-4] [1]", "Softmax": "", "Neg": ""}
"""The operators of the fifth node of a block, with their constants."""


def blocks(count, random=None):
    """Return a model of `count` blocks of five nodes as text: equal ones, or with random operators and sizes."""
    lines = [f"x = (N,{4096 if random else 64}); split = [0,-1,4]; joined = [0,-1]; e0 = Relu x"]
    for at in range(count):
        split, joined, op, operands = "split", "joined", "Add", f"d{at}"
        if random:
            split, joined, op = "[0,-1,4]", "[0,-1]", random.choices([*RANDOM_OPERATORS], [6, 3, 2, 2])[0]
            operands = RANDOM_OPERATORS[op]
        lines.append(f"a{at} = Reshape e{at} {split}; b{at} = Transpose a{at} perm=[0,2,1]; c{at} = Relu b{at}")
        lines.append(f"d{at} = Reshape c{at} {joined}; e{at + 1} = {op} d{at} {operands}")
    return "\n".join(lines)


def heavy():
    """Return the text of a model with a gigabyte of weights."""
    products = [f"h{at + 1} = MatMul h{at} zeros(4096,4096)" for at in range(16)]
    return "\n".join(["x = (1,4096); h0 = Relu x", *products, "y = Reshape h16 [1,-1]"])


def measure_process(code, path):
    """Return the CPU time and the peak memory in MB of a process."""
    outcome = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, kilobytes = outcome.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


def compare(title, path, text, base):
    """Print time and memory of the base and of `shapecalc model`, and their ratios."""
    onnx.save(model(text), path)
    turns = in_turns(TURNS, {code: partial(measure_process, code, path) for code in (base, JUDGED)})
    (their_time, their_space), (our_time, our_space) = (
        map(statistics.median, zip(*results, strict=True)) for results in turns.values()
    )
    print(
        f"{title:>28}: {their_time:.2f} s and {their_space:.0f} MB, {our_time:.2f} s and {our_space:.0f} MB:"
        f" {our_time / their_time:.2f} times the time, {our_space / their_space:.2f} times the memory",
        flush=True,
    )


if __name__ == "__main__":
    with scratch() as (folder, arguments):
        path, seed = folder / "model.onnx", int(arguments[0]) if arguments else 0
        compare("50,000 nodes alike", path, blocks(NODES // 5), INFERRED)
        compare("50,000 nodes all different", path, blocks(NODES // 5, Random(seed)), INFERRED)
        compare("500 nodes", path, blocks(100, Random(seed)), INFERRED)
        compare("1 GiB of weights", path, heavy(), LOADED)
