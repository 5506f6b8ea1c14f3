"""How fast the engine copies, as ratios to NumPy's own copy of the same transpose, measured in one run.

Run it from a checkout: `python tests/benchmarks/engine.py [--seed N] [--most MIB] [--drawn N] [--budget SECONDS]`, and
on a CUDA device alone with `--device`. A seed draws the cases: ten real layouts of five widths and six sizes, and
transposes that nobody chose.

First all is bound to one core, and the processor's time counts: ratios are medians of interleaved pairs, measured once
more where they fall short of 0.95. From 1 MiB on the whole of `run` is timed; below that the copy without the plan, and
`run` beside it. Then, on two cores, time on the wall counts, beside torch's own copy where torch is installed. A
machine that others use distorts that, so the run says how busy they kept it. On the device the gigabytes read and
written a second are printed, beside those of CuPy's own copy of the same transpose and of a plain copy there.
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
from shapecalc.engine.copying import choose_fill
from shapecalc.engine.execute import BackendError
from shapecalc.engine.execute import import_cupy as cupy_or_reason
from tests.benchmarks.layouts import MIB, both_seconds, drawn, layouts, numbers, paired

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

BOUND = 0.95
"""What no ratio should fall short of."""
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Settings of glibc's `mallopt`: how much freed memory is kept, and from which size on memory is never kept."""


def steady_memory():
    """Keep freed memory below 32 MiB, as glibc does in time. Else pages are mapped now for one, now for the other."""
    with suppress(AttributeError, OSError):  # elsewhere memory is as it comes
        ctypes.CDLL(None).mallopt(MMAP_THRESHOLD, 32 * MIB)
        ctypes.CDLL(None).mallopt(TRIM_THRESHOLD, 1 << 30)


@contextmanager
def told_load():
    """Print how many cores others used meanwhile, and the system's load."""

    def ticks():
        stat = Path("/proc/stat")
        return sum(map(int, stat.read_text().split()[1:4])) / os.sysconf("SC_CLK_TCK") if stat.exists() else 0

    before = perf_counter(), ticks() - process_time()
    yield
    share = max(0.0, (ticks() - process_time() - before[1]) / (perf_counter() - before[0]))
    print(f"others used {share:.2f} of {os.cpu_count()} cores meanwhile; load {os.getloadavg()[0]:.2f}")


def on_one_core(cases, budget):
    """Print every case, and return the ratios of the processor's time."""
    print("layout            width      MiB  ratio   wall  of a plain copy  shape and permutation")
    found = []
    for name, width, shape, perm in cases:
        x = numbers(shape, width)
        ratio, wall, plain, more = one_case(x, perm, budget)
        found.append(ratio)
        put(name, x, f"{ratio:6.2f} {wall:6.2f} {plain:8.2f}        ", f"{shape} {perm}{more}")
    return found


def put(name, x, figures, behind):
    """Print a row."""
    print(f"{name:17} {x.itemsize:5} {x.nbytes / MIB:8.2f} {figures} {behind}", flush=True)


def one_case(x, perm, budget):
    """Return the ratios to NumPy's copy, in two clocks, the ratio to a plain copy, and what else is to be said."""
    trace, view = sc.transpose(x.shape, perm), x.transpose(perm)
    whole, theirs = partial(run, trace, x, contiguous=True), partial(np.ascontiguousarray, view)
    if x.nbytes >= MIB:
        own, _, ratio, wall, more = *judged(whole, theirs, budget), ""
    else:
        target, fill = np.empty(view.shape, view.dtype), choose_fill(view)
        own, _, ratio, wall = judged(lambda: fill(target, view), lambda: np.copyto(target, view), budget)
        more = f", with the plan {paired(whole, theirs, budget)[2]:.2f}"
    return ratio, wall, statistics.median(both_seconds(x.copy)[0] for _ in range(5)) / own, more


def judged(ours, theirs, budget):
    """Return what `paired` does, of the better of two measurements where the first falls short."""
    first = paired(ours, theirs, budget)
    return first if first[2] >= BOUND else max(first, paired(ours, theirs, 2 * budget, 21), key=lambda row: row[2])


def summed(name, ratios):
    """Print the mean of the ratios, and how many fall short."""
    if ratios:
        short = f"below {BOUND}: {sum(ratio < BOUND for ratio in ratios)} of {len(ratios)}"
        print(f"{name}: geometric mean {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}, {short}")


def on_two_cores(cases, budget):
    """Print the ratios of wall times with two threads to NumPy's: first all of ours, then torch's in the same run."""
    ours = [on_the_wall("", case, budget) for case in cases]
    summed("two threads, on the wall", ours)
    if torch:
        theirs = [on_the_wall("torch", case, budget) for case in cases]
        summed(f"torch {torch.__version__} with {torch.get_num_threads()} threads", theirs)
        print(f"ahead of torch: {sum(own >= other for own, other in zip(ours, theirs, strict=True))} of {len(ours)}")
    else:
        print("torch is not installed")


def on_the_wall(whose, case, budget):
    """Print and return the ratio of NumPy's wall time to that of a copy by torch or by the engine."""
    name, width, shape, perm = case
    x, trace = numbers(shape, width), sc.transpose(shape, perm)
    copy = torch.from_numpy(x).permute(perm).contiguous if whose else partial(run, trace, x, contiguous=True)
    ratio = paired(copy, partial(np.ascontiguousarray, x.transpose(perm)), budget)[3]
    put(name, x, f"{ratio:6.2f} {whose:7}", f"{shape} {perm}")
    return ratio


def on_the_device(cupy, cases, budget):
    """Print every case with CuPy: gigabytes read and written a second, from launch to the end of the last kernel."""
    print("layout            width      MiB   GB/s  CuPy's  plain  shape and permutation")
    for name, width, shape, perm in cases:
        x = cupy.asarray(numbers(shape, width))
        trace, target = sc.transpose(shape, perm), cupy.empty(shape, x.dtype)
        calls = (
            lambda: run(trace, x, "cupy", contiguous=True),
            lambda: cupy.ascontiguousarray(x.transpose(perm)),
            lambda: target.data.copy_from_device_async(x.data, x.nbytes),
        )
        ours, theirs, plain = (2e-9 * x.nbytes / seconds_of(cupy, call, budget) for call in calls)
        put(name, x, f"{ours:6.1f} {theirs:7.1f} {plain:6.1f} ", f"{shape} {perm}")


def seconds_of(cupy, call, budget):
    """Return the median seconds of a call that a device is waited for. The first one compiles, and is not counted."""
    seconds, end = [], perf_counter() + 3 * budget
    while len(seconds) < 4 or perf_counter() < end:
        cupy.cuda.Device().synchronize()
        began = perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        seconds.append(perf_counter() - began)
    return statistics.median(seconds[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", default="1", help="draws the cases")
    parser.add_argument("--most", type=int, default=512, help="leave out layouts of more MiB")
    parser.add_argument("--drawn", type=int, default=300, help="how many transposes nobody chose")
    parser.add_argument("--budget", type=float, default=0.05, help="the least seconds for a case")
    parser.add_argument("--device", action="store_true", help="measure CuPy's device alone")
    asked = parser.parse_args()
    steady_memory()
    chosen = [case for case in layouts(asked.seed) if np.prod(case[2]) * case[1] <= asked.most * MIB]
    large = [case for case in chosen if np.prod(case[2]) * case[1] >= 8 * MIB]
    if asked.device:
        try:
            on_the_device(cupy_or_reason(), large, asked.budget)
        except BackendError as error:
            sys.exit(str(error))
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    with told_load():
        real, whatever = on_one_core(chosen, asked.budget), on_one_core(drawn(asked.seed, asked.drawn), asked.budget)
        summed("layouts, one core", real)
        summed("drawn, one core", whatever)
    os.sched_setaffinity(0, cores)
    if len(cores) > 1:
        with told_load():
            on_two_cores(large, asked.budget)


if __name__ == "__main__":
    main()
