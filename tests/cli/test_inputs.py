"""Calls from Python, whose tensors may be anything that has a shape, and None a dim that nobody knows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import shapecalc as sc
from tests.cli.conftest import rows
from tests.sampling import each_row


class UnknownRank:
    """A shape of which nothing is known, as TensorFlow's: going through it raises `ValueError`."""

    def __iter__(self):
        raise ValueError("Cannot iterate over a shape with unknown rank.")


NAMES = {**vars(sc), "np": np, "SimpleNamespace": SimpleNamespace, "UnknownRank": UnknownRank}


@each_row("call", [call for (call,) in rows("wrong_calls.txt")])
def test_python_invalid_call_raises_shape_error(call):
    with pytest.raises(sc.ShapeError) as caught:
        eval(call, NAMES)
    assert caught.value.problem.rule == "usage"


@each_row(("call", "result"), rows("right_calls.txt"))
def test_python_input_may_have_a_shape(call, result):
    assert str(eval(call, NAMES)) == result


def test_python_error_span_is_in_the_given_text():
    with pytest.raises(sc.ShapeError) as caught:
        sc.reshape((2, 3, 4), "[5, -1]")
    assert caught.value.problem.span == (4, 6)


def test_json_none_is_an_unknown_dim(shapecalc):
    case = '{"op": "reshape", "input": [null, 3, 4], "target": [0, -1], "expect": ["?", 12]}'
    assert shapecalc("check", "-", stdin=case).code == 0


def test_none_cannot_be_requested():
    with pytest.raises(sc.ShapeError, match="a dim is a whole number or a name"):
        sc.reshape((2, 3), (None, 3))
