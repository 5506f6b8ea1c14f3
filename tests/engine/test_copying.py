"""Copies: the strategy for each layout, tiles and threads, and equal results of all strategies."""

from __future__ import annotations

import os
import random
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import prod
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapecalc as sc
from shapecalc.engine import copying, run
from shapecalc.engine.copying import BYTES_PER_THREAD, MAX_TILE_BYTES, choose_copy_method, choose_copy_strategy
from shapecalc.engine.processes import count_cores
from tests.engine.tables import rows


def sizes(text):
    return tuple(map(int, text.split(",")))


@pytest.mark.parametrize(("shape", "perm", "dtype", "together", "width", "fill"), rows("copies"))
def test_copy_strategy_table(shape, perm, dtype, together, width, fill):
    view = np.empty(sizes(shape), dtype).transpose(sizes(perm))
    strategy = choose_copy_strategy(view.shape, view.strides, view.itemsize, cores=2)
    assert (strategy.shape, strategy.itemsize, strategy.method) == (sizes(together), int(width), fill)


@pytest.mark.parametrize(("shape", "strides", "itemsize", "fill"), rows("fills"))
def test_copy_strategy_bounds(shape, strides, itemsize, fill):
    assert choose_copy_method(sizes(shape), sizes(strides), int(itemsize)) == fill


@given(
    st.lists(st.integers(2, 300), min_size=2, max_size=5), st.data(), st.sampled_from([1, 2, 3, 8]), st.integers(1, 9)
)
def test_tiles_fit_cache_and_cores(shape, data, itemsize, cores):
    perm = data.draw(st.permutations(range(len(shape))))
    strides = [prod(shape[axis + 1 :]) * itemsize for axis in range(len(shape))]
    strategy = choose_copy_strategy(
        tuple(shape[axis] for axis in perm), tuple(strides[axis] for axis in perm), itemsize, cores
    )
    sizes = strategy.shape if strategy.itemsize == itemsize else strategy.shape[:-1]
    assert prod(strategy.shape) == prod(shape)
    assert len(strategy.tile_shape) == len(sizes)
    assert all(1 <= step <= size for step, size in zip(strategy.tile_shape, sizes, strict=True))
    assert strategy.thread_count == max(1, min(cores, prod(shape) * itemsize // BYTES_PER_THREAD))
    assert prod(strategy.tile_shape) * strategy.itemsize <= max(MAX_TILE_BYTES[strategy.method], strategy.itemsize)


@pytest.fixture
def tiny_chunks(monkeypatch):
    """Use tiles and threads for small arrays too."""
    for name in ("SMALL_COPY_BYTES", "BYTES_PER_THREAD"):
        monkeypatch.setattr(copying, name, 1 << 10)
    for fill in copying.MAX_TILE_BYTES:
        monkeypatch.setitem(copying.MAX_TILE_BYTES, fill, 1 << 10)
    caches = (copying.choose_copy_strategy, copying._choose_copy_function_for_layout)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def elements(shape, dtype):
    dtype = np.dtype(dtype)
    return np.resize(np.arange(251, dtype=np.uint8), prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


SHAPES = [(*map(sizes, row[:2]),) for row in rows("tiled")]


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize(("shape", "perm"), SHAPES)
def test_tiled_copy_equals_copy(shape, perm):
    for dtype in ("uint8", "float16", "float32", "float64", "complex128", "S3"):
        source = elements(shape, dtype)
        for view in (source.transpose(perm), source[::-1].transpose(perm)):
            target, ticks = np.empty(view.shape, view.dtype), []
            copying.copy_into(target, view, ticks.append)
            assert target.tobytes() == view.tobytes()
            assert sum(ticks) == view.nbytes


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize("fill", copying.FILL_FUNCTIONS)
def test_copy_strategies_fill_every_layout(monkeypatch, fill):
    monkeypatch.setattr(copying, "choose_copy_method", lambda *_: fill)
    draw = random.Random(fill)
    for _ in range(25):
        shape = [draw.choice((2, 3, 5, 8, 17, 64)) for _ in range(draw.randint(2, 4))]
        whole = elements(shape, draw.choice(("u1", "f2", "S3", ">f4", "f8", "c16")))
        view = whole[:: draw.choice((1, -1))].transpose(draw.sample(range(len(shape)), len(shape)))
        target = np.zeros(view.shape, view.dtype)
        copying.copy_into(target, view)
        assert target.tobytes() == view.tobytes(), (shape, view.strides, view.dtype)


def test_copy_of_objects_and_broadcast_rows():
    words = np.array([str(number) for number in range(300 * 300)], object).reshape(300, 300)
    found = run(sc.chain(words.shape, "transpose", "reshape -1"), words)
    assert found.array.tolist() == words.T.reshape(-1).tolist()
    rows = np.broadcast_to(np.arange(500, dtype=np.int64), (500, 500))
    assert (run(sc.transpose(rows.shape), rows, contiguous=True).array == rows.T).all()


def test_copy_thread_failure_stops_the_others():
    source, ticks = np.zeros((4096, 1024)).T, []

    def tick(size):
        ticks.append(size)
        if len(ticks) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copying.copy_into(np.empty(source.shape), source, tick)
    assert len(ticks) < 3 + 2 * count_cores()


@pytest.mark.usefixtures("tiny_chunks")
def test_copy_caller_takes_back_unstarted_tiles(monkeypatch):
    leave, pool, ticks = Event(), ThreadPoolExecutor(1), []
    pool.submit(leave.wait)  # occupies the worker threads
    monkeypatch.setattr(copying, "_thread_pool", lambda: pool)
    monkeypatch.setattr(copying, "count_cores", lambda: 4)
    source = np.arange(1 << 16).reshape(1 << 8, 1 << 8).T
    target = np.zeros(source.shape, source.dtype)
    asking = Thread(target=copying.copy_into, args=(target, source, ticks.append), daemon=True)
    asking.start()
    asking.join(20)
    waits = asking.is_alive()
    leave.set()
    pool.shutdown()
    assert not waits
    assert (target == source).all()
    assert len(ticks) > 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_copy_threads_are_recreated_after_fork():
    source = np.arange(1 << 20).reshape(1 << 10, 1 << 10).T

    def copy():
        target = np.empty_like(source, order="C")
        copying.copy_into(target, source)
        return target

    assert (copy() == source).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 and later warn of a fork with threads
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if (copy() == source).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
