"""What can be read: text and lines have the contrast they need in every theme, computed from the exported picture."""

from __future__ import annotations

import asyncio
import re
from html import unescape

import pytest

from shapecalc.tui.themes import DRAWN, EDGES, LINES, TEXT, THEMES
from shapecalc.view.canvas import contrast
from tests.tui.driven import driven, using
from tests.tui.scenes import SHUFFLE

STYLE = re.compile(r"\.[\w-]+-(r\d+) \{ fill: #(\w{6})")
RECT = re.compile(r'<rect fill="#(\w{6})" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"')
WORDS = re.compile(r'<text class="[\w-]+-(r\d+)" x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<')
LINE = 24.4
"""The height of a line in the picture."""


def measured(svg):
    """Return every text of a picture with its contrast to what is behind it, and the least that it needs."""
    inks = {name: bytes.fromhex(ink) for name, ink in STYLE.findall(svg)}
    behind = [
        (float(x), float(y) // LINE, float(x) + float(wide), bytes.fromhex(page))
        for page, x, y, wide in RECT.findall(svg)
    ]
    found = []
    for name, x, y, words in WORDS.findall(svg):
        text = unescape(words).replace("\N{NO-BREAK SPACE}", " ")
        row, left = (float(y) - 18) // LINE, float(x)
        if name in inks and not EDGES.issuperset(text.strip()):
            page = next(page for start, line, end, page in behind if line == row and start <= left + 0.1 < end)
            found.append((text.strip(), contrast(inks[name], page), LINES if DRAWN.issuperset(text) else TEXT))
    return found


def faint(svg):
    return [(text, round(ratio, 2)) for text, ratio, least in measured(svg) if ratio < least - 0.005]


SCREENS = {
    "steps": (SHUFFLE, ("ctrl+home", "pagedown", "pagedown")),
    "refused": (("reshape", "2,3,4", "5,-1"), ()),
    "half typed": (("reshape", "2,3,4", "6,4"), ("tab", "comma")),
    "lit": (("chain", "2,3,4,5,6,7 | transpose 5,4,3,2,1,0 | reshape -1,4"), ("f3", "right")),
    "names": (("reshape", "N,C,H,W", "0,-1,64"), ()),
    "help": (SHUFFLE, ("f1",)),
    "choose": (SHUFFLE, ("f2",)),
    "files": (SHUFFLE, ("ctrl+o", "down")),
    "legend": (SHUFFLE, ("f1", "end")),
    "compare": (("reshape", "0,3,4", "0,-1"), ("f4", "down")),
    "lessons": (SHUFFLE, ("f5", "enter", "9", "enter")),
    "notified": (SHUFFLE, ("f7",)),
    "code": (SHUFFLE, ("f8",)),
    "palette": (SHUFFLE, ("ctrl+p", "g")),
    "against": (("equiv", "N,C,3 | transpose 1,0,2", "| reshape C,N,3"), ()),
    "short": (("chain", "2,3,4 | transpose 1,0,2 | transpose 1,0,2"), ("ctrl+l",)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("screen", SCREENS)
def test_text_and_lines_have_contrast_in_every_theme(screen):
    words, keys = SCREENS[screen]

    async def look(user):
        await user.press(*keys)
        for theme in THEMES:
            user.app.theme = theme
            await user.settle()
            svg = user.app.export_screenshot()
            assert len(measured(svg)) > 20
            assert (theme, faint(svg)) == (theme, [])

    asyncio.run(using(look, *words))


def test_what_is_faint_is_found():
    svg = '.t-r1 {{ fill: #{} }}<rect fill="#000000" x="0" y="1.5" width="99"/><text class="t-r1" x="0" y="20" a="">{}<'
    assert faint(svg.format("777777", "2,3")) == []
    assert faint(svg.format("707070", "2,3")) == [("2,3", 4.24)]
    assert faint(svg.format("707070", "──")) == []
    assert faint(svg.format("505050", "──")) == [("──", 2.6)]


@driven("reshape", "2,3,4", "5,-1")
async def test_without_colour_nothing_is_coloured(user):
    user.app.theme = "without colour"
    await user.settle()
    inks = {ink for _, ink in STYLE.findall(user.app.export_screenshot())} - {"c5c8c6"}
    assert all(ink[:2] == ink[2:4] == ink[4:] for ink in inks)
    (carets,) = [ratio for text, ratio, _ in measured(user.app.export_screenshot()) if text == "▲▲"]
    assert carets > 15, "what was red does not step back"


def test_no_color_opens_without_colour_and_is_read_as_well(monkeypatch):
    async def look(user):
        assert user.app.theme == "without colour"
        assert faint(user.app.export_screenshot()) == []
        await user.press("ctrl+t")
        assert user.app.theme == "shapecalc"
        assert faint(user.app.export_screenshot()) == []

    monkeypatch.setenv("NO_COLOR", "1")
    asyncio.run(using(look, "reshape", "2,3,4", "5,-1"))
