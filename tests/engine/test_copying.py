"""The way a copy is done, told from its layout: which axes and elements go together, and how tiles are filled."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.engine.copying import ROOM, SHARE, copy_strategy, fill_of


@pytest.mark.parametrize(
    ("shape", "perm", "dtype", "together", "width", "fill"),
    [
        ((4096, 4096), (1, 0), "u1", (4096, 4096), 1, "tiles"),
        ((4096, 4096), (1, 0), "f8", (4096, 4096), 8, "tiles"),
        ((1000, 1001), (1, 0), "f4", (1001, 1000), 4, "in order"),
        ((8, 16, 1024, 64), (0, 2, 1, 3), "f4", (8, 1024, 16, 64), 256, "in order"),
        ((64, 512, 512, 3), (0, 3, 1, 2), "u1", (64, 3, 512 * 512), 1, "in order"),
        ((64, 3, 500, 500), (0, 2, 3, 1), "u1", (64, 500 * 500, 3), 1, "by position"),
        ((16, 32, 64, 16, 8), (4, 2, 0, 3, 1), "u1", (8, 64, 16, 16, 32), 1, "tiles"),
        ((500, 600, 3), (1, 0, 2), "u1", (600, 500, 3), 3, "in order"),
        ((500, 600, 4), (1, 0, 2), "u1", (600, 500, 4), 4, "in order"),
        ((500, 600, 1, 2), (1, 0, 2, 3), "f8", (600, 500, 2), 16, "in order"),
        ((2, 500, 3, 600), (3, 0, 1, 2), "f2", (600, 3000), 2, "tiles"),
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
    ("shape", "strides", "itemsize", "fill"),
    [
        ((4096, 1000), (4, 16400), 4, "in order"),
        ((4096, 1100), (4, 16400), 4, "tiles"),
        ((3, 1100), (4, 16400), 4, "in order"),
        ((4096, 1100), (16, 65600), 16, "tiles"),
        ((4096, 1100), (32, 131200), 32, "in order"),
        ((9000, 3), (2, 18000), 2, "by position"),
        ((9000, 3), (16, 144000), 16, "in order"),
        ((15, 3), (2, 18000), 2, "in order"),
        ((9000, 500, 4), (2, 72000, 18000), 2, "in order"),
        ((200, 9000), (9000, 1), 1, "in order"),
    ],
)
def test_each_bound_of_a_way(shape, strides, itemsize, fill):
    assert fill_of(shape, strides, itemsize) == fill
