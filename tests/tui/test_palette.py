"""What the palette finds, the legend, the keyboard and the mouse: everything has a way to it."""

from __future__ import annotations

import asyncio
import inspect
import re
import string

import pytest
from textual.containers import VerticalScroll

from shapecalc.core.ops import OPS
from shapecalc.core.record import fields
from shapecalc.tui.app import UserFile, commands
from shapecalc.tui.dialogs import SIGNS
from shapecalc.tui.lessons import Drilling
from shapecalc.tui.question import ASKABLE
from shapecalc.tui.themes import THEMES
from shapecalc.tui.widgets import KEYS
from shapecalc.view.canvas import UNICODE
from tests.tui.driven import driven, using
from tests.tui.scenes import SHUFFLE

pytestmark = pytest.mark.sessions(5)


async def find(user, words):
    """Do what the palette does for the command with these words."""
    (found,) = [each for each in user.app.get_system_commands(user.app.explore) if words in each.title]
    doing = found.callback()
    if inspect.isawaitable(doing):
        await doing
    await user.settle()


@driven(*SHUFFLE)
async def test_the_palette_has_every_key_field_setting_operation_and_theme(user):
    titles = [command.title for command in commands(user.app.explore, ())]
    assert len({*titles}) == len(titles)
    wanted = [key.help for key in KEYS if key.shown != "^P"]
    wanted += [f"operation: {name}" for name in ASKABLE]
    wanted += [f"theme: {name}" for name in THEMES]
    wanted += [f"field: {name}" for name in ("input", "first", "to", "second")]
    wanted += [f"setting: {name}" for name in ("opset", "dtype", "where")]
    wanted += ["dialect: tensorrt", "zero_is_placeholder: off"]
    assert {*wanted} <= {*titles}


@driven()
async def test_the_palette_can_be_filled_at_every_operation(user):
    for op in ("chain", *OPS):
        await user.app.explore.ask_anew(user.state.question.with_op(op))
        titles = [command.title for command in commands(user.app.explore, ())]
        assert {f"field: {name.replace('_', '-')}" for name in user.state.question.fields} <= {*titles}


@driven("reshape", "2,3,4", "0,-1")
async def test_what_is_found_is_done(user):
    await find(user, "dialect: numpy")
    assert user.command == "$ shapecalc reshape 2,3,4 0,-1 --dialect numpy"
    await find(user, "theme: light")
    assert user.app.theme == "light"
    await find(user, "setting: dtype")
    assert user.app.focused.id == "field-dtype"
    await user.press("escape")
    await find(user, "field: target")
    assert user.app.focused.id == "field-target"
    await find(user, "operation: flatten")
    assert user.command.startswith("$ shapecalc flatten 2,3,4")


@driven("reshape", "2,3,4", "6,4")
async def test_a_key_that_would_do_nothing_is_found_and_says_so(user):
    await find(user, "apply the fix")
    assert user.notes == [("", "F6, which would do nothing now")]


def test_questions_are_asked_again():
    async def ask(user):
        await find(user, "operation: flatten")
        await find(user, "operation: transpose")
        await user.press("f10")

    async def again(user):
        await find(user, "asked before: reshape")
        assert user.command == "$ shapecalc reshape 2,3,4 0,-1"
        await find(user, "asked before: flatten")
        assert user.command == "$ shapecalc flatten 2,3,4"

    asyncio.run(using(ask, "reshape", "2,3,4", "0,-1"))
    assert [line.split()[1] for line in UserFile().questions] == ["transpose", "flatten", "reshape"]
    asyncio.run(using(again))


@driven("reshape", "2,3,4", "0,-1")
async def test_a_question_is_remembered_once_it_is_stepped_through_and_not_while_it_is_typed(user):
    await user.press("tab", "end", ",", "1")
    assert UserFile().questions == ()
    await user.press("pageup")
    assert UserFile().questions == ("shapecalc reshape 2,3,4 0,-1,1",)


def test_what_was_kept_and_is_no_question_any_more_is_passed_over():
    async def look(user):
        memory = (
            "rm -rf '",
            "shapecalc nope 2 3",
            "",
            "shapecalc reshape [bold]2[/] '\x1b[31m'",
            "shapecalc flatten 2,3",
        )
        found = [each for each in commands(user.app.explore, memory) if each.title.startswith("asked before")]
        assert [each.title for each in found[1:]] == ["asked before: flatten 2,3"]
        assert found[0].title.startswith("asked before: reshape ")
        assert "\x1b" not in "".join(each.title for each in found)

    asyncio.run(using(look))


# The legend


def test_every_sign_of_the_pictures_is_in_the_legend():
    signs = "".join(sign for sign, _ in SIGNS)
    drawn = "".join(text for text in fields(UNICODE).values())
    assert {*drawn} - {*" ╵╷╴╯╶╰╭│┴┬"} <= {*signs}, "the lines that are left out are corners of those that are there"
    for sign in ("~", "bc", "_", "!"):
        assert sign in signs


@driven(size=(80, 34))
async def test_f1_goes_on_to_the_legend(user):
    await user.press("f1", "end")
    scrolled = user.app.screen.query_one(VerticalScroll)
    while scrolled.scroll_y < scrolled.max_scroll_y:
        await user.pilot.pause()
    await user.settle()
    assert "to the signs of the pictures" in user.text
    for sign, said in SIGNS:
        assert sign in user.text
        assert " ".join(said.split()[:3]) in user.text


# The keyboard and the mouse


@driven("reshape", "2,3,4", "4,6")
async def test_the_keys_of_what_has_the_focus_are_shown_first(user):
    assert "follow" not in user.lines[-1]
    await user.press("f3")
    assert user.lines[-1].strip().startswith("←→↑↓ follow  PgUp back")
    await user.press("tab")
    assert "follow" not in user.lines[-1]


@driven("reshape", "2,3,4", "0,-1")
async def test_letters_are_typed_in_a_field_and_do_nothing_else(user):
    await user.wipe()
    await user.type(string.ascii_letters + "?/:")
    assert user.app.focused.value == string.ascii_letters + "?/:"
    assert user.app.screen is user.app.explore


@driven("reshape", "2,3,4", "5,-1")
async def test_the_title_the_command_and_the_hint_can_be_clicked(user):
    await user.click("$ shapecalc", after=2)
    assert user.app.clipboard == "shapecalc reshape 2,3,4 5,-1"
    await user.click("F6:")
    assert user.title.endswith("answer 4,6")
    await user.click("onnx Reshape")
    assert "enter takes it" in user.text


@pytest.mark.parametrize("key", ["f1", "f2", "f4", "f8", "ctrl+l", "ctrl+o"])
def test_a_click_beside_a_dialog_closes_it(key):
    async def close(user):
        await user.press(key)
        assert user.app.screen is not user.app.explore
        await user.pilot.click(offset=(0, 0))
        await user.settle()
        assert user.app.screen is user.app.explore

    asyncio.run(using(close, *SHUFFLE, size=(120, 40)))


@pytest.mark.parametrize("key", ["f2", "f4", "f8", "ctrl+l", "ctrl+o"])
def test_the_keys_that_a_dialog_names_can_be_clicked(key):
    async def close(user):
        await user.press(key)
        row = max(n for n, line in enumerate(user.lines) if re.search(r"\bescape (closes|leaves|changes)", line))
        await user.pilot.click(offset=(user.lines[row].index("escape") + 1, row))
        await user.settle()
        assert user.app.screen is user.app.explore

    asyncio.run(using(close, *SHUFFLE))


@pytest.mark.parametrize("typed", ["exercises", "drill", "without end", "end drill", "drill exercises"])
def test_exercises_are_found_by_any_of_its_words(typed):
    async def look(user):
        await user.press("ctrl+p")
        await user.type(typed)
        await user.pilot.pause(0.3)
        await user.press("enter")
        await user.settle()
        assert isinstance(user.app.screen, Drilling)

    asyncio.run(using(look, "reshape", "2,3,4", "0,-1"))


@driven("reshape", "2,3,4", "5,-1")
async def test_letters_strewn_over_a_name_do_not_find_it(user):
    before = user.command
    await user.press("ctrl+p")
    await user.type("count")
    await user.pilot.pause(0.3)
    await user.press("enter", "escape", "escape")
    assert user.command == before
