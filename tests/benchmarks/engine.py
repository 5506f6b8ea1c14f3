"""Measure the copies of the engine as ratios to NumPy's copy of the same transpose, in one run.

Run it from a checkout: `python -m tests.benchmarks.engine [--seed N] [--most MIB] [--drawn N] [--budget SECONDS]`, and
with `--device` for CUDA only. The seed draws the cases: ten real layouts of five widths and six sizes, and random
transposes.

The first part runs on one core and measures CPU time. Ratios are medians of interleaved pairs; those below 0.95 are
measured again. All of `run` is timed, with a plan that is in its table; below 1 MiB, the copy alone is timed as well.
The second part runs on two cores and measures wall time, also of torch's copy if torch is installed. Other processes
distort it, so their load is printed. `--device` prints the gigabytes read and written a second, also for CuPy's copy
and for a plain copy on the device.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import statistics
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
import shapecalc as sc
from shapecalc.engine import run
from shapecalc.engine.copying import choose_copy_function
from shapecalc.engine.execute import BackendError
from shapecalc.engine.execute import import_cupy as cupy_or_reason
from tests.benchmarks.layouts import MIB, both_seconds, layouts, numbers, paired, random_transposes

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

BOUND = 0.95
"""The minimum for each ratio."""
SLOW_SECONDS = 20e-6
"""The time from which a copy of NumPy counts as a slow one of less than 1 MiB."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Options of glibc's `mallopt`: the limit of retained free memory, and the size from which none is retained."""


def steady_memory():
    """Make glibc retain freed blocks below 32 MiB, so that page faults do not disturb single measurements."""
    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 32 * MIB)
        ctypes.CDLL(None).mallopt(TRIM_THRESHOLD, 1 << 30)


@contextmanager
def report_load():
    """Print the number of cores that other processes used during the block, and the load of the system."""

    def ticks():
        stat = Path("/proc/stat")
        return sum(map(int, stat.read_text().split()[1:4])) / os.sysconf("SC_CLK_TCK") if stat.exists() else 0

    before = perf_counter(), ticks() - process_time()
    yield
    share = max(0.0, (ticks() - process_time() - before[1]) / (perf_counter() - before[0]))
    print(f"others used {share:.2f} of {os.cpu_count()} cores meanwhile; load {os.getloadavg()[0]:.2f}")


def measure_on_one_core(cases, budget):
    """Print each case, and return the ratio of CPU time, NumPy's CPU time and the bytes of each."""
    print("layout            width      MiB  ratio   wall  of a plain copy  shape and permutation")
    rows = []
    for name, width, shape, perm in cases:
        x = numbers(shape, width)
        ratio, wall, plain, other, note = measure_case(x, perm, budget)
        rows.append((ratio, other, x.nbytes))
        print_row(name, x, f"{ratio:6.2f} {wall:6.2f} {plain:8.2f}        ", f"{shape} {perm}{note}")
    return rows


def print_row(name, x, figures, description):
    """Print a row."""
    print(f"{name:17} {x.itemsize:5} {x.nbytes / MIB:8.2f} {figures} {description}", flush=True)


def measure_case(x, perm, budget):
    """Return the ratios to NumPy's copy in CPU and wall time and to a plain copy, NumPy's CPU time, and a note."""
    trace, view = sc.transpose(x.shape, perm), x.transpose(perm)
    whole, theirs = partial(run, trace, x, contiguous=True), partial(np.ascontiguousarray, view)
    own, other, ratio, wall = measure_twice_if_low(whole, theirs, budget)
    note = ""
    if x.nbytes < MIB:
        target, fill = np.empty(view.shape, view.dtype), choose_copy_function(view)
        alone = paired(lambda: fill(target, view), lambda: np.copyto(target, view), budget)[2]
        note = f", the copy alone {alone:.2f}"
    return ratio, wall, statistics.median(both_seconds(x.copy)[0] for _ in range(5)) / own, other, note


def measure_twice_if_low(ours, theirs, budget):
    """Return the result of `paired`; if the ratio is low, the better of two measurements."""
    first = paired(ours, theirs, budget)
    return first if first[2] >= BOUND else max(first, paired(ours, theirs, 2 * budget, 21), key=lambda row: row[2])


def print_summary(name, ratios):
    """Print the mean of the ratios, the median, the least, and the number below the bound."""
    if ratios:
        short = f"below {BOUND}: {sum(ratio < BOUND for ratio in ratios)} of {len(ratios)}"
        means = f"geometric mean {statistics.geometric_mean(ratios):.2f}, median {statistics.median(ratios):.2f}"
        print(f"{name}: {means}, least {min(ratios):.2f}, {short}")


def print_summary_by_size(name, rows):
    """Print the summary of the cases from 1 MiB on, of the smaller ones, and of those that take NumPy 20 us."""
    print_summary(f"{name}, from 1 MiB", [ratio for ratio, _, size in rows if size >= MIB])
    print_summary(f"{name}, below 1 MiB", [ratio for ratio, _, size in rows if size < MIB])
    slow = [ratio for ratio, seconds, size in rows if size < MIB and seconds >= SLOW_SECONDS]
    print_summary(f"{name}, below 1 MiB, of 20 us or more", slow)


def measure_on_two_cores(cases, budget):
    """Print the ratios of NumPy's wall times to those of the engine and of torch with two threads."""
    ours = [wall_ratio("", case, budget) for case in cases]
    print_summary("two threads, on the wall", ours)
    if torch:
        theirs = [wall_ratio("torch", case, budget) for case in cases]
        print_summary(f"torch {torch.__version__} with {torch.get_num_threads()} threads", theirs)
        print(f"ahead of torch: {sum(own >= other for own, other in zip(ours, theirs, strict=True))} of {len(ours)}")
    else:
        print("torch is not installed")


def wall_ratio(library, case, budget):
    """Print and return the ratio of NumPy's wall time to that of torch or, for '', the engine."""
    name, width, shape, perm = case
    x, trace = numbers(shape, width), sc.transpose(shape, perm)
    copy = torch.from_numpy(x).permute(perm).contiguous if library else partial(run, trace, x, contiguous=True)
    ratio = paired(copy, partial(np.ascontiguousarray, x.transpose(perm)), budget)[3]
    print_row(name, x, f"{ratio:6.2f} {library:7}", f"{shape} {perm}")
    return ratio


def on_the_device(cupy, cases, budget):
    """Print for each case the gigabytes read and written a second, from launch to the end of the last kernel."""
    print("layout            width      MiB   GB/s  CuPy's  plain  shape and permutation")
    for name, width, shape, perm in cases:
        x = cupy.asarray(numbers(shape, width))
        trace, target = sc.transpose(shape, perm), cupy.empty(shape, x.dtype)
        calls = (
            lambda: run(trace, x, "cupy", contiguous=True),
            lambda: cupy.ascontiguousarray(x.transpose(perm)),
            lambda: target.data.copy_from_device_async(x.data, x.nbytes),
        )
        ours, theirs, plain = (2e-9 * x.nbytes / device_seconds(cupy, call, budget) for call in calls)
        print_row(name, x, f"{ours:6.1f} {theirs:7.1f} {plain:6.1f} ", f"{shape} {perm}")


def device_seconds(cupy, call, budget):
    """Return the median seconds of a synchronized call, without the first one, which compiles."""
    seconds, end = [], perf_counter() + 3 * budget
    while len(seconds) < 4 or perf_counter() < end:
        cupy.cuda.Device().synchronize()
        start = perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        seconds.append(perf_counter() - start)
    return statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="1", help="draws the cases")
    parser.add_argument("--most", type=int, default=512, help="leave out layouts of more MiB")
    parser.add_argument("--drawn", type=int, default=300, help="the number of random transposes")
    parser.add_argument("--budget", type=float, default=0.05, help="the least seconds for a case")
    parser.add_argument("--device", action="store_true", help="measure CuPy's device alone")
    options = parser.parse_args()
    steady_memory()
    chosen = [case for case in layouts(options.seed) if np.prod(case[2]) * case[1] <= options.most * MIB]
    large = [case for case in chosen if np.prod(case[2]) * case[1] >= 8 * MIB]
    if options.device:
        try:
            on_the_device(cupy_or_reason(), large, options.budget)
        except BackendError as error:
            sys.exit(str(error))
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    with report_load():
        real, whatever = (
            measure_on_one_core(chosen, options.budget),
            measure_on_one_core(random_transposes(options.seed, options.drawn), options.budget),
        )
        print_summary_by_size("layouts, one core", real)
        print_summary_by_size("drawn, one core", whatever)
    os.sched_setaffinity(0, cores)
    if len(cores) > 1:
        with report_load():
            measure_on_two_cores(large, options.budget)


if __name__ == "__main__":
    main()
