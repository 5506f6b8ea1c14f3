"""The tables of cases: the documents' own examples, and every rule of every dialect."""

from __future__ import annotations

import pytest

from shapecalc.core.ops import refusals, step_rules
from tests.cases import NAMES, cases

TABLES = [case for name in NAMES for case in cases(name)]


@pytest.mark.parametrize("case", TABLES, ids=str)
def test_case(case):
    case.check()


def test_the_tables_meet_every_rule():
    answers = [case.answer() for case in [*TABLES, *cases("symbolic")]]
    met = {step.rule for answer in answers for step in answer.steps}
    met |= {answer.problem.rule for answer in answers if answer.problem}
    assert met == (step_rules().keys() | refusals().keys()) - {"usage", "file", "differs"}
