"""The styles of pictures, and how well their colours can be told apart.

Equal styles are one object, so that what a terminal needs for them is made once.
"""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    Colour = tuple[int, int, int]


@lru_cache(maxsize=1024)
def ink(
    colour: str = "",
    *,
    dim: bool = False,
    bold: bool = False,
    reverse: bool = False,
    mark: tuple[str, object] | None = None,
) -> Style:
    """Return a style in a colour, in that of the terminal if it is empty; `mark` is one item of meta data.

    >>> ink("#D55E00", bold=True) is ink("#D55E00", bold=True)
    True
    """
    return Style(color=colour or None, dim=dim, bold=bold, reverse=reverse, meta=dict([mark]) if mark else None)


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of two colours, from 1 to 21. Source: WCAG 2.1, contrast ratio.

    >>> contrast((0, 0, 0), (255, 255, 255))
    21.0
    """
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [part / 255 for part in colour]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
