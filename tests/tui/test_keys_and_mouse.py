"""What keys and the mouse do alike on the main screen: light a dim, follow an element, take a change back."""

from __future__ import annotations

import asyncio

import pytest
from textual.command import CommandPalette

from shapecalc.tui.dialogs import Help
from tests.tui.driven import driven, using
from tests.tui.scenes import SHUFFLE

pytestmark = pytest.mark.sessions(5)


def lit(user):
    """Return the texts that are shown in reverse."""
    return {
        segment.text.strip()
        for strip in user.app.screen._compositor.render_strips()
        for segment in strip
        if segment.style and segment.style.reverse and segment.text.strip()
    }


@driven()
async def test_the_arrow_keys_light_a_dim_and_what_it_comes_from(user):
    await user.press("tab", "tab", "tab", "tab")
    assert user.app.focused.id == "flow"
    await user.press("right", "right", "down", "down")
    assert user.state.chosen == (2, 1)
    assert {"a 2", "c 4", "ac 8"} <= lit(user)
    await user.press("left", "left", "left")
    assert user.state.chosen[0] == 0
    await user.press("escape")
    assert user.state.chosen is None


@driven("reshape", "[]", "1,1")
async def test_a_scalar_has_no_dim_to_light(user):
    await user.press("shift+tab", "shift+tab", "left", "right", "down", "up")
    assert user.state.chosen in (None, (1, 0), (1, 1))


@driven("transpose", "2,3", "1,0")
async def test_an_element_of_the_grid_can_be_clicked(user):
    await user.press("f3")
    await user.click(" 5 ", after=1)
    assert user.state.cursor == (1, 2)
    assert user.text.count("[5]") == 2
    assert "5 is at [1,2]     5 is at [2,1]" in user.text


@driven(step=0, learns=True)
async def test_shrinking_and_growing_again_keeps_what_was_in_use(user):
    for keys, name in (((), "flow"), (("tab",), "picture"), (("tab",), "field-input")):
        await user.press(*keys)
        assert user.app.focused.id == name
        await user.resize(59, 17)
        await user.resize(80, 24)
        assert user.app.focused.id == name


@driven()
async def test_a_saved_picture_is_without_what_was_said_of_the_one_before(user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    await user.press("f9", "f9", "f9")
    pictures = [saved.read_text("utf-8") for saved in tmp_path.glob("*.svg")]
    assert len(pictures) == 3
    assert not any("saved" in picture for picture in pictures)


@driven("reshape", "2,3,4", "0,-1")
async def test_changes_are_taken_back_and_made_again(user):
    await user.type(",5,6")
    await user.press("tab")
    await user.type(",1")
    assert user.title.endswith("answer 2,360,1") or user.title.endswith("refused: two-infers")
    await user.press("ctrl+z")
    assert user.command == "$ shapecalc reshape 2,3,4,5,6 0,-1"
    assert user.lines[1].split() == ["input", "2,3,4,5,6", "target", "0,-1"]
    await user.press("ctrl+z")
    assert user.command == "$ shapecalc reshape 2,3,4 0,-1"
    await user.press("ctrl+z")
    assert user.command == "$ shapecalc reshape 2,3,4 0,-1"
    await user.press("ctrl+y", "ctrl+y", "ctrl+y")
    assert user.lines[1].split() == ["input", "2,3,4,5,6", "target", "0,-1,1"]


@driven("reshape", "2,3,4", "0,-1")
async def test_another_op_is_taken_back_with_its_fields(user):
    await user.press("f2", "home", "down", "enter")
    assert user.command.startswith("$ shapecalc flatten")
    await user.press("ctrl+z")
    assert user.command == "$ shapecalc reshape 2,3,4 0,-1"
    assert "target 0,-1" in user.lines[1]
    await user.press("ctrl+y")
    assert user.command.startswith("$ shapecalc flatten")


@driven("reshape", "2,3,4", "5,-1")
async def test_a_fix_is_taken_back(user):
    await user.press("f6")
    assert user.title.count("answer")
    await user.press("ctrl+z")
    assert user.title.endswith("refused: indivisible")
    await user.type("x")
    await user.press("ctrl+y")
    assert user.title.endswith("cannot be read")


@driven("reshape", "7,8,3", "0,-1", step=0, learns=True)
async def test_keys_that_come_at_once_go_where_each_leads(user):
    await user.hurry("shift+tab", "shift+tab", "end", "5")
    assert user.state.question.texts == {"input": "7,8,35", "target": "0,-1"}


# Keys as everywhere: F1 and ? help, / finds, q leaves

ROOMS = {
    "help": ("shift+tab", "f1"),
    "choose": ("f2",),
    "compare": ("f4",),
    "code": ("f8",),
    "short": ("ctrl+l",),
    "files": ("ctrl+o",),
    "film": ("ctrl+r", "space"),
}
FIELDS = {"against": ("equiv", "2,3 | transpose", "| reshape 6"), "lessons": ("f5",)}


@pytest.mark.parametrize("room", ROOMS)
def test_in_every_room_f1_and_a_question_mark_help_and_q_leaves(room, tmp_path, monkeypatch):
    async def look(user):
        await user.press(*ROOMS[room])
        inside = user.app.screen
        assert inside is not user.app.explore
        for key in ("f1", "question_mark") if room != "help" else ():
            user.app.simulate_key(key)
            await user.settle()
            assert isinstance(user.app.screen, Help)
            assert "F1 ?" in user.text or "esc" in user.text
            await user.press("q")
            assert user.app.screen is inside
        await user.press("q")
        assert user.app.screen is user.app.explore

    monkeypatch.chdir(tmp_path)
    asyncio.run(using(look, *SHUFFLE))


@pytest.mark.parametrize("room", FIELDS)
def test_in_a_field_they_are_text_and_only_f1_helps(room):
    async def look(user):
        await user.press(*(FIELDS[room] if room == "lessons" else ()))
        before = user.app.focused.value
        await user.press("end", "question_mark", "slash", "q")
        assert user.app.focused.value == f"{before}?/q"
        await user.press("f1")
        assert isinstance(user.app.screen, Help)

    asyncio.run(using(look, *(FIELDS[room] if room != "lessons" else ())))


@driven(step=None)
async def test_outside_of_fields_a_slash_finds_and_a_question_mark_helps(user):
    await user.press("shift+tab", "question_mark")
    assert isinstance(user.app.screen, Help)
    await user.press("q", "slash")
    assert isinstance(user.app.screen, CommandPalette)


SOUGHT = [
    (("f2",), "sq", "#op", "squeeze"),
    (("f8",), "torch", "#targets", "torch"),
]


@pytest.mark.parametrize(("keys", "typed", "listed", "found"), SOUGHT)
def test_a_slash_finds_in_a_list(keys, typed, listed, found):
    async def look(user):
        await user.press(*keys, "slash", *typed)
        options = user.app.screen.query_one(listed)
        assert str(options.highlighted_option.id) == found
        assert f"/{typed}" in user.text
        await user.press("backspace", "escape", "q")
        assert user.app.screen is user.app.explore

    asyncio.run(using(look, "reshape", "2,3", "6"))


@driven("reshape", "2,3", "6")
async def test_a_slash_finds_in_a_table(user):
    await user.press("f4", "slash", *"paddle", "enter")
    assert user.lines[-2].count("paddle") or "paddle: 6" in user.text
    assert user.app.screen is not user.app.explore


@driven("reshape", "2,3", "-1", step=0)
async def test_what_is_shared_opens_here(user):
    await user.press("ctrl+p", *"share")
    await user.pilot.pause(0.3)
    await user.press("enter")
    await user.settle()
    assert user.app.clipboard == "shapecalc tui --step 1 reshape 2,3 -1"
