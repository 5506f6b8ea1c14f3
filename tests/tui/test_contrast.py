"""Text and lines have sufficient contrast in every theme, computed from the drawn segments."""

from __future__ import annotations

import asyncio

import pytest
from rich.segment import Segment
from rich.style import Style

from shapecalc.render.canvas import contrast_ratio
from shapecalc.tui.themes import EDGE_CHARACTERS, LINE_CHARACTERS, LINE_CONTRAST, TEXT_CONTRAST, THEMES
from tests.tui.driven import driven, using
from tests.tui.scenes import SHUFFLE


def colours(style):
    """Return the foreground and background colours of a style."""
    ink, page = (bytes(colour.get_truecolor()) for colour in (style.color, style.bgcolor))
    return (page, ink) if style.reverse else (ink, page)


def text_contrasts(segments):
    """Return each text with its contrast and the minimum for it."""
    return [
        (
            text.strip(),
            contrast_ratio(*colours(style)),
            LINE_CONTRAST if LINE_CHARACTERS.issuperset(text) else TEXT_CONTRAST,
        )
        for text, style, _ in segments
        if not EDGE_CHARACTERS.issuperset(text.strip())
    ]


def low_contrast_texts(segments):
    return [(text, round(ratio, 2)) for text, ratio, minimum in text_contrasts(segments) if ratio < minimum - 0.005]


SCREENS = {
    "followed": (("reshape", "2,3,4", "4,6"), ("g", "right", "down")),
    "steps": (SHUFFLE, ("ctrl+home", "pagedown", "pagedown")),
    "refused": (("reshape", "2,3,4", "5,-1"), ()),
    "half typed": (("reshape", "2,3,4", "6,4"), ("tab", "comma")),
    "lit": (("chain", "2,3,4,5,6,7 | transpose 5,4,3,2,1,0 | reshape -1,4"), (":elements", "right")),
    "names": (("reshape", "N,C,H,W", "0,-1,64"), ()),
    "help": (SHUFFLE, ("f1",)),
    "choose": (SHUFFLE, (":choose",)),
    "files": (SHUFFLE, (":files", "down")),
    "legend": (SHUFFLE, ("f1", "end")),
    "compare": (("reshape", "0,3,4", "0,-1"), (":compare", "down")),
    "lessons": (SHUFFLE, (":lessons", "enter", "9", "enter")),
    "notified": (SHUFFLE, (":copy",)),
    "code": (SHUFFLE, (":code",)),
    "palette": (SHUFFLE, ("ctrl+p", "g")),
    "against": (("equiv", "N,C,3 | transpose 1,0,2", "| reshape C,N,3"), ()),
    "short": (("chain", "2,3,4 | transpose 1,0,2 | transpose 1,0,2"), (":simplify",)),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("screen", SCREENS)
def test_contrast_of_text_and_lines_in_every_theme(screen):
    words, keys = SCREENS[screen]

    async def look(user):
        await user.press(*keys)
        for theme in THEMES:
            user.app.theme = theme
            await user.settle()
            assert len(text_contrasts(user.segments)) > 20
            assert (theme, low_contrast_texts(user.segments)) == (theme, [])

    asyncio.run(using(look, *words))


def test_contrast_check_finds_faint_text():
    def segments(text, ink, page="#000000", **more):
        return [Segment(text, Style(color=ink, bgcolor=page, **more))]

    assert low_contrast_texts(segments("2,3", "#777777")) == []
    assert low_contrast_texts(segments(" 2,3", "#707070")) == [("2,3", 4.24)]
    assert low_contrast_texts(segments("2,3", "#000000", "#707070", reverse=True)) == [("2,3", 4.24)]
    assert low_contrast_texts(segments("──", "#707070")) == []
    assert low_contrast_texts(segments("──", "#505050")) == [("──", 2.6)]


@driven("reshape", "2,3,4", "5,-1")
async def test_no_colour_theme_has_no_colours(user):
    user.app.theme = "without colour"
    await user.settle()
    assert all(
        red == green == blue for text, style, _ in user.segments if text.strip() for red, green, blue in colours(style)
    )
    (carets,) = [ratio for text, ratio, _ in text_contrasts(user.segments) if text == "▲▲"]
    assert carets > 15, "the carets stand out without colour"


def test_no_color_variable_opens_a_readable_app(monkeypatch):
    async def look(user):
        assert user.app.theme == "without colour"
        assert low_contrast_texts(user.segments) == []
        await user.press(":theme")
        assert user.app.theme == "shapecalc"
        assert low_contrast_texts(user.segments) == []

    monkeypatch.setenv("NO_COLOR", "1")
    asyncio.run(using(look, "reshape", "2,3,4", "5,-1"))
