"""Store plans: they fit the memory, and read each source byte once if the chunks align."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

from shapecalc.core.moves import Expand, Permute, Reshape
from shapecalc.engine.stores.axis_map import build_axis_map, split_into_axis_maps
from shapecalc.engine.stores.plan import MAX_CHUNK_BYTES, InsufficientMemoryError, plan_store

GIB = (2048, 512, 256)
CHUNKS = (256, 128, 128)
ALIGNED = {
    "transpose": [Permute((2, 1, 0))],
    "merge": [Reshape((2048 * 512, 256))],
    "split": [Reshape((2048, 8, 64, 256)), Permute((0, 2, 1, 3))],
    "heads": [Permute((0, 2, 1)), Reshape((2048, 256 * 512))],
    "Shuffle": [Permute((2, 0, 1)), Reshape((1024, 512, 512)), Permute((1, 0, 2))],
}


@pytest.mark.parametrize("name", ALIGNED)
def test_plan_aligned_cuts_read_each_byte_once(name):
    plan = plan_store([build_axis_map(GIB, ALIGNED[name])], 4, CHUNKS, 256 << 20)
    assert (plan.bytes_read, plan.bytes_written, plan.is_exact) == (1 << 30, 1 << 30, True)
    assert plan.task_memory <= 256 << 20
    assert prod(plan.passes[0].chunks) * 4 <= max(prod(CHUNKS) * 4, 1 << 20)


def test_plan_prime_sizes_keep_large_chunks():
    plan = plan_store([build_axis_map((100003, 1009, 31), [Permute((2, 1, 0))])], 4, (1000, 100, 31), 512 << 20)
    assert plan.bytes_read == plan.bytes_written
    assert 1 << 23 <= prod(plan.passes[0].chunks) * 4 <= MAX_CHUNK_BYTES


@pytest.mark.parametrize(
    ("shape", "target"), [((400, 500, 600), (600, 500, 400)), ((4001, 503, 607), (607, 503, 4001))]
)
def test_plan_unaligned_cuts_read_each_byte_at_most_twice(shape, target):
    plan = plan_store([build_axis_map(shape, [Reshape(target)])], 4, (100, 100, 100), 512 << 20)
    assert plan.bytes_read <= 2 * plan.bytes_written


def test_plan_beyond_memory_uses_an_intermediate_store():
    plan = plan_store([build_axis_map(GIB, ALIGNED["merge"])], 4, CHUNKS, 64 << 20)
    assert len(plan.passes) == 2
    assert plan.bytes_read <= 2 << 30
    assert plan.task_memory <= 64 << 20


@pytest.mark.slow
def test_plan_intermediate_store_keeps_rows_if_cheaper():
    shape, chunks = (218320, 267552), (1745, 4013)
    plan = plan_store([build_axis_map(shape, [Permute((1, 0)), Reshape((2560, 22817169))])], 1, chunks, 256 << 20)
    assert plan.bytes_read + plan.bytes_written <= 4.8 * prod(shape)
    assert plan.task_memory <= 256 << 20


def large_case(random):
    """Draw an array of terabytes, its chunks, aligned moves, and the memory of a worker."""
    powers = [random.randint(6, 16) for _ in range(random.randint(2, 4))]
    shape, itemsize = [1 << power for power in powers], random.choice([1, 2, 4, 8])
    while prod(shape) * itemsize < 4 << 40:
        shape[random.randrange(len(shape))] *= 2
    chunks = [1] * len(shape)
    while prod(chunks) * itemsize < 1 << 22:
        axis = random.randrange(len(shape))
        chunks[axis] = min(2 * chunks[axis], shape[axis])
    moves, sizes = [], shape
    for _ in range(random.randint(1, 3)):
        moves.append(Permute(tuple(random.sample(range(len(sizes)), len(sizes)))))
        sizes = [*moves[-1].output_shape(tuple(sizes))]
        at = random.randrange(len(sizes))
        if random.random() < 0.5 and at:
            sizes[at - 1 : at + 1] = [sizes[at - 1] * sizes[at]]
        else:
            part = 1 << random.randint(0, sizes[at].bit_length() - 1)
            sizes[at : at + 1] = [part, sizes[at] // part]
        moves.append(Reshape(tuple(sizes)))
    return tuple(shape), tuple(chunks), itemsize, moves, random.choice([256, 512, 1024]) << 20


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.sampled(2)
def test_plan_terabytes_cost_at_most_two_passes(seed):
    shape, chunks, itemsize, moves, memory = large_case(Random(seed))
    plan = plan_store(split_into_axis_maps(shape, moves), itemsize, chunks, memory)
    data = prod(shape) * itemsize
    assert plan.bytes_written <= 2 * data
    assert plan.bytes_read + plan.bytes_written <= 4 * data
    assert plan.task_memory <= memory


def test_plan_reports_too_little_memory_and_cost_of_requested_chunks():
    with pytest.raises(InsufficientMemoryError, match="a task needs"):
        plan_store([build_axis_map(GIB, [])], 4, CHUNKS, 1 << 20)
    plan = plan_store([build_axis_map(GIB, ALIGNED["transpose"])], 4, CHUNKS, 256 << 20, (256, 1, 2048))
    assert plan.passes[-1].chunks == (256, 1, 2048)
    assert plan.bytes_read >= 1 << 30


def test_plan_tasks_fill_the_output_once():
    for seed in range(40):
        random = Random(seed)
        shape = tuple([random.choice([1, 2, 3, 5, 8, 12, 17]) for _ in range(random.randint(0, 4))])
        moves = [Permute(tuple(random.sample(range(len(shape)), len(shape)))), Reshape((1, *shape[::-1]))]
        mapped = build_axis_map(shape, [*moves, Expand((random.choice([1, 2]), *shape[::-1]))][: random.randint(0, 3)])
        last = plan_store([mapped], 2, tuple([random.randint(1, size) for size in shape]), 1 << 30).passes[-1]
        counts = np.zeros(mapped.output_shape, int)
        for task in range(last.task_count):
            box = last.task_region(task)
            counts[tuple([slice(*span) for span in box])] += 1
            assert all(start % chunk == 0 for (start, _), chunk in zip(box, last.chunks, strict=True))
        assert (counts == 1).all()
