"""Picture files of an answer: SVG for light and dark pages, PNG and HTML.

resvg renders the PNG from an SVG with the package's own font, which is passed as a file: if resvg does not find a font
by name, it draws no text and reports no error.
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
"""The size of a character cell, and the margin, in pixels."""
WHOLE_CELLS = 'lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
"""The attributes that keep lines joined and columns aligned in any font."""
FONTS = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"
"""The CSS font list. PNGs use the first font, which the package contains."""
MOST_LINES = 400
"""The maximum number of lines of a picture. A longer one ends with a note."""
PAPERS: dict[str, tuple[Colour, Colour, Colour]] = {
    "light": ((255, 255, 255), (31, 31, 31), (90, 90, 90)),
    "dark": ((24, 24, 24), (230, 230, 230), (165, 165, 165)),
}
"""The colours of page, text and dimmed text, by theme."""
CONTRAST = 4.5
"""The minimum contrast of text with the page. Source: WCAG 2.1, 1.4.3."""
FONT = files("shapecalc.view") / "fonts" / "DejaVuSansMono.ttf"
"""The font file. DejaVu Sans Mono has all glyphs of the pictures."""
FAMILY = "DejaVu Sans Mono"
ENDINGS = (".svg", ".png", ".html")
WIDTH, NARROWEST, WIDEST = 80, 40, 400
"""The default, minimum and maximum width of a picture in characters."""
ASKED = -1
"""The step index of the question, before any dim is settled."""
HEIGHT = 40
"""The maximum height of the picture below the rail."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{ margin: 0; {colours} }} svg {{ max-width: 100%; height: auto; }}</style></head>
<body>
{svg}</body></html>
"""


def shown_as(answer: Trace | Chain, kind: str, encoding: str | None = "utf-8", *, everything: bool = False) -> str:
    """Return the story of an answer as SVG, or as text in the glyphs of an encoding.

    >>> import shapecalc as sc
    >>> print(shown_as(sc.reshape((2, 3), (3, 2)), "text/plain").splitlines()[-2])
    reshape         all  3,2  6 elements in and out: axes 0,1 mix into axes 0,1  [regroup]
    """
    text = story(answer, strokes=strokes_for(encoding), more="" if everything else "explain(everything=True)")
    return svg(text, str(answer)) if kind == SVG else text.plain


def svg(text: Text, label: str, theme: str | None = None) -> str:
    """Return a text as an SVG picture, in legible shades for the page of a theme.

    Without a theme the picture has both, and follows the colour scheme of the viewer's system.
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
    """Yield the elements of a line. Each new style is added to `styles` with a class."""
    column, y = 0, MARGIN + row * CELL_HEIGHT + 13
    for segment in line.render(Console(file=StringIO(), color_system="truecolor"), end=""):
        cells = segment.cell_length
        if segment.text.strip():
            class_name = styles.setdefault(_looks(segment.style), f"{name}-{len(styles)}")
            attributes = f'x="{MARGIN + column * CELL_WIDTH}" y="{y}" textLength="{cells * CELL_WIDTH}"'
            yield f'<text class="{name} {class_name}" {attributes} {WHOLE_CELLS}>{escape(segment.text)}</text>'
            if path := "".join(_uprights(segment.text, MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT)):
                yield f'<path class="{class_name}" d="{path}"/>'
        column += cells


def _uprights(text: str, left: int, top: int) -> Iterator[str]:
    """Yield the vertical parts of the box-drawing lines in a text as SVG paths.

    They are as high as a row, since the glyphs of fonts leave gaps between rows.
    """
    for column, char in enumerate(text):
        directions = UNICODE.lines.find(char) & (UP | DOWN) if char in UNICODE.lines else 0
        if directions:
            start, height = (
                top + (0 if directions & UP else CELL_HEIGHT / 2),
                CELL_HEIGHT / (1 if directions == UP | DOWN else 2),
            )
            yield f"M{left + (column + 0.5) * CELL_WIDTH - 0.5} {start}h1v{height}h-1z"


def _looks(style: Style | None) -> tuple[Colour | None, bool, bool]:
    """Return the colour of a style, and whether it is bold and dimmed."""
    if style is None:
        return None, False, False
    colour = None if style.color is None or style.color.is_default else tuple(style.color.get_truecolor())
    return colour, bool(style.bold), bool(style.dim)  # type: ignore[return-value]  # a colour has three parts


def _sheet(name: str, styles: dict[tuple[Colour | None, bool, bool], str], theme: str | None) -> str:
    """Return the style sheet, with legible shades for one page or for both."""
    font = f"text.{name} {{ font: 13px {FONTS}; white-space: pre; }}"
    bold = [f".{kind} {{ font-weight: bold; }}" for (_, is_bold, _), kind in styles.items() if is_bold]
    light, dark = (
        [f"rect.{name} {{ fill: {hexadecimal(page)}; }}"]
        + [
            f".{kind} {{ fill: {hexadecimal(readable(colour or (quiet if is_dim else ink), page, ink))}; }}"
            for (colour, _, is_dim), kind in styles.items()
        ]
        for page, ink, quiet in (PAPERS[page_theme] for page_theme in (theme or "light", theme or "dark"))
    )
    media = [] if theme else ["@media (prefers-color-scheme: dark) {", *dark, "}"]
    return "\n".join(["<style>", font, *bold, *light, *media, "</style>"])


def readable(colour: Colour, page: Colour, ink: Colour) -> Colour:
    """Return the nearest legible shade between a colour and the ink of a page."""
    shades = (_mixed(colour, ink, part / 20) for part in range(20))
    return next((shade for shade in shades if contrast(shade, page) >= CONTRAST), ink)


def _mixed(one: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def hexadecimal(colour: Colour) -> str:
    """Return a colour in the notation of CSS."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def png(svg: str, zoom: int = 2) -> bytes:
    """Return an SVG as PNG. Raises `ShapeError` (file) if resvg-py is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise not_installed(error) from None
    with as_file(FONT) as font:
        font_files = [str(font)]
        image = svg_to_bytes(
            svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=font_files, font_family=FAMILY
        )
    return bytes(image)


def not_installed(error: ModuleNotFoundError) -> ShapeError:
    """Return the error to raise if a package of the extra `film` is missing."""
    return ShapeError(Problem(FILE, missing(str(error.name), "film")))


def ending_of(name: str, endings: Iterable[str], kind: str) -> str:
    """Return the ending of a file name. Raises `ShapeError` (usage) for all others.

    >>> ending_of("a/B.SVG", ENDINGS, "picture")
    '.svg'
    """
    matches = [ending for ending in endings if name.lower().endswith(ending) and len(name) > len(ending)]
    if not matches:
        visible_name = visible(brief(name))
        raise misuse(f"'{visible_name}' is not a {kind}", f"end it in {', '.join(endings)}")
    return matches[0]


def check_theme(name: str) -> None:
    """Raise `ShapeError` (usage) if there is no theme with that name."""
    lookup(name, PAPERS, "theme")


def check_step(answer: Trace | Chain, step: int | None) -> None:
    """Raise `ShapeError` (usage) if the answer has no step with that number, from 1."""
    if step is not None and step > len(answer.steps):
        steps = number_text(len(answer.steps), "step", "steps")
        raise misuse(f"there is no step {step}", f"the answer has {steps}", argument="step")


def still(
    answer: Trace | Chain, name: str, step: int | None = None, *, theme: str | None = None, width: int = WIDTH
) -> bytes:
    """Return the contents of a picture file: of one step, or of the whole answer.

    Steps are counted from 1. Step 0 is the question, with holes for all sizes. Without a theme an SVG or a page
    follows the colour scheme of the viewer's system, and a PNG is `light`. Raises `ShapeError`: usage for an
    unknown ending, step or theme, file if the renderer is not installed.
    """
    ending = ending_of(name, ENDINGS, "picture")
    check_step(answer, step)
    if theme is not None:
        check_theme(theme)
    text = still_text(answer, None if step is None else step - 1, width)
    picture_svg = svg(text, str(answer), theme or ("light" if ending == ".png" else None))
    if ending == ".png":
        return png(picture_svg)
    return (picture_svg if ending == ".svg" else _page(picture_svg, command_line(answer), theme)).encode()


def still_text(answer: Trace | Chain, at: int | None, width: int) -> Text:
    """Return the picture of a step with holes for later dims, or of the answer.

    The whole answer has its most informative picture. The step `QUESTION_STEP` has only the question.
    """
    picture_step = main_step(answer, width) if at is None else max(at, 0)
    flow_step = at if at is not None or answer.problem is None else len(answer.steps)
    holes = {} if at is None else dict.fromkeys(unsettled(answer, at + 1), UNICODE.hole)
    step_picture = picture(answer, picture_step, width=width, height=HEIGHT, holes=holes)
    has_division = any(step.rule in INFERS for step in answer.steps[picture_step : picture_step + 1])
    divisions = sums(layouts(answer)) if at is None and not has_division else ()
    parts = [
        clip_line(Text(visible(command_line(answer)), "bold"), width, UNICODE),
        Text(""),
        flow(answer, flow_step, width=width, holes=holes, hides_refusal=at is not None),
    ]
    if at != ASKED:
        parts += [*packed([Text(text, "dim") for text in divisions], width, UNICODE), Text("")]
        parts += [rail(answer, flow_step, width=width), strip(answer, flow_step, width=width), Text(""), step_picture]
    parts += [Text(""), *_sentence(answer, at, width)]
    return stack(parts)


def _sentence(answer: Trace | Chain, at: int | None, width: int) -> list[Text]:
    """Return the wrapped caption of a step, or of the whole answer."""
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
    """Return an SVG picture as an HTML page."""
    light, dark = (hexadecimal(PAPERS[page_theme][0]) for page_theme in (theme or "light", theme or "dark"))
    colours = f"background: {light}; }} @media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }}"
    return PAGE.format(title=escape(visible(title)), colours=colours, svg=made)
