"""Judging models: how long `shapecalc model` takes, against loading the model and inferring its shapes with onnx.

    python tests/benchmarks/models.py [FOLDER]

All are whole processes, one after the other, in turns; the times are those of the CPU, and the ratios are of the
medians. The models: 50,000 nodes that are alike, 50,000 of which each has other shapes, 1 GiB of weights inside, and a
detector of 500 nodes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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


def block(place: int, last: str, nodes: list, constants: list, *, different: bool) -> str:
    """Add five nodes and their constants; return the last tensor."""
    name = str(place) if different else ""
    if different or not place:
        constants.append(numpy_helper.from_array(np.array([0, -1, 4]), f"split{name}"))
        constants.append(numpy_helper.from_array(np.array([0, -1]), f"joined{name}"))
        constants.append(numpy_helper.from_array(np.array([0, 0, 0, 4]), f"pads{name}"))
    nodes += [
        helper.make_node("Reshape", [last, f"split{name}"], [f"a{place}"], name=f"/Reshape_{place}"),
        helper.make_node("Transpose", [f"a{place}"], [f"b{place}"], name=f"/Transpose_{place}", perm=[0, 2, 1]),
        helper.make_node("Relu", [f"b{place}"], [f"c{place}"], name=f"/Relu_{place}"),
        helper.make_node("Reshape", [f"c{place}", f"joined{name}"], [f"d{place}"], name=f"/Flat_{place}"),
        helper.make_node("Pad", [f"d{place}", f"pads{name}"], [f"e{place}"], name=f"/Pad_{place}")
        if different
        else helper.make_node("Add", [f"d{place}", last], [f"e{place}"], name=f"/Add_{place}"),
    ]
    return f"e{place}"


def chain(path: Path, nodes_wanted: int, *, different: bool) -> Path:
    nodes: list = []
    constants: list = []
    last = "x"
    for place in range(nodes_wanted // 5):
        last = block(place, last, nodes, constants, different=different)
    return saved(path, nodes, last, constants, ["N", 64])


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


def main(folder: Path) -> None:
    compare("50,000 nodes alike", chain(folder / "alike.onnx", NODES, different=False), INFERRED)
    compare("50,000 nodes all different", chain(folder / "different.onnx", NODES, different=True), INFERRED)
    compare("500 nodes", chain(folder / "small.onnx", 500, different=True), INFERRED)
    compare("1 GiB of weights", heavy(folder / "heavy.onnx"), LOADED)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as scratch:
        main(Path(scratch))
