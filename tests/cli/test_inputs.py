"""Calls from Python: inputs with a `shape` attribute, and None for an unknown dim."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import shapecalc as sc
from tests.cli.conftest import rows
from tests.sampling import each_row


class UnknownRank:
    """A shape of unknown rank, as in TensorFlow: iteration raises `ValueError`."""

    def __iter__(self):
        raise ValueError("Cannot iterate over a shape with unknown rank.")


NAMES = {**vars(sc), "np": np, "SimpleNamespace": SimpleNamespace, "UnknownRank": UnknownRank}


@each_row("call", [call for (call,) in rows("wrong_calls.txt")])
def test_python_invalid_call_raises_shape_error(call):
    with pytest.raises(sc.ShapeError) as error:
        eval(call, NAMES)
    assert error.value.problem.rule == "usage"


@each_row(("call", "result"), rows("right_calls.txt"))
def test_python_input_may_have_a_shape(call, result):
    assert str(eval(call, NAMES)) == result


def test_python_error_span_is_in_the_given_text():
    with pytest.raises(sc.ShapeError) as error:
        sc.reshape((2, 3, 4), "[5, -1]")
    assert error.value.problem.span == (4, 6)


def test_json_none_is_an_unknown_dim(shapecalc):
    case = '{"op": "reshape", "input": [null, 3, 4], "target": [0, -1], "expect": ["?", 12]}'
    assert shapecalc("check", "-", stdin=case).code == 0


def test_none_cannot_be_requested():
    with pytest.raises(sc.ShapeError, match="a dim is a whole number or a name"):
        sc.reshape((2, 3), (None, 3))
