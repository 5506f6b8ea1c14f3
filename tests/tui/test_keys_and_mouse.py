"""What keys and the mouse do alike on the main screen: light a dim, follow an element, take a change back."""

from __future__ import annotations

import pytest

from tests.tui.driven import driven

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


@driven(step=0)
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
    assert user.command.startswith("$ shapecalc transpose")
    await user.press("ctrl+z")
    assert user.command == "$ shapecalc reshape 2,3,4 0,-1"
    assert "target 0,-1" in user.lines[1]
    await user.press("ctrl+y")
    assert user.command.startswith("$ shapecalc transpose")


@driven("reshape", "2,3,4", "5,-1")
async def test_a_fix_is_taken_back(user):
    await user.press("f6")
    assert user.title.count("answer")
    await user.press("ctrl+z")
    assert user.title.endswith("refused: indivisible")
    await user.type("x")
    await user.press("ctrl+y")
    assert user.title.endswith("cannot be read")


@driven("reshape", "7,8,3", "0,-1", step=1)
async def test_keys_that_come_at_once_go_where_each_leads(user):
    await user.hurry("shift+tab", "shift+tab", "end", "5")
    assert user.state.question.texts == {"input": "7,8,35", "target": "0,-1"}
