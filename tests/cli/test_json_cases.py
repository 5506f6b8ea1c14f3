"""JSON cases, good or bad: each is answered or refused, and told with its own id."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapecalc.cli.check import Block, Style, answered_row, judge_block, unread_row
from shapecalc.core.ask import switches
from shapecalc.core.cases import case_of, read_object
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import Holds
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import operator_of
from shapecalc.core.problem import ShapeError
from tests.sampling import examples
from tests.strategies import permutations, reshapes

ODD = [True, False, 2.0, None, "N", "3*N", "?", "2", 2**31, 2**63, 10**30, 10**1001, -1, -2, [2], {}]


@st.composite
def dims(draw):
    """Draw the dims of a JSON case: mostly small numbers, now and then something odd, or no list at all."""
    found = draw(st.lists(st.integers(-1, 6), max_size=5))
    if draw(st.integers(0, 9)) == 0:
        found.insert(draw(st.integers(0, len(found))), draw(st.sampled_from(ODD)))
    return draw(st.sampled_from([",".join(map(str, found)), *ODD])) if draw(st.integers(0, 19)) == 0 else found


def numbers():
    return st.one_of(st.integers(-4, 5), st.integers(-4, 5), st.sampled_from(ODD))


@st.composite
def json_cases(draw):
    """Draw a JSON case of any op in any dialect, good or bad."""
    op = OPS[draw(st.sampled_from(list(OPS)))]
    having = [name for name, row in DIALECTS.items() if operator_of(op, row)]
    case = {"op": op.name, "dialect": draw(st.sampled_from(having if draw(st.integers(0, 9)) else list(DIALECTS)))}
    shape, target = draw(reshapes())
    case["input"] = list(shape) if draw(st.integers(0, 4)) else draw(dims())
    operator = operator_of(op, DIALECTS[case["dialect"]])
    for param in (*op.params, *(operator.params if operator else ())):
        if param.holds is Holds.FLAG:
            if draw(st.booleans()):
                case[param.name] = draw(st.sampled_from([0, 1, True, False, 2, "1"]))
        elif param.holds is Holds.INT:
            if draw(st.booleans()):
                case[param.name] = draw(numbers())
        elif param.name in ("perm", "first", "second") and draw(st.booleans()):
            shape, perm = draw(permutations())
            case |= (
                {"input": list(shape), param.name: list(perm)} if op.name == "transpose" else {param.name: list(perm)}
            )
        elif param.required or draw(st.booleans()):
            case[param.name] = list(target) if param.holds is Holds.TARGET and draw(st.integers(0, 3)) else draw(dims())
    switch = DIALECTS[case["dialect"]].switch
    if switch and draw(st.booleans()):
        case[switch.name] = draw(st.sampled_from([0, 1, True, False]))
    odd = {"opset": st.sampled_from([1, 7, 11, 13, 14, 25, 28, True, 14.0, "14", 0, None])}
    odd |= {"dtype": st.sampled_from(["float", "float32", "int2", "nope", 5]), "axis": numbers(), "N": st.just(1)}
    odd |= dict.fromkeys(switches(), st.sampled_from([0, 1, 0.0, 2, None])) | {
        "where": st.sampled_from([{"N": 2}, "N=2"])
    }
    for name in draw(st.lists(st.sampled_from(list(odd)), max_size=1)):
        case[name] = draw(odd[name])
    return case


@examples(300)
@given(json_cases(), st.sampled_from([None, 5, "a:b", 'quote"', [1, {"x": 2.5}], 1.5, True]))
def test_a_line_is_judged_by_the_answer_to_its_case(case, name):
    text = json.dumps(case | {"id": name})
    try:
        read = case_of(read_object(text), {})
        row = answered_row(1, text, read, read.answer(), None, strict=False)
    except ShapeError as error:
        row = unread_row(1, text, error.problem, name)
    shown = judge_block(Block(text.encode(), 1), "a file", Style(json=True), {}).shown
    assert shown == f"{json.dumps(row.as_json('a file'))}\n"


@pytest.mark.parametrize("number", ["2.0", "2e0", "NaN", "-Infinity"])
@pytest.mark.parametrize(
    "text", ['"input": [{}], "target": [2]', '"input": [2], "target": [{}]', '"input": [2], "target": [2], "opset": {}']
)
def test_no_number_with_a_fraction_is_taken_for_a_whole_one(number, text):
    with pytest.raises(ShapeError):
        case_of(read_object('{"op": "reshape", ' + text.format(number) + "}"), {}).answer()
