"""The main screen, as someone at the keyboard meets it."""

from __future__ import annotations

import asyncio
import os

import numpy as np
import pytest

from shapecalc.core.commands import split
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(10)

SHUFFLE = split("shuffle 2,3,4 --first 1,0,2 --to 2,-1,3")


@driven("reshape", "2,3,4", "0,12")
async def test_what_is_half_typed_is_no_error(user):
    await user.press("tab")
    for key in (*["backspace"] * 4, *"0,-1"):
        await user.press(key)
        assert not any(word in user.lines[2] + user.lines[3] for word in ("missing", "cannot", "expected"))
    assert user.title.endswith("answer 2,12")


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
