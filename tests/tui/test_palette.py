"""The palette lists all commands, and the legend all glyphs."""

from __future__ import annotations

import re

import pytest
from textual.containers import VerticalScroll

from shapecalc.core.ops import OPS
from shapecalc.core.record import fields
from shapecalc.render.canvas import UNICODE
from shapecalc.tui.app import palette_commands
from shapecalc.tui.dialogs import LEGEND
from shapecalc.tui.question import QUESTION_OPS
from shapecalc.tui.themes import THEMES
from shapecalc.tui.widgets import COMMANDS, KEYS
from tests.tui.driven import driven


@driven()
async def test_palette_lists_keys_fields_settings_ops_and_themes(user):
    titles = [command.title for command in palette_commands(user.app.explore, ())]
    assert len({*titles}) == len(titles)
    expected = [key.help for key in (*KEYS, *COMMANDS) if not key.action.endswith("palette")]
    expected += [f"operation: {name}" for name in QUESTION_OPS]
    expected += [f"theme: {name}" for name in THEMES]
    expected += [f"field: {name}" for name in ("input", "first", "to", "second")]
    expected += [f"setting: {name}" for name in ("opset", "dtype", "where")]
    expected += ["dialect: tensorrt", "zero_is_placeholder: off"]
    assert {*expected} <= {*titles}


@pytest.mark.slow
@driven()
async def test_palette_opens_for_every_op(user):
    for op in ("chain", *OPS):
        await user.app.explore.open_question(user.state.question.with_op(op))
        titles = [command.title for command in palette_commands(user.app.explore, ())]
        assert {f"field: {name.replace('_', '-')}" for name in user.state.question.fields} <= {*titles}


@driven()
async def test_palette_skips_stored_questions_that_no_longer_parse(user):
    lines = ["rm -rf '", "shapecalc nope 2 3", "", "shapecalc reshape [bold]2[/] '\x1b[31m'", "shapecalc flatten 2,3"]
    titles = [item.title for item in palette_commands(user.app.explore, lines) if item.title.startswith("asked before")]
    assert titles[1:] == ["asked before: flatten 2,3"]
    assert titles[0].startswith("asked before: reshape ")
    assert "\x1b" not in titles[0]


def test_legend_has_every_glyph_of_the_pictures():
    signs = "".join(sign for sign, _ in LEGEND)
    glyphs = "".join(text for text in fields(UNICODE).values())
    assert "◂" not in signs, "the current step has another glyph"
    assert {*glyphs} - {*" ╵╷╴╯╶╰╭│┴┬"} <= {*signs}, "the exceptions are parts of listed lines"
    for sign in ("~", "bc", "_", "!"):
        assert sign in signs


@driven(size=(80, 46))
async def test_f1_leads_to_the_legend(user):
    await user.press("f1", "end")
    scroll = user.app.screen.query_one(VerticalScroll)
    while scroll.scroll_y < scroll.max_scroll_y:
        await user.pilot.pause()
    await user.settle()
    assert "PgDn shows the signs of the pictures, PgUp the keys" in user.text
    for sign, text in LEGEND:
        assert sign in user.text
        assert " ".join(text.split()[:3]) in user.text


@driven("reshape", "2,3,4", "0,-1", size=(80, 40))
async def test_palette_lists_likely_commands_first_each_with_its_key(user):
    await user.press("slash")
    await user.pilot.pause(0.2)
    await user.settle()
    listed = [line.strip() for line in user.lines if line.strip()]
    first = next(index for index, line in enumerate(listed) if line.startswith("Compare all frameworks"))
    assert re.fullmatch(r"Compare all frameworks +c *", listed[first])
    assert re.match("Follow an element with the arrow keys +g", listed[first + 1])
    keyed = [re.match(r".*? {3,}\S+", line) for line in listed[first : first + 12]]
    ends = {match.end() for match in keyed if match}
    assert len([*filter(None, keyed)]) > 3
    assert len(ends) == 1, "the keys end in the same column"
    assert not any(line.startswith("Go to the previous step") for line in listed[: first + 4])
