"""An answer as a notebook shows it: its pictures and steps, as text and as SVG for light and dark pages."""

from __future__ import annotations

from html import escape
from io import StringIO
from zlib import crc32

from rich.console import Console
from rich.text import Text

from shapecalc.view.ink import contrast
from shapecalc.view.story import story
from shapecalc.view.strokes import strokes_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.style import Style

    from shapecalc.core.answers import Chain, Trace

    Colour = tuple[int, int, int]

SVG = "image/svg+xml"
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8, 17, 10
"""The size of a character cell and the margin, in pixels."""
WHOLE_CELLS = 'lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
"""What keeps lines joined and columns straight, whatever the font."""
FONTS = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"
"""The fonts that are asked for; the first is the package's own, which pictures in pixels are made with."""
MOST_LINES = 400
"""The most lines of a picture; of more, the last says how many are left out."""
MORE = "explain(everything=True)"
"""How every picture is asked for in Python."""
PAPERS: dict[str, tuple[Colour, Colour, Colour]] = {
    "light": ((255, 255, 255), (31, 31, 31), (90, 90, 90)),
    "dark": ((24, 24, 24), (230, 230, 230), (165, 165, 165)),
}
"""The pages by theme: the colour of each, that of its text, and that of text that steps back."""
CONTRAST = 4.5
"""The least contrast of text with the page. Source: WCAG 2.1, 1.4.3."""


def shown_as(answer: Trace | Chain, kind: str, encoding: str | None = "utf-8", *, everything: bool = False) -> str:
    """Return the story of an answer, as SVG or as text with the characters of an encoding.

    >>> import shapecalc as sc
    >>> print(shown_as(sc.reshape((2, 3), (3, 2)), "text/plain").splitlines()[-2])
    reshape         all  3,2  6 elements in and out: axes 0,1 mix into axes 0,1  [regroup]
    """
    text = story(answer, strokes=strokes_for(encoding), more="" if everything else MORE)
    return svg(text, str(answer)) if kind == SVG else text.plain


def svg(text: Text, label: str, theme: str | None = None) -> str:
    """Return a text as an SVG picture with the colours of its styles, in the shades of the page of a theme.

    Without a theme it has those of both, and its reader's system says which are shown.
    """
    lines = list(text.split("\n"))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [Text(f"... {len(lines) - MOST_LINES + 1} more lines, which explain() prints")]
    width = max((line.cell_len for line in lines), default=0) * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + 2 * MARGIN
    name = f"s{crc32(text.plain.encode()):08x}"
    styles: dict[tuple[Colour | None, bool, bool], str] = {}
    body = [piece for row, line in enumerate(lines) for piece in _pieces(line, row, name, styles)]
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">',
            _sheet(name, styles, theme),
            f'<rect class="{name}" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        ]
    )


def _pieces(line: Text, row: int, name: str, styles: dict[tuple[Colour | None, bool, bool], str]) -> Iterator[str]:
    """Yield the elements of one line; a style that is met for the first time gets a class."""
    column, y = 0, MARGIN + row * CELL_HEIGHT + 13
    for segment in line.render(Console(file=StringIO(), color_system="truecolor"), end=""):
        cells = segment.cell_length
        if segment.text.strip():
            kind = styles.setdefault(_looks(segment.style), f"{name}-{len(styles)}")
            place = f'x="{MARGIN + column * CELL_WIDTH}" y="{y}" textLength="{cells * CELL_WIDTH}"'
            yield f'<text class="{name} {kind}" {place} {WHOLE_CELLS}>{escape(segment.text)}</text>'
        column += cells


def _looks(style: Style | None) -> tuple[Colour | None, bool, bool]:
    """Return the colour of a style, and whether it is bold or steps back."""
    if style is None:
        return None, False, False
    colour = None if style.color is None or style.color.is_default else tuple(style.color.get_truecolor())
    return colour, bool(style.bold), bool(style.dim)  # type: ignore[return-value]  # a colour has three parts


def _sheet(name: str, styles: dict[tuple[Colour | None, bool, bool], str], theme: str | None) -> str:
    """Return the style sheet: every colour as a shade that can be read on the page of a theme, or on both pages."""
    font = f"text.{name} {{ font: 13px {FONTS}; white-space: pre; }}"
    bold = [f".{kind} {{ font-weight: bold; }}" for (_, is_bold, _), kind in styles.items() if is_bold]
    light, dark = (
        [f"rect.{name} {{ fill: {hexadecimal(page)}; }}"]
        + [
            f".{kind} {{ fill: {hexadecimal(readable(colour or (quiet if is_dim else ink), page, ink))}; }}"
            for (colour, _, is_dim), kind in styles.items()
        ]
        for page, ink, quiet in (PAPERS[each] for each in (theme or "light", theme or "dark"))
    )
    media = [] if theme else ["@media (prefers-color-scheme: dark) {", *dark, "}"]
    return "\n".join(["<style>", font, *bold, *light, *media, "</style>"])


def readable(colour: Colour, page: Colour, ink: Colour) -> Colour:
    """Return the shade of a colour nearest to it that can be read on a page, on the way to the colour of its text."""
    shades = (_mixed(colour, ink, part / 20) for part in range(20))
    return next((shade for shade in shades if contrast(shade, page) >= CONTRAST), ink)


def _mixed(one: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def hexadecimal(colour: Colour) -> str:
    """Return a colour as style sheets write it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)
