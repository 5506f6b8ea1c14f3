"""All screens of the app at all sizes: cut text is marked, boxes are complete, and all dialogs close."""

from __future__ import annotations

import re

import pytest
from textual.widgets import DataTable, Input, OptionList

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS, supporting_dialects
from shapecalc.core.ops.op import operator_of
from shapecalc.render.step import ARROW
from shapecalc.tui.widgets import ClickableText
from tests.tui.driven import driven

RANK_8 = "shuffle 2,3,4,5,6,7,8,2 --first 7,6,5,4,3,2,1,0 --to 0,0,0,0,0,-1,2,3"
MAIN = [
    "shuffle 2,3,4,5,6,7,8,2 --first 7,6,5,4,3,2,1,0 --to 0,0,-1 --second 2,1,0",
    "shuffle 2,3,4 --first 1,0,2,5 --to 0,0,0,0,0,-1 --second 1,7",
    "chain '8,128,768 | reshape 0,0,12,64 | transpose 0,2,1,3 | reshape 0,0,-1'",
    "reshape 2,3,4 5,-1",
]
OPENING_KEYS = [
    *(
        ("f1",),
        (":choose",),
        (":compare",),
        (":lessons", "escape"),
        (":lessons", "enter"),
        (":lessons", "enter", "ctrl+g"),
    ),
    *((":code",), (":simplify",), (":files",), (":film", "space"), ("g",)),
]
"""The keys that open each screen."""
DIALOGS = ["f1", ":choose", ":compare", ":lessons", ":code", ":simplify", ":files"]


def find_cut_content(screen):
    """Yield the widgets or lines that a screen cuts off without a mark or a scroll bar."""
    for widget in screen.query("*"):
        if not (widget.display and widget.size and widget.is_on_screen) or isinstance(widget, Input):
            continue
        if isinstance(widget, ClickableText):
            width = widget.size.width
            lines = [(line, widget.render_line(y).text) for y, line in enumerate(widget.text.plain.split("\n"))]
            yield from (line for line, shown in lines if len(line.rstrip()) > width and not shown.endswith("…"))
            continue
        if widget.max_scroll_x and not widget.show_horizontal_scrollbar:
            yield widget, "across"
        if widget.max_scroll_y and not widget.show_vertical_scrollbar and not isinstance(widget, OptionList):
            yield widget, "down"
        if isinstance(widget, DataTable) and widget.virtual_size.width > widget.size.width:
            yield widget, "a table"


def is_box(widget):
    return widget.display and widget.region.area and widget.styles.border_top[0] and widget.is_on_screen


def are_boxes_complete(user):
    """Return whether the corners of all boxes of the screen are visible."""
    boxes = [box for box in user.app.screen.query(".dialog, .panel, Panel, FieldPanel") if is_box(box)]
    corners = [
        (box.region.x + x * (box.region.width - 1), box.region.y + y * (box.region.height - 1))
        for box in boxes
        for y in (0, 1)
        for x in (0, 1)
    ]
    lines = [line.ljust(user.app.size.width) for line in user.lines]
    return "".join(lines[y][x] for x, y in corners) == "╭╮╰╯" * len(boxes)


SIZES = [(80, 24), (60, 18), (200, 60)]


@pytest.mark.slow
@pytest.mark.parametrize(("size", "line"), [*((size, RANK_8) for size in SIZES), (SIZES[0], "reshape 0,3,C 0,-1")])
@driven()
async def test_screens_mark_everything_they_cut(user, size, line):
    await user.ask(line)
    await user.resize(*size)
    for keys in ((), *OPENING_KEYS):
        await user.hurry(*keys)
        user.app.clear_notifications()  # an ineffective key has a notice over the screen
        await user.settle()
        assert are_boxes_complete(user) or (keys and keys[0] not in DIALOGS), user.text
        assert [*find_cut_content(user.app.screen)] == [], keys
        while user.app.screen is not user.app.explore:
            await user.hurry("escape", "escape")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(80, 24), (60, 18), (200, 60), (61, 19)])
@driven()
async def test_main_screen_keeps_all_parts(user, size):
    await user.resize(*size)
    for line in MAIN:
        await user.ask(line)
        assert re.search("answer|refused: ", user.title)
        for key in ("pageup", "g", "escape", "home", "e", "escape"):
            await user.press(key)
            user.app.clear_notifications()  # a notification covers a corner
            await user.settle()
            assert user.keys
            assert are_boxes_complete(user)
            assert f" {ARROW} " in user.text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("key", [*DIALOGS, "ctrl+p"])
@driven(size=(120, 40))
async def test_dialogs_close_by_clicks_and_keys(user, key):
    before = user.command
    for place in ("outside", "on the named key"):
        await user.press(key)
        assert user.app.screen is not user.app.explore
        matches = enumerate(re.search(r"\besc(ape)? (closes|leaves?|changes)", line) for line in user.lines)
        named = [(key.start() + 1, row) for row, key in matches if key]
        assert named or key in ("f1", "ctrl+p")
        covered = user.app.screen.get_widget_at(0, 0)[0] is not user.app.screen
        assert covered is (key == ":lessons"), "only the lessons cover the screen"
        await user.click_at(*(named[-1] if named and (covered or place != "outside") else (0, 0)))
        assert user.app.screen is user.app.explore
    for closing in (["escape"] * 3, [*["enter"] * 3, "escape", "escape", "escape"]):
        await user.hurry(key)
        await user.hurry(*closing)
        await user.press("escape")
        assert user.app.screen is user.app.explore
    assert user.command == before


PAIRS = [("reshape", row.name) for row in supporting_dialects(OPS["reshape"])]
PAIRS += [(name, supporting_dialects(op)[-1].name) for name, op in OPS.items()]


@pytest.mark.parametrize(
    "pairs", [PAIRS[1::30], pytest.param(PAIRS[::8], marks=pytest.mark.slow)], ids=["some", "more"]
)
@driven("reshape", "2,3,4", "0,-1", size=(100, 30))
async def test_ops_and_dialects_are_chosen_by_keys(user, pairs):
    for op, dialect in pairs:
        names = [row.name for row in supporting_dialects(OPS[op])]
        await user.hurry(":choose", "home", *["down"] * [*OPS].index(op))
        await user.hurry("tab", "home", *["down"] * names.index(dialect), "enter")
        assert (user.state.question.op, user.state.question.dialect) == (op, dialect)
        assert operator_of(OPS[op], DIALECTS[dialect]).name in user.title or user.title.endswith("cannot be read")
        assert "input" in user.text


FIELDS = ["shuffle 2,3,4 --first 1,0,2 --to 0,-1", "squeeze 1,3,1 --axes 0,2", "reshape N,C,H,W 0,-1,64"]
FIELDS += ["chain '2,3,4 | transpose 1,0,2 | reshape 0,-1'", "transpose 2,3,4 1,0,2"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("opening", FIELDS)
@driven()
async def test_fields_can_be_cleared_and_retyped(user, opening):
    await user.ask(opening)
    await user.press("e")
    for name in user.state.question.fields:
        text = user.state.question.texts.get(name, "")
        await user.hurry("end", *["backspace"] * len(text), *text)
        assert user.state.question.texts.get(name, "") == text
        await user.press("tab")
    assert user.state.result.problem is None
