"""Compare the paths of elements through chains, and their memory layout, with NumPy."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.text import shape_text
from shapecalc.reasoning.examples import trace_element, trace_element_back
from tests.cases import rows
from tests.core.drawing import SIZES, draw_chain, draw_factors, draw_stage
from tests.numpy_moves import apply_with_numpy, flat_input_indices
from tests.sampling import each_row, some_and_rest


@pytest.mark.parametrize("seeds", some_and_rest(range(650), 100))
def test_followed_elements_match_numpy(seeds):
    for seed in seeds:
        answer = draw_chain(Random(seed))
        for index, element in np.ndenumerate(flat_input_indices(answer)):
            path = trace_element_back(answer, index)
            assert path[0][1] == index
            assert path[-1] == ("input", int_index(np.unravel_index(element, answer.input))), (seed, index)
        for index in np.ndindex(answer.input):
            assert [step_index for _, step_index in trace_element(answer, index)] == [*numpy_path(answer, index)], (
                seed,
                index,
            )


def numpy_path(answer, index):
    """Yield the index of an element, then its first index after each stage; None once a stage drops it."""
    yield index
    for stage in answer.stages:
        before = np.arange(np.prod(stage.before, dtype=int)).reshape(stage.before)
        matches = np.argwhere(apply_with_numpy(before, (stage.move,)) == before[index])
        if not len(matches):
            yield None
            return
        index = int_index(matches[0])
        yield index


def int_index(index):
    return tuple(map(int, index))


def torch_chain(shape, *texts):
    """Return the answer to a chain in the PyTorch dialect."""
    return sc.chain(shape, *(f"{text} --dialect torch" for text in texts))


def draw_torch_chain(draw):
    """Draw a shape and a few PyTorch stages, and return them with an array of the same memory layout."""
    shape, texts = [draw.choice(SIZES) for _ in range(draw.randint(1, 3))], []
    array = np.arange(prod(shape)).reshape(shape)
    for _ in range(draw.randint(1, 4)):
        if not array.ndim or array.size > 300:
            break
        text = draw_stage(draw, array.shape)
        try:
            move = torch_chain(shape, *texts, text).moves[-1]
        except sc.ShapeError:
            continue  # PyTorch has no negative slice steps
        texts.append(text)
        array = apply_with_numpy(array, (move,))
        if text.startswith(("flip", "roll")):  # PyTorch's flip keeps the order in memory, except of expanded tensors
            keeps_order = text.startswith("flip") and 0 not in array.strides
            array = array.copy("K" if keeps_order else "C")
    return shape, texts, array


@pytest.mark.parametrize("seeds", some_and_rest(range(700), 60))
def test_view_is_refused_where_numpy_copies(seeds):
    refused = 0
    for seed in seeds:
        draw = Random(seed)
        shape, texts, array = draw_torch_chain(draw)
        target = draw_factors(draw, array.size)
        is_copy = not np.shares_memory(array.reshape(target), array)
        refused += is_copy
        try:
            output = torch_chain(shape, *texts, f"view {shape_text(target)}").output
        except sc.ShapeError as error:
            assert is_copy, (shape, texts, target)
            assert error.problem.rule == "stride-incompatible"
        else:
            assert (output, is_copy) == (tuple(target), False), (shape, texts, target)
    assert 0 < refused < len(seeds)


@each_row(("chain", "output"), rows("chains", "views in PyTorch"))
def test_view_inside_a_chain(chain, output):
    try:
        result = shape_text(torch_chain(*chain.split(" | ")).output)
    except sc.ShapeError as error:
        result = error.problem.rule
    assert result == output
