"""The themes of the app, and the filters that keep text legible in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as Background
from textual.filter import LineFilter, monochrome_style
from textual.theme import Theme

from shapecalc.view.canvas import contrast

WHITE, BLACK = ColorTriplet(255, 255, 255), ColorTriplet(0, 0, 0)
TEXT, LINES = 4.5, 3.0
"""The minimum contrast of text and of lines. Source: WCAG 2.1, 1.4.3 and 1.4.11."""
HUE = 40
"""The minimum range of the channels of a coloured text. Less counts as grey."""
SHADES = 20
"""The number of shades between a colour and white or black."""
DRAWN = frozenset(map(chr, (*range(0x2500, 0x25A0), *b" |-+.'")))
"""The characters of lines and blocks."""
EDGES = frozenset(map(chr, (*range(0x2581, 0x2588), *range(0x2589, 0x2590), 0x2594, 0x2595, *b" ")))
"""The characters that extend an area, such as a scroll bar, by part of a cell.

They keep the colour of the area.
"""

NAMES = ("shapecalc", "dark", "light", "without colour")
"""The names of the themes, in the order in which the theme key cycles."""
COLOURS = {
    "primary": ("#56B4E9", "#4DA3FF", "#004E8A", "#C8C8C8"),
    "secondary": ("#0072B2", "#8AB4F8", "#0072B2", "#A8A8A8"),
    "accent": ("#E69F00", "#FFB454", "#8A4B00", "#E0E0E0"),
    "warning": ("#E69F00", "#FFB454", "#8A4B00", "#E0E0E0"),
    "error": ("#D55E00", "#FF6B6B", "#B3261E", "#FFFFFF"),
    "success": ("#009E73", "#5FD38D", "#00664A", "#E0E0E0"),
    "foreground": ("#E6E9EF", "#F2F2F2", "#1C1C1C", "#EDEDED"),
    "background": ("#10151D", "#000000", "#FFFFFF", "#0E0E0E"),
    "surface": ("#18202B", "#121212", "#F4F5F7", "#1A1A1A"),
    "panel": ("#2A3646", "#2B2B2B", "#DDE1E6", "#303030"),
}
"""The colour of each role, by theme."""


def _theme(column: int) -> Theme:
    colours: dict[str, Any] = {role: row[column] for role, row in COLOURS.items()}
    return Theme(NAMES[column], dark=NAMES[column] != "light", **colours)


THEMES = {name: _theme(column) for column, name in enumerate(NAMES)}
"""All themes by name."""
OURS, *_, PLAIN = NAMES
"""The default theme, and the theme without colour."""


def opening_theme(kept: str, *, colour: bool) -> str:
    """Return the theme to start with: the stored one, unless colours are disabled.

    >>> opening_theme("light", colour=True), opening_theme("light", colour=False), opening_theme("", colour=True)
    ('light', 'without colour', 'shapecalc')
    """
    name = kept if colour else PLAIN
    return name if name in THEMES else OURS


def theme_after(name: str) -> str:
    """Return the name of the next theme.

    >>> theme_after("shapecalc"), theme_after("without colour"), theme_after("nope")
    ('dark', 'shapecalc', 'shapecalc')
    """
    return NAMES[(NAMES.index(name) + 1) % len(NAMES)] if name in NAMES else OURS


def filters_of(name: str, *, colour: bool) -> Sequence[LineFilter]:
    """Return the line filters of a theme. The last one makes all text legible."""
    return (READABLE,) if colour and name != PLAIN else (COLOURLESS, READABLE)


class _Restyled(LineFilter):
    """A line filter that maps the style of each segment with a function."""

    def __init__(self, style_of: Callable[[str, Style], Style]) -> None:
        super().__init__()
        self.style_of = style_of

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:
        """Return the segments of a line with mapped styles."""
        return [Segment(text, style and self.style_of(text, style), control) for text, style, control in segments]


@lru_cache(4096)
def _colourless_style(style: Style) -> Style:
    """Return a style in greys.

    Coloured text becomes white on a dark background and black on a light one. Dimmed text keeps its grey.
    """
    grey = monochrome_style(style)
    parts = (0,) if style.color is None or style.color.is_default else style.color.get_truecolor()
    if max(parts) - min(parts) < HUE:
        return grey
    page = BLACK if grey.bgcolor is None else grey.bgcolor.get_truecolor()
    return grey + Style(color=Color.from_triplet(_ink(page)))


def _ink(page: ColorTriplet) -> ColorTriplet:
    return max((WHITE, BLACK), key=lambda ink: contrast(ink, page))


@lru_cache(4096)
def _least(text: str) -> float:
    """Return the contrast that a text needs. Areas keep their own colour."""
    return 0 if EDGES.issuperset(text) else LINES if DRAWN.issuperset(text) else TEXT


@lru_cache(4096)
def _readable_style(style: Style, least: float) -> Style:
    """Return a style with the nearest shade that is legible on its background."""
    if style.color is None or style.bgcolor is None or style.color.is_default or style.bgcolor.is_default:
        return style
    colour, page = style.color.get_truecolor(), style.bgcolor.get_truecolor()
    if contrast(colour, page) >= least:
        return style
    ink = _ink(page)
    shades = (blend_rgb(colour, ink, part / SHADES) for part in range(1, SHADES))
    shade = next((shade for shade in shades if contrast(shade, page) >= least), ink)
    return style + Style(color=Color.from_triplet(shade))


COLOURLESS = _Restyled(lambda _, style: _colourless_style(style))
READABLE = _Restyled(lambda text, style: _readable_style(style, _least(text)))
