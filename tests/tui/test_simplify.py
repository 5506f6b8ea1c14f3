"""^L: the chain beside its short form, what each takes, and enter, which takes the short form."""

from __future__ import annotations

import asyncio

import pytest

import shapecalc as sc
from shapecalc.core.equiv import Verdict
from shapecalc.core.simplify import Cost, Goal, Simplification
from shapecalc.tui.chains import UNPROVED, conclusion_text, count_line
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(4)

LONG = "N,C,H | transpose 2,0,1 | transpose 1,0,2"
SHORTER = "It is as short as shapecalc can make it."


@driven("chain", LONG)
async def test_both_chains_stand_side_by_side_and_enter_takes_the_short_one(user):
    await user.press("ctrl+l")
    assert "│ as it is, 2 stages          short form, 1 stage" in user.text
    assert "│ transpose 2,0,1  → H,N,C    transpose 0,2,1  → N,H,C" in user.text
    assert "transposes      2 → 1" in user.text
    assert "Proved to be the same" in user.text
    assert f"$ shapecalc simplify '{LONG}' --for" in user.text
    await user.press("enter")
    short = user.state.question
    assert user.command == "$ shapecalc chain 'N,C,H | transpose 0,2,1'"
    assert sc.equiv(LONG, f"{short.texts['input']} | {short.texts['stages']}").verdict is Verdict.SAME
    await user.press("ctrl+l", "down", "down", "f7")
    assert user.app.clipboard == "shapecalc simplify 'N,C,H | transpose 0,2,1' --for bytes"


@driven("chain", LONG, step=0, learns=True)
async def test_a_hidden_answer_is_revealed_first(user):
    await user.press("ctrl+l")
    assert user.app.screen is user.app.explore
    assert user.notes == [("", "this would show the answer, which is hidden: ^G reveals it")]
    await user.press("ctrl+g", "ctrl+l")
    assert "short form, 1 stage" in user.text


@driven("chain", LONG)
async def test_escape_and_the_key_itself_leave_all_as_it_was(user):
    before = user.text
    for key in ("escape", "ctrl+l"):
        await user.press("ctrl+l", key)
        assert user.text == before


@driven("equiv", LONG, "| reshape N,C,H")
async def test_what_a_chain_was_held_against_stays(user):
    await user.press("escape", "ctrl+l", "enter")
    assert (user.state.question.texts["stages"], user.state.question.second_chain) == (
        "transpose 0,2,1",
        "| reshape N,C,H",
    )


@driven("transpose", "2,3,4", "0,2,1")
async def test_an_op_alone_is_a_chain_of_one_stage(user):
    await user.press("ctrl+l")
    assert "as it is, 1 stage" in user.text
    assert "short form" not in user.text
    assert SHORTER in user.text
    await user.press("enter")
    assert SHORTER in user.text


@driven("chain", "2,3,4 | transpose | reshape 5,-1")
async def test_a_refused_chain_says_why(user):
    await user.press("ctrl+l")
    assert "stage 2, reshape: 24 elements (4*3*2) cannot be divided by 5" in user.text
    assert "transposes  " not in user.text
    await user.press("down", "enter", "escape")
    assert user.title.endswith("refused: indivisible")


@driven("chain", "2,3 | nothing")
async def test_what_cannot_be_read_has_no_short_form(user):
    before = user.text
    await user.press("ctrl+l")
    assert user.text == before


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (200, 60)])
def test_it_fits(size):
    async def look(user):
        await user.press("ctrl+l")
        assert all(said in user.text for said in ("short form, 1 stage", "2 → 1", "Proved", "$ shapecalc", "escape"))
        corners = [user.text.count(corner) for corner in "╭╰╮╯"]
        assert corners in ([1] * 4, [2] * 4)

    asyncio.run(using(look, "chain", LONG, size=size))


@driven("chain", " | ".join(["2,3,4,5", *["transpose 1,0,2,3", "reshape 2,3,4,5"] * 9]))
async def test_a_long_chain_is_scrolled(user):
    await user.press("ctrl+l")
    shown = user.text
    await user.press("pagedown")
    assert user.text != shown
    await user.press("pageup")
    assert user.text == shown


def test_what_is_not_proved_is_not_called_so():
    chain = sc.chain("2,3", "transpose")
    cost = Cost(1, 1, (48,))
    assert conclusion_text(Simplification(chain, cost, cost, True, False)).plain == UNPROVED
    assert count_line(Goal.BYTES, cost, cost).plain == "bytes moved     48"
