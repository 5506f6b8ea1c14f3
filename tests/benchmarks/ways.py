"""Which way of a strided copy is fastest where: this measures and prints the table of `shapecalc/engine/copying.py`.

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
from shapecalc.engine.copying import (
    FILLS,
    IN_ORDER,
    LINES,
    ROWS,
    SIGNS,
    WIDTHS,
    elements_of,
    table_key,
    tile_of,
    tiles_of,
)
from shapecalc.engine.plan import axes_of, steps
from tests.benchmarks.layouts import KIB, MIB, anyhow, layouts, numbers, seconds

SIZES = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 24 * MIB)
OTHERS = [way for way in FILLS if way != IN_ORDER]
FASTER, SAFE, ENOUGH = 1.06, 0.95, 3
"""A way is named in the table if its mean ratio and the second least of ten are at least these, of so many copies."""


def measured(view):
    """Return the place of a copy in the table, and the ratio of each way to NumPy's own; None if there is no place."""
    together, strides = steps(axes_of(view.shape, view.strides))
    sizes, strides, width = elements_of(together, strides, view.itemsize)
    place = table_key(sizes, strides, width) if len(sizes) > 1 else None
    if place is None:
        return None
    source, target = view.reshape(together), np.empty(together, view.dtype)
    if width != view.itemsize:
        source, target = source.view(f"V{width}")[..., 0], target.view(f"V{width}")[..., 0]
    calls = {IN_ORDER: lambda: np.copyto(target, source)}
    for way in OTHERS:
        tiles = list(tiles_of(sizes, tile_of(way, sizes, strides, width)))
        calls[way] = lambda fill=FILLS[way], tiles=tiles: [fill(target[tile], source[tile]) for tile in tiles]
    taken = {way: [] for way in calls}
    start = perf_counter()
    while perf_counter() - start < 0.04 or len(taken[IN_ORDER]) < 5:
        for way, call in calls.items():
            taken[way].append(seconds(call, process_time))
        slow = [way for way in calls if min(taken[way]) > 2 * min(taken[IN_ORDER])]
        calls = {way: call for way, call in calls.items() if way not in slow}
    medians = {way: statistics.median(times) for way, times in taken.items()}
    return place, {way: medians[IN_ORDER] / medians.get(way, medians[IN_ORDER]) for way in OTHERS}


def found(seed, limit):
    """Return the ratios that are measured within the limit, by place."""
    drawn_layouts = list(layouts(seed, sizes=SIZES))
    random.Random(seed).shuffle(drawn_layouts)
    chosen, drawn, ratios, start = cycle(drawn_layouts), anyhow(seed), {}, perf_counter()
    while perf_counter() - start < limit:
        for _, width, shape, perm in (next(chosen), next(drawn), next(drawn)):
            one = measured(numbers(shape, width).transpose(perm))
            if one:
                ratios.setdefault((one[0].last, one[0].row, one[0].lines, one[0].width), []).append(one[1])
    return ratios


def best(ratios):
    """Return the sign of the way that the table names for these ratios."""
    means = {way: statistics.geometric_mean(each[way] for each in ratios) for way in OTHERS}
    named = [way for way in OTHERS if means[way] >= FASTER and least(ratios, way) >= SAFE and len(ratios) >= ENOUGH]
    way = max(named, key=means.__getitem__, default=IN_ORDER)
    return next(sign for sign, name in SIGNS.items() if name == way)


def least(ratios, way):
    """Return the ratio that a tenth of the copies, and none if there are few, fall short of."""
    return sorted(each[way] for each in ratios)[len(ratios) // 10]


def main():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    seed, limit = (*map(int, sys.argv[1:]), *(1, 300)[len(sys.argv) - 1 :])
    ratios = found(f"ways {seed}", limit)
    places = [(last, row, lines) for last in ("few", "more") for row in (*ROWS, "long") for lines in LINES]
    for place in places:
        for width in WIDTHS:
            here = ratios.get((*place, width), [])
            if here:
                means = {way: statistics.geometric_mean(each[way] for each in here) for way in OTHERS}
                told = ", ".join(f"{way} {means[way]:.2f} ({least(here, way):.2f})" for way in OTHERS)
                print(*place, width, f"{len(here)} copies: {told}")
    print("last row   lines   1  2  4  8  16")
    for place in places:
        signs = [best(ratios[key]) if (key := (*place, width)) in ratios else "." for width in WIDTHS]
        print(f"{place[0]:4} {place[1]:5} {place[2]:6}  {'  '.join(signs)}")


if __name__ == "__main__":
    main()
