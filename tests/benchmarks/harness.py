"""What all benchmarks share: calls and processes measured in turns, and what they take. Machines are noisy."""

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
"""What a user has: with PYTHONDONTWRITEBYTECODE, say, every start would compile everything again."""
ASK = [sys.executable, "-m", "shapecalc"]


def in_turns(rounds, calls):
    """Return what each call returns in each round."""
    found = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(call())
    return found


def medians(found):
    """Return the median of each row."""
    return {name: statistics.median(times) for name, times in found.items()}


def cpu_seconds(call, number=1):
    """Return the time of the processor that a call takes: others may use the machine."""
    return timeit.timeit(call, number=number, timer=process_time) / number


def least(rounds, *calls, number=1):
    """Return the least time of the processor that each call takes, measured in turns."""
    turns = [[cpu_seconds(call, number) for call in calls] for _ in range(rounds)]
    return [min(times) for times in zip(*turns, strict=True)]


def wall_seconds(command, stdin=""):
    """Return the wall time of a process."""
    start = perf_counter()
    subprocess.run(command, input=stdin, text=True, capture_output=True, check=False, env=ENVIRONMENT)
    return perf_counter() - start


def used_seconds(process):
    """Return the seconds of the processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(process, field):
    """Return the KiB that a process and its children hold: all (`VmRSS`) or what is its own (`RssAnon`).

    What children share counts twice.
    """
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return 0
    own = sum(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))
    return own + sum(memory(int(each), field) for each in children)


def with_memory(work, processes, field):
    """Return what work returns, and the most KiB that each process holds meanwhile."""
    peaks, ended = [0 for _ in processes], Event()

    def look():
        while not ended.wait(0.01):
            for at, each in enumerate(processes):
                peaks[at] = max(peaks[at], memory(each, field))

    thread = Thread(target=look)
    thread.start()
    try:
        return work(), peaks
    finally:
        ended.set()
        thread.join()


def seconds_and_memory(command, field):
    """Return the wall time of a process, and the most MiB that it and its children hold."""
    begin = perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as running:
        code, (peak,) = with_memory(running.wait, [running.pid], field)
    if code:
        raise SystemExit(f"{command} ended with {code}")
    return perf_counter() - begin, peak / 1024


def inference():
    """Return the call that builds an ONNX model of one node and infers its shapes."""
    import onnx
    from onnx import TensorProto, helper

    def inferred():
        node = helper.make_node("Reshape", ["x", "s"], ["y"])
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([node], "g", [x], [y], [helper.make_tensor("s", TensorProto.INT64, [2], [0, -1])])
        return onnx.shape_inference.infer_shapes(helper.make_model(graph))

    return inferred


@contextmanager
def scratch():
    """Yield an empty folder, within the one that is the first argument, and the other arguments."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
        yield Path(folder), sys.argv[2:]
