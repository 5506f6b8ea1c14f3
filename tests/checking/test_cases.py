"""Check the tables of cases (documented examples, every rule of every dialect) and laws that hold for each case."""

from __future__ import annotations

import pytest

from shapecalc.checking.answering import answer_as_expectation, meets_expectation
from shapecalc.core.ops import OPS, all_rules, refusal_rules, step_rules, supporting_dialects
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.reading.cases import parse_conditions, parse_expectation
from tests.cases import NAMES, cases, describe_answer
from tests.reasoning.test_fixes import check_fixes
from tests.sampling import some_and_rest

TABLES = [case for name in NAMES for case in cases(name)]
WITH_NAMES = cases("symbolic")


@pytest.mark.parametrize("name", [*NAMES, "symbolic"])
def test_case_tables(name):
    by_location = {case.location: case for case in cases(name)}
    assert {location: describe_answer(case.answer()) for location, case in by_location.items()} == {
        location: case.expected for location, case in by_location.items()
    }


@pytest.mark.parametrize("part", some_and_rest(TABLES, 200))
def test_case_steps_settle_dims_and_fixes_resolve(part):
    for case in part:
        answer = case.answer()
        for stage in answer.stages:
            resolved = {step.out: step.value for step in stage.steps if step.out is not None}
            after = dict(enumerate(stage.after or ()))
            assert {out: after.get(out, dim) for out, dim in resolved.items()} == resolved, case
        check_fixes(answer.traces[-1])


@pytest.mark.parametrize("part", some_and_rest([*WITH_NAMES, *cases("ops"), *cases("seeds")], 100))
def test_answer_meets_its_printed_expectation(part):
    for case in part:
        answer = case.answer()
        expected = parse_expectation(answer_as_expectation(answer))
        assert meets_expectation(expected, answer, strict=True), case
        assert str(expected).split(" when ")[0] == answer_as_expectation(answer).split(" when ")[0]
        for conditions in (map(str, answer.conditions), (condition.phrase for condition in answer.conditions)):
            assert {*map(str, parse_conditions(conditions))} == {*map(str, answer.conditions)}, case


RULES_OF_CODE = {"layer-mismatch", "too-few-values", "element-kind"}
"""The rules by which only code is refused; their rows are in `tests/engines/checked.txt`."""


def test_case_tables_cover_every_rule():
    answers = [case.answer() for case in [*TABLES, *WITH_NAMES]]
    met_rules = {step.rule for answer in answers for step in answer.steps}
    met_rules |= {answer.problem.rule for answer in answers if answer.problem}
    assert met_rules == (step_rules().keys() | refusal_rules().keys()) - {"usage", "file", "differs", *RULES_OF_CODE}


@pytest.mark.slow
@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_dialect_independent_rules_are_listed(op):
    unlisted = set()
    for row in supporting_dialects(op):
        for shape, arguments in op.vectors:
            try:
                trace = resolve(make_request(op.name, shape, {**arguments, "dialect": row.name}))
            except ShapeError:  # the dialect takes other arguments
                continue
            acting = [step.rule for step in trace.steps] + ([trace.problem.rule] if trace.problem else [])
            unlisted |= {(row.name, str(rule)) for rule in acting if rule not in all_rules()}
    assert unlisted == set()
