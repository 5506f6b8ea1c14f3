"""The main screen, as someone at the keyboard meets it."""

from __future__ import annotations

import asyncio
import os

import numpy as np
import pytest

from shapecalc.core.commands import split
from shapecalc.tui.widgets import SENT
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(10)

SHUFFLE = split("shuffle 2,3,4 --first 1,0,2 --to 2,-1,3")


@driven()
async def test_a_first_example_is_answered(user):
    assert user.title.startswith("tensorrt Shuffle")
    assert user.title.endswith("24 elements   answer 3,8")
    assert user.command == "$ shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1"


@driven()
async def test_every_key_stroke_asks_anew(user):
    await user.type("0")
    assert user.title.endswith("answer 3,80")
    await user.press("backspace", "backspace")
    await user.type("6")
    assert user.title.endswith("answer 3,12")


@driven("reshape", "2,3,4", "0,12")
async def test_what_is_half_typed_is_no_error(user):
    await user.press("tab")
    for key in (*["backspace"] * 4, *"0,-1"):
        await user.press(key)
        assert not any(word in user.lines[2] + user.lines[3] for word in ("missing", "cannot", "expected"))
    assert user.title.endswith("answer 2,12")


@driven("reshape", "2,3,4", "5,-1")
async def test_the_carets_stand_under_what_is_wrong(user):
    column = user.lines[1].index("-1")
    assert user.lines[2] == " " * column + "▲▲"
    assert user.lines[3].strip() == "24 elements (2*3*4) cannot be divided by 5, 4 left over"


@driven("chain", "2,3,4 | transpose 1,0,2 | reshape 5,-1")
async def test_the_carets_stand_under_one_token_of_a_chain(user):
    assert user.lines[2] == " " * user.lines[1].rindex("-1") + "▲▲"


@driven("shuffle", "2,3,4", "--second", "0,1,7")
async def test_the_carets_stand_under_the_last_field(user):
    assert user.lines[2].index("▲") == user.lines[1].index("7")


@driven("reshape", "2,3,4", "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,5,-1", size=(60, 18))
async def test_the_carets_follow_a_field_that_scrolls(user):
    await user.press("tab", "end")
    await user.pilot.pause()
    assert user.lines[1].rstrip().endswith("5,-1")
    assert user.lines[2].index("▲▲") == user.lines[1].rindex("-1")
    await user.press("home")
    assert "-1" not in user.lines[1]
    assert user.lines[2].index("▲") == 58


@driven("reshape", "2,3,4", "5,-1")
async def test_a_wrong_character_is_told_at_once(user):
    await user.type("x")
    assert "▲ 'x' is not allowed in '4x'" in user.lines[2]
    assert user.title.endswith("cannot be read")


@driven("reshape", "2,3,4", "0,-1")
async def test_a_field_that_is_left_half_typed_is_told(user):
    await user.type(",")
    assert "missing" not in user.text
    await user.press("tab")
    assert "▲ a dim is missing" in user.lines[2]


@driven(*SHUFFLE)
async def test_steps_go_on_and_back_while_a_field_has_the_focus(user):
    await user.press("ctrl+home")
    assert "[1 of 8: take axis]" in user.rail
    await user.press("pagedown")
    assert "[2 of 8: take axis]" in user.rail
    await user.press("pageup", "pageup")
    assert "[1 of 8: take axis]" in user.rail
    await user.press("ctrl+end")
    assert user.rail == "input ▸ transpose ▸ reshape ▸ output"
    await user.press("pagedown")
    assert user.rail == "input ▸ transpose ▸ reshape ▸ output"
    assert user.state.question.texts["input"] == "2,3,4"


@driven(*SHUFFLE, step=5)
async def test_it_opens_at_a_step(user):
    assert "[6 of 8:" in user.rail


@driven(*SHUFFLE)
async def test_a_click_on_the_rail_goes_to_the_stage(user):
    await user.click("▸ transpose", after=3)
    assert "transpose [1 of 8" in user.rail
    await user.click("▸ reshape", after=3)
    assert "reshape [5 of 8" in user.rail


@driven(*SHUFFLE)
async def test_a_click_on_an_element_of_the_grid_follows_it(user):
    await user.press("f3")
    await user.click("6   7")
    assert user.state.cursor == (0, 1, 2)
    assert "[ 6]" in user.text


@driven(*SHUFFLE)
async def test_a_click_on_a_key_does_what_it_says(user):
    await user.click("PgUp back")
    assert "[8 of 8: regroup]" in user.rail
    await user.click("PgDn next", after=6)
    assert user.rail.endswith("▸ output")


@driven()
async def test_a_click_on_a_dim_lights_what_it_comes_from(user):
    await user.click("ac 8")
    assert user.state.chosen == (2, 1)
    lit = {
        segment.text.strip()
        for strip in user.app.screen._compositor.render_strips()
        for segment in strip
        if segment.style and segment.style.reverse and segment.text.strip()
    }
    assert {"a 2", "c 4", "ac 8"} <= lit
    await user.click("ac 8")
    assert user.state.chosen is None


@driven()
async def test_enter_goes_on_to_the_next_field(user):
    await user.press("enter")
    await user.wipe()
    await user.press("enter")
    await user.wipe()
    await user.type("-1")
    assert user.command == "$ shapecalc shuffle 2,3,4 --to -1"


@driven("transpose", "2,3", "1,0")
async def test_the_arrow_keys_follow_an_element(user):
    await user.press("f3")
    assert user.text.count("[0,0]") == 2
    await user.press("down", "right")
    assert user.text.count("[1,1]") == 2
    assert "[4]" in user.text
    await user.press("right", "right")
    assert user.state.cursor == (0, 0) or user.state.cursor == (1, 2)
    await user.press("f3")
    assert user.app.focused.id == "field-input"


@driven("reshape", "N,C,H,W", "0,-1,64")
async def test_names_say_when_the_answer_holds(user):
    assert "Holds when 64 divides C*H*W. Assumes that N is not 0." in user.text
    await user.press("f3")
    assert "[0,0,0,0]" in user.text


@driven("chain", "8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3")
async def test_a_chain_is_one_field_of_stages(user):
    assert user.title.endswith("answer 8,12,128,64")
    await user.press("tab", "end")
    await user.type(" | reshape 0,0,-1")
    assert user.title.endswith("answer 8,12,8192")
    assert user.rail == "input ▸ reshape ▸ transpose ▸ reshape ▸ output"


def test_a_file_gives_its_shape_and_its_elements(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.array([[1.5, 2.5], [3.5, 4.5]], "f4"))

    async def look(user):
        assert user.title.endswith("answer 4")
        await user.press("f3")
        assert "[1.5]" in user.text
        assert user.command == "$ shapecalc reshape x.npy -1"
        os.remove("x.npy")
        await user.press("shift+tab", "end")
        await user.type("1")
        await user.press("backspace")
        assert "x.npy: No such file" in user.text

    asyncio.run(using(look, "reshape", "x.npy", "-1"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'"])
def test_a_file_that_is_none_is_told(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npy").write_bytes(content)

    async def look(user):
        assert user.title.endswith("cannot be read")
        assert "x.npy" in user.lines[2] + user.lines[3]

    asyncio.run(using(look, "reshape", "x.npy", "-1"))


@driven("reshape", "2", "-1")
async def test_the_name_of_a_file_is_not_an_error_while_it_is_typed(user):
    await user.wipe()
    for char in "data/weights.np":
        await user.press(char)
        assert "▲" not in user.text


@driven("slice", "4,6", "::2,1:3")
async def test_the_grid_says_that_a_stage_leaves_the_element_out(user):
    await user.press("f3")
    assert "left out" in user.text
    await user.press("right")
    assert "left out" not in user.text


HOSTILE = [
    "\x1b[31m",
    "[bold]red[/]",
    "\u202egnp",
    "a\nb\r\nc",
    "x" * 10_000,
    ",".join(["2"] * 200),
    "9" * 40,
    "漢字",
    "\x00\x07",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_safely(text):
    async def look(user):
        await user.wipe()
        await user.paste(text)
        await user.press("pagedown", "f3", "f7", "f1", "escape")
        shown = user.text
        assert not {*"\x1b\x00\x07\u202e"} & {*shown}
        assert all(len(line) <= 80 for line in user.lines)
        assert user.command.startswith("$ shapecalc reshape")

    asyncio.run(using(look, "reshape", "2", "-1"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [(80, 24), (60, 18), (200, 60), (61, 19)])
@pytest.mark.parametrize(
    "words",
    [
        "shuffle 2,3,4,5,6,7,8,2 --first 7,6,5,4,3,2,1,0 --to 0,0,-1 --second 2,1,0",
        "shuffle 2,3,4 --first 1,0,2,5 --to 0,0,0,0,0,-1 --second 1,7",
        "chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3 | reshape 0,0,-1'",
        "reshape 2,3,4 5,-1",
    ],
)
def test_nothing_is_pushed_off_the_screen(words, size):
    async def look(user):
        answer = user.title
        assert "answer" in answer or "refused: " in answer
        assert not answer.endswith("…")
        for key in ("pageup", "f3", "ctrl+home"):
            await user.press(key)
            assert user.lines[-1].startswith(" PgDn next") or "F1 help" in user.lines[-1]
            assert user.lines[-2].startswith(" $ shapecalc ")

    asyncio.run(using(look, *split(words), size=size))


@driven()
async def test_a_small_terminal_asks_for_a_larger_one(user):
    await user.resize(59, 17)
    assert user.text.strip() == "enlarge the terminal to 60x18; it is 59x17"
    await user.resize(60, 18)
    assert user.title.endswith("answer 3,8")
    await user.resize(200, 60)
    assert user.title.endswith("answer 3,8")
    assert len(user.lines[0].rstrip()) == 199


@driven()
async def test_the_command_is_copied_and_shown(user):
    await user.press("f7")
    assert user.app.clipboard == "shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1"
    assert user.notes == [(SENT, "shapecalc shuffle 2,3,4 --first 1,0,2 --to 0,-1")]


@driven()
async def test_a_picture_is_saved(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await user.press("f9")
    (saved,) = tmp_path.glob("*.svg")
    assert user.notes == [("saved", saved.name)]
    assert saved.read_text("utf-8").startswith("<svg")


@pytest.mark.usefixtures("full_disk")
@driven()
async def test_a_picture_that_cannot_be_saved_is_told(user):
    await user.press("f9")
    ((title, message),) = user.notes
    assert title == "not saved"
    assert message.endswith(".svg: No space left on device")


@driven()
async def test_a_key_goes_through_the_themes(user):
    seen = []
    for _ in range(5):
        seen.append(user.app.theme)
        await user.press("ctrl+t")
    assert seen == ["shapecalc", "dark", "light", "without colour", "shapecalc"]


def test_f10_leaves_with_the_answer_and_quitting_with_none():
    async def done(user):
        await user.press("f10")

    async def leave(user):
        await user.press("ctrl+q")

    assert asyncio.run(using(done, "reshape", "2,3", "-1")).answer.output == (6,)
    assert asyncio.run(using(leave, "reshape", "2,3", "-1")) is None


OPENINGS = [
    "shuffle 2,3,4 --first 1,0,2 --to 0,-1",
    "transpose 2,3,4 1,0,2",
    "reshape N,C,H,W 0,-1,64",
    "squeeze 1,3,1 --axes 0,2",
    "chain '2,3,4 | transpose 1,0,2 | reshape 0,-1'",
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("opening", OPENINGS)
def test_every_field_can_be_rubbed_out_and_typed_again(opening):
    async def play(user):
        for name in user.state.question.fields:
            text = user.state.question.texts.get(name, "")
            await user.hurry(*["backspace"] * len(text), *text)
            assert user.state.question.texts.get(name, "") == text
            assert "Traceback" not in user.text
            await user.press("tab")
        assert user.state.result.problem is None

    asyncio.run(using(play, *split(opening)))


@driven("conv", "1,8,32,32", "8,8,3,3", "--stride", "2")
async def test_fields_that_have_no_room_come_into_sight_when_they_are_reached(user):
    assert "input" in user.lines[1] and "output-padding" not in user.lines[1]
    await user.press(*["tab"] * 6)
    await user.type("1")
    assert "transposed 1" in user.lines[1]
    assert user.state.answer.output == (1, 8, 65, 65)
