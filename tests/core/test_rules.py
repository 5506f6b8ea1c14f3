"""Rules: what any op or dialect says by a rule, `shapecalc why` explains."""

from __future__ import annotations

import pytest

from shapecalc.core.ask import ask
from shapecalc.core.ops import OPS, dialects_with, every_rule
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_every_rule_that_acts_is_listed(op):
    unlisted = set()
    for row in dialects_with(op):
        for shape, arguments in op.vectors:
            try:
                trace = resolve(ask(op.name, shape, {**arguments, "dialect": row.name}))
            except ShapeError:  # the dialect takes other arguments
                continue
            acting = [step.rule for step in trace.steps] + ([trace.problem.rule] if trace.problem else [])
            unlisted |= {(row.name, str(rule)) for rule in acting if rule not in every_rule()}
    assert unlisted == set()
