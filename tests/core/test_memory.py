"""How PyTorch's tensors lie in memory: `view` in a chain is refused exactly where NumPy's reshape would copy."""

from __future__ import annotations

from math import prod
from random import Random

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.core.text import shape_text
from tests.core.drawing import factors, stage
from tests.core.test_simplify import carried_out_as_views
from tests.sampling import some_and_rest

SIZES = (1, 2, 2, 3, 4, 6)
COPYING = ("flip", "roll")


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
        array = carried_out_as_views(array, move)
        if text.startswith(COPYING):
            array = array.copy()
    return shape, texts, array


@pytest.mark.parametrize("seeds", some_and_rest(range(3000), 120))
def test_a_view_is_refused_where_numpy_copies(seeds):
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


@pytest.mark.parametrize(
    ("shape", "texts", "output"),
    [
        ("N,C,H,W", ["transpose 0,2,3,1", "view N,-1,C"], "N,H*W,C"),
        ("N,C,H,W", ["transpose 0,2,3,1", "view N,H,W*C"], "needs-size"),
        ("N,3,4", ["transpose 0,2,1", "view N,12"], "needs-size"),
        ("N,3,4", ["transpose 0,2,1", "reshape N,12", "view 12*N"], "12*N"),
        ("N,C,H,W", ["view N,C,H*W", "transpose 0,2,1", "view N,H,W,C"], "N,H,W,C"),
        ("N,C", ["transpose 1,0", "flip 0", "view -1"], "C*N"),
        ("N,C", ["transpose 1,0", "view -1"], "needs-size"),
        ("C", ["expand 2,C", "view 2*C"], "needs-size"),
        ("B,T,3*C", ["split 2 3 --part 1", "view B*T,C"], "B*T,C"),
        ("B,T,3*C", ["split 2 3 --part 1", "view -1"], "needs-size"),
        ("4,N", ["select 1 0", "view 2,2"], "2,2"),
        ("0,3", ["transpose 1,0", "view 3,0,5"], "3,0,5"),
        ("3,4", ["view 3,4 --strides 1,3", "view 12"], "stride-incompatible"),
        ("3,4", ["transpose 1,0", "view 12 --strides 3,1"], "12"),
    ],
)
def test_worked_case(shape, texts, output):
    try:
        found = shape_text(asked(shape, *texts).output)
    except sc.ShapeError as error:
        found = error.problem.rule
    assert found == output


def test_another_framework_has_no_strides():
    assert sc.chain("2,3,4", "transpose 0,2,1 --dialect numpy", "view 2,12 --dialect torch").output == (2, 12)
