"""Elements followed by arithmetic are where the engine moves them, and come from where it found them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.examples import follow, follow_back
from shapecalc.engine import run
from shapecalc.engine.execute import samples

INPUT = (2, 3, 4)
CHAINS = [
    *([f"transpose {','.join(map(str, perm))}"] for perm in permutations(range(3))),
    *([f"transpose {','.join(map(str, perm))}", "reshape 4,-1"] for perm in permutations(range(3))),
    ["reshape 4,1,6", "transpose 2,0,1"],
    ["select 1 -1"],
    ["roll 1 1"],
    ["roll -5 2", "transpose 2,0,1", "reshape 2,-1", "roll 5 1", "slice [:, 1:]"],
    ["split 2 2 --part 1", "transpose 2,0,1", "split 0 2"],
    ["slice [:, ::2, 1:3]"],
    ["slice ::-1,2:0:-1", "transpose 2,0,1", "reshape 2,-1", "slice [:, 1::3]"],
    ["flip 0,2", "reshape 4,6", "flip 1"],
    ["transpose 1,2,0", "select 0 1", "reshape 2,4", "select 1 2"],
    ["unsqueeze --axes 1", "transpose 1,3,2,0", "expand 2,4,3,2"],
]


def answer_and_array(stages):
    """Return the answer of a chain, and what the engine makes of 0, 1, 2 ..."""
    answer = sc.chain(INPUT, *stages)
    return answer, run(answer, np.arange(24).reshape(INPUT)).array


@pytest.mark.parametrize("stages", CHAINS, ids=" | ".join)
def test_samples_are_what_the_engine_makes(stages):
    answer, made = answer_and_array(stages)
    before, after = samples(answer)
    assert before.elements == np.arange(24).reshape(INPUT).tolist()
    assert after.elements == made.tolist()


@pytest.mark.parametrize("stages", CHAINS, ids=" | ".join)
def test_an_element_goes_where_the_engine_moves_it(stages):
    answer, made = answer_and_array(stages)
    kept = made.ravel().tolist()
    for element, index in enumerate(np.ndindex(INPUT)):
        place = follow(answer, index)[-1][1]
        assert element not in kept if place is None else made[place] == element


@pytest.mark.parametrize("stages", CHAINS, ids=" | ".join)
def test_an_element_came_from_where_the_engine_found_it(stages):
    answer, made = answer_and_array(stages)
    for index in np.ndindex(made.shape):
        stage, place = follow_back(answer, index)[-1]
        assert (stage, np.ravel_multi_index(place, INPUT)) == ("input", made[index])
