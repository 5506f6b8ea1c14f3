"""Hints help in three rungs, and none of them says the dim that is asked for."""

from __future__ import annotations

import re

import pytest

from shapecalc.core.ask import ask
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import GIVEN
from shapecalc.view.hints import hint_of

NUMBER = r"[\w*/]+"


def asked_steps(op):
    """Yield each stage and step that settles one dim, of all examples of an op, in all dialects."""
    for shape, arguments in OPS[op].vectors:
        for dialect in DIALECTS:
            try:
                trace = resolve(ask(op, shape, {**arguments, "dialect": dialect}))
            except ShapeError:
                continue
            for stage in trace.stages:
                yield from ((stage, step) for step in stage.steps if step.out is not None)


@pytest.mark.parametrize("op", OPS)
def test_no_help_says_the_dim(op):
    for stage, step in asked_steps(op):
        hint, value = hint_of(stage, step), str(step.value)
        if step.rule == GIVEN:
            assert hint.arithmetic.startswith("the request gives a ")
        else:
            assert hint.arithmetic.replace("?", value, 1) == step.why or "?" in value
        shown = {*re.findall(NUMBER, f"{stage.before} {stage.asked} {step.rule.sentence}"), *map(str, range(8))}
        if value not in shown:
            assert value not in re.findall(NUMBER, f"{hint.rule} {hint.where}")


def test_the_indices_are_counted_out_under_the_shape():
    (stage,) = resolve(ask("reshape", "2,2,3,2", {"target": "-1,0,0"})).stages
    assert hint_of(stage, stage.steps[0]).where.splitlines() == [
        "the 0 is at index 1:",
        "index   0   1   2   3",
        "input   2   2   3   2",
        "            ^ count from the left",
    ]


def test_the_carets_stand_under_wide_dims():
    (stage,) = resolve(ask("reshape", "N,C*H*W,123", {"target": "0,0,-1"})).stages
    lines = hint_of(stage, stage.steps[1]).where.splitlines()
    assert lines[-1].index("^") == lines[-2].index("C*H*W") + len("C*H*W") - 1


def test_a_permutation_is_read_at_the_index_of_the_dim():
    (stage,) = resolve(ask("transpose", "2,3,4", {"perm": "1,2,0"})).stages
    hint = hint_of(stage, stage.steps[2])
    assert hint.asks == "how large is dim 2 after transpose 1,2,0?"
    assert hint.arithmetic == "output dim 2 is input dim 0, ?"
    assert hint.where.splitlines()[-1] == "        ^ this one"
