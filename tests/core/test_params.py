"""Types of parameters: readers, metavars, JSON schemas and completions of one description."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from shapecalc.core.ops import OPS, all_params
from shapecalc.core.ops.pad import MODE_PARAM
from shapecalc.core.params import Param, ParamType
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.values import parse_number
from shapecalc.reading.options import OptionKind, option_from_param

PARAMS = [*chain.from_iterable(map(all_params, OPS.values()))]


def accepts(schema, value):
    """Return whether a value has the type of a schema and is one of its words."""
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
    kinds = [part["type"] for part in schema.get("anyOf", (schema,))]
    return any(isinstance(value, types[kind]) for kind in kinds) and value in schema.get("enum", (value,))


def test_param_schemas_accept_the_words_and_numbers_that_are_read():
    for param in PARAMS:
        for word in param.choices:
            assert accepts(param.schema, word), param.name
            assert param.parse_value(word, (2, 3)) == word
        if param.type is ParamType.SIZES:
            assert accepts(param.schema, [1, 1]) and param.parse_value([1, 1], ()) == (1, 1)


def test_param_types_describe_options():
    for param in PARAMS:
        option = option_from_param(param)
        assert (option.kind is OptionKind.SWITCH) == param.type.is_flag
        assert param.type.is_flag or option.metavar
        assert param.type.is_flag or [*(option.completions or list)()] == [*param.choices]


def test_choice_spellings_are_read_as_the_choice():
    assert [MODE_PARAM.parse_value(word, ()) for word in ("replicate", "Circular", "WRAP")] == ["edge", "wrap", "wrap"]
    assert MODE_PARAM.schema["enum"][-2:] == ["replicate", "circular"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("depth_to_space 8,2,3 2 --mode CRD -d torch", "torch pixel_shuffle has no mode"),
        ("space_to_depth 1,2,4,6 2 --mode CRD -d torch", "torch pixel_unshuffle has no mode"),
        ("pool 1,3,8,8 2 --kind average --dilation 2 -d torch", "torch avg_pool has no dilation"),
        ("upsample 1,3,4,4 2 -d tflite", "tflite RESIZE_NEAREST_NEIGHBOR has no scale"),
    ],
)
def test_argument_that_the_operator_lacks_is_usage(shapecalc, line, message):
    result = shapecalc(*line.split())
    assert (result.code, result.err) == (2, f"shapecalc: usage: {message}\n")


def test_param_beside_another_choice_is_refused():
    with pytest.raises(ShapeError, match="usage: fill is for the mode constant, and this is edge"):
        make_request("pad", (3,), {"padding": (1, 1), "mode": "replicate", "fill": 1})


@pytest.mark.parametrize(("value", "number"), [("-1", -1), (" 2.5", 2.5), ("1e3", 1000.0), (np.float32(0.5), 0.5)])
def test_parse_number_accepts_numbers(value, number):
    assert parse_number(value, "fill") == number


@pytest.mark.parametrize("value", ["", "x", "nan", "inf", "1_0", "1e999", True, None, b"1", float("nan"), [1]])
def test_parse_number_refuses_other_values(value):
    with pytest.raises(ShapeError, match="usage: fill is one number"):
        parse_number(value, "fill")


def test_integers_without_words_are_refused_as_numbers():
    with pytest.raises(ShapeError, match="usage: padding has whole numbers, not 2,H"):
        Param("padding", ParamType.SIZES, "the padding").parse_value("2,H", ())
