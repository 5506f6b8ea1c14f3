"""The path of one element, against NumPy, from the input to the output and back."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from shapecalc.core.examples import follow, follow_back
from tests.core.drawing import drawn_chain, positions_of
from tests.core.test_views import carried_out
from tests.sampling import some_and_rest

SEEDS = some_and_rest(range(2000), 300)


def places(index):
    return tuple(map(int, index))


@pytest.mark.parametrize("seeds", SEEDS)
def test_every_element_of_the_output_is_followed_back_to_the_one_that_numpy_reads(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        for index, element in np.ndenumerate(positions_of(answer)):
            path = follow_back(answer, index)
            assert path[0][1] == index
            assert path[-1] == ("input", places(np.unravel_index(element, answer.input))), (seed, index)


@pytest.mark.parametrize("seeds", SEEDS)
def test_every_element_of_the_input_goes_where_each_stage_has_it_first_or_is_left_out(seeds):
    for seed in seeds:
        answer = drawn_chain(Random(seed))
        for index in np.ndindex(answer.input):
            assert [place for _, place in follow(answer, index)] == [*path_by_numpy(answer, index)], (seed, index)


def path_by_numpy(answer, index):
    """Yield the index of an element, and where each stage has it first, until one leaves it out."""
    yield index
    for stage in answer.stages:
        before = np.arange(np.prod(stage.before, dtype=int)).reshape(stage.before)
        found = np.argwhere(carried_out(before, stage.move) == before[index])
        if not len(found):
            yield None
            return
        index = places(found[0])
        yield index
