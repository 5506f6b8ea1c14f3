"""The screens that compare a chain with a second one, and with its short form."""

from __future__ import annotations

import json
import re

import pytest

import shapecalc as sc
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import shape_text
from shapecalc.reasoning.costs import Cost, Goal
from shapecalc.reasoning.equiv import EquivalenceVerdict
from shapecalc.reasoning.simplify import Simplification
from shapecalc.render.grid import build_tensor_path
from shapecalc.tui.chains import (
    COMPARE_MORE_HINT,
    UNPROVED_TEXT,
    compare_chains,
    draw_comparison,
    format_cost_line,
    format_simplification,
    output_paths,
    verdict_text,
)
from shapecalc.tui.question import Question, question_command, question_from_words, resolve_question
from shapecalc.tui.served import app_command
from tests.sampling import each_row
from tests.tui.driven import driven
from tests.tui.tables import table

FIRST, OTHER = "2,3 | transpose 1,0", "| reshape 3,2"
PAIRS = [(FIRST, OTHER), ("N,C,3 | transpose 1,0,2", "| reshape C,N,3"), ("64,64 | transpose", "| flatten")]


@pytest.mark.slow
@driven()
async def test_equiv_screen_highlights_both_outputs(user):
    for first, second in PAIRS:
        await user.ask(f"equiv '{first}' '{second}'")
        user.app.explore.action_equiv()
        counterexample = compare_chains(user.state.answer, second).equivalence.counterexample
        heads = [
            f"{name} {shape_text(shape)}"
            for name, shape in zip(("first", "second"), counterexample.outputs, strict=True)
        ]
        for size in ((80, 24), (60, 18), (200, 60)):
            await user.resize(*size)
            has_tables = size[1] > 18
            assert not has_tables or re.search(" +".join(heads), user.text)
            highlighted = [int(element) for element in re.findall(r"\[ *(\d+)\]", user.text)]
            elements = [*(counterexample.elements or ())]
            assert highlighted in (elements, 2 * elements)  # in the tables and, where there is room, in the tapes
            assert "esc closes" in user.text
        await user.press("escape")


@each_row(("text", "verdict", "said"), table("second_chains"))
def test_equiv_screen_reports_on_the_second_chain(text, verdict, said):
    pair = compare_chains(sc.transpose("N,C", "1,0"), text)
    assert (pair.equivalence.verdict.name if pair.equivalence is not None else "") == verdict
    shown = verdict_text(pair).plain
    assert said in shown
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize("second", ["view B,T,12,64 | transpose 0,2,1,3", "reshape B,T,12,64 | transpose 0,2,1,3"])
def test_equiv_screen_draws_nothing_for_equal_named_outputs(second):
    pair = compare_chains(sc.chain("B,T,768 | view B,T,12,64 -d torch | transpose 0,2,1,3 -d torch"), second)
    assert pair.equivalence.verdict is EquivalenceVerdict.SAME
    assert output_paths(pair) is None
    assert not draw_comparison(pair, 80, 24).plain
    with pytest.raises(ShapeError, match="a named dim has no size"):
        build_tensor_path(pair.first, {})


def test_equiv_screen_leaves_large_comparisons_to_the_command():
    chains = (
        "4096,4095 | transpose | reshape 4096,4095 | transpose",
        "| reshape 4095,4096 | transpose | reshape 4095,4096",
    )
    pair = compare_chains(resolve_question(question_from_words(["chain", chains[0]])).answer, chains[1])
    assert pair.equivalence.verdict is EquivalenceVerdict.UNDECIDED
    assert verdict_text(pair).plain.splitlines() == ["? undecided", "too many elements to compare", COMPARE_MORE_HINT]
    assert sc.equiv(*chains).verdict is EquivalenceVerdict.DIFFERENT


def test_equiv_screen_keeps_the_second_chain():
    question = question_from_words(["equiv", FIRST, OTHER])
    assert question_command(question, resolve_question(question).answer) == f"shapecalc chain '{FIRST}'"
    changed = question.with_text("input", "3,4").with_op("reshape").with_setting("opset", "13")
    assert changed.second_chain == OTHER
    assert Question(*json.loads(app_command(question)[-3])) == question


@pytest.mark.parametrize("words", [["equiv"], ["equiv", FIRST], ["equiv", FIRST, OTHER, "--where", "N=2"]])
def test_equiv_screen_needs_two_chains(words):
    with pytest.raises(ShapeError) as caught:
        question_from_words(words)
    assert caught.value.problem.rule == "usage"


def test_equiv_screen_suggests_similar_words():
    with pytest.raises(ShapeError) as caught:
        question_from_words(["equi", FIRST, OTHER])
    assert caught.value.problem.hint == "did you mean equiv?"


def test_equiv_screen_claims_only_what_is_proved():
    chain = sc.chain("2,3", "transpose")
    cost = Cost(1, 1, (48,))
    assert format_simplification(Simplification(chain, cost, cost, True, False)).plain == UNPROVED_TEXT
    assert format_cost_line(Goal.BYTES, cost, cost).plain == "bytes moved     48"
