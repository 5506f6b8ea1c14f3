"""Expectations: whatever shapecalc prints is read back, and lines are rewritten without a change beside."""

from __future__ import annotations

import json

import pytest

import shapecalc as sc
from shapecalc.core.cases import (
    answer_text,
    expectation_of,
    met,
    read_case,
    read_conditions,
    read_default,
    read_expectation,
    rewritten,
)
from shapecalc.core.pattern import read_pattern, unexpected
from shapecalc.core.problem import ShapeError
from tests.cases import cases


@pytest.mark.sampled(120)
@pytest.mark.parametrize("case", [*cases("symbolic"), *cases("ops"), *cases("seeds")], ids=str)
def test_an_answer_meets_what_it_prints(case):
    answer = case.answer()
    expected = read_expectation(answer_text(answer))
    assert met(expected, answer, strict=True)
    assert str(expected).split(" when ")[0] == answer_text(answer).split(" when ")[0]
    for listed in (map(str, answer.conditions), (condition.words for condition in answer.conditions)):
        assert set(map(str, read_conditions(listed))) == set(map(str, answer.conditions))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("expected", ["error", "error indivisible", "2,13", "3,?", "N,13"])
def test_an_answer_is_no_refusal_and_no_other_shape(expected, strict):
    assert not met(read_expectation(expected), sc.reshape("2,3,4", "0,-1"), strict=strict)


@pytest.mark.parametrize("expected", ["2,12", "?,12", "...", "error volume-mismatch"])
def test_a_refusal_is_no_shape_and_no_other_rule(expected):
    assert not met(read_expectation(expected), read_case("reshape 2,3,4 5,-1", {}).answer())


@pytest.mark.parametrize("expected", ["4,?", "?,4,?"])
def test_a_dim_that_nobody_knows_is_no_name_of_the_question(expected):
    assert " is not " in unexpected(read_pattern(expected, "expect"), sc.reshape("?,4", "0,-1"))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("[2, 6] when  3 == N", "2,6 when N == 3"),
        ("2x6 when 2*N == 6", "2,6 when N == 3"),
        ("2,6 when N*M % 6 == 0 and M == 2", "2,6 when M == 2 and N % 3 == 0"),
        ("2,6 when N % (M*K) == 0", "2,6 when N % (K*M) == 0"),
        ("N when N != 1", "N when N != 1"),
        ("2 when 64 divides C*H*W and N is 3", "2 when C*H*W % 64 == 0 and N == 3"),
        ("2 when N  is not M and M*K divides N", "2 when N != M and N % (K*M) == 0"),
        ("2 when is is 3 and divides divides not", "2 when is == 3 and not % divides == 0"),
        ("2 when N == M and N % 32 == 0 and 64 divides M", "2 when M % 64 == 0 and N == M"),
        ("2 when 3 == 3", "2"),
        ("torch.Size([])", "[]"),
        ("error", "error"),
        ("error  indivisible", "error indivisible"),
    ],
)
def test_an_expectation_is_read_however_it_is_written(text, printed):
    assert str(read_expectation(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "error nope",
        "error infer x",
        "2,",
        "2 when",
        "2 when N",
        "2 when N % 3",
        "2 when N % 3 == 1",
        "2 when 3 == 4",
        "2 when N == 3 and N == 4",
        "2 when N is M and M is 2*N",
        "2 when 4 divides N and N is 6",
        "2 when 0 divides N",
        "2 when divides N",
        "2 when N is",
        "2 when N,M == 3",
        "2 when N % 0 == 0",
        "2 when N == 3 or M == 2",
        "-",
    ],
)
def test_what_is_no_expectation_is_refused(text):
    with pytest.raises(ShapeError) as caught:
        read_expectation(text)
    assert caught.value.problem.rule == "usage"


@pytest.mark.parametrize("value", [5, True, 2.5, [True], [2.0], {"error": 5}, {"error": "indivisible", "x": 1}, {}])
def test_a_json_value_that_is_no_expectation_is_refused(value):
    with pytest.raises(ShapeError):
        expectation_of(value)


def test_conditions_are_compared_where_they_are_named_or_strictly():
    answer = sc.reshape("N,4", "2,6")
    assert met(read_expectation("2,6"), answer)
    assert not met(read_expectation("2,6"), answer, strict=True)
    assert met(read_expectation("2,6 when N == 3"), answer, strict=True)
    assert not met(read_expectation("2,6 when N == 4"), answer)
    assert not met(read_expectation("2,6 when N == 3"), sc.reshape("3,4", "2,6"))


OBJECT = '{"op": "reshape", "input": [2, 3], "target": [6], '


@pytest.mark.parametrize(
    ("line", "anew"),
    [
        ("reshape 2,3 6 =>7", "reshape 2,3 6 =>6"),
        ("\treshape 2,3 6  =>  2,3\t # a => b\r", "\treshape 2,3 6  =>  6\t # a => b\r"),
        ("reshape 2,3 5,-1 => 6  # x", "reshape 2,3 5,-1 => error indivisible  # x"),
        ("reshape N,4 2,6 => 2,6 when N == 4", "reshape N,4 2,6 => 2,6 when N == 3"),
        ("reshape N,4 2,6 => error", "reshape N,4 2,6 => 2,6"),
        (f'{OBJECT}"expect":[1,2] , "id": "expect"}}', f'{OBJECT}"expect":[6] , "id": "expect"}}'),
        (f'{OBJECT}"expect": "7"}}', f'{OBJECT}"expect": "6"}}'),
        (f'{OBJECT}"expect": {{"error": "dtype"}}}} ', f'{OBJECT}"expect": [6]}} '),
        ('{"op":"shape","input":["N",2],"expect":["N",3]}', '{"op":"shape","input":["N",2],"expect":["N",2]}'),
        (f'{OBJECT}"expect": "error dtype"}}', f'{OBJECT}"expect": [6]}}'),
    ],
)
def test_only_the_expectation_is_rewritten(line, anew):
    case = read_case(line.strip(), {})
    assert rewritten(line, case.expected, case.answer()) == anew


def test_defaults_add_up_until_they_are_taken_back():
    defaults = read_default("@default dialect=ONNX opset=13 # c", {})
    assert read_default("@default --allowzero=1", defaults) == {"dialect": "onnx", "opset": 13, "allowzero": True}
    assert read_default("@default", defaults) == {}
    for text in ("@default dialekt=onnx", "@default dialect", "@default opset=x", "@default where=N=2"):
        with pytest.raises(ShapeError):
            read_default(text, {})


PATTERNS = [
    ("reshape 2,3,4 0,-1", "2,?", True),
    ("reshape 2,3,4 0,-1", "N,12", True),
    ("reshape 2,3,4 0,-1", "N,13", False),
    ("reshape 2,3,4 0,-1", "N,N", False),
    ("reshape 2,3,4 0,-1", "...", True),
    ("reshape 2,3,4 0,-1", "N,...,12,5", False),
    ("reshape 2,3,4 0,-1 --dtype float", "float32[...,12]", True),
    ("reshape 2,3,4 0,-1 --dtype float", "int8[...,12]", False),
    ("reshape 2,3,4 0,-1", "float32[2,12]", False),
    ("shape 2,3,4", "int64[...]", True),
    ("reshape N,4 2,6", "2,? when N == 3", True),
    ("reshape N,4 2,6", "2,? when N == 4", False),
    ("reshape N,C,H 0,-1", "N,B", True),
    ("reshape N,C,H 0,-1", "C,...", False),
    ("reshape N,C,H 0,-1 --where N=8", "8,B", True),
    ("reshape N,C,H 0,-1 --where N=8", "N,B", False),
    ("expand 1,1 N,M", "M,N", False),
    ("N,3 | transpose 1,0 | reshape -1", "K", True),
    ("N,3 | transpose 1,0 --where N=4", "3,N", False),
    ("reshape ?,4 0,-1", "?,4", True),
    ("reshape 2,3,4 5,-1", "...", False),
]


@pytest.mark.parametrize(("question", "expected", "passes"), PATTERNS)
def test_an_expectation_may_be_a_pattern(question, expected, passes):
    case = read_case(f"{question} => {expected}", {})
    assert met(case.expected, case.answer()) is passes
    assert str(read_expectation(str(case.expected))) == str(case.expected)


@pytest.mark.parametrize(
    ("expect", "passes"),
    [(["N", 12], True), ([2, "..."], True), (["?", 13], False), ([None, 12], True), ("float32[2,12]", False)],
)
def test_a_json_expectation_may_be_a_pattern(expect, passes):
    asked = {"op": "reshape", "input": [2, 3, 4], "target": [0, -1]}
    for value in (expect, {"output": expect, "conditions": []}):
        if not isinstance(value, dict) or isinstance(expect, list):
            case = read_case(json.dumps(asked | {"expect": value}), {})
            assert met(case.expected, case.answer()) is passes


@pytest.mark.parametrize("shape", ["2,3,4", "N,3,4", "N,C,4"])
@pytest.mark.parametrize("expected", ["2,12", "12,2", "2,-1", "[]", "N,12", "N", "N,4*C"])
def test_an_expectation_without_anything_of_a_pattern_compares_as_text(shape, expected):
    case = read_case(f"reshape {shape} 0,-1 => {expected}", {})
    answer = case.answer()
    lacking = {*expected.replace("*", ",").split(",")} & {"N", "C"} - {*shape.split(",")}
    assert lacking or met(case.expected, answer) is (sc.shape_text(answer.output) == expected)
