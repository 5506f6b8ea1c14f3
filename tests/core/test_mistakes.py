"""Mistakes: a wrong prediction that is the right answer to another question is recognised by asking that question."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.ask import ask
from shapecalc.core.mistakes import KINDS, misplacement_of, mistake_of, mistakes
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.core.resolve import resolve
from shapecalc.core.text import read_dims

SHAPES = [
    ("permutation the other way", "transpose 1,2,0", "2,3,4", "4,2,3"),
    ("permutation the other way", "transpose 0,2,3,1", "N,C,H,W", "N,W,C,H"),
    ("permutation the other way", "transpose -2,-1,0 -d torch", "2,3,4", "4,2,3"),
    ("zero miscounted", "reshape -1,0,0", "2,2,3,2", "4,3,2"),
    ("zero miscounted", "reshape 0,-1", "2,3,4", "3,8"),
    ("zero of the input", "shuffle --first 1,0,2 --to 0,-1", "2,3,4", "2,12"),
    ("transpose left out", "shuffle --to 6,4 --second 1,0", "2,3,4", "6,4"),
    ("switch", "reshape 0,0", "3,0", "0,0"),
    ("permutation the other way", "transpose 1,2,0 | reshape 0,-1", "2,3,4", "4,6"),
]


@pytest.mark.parametrize(("kind", "stages", "shape", "wrong"), SHAPES)
def test_a_wrong_shape_shows_its_mistake(kind, stages, shape, wrong):
    answer = sc.chain(shape, *stages.split(" | "))
    found = mistake_of(answer, read_dims(wrong))
    assert found.kind == kind
    assert found.answer.output == read_dims(wrong)
    assert found.said


@pytest.mark.parametrize(
    ("size", "ways"),
    [(3, "counted from 1"), (5, "counted from the right"), (4, "lined up at the right"), (2, None), (7, None)],
)
def test_a_zero_that_is_miscounted_names_the_way(size, ways):
    found = mistake_of(sc.reshape((2, 3, 4, 5), (0, -1)), (size, None))
    assert (found and found.said.partition(":")[0]) == (ways and f"the dims were {ways}")


def test_a_size_that_several_ways_explain_names_them_all():
    found = mistake_of(sc.reshape((2, 3, 4), (0, -1)), (3, None))
    assert found.said.startswith("the dims were counted from 1, or lined up at the right: ")


def test_every_kind_has_a_case():
    assert {*KINDS} == {kind for kind, *_ in SHAPES} | {"transpose for reshape", "reshape for transpose"}


@pytest.mark.parametrize(
    ("kind", "op", "element", "place"),
    [("transpose for reshape", "reshape 3,2", (0, 2), (2, 0)), ("reshape for transpose", "transpose", (0, 2), (1, 0))],
)
def test_a_wrong_place_shows_its_mistake(kind, op, element, place):
    answer = sc.chain("2,3", op)
    assert misplacement_of(answer, element, place).kind == kind


@pytest.mark.parametrize("predicted", [(4, 2, 3), (4, 4, 4), (None, 9, None), (24,), ()])
def test_what_is_right_or_wrong_in_no_known_way_shows_none(predicted):
    assert mistake_of(sc.reshape((2, 2, 3, 2), (-1, 0, 0)), predicted) is None


def test_a_part_of_a_prediction_is_enough():
    answer = sc.reshape((2, 2, 3, 2), (-1, 0, 0))
    assert mistake_of(answer, (None, 3, None)).kind == "zero miscounted"
    assert mistake_of(answer, (None, 2, None)) is None


def test_a_refusal_that_was_predicted_shows_its_mistake():
    assert mistake_of(sc.reshape((2, 3, 4), (0, -1)), None).said == "allowzero was taken to be on: it is off"
    assert mistake_of(sc.transpose((2, 3), (1, 0)), None) is None


@pytest.mark.parametrize("op", OPS)
def test_no_mistake_leads_to_the_right_answer(op):
    for shape, arguments in OPS[op].vectors:
        try:
            answer = resolve(ask(op, shape, arguments))
        except ShapeError:
            continue
        for mistake in mistakes(answer):
            assert (mistake.answer.output, mistake.answer.moves) != (answer.output, answer.moves)
            assert mistake_of(answer, answer.output) is None
