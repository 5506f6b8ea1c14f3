"""Check that a wrong prediction is recognised as the right answer to a different request."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.requests import make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.text import parse_dims
from shapecalc.reasoning.mistakes import MISTAKE_KINDS, explain_prediction, find_mistakes
from tests.cases import rows
from tests.sampling import each_row

ROWS = rows("chains", "mistakes")


@pytest.mark.parametrize(("chain", "wrong", "kind"), ROWS)
def test_wrong_shape_reveals_its_mistake(chain, wrong, kind):
    shape, *stages = chain.split(" | ")
    mistake = explain_prediction(sc.chain(shape, *stages), parse_dims(wrong))
    assert (mistake.kind, mistake.answer.output) == (kind, parse_dims(wrong))
    assert mistake.sentence


def test_mistake_kinds_have_a_case():
    """The kinds of misplaced elements are tested in `sessions/`."""
    assert {*MISTAKE_KINDS} == {kind for *_, kind in ROWS} | {"transpose for reshape", "reshape for transpose"}


@each_row("op", OPS)
def test_mistakes_never_give_the_right_answer(op):
    for shape, arguments in OPS[op].vectors:
        try:
            answer = resolve(make_request(op, shape, arguments))
        except ShapeError:
            continue
        for mistake in find_mistakes(answer):
            assert (mistake.answer.output, mistake.answer.moves) != (answer.output, answer.moves)
            assert explain_prediction(answer, answer.output) is None
