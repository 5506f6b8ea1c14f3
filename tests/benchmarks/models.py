"""Judging models: how long `shapecalc model` takes, against loading the model and inferring its shapes with onnx.

    python tests/benchmarks/models.py [FOLDER] [SEED]

All are whole processes, one after the other, in turns; the times are those of the CPU, and the ratios are of the
medians. The models: 50,000 nodes that are alike, 50,000 of which each has other shapes and whose operators are drawn,
1 GiB of weights inside, and 500 nodes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TURNS = 5
NODES = 50_000
MEASURED = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as status:  # the usage counts the memory of the process that began this one, too
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


DRAWN = {"Pad": [[0, 0, 0, 4]], "Slice": [[0], [-4], [1]], "Softmax": [], "Neg": []}
"""The operators of which the fifth node of a block is drawn, with their constants."""


def block(place: int, last: str, nodes: list, constants: list, random: Random | None) -> str:
    """Add five nodes and their constants; return the last tensor."""
    name, given = "", [last]
    op = "Add"
    if random:
        name, op = str(place), random.choices([*DRAWN], [6, 3, 2, 2])[0]
        given = [f"{op}{place}.{at}" for at in range(len(DRAWN[op]))]
        constants += map(numpy_helper.from_array, map(np.array, DRAWN[op]), given)
    if random or not place:
        constants.append(numpy_helper.from_array(np.array([0, -1, 4]), f"split{name}"))
        constants.append(numpy_helper.from_array(np.array([0, -1]), f"joined{name}"))
    nodes += [
        helper.make_node("Reshape", [last, f"split{name}"], [f"a{place}"], name=f"/Reshape_{place}"),
        helper.make_node("Transpose", [f"a{place}"], [f"b{place}"], name=f"/Transpose_{place}", perm=[0, 2, 1]),
        helper.make_node("Relu", [f"b{place}"], [f"c{place}"], name=f"/Relu_{place}"),
        helper.make_node("Reshape", [f"c{place}", f"joined{name}"], [f"d{place}"], name=f"/Flat_{place}"),
        helper.make_node(op, [f"d{place}", *given], [f"e{place}"], name=f"/{op}_{place}"),
    ]
    return f"e{place}"


def chain(path: Path, nodes_wanted: int, random: Random | None = None) -> Path:
    """Write a model of many nodes; their operators and sizes are drawn if `random` is given."""
    nodes: list = []
    constants: list = []
    last = "x"
    for place in range(nodes_wanted // 5):
        last = block(place, last, nodes, constants, random)
    return saved(path, nodes, last, constants, ["N", 64 if random is None else 1 << 12])


def heavy(path: Path) -> Path:
    """Write a model whose weights take a gigabyte."""
    weights = [numpy_helper.from_array(np.zeros((1 << 12, 1 << 12), np.float32), f"w{at}") for at in range(16)]
    nodes = [helper.make_node("MatMul", [f"h{at}", f"w{at}"], [f"h{at + 1}"]) for at in range(16)]
    nodes.append(helper.make_node("Reshape", ["h16", "t"], ["y"]))
    nodes.insert(0, helper.make_node("Relu", ["x"], ["h0"]))
    return saved(path, nodes, "y", [*weights, numpy_helper.from_array(np.array([1, -1]), "t")], [1, 1 << 12])


def saved(path: Path, nodes: list, last: str, constants: list, dims: list) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_empty_tensor_value_info(last)],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def measured(code: str, path: Path) -> tuple[float, float]:
    """Return the seconds of the CPU and the megabytes that a process takes."""
    found = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, kilobytes = found.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


def compare(title: str, path: Path, base: str) -> None:
    """Print what the base and `shapecalc model` take, and their ratios."""
    turns = [(measured(base, path), measured(JUDGED, path)) for _ in range(TURNS)]
    (their_time, their_space), (our_time, our_space) = (
        [statistics.median(each[side][what] for each in turns) for what in (0, 1)] for side in (0, 1)
    )
    print(
        f"{title:>28}: {their_time:.2f} s and {their_space:.0f} MB, {our_time:.2f} s and {our_space:.0f} MB:"
        f" {our_time / their_time:.2f} times the time, {our_space / their_space:.2f} times the memory",
        flush=True,
    )


def main(folder: Path, seed: int) -> None:
    compare("50,000 nodes alike", chain(folder / "alike.onnx", NODES), INFERRED)
    compare("50,000 nodes all different", chain(folder / "different.onnx", NODES, Random(seed)), INFERRED)
    compare("500 nodes", chain(folder / "small.onnx", 500, Random(seed)), INFERRED)
    compare("1 GiB of weights", heavy(folder / "heavy.onnx"), LOADED)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        main(Path(scratch), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
