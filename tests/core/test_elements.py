"""Elements on their way through chains of numbers, and where they lie in memory, against NumPy."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.text import shape_text
from shapecalc.reasoning.examples import follow, follow_back
from tests.cases import rows
from tests.core.drawing import SIZES, drawn_chain, factors, stage
from tests.numpy_moves import moved_by_numpy, positions_of
from tests.sampling import each_row, some_and_rest


@pytest.mark.parametrize("seeds", some_and_rest(range(650), 100))
def test_followed_elements_match_numpy(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        for index, element in np.ndenumerate(positions_of(answer)):
            path = follow_back(answer, index)
            assert path[0][1] == index
            assert path[-1] == ("input", places(np.unravel_index(element, answer.input))), (seed, index)
        for index in np.ndindex(answer.input):
            assert [place for _, place in follow(answer, index)] == [*path_by_numpy(answer, index)], (seed, index)


def path_by_numpy(answer, index):
    """Yield the index of an element, and where each stage has it first, until one leaves it out."""
    yield index
    for each in answer.stages:
        before = np.arange(np.prod(each.before, dtype=int)).reshape(each.before)
        found = np.argwhere(moved_by_numpy(before, (each.move,)) == before[index])
        if not len(found):
            yield None
            return
        index = places(found[0])
        yield index


def places(index):
    return tuple(map(int, index))


def asked(shape, *texts):
    """Return the answer of PyTorch to a chain."""
    return sc.chain(shape, *(f"{text} --dialect torch" for text in texts))


def drawn(draw):
    """Return a shape, the texts of a few stages that PyTorch has, and the array that lies in memory as its tensor."""
    shape, texts = [draw.choice(SIZES) for _ in range(draw.randint(1, 3))], []
    array = np.arange(prod(shape)).reshape(shape)
    for _ in range(draw.randint(1, 4)):
        if not array.ndim or array.size > 300:
            break
        text = stage(draw, array.shape)
        try:
            move = asked(shape, *texts, text).moves[-1]
        except sc.ShapeError:
            continue  # PyTorch slices in one direction only
        texts.append(text)
        array = moved_by_numpy(array, (move,))
        if text.startswith(("flip", "roll")):
            array = array.copy()
    return shape, texts, array


@pytest.mark.parametrize("seeds", some_and_rest(range(700), 60))
def test_view_is_refused_where_numpy_copies(seeds):
    refused = 0
    for seed in seeds:
        draw = Random(seed)
        shape, texts, array = drawn(draw)
        target = factors(draw, array.size)
        copied = not np.shares_memory(array.reshape(target), array)
        refused += copied
        try:
            output = asked(shape, *texts, f"view {shape_text(target)}").output
        except sc.ShapeError as error:
            assert copied, (shape, texts, target)
            assert error.problem.rule == "stride-incompatible"
        else:
            assert (output, copied) == (tuple(target), False), (shape, texts, target)
    assert 0 < refused < len(seeds)


@each_row(("chain", "output"), rows("chains", "views in PyTorch"))
def test_view_inside_a_chain(chain, output):
    try:
        found = shape_text(asked(*chain.split(" | ")).output)
    except sc.ShapeError as error:
        found = error.problem.rule
    assert found == output
