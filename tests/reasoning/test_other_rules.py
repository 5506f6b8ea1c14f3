"""The line on other rules appears exactly where PyTorch or NumPy answer otherwise."""

from __future__ import annotations

from hypothesis import given

from shapecalc.core.answers import Trace
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.reasoning.answers import OTHER_DIALECTS, describe_dialect_differences
from tests.render.questions import answers
from tests.sampling import examples


def outcome(answer):
    """Return the output and the conditions of an answer; None if it is refused."""
    return None if answer.output is None else (answer.output, {*map(str, answer.conditions)})


def outcome_under(answer, dialect):
    """Return the outcome of the same request in a dialect; the outcome of the answer if there is no such request."""
    try:
        return outcome(resolve(make_request(answer.op, answer.input, {**answer.request.arguments, "dialect": dialect})))
    except ShapeError:
        return outcome(answer)


@given(answers())
@examples(120)
def test_line_names_exactly_the_dialects_that_answer_otherwise(answer):
    if not isinstance(answer, Trace) or answer.dialect != OPS[answer.op].default_dialect:
        return
    line = describe_dialect_differences(answer)
    others = [name for name in OTHER_DIALECTS if outcome_under(answer, name) != outcome(answer)]
    named = line.partition(" rules; ")[2].partition(" (-d ")[0].split()
    assert [name for name in OTHER_DIALECTS if name in named] == others


def test_line_is_printed_once_and_only_without_a_dialect(shapecalc, monkeypatch):
    flatten, line = ("flatten", "2,3,4"), "shapecalc: onnx rules; torch and numpy give 24 (-d torch, or compare)\n"
    assert shapecalc(*flatten).err == line
    assert shapecalc("flatten", "-", stdin="2,3,4\n2,3,4\n") == shapecalc("flatten", "-", stdin="2,3,4\n2,3,4\n")
    assert shapecalc("flatten", "-", stdin="2,3,4\n2,3,4\n").err.count(line) == 1
    for options in (("-d", "onnx"), ("--opset", "13"), ("--json",), ("-q",), ("--expect", "2,12"), ("--as", "onnx")):
        assert line not in shapecalc(*flatten, *options).err
    assert shapecalc("chain", "2,3,4 | flatten").err == line
    assert shapecalc("chain", "2,3,4 | flatten -d numpy").err == ""
    monkeypatch.setenv("SHAPECALC_DIALECT", "onnx")
    assert shapecalc(*flatten).err == ""
