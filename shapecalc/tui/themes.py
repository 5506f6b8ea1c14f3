"""The themes that are offered, and the filter by which every text and line can be read in each of them."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style
from textual.filter import LineFilter, monochrome_style
from textual.theme import Theme

from shapecalc.view.canvas import contrast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.color import Color as Background

WHITE, BLACK = ColorTriplet(255, 255, 255), ColorTriplet(0, 0, 0)
TEXT, LINES = 4.5, 3.0
"""The least contrast of text with what is behind it, and of lines. Source: WCAG 2.1, 1.4.3 and 1.4.11."""
HUE = 40
"""How far the brightest and the darkest part of a colour are apart, of which it is taken for more than a grey."""
SHADES = 20
"""How many shades are tried on the way from a colour to white or black."""
DRAWN = frozenset(map(chr, (*range(0x2500, 0x25A0), *b" |-+.'")))
"""The characters of lines and blocks."""
EDGES = frozenset(map(chr, (*range(0x2581, 0x2588), *range(0x2589, 0x2590), 0x2594, 0x2595, *b" ")))
"""The characters that continue an area, such as a scroll bar, by a part of a cell: they keep its colour."""

OURS = Theme(
    "shapecalc",
    primary="#56B4E9",
    secondary="#0072B2",
    accent="#E69F00",
    warning="#E69F00",
    error="#D55E00",
    success="#009E73",
    foreground="#E6E9EF",
    background="#10151D",
    surface="#18202B",
    panel="#2A3646",
)
DARK = Theme(
    "dark",
    primary="#4DA3FF",
    secondary="#8AB4F8",
    accent="#FFB454",
    warning="#FFB454",
    error="#FF6B6B",
    success="#5FD38D",
    foreground="#F2F2F2",
    background="#000000",
    surface="#121212",
    panel="#2B2B2B",
)
LIGHT = Theme(
    "light",
    primary="#004E8A",
    secondary="#0072B2",
    accent="#8A4B00",
    warning="#8A4B00",
    error="#B3261E",
    success="#00664A",
    foreground="#1C1C1C",
    background="#FFFFFF",
    surface="#F4F5F7",
    panel="#DDE1E6",
    dark=False,
)
PLAIN = Theme(
    "without colour",
    primary="#C8C8C8",
    secondary="#A8A8A8",
    accent="#E0E0E0",
    warning="#E0E0E0",
    error="#FFFFFF",
    success="#E0E0E0",
    foreground="#EDEDED",
    background="#0E0E0E",
    surface="#1A1A1A",
    panel="#303030",
)
THEMES = {theme.name: theme for theme in (OURS, DARK, LIGHT, PLAIN)}
"""What is offered, in the order in which the key goes through them."""


def opening_theme(kept: str, *, colour: bool) -> str:
    """Return the name of the theme to open in, for the name that was kept and for whether colours are wanted.

    >>> opening_theme("light", colour=True), opening_theme("light", colour=False), opening_theme("", colour=True)
    ('light', 'without colour', 'shapecalc')
    """
    wanted = kept if colour else PLAIN.name
    return wanted if wanted in THEMES else OURS.name


def theme_after(name: str) -> str:
    """Return the name of the theme that follows one.

    >>> theme_after("shapecalc"), theme_after("without colour"), theme_after("nope")
    ('dark', 'shapecalc', 'shapecalc')
    """
    names = [*THEMES]
    return names[(names.index(name) + 1) % len(names)] if name in THEMES else names[0]


def filters_of(name: str, *, colour: bool) -> Sequence[LineFilter]:
    """Return what every line of the screen goes through in a theme, the last of all what lets it be read."""
    return (READABLE,) if colour and name != PLAIN.name else (COLOURLESS, READABLE)


class Readable(LineFilter):
    """Gives text and lines the contrast that they need with what is behind them: their colour as far as it can be."""

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:
        """Return the segments of a line, with shades that can be read."""
        return [
            segment
            if style is None or EDGES.issuperset(text)
            else Segment(text, _readable_style(style, _least(text)), control)
            for segment in segments
            for text, style, control in (segment,)
        ]


class Colourless(LineFilter):
    """Shows what is coloured as plain text, and backgrounds in grey. What steps back keeps its grey."""

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:
        """Return the segments of a line, without colours."""
        return [
            Segment(text, style and _colourless_style(style), control)
            for segment in segments
            for text, style, control in (segment,)
        ]


class _InTurn(LineFilter):
    def __init__(self, filters: tuple[LineFilter, ...]) -> None:
        super().__init__()
        self.filters = filters

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:
        """Return the segments of a line, as the last of the filters leaves them."""
        for each in self.filters:
            segments = each.apply(segments, background)
        return segments


@lru_cache(16)
def in_turn(filters: tuple[LineFilter, ...]) -> LineFilter:
    """Return one filter for several, so that a line is made and kept once."""
    return _InTurn(filters)


COLOURLESS, READABLE = Colourless(), Readable()


@lru_cache(4096)
def _colourless_style(style: Style) -> Style:
    """Return a style without hues: white for a coloured text on a dark background, black on a light one."""
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
    return LINES if DRAWN.issuperset(text) else TEXT


@lru_cache(4096)
def _readable_style(style: Style, least: float) -> Style:
    """Return a style with the nearest shade of its colour that can be read on its background."""
    if style.color is None or style.bgcolor is None or style.color.is_default or style.bgcolor.is_default:
        return style
    colour, page = style.color.get_truecolor(), style.bgcolor.get_truecolor()
    if contrast(colour, page) >= least:
        return style
    ink = _ink(page)
    shades = (blend_rgb(colour, ink, part / SHADES) for part in range(1, SHADES))
    shade = next((shade for shade in shades if contrast(shade, page) >= least), ink)
    return style + Style(color=Color.from_triplet(shade))
