"""What lies over the main screen: operators and dialects, the comparison, code, help, the palette."""

from __future__ import annotations

import asyncio

import pytest

from shapecalc.core.commands import split
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, dialects_with
from shapecalc.core.ops.op import operator_of
from tests.sampling import some_and_rest
from tests.tui.driven import driven, using

pytestmark = pytest.mark.sessions(5)

PAIRS = [(name, row.name) for name, op in OPS.items() for row in dialects_with(op)]
CHOSEN = [pair for pair in PAIRS if pair[0] == "reshape" or pair[1] in ("tensorrt", "torch")]


@driven()
async def test_choosing_and_going_back_leaves_all_as_it_was(user):
    before = user.text
    await user.press("f2", "escape")
    assert user.text == before
    await user.press("f2", "enter")
    assert user.text == before
    await user.press("f2", "up", "up", "down", "down", "enter")
    assert user.text == before


@pytest.mark.parametrize("pairs", some_and_rest(CHOSEN, 2))
@driven("reshape", "2,3,4", "0,-1", size=(100, 30))
async def test_ops_and_dialects_can_be_chosen_by_keys(user, pairs):
    for op, dialect in pairs:
        having = [name for each, name in PAIRS if each == op]
        await user.hurry("f2", "home", *["down"] * [*OPS].index(op))
        await user.hurry("tab", "home", *["down"] * having.index(dialect))
        await user.hurry("enter")
        assert (user.state.question.op, user.state.question.dialect) == (op, dialect)
        shown = user.text
        assert operator_of(OPS[op], DIALECTS[dialect]).name in user.title or user.title.endswith("cannot be read")
        assert shown.count("input") >= 1


@driven("reshape", "0,3,4", "0,-1")
async def test_an_op_a_dialect_and_its_switch_can_be_chosen_by_mouse(user):
    await user.press("f2")
    await user.click("│openvino", after=2)
    assert user.title.startswith("openvino Reshape")
    await user.press("f2")
    await user.click("││on  ", after=3)
    assert user.title == "openvino Reshape, special_zero on                     0 elements   answer 0,12"
    assert user.command == "$ shapecalc reshape 0,3,4 0,-1 --dialect openvino --special-zero"


@driven("reshape", "N,4", "2,6")
async def test_opset_dtype_and_sizes_are_typed(user):
    await user.press("f2", "tab", "tab", "tab")
    await user.type("13")
    await user.press("tab", "tab")
    await user.type("N=3")
    assert "onnx Reshape 13" in user.text
    await user.press("enter")
    assert user.command == "$ shapecalc reshape N,4 2,6 --opset 13 --where N=3"
    assert user.title.endswith("answer 2,6")
    await user.press("f2", "tab", "tab", "tab")
    await user.type("x")
    assert "opset" in user.text
    assert "13x" in user.text


@driven("reshape", "0,3", "0,-1")
async def test_the_comparison_starts_at_the_present_and_goes_where_the_two_part(user):
    await user.press("f4")
    assert user.text.count("≠") >= 4
    await user.press("down", "enter")
    assert user.title.endswith("refused: zero-beside-infer")
    assert "[1 of 1: literal 0]" in user.rail
    await user.press("f4", "enter")
    assert user.title.endswith("refused: zero-beside-infer")
    await user.press("f4", "escape")
    assert user.command == "$ shapecalc reshape 0,3 0,-1 --allowzero"


@pytest.mark.parametrize("keys", some_and_rest(["f1", "f2", "f4", "f5", "f8", "ctrl+l", "ctrl+p"], 2))
@driven()
async def test_keys_that_close_a_dialog_twice_close_nothing_else(user, keys):
    before = user.text
    for key in keys:
        await user.hurry(key)
        await user.hurry("escape", "escape", "escape")
        await user.hurry(key)
        await user.hurry("enter", "enter", "enter", "escape", "escape")
        await user.press("escape")
        await user.press("escape")
    assert user.app.screen is user.app.explore
    assert user.title == before.splitlines()[0].strip()


@driven("chain", "2,3 | flatten")
async def test_a_chain_is_not_compared(user):
    before = user.text
    await user.press("f4")
    assert user.text == before


@driven("reshape", "N,C,H,W", "0,-1")
async def test_code_is_shown_and_copied(user):
    await user.press("f8")
    assert "y = x.reshape(x.shape[0], -1)" in user.text
    await user.press(*["down"] * 5, "enter")
    assert "helper.make_node" in user.app.clipboard
    await user.press("escape")


@driven()
async def test_help_is_about_what_has_the_focus(user):
    await user.press("f1")
    assert "input: The shape of the input" in user.text
    assert "quit and print the answer on standard output" in user.text
    await user.press("escape", "tab", "tab", "f1")
    assert "to: the reshape: the requested shape" in user.text
    await user.press("f1", "f3", "f1")
    assert "The picture of the step at hand." in user.text


@driven(size=(80, 96))
async def test_the_palette_offers_each_key_once(user):
    await user.press("ctrl+p")
    await user.pilot.pause(0.2)
    for said in (
        "ask the same under every dialect",
        "show the shortest chain that does the same",
        "compare with another chain (against)",
        "copy the command line",
        "quit and print nothing",
        "theme: without colour",
    ):
        assert user.text.count(said) == 1
    await user.type("compare")
    await user.wipe()
    await user.type("every dialect")
    await user.pilot.pause(0.3)
    await user.press("down", "enter")
    await user.pilot.pause(0.3)
    assert "≠" in user.text


DIALOGS = ["f1", "f2", "f4", "f5", "f8", "ctrl+l", "ctrl+o"]


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (200, 60)])
@pytest.mark.parametrize("dialogs", some_and_rest(DIALOGS, 1))
def test_every_dialog_fits(dialogs, size):
    async def look(user):
        for key in dialogs:
            await user.press(key)
            corners = [(line.index("╭"), line.rindex("╮")) for line in user.lines if "╭─" in line and "─╮" in line]
            below = [(line.index("╰"), line.rindex("╯")) for line in user.lines if "╰─" in line and "─╯" in line]
            assert corners[0] == below[-1]
            await user.press("escape")

    asyncio.run(using(look, *split("shuffle 2,3,4 --first 1,0,2 --to 0,-1"), size=size))
