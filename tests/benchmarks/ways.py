"""Which way of a strided copy is fastest where: this measures and prints the table of `shapecalc/engine/fastest.py`.

Run it from a checkout: `python tests/benchmarks/ways.py [SEED] [SECONDS]`. Every way fills the same target with the
same source, in turns, on one core, in the processor's time. For each place of the table it prints how many copies were
drawn there, and for each way the geometric mean of its ratios to NumPy's own copy and the second least of ten.
Other seeds than those of `engine.py` are used, so that nothing is measured on what it was tuned to.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from shapecalc.engine.atoms import axes_of, steps
from shapecalc.engine.copying import FILLS, tiles_of
from shapecalc.engine.fastest import IN_ORDER, LASTS, REACHES, SIGNS, WIDTHS
from shapecalc.engine.ways import ROOM, place_of, tile_of
from tests.benchmarks.layouts import KIB, MIB, anyhow, layouts, numbers, seconds

SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 24 * MIB)
OTHERS = [way for way in FILLS if way != IN_ORDER]
FASTER, SAFE = 1.08, 0.97
"""A way is named in the table if its mean ratio and the second least of ten are at least these."""


def measured(view):
    """Return the place of a copy in the table, and the ratio of each way to NumPy's own; None if there is no place."""
    sizes, strides = steps(axes_of(view.shape, view.strides))
    place = place_of(sizes, strides, view.itemsize) if len(sizes) > 1 and strides[-1] != view.itemsize else None
    if place is None:
        return None
    source, target = view.reshape(sizes), np.empty(sizes, view.dtype)
    calls = {IN_ORDER: lambda: np.copyto(target, source)}
    for way in OTHERS:
        tiles = list(tiles_of(sizes, tile_of(sizes, strides, ROOM[way] // view.itemsize)))
        calls[way] = lambda fill=FILLS[way], tiles=tiles: [fill(target[tile], source[tile]) for tile in tiles]
    taken = {way: [] for way in calls}
    start = perf_counter()
    while perf_counter() - start < 0.04 or len(taken[IN_ORDER]) < 5:
        for way, call in calls.items():
            taken[way].append(seconds(call, process_time))
    medians = {way: statistics.median(times) for way, times in taken.items()}
    return place, {way: medians[IN_ORDER] / medians[way] for way in OTHERS}


def found(seed, limit):
    """Return the ratios that are measured within the limit, by place."""
    drawn_layouts = list(layouts(seed, sizes=SIZES))
    random.Random(seed).shuffle(drawn_layouts)
    chosen, drawn, ratios, start = cycle(drawn_layouts), anyhow(seed), {}, perf_counter()
    while perf_counter() - start < limit:
        for _, width, shape, perm in (next(chosen), next(drawn), next(drawn)):
            one = measured(numbers(shape, width).transpose(perm))
            if one:
                ratios.setdefault((one[0].last, one[0].reach, one[0].crowds, one[0].width), []).append(one[1])
    return ratios


def best(ratios):
    """Return the sign of the way that the table names for these ratios."""
    means = {way: statistics.geometric_mean(each[way] for each in ratios) for way in OTHERS}
    named = [way for way in OTHERS if means[way] >= FASTER and least(ratios, way) >= SAFE]
    way = max(named, key=means.__getitem__, default=IN_ORDER)
    return next(sign for sign, name in SIGNS.items() if name == way)


def least(ratios, way):
    """Return the ratio that a tenth of the copies, and none if there are few, fall short of."""
    return sorted(each[way] for each in ratios)[len(ratios) // 10]


def main():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    seed, limit = (*map(int, sys.argv[1:]), *(1, 300)[len(sys.argv) - 1 :])
    ratios = found(f"ways {seed}", limit)
    places = [(last, reach, crowds) for last in (*LASTS, "more") for reach in (*REACHES, "more") for crowds in (0, 1)]
    for place in places:
        for width in WIDTHS:
            here = ratios.get((*place, width), [])
            if here:
                means = {way: statistics.geometric_mean(each[way] for each in here) for way in OTHERS}
                told = ", ".join(f"{way} {means[way]:.2f} ({least(here, way):.2f})" for way in OTHERS)
                print(*place, width, f"{len(here)} copies: {told}")
    print("last reach         1  2  4  8  16")
    for last, reach, crowds in places:
        signs = [best(ratios[key]) if (key := (last, reach, crowds, width)) in ratios else "?" for width in WIDTHS]
        print(f"{last:4} {reach:5} {'crowds' if crowds else '':6}  {'  '.join(signs)}")


if __name__ == "__main__":
    main()
