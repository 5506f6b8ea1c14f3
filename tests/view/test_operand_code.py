"""Code of ops of several operands, run: each target makes what NumPy makes of the same arrays."""

from __future__ import annotations

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.view.code import code
from shapecalc.view.code.operands import FORMS, operand_names
from tests.view.running import data, run_code

CHAINS = {
    "2,1,4 | broadcast 3,1 | transpose": lambda x, b: np.broadcast_arrays(x, b)[0].T,
    "2,3,4 | matmul 4,5 | reshape 6,5": lambda x, b: (x @ b).reshape(6, 5),
    "3 | matmul 2,3,4": lambda x, b: x @ b,
    "2,3 | concat 4,3 _ --axis 0": lambda x, b: np.concatenate([b, x]),
    "2,3 | concat 2,1 2,2 --axis -1 | flatten": lambda x, b, c: np.concatenate([x, b, c], 1).reshape(2, 6),
    "2,3 | matmul 3,4 | concat 5,4 --axis 0": lambda x, b, c: np.concatenate([x @ b, c]),
}
LATER = {
    "2,3 | linear 5": lambda x, w: x @ w.T,
    "2,3 | stack 2,3 --axis 1": lambda x, b: np.stack([x, b], 1),
    "2,3 | einsum ij,jk->ki 3,4": lambda x, b: (x @ b).T,
}
TARGETS = [*(target for target in FORMS if target != "tensorrt"), "onnx"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("chain", [*CHAINS, *LATER])
def test_each_target_makes_what_numpy_makes(chain, target):
    shape, *stages = chain.split(" | ")
    answer = sc.chain(shape, *stages)
    shapes = operand_names(answer.traces)
    expected = {**CHAINS, **LATER}[chain](data(answer.input), *map(data, shapes.values()))
    assert expected.shape == answer.output
    found = run_code(target, code(answer, target).text, data(answer.input), shapes)
    np.testing.assert_array_equal(np.asarray(found).reshape(expected.shape), expected)


WINDOWS = [
    "2,3,9,9 | conv 4,3,3,3 --stride 2 --padding 1",
    "2,4,9 | conv 6,2,3 --groups 2 --dilation 2",
    "1,2,5,5 | conv 2,3,3,3 --transposed --stride 2 --padding 1 --output-padding 1",
    "1,2,7,7 | conv 2,2,3,3 --padding same",
    "1,2,8,8 | pool 3 --stride 2 --padding 1 --ceil",
    "1,2,8,8 | pool 2,3 --kind average --stride 2 --padding 1,0",
    "1,2,8,8 | pool 2 --kind average --padding 1 -d torch",
    "1,2,8 | pool global --kind average",
    "2,3 | pad 1,0,0,2",
    "1,2,4,4 | pad 1,1,0,2 --axes 2,3 | pool 3 --stride 2",
]


@pytest.mark.parametrize("chain", WINDOWS)
def test_windows_of_torch_and_onnx_make_the_same(chain):
    shape, *stages = chain.split(" | ")
    answer = sc.chain(shape, *stages)
    shapes = operand_names(answer.traces)
    made = run_code("onnx", code(answer, "onnx").text, data(answer.input), shapes)
    assert made.shape == answer.output
    found = run_code("torch", code(answer, "torch").text, data(answer.input), shapes)
    np.testing.assert_allclose(found, made, rtol=1e-6)


@pytest.mark.parametrize(
    ("chain", "target", "said"),
    [
        ("2,3 | pad -1,0,0,0", "numpy", "numpy takes no pads below 0"),
        ("1,3,9,9 | conv 4,3,3,3", "numpy", "conv is not written as numpy code"),
        ("1,3,9,9 | pool 3 --padding 0,0,1,1", "torch", "pads both ends alike"),
        ("2,3 | broadcast 3", "tensorrt", "broadcast is not written as tensorrt code"),
        ("2,3 | matmul 3,4", "einops", "einops has no pattern for matmul"),
    ],
)
def test_what_no_target_says_is_refused(chain, target, said):
    shape, *stages = chain.split(" | ")
    with pytest.raises(sc.ShapeError, match=said):
        code(sc.chain(shape, *stages), target)
