"""Another chain held against the one on the screen: the verdict while it is typed, and both outputs."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

import shapecalc as sc
from shapecalc.core.equiv import Verdict
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import shape_text
from shapecalc.tui.chains import MORE, pair_of, verdict_text
from shapecalc.tui.question import Question, answer_question, command, question_of
from shapecalc.tui.served import command_of
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(6)

FIRST, OTHER = "2,3 | transpose 1,0", "| reshape 3,2"


async def open_by_palette(user):
    await user.press("ctrl+p")
    await user.type("another chain")
    await user.pilot.pause(0.3)
    await user.press("down", "enter")


@driven("transpose", "2,3", "1,0")
async def test_the_verdict_follows_what_is_typed(user):
    await open_by_palette(user)
    await user.type("| resh")
    assert "│ ..." in user.text
    await user.type("ape 3,2")
    assert "≠ different" in user.text
    assert "element [0,1] is element 3 of the input in the first, 1 in the second" in user.text
    assert "0 │   0 [3]       0 │    0 [1]" in user.text
    assert "$ shapecalc equiv '2,3 | transpose 1,0' '| reshape 3,2'" in user.text
    await user.wipe()
    await user.type("transpose")
    assert "✓ same" in user.text
    assert "first 3,2" not in user.text
    await user.press("f7")
    assert user.app.clipboard == "shapecalc equiv '2,3 | transpose 1,0' '| transpose'"


@driven("equiv", FIRST, OTHER)
async def test_it_opens_with_two_chains_and_keeps_the_second(user):
    assert "≠ different" in user.text
    await user.press("escape")
    assert user.command == f"$ shapecalc chain '{FIRST}'"
    await open_by_palette(user)
    assert "≠ different" in user.text
    await user.wipe()
    await user.press("escape")
    assert user.state.question.second_chain == ""


@driven("equiv", "2,3 | reshape 5,-1", OTHER)
async def test_a_first_chain_that_is_refused_says_why(user):
    assert "first chain, stage 1, reshape: " in user.text


@driven("equiv", "2,3 | nothing", OTHER)
async def test_a_first_chain_that_cannot_be_read_is_mended_first(user):
    assert user.title.endswith("cannot be read")
    assert "≠" not in user.text


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (200, 60)])
@pytest.mark.parametrize(
    "pair", [(FIRST, OTHER), ("N,C,3 | transpose 1,0,2", "| reshape C,N,3"), ("64,64 | transpose", "| flatten")]
)
def test_both_outputs_are_lit_once_at_every_size(size, pair):
    async def look(user):
        found = pair_of(user.state.answer, pair[1]).equivalence.counterexample
        heads = [f"{name} {shape_text(shape)}" for name, shape in zip(("first", "second"), found.outputs, strict=True)]
        assert re.search(" +".join(heads), user.text)
        lit = [int(element) for element in re.findall(r"\[ *(\d+)\]", user.text)]
        assert lit == [*(found.elements or ())]
        assert "escape closes" in user.text

    asyncio.run(using(look, "equiv", *pair, size=size))


SAID = [
    ("| transpose 1,0", Verdict.SAME, "✓ same"),
    ("reshape N*C", Verdict.DIFFERENT, "the outputs are 2,2 and 4"),
    (
        "| reshape C,N",
        Verdict.SAME_WHEN,
        "✓ same when N is 1, or when C is 1\nwith N=2,C=2, element [0,1] is element 2",
    ),
    ("| transpose 0", None, "second chain, stage 1, transpose: "),
    ("2,3 | transpose", None, "the chains have different inputs: N,C and 2,3"),
    ("N,C", Verdict.DIFFERENT, "element [0,1] is element 2"),
    ("| nothing", None, "there is no operation 'nothing'"),
    ("| \x1b[31m", None, "\\x1b[31m"),
    ("missing.npy | transpose", None, "missing.npy"),
    ("| reshape '1", None, "..."),
    ("| transpose |", None, "..."),
    ("| tr", None, "..."),
    ("", None, "..."),
]


@pytest.mark.parametrize(("text", "verdict", "said"), SAID)
def test_what_is_said_of_a_second_chain(text, verdict, said):
    pair = pair_of(sc.transpose("N,C", "1,0"), text)
    assert (pair.equivalence and pair.equivalence.verdict) == verdict
    shown = verdict_text(pair).plain
    assert said in shown
    assert shown.isprintable() or "\n" in shown


def test_what_is_too_large_to_compare_while_one_types_is_left_to_the_command():
    chains = (
        "4096,4095 | transpose | reshape 4096,4095 | transpose",
        "| reshape 4095,4096 | transpose | reshape 4095,4096",
    )
    pair = pair_of(answer_question(question_of(["chain", chains[0]])).answer, chains[1])
    assert pair.equivalence.verdict is Verdict.UNDECIDED
    assert verdict_text(pair).plain.splitlines() == ["? undecided", "too many elements to compare", MORE]
    assert sc.equiv(*chains).verdict is Verdict.DIFFERENT


def test_the_second_chain_stays_with_the_question():
    question = question_of(["equiv", FIRST, OTHER])
    assert command(question, answer_question(question).answer) == f"shapecalc chain '{FIRST}'"
    changed = question.with_text("input", "3,4").with_op("reshape").with_setting("opset", "13")
    assert changed.second_chain == OTHER
    assert Question(*json.loads(command_of(question)[-2])) == question


@pytest.mark.parametrize("words", [["equiv"], ["equiv", FIRST], ["equiv", FIRST, OTHER, "--where", "N=2"]])
def test_two_chains_are_needed(words):
    with pytest.raises(ShapeError) as caught:
        question_of(words)
    assert caught.value.problem.rule == "usage"


def test_a_word_that_is_almost_equiv_is_named():
    with pytest.raises(ShapeError) as caught:
        question_of(["equi", FIRST, OTHER])
    assert caught.value.problem.hint == "did you mean equiv?"
