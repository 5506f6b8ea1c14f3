"""The themes of the app, and the line filters that make text legible."""

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

from shapecalc.render.canvas import contrast_ratio
from shapecalc.render.grid import TINT_INK, TINTS

WHITE, BLACK = ColorTriplet(255, 255, 255), ColorTriplet(0, 0, 0)
TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0
"""The minimum contrast ratios of text and of lines (WCAG 2.1, 1.4.3 and 1.4.11)."""
MIN_HUE_RANGE = 40
"""The minimum difference between the largest and the smallest RGB channel of a colour; other colours are grey."""
SHADE_COUNT = 20
"""The number of shades that are tried between a colour and white or black."""
LINE_CHARACTERS = frozenset(map(chr, (*range(0x2500, 0x25A0), *b" |-+.'")))
"""The characters that draw lines and blocks."""
EDGE_CHARACTERS = frozenset(map(chr, (*range(0x2581, 0x2588), *range(0x2589, 0x2590), 0x2594, 0x2595, *b" ")))
"""The block characters that extend an area, such as a scroll bar, by a fraction of a cell.

Their colour is not changed, because it must equal the colour of the area.
"""
DARK_TINTS = ("#6B3524", "#5C4A10", "#2F5722", "#17534E", "#214A78", "#45377C", "#6A2E52", "#4A463D")
"""The background colours of elements in dark themes, in the order of `TINTS`.

In a dark theme, `TINTS` would be brighter than the answer.
"""
DARK_TINT_INK = "#F2F2F2"
"""The text colour of elements on `DARK_TINTS`."""

THEME_NAMES = ("shapecalc", "dark", "light", "without colour")
"""The names of the themes, in the order in which the theme key selects them."""
ROLE_COLOURS = {
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
"""The colour of each role, such as `error`, in each theme."""


def _make_theme(index: int) -> Theme:
    colours: dict[str, Any] = {role: row[index] for role, row in ROLE_COLOURS.items()}
    return Theme(THEME_NAMES[index], dark=THEME_NAMES[index] != "light", **colours)


THEMES = {name: _make_theme(column) for column, name in enumerate(THEME_NAMES)}
"""All themes, keyed by name."""
DEFAULT_THEME, *_, COLOURLESS_THEME = THEME_NAMES
"""The default theme, and the theme without colour."""


def initial_theme(stored_name: str, *, has_colour: bool) -> str:
    """Return the theme at the start of the app.

    This is the colourless theme if the terminal has no colours, else the stored theme, else the default theme.

    >>> initial_theme("light", has_colour=True), initial_theme("light", has_colour=False)
    ('light', 'without colour')
    >>> initial_theme("", has_colour=True)
    'shapecalc'
    """
    name = stored_name if has_colour else COLOURLESS_THEME
    return name if name in THEMES else DEFAULT_THEME


def next_theme(name: str) -> str:
    """Return the name of the theme that follows another.

    The default theme follows the last theme and any unknown theme.

    >>> next_theme("shapecalc"), next_theme("without colour"), next_theme("nope")
    ('dark', 'shapecalc', 'shapecalc')
    """
    return THEME_NAMES[(THEME_NAMES.index(name) + 1) % len(THEME_NAMES)] if name in THEME_NAMES else DEFAULT_THEME


def line_filters(name: str, *, has_colour: bool) -> Sequence[LineFilter]:
    """Return the line filters that make text legible in a theme."""
    if not has_colour or name == COLOURLESS_THEME:
        return (COLOURLESS_FILTER, LEGIBILITY_FILTER)
    return (DARK_FILTER,) if THEMES[name].dark else (LEGIBILITY_FILTER,)


class _StyleFilter(LineFilter):
    """A Textual line filter that applies a function to the style of each segment."""

    def __init__(self, map_style: Callable[[str, Style], Style]) -> None:
        super().__init__()
        self.style_of = map_style

    def apply(self, segments: list[Segment], background: Background) -> list[Segment]:
        """Return the segments of a line in the styles that the function returns."""
        return [Segment(text, style and self.style_of(text, style), control) for text, style, control in segments]


@lru_cache(4096)
def _colourless_style(style: Style) -> Style:
    """Convert the colours of a style to greys.

    Coloured text becomes white on a dark background, and black on a light background. The shades of grey text are kept.
    """
    grey = monochrome_style(style)
    parts = (0,) if style.color is None or style.color.is_default else style.color.get_truecolor()
    if max(parts) - min(parts) < MIN_HUE_RANGE:
        return grey
    background = BLACK if grey.bgcolor is None else grey.bgcolor.get_truecolor()
    return grey + Style(color=Color.from_triplet(_contrasting_colour(background)))


def _contrasting_colour(background: ColorTriplet) -> ColorTriplet:
    return max((WHITE, BLACK), key=lambda ink: contrast_ratio(ink, background))


@lru_cache(4096)
def _required_contrast(text: str) -> float:
    """Return the minimum contrast ratio of a text; 0 if its colour is not changed."""
    return (
        0 if EDGE_CHARACTERS.issuperset(text) else LINE_CONTRAST if LINE_CHARACTERS.issuperset(text) else TEXT_CONTRAST
    )


@lru_cache(4096)
def _legible_style(style: Style, min_contrast: float) -> Style:
    """Blend the text colour with white or black until it is legible."""
    if style.color is None or style.bgcolor is None or style.color.is_default or style.bgcolor.is_default:
        return style
    colour, background = style.color.get_truecolor(), style.bgcolor.get_truecolor()
    if contrast_ratio(colour, background) >= min_contrast:
        return style
    extreme = _contrasting_colour(background)
    shades = (blend_rgb(colour, extreme, part / SHADE_COUNT) for part in range(1, SHADE_COUNT))
    shade = next((shade for shade in shades if contrast_ratio(shade, background) >= min_contrast), extreme)
    return style + Style(color=Color.from_triplet(shade))


@lru_cache(4096)
def _darken_tint(style: Style) -> Style:
    """Replace the colours of an element with those of dark themes."""
    shades = [None if colour is None else colour.name.upper() for colour in (style.color, style.bgcolor)]
    if TINT_INK not in shades or not (tint := next((shade for shade in shades if shade in TINTS), None)):
        return style
    if shades[1] == TINT_INK:  # the element is marked
        return style + Style(color=TINT_INK, bgcolor=tint)
    return style + Style(color=DARK_TINT_INK, bgcolor=DARK_TINTS[TINTS.index(tint)])


COLOURLESS_FILTER = _StyleFilter(lambda _, style: _colourless_style(style))
LEGIBILITY_FILTER = _StyleFilter(lambda text, style: _legible_style(style, _required_contrast(text)))
DARK_FILTER = _StyleFilter(lambda text, style: _legible_style(_darken_tint(style), _required_contrast(text)))
