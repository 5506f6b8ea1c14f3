"""How many copies a plan takes, counted against what the core's atoms say of every way to cut the chain."""

from __future__ import annotations

import random
from itertools import combinations, pairwise
from math import prod

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.conditions import Known
from shapecalc.core.layout import view_through
from shapecalc.core.moves import Expand, Permute, Pick, Reshape, Roll
from shapecalc.engine.execute import apply_plan
from shapecalc.engine.plan import plan_moves
from tests.numpy_moves import moved_by_numpy


def drawn_chain(seed):
    """Return a shape and moves on it, many of which put back what others moved."""
    draw = random.Random(seed)
    shape, moves = tuple(draw.choice((2, 3, 4, 6)) for _ in range(draw.randint(2, 4))), []
    shapes = [shape]
    for _ in range(draw.randint(2, 6)):
        moves.append(drawn_move(draw, shapes))
        shapes.append(moves[-1].after(shapes[-1]))
    return shape, tuple(moves)


def drawn_move(draw, shapes):
    """Return a move on the last of the shapes: often a reshape to one that was there before."""
    shape, rank = shapes[-1], len(shapes[-1])
    earlier = [each for each in shapes if prod(each) == prod(shape)]
    makers = {
        "permute": lambda: Permute(tuple(draw.sample(range(rank), rank))),
        "back": lambda: Reshape(draw.choice(earlier)),
        "reshape": lambda: Reshape(factors(draw, prod(shape))),
        "expand": lambda: Expand((2, *shape)),
        "flip": lambda: Pick((-1,) * rank, (-1,) * rank, shape),
    }
    return makers[draw.choices([*makers], (6, 4, 4, 1, 1))[0]]()


def factors(draw, number):
    """Return dims whose product is `number`."""
    dims = []
    while number > 1 and len(dims) < 3:
        dims.append(draw.choice([size for size in range(2, number + 1) if number % size == 0]))
        number //= dims[-1]
    return tuple(draw.sample([*dims, number], len(dims) + 1))


def fewest_copies(shape, moves):
    """Return how many copies the atoms allow: of all ways to cut the moves, the one with the fewest parts."""
    shapes = [shape]
    for move in moves:
        shapes.append(move.after(shapes[-1]))
    for count in range(len(moves) + 2):
        if any(is_enough(shapes, moves, (0, *cuts, len(moves))) for cuts in combinations(range(len(moves) + 1), count)):
            return count
    raise AssertionError(moves)


def is_enough(shapes, moves, places):
    """Say whether one view makes the moves between each two places, and the last is a view of an array."""
    views = [view_through(shapes[start], moves[start:end], Known()) for start, end in pairwise(places)]
    return all(view.is_plain for view in views) and all(len(axis) < 2 for axis in views[-1].axes)


@pytest.mark.parametrize("some", range(12))
def test_a_plan_takes_as_few_copies_as_the_atoms_allow(some):
    for seed in range(25):
        shape, moves = drawn_chain(f"{some} {seed}")
        array = np.arange(prod(shape), dtype=np.int32).reshape(shape)
        plan = plan_moves(moves, shape, array.strides, array.itemsize)
        assert len(plan.copies) == fewest_copies(shape, moves), (shape, moves)
        assert apply_plan(plan, array).tolist() == moved_by_numpy(array, moves).tolist(), (shape, moves)


def copies(shape, *stages):
    answer = sc.chain(shape, *stages)
    array = np.arange(prod(shape)).reshape(shape)
    plan = plan_moves(answer.moves, shape, array.strides, array.itemsize)
    assert apply_plan(plan, array).tolist() == moved_by_numpy(array, answer.moves).tolist()
    return len(plan.copies)


@pytest.mark.parametrize(
    ("stages", "count"),
    [
        (("transpose", "reshape 8,3", "reshape 6,4", "transpose"), 0),
        (("transpose", "reshape 8,3", "reshape 6,4", "reshape 2,3,4", "transpose 0,2,1", "reshape 24"), 1),
        (("transpose", "reshape 8,3", "flip 0,1", "reshape 24", "flip 0", "reshape 6,4"), 0),
        (("transpose", "reshape 8,3", "transpose"), 1),
        (("transpose", "reshape 8,3", "transpose", "reshape 24"), 2),
        (("transpose", "reshape 8,3", "reshape 6,4", "roll 1 0"), 1),
        (("roll 1 0", "transpose", "reshape 8,3"), 2),
    ],
)
def test_what_is_put_back_is_not_copied(stages, count):
    assert copies((4, 6), *stages) == count


def test_of_plans_with_as_many_copies_the_one_that_copies_less_is_taken():
    array = np.arange(24).reshape(4, 6)
    moves = (Permute((1, 0)), Expand((5, 6, 4)), Reshape((5, 8, 3)))
    plan = plan_moves(moves, array.shape, array.strides, array.itemsize)
    assert plan.bytes_moved == array.nbytes
    assert (apply_plan(plan, array) == moved_by_numpy(array, moves)).all()


def test_rolls_that_leave_all_where_it_is_cost_nothing():
    moves = (Roll(4, 0), Permute((1, 0)), Roll(-6, 0))
    assert plan_moves(moves, (4, 6), (24, 4), 4).copies == ()
