"""What words of a film look like, on paper and on a terminal; each theme is a page with its inks."""

from __future__ import annotations

from shapecalc.core.sizes.record import Record
from shapecalc.view.marks import COLOURS
from shapecalc.view.notebook import PAPERS, hexadecimal, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


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
    red, green, blue = bytes.fromhex(look.ink[1:]) if look.ink else quiet if look.quiet else ink
    return hexadecimal(readable((red, green, blue), page, ink))


def page_of(theme: str) -> str:
    """Return the colour of a page, in hexadecimal."""
    return hexadecimal(PAPERS[theme][0])
