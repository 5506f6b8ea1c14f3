"""Inverses of chains: run on NumPy after the chain, and refused exactly where the chain loses elements."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given

import shapecalc as sc
from shapecalc.core.moves import Combine, ShapeVector
from shapecalc.engine import run
from shapecalc.reasoning.invert import COMPUTES, DROPS, invert
from tests.plans import plans


@given(plans)
def test_invert_leads_back_on_numpy(answer):
    if any(isinstance(move, ShapeVector | Combine) for move in answer.moves):
        return
    inverse = invert(answer)
    array = np.arange(prod(answer.input)).reshape(answer.input)
    moved = run(answer, array).array
    assert bool(inverse) is ({*moved.flat} == {*array.flat}), inverse.text
    if inverse.chain is not None:
        np.testing.assert_array_equal(run(inverse.chain, moved).array, array, strict=True)
        assert inverse.drops_elements is (moved.size != array.size)


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("2,3,4 | transpose 1,0,2 | reshape 6,4", "6,4 | reshape 3,2,4 | transpose 1,0,2"),
        ("2,3", "2,3"),
        ("1,3,1 | expand 4,3,2", "4,3,2 | slice :1,:,:1"),
        ("2,3 | concat 2,5 --axis 1", "2,8 | slice :,:3"),
        ("2,3 | stack 2,3", "2,2,3 | select 0 0 --dialect torch"),
        ("N,6 | pad 1,0,1,2", "N1,8 | slice 1:-1,:-2"),
        ("N,C,H,W | reshape 0,-1,64", "N,C*H*W/64,64 | reshape N,C,H,W"),
        ("?,5,7 | transpose 2,1,0 | reshape -1,0", "7*?,5 | reshape 7,5,-1 | transpose 2,1,0"),
        ("0,3,4 | reshape 0,12", "0,12 | reshape 0,3,4 --dialect numpy"),
        ("2,3 | transpose 1,0 -d torch", "3,2 | transpose 1,0 --dialect torch"),
        ("2,3,4 | shuffle --first 1,0,2 --to 2,-1,3", "2,4,3 | shuffle --to 3,2,4 --second 1,0,2"),
        ("4 | pad 1 | slice 1:-1", "4"),
        ("2 | expand 2,2 | select 0 1", "2"),
        ("2 | take 0 1,0,1 | slice 1:", "2"),
        ("4,6 | pad 1 | slice 2:", f"stage 2, slice 2:, has no inverse: {DROPS}"),
        ("4,6 | pad -1", f"stage 1, pad -1, has no inverse: {DROPS}"),
        ("4,6 | take 0 1,1", f"stage 1, take 0 1,1, has no inverse: {DROPS}"),
        ("2,3 | matmul 3,4", f"stage 1, matmul 3,4, has no inverse: {COMPUTES}"),
        ("2,3 | shape", f"stage 1, shape, has no inverse: {COMPUTES}"),
    ],
)
def test_invert_examples(chain, expected):
    inverse = sc.invert(chain)
    assert inverse.text == expected
    if inverse.chain is not None and "N" not in chain and "?" not in chain and "concat" not in chain:
        assert inverse.chain.output == sc.chain(chain).input


@pytest.mark.parametrize("stage", ["concat 2,5 --axis 1", "stack 2,3", "pad 1,0,2,3", "pad 1 --mode edge"])
def test_invert_drops_what_a_stage_adds(stage):
    answer = sc.chain("2,3", stage)
    array = np.arange(6).reshape(2, 3)
    others = [np.full(shape, -1) for shape in answer.traces[0].stages[-1].move.operands[1:]]
    moved = {"concat": lambda: np.concatenate([array, *others], 1), "stack": lambda: np.stack([array, *others])}
    result = moved.get(stage.split()[0], lambda: run(answer, array).array)()
    np.testing.assert_array_equal(run(sc.invert(answer).chain, result).array, array, strict=True)


def test_invert_of_refused_chain_raises():
    with pytest.raises(sc.ShapeError, match="indivisible"):
        sc.invert("2,3 | reshape 4,-1")
