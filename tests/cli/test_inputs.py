"""Tensors as inputs: anything that has a shape, and None for a dim that nobody knows."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import shapecalc as sc


class UnknownRank:
    """A shape of which nothing is known, as TensorFlow's: going through it raises `ValueError`."""

    def __iter__(self):
        raise ValueError("Cannot iterate over a shape with unknown rank.")


def test_the_shape_of_whatever_has_one_is_taken():
    assert sc.reshape(np.zeros((2, 3, 4)), (0, -1)).output == (2, 12)
    assert sc.transpose(np.arange(24)).output == (24,)
    assert sc.reshape(np.float32(1), (1,)).output == (1,)
    assert sc.chain(np.zeros((2, 3)), "transpose").output == (3, 2)
    assert sc.compare(np.zeros((2, 3)), (6, -1)).agree
    assert sc.find(np.zeros((2, 3)), np.zeros((3, 2))).fits == 2


def test_none_is_a_dim_that_nobody_knows():
    layer = SimpleNamespace(shape=(None, 3, None))
    for shape in (layer, [None, 3, None], ("?", 3, "?")):
        assert sc.shape_text(sc.reshape(shape, (0, -1)).output) == "?,3*?"
    assert str(sc.reshape((None, 4), (2, 6))) == "2,6 when ? == 3"


def test_none_in_a_json_case_is_one_too(shapecalc, tmp_path):
    case = {"op": "reshape", "input": [None, 3, 4], "target": [0, -1], "expect": ["?", 12]}
    (tmp_path / "x.jsonl").write_text(json.dumps(case))
    assert shapecalc("check", str(tmp_path / "x.jsonl")).code == 0


@pytest.mark.parametrize("shape", [UnknownRank(), 5, len, (2, -1), "2,3", b"ab", {"a": 1}, (2.5,)], ids=range(8))
def test_what_has_a_shape_that_is_none_is_refused(shape):
    with pytest.raises(sc.ShapeError) as error:
        sc.reshape(SimpleNamespace(shape=shape), (-1,))
    assert error.value.problem.rule == "usage"


def test_none_cannot_be_requested():
    with pytest.raises(sc.ShapeError, match="a dim is a whole number or a name"):
        sc.reshape((2, 3), (None, 3))
