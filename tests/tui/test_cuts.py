"""Nothing is cut off without a mark at any size of the terminal: texts end in dots, and lists can be scrolled."""

from __future__ import annotations

import asyncio

import pytest
from textual.widgets import DataTable, Input, OptionList

from shapecalc.tui.widgets import ClickableText
from tests.sampling import some_and_rest
from tests.tui.driven import using

pytestmark = pytest.mark.sessions(5)

RANK_8 = ("shuffle", "2,3,4,5,6,7,8,2", "--first", "7,6,5,4,3,2,1,0", "--to", "0,0,0,0,0,-1,2,3")
OPENED = {
    "main": (),
    "help": ("f1",),
    "operators": ("f2",),
    "elements": ("f3",),
    "compare": ("f4",),
    "lessons": ("f5", "escape"),
    "lesson": ("f5", "enter"),
    "answered lesson": ("f5", "enter", "ctrl+g"),
    "code": ("f8",),
    "simplify": ("ctrl+l",),
    "files": ("ctrl+o",),
    "film": ("ctrl+r",),
    "big": ("ctrl+b",),
}
SIZES = ((60, 18), (80, 24), (40, 12), (200, 60))
ASKED = (RANK_8, ("reshape", "0,3,C", "0,-1"))
CASES = [(asked, size, name) for asked in ASKED for size in SIZES for name in OPENED]


def cut_off(screen):
    """Yield what a screen cuts off: the widget, and which way it would have to be scrolled."""
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


async def _check(user, name):
    await user.press(*OPENED[name])
    assert [*cut_off(user.app.screen)] == []
    for table in user.app.screen.query(DataTable):
        assert table.virtual_size.width <= table.size.width


@pytest.mark.parametrize("cases", some_and_rest(CASES, 6))
def test_no_screen_cuts_anything_off_without_a_mark(cases):
    for asked, size, name in cases:
        asyncio.run(using(lambda user, name=name: _check(user, name), *asked, size=size))


def test_a_table_without_room_tells_the_row_under_the_cursor_in_full():
    async def look(user):
        await user.press("f4", "down")
        assert "refused: zero…" in user.text
        assert "onnx, allowzero on: refused: zero-beside-infer" in user.text

    asyncio.run(using(look, *ASKED[1], size=(60, 18)))
