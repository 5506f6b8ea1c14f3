"""Predicting in place: the holes, what is typed into them, the helps, and mistakes beside the truth."""

from __future__ import annotations

import asyncio
import re

import pytest

from shapecalc.core.commands import split
from shapecalc.core.ops import OPS
from shapecalc.core.problem import ShapeError
from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.explore_text import WOULD_SHOW, flow_text, picture_text, sentence
from shapecalc.tui.question import FIRST, Question, answer_question, question_of
from shapecalc.tui.screens.dialogs import hide_output
from shapecalc.tui.state import State
from shapecalc.view.code import TARGETS, code
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(8)

COPIES = ("reshape", "2,2,3,2", "-1,0,0")


def state_of(line, step=0):
    return State(question_of(split(line)), step)


def typed(state, text):
    for char in text:
        state.type(char)


def test_the_app_opens_at_the_first_step_with_the_answer_hidden():
    state = ShapecalcApp(FIRST).explore.state
    assert (state.at, state.hides_answer, state.asking) == (0, True, True)


@driven(*COPIES, step=0)
async def test_it_asks_and_one_line_says_what_to_type_and_what_the_keys_do(user):
    assert user.title.endswith("24 elements   answer hidden")
    assert user.app.focused.id == "flow"
    assert [line.count("[    ]") for line in user.lines if "[    ]" in line] == [1, 1, 1]
    assert "1 of 3: what does the 0 at index 1 copy?" in user.text
    assert "Type the size for the lit hole. Enter gives a hint, PgDn shows it and goes on" in user.text


@driven(*COPIES, step=0)
async def test_a_size_is_checked_as_it_is_typed(user):
    await user.press("3")
    assert "[✗3  ]" in user.text
    assert "✗ 3 is dim 2\n" in user.text
    assert "    ^ count from the left" in user.text
    assert user.title.endswith("answer hidden   0/1")
    await user.press("backspace", "2")
    assert "0 copies dim 1, counted from the left, which is 2  [copy-zero]" in user.text
    assert user.title.endswith("answer hidden   0/1")
    await user.press("enter", "3")
    assert user.title.endswith("answer hidden   1/2")
    await user.press("pagedown", "4")
    assert user.title.endswith("answer 4,2,3")


@driven("reshape", "2,3,4", "0,-1", step=1)
async def test_the_beginning_of_the_right_size_is_not_wrong_yet(user):
    await user.press("1")
    assert "[ 1  ]" in user.text
    await user.press("2")
    assert "-1 is 24 elements (2*3*4) / 2 known = 12" in user.text
    await user.press("0")
    assert "[✗120]" in user.text


@driven("reshape", "2,3,4", "0,-1", step=1)
async def test_enter_helps_three_times_and_never_says_the_size(user):
    seen = []
    for _ in range(4):
        await user.press("enter")
        seen.append(user.text)
        assert not re.search(r"\b12\b", user.text.replace("F12", ""))
    assert "-1 is the element count divided by the product of the known dims" in seen[0]
    assert re.search(r"index\s+0\s+1\s+2\n input\s+2\s+3\s+4\n", seen[1])
    assert "-1 is 24 elements (2*3*4) / 2 known = ?" in seen[2]
    assert seen[3] == seen[2]


@driven("reshape", "2,3,4", "0,-1", step=1)
async def test_page_down_shows_the_dim_and_then_goes_on(user):
    await user.press("pagedown")
    assert "[2 of 3: solve -1]" in user.rail
    assert user.title.endswith("answer 2,12")
    await user.press("pagedown")
    assert "[3 of 3: regroup]" in user.rail
    await user.press("pageup")
    assert "24 / 2" in user.text


@driven(step=0)
async def test_all_is_hidden_and_revealed_by_one_key(user):
    await user.press("ctrl+g")
    assert user.title.endswith("answer 3,8")
    assert "[1 of 7: take axis]" in user.rail
    await user.press("ctrl+end", "ctrl+g")
    assert user.title.endswith("answer hidden")
    assert "[1 of 7: take axis]" in user.rail
    assert user.app.focused.id == "flow"


@driven("reshape", "2,3,4", "0,-1", step=0)
async def test_the_grid_shows_the_answer_and_so_reveals_it(user):
    await user.press("f3")
    assert user.title.endswith("answer 2,12")


@driven("transpose", "2,3", "1,0", step=0)
async def test_a_reshape_in_place_of_a_transpose_is_drawn_beside_it(user):
    await user.press("f3")
    assert "m mistake" in user.lines[-1]
    await user.press("m")
    assert "asked 3,2" in user.text
    assert "mistaken 3,2" in user.text
    assert "[3]" in user.text, "the transpose has element 3 where the reshape has 1"
    assert "[1]" in user.text
    assert "kept in their reading order, as a reshape does" in user.text
    await user.press("m")
    assert "mistaken" not in user.text
    await user.press("m", "pageup", "pagedown", "f3")
    assert "mistaken" not in user.text, "the grid is drawn alone again"


@driven("transpose", "40,50", "1,0", step=None)
async def test_a_large_mistake_says_what_is_left_out(user):
    await user.press("f3", "m")
    assert user.text.count(" of 50, columns 0-") == 2


@driven("squeeze", "1,3", step=None)
async def test_where_sizes_show_every_mistake_no_key_is_offered(user):
    await user.press("f3", "m")
    assert "mistake" not in user.text


@driven("reshape", "2,3,4", "0,-1", step=0)
async def test_another_question_is_asked_anew_and_the_score_stays(user):
    await user.press("2", "shift+tab", "shift+tab")
    await user.type("0")
    assert user.title.endswith("answer hidden   1/1")
    assert "1 of 2: what does the 0 at index 0 copy?" in user.text


@driven("reshape", "2,3,4", "0,12", step=0)
async def test_a_refusal_on_the_way_does_not_give_the_next_answer_away(user):
    await user.press("shift+tab", "backspace", "backspace", "5")
    assert user.title.endswith("refused: volume-mismatch")
    await user.press("backspace", "-", "1")
    assert user.title.endswith("answer hidden")


@driven(step=0)
async def test_arrow_keys_lead_to_other_holes_and_a_click_does(user):
    await user.press("right", "8")
    assert user.state.predictions.texts == {(2, 0): "8"}
    await user.press("down", "8")
    assert user.state.predictions.is_right((2, 1))
    await user.click("_", after=0)
    await user.press("3")
    assert user.state.chosen in user.state.predictions.texts


@pytest.mark.parametrize("text", ["x!", "\x1b", "[bold]", "漢", "9" * 100, "N*", "-1", "1,2"])
def test_whatever_is_typed_is_shown_safely(text):
    async def look(user):
        await user.hurry(*text)
        assert not {*"\x1b\x00\x07"} & {*user.text}
        assert all(len(line) <= 80 for line in user.lines)
        assert user.title.count("answer hidden")

    asyncio.run(using(look, *COPIES, step=0))


@driven("reshape", "N,C,H,W", "0,-1", step=1)
async def test_a_name_is_typed_too(user):
    await user.type("H*C*W")
    assert user.title.endswith("answer N,C*H*W")


PRIMES = [
    ("reshape 7,11,13 0,-1", "143"),
    ("flatten 7,11,13", "143"),
    ("shuffle 7,11,13 --first 1,0,2 --to 0,-1", "91"),
    ("tile 7,11 3,2", "22"),
    ("rearrange 7,11,13 'a b c -> a (c b)'", "143"),
    ("split 7,22 --axis 1 --parts 2", "11"),
    ("chain '7,11,13 | transpose 1,0,2 | reshape 0,-1'", "91"),
    ("view 7,11,13 7,-1", "143"),
]


@pytest.mark.parametrize(("line", "size"), PRIMES)
def test_nothing_on_the_screen_gives_a_hidden_size_away(line, size):
    async def look(user):
        passed = 0
        while user.state.hides_answer:
            assert size not in re.findall(r"\d+", user.text), user.text
            await user.press("pagedown")
            passed += 1
        assert passed > 1
        assert size in user.title

    asyncio.run(using(look, *split(line), step=0))


@driven("transpose", "2,3,4", "1,2,0", step=0)
async def test_a_mistake_stands_beside_the_truth(user):
    await user.press("4")
    assert "Perm was read the other way: entry i names the dim that comes to place i, not" in user.text
    assert "mistaken" not in user.text
    await user.press("down", "2", "down", "3")
    assert "asked 3,4,2                mistaken 4,2,3" in user.text
    assert "12 is at [0,0,1]           4 is at [0,0,1]" in user.text
    assert "[12]" in user.text
    assert "[ 4]" in user.text


def test_a_wrong_size_that_no_mistake_gives_is_only_wrong():
    state = state_of("transpose 2,3,4 1,2,0")
    typed(state, "9")
    assert state.mistake is None
    assert state.predictions.is_wrong((1, 0))


def test_the_mistake_of_a_tensor_without_elements_is_named():
    state = state_of("reshape 3,0 0,0")
    typed(state, "0")
    state.choose((1, 1))
    typed(state, "0")
    assert state.mistake.kind == "switch"


@driven("transpose", "2,3", "1,0", step=0)
async def test_what_was_right_at_once_is_counted(user):
    await user.press("3", "enter", "5", "backspace", "2")
    assert (user.state.score.right, user.state.score.tried) == (1, 2)


@driven("reshape", "2,3,4", "5,-1", step=0)
async def test_a_refusal_is_told_where_its_steps_lead(user):
    for said in (None, "PgDn goes on."):
        assert user.title.endswith("answer hidden")
        for sign in ("indivisible", "divided", "F6", "✗", "24 / 5"):
            assert sign not in user.text
        assert said is None or said in user.text
        await user.press("pagedown")
    assert user.title.endswith("refused: indivisible")
    assert "F6: write 4,-1" in user.text
    await user.press("ctrl+g")
    assert user.title.endswith("answer hidden")
    await user.press("ctrl+g")
    assert user.title.endswith("refused: indivisible")


@driven("reshape", "2,3,4", "-1,-1,2", step=0)
async def test_a_refusal_without_a_step_before_it_waits_for_one_key(user):
    assert user.title.endswith("answer hidden")
    assert not any(sign in user.text for sign in ("infer", "F6", "✗", "?"))
    await user.press("pagedown")
    assert user.title.endswith("refused: two-infers")


@driven("reshape", "2,3,4", "5,-1", step=0)
async def test_a_request_that_is_typed_is_refused_at_once(user):
    await user.press("shift+tab", "backspace", "7")
    assert user.title.endswith("refused: below-minus-one")
    assert "F6" in user.text


@driven("reshape", "7,11,13", "0,-1", step=0)
async def test_choosing_an_op_gives_nothing_away(user):
    await user.press("f2")
    assert user.text.count("answer hidden") == 2
    assert "143" not in user.text


@driven("reshape", "7,11,13", "0,-1", step=0)
async def test_comparing_hides_what_is_answered_here(user):
    await user.press("f4")
    assert "answer hidden" in user.text
    assert "143" not in user.text
    assert "refused: zero-beside-infer" in user.text or "≠" in user.text
    await user.press("escape", "ctrl+g", "f4")
    assert "7,143" in user.text


@driven("reshape", "2,3,4", "5,-1", step=0)
async def test_comparing_does_not_tell_that_it_is_refused_here(user):
    await user.press("f4")
    assert "answer hidden" in user.text
    assert "refused" not in user.text


@driven("reshape", "7,11,13", "0,-1", step=0)
async def test_code_hides_the_output(user):
    await user.press("f8")
    assert "# x: 7,11,13 -> y: _" in user.text
    await user.press("enter")
    assert [said for _, said in user.notes] == [WOULD_SHOW]
    assert not user.app.clipboard
    await user.press("escape", "ctrl+g", "f8")
    assert "# x: 7,11,13 -> y: 7,143" in user.text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("line", "size"), PRIMES)
def test_no_code_gives_a_hidden_size_away(line, size, target):
    answer = answer_question(question_of(split(line))).answer
    try:
        text = hide_output(code(answer, target).text, answer)
    except ShapeError:
        assert line.startswith(("rearrange", "split", "view"))
        return
    assert not re.search(rf"\b{size}\b", text)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", OPS)
def test_every_example_can_be_predicted_from_the_first_step_to_the_last(op):
    for shape, arguments in OPS[op].vectors:
        state = State(Question(op, {"input": shape} | {name: str(value) for name, value in arguments.items()}), 0)
        for _ in range(100):
            texts = [
                flow_text(state, 78, 7),
                picture_text(state, None, 78, 7),
                sentence(state, 78),
            ]
            assert all(len(line) <= 78 for text in texts for line in text.plain.split("\n"))
            if state.asking:
                typed(state, str(state.predictions.cells[state.hole].dim))
                assert state.predictions.is_right(state.hole)
            if state.at >= state.last:
                break
            state.enter()
        assert state.holes == ()
        assert state.score.right == state.score.tried


def test_a_tensor_of_many_dims_is_asked_about_too():
    ones = ",".join(["1"] * 10_000)
    state = State(question_of(["squeeze", f"{ones},7"]), 0)
    state.go(state.last - 2)
    assert state.hides_answer
    typed(state, "6")
    assert (state.asking, state.mistake) == (True, None)
