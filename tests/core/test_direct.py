"""Direct answers: the short way and the way by the steps say the same, whatever the case."""

from __future__ import annotations

import itertools
import json
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapecalc.cli.checking.judge import judge_block
from shapecalc.cli.checking.lines import Block
from shapecalc.cli.checking.reports import Report, Style
from shapecalc.core import fast_answers
from shapecalc.core.ask import SWITCHES, ask
from shapecalc.core.at_once import answer_at_once
from shapecalc.core.cases import case_of, read_object, vectors
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.fast_answers import fast_answer
from shapecalc.core.ops import OPS
from shapecalc.core.ops.op import Holds, operator_of
from shapecalc.core.plain_objects import plain_object
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve
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
    odd |= dict.fromkeys(SWITCHES, st.sampled_from([0, 1, 0.0, 2, None])) | {
        "where": st.sampled_from([{"N": 2}, "N=2"])
    }
    for name in draw(st.lists(st.sampled_from(list(odd)), max_size=1)):
        case[name] = draw(odd[name])
    return case


def whole_answer(text):
    """Return what the way by the steps says to a case, as a direct answer has it: None where that has none."""
    try:
        answer = case_of(read_object(text), {}).answer()
    except ShapeError:
        return None
    if answer.problem:
        return answer.problem.rule
    return list(answer.output) if all(type(dim) is int for dim in answer.output) else None


@examples(1500)
@given(json_cases())
@example({"op": "reshape", "input": [2], "target": [True, 2]})
@example({"op": "reshape", "input": [2], "opset": True, "target": [2]})
@example({"op": "reshape", "input": [2], "target": [2], "allowzero": 0.0})
@example({"op": "shuffle", "input": [2, 3], "to": [5, -1], "second": [0, 0]})
@example({"op": "shape", "input": [2, 3], "start": 1, "opset": 13})
def test_a_direct_answer_is_the_answer(case):
    text = json.dumps(case)
    read = plain_object(text)
    found = None if read is None else fast_answer(read)
    assert found in (None, whole_answer(text))


@examples(800)
@given(json_cases())
def test_an_answer_that_needs_no_steps_is_the_one_of_the_steps(case):
    try:
        answer = case_of(read_object(json.dumps(case)), {}).answer()
    except ShapeError:
        return
    if answer.output is not None and answer.stages:
        assert answer.stages[-1].after == answer.output


def hashable(value):
    """Return a value of a JSON case as a Python call has it: lists as tuples."""
    return tuple(map(hashable, value)) if isinstance(value, list) else value


@examples(800)
@given(json_cases())
@example({"op": "transpose", "input": [2, 3], "perm": [0, 10**4000], "dialect": "onnx"})
@example({"op": "flatten", "input": [2, 3], "axis": 10**4000, "dialect": "onnx"})
@example({"op": "reshape", "input": [-2, -3], "target": [6], "dialect": "onnx"})
@example({"op": "unsqueeze", "input": [2, 3], "axes": None, "dialect": "onnx"})
def test_an_answer_at_once_is_the_answer(case):
    options = {name: hashable(value) for name, value in case.items() if name not in ("op", "input")}
    at_once = answer_at_once(case["op"], hashable(case["input"]), options)
    if at_once is not None:
        trace = resolve(ask(case["op"], hashable(case["input"]), options))
        assert trace.problem is None
        assert at_once == trace
        assert at_once.steps == trace.steps


@pytest.mark.parametrize("first", [{"opset": 1}, {"allowzero": 0, "opset": 14}, {"start": None, "opset": 13}])
def test_what_is_remembered_of_one_case_is_not_used_for_an_unlike_one(first):
    op = "shape" if "start" in first else "reshape"
    known = {"op": op, "input": [2], **({} if op == "shape" else {"target": [2]}), **first}
    fast_answer(known)
    for name, others in (("opset", (True, 1.0, "1")), ("allowzero", (0.0,)), ("start", (1,))):
        for other in others if name in first else ():
            text = json.dumps(known | {name: other})
            read = plain_object(text)
            assert read is None or fast_answer(read) in (None, whole_answer(text))


@pytest.mark.parametrize("rank", [1, 2, 6, 7])
def test_a_permutation_that_is_asked_again_is_held_to_the_rank_again(rank):
    shape, perm = list(range(2, rank + 2)), list(range(rank))[::-1]
    for case in (
        {"input": shape},
        {"input": shape},
        {"input": [*shape, 9]},
        {"input": shape, "perm": [0] * (rank + 1)},
    ):
        case = {"op": "transpose", "perm": perm} | case
        assert fast_answer(case) == whole_answer(json.dumps(case))


SETTING_REFUSED = ["missing-switch", "no-such-attribute", "no-such-version", "dtype"]


def test_every_golden_case_of_numbers_is_answered_directly_unless_its_setting_is_refused():
    for case in vectors():
        text, expected = json.dumps(case), case["expect"]
        wanted = expected if isinstance(expected, list) else expected.get("error")
        named = any(type(dim) is str for dims in case.values() if type(dims) is list for dim in dims)
        found = fast_answer(plain_object(text))
        assert found == (None if named else wanted) or (found is None and wanted in SETTING_REFUSED), text


@examples(300)
@given(json_cases(), st.sampled_from([None, 5, "a:b", 'quote"', [1, {"x": 2.5}], 1.5, True]))
def test_the_json_of_a_direct_answer_is_that_of_the_whole_one(case, name):
    text = json.dumps(case | {"id": name})
    report = Report("a file", Style(json=True))
    try:
        read = case_of(read_object(text), {})
        report.add_answer(1, text, read, read.answer(), passed=None)
    except ShapeError as error:
        report.add_unread(1, text, error.problem, name)
    assert judge_block(Block(text.encode(), 1), "a file", Style(json=True), {}).shown == report.shown()


def test_a_case_that_says_a_key_twice_is_never_ordinary():
    twice = '"op": "shape", "input": [2]'
    for text in (
        f'{{{twice}, "op": "shape"}}',
        f'{{{twice}, "op": "shape", "expect": {{}}}}',
        f'{{{twice}, "op": "shape", "id": "\\u003a"}}',
        f'{{{twice}, "id": [{{"a": 1, "a": 1}}]}}',
        f'{{{twice}, "expect": {{"error": "x", "error": "x"}}}}',
    ):
        assert plain_object(text) is None
    assert plain_object(f'{{{twice}, "id": "a:b", "expect": {{"error": "x:y"}}}}')


@pytest.mark.slow
def test_what_is_remembered_is_bounded_whatever_comes():
    fast_answers._forms.clear()
    names = ["op", "input", "target", "dialect", "dtype", "allowzero", "opset", "id"]
    case = {"op": "reshape", "input": [1] * 6_000, "target": [-1], "dialect": "onnx", "dtype": "float", "opset": 14}
    case |= {"allowzero": 0, "id": "x"}
    for number, order in enumerate(islice(itertools.permutations(names), 0, 40_000, 25)):
        assert fast_answer({name: case[name] for name in order} | {"opset": 14 + number % 10}) == [1]
    fast_answer(case | {"dtype": "float" + " " * 10**6})
    fast_answer(case | {"k" * 10**6: 1})
    forms = fast_answers._forms
    settings = [given for keys, (_, found) in forms.items() if isinstance(keys, frozenset) for given in found]
    assert 0 < len(settings) <= fast_answers.MOST_KEPT
    assert len(forms) <= 2 * fast_answers.MOST_KEPT
    assert max(len(str(each)) for each in (*settings, *forms)) < 2 * fast_answers.LONGEST_KEPT


def test_keys_in_another_order_are_the_same_setting():
    fast_answers._forms.clear()
    case = {"op": "shuffle", "dialect": "tensorrt", "input": [2, 3], "first": [1, 0], "to": [0, -1], "id": 1}
    orders = [dict(order) for order in itertools.permutations(case.items())]
    assert all(fast_answer(order) == [3, 2] for order in orders)
    assert sum(len(found) for keys, (_, found) in fast_answers._forms.items() if isinstance(keys, frozenset)) == 1
