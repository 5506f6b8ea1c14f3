"""Helpers of the benchmarks: time and memory of calls and processes, measured in turns against noise."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import timeit
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import perf_counter, process_time

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""The environment without Python variables: PYTHONDONTWRITEBYTECODE, for one, makes every start compile the modules."""
ASK = [sys.executable, "-m", "shapecalc"]


def in_turns(rounds, calls):
    """Return the results of each call by name, one a round; report the rounds on stderr."""
    results = {name: [] for name in calls}
    for number in range(1, rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr)
        for name, call in calls.items():
            results[name].append(call())
    return results


def medians(results):
    """Return the median of each row."""
    return {name: statistics.median(times) for name, times in results.items()}


def cpu_seconds(call, number=1):
    """Return the CPU time of a call."""
    return timeit.timeit(call, number=number, timer=process_time) / number


def least(rounds, *calls, number=1):
    """Return the least CPU time of each call, measured in turns."""
    turns = [[cpu_seconds(call, number) for call in calls] for _ in range(rounds)]
    return [min(times) for times in zip(*turns, strict=True)]


def wall_seconds(command, stdin=""):
    """Return the wall time of a process."""
    start = perf_counter()
    subprocess.run(command, input=stdin, text=True, capture_output=True, check=False, env=ENVIRONMENT)
    return perf_counter() - start


def used_seconds(process):
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process, field):
    """Return the memory of a process and its children in KiB: all (`VmRSS`) or private (`RssAnon`).

    Shared pages count once a process.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # the process has ended
        return 0
    own = sum(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))
    return own + sum(memory(int(child), field) for child in children)


def with_memory(work, processes, field):
    """Call `work`; return its result and the peak memory of each process during it in KiB."""
    peaks, ended = [0 for _ in processes], Event()

    def poll():
        while not ended.wait(0.01):
            for index, process in enumerate(processes):
                peaks[index] = max(peaks[index], memory(process, field))

    thread = Thread(target=poll)
    thread.start()
    try:
        return work(), peaks
    finally:
        ended.set()
        thread.join()


def seconds_and_memory(command, field):
    """Return the wall time of a process, and the peak memory of it and its children in MiB."""
    start = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as running:
        code, (peak,) = with_memory(running.wait, [running.pid], field)
    if code:
        raise SystemExit(f"{command} ended with {code}")
    return perf_counter() - start, peak / 1024


def inference():
    """Return a function that builds an ONNX model of one node and infers its shapes."""
    import onnx
    from onnx import TensorProto, helper

    def build_and_infer():
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "g", [x], [y], [helper.make_tensor("s", TensorProto.INT64, [2], [0, -1])])
        return onnx.shape_inference.infer_shapes(helper.make_model(graph))

    return build_and_infer


@contextmanager
def scratch():
    """Yield a temporary folder, inside that of the first argument, and the other arguments."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        yield Path(folder), sys.argv[2:]
