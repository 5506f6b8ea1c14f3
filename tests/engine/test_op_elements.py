"""Compare the elements of every op that moves elements with an independent expression of NumPy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from shapecalc.core.ops import OPS
from shapecalc.engine.execute import run
from tests.render.questions import answer_to

EXPRESSIONS = {
    "reshape 2,3,4 0,-1": lambda x: x.reshape(2, 12),
    "flatten 2,3,4 --axis 2": lambda x: x.reshape(6, 4),
    "unflatten 2,12 1 3,4": lambda x: x.reshape(2, 3, 4),
    "view 2,3,4 6,4 --dialect torch": lambda x: x.reshape(6, 4),
    "transpose 2,3,4 1,2,0": lambda x: np.einsum("abc->bca", x),
    "swapaxes 2,3,4 0 2": lambda x: np.einsum("abc->cba", x),
    "moveaxis 2,3,4 0 2 --dialect numpy": lambda x: np.moveaxis(x, 0, 2),
    "rearrange 2,12 'a (b c) -> c (a b)' --lengths b=3": lambda x: np.einsum("abc->cab", x.reshape(2, 3, 4)).reshape(
        4, 6
    ),
    "shuffle 2,3,4 --first 1,2,0 --to 0,-1 --second 1,0": lambda x: np.einsum("abc->bca", x).reshape(3, 8).T,
    "squeeze 2,1,4 1": lambda x: x[:, 0],
    "unsqueeze 2,4 1": lambda x: x[:, None],
    "expand 2,1,4 2,3,4": lambda x: np.concatenate([x, x, x], 1),
    "tile 2,3 1,2": lambda x: np.concatenate([x, x], 1),
    "repeat_interleave 2,3 2 1 --dialect torch": lambda x: np.stack([x, x], 2).reshape(2, 6),
    "select 2,3,4 1 -1": lambda x: x[:, 2],
    "take 2,3,4 1 2,0,0": lambda x: np.stack([x[:, 2], x[:, 0], x[:, 0]], 1),
    "slice 2,3,4 1:,::-1,::2 --dialect numpy": lambda x: x[1:, ::-1, ::2],
    "split 2,6 2 --axis 1 --part 1": lambda x: x[:, 3:],
    "flip 2,3 1": lambda x: x[:, [2, 1, 0]],
    "roll 2,3 1 --axis 1 --dialect numpy": lambda x: x[:, [2, 0, 1]],
    "pad 2,3 0,1,0,1 --mode reflect": lambda x: x[:, [1, 0, 1, 2, 1]],
    "depth_to_space 1,4,1,2 2": lambda x: np.array([[[[0, 2, 1, 3], [4, 6, 5, 7]]]]),
    "space_to_depth 1,1,2,4 2": lambda x: np.array([[[[0, 2]], [[1, 3]], [[4, 6]], [[5, 7]]]]),
}
"""A command line of each op, with the same elements as an expression of its input, whose elements are numbered."""
NO_MOVES = {"shape", "conv", "pool", "upsample", "mean", "broadcast", "matmul", "linear", "concat", "stack", "einsum"}
"""Ops whose results are not elements of one input."""


def test_every_op_that_moves_elements_has_an_expression():
    assert {line.split()[0] for line in EXPRESSIONS} == {*OPS} - NO_MOVES


@pytest.mark.parametrize("line", EXPRESSIONS)
def test_op_moves_elements_as_its_expression(line):
    answer = answer_to(line)
    x = np.arange(prod(answer.input)).reshape(answer.input)
    assert run(answer, x).array.tolist() == EXPRESSIONS[line](x).tolist()
