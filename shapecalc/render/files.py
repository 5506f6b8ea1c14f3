"""Files with a picture of an answer, in SVG, PNG or HTML format.

resvg renders a PNG from an SVG. The font of the package is passed to resvg as a file, because resvg silently omits text
whose font is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import as_file, files
from io import StringIO
from textwrap import wrap
from zlib import crc32

from rich.console import Console
from rich.style import Style
from rich.text import Text

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.packages import missing_package_message
from shapecalc.core.problem import FILE, Problem, ShapeError, usage_error
from shapecalc.core.text import escape_unprintable, format_count, lookup, shape_text, truncate
from shapecalc.reading.commands import command_line
from shapecalc.render.canvas import (
    DOWN,
    UNICODE,
    UP,
    Colour,
    clip_line,
    contrast_ratio,
    glyphs_for_encoding,
    pack_notes,
    stack_texts,
)
from shapecalc.render.flow import draw_flow, draw_shape_line, draw_stage_line
from shapecalc.render.hints import conditions_text
from shapecalc.render.pictures import division_notes, draw_picture, has_own_picture, most_informative_step
from shapecalc.render.report import draw_report
from shapecalc.render.stage_layout import INFER_RULES, stage_layouts, unresolved_dims
from shapecalc.render.styles import BOLD_ERROR
from shapecalc.render.tape import draw_tapes, tape_path, tensor_index_before

SVG_TYPE = "image/svg+xml"
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8, 17, 10
"""The size of a character cell, and the margin, in pixels."""
ALIGNMENT = 'lengthAdjust="spacingAndGlyphs" xml:space="preserve"'
"""The SVG attributes that align columns and connect lines in any font."""
FONT_STACK = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"
"""The CSS `font-family` list; its first font is included in the package."""
MAX_LINES = 400
"""The maximum number of lines of a picture; longer pictures are truncated."""
PAGE_COLOURS: dict[str, tuple[Colour, Colour, Colour]] = {
    "light": ((255, 255, 255), (31, 31, 31), (90, 90, 90)),
    "dark": ((24, 24, 24), (230, 230, 230), (165, 165, 165)),
}
"""The colours of the page, of its text and of dimmed text, keyed by theme."""
MIN_CONTRAST = 4.5
"""The minimum contrast ratio of text and page. Source: WCAG 2.1, 1.4.3."""
FONT_FILE = files("shapecalc.render") / "fonts" / "DejaVuSansMono.ttf"
"""The font DejaVu Sans Mono, which has all glyphs of the pictures."""
FONT_FAMILY = "DejaVu Sans Mono"
SLIDE_PIXELS, SLIDE_CELLS = (1280, 720), (88, 24)
"""The size of a slide in pixels, and the size of the largest picture on it in character cells."""
SLIDE_FONT_SIZE, MAX_SCALE = 13.6, 3
"""The font size before a picture is scaled to a slide, and the maximum scale factor.

With this font size, text is 24 pixels high on a slide of 720 pixels and 24 lines.
"""
StyleKey = tuple[Colour | None, bool, bool, bool]
"""The colour of text, and whether the text is bold, dimmed, or on a coloured background."""
PICTURE_SUFFIXES = (".svg", ".png", ".html")
DEFAULT_WIDTH, MIN_WIDTH, MAX_WIDTH = 80, 40, 400
"""The default, minimum and maximum width of a picture in characters."""
QUESTION_STEP = -1
"""The step index that selects the picture in which all output dims are hidden."""
MAX_PICTURE_HEIGHT = 40
"""The maximum height, in lines, of the drawing of a step in a picture file."""
PAGE_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{ margin: 0; {colours} }} svg {{ max-width: 100%; height: auto; }}</style></head>
<body>
{svg}</body></html>
"""


def render_report(
    answer: Trace | Chain, media_type: str, encoding: str | None = "utf-8", *, everything: bool = False
) -> str:
    """Render an answer with all its steps, as SVG or as text.

    The report contains the picture of at most one step, or if `everything` is True, of several steps. `encoding` is the
    encoding of the output stream; if it has no box-drawing characters, ASCII characters are used.

    >>> import shapecalc as sc
    >>> print(render_report(sc.reshape((2, 3), (3, 2)), "text/plain").splitlines()[-2])
    reshape         all  3,2  6 elements in and out: axes 0,1 mix into axes 0,1  [regroup]
    """
    text = draw_report(
        answer, glyphs=glyphs_for_encoding(encoding), more_command="" if everything else "explain(everything=True)"
    )
    return render_svg(text, str(answer)) if media_type == SVG_TYPE else text.plain


def render_svg(text: Text, description: str, theme: str | None = None) -> str:
    """Render styled text as an SVG with legible colours.

    If `theme` is None, the SVG contains both themes and follows the colour scheme of the viewer.
    """
    lines = list(text.split("\n"))
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 1 :] = [Text(f"... {len(lines) - MAX_LINES + 1} more lines, which explain() prints")]
    width = max((line.cell_len for line in lines), default=0) * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + 2 * MARGIN
    name = f"s{crc32(text.plain.encode()):08x}"
    styles = dict[StyleKey, str]()
    body = [piece for row, line in enumerate(lines) for piece in _line_elements(line, row, name, styles)]
    return _svg_document(body, (width, height), name, _style_sheet(name, styles, theme), description)


def _svg_document(body: Iterable[str], size: tuple[int, int], css_prefix: str, styles: str, description: str) -> str:
    width, height = size
    dimensions = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {dimensions} role="img" aria-label="{escape(description)}">',
            styles,
            f'<rect class="{css_prefix}" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        ]
    )


def render_animation(frames: Sequence[Text], seconds: Sequence[float], description: str, theme: str | None) -> str:
    r"""Render styled texts as an animated SVG without scripts.

    `seconds` contains the duration of each text. A line that is equal in all frames is written once. If `theme` is
    None, the SVG follows the colour scheme of the viewer.

    >>> svg = render_animation([Text("one\nend"), Text("two\nend")], [1, 2], "count", "light")
    >>> svg.count(">end<"), svg.count("<animate "), 'keyTimes="0;0.3333"' in svg
    (1, 2, True)
    """
    rows = [[*text.split("\n", allow_blank=True)] for text in frames]
    height = max(map(len, rows))
    width = max(line.cell_len for lines in rows for line in lines) * CELL_WIDTH + 2 * MARGIN
    name = f"s{crc32(''.join(text.plain for text in frames).encode()):08x}"
    styles, body, total = dict[StyleKey, str](), list[str](), sum(seconds)
    for lines in rows:
        lines += [Text()] * (height - len(lines))
    fixed = {row for row in range(height) if all(lines[row] == rows[0][row] for lines in rows)}
    body += [piece for row in sorted(fixed) for piece in _line_elements(rows[0][row], row, name, styles)]
    start = 0.0
    for lines, duration in zip(rows, seconds, strict=True):
        times = [time / total for time in (0.0, start, start + duration) if time < total]
        values = ["hidden", "visible", "hidden"][: len(times)]
        if start == 0:
            times, values = times[1:], values[1:]
        attributes = f'values="{";".join(values)}" keyTimes="{";".join(f"{time:.4g}" for time in times)}"'
        pieces = (
            piece
            for row in range(height)
            if row not in fixed
            for piece in _line_elements(lines[row], row, name, styles)
        )
        body.append(f'<g visibility="{"hidden" if start else "visible"}">{"".join(pieces)}')
        body.append(
            f'<animate attributeName="visibility" calcMode="discrete" {attributes} dur="{total:.2f}s" '
            'repeatCount="indefinite"/></g>'
        )
        start += duration
    size = (width, height * CELL_HEIGHT + 2 * MARGIN)
    return _svg_document(body, size, name, _style_sheet(name, styles, theme), description)


def parse_pixels(text: str) -> tuple[int, int]:
    """Parse a picture size in pixels.

    Raises `ShapeError` (usage) for any other text.

    >>> parse_pixels("1280x720")
    (1280, 720)
    """
    match = re.fullmatch(r"([1-9]\d{2,4})x([1-9]\d{2,4})", text)
    if match is None:
        raise usage_error(f"'{escape_unprintable(truncate(text))}' is not a size in pixels", "write 1280x720")
    return int(match[1]), int(match[2])


def fit_scale(cells: tuple[int, int], pixels: tuple[int, int]) -> float:
    """Return the factor by which a picture is scaled to fit a size in pixels.

    `cells` contains the columns and lines of the picture.

    Raises `ShapeError` (usage), naming the smallest sufficient size, if the picture does not fit.

    >>> fit_scale((44, 12), (1280, 720))
    3
    """
    columns, lines = cells
    room = [size * cells // whole for size, cells, whole in zip(pixels, SLIDE_CELLS, SLIDE_PIXELS, strict=True)]
    if columns > room[0] or lines > room[1]:
        least = [
            max(size, -(-needed * whole // cells))
            for size, needed, cells, whole in zip(pixels, (columns, lines), SLIDE_CELLS, SLIDE_PIXELS, strict=True)
        ]
        message = f"{pixels[0]}x{pixels[1]} has room for {room[0]}x{room[1]} cells, and this takes {columns}x{lines}"
        raise usage_error(message, f"write {least[0]}x{least[1]}", argument="pixels")
    content = (columns * CELL_WIDTH, lines * CELL_HEIGHT)
    whole = min(size / part for size, part in zip(pixels, content, strict=True))
    with_margin = min(size / (part + 2 * MARGIN) for size, part in zip(pixels, content, strict=True))
    return min(MAX_SCALE, whole, max(with_margin, SLIDE_PIXELS[1] / SLIDE_CELLS[1] / CELL_HEIGHT))


def fit_svg(svg: str, pixels: tuple[int, int]) -> str:
    """Resize an SVG to a size in pixels; its text is enlarged and centred.

    A size of 1280x720 fits 88x24 character cells, and text is then at least 24 pixels high. The margin is omitted if
    the picture would not fit otherwise. Raises `ShapeError` (usage), naming the smallest sufficient size, if the
    picture does not fit.

    >>> fit_svg(render_svg(Text("2,12"), "answer"), (1280, 720)).partition(" role")[0]
    '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="720" viewBox="-187.33 -101.5 426.67 240"'
    >>> fit_svg(render_svg(Text("-" * 100), "line"), (1280, 720))
    Traceback (most recent call last):
    shapecalc.core.problem.ShapeError: usage: 1280x720 has room for 88x24 cells, and this takes 100x1 (write 1455x720)
    """
    old = re.search(r'width="(\d+)" height="(\d+)" viewBox="[^"]*"', svg)
    assert old
    columns, lines = ((int(old[1]) - 2 * MARGIN) // CELL_WIDTH, (int(old[2]) - 2 * MARGIN) // CELL_HEIGHT)
    scale = fit_scale((columns, lines), pixels)
    content = (columns * CELL_WIDTH, lines * CELL_HEIGHT)
    box = [size / scale for size in pixels]
    left, top = (f"{MARGIN + (part - size) / 2:.5g}" for part, size in zip(content, box, strict=True))
    view = f'viewBox="{left} {top} {box[0]:.5g} {box[1]:.5g}"'
    svg = svg.replace(old[0], f'width="{pixels[0]}" height="{pixels[1]}" {view}', 1)
    svg = svg.replace('width="100%" height="100%"/>', f'x="{left}" y="{top}" width="100%" height="100%"/>', 1)
    return re.sub(r"font:( ?)13px", rf"font:\g<1>{SLIDE_FONT_SIZE}px", svg, count=1)


def _line_elements(line: Text, row: int, css_prefix: str, styles: dict[StyleKey, str]) -> Iterator[str]:
    """Yield the SVG elements of a line of text and of its coloured backgrounds.

    New text styles are added to `styles`, which maps them to the names of CSS classes.
    """
    column, y = 0, MARGIN + row * CELL_HEIGHT + 13
    for segment in line.render(Console(file=StringIO(), color_system="truecolor"), end=""):
        cells = segment.cell_length
        if segment.style and segment.style.bgcolor and not segment.style.bgcolor.is_default:
            place = f'x="{MARGIN + column * CELL_WIDTH}" y="{MARGIN + row * CELL_HEIGHT}"'
            fill = css_colour(tuple(segment.style.bgcolor.get_truecolor()))  # type: ignore[arg-type]
            yield f'<rect {place} width="{cells * CELL_WIDTH}" height="{CELL_HEIGHT}" fill="{fill}"/>'
        if segment.text.strip():
            class_name = styles.setdefault(_style_key(segment.style), f"{css_prefix}-{len(styles)}")
            attributes = f'x="{MARGIN + column * CELL_WIDTH}" y="{y}" textLength="{cells * CELL_WIDTH}"'
            yield f'<text class="{css_prefix} {class_name}" {attributes} {ALIGNMENT}>{escape(segment.text)}</text>'
            if path := "".join(_vertical_paths(segment.text, MARGIN + column * CELL_WIDTH, MARGIN + row * CELL_HEIGHT)):
                yield f'<path class="{class_name}" d="{path}"/>'
        column += cells


def _vertical_paths(text: str, left: int, top: int) -> Iterator[str]:
    """Yield an SVG path for each vertical box-drawing character.

    A path fills the height of a row; the glyphs of fonts would leave gaps between rows.
    """
    for column, char in enumerate(text):
        directions = UNICODE.box_lines.find(char) & (UP | DOWN) if char in UNICODE.box_lines else 0
        if directions:
            start, height = (
                top + (0 if directions & UP else CELL_HEIGHT / 2),
                CELL_HEIGHT / (1 if directions == UP | DOWN else 2),
            )
            yield f"M{left + (column + 0.5) * CELL_WIDTH - 0.5} {start}h1v{height}h-1z"


def _style_key(style: Style | None) -> StyleKey:
    if style is None:
        return None, False, False, False
    colour = None if style.color is None or style.color.is_default else tuple(style.color.get_truecolor())
    has_background = style.bgcolor is not None and not style.bgcolor.is_default
    return colour, bool(style.bold), bool(style.dim), has_background  # type: ignore[return-value]  # a colour has three parts


def _style_sheet(css_prefix: str, styles: dict[StyleKey, str], theme: str | None) -> str:
    """Return the CSS style sheet for a theme, or for both if `theme` is None."""
    font = f"text.{css_prefix} {{ font: 13px {FONT_STACK}; white-space: pre; }}"
    bold = [f".{kind} {{ font-weight: bold; }}" for (_, is_bold, *_), kind in styles.items() if is_bold]
    light, dark = (
        [f"rect.{css_prefix} {{ fill: {css_colour(page)}; }}"]
        + [f".{kind} {{ fill: {css_colour(_text_colour(key, page, ink, quiet))}; }}" for key, kind in styles.items()]
        for page, ink, quiet in (PAGE_COLOURS[page_theme] for page_theme in (theme or "light", theme or "dark"))
    )
    media = [] if theme else ["@media (prefers-color-scheme: dark) {", *dark, "}"]
    return "\n".join(["<style>", font, *bold, *light, *media, "</style>"])


def _text_colour(key: StyleKey, page: Colour, ink: Colour, quiet: Colour) -> Colour:
    """Return a colour for text that is legible on the page.

    Text with a coloured background keeps its colour.
    """
    colour, _, is_dim, has_background = key
    if colour and has_background:
        return colour
    return legible_shade(colour or (quiet if is_dim else ink), page, ink)


def legible_shade(colour: Colour, page: Colour, text_colour: Colour) -> Colour:
    """Blend a colour with the text colour until it is legible on the page."""
    shades = (_mix_colours(colour, text_colour, part / 20) for part in range(20))
    return next((shade for shade in shades if contrast_ratio(shade, page) >= MIN_CONTRAST), text_colour)


def _mix_colours(first: Colour, second: Colour, fraction: float) -> Colour:
    red, green, blue = (round(a + (b - a) * fraction) for a, b in zip(first, second, strict=True))
    return red, green, blue


def css_colour(colour: Colour) -> str:
    """Format a colour for CSS, as in `#0072b2`."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


def render_png(svg: str, zoom: int = 2) -> bytes:
    """Render an SVG as PNG.

    Raises `ShapeError` (file) if resvg-py is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ModuleNotFoundError as error:
        raise missing_package_error(error) from None
    with as_file(FONT_FILE) as font:
        font_files = [str(font)]
        image = svg_to_bytes(
            svg_string=svg, zoom=zoom, skip_system_fonts=True, font_files=font_files, font_family=FONT_FAMILY
        )
    return bytes(image)


def missing_package_error(error: ModuleNotFoundError) -> ShapeError:
    """Return the error for a missing package of the extra `film`."""
    return ShapeError(Problem(FILE, missing_package_message(str(error.name), "film")))


def match_extension(name: str, suffixes: Iterable[str], kind: str) -> str:
    """Return the extension of a file name.

    `kind` is what the error message calls the file, such as `picture`. Raises `ShapeError` (usage) for an unsupported
    extension.

    >>> match_extension("a/B.SVG", PICTURE_SUFFIXES, "picture")
    '.svg'
    """
    matches = [ending for ending in suffixes if name.lower().endswith(ending) and len(name) > len(ending)]
    if not matches:
        visible_name = escape_unprintable(truncate(name))
        raise usage_error(f"'{visible_name}' is not a {kind}", f"end it in {', '.join(suffixes)}")
    return matches[0]


def check_theme(name: str) -> None:
    """Raise `ShapeError` (usage) if no theme has this name."""
    lookup(name, PAGE_COLOURS, "theme")


def check_step(answer: Trace | Chain, step: int | None) -> None:
    """Raise `ShapeError` (usage) if there is no step with this number.

    Steps are numbered from 1.
    """
    if step is not None and step > len(answer.steps):
        steps = format_count(len(answer.steps), "step", "steps")
        raise usage_error(f"there is no step {step}", f"the answer has {steps}", argument="step")


def render_still(
    answer: Trace | Chain,
    name: str,
    step: int | None = None,
    *,
    theme: str | None = None,
    width: int = DEFAULT_WIDTH,
    pixels: tuple[int, int] | None = None,
    shows_elements: bool = False,
) -> bytes:
    """Return the contents of a picture file for a step or for the whole answer.

    The extension of `name` selects the format. Steps are numbered from 1; in step 0, all output dims are hidden. If
    `theme` is None, an SVG or HTML picture follows the colour scheme of the viewer, and a PNG has the theme `light`.
    `pixels` is the size of the picture, by default the size of its text. `shows_elements` adds the elements before and
    after the stage of the step, if there are few. Raises `ShapeError` (usage) for an unknown extension, step or theme,
    and (file) if the renderer is not installed.
    """
    ending = match_extension(name, PICTURE_SUFFIXES, "picture")
    check_step(answer, step)
    if theme is not None:
        check_theme(theme)
    text = draw_still(answer, None if step is None else step - 1, width, shows_elements=shows_elements)
    picture_svg = render_svg(text, str(answer), theme or ("light" if ending == ".png" else None))
    if pixels is not None:
        picture_svg = fit_svg(picture_svg, pixels)
    if ending == ".png":
        return render_png(picture_svg, zoom=2 if pixels is None else 1)
    return (picture_svg if ending == ".svg" else _html_page(picture_svg, command_line(answer), theme)).encode()


def draw_still(answer: Trace | Chain, step_index: int | None, width: int, *, shows_elements: bool = False) -> Text:
    """Draw the answer up to a step, or the whole answer.

    If `step_index` is None, the most informative picture of the answer is drawn. If it is `QUESTION_STEP`, the request
    is drawn with all output dims hidden. `shows_elements` adds the elements before and after the stage of the step.
    """
    picture_step = most_informative_step(answer, width) if step_index is None else max(step_index, 0)
    flow_step = step_index if step_index is not None or answer.problem is None else len(answer.steps)
    placeholders = (
        {} if step_index is None else dict.fromkeys(unresolved_dims(answer, step_index + 1), UNICODE.placeholder)
    )
    step_picture = draw_picture(answer, picture_step, width=width, height=MAX_PICTURE_HEIGHT, placeholders=placeholders)
    has_division = any(step.rule in INFER_RULES for step in answer.steps[picture_step : picture_step + 1])
    divisions = division_notes(stage_layouts(answer)) if step_index is None and not has_division else ()
    # the diagram of the only stage contains all wires, so no flow diagram is needed
    is_diagram = len(stage_layouts(answer)) == 1 and not has_own_picture(answer, picture_step)
    parts = [clip_line(Text(escape_unprintable(command_line(answer)), "bold"), width, UNICODE), Text("")]
    if step_index == QUESTION_STEP or not is_diagram:
        flow = draw_flow(
            answer, flow_step, width=width, placeholders=placeholders, hides_refusal=step_index is not None
        )
        parts.append(flow)
    if step_index != QUESTION_STEP:
        parts += pack_notes([Text(text, "dim") for text in divisions], width)
        parts += [] if is_diagram and not divisions else [Text("")]
        parts += [
            draw_stage_line(answer, flow_step, width=width),
            draw_shape_line(answer, flow_step, width=width),
            Text(""),
            step_picture,
        ]
    if shows_elements and (path := tape_path(answer)) is not None:
        number = tensor_index_before(answer, step_index)
        parts += [Text(""), draw_tapes(path, number, width=width)]
    has_caption = step_index in (None, QUESTION_STEP) or answer.steps[step_index].why not in step_picture.plain
    caption = [Text(""), *_caption_lines(answer, step_index, width)] if has_caption else []
    return stack_texts([*parts, *caption])


def _caption_lines(answer: Trace | Chain, step_index: int | None, width: int) -> list[Text]:
    """Return the caption of a step or of the whole answer."""
    problem = answer.problem
    if step_index == QUESTION_STEP:
        sentence, style = "predict the output shape, or error", "bold"
    elif step_index is not None:
        step = answer.steps[step_index]
        sentence, style = f"{step.why}  [{step.rule}]", ""
    elif problem is not None:
        sentence, style = f"refused: {problem}", BOLD_ERROR
    else:
        sentence, style = f"answer {shape_text(answer.output or ())}{conditions_text(answer, ', when ')}", "bold"
    return [Text(line, style) for line in wrap(escape_unprintable(sentence), width)]


def _html_page(svg: str, title: str, theme: str | None) -> str:
    """Return an HTML page that contains an SVG picture."""
    light, dark = (css_colour(PAGE_COLOURS[page_theme][0]) for page_theme in (theme or "light", theme or "dark"))
    colours = f"background: {light}; }} @media (prefers-color-scheme: dark) {{ body {{ background: {dark}; }}"
    return PAGE_TEMPLATE.format(title=escape(escape_unprintable(title)), colours=colours, svg=svg)
