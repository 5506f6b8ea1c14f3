"""What words of a film look like, on paper and on a terminal; each theme is a page with its inks."""

from __future__ import annotations

from functools import cache

from shapecalc.core.record import Record
from shapecalc.view.ink import contrast
from shapecalc.view.marks import COLOURS
from shapecalc.view.notebook import PAPERS, hexadecimal, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Colour = tuple[int, int, int]


class Look(Record):
    """One look: its ink on every page, what is behind the word, and its style on a terminal."""

    terminal: str
    ink: str = ""
    """A colour; empty for the page's own."""
    quiet: bool = False
    bold: bool = False
    behind: str = ""
    """The colour of a bar behind the word; empty for none."""


LIT = "#0072B2"
LOOKS: Mapping[str, Look] = {
    "ink": Look(""),
    "bold": Look("bold", bold=True),
    "quiet": Look("", quiet=True),
    "lit": Look("bold reverse", "#ffffff", bold=True, behind=LIT),
    "bad": Look("bold red", "#C00000", bold=True),
    **{f"axis{number}": Look(hue, hue) for number, hue in enumerate(COLOURS)},
}
"""Every look by name. Letters and places carry the meaning; colour only helps."""


def ink_of(look: Look, theme: str) -> str:
    """Return the colour of a look's words on a page, in hexadecimal, as a shade that can be read there."""
    page, ink, quiet = PAPERS[theme]
    if look.behind:
        return look.ink
    return hexadecimal(readable(_rgb(look.ink) if look.ink else quiet if look.quiet else ink, page, ink))


def _rgb(text: str) -> Colour:
    red, green, blue = bytes.fromhex(text.removeprefix("#"))
    return red, green, blue


@cache
def terminal_styles(page: Colour | None) -> Mapping[str, str]:
    """Return the style of every look on a terminal; if its page is known, in shades that can be read there."""
    styles = {name: look.terminal for name, look in LOOKS.items()}
    if page is None:
        return styles
    ink = max((PAPERS[theme][1] for theme in PAPERS), key=lambda colour: contrast(colour, page))
    for name, look in LOOKS.items():
        if look.ink and not look.behind:
            styles[name] = f"{'bold ' * look.bold}{hexadecimal(readable(_rgb(look.ink), page, ink))}"
    return styles


def page_of(theme: str) -> str:
    """Return the colour of a page, in hexadecimal."""
    return hexadecimal(PAPERS[theme][0])
