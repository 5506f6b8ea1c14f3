"""The way a copy is done, told from its layout: which axes and elements go together, and how tiles are filled."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.engine.copying import LINES, ROOM, ROWS, SHARE, SIGNS, WIDTHS, copy_strategy, rows, table_key


@pytest.mark.parametrize(
    ("shape", "perm", "dtype", "together", "width", "fill"),
    [
        ((4096, 4096), (1, 0), "u1", (4096, 4096), 1, "by rows"),
        ((4096, 4096), (1, 0), "f8", (4096, 4096), 8, "by rows"),
        ((1000, 1001), (1, 0), "f4", (1001, 1000), 4, "in order"),
        ((8, 16, 1024, 64), (0, 2, 1, 3), "f4", (8, 1024, 16, 64), 256, "in order"),
        ((64, 512, 512, 3), (0, 3, 1, 2), "u1", (64, 3, 512 * 512), 1, "in order"),
        ((64, 3, 500, 500), (0, 2, 3, 1), "u1", (64, 500 * 500, 3), 1, "by position"),
        ((16, 32, 64, 16, 8), (4, 2, 0, 3, 1), "u1", (8, 64, 16, 16, 32), 1, "tiles"),
        ((500, 600, 3), (1, 0, 2), "u1", (600, 500, 3), 3, "in order"),
        ((500, 600, 4), (1, 0, 2), "u1", (600, 500, 4), 4, "in order"),
        ((500, 600, 1, 2), (1, 0, 2, 3), "f8", (600, 500, 2), 16, "in order"),
        ((2, 500, 3, 600), (3, 0, 1, 2), "f2", (600, 3000), 2, "by rows"),
    ],
)
def test_a_way(shape, perm, dtype, together, width, fill):
    view = np.empty(shape, dtype).transpose(perm)
    strategy = copy_strategy(view.shape, view.strides, view.itemsize, cores=2)
    assert (strategy.shape, strategy.width, strategy.fill) == (together, width, fill)


@given(
    st.lists(st.integers(2, 300), min_size=2, max_size=5), st.data(), st.sampled_from([1, 2, 3, 8]), st.integers(1, 9)
)
def test_tiles_stay_within_the_cache_and_threads_within_the_cores(shape, data, itemsize, cores):
    perm = data.draw(st.permutations(range(len(shape))))
    strides = [prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape))]
    strategy = copy_strategy(
        tuple(shape[axis] for axis in perm), tuple(strides[axis] for axis in perm), itemsize, cores
    )
    sizes = strategy.shape if strategy.width == itemsize else strategy.shape[:-1]
    assert prod(strategy.shape) == prod(shape)
    assert len(strategy.tile) == len(sizes)
    assert all(1 <= step <= size for step, size in zip(strategy.tile, sizes, strict=True))
    assert strategy.threads == max(1, min(cores, prod(shape) * itemsize // SHARE))
    assert prod(strategy.tile) * strategy.width <= max(ROOM[strategy.fill], strategy.width)


@pytest.mark.parametrize(
    ("shape", "strides", "itemsize", "place"),
    [
        ((4096, 100), (4, 16400), 4, ("more", "long", "fit")),
        ((4096, 100), (4, 16384), 4, ("more", "long", "crowd")),
        ((200, 2000), (1, 200), 1, ("more", "some", "second")),
        ((30, 5000), (8, 8008), 8, ("more", "short", "second")),
        ((300, 5000), (8, 65536), 8, ("more", "long", "far")),
        ((4096, 40), (8, 65536), 8, ("more", "long", "crowd")),
        ((4096, 40), (16, 65536), 16, ("more", "long", "fit")),
        ((4096, 50), (16, 65536), 16, ("more", "long", "crowd")),
        ((4096, 4, 4), (16, 1 << 21, 65536), 16, None),
        ((300, 100_000), (8, 4000), 8, ("more", "long", "far")),
        ((9000, 3), (2, 18000), 2, ("few", "long", "fit")),
        ((9000, 15, 3), (2, 54000, 18000), 2, ("more", "long", "fit")),
        ((9000, 100), (12, 108_000), 12, ("more", "long", "fit")),
        ((3, 9000), (4, 12), 4, None),
        ((200, 9000), (9000, 1), 1, None),
        ((9000, 300), (32, 9000 * 32), 32, None),
    ],
)
def test_a_place(shape, strides, itemsize, place):
    found = table_key(shape, strides, itemsize)
    assert (found and (found.last, found.row, found.lines)) == place
    assert found is None or found.width == min(width for width in WIDTHS if width >= itemsize)


def test_the_table_has_every_place():
    places = {(last, row, lines) for last in ("few", "more") for row in (*ROWS, "long") for lines in LINES}
    assert set(rows()) == places
    assert {len(row) for row in rows().values()} == {len(WIDTHS)}
    assert {fill for row in rows().values() for fill in row} <= set(SIGNS.values()) == set(ROOM)
