"""The pictures of an answer as files: SVG for light and dark pages, pixels, and pages of their own.

Pixels are what resvg makes of an SVG with the package's own font, which is given as a file: by its name alone resvg
would draw no text on most machines, and say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import as_file, files
from io import StringIO
from zlib import crc32

from rich.console import Console
from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.commands import command_line
from shapecalc.core.packages import missing
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.text import brief, lookup, number_text, shape_text, visible
from shapecalc.view.canvas import DOWN, UNICODE, UP, Colour, clip_line, contrast, packed, stack, strokes_for
from shapecalc.view.flow import flow, rail, strip
from shapecalc.view.hints import conditions_text
from shapecalc.view.layout import INFERS, layouts, unsettled
from shapecalc.view.pictures import main_step, picture, sums
from shapecalc.view.story import story

SVG = "image/svg+xml"
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8, 17, 10
"""The size of a character cell and the margin, in pixels."""
WHOLE_CELLS = 'lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
"""What keeps lines joined and columns straight, whatever the font."""
FONTS = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"
"""The fonts that are asked for; the first is the package's own, which pictures in pixels are made with."""
MOST_LINES = 400
"""The most lines of a picture; of more, the last says how many are left out."""
PAPERS: dict[str, tuple[Colour, Colour, Colour]] = {
    "light": ((255, 255, 255), (31, 31, 31), (90, 90, 90)),
    "dark": ((24, 24, 24), (230, 230, 230), (165, 165, 165)),
}
"""The pages by theme: the colour of each, that of its text, and that of text that steps back."""
CONTRAST = 4.5
"""The least contrast of text with the page. Source: WCAG 2.1, 1.4.3."""
FONT = files("shapecalc.view") / "fonts" / "DejaVuSansMono.ttf"
"""DejaVu Sans Mono, with the letters, lines and arrows that pictures are made of."""
FAMILY = "DejaVu Sans Mono"
ENDINGS = (".svg", ".png", ".html")
WIDTH, NARROWEST, WIDEST = 80, 40, 400
"""How many characters wide a picture is, and may be."""
ASKED = -1
"""The step of which nothing is settled yet: the question."""
HEIGHT = 40
"""The most lines of the picture under the rail."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{ margin: 0; {colours} }} svg {{ max-width: 100%; height: auto; }}</style></head>
<body>
{svg}</body></html>
"""


def shown_as(answer: Trace | Chain, kind: str, encoding: str | None = "utf-8", *, everything: bool = False) -> str:
    """Return the story of an answer, as SVG or as text with the characters of an encoding.

    >>> import shapecalc as sc
    >>> print(shown_as(sc.reshape((2, 3), (3, 2)), "text/plain").splitlines()[-2])
    reshape         all  3,2  6 elements in and out: axes 0,1 mix into axes 0,1  [regroup]
    """
    text = story(answer, strokes=strokes_for(encoding), more="" if everything else "explain(everything=True)")
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
    body = [piece for row, line in enumerate(lines) for piece in _line_elements(line, row, name, styles)]
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


def _line_elements(
    line: Text, row: int, name: str, styles: dict[tuple[Colour | None, bool, bool], str]
) -> Iterator[str]:
    """Yield the elements of one line; a style that is met for the first time gets a class."""
    column, y = 0, MARGIN + row * CELL_HEIGHT + 13
    for segment in line.render(Console(file=StringIO(), color_system="truecolor"), end=""):
        cells = segment.cell_length
        if segment.text.strip():
            kind = styles.setdefault(_looks(segment.style), f"{name}-{len(styles)}")
            place = f'x="{MARGIN + column * CELL_WIDTH}" y="{y}" textLength="{cells * CELL_WIDTH}"'
            yield f'<text class="{name} {kind}" {place} {WHOLE_CELLS}>{escape(segment.text)}</text>'
            if uprights := "".join(_uprights(segment.text, MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT)):
                yield f'<path class="{kind}" d="{uprights}"/>'
        column += cells


def _uprights(text: str, left: int, top: int) -> Iterator[str]:
    """Yield the upright parts of the lines in a text, as high as a row: a font's own leave gaps between rows."""
    for place, char in enumerate(text):
        ways = UNICODE.lines.find(char) & (UP | DOWN) if char in UNICODE.lines else 0
        if ways:
            start, height = top + (0 if ways & UP else CELL_HEIGHT / 2), CELL_HEIGHT / (1 if ways == UP | DOWN else 2)
            yield f"M{left + (place + 0.5) * CELL_WIDTH - 0.5} {start}h1v{height}h-1z"


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


def png(svg: str, zoom: int = 2) -> bytes:
    """Return an SVG as PNG, `zoom` times as large; raise `ShapeError` (file) if resvg-py is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise not_installed(error) from None
    with as_file(FONT) as font:
        own = [str(font)]
        made = svg_to_bytes(svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=own, font_family=FAMILY)
    return bytes(made)


def not_installed(error: ModuleNotFoundError) -> ShapeError:
    """Return the error to raise if a package of the extra `film` is not there."""
    return ShapeError(Problem(FILE, missing(str(error.name), "film")))


def ending_of(name: str, endings: Iterable[str], kind: str) -> str:
    """Return which of the endings a file's name has; raise `ShapeError` (usage) if it has none of them.

    >>> ending_of("a/B.SVG", ENDINGS, "picture")
    '.svg'
    """
    found = [ending for ending in endings if name.lower().endswith(ending) and len(name) > len(ending)]
    if not found:
        shown = visible(brief(name))
        raise misuse(f"'{shown}' is not a {kind}", f"end it in {', '.join(endings)}")
    return found[0]


def check_theme(name: str) -> None:
    """Raise `ShapeError` (usage) if there is no theme of that name."""
    lookup(name, PAPERS, "theme")


def check_step(answer: Trace | Chain, step: int | None) -> None:
    """Raise `ShapeError` (usage) if an answer has no step of that number, counted from 1."""
    if step is not None and step > len(answer.steps):
        steps = number_text(len(answer.steps), "step", "steps")
        raise misuse(f"there is no step {step}", f"the answer has {steps}", argument="step")


def still(
    answer: Trace | Chain, name: str, step: int | None = None, *, theme: str | None = None, width: int = WIDTH
) -> bytes:
    """Return the contents of a file of that name: the picture of a step, counted from 1; without one, of the answer.

    Step 0 is the question, whose sizes are left open. Without a theme an SVG and a page have the colours that their
    reader's system asks for, pixels those of `light`. Raises `ShapeError`: usage if there is no such ending, step or
    theme, file if what draws pixels is not installed.
    """
    ending = ending_of(name, ENDINGS, "picture")
    check_step(answer, step)
    if theme is not None:
        check_theme(theme)
    text = still_text(answer, None if step is None else step - 1, width)
    made = svg(text, str(answer), theme or ("light" if ending == ".png" else None))
    if ending == ".png":
        return png(made)
    return (made if ending == ".svg" else _page(made, command_line(answer), theme)).encode()


def still_text(answer: Trace | Chain, at: int | None, width: int) -> Text:
    """Return what is seen of step `at`, with holes for what is settled later; of None, the whole answer.

    The whole answer has the picture that shows most. Step `ASKED` is the question alone.
    """
    place = main_step(answer, width) if at is None else max(at, 0)
    here = at if at is not None or answer.problem is None else len(answer.steps)
    holes = {} if at is None else dict.fromkeys(unsettled(answer, at + 1), UNICODE.hole)
    drawn = picture(answer, place, width=width, height=HEIGHT, holes=holes)
    told = any(step.rule in INFERS for step in answer.steps[place : place + 1])
    divisions = sums(layouts(answer)) if at is None and not told else ()
    parts = [
        clip_line(Text(visible(command_line(answer)), "bold"), width, UNICODE),
        Text(""),
        flow(answer, here, width=width, holes=holes, hides_refusal=at is not None),
    ]
    if at != ASKED:
        parts += [*packed([Text(text, "dim") for text in divisions], width, UNICODE), Text("")]
        parts += [rail(answer, here, width=width), strip(answer, here, width=width), Text(""), drawn]
    parts += [Text(""), *_sentence(answer, at, width)]
    return stack(parts)


def _sentence(answer: Trace | Chain, at: int | None, width: int) -> list[Text]:
    """Return what is said of a step, or of the whole answer, in as many lines as it takes."""
    from textwrap import wrap

    problem = answer.problem
    if at == ASKED:
        sentence, style = "predict the output shape, or error", "bold"
    elif at is not None:
        step = answer.steps[at]
        sentence, style = f"{step.why}  [{step.rule}]", ""
    elif problem is not None:
        sentence, style = f"refused: {problem}", "bold red"
    else:
        sentence, style = f"answer {shape_text(answer.output or ())}{conditions_text(answer, ', when ')}", "bold"
    return [Text(line, style) for line in wrap(visible(sentence), width)]


def _page(made: str, title: str, theme: str | None) -> str:
    """Return an SVG picture in a page of its own."""
    light, dark = (hexadecimal(PAPERS[each][0]) for each in (theme or "light", theme or "dark"))
    colours = f"background: {light}; }} @media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }}"
    return PAGE.format(title=escape(visible(title)), colours=colours, svg=made)
