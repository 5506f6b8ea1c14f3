"""Links of a served app, without a server: what they hold, and what is refused in them."""

from __future__ import annotations

import pytest

from shapecalc.core.commands import split
from shapecalc.core.problem import ShapeError
from shapecalc.tui.question import answer_question, command, question_of
from shapecalc.tui.served_app import link_of, linked_question, opening
from tests.tui.tables import table


@pytest.mark.parametrize("line", [line for (line,) in table("linked")])
def test_served_link_restores_the_question(line):
    question = question_of(split(line))
    answer = answer_question(question).answer
    line = command(question, answer)
    again, step = linked_question(*link_of(line, 3).values())
    assert command(again, answer_question(again).answer) == line
    assert step == 3


def test_served_long_question_has_no_link():
    assert link_of(f"shapecalc reshape {'1,' * 5000}1 -1", 0) == {}


@pytest.mark.parametrize("step", ["", "x", "-1", "٣", "9" * 400, "1.5", " "])
def test_served_link_omits_an_invalid_step(step):
    assert linked_question("flatten 2,3", step)[1] is None


FILES = [
    "x.npy -1",
    "reshape ' x.npz:w' -1",
    "chain 'x.npy | flatten'",
    "equiv '2,3 | flatten' 'x.safetensors:w | flatten'",
]


@pytest.mark.parametrize("ask", FILES)
def test_served_app_refuses_files(ask):
    with pytest.raises(ShapeError) as refused:
        linked_question(ask, "")
    assert refused.value.problem.rule == "file"


NO_QUESTIONS = ["reshape 2,3 6 -o y.npy", "reshape 2,3 6 --explain", "serve", "--help", "reshape '2"]
HOSTILE = ["\0\x1b[31m", "\udcff", "(" * 5000]


@pytest.mark.parametrize("ask", NO_QUESTIONS + HOSTILE, ids=lambda ask: ascii(ask)[:30])
def test_served_app_opens_the_owners_question(ask):
    question, step, complaint = opening(["reshape", {"input": "2,3", "target": "6"}], [ask, "2"])
    assert (question.texts["input"], step) == ("2,3", 0)
    assert complaint
